"""What learners and solvers ask of a structure: the whole contract.

A structure answers "what is y?": which outputs there are, what they are made of, how they are scored, decoded and
compared. Every score is a sum over the *parts* of an output, so that one decoder, fed with added-up part scores, serves
every learner. :class:`accord.BaseStructure` derives most of this from a handful of methods; see docs/extending.md.

Words used below. An input has *rows* (its tokens, say), each with features. Weights are a matrix (features, nodes), so
that a row has a score for every *node*, and from these a score for every *column*; they are the same thing except in
taxonomies, where a label sums the scores of its nodes. *Transitions* are weights that no row has: of label pairs, of
rules. ``y`` is an output as an int32 array with one entry (a number, or a few) per row; negative: hidden. Outputs of
several inputs are packed one after another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from accord.packed.problem import ConsensusProblem, Problem, WorkingSet
from accord.packed.rows import Rows
from accord.packed.weights import Weights


class Structure(Protocol):
    """An output space. Everything but ``fit`` needs it fitted."""

    single_row: bool  # an input is one row, and its output one label: learners are classifiers
    symbols: bool  # rows are known by name (tags, say), so that what their names look like is no feature

    @property
    def capabilities(self) -> frozenset[str]:
        """What this structure offers beyond the rest of this contract, in words of :mod:`accord.registry`."""

    # -- sizes ------------------------------------------------------------------------------------------------------
    @property
    def n_nodes_(self) -> int:
        """Columns of the weights of features."""

    @property
    def n_columns_(self) -> int:
        """How many scores a row has."""

    @property
    def n_transitions_(self) -> int:
        """How many weights there are that no row has."""

    @property
    def node_map_(self) -> sp.csr_array | None:
        """(n_columns, n_nodes): which nodes' scores a column sums; None: nodes are columns."""

    def zero_weights(self, n_dims: int) -> Weights:
        """Weights of ``n_dims`` features, all zero."""

    # -- inputs and outputs -----------------------------------------------------------------------------------------
    def fit(self, Y: Sequence[Any]) -> Structure:
        """Learn from outputs which ones there are (``None`` is skipped)."""

    def warn_of_fit(self) -> None:
        """Warn of outputs that are seldom meant; after ``fit``."""

    def is_declared(self) -> bool:
        """Whether it can be fitted without outputs."""

    def declare(self, labels: Sequence[Any]) -> None:
        """Take these as all labels; before ``fit``."""

    def view_inputs(self, X: Any) -> Any:
        """The inputs as views are to see them."""

    def tokens_of(self, X: Any) -> list[Any] | None:
        """What each row of each input must bring along; None: nothing."""

    def check_outputs(self, Y: Sequence[Any]) -> list[Any]:
        """The outputs (``None``: unlabeled) in the form that ``encode`` takes; an error names a wrong one."""

    def check_inputs(self, X: Any, Y: Sequence[Any]) -> None:
        """Every output fits its input; before features are made."""

    def check_rows(self, rows: Rows, Y: Sequence[Any]) -> None:
        """Every output fits the rows of its input."""

    def check_partial(self, y: np.ndarray, lengths: Sequence[int] | np.ndarray, index: np.ndarray) -> None:
        """Some output has what is given of each that is partly hidden; ``index`` names them in errors."""

    def encode(self, Y: Sequence[Any], tokens: Any = None, index: Any = None) -> np.ndarray:
        """Outputs as numbers, packed; ``tokens`` are those of their inputs, ``index`` names them in errors."""

    def outputs(self, y: np.ndarray, offsets: np.ndarray, tokens: Any = None) -> list[Any]:
        """Outputs as users write them, from packed numbers."""

    def hidden(self, n_rows: int) -> np.ndarray:
        """Numbers of rows of which nothing is known."""

    def is_hidden(self, y: np.ndarray) -> np.ndarray:
        """Which rows are hidden (n_rows,)."""

    # -- scores -----------------------------------------------------------------------------------------------------
    def label_scores(self, node_scores: np.ndarray) -> np.ndarray:
        """Scores of columns (n_rows, n_columns) from scores of nodes (n_rows, n_nodes)."""

    def node_coefficients(self, per_column: np.ndarray) -> np.ndarray:
        """Transpose of :meth:`label_scores`."""

    def chain(self, transitions: np.ndarray, constrained: bool = True) -> Any:
        """The transitions as decoders take them; not ``constrained``: nothing is forbidden."""

    def parts_of(self, rows: Rows, unary: np.ndarray, transitions: np.ndarray) -> Iterator[Any]:
        """Part scores of each packed input, from the scores of its rows."""

    # -- decoding ---------------------------------------------------------------------------------------------------
    def decode(self, parts: Any) -> tuple[np.ndarray, float]:
        """Best output and its score. ``InfeasibleError`` if none is allowed."""

    def k_best(self, parts: Any, k: int) -> list[tuple[np.ndarray, float]]:
        """At most ``k`` best outputs, distinct, best first; fewer if fewer are allowed."""

    def score(self, parts: Any, y: np.ndarray) -> float:
        """Score of an output."""

    def loss_between(self, y: np.ndarray, y_pred: np.ndarray) -> float:
        """Loss of predicting ``y_pred`` for ``y``; 0 for ``y`` itself."""

    def oracle(self, parts: Any, y: np.ndarray, rescaling: str = "margin", norm: int = 1) -> tuple[np.ndarray, float]:
        """The output that violates the margin of ``y`` most, and its violation (0: ``y`` itself)."""

    def exact(self, rescaling: str = "margin", norm: int = 1) -> bool:
        """Whether :meth:`oracle` is guaranteed to find the most violating output."""

    def best_outputs(
        self, rows: Rows, unary: np.ndarray, transitions: np.ndarray, given: Sequence[Any] | None = None,
        first: Any = 0, failures: list[tuple[int, bool]] | None = None,
    ) -> np.ndarray:  # fmt: skip
        """Best outputs of packed inputs from the scores of their rows (which may be changed), packed.

        ``given[i]`` is what is known of an output already. ``first`` is the number of the first input in messages, or
        the numbers of all. ``failures`` takes those that have no whole output, for :meth:`warn_of`.
        """

    @property
    def prefers_likely(self) -> bool:
        """Whether, by its loss, outputs of probable parts are better than the most probable output as a whole."""

    def likely_outputs(
        self, rows: Rows, unary: np.ndarray, transitions: np.ndarray, given: Sequence[Any] | None = None,
        first: Any = 0, failures: list[tuple[int, bool]] | None = None,
    ) -> np.ndarray:  # fmt: skip
        """As :meth:`best_outputs`, but outputs whose parts are right as often as can be expected. Capability:
        likelihood."""

    def warn_of(self, failures: list[tuple[int, bool]], stacklevel: int) -> None:
        """One warning about inputs without a whole output."""

    def marginals_of(self, rows: Rows, unary: np.ndarray, transitions: np.ndarray, first: int = 0) -> list[Any]:
        """Probabilities of the parts of each packed input. Capability: likelihood."""

    def margins_of(self, rows: Rows, unary: np.ndarray, transitions: np.ndarray) -> np.ndarray:
        """By how much the best output of each packed input beats the second best (n_inputs,).

        Infinite: there is no second one; minus infinity: there is none at all.
        """

    # -- comparing --------------------------------------------------------------------------------------------------
    def count_errors(self, y: np.ndarray, found: np.ndarray, offsets: np.ndarray) -> tuple[int, int]:
        """How many known parts of packed outputs were predicted wrong, and how many there are."""

    def score_outputs(self, X: Any, Y: Sequence[Any], found: Sequence[Any]) -> float:
        """How good predictions are, from 0 to 1: what ``score`` of a learner returns."""

    def strata(self, y: np.ndarray) -> np.ndarray | None:
        """A class for each input, as many of which should be in every fold; None: any folds will do."""

    def label_counts(self, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """How often each label is annotated, where a row counts as much as its weight. Capability: labels."""

    # -- learning ---------------------------------------------------------------------------------------------------
    def problem(self, rows: Rows, y: np.ndarray, rescaling: str = "margin", norm: int = 1, n_jobs: int = 1) -> Problem:
        """Labeled examples as solvers see them."""

    def consensus_problem(
        self, channels: Sequence[Rows], y: np.ndarray, rescaling: str = "margin", norm: int = 1
    ) -> ConsensusProblem:
        """Examples, labeled or not, in several views numbered in one feature space, as solvers see them."""

    def working_set(self, rows: Rows, offsets: np.ndarray, targets: np.ndarray, n_jobs: int = 1) -> WorkingSet:
        """No wrong outputs yet of those inputs of ``rows`` that ``offsets`` name; see :class:`WorkingSet`."""
