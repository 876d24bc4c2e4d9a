"""Block-coordinate Frank-Wolfe with gap sampling for the structural SVM.

The same optimum as the cutting planes'. A visit to an example moves its share of the dual to the best mix of the
present share and the most violated constraint (for the 2-norm machine the mix may grow, since there is no budget).
After the first pass examples are drawn in proportion to their last known duality gap. The certificate is exact: the
primal value is computed over all examples with fixed weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from accord.packed.problem import Problem
from accord.solvers.cutting_plane import SVMResult, primal_value


@dataclass
class Dual:
    """Dual variables as coefficients of parts, one block per example."""

    rows: np.ndarray  # (n_rows, n_columns)
    transitions: np.ndarray  # (n_examples, n_transitions)
    linear: np.ndarray  # (n_examples,) linear term
    mass: np.ndarray  # (n_examples,) sum of variables
    norm: np.ndarray  # (n_examples,) squared norm of the block's share of w
    work: np.ndarray  # zeros like the weights
    gaps: np.ndarray  # (n_examples,) last known gap of each block

    def value(self, w: np.ndarray, ridge: float, weights: np.ndarray | None) -> float:
        masses = self.mass if weights is None else self.mass / weights
        return float(self.linear.sum() - 0.5 * (w @ w) - 0.5 * ridge * (self.mass @ masses))


def train(
    problem: Problem,
    C: float,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
    on_epoch: Callable[[str], None] = lambda info: None,
    check_every: int = 5,
) -> SVMResult:
    """Solve until the duality gap is at most the fraction ``tol`` of the primal value."""
    n = problem.n_examples
    weights = problem.zero_weights()
    n_columns, n_transitions = problem.structure.n_columns_, weights.transitions.size
    dual = Dual(
        np.zeros((problem.y.size, n_columns)), np.zeros((n, n_transitions)), np.zeros(n), np.zeros(n), np.zeros(n),
        np.zeros_like(weights.unary), np.full(n, np.inf),
    )  # fmt: skip
    ridge = 0.0 if problem.norm == 1 else 1.0 / C
    primal, n_iter = np.inf, 0
    value = 0.0
    history: list[dict[str, float]] = []
    while n_iter < max_iter:
        problem.frank_wolfe_epoch(weights, dual, _order(dual.gaps, rng), C)
        n_iter += 1
        last = n_iter == max_iter
        if last or n_iter % check_every == 0 or float(dual.gaps.sum()) <= tol * primal:
            value = dual.value(weights.flat(), ridge, problem.rows.input_weights)
            primal = primal_value(problem, weights, C)
            history.append({"pass": n_iter, "primal": primal, "dual": value})
            on_epoch(f"primal {primal:.5g}, gap {primal - value:.3g}")
            if primal - value <= tol * primal:
                break
        else:
            on_epoch(f"estimated gap {float(dual.gaps.sum()):.3g}")
    n_used, converged = int(np.count_nonzero(dual.mass)), primal - value <= tol * primal
    return SVMResult(weights, primal, value, n_iter, n_used, n_iter * n, converged, history=history)


def _order(gaps: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random pass over all examples at first; then draws in proportion to the gaps."""
    n = gaps.size
    if not np.all(np.isfinite(gaps)):
        return rng.permutation(n)
    weight = np.maximum(gaps, 0.0)
    weight = weight + 0.1 * weight.mean() + 1e-300  # every gap is refreshed now and then
    return rng.choice(n, size=n, p=weight / weight.sum())
