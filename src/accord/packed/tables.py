"""What packed rows are made of: tables in the types of the kernels, runs of rows, and units in windows."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from accord.exceptions import InputError
from accord.kernels.features import windows

Table: TypeAlias = sp.csr_array | np.ndarray  # (n_units, n_columns)


def as_table(matrix: Table) -> Table:
    """The matrix in the types the kernels were compiled for."""
    if not sp.issparse(matrix):
        return np.ascontiguousarray(matrix, dtype=np.float64)
    csr = sp.csr_array(matrix)
    # int64 row pointers, int32 columns: scipy would otherwise choose by size, and kernels would be compiled twice
    out = sp.csr_array(csr.shape)
    out.data = np.ascontiguousarray(csr.data, dtype=np.float64)
    out.indices = np.ascontiguousarray(csr.indices, dtype=np.int32)
    out.indptr = np.ascontiguousarray(csr.indptr, dtype=np.int64)
    return out


def as_csr(matrix: Any, where: str = "X") -> sp.csr_array:
    """A user's sparse matrix in compressed rows; with indices outside of its shape even SciPy would crash."""
    try:
        if matrix.format not in ("csr", "csc", "bsr", "coo"):
            matrix = matrix.tocsr()
        _check_sparse(matrix, where)
        return sp.csr_array(matrix)
    except InputError:
        raise
    except (ValueError, TypeError, IndexError) as error:  # what SciPy says of arrays that do not fit each other
        raise InputError(f"{where} is a sparse matrix that is broken ({error}); build it again") from error


def _check_sparse(matrix: Any, where: str) -> None:
    if matrix.format == "coo":
        for index, limit in zip(matrix.coords, matrix.shape):
            _check_indices(index, limit, where)
        return
    n_major, n_minor = matrix.shape[:: -1 if matrix.format == "csc" else 1]
    if matrix.format == "bsr":
        n_major, n_minor = n_major // matrix.blocksize[0], n_minor // matrix.blocksize[1]
    pointers, n_stored = matrix.indptr, min(len(matrix.indices), len(matrix.data))
    fits = pointers.shape == (n_major + 1,) and pointers[0] == 0 and pointers[-1] <= n_stored
    if not fits or np.any(pointers[1:] < pointers[:-1]):
        raise InputError(f"{where} is a sparse matrix whose pointers do not fit its shape; build it again")
    if pointers.dtype.kind not in "iu":
        raise InputError(f"{where} is a sparse matrix with pointers of {pointers.dtype}; expected whole numbers")
    _check_indices(matrix.indices, n_minor, where)


def _check_indices(indices: np.ndarray, limit: int, where: str) -> None:
    if indices.dtype.kind not in "iu":
        raise InputError(f"{where} is a sparse matrix with indices of {indices.dtype}; expected whole numbers")
    if indices.size and not 0 <= indices.min() <= indices.max() < limit:
        wrong = indices.min() if indices.min() < 0 else indices.max()
        raise InputError(f"{where} is a sparse matrix with the index {wrong}; expected 0 to {limit - 1}")


def as_dense(matrix: Table) -> np.ndarray:
    """The matrix as an array."""
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()


def ragged_rows(offsets: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """Row numbers of the given inputs, one after another."""
    return runs(offsets[inputs], offsets[inputs + 1] - offsets[inputs])


def runs(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Positions of runs that begin at ``starts``, one after another."""
    shift = starts - (np.cumsum(lengths) - lengths)
    return np.repeat(shift, lengths) + np.arange(int(lengths.sum()))


def sums_by_input(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """The sums (n_inputs,) of the values of all rows of each input."""
    return np.diff(np.append(0, np.cumsum(values))[offsets])


def ragged_offsets(offsets: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """Offsets after taking the given inputs."""
    return np.concatenate([[0], np.cumsum(offsets[inputs + 1] - offsets[inputs])]).astype(np.int64)


def window_slots(units: np.ndarray, offsets: np.ndarray, before: int, after: int, outside: int) -> np.ndarray:
    """Slots (n_rows, before + 1 + after): the unit at every position of a window; ``outside`` beyond the input."""
    slots = np.empty((units.size, before + 1 + after), np.int32)
    windows.window_slots(np.ascontiguousarray(units, np.int32), offsets, before, after, int(outside), slots, 0)
    return slots
