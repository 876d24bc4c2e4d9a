"""Columns and tables of pandas, polars, Arrow and others.

They come in through narwhals, which newer scikit-learn brings along; without it, pandas works all the same. A column
becomes a list, with None for what is missing, and a table a :class:`Frame`; those of pandas are taken as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from accord.datasets.formats.cells import is_free_text

_PLAIN = (list, tuple, str, bytes, Mapping, np.ndarray)
_VALUES = (str, bool, int, float, np.generic, list, tuple, set, Mapping)  # what DictFeatures take


class Frame:
    """A table with names of columns, as far as anybody here asks for what pandas has.

    Parameters
    ----------
    table : dict
        Arrays of equal length by name: floats, with nan for what is missing, or objects.
    """

    def __init__(self, table: dict[str, np.ndarray]) -> None:
        self.table, self.columns = table, list(table)
        self.dtypes = [values.dtype for values in table.values()]
        self.shape = (next((values.size for values in table.values()), 0), len(table))

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def iloc(self) -> Frame:
        """Itself, to be indexed by rows, or by rows and columns."""
        return self

    def __getitem__(self, key: Any) -> Any:
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        names = np.array(self.columns, object)[columns]
        if isinstance(names, str):
            return self.table[names][rows]
        return Frame({name: self.table[name][rows] for name in names})

    def to_numpy(self, **_: Any) -> np.ndarray:
        """A matrix of numbers."""
        return np.column_stack(list(self.table.values()))


def as_plain(X: Any) -> Any:
    """Columns and tables of other libraries as lists and frames; everything else as it is."""
    if isinstance(X, (*_PLAIN, Frame)) or sp.issparse(X) or X is None:
        return X
    if hasattr(X, "to_pylist") and not hasattr(X, "columns"):  # a column of Arrow; narwhals knows those in chunks only
        return X.to_pylist()
    try:
        import narwhals.stable.v1 as nw
    except ImportError:
        return X
    found = nw.from_native(X, pass_through=True, allow_series=True)
    if isinstance(found, nw.LazyFrame):
        found = found.collect()
    if not isinstance(found, (nw.Series, nw.DataFrame)) or found.implementation.is_pandas_like():
        return X
    if isinstance(found, nw.Series):
        return found.to_list()
    return Frame({name: _array(found[name], nw) for name in found.columns})


def _array(column: Any, nw: Any) -> np.ndarray:
    values = column.to_list()
    if column.dtype.is_numeric() or column.dtype == nw.Boolean:
        return np.array([np.nan if value is None else float(value) for value in values])
    return np.fromiter(values, object, len(values))


def is_frame(X: Any) -> bool:
    """Whether X is a table with names of columns."""
    return hasattr(X, "columns") and hasattr(X, "iloc")


def is_missing(value: Any) -> bool:
    """None, or what a table makes of it."""
    unequal = isinstance(value, (float, np.floating)) and value != value
    return value is None or unequal or type(value).__name__ in ("NAType", "NaTType")


def column_values(column: Any) -> list[Any]:
    """The values of a column of a frame that does not hold numbers; what is missing among texts is empty."""
    values = column.tolist()
    if any(isinstance(value, str) for value in values):
        return ["" if is_missing(value) else value for value in values]
    return values


def frame_dicts(X: Any) -> list[dict[str, Any]]:
    """One dict per row of a frame, without what is missing; what is neither text nor number, such as dates, as text."""
    rows: list[dict[str, Any]] = [{} for _ in range(X.shape[0])]
    for k, name in enumerate(X.columns):
        for row, value in zip(rows, X.iloc[:, k].tolist()):
            if not is_missing(value):
                row[str(name)] = value if isinstance(value, _VALUES) else str(value)
    return rows


def text_columns(X: Any) -> tuple[list[Any], list[Any]]:
    """The columns of a frame, or entries of dicts, that are free text; and the others."""
    if is_frame(X):
        kinds = zip(X.columns, X.dtypes, range(X.shape[1]))
        names = list(X.columns)
        possible = {c: column_values(X.iloc[:, k]) for c, d, k in kinds if getattr(d, "kind", "O") not in "biuf"}
    elif isinstance(X, Sequence) and X and all(isinstance(x, Mapping) for x in X):
        names = list(dict.fromkeys(key for x in X for key in x))
        possible = {key: [x.get(key) for x in X] for key in names}
    else:
        return [], []
    texts = [c for c, values in possible.items() if all(isinstance(v, str) for v in values) and is_free_text(values)]
    return texts, [name for name in names if name not in texts]
