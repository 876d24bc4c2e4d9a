"""What experiments on few labeled examples share: the machines they compare, and training and testing on a draw."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from accord.evaluation import Draw
from accord.learners.base import StructuredLearner
from accord.learners.gradient import GradientSVM
from accord.learners.svm import StructuredSVM
from accord.learners.transductive import TransductiveSVM
from accord.packed.structure import Structure
from accord.views.base import View

Machine = Callable[[Structure, View, int], StructuredLearner]  # of a structure, a view and a seed


class Learner(Protocol):
    """What is trained and tested; not all are Accord's."""

    def fit(self, X: Any, Y: Any) -> Any:
        """Learn; ``Y[i] is None`` means unlabeled."""

    def predict(self, X: Any) -> Any:
        """Outputs."""


@dataclass(frozen=True)
class Method:
    """How to make a learner, and whether it learns from unlabeled examples."""

    make: Callable[..., StructuredLearner]
    unlabeled: bool = False


def machines(C: float, weight: float | str = "auto", **svm: Any) -> dict[str, Machine]:
    """SVM, ∇SVM and ∇TSVM with the same weight of slacks; C is that of ∇SVM, `weight` that of unlabeled examples."""
    return {
        "SVM": lambda s, view, seed: StructuredSVM(s, view, C=C / 2, random_state=seed, **svm),
        "∇SVM": lambda s, view, seed: GradientSVM(s, view, C=C, random_state=seed),
        "∇TSVM": lambda s, view, seed: TransductiveSVM(s, view, C=C, unlabeled_weight=weight, random_state=seed),
        "∇TSVM auto": lambda s, view, seed: TransductiveSVM(s, view, C=C, random_state=seed),
    }


def draw_per_class(Y: Sequence[str], n_labeled: Mapping[str, int], n_holdout: int, seed: int) -> Draw:
    """So many labeled examples of every class, a holdout, and all others unlabeled."""
    order = np.random.default_rng(seed).permutation(len(Y))
    classes = np.array(Y)[order]
    labeled = np.concatenate([order[classes == label][:n] for label, n in n_labeled.items()])
    rest = order[~np.isin(order, labeled)]
    return Draw(labeled, rest[n_holdout:], rest[:n_holdout])


def train_and_test(learner: Learner, parts: Draw, X: Any, Y: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """True and predicted outputs of the holdout, after training on the labeled and the unlabeled part."""
    learner.fit(*parts.training(X, Y))
    X_test, Y_test = parts.test(X, Y)
    return Y_test, learner.predict(X_test)
