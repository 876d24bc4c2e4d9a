"""The two generated tasks of ``accord demo``, and the learners that compete in them.

Names of persons, places and organisations in sentences of a made-up language (label sequences): few labeled sentences,
many unlabeled ones, every learner with and without the latter. Documents about topics that form a tree (a taxonomy).

The co-SVM stays out: its kernels take about as long to compile as all others together, and choosing its unlabeled
weight takes longer than all other learners together (only to find, on this task, that unlabeled sentences do not pay).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import accord

if TYPE_CHECKING:
    from accord.evaluation import Task

NAMES, TOPICS = "names in sentences", "topics in a tree"
SENTENCES = (10, 20, 40)  # labeled training sentences
N_UNLABELED = 500
DOCUMENTS = (27, 54, 108)  # labeled training documents
N_TEST = 300
# Supervised learners, and what becomes of each if it gets unlabeled sentences, too.
PAIRS = {
    "HMM": "HMM, Baum-Welch",
    "perceptron": "co-perceptron",
    "CRF": "CRF + word classes",
    "SVM": "SVM + word classes",
    "sum of views": "sum of views + word classes",
}
METHODS = ("supervised", "semi-supervised")
STRUCTURES = ("SVM, flat classes", "SVM, taxonomy")


def tag_names(task: Task, n_test: int = N_TEST) -> dict[str, float]:
    """Train a learner on the first sentences of a repetition, the same for all; perhaps on unlabeled ones, too."""
    from accord.evaluation import span_f1, token_error

    n = task.setting["n_labeled"]
    X, Y = _sentences(max(SENTENCES) + N_UNLABELED, task.repetition_seed)
    X_test, Y_test = _sentences(n_test, task.experiment_seed)
    X_train: list[Any] = X[:n]
    Y_train: list[Any] = Y[:n]
    name = task.setting["learner"]
    if task.method != METHODS[0]:
        name = PAIRS[name]
        X_train, Y_train = X_train + X[max(SENTENCES) :], Y_train + [None] * N_UNLABELED
    model = _learners(task.seed)[name]()
    start = time.perf_counter()
    model.fit(X_train, Y_train)
    seconds = time.perf_counter() - start
    y = model.predict(X_test)
    return {"token_error": token_error(Y_test, y), "span_f1": span_f1(Y_test, y), "seconds": seconds}


@lru_cache(maxsize=16)
def _sentences(n: int, seed: int) -> tuple[list[Any], list[Any]]:
    from accord.datasets import embedded_ner

    return embedded_ner(n, random_state=seed)


def _learners(seed: int) -> dict[str, Callable[[], Any]]:
    names, words = accord.Sequence(constraints="iob2"), accord.TokenFeatures(window=1)
    # fewer and shorter than by default, for so little text
    classes = accord.ConcatenatedViews([words, accord.DistributionalFeatures((16, 64), n_components=32)])
    # the loss counts wrong tokens: as a fraction of the sentence it asks for a tiny margin only
    counted = accord.Sequence(constraints="iob2", normalize=False)

    def perceptron(view: Any) -> Any:
        return accord.StructuredPerceptron(names, view, random_state=seed)

    def svm(view: Any) -> Any:
        return accord.StructuredSVM(counted, view, C=0.1, solver="frank-wolfe", tol=0.1, random_state=seed)

    split = accord.RandomSplit(words)
    return {
        "HMM": lambda: accord.HMM(names, accord.TokenFeatures(window=0)),
        # fixed weights here and below: with folds of a few sentences "auto" mostly stays supervised, and takes its time
        "HMM, Baum-Welch": lambda: accord.HMM(names, accord.TokenFeatures(window=0), unlabeled_weight=1.0),
        "perceptron": lambda: perceptron(words),
        "co-perceptron": lambda: accord.CoPerceptron(names, split, unlabeled_weight=0.1, random_state=seed),
        "CRF": lambda: accord.CRF(names, words),
        "CRF + word classes": lambda: accord.CRF(names, classes),
        "SVM": lambda: svm(words),
        "SVM + word classes": lambda: svm(classes),
        "sum of views": lambda: accord.SumOfViews(perceptron(words)),
        "sum of views + word classes": lambda: accord.SumOfViews(perceptron(classes)),
    }


def classify_topics(task: Task) -> dict[str, float]:
    """Train a support vector machine that knows the tree of topics, or one that does not."""
    from accord.datasets import taxonomy_documents
    from accord.evaluation import TreeLoss, zero_one_loss

    X, y, taxonomy = taxonomy_documents(
        max(DOCUMENTS) + N_TEST, depth=3, branching=3, share_own=0.6, random_state=task.repetition_seed
    )
    tree: dict[Any, Any] = dict(taxonomy)
    structure = accord.MultiClass() if task.method == STRUCTURES[0] else accord.Taxonomy(tree)
    n = task.setting["n_labeled"]
    start = time.perf_counter()
    features = accord.ArrayFeatures()
    model = accord.StructuredSVM(structure, features, solver="frank-wolfe", tol=0.1, random_state=task.seed)
    model.fit(X[:n], y[:n])
    seconds = time.perf_counter() - start
    X_test, y_test = X[max(DOCUMENTS) :], y[max(DOCUMENTS) :]
    found = model.predict(X_test)
    return {
        "zero_one_loss": zero_one_loss(y_test, found),
        "tree_loss": TreeLoss(tree)(y_test, found),
        "seconds": seconds,
    }
