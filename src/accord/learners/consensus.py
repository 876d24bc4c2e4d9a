"""Consensus learning: few errors on labeled examples, little disagreement of the views on unlabeled ones [thesis 2.2].

:class:`CoPerceptron` [5.3, Table 5.2] and :class:`CoSVM` [6.3, OP 6.5-6.7, Table 6.2].
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from accord.learners.inputs import unlabeled_inputs
from accord.learners.multiview import MultiViewLearner, sum_weights
from accord.learners.safety import MAX_UNLABELED, Candidate, choose
from accord.packed.rows import Rows, join_inputs, ragged_rows
from accord.packed.structure import Structure
from accord.packed.weights import Weights
from accord.settings import generator
from accord.solvers import co_perceptron, co_svm

# What "auto" tries for unlabeled_weight, on top of the supervised learner with one view.
UNLABELED_WEIGHTS = (0.0, 0.1, 1.0)


class ConsensusLearner(MultiViewLearner):
    """Base of the co-learners: packs all inputs once, chooses the unlabeled weight, trains, sums the views."""

    unlabeled_weight: Any
    max_iter: int
    ramp: int
    random_state: Any
    n_iter_: int
    interrupted_: bool
    history_: list[dict[str, float]]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Train on labeled and unlabeled examples (``y[i] is None``; within a sequence, ``None`` for single tokens).

        ``sample_weight[i]`` says how much an example counts, labeled or not: how often its slacks do in every view
        (CoSVM), or how long a step is that it causes (CoPerceptron).
        """
        self._check_params()
        labeled, known, unlabeled = self._prepare(X, y, sample_weight)
        for name in ("weights_", "view_weights_"):  # of an earlier fit, if this one is broken off
            self.__dict__.pop(name, None)
        rng = generator(self.random_state)
        rows = join_inputs(labeled, unlabeled)
        known = np.concatenate([known, self.structure_.hidden(unlabeled.n_rows)])
        channels = self._channels(rows, known, rng)
        self.auto_report_: list[dict[str, Any]] | None = None
        weight = self.unlabeled_weight
        if weight == "auto":
            weight, channels = self._choose(rows, channels, known, labeled.n_inputs, rng)
            if len(channels) < len(self.view_names_):
                self.view_names_ = ["view"]
        elif not unlabeled.n_inputs and weight > 0 and not self.structure_.is_hidden(known).any():
            warnings.warn("Y has no unlabeled example (None): the views learn from labels alone", stacklevel=2)
        self.unlabeled_weight_ = float(weight)
        weights = self._train(channels, known, self.unlabeled_weight_, rng, True)
        if self.interrupted_:
            warnings.warn(
                f"interrupted after {self.n_iter_} passes: the model is what was learned so far", stacklevel=2
            )
        self._keep(weights)
        self.transduction_ = self._transduce(unlabeled, X, y)
        return self

    def _train(
        self, channels: list[Rows], y: np.ndarray, weight: float, rng: np.random.Generator, show: bool
    ) -> list[Weights]:
        """The weights of each view; ``interrupted_``: Ctrl-C ended it early. ``history_`` has an entry per pass.

        ``show``: this is the fit that was asked for, not one of those that "auto" compares.
        """
        raise NotImplementedError

    def _choose(
        self, rows: Rows, channels: list[Rows], y: np.ndarray, n_labeled: int, rng: np.random.Generator
    ) -> tuple[float, list[Rows]]:
        """The unlabeled weight that pays on held-out labeled folds; else the supervised learner on all features."""
        candidates = [Candidate("one view", 0.0, [rows])]
        has_hidden = bool(self.structure_.is_hidden(y).any())
        for weight in UNLABELED_WEIGHTS if has_hidden else UNLABELED_WEIGHTS[:1]:
            if len(channels) > 1 or weight > 0:
                name = f"{len(channels)} views" if len(channels) > 1 else "one view"
                candidates.append(Candidate(name, weight, channels))

        def errors(candidate: Candidate, used: np.ndarray, held_out: np.ndarray) -> tuple[int, int]:
            parts = [c.take(used) for c in candidate.channels]
            labels = y[ragged_rows(rows.offsets, used)]
            weights = self._train(parts, labels, candidate.weight, generator(seed), False)
            if self.interrupted_:  # nothing has been chosen yet, so there is no model to return
                raise KeyboardInterrupt
            truth, kept = y[ragged_rows(rows.offsets, held_out)], rows.take(held_out)
            return self.structure_.count_errors(truth, self._decode_view(kept, sum_weights(weights), 0), kept.offsets)

        seed = int(rng.integers(2**31))
        classes = self.structure_.strata(y)
        chosen, self.auto_report_ = choose(
            candidates, errors, n_labeled, rows.n_inputs, classes, rng, progress=self._progress
        )
        # Candidates were compared with a part of the unlabeled examples; all of them get no more say than that part.
        n_unlabeled = rows.n_inputs - n_labeled
        return chosen.weight * min(1.0, MAX_UNLABELED / max(n_unlabeled, 1)), chosen.channels

    def _transduce(self, unlabeled: Rows, X: Any, Y: Any) -> list[Any]:
        if not unlabeled.n_inputs:
            return []
        found = self._decode_view(unlabeled, self.weights_, unlabeled_inputs(X, Y, self.structure))
        return self.structure_.outputs(found, unlabeled.offsets, unlabeled.tokens)


