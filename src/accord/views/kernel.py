"""Kernels as explicit features, so that every learner works with them unchanged.

By the representer theorem the optimum lies in the span of the training parts. Let ``p`` be rows that span the
others and ``L`` the triangular factor of their Gram matrix, ``L L' = K_pp``. Then ``phi(x) = L^{-1} k(p, x)`` has
inner products equal to the kernel on all training rows: ``phi(x)' phi(z) = k(x, p) K_pp^{-1} k(p, z) = k(x, z)``
(Cholesky, exact). With a sample ``m`` of landmarks, ``phi(x) = K_mm^{-1/2} k(m, x)`` has them approximately
(Nyström).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from accord.exceptions import InputError
from accord.forms import COUNT, any_of, array, fitted, optional, sparse
from accord.packed.rows import Rows
from accord.packed.tables import Table, as_dense
from accord.settings import FRACTION, POSITIVE, either, one_of, renamed
from accord.views.base import View
from accord.views.compose import Views, new_view
from accord.views.dense import ArrayFeatures
from accord.views.gram import KernelFunction, Units, check_memory, default_gamma, distinct_rows, kernel_values
from accord.views.matrices import pack_matrix

KERNELS = ("linear", "poly", "rbf", "precomputed")
_MAX_LANDMARKS = 1000
_CHECKED_ROWS = 200  # of the Gram matrix, to see that the features reproduce it
_PSD_TOLERANCE = 1e-6
_BLOCK = 4096  # rows of a Gram matrix against the pivots made at a time


@dataclass(eq=False, repr=False)
class ComparedRows(View):
    """Base of the views whose features say how rows of another view, ``view_``, compare with each other."""

    view: Views | None = None
    kernel: str | KernelFunction = "rbf"
    _: KW_ONLY
    degree: float = 2
    gamma: float | None = None
    coef0: float = 1.0
    tol: float = 1e-10
    random_state: Any = None

    stored: ClassVar = {"view_": optional(fitted("view split")), "gamma_": optional(POSITIVE)}

    def feature_names(self, features: Iterable[int]) -> list[str]:
        """Features of a kernel have no meaning of their own: they are only numbered."""
        return [f"phi{int(f)}" for f in features]

    def _fit_units(self, X: Any) -> Units:
        """Fit the other view; its distinct rows."""
        self.view_: View = new_view(self.view, X, self._default)
        if self.view is None and isinstance(self.view_, ArrayFeatures):
            self.view_ = ArrayFeatures(bias=False)  # what is the same for all rows does not tell them apart
        return distinct_rows(self.view_.fit_rows(X))


@renamed(base="view", base_="view_")
@dataclass(eq=False, repr=False)
class KernelFeatures(ComparedRows):
    """Features whose inner products are the values of a kernel.

    Parameters
    ----------
    view : View, list or dict of views, optional
        The view whose rows the kernel compares; by default the one that suits the inputs, for numbers
        ``ArrayFeatures(bias=False)``. Not used when precomputed. Up to version 0.1 it was called ``base``.
    kernel : {"rbf", "linear", "poly", "precomputed"} or callable, default="rbf"
        ``exp(-gamma |x - z|^2)``, ``<x, z>``, ``(gamma <x, z> + coef0)^degree``, given values, or a function that
        takes two matrices (dense or sparse, one row each) and returns the matrix of kernel values between their
        rows. When precomputed, ``X[i]`` holds the values between the rows of input ``i`` and all rows of ``fit``,
        in their order.
    degree, gamma, coef0 : numbers
        Parameters of the kernel. ``gamma=None`` means 1 for "poly", and 1 / (mean squared distance of the distinct
        rows of ``fit``) for "rbf".
    method : {"cholesky", "nystroem"}, default="cholesky"
        Exact, from the Gram matrix of all distinct rows; or approximate, from ``n_components`` of them drawn at
        random.
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
    >>> from accord import KernelFeatures
    >>> rows = KernelFeatures(kernel="poly", degree=2).fit_rows([[0.0, 1.0], [1.0, 1.0], [2.0, 0.0]])
    >>> phi = rows.matrix().toarray()
    >>> np.round(phi @ phi.T, 6)
    array([[ 4.,  4.,  1.],
           [ 4.,  9.,  9.],
           [ 1.,  9., 25.]])
    """

    _: KW_ONLY
    method: str = "cholesky"
    n_components: int | None = None

    expects: ClassVar = {
        "method": one_of("cholesky", "nystroem"),
        "gamma": either(POSITIVE, None),
        "tol": FRACTION,
    }
    stored: ClassVar = {
        "n_train_": optional(COUNT),
        "gamma_": POSITIVE,
        "pivots_": any_of(array("f8", "*", "*"), sparse("*", "*"), array("i4 i8", "*", least=0)),
        "factor_": array("f8", "*", "n_dims"),
    }
    agrees: ClassVar = {
        "factor_ has a row for each of pivots_": lambda self: self.factor_.shape[0] == self.pivots_.shape[0],
        "factor_ of a Cholesky decomposition is square": lambda self: (
            self.method != "cholesky" or self.factor_.shape[0] == self.factor_.shape[1]
        ),
        "pivots_ are rows of view_, or numbers of rows": lambda self: (
            bool(np.all(self.pivots_ < self.n_train_))
            if self.kernel == "precomputed"
            else self.pivots_.ndim == 2 and self.pivots_.shape[1] == self.view_.n_dims_
        ),
    }

    def fit_rows(self, X: Any) -> Rows:
        """Choose the pivots among the rows of ``X`` and return the features of ``X``."""
        self._check_params()
        if self.kernel == "precomputed":
            units = _square_values(X)
            self.n_train_: int = units.matrix.shape[0]
        else:
            units = self._fit_units(X)
        if units.numbers.size == 0:
            raise InputError("X has no rows; a kernel needs training rows to compare with")
        self.gamma_ = default_gamma(self.kernel, units.matrix) if self.gamma is None else float(self.gamma)
        fit = self._fit_cholesky if self.method == "cholesky" else self._fit_nystroem
        table = fit(units.matrix)
        self.n_dims_ = table.shape[1]
        return units.rows(table)

    def transform(self, X: Any) -> Rows:
        """Features of new rows. What lies outside the span of the training rows does not count for any learner."""
        check_is_fitted(self, "pivots_")
        precomputed = self.kernel == "precomputed"
        units = _given_values(X, self.n_train_) if precomputed else distinct_rows(self.view_.transform(X))
        return units.rows(self._map(units.matrix))

    def _check_params(self) -> None:
        super()._check_params()
        check_kernel_name(self.kernel)

    def _select(self, units: Table, chosen: np.ndarray) -> Table:
        """What stands for the chosen units in comparisons; columns of the given values when precomputed."""
        return chosen if self.kernel == "precomputed" else units[chosen]

    def _values(self, units: Table, pivots: Table) -> np.ndarray:
        if self.kernel == "precomputed":
            return units[:, pivots]
        return kernel_values(self.kernel, units, pivots, self.degree, self.gamma_, self.coef0)

    def _fit_cholesky(self, units: Table) -> np.ndarray:
        n = units.shape[0]
        check_memory(n, n, "Use method='nystroem' with n_components, or fewer rows")
        gram = self._values(units, self._select(units, np.arange(n)))
        if callable(self.kernel):
            check_symmetric(gram, "kernel returned a matrix that")
        sample = np.unique(np.linspace(0, n - 1, min(n, _CHECKED_ROWS)).astype(np.int64))
        expected, largest = gram[sample], float(np.max(np.diagonal(gram)))
        factor, order, rank, _ = scipy.linalg.lapack.dpstrf(
            np.asfortranarray(gram), tol=self.tol * max(largest, 0.0), lower=1, overwrite_a=1
        )
        rank, order = min(rank, self.n_components or n), order - 1
        table = np.empty((n, rank))
        table[order] = np.tril(factor[:, :rank])
        if rank == (self.n_components or -1):
            largest = np.inf  # cut off on purpose, so the rest need not be small
        if np.max(np.abs(table[sample] @ table.T - expected)) > _PSD_TOLERANCE * max(largest, 1e-300):
            raise InputError("the kernel matrix of X is not positive semi-definite, so no features reproduce it")
        self.pivots_ = self._select(units, order[:rank])
        self.factor_ = np.ascontiguousarray(table[order[:rank]])
        return table

    def _fit_nystroem(self, units: Table) -> np.ndarray:
        n = units.shape[0]
        m = min(n, self.n_components or _MAX_LANDMARKS)
        check_memory(n, m, "Use a smaller n_components, or fewer rows")
        chosen = np.sort(check_random_state(self.random_state).choice(n, m, replace=False))
        self.pivots_ = self._select(units, chosen)
        gram = self._values(units[chosen], self.pivots_)
        values, vectors = scipy.linalg.eigh((gram + gram.T) / 2)
        if values[0] < -_PSD_TOLERANCE * abs(values[-1]):
            raise InputError(
                "the kernel matrix of the landmarks is not positive semi-definite, so no features reproduce it"
            )
        kept = values > self.tol * values[-1]
        # K_mm^{-1/2} up to a rotation, which changes no inner product and lets directions without length be left out
        self.factor_ = vectors[:, kept] / np.sqrt(values[kept])
        return self._map(units)

    def _map(self, units: Table) -> np.ndarray:
        table = np.empty((units.shape[0], self.factor_.shape[1]))
        for start in range(0, units.shape[0], _BLOCK):
            values = check_finite(self._values(units[start : start + _BLOCK], self.pivots_))
            if self.method == "cholesky":
                table[start : start + _BLOCK] = scipy.linalg.solve_triangular(self.factor_, values.T, lower=True).T
            else:
                table[start : start + _BLOCK] = values @ self.factor_
        return table


def check_finite(values: np.ndarray) -> np.ndarray:
    """Refuse what overflowed."""
    if not np.isfinite(values).all():
        raise InputError("X has rows whose kernel values are too large for a number; scale X")
    return values


def check_kernel_name(kernel: Any) -> None:
    """Refuse a kernel that does not exist."""
    if not callable(kernel) and kernel not in KERNELS:
        raise InputError(f"kernel is {kernel!r}; expected one of {', '.join(KERNELS)}, or a function")


def _given_values(X: Any, n_columns: int | None = None) -> Units:
    """Precomputed kernel values; every row is a unit."""
    matrix, offsets, _ = pack_matrix(X, n_columns)
    return Units(as_dense(matrix), np.arange(matrix.shape[0]), offsets)


def _square_values(X: Any) -> Units:
    """Precomputed kernel values among all training rows."""
    units = _given_values(X)
    n, width = units.matrix.shape
    if n != width:
        raise InputError(
            f"X has {n} rows of {width} kernel values; with kernel='precomputed' fit needs the values between all its "
            f"rows, {n} for each"
        )
    check_symmetric(units.matrix, "X, which holds kernel values,")
    return units


def check_symmetric(values: np.ndarray, what: str) -> None:
    """An error that names the entry if a kernel matrix is not symmetric."""
    difference = np.abs(values - values.T)
    if difference.size and difference.max() > 1e-8 * np.abs(values).max():
        r, c = np.unravel_index(np.argmax(difference), difference.shape)
        raise InputError(
            f"{what} is not symmetric: entry ({r}, {c}) is {values[r, c]} but ({c}, {r}) is {values[c, r]}"
        )
