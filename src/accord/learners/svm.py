"""Structural support vector machines [thesis OP 6.1-6.4; svm_interdependent.txt Alg. 1.1]."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from accord.exceptions import InputError
from accord.learners.base import StructuredLearner
from accord.learners.inputs import is_unlabeled
from accord.learners.randomness import generator
from accord.solvers import cutting_plane, frank_wolfe
from accord.structures.base import Structure
from accord.views.base import View
from accord.views.tied import tie

SOLVERS = ("cutting-plane", "frank-wolfe")


class StructuredSVM(StructuredLearner):
    """Large-margin learner: ``min |w|^2 / 2 + (C / norm) sum_i xi_i^norm``.

    Margin rescaling asks for ``score(y) >= score(y') + loss(y, y') - xi``; slack rescaling for
    ``score(y) >= score(y') + 1 - xi / loss(y, y')``. With ``norm=2`` the root of the loss takes its place. C is not
    divided by the number of examples (the Tsochantaridis et al. chapter does divide: its C is ours times n).

    Parameters
    ----------
    structure : Structure
        What is predicted, and with which loss.
    view : View, optional
        Features; default: the view that fits the look of X.
    C : float
        Weight of the slacks.
    norm : 1 or 2
        Power of the slacks.
    rescaling : "margin" or "slack"
    solver : "cutting-plane" or "frank-wolfe"
        Both reach the same optimum. Cutting planes name their support outputs; Frank-Wolfe is faster on large data.
    reoptimize : "example" or "all"
        Cutting planes: optimise over the working set of one example at a time, or over all at the end of a pass.
    tol : float
        Cutting planes: largest violation left beyond the slack (the papers' epsilon, in units of the loss), which
        bounds the duality gap by ``C * tol`` per example. Frank-Wolfe: duality gap as a fraction of the objective.
    max_iter : int
        Passes over the data at most.
    random_state, n_jobs, verbose : as everywhere

    Attributes
    ----------
    weights_ : Weights
    objective_, dual_objective_, duality_gap_ : float
        Certificates at the end. With a loss whose decoder is not exact (``exact_`` is False) they hold only with
        respect to the outputs it finds.
    n_constraints_ : int
        Constraints with a non-zero dual variable (cutting planes), or examples with one (Frank-Wolfe).
    n_iter_, converged_, exact_ : int, bool, bool

    Examples
    --------
    >>> from accord import ArrayFeatures, MultiClass, StructuredSVM
    >>> svm = StructuredSVM(MultiClass(), view=ArrayFeatures(), C=1.0, tol=1e-4)
    >>> svm.fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"]).predict([[0.0, 2.0]])
    ['a']
    """

    def __init__(
        self,
        structure: Structure,
        view: View | None = None,
        C: float = 1.0,
        norm: int = 1,
        rescaling: str = "margin",
        solver: str = "cutting-plane",
        reoptimize: str = "example",
        tol: float = 0.01,
        max_iter: int = 1000,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.structure = structure
        self.view = view
        self.C = C
        self.norm = norm
        self.rescaling = rescaling
        self.solver = solver
        self.reoptimize = reoptimize
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_params(self) -> None:
        for name, value, allowed in (
            ("norm", self.norm, (1, 2)),
            ("rescaling", self.rescaling, ("margin", "slack")),
            ("solver", self.solver, SOLVERS),
            ("reoptimize", self.reoptimize, ("example", "all")),
        ):
            if value not in allowed:
                raise InputError(f"{name} is {value!r}; expected one of {allowed}")
        if not (self.C > 0 and np.isfinite(self.C)):
            raise InputError(f"C is {self.C!r}; expected a positive number")
        if not self.tol > 0:
            raise InputError(f"tol is {self.tol!r}; expected a positive number")

    def fit(self, X: Any, Y: Any) -> StructuredSVM:
        """Train on labeled examples; unlabeled ones (``Y[i] is None``) only extend the feature space."""
        self._check_params()
        rows, y, _ = self._prepare(X, Y)
        tied = tie(rows)
        problem = self._problem(tied.rows, y, rescaling=self.rescaling, norm=self.norm)
        rng = generator(self.random_state)
        with self._progress(self.max_iter, self.solver) as progress:
            report = lambda info: progress.advance(info=info)  # noqa: E731
            if self.solver == "cutting-plane":
                result = cutting_plane.train(problem, self.C, self.tol, self.max_iter, self.reoptimize, rng, report)
            else:
                result = frank_wolfe.train(problem, self.C, self.tol, self.max_iter, rng, report)
        self.weights_ = self._untied(tied, result.weights)
        self.objective_, self.dual_objective_, self.duality_gap_ = result.primal, result.dual, result.gap
        self.n_iter_, self.converged_ = result.n_iter, result.converged
        self.n_constraints_, self.n_constraints_added_ = result.n_constraints, result.n_added
        self.exact_ = self.structure_.exact(self.rescaling, self.norm)
        self.history_ = result.history
        self._keep_support(result, np.flatnonzero([not is_unlabeled(y) for y in Y]))
        if not result.converged:
            warnings.warn(
                f"{self.solver} stopped after max_iter={self.max_iter} passes with a duality gap of {result.gap:.3g} "
                f"(objective {result.primal:.3g}); raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _keep_support(self, result: cutting_plane.SVMResult, index: np.ndarray) -> None:
        self.support_ = None
        if result.working_sets is None:
            return
        support = [(index[i], c) for i, s in enumerate(result.working_sets) for c in s]
        lengths = np.array([c.output.size for _, c in support], np.int64)
        self.support_ = {
            "example": np.array([i for i, _ in support], np.int64),
            "offsets": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            "labels": np.concatenate([c.output for _, c in support] or [np.empty(0, np.int32)]),
            "alpha": np.array([c.alpha for _, c in support]),
        }

    def support_outputs(self) -> list[tuple[int, Any, float]]:
        """The outputs that hold up the margin: (example, wrong output, dual variable), strongest first."""
        if self.support_ is None:
            raise InputError('support outputs are named by solver="cutting-plane" only; fit with it')
        s = self.support_
        outputs = self.structure_.outputs(s["labels"], s["offsets"])
        found = list(zip(s["example"].tolist(), outputs, s["alpha"].tolist()))
        return sorted(found, key=lambda f: (-f[2], f[0]))
