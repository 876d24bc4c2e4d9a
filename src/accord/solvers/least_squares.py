"""Regularised least squares: one view alone (RLSR), and several that are to agree (coRLSR; thesis, chapter 4).

One view minimises ``|y - K a|^2 + eta a'K a``, so ``a = (K + eta I)^{-1} y`` [A.1]. Views ``v = 1..V`` minimise

    sum_v |y_v - L_v a_v|^2 + eta_v a_v'K_v a_v + lambda sum_{u,v} |U_u a_u - U_v a_v|^2,

with kernel values ``L_v`` of the labeled and ``U_v`` of the unlabeled examples; the last sum has every pair twice. The
expansion ``a_v`` is over labeled and unlabeled examples (exact, Proposition 4.1) or over labeled ones
(semi-parametric, Proposition 4.2). Where examples have weights, their squares above are multiplied by them.

The systems of the propositions square the kernel matrices, and with them their condition. Both are solved here in
better conditioned forms of the same equations:

exact
    Let ``s`` be the mean of the views' predictions for the unlabeled examples. Then every view is a single one, fitted
    to the targets ``(y_v, s)`` where those of unlabeled examples count ``2 lambda V`` as much:
    ``a_v = M_v (y_v, s)``, ``M_v = (K_v + eta_v D^{-1})^{-1}``, ``D = (1, 2 lambda V)``. That ``s`` is their mean says
    ``sum_v eta_v (M_v (y_v, s))_U = 0``, a positive definite system of size m, whatever V is.
semi-parametric
    With ``F_v F_v' = L_v^{-1}`` and ``b_v = F_v^{-1} a_v`` the norm becomes ``eta_v |b_v|^2``, so no eigenvalue of the
    system is below ``eta_v``. Unlabeled examples enter through the products ``F_u'U_u'U_v F_v`` only, which are summed
    up in one pass over blocks of them. If ``L_v`` is nearly singular, blocks must be multiplied by ``F_v`` before their
    products are taken: afterwards the errors of the small directions would have been squared. No direction is left out
    for being small: what hardly shows at labeled examples may be large at unlabeled ones.

Predictions are linear in the targets, ``f = H y``, so what a fit without the label of an example predicts for it is
known in closed form, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from accord.exceptions import InputError

# Eigenvalues of a kernel matrix below this fraction of the largest, times its size, are rounding errors.
ROUNDING = 0.01 * np.finfo(float).eps


class Solution(NamedTuple):
    """Coefficients of each view, and each view's predictions for its labeled examples without their labels."""

    coefficients: list[np.ndarray]  # per view (n_expansion, n_outputs)
    left_out: list[np.ndarray]  # per view (n_labeled, n_outputs)


class Ridge:
    """One view, for any number of values of ``eta``.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
        Kernel values among the labeled examples.
    targets : ndarray of shape (n, n_outputs)
    name : str
        What the examples are, for error messages.
    weights : ndarray of shape (n,), optional
        How much the squared error of each example counts, above 0.
    """

    def __init__(
        self, gram: np.ndarray, targets: np.ndarray, name: str = "", weights: np.ndarray | None = None
    ) -> None:
        # errors that count w times are those of a kernel and of targets multiplied by the roots of w
        self.roots = None if weights is None else np.sqrt(weights)[:, None]
        if self.roots is not None:
            gram, targets = self.roots * gram * self.roots.T, self.roots * targets
        self.targets = targets
        if not np.isfinite(gram).all():
            raise InputError(f"the kernel matrix of {name or 'X'} has infinite values: scale X, or lower degree")
        self.values, self.vectors = scipy.linalg.eigh(gram)
        # rounding leaves tiny negative eigenvalues; larger ones belong to no kernel
        if self.values[0] < -1e-8 * max(self.values[-1], 1e-300):
            raise _not_definite(name, float(self.values[0]))
        self.values = np.maximum(self.values, 0.0)
        self.turned = self.vectors.T @ targets

    def solve(self, eta: float) -> Solution:
        """The optimum for one ``eta``."""
        inverse = 1.0 / (self.values + eta)
        alpha = self.vectors @ (inverse[:, None] * self.turned)
        diagonal = (self.vectors**2) @ inverse
        left_out = self.targets - alpha / diagonal[:, None]
        if self.roots is not None:
            return Solution([self.roots * alpha], [left_out / self.roots])
        return Solution([alpha], [left_out])


