"""Principal directions of vectors, and how much of the difference between their variances stays."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh
from threadpoolctl import threadpool_limits

_ROWS = 4096  # at a time, as float64
_LEAST = 1e-8  # share of the largest variance; what varies less is rounding


def whitening(vectors: np.ndarray, n_components: int | None, power: float) -> tuple[np.ndarray, np.ndarray | None]:
    """The mean (width,) of vectors, and their leading directions (width, n).

    Directions are divided by their standard deviation to the power of ``power``. None: no directions are asked for.
    """
    n, width = vectors.shape
    center = vectors.mean(axis=0, dtype=np.float64)
    if n_components is None:
        return center, None
    # one thread: sums in the same order every time, whatever the machine is doing
    with threadpool_limits(limits=1):
        covariance = np.zeros((width, width))
        for start in range(0, n, _ROWS):
            centred = vectors[start : start + _ROWS] - center
            covariance += centred.T @ centred
        most = min(n_components, width)
        variances, directions = eigh(covariance / n, subset_by_index=[width - most, width - 1])
    variances, directions = variances[::-1], directions[:, ::-1]
    kept = max(1, int(np.count_nonzero(variances > _LEAST * max(variances[0], 1e-300))))
    variances, directions = variances[:kept], directions[:, :kept]
    signs = np.sign(directions[np.abs(directions).argmax(axis=0), np.arange(kept)])  # eigh may choose either
    return center, np.ascontiguousarray(directions * signs * np.maximum(variances, 1e-300) ** (-power / 2.0))