@dataclass(eq=False, repr=False)
class CoPerceptron(ConsensusLearner):
    """Perceptrons of several views that learn from labels and, on unlabeled examples, from each other.

    On an unlabeled example on which the views disagree, each view moves towards the outputs of its peers (all ordered
    pairs of views). With one view and no partial labels this is :class:`StructuredPerceptron`. As there,
    ``sample_weight`` scales the steps that an example causes.

    Parameters
    ----------
    structure : Structure
        What is predicted.
    views : view, list or dict of views, optional
        The views; default: ``RandomSplit`` of the view that fits the look of X.
    unlabeled_weight : float or "auto"
        Size of an update on an unlabeled example (C_u); that on a labeled one is 1. "auto" tries 0, 0.1 and 1 on
        held-out labeled folds with the unlabeled examples present, next to one view without unlabeled examples, and
        takes what helps.
    max_iter : int
        Passes over the data.
    averaged : bool
        Return the mean of all weight vectors (better on new data) or the last one.
    ramp : int
        The unlabeled weight rises exponentially and reaches its value at this pass; 0: at once.
    balance : bool
        Choose pseudo-outputs so that labels are about as frequent among them as among the labeled examples. Helps when
        few labels make a learner drift to the frequent ones, provided that the labeled examples are a fair sample.
    random_state, n_jobs, verbose : as everywhere

    Attributes
    ----------
    weights_, view_weights_ : Weights, list of Weights
        The sum of the views, and each of them.
    unlabeled_weight_ : float
    transduction_ : list
        Outputs predicted for the unlabeled training examples.
    n_iter_, interrupted_ : int, bool
        Passes, and whether Ctrl-C ended the last one: the model is what was learned until then.
    history_ : list of dict
        Wrong outputs and disagreement of each pass.
    auto_report_ : list of dict or None
        What "auto" tried, the errors on each fold, and why it chose.

    Examples
    --------
    >>> from accord import CoPerceptron, Sequence
    >>> X = [["Ana", "lives", "in", "Rome"], ["Tom", "left"], ["Ana", "left"]]
    >>> Y = [["PER", "O", "O", "LOC"], ["PER", "O"], None]
    >>> CoPerceptron(Sequence(), unlabeled_weight=0.1, random_state=0).fit(X, Y).transduction_
    [['PER', 'O']]
    """

    structure: Structure
    views: Any = None
    unlabeled_weight: Any = "auto"
    max_iter: int = 10
    averaged: bool = True
    ramp: int = 0
    balance: bool = False
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    def _train(
        self, channels: list[Rows], y: np.ndarray, weight: float, rng: np.random.Generator, show: bool
    ) -> list[Weights]:
        n = len(channels)
        self._foresee(self._tables(channels[0], (2 + 2 * self.averaged) * n, 2 * n), "a StructuredPerceptron")
        problem = self.structure_.consensus_problem(channels, y)
        with self._progress(self.max_iter if show else 0, "co-perceptron") as progress:
            result = co_perceptron.train(
                problem, weight, self.max_iter, self.averaged, self.ramp, self.balance, rng,
                lambda info: progress.advance(info=info),
            )  # fmt: skip
        self.history_, self.n_iter_, self.interrupted_ = result.history, len(result.history), result.interrupted
        return result.weights.copies()