@dataclass(eq=False)
class Exact:
    """Co-regularised least squares with an expansion over all examples.

    Parameters
    ----------
    kernels : list of ndarray of shape (n_v + m, n_v + m)
        Kernel values of each view among its labeled examples, which come first, and the unlabeled ones.
    targets : list of ndarray of shape (n_v, n_outputs)
    etas : sequence of float
    labeled : list of int array of shape (n_v,)
        Which example each labeled one is: the same number in two views means the same example.
    names : sequence of str
        Of the views, for error messages.
    weights : list of ndarray of shape (n_v,), optional
        How much each labeled example counts in each view; by default 1.
    unlabeled_weights : ndarray of shape (m,), optional
        How much each unlabeled example counts; by default 1.
    """

    kernels: Sequence[np.ndarray]
    targets: Sequence[np.ndarray]
    etas: Sequence[float]
    labeled: Sequence[np.ndarray]
    names: Sequence[str]
    weights: Sequence[np.ndarray] | None = None
    unlabeled_weights: np.ndarray | None = None

    def solve(self, lambda_: float) -> Solution:
        """The optimum for one weight of the disagreement."""
        n_views, m = len(self.kernels), self.kernels[0].shape[0] - self.targets[0].shape[0]
        if not lambda_ or n_views == 1 or not m:
            grams = [K[:n, :n] for K, n in zip(self.kernels, self._sizes())]
            return separate(grams, self.targets, self.etas, m, self.weights)
        each = [np.ones((n, 1)) for n in self._sizes()] if self.weights is None else [w[:, None] for w in self.weights]
        others = 1.0 if self.unlabeled_weights is None else self.unlabeled_weights
        inverses = [
            inverse(K, noise_of(n, m, eta, 2.0 * lambda_ * n_views * others, w[:, 0]), name)
            for K, n, eta, name, w in zip(self.kernels, self._sizes(), self.etas, self.names, each)
        ]
        # sum_v eta_v M_UU s = - sum_v eta_v M_UL y_v
        agreed = np.zeros((m, m))
        for M, n, eta in zip(inverses, self._sizes(), self.etas):
            agreed += eta * M[n:, n:]
        pulls = [eta * M[n:, :n] for M, n, eta in zip(inverses, self._sizes(), self.etas)]
        factor = cholesky(agreed, "the consensus of all views")
        mean = -scipy.linalg.cho_solve(factor, sum(pull @ y for pull, y in zip(pulls, self.targets)))
        coefficients = [M @ np.vstack([y, mean]) for M, y in zip(inverses, self.targets)]
        fitted = [y - eta / w * a[: len(y)] for a, y, eta, w in zip(coefficients, self.targets, self.etas, each)]
        response = np.hstack(pulls)  # (m, all labeled)
        hat = response.T @ scipy.linalg.cho_solve(factor, response)
        if self.weights is not None:
            hat /= np.vstack(each)
        for M, rows, eta, w in zip(inverses, _blocks(self._sizes()), self.etas, each):
            n = rows.stop - rows.start
            hat[rows, rows] += np.eye(n) - eta / w * M[:n, :n]
        return Solution(coefficients, left_out(hat, fitted, self.targets, self.labeled))

    def _sizes(self) -> list[int]:
        return [len(y) for y in self.targets]


class SemiParametric:
    """Co-regularised least squares with an expansion over labeled examples.

    Parameters
    ----------
    grams : list of ndarray of shape (n_v, n_v)
        Kernel values of each view among its labeled examples.
    maps : list of ndarray of shape (n_v, r_v)
        The :func:`feature_map` of each of them.
    targets, etas, labeled
        As for :class:`Exact`.
    products : ndarray of shape (sum r_v, sum r_v)
        ``(U_1 F_1, ..., U_V F_V)'(U_1 F_1, ..., U_V F_V)``, where ``U_v`` has the kernel values between unlabeled and
        labeled examples; each unlabeled example as often as it counts.
    weights
        As for :class:`Exact`.
    """

    def __init__(
        self,
        grams: Sequence[np.ndarray],
        maps: Sequence[np.ndarray],
        targets: Sequence[np.ndarray],
        etas: Sequence[float],
        labeled: Sequence[np.ndarray],
        products: np.ndarray,
        weights: Sequence[np.ndarray] | None = None,
    ) -> None:
        self.weights = weights
        self.grams, self.maps, self.targets, self.etas, self.labeled = grams, maps, targets, etas, labeled
        self.products = products
        self.columns = _blocks([F.shape[1] for F in maps])

    def solve(self, lambda_: float) -> Solution:
        """The optimum for one weight of the disagreement."""
        n_views = len(self.maps)
        if not lambda_ or n_views == 1:
            return separate(self.grams, self.targets, self.etas, weights=self.weights)
        each = [np.ones(len(y)) for y in self.targets] if self.weights is None else self.weights
        features = [gram @ F for gram, F in zip(self.grams, self.maps)]
        system = -2.0 * lambda_ * self.products
        right = np.empty((system.shape[0], self.targets[0].shape[1]))
        for own, phi, y, eta, w in zip(self.columns, features, self.targets, self.etas, each):
            counted = phi.T if self.weights is None else phi.T * w
            system[own, own] += 2.0 * lambda_ * n_views * self.products[own, own] + counted @ phi
            system[own, own].flat[:: own.stop - own.start + 1] += eta
            right[own] = counted @ y
        factor = cholesky(system, "the labeled examples of all views")
        solved = scipy.linalg.cho_solve(factor, right)
        coefficients = [F @ solved[own] for F, own in zip(self.maps, self.columns)]
        fitted = [phi @ solved[own] for phi, own in zip(features, self.columns)]
        joint = scipy.linalg.block_diag(*features)
        half = scipy.linalg.solve_triangular(factor[0], joint.T, lower=True)
        hat = half.T @ half
        if self.weights is not None:
            hat *= np.concatenate(each)
        return Solution(coefficients, left_out(hat, fitted, self.targets, self.labeled))


