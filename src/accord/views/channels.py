"""Channels: the rows of one view among several that share a feature space.

A channel has the inputs, rows and slots of the joint rows, but only those features that belong to its view; the others
are taken out of the table. Its weights are zero outside its features, so the sum of all views' scores is the score of
the summed weights on the joint rows.

Views share out *columns*. A column is a column of the table as the units of one range (``Rows.bounds``) use it:
all positions of a window name the same units, so a feature of a word belongs to the same view wherever in the window
the word stands, while the same column of other units (places in the sentence) means something else and is a column
of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from accord.packed.rows import Rows, Table, as_table, ragged_rows

_BLOCK = 4096  # rows of a dense table looked at a time


@dataclass(frozen=True)
class Columns:
    """The columns that occur in rows.

    Parameters
    ----------
    rows : Rows
    slots : list of int arrays
        For each range of units, the slots that name them.
    range : int array of shape (n,)
        The range of each column.
    number : int array of shape (n,)
        Its number in the table.
    constant : bool array of shape (n,)
        Whether its features are constant, as a bias is.
    """

    rows: Rows
    slots: list[np.ndarray]
    range: np.ndarray
    number: np.ndarray
    constant: np.ndarray

    def features(self, chosen: np.ndarray) -> np.ndarray:
        """Which features (n_dims,) the chosen columns (n,) are."""
        out = np.zeros(self.rows.n_dims, np.bool_)
        for r, slots in enumerate(self.slots):
            numbers = self.number[chosen & (self.range == r)]
            for k in slots:
                out[self.rows.base[k] + numbers * self.rows.stride[k]] = True
        return out


def columns_of(rows: Rows, constant_features: np.ndarray) -> Columns:
    """The columns of the units that the rows name; ``constant_features`` are the numbers of features."""
    rows = rows.merged()
    is_constant = np.zeros(rows.n_dims, np.bool_)
    is_constant[constant_features] = True
    ranges, range_of_slot = np.unique(rows.bounds, axis=0, return_inverse=True)
    slots, numbers, constant = [], [], []
    for r in range(ranges.shape[0]):
        slots.append(np.flatnonzero(range_of_slot.ravel() == r))
        numbers.append(_numbers(rows.table, np.unique(rows.slots[:, slots[-1]])))
        features = rows.base[slots[-1], None] + numbers[-1] * rows.stride[slots[-1], None]
        constant.append(is_constant[features].any(axis=0))
    return Columns(
        rows=rows,
        slots=slots,
        range=np.repeat(np.arange(len(slots)), np.array([n.size for n in numbers], np.int64)),
        number=np.concatenate([np.empty(0, np.int64), *numbers]),
        constant=np.concatenate([np.empty(0, np.bool_), *constant]),
    )


def _numbers(table: Table, units: np.ndarray) -> np.ndarray:
    """The columns that the units have."""
    found = np.zeros(table.shape[1], np.bool_)
    if isinstance(table, np.ndarray):
        for start in range(0, units.size, _BLOCK):
            found |= np.any(table[units[start : start + _BLOCK]] != 0, axis=0)
    else:
        entries = ragged_rows(table.indptr, units)
        found[table.indices[entries[table.data[entries] != 0]]] = True
    return np.flatnonzero(found)


def restrict(rows: Rows, member: np.ndarray) -> Rows:
    """The rows with those features only that are members (n_dims,); layout and feature numbers stay.

    Slots that name the same units keep doing so if they keep the same columns. Otherwise (a view of the middle of
    a window only) they get copies of the units, each with the columns that count there.
    """
    rows = rows.merged()
    width = rows.table.shape[1]
    numbers_of: dict[tuple[int, int], np.ndarray] = {}
    starts: dict[tuple[int, int, bytes], int] = {}
    blocks: list[Table] = []
    bounds = np.empty_like(rows.bounds)
    n_units = 0
    for k in range(rows.base.size):
        first, last = (int(bound) for bound in rows.bounds[k])
        if (first, last) not in numbers_of:
            numbers_of[first, last] = _numbers(rows.table, np.arange(first, last))
        numbers = numbers_of[first, last]
        keep = np.zeros(width, np.bool_)
        keep[numbers] = member[rows.base[k] + numbers * rows.stride[k]]
        key = (first, last, keep.tobytes())
        if key not in starts:
            starts[key] = n_units
            blocks.append(_kept(rows.table, first, last, keep))
            n_units += last - first
        bounds[k] = starts[key], starts[key] + last - first
    shift = (bounds[:, 0] - rows.bounds[:, 0]).astype(np.int32)
    return replace(
        rows,
        table=as_table(np.vstack(blocks) if isinstance(rows.table, np.ndarray) else sp.vstack(blocks, format="csr")),
        slots=rows.slots + shift if shift.any() else rows.slots,
        bounds=bounds,
        shared=False,
    )


def _kept(table: Table, first: int, last: int, keep: np.ndarray) -> Table:
    """The units of a range with the columns to keep; all others are empty."""
    if isinstance(table, np.ndarray):
        return np.where(keep, table[first:last], 0.0)
    entries = slice(table.indptr[first], table.indptr[last])
    indices, data = table.indices[entries], table.data[entries]
    kept = keep[indices]
    pointers = np.concatenate([[0], np.cumsum(kept)])[table.indptr[first : last + 1] - table.indptr[first]]
    return sp.csr_array((data[kept], indices[kept], pointers), shape=(last - first, table.shape[1]))
