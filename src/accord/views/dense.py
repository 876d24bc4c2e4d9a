"""Numbers as features: matrices with one row per input, or one row per token (embeddings), in a window if wanted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from accord.exceptions import InputError
from accord.forms import COUNT, LABEL, array, items, optional
from accord.packed.rows import Rows
from accord.packed.tables import Table, as_dense
from accord.settings import FLAG, NOT_NEGATIVE, either
from accord.views.base import View
from accord.views.matrices import Packed, pack_matrix, typical_value
from accord.views.window import parse_window, warn_of_wide


@dataclass(eq=False, repr=False)
class ArrayFeatures(View):
    """Columns of arrays, sparse matrices or DataFrames.

    ``X`` is a matrix with one row per input, or a list with one vector per input, or a list with one matrix per input
    (one row per token).

    Parameters
    ----------
    standardize : bool, default=False
        Subtract the mean and divide by the standard deviation of each column, both from the data of ``fit``. Sparse
        data are divided only, which keeps their zeros. Constant columns are not divided.
    bias : bool or "one", default=True
        Add a feature that is the same in all rows. It is as large as the others: the median over the rows of ``fit`` of
        the root mean square of what is not zero, as the nearest power of two, so that it neither drowns rows of length
        1 nor vanishes beside large numbers; 1 with ``standardize`` or a window. "one": always 1.
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
    bias_ : float
        The value of the constant feature, 0 without ``bias``.
    n_dims_ : int
        Number of features.

    Examples
    --------
    >>> from accord import ArrayFeatures
    >>> ArrayFeatures().fit_rows([[1.0, 2.0], [3.0, 4.0]]).matrix().toarray()
    array([[1., 2., 2.],
           [3., 4., 2.]])
    """

    standardize: bool = False
    bias: bool | str = True
    window: int | tuple[int, int] = 0

    expects: ClassVar = {"bias": either(FLAG, "one")}
    stored: ClassVar = {
        "n_columns_": COUNT,
        "bias_": NOT_NEGATIVE,
        "columns_": optional(items(LABEL, "n_columns")),
        "mean_": optional(array("f8", "n_columns")),
        "scale_": optional(array("f8", "n_columns", least=0)),
    }
    # what files of earlier versions, which do not say it, mean: the constant was 1
    once_fixed: ClassVar = {"bias_": lambda self: float(bool(self.bias))}
    agrees: ClassVar = {
        "n_dims_ is the number of columns in the window": lambda self: self.n_dims_ == self._size(),
        "mean_ and scale_ are there if standardize is": lambda self: (
            (self.mean_ is None) == (self.scale_ is None) == (not self.standardize)
        ),
    }

    def fit_rows(self, X: Any) -> Rows:
        """Learn number and scale of the columns and return the rows of ``X``."""
        self._check_params()
        warn_of_wide(self.window)
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
        self.bias_ = float(bool(self.bias))
        if self.bias and self.bias != "one" and not self.standardize and not parse_window(self.window).is_wide:
            self.bias_ = typical_value(matrix)
        self.n_dims_ = self._size()
        return self._rows(packed)

    def transform(self, X: Any) -> Rows:
        """Rows of new data, which must have the same columns."""
        check_is_fitted(self, "n_columns_")
        # files of earlier versions do not say what columns are called
        return self._rows(pack_matrix(X, self.n_columns_, getattr(self, "columns_", None)))

    def feature_names(self, features: Any) -> list[str]:
        """Names of columns, with the position in the window where there is one."""
        check_is_fitted(self, "n_columns_")
        window = parse_window(self.window)
        own = [*(getattr(self, "columns_", None) or [f"x{k}" for k in range(self.n_columns_)]), "boundary"]
        names = []
        for f in features:
            if self.bias and f == self.n_dims_ - 1:
                names.append("bias")
            else:
                column, position = window.place(f)
                names.append(f"{position}:{own[column]}" if window.is_wide else own[column])
        return names

    def constant_features(self) -> np.ndarray:
        """The bias."""
        check_is_fitted(self, "n_columns_")
        return np.arange(self.n_dims_ - bool(self.bias), self.n_dims_)

    def column_weights(self, weights: np.ndarray) -> np.ndarray | None:
        """Weights of columns, before they are standardised."""
        if parse_window(self.window).is_wide:
            return None
        own = weights[: self.n_columns_]
        return own if self.scale_ is None else own / self.scale_[:, None]

    def _check_params(self) -> None:
        super()._check_params()
        parse_window(self.window)

    def _size(self) -> int:
        """Number of features; with a window, every position also has one that says it lies outside the input."""
        window = parse_window(self.window)
        return window.size * (self.n_columns_ + window.is_wide) + bool(self.bias)

    def _extend(self, X: Any) -> Rows:
        """Columns are what they are, and their scale stays that of the first data."""
        return self.transform(X)

    def _rows(self, packed: Packed) -> Rows:
        matrix, offsets = packed.matrix, packed.offsets
        if self.mean_ is not None and self.scale_ is not None:
            if sp.issparse(matrix) and not np.any(self.mean_):
                matrix = sp.csr_array(matrix @ sp.diags_array(1.0 / self.scale_))
            else:
                matrix = (as_dense(matrix) - self.mean_) / self.scale_
        if parse_window(self.window).is_wide:
            return self._window_rows(matrix, offsets)
        if self.bias:
            matrix = _hstack(matrix, np.full((matrix.shape[0], 1), self.bias_))
        return Rows.from_matrix(matrix, offsets)

    def _window_rows(self, matrix: Table, offsets: np.ndarray) -> Rows:
        """Unit 0 is "outside the input", and also the bias; its only feature is one more column of the table."""
        width = self.n_columns_ + 1
        outside = np.zeros((1, width))
        outside[0, -1] = 1.0
        table = _hstack(matrix, np.zeros((matrix.shape[0], 1)))
        table = sp.vstack([sp.csr_array(outside), table]) if sp.issparse(table) else np.vstack([outside, table])
        rows = parse_window(self.window).rows(table, np.arange(1, table.shape[0]), offsets)
        if not self.bias:
            return rows
        return replace(
            rows,
            slots=np.hstack([rows.slots, np.zeros((rows.n_rows, 1), np.int32)]),
            base=np.append(rows.base, self.n_dims_ - width),  # the last column of unit 0 becomes the last feature
            stride=np.append(rows.stride, 1),
            bounds=np.vstack([rows.bounds, [[0, 1]]]),
            n_dims=self.n_dims_,
        )


def _hstack(matrix: Table, columns: np.ndarray) -> Table:
    if sp.issparse(matrix):
        return sp.hstack([matrix, sp.csr_array(columns)], format="csr")
    return np.hstack([matrix, columns])


def _mean_and_scale(matrix: Table) -> tuple[np.ndarray, np.ndarray]:
    n, width = matrix.shape
    mean = np.asarray(matrix.sum(axis=0)).ravel() / n
    if not isinstance(matrix, np.ndarray):
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
