"""Conditional random fields [thesis 3.1.2]: log-linear models of p(y | x)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from accord import memory
from accord.forms import optional
from accord.learners.base import ProbabilisticLearner
from accord.learners.online import OnlineLearner
from accord.packed.problem import Problem
from accord.packed.rows import Rows
from accord.packed.structure import Structure
from accord.settings import NOT_NEGATIVE, POSITIVE, Expected, either, generator, one_of, whole
from accord.solvers import gradient
from accord.views.base import View
from accord.views.tied import tie


@dataclass(eq=False, repr=False)
class CRF(ProbabilisticLearner, OnlineLearner):
    """Log-linear model with L2 regularisation: ``min |w|^2 / 2 - C sum_i log p(y_i | x_i)``.

    With ``sample_weight`` in ``fit``, each term of the sum is multiplied by the weight of its example.

    On classes it is multinomial logistic regression, on a taxonomy its hierarchical form. Labels inside a sequence may
    be hidden (``Y[i][t] is None``): ``p`` is then the summed probability of all outputs that have the given labels, and
    the optimum a local one.

    Parameters
    ----------
    structure : Structure
        What is predicted.
    view : View, optional
        Features; default: the view that fits the look of X.
    C : float
        Weight of the likelihood (CRFsuite's ``c2`` is ``1 / (2 C)``).
    solver : "lbfgs" or "sgd"
        All examples at a time, or one at a time.
    tol : float
        L-BFGS: stop when a step lowers the objective by less than this fraction.
    max_iter : int
        Iterations of L-BFGS or passes of SGD at most.
    learning_rate : float or "auto"
        First step size of SGD; "auto" tries powers of two on a sample.
    decode : "auto", "viterbi" or "marginal"
        What is predicted: the most probable output, or the one whose parts are most probable, within the constraints.
        "auto" goes by the loss of the structure.
    random_state, n_jobs, verbose : as everywhere

    Attributes
    ----------
    weights_ : Weights
    objective_ : float
        Value of the minimised function (L-BFGS).
    history_ : list of float
        Objective after each iteration (L-BFGS), or mean loss of each pass (SGD).
    n_seen_, n_updates_ : int, float
        Number of examples in all batches, and of steps of SGD.

    Examples
    --------
    >>> from accord import CRF, Sequence
    >>> X, Y = [["Ana", "left"], ["Tom", "slept"]], [["PER", "O"], ["PER", "O"]]
    >>> crf = CRF(Sequence()).fit(X, Y)
    >>> crf.predict_marginals([["Ana", "slept"]])[0].shape
    (2, 2)
    """

    structure: Structure
    view: View | None = None
    C: float = 10.0
    solver: str = "lbfgs"
    tol: float = 1e-5
    max_iter: int = 200
    learning_rate: Any = "auto"
    decode: str = "auto"
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    expects: ClassVar = {"solver": one_of("lbfgs", "sgd"), "learning_rate": either(POSITIVE, "auto")}
    stored: ClassVar = {
        "n_updates_": Expected("a number from 0 to 1e15", lambda n: NOT_NEGATIVE.accepts(n) and n <= 1e15),
        "n_seen_": whole(0, 10**15),
        "learning_rate_": optional(POSITIVE),
    }

    def _learn(self, rows: Rows, y: np.ndarray) -> CRF:
        tied = tie(rows)
        remembered = 0
        if self.solver == "lbfgs":
            remembered = self._remembered(tied.rows, rows.n_dims)
        else:
            self._foresee(self._tables(tied.rows, 4, 4, rows.n_dims), "a StructuredPerceptron")
        problem = self._problem(tied.rows, y)
        with self._progress(self.max_iter, f"CRF ({self.solver})") as progress:
            if self.solver == "lbfgs":
                self._fit_lbfgs(problem, remembered, lambda info: progress.advance(info=info))
            else:
                self.weights_ = problem.zero_weights()
                self._rng, self.n_seen_ = generator(self.random_state), problem.n_examples
                decay = 1.0 / (float(self.C) * problem.n_examples)
                self.n_updates_, self.history_ = gradient.stochastic(
                    problem, self.weights_, decay, self._rate(problem, decay), self.max_iter, self._rng, 0.0,
                    lambda info: progress.advance(info=info),
                )  # fmt: skip
                self.n_iter_ = len(self.history_)
        self.weights_ = self._untied(tied, self.weights_)
        return self

    def _remembered(self, merged: Rows, n_dims: int) -> int:
        """How many steps L-BFGS remembers: fewer, where there is no room for more."""
        for n in range(gradient.MEMORY, 0, -1):
            tables = self._tables(merged, 6 + 2 * n, 8, n_dims)
            if memory.fits(tables):
                break
        self._foresee(tables, 'solver="sgd"', "a StructuredPerceptron")
        if n < gradient.MEMORY:
            warnings.warn(
                f"memory is short: L-BFGS remembers {n} steps instead of {gradient.MEMORY}, which may take more "
                "iterations",
                stacklevel=5,
            )
        return n

    def _fit_lbfgs(self, problem: Problem, remembered: int, report: Any) -> None:
        found = gradient.lbfgs(
            problem, problem.zero_weights(), float(self.C), self.tol, self.max_iter, report, remembered
        )
        self.weights_ = found.weights
        self.objective_, self.n_iter_, self.history_ = found.objective, found.n_iter, found.history
        self.converged_ = found.converged
        self.n_updates_, self.n_seen_ = 0.0, problem.n_examples
        if not found.converged:
            warnings.warn(
                f"L-BFGS stopped early ({found.message}); raise max_iter or tol", ConvergenceWarning, stacklevel=4
            )

    def _rate(self, problem: Problem, decay: float) -> float:
        if self.learning_rate != "auto":
            return float(self.learning_rate)
        if getattr(self, "learning_rate_", None) is None:
            self.learning_rate_ = gradient.calibrate_rate(problem, self.weights_, decay, self._rng)
        return self.learning_rate_

    def _continue(self, problem: Problem) -> None:
        self._foresee(self._tables(problem.rows, 3, 4))
        if not hasattr(self, "weights_"):
            self.weights_, self.n_updates_, self.n_seen_ = problem.zero_weights(), 0.0, 0
        if not hasattr(self, "_rng"):  # the first batch, or the first after loading
            self._rng = generator(self.random_state)
        self.n_seen_ += problem.n_examples
        decay = 1.0 / (float(self.C) * self.n_seen_)
        self.n_updates_, self.history_ = gradient.stochastic(
            problem, self.weights_, decay, self._rate(problem, decay), 1, self._rng, self.n_updates_
        )
