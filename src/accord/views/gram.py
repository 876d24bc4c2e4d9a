"""Gram matrices: distinct rows, inner products, kernel values, and whether they fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from accord import memory
from accord.exceptions import InputError
from accord.packed.rows import Rows
from accord.packed.tables import Table

KernelFunction: TypeAlias = Callable[[Any, Any], np.ndarray]  # of two matrices, one row of each per comparison

_BLOCK = 1024  # columns of a Gram matrix made at a time from sparse rows
_COMMON = 0.02  # columns with a larger share of non-zeros are multiplied as dense ones, which is faster


class Units(NamedTuple):
    """The different rows of inputs."""

    matrix: Table  # (n_units, n_columns), by first occurrence
    numbers: np.ndarray  # (n_rows,) which of them each row is
    offsets: np.ndarray  # (n_inputs + 1,)

    def rows(self, table: Table, shared: bool = False) -> Rows:
        """The rows of the inputs if units have these features."""
        return Rows.of_units(table, self.numbers, self.offsets, shared)


def distinct_rows(rows: Rows) -> Units:
    """The different rows, as a dense matrix if the table is dense."""
    rows = rows.merged()
    _, first, inverse = np.unique(rows.slots, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    inverse = rank[inverse.ravel()]
    kept = replace(rows, slots=rows.slots[first[order]], offsets=np.arange(order.size + 1))
    matrix = kept.matrix()
    # rows made of different units may still be equal
    numbers: dict[bytes, int] = {}
    found = (numbers.setdefault(content, len(numbers)) for content in contents(matrix))
    same = np.fromiter(found, np.int64, order.size)
    matrix = matrix[np.unique(same, return_index=True)[1]]
    return Units(matrix.toarray() if isinstance(rows.table, np.ndarray) else matrix, same[inverse], rows.offsets)


def contents(matrix: sp.csr_array) -> Iterator[bytes]:
    """What each row of a matrix holds, the same for equal rows; the matrix is sorted for it, and loses its zeros."""
    matrix.sort_indices()
    matrix.eliminate_zeros()
    indices = matrix.indices.astype(np.int32)
    for a, b in zip(matrix.indptr, matrix.indptr[1:]):
        yield indices[a:b].tobytes() + matrix.data[a:b].tobytes()


def products(a: Table, b: Table) -> np.ndarray:
    """Inner products (n_a, n_b) of the rows of two matrices."""
    if not sp.issparse(a) and not sp.issparse(b):
        return a @ b.T
    a, b = sp.csr_array(a), sp.csr_array(b)
    common = np.bincount(b.indices, minlength=b.shape[1]) > _COMMON * b.shape[0]
    out = a[:, common].toarray() @ b[:, common].toarray().T
    a, b = a[:, ~common], b[:, ~common]
    for start in range(0, b.shape[0], _BLOCK):
        out[:, start : start + _BLOCK] += (a @ b[start : start + _BLOCK].T).toarray()
    return out


def kernel_values(
    kernel: str | KernelFunction, a: Table, b: Table, degree: float, gamma: float, coef0: float
) -> np.ndarray:
    """Kernel values (n_a, n_b) between the rows of two matrices."""
    if callable(kernel):
        values = np.asarray(kernel(a, b))
        if values.dtype.kind not in "biuf":
            raise InputError(f"kernel returned an array of type {values.dtype}; expected numbers")
        values = values.astype(np.float64, copy=False)
        if values.shape != (a.shape[0], b.shape[0]):
            raise InputError(
                f"kernel returned an array of shape {values.shape} for matrices of {a.shape[0]} and {b.shape[0]} rows; "
                f"expected {(a.shape[0], b.shape[0])}"
            )
        if not np.isfinite(values).all():
            raise InputError("kernel returned values that are not finite")
        return values
    values = products(a, b)
    if kernel == "poly":
        values *= gamma
        values += coef0
        return values**degree
    if kernel == "rbf":
        values *= -2.0
        values += squared_norms(a)[:, None]
        values += squared_norms(b)[None, :]
        np.maximum(values, 0.0, out=values)
        values *= -gamma
        return np.exp(values, out=values)
    return values


def squared_norms(matrix: Table) -> np.ndarray:
    """Squared lengths (n_rows,) of the rows."""
    if sp.issparse(matrix):
        return np.asarray((matrix * matrix).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", matrix, matrix)


def mean_squared_distance(matrix: Table) -> float:
    """The mean of ``|x - z|^2`` over all pairs of rows: twice the total variance."""
    mean = np.asarray(matrix.sum(axis=0)).ravel() / matrix.shape[0]
    if not sp.issparse(matrix):
        return float(2.0 * squared_norms(matrix - mean).mean())
    variance = squared_norms(matrix).mean() - mean @ mean
    return float(2.0 * variance) if variance > 1e-12 * (mean @ mean) else 0.0  # equal rows leave a rounding error


def default_gamma(kernel: str | KernelFunction, matrix: Table) -> float:
    """1 / (mean squared distance of the rows) for "rbf" [thesis 4.4], 1 for others."""
    distance = mean_squared_distance(matrix) if kernel == "rbf" else 1.0
    return 1.0 / distance if distance > 0 else 1.0


def check_memory(n_rows: int, n_columns: int, advice: str, copies: int = 3) -> None:
    """Refuse a Gram matrix that would not fit into memory together with what is made from it."""
    what = f"X has {n_rows} distinct rows: a kernel matrix with {n_columns} columns for them, in {copies} copies,"
    memory.check({what: copies * 8 * n_rows * n_columns}, advice)
