"""Texts, a handful of labels of each class, and the rest unlabeled: the default against what practitioners write."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import NearestNeighbors
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import LinearSVC

from accord.datasets import data_home, read_csv
from accord.evaluation import Results, Task
from accord.experiments.base import DataFolder, Experiment, grid, mean_of
from accord.experiments.ordering import Claim
from accord.learners.classifier import Classifier

DEFAULT = "Classifier (default)"
SLOW, DRAWS_OF_SLOW = "SelfTrainingClassifier, logistic regression", 3  # a minute or two of processor time a fit
NEIGHBOURS = 7
FOLDS = 4
QUICK = 1500  # texts


@dataclass(frozen=True)
class Pool:
    """Texts for training and testing with their classes and tf-idf rows, which are the same in all draws."""

    texts: list[str]
    y: np.ndarray
    X: sp.csr_array
    test_texts: list[str]
    test_y: np.ndarray
    X_test: sp.csr_array
    neighbours: sp.csr_array  # (n, n) 1 for the nearest texts
    test_neighbours: sp.csr_array  # (n, n_test)
    searched: dict[Any, Any] = field(default_factory=dict)  # grid searches of the last draw

    def draw(self, n_labeled: int, seed: int) -> np.ndarray:
        """So many random texts of every class."""
        order = np.random.default_rng(seed).permutation(self.y.size)
        return np.concatenate([order[self.y[order] == label][:n_labeled] for label in np.unique(self.y)])


def _default(pool: Pool, labeled: np.ndarray, seed: int) -> Any:
    """What ``accord train`` makes of a CSV file of texts whose labels are mostly empty."""
    known = set(labeled.tolist())
    file = io.StringIO()
    csv.writer(file).writerows(
        [("text", "label"), *((x, pool.y[i] if i in known else "") for i, x in enumerate(pool.texts))]
    )
    table = read_csv(io.StringIO(file.getvalue()), "label")
    return Classifier(random_state=seed).fit(table.X, table.y).predict(pool.test_texts)


def _search(pool: Pool, labeled: np.ndarray, seed: int, model: Any) -> tuple[Any, np.ndarray]:
    """The model with its C chosen by cross-validation on the labels, and the words that it knows."""
    X, y = pool.X[labeled], pool.y[labeled]
    used = np.unique(X.indices)  # weights of other words are 0 in any case
    key = type(model), labeled.tobytes()
    if key not in pool.searched:  # what teaches itself begins with the regression that was found before
        pool.searched.clear()
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
        grid = {"C": [0.1, 1.0, 10.0, 100.0, 1000.0]}
        pool.searched[key] = GridSearchCV(model, grid, cv=folds).fit(X[:, used], y)
    return pool.searched[key], used


def _tuned(model: Any) -> Callable[[Pool, np.ndarray, int], Any]:
    def run(pool: Pool, labeled: np.ndarray, seed: int) -> Any:
        search, used = _search(pool, labeled, seed, model)
        return search.predict(pool.X_test[:, used])

    return run


def _with_unlabeled(pool: Pool, labeled: np.ndarray) -> np.ndarray:
    """Class numbers, -1 where there is none."""
    numbers = np.full(pool.y.size, -1)
    numbers[labeled] = np.unique(pool.y, return_inverse=True)[1][labeled]
    return numbers


def _self_training(pool: Pool, labeled: np.ndarray, seed: int) -> Any:
    """Logistic regression that teaches itself, with the C that is best for the labels.

    Each of its rounds goes on from the weights of the one before: the optimum is the same, and minutes are saved.
    """
    C = _search(pool, labeled, seed, _regression())[0].best_params_["C"]
    return _taught(pool, labeled, _regression(C).set_params(warm_start=True))


def _taught(pool: Pool, labeled: np.ndarray, base: Any) -> Any:
    found = SelfTrainingClassifier(base).fit(pool.X, _with_unlabeled(pool, labeled)).predict(pool.X_test)
    return np.unique(pool.y)[found]


def _regression(C: float = 1.0) -> LogisticRegression:
    return LogisticRegression(C=C, max_iter=200)


def _label_spreading(pool: Pool, labeled: np.ndarray, seed: int) -> Any:
    """Nearest neighbours as with ``kernel="knn"``; they do not depend on the draw and are found once."""

    def kernel(X: Any, new: Any) -> sp.csr_array:
        return pool.neighbours if new is X else pool.test_neighbours

    model = LabelSpreading(kernel=kernel)
    return np.unique(pool.y)[model.fit(pool.X, _with_unlabeled(pool, labeled)).predict(pool.X_test)]


METHODS: dict[str, Callable[[Pool, np.ndarray, int], Any]] = {
    DEFAULT: _default,
    "LinearSVC": _tuned(LinearSVC()),
    "logistic regression": _tuned(_regression()),
    "SelfTrainingClassifier, naive Bayes": lambda pool, labeled, _: _taught(pool, labeled, MultinomialNB(alpha=0.01)),
    SLOW: _self_training,
    "LabelSpreading": _label_spreading,
}


class TextClasses(Experiment):
    """The default for classes on a CSV file of newsgroup posts."""

    name = "text-classes"
    title = "Texts with a handful of labels: the default against tf-idf and scikit-learn"
    description = (
        "Error on the test posts of 20 newsgroups (by date, 7,532). Of the 11,314 training posts so many of each class "
        "are labeled, all others are unlabeled. The default learns from a CSV file with the columns text and label. "
        "All others have tf-idf rows (sublinear, words of two texts or more, fitted on all training posts); C of "
        "LinearSVC and logistic regression is chosen by cross-validation on the labels. SelfTrainingClassifier and "
        "LabelSpreading (nearest neighbours) have their defaults otherwise; around logistic regression, with the C "
        "that was chosen for it, the former has three draws only."
    )
    data_sets = ("newsgroups20",)
    methods = METHODS
    quick_methods = tuple(name for name in METHODS if name != SLOW)
    repetitions = 10
    settings = grid(n_labeled=[4, 10, 40])
    quick_settings = grid(n_labeled=[10])
    metrics = ("zero_one_loss",)
    x = "n_labeled"
    baseline = DEFAULT
    claims = tuple(Claim(DEFAULT, other, "our own question") for other in METHODS if other != DEFAULT)

    def left_out(self, task: Task) -> bool:
        return task.method == SLOW and task.repetition >= DRAWS_OF_SLOW

    def load(self, data: DataFolder, quick: bool, seed: int) -> Pool:
        path = data_home(data) / "newsgroups20" / "newsgroups20.jsonl.gz"
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            posts = [json.loads(line) for line in lines]
        parts = {}
        for part in ("train", "test"):
            own = [post for post in posts if post["split"] == part]
            if quick:
                own = [own[i] for i in np.random.default_rng(seed).permutation(len(own))[:QUICK]]
            parts[part] = [f"{post['subject']}\n{post['body']}" for post in own], np.array([p["label"] for p in own])
        (texts, y), (test_texts, test_y) = parts["train"], parts["test"]
        vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2)
        X, X_test = vectorizer.fit_transform(texts), vectorizer.transform(test_texts)
        near = NearestNeighbors(n_neighbors=NEIGHBOURS).fit(X)
        graph = near.kneighbors_graph(X, mode="connectivity")
        return Pool(texts, y, X, test_texts, test_y, X_test, graph, near.kneighbors_graph(X_test).T.tocsr())

    def run_task(self, task: Task, loaded: Pool) -> Mapping[str, float]:
        labeled = loaded.draw(task.setting["n_labeled"], task.repetition_seed)
        found = METHODS[task.method](loaded, labeled, task.repetition_seed % 2**31)
        return {"zero_one_loss": float(np.mean(np.asarray(found) != loaded.test_y))}

    def notes(self, results: Results) -> list[str]:
        sentences = super().notes(results)
        for setting in results.settings:
            values = [f"{m} {100 * mean_of(results, m, 'zero_one_loss', **setting):.2f}" for m in METHODS]
            sentences.append(f"{setting['n_labeled']} labels of each class, error in %: {'; '.join(values)}.")
        return sentences