@dataclass(eq=False, repr=False)
class CoSVM(ConsensusLearner):
    """Large-margin machines of several views that agree on unlabeled examples.

    View v minimises ``|w_v|^2 / 2 + (C / norm) (sum_labeled xi^norm + C_u sum_unlabeled min(gamma, 1) xi^norm)``; the
    target of an unlabeled example is the output its peer predicts, gamma the margin by which it does. With one view
    and nothing unlabeled this is :class:`StructuredSVM`; with one view and unlabeled examples it is self-training.

    Parameters
    ----------
    structure : Structure
        What is predicted, and with which loss.
    views : view, list or dict of views, optional
        The views; default: ``RandomSplit`` of the view that fits the look of X.
    C : float
        Weight of the slacks.
    norm : 1 or 2
        Power of the slacks.
    rescaling : "margin" or "slack"
    unlabeled_weight : float or "auto"
        Weight of the slacks of unlabeled examples relative to labeled ones (C_u); "auto" as in :class:`CoPerceptron`.
    max_repeats : int
        Decoding steps at most in one visit to an unlabeled example (the papers' r_max).
    ramp : int
        The unlabeled weight rises exponentially and reaches its value at this pass.
    balance : bool
        Label frequencies of pseudo-outputs are those of the labeled examples; see :class:`CoPerceptron`.
    tol : float
        Largest violation left beyond the slack.
    max_iter : int
        Passes over the data at most, and twice as many with frozen targets.
    freeze : bool
        With unlabeled examples, end with passes in which targets and gamma are frozen as they are by then, until the
        duality gap of every view is at most the fraction ``tol`` of its objective: the result is an optimum of the
        objective above. Without it, as while "auto" compares, the passes are those of the papers alone, and the gaps
        are bounds.
    against : "violator" or "prediction"
        What a view that disagrees with its peer learns to score below the peer's output: the output that violates the
        margin most, or, as the thesis prints it (Table 6.2, lines 12-16), what the view predicts itself. Frozen
        targets are always held against the most violating output.
    random_state, n_jobs, verbose : as everywhere

    Attributes
    ----------
    weights_, view_weights_, unlabeled_weight_, transduction_, history_, auto_report_ : as for CoPerceptron
    n_iter_, n_frozen_ : int
        Passes before targets were frozen, and after.
    view_gaps_ : list of float
        Duality gap of every view for the frozen targets, as a fraction of its objective; without frozen targets a bound
        of the gap for those of the end. Empty if nothing is unlabeled.
    converged_ : bool
        With unlabeled examples: before targets were frozen, a pass moved the weights by less than the fraction ``tol``,
        and the gaps are as small. Views may go on in circles; a warning then says so, with the gaps.

    Examples
    --------
    >>> from accord import ArrayFeatures, CoSVM, MultiClass
    >>> X = [[0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0], [0.0, 2.0, 0.1, 2.0]]
    >>> model = CoSVM(MultiClass(), unlabeled_weight=0.5, random_state=0).fit(X, ["a", "b", None])
    >>> model.transduction_
    ['a']
    """

    structure: Structure
    views: Any = None
    C: float = 1.0
    norm: int = 1
    rescaling: str = "margin"
    unlabeled_weight: Any = "auto"
    max_repeats: int = 10
    ramp: int = 10
    balance: bool = False
    tol: float = 0.01
    max_iter: int = 20
    freeze: bool = True
    against: str = "violator"
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    def _train(
        self, channels: list[Rows], y: np.ndarray, weight: float, rng: np.random.Generator, show: bool
    ) -> list[Weights]:
        margins: dict[str, Any] = {"rescaling": self.rescaling, "norm": self.norm}
        n = len(channels)
        self._foresee(self._tables(channels[0], 6 * n, 3 * n), "a CoPerceptron")
        problem = self.structure_.consensus_problem(channels, y, **margins)
        labeled = [self._problem(*problem.labeled_part(v), **margins) for v in range(len(channels))]
        hidden = (problem.unlabeled if weight > 0 else problem.partly_labeled).size > 0
        schedule = co_svm.Schedule(
            self.max_iter if hidden else 1000, self.max_repeats, self.ramp if weight > 0 else 0, self.balance,
            self.against == "prediction", self.freeze and show, show,
        )  # fmt: skip
        n_passes = schedule.max_iter * (1 + co_svm.FROZEN * (hidden and self.freeze))
        with self._progress(n_passes if show else 0, "co-SVM") as progress:
            result = co_svm.train(
                problem, labeled, float(self.C), weight, float(self.tol), schedule, rng,
                lambda info: progress.advance(info=info),
            )  # fmt: skip
        self.history_, self.n_iter_, self.interrupted_ = result.history, result.n_iter, result.interrupted
        self.n_frozen_, self.view_gaps_ = result.n_frozen, result.gaps
        self.converged_ = result.settled and max(result.gaps, default=0.0) <= self.tol
        if show and not (self.converged_ or result.interrupted):
            _warn_of(result, hidden)
        return result.weights.copies()


def _warn_of(result: co_svm.CoSVMResult, hidden: bool) -> None:
    gaps = ", ".join(f"{100 * gap:.2g} %" for gap in result.gaps)
    if not hidden:
        message = f"co-SVM stopped after {result.n_iter} passes; raise tol"
    elif not result.n_frozen:
        message = (
            f"co-SVM stopped after {result.n_iter} passes with the views at most {gaps} of their objectives above the "
            "optimum for what they teach each other"
        )
    else:
        message = (
            f"the views still moved in the last of {result.n_iter} passes; what they teach each other was then frozen, "
            f"and {result.n_frozen} more passes left duality gaps of {gaps} of the views' objectives"
        )
    warnings.warn(message, ConvergenceWarning, stacklevel=4)
