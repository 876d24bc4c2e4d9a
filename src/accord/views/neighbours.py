"""Nearest-neighbour graphs of feature rows: weights, Laplacian products and components.

Two rows are joined if each of them is among the ``k`` nearest (Euclidean) neighbours of the other (*mutual*), or if one
of them is (*either*). The Laplacian of a graph with weights ``W`` is ``L = D - W``, where ``D`` has the row sums of
``W`` on its diagonal, so that ``f' L f = 1/2 sum_ij W_ij (f_i - f_j)^2`` is small for a function that changes little
along edges.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

_BLOCK = 4096  # rows of a table multiplied at a time
_SPARSE_SHARE = 0.25  # features of components are stored sparsely if at most this share of them is not zero


def neighbour_graph(
    units: Any, n_neighbors: int, mutual: bool, heat: bool, width: float | None
) -> tuple[sp.csr_array, float]:
    """Weights (n, n) of the graph of distinct rows, and the heat width in use.

    Rows are joined if each is a neighbour of the other with ``mutual``, otherwise if one is. Weights are 1, or
    ``exp(-distance^2 / width)`` with ``heat``; ``width=None`` means the mean squared distance of neighbours, joined or
    not. A row has at most ``n - 1`` neighbours. Which of several rows at the same distance are taken is decided
    by the search, the same way every time.
    """
    n = units.shape[0]
    k = min(n_neighbors, n - 1)
    if k < 1:
        return sp.csr_array((n, n)), 1.0 if width is None else float(width)
    squared, neighbours = _nearest(units, k)
    if width is None:
        width = float(squared.mean()) or 1.0
    values = np.exp(-squared / width) if heat else np.ones(squared.size)
    one_way = sp.csr_array((values, neighbours, np.arange(0, n * k + 1, k)), shape=(n, n))
    other_way = one_way.T.tocsr()
    weights = sp.csr_array(one_way.minimum(other_way) if mutual else one_way.maximum(other_way))
    weights.sort_indices()
    weights.eliminate_zeros()
    return weights, float(width)


def _nearest(units: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Squared distances and numbers (n * k,) of the ``k`` nearest other rows of each row, one row after another."""
    from sklearn.neighbors import NearestNeighbors

    if sp.issparse(units):
        # the fast search for sparse rows takes 32-bit numbers only
        csr = sp.csr_matrix(units)
        units = sp.csr_matrix((csr.data, csr.indices.astype(np.int32), csr.indptr.astype(np.int32)), shape=csr.shape)
    # without rows to look up, a row is not its own neighbour
    distances, neighbours = NearestNeighbors(n_neighbors=k).fit(units).kneighbors()
    return distances.ravel() ** 2, neighbours.ravel()


def laplacian(weights: sp.csr_array) -> sp.csr_array:
    """``L = D - W``."""
    return sp.csr_array(sp.diags_array(np.asarray(weights.sum(axis=1)).ravel()) - weights)


def laplacian_product(weights: sp.csr_array, table: np.ndarray) -> np.ndarray:
    """``F' L F`` (n_columns, n_columns) of a table ``F`` (n, n_columns), some rows at a time."""
    matrix = laplacian(weights)
    out = np.zeros((table.shape[1], table.shape[1]))
    for start in range(0, table.shape[0], _BLOCK):
        block = slice(start, start + _BLOCK)
        out += table[block].T @ (matrix[block] @ table)
    return (out + out.T) / 2


def component_sizes(weights: sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """The connected component (n,) of every row, and the number of rows in each component."""
    _, component = sp.csgraph.connected_components(weights, directed=False)
    return component, np.bincount(component)


def inverse_features(weights: sp.csr_array, shift: float, scale: float) -> Any:
    """Features whose inner products are ``scale (L + shift I)^{-1}``, as a table (n, n_features).

    The kernel is block-diagonal over connected components, and the constant on a component of ``c`` rows is an
    eigenvector with the eigenvalue ``scale / shift``, far above all others. It becomes a feature of its own, exactly:
    ``sqrt(scale / (shift c))``. With the constant lifted to a harmless eigenvalue, ``L + shift I + P = R R'`` is
    well-conditioned, and the columns of ``R^{-1}`` less their mean over the component are the other features.
    """
    component, sizes = component_sizes(weights)
    n, n_components = component.size, sizes.size
    members = np.split(np.argsort(component, kind="stable"), np.cumsum(sizes)[:-1])
    own = np.where(sizes > 1, sizes, 0)  # features of each component; a row without neighbours has its constant only
    first, n_features = n_components + np.cumsum(own) - own, n_components + int(own.sum())
    matrix = laplacian(weights)
    constants = np.sqrt(scale / (shift * sizes))
    dense = float((sizes**2.0).sum()) > _SPARSE_SHARE * n * n
    table = np.zeros((n, n_features)) if dense else None
    entries: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = [(np.arange(n), component, constants[component])]
    for c in np.flatnonzero(sizes > 1):
        rows, columns = members[c], first[c] + np.arange(sizes[c])
        block = _centred_inverse(matrix[rows][:, rows].toarray(), shift) * np.sqrt(scale)
        if table is not None:
            table[rows[:, None], columns] = block
        else:
            entries.append((np.repeat(rows, sizes[c]), np.tile(columns, sizes[c]), block.ravel()))
    if table is not None:
        table[np.arange(n), component] = constants[component]
        return table
    row, column, value = (np.concatenate(part) for part in zip(*entries))
    return sp.csr_array((value, (row, column)), shape=(n, n_features))


def _centred_inverse(matrix: np.ndarray, shift: float) -> np.ndarray:
    """Rows (c, c) with inner products ``(L + shift I)^{-1}`` apart from its part along the constant vector."""
    c = matrix.shape[0]
    matrix += np.trace(matrix) / c / c  # the constant vector's eigenvalue becomes the mean degree
    matrix[np.diag_indices(c)] += shift
    factor = scipy.linalg.cholesky(matrix, lower=True, overwrite_a=True, check_finite=False)
    inverse, _ = scipy.linalg.lapack.dtrtri(factor, lower=1)
    rows = inverse.T
    return rows - rows.mean(axis=0)
