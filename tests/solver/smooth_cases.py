"""Smooth objectives over working sets: values, and gradients checked by finite differences."""

from itertools import product

import numpy as np
import pytest

from accord.solvers import smooth


def make_objective(space, entries, loss, rho, C=0.7, regulariser=1.0, rescaling="margin"):
    matrix = entries.matrix(space.n_rows)
    width = 0.3 if loss == "huber" else 0.4
    term = smooth.Term(
        loss, width, C, matrix, np.zeros(entries.size), entries.delta, entries.segments(), rescaling=rescaling
    )
    return smooth.Objective([term], regulariser, rho)


def evaluate(space, objective, x):
    """Value and gradient, the latter in the metric of the space."""
    forward = space.forward(x)
    parts = space.part_scores(forward)
    t = objective.constant + objective.changes(parts)
    losses, _, slopes = objective.losses(t, t)
    gradient = space.coefficients(objective.pull(slopes, parts.size)) + 2 * objective.regulariser * x
    return objective.regulariser * space.inner(x, x, forward) + losses, gradient


def assert_gradients(space, entries, size):
    """The gradient of every loss, soft or sharp, at a random point is what values nearby say."""
    for loss, rho in product(("huber", "symmetric"), (1e-3, 1.0, 100.0)):
        assert_gradient(space, make_objective(space, entries, loss, rho), np.random.default_rng(1), size, (loss, rho))


def assert_gradient(space, objective, rng, size, what):
    x = size * rng.normal(size=space.zeros().size)
    gradient = evaluate(space, objective, x)[1]
    assert np.abs(gradient).max() > 0.1, what
    h = 1e-5 if objective.rho < 10 else 1e-7
    for _ in range(6):
        d = rng.normal(size=x.size)
        d /= np.sqrt(space.inner(d, d, space.forward(d)))
        slope = space.inner(gradient, d, space.forward(d))
        up, down = evaluate(space, objective, x + h * d)[0], evaluate(space, objective, x - h * d)[0]
        assert slope == pytest.approx((up - down) / (2 * h), abs=1e-6, rel=1e-6), what
