"""Labeled sets as solvers see them: numbers of features of pairs, and constraints ``<w, d> + xi >= b``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from accord.kernels.partitions.condensed import pair_numbers
from accord.kernels.partitions.triangles import TriangleProgram
from accord.structures.partitions.partition import Partition
from accord.threads import map_threads


class Constraints(NamedTuple):
    """Constraints in groups that share a slack; ``starts`` tells where each group begins."""

    deltas: np.ndarray  # (n_constraints, n_dims)
    offsets: np.ndarray  # (n_constraints,)
    starts: np.ndarray  # (n_groups,)


def all_constraints(
    method: str,
    loss: str,
    pairs: Sequence[np.ndarray],
    y: Sequence[np.ndarray],
    single: np.ndarray,
    together: np.ndarray,
) -> tuple[Constraints, np.ndarray]:
    """What sets and single pairs demand by the method "pairwise" or "sequential", one set after the other.

    The second are the numbers of the sets that groups belong to; that of single pairs is one more than of any set.
    """
    parts = [
        pairwise_constraints(p, truth) if method == "pairwise" else sequential_constraints(p, truth, loss)
        for p, truth in zip(pairs, y)
    ]
    parts.append(single_constraints(single, together, method))
    sizes = [part.offsets.size for part in parts]
    firsts = np.cumsum([0, *sizes])
    constraints = Constraints(
        np.concatenate([p.deltas for p in parts]),
        np.concatenate([p.offsets for p in parts]),
        np.concatenate([p.starts + f for p, f in zip(parts, firsts)]),
    )
    return constraints, np.repeat(np.arange(len(parts)), [p.starts.size for p in parts])


def pairwise_constraints(pairs: np.ndarray, y: np.ndarray) -> Constraints:
    """A linear SVM on pairs: similarity at least 1 within clusters, at most -1 between them, a slack for each pair."""
    j, k = pair_numbers(y.size)
    return single_constraints(pairs, y[j] == y[k], "pairwise")


def single_constraints(pairs: np.ndarray, together: np.ndarray, method: str) -> Constraints:
    """What sets of two objects each demand: the same margin by either method, "sequential" asks both objects for it."""
    times = 2 if method == "sequential" else 1
    deltas = np.repeat(np.where(together, 1.0, -1.0)[:, None] * pairs, times, axis=0)
    return Constraints(deltas, np.ones(len(deltas)), np.arange(len(deltas)))


def sequential_constraints(pairs: np.ndarray, y: np.ndarray, loss: str) -> Constraints:
    """Each object in turn as the latest, all others clustered correctly [thesis OP 8.2].

    The alternatives of an object are the clusters of all others and a new one. As it counts as the latest, the pairs
    that may be wrong are (j, k) with j this object, so that Delta_total is 1 for the cluster that it should be in and
    is not, plus 1 for the cluster that it should not be in and is.
    """
    n, n_clusters = y.size, int(y.max(initial=-1)) + 1
    sizes = np.bincount(y, minlength=n_clusters)
    member = np.zeros((n, n_clusters + 1))  # the last is a new cluster
    member[np.arange(n), y] = 1.0
    deltas, offsets, counts = [np.empty((0, pairs.shape[1]))], [np.empty(0)], []
    for j in range(n):
        others = np.delete(np.arange(n), j)
        low, high = np.minimum(others, j), np.maximum(others, j)
        sums = member[others].T @ pairs[high * (high - 1) // 2 + low]  # similarity to each cluster, as features
        here = sizes.copy()
        here[y[j]] -= 1
        truth = y[j] if here[y[j]] else n_clusters
        wrong = np.flatnonzero(np.append(here > 0, True) & (np.arange(n_clusters + 1) != truth))
        if wrong.size:
            deltas.append(sums[truth] - sums[wrong])
            offsets.append(_losses(loss, n, np.append(here, 0), truth, wrong))
            counts.append(wrong.size)
    starts = np.cumsum([0, *counts])[:-1].astype(np.int64)
    return Constraints(np.concatenate(deltas), np.concatenate(offsets), starts)


def _losses(loss: str, n: int, sizes: np.ndarray, truth: int, wrong: np.ndarray) -> np.ndarray:
    """The loss of putting the latest object into each of the wrong clusters."""
    if loss == "total":
        return float(sizes[truth] > 0) + (sizes[wrong] > 0)
    if loss == "rand":
        return (sizes[truth] + sizes[wrong]) / (n * (n - 1) / 2)
    return np.ones(wrong.size)


class PartitionProblem:
    """Labeled sets, one slack each, and the decoder that finds their most violating outputs.

    ``decoder="relaxed"`` looks among relaxed partitions, by a linear program for each set that is kept between calls.
    By strong duality the optimum is that of the compact program [thesis OP 8.1], in which the dual of these linear
    programs is folded in.
    """

    def __init__(
        self, structure: Partition, pairs: Sequence[np.ndarray], y: Sequence[np.ndarray], decoder: str, n_jobs: int = 1
    ) -> None:
        self.structure, self.pairs, self.y, self.decoder, self.n_jobs = structure, pairs, y, decoder, n_jobs
        self.n_examples, self.n_dims = len(y), pairs[0].shape[1]
        self.quick = decoder in ("relaxed", "lp", "exact")  # whether there are faster ways to some violating output
        self.exact = decoder == "relaxed" or structure.exact(decoder=decoder)
        self.true = [np.where(structure.pair_weights(one)[0], 1.0, 0.0) for one in y]
        self.programs = [TriangleProgram(one.size) if decoder == "relaxed" else None for one in y]

    def violators(self, w: np.ndarray, enough: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Violations, offsets and differences of the sets, as :mod:`accord.solvers.cutting_sets` asks for them."""
        calls = [(i, w, None if enough is None else enough[i]) for i in range(self.n_examples)]
        violations, offsets, deltas = zip(*map_threads(self._violator, calls, self.n_jobs))
        return np.array(violations), np.array(offsets), np.array(deltas)

    def _violator(self, i: int, w: np.ndarray, enough: float | None) -> tuple[float, float, np.ndarray]:
        similarities = self.pairs[i] @ w
        score = float(similarities @ self.true[i])
        if enough is None and self.quick:
            found = self.structure.loss_augmented(similarities, self.y[i], "moves")
        elif self.decoder == "relaxed":
            limit = -np.inf if enough is None else score + enough
            found = self.structure.relaxed_loss_augmented(similarities, self.y[i], self.programs[i], limit)
        else:
            found = self.structure.loss_augmented(similarities, self.y[i], self.decoder)
        return found.value - score, found.loss, self.pairs[i].T @ (self.true[i] - found.z)
