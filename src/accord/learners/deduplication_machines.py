"""Weights of comparisons: the mean of machines that compare in different ways, and what held-out records say of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from accord.learners.clustering import ClusteringSVM
from accord.threads import map_threads
from accord.views.pairs import pair_numbers

_LOOSE = 100.0  # C of the logistic fit, whose only feature is the similarity: margins of about 1 at either side


class Machines:
    """Machines of the same kind, each for some of the features, and their mean.

    Comparisons of texts mostly say the same, and few labeled clusters say little about which of them to believe. The
    mean believes all of them a little; where that pays and where not is among the experiments.
    """

    def __init__(
        self,
        machine: ClusteringSVM,
        ways: Sequence[np.ndarray],
        n_jobs: int | None,
        on_machine: Callable[[], Any] = lambda: None,
    ) -> None:
        self.machine, self.ways, self.n_jobs, self.on_machine = machine, ways, n_jobs, on_machine

    def fit(self, pairs: Sequence[np.ndarray], truth: Sequence[np.ndarray]) -> list[ClusteringSVM]:
        """A machine for each way, from features of pairs and clusters of sets of records."""

        def learn(columns: np.ndarray) -> ClusteringSVM:
            fitted = clone(self.machine).fit([p[:, columns] for p in pairs], truth)
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


def held_out_slopes(
    machines: Machines, pairs: list[np.ndarray], sets: list[np.ndarray], truth: np.ndarray, folds: np.ndarray
) -> list[float]:
    """By how much similarities change the logarithm of odds: a logistic fit to each fold, learned from the others.

    `pairs` are features of the pairs of the records in each of `sets`; each cluster (`truth`) is in one of the folds.
    Folds from which or about which nothing can be learned are left out.
    """
    slopes = []
    for fold in range(int(folds.max()) + 1):
        inner = [_part(p, members, folds != fold) for p, members in zip(pairs, sets)]
        outer = [_part(p, members, folds == fold) for p, members in zip(pairs, sets)]
        known = [(p, truth[members]) for p, members in inner if members.size > 1]
        together = np.concatenate([_same(truth[members]) for _, members in outer])
        if not _both_kinds([_same(t) for _, t in known]) or not _both_kinds([together]):
            continue
        fitted = machines.fit([p for p, _ in known], [t for _, t in known])
        weights, bias = machines.mean(fitted, pairs[0].shape[1])
        scores = np.concatenate([p @ weights + bias for p, _ in outer])
        slopes.append(float(LogisticRegression(C=_LOOSE).fit(scores[:, None], together).coef_[0, 0]))
    return slopes


def _part(pairs: np.ndarray, members: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs and members of those records of a set that are wanted."""
    j, k = pair_numbers(members.size)
    here = wanted[members]
    return pairs[here[j] & here[k]], members[here]


def _same(truth: np.ndarray) -> np.ndarray:
    j, k = pair_numbers(truth.size)
    return truth[j] == truth[k]


def _both_kinds(same: list[np.ndarray]) -> bool:
    return any(one.any() for one in same) and not all(one.all() for one in same)
