"""Files of a data set's folder: plain or compressed, arrays and sparse matrices in NumPy's archives, tar archives."""

from __future__ import annotations

import lzma
import tarfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from accord.datasets.formats.source import iter_lines
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


def stored_matrix(path: Path, name: str) -> np.ndarray | sp.csr_matrix:
    """A matrix as floats: dense, or sparse as ``<name>_data``, ``_indices``, ``_indptr`` and ``_shape``."""
    with np.load(path, allow_pickle=False) as file:
        if name in file.files:
            return np.asarray(file[name], np.float64)
    # an archive of one matrix has no name for it
    prefix = "" if name == "X" else f"{name}_"
    keys = [f"{prefix}{part}" for part in ("data", "indices", "indptr", "shape")]
    data, indices, indptr, shape = stored_arrays(path, *keys).values()
    return sp.csr_matrix((data.astype(np.float64), indices, indptr), shape=tuple(shape))


def stored_members(path: Path) -> dict[str, bytes]:
    """The files of a tar archive by their names, without folders and endings."""
    try:
        with tarfile.open(path) as archive:
            opened = ((member.name, archive.extractfile(member)) for member in archive)
            return {Path(name).stem: file.read() for name, file in opened if file is not None}
    except (tarfile.TarError, EOFError, OSError, lzma.LZMAError) as error:
        raise FormatError(f"the archive cannot be read: {error}", str(path)) from error


def stored_levels(path: Path) -> tuple[list[str], dict[str, list[str]]]:
    """Leaves by index, and parents, from a table ``leaf_index, level, ..., leaf`` with a header."""
    lines = enumerate(iter_lines(path), 1)
    next(lines, None)
    leaves: list[str] = []
    parents: dict[str, list[str]] = {}
    for number, line in lines:
        index, *nodes = line.split("\t")
        if index != str(len(leaves)) or len(nodes) < 2:
            raise FormatError(f"expected leaf {len(leaves)} and its path, found {line!r}", str(path), number)
        # A leaf that is repeated on the level above it is one node, not its own parent.
        nodes = [node for k, node in enumerate(nodes) if node not in nodes[:k]]
        for parent, child in zip([None, *nodes], nodes):
            parents.setdefault(child, [] if parent is None else [parent])
        leaves.append(nodes[-1])
    return leaves, parents
