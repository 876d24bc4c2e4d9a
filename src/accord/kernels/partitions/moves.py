"""Ways to make a partition of a relaxed one, and to improve partitions by moving objects and merging clusters."""

from __future__ import annotations

import numpy as np

from accord.kernels.compiling import kernel
from accord.kernels.partitions.condensed import n_objects, square
from accord.kernels.partitions.correlation import components, follow, merge_clusters, numbered

# A move has to gain more than this fraction of the largest similarity, else rounding errors could go in circles.
PRECISION = 1e-12


def improved(values: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Move single objects to where they gain most and merge clusters, until neither raises the sum."""
    sim = square(values)
    labels = numbered(labels)
    threshold = PRECISION * max(float(np.abs(values).max(initial=0.0)), 1e-300)
    merged = True
    while merged:
        _move(sim, labels, threshold)
        labels = numbered(labels)
        merged = _merge_from(sim, labels, threshold)
    return numbered(labels)


def linked(values: np.ndarray, threshold: float) -> np.ndarray:
    """Connected components of the graph of values above a threshold."""
    return components(values - threshold)


def pivoted(values: np.ndarray, threshold: float) -> np.ndarray:
    """Object after object that is not in a cluster takes all others that are not and have a larger value than this."""
    labels = np.full(n_objects(values.size), -1, np.int64)
    _pivot(values, threshold, labels)
    return labels


@kernel
def _merge_from(sim, labels, threshold):
    """From clusters numbered by first appearance; whether anything was merged."""
    n = labels.size
    n_clusters = 0
    for j in range(n):
        n_clusters = max(n_clusters, labels[j] + 1)
    between = np.zeros((n_clusters, n_clusters))
    for j in range(n):
        for k in range(n):
            if labels[j] != labels[k]:
                between[labels[j], labels[k]] += sim[j, k]
    parent = np.arange(n_clusters)
    merges = merge_clusters(between, np.ones(n_clusters, np.bool_), np.empty(n_clusters, np.int64), threshold, parent)
    for j in range(n):
        labels[j] = follow(parent, labels[j])
    return merges > 0


@kernel
def _move(sim, labels, threshold):
    """Move objects to their best clusters until none gains. Cluster numbers may get gaps."""
    n = labels.size
    sums = np.zeros((n, n + 1))  # of an object to a cluster; the last cluster number is always free
    size = np.zeros(n + 1, np.int64)
    for j in range(n):
        size[labels[j]] += 1
        for k in range(n):
            sums[j, labels[k]] += sim[j, k]
    moved = True
    while moved:
        moved = False
        for j in range(n):
            own, best, free = labels[j], labels[j], -1
            for c in range(n + 1):
                if size[c] == 0:
                    if free < 0:
                        free = c
                elif sums[j, c] > sums[j, best] + threshold:
                    best = c
            if sums[j, best] < -threshold and size[own] > 1:
                best = free
            if best != own:
                moved = True
                labels[j] = best
                size[own] -= 1
                size[best] += 1
                for k in range(n):
                    sums[k, own] -= sim[k, j]
                    sums[k, best] += sim[k, j]
                if size[own] == 0:
                    for k in range(n):
                        sums[k, own] = 0.0  # not what rounding left of it


@kernel
def _pivot(values, threshold, labels):
    n_clusters = 0
    for k in range(labels.size):
        if labels[k] < 0:
            labels[k] = n_clusters
            for j in range(k + 1, labels.size):
                if labels[j] < 0 and values[j * (j - 1) // 2 + k] > threshold:
                    labels[j] = n_clusters
            n_clusters += 1
