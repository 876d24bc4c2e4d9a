"""Kernel values of block after block of inputs: what a pass over millions of rows spends its time on.

Buffers are used again, because fresh memory costs more than the numbers that are written to it. For plain numbers the
columns of a view are taken, centred and scaled straight into the buffer that the matrix product reads.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from accord.exceptions import InputError
from accord.views.base import View
from accord.views.compose import WrappingView
from accord.views.dense import ArrayFeatures
from accord.views.kernel_views import Comparison, KernelView, Matrix, matrices


class Numbers(NamedTuple):
    """A view of some columns of an array: ``(x[columns] - center) * factor``."""

    n_columns: int
    columns: np.ndarray
    center: np.ndarray
    factor: np.ndarray


class BlockValues:
    """Kernel values between blocks of inputs and fixed rows, for all views.

    May be called from several threads.

    Parameters
    ----------
    views : list of KernelView
    bases : list of matrices
        The rows that inputs are compared with, for each view.
    """

    def __init__(self, views: Sequence[KernelView], bases: Sequence[Matrix]) -> None:
        self.views = list(views)
        self.compare = [Comparison(view.kernel, base) for view, base in zip(views, bases)]
        self.ends = np.cumsum([0, *(one.n_base for one in self.compare)])
        plain = [
            _plain_numbers(view, one.center) if one.by_distance else None for view, one in zip(views, self.compare)
        ]
        self.numbers = [one for one in plain if one is not None]
        if len(self.numbers) < len(plain):
            self.numbers = []
        self._own = threading.local()

    def __call__(self, block: Any) -> np.ndarray:
        """Values (all rows of the bases, n_inputs), in a buffer that the next call of this thread writes to again."""
        plain = (
            bool(self.numbers)
            and isinstance(block, np.ndarray)
            and block.dtype == np.float64
            and block.shape[1:] == (self.numbers[0].n_columns,)
        )
        rows = None if plain else matrices(self.views, block)
        n_rows = block.shape[0] if rows is None else rows[0].shape[0]
        values = self._buffer("values", int(self.ends[-1]), n_rows)
        for v, (one, start, end) in enumerate(zip(self.compare, self.ends, self.ends[1:])):
            if rows is not None:
                one(rows[v], values[start:end])
            else:
                self._compare_numbers(v, block, values[start:end])
        return values

    def _compare_numbers(self, v: int, block: np.ndarray, out: np.ndarray) -> None:
        numbers = self.numbers[v]
        width = numbers.columns.size
        extended = self._buffer(f"extended{v}", block.shape[0], width + 2)
        taken = self._buffer(f"taken{v}", block.shape[0], width)
        np.take(block, numbers.columns, axis=1, out=taken, mode="clip")
        np.subtract(taken, numbers.center, out=taken)
        np.multiply(taken, numbers.factor, out=extended[:, :width])
        if not self.compare[v].compare_extended(extended, out):
            row = int(np.argmin(np.isfinite(taken).all(axis=1)))
            raise InputError(
                f"unlabeled examples: row {row} of a block has values that are not finite, or too large to be squared; "
                "fill in or leave out missing values first"
            )

    def _buffer(self, name: str, *shape: int) -> np.ndarray:
        found = getattr(self._own, name, None)
        if found is None or found.shape != shape:
            found = np.empty(shape)
            setattr(self._own, name, found)
        return found


def _plain_numbers(view: KernelView, center: np.ndarray) -> Numbers | None:
    """How the view reads arrays of numbers, with the center of the compared rows; None if it does more than that."""
    if len(view.parts) != 1:
        return None
    own: View = view.parts[0][0]
    while isinstance(own, WrappingView) and type(own)._inputs is WrappingView._inputs:
        own = own.view_
    if type(own) is not ArrayFeatures or own.window not in (0, (0, 0)):
        return None
    chosen = view.parts[0][1]
    columns = np.arange(own.n_dims_) if chosen is None else chosen
    if np.any(columns >= own.n_columns_):  # a bias
        return None
    scale = np.ones(columns.size) if own.scale_ is None else own.scale_[columns]
    mean = np.zeros(columns.size) if own.mean_ is None else own.mean_[columns]
    return Numbers(own.n_columns_, columns, mean + center * scale, 1.0 / scale)
