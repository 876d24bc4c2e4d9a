"""Cutting planes for few examples with expensive decoders: all examples are decoded, then all weights optimised.

``min |w|^2 / 2 + sum_i C_i xi_i`` with ``xi_i >= b - <w, d>`` for every output of example i. As weights stay the same
while the examples are decoded, each pass gives the primal value, and the program over the constraints found so far the
dual value: the loop ends when they are close.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from accord.solvers import margin_qp

# Constraints that have been without force for so many passes are dropped.
PATIENCE = 10
# What counts as force, as a part of C.
FORCE = 1e-9


@dataclass
class CuttingResult(margin_qp.Solution):
    """With the number of constraints."""

    n_constraints: int = 0  # with force


class _Planes:
    """Constraints found so far, with their examples and since when they have been without force."""

    def __init__(self, n_dims: int) -> None:
        self.deltas, self.offsets = np.empty((0, n_dims)), np.empty(0)
        self.example, self.idle = np.empty(0, np.int64), np.empty(0, np.int64)

    def slacks(self, w: np.ndarray, n_examples: int) -> np.ndarray:
        out = np.zeros(n_examples)
        np.maximum.at(out, self.example, self.offsets - self.deltas @ w)
        return out

    def add(self, examples: np.ndarray, offsets: np.ndarray, deltas: np.ndarray) -> None:
        self.deltas = np.concatenate([self.deltas, deltas])
        self.offsets = np.concatenate([self.offsets, offsets])
        self.example = np.concatenate([self.example, examples])
        self.idle = np.concatenate([self.idle, np.zeros(examples.size, np.int64)])
        self._take(np.argsort(self.example, kind="stable"))

    def _take(self, rows: np.ndarray) -> None:
        self.deltas, self.offsets = self.deltas[rows], self.offsets[rows]
        self.example, self.idle = self.example[rows], self.idle[rows]

    def optimise_into(self, result: CuttingResult, C: float | np.ndarray, tol: float) -> np.ndarray:
        """The best weights for these constraints; their dual value goes into the result."""
        starts = np.flatnonzero(np.diff(self.example, prepend=-1))
        each = C[self.example] if isinstance(C, np.ndarray) else C  # of every constraint
        found = margin_qp.solve(
            self.deltas, self.offsets, starts, each[starts] if isinstance(each, np.ndarray) else each, tol
        )
        if found.interrupted:
            raise KeyboardInterrupt
        result.dual = max(result.dual, found.dual)
        result.n_constraints = int(np.count_nonzero(found.alpha > FORCE * each))
        self.idle = np.where(found.alpha > FORCE * each, 0, self.idle + 1)
        self._take(np.flatnonzero(self.idle < PATIENCE))
        return found.w


class DecodedProblem(Protocol):
    """Examples whose violating outputs are looked for by a decoder.

    ``quick`` says that some violating outputs are found faster than the most violating ones, ``exact`` that the latter
    are found at all.
    """

    n_examples: int
    n_dims: int
    quick: bool
    exact: bool

    def violators(self, w: np.ndarray, enough: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Violation (n,), offset b (n,) and difference d (n, n_dims) of every example's most violating output.

        Violations up to ``enough`` (n,) need not be exact, only never too small. With ``enough=None``, of problems that
        are ``quick``, some violating outputs will do.
        """
        ...


def train(
    problem: DecodedProblem,
    C: float | np.ndarray,
    tol: float,
    max_iter: int,
    on_epoch: Callable[[str], None] = lambda info: None,
) -> CuttingResult:
    """Solve until the duality gap is at most the fraction ``tol`` of the primal value; C: one, or one per example.

    Outputs that are found quickly come first, and again whenever the most violating ones have moved the weights.
    Where the latter are not found (``problem.exact`` is False) the primal value holds with respect to the outputs that
    were found, and the last weights are taken, which know most of them.
    """
    n = problem.n_examples
    planes, result = _Planes(problem.n_dims), CuttingResult(np.zeros(problem.n_dims), dual=0.0)
    w, quick = result.w, problem.quick
    try:
        while result.n_iter < max_iter:
            known = planes.slacks(w, n)
            # half of the gap that is allowed, in equal parts
            allowed = 0.5 * tol * (0.5 * float(w @ w) + margin_qp.cost(C, known)) / margin_qp.cost(C, np.ones(n))
            violations, offsets, deltas = problem.violators(w, None if quick else known + allowed)
            primal = 0.5 * float(w @ w) + margin_qp.cost(C, np.maximum(violations, known))
            if not quick and (primal < result.primal or not problem.exact):
                result.primal, result.w = primal, w
            new = np.flatnonzero(violations > known + allowed)
            result.n_iter += 1
            result.history.append({"primal": primal, "dual": result.dual, "added": new.size})
            on_epoch(f"{new.size} constraints added, primal {primal:.5g}, dual {result.dual:.5g}")
            if not quick and (not new.size or result.gap <= tol * result.primal):
                break
            quick = problem.quick and bool(new.size)  # as long as it finds anything
            if new.size:
                planes.add(new, offsets[new], deltas[new])
                w = planes.optimise_into(result, C, min(1e-9, 0.01 * tol))
    except KeyboardInterrupt:
        result.interrupted = True
        if not np.isfinite(result.primal):  # nothing is known of the primal value yet
            result.w = w
    result.converged = result.gap <= tol * result.primal
    return result
