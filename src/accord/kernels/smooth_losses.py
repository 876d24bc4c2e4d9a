"""Losses of the smooth large-margin machines and their soft maxima, in one pass over the entries of working sets.

The formulas are those of :mod:`accord.solvers.smooth`. Most entries are far from where a loss bends: they cost no
exponential.
"""

from __future__ import annotations

import math

import numpy as np

from accord.kernels.compiling import helper, kernel

HUBER, SYMMETRIC = 0, 1
SCALED = 2  # added to these: slack rescaling
# Beyond this exponent, 1 + sum(exp - 1) is computed relative to its largest term.
LARGE = 50.0


@helper
def _huber(t, delta, epsilon):
    """(Huber hinge, derivative)."""
    gap = delta - t
    if epsilon == 0.0:
        return (gap, -1.0) if gap > 0.0 else (0.0, 0.0)
    if gap <= -epsilon:
        return 0.0, 0.0
    if gap >= epsilon:
        return gap, -1.0
    bent = gap + epsilon
    return bent * bent / (4.0 * epsilon), bent / (-2.0 * epsilon)


@helper
def _symmetric(t, delta, tau):
    """(symmetric loss, derivative); tau is at most delta, else there would be a kink at 0."""
    size = abs(t)
    width = min(tau, delta)
    if width <= 0.0:  # an output without loss counts for nothing; without a width, the loss is a step
        return (1.0, 0.0) if size < delta else (0.0, 0.0)
    sign = 1.0 if t > 0.0 else (-1.0 if t < 0.0 else 0.0)
    if size <= delta:
        down = max((size - delta + width) / width, 0.0)
        return 1.0 - 0.5 * down * down, -down * sign / width
    up = min((size - delta - width) / width, 0.0)
    return 0.5 * up * up, up * sign / width


@helper
def _loss(kind, t, delta, width):
    least = 1.0 if kind >= SCALED else delta  # the margin that is asked for
    value, slope = _huber(t, least, width) if kind % SCALED == HUBER else _symmetric(t, least, width)
    return (delta * value, delta * slope) if kind >= SCALED else (value, slope)


@kernel
def losses(kind, t, delta, width, value, slope):
    """Loss of every entry and its derivative."""
    for k in range(t.size):
        value[k], slope[k] = _loss(kind, t[k], delta[k], width)


@kernel
def _soft_maximum(s, n, rho, share, slope):
    """Soft maximum of ``s[:n]``, none of which is below 0; ``share`` gets its derivatives times ``slope``."""
    if rho == 0.0:
        total = 0.0
        for k in range(n):
            total += s[k]
            share[k] = slope[k]
        return total
    top, first = s[0], 0
    for k in range(1, n):
        if s[k] > top:
            top, first = s[k], k
    if rho == np.inf:
        for k in range(n):
            share[k] = slope[k] if k == first else 0.0
        return top
    # log(1 + sum(exp(rho s) - 1)) = rho shift + log(exp(-rho shift) + sum(exp(rho (s - shift)) - exp(-rho shift)))
    shift = top if rho * top > LARGE else 0.0
    rest = math.expm1(-rho * shift) if shift > 0.0 else 0.0
    total = rest
    for k in range(n):
        if s[k] != 0.0:
            total += math.expm1(rho * (s[k] - shift)) - rest
    value = shift + math.log1p(total) / rho
    for k in range(n):
        share[k] = slope[k] * math.exp(rho * (s[k] - value)) if slope[k] != 0.0 else 0.0
    return value


@kernel
def slacks(kind, width, t, delta, segments, rho, xi, gradient):
    """Slack of every example, and its derivatives with respect to the margins of its entries."""
    value, slope = np.empty(t.size), np.empty(t.size)
    for i in range(segments.size):
        lo = segments[i]
        hi = segments[i + 1] if i + 1 < segments.size else t.size
        for k in range(hi - lo):
            value[k], slope[k] = _loss(kind, t[lo + k], delta[lo + k], width)
        xi[i] = _soft_maximum(value, hi - lo, rho, gradient[lo:hi], slope)


@kernel
def along(kind, width, weight, weights, t, dt, step, delta, segments, rho, gradient):
    """Weighted sum of slacks at the margins ``t + step dt`` and its slope along ``dt``; ``gradient`` is filled.

    The slack of segment ``i`` counts ``weight * weights[i]`` (empty: ``weight``).
    """
    value, slope = np.empty(t.size), np.empty(t.size)
    total, rise = 0.0, 0.0
    for i in range(segments.size):
        lo = segments[i]
        hi = segments[i + 1] if i + 1 < segments.size else t.size
        for k in range(hi - lo):
            value[k], slope[k] = _loss(kind, t[lo + k] + step * dt[lo + k], delta[lo + k], width)
        own = weights[i] if weights.size > 0 else 1.0
        total += own * _soft_maximum(value, hi - lo, rho, gradient[lo:hi], slope)
        for k in range(lo, hi):
            gradient[k] *= weight * own
            rise += gradient[k] * dt[k]
    return weight * total, rise
