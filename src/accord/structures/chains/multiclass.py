"""Flat classes: Phi = psi(x) (x) e_y, decoded by enumeration; loss 0/1 or a cost matrix."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, ClassVar, cast

import numpy as np

from accord import settings
from accord.exceptions import InputError
from accord.settings import is_real
from accord.structures.chains import losses
from accord.structures.chains.chain import ChainStructure
from accord.structures.chains.labels import UNLABELED, Label

MANY = 20  # classes that are numbers: more than these, of every second example, look like measurements


class MultiClass(ChainStructure):
    """One class per input.

    Parameters
    ----------
    labels : sequence, optional
        The classes; default: those that occur in Y, sorted.
    loss : "zero-one" or array of shape (n_classes, n_classes)
        ``loss[i, j]`` is the cost of predicting class ``j`` for class ``i`` (classes in the order of ``labels_``).
    unlabeled : label, optional
        A value of Y that means "unlabeled", as ``None`` and nan do: -1, for data in the form of scikit-learn's
        semi-supervised learners.

    Examples
    --------
    >>> MultiClass().fit(["b", "a", None, "b"]).labels_
    ['a', 'b']
    """

    unlabeled: Label | None = None  # of model files that were written before it was a parameter
    expects: ClassVar = {"unlabeled": UNLABELED}

    def __init__(
        self, labels: Sequence[Label] | None = None, loss: Any = "zero-one", unlabeled: Label | None = None
    ) -> None:
        self.labels = labels
        self.loss = loss
        self.unlabeled = unlabeled

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

    def check_outputs(self, Y: Sequence[Any]) -> list[Any]:
        outputs = super().check_outputs(Y)
        if self.labels is None:
            look_at_numbers([y for y in outputs if y is not None])
        return outputs


def look_at_numbers(labels: Sequence[Any]) -> None:
    """Refuse classes that are measurements, and warn of those that may be, or may mean "unlabeled"."""
    distinct: set[Any] = {label.item() if isinstance(label, np.generic) else label for label in labels}
    written = all(isinstance(label, str) for label in distinct)
    numbers = _read(distinct) if written else cast("list[float]", [n for n in distinct if is_real(n)])
    if not numbers or len(numbers) < len(distinct):
        return
    if math.inf in numbers or -math.inf in numbers:
        raise InputError("Y has a label that is infinite; expected classes, None or nan for unlabeled examples")
    fractional = any(number != int(number) for number in numbers) and not written
    many = len(numbers) > MANY and 2 * len(numbers) > len(labels)
    what = f"Y has {len(numbers)} different numbers for {len(labels)} examples"
    instead = "To predict numbers use RLSR or CoRLSR; if they are classes, declare them, labels=[...], or give text"
    if fractional and many:
        raise InputError(f"Unknown label type: {what}; they are continuous, no classes. {instead}")
    if fractional or many:
        warnings.warn(f"{what}, and each becomes a class of its own. {instead}", stacklevel=5)
    elif not written and min(numbers) == -1 and distinct != {-1, 1}:
        warnings.warn(
            "Y has the label -1 beside labels from 0 on, and it becomes a class of its own. If it means that an "
            "example is unlabeled, say so: MultiClass(unlabeled=-1); if it is a class, declare all of them: "
            f"labels={sorted(numbers)}",
            stacklevel=5,
        )


def _read(labels: Iterable[str]) -> list[float]:
    """The numbers among labels of text, as in tables; what is not finite is taken for a name."""
    found = []
    for label in labels:
        with suppress(ValueError):
            found.append(float(label))
    return [number for number in found if math.isfinite(number)]


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
