"""What the leaderboard compares Accord with: scikit-learn, and other libraries where they are installed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

from accord.experiments.chooser import CS, label_folds

SELF_TRAINING, SPREADING = "SelfTrainingClassifier", "LabelSpreading"
TRI_TRAINING, CRFSUITE = "sslearn, tri-training", "python-crfsuite"
MODULES = {TRI_TRAINING: "sslearn", CRFSUITE: "pycrfsuite"}  # what has to be installed
NEIGHBOURS = 7  # what LabelSpreading has by default


def installed(method: str) -> bool:
    """Whether there is what a method needs."""
    return method not in MODULES or find_spec(MODULES[method]) is not None


class Given(NamedTuple):
    """Rows, their classes, which rows are labeled, which are not, and which are to be predicted."""

    X: Any
    y: np.ndarray
    labeled: np.ndarray
    unlabeled: np.ndarray
    test: np.ndarray

    @property
    def training(self) -> tuple[Any, np.ndarray]:
        """Rows to learn from, and the numbers of their classes, -1 where nobody says."""
        numbers = np.unique(self.y, return_inverse=True)[1]
        hidden = np.full(self.unlabeled.size, -1)
        return self.X[np.append(self.labeled, self.unlabeled)], np.append(numbers[self.labeled], hidden)

    def named(self, numbers: Any) -> np.ndarray:
        """Classes by number."""
        return np.unique(self.y)[np.asarray(numbers).astype(int)]

    def standardized(self) -> Given:
        """Numbers with mean 0 and deviation 1; words stay as they are."""
        return self if sp.issparse(self.X) else self._replace(X=StandardScaler().fit_transform(self.X))


def _regression(given: Given, seed: int) -> LogisticRegression:
    """With the C that is best for the labels; 1 of equals."""
    X, y = given.X[given.labeled], given.y[given.labeled]
    if sp.issparse(X):
        X = X[:, np.unique(X.indices)]  # weights of other words are 0 in any case
    models = [LogisticRegression(C=C, max_iter=200) for C in CS]
    right = [cross_val_score(m, X, y, cv=label_folds(y, seed), error_score=0.0).mean() for m in models]
    return models[int(np.argmax(np.round(right, 9)))]


def _self_training(given: Given, seed: int) -> np.ndarray:
    """Each round goes on from the weights of the one before: the optimum is the same, and minutes are saved."""
    given = given.standardized()
    model = SelfTrainingClassifier(_regression(given, seed).set_params(warm_start=True))
    return given.named(model.fit(*given.training).predict(given.X[given.test]))


def _spreading(given: Given, seed: int) -> np.ndarray:
    model = LabelSpreading(kernel="knn", n_neighbors=NEIGHBOURS, max_iter=200)
    return given.named(model.fit(*given.training).predict(given.X[given.test]))


def _tri_training(given: Given, seed: int) -> np.ndarray:
    from sslearn.wrapper import TriTraining

    given = given.standardized()
    model = TriTraining(_regression(given, seed), random_state=seed)
    return given.named(model.fit(*given.training).predict(given.X[given.test]))


OF_WORDS: dict[str, Callable[[Given, int], np.ndarray]] = {SELF_TRAINING: _self_training, SPREADING: _spreading}
OF_ROWS = {**OF_WORDS, TRI_TRAINING: _tri_training}  # sslearn takes no sparse rows


class CRFsuite(BaseEstimator):
    """The engine of python-crfsuite on the features of a view, with Accord's count of C."""

    def __init__(self, view: Any, C: float = 1.0, max_iter: int = 100) -> None:
        self.view, self.C, self.max_iter = view, C, max_iter

    def fit(self, X: Any, Y: Any) -> CRFsuite:
        """Learn from labeled sentences."""
        import pycrfsuite

        trainer = pycrfsuite.Trainer(verbose=False)
        trainer.select("lbfgs")
        trainer.set_params({"c1": 0.0, "c2": 1.0 / (2.0 * self.C), "max_iterations": self.max_iter})
        for items, y in zip(self._items(self.view.fit_rows(X)), Y):
            trainer.append(items, y)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model")
            trainer.train(path)
            with open(path, "rb") as file:
                self.model_ = file.read()
        return self

    def predict(self, X: Any) -> list[list[str]]:
        """Labels of sentences."""
        import pycrfsuite

        tagger = pycrfsuite.Tagger()
        tagger.open_inmemory(self.model_)
        return [tagger.tag(items) for items in self._items(self.view.transform(X))]

    def _items(self, rows: Any) -> list[list[dict[str, float]]]:
        """Features by number, token by token."""
        matrix = rows.matrix()
        bounds = list(zip(matrix.indptr, matrix.indptr[1:]))
        names, values = list(map(str, matrix.indices.tolist())), matrix.data.tolist()
        tokens = [dict(zip(names[a:b], values[a:b])) for a, b in bounds]
        return [tokens[a:b] for a, b in zip(rows.offsets, rows.offsets[1:])]
