"""Papers and their citations, a handful of labels of each class: features along links against links as columns."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.preprocessing import normalize
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import LinearSVC

from accord.datasets import data_home
from accord.datasets.stored import stored_arrays, stored_file, stored_matrix
from accord.evaluation import Results, Task
from accord.experiments.base import DataFolder, Experiment, grid, mean_of
from accord.experiments.ordering import Claim
from accord.learners.classifier import Classifier
from accord.views.dense import ArrayFeatures
from accord.views.linked import LinkedFeatures

FILES = {"citation_cora": "cora.npz", "citation_citeseer": "citeseer.npz"}
DEFAULT, NO_LINKS = "Classifier, links", "Classifier, text"
FEW = 5
SPLIT, DRAWN, PERMUTED = "the usual split", f"{FEW} of each class", f"{FEW} of each class, links permuted"
FOLDS = 4
DIRECTIONS = 500
CS = [0.1, 1.0, 10.0, 100.0, 1000.0]
ALPHAS = [0.5, 0.8, 0.9, 0.95, 0.99]


@dataclass(frozen=True)
class Papers:
    """Words (0/1, and tf-idf), links and classes (-1: not known) of papers, and the usual split."""

    text: sp.csr_array
    words: sp.csr_array
    links: sp.csr_array
    y: np.ndarray
    train: np.ndarray
    test: np.ndarray

    def drawn(self, seed: int) -> Papers:
        """Some random papers of every class are labeled, all others tested."""
        order = np.random.default_rng(seed).permutation(np.flatnonzero(self.y >= 0))
        train = np.concatenate([order[self.y[order] == label][:FEW] for label in np.unique(self.y[order])])
        return replace(self, train=train, test=np.setdiff1d(order, train))

    def permuted(self, seed: int) -> Papers:
        """The same graph, but papers have the places of others."""
        places = np.random.default_rng(seed).permutation(self.y.size)
        return replace(self, links=self.links[places][:, places])

    @property
    def columns(self) -> sp.csr_array:
        """Words, and a column for each paper: itself and those it is linked with."""
        near = normalize(self.links + sp.eye_array(self.y.size))
        return sp.csr_array(sp.hstack([self.words, near]))

    def steps(self, number: int) -> sp.csr_array:
        """Words, spread so often along the links [Wu et al. 2019, simple graph convolution]."""
        near = self.links + sp.eye_array(self.y.size)
        root = sp.diags_array(np.asarray(near.sum(axis=1)).ravel() ** -0.5)
        found = self.words
        for _ in range(number):
            found = root @ near @ root @ found
        return sp.csr_array(normalize(found))


def load_papers(name: str, data: DataFolder) -> Papers:
    """The papers of a data set with the usual split."""
    path = stored_file(data_home(data) / name, FILES[name])
    text, links = (sp.csr_array(stored_matrix(path, part)) for part in ("text", "links"))
    words = sp.csr_array(TfidfTransformer().fit_transform(text))
    return Papers(text, words, links, *stored_arrays(path, "y", "train_idx", "test_idx").values())


def _along_links(papers: Papers) -> LinkedFeatures:
    """Words in fewer directions: fits take half the time."""
    return LinkedFeatures(papers.links, table=papers.text, n_components=DIRECTIONS)


def _default(papers: Papers, view: Any, X: Any, seed: int) -> np.ndarray:
    """Everyone takes part in training, with or without a label."""
    known = set(papers.train.tolist())
    labels = [int(label) if i in known else None for i, label in enumerate(papers.y)]
    model = Classifier(view=view, random_state=seed).fit(X, labels)
    return np.asarray(model.predict(papers.test if isinstance(X, range) else X[papers.test]))


def _tuned(model: Any, features: Callable[[Papers], list[sp.csr_array]]) -> Callable[[Papers, int], np.ndarray]:
    """C, and one of several kinds of features, are chosen by cross-validation on the labels."""

    def run(papers: Papers, seed: int) -> np.ndarray:
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
        y, found = papers.y[papers.train], []
        for X in features(papers):
            used = np.unique(X[papers.train].indices)  # weights of others are 0 in any case
            search = GridSearchCV(model, {"C": CS}, cv=folds).fit(X[papers.train][:, used], y)
            found.append((search.best_score_, search, X[papers.test][:, used]))
        _, search, X_test = max(found, key=lambda one: one[0])
        return np.asarray(search.predict(X_test))

    return run


def _label_spreading(papers: Papers, seed: int) -> np.ndarray:
    """Labels alone are passed on along the links; how far is chosen on held-out labels."""
    places, y = np.arange(papers.y.size)[:, None], papers.y[papers.train]

    class Spread(LabelSpreading):  # type: ignore[misc]
        def fit(self, X: Any, labels: Any) -> Any:
            everyone = np.full(papers.y.size, -1)
            everyone[np.asarray(X).ravel()] = labels
            return super().fit(places, everyone)

        def predict(self, X: Any) -> Any:
            return self.transduction_[np.asarray(X).ravel()]

    def made(alpha: float) -> Spread:
        return Spread(kernel=lambda X, _: papers.links, alpha=alpha, max_iter=200)

    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    scores = [cross_val_score(made(a), places[papers.train], y, cv=folds, scoring="accuracy").mean() for a in ALPHAS]
    found = made(ALPHAS[int(np.argmax(scores))]).fit(places[papers.train], y)
    return np.asarray(found.predict(papers.test))


METHODS: dict[str, Callable[[Papers, int], np.ndarray]] = {
    DEFAULT: lambda papers, seed: _default(papers, _along_links(papers), range(papers.y.size), seed),
    NO_LINKS: lambda papers, seed: _default(papers, ArrayFeatures(), papers.words, seed),
    "LinearSVC, text": _tuned(LinearSVC(), lambda papers: [papers.words]),
    "logistic regression, text": _tuned(LogisticRegression(max_iter=300), lambda papers: [papers.words]),
    "LinearSVC, text + links": _tuned(LinearSVC(), lambda papers: [papers.columns]),
    "logistic regression, text + links": _tuned(LogisticRegression(max_iter=300), lambda papers: [papers.columns]),
    "logistic regression, steps": _tuned(
        LogisticRegression(max_iter=300), lambda papers: [papers.steps(k) for k in (0, 1, 2, 3)]
    ),
    "LabelSpreading, links": _label_spreading,
}
TEXT = (NO_LINKS, "LinearSVC, text", "logistic regression, text")


class LinkedPapers(Experiment):
    """The default on papers that cite each other."""

    name = "links"
    title = "Papers and citations, few labels: features along links against links as columns"
    description = (
        "Error on papers of Cora (2,708, 7 classes) and CiteSeer (3,327, 6 classes). The usual split (planetoid) has "
        f"20 labeled papers of each class and 1,000 to test; else {FEW} random papers of each class are labeled, and "
        "all others are tested. Whatever uses links or unlabeled papers may look at the words and links of all of "
        f"them; the Classifier with links has words in {DIRECTIONS} directions. 'Links permuted' gives every paper "
        "the links of another one. Words are tf-idf; links as columns are those of a paper and itself, of length 1. "
        "C, the number of steps (0 to 3) and the share that LabelSpreading passes on are chosen by cross-validation "
        "on the labels; the split's 500 papers for validation are not used."
    )
    data_sets = tuple(FILES)
    methods = METHODS
    quick_methods = tuple(name for name in METHODS if name not in ("logistic regression, steps", NO_LINKS))
    repetitions = 10
    settings = grid(data=list(FILES), labels=[SPLIT, DRAWN, PERMUTED])
    quick_settings = grid(data=list(FILES)[:1], labels=[DRAWN])
    metrics = ("zero_one_loss",)
    baseline = DEFAULT
    claims = tuple(Claim(DEFAULT, other, "our own question") for other in METHODS if other != DEFAULT)

    def seen(self, task: Task) -> Mapping[str, Any]:
        """Whoever looks at no links does not see that they are permuted."""
        alone = task.method in TEXT and task.setting["labels"] == PERMUTED
        return {**task.setting, "labels": DRAWN} if alone else task.setting

    def left_out(self, task: Task) -> bool:
        return task.setting["labels"] == SPLIT and task.repetition > 0  # there is but one

    def load(self, data: DataFolder, quick: bool, seed: int) -> dict[str, Papers]:
        return {name: load_papers(name, data) for name in self.values("data", quick)}

    def run_task(self, task: Task, loaded: dict[str, Papers]) -> Mapping[str, float]:
        setting = self.seen(task)
        papers, labels = loaded[setting["data"]], setting["labels"]
        if labels != SPLIT:
            papers = papers.drawn(task.repetition_seed)
        if labels == PERMUTED:
            papers = papers.permuted(task.repetition_seed)
        with warnings.catch_warnings(action="ignore"):  # solvers stop early; papers without links have no label
            found = METHODS[task.method](papers, task.seed % 2**31)
        return {"zero_one_loss": float(np.mean(found != papers.y[papers.test]))}

    def notes(self, results: Results) -> list[str]:
        sentences = super().notes(results)
        for setting in results.settings:
            values = [f"{m} {100 * mean_of(results, m, 'zero_one_loss', **setting):.2f}" for m in METHODS]
            sentences.append(f"{setting['data']}, {setting['labels']}, error in %: {'; '.join(values)}.")
        return sentences
