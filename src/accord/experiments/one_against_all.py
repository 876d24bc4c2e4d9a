"""One transductive SVM for each class against all others: the baseline of thesis, Figures 6.1 and 7.4, and of COIL.

Joachims (1999), as SVMlight does it: unlabeled points are labeled by the supervised machine, as many positive as the
labeled share says; their slacks count little at first, then twice as much time after time; whenever the labels of a
positive and a negative point would fit better the other way round, they are switched and the machine is trained again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.svm import SVC

FIRST = 1e-5  # weight of unlabeled slacks at the beginning, as a fraction of C
MOST_SWITCHES = 1000  # rounds of switching at one weight; each lowers the objective


class OneAgainstAllTSVM(BaseEstimator):
    """Binary machines with a bias; the class of the highest score is predicted.

    Parameters
    ----------
    C : weight of the labeled slacks; that of the unlabeled ones rises to the same, which is SVMlight's default
    kernel : "linear", or "rbf", whose width is the mean squared distance of the points
    """

    def __init__(self, C: float = 1.0, kernel: str = "linear") -> None:
        self.C, self.kernel = C, kernel

    def fit(self, X: Any, Y: Any) -> OneAgainstAllTSVM:
        """Points whose ``Y[i]`` is None are unlabeled."""
        known = np.array([y is not None for y in Y])
        order = np.concatenate([np.flatnonzero(known), np.flatnonzero(~known)])
        self.points_ = X[order]
        self.classes_ = sorted({y for y in Y if y is not None})
        if self.kernel == "rbf":
            self.gamma_ = 1.0 / float(np.mean(euclidean_distances(self.points_, squared=True)))
        gram = self._products(self.points_)
        labels = [Y[i] for i in np.flatnonzero(known)]
        signs = [np.where([y == c for y in labels], 1.0, -1.0) for c in self.classes_]
        self.machines_ = [transductive(gram, y, self.C) for y in signs]
        return self

    def predict(self, X: Any) -> list[Any]:
        products = self._products(X)
        scores = np.stack([machine.decision_function(products) for machine in self.machines_], axis=1)
        return [self.classes_[c] for c in scores.argmax(axis=1)]

    def _products(self, X: Any) -> np.ndarray:
        """Kernel values of the points and those of training."""
        if self.kernel == "rbf":
            return np.exp(-self.gamma_ * euclidean_distances(X, self.points_, squared=True))
        products = X @ self.points_.T
        return products.toarray() if sp.issparse(products) else np.asarray(products)


def transductive(gram: np.ndarray, y: np.ndarray, C: float) -> SVC:
    """A binary machine for labels ``y`` (±1) of the first points and for all others, which have none."""
    n, m = y.size, len(gram) - y.size
    machine = SVC(C=C, kernel="precomputed", cache_size=500)
    machine.fit(gram[:n, :n], y)
    if m == 0:
        return machine
    n_positive = min(max(round(m * float(np.mean(y > 0))), 1), m - 1)
    guess = np.full(m, -1.0)
    guess[np.argsort(-machine.decision_function(gram[n:, :n]), kind="stable")[:n_positive]] = 1.0
    weight = {1.0: FIRST * n_positive / (m - n_positive), -1.0: FIRST}
    while True:
        for _ in range(MOST_SWITCHES):
            labels = np.concatenate([y, guess])
            each = np.concatenate([np.ones(n), np.where(guess > 0, weight[1.0], weight[-1.0])])
            machine.fit(gram, labels, sample_weight=each)
            slack = np.maximum(0.0, 1.0 - guess * machine.decision_function(gram[n:]))
            if not switched(guess, slack):
                break
        if min(weight.values()) >= 1.0:
            return machine
        weight = {sign: min(2.0 * value, 1.0) for sign, value in weight.items()}


def switched(guess: np.ndarray, slack: np.ndarray) -> bool:
    """Switch pairs of labels, in place, that would fit better the other way round; whether there were any.

    With the weights as they are, two slacks that sum to more than 2 sum to less after the switch.
    """
    positive, negative = (np.flatnonzero((guess == sign) & (slack > 0.0)) for sign in (1.0, -1.0))
    positive, negative = (one[np.argsort(-slack[one], kind="stable")] for one in (positive, negative))
    n_pairs = min(positive.size, negative.size)
    apart = slack[positive[:n_pairs]] + slack[negative[:n_pairs]] > 2.0
    guess[positive[:n_pairs][apart]], guess[negative[:n_pairs][apart]] = -1.0, 1.0
    return bool(apart.any())
