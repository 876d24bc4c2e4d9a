"""Windows: rows that also have the features of their neighbours.

Feature ``column * W + k`` is the table's ``column`` at position ``k`` of a window of ``W`` positions, so the weights of
a feature at all positions lie side by side, and new columns never move old features.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from accord.exceptions import InputError
from accord.packed.rows import Rows
from accord.packed.tables import Table, as_table, window_slots
from accord.settings import whole

POSITIONS = whole(0, 1000)
WIDE = 21  # positions; who wants more is asked whether it is meant


class Window(NamedTuple):
    """How many positions before and after a row count, too."""

    before: int
    after: int

    @property
    def size(self) -> int:
        """Number of positions."""
        return self.before + 1 + self.after

    @property
    def is_wide(self) -> bool:
        """Whether there are other positions than the row's own, which can then lie outside of the input."""
        return self.size > 1

    def place(self, feature: int) -> tuple[int, str]:
        """The column of a feature, and its position: ``0``, ``-1`` or ``+1``."""
        column, k = divmod(int(feature), self.size)
        return column, "0" if k == self.before else f"{k - self.before:+d}"

    def rows(self, table: Table, units: np.ndarray, offsets: np.ndarray, **more: Any) -> Rows:
        """Rows of the ``units`` (n_rows,) of a table, in which unit 0 stands for "outside of the input"."""
        table = as_table(table)
        return Rows(
            table=table,
            slots=window_slots(units, offsets, self.before, self.after, 0),
            base=np.arange(self.size),
            stride=np.full(self.size, self.size),
            bounds=np.array([[0, table.shape[0]]] * self.size, np.int64),
            offsets=offsets,
            n_dims=self.size * table.shape[1],
            **more,
        )


def warn_of_wide(window: Any) -> None:
    """Say that a very wide window takes long."""
    n = parse_window(window).size
    if n > WIDE:
        warnings.warn(
            f"window is {window!r}: every token has the features of {n} positions, which takes {n} times as long and "
            "is seldom better; use 1 or 2",
            stacklevel=4,
        )


def parse_window(window: Any) -> Window:
    """The window that a view was given: a number of positions on either side, or a pair of numbers."""
    pair = (window, window) if isinstance(window, (int, np.integer)) else window
    if not (isinstance(pair, (tuple, list)) and len(pair) == 2):
        raise InputError(f"window is {window!r}; expected a number of positions, or a pair (before, after)")
    if not all(map(POSITIONS.accepts, pair)):
        raise InputError(f"window is {window!r}; expected numbers of positions, each {POSITIONS.words}")
    return Window(int(pair[0]), int(pair[1]))
