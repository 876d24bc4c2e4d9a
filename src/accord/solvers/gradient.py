"""Gradient solvers for regularised likelihoods: L-BFGS over all examples, and stochastic gradient descent.

Objective: ``|w|^2 / 2 + C * sum of negative log likelihoods``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg.blas import daxpy
from threadpoolctl import threadpool_limits

from accord.packed.problem import Problem
from accord.packed.weights import Weights

# How many steps the stopping rule looks back; single steps of L-BFGS may be small by chance.
PERIOD = 10
# How many pairs of a step and the change of the gradient that it brought L-BFGS remembers.
MEMORY = 6


@dataclass
class GradientResult:
    """Weights, objective and how the solver ended."""

    weights: Weights
    objective: float
    n_iter: int
    converged: bool
    message: str
    history: list[float] = field(default_factory=list)


def objective(problem: Problem, weights: Weights, C: float) -> tuple[float, np.ndarray]:
    """Regularised negative log likelihood and its gradient (flat)."""
    log_likelihood, slope = problem.log_likelihood(weights)
    g = weights.flat()
    value = 0.5 * float(g @ g) - C * log_likelihood
    slope.add_to(g, -C)
    return value, g


def lbfgs(
    problem: Problem,
    start: Weights,
    C: float,
    tol: float,
    max_iter: int,
    on_iteration: Callable[[str], None] = lambda info: None,
    memory: int = MEMORY,
) -> GradientResult:
    """Minimise the regularised negative log likelihood from the given weights."""
    shape = start.unary.shape
    # BLAS would share out sums of a thousand numbers among threads that wait for each other longer than they add
    with threadpool_limits(1, user_api="blas"):
        x, value, history, converged = minimise(
            lambda w: objective(problem, type(start).from_flat(w, *shape), C),
            start.flat(), tol, max_iter, on_iteration, memory,
        )  # fmt: skip
    message = "converged" if converged else f"after {max_iter} iterations"
    return GradientResult(type(start).from_flat(x, *shape), value, len(history), converged, message, history)


def minimise(
    evaluate: Callable[[np.ndarray], tuple[float, np.ndarray]],
    x: np.ndarray,
    tol: float,
    max_iter: int,
    on_iteration: Callable[[str], None] = lambda info: None,
    memory: int = MEMORY,
) -> tuple[np.ndarray, float, list[float], bool]:
    """Minimise a smooth function by L-BFGS: (x, value, values after each iteration, converged).

    Stops when the last ten iterations together lowered the value by less than the fraction ``tol``, or when no step
    lowers it any more. This is the plain two-loop recursion with backtracking, which is all a convex function needs:
    with millions of weights, SciPy's L-BFGS-B spends longer on bookkeeping for bounds than the likelihood takes. With
    hidden labels the function is not convex; steps along which it curves down are not remembered.
    """
    x = x.copy()
    value, g = evaluate(x)
    steps: list[np.ndarray] = []  # the last `memory` steps
    changes: list[np.ndarray] = []  # and the changes of the gradient they brought
    inverse: list[float] = []  # one over the product of both: six products fewer in each iteration
    history: list[float] = []
    for _ in range(max_iter):
        direction = _two_loop(g, steps, changes, inverse)
        slope = float(direction @ g)
        length = 1.0 if steps else 1.0 / max(float(np.sqrt(g @ g)), 1e-12)
        for _ in range(40):
            trial = direction * length
            trial += x
            trial_value, trial_g = evaluate(trial)
            if trial_value <= value + 1e-4 * length * slope:
                break
            length *= 0.5
        else:
            return x, value, history, True  # no descent left at machine precision
        if len(steps) == memory:
            del steps[0], changes[0], inverse[0]
        direction *= length
        g -= trial_g
        np.negative(g, out=g)
        curvature = float(direction @ g)
        if curvature > 0.0:
            steps.append(direction)
            changes.append(g)
            inverse.append(1.0 / curvature)
        x, value, g = trial, trial_value, trial_g
        history.append(value)
        on_iteration(f"objective {value:.6g}")
        if len(history) > PERIOD and history[-1 - PERIOD] - value <= tol * max(abs(value), 1e-12):
            return x, value, history, True
    return x, value, history, False


def _two_loop(g: np.ndarray, steps: list[np.ndarray], changes: list[np.ndarray], inverse: list[float]) -> np.ndarray:
    """Minus the approximate inverse Hessian times the gradient."""
    d = -g
    if not steps:
        return d
    alphas = []
    # daxpy(x, d, a=a) is d += a x without a temporary array
    for s, y, rho in zip(reversed(steps), reversed(changes), reversed(inverse)):
        alphas.append(rho * float(s @ d))
        daxpy(y, d, a=-alphas[-1])
    d *= 1.0 / (inverse[-1] * float(changes[-1] @ changes[-1]))
    for s, y, rho, alpha in zip(steps, changes, inverse, reversed(alphas)):
        daxpy(s, d, a=alpha - rho * float(y @ d))
    return d


def stochastic(
    problem: Problem,
    weights: Weights,
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


def calibrate_rate(
    problem: Problem, weights: Weights, decay: float, rng: np.random.Generator, n_sample: int = 200
) -> float:
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
