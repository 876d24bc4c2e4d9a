"""Correlation clustering: the partition with the largest sum of similarities within clusters [thesis 3.34, 8.2].

Similarities are real numbers, of either sign, of the pairs of a set in condensed order. A partition is an array of
cluster numbers in order of first appearance: the first object is in cluster 0. Here are the decoders that only add and
compare; those by linear programs are in :mod:`accord.kernels.partitions.lp`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from accord.exceptions import InputError
from accord.kernels.compiling import helper, kernel
from accord.kernels.partitions.condensed import condensed, n_objects, square


def value_of(values: np.ndarray, labels: np.ndarray) -> float:
    """Sum of the similarities within clusters."""
    return float(_value(np.ascontiguousarray(values, dtype=np.float64), np.ascontiguousarray(labels, dtype=np.int64)))


def numbered(labels: np.ndarray) -> np.ndarray:
    """The same partition with clusters numbered by first appearance."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(first.size, np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[inverse]


def sequential(similarities: Any) -> np.ndarray:
    """Object after object joins the cluster with the largest sum if that is >= 0, else opens one [thesis Table 8.2].

    Among equal sums the cluster that was opened first wins.

    >>> sequential([1.0, -3.0, 2.0]).tolist()
    [0, 0, 1]
    """
    clusters = SequentialClusters()
    clusters.extend(square(condensed(similarities)))
    return clusters.labels


class SequentialClusters:
    """The sequential decoder for objects that arrive in blocks: neither pairs nor similarities need to be kept.

    >>> clusters = SequentialClusters()
    >>> clusters.extend(np.array([[0.0, 0.0], [1.0, 0.0]]))  # the first two objects; only [j, k < j] counts
    >>> clusters.extend(np.array([[-1.0, -3.0, 0.0]]))
    >>> clusters.labels.tolist()
    [0, 0, 1]
    """

    def __init__(self) -> None:
        self.labels = np.empty(0, np.int64)
        self.n_clusters = 0

    def extend(self, block: np.ndarray) -> None:
        """Assign the next objects; ``block[r]`` holds the similarities of one of them to all objects before it."""
        first = self.labels.size
        labels = np.empty(first + block.shape[0], np.int64)
        labels[:first] = self.labels
        if block.shape[1] < labels.size - 1:
            raise InputError(f"block has {block.shape[1]} columns; expected one for each of {labels.size - 1} objects")
        if not np.all(np.isfinite(block)):
            raise InputError("block has a similarity that is not finite; correlation clustering adds them up")
        self.n_clusters = _extend(np.ascontiguousarray(block, dtype=np.float64), first, labels, self.n_clusters)
        self.labels = labels


def agglomerative(similarities: Any) -> np.ndarray:
    """Merge the two clusters with the largest sum of similarities between them while that is positive, from singletons.

    Finley & Joachims (2005). Among equal sums the pair with the lowest first cluster wins, then the lowest second one;
    clusters are ordered by their first members.

    >>> agglomerative([1.0, -3.0, 2.0]).tolist()
    [0, 1, 1]
    """
    values = condensed(similarities)
    labels = np.arange(n_objects(values.size))
    _merge(square(values), labels)
    return numbered(labels)


def components(values: np.ndarray) -> np.ndarray:
    """Connected components of the graph of positive similarities: some best partition has no cluster that spans two.

    Taking a cluster apart along components removes only similarities that are not positive. The same holds for the
    relaxation: setting z = 0 between components breaks no triangle inequality.
    """
    parent = np.arange(n_objects(values.size))
    _components(values, parent)
    return numbered(parent)


@kernel
def _value(values, labels):
    total, pair = 0.0, 0
    for j in range(1, labels.size):
        for k in range(j):
            if labels[j] == labels[k]:
                total += values[pair]
            pair += 1
    return total


@helper
def _choose(sums, n_clusters):
    """The cluster with the largest sum if that is not negative, else a new one."""
    best = n_clusters
    for c in range(n_clusters):
        if sums[c] >= 0.0 and (best == n_clusters or sums[c] > sums[best]):
            best = c
    return best


@kernel
def _extend(block, first, labels, n_clusters):
    sums = np.zeros(labels.size)
    for r in range(block.shape[0]):
        for c in range(n_clusters):
            sums[c] = 0.0
        for k in range(first + r):
            sums[labels[k]] += block[r, k]
        labels[first + r] = _choose(sums, n_clusters)
        n_clusters = max(n_clusters, labels[first + r] + 1)
    return n_clusters


@helper
def _best_partner(between, alive, a):
    """The later cluster with the largest sum to cluster ``a``; -1 without later clusters."""
    best = -1
    for b in range(a + 1, alive.size):
        if alive[b] and (best < 0 or between[a, b] > between[a, best]):
            best = b
    return best


@helper
def merge_clusters(between, alive, partner, threshold, parent):
    """Greedy merging; every cluster keeps its best later partner, which few merges change."""
    n, merges = alive.size, 0
    for a in range(n):
        partner[a] = _best_partner(between, alive, a) if alive[a] else -1
    while True:
        a = -1
        for c in range(n):
            if alive[c] and partner[c] >= 0 and (a < 0 or between[c, partner[c]] > between[a, partner[a]]):
                a = c
        if a < 0 or not between[a, partner[a]] > threshold:
            return merges
        b = partner[a]
        merges += 1
        alive[b] = False
        parent[b] = a
        for c in range(n):
            if alive[c] and c != a:
                between[a, c] += between[b, c]
                between[c, a] = between[a, c]
        partner[a] = _best_partner(between, alive, a)
        for c in range(b):
            if alive[c] and c != a:
                if partner[c] == a or partner[c] == b:
                    partner[c] = _best_partner(between, alive, c)
                elif c < a and (
                    between[c, a] > between[c, partner[c]]
                    or (between[c, a] == between[c, partner[c]] and a < partner[c])
                ):
                    partner[c] = a


@helper
def follow(parent, a):
    while parent[a] != a:
        parent[a] = parent[parent[a]]  # shorter ways for the next
        a = parent[a]
    return a


@kernel
def _merge(between, labels):
    """From singletons; changes ``between``. A cluster has the number of its first member."""
    n = labels.size
    parent = np.arange(n)
    merge_clusters(between, np.ones(n, np.bool_), np.empty(n, np.int64), 0.0, parent)
    for j in range(n):
        labels[j] = follow(parent, j)


@kernel
def _components(values, parent):
    pair = 0
    for j in range(1, parent.size):
        for k in range(j):
            if values[pair] > 0.0:
                a, b = follow(parent, j), follow(parent, k)
                if a < b:
                    parent[b] = a
                elif b < a:
                    parent[a] = b
            pair += 1
    for j in range(parent.size):
        parent[j] = parent[parent[j]]
