"""Numbers in any common container, checked and packed into one matrix with offsets."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from accord.exceptions import InputError, InputTypeError
from accord.packed.tables import Table, as_csr, as_dense
from accord.views.inputs import as_list, describe

EXPECTED = "a row of numbers, or a matrix with one row per token"
_NO_NUMBERS = "not a rectangular array of real numbers."
_HINT = " For features with text values use DictFeatures, for tokens TokenFeatures"


class Packed(NamedTuple):
    """All rows of all inputs."""

    matrix: Table  # (n_rows, n_columns) float64
    offsets: np.ndarray  # (n_inputs + 1,) int64
    columns: list[str] | None  # their names, if the input has any


def pack_matrix(X: Any, n_columns: int | None = None, columns_before: list[str] | None = None) -> Packed:
    """Pack ``X``; the number of columns in the data of ``fit``, and their names, are checked if given.

    ``X`` is a matrix (array, sparse matrix, DataFrame) with one row per input, a list with one vector per input, or a
    list (or three-dimensional array) with one matrix per input, which has one row per token.
    """
    matrix: Table
    columns, offsets, layout = None, None, "matrix"
    if sp.issparse(X):
        matrix = _sparse(X, "X")
    elif hasattr(X, "columns") and hasattr(X, "to_numpy"):
        matrix, columns = _frame(X)
    elif isinstance(X, np.ndarray) and X.ndim == 2:
        matrix = _numbers(X, "X")
    else:
        matrix, offsets, layout = _pack_list(X, n_columns)
    if offsets is None:
        offsets = np.arange(matrix.shape[0] + 1)
    if columns is not None and columns_before is not None and columns != columns_before:
        raise InputError(_other_names(columns_before, columns))
    _check_finite(matrix, offsets, layout, columns)
    if n_columns is not None and matrix.shape[1] != n_columns:
        raise InputError(
            f"X has {matrix.shape[1]} features, but Accord is expecting {n_columns} features as input, as in "
            "the data of fit"
        )
    return Packed(matrix, offsets, columns)


def _other_names(before: list[str], now: list[str]) -> str:
    """How names of columns differ, in the words that scikit-learn uses."""
    parts = ["The feature names should match those that were passed during fit."]
    new, missing = sorted(set(now) - set(before)), sorted(set(before) - set(now))
    for title, names in (("unseen at fit time", new), ("seen at fit time, yet now missing", missing)):
        if names:
            parts += [f"Feature names {title}:", *(f"- {name}" for name in names[:5]), *["- ..."] * (len(names) > 5)]
    if not new and not missing:
        parts.append("Feature names must be in the same order as they were in fit.")
    return "\n".join([*parts, "Give the columns of fit: X[columns]"])


def typical_value(matrix: Table) -> float:
    """The median over rows of the root mean square of what is not zero, as the nearest power of two; 1 if all is zero.

    Rounded, so that some rows more or less, such as unlabeled ones, seldom change it.
    """
    if isinstance(matrix, np.ndarray):
        sums, counts = (matrix**2).sum(axis=1), (matrix != 0).sum(axis=1)
    else:
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        sums, counts = (np.bincount(rows, v, matrix.shape[0]) for v in (matrix.data**2, matrix.data != 0))
    means = sums[counts > 0] / counts[counts > 0]
    found = float(np.sqrt(np.median(means))) if means.size else 1.0
    return float(2.0 ** np.rint(np.log2(found))) if 0.0 < found < np.inf else 1.0


def _pack_list(X: Any, n_columns: int | None) -> tuple[Table, np.ndarray, str]:
    """One vector or one matrix per input: (matrix, offsets, "vectors" or "matrices")."""
    inputs = as_list(X, EXPECTED)
    parts: list[Any] = [
        _sparse(x, f"X[{i}]") if sp.issparse(x) else _numbers(x, f"X[{i}]") for i, x in enumerate(inputs)
    ]
    if all(part.ndim == 2 or part.shape == (0,) for part in parts):
        # an empty list is an input without tokens
        parts = [part if part.ndim == 2 else np.zeros((0, 0)) for part in parts]
    vectors = bool(parts) and parts[0].ndim == 1
    width = _check_shapes(parts, n_columns)
    offsets = np.zeros(len(parts) + 1, np.int64)
    np.cumsum([1 if vectors else part.shape[0] for part in parts], out=offsets[1:])
    kept = [part for part in parts if part.shape != (0, 0)]
    if not kept:
        matrix: Table = np.zeros((0, width))
    elif all(sp.issparse(part) for part in kept):
        matrix = sp.csr_array(sp.vstack(kept, format="csr"))
    else:
        matrix = np.vstack([as_dense(part) for part in kept])
    return matrix, offsets, "vectors" if vectors else "matrices"


def _check_shapes(parts: list[Any], n_columns: int | None) -> int:
    """All parts must be vectors, or all matrices, of the same width, which is returned."""
    for i, part in enumerate(parts):
        if part.ndim not in (1, 2):
            if part.ndim == 0:
                raise InputError(
                    f"X[{i}] is a single number; expected {EXPECTED}. Reshape your data: X.reshape(1, -1) if it is one "
                    "input, X.reshape(-1, 1) if every number is one"
                )
            raise InputError(f"X[{i}] is an array of {part.ndim} dimensions; expected {EXPECTED}")
        if part.ndim != parts[0].ndim:
            raise InputError(
                f"X[{i}] has {part.ndim} dimensions but X[0] has {parts[0].ndim}; expected one kind of input"
            )
    # a matrix without rows fits any width
    widths = [(i, part.shape[-1]) for i, part in enumerate(parts) if part.ndim == 1 or part.shape != (0, 0)]
    if not widths and n_columns is None:
        raise InputError(f"X has no columns to learn from; expected at least one input that is {EXPECTED}")
    for i, width in widths:
        if width != widths[0][1]:
            raise InputError(f"X[{i}] has {width} columns but X[{widths[0][0]}] has {widths[0][1]}")
    return widths[0][1] if widths else int(n_columns or 0)


def _numbers(x: Any, where: str) -> np.ndarray:
    """``x`` as a float64 array; text that looks like numbers is not parsed."""
    if np.ma.is_masked(x):
        raise InputError(f"{where} has masked values; fill them in first, for example by X.filled(0)")
    try:
        array = np.asarray(x)
    except (ValueError, RecursionError):  # ragged
        array = np.empty(0, object)
    if array.dtype.kind == "O" and array.size:
        if any(isinstance(value, (str, bytes)) for value in array.flat):
            array = array.astype(str)
        else:
            try:
                return array.astype(np.float64)
            except TypeError as error:
                raise InputTypeError(f"{where} is {describe(x)}, {_NO_NUMBERS}{_HINT} ({error})") from None
            except (ValueError, OverflowError):
                pass
    if array.dtype.kind == "c":
        raise InputError(f"Complex data not supported: {where} is {describe(x)}; give real and imaginary parts apart")
    if array.dtype.kind not in "biuf":
        raise InputError(f"{where} is {describe(x)}, {_NO_NUMBERS}{_HINT * (array.dtype.kind in 'USO')}")
    return array.astype(np.float64, copy=False)


def _sparse(x: Any, where: str) -> sp.csr_array:
    if x.dtype.kind not in "biuf" or x.ndim != 2:
        raise InputError(f"{where} is a sparse array of {x.ndim} dimensions and type {x.dtype}; expected a real matrix")
    matrix = sp.csr_array(as_csr(x, where), dtype=np.float64)
    matrix.sum_duplicates()
    return matrix


def _frame(X: Any) -> tuple[np.ndarray, list[str]]:
    names = [str(name) for name in X.columns]
    for name, dtype in zip(names, X.dtypes):
        if getattr(dtype, "kind", "O") not in "biuf":
            raise InputError(
                f"X has the column {name!r} of type {dtype}, which is not numeric. "
                "Encode it as numbers, or use DictFeatures with X.to_dict('records')"
            )
    if not names:
        raise InputError("X has no columns")
    return np.asarray(X.to_numpy(dtype=np.float64, na_value=np.nan)), names


def _check_finite(matrix: Table, offsets: np.ndarray, layout: str, columns: list[str] | None = None) -> None:
    """Name the first value that is not finite, the way the user would index it."""
    values = matrix if isinstance(matrix, np.ndarray) else matrix.data
    if np.isfinite(values).all():
        return
    if not isinstance(matrix, np.ndarray):
        at = np.flatnonzero(~np.isfinite(values))[0]
        row, column = int(np.searchsorted(matrix.indptr, at, side="right")) - 1, int(matrix.indices[at])
        value = values[at]
    else:
        row, column = (int(k) for k in np.argwhere(~np.isfinite(values))[0])
        value = values[row, column]
    if columns is not None:
        place = f"X has a value in row {row}, column {columns[column]!r}, that"
    elif layout == "matrix":
        place = f"X[{row}, {column}]"
    else:
        i = int(np.searchsorted(offsets, row, side="right")) - 1
        place = f"X[{i}][{column}]" if layout == "vectors" else f"X[{i}][{row - offsets[i]}, {column}]"
    raise InputError(f"{place} is {value}; features must be finite. Fill in or leave out missing values (NaN) first")
