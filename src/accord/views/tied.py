"""Features that training cannot tell apart, merged.

Features with the same values on every training row get the same weight from every learner that penalises the
Euclidean length of the weights: ``k`` features of value ``x`` act as one of value ``sqrt(k) x``, whose weight is
``sqrt(k)`` times theirs, with the same objective and the same optimum. A rare word brings a dozen features that occur
with nothing else, so this halves the weights of a text view, and with few labeled among many unlabeled inputs it drops
the features that no labeled input has. (Not for the perceptron: its scores are whole numbers, and the rounding of
roots would decide its ties.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from accord.packed.rows import Rows, as_table
from accord.packed.weights import ROWS


@dataclass(frozen=True)
class Tied:
    """Rows with merged features, and the way back."""

    rows: Rows
    original: Rows | None = None
    group: np.ndarray | None = None  # (n_columns,) merged column of each column
    scale: np.ndarray | None = None  # (n_columns,) 1 / sqrt(size of its group), 0 for a feature that does not occur
    columns: tuple[np.ndarray, ...] = ()  # for each slot the columns that its units have; all others have no weight

    def untie(self, weights: np.ndarray) -> np.ndarray:
        """Weights (n_dims, n_outputs) of the original features."""
        if self.original is None or self.group is None or self.scale is None:
            return weights
        out = np.zeros((self.original.n_dims, weights.shape[1]))
        places = zip(self.columns, self.original.base.tolist(), self.rows.base.tolist(), self.rows.stride.tolist())
        for here, base, tied_base, stride in places:
            for first in range(0, here.size, ROWS):
                some = here[first : first + ROWS]
                out[base + some * stride] = weights[tied_base + self.group[some] * stride] * self.scale[some, None]
        return out


def tie(rows: Rows) -> Tied:
    """Merge the features of rows that have the same value everywhere; dense rows are left as they are."""
    if isinstance(rows.table, np.ndarray) or rows.extra is not None:
        return Tied(rows)
    used = np.unique(rows.slots)
    table = sp.csr_array(rows.table)[used]
    table.sum_duplicates()  # a feature that a row lists twice counts twice
    group, size = _groups(table)
    columns = group[table.indices]
    row = np.repeat(np.arange(used.size), np.diff(table.indptr))
    # one entry per row and group is enough: the others are equal
    _, keep = np.unique(row * (size.size + 1) + columns, return_index=True)
    values = table.data * np.sqrt(size[table.indices])
    n_groups = int(group.max(initial=0)) + 1
    small = sp.csr_array((values[keep], (row[keep], columns[keep])), shape=(used.size, n_groups))
    base, n_dims = _packed(rows, n_groups)
    tied = replace(
        rows,
        table=as_table(small),
        base=base,
        slots=np.searchsorted(used, rows.slots).astype(np.int32),
        bounds=np.searchsorted(used, rows.bounds).astype(np.int64),
        n_dims=n_dims,
        shared=False,
    )
    found: dict[tuple[int, int], np.ndarray] = {}
    for first, last in map(tuple, tied.bounds.tolist()):
        if (first, last) not in found:
            found[first, last] = np.unique(table.indices[table.indptr[first] : table.indptr[last]])
    occurs = np.bincount(table.indices, minlength=size.size) > 0
    scale = np.where(occurs, 1.0 / np.sqrt(size), 0.0)
    return Tied(tied, rows, group, scale, tuple(found[b] for b in map(tuple, tied.bounds.tolist())))


def _packed(rows: Rows, n_columns: int) -> tuple[np.ndarray, int]:
    """Where the features of each slot begin when units have ``n_columns`` columns; and the number of features.

    Slots that interleave, as those of a window do, stay interleaved; the features of other slots follow at once,
    however far away they were numbered.
    """
    base = np.empty_like(rows.base)
    n_dims = 0
    order = np.argsort(rows.base, kind="stable")
    first = None  # the slot that the present run of interleaved slots began with
    for k in order.tolist():
        if first is None or rows.stride[k] != rows.stride[first] or rows.base[k] - rows.base[first] >= rows.stride[k]:
            first, start = k, n_dims
            n_dims += n_columns * int(rows.stride[k])
        base[k] = start + rows.base[k] - rows.base[first]
    return base, n_dims


def _groups(table: sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Group of every column, numbered by first occurrence so that a group never exceeds its columns, and its size."""
    unit = np.repeat(np.arange(1, table.shape[0] + 1, dtype=np.uint64), np.diff(table.indptr))
    signature = np.zeros(table.shape[1], np.uint64)
    np.add.at(signature, table.indices, _mix(unit ^ _mix(table.data.view(np.uint64))))
    _, first, inverse, counts = np.unique(signature, return_index=True, return_inverse=True, return_counts=True)
    rank = np.empty(first.size, np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[inverse], counts[inverse]


def _mix(x: np.ndarray) -> np.ndarray:
    """Scramble 64 bits (the finaliser of splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
