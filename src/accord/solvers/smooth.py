"""Smooth large-margin objectives and conjugate gradients [thesis 7.1, 7.2; OP 7.2, 7.4].

``objective(w) = regulariser |w|^2 + sum over terms of weight * sum_i weight_i smax_k loss(t_k)``, where
``t = t_0 + A F w`` are the margins of the entries of working sets: ``F w`` are the scores of parts, ``A`` is sparse.
Along a line the margins are linear and the norm is quadratic, so a line search costs no product with features.

* Huber hinge: ``d - t`` for ``t <= d - e``, ``(d + e - t)^2 / 4e`` for ``|t - d| <= e``, 0 above.
* Symmetric loss of unlabeled examples: 1 for ``|t| <= d - tau``, then two parabolas down to 0 at ``|t| = d + tau``.
* Slack rescaling: ``d`` times the loss that these have for ``d = 1``.
* ``smax_k s_k = log(1 + sum_k (exp(rho s_k) - 1)) / rho``: the sum for ``rho = 0``, the maximum for ``rho = inf``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from accord.kernels import smooth_losses
from accord.packed.spaces import PrimalSpace

# Line search: slope left as a fraction of the first, and trials at most.
SLOPE_LEFT = 0.1
TRIALS = 30
# Conjugate directions are restarted after so many steps.
RESTART = 50
# How many steps the stopping rule looks back: single ones may be small by chance.
PERIOD = 20


LOSSES = {"huber": smooth_losses.HUBER, "symmetric": smooth_losses.SYMMETRIC}


def loss(
    name: str, t: np.ndarray, delta: np.ndarray, width: float, rescaling: str = "margin"
) -> tuple[np.ndarray, np.ndarray]:
    """Huber hinge (``width`` is epsilon; 0 is the hinge) or symmetric loss (tau, at most delta), and its derivative."""
    value, slope = np.empty(t.size), np.empty(t.size)
    smooth_losses.losses(_kind(name, rescaling), t, delta, float(width), value, slope)
    return value, slope


def _kind(name: str, rescaling: str) -> int:
    return LOSSES[name] + (smooth_losses.SCALED if rescaling == "slack" else 0)


def smax_raise(before: np.ndarray, s: np.ndarray, rho: float) -> np.ndarray:
    """How much a soft maximum rises when one more number joins it."""
    if rho == 0.0:
        return s
    if np.isinf(rho):
        return np.maximum(s - before, 0.0)
    more = rho * (s - before)
    exact = np.log1p(np.maximum(np.expm1(np.minimum(more, smooth_losses.LARGE)) - np.expm1(-rho * before), 0.0)) / rho
    return np.where(more > smooth_losses.LARGE, s - before, exact)


@dataclass
class Term:
    """One working set in the objective."""

    loss: str  # key of LOSSES
    width: float  # epsilon or tau
    weight: float
    matrix: sp.csr_array  # part scores -> margins
    constant: np.ndarray  # (n,) margins at part scores 0
    delta: np.ndarray  # (n,)
    segments: np.ndarray  # first entry of each example
    weights: np.ndarray = field(default_factory=lambda: np.empty(0))  # of each segment's example, if not all are 1
    rescaling: str = "margin"  # or "slack"

    def slacks(self, t: np.ndarray, rho: float) -> tuple[np.ndarray, np.ndarray]:
        """Slack of every example, and its derivatives with respect to the margins of its entries."""
        xi, gradient = np.empty(self.segments.size), np.empty(t.size)
        smooth_losses.slacks(
            _kind(self.loss, self.rescaling), float(self.width), t, self.delta, self.segments, float(rho), xi, gradient
        )
        return xi, gradient

    def values(self, t: np.ndarray, delta: np.ndarray) -> np.ndarray:
        """Losses of other outputs."""
        return loss(self.loss, t, delta, self.width, self.rescaling)[0]


class Objective:
    """The objective as a function of the margins and the squared norm of the weights."""

    def __init__(self, terms: Sequence[Term], regulariser: float, rho: float) -> None:
        self.terms = [term for term in terms if term.weight > 0.0 and term.delta.size]
        self.regulariser, self.rho = regulariser, rho
        self._bounds = np.cumsum([0] + [term.delta.size for term in self.terms])
        self.matrix = sp.vstack([term.matrix for term in self.terms], format="csr") if self.terms else None
        self._transposed = None if self.matrix is None else sp.csr_array(self.matrix.T)
        self.constant = np.concatenate([np.empty(0), *(term.constant for term in self.terms)])

    def changes(self, part_scores: np.ndarray) -> np.ndarray:
        """What part scores add to the margins."""
        return np.empty(0) if self.matrix is None else self.matrix @ part_scores

    def losses(self, t: np.ndarray, dt: np.ndarray, step: float = 0.0) -> tuple[float, float, np.ndarray]:
        """At the margins ``t + step dt``: weighted sum of slacks, its slope along dt, gradient for the margins."""
        total, rise, gradient = 0.0, 0.0, np.empty_like(t)
        for term, lo, hi in zip(self.terms, self._bounds, self._bounds[1:]):
            found = smooth_losses.along(
                _kind(term.loss, term.rescaling), float(term.width), float(term.weight), term.weights,
                t[lo:hi], dt[lo:hi], float(step), term.delta, term.segments, float(self.rho), gradient[lo:hi],
            )  # fmt: skip
            total, rise = total + found[0], rise + found[1]
        return total, rise, gradient

    def pull(self, gradient: np.ndarray, n_parts: int) -> np.ndarray:
        """Gradient with respect to part scores."""
        return np.zeros(n_parts) if self._transposed is None else self._transposed @ gradient


@dataclass
class Point:
    """Parameters, what :meth:`forward` makes of them, and how conjugate gradients ended there."""

    x: np.ndarray
    forward: np.ndarray
    value: float = 0.0
    n_steps: int = 0
    converged: bool = True


def minimise(space: PrimalSpace, objective: Objective, start: Point, tol: float, max_steps: int = 1000) -> Point:
    """Conjugate gradients (Polak-Ribiere+, in the metric of the space) from a point.

    Stops when the value exceeds the least one by no more than the fraction ``tol`` (where losses are convex it exceeds
    it by at most ``|gradient|^2 / (4 regulariser)``), or when the last twenty steps together have lowered it by less
    than a tenth of that fraction. One product with features and one with their transpose a step.
    """
    reg = objective.regulariser
    x, forward = start.x.copy(), start.forward.copy()
    parts = space.part_scores(forward)
    t = objective.constant + objective.changes(parts)
    norm = space.inner(x, x, forward)
    losses, _, slopes = objective.losses(t, t)
    g = space.coefficients(objective.pull(slopes, parts.size)) + 2.0 * reg * x
    g_forward = space.forward(g)
    gg = space.inner(g, g, g_forward)
    direction, d_forward = -g, -g_forward
    slope, step = -gg, 1.0 / (2.0 * reg)
    point = Point(x, forward, reg * norm + losses)
    values = [point.value]
    while gg > 4.0 * reg * tol * max(point.value, 1e-300):
        if point.n_steps == max_steps:
            point.converged = False
            break
        dt = objective.changes(space.part_scores(d_forward))
        xd, dd = space.inner(x, direction, d_forward), space.inner(direction, direction, d_forward)
        line = _Line(objective, t, dt, norm, xd, dd)
        step, value, found = _search(line, step, point.value, slope)
        if found is None:
            if slope != -gg:  # not steepest descent yet
                direction, d_forward, slope, step = -g, -g_forward, -gg, 1.0 / (2.0 * reg)
                point.n_steps += 1
                continue
            break  # no descent left at machine precision
        x += step * direction
        forward += step * d_forward
        t += step * dt
        norm += 2.0 * step * xd + step * step * dd
        point.value = value
        point.n_steps += 1
        values.append(value)
        if len(values) > PERIOD and values[-1 - PERIOD] - value <= 0.1 * tol * value:
            break
        new = space.coefficients(objective.pull(found, parts.size)) + 2.0 * reg * x
        new_forward = space.forward(new)
        new_gg = space.inner(new, new, new_forward)
        beta = max(0.0, (new_gg - space.inner(new, g, g_forward)) / gg)
        if point.n_steps % RESTART == 0:
            beta = 0.0
        direction *= beta
        direction -= new
        d_forward *= beta
        d_forward -= new_forward
        g, g_forward, gg = new, new_forward, new_gg
        before, slope = slope, space.inner(direction, g, g_forward)
        if slope >= 0.0:
            direction, d_forward, slope = -g, -g_forward, -gg
        step *= before / slope if slope < 0.0 else 1.0
    return point


class _Line:
    """The objective along a line of parameters."""

    def __init__(self, objective: Objective, t: np.ndarray, dt: np.ndarray, norm: float, xd: float, dd: float) -> None:
        self.objective, self.t, self.dt = objective, t, dt
        self.norm, self.xd, self.dd = norm, xd, dd

    def at(self, step: float) -> tuple[float, float, np.ndarray]:
        """(value, slope along the line, gradient with respect to the margins)."""
        losses, rise, slopes = self.objective.losses(self.t, self.dt, step)
        reg = self.objective.regulariser
        value = reg * (self.norm + 2.0 * step * self.xd + step * step * self.dd) + losses
        return value, 2.0 * reg * (self.xd + step * self.dd) + rise, slopes


def _search(line: _Line, step: float, value: float, slope: float) -> tuple[float, float, np.ndarray | None]:
    """A step where the value is lower and the slope nearly gone: secant steps on the slope, within a shrinking bracket.

    Returns (step, value, gradient with respect to the margins), with None for the gradient if nothing lower is found.
    """
    low, low_value, low_slope = 0.0, value, slope
    high, guess, width_before = np.inf, 0.0, np.inf
    best: tuple[float, float, np.ndarray | None] = (0.0, value, None)
    for _ in range(TRIALS):
        here, here_slope, gradient = line.at(step)
        lower = here <= value + 1e-4 * step * slope
        if lower and here < best[1]:
            best = (step, here, gradient)
        if lower and abs(here_slope) <= SLOPE_LEFT * abs(slope):
            break
        width = step - low
        bend = here_slope - low_slope
        if not lower:  # where the parabola through both values has its least value
            high, guess = step, low - 0.5 * low_slope * width * width / (here - low_value - low_slope * width)
        else:  # where the slope would vanish if it went on like this
            guess = low - low_slope * width / bend if bend > 0.0 else np.inf
            if here_slope > 0.0:
                high = step
            else:
                low, low_value, low_slope = step, here, here_slope
        if np.isinf(high):
            step = min(max(guess, 1.5 * step), 10.0 * step)
            continue
        width = high - low
        if width <= 1e-14 * high:
            break
        inside = low + 0.02 * width <= guess <= high - 0.02 * width
        step = guess if inside and width <= 0.7 * width_before else low + 0.5 * width
        width_before = width
    return best
