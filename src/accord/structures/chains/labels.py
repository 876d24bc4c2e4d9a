"""Outputs of one label per row, as users write them and as numbers."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from accord.exceptions import InputError
from accord.forms import LABEL, items
from accord.kernels.chains.viterbi import force_labels
from accord.packed.rows import Rows
from accord.settings import Expected
from accord.structures.base import BaseStructure

Label = Hashable
# What a structure may take for "unlabeled".
UNLABELED = Expected("a label that means unlabeled, or None", lambda value: value is None or LABEL.accepts(value))


class LabelStructure(BaseStructure):
    """Base of the structures whose outputs have a label from a fixed list at every row."""

    labels: Sequence[Label] | None
    labels_: list[Label]

    stored: ClassVar[dict[str, Any]] = {"labels_": items(LABEL, distinct=True)}
    derived: ClassVar = ("loss_", "order_", "eta_", "ends_", "observed_", "forbidden_", "nodes_", "node_map_")

    @property
    def n_labels_(self) -> int:
        return len(self.labels_)

    def is_declared(self) -> bool:
        return self.labels is not None

    def declare(self, labels: Sequence[Label]) -> None:
        self.labels = list(labels)

    def _set_labels(self, observed: Iterable[Label]) -> None:
        labels = {label for label in set(observed) if label is not None}
        if self.labels is not None:
            declared = list(self.labels)
            if len(set(declared)) != len(declared):
                raise InputError("labels: a label is listed twice; list every label once")
            unknown = sorted_labels(labels - set(declared))
            if unknown:
                raise InputError(
                    f"Y has the label {unknown[0]!r}, which is not among labels={declared!r}; add it there or fix Y"
                )
            self.labels_ = declared
        else:
            self.labels_ = sorted_labels(labels)
        if not self.labels_:
            raise InputError("Y has no labels: give at least one labeled example, or declare labels=[...]")

    def _derive(self) -> None:
        """Fit to the labels again: all that is known follows from them and the parameters."""
        again = clone(self)
        if "labels" in again.get_params(deep=False):
            again.declare(self.labels_)
        again.fit([])
        if again.labels_ != self.labels_:
            raise InputError(f"labels_ are {self.labels_!r}; expected {again.labels_!r}")
        self.__dict__.update({name: value for name, value in vars(again).items() if name in self.derived})

    def label_numbers(self) -> dict[Label, int]:
        """Number of each label."""
        return {label: i for i, label in enumerate(self.labels_)}

    # -- checks -----------------------------------------------------------------------------------------------------
    def check_outputs(self, Y: Sequence[Any]) -> list[Any]:
        """Outputs, which have the shape that is needed: a label, or a list of labels and None."""
        odd = next((label for label in self.labels or () if not isinstance(label, Hashable)), None)
        if odd is not None:
            raise InputError(f"labels has a {type(odd).__name__}; expected labels, such as strings")
        declared = None if self.labels is None else set(self.labels)
        for i, y in enumerate(Y):
            if y is None:
                continue
            listed = isinstance(y, (list, tuple, np.ndarray))
            if self.single_row and listed:
                raise InputError(f"Y[{i}] is a {type(y).__name__}; {type(self).__name__} expects one label per input")
            if not self.single_row and not listed:
                raise InputError(
                    f"Y[{i}] is {y!r}; {type(self).__name__} expects a list with one label per token, "
                    "or None for an unlabeled input"
                )
            try:
                distinct = {y} if self.single_row else set(y) - {None}
            except TypeError:
                distinct = None
            if distinct is None or (declared is not None and not distinct <= declared):
                self._raise_bad_label(i, self._rows_of(y), declared)
        return list(Y)

    def _raise_bad_label(self, i: int, labels: Iterable[Any], declared: set | None) -> None:
        """Name the label of output ``i`` that cannot be used."""
        wish = f"among labels={list(self.labels or [])!r}; add it there or fix Y"
        for t, label in enumerate(labels):
            if label is not None:
                self._check_label(f"Y[{i}]", t, label, declared, wish)

    def _check_label(self, where: str, t: int, label: Any, known: Collection[Any] | None, wish: str) -> None:
        """A label can be one, and is known; ``wish`` says what it should be."""
        try:
            hash(label)
        except TypeError:
            kind = type(label).__name__
            raise InputError(f"{self._place(where, t)} is a {kind}; expected a label, such as a string") from None
        if known is not None and label not in known:
            raise InputError(f"{self._place(where, t)} is {label!r}, which is not {wish}")

    def check_rows(self, rows: Rows, Y: Sequence[Any]) -> None:
        """Every labeled input has as many rows as its output has labels."""
        lengths = np.diff(rows.offsets)
        if self.single_row:
            if np.any(lengths != 1):
                i = int(np.flatnonzero(lengths != 1)[0])
                raise InputError(f"X[{i}] has {lengths[i]} rows; {type(self).__name__} expects one row per input")
            return
        for i, y in enumerate(Y):
            if y is not None and len(y) != lengths[i]:
                raise InputError(f"Y[{i}] has {len(y)} labels but X[{i}] has {lengths[i]} tokens")

    def warn_of_fit(self) -> None:
        """Learning from outputs that are all alike is seldom meant."""
        if self.n_labels_ == 1:
            warnings.warn(
                f"Y has only one label, {self.labels_[0]!r}: nothing else can be predicted. If there are others, give "
                "examples of them or declare them: labels=[...]",
                stacklevel=4,
            )

    # -- names and numbers ------------------------------------------------------------------------------------------
    def _rows_of(self, y: Any) -> Any:
        """The labels of one output."""
        return [y] if self.single_row else y

    def _place(self, where: str, t: int) -> str:
        """What the label of row ``t`` is called in messages."""
        return where if self.single_row else f"{where}[{t}]"

    def encode(self, Y: Sequence[Any], tokens: Any = None, index: Any = None) -> np.ndarray:
        """Label numbers of packed outputs, -1 for ``None`` inside a sequence (a token that is not annotated).

        ``index[i]`` is the position that error messages give for ``Y[i]``.
        """
        numbers = self.label_numbers() if self.single_row else {None: -1, **self.label_numbers()}
        flat = list(Y) if self.single_row else [label for y in Y for label in y]
        try:
            return np.fromiter(map(numbers.__getitem__, flat), np.int32, len(flat))
        except (KeyError, TypeError):
            self._raise_unknown(Y, numbers, index)
            raise

    def _raise_unknown(self, Y: Sequence[Any], numbers: dict, index: Any) -> None:
        wish = f"one of the labels {self.labels_!r}; fix Y, or declare all labels when training starts"
        for i, y in enumerate(Y):
            for t, label in enumerate(self._rows_of(y)):
                self._check_label(f"Y[{i if index is None else index[i]}]", t, label, numbers, wish)

    def outputs(self, y: np.ndarray, offsets: np.ndarray, tokens: Any = None) -> list[Any]:
        """Outputs as users write them, from packed label numbers."""
        names = np.empty(self.n_labels_, object)
        names[:] = self.labels_
        named = names[y]
        if self.single_row:
            return named.tolist()
        with no_collection():
            # a list per input at once, not one long list and then its parts: half the time under Python's lock
            return [named[lo:hi].tolist() for lo, hi in pairwise(offsets.tolist())]

    def forced_unary(self, unary: np.ndarray, given: Sequence[Any], where: str = "given") -> np.ndarray:
        """Label scores in which rows with a given label keep only that label's; ``where`` names them in errors."""
        numbers = {None: -1, **self.label_numbers()}
        forced, wish = np.full(len(unary), -1, np.int32), f"one of the labels {self.labels_!r}"
        for t, label in enumerate(given):
            self._check_label(where, t, label, numbers, wish)
            forced[t] = numbers[label]
        unary = unary.copy()
        force_labels(unary, forced, self.n_labels_)
        return unary

    # -- comparing --------------------------------------------------------------------------------------------------
    def score_outputs(self, X: Any, Y: Sequence[Any], found: Sequence[Any]) -> float:
        """Fraction of right labels, of those that are annotated."""
        right, total = 0, 0
        for i, (y, y_pred) in enumerate(zip(Y, found)):
            if y is None:
                continue
            if not self.single_row and len(y) != len(y_pred):
                raise InputError(f"Y[{i}] has {len(y)} labels but X[{i}] has {len(y_pred)} tokens")
            pairs = [(a, b) for a, b in zip(self._rows_of(y), self._rows_of(y_pred)) if a is not None]
            right += sum(a == b for a, b in pairs)
            total += len(pairs)
        if total == 0:
            raise InputError("Y has no labels to score against")
        return right / total

    def strata(self, y: np.ndarray) -> np.ndarray | None:
        return y if self.single_row else None

    def label_counts(self, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """How often each label is annotated; a row counts as much as its weight."""
        return np.bincount(y[y >= 0], weights[y >= 0], self.n_labels_)


def sorted_labels(labels: Iterable[Label]) -> list[Label]:
    """Labels in a fixed order, also when their types differ."""
    plain = [label.item() if isinstance(label, np.generic) else label for label in labels]
    try:
        return sorted(plain)  # type: ignore[type-var]
    except TypeError:
        return sorted(plain, key=lambda label: (type(label).__name__, repr(label)))


@contextmanager
def no_collection() -> Iterator[None]:
    """Thousands of new lists would make Python search the whole heap for cycles, which lists of labels cannot form."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
