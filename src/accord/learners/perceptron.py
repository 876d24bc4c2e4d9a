"""The structured perceptron, averaged or plain [thesis 5.2, Tables 5.1 and A.1]."""

from __future__ import annotations

from typing import Any

from accord.exceptions import InputError
from accord.learners.online import OnlineLearner
from accord.learners.randomness import generator
from accord.solvers import perceptron
from accord.structures.base import Structure
from accord.structures.problem import ChainProblem
from accord.views.base import View


class StructuredPerceptron(OnlineLearner):
    """Mistake-driven learner: fast, no regularisation to tune.

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
        Wrong outputs and tokens of each pass.

    Examples
    --------
    >>> from accord import Sequence, StructuredPerceptron
    >>> X = [["Ana", "lives", "in", "Rome"], ["Tom", "left"]]
    >>> Y = [["PER", "O", "O", "LOC"], ["PER", "O"]]
    >>> StructuredPerceptron(Sequence(), random_state=0).fit(X, Y).predict([["Ana", "left"]])
    [['PER', 'O']]
    """

    def __init__(
        self,
        structure: Structure,
        view: View | None = None,
        max_iter: int = 10,
        averaged: bool = True,
        shuffle: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.structure = structure
        self.view = view
        self.max_iter = max_iter
        self.averaged = averaged
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, Y: Any) -> StructuredPerceptron:
        """Train on labeled examples; unlabeled ones (``Y[i] is None``) only extend the feature space."""
        if self.max_iter < 1:
            raise InputError(f"max_iter is {self.max_iter}; expected at least 1")
        self._forget_training()
        rows, y, _ = self._prepare(X, Y)
        problem = self._problem(rows, y)
        with self._progress(self.max_iter, "perceptron") as progress:
            state = perceptron.train(
                problem,
                perceptron.start(problem, self.averaged),
                self.max_iter,
                self.shuffle,
                generator(self.random_state),
                lambda info: progress.advance(info=info),
            )
        self.history_ = state.history
        self.weights_ = state.average() if self.averaged else state.weights
        return self

    def _continue(self, problem: ChainProblem, first: bool) -> None:
        if first or not hasattr(self, "_state"):
            self._state = perceptron.start(problem, self.averaged)
            self._rng = generator(self.random_state)
        state = self._state
        n_dims = problem.rows.n_dims
        state.weights = state.weights.grown(n_dims)
        if self.averaged:
            state.sums = state.sums.grown(n_dims)
        perceptron.train(problem, state, 1, self.shuffle, self._rng)
        self.history_ = state.history
        self.weights_ = state.average() if self.averaged else state.weights.copy()
