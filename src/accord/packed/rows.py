"""Packed features: what every view turns its inputs into, and what every solver reads.

An input is a run of rows (one row per token; one row for a plain instance). Rows are not stored as vectors: a
*table* holds the features of each distinct unit (token type, instance) once, and a row names, for each *slot*, the
unit that fills it. A slot is one position of a window, or one part of a composed view; column ``j`` of the table
counts as feature ``base[k] + j * stride[k]`` in slot ``k``. Products with weights are tabulated per unit and then
gathered, so a word that occurs a thousand times is multiplied once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from accord.exceptions import InputError
from accord.kernels.features import sparse as kernels

Table: TypeAlias = Any  # CSR array or ndarray of shape (n_units, n_columns)


@dataclass(frozen=True)
class Rows:
    """Features of many inputs, packed.

    Parameters
    ----------
    table : CSR array or ndarray of shape (n_units, n_columns)
        Features of each distinct unit.
    slots : int32 array of shape (n_rows, n_slots)
        The unit in each slot of each row.
    base, stride : int64 arrays of shape (n_slots,)
        Column ``j`` of a unit in slot ``k`` is feature ``base[k] + j * stride[k]``.
    bounds : int64 array of shape (n_slots, 2)
        The half-open range of table rows that slot ``k`` may name.
    offsets : int64 array of shape (n_inputs + 1,)
        Input ``i`` owns rows ``offsets[i]:offsets[i + 1]``.
    n_dims : int
        Number of features.
    extra : CSR array or None
        Units that are not in the table (words first seen at prediction), numbered after it.
    shared : bool
        The table belongs to the fitted view and is the same object in every ``transform``, so products
        with it may be kept.
    tokens : object array of shape (n_rows,) or None
        The tokens themselves, for structures that look at them.
    """

    table: Table
    slots: np.ndarray
    base: np.ndarray
    stride: np.ndarray
    bounds: np.ndarray
    offsets: np.ndarray
    n_dims: int
    extra: Table | None = None
    shared: bool = False
    tokens: Any = None

    @classmethod
    def from_matrix(cls, matrix: Table, offsets: np.ndarray | None = None) -> Rows:
        """Rows that are the rows of a matrix; by default one row per input."""
        n = matrix.shape[0]
        if offsets is None:
            offsets = np.arange(n + 1, dtype=np.int64)
        return cls(
            table=as_table(matrix),
            slots=np.arange(n, dtype=np.int32)[:, None],
            base=np.zeros(1, np.int64),
            stride=np.ones(1, np.int64),
            bounds=np.array([[0, n]], np.int64),
            offsets=np.asarray(offsets, np.int64),
            n_dims=matrix.shape[1],
        )

    @property
    def n_inputs(self) -> int:
        return self.offsets.size - 1

    @property
    def n_rows(self) -> int:
        return self.slots.shape[0]

    def token_lists(self) -> list[np.ndarray] | None:
        """The tokens of each input, if there are any."""
        return None if self.tokens is None else [self.tokens[lo:hi] for lo, hi in pairwise(self.offsets.tolist())]

    def take(self, inputs: np.ndarray) -> Rows:
        """The given inputs, in the given order; the table is shared."""
        inputs = np.asarray(inputs, np.int64)
        rows = ragged_rows(self.offsets, inputs)
        return replace(
            self,
            slots=self.slots[rows],
            offsets=ragged_offsets(self.offsets, inputs),
            tokens=None if self.tokens is None else self.tokens[rows],
        )

    def take_rows(self, rows: np.ndarray) -> Rows:
        """Some of the rows, each an input of its own."""
        return replace(self, slots=self.slots[rows], offsets=np.arange(len(rows) + 1)).without_idle_units()

    def without_idle_units(self) -> Rows:
        """The same rows over a table that has no other units."""
        rows = self.merged()
        used = np.unique(rows.slots)
        return replace(
            rows,
            table=as_table(rows.table[used]),
            slots=np.searchsorted(used, rows.slots).astype(np.int32),
            bounds=np.searchsorted(used, rows.bounds).astype(np.int64),
            shared=False,
        )

    def merged(self) -> Rows:
        """The same rows with the extra units moved into the table."""
        if self.extra is None:
            return self
        n_known = self.table.shape[0]
        table = as_table(sp.vstack([sp.csr_array(self.table), sp.csr_array(self.extra)], format="csr"))
        bounds = self.bounds.copy()
        bounds[bounds[:, 1] == n_known, 1] = table.shape[0]
        return replace(self, table=table, bounds=bounds, extra=None, shared=False)

    def features(self) -> kernels.Features:
        """The arrays the kernels take."""
        rows = self.merged()
        if isinstance(rows.table, np.ndarray):
            indptr, indices, data = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0)
            dense = rows.table
        else:
            indptr, indices, data = rows.table.indptr, rows.table.indices, rows.table.data
            dense = np.empty((0, 0))
        return kernels.Features(indptr, indices, data, dense, rows.slots, rows.base, rows.stride)

    def window(self) -> kernels.Window:
        """The slots that are a window over neighbouring rows, if there are any (see :class:`kernels.Window`)."""
        n_slots = self.slots.shape[1]
        for first, size in enumerate(self.stride.tolist()):
            here = slice(first, first + size)
            if (
                not isinstance(self.table, np.ndarray)
                and 1 < size <= n_slots - first
                and np.all(self.stride[here] == size)
                and np.all(self.base[here] == self.base[first] + np.arange(size))
            ):
                for before in range(size):
                    outside = self._outside_of_window(first, size, before)
                    if outside >= 0:
                        return kernels.Window(size, first, before, outside)
        return kernels.Window(0, 0, 0, 0)

    def _outside_of_window(self, first: int, size: int, before: int) -> int:
        """The unit beyond an input's ends if the slots are a window with ``before`` rows before, else -1."""
        if not self.n_rows:
            return -1
        outside = int(self.slots[0, first] if before else self.slots[-1, first + size - 1])
        units = self.slots[:, first + before]
        expected = window_slots(units, self.offsets, before, size - 1 - before, outside)
        return outside if np.array_equal(expected, self.slots[:, first : first + size]) else -1

    def scores(self, weights: np.ndarray, kept: dict[str, np.ndarray] | None = None) -> np.ndarray:
        """Products (n_rows, n_outputs) with weights (n_dims, n_outputs).

        ``kept`` holds the products of the shared table between calls with the same weights.
        """
        weights = np.ascontiguousarray(weights)
        known = kept.get("known") if kept is not None and self.shared else None
        if known is None:
            known = self._unit_scores(self.table, self.bounds, weights)
            if kept is not None and self.shared:
                kept["known"] = known
        sizes = self.bounds[:, 1] - self.bounds[:, 0]
        n_known = self.table.shape[0]
        # slots whose units end before the table does never have an extra one
        extra_bounds = np.zeros_like(self.bounds)
        if self.extra is not None:
            extra_bounds[self.bounds[:, 1] == n_known, 1] = self.extra.shape[0]
        extra = self._unit_scores(self.extra, extra_bounds, weights)
        out = np.empty((self.n_rows, weights.shape[1]))
        kernels.gather(
            self.slots, known, np.cumsum(sizes) - sizes - self.bounds[:, 0],
            extra, np.cumsum(extra_bounds[:, 1]) - extra_bounds[:, 1] - n_known, n_known, out,
        )  # fmt: skip
        return out

    def _unit_scores(self, table: Table | None, bounds: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Products of the units ``bounds[k]`` of the table as slot ``k`` sees them, one slot after another."""
        ends = np.cumsum(bounds[:, 1] - bounds[:, 0])
        out = np.empty((int(ends[-1]) if ends.size else 0, weights.shape[1]))
        for k, (first, last) in enumerate(bounds.tolist()):
            if table is None or first == last:
                continue
            base, stride = int(self.base[k]), int(self.stride[k])
            here = out[ends[k] - (last - first) : ends[k]]
            if isinstance(table, np.ndarray):
                np.dot(table[first:last], weights[base : base + table.shape[1] * stride : stride], out=here)
            else:
                kernels.score_units(table.indptr, table.indices, table.data, first, base, stride, weights, here)
        return out

    def transpose_scores(self, coefficients: np.ndarray) -> np.ndarray:
        """Sum over rows of features times ``coefficients`` (n_rows, n_outputs): shape (n_dims, n_outputs)."""
        rows = self.merged()
        out = np.zeros((self.n_dims, coefficients.shape[1]))
        for k in range(rows.slots.shape[1]):
            base, stride = int(rows.base[k]), int(rows.stride[k])
            first, last = (int(b) for b in rows.bounds[k])
            per_unit = np.zeros((last - first, coefficients.shape[1]))
            kernels.scatter(rows.slots[:, k], first, coefficients, per_unit)
            if isinstance(rows.table, np.ndarray):
                out[base : base + rows.table.shape[1] * stride : stride] += rows.table[first:last].T @ per_unit
            else:
                t = rows.table
                kernels.add_units(t.indptr, t.indices, t.data, first, base, stride, per_unit, out)
        return out

    def matrix(self) -> sp.csr_array:
        """All rows as one sparse matrix (n_rows, n_dims)."""
        rows = self.merged()
        total = sp.csr_array((self.n_rows, self.n_dims))
        table = sp.csr_array(rows.table)
        for k in range(rows.slots.shape[1]):
            part = table[rows.slots[:, k]]
            columns = int(rows.base[k]) + part.indices.astype(np.int64) * int(rows.stride[k])
            total = total + sp.csr_array((part.data, columns, part.indptr), shape=total.shape)
        return sp.csr_array(total)


def concatenate(parts: Sequence[Rows]) -> Rows:
    """Put the features of several views of the same inputs side by side."""
    if len(parts) == 1:
        return parts[0]
    dims = np.cumsum([0] + [p.n_dims for p in parts])
    return stack([replace(p, base=p.base + d) for p, d in zip(parts, dims)], int(dims[-1]))


def stack(parts: Sequence[Rows], n_dims: int) -> Rows:
    """Rows that have the features of all parts, which are rows of the same inputs numbered in one feature space."""
    parts = [p.merged() for p in parts]
    for p in parts[1:]:
        if not np.array_equal(p.offsets, parts[0].offsets):
            raise InputError("views: all views must give the same number of rows for every input")
    n_columns = max(p.table.shape[1] for p in parts)
    tables = []
    for p in parts:
        table = sp.csr_array(p.table)
        tables.append(sp.csr_array((table.data, table.indices, table.indptr), shape=(table.shape[0], n_columns)))
    unit = np.cumsum([0] + [p.table.shape[0] for p in parts])
    return Rows(
        table=as_table(sp.vstack(tables, format="csr")),
        slots=np.ascontiguousarray(np.hstack([p.slots + np.int32(u) for p, u in zip(parts, unit)])),
        base=np.concatenate([p.base for p in parts]),
        stride=np.concatenate([p.stride for p in parts]),
        bounds=np.concatenate([p.bounds + u for p, u in zip(parts, unit)]),
        offsets=parts[0].offsets,
        n_dims=n_dims,
    )


def stack_channels(channels: Sequence[Rows]) -> Rows:
    """The views of the same inputs one after another, as if they were other inputs: view ``v`` of input ``i`` becomes
    input ``v * n_inputs + i``. All views are numbered in one feature space and have the same slots."""
    channels = [c.merged() for c in channels]
    first = channels[0]
    if len(channels) == 1:
        return first
    units = np.cumsum([0] + [c.table.shape[0] for c in channels])
    dense = all(isinstance(c.table, np.ndarray) for c in channels)
    tables = [c.table if dense else sp.csr_array(c.table) for c in channels]
    slots = np.concatenate([c.slots + np.int32(u) for c, u in zip(channels, units)])
    return Rows(
        table=as_table(np.concatenate(tables) if dense else sp.vstack(tables, format="csr")),
        slots=np.ascontiguousarray(slots),
        base=first.base,
        stride=first.stride,
        bounds=np.repeat([[0, units[-1]]], first.slots.shape[1], axis=0).astype(np.int64),
        offsets=np.concatenate([first.offsets, *(c.offsets[1:] + v * c.n_rows for v, c in enumerate(channels) if v)]),
        n_dims=first.n_dims,
    )


def join_inputs(labeled: Rows, unlabeled: Rows) -> Rows:
    """The inputs of both, which are rows of the same table, one after another."""
    return replace(
        labeled,
        slots=np.concatenate([labeled.slots, unlabeled.slots]),
        offsets=np.concatenate([labeled.offsets, labeled.offsets[-1] + unlabeled.offsets[1:]]),
        tokens=None if labeled.tokens is None else np.concatenate([labeled.tokens, unlabeled.tokens]),
    )


def as_table(matrix: Table) -> Table:
    """The matrix in the types the kernels were compiled for."""
    if sp.issparse(matrix):
        return _typed_csr(sp.csr_array(matrix))
    return np.ascontiguousarray(matrix, dtype=np.float64)


def _typed_csr(m: sp.csr_array) -> sp.csr_array:
    # int64 row pointers, int32 columns: scipy would otherwise choose by size, and kernels would be compiled twice
    out = sp.csr_array(m.shape)
    out.data = np.ascontiguousarray(m.data, dtype=np.float64)
    out.indices = np.ascontiguousarray(m.indices, dtype=np.int32)
    out.indptr = np.ascontiguousarray(m.indptr, dtype=np.int64)
    return out


def ragged_rows(offsets: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """Row numbers of the given inputs, one after another."""
    lengths = offsets[inputs + 1] - offsets[inputs]
    starts = np.repeat(offsets[inputs] - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths)
    return starts + np.arange(lengths.sum())


def ragged_offsets(offsets: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """Offsets after taking the given inputs."""
    return np.concatenate([[0], np.cumsum(offsets[inputs + 1] - offsets[inputs])]).astype(np.int64)


def window_slots(units: np.ndarray, offsets: np.ndarray, before: int, after: int, outside: int) -> np.ndarray:
    """Slots (n_rows, before + 1 + after): the unit at every position of a window; ``outside`` beyond the input."""
    n = units.size
    slots = np.full((n, before + 1 + after), outside, np.int32)
    lengths = np.diff(offsets)
    start = np.repeat(offsets[:-1], lengths)
    stop = np.repeat(offsets[1:], lengths)
    position = np.arange(n)
    for column, shift in enumerate(range(-before, after + 1)):
        there = position + shift
        inside = (there >= start) & (there < stop)
        slots[inside, column] = units[there[inside]]
    return slots
