"""Weights of comparisons: the mean of machines that compare in different ways, and what held-out records say of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from accord.dedupe.choosing import Similarity
from accord.dedupe.labels import Labeled
from accord.dedupe.pairs import RecordPairs
from accord.kernels.partitions.condensed import pair_numbers
from accord.learners.clustering import ClusteringSVM
from accord.threads import map_threads

LEARNED, WITH_PRIOR = "learned", "learned and guessed"
_PRIOR = 20.0  # labeled clusters that count as much as the guess without labels
_LOOSE = 100.0  # C of the logistic fit, whose only feature is the similarity: margins of about 1 at either side


@dataclass
class Machines:
    """Machines of the same kind, each for some of the features, and their mean.

    Comparisons of texts mostly say the same, and few labeled clusters say little about which of them to believe. The
    mean believes all of them a little; where that pays and where not is among the experiments.
    """

    machine: ClusteringSVM
    ways: Sequence[np.ndarray]
    n_jobs: int | None
    on_machine: Callable[[], Any] = lambda: None

    def fit(
        self,
        pairs: Sequence[np.ndarray],
        truth: Sequence[np.ndarray],
        more: np.ndarray | None = None,
        together: np.ndarray | None = None,
    ) -> list[ClusteringSVM]:
        """A machine for each way, from features of pairs and clusters of sets of records, and from single pairs."""

        def learn(columns: np.ndarray) -> ClusteringSVM:
            single = None if more is None else more[:, columns]
            fitted = clone(self.machine).fit([p[:, columns] for p in pairs], truth, single, together)
            if fitted.interrupted_:  # what was reached is no use if the others are missing
                raise KeyboardInterrupt
            self.on_machine()
            return fitted

        with threadpool_limits(1, user_api="blas"):  # threads of small products cost more than they gain
            return map_threads(learn, [(columns,) for columns in self.ways], self.n_jobs)

    def mean(self, fitted: Sequence[ClusteringSVM], n_features: int) -> tuple[np.ndarray, float]:
        """Mean weights and bias."""
        weights = np.zeros(n_features)
        for columns, machine in zip(self.ways, fitted):
            weights[columns] += machine.weights_[:-1] / len(fitted)
        return weights, float(np.mean([machine.weights_[-1] for machine in fitted]))


class FoldModel(NamedTuple):
    """What was learned from all folds but one, and by how much its similarities change the logarithm of odds there."""

    fold: int
    weights: np.ndarray
    bias: float
    slope: float


def held_out_models(machines: Machines, labeled: Labeled) -> list[FoldModel]:
    """Mean machines of all folds but one, with a logistic fit to that one, for each in turn.

    Each cluster is in one of the folds. Those from which or about which nothing can be learned are left out.
    """
    models = []
    for fold in range(int(labeled.folds.max()) + 1):
        known, clusters = labeled.part(labeled.folds != fold)
        outer, held_out = labeled.part(labeled.folds == fold)
        together = _together(held_out)
        if any(pairs.all() or not pairs.any() for pairs in (_together(clusters), together)):
            continue
        weights, bias = machines.mean(machines.fit(known, clusters), known[0].shape[1])
        scores = np.concatenate([p @ weights + bias for p in outer])
        slope = float(LogisticRegression(C=_LOOSE).fit(scores[:, None], together).coef_[0, 0])
        models.append(FoldModel(fold, weights, bias, slope))
    return models


def learned(weights: np.ndarray, bias: float, models: list[FoldModel], slope: float, n_folds: int) -> Similarity:
    """The mean of machines as a similarity, in logarithms of odds."""
    without: list[tuple[np.ndarray, float] | None] = [None] * n_folds
    for model in models:
        without[model.fold] = model.weights * slope, model.bias * slope
    return Similarity(LEARNED, weights * slope, bias * slope, without)


def with_prior(taught: Similarity, guessed: Similarity, n_clusters: int) -> Similarity:
    """What labels taught, drawn towards what was guessed without them: the fewer clusters are labeled, the more.

    Few labeled clusters leave open which comparisons to believe, and even more so where similar begins.
    """
    share = n_clusters / (n_clusters + _PRIOR)

    def mean(weights: np.ndarray, bias: float) -> tuple[np.ndarray, float]:
        return share * weights + (1.0 - share) * guessed.weights, share * bias + (1.0 - share) * guessed.bias

    without = [None if model is None else mean(*model) for model in taught.without]
    return Similarity(WITH_PRIOR, *mean(taught.weights, taught.bias), without)


def alone(view: RecordPairs, labeled: Labeled) -> list[Similarity]:
    """Comparisons of records as a whole, each a similarity of its own; labels say no more than its scale."""
    found = []
    pairs, same = np.concatenate(labeled.pairs), _together([labeled.truth[members] for members in labeled.sets])
    for feature in view.alone()[-1:]:
        line = LogisticRegression(C=_LOOSE).fit(pairs[:, [feature]], same)
        if line.coef_[0, 0] > 0:
            weights = np.zeros(pairs.shape[1])
            weights[feature], bias = line.coef_[0, 0], float(line.intercept_[0])
            every = [(weights, bias)] * (int(labeled.folds.max()) + 1)
            found.append(Similarity(view.names_[feature], weights, bias, list(every)))
    return found


def _together(sets: list[np.ndarray]) -> np.ndarray:
    """Of all pairs in sets of records whether they are in one cluster."""
    pairs = [np.empty(0, np.bool_)]
    for truth in sets:
        j, k = pair_numbers(truth.size)
        pairs.append(truth[j] == truth[k])
    return np.concatenate(pairs)
