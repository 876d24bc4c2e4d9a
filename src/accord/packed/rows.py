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
from typing import Any

import numpy as np
import scipy.sparse as sp

from accord import memory
from accord.exceptions import InputError
from accord.kernels.features import sparse as kernels
from accord.packed.tables import Table, as_table, ragged_offsets, ragged_rows, window_slots

MOST_KEPT = 4 * memory.SCORES  # products of a view's own table that may be kept


@dataclass(frozen=True)
class Rows:
    """Features of many inputs, packed: a matrix (n_rows, n_dims) that is never written down.

    Row ``r`` of that matrix is the sum over slots ``k`` of the table's row ``slots[r, k]``, whose column ``j`` stands
    at ``base[k] + j * stride[k]``. :meth:`matrix` writes it down, :meth:`scores` and :meth:`transpose_scores` are
    products with it and with its transpose, and kernels get the same from :meth:`features` and :meth:`window`. Whoever
    makes rows promises the shapes, types and ranges below; nobody writes to them afterwards, because rows that are
    taken from others, or put together from them, share their arrays.

    Parameters
    ----------
    table : CSR array or ndarray of shape (n_units, n_columns)
        Features of each distinct unit, as :func:`~accord.packed.tables.as_table` gives them.
    slots : C-contiguous int32 array of shape (n_rows, n_slots)
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
        Units that are not in the table (words first seen at prediction), numbered after it. Slots whose bounds end
        where the table does may name them, too; :meth:`merged` moves them into the table.
    shared : bool
        The table belongs to the fitted view and is the same in every ``transform``, so products with it may be kept.
    tokens : object array of shape (n_rows,) or None
        The tokens themselves, for structures that look at them.
    input_weights : float64 array of shape (n_inputs,) or None
        How much each input counts in training; None: each as one. They follow the inputs wherever those go, so that
        whoever is given training rows has them.
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
    tokens: Any = None  # those who read them know that they are there
    input_weights: np.ndarray | None = None

    @classmethod
    def of_units(cls, table: Table, units: np.ndarray, offsets: np.ndarray, shared: bool = False) -> Rows:
        """Rows (one for each of ``units``) that have the features of one unit."""
        return cls(
            table=as_table(table),
            slots=units.astype(np.int32)[:, None],
            base=np.zeros(1, np.int64),
            stride=np.ones(1, np.int64),
            bounds=np.array([[0, table.shape[0]]], np.int64),
            offsets=np.asarray(offsets, np.int64),
            n_dims=table.shape[1],
            shared=shared,
        )

    @classmethod
    def from_matrix(cls, matrix: Table, offsets: np.ndarray | None = None) -> Rows:
        """Rows that are the rows of a matrix; by default one row per input."""
        n = matrix.shape[0]
        return cls.of_units(matrix, np.arange(n), np.arange(n + 1) if offsets is None else offsets)

    @property
    def n_inputs(self) -> int:
        return self.offsets.size - 1

    @property
    def n_rows(self) -> int:
        return self.slots.shape[0]

    @property
    def kernel_weights(self) -> np.ndarray:
        """How much each input counts, as kernels take it: empty if each counts as one."""
        return np.empty(0) if self.input_weights is None else self.input_weights

    def row_weights(self) -> np.ndarray:
        """How much the input of each row counts (n_rows,)."""
        weights = np.ones(self.n_inputs) if self.input_weights is None else self.input_weights
        return np.repeat(weights, np.diff(self.offsets))

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
            input_weights=None if self.input_weights is None else self.input_weights[inputs],
        )

    def take_rows(self, rows: np.ndarray) -> Rows:
        """Some of the rows, each an input of its own."""
        taken = replace(self, slots=self.slots[rows], offsets=np.arange(len(rows) + 1), input_weights=None)
        return taken.without_idle_units()

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
        self._check_weights(weights)
        known = kept.get("known") if kept is not None and self.shared else None
        if known is None and self.shared and self.table.shape[0] * self.base.size * weights.shape[1] > MOST_KEPT:
            return self.without_idle_units().scores(weights)
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
        out = np.zeros((self.n_rows, weights.shape[1]))
        kernels.gather(
            self.slots, known, np.cumsum(sizes) - sizes - self.bounds[:, 0],
            extra, np.cumsum(extra_bounds[:, 1]) - extra_bounds[:, 1] - n_known, n_known, out,
        )  # fmt: skip
        return out

    def _check_weights(self, weights: np.ndarray) -> None:
        """Every feature has weights: kernels look them up without asking."""
        if weights.ndim != 2 or weights.shape[0] != self.n_dims:
            raise InputError(
                f"weights have shape {weights.shape}, but rows have {self.n_dims} features; they are of another view"
            )

    def _unit_scores(self, table: Table | None, bounds: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Products of the units ``bounds[k]`` of the table as slot ``k`` sees them, one slot after another."""
        ends = np.cumsum(bounds[:, 1] - bounds[:, 0])
        out = np.zeros((int(ends[-1]) if ends.size else 0, weights.shape[1]))
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

    def transpose_scores(self, coefficients: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Sum over rows of features times ``coefficients`` (n_rows, n_outputs): shape (n_dims, n_outputs).

        ``out``: what to add them to.
        """
        rows = self.merged()
        if out is None:
            out = np.zeros((self.n_dims, coefficients.shape[1]))
        for k in range(rows.slots.shape[1]):
            base, stride = int(rows.base[k]), int(rows.stride[k])
            first, last = (int(b) for b in rows.bounds[k])
            per_unit = np.zeros((last - first, coefficients.shape[1]))
            kernels.scatter(rows.slots, k, first, coefficients, per_unit)
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


def stack(parts: Sequence[Rows], n_dims: int) -> Rows:
    """Rows that have the features of all parts, which are rows of the same inputs numbered in one feature space."""
    check_same_offsets(parts)
    parts = [p.merged() for p in parts]
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


def check_same_offsets(parts: Sequence[Rows]) -> None:
    """Views that are put side by side must have the same rows."""
    for part in parts[1:]:
        if not np.array_equal(part.offsets, parts[0].offsets):
            raise InputError("views: all views must give the same number of rows for every input")


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
        input_weights=None
        if labeled.input_weights is None or unlabeled.input_weights is None
        else np.concatenate([labeled.input_weights, unlabeled.input_weights]),
    )
