"""The pairs of a set of T objects in *condensed order*: (1, 0), (2, 0), (2, 1), (3, 0), ...

Pair ``j * (j - 1) / 2 + k`` is that of the objects j and k < j.
"""

from __future__ import annotations

from math import isqrt
from typing import Any

import numpy as np

from accord.exceptions import InputError


def n_pairs(n_objects: int) -> int:
    """Number of pairs of so many objects."""
    return n_objects * (n_objects - 1) // 2


def n_objects(n_pairs: int) -> int:
    """Number of objects with so many pairs, -1 if there is no such number; no pairs are those of one object."""
    n = (1 + isqrt(1 + 8 * n_pairs)) // 2
    return n if n * (n - 1) // 2 == n_pairs else -1


def pair_numbers(n_objects: int) -> tuple[np.ndarray, np.ndarray]:
    """The objects j and k of every pair."""
    return np.tril_indices(n_objects, -1)


def condensed(similarities: Any) -> np.ndarray:
    """Similarities in condensed order, from those or from a symmetric matrix (T, T), whose diagonal does not count."""
    values = np.asarray(similarities, dtype=np.float64)
    if values.ndim == 2 and values.shape[0] == values.shape[1]:
        if not np.allclose(values, values.T, rtol=1e-9, atol=1e-12, equal_nan=True):
            raise InputError("similarities: the matrix is not symmetric; [j, k] and [k, j] are one pair")
        values = values[pair_numbers(values.shape[0])]
    elif values.ndim != 1 or n_objects(values.size) < 0:
        raise InputError(
            f"similarities has shape {values.shape}; expected (T, T), or (T * (T - 1) / 2,) for T objects with the "
            "pairs (1, 0), (2, 0), (2, 1), (3, 0), ..."
        )
    if not np.all(np.isfinite(values)):
        raise InputError("similarities has a value that is not finite; correlation clustering adds them up")
    return np.ascontiguousarray(values)


def square(values: np.ndarray) -> np.ndarray:
    """The symmetric matrix, with zeros on its diagonal, of values in condensed order."""
    n = n_objects(values.size)
    out = np.zeros((n, n))
    j, k = pair_numbers(n)
    out[j, k] = out[k, j] = values
    return out
