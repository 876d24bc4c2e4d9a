"""Gradient solvers for regularised likelihoods: L-BFGS over all examples, and stochastic gradient descent.

Objective: ``|w|^2 / 2 + C * sum of negative log likelihoods``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import minimize


@dataclass
class GradientResult:
    """Weights, objective and how the solver ended."""

    weights: Any
    objective: float
    n_iter: int
    converged: bool
    message: str
    history: list[float] = field(default_factory=list)


def objective(problem: Any, weights: Any, C: float) -> tuple[float, np.ndarray]:
    """Regularised negative log likelihood and its gradient (flat)."""
    w = weights.flat()
    log_likelihood, gradient = problem.log_likelihood(weights)
    return 0.5 * float(w @ w) - C * log_likelihood, w - C * gradient.flat()


def lbfgs(
    problem: Any,
    start: Any,
    C: float,
    tol: float,
    max_iter: int,
    on_iteration: Callable[[str], None] = lambda info: None,
) -> GradientResult:
    """Minimise by L-BFGS from the given weights; ``tol`` bounds the relative decrease of a step."""
    shape = start.unary.shape
    history: list[float] = []

    def evaluate(w: np.ndarray) -> tuple[float, np.ndarray]:
        return objective(problem, type(start).from_flat(w, *shape), C)

    def report(intermediate_result: Any) -> None:
        history.append(float(intermediate_result.fun))
        on_iteration(f"objective {history[-1]:.6g}")

    found = minimize(
        evaluate,
        start.flat(),
        jac=True,
        method="L-BFGS-B",
        callback=report,
        options={"maxiter": max_iter, "ftol": tol, "gtol": 1e-8, "maxcor": 6, "maxfun": 10 * max_iter + 20},
    )
    message = found.message if isinstance(found.message, str) else str(found.message)
    weights = type(start).from_flat(found.x, *shape)
    return GradientResult(weights, float(found.fun), int(found.nit), bool(found.success), message, history)


def stochastic(
    problem: Any,
    weights: Any,
    decay: float,
    rate: float,
    max_iter: int,
    rng: np.random.Generator,
    clock: float = 0.0,
    on_epoch: Callable[[str], None] = lambda info: None,
) -> tuple[float, list[float]]:
    """Passes of stochastic gradient descent on ``decay / 2 |w|^2 + mean loss``, in place: (clock, losses)."""
    history: list[float] = []
    for _ in range(max_iter):
        order = rng.permutation(problem.n_examples)
        clock, total = problem.crf_epoch(weights, order, decay, rate, clock)
        history.append(total / max(problem.n_examples, 1))
        on_epoch(f"mean loss {history[-1]:.5g}")
    return clock, history


def calibrate_rate(problem: Any, weights: Any, decay: float, rng: np.random.Generator, n_sample: int = 200) -> float:
    """The step size that lowers the objective most on a sample, tried on copies of the weights."""
    sample = rng.permutation(problem.n_examples)[:n_sample]
    best, best_loss = 0.1, np.inf
    for rate in 2.0 ** np.arange(-10.0, 3.0):
        trial = weights.copy()
        problem.crf_epoch(trial, sample, decay, rate, 0.0)
        _, loss = problem.crf_epoch(trial.copy(), sample, decay, 1e-12, 0.0)
        w = trial.flat()
        value = loss / max(sample.size, 1) + 0.5 * decay * float(w @ w)
        if np.isfinite(value) and value < best_loss:
            best, best_loss = float(rate), value
    return best
