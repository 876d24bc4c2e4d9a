"""Structural support vector machines [thesis OP 6.1-6.4; svm_interdependent.txt Alg. 1.1]."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from accord.exceptions import InputError
from accord.learners.base import StructuredLearner
from accord.learners.inputs import numbers
from accord.packed.problem import Problem
from accord.packed.rows import Rows
from accord.packed.structure import Structure
from accord.settings import SHARED, Expected, generator, is_real, one_of
from accord.solvers import cutting_plane, frank_wolfe, hard_margin, perceptron
from accord.views.base import View
from accord.views.tied import tie

# With hidden labels: passes of the perceptron that guesses them first, and how often the machine guesses them again.
FIRST_PASSES = 5
MAX_ROUNDS = 5


def first_guess(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    """Label numbers with hidden ones filled in by the averaged perceptron."""
    state = perceptron.start(problem.zero_weights(), averaged=True)
    return problem.impute(perceptron.train(problem, state, FIRST_PASSES, True, rng).average(last=True))


@dataclass(eq=False, repr=False)
class StructuredSVM(StructuredLearner):
    """Large-margin learner: ``min |w|^2 / 2 + (C / norm) sum_i xi_i^norm``.

    Margin rescaling asks for ``score(y) >= score(y') + loss(y, y') - xi``; slack rescaling for
    ``score(y) >= score(y') + 1 - xi / loss(y, y')``. With ``norm=2`` the root of the loss takes its place. C is not
    divided by the number of examples (the Tsochantaridis et al. chapter does divide: its C is ours times n).

    Labels inside a sequence may be hidden (``Y[i][t] is None``). They are guessed, by decoding with the others forced,
    first by a perceptron; then in rounds, at most five, the machine is trained with the guesses in place of labels, the
    loss included, and guesses again, until nothing changes.

    Parameters
    ----------
    structure : Structure
        What is predicted, and with which loss.
    view : View, optional
        Features; default: the view that fits the look of X.
    C : float
        Weight of the slacks. ``inf``: hard margins, without any slack (cutting planes only); an error if no weights can
        have them. Margins are then kept up to ``tol``, and the objective is ``|w|^2 / 2``.
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
    history_ : list of dict
        What the solver reported. With hidden labels every entry has the number of its round, and one after each round
        says how many labels were then guessed anew ("changed"); the other attributes are those of the last round.

    Examples
    --------
    >>> from accord import ArrayFeatures, MultiClass, StructuredSVM
    >>> svm = StructuredSVM(MultiClass(), view=ArrayFeatures(), C=1.0, tol=1e-4)
    >>> print(svm.fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"]).predict([[0.0, 2.0]]))
    ['a']
    """

    structure: Structure
    view: View | None = None
    C: float = 1.0
    norm: int = 1
    rescaling: str = "margin"
    solver: str = "cutting-plane"
    reoptimize: str = "example"
    tol: float = 0.01
    max_iter: int = 1000
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    expects: ClassVar = {
        "C": Expected(
            "a positive number, at most 1e15, or inf",
            lambda value: SHARED["C"].accepts(value) or (is_real(value) and bool(value == np.inf)),
        ),
        "solver": one_of("cutting-plane", "frank-wolfe"),
        "reoptimize": one_of("example", "all"),
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> StructuredSVM:
        """Train on labeled examples; unlabeled ones (``y[i] is None``) only extend the feature space.

        The slack of an example counts ``sample_weight[i]`` times: its C is ``C * sample_weight[i]``.
        """
        self._check_params()
        if self.C == np.inf and self.solver != "cutting-plane":
            raise InputError(f'C is inf, which solver="cutting-plane" can do; {self.solver!r} takes a finite C')
        rows, known, _ = self._prepare(X, y, sample_weight)
        self._learn(rows, known)
        if self.support_ is not None:
            self.support_["example"] = numbers(X, y, sample_weight, self.structure)[0][self.support_["example"]]
        return self

    def _learn(self, rows: Rows, y: np.ndarray) -> StructuredSVM:
        tied = tie(rows)
        self._foresee_solver(tied.rows, rows.n_dims)
        problem = self._problem(tied.rows, y, rescaling=self.rescaling, norm=self.norm)
        rng = generator(self.random_state)
        if problem.partial.any():
            result = self._solve_in_rounds(problem, first_guess(self._problem(rows, y), rng), rng)
        else:
            result = self._solve(problem, rng, self.solver)
        self.weights_ = self._untied(tied, result.weights)
        self.objective_, self.dual_objective_, self.duality_gap_ = result.primal, result.dual, result.gap
        self.n_iter_, self.converged_ = result.n_iter, result.converged
        self.n_constraints_, self.n_constraints_added_ = result.n_constraints, result.n_added
        self.exact_ = self.structure_.exact(self.rescaling, self.norm)
        self.history_ = result.history
        self._keep_support(result, rows)
        if not result.converged:
            warnings.warn(
                f"{self.solver} stopped after max_iter={self.max_iter} passes with a duality gap of {result.gap:.3g} "
                f"(objective {result.primal:.3g}); raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def _foresee_solver(self, merged: Rows, n_dims: int) -> None:
        s, n, tables = self.structure_, merged.n_inputs, self._tables(merged, 3, 3, n_dims)
        if self.solver == "cutting-plane":
            self._foresee(tables, "a StructuredPerceptron")
            return
        tables |= {
            f"dual variables of {merged.n_rows:,} rows x {s.n_columns_:,} labels": 8.0 * merged.n_rows * s.n_columns_,
            f"dual variables of {n:,} examples x {s.n_transitions_:,} transitions": 8.0 * n * s.n_transitions_,
        }
        self._foresee(tables, 'solver="cutting-plane"')

    def _solve(self, problem: Problem, rng: np.random.Generator, title: str) -> cutting_plane.SVMResult:
        C, tol = float(self.C), float(self.tol)
        with self._progress(self.max_iter, title) as progress:
            report = lambda info: progress.advance(info=info)  # noqa: E731
            if C == np.inf:
                return hard_margin.train(problem, tol, self.max_iter, rng, report)
            if self.solver == "cutting-plane":
                return cutting_plane.train(problem, C, tol, self.max_iter, self.reoptimize, rng, report)
            return frank_wolfe.train(problem, C, tol, self.max_iter, rng, report)

    def _solve_in_rounds(
        self, problem: Problem, guess: np.ndarray, rng: np.random.Generator
    ) -> cutting_plane.SVMResult:
        """Train with the guessed labels and guess again, until nothing changes (concave-convex procedure)."""
        history: list[dict[str, float]] = []
        for number in range(1, MAX_ROUNDS + 1):
            result = self._solve(problem.relabeled(guess), rng, f"{self.solver}, round {number}")
            before, guess = guess, problem.impute(result.weights)
            changed = int(np.count_nonzero(guess != before))
            history += [{"round": number, **entry} for entry in result.history]
            history.append({"round": number, "changed": changed})
            if not changed:
                break
        result.history = history
        return result

    def _keep_support(self, result: cutting_plane.SVMResult, rows: Rows) -> None:
        self.support_: dict[str, Any] | None = None
        if result.working_sets is None:
            return
        support = [(i, c) for i, s in enumerate(result.working_sets) for c in s]
        lengths = np.array([len(c.output) for _, c in support], np.int64)
        self.support_ = {
            "example": np.array([i for i, _ in support], np.int64),
            "offsets": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            "labels": np.concatenate([c.output for _, c in support] or [self.structure_.hidden(0)]),
            "alpha": np.array([c.alpha for _, c in support]),
            "tokens": None,
        }
        if rows.tokens is not None:
            self.support_["tokens"] = rows.take(self.support_["example"]).tokens.tolist()

    def support_outputs(self) -> list[tuple[int, Any, float]]:
        """The outputs that hold up the margin: (example, wrong output, dual variable), strongest first.

        >>> from accord import MultiClass, StructuredSVM
        >>> model = StructuredSVM(MultiClass()).fit([[0.0], [1.0]], ["low", "high"])
        >>> [(example, wrong) for example, wrong, _ in model.support_outputs()]
        [(0, 'high'), (1, 'low')]
        """
        if self.support_ is None:
            raise InputError('support outputs are named by solver="cutting-plane" only; fit with it')
        s = self.support_
        outputs = self.structure_.outputs(s["labels"], s["offsets"], s["tokens"])
        found = list(zip(s["example"].tolist(), outputs, s["alpha"].tolist()))
        return sorted(found, key=lambda f: (-f[2], f[0]))
