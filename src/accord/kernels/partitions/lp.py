"""Correlation clustering by linear programs [thesis 3.36-3.38 and LP decoding in 8.2].

The relaxation (:mod:`accord.kernels.partitions.triangles`) is solved component by component of the positive
similarities, and rounded to a partition, or searched through by branch and bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from accord.exceptions import InputError
from accord.kernels.partitions import correlation as cc
from accord.kernels.partitions import moves
from accord.kernels.partitions.condensed import condensed, n_objects, pair_numbers
from accord.kernels.partitions.triangles import BROKEN, Relaxed, TriangleProgram, is_whole

# Exact search: sets above this size take too long to be useful, and a branch must promise this much (relative).
MAX_EXACT = 60
GAIN = 1e-9


class Clustering(NamedTuple):
    """A partition, the sum of similarities within its clusters, and an upper bound of this sum for any partition."""

    labels: np.ndarray
    value: float
    bound: float


def relaxed(similarities: np.ndarray) -> Relaxed:
    """The best z of the relaxation, in condensed order, and its value; component after component."""
    values = condensed(similarities)
    z, bound = np.zeros(values.size), 0.0
    for _, pairs, here in _parts(values):
        if np.all(here >= 0.0):
            z[pairs], part = 1.0, float(here.sum())
        else:
            z[pairs], part = TriangleProgram(n_objects(here.size)).solve(here)  # type: ignore[misc]
        bound += part
    return Relaxed(z, bound)


def lp(similarities: np.ndarray) -> Clustering:
    """The relaxation, rounded to a partition in several ways, each improved by moves; the best of them."""
    values = condensed(similarities)
    z, bound = relaxed(values)
    return rounded(values, z, bound)


def rounded(values: np.ndarray, z: np.ndarray, bound: float) -> Clustering:
    """The best of several ways to make a partition of a relaxed one."""
    if is_whole(z):
        labels = moves.linked(z, 0.5)
        return Clustering(labels, cc.value_of(values, labels), bound)
    starts = [moves.linked(z, t) for t in (0.5, 0.75, 0.9)]
    starts += [moves.pivoted(z, t) for t in (0.3, 0.5)]
    starts += [cc.agglomerative(z - 0.5), cc.agglomerative(values)]
    best, found = -np.inf, starts[0]
    for start in starts:
        labels = moves.improved(values, start)
        value = cc.value_of(values, labels)
        if value > best:
            best, found = value, labels
    return Clustering(found, best, bound)


def exact(similarities: np.ndarray) -> Clustering:
    """A best partition, by branch and bound on the relaxation; for small sets."""
    values = condensed(similarities)
    n = n_objects(values.size)
    labels, value = cc.components(values), 0.0
    largest = int(np.bincount(labels).max(initial=0))
    if largest > MAX_EXACT:
        raise InputError(
            f'decoder="exact" would have to search {largest} objects linked by positive similarities, of a set '
            f'of {n}; it takes up to {MAX_EXACT}; use decoder="lp", which gives an upper bound as well'
        )
    for members, _, here in _parts(values):
        found = (
            _branch_and_bound(here)
            if np.any(here < 0.0)
            else Clustering(np.zeros(n_objects(here.size), np.int64), float(here.sum()), 0.0)
        )
        labels[members] = labels.max() + 1 + found.labels
        value += found.value
    return Clustering(cc.numbered(labels), value, value)


def _parts(values: np.ndarray) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """For each component with several objects: the objects, their pairs (numbers), and the similarities of these."""
    labels = cc.components(values)
    out = []
    for c in np.flatnonzero(np.bincount(labels, minlength=1) > 1):
        members = np.flatnonzero(labels == c)
        j, k = pair_numbers(members.size)
        pairs = members[j] * (members[j] - 1) // 2 + members[k]
        out.append((members, pairs, values[pairs]))
    return out


def _branch_and_bound(values: np.ndarray) -> Clustering:
    """Depth first, on the pair whose z is nearest to one half; both branches share the program and its inequalities."""
    program = TriangleProgram(n_objects(values.size))
    scale = max(float(np.abs(values).sum()), 1e-300)
    best = Clustering(np.zeros(program.n, np.int64), -np.inf, np.inf)
    waiting = [(np.inf, np.zeros(values.size), np.ones(values.size))]
    while waiting:
        promise, lower, upper = waiting.pop()
        if promise <= best.value + GAIN * scale:
            continue
        program.set_bounds(lower, upper)
        solved = program.solve(values)
        if solved is None or solved.bound <= best.value + GAIN * scale:
            continue
        z, bound = solved
        found = rounded(values, z, bound)
        if found.value > best.value:
            best = found
        distance = np.abs(z - 0.5)
        pair = int(np.argmin(distance))
        if distance[pair] > 0.5 - BROKEN:
            continue
        for whole in (0.0, 1.0) if z[pair] >= 0.5 else (1.0, 0.0):  # the last is looked at first
            low, high = lower.copy(), upper.copy()
            low[pair] = high[pair] = whole
            waiting.append((bound, low, high))
    return best
