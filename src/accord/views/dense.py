"""Numbers as features: matrices with one row per input, or one row per token (embeddings), in a window if wanted."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from accord.exceptions import InputError
from accord.packed.rows import Rows, as_table, window_slots
from accord.views.base import View
from accord.views.inputs import parse_window
from accord.views.matrices import Packed, pack_matrix


class ArrayFeatures(View):
    """Columns of arrays, sparse matrices or DataFrames.

    ``X`` is a matrix with one row per input, or a list with one vector per input, or a list with one matrix per input
    (one row per token).

    Parameters
    ----------
    standardize : bool, default=False
        Subtract the mean and divide by the standard deviation of each column, both from the data of ``fit``. Sparse
        data are divided only, which keeps their zeros. Constant columns are not divided.
    bias : bool, default=True
        Add a feature that is always 1.
    window : int or (int, int), default=0
        Number of neighbouring tokens on either side (before, after) whose columns count, too.

    Attributes
    ----------
    n_columns_ : int
        Number of columns of the data.
    columns_ : list of str or None
        Their names, if the data were a DataFrame.
    mean_, scale_ : ndarray or None
        What is subtracted and what is divided by; None without ``standardize``.
    n_dims_ : int
        Number of features.

    Examples
    --------
    >>> from accord.views import ArrayFeatures
    >>> ArrayFeatures().fit_rows([[1.0, 2.0], [3.0, 4.0]]).matrix().toarray()
    array([[1., 2., 1.],
           [3., 4., 1.]])
    """

    def __init__(self, standardize: bool = False, bias: bool = True, window: int | tuple[int, int] = 0) -> None:
        self.standardize = standardize
        self.bias = bias
        self.window = window

    def fit_rows(self, X: Any) -> Rows:
        """Learn number and scale of the columns and return the rows of ``X``."""
        before, after = parse_window(self.window)
        packed = pack_matrix(X)
        matrix = packed.matrix
        self.n_columns_: int = matrix.shape[1]
        self.columns_ = packed.columns
        self.mean_: np.ndarray | None = None
        self.scale_: np.ndarray | None = None
        if self.standardize:
            if matrix.shape[0] == 0:
                raise InputError("X has no rows, so there is nothing to standardize by")
            self.mean_, self.scale_ = _mean_and_scale(matrix)
        n_window = before + 1 + after
        # with a window, every position also has a feature that says it lies outside the input
        self.n_dims_ = n_window * (self.n_columns_ + (n_window > 1)) + bool(self.bias)
        return self._rows(packed)

    def extend_rows(self, X: Any) -> Rows:
        """The rows of ``X``: columns are what they are, and their scale stays that of the first data."""
        return self.transform(X) if hasattr(self, "n_columns_") else self.fit_rows(X)

    def transform(self, X: Any) -> Rows:
        """Rows of new data, which must have the same columns."""
        check_is_fitted(self, "n_columns_")
        packed = pack_matrix(X, self.n_columns_)
        if packed.columns is not None and self.columns_ is not None and packed.columns != self.columns_:
            at = next(k for k, (a, b) in enumerate(zip(packed.columns, self.columns_)) if a != b)
            raise InputError(
                f"column {at} of X is {packed.columns[at]!r}; in fit it was {self.columns_[at]!r}. "
                "Give the same columns in the same order"
            )
        return self._rows(packed)

    def feature_names(self, features: Any) -> list[str]:
        """Names of columns, with the position in the window where there is one."""
        check_is_fitted(self, "n_columns_")
        before, after = parse_window(self.window)
        n_window = before + 1 + after
        own = self.columns_ or [f"x{k}" for k in range(self.n_columns_)]
        if n_window == 1:
            names = own
        else:
            shifts = ["0" if k == 0 else f"{k:+d}" for k in range(-before, after + 1)]
            names = [f"{shift}:{name}" for name in [*own, "boundary"] for shift in shifts]
        names = names + ["bias"] * bool(self.bias)
        return [names[int(f)] for f in features]

    def constant_features(self) -> np.ndarray:
        """The bias."""
        check_is_fitted(self, "n_columns_")
        return np.arange(self.n_dims_ - bool(self.bias), self.n_dims_)

    def _rows(self, packed: Packed) -> Rows:
        matrix, offsets = packed.matrix, packed.offsets
        if self.mean_ is not None and self.scale_ is not None:
            if sp.issparse(matrix) and not np.any(self.mean_):
                matrix = sp.csr_array(matrix @ sp.diags_array(1.0 / self.scale_))
            else:
                matrix = ((matrix.toarray() if sp.issparse(matrix) else matrix) - self.mean_) / self.scale_
        if parse_window(self.window) != (0, 0):
            return self._window_rows(matrix, offsets)
        if self.bias:
            matrix = _hstack(matrix, np.ones((matrix.shape[0], 1)))
        return Rows.from_matrix(matrix, offsets)

    def _window_rows(self, matrix: Any, offsets: np.ndarray) -> Rows:
        """Unit 0 is "outside the input", and also the bias; its only feature is one more column of the table."""
        before, after = parse_window(self.window)
        n_window, width = before + 1 + after, self.n_columns_ + 1
        table = _hstack(matrix, np.zeros((matrix.shape[0], 1)))
        outside = np.zeros((1, width))
        outside[0, -1] = 1.0
        table = sp.vstack([sp.csr_array(outside), table]) if sp.issparse(table) else np.vstack([outside, table])
        slots = window_slots(np.arange(1, table.shape[0]), offsets, before, after, 0)
        base, stride = np.arange(n_window), np.full(n_window, n_window)
        bounds = np.array([[0, table.shape[0]]] * n_window, np.int64)
        if self.bias:
            # the last column of unit 0 must become the last feature
            slots = np.hstack([slots, np.zeros((slots.shape[0], 1), np.int32)])
            base, stride = np.append(base, self.n_dims_ - width), np.append(stride, 1)
            bounds = np.vstack([bounds, [[0, 1]]])
        return Rows(as_table(table), slots, base, stride, bounds, offsets, self.n_dims_)


def _hstack(matrix: Any, columns: np.ndarray) -> Any:
    if sp.issparse(matrix):
        return sp.hstack([matrix, sp.csr_array(columns)], format="csr")
    return np.hstack([matrix, columns])


def _mean_and_scale(matrix: Any) -> tuple[np.ndarray, np.ndarray]:
    n, width = matrix.shape
    mean = np.asarray(matrix.sum(axis=0)).ravel() / n
    if sp.issparse(matrix):
        squares = np.bincount(matrix.indices, (matrix.data - mean[matrix.indices]) ** 2, width)
        zeros = n - np.bincount(matrix.indices, minlength=width)
        largest = np.abs(mean)
        scale = np.sqrt((squares + zeros * mean**2) / n)
        mean = np.zeros(width)
    else:
        largest = np.abs(matrix).max(axis=0)
        scale = matrix.std(axis=0)
    # rounding leaves a constant column with a tiny deviation
    return mean, np.where(scale > 1e-12 * largest, scale, 1.0)
