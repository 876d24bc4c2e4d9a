"""The transductive support vector machine [thesis 7.2, OP 7.4, Table 7.1]: :class:`TransductiveSVM`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from accord.forms import array
from accord.learners.gradient import GradientSVM
from accord.learners.inputs import numbers
from accord.learners.safety import MAX_UNLABELED, Candidate, choose
from accord.learners.smooth_machines import as_before_if_refused, one_blas_thread, warn_of_end
from accord.packed.rows import Rows, join_inputs, ragged_rows
from accord.packed.structure import Structure
from accord.settings import generator
from accord.views.base import View

# What "auto" tries for unlabeled_weight, next to the supervised learner.
UNLABELED_WEIGHTS = (0.1, 1.0)


class TransductiveSVM(GradientSVM):
    """Large-margin learner that keeps its boundary away from unlabeled examples (∇TSVM).

    ``min |w|^2 + C (sum_labeled xi_i + unlabeled_weight sum_unlabeled xi_j)``: labeled examples as in
    :class:`GradientSVM`; the slack of an unlabeled one is the symmetric loss of the margin between the output that is
    predicted for it and others, which vanishes when it is far from the boundary on either side. The papers' C_u is
    ``C * unlabeled_weight``. Not convex: the result depends on where the labels alone lead, and helps when classes are
    clusters with gaps between them. Without unlabeled examples, or with weight 0, it is :class:`GradientSVM`.

    Parameters
    ----------
    structure, view, C, epsilon, rho, rescaling, max_outputs, solver, tol, max_iter, warm_start :
        as for GradientSVM
    unlabeled_weight : float or "auto"
        How much an unlabeled example counts relative to a labeled one. "auto" tries 0, 0.1 and 1 on held-out labeled
        folds with the unlabeled examples present, and takes what helps.
    tau : float
        Half the width of the falling part of the unlabeled examples' loss (at most the loss of the wrong output).
    balance : bool
        Label scores are shifted so that their mean over unlabeled rows is the frequency of the label among labeled
        rows minus that of all labels alike. Helps when the labeled examples are a fair sample.
    ramp : int
        Rounds in which the unlabeled weight rises exponentially to its value, after the labels alone have been learned.
    random_state, n_jobs, verbose : as everywhere

    Attributes
    ----------
    weights_, objective_, n_constraints_, n_incomplete_, n_iter_, converged_, interrupted_, history_, solver_ :
        as for GradientSVM
    bias_ : ndarray of shape (n_labels,)
        Constants added to label scores (0 without ``balance``).
    unlabeled_weight_ : float
    transduction_ : list
        Outputs predicted for the unlabeled training examples.
    auto_report_ : list of dict or None
        What "auto" tried, the errors on each fold, and why it chose.

    Examples
    --------
    >>> from accord import MultiClass, TransductiveSVM
    >>> X = [[-1.0], [1.2], [-2.0], [-2.2], [2.0], [2.2]]
    >>> model = TransductiveSVM(MultiClass(), unlabeled_weight=0.5).fit(X, ["a", "b", None, None, None, None])
    >>> model.transduction_
    ['a', 'a', 'b', 'b']
    """

    bias_: np.ndarray
    stored: ClassVar = {"bias_": array("f8", "structure.n_columns")}

    def __init__(
        self,
        structure: Structure,
        view: View | None = None,
        C: float = 1.0,
        unlabeled_weight: Any = "auto",
        epsilon: float = 0.3,
        tau: float = 0.4,
        rho: float = 10.0,
        balance: bool = False,
        ramp: int = 10,
        rescaling: str = "margin",
        max_outputs: int = 12_000,
        solver: str = "auto",
        tol: float = 1e-3,
        max_iter: int = 1000,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            structure, view, C, epsilon, rho, rescaling, max_outputs,
            solver, tol, max_iter, warm_start, random_state, n_jobs,
        )  # fmt: skip
        self.unlabeled_weight = unlabeled_weight
        self.tau = tau
        self.balance = balance
        self.ramp = ramp
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TransductiveSVM:
        """Train on labeled and unlabeled examples (``y[i] is None``).

        The slack of an example, labeled or not, counts ``sample_weight[i]`` times.
        """
        self._check_params()
        rng = generator(self.random_state)
        with as_before_if_refused(self), one_blas_thread():
            labeled, known, unlabeled = self._prepare(X, y, sample_weight)
            self.__dict__.pop("weights_", None)  # of an earlier fit, if this one is broken off
            rows = join_inputs(labeled, unlabeled)
            places = np.concatenate(numbers(X, y, sample_weight, self.structure))  # of the rows' inputs in X
            weight = self.unlabeled_weight
            self.auto_report_: list[dict[str, Any]] | None = None
            if weight == "auto":
                weight = self._choose(rows, known, labeled.n_inputs, places, rng)
            self.unlabeled_weight_ = float(weight)
            training, self.bias_ = self._solve(rows, known, labeled.n_inputs, self.unlabeled_weight_, rng, show=True)
        warn_of_end(training, self.max_iter, stacklevel=3)
        found = self._decode(rows, np.arange(labeled.n_inputs, rows.n_inputs), places)
        self.transduction_ = self.structure_.outputs(found, unlabeled.offsets, unlabeled.tokens)
        return self

    def _choose(self, rows: Rows, y: np.ndarray, n_labeled: int, places: np.ndarray, rng: np.random.Generator) -> float:
        """The unlabeled weight that pays on held-out labeled folds."""
        weights = UNLABELED_WEIGHTS if rows.n_inputs > n_labeled else ()
        candidates = [Candidate("labels alone", 0.0, [rows])]
        candidates += [Candidate("transductive", weight, [rows]) for weight in weights]
        seed = int(rng.integers(2**31))

        def errors(candidate: Candidate, used: np.ndarray, held_out: np.ndarray) -> tuple[int, int]:
            labels = y[ragged_rows(rows.offsets, used[used < n_labeled])]
            n = int(np.sum(used < n_labeled))
            training, self.bias_ = self._solve(rows.take(used), labels, n, candidate.weight, generator(seed), False)
            if training.interrupted:  # nothing has been chosen yet, so there is no model to return
                self.__dict__.pop("weights_", None)
                raise KeyboardInterrupt
            truth = y[ragged_rows(rows.offsets, held_out)]
            found = self._decode(rows, held_out, places)
            return self.structure_.count_errors(truth, found, rows.take(held_out).offsets)

        classes = self.structure_.strata(y)
        chosen, self.auto_report_ = choose(
            candidates, errors, n_labeled, rows.n_inputs, classes, rng, progress=self._progress
        )
        # Candidates were compared with a part of the unlabeled examples; all of them get no more say than that part.
        return chosen.weight * min(1.0, MAX_UNLABELED / max(rows.n_inputs - n_labeled, 1))

    def _label_scores(self, rows: Rows) -> np.ndarray:
        return super()._label_scores(rows) + self.bias_

    def _decode(self, rows: Rows, numbers: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Best outputs of some of the training inputs, as numbers."""
        rows = rows.take(numbers)
        scores = self._label_scores(replace(rows, shared=False))
        return self.structure_.best_outputs(rows, scores, self.weights_.transitions, first=places[numbers])
