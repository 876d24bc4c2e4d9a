"""Large-margin programs with all their constraints given, by an interior-point method in the space of the weights.

``min |w|^2 / 2 + sum_g C_g xi_g`` subject to ``<w, d_m> + xi_g(m) >= b_m`` and ``xi_g >= 0``: every constraint m
belongs to a group g, which has one slack; as a rule they all cost the same. A step (Mehrotra's predictor and corrector)
solves a system of the size of w, so that time grows with ``constraints * dims^2``, whatever C is: made for many
constraints of few dimensions.

Of many groups most are easy, and have no part in the solution. So some are solved for first, and those that their
weights violate most are added, until the value with all of them is as near to that bound as it has to be.

The dual variables of every iterate are feasible, so their weights are a usable model, with both values computed from
scratch as its certificate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import scipy.linalg

# How far a step may go towards the boundary.
STEP = 0.995
# So many steps without a smaller gap: rounding errors allow no better.
PATIENCE = 10
# So many groups are solved at once, of more some are chosen.
FEW = 2000


@dataclass
class Solution:
    """Weights and certificates."""

    w: np.ndarray
    primal: float = np.inf
    dual: float = -np.inf
    n_iter: int = 0
    converged: bool = False
    interrupted: bool = False
    history: list[dict[str, float]] = field(default_factory=list)

    @property
    def gap(self) -> float:
        return self.primal - self.dual


@dataclass
class MarginResult(Solution):
    """With dual variables, one per constraint."""

    alpha: np.ndarray = field(default_factory=lambda: np.empty(0))


def solve(
    deltas: np.ndarray,
    offsets: np.ndarray,
    starts: np.ndarray,
    C: float | np.ndarray,
    tol: float = 1e-9,
    max_iter: int = 200,
    on_epoch: Callable[[str], None] = lambda info: None,
) -> MarginResult:
    """Solve until the duality gap is at most the fraction ``tol`` of the primal value.

    Parameters
    ----------
    deltas, offsets : (n_constraints, n_dims), (n_constraints,)
        The d_m and b_m.
    starts : int array (n_groups,)
        Where each group of constraints begins, the first at 0, none of them empty.
    C : float, or array (n_groups,)
        Weight of the slacks.
    """
    if not offsets.size:
        return MarginResult(np.zeros(deltas.shape[1]), 0.0, 0.0, converged=True)
    point = _Point(deltas, offsets, starts, C)
    return (_solve_all if starts.size <= FEW else _solve_some)(point, tol, max_iter, on_epoch)


def cost(C: float | np.ndarray, slacks: np.ndarray) -> float:
    """What slacks cost, all the same or each its own."""
    return float(C @ slacks) if isinstance(C, np.ndarray) else C * float(slacks.sum())


def _solve_some(point: _Point, tol: float, max_iter: int, on_epoch: Callable[[str], None]) -> MarginResult:
    """More and more of the groups; the best round is the result, with values of all groups."""
    deltas, offsets, starts, sizes, C = point.deltas, point.offsets, point.starts, point.sizes, point.C
    chosen = np.zeros(starts.size, np.bool_)
    chosen[np.linspace(0, starts.size - 1, FEW).astype(np.int64)] = True
    best = MarginResult(np.zeros(deltas.shape[1]), cost(C, np.maximum.reduceat(np.maximum(offsets, 0.0), starts)), 0.0)
    best.alpha = np.zeros(offsets.size)
    apart, n_iter = 0.1, 0  # the gap as a fraction of the primal value
    history: list[dict[str, float]] = []
    try:
        while True:
            rows = np.repeat(chosen, sizes)
            firsts = np.cumsum(np.append(0, sizes[chosen][:-1]))
            precision = max(tol / 2, apart / 10)
            part = _Point(deltas[rows], offsets[rows], firsts, C[chosen] if isinstance(C, np.ndarray) else C)
            found = _solve_all(part, precision, max_iter - n_iter, on_epoch)
            n_iter += found.n_iter
            slacks = np.maximum.reduceat(np.maximum(offsets - deltas @ found.w, 0.0), starts)
            found.primal = 0.5 * float(found.w @ found.w) + cost(C, slacks)
            found.converged = found.gap <= tol * found.primal
            if found.converged or found.primal < best.primal:
                alpha = np.zeros(offsets.size)
                alpha[rows] = found.alpha
                best, best.alpha = found, alpha
            best.interrupted = found.interrupted
            history.append({"primal": best.primal, "dual": best.dual})
            left_out = np.flatnonzero(~chosen & (slacks > 0.0))
            exact = not left_out.size and precision <= tol / 2  # no more precision to be had
            if found.converged or found.interrupted or n_iter >= max_iter or exact:
                break
            apart = found.gap / found.primal if left_out.size else 0.0
            chosen[left_out[np.argsort(-slacks[left_out], kind="stable")[: np.count_nonzero(chosen)]]] = True
    except KeyboardInterrupt:  # between rounds
        best.interrupted = True
    best.n_iter, best.history = n_iter, history
    return best


def _solve_all(point: _Point, tol: float, max_iter: int, on_epoch: Callable[[str], None]) -> MarginResult:
    """The interior-point method on all constraints of a point, from there on."""
    best = point.certified()
    n_iter, since = 0, 0
    history: list[dict[str, float]] = []
    try:
        while best.gap > tol * best.primal and n_iter < max_iter and since < PATIENCE and point.step():
            n_iter += 1
            since += 1
            found = point.certified()
            if found.gap < best.gap:
                best, since = found, 0
            history.append({"primal": best.primal, "dual": best.dual})
            on_epoch(f"primal {best.primal:.5g}, gap {best.gap:.3g}")
    except KeyboardInterrupt:
        best.interrupted = True
    best.n_iter, best.converged, best.history = n_iter, best.gap <= tol * best.primal, history
    return best


class _Point:
    """Weights w, slacks xi, surpluses s of constraints and multipliers alpha, beta, all but w positive.

    Primal and dual constraints hold, except for ``w = sum alpha_m d_m``, which full steps bring about.
    """

    def __init__(self, deltas: np.ndarray, offsets: np.ndarray, starts: np.ndarray, C: float | np.ndarray) -> None:
        self.deltas, self.offsets, self.starts, self.C = deltas, offsets, starts, C
        self.sizes = np.diff(np.append(starts, offsets.size))
        self.group = np.repeat(np.arange(starts.size), self.sizes)
        top = np.maximum(np.maximum.reduceat(offsets, starts), 0.0)
        self.w = np.zeros(deltas.shape[1])
        self.xi = top + max(float(np.abs(offsets).max()), 1e-3)
        self.s = self.xi[self.group] - offsets
        share = C / (self._sums(1.0 / self.s) + 1.0 / self.xi)  # all products in a group are equal
        self.alpha, self.beta = share[self.group] / self.s, share / self.xi

    def certified(self) -> MarginResult:
        """The weights of the dual variables, and both values from scratch."""
        excess = np.maximum(self._sums(self.alpha) / self.C, 1.0)
        alpha = self.alpha / excess[self.group]
        w = self.deltas.T @ alpha
        xi = np.maximum.reduceat(np.maximum(self.offsets - self.deltas @ w, 0.0), self.starts)
        norm = 0.5 * float(w @ w)
        return MarginResult(w, norm + cost(self.C, xi), float(alpha @ self.offsets) - norm, alpha=alpha)

    def step(self) -> bool:
        """One predictor-corrector step; False where rounding errors leave nowhere to go."""
        D = self.alpha / self.s
        S = self._sums(D)
        E = S + self.beta / self.xi
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                solve_system = self._factored(D, S, S / E * (self.beta / self.xi))
        except (np.linalg.LinAlgError, ValueError):  # not positive definite, or not finite
            return False
        off = self.w - self.deltas.T @ self.alpha

        def direction(r_alpha: np.ndarray, r_beta: np.ndarray) -> tuple[np.ndarray, ...]:
            """Newton's step by which the products alpha * s and beta * xi lose these amounts."""
            q = -r_beta / self.xi - self._sums(r_alpha / self.s)
            dw = solve_system(-off - self.deltas.T @ (r_alpha / self.s + D * (q / E)[self.group]))
            along = self.deltas @ dw
            dxi = (q - self._sums(D * along)) / E
            ds = along + dxi[self.group]
            return dw, dxi, ds, -D * ds - r_alpha / self.s, -(r_beta + self.beta * dxi) / self.xi

        n = self.alpha.size + self.beta.size
        mu = float(self.alpha @ self.s + self.beta @ self.xi) / n
        _, dxi, ds, dalpha, dbeta = direction(self.alpha * self.s, self.beta * self.xi)
        size = self._longest(dxi, ds, dalpha, dbeta, 1.0)
        reached = (self.alpha + size * dalpha) @ (self.s + size * ds)
        reached += (self.beta + size * dbeta) @ (self.xi + size * dxi)
        target = mu * max(float(reached) / (n * mu), 0.0) ** 3
        dw, dxi, ds, dalpha, dbeta = direction(
            self.alpha * self.s + dalpha * ds - target, self.beta * self.xi + dbeta * dxi - target
        )
        size = self._longest(dxi, ds, dalpha, dbeta, STEP)
        if not size > 1e-12:
            return False
        self.w += size * dw
        self.xi += size * dxi
        self.s += size * ds
        self.alpha += size * dalpha
        self.beta += size * dbeta
        return True

    def _factored(self, D: np.ndarray, S: np.ndarray, rest: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Solver of the system for w: ``I + sum_m D_m d_m d_m' - sum_g v_g v_g' / E_g`` with v_g the sum of D_m d_m.

        It is summed about the mean ``v_g / S_g`` of each group, since the difference would lose all its digits.
        """
        single = S.size == D.size
        mean = self.deltas if single else self._sums(D[:, None] * self.deltas) / S[:, None]
        between = np.sqrt(rest)[:, None] * mean
        system = np.eye(self.w.size) + between.T @ between  # of one array and itself: half the work
        if not single:
            apart = np.sqrt(D)[:, None] * (self.deltas - mean[self.group])
            system += apart.T @ apart
        scale = 1.0 / np.sqrt(np.diagonal(system))
        factor = scipy.linalg.cho_factor(scale[:, None] * system * scale)
        return lambda rhs: scale * scipy.linalg.cho_solve(factor, scale * rhs)

    def _longest(self, dxi: np.ndarray, ds: np.ndarray, dalpha: np.ndarray, dbeta: np.ndarray, part: float) -> float:
        """The largest step up to 1 that keeps everything positive, or this part of it."""
        room = np.inf
        for values, change in ((self.xi, dxi), (self.s, ds), (self.alpha, dalpha), (self.beta, dbeta)):
            falling = change < 0.0
            room = min(room, float(np.min(-values[falling] / change[falling], initial=np.inf)))
        return min(1.0, part * room)

    def _sums(self, values: np.ndarray) -> np.ndarray:
        """Sums over groups."""
        return values if self.starts.size == self.offsets.size else np.add.reduceat(values, self.starts)
