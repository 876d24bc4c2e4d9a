"""Structural SVMs that look for violated constraints in other ways: which of them adds as many as the papers did?"""

from __future__ import annotations

import copy
from typing import Any, cast

import numpy as np

from accord.learners.svm import StructuredSVM
from accord.packed.problem import Problem, Sparse
from accord.packed.rescaling import RESCALINGS
from accord.packed.weights import Weights
from accord.solvers.cutting_plane import SVMResult
from accord.structures.chains.losses import zero_one
from accord.structures.chains.problem import ChainProblem


class FixedOrder(StructuredSVM):
    """Visits examples in the order in which they come, as Algorithm 1.1 is printed."""

    def _solve(self, problem: Problem, rng: Any, title: str) -> SVMResult:
        return super()._solve(problem, None, title)  # type: ignore[arg-type]


class ByScore(StructuredSVM):
    """Looks for the wrong output that scores best, whatever it costs, and counts its loss only then (2-best decoding).

    What violates most is another output if the loss is large elsewhere, so the optimum is missed.
    """

    def _solve(self, problem: Problem, rng: Any, title: str) -> SVMResult:
        search: Any = copy.copy(problem)
        search.structure = copy.copy(problem.structure)
        search.structure.loss_ = zero_one(problem.structure.n_labels_)
        search.rescaling, search.norm = RESCALINGS["margin"], 1
        return super()._solve(_OtherSearch(cast(ChainProblem, problem), search, by_score=True), rng, title)


class WithoutRoot(StructuredSVM):
    """Takes the loss itself, not its root, though slacks are squared."""

    def _solve(self, problem: Problem, rng: Any, title: str) -> SVMResult:
        search: Any = copy.copy(problem)
        search.norm = 1
        return super()._solve(_OtherSearch(cast(ChainProblem, problem), search), rng, title)


class _OtherSearch:
    """A problem whose violated constraints are found in another one with the same examples."""

    def __init__(self, problem: ChainProblem, search: ChainProblem, by_score: bool = False) -> None:
        self.problem, self.search, self.by_score = problem, search, by_score

    def __getattr__(self, name: str) -> Any:
        return getattr(self.problem, name)

    def violator(self, i: int, weights: Weights, chain: Any) -> tuple[float, float, np.ndarray]:
        violation, offset, found = self.search.violator(i, weights, chain)
        if not self.by_score:
            return violation, offset, found
        problem, margin = self.problem, 1.0 - violation  # of losses that are 1
        true = problem.y[problem.offsets[i] : problem.offsets[i + 1]]
        root = float(problem.structure.loss_between(true, found) ** (1.0 / problem.norm))
        scale = root if problem.rescaling == RESCALINGS["slack"] else 1.0
        return root - scale * margin, root, found

    def constraint(self, i: int, found: np.ndarray, offset: float, work: np.ndarray) -> Sparse:
        return self.problem.constraint(i, found, offset, work)
