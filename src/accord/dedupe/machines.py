"""Weights of comparisons: the mean of machines that compare in different ways, and what held-out records say of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from accord.kernels.partitions.condensed import pair_numbers
from accord.learners.clustering import ClusteringSVM
from accord.threads import map_threads

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


def held_out_models(
    machines: Machines, pairs: list[np.ndarray], sets: list[np.ndarray], truth: np.ndarray, folds: np.ndarray
) -> list[FoldModel]:
    """Mean machines of all folds but one, with a logistic fit to that one, for each in turn.

    `pairs` are features of the pairs of the records in each of `sets`; each cluster (`truth`) is in one of the folds.
    Folds from which or about which nothing can be learned are left out.
    """
    models = []
    for fold in range(int(folds.max()) + 1):
        known, clusters = known_sets(pairs, sets, truth, folds != fold)
        outer, held_out = known_sets(pairs, sets, truth, folds == fold)
        together = np.concatenate([np.empty(0, np.bool_), *(_same(one) for one in held_out)])
        if not _both_kinds([_same(one) for one in clusters]) or not _both_kinds([together]):
            continue
        weights, bias = machines.mean(machines.fit(known, clusters), pairs[0].shape[1])
        scores = np.concatenate([p @ weights + bias for p in outer])
        slope = float(LogisticRegression(C=_LOOSE).fit(scores[:, None], together).coef_[0, 0])
        models.append(FoldModel(fold, weights, bias, slope))
    return models


def known_sets(
    pairs: list[np.ndarray], sets: list[np.ndarray], truth: np.ndarray, wanted: np.ndarray
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Features of pairs and clusters of the records that are wanted, of each set that has two of them."""
    kept, clusters = [], []
    for features, members in zip(pairs, sets):
        here = wanted[members]
        j, k = pair_numbers(members.size)
        if np.count_nonzero(here) > 1:
            kept.append(features[here[j] & here[k]])
            clusters.append(truth[members[here]])
    return kept, clusters


def _same(truth: np.ndarray) -> np.ndarray:
    j, k = pair_numbers(truth.size)
    return truth[j] == truth[k]


def _both_kinds(same: list[np.ndarray]) -> bool:
    return any(one.any() for one in same) and not all(one.all() for one in same)
