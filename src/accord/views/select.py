"""Views of a part of each input: some columns of a matrix, or one of several things that an input consists of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from accord.exceptions import InputError
from accord.packed.tables import as_csr
from accord.views.compose import Views, WrappingView
from accord.views.frames import column_values, is_frame
from accord.views.inputs import as_list, describe


@dataclass(eq=False, repr=False)
class Select(WrappingView):
    """A view of a part of each input, so that several views can have inputs of their own.

    Parameters
    ----------
    key : slice, int, str, or list or array of int, str or bool
        If ``X`` is an array, a sparse matrix or a DataFrame: the columns, by number or, in a DataFrame, by name.
        If ``X`` is a list: what to take from each input, ``X[i][key]``. That is a position in a tuple, a key of a
        dict, or columns again if the inputs are arrays. From a dict, a list of keys takes the entries that there are.
    view : View, list or dict of views, optional
        The view of that part. By default the one that suits its look: ``ArrayFeatures()``, ``TokenFeatures()`` or
        ``DictFeatures()``.

    Attributes
    ----------
    view_ : View
        The fitted view.
    n_dims_ : int
        Number of features.

    Examples
    --------
    >>> from accord import ArrayFeatures, ConcatenatedViews, Select, TokenFeatures
    >>> X = [{"words": ["Tom", "comes"], "sound": [[0.5], [0.2]]}]
    >>> view = ConcatenatedViews({"text": Select("words", TokenFeatures(window=0)), "sound": Select("sound")})
    >>> view.fit_rows(X).n_rows, view.view_names()
    (2, ['text', 'sound'])
    """

    key: Any
    view: Views | None = None

    def _inputs(self, X: Any) -> Any:
        if _is_table(X):
            return _columns(X, self.key, "X")
        values = [_entry(x, self.key, f"X[{i}]") for i, x in enumerate(as_list(X, "a tuple, a dict or a row"))]
        # one number per input is a matrix of one column
        return [[value] for value in values] if values and all(map(_is_number, values)) else values


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, np.number, np.bool_))


def _is_table(x: Any) -> bool:
    return sp.issparse(x) or is_frame(x) or (isinstance(x, np.ndarray) and x.ndim > 1)


def _is_listed(key: Any) -> bool:
    return isinstance(key, (list, tuple, range, np.ndarray))


def _entry(x: Any, key: Any, where: str) -> Any:
    """What ``key`` stands for in one input."""
    if _is_table(x):
        return _columns(x, key, where)
    try:
        if isinstance(x, (str, bytes)):
            raise TypeError
        if isinstance(x, Mapping) and isinstance(key, list):
            return {name: x[name] for name in key if name in x}
        if isinstance(x, Mapping) or not _is_listed(key):
            return x[key]
        return [x[j] for j in np.arange(len(x))[list(key)]]
    except (KeyError, IndexError, TypeError):
        has = ""
        if isinstance(x, Mapping):
            has = f"; it has {', '.join(map(repr, list(x)[:10]))}"
        elif hasattr(x, "__len__") and not isinstance(x, (str, bytes)):
            has = f"; it has {len(x)} entries"
        raise InputError(
            f"{where} is {describe(x)} and has no {key!r}, which Select takes from every input{has}"
        ) from None


def _columns(x: Any, key: Any, where: str) -> Any:
    """The columns of a matrix that ``key`` stands for; those of a stack of matrices are its last axis."""
    if is_frame(x):
        return _frame_columns(x, key, where)
    chosen = _numbers(key, x.shape[-1], where)
    return as_csr(x, where)[:, chosen] if sp.issparse(x) else x[..., chosen]


def _numbers(key: Any, n_columns: int, where: str) -> np.ndarray:
    """Column numbers."""
    try:
        if isinstance(key, slice):
            return np.arange(n_columns)[key]
        listed = np.asarray(list(key) if _is_listed(key) else [key])
        if listed.dtype.kind not in "iub" and listed.size:
            raise TypeError
        return np.arange(n_columns)[listed if listed.size else []]
    except (TypeError, IndexError, ValueError):
        raise InputError(
            f"{where} has {n_columns} columns; Select cannot take {key!r} from it. "
            f"Expected column numbers from 0 to {n_columns - 1}, a slice, or one True or False per column"
        ) from None


def _frame_columns(x: Any, key: Any, where: str) -> Any:
    names = list(x.columns)
    listed = _is_listed(key) and not (isinstance(key, tuple) and key in names)  # names may be tuples
    wanted = list(key) if listed else [key]
    if isinstance(key, slice):
        numbers = np.arange(len(names))[_positions(key, names, where)]
    elif listed and all(isinstance(name, (bool, np.bool_)) for name in wanted):
        numbers = _numbers(key, len(names), where)
    elif all(name in names for name in wanted):
        numbers = np.array([names.index(name) for name in wanted], np.int64)
    else:
        strange = [name for name in wanted if isinstance(name, str) and name not in names]
        if strange:
            shown = ", ".join(map(repr, names[:10])) + ", ..." * (len(names) > 10)
            raise InputError(f"{where} has no column {strange[0]!r}, which Select takes; it has {shown}")
        numbers = _numbers(key, len(names), where)
    if not listed and not isinstance(key, slice):
        column = x.iloc[:, int(numbers[0])]
        if getattr(column.dtype, "kind", "O") not in "biuf":
            return column_values(column)  # text, or one list of tokens per input
    return x.iloc[:, numbers]


def _positions(key: slice, names: list[Any], where: str) -> slice:
    """A slice of column names, which includes both ends as in pandas, as one of column numbers."""
    if not any(isinstance(end, str) for end in (key.start, key.stop)):
        return key
    for end in (key.start, key.stop):
        if end is not None and end not in names:
            raise InputError(f"{where} has no column {end!r}, which Select takes; it has {names[:10]}")
    first = None if key.start is None else names.index(key.start)
    return slice(first, None if key.stop is None else names.index(key.stop) + 1, key.step)
