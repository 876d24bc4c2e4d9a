"""Small quadratic programs of the cutting-plane solver.

``min 1/2 a'Ha - q'a`` over ``a >= 0`` and, when a budget is given (one, or one per group), ``sum of each
group <= budget``.
Tiny dense problems go to daqp (active set, microseconds), larger ones to piqp (interior point).
"""

from __future__ import annotations

import daqp
import numpy as np
import piqp

# Up to here the active-set solver is faster than the interior-point solver.
TINY = 50
# Relative ridge that makes a singular Hessian usable: two outputs may have the same features.
RIDGE = 1e-12


def solve(H: np.ndarray, q: np.ndarray, groups: np.ndarray, budget: float | np.ndarray) -> np.ndarray:
    """Solve the program; ``groups`` (n,) numbers the group of each variable from 0."""
    n = q.size
    if n == 1 and H[0, 0] > 0.0:
        return np.clip(q / H[0, 0], 0.0, budget)
    ridged = H + RIDGE * max(float(np.trace(H)) / n, 1e-12) * np.eye(n)
    G = np.zeros((int(groups.max()) + 1 if np.all(np.isfinite(budget)) else 0, n))  # which variables are in which group
    if len(G):
        G[groups, np.arange(n)] = 1.0
    a = None
    if n <= TINY:
        a = _active_set(ridged, q, G, budget)
    if a is None:
        a = _interior_point(ridged, q, G, budget)
    return np.maximum(a, 0.0)


def _active_set(H: np.ndarray, q: np.ndarray, G: np.ndarray, budget: float | np.ndarray) -> np.ndarray | None:
    upper = np.concatenate([np.full(q.size, 1e30), np.full(len(G), budget)])
    lower = np.concatenate([np.zeros(q.size), np.full(len(G), -1e30)])
    a, _, flag, _ = daqp.solve(H, -q, G, upper, lower, primal_tol=1e-11, dual_tol=1e-11)
    return a if flag == 1 and np.all(np.isfinite(a)) else None


def _interior_point(H: np.ndarray, q: np.ndarray, G: np.ndarray, budget: float | np.ndarray) -> np.ndarray:
    n, n_groups = q.size, len(G)
    solver = piqp.DenseSolver()  # H has hardly a zero: the sparse solver takes ten times as long
    solver.settings.eps_abs = 1e-10
    solver.settings.eps_rel = 1e-11
    solver.settings.max_iter = 500
    if n_groups:
        solver.setup(H, -q, None, None, G, np.full(n_groups, -np.inf), np.full(n_groups, budget), np.zeros(n), None)
    else:
        solver.setup(H, -q, None, None, None, None, None, np.zeros(n), None)
    solver.solve()
    return np.asarray(solver.result.x)
