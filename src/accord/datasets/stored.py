"""Files of a data set's folder: plain or compressed, arrays and sparse matrices in NumPy's archives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from accord.exceptions import FormatError, InputError


def stored_file(folder: Path, name: str) -> Path:
    """A file of a data set, plain or gzip-compressed."""
    for candidate in (folder / name, folder / f"{name}.gz"):
        if candidate.is_file():
            return candidate
    raise InputError(f"the data set in {str(folder)!r} is incomplete: {name} (or {name}.gz) is missing")


def stored_arrays(path: Path, *names: str) -> dict[str, np.ndarray]:
    """Arrays of an archive by name."""
    with np.load(path, allow_pickle=False) as file:
        for name in names:
            if name not in file.files:
                raise FormatError(f"the array {name!r} is missing", str(path))
        return {name: file[name] for name in names}


def stored_sparse(path: Path, *names: str) -> dict[str, sp.csr_matrix]:
    """Sparse matrices stored as ``<name>_data``, ``_indices``, ``_indptr`` and ``_shape``, as floats."""
    matrices = {}
    for name in names:
        keys = [f"{name}_{part}" for part in ("data", "indices", "indptr", "shape")]
        data, indices, indptr, shape = stored_arrays(path, *keys).values()
        matrices[name] = sp.csr_matrix((data.astype(np.float64), indices, indptr), shape=tuple(shape))
    return matrices
