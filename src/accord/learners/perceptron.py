"""The structured perceptron, averaged or plain [thesis 5.2, Tables 5.1 and A.1]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from accord.learners.online import OnlineLearner
from accord.packed.problem import Problem
from accord.packed.rows import Rows
from accord.packed.structure import Structure
from accord.settings import generator
from accord.solvers import perceptron
from accord.views.base import View


@dataclass(eq=False, repr=False)
class StructuredPerceptron(OnlineLearner):
    """Mistake-driven learner: fast, no regularisation to tune.

    Labels inside a sequence may be hidden (``Y[i][t] is None``). Where a given label is wrong, the weights then move
    towards the best output that has the given ones. There is no objective that ``sample_weight`` could be in: it scales
    the steps that an example causes.

    Parameters
    ----------
    structure : Structure
        What is predicted.
    view : View, optional
        Features; default: the view that fits the look of X.
    max_iter : int
        Passes over the data.
    averaged : bool
        Return the mean of all weight vectors (better on new data) or the last one.
    shuffle : bool
        Visit the examples in a new random order in each pass.
    random_state : int, Generator or None
    n_jobs : int or None
        Threads for prediction.
    verbose : int
        1 shows progress on a terminal.

    Attributes
    ----------
    weights_ : Weights
    history_ : list of dict
        Wrong outputs and tokens of each pass; a hidden label is never wrong.
    n_iter_ : int
        Passes.

    Examples
    --------
    >>> from accord import Sequence, StructuredPerceptron
    >>> X = [["Ana", "lives", "in", "Rome"], ["Tom", "left"]]
    >>> Y = [["PER", "O", "O", "LOC"], ["PER", "O"]]
    >>> StructuredPerceptron(Sequence(), random_state=0).fit(X, Y).predict([["Ana", "left"]])
    [['PER', 'O']]
    """

    structure: Structure
    view: View | None = None
    max_iter: int = 20
    averaged: bool = True
    shuffle: bool = True
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    def _learn(self, rows: Rows, y: np.ndarray) -> StructuredPerceptron:
        self._foresee(self._tables(rows, 1 + self.averaged, 2), *(["averaged=False"] if self.averaged else []))
        problem = self._problem(rows, y)
        state = perceptron.start(problem.zero_weights(), self.averaged)
        rng = generator(self.random_state)
        with self._progress(self.max_iter, "perceptron") as progress:
            perceptron.train(problem, state, self.max_iter, self.shuffle, rng, lambda info: progress.advance(info=info))
        self.history_, self.n_iter_ = state.history, len(state.history)
        self.weights_ = state.average(last=True) if self.averaged else state.weights
        return self

    def _continue(self, problem: Problem) -> None:
        self._foresee(self._tables(problem.rows, 2 + self.averaged, 2))
        if not hasattr(self, "_state"):
            weights = self.weights_.copy() if hasattr(self, "weights_") else problem.zero_weights()
            self._state = perceptron.start(weights, self.averaged)
            self._rng = generator(self.random_state)
        n_dims = problem.rows.n_dims
        self._state.weights = self._state.weights.grown(n_dims)
        if self.averaged:
            self._state.sums = self._state.sums.grown(n_dims)
        perceptron.train(problem, self._state, 1, self.shuffle, self._rng)
        self.history_, self.n_iter_ = self._state.history, len(self._state.history)
        self.weights_ = self._state.average() if self.averaged else self._state.weights.copy()
