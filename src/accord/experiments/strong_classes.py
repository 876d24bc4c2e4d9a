"""Pages and papers with two natural views each: does it pay to make the views agree on unlabeled ones?

The text of a page and the text of the links to it [Blum and Mitchell 1998]; the words of a paper and the papers it is
linked with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from accord.datasets import load
from accord.evaluation import Results, Task, accuracy
from accord.experiments.base import DataFolder, Experiment, grid, mean_of
from accord.experiments.training import draw_per_class, train_and_test
from accord.learners.base import StructuredLearner
from accord.learners.classifier import Classifier
from accord.learners.consensus import CoSVM
from accord.learners.svm import StructuredSVM
from accord.learners.view_sum import SumOfViews
from accord.structures.chains.multiclass import MultiClass
from accord.views.base import View
from accord.views.dense import ArrayFeatures
from accord.views.select import Select

# Data set → (second view, labeled examples of each class)
SETS: dict[str, tuple[str, Mapping[str, int] | int]] = {
    "webkb_course": ("anchor", {"course": 3, "other": 9}),
    "citation_cora": ("links", 5),  # of each
    "citation_citeseer": ("links", 5),
}
HOLDOUT = 0.25  # of the examples
C = 10.0  # separates the few labeled examples, whatever its value
PASSES: dict[str, Any] = {"C": C, "ramp": 5, "max_iter": 12, "freeze": False}


@dataclass(frozen=True)
class Pool:
    """Examples with both views side by side."""

    X: sp.csr_array
    Y: list[str]
    views: dict[str, View]


def _svm(view: View | None, seed: int) -> StructuredSVM:
    return StructuredSVM(MultiClass(), view, C=C, random_state=seed)


def _co(views: View | Mapping[str, View], weight: float | str, seed: int, balance: bool = True) -> CoSVM:
    return CoSVM(MultiClass(), views, unlabeled_weight=weight, balance=balance, random_state=seed, **PASSES)


# Method → (pool, seed) → learner
METHODS: dict[str, Callable[[Pool, int], StructuredLearner]] = {
    "SVM, both views": lambda pool, seed: _svm(ArrayFeatures(), seed),
    "SVM, first view": lambda pool, seed: _svm(next(iter(pool.views.values())), seed),
    "SVM, second view": lambda pool, seed: _svm(list(pool.views.values())[1], seed),
    "two SVMs": lambda pool, seed: SumOfViews(_svm(None, seed), views=pool.views),
    "self-training, balanced": lambda pool, seed: _co(ArrayFeatures(), 0.01, seed),
    "coSVM": lambda pool, seed: _co(pool.views, 0.01, seed, balance=False),
    "coSVM, balanced": lambda pool, seed: _co(pool.views, 0.01, seed),
    "coSVM, balanced (auto)": lambda pool, seed: _co(pool.views, "auto", seed),
    "Classifier": lambda pool, seed: Classifier(view=pool.views, random_state=seed),
}
SUPERVISED = ("SVM, both views", "SVM, first view", "SVM, second view", "two SVMs")


class StrongClasses(Experiment):
    """Co-SVM on two natural views against SVMs."""

    name = "strong-classes"
    title = "Two natural views and a handful of labels: co-SVM against SVMs"
    description = (
        "Error on a random quarter of the examples. webkb_course: 12 labeled pages (3 course, 9 other), page text and "
        "text of links; citation_cora and citation_citeseer: 5 labeled papers per class, words and links. All other "
        "examples are unlabeled. Counts enter as log(1 + count), each view scaled to length 1. All SVMs have C = 10, "
        "which separates the labeled examples. 'Balanced' holds the label frequencies of pseudo-labels to those of the "
        "labeled examples; the unlabeled weight is 0.01, or chosen on labeled folds (auto). "
        "'Classifier' is the default for classes: given both views it chooses from its own ways on held-out labels."
    )
    data_sets = tuple(SETS)
    methods = METHODS
    quick_methods = tuple(name for name in METHODS if "auto" not in name)
    repetitions = 30
    settings = grid(data=list(SETS))
    quick_settings = grid(data=list(SETS)[:1])
    metrics = ("zero_one_loss",)
    baseline = "SVM, both views"

    def load(self, data: DataFolder, quick: bool, seed: int) -> dict[str, Pool]:
        return {name: load_pool(name, data) for name in self.values("data", quick)}

    def run_task(self, task: Task, loaded: dict[str, Pool]) -> Mapping[str, float]:
        pool, (_, n_labeled) = loaded[task.setting["data"]], SETS[task.setting["data"]]
        per_class = dict.fromkeys(sorted(set(pool.Y)), n_labeled) if isinstance(n_labeled, int) else n_labeled
        parts = draw_per_class(pool.Y, per_class, int(HOLDOUT * len(pool.Y)), task.repetition_seed)
        if task.method in SUPERVISED:
            parts = replace(parts, unlabeled=parts.unlabeled[:0])
        learner = METHODS[task.method](pool, task.seed)
        return {"zero_one_loss": 1.0 - accuracy(*train_and_test(learner, parts, pool.X, pool.Y))}

    def notes(self, results: Results) -> list[str]:
        sentences = []
        for setting in results.settings:
            values = [f"{m} {100 * mean_of(results, m, 'zero_one_loss', **setting):.2f}" for m in METHODS]
            sentences.append(f"{setting['data']}, error in %: {'; '.join(values)}.")
        return sentences


def load_pool(name: str, data: DataFolder) -> Pool:
    """All examples of a data set that have a class."""
    d, second = load(name, data, extra=True), SETS[name][0]
    known = np.flatnonzero([y is not None for y in d.Y])
    one, two = (_unit_rows(matrix)[known] for matrix in (d.X, d.extra[second]))
    n = one.shape[1]
    views: dict[str, View] = {"first": Select(slice(0, n)), "second": Select(slice(n, n + two.shape[1]))}
    return Pool(sp.csr_array(sp.hstack([one, two])), [d.Y[i] for i in known], views)


def _unit_rows(counts: Any) -> sp.csr_array:
    """log(1 + count), rows of length 1."""
    out = sp.csr_array(counts, dtype=float)
    out.data = np.log1p(out.data)
    lengths = np.sqrt(np.asarray(out.multiply(out).sum(axis=1)).ravel())
    return sp.csr_array(sp.diags_array(1.0 / np.maximum(lengths, 1e-12)) @ out)
