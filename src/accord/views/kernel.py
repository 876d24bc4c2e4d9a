"""Kernels as explicit features, so that every learner works with them unchanged.

By the representer theorem the optimum lies in the span of the training parts. With a triangular factor of their Gram
matrix, taken over a subset of rows ``p`` that spans the rest, ``phi(x) = L_pp^{-1} k(p, x)`` has the same inner products as
the kernel on all training rows (Cholesky, exact) and on their span. With a sample ``m`` of landmarks,
``phi(x) = K_mm^{-1/2} k(m, x)`` has them approximately (Nyström). The learner's regulariser is then the norm in the kernel's
space restricted to that span.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from accord.exceptions import InputError
from accord.views.base import View
from accord.views.dense import ArrayFeatures
from accord.views.matrices import pack_matrix
from accord.views.rows import Rows

_KERNELS = ("linear", "poly", "rbf", "precomputed")
_MAX_LANDMARKS = 1000
_BLOCK = 4096  # rows of a Gram matrix against the pivots made at a time


class KernelFeatures(View):
    """Features whose inner products are the values of a kernel.

    Parameters
    ----------
    base : View, optional
        The view whose rows the kernel compares; by default ``ArrayFeatures(bias=False)``. Not used when precomputed.
    kernel : {"rbf", "linear", "poly", "precomputed"} or callable, default="rbf"
        ``exp(-gamma |x - z|^2)``, ``<x, z>``, ``(gamma <x, z> + coef0)^degree``, given values, or a function that takes two
        matrices (dense or sparse, one row each) and returns the matrix of kernel values between their rows. When
        precomputed, ``X[i]`` holds the values between the rows of input ``i`` and all rows of ``fit``, in their order.
    degree, gamma, coef0 : numbers
        Parameters of the kernel. ``gamma=None`` means 1 for "poly", and 1 / (mean squared distance of the distinct rows of
        ``fit``) for "rbf".
    method : {"cholesky", "nystroem"}, default="cholesky"
        Exact, from the Gram matrix of all distinct rows; or approximate, from ``n_components`` of them drawn at random.
    n_components : int, optional
        Keep at most this many features. By default all of them ("cholesky"), or 1000 landmarks ("nystroem").
    tol : float, default=1e-10
        Directions whose share of the kernel's largest value is below this are left out.
    random_state : int, RandomState or None
        Draws the landmarks.

    Attributes
    ----------
    n_dims_ : int
        Number of features: the numerical rank of the Gram matrix, at most ``n_components``.
    pivots_ : ndarray or CSR array
        The rows of ``fit`` against which new rows are compared; their row numbers when precomputed.
    gamma_ : float

    Examples
    --------
    >>> import numpy as np
    >>> from accord.views import KernelFeatures
    >>> phi = KernelFeatures(kernel="poly", degree=2).fit_rows([[0.0, 1.0], [1.0, 1.0], [2.0, 0.0]]).matrix().toarray()
    >>> np.round(phi @ phi.T, 6)
    array([[ 4.,  4.,  1.],
           [ 4.,  9.,  9.],
           [ 1.,  9., 25.]])
    """

    def __init__(
        self,
        base: View | None = None,
        kernel: str | Callable[[Any, Any], np.ndarray] = "rbf",
        *,
        degree: float = 2,
        gamma: float | None = None,
        coef0: float = 1.0,
        method: str = "cholesky",
        n_components: int | None = None,
        tol: float = 1e-10,
        random_state: Any = None,
    ) -> None:
        self.base = base
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.method = method
        self.n_components = n_components
        self.tol = tol
        self.random_state = random_state

    def fit_rows(self, X: Any) -> Rows:
        """Choose the pivots among the rows of ``X`` and return the features of ``X``."""
        self._check_parameters()
        if self.kernel == "precomputed":
            matrix, offsets, _ = pack_matrix(X)
            matrix = _dense(matrix)
            self.n_train_: int = matrix.shape[1]
            _check_square(matrix)
            units, inverse = np.arange(self.n_train_), np.arange(self.n_train_)
        else:
            self.base_: View = clone(self.base) if self.base is not None else ArrayFeatures(bias=False)
            rows = self.base_.fit_rows(X)
            matrix, inverse = distinct_rows(rows)
            units, offsets = matrix, rows.offsets
        if inverse.size == 0:
            raise InputError("X has no rows; a kernel needs training rows to compare with")
        self.gamma_: float = self._choose_gamma(matrix)
        table = self._fit_cholesky(units) if self.method == "cholesky" else self._fit_nystroem(units)
        return _rows(table, inverse, offsets)
