"""Losses between two partitions of a set, from counts of objects per cluster [spec 1.5].

Partitions are arrays of cluster numbers. Nothing here loops over pairs: what pairs contribute follows from the sizes of
clusters and of their intersections ("cells"), and from how many members come after an object in input order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from accord.kernels.partitions.condensed import pair_numbers

LOSSES = ("total", "rand", "zero-one")


class Cells(NamedTuple):
    """Sizes of the true cluster, the other cluster and their intersection, for each object and for each of those."""

    true: np.ndarray  # (n_true,) sizes
    other: np.ndarray  # (n_other,)
    cell: np.ndarray  # (n_cells,)
    true_of: np.ndarray  # (n_objects,) numbers
    other_of: np.ndarray
    cell_of: np.ndarray


def cells(y: np.ndarray, other: np.ndarray) -> Cells:
    """Count how two partitions overlap."""
    _, true_of, true = np.unique(y, return_inverse=True, return_counts=True)
    _, other_of, sizes = np.unique(other, return_inverse=True, return_counts=True)
    _, cell_of, cell = np.unique(true_of * max(sizes.size, 1) + other_of, return_inverse=True, return_counts=True)
    return Cells(true, sizes, cell, true_of, other_of, cell_of)


def pairs_within(sizes: np.ndarray) -> int:
    """Number of pairs within groups of these sizes."""
    return int((sizes * (sizes - 1) // 2).sum())


def pair_counts(y: np.ndarray, other: np.ndarray) -> tuple[int, int, int]:
    """Pairs in one cluster: of the true partition, of the other one, of both."""
    c = cells(y, other)
    return pairs_within(c.true), pairs_within(c.other), pairs_within(c.cell)


def rand_loss(y: np.ndarray, other: np.ndarray) -> float:
    """Fraction of pairs that are together in one partition only; 0 without pairs."""
    true, predicted, both = pair_counts(y, other)
    return (true + predicted - 2 * both) / max(1, y.size * (y.size - 1) // 2)


def total_loss(y: np.ndarray, other: np.ndarray) -> float:
    """Sum over wrong pairs (j, k < j) of 1 / (size of k's true cluster, without j).

    A pair that should be together weighs ``1 / (size - 1)`` and a pair that should not ``1 / size`` of the cluster of
    its *earlier* object k, so that the loss depends a little on the order of the objects.
    """
    c = cells(y, other)
    size = c.true[c.true_of]
    # halves, because each object of a pair counts it
    missing = (size - c.cell[c.cell_of]) / (2.0 * np.maximum(size - 1, 1))
    intruders = (_later(c.other_of, c.other) - _later(c.cell_of, c.cell)) / size
    return float(missing.sum() + intruders.sum())


def _later(group: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """How many members of its group come after each object."""
    order = np.argsort(group, kind="stable")
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    out = np.empty(group.size, np.int64)
    out[order] = sizes[group[order]] - 1 - (np.arange(group.size) - first)
    return out


def loss(name: str, y: np.ndarray, other: np.ndarray) -> float:
    """One of ``LOSSES`` by its name."""
    if name == "zero-one":
        true, predicted, both = pair_counts(y, other)
        return float(not true == predicted == both)
    return (total_loss if name == "total" else rand_loss)(y, other)


def pair_weights(name: str, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whether each pair is in one cluster, and what it costs to have it wrong; in condensed order."""
    j, k = pair_numbers(y.size)
    same = y[j] == y[k]
    if name == "rand":
        return same, np.full(same.size, 1.0 / max(same.size, 1))
    _, number, sizes = np.unique(y, return_inverse=True, return_counts=True)
    return same, 1.0 / (sizes[number[k]] - same)


def b_cubed(y: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """Sums over objects of precision and recall: how much of its other and of its true cluster is in both of them."""
    c = cells(y, other)
    shared = c.cell[c.cell_of]
    return float((shared / c.other[c.other_of]).sum()), float((shared / c.true[c.true_of]).sum())
