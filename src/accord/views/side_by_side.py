"""Rows of several views side by side: multiplied one by one without being put into one table, or numbered anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from accord.packed.rows import Rows, check_same_offsets
from accord.packed.tables import as_table


class SideBySide:
    """What a composition of views gives at prediction: scores are sums over the parts, whose tables stay as they are.

    Everything else that rows can do is done by the stacked rows, which are made when they are first asked for.

    Parameters
    ----------
    parts : list of Rows
        The features of each view.
    first : list of int
        The number of each view's first feature in the joint space.
    stack : function that makes the joint rows
    """

    def __init__(self, parts: Sequence[Rows], first: Sequence[int], stack: Callable[[], Rows]) -> None:
        self._parts, self._first, self._stack = parts, first, stack
        self._stacked: Rows | None = None
        self.offsets, self.n_rows, self.n_inputs = parts[0].offsets, parts[0].n_rows, parts[0].n_inputs
        check_same_offsets(parts)

    def scores(self, weights: np.ndarray, kept: dict[Any, Any] | None = None) -> np.ndarray:
        """Products (n_rows, n_outputs) with weights (n_dims, n_outputs); see :meth:`Rows.scores`."""
        total = np.zeros((self.n_rows, weights.shape[1]))
        for v, (part, first) in enumerate(zip(self._parts, self._first)):
            own = None if kept is None else kept.setdefault(("view", v), {})
            total += part.scores(weights[first : first + part.n_dims], own)
        return total

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if self._stacked is None:
            self._stacked = self._stack()
        return getattr(self._stacked, name)


def owners_of_slots(rows: Rows, owners: np.ndarray) -> np.ndarray:
    """The view that each slot is from, that of its first feature; -1 if it has no features."""
    table = sp.csr_array(rows.table)
    found = np.full(rows.base.size, -1)
    for k, (first, last) in enumerate(table.indptr[rows.bounds]):
        if first < last:
            found[k] = owners[rows.base[k] + table.indices[first] * rows.stride[k]]
    return found


def renumbered(part: Rows, blocks: np.ndarray) -> Rows:
    """The part with its features numbered by the blocks: from the first of a pair on they get the second's numbers."""
    part = part.merged()
    base = part.base + blocks[0, 1] - blocks[0, 0]
    if blocks.shape[0] == 1:
        return replace(part, base=base)
    table = sp.csr_array(part.table)
    columns = table.indices.astype(np.int64)
    shifts = blocks[:, 1] - blocks[:, 0] - (blocks[0, 1] - blocks[0, 0])
    done: set[tuple[int, int]] = set()
    for (first, last), start, stride in zip(part.bounds.tolist(), part.base, part.stride):
        if (first, last) in done:  # slots that share units also share their stride, and blocks begin at whole columns
            continue
        done.add((first, last))
        entries = slice(table.indptr[first], table.indptr[last])
        features = start + columns[entries] * stride
        columns[entries] += shifts[np.searchsorted(blocks[:, 0], features, side="right") - 1] // stride
    width = int(columns.max(initial=0)) + 1
    return replace(
        part,
        table=as_table(sp.csr_array((table.data, columns, table.indptr), shape=(table.shape[0], width))),
        base=base,
        shared=False,
    )
