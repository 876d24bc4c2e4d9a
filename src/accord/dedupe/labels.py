"""Labels of records: checked, shared out to folds, what they say of sizes of clusters, and sets to learn from."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from accord.dedupe.blocking import candidate_pairs
from accord.dedupe.pairs import RecordTable
from accord.exceptions import InputError
from accord.kernels.partitions.condensed import pair_numbers

_NEIGHBOURS = 10  # of each labeled record, to find clusters that are alike


class Labeled(NamedTuple):
    """Labeled records as sets: features of their pairs, members, and cluster and fold of every record."""

    pairs: list[np.ndarray]
    sets: list[np.ndarray]
    truth: np.ndarray
    folds: np.ndarray

    def part(self, wanted: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Features of pairs and clusters of the records that are wanted, of each set that has two of them."""
        features, clusters = [], []
        for pairs, members in zip(self.pairs, self.sets):
            here = wanted[members]
            j, k = pair_numbers(members.size)
            if np.count_nonzero(here) > 1:
                features.append(pairs[here[j] & here[k]])
                clusters.append(self.truth[members[here]])
        return features, clusters


def check_ids(ids: Any, n_records: int) -> np.ndarray:
    """Cluster numbers by first appearance, -1 where the cluster is not known (None or nan)."""
    if isinstance(ids, (str, bytes, dict, set, frozenset)) or not hasattr(ids, "__len__"):
        raise InputError(f"ids is a {type(ids).__name__}; expected a list with the cluster of every record, or None")
    if len(ids) != n_records:
        raise InputError(f"ids has {len(ids)} entries but there are {n_records} records; None stands for unknown")
    numbers: dict[Hashable, int] = {}
    out = np.full(n_records, -1, np.int64)
    for i, name in enumerate(ids):
        if name is None or name != name:  # nan is not equal to itself
            continue
        try:
            out[i] = numbers.setdefault(name, len(numbers))
        except TypeError as error:
            raise InputError(f"ids[{i}] is a {type(name).__name__}; expected text or a number") from error
    return out


def check_record_ids(ids: Any, n_records: int) -> None:
    """Refuse ids of an index that are missing, or that no file can hold."""
    missing = np.flatnonzero(check_ids(ids, n_records) < 0)
    if missing.size:
        raise InputError(f"ids[{missing[0]}] is missing; every record of an index has an id (assign gives one)")
    for i, name in enumerate(ids):
        if not isinstance(name, (str, int, float, np.generic)):
            raise InputError(f"ids[{i}] is a {type(name).__name__}; expected text or a number")


def can_learn(truth: np.ndarray) -> bool:
    """Whether labeled records can be learned from: some are in one cluster, and some are not."""
    return 1 < np.unique(truth).size < truth.size


def check_pairs(matches: Any, distinct: Any, n_records: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of record numbers that belong together and that do not: first ones, second ones, which it is."""
    rows = []
    for name, pairs in (("matches", matches), ("distinct", distinct)):
        for p, pair in enumerate(pairs):
            try:
                i, j = (int(one) for one in pair)
            except (TypeError, ValueError) as error:
                raise InputError(f"{name}[{p}] is {pair!r}; expected the numbers of two records") from error
            if not (0 <= i < n_records and 0 <= j < n_records) or i == j:
                raise InputError(f"{name}[{p}] is {pair!r}; expected two different numbers below {n_records}")
            rows.append((i, j, name == "matches"))
    if not rows or all(row[2] for row in rows) or not any(row[2] for row in rows):
        raise InputError("learning from pairs needs both matches and distinct pairs")
    left, right, same = zip(*rows)
    return np.array(left), np.array(right), np.array(same, np.bool_)


def folds_of_clusters(truth: np.ndarray, n_folds: int, rng: np.random.Generator) -> np.ndarray:
    """The fold of every record; a cluster is in one fold, and clusters of each size are shared out evenly."""
    clusters, sizes = np.unique(truth, return_counts=True)
    order = rng.permutation(clusters.size)
    order = order[np.argsort(-sizes[order], kind="stable")]
    fold = np.empty(clusters.size, np.int64)
    fold[order] = np.arange(clusters.size) % n_folds
    return fold[np.searchsorted(clusters, truth)]


def size_costs(truth: np.ndarray) -> np.ndarray:
    """What pairs of a cluster of 0, 1, 2, ... records have to be similar by; the last number is for all larger ones.

    A cluster of k records has one more with the probability a / b, where a is k / (k + 1) plus the number of known
    clusters of more than k, and b is 1 plus the number of those with k or more: a rule of succession whose guess for
    sizes that were never seen is a tail that falls like 1 / k. The cost is minus the logarithm of the least probable
    step that leads to the size; the step from one record to two is what similarities are about, and costs nothing here.
    """
    sizes = np.bincount(np.unique(truth, return_counts=True)[1])
    at_least = np.append(np.cumsum(sizes[::-1])[::-1], 0)  # of 0, 1, ... and of one more than the largest
    k = np.arange(2, sizes.size)
    steps = -np.log((at_least[k + 1] + k / (k + 1)) / (at_least[k] + 1))
    return np.maximum.accumulate(np.concatenate([np.zeros(3), steps]))


def training_sets(table: RecordTable, truth: np.ndarray, size: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Records in sets of at most `size`, whole clusters if they fit, clusters that are alike in the same set.

    From cluster to cluster that is the nearest by candidate pairs, so that a set has the pairs that are hard to tell.
    """
    if truth.size <= size:
        return [np.arange(truth.size)]
    left, right = candidate_pairs(table, _NEIGHBOURS)
    clusters, number = np.unique(truth, return_inverse=True)
    near: list[set[int]] = [set() for _ in clusters]
    for a, b in zip(number[left].tolist(), number[right].tolist()):
        if a != b:
            near[a].add(b)
            near[b].add(a)
    sets: list[np.ndarray] = []
    current: list[int] = []
    for cluster in _walk(near, rng.permutation(clusters.size).tolist()):
        members = np.flatnonzero(number == cluster)
        if members.size > size:
            members = np.sort(rng.choice(members, size, replace=False))
        if len(current) + members.size > size:
            sets.append(np.array(current))
            current = []
        current += members.tolist()
    sets.append(np.array(current))
    return sets


def _walk(near: list[set[int]], starts: Sequence[int]) -> list[int]:
    """All clusters, each after one that it is near to, breadth first."""
    seen, out = [False] * len(near), []
    for start in starts:
        queue = [] if seen[start] else [start]
        seen[start] = True
        for cluster in queue:  # grows while it is gone through
            out.append(cluster)
            for other in sorted(near[cluster]):
                if not seen[other]:
                    seen[other] = True
                    queue.append(other)
    return out
