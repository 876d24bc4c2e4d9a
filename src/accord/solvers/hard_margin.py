"""Hard margins: no slack at all [thesis OP 6.1].

``min |w|^2 / 2`` with ``<w, d> >= b`` for every output, by the cutting planes of the soft machine, with all working
sets optimised together. Over constraints (b_k, d_k), and with b'u = 1 and u >= 0, the shortest vector ``sum_k u_k d_k``
has a squared length s. If s > 0, the optimum is 1 / (2 s), with dual variables u / s; if s = 0, no weights keep all
margins, and the constraints with u_k > 0 contradict each other. This program has a solution either way; the dual has
not.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import piqp
from scipy.optimize import nnls

from accord.exceptions import InputError
from accord.packed.problem import Problem
from accord.solvers.cutting_plane import CuttingPlane, SVMResult, run

# The shortest vector counts as zero if it is so much shorter than what it is made of (squared lengths).
NOTHING = 1e-10
# Dual variables below this fraction of the largest are zero.
SMALL = 1e-9
SHOWN = 5  # examples that a message names at most


def train(
    problem: Problem,
    tol: float,
    max_iter: int,
    rng: np.random.Generator | None = None,
    on_epoch: Callable[[str], None] = lambda info: None,
) -> SVMResult:
    """Solve until no margin lacks more than ``tol``; ``InputError`` if no weights can have them all."""
    return run(HardMargin(problem, tol), tol, max_iter, "all", rng, on_epoch)


class HardMargin(CuttingPlane):
    """Working sets whose constraints must all hold."""

    def __init__(self, problem: Problem, tol: float) -> None:
        super().__init__(problem, np.inf, tol)

    def primal(self, converged: bool) -> float:
        """Infinite as long as a margin is missing: there is no slack to count."""
        return 0.5 * float(self.w @ self.w) if converged else np.inf

    def _block_gap(self, *_) -> float:
        return 0.0  # all sets are optimised at the end of a pass

    def _maximise(self, gram: np.ndarray, linear: np.ndarray, groups: np.ndarray, examples: list[int]) -> np.ndarray:
        u = shortest(gram, linear)
        s = float(u @ gram @ u)
        if s <= NOTHING * float(u @ (u * gram.diagonal())):
            apart = sorted({examples[g] for g in groups[contradiction(gram, linear)]})
            shown = ", ".join(map(str, apart[:SHOWN])) + (f" and {len(apart) - SHOWN} more" * (len(apart) > SHOWN))
            raise InputError(
                "C is inf, but no weights keep the margins of all labeled outputs: those of the labeled examples "
                f"{shown} contradict each other. Take a finite C, or features in which they differ"
            )
        return polished(gram, linear, u / s)


def shortest(gram: np.ndarray, linear: np.ndarray) -> np.ndarray:
    """Weights ``u >= 0``, ``linear'u = 1``, of the shortest sum of vectors, whose products are ``gram``."""
    # vectors of length 1, as far as they have one: constraints differ much in size, and the solver likes them alike
    size = np.sqrt(np.maximum(gram.diagonal(), 1e-300))
    solver = piqp.DenseSolver()
    solver.settings.eps_abs, solver.settings.eps_rel, solver.settings.max_iter = 1e-12, 1e-12, 500
    top = float(np.max(linear / size))
    solver.setup(
        gram / np.outer(size, size), np.zeros(size.size), (linear / size / top)[None], np.ones(1),
        None, None, None, np.zeros(size.size), None,
    )  # fmt: skip
    solver.solve()
    u = np.maximum(np.asarray(solver.result.x), 0.0) / size
    return u / float(linear @ u)


def contradiction(gram: np.ndarray, linear: np.ndarray) -> np.ndarray:
    """Few constraints, by number, that cannot hold together: as :func:`shortest`, by an active set."""
    size = np.sqrt(np.maximum(gram.diagonal(), 1e-300))
    values, vectors = np.linalg.eigh(gram / np.outer(size, size))
    factor = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    top = float(np.max(linear / size))
    u = nnls(np.vstack([factor, linear / size / top]), np.append(np.zeros(size.size), 1.0))[0]
    return np.flatnonzero(u > SMALL * u.max())


def polished(gram: np.ndarray, linear: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """The same, exactly: constraints in use hold with equality. What does not get better stays as it was."""
    alpha = np.where(alpha > SMALL * alpha.max(), alpha, 0.0)
    used = np.flatnonzero(alpha)
    exact = np.zeros_like(alpha)
    exact[used] = np.linalg.lstsq(gram[np.ix_(used, used)], linear[used], rcond=1e-12)[0]
    worst = [float(np.max(linear - gram @ a)) for a in (alpha, exact)]
    return exact if exact.min() >= 0.0 and worst[1] <= worst[0] else alpha
