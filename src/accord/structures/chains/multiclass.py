"""Flat classes: Phi = psi(x) (x) e_y, decoded by enumeration; loss 0/1 or a cost matrix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from accord import settings
from accord.exceptions import InputError
from accord.structures.chains import losses
from accord.structures.chains.chain import ChainStructure
from accord.structures.chains.labels import Label


class MultiClass(ChainStructure):
    """One class per input.

    Parameters
    ----------
    labels : sequence, optional
        The classes; default: those that occur in Y, sorted.
    loss : "zero-one" or array of shape (n_classes, n_classes)
        ``loss[i, j]`` is the cost of predicting class ``j`` for class ``i`` (classes in the order of ``labels_``).

    Examples
    --------
    >>> MultiClass().fit(["b", "a", None, "b"]).labels_
    ['a', 'b']
    """

    def __init__(self, labels: Sequence[Label] | None = None, loss: Any = "zero-one") -> None:
        self.labels = labels
        self.loss = loss

    def fit(self, Y: Iterable[Any]) -> MultiClass:
        settings.check(self)
        self._set_labels(y for y in Y if y is not None)
        if isinstance(self.loss, str):
            if self.loss not in ("zero-one", "hamming"):
                raise InputError(f'loss is {self.loss!r}; expected "zero-one" or a cost matrix')
            self.loss_ = losses.zero_one(self.n_labels_)
        else:
            self.loss_ = losses.cost(check_costs(self.loss, self.n_labels_), average=False, single=True)
        return self


def check_costs(matrix: Any, n_labels: int) -> np.ndarray:
    """A cost matrix with zero diagonal and no negative entry."""
    try:
        costs = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f'loss is {matrix!r}; expected "zero-one" or a cost matrix of numbers') from None
    if costs.shape != (n_labels, n_labels):
        raise InputError(f"loss has shape {costs.shape}; expected ({n_labels}, {n_labels}), one row per label")
    if not np.all(np.isfinite(costs)) or costs.min() < 0 or np.any(np.diag(costs) != 0):
        raise InputError("loss must be finite and non-negative with zeros on the diagonal")
    return costs
