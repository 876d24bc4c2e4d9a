"""Checks of X and Y that every learner makes, with errors that say where and what to do."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from accord.exceptions import InputError
from accord.structures.chain import ChainStructure
from accord.views.base import View
from accord.views.rows import Rows


def count(X: Any) -> int:
    """Number of inputs in a list, array, sparse matrix or DataFrame."""
    shape = getattr(X, "shape", None)
    if shape is not None:
        return int(shape[0])
    if isinstance(X, (str, bytes)) or not hasattr(X, "__len__"):
        raise InputError(f"X is a {type(X).__name__}; expected a list of inputs, an array, or a DataFrame")
    return len(X)


def check_lengths(X: Any, Y: Any) -> None:
    if Y is None:
        raise InputError("Y is None: pass a list with one output per input, and None only for unlabeled ones")
    if count(X) != len(Y):
        raise InputError(f"X has {count(X)} inputs but Y has {len(Y)} outputs; they must pair up")


def is_unlabeled(y: Any) -> bool:
    """None, or the nan that a DataFrame makes of it."""
    return y is None or (isinstance(y, float) and y != y)


def labeled_indices(Y: Any) -> np.ndarray:
    return np.array([i for i, y in enumerate(Y) if not is_unlabeled(y)], dtype=np.int64)


def check_outputs(structure: ChainStructure, outputs: Sequence[Any], index: np.ndarray) -> None:
    """Outputs have the shape the structure needs: a label, or a list of labels."""
    for i, y in zip(index, outputs):
        listed = isinstance(y, (list, tuple, np.ndarray))
        if structure.single_row and listed:
            raise InputError(f"Y[{i}] is a {type(y).__name__}; {type(structure).__name__} expects one label per input")
        if not structure.single_row and not listed:
            raise InputError(
                f"Y[{i}] is {y!r}; {type(structure).__name__} expects a list with one label per token, "
                "or None for an unlabeled input"
            )
        if not structure.single_row and any(label is None for label in y):
            t = next(t for t, label in enumerate(y) if label is None)
            raise InputError(f"Y[{i}][{t}] is None; label every token of a labeled input, or give Y[{i}]=None")


def check_rows(structure: ChainStructure, rows: Rows, outputs: Sequence[Any], index: np.ndarray) -> None:
    """Every labeled input has as many rows as its output has labels."""
    lengths = np.diff(rows.offsets)
    if structure.single_row:
        if np.any(lengths != 1):
            i = int(np.flatnonzero(lengths != 1)[0])
            raise InputError(f"X[{i}] has {lengths[i]} rows; {type(structure).__name__} expects one row per input")
        return
    for i, y in zip(index, outputs):
        if len(y) != lengths[i]:
            raise InputError(f"Y[{i}] has {len(y)} labels but X[{i}] has {lengths[i]} tokens")


def token_pairs(i: int, y: Sequence[Any], y_pred: Sequence[Any]) -> list[tuple[Any, Any]]:
    if len(y) != len(y_pred):
        raise InputError(f"Y[{i}] has {len(y)} labels but X[{i}] has {len(y_pred)} tokens")
    return list(zip(y, y_pred))


def default_view(structure: ChainStructure, X: Any) -> View:
    """The view that fits the look of X: text, dicts or numbers."""
    from accord.views import ArrayFeatures, DictFeatures, TokenFeatures

    if hasattr(X, "shape"):
        return ArrayFeatures()
    first = next((x for x in X if not hasattr(x, "__len__") or len(x)), None)
    if isinstance(first, np.ndarray) or (
        isinstance(first, (list, tuple)) and np.isscalar(first[0]) and not isinstance(first[0], str)
    ):
        return ArrayFeatures()
    if isinstance(first, dict):
        return DictFeatures()
    if isinstance(first, (list, tuple)) and isinstance(first[0], str):
        return TokenFeatures() if not structure.single_row else DictFeatures()
    if isinstance(first, (list, tuple)) and isinstance(first[0], (dict, list, tuple, set)):
        return DictFeatures()
    raise InputError(
        f"X[0] is a {type(first).__name__}: cannot tell which view fits; pass view=TokenFeatures(), DictFeatures() "
        "or ArrayFeatures()"
    )


def chunks(X: Any, size: int) -> Iterator[tuple[int, Any]]:
    """Slices of X with the number of their first input."""
    n = count(X)
    rows = X.iloc if hasattr(X, "iloc") else X
    if n == 0:
        return
    for first in range(0, n, size):
        yield first, rows[first : first + size]


def batches(stream: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Lists of up to ``size`` items."""
    items = iter(stream)
    while batch := list(itertools.islice(items, size)):
        yield batch