def feature_map(gram: np.ndarray, name: str = "", rank: int | None = None) -> np.ndarray:
    """``F`` with ``F F' = gram^{-1}``, in at most ``rank`` directions: no more are spanned by any examples.

    Lengths that are lost in the rounding of ``gram`` are taken for those that are just not: the direction is known all
    the same, and its norm matters little.
    """
    values, vectors = scipy.linalg.eigh(gram)
    if values[0] < -1e-8 * max(values[-1], 1e-300):
        raise _not_definite(name, float(values[0]))
    first = len(values) - min(len(values), len(values) if rank is None else rank) if values[-1] > 0 else len(values)
    lengths = np.maximum(values[first:], ROUNDING * len(values) * values[-1])
    return np.asarray(vectors[:, first:] / np.sqrt(lengths))


def mapped_products(products: np.ndarray, maps: Sequence[np.ndarray]) -> np.ndarray:
    """``F_u'U_u'U_v F_v`` from ``U_u'U_v``."""
    joint = scipy.linalg.block_diag(*maps)
    return np.asarray(joint.T @ products @ joint)


def is_well_conditioned(F: np.ndarray) -> bool:
    """Whether products may be mapped after they are taken: no direction of the labeled examples is nearly lost."""
    lengths = np.linalg.norm(F, axis=0)  # of the directions' inverses
    return F.shape[0] == F.shape[1] and bool(lengths.max() < 1e3 * lengths.min())


def left_out(
    hat: np.ndarray, fitted: Sequence[np.ndarray], targets: Sequence[np.ndarray], labeled: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """What each view predicts for its labeled examples if their labels are taken away from all views.

    An example in ``c`` views is a change of rank ``c``: ``f^(-i) = (I - H_ii)^{-1} (f_i - H_ii y_i)``, with the
    ``c x c`` block ``H_ii`` of the matrix that maps targets to predictions.
    """
    f, y = np.vstack(list(fitted)), np.vstack(list(targets))
    examples = np.concatenate(list(labeled))
    order = np.argsort(examples, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(examples[order]) != 0])
    counts = np.diff(np.r_[starts, order.size])
    out = np.empty_like(f)
    for c in np.unique(counts):
        where = order[starts[counts == c][:, None] + np.arange(c)]  # (n_examples, c)
        own = hat[where[:, :, None], where[:, None, :]]
        out[where] = np.linalg.solve(np.eye(c) - own, f[where] - own @ y[where])
    return np.split(out, np.cumsum([len(part) for part in fitted])[:-1])


def inverse(kernel: np.ndarray, noise: np.ndarray, name: str) -> np.ndarray:
    """``(K + diag(noise))^{-1}``."""
    system = kernel.copy(order="F")
    system.flat[:: len(noise) + 1] += noise
    lower, failed = lapack.dpotrf(system, lower=1, overwrite_a=1)
    if failed:
        raise _not_definite(name)
    found, _ = lapack.dpotri(lower, lower=1, overwrite_c=1)
    found = np.tril(found)
    return np.asarray(found + np.tril(found, -1).T)


def cholesky(system: np.ndarray, name: str) -> tuple[np.ndarray, bool]:
    """Lower factor, as ``scipy.linalg.cho_solve`` takes it."""
    try:
        return scipy.linalg.cholesky(system, lower=True), True
    except scipy.linalg.LinAlgError:
        raise _not_definite(name) from None


def noise_of(
    n: int, m: int, eta: float, unlabeled: float | np.ndarray, labeled: float | np.ndarray = 1.0
) -> np.ndarray:
    """``eta D^{-1}``: how often labeled examples count, and unlabeled ones."""
    return np.r_[np.full(n, eta / labeled), np.full(m, eta / unlabeled)]


def separate(
    grams: Sequence[np.ndarray],
    targets: Sequence[np.ndarray],
    etas: Sequence[float],
    n_unlabeled: int = 0,
    weights: Sequence[np.ndarray] | None = None,
) -> Solution:
    """Every view on its own; unlabeled examples get the coefficient 0."""
    each = [None] * len(grams) if weights is None else weights
    alone = [Ridge(gram, y, weights=w).solve(eta) for gram, y, eta, w in zip(grams, targets, etas, each)]
    zeros = np.zeros((n_unlabeled, targets[0].shape[1]))
    return Solution([np.vstack([one.coefficients[0], zeros]) for one in alone], [one.left_out[0] for one in alone])


def _blocks(sizes: Sequence[int]) -> list[slice]:
    ends = np.cumsum(sizes)
    return [slice(int(end) - size, int(end)) for size, end in zip(sizes, ends)]


def _not_definite(name: str, value: float | None = None) -> InputError:
    seen = "" if value is None else f" (its smallest eigenvalue is {value:.3g})"
    return InputError(
        f"the kernel matrix of {name or 'X'} is not positive definite{seen}: "
        "raise eta, let views disagree more, or use a kernel that is a valid one"
    )
