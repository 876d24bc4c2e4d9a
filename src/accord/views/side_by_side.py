"""Rows of several views that are multiplied one by one, without being put into one table first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from accord.exceptions import InputError
from accord.packed.rows import Rows


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
        for part in parts[1:]:
            if not np.array_equal(part.offsets, parts[0].offsets):
                raise InputError("views: all views must give the same number of rows for every input")

    @property
    def offsets(self) -> np.ndarray:
        return self._parts[0].offsets

    @property
    def n_rows(self) -> int:
        return self._parts[0].n_rows

    @property
    def n_inputs(self) -> int:
        return self._parts[0].n_inputs

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
