"""The base of structures: everything learners ask of one, derived from a handful of methods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from accord import registry, settings
from accord.exceptions import InfeasibleError, InputError
from accord.packed.problem import ConsensusProblem, Problem, WorkingSet
from accord.packed.rescaling import RESCALINGS
from accord.packed.rows import Rows
from accord.packed.weights import Weights
from accord.structures.generic.consensus import ExampleConsensusProblem
from accord.structures.generic.problem import ExampleProblem
from accord.structures.generic.working_sets import ExampleWorkingSet


class BaseStructure(BaseEstimator):
    """An output space. Write these, and every learner of margins works with it (docs/extending.md has an example):

    ===============================  =================================================================================
    ``n_nodes_``                     scores that a row has (default 1); ``n_transitions_``: further weights (default 0)
    ``fit(Y)``                       what is to be known of outputs (default: nothing)
    ``check_outputs(Y)``             outputs in the form that ``encode`` takes (default: as they are)
    ``encode(Y, tokens, index)``     outputs as an int32 array with an entry (a number, or a few) per row
    ``outputs(y, offsets, tokens)``  the way back
    ``part_scores``                  of ``(context, unary, transitions)``: what decoders take, from the scores of an
                                     input's rows (n_rows, n_nodes), the weights without rows, and ``context(tokens)``
    ``k_best(parts, k)``             the k best outputs as arrays, with their scores
    ``score(parts, y)``              score of an output
    ``count_parts(y, counts)``       the (row, node) pairs that it has; transitions are added to ``counts``
    ``loss_between(y, y_pred)``      the loss
    ``augmented(parts, y)``          parts with the loss against ``y`` added, up to a constant
    ===============================  =================================================================================

    With ``expectations(parts)`` and ``capabilities = {"likelihood"}`` the learners of probabilities work, too. All of
    what can be overridden is listed in :class:`accord.packed.structure.Structure`.

    Examples
    --------
    >>> from accord import BaseStructure
    >>> class Pairing(BaseStructure):
    ...     pass  # as many methods of the table as the learner needs
    >>> Pairing().n_nodes_
    1
    """

    single_row = False
    symbols = False
    node_map_ = None
    n_nodes_: Any = 1
    n_transitions_: Any = 0

    @property
    def capabilities(self) -> frozenset[str]:
        """What this structure offers, in words of :mod:`accord.registry`."""
        return registry.entry_of(type(self)).can

    # -- sizes ------------------------------------------------------------------------------------------------------
    @property
    def n_columns_(self) -> int:
        """How many scores a row has."""
        return self.n_nodes_

    def zero_weights(self, n_dims: int) -> Weights:
        return Weights(np.zeros((n_dims, self.n_nodes_)), np.zeros(self.n_transitions_))

    # -- inputs and outputs -----------------------------------------------------------------------------------------
    def fit(self, Y: Any) -> Any:
        """Learn from outputs which ones there are (``None`` is skipped); here, only parameters are checked."""
        settings.check(self)
        return self

    def warn_of_fit(self) -> None:
        """Warn of outputs that are seldom meant."""

    def is_declared(self) -> bool:
        """Whether it can be fitted without outputs."""
        return True

    def declare(self, labels: Sequence[Any]) -> None:
        raise InputError(f"classes: {type(self).__name__} has no list of labels; leave classes out")

    def view_inputs(self, X: Any) -> Any:
        """The inputs as views are to see them."""
        return X

    def tokens_of(self, X: Any) -> list[Any] | None:
        """What each row of each input must bring along; None: nothing."""
        return None

    def check_outputs(self, Y: Sequence[Any]) -> list[Any]:
        return list(Y)

    def check_inputs(self, X: Any, Y: Sequence[Any]) -> None:
        """Every output fits its input; before features are made."""

    def check_rows(self, rows: Rows, Y: Sequence[Any]) -> None:
        """Every output fits the rows of its input."""

    def check_partial(self, y: np.ndarray, lengths: Sequence[int] | np.ndarray, index: np.ndarray) -> None:
        """Outputs are known as a whole, or not at all."""

    def encode(self, Y: Sequence[Any], tokens: Any = None, index: Any = None) -> np.ndarray:
        raise NotImplementedError

    def outputs(self, y: np.ndarray, offsets: np.ndarray, tokens: Any = None) -> list[Any]:
        raise NotImplementedError

    def hidden(self, n_rows: int) -> np.ndarray:
        """Numbers of rows of which nothing is known."""
        return np.full(n_rows, -1, np.int32)

    def is_hidden(self, y: np.ndarray) -> np.ndarray:
        """Which rows are hidden."""
        return y < 0

    # -- scores -----------------------------------------------------------------------------------------------------
    def label_scores(self, node_scores: np.ndarray) -> np.ndarray:
        """Scores of columns: those of nodes, as they are."""
        return node_scores

    def node_coefficients(self, per_column: np.ndarray) -> np.ndarray:
        """Transpose of :meth:`label_scores`."""
        return per_column

    def chain(self, transitions: np.ndarray, constrained: bool = True) -> Any:
        """What decoders take of the weights that no row has: all of them, as they are."""
        return transitions

    def context(self, tokens: Any) -> Any:
        """What is the same for all weights, made once for each input from the tokens of its rows."""
        return tokens

    def part_scores(self, context: Any, unary: np.ndarray, transitions: np.ndarray) -> Any:
        """What decoders take, from the scores of an input's rows (n_rows, n_nodes) and the weights without rows."""
        raise NotImplementedError

    def parts_of(self, rows: Rows, unary: np.ndarray, transitions: np.ndarray) -> Iterator[Any]:
        """Part scores of each packed input."""
        for lo, hi in pairwise(rows.offsets.tolist()):
            tokens = None if rows.tokens is None else rows.tokens[lo:hi]
            yield self.part_scores(self.context(tokens), unary[lo:hi], transitions)

    # -- decoding ---------------------------------------------------------------------------------------------------
    def k_best(self, parts: Any, k: int) -> list[tuple[np.ndarray, float]]:
        """At most ``k`` best outputs, distinct, best first; none if none is allowed."""
        raise NotImplementedError

    def best(self, parts: Any) -> tuple[np.ndarray, float]:
        """Best output and its score; without one, nothing is known and the score is minus infinity."""
        return self.best_with_margin(parts, 1)[:2]

    def best_with_margin(self, parts: Any, k: int = 2) -> tuple[np.ndarray, float, float]:
        """Best output, its score, and how much less the second best has (infinite: there is none)."""
        found = self.k_best(parts, k)
        if not found:
            return self.hidden(0), -np.inf, -np.inf
        (y, score), *others = found
        return y, score, score - others[0][1] if others else np.inf

    def decode(self, parts: Any) -> tuple[np.ndarray, float]:
        """Best output and its score."""
        y, score = self.best(parts)
        if score == -np.inf:
            raise InfeasibleError("no output is allowed: the constraints and minus-infinite scores exclude all of them")
        return y, score

    def score(self, parts: Any, y: np.ndarray) -> float:
        """Score of an output."""
        raise NotImplementedError

    def count_parts(self, y: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """The (row, node) pairs that an output has (n, 2); how often it has each transition is added to ``counts``."""
        raise NotImplementedError

    def expectations(self, parts: Any) -> tuple[float, np.ndarray, np.ndarray]:
        """Log of the summed exponentials of all scores, and how often each node at each row (n_rows, n_nodes) and each
        transition are to be expected."""
        raise NotImplementedError

    def marginals_of(self, rows: Rows, unary: np.ndarray, transitions: np.ndarray, first: int = 0) -> list[Any]:
        """Probabilities (n_rows, n_nodes) of the parts of each packed input."""
        return [self.expectations(parts)[1] for parts in self.parts_of(rows, unary, transitions)]

    def loss_between(self, y: np.ndarray, y_pred: np.ndarray) -> float:
        raise NotImplementedError

    def augmented(self, parts: Any, y: np.ndarray) -> Any:
        """Parts with the loss of predicting them for ``y`` added, up to a constant."""
        raise NotImplementedError

    def exact(self, rescaling: str = "margin", norm: int = 1) -> bool:
        """Whether :meth:`oracle` is guaranteed to find the most violating output."""
        return rescaling == "margin" and norm == 1

    def oracle(self, parts: Any, y: np.ndarray, rescaling: str = "margin", norm: int = 1) -> tuple[np.ndarray, float]:
        """The output that violates the margin of ``y`` most, and its violation (0: ``y`` itself)."""
        if rescaling not in RESCALINGS or norm not in (1, 2):
            raise InputError(f'rescaling is {rescaling!r}, norm is {norm!r}; expected "margin" or "slack", 1 or 2')
        h, _, found = self.find_violator(parts, y, RESCALINGS[rescaling], norm)
        return (found, h) if h > 0 else (y, 0.0)

    def find_violator(self, parts: Any, y: np.ndarray, rescaling: int, norm: int) -> tuple[float, float, np.ndarray]:
        """Most violating output: (violation, its loss or for the 2-norm the root of it, the output)."""
        found, _ = self.best(self.augmented(parts, y))
        loss = self.loss_between(y, found)
        return loss - (self.score(parts, y) - self.score(parts, found)), loss, found

    def best_outputs(
        self, rows: Rows, unary: np.ndarray, transitions: np.ndarray, given: Sequence[Any] | None = None,
        first: Any = 0, failures: list[tuple[int, bool]] | None = None,
    ) -> np.ndarray:  # fmt: skip
        """Best outputs of packed inputs, packed."""
        if given is not None and any(g is not None for g in given):
            raise InputError(f"given: nothing can be given for outputs of {type(self).__name__}; leave it out")
        found = [self.best(parts) for parts in self.parts_of(rows, unary, transitions)]
        raise_infeasible(np.array([score for _, score in found]), first)
        return np.concatenate([self.hidden(0), *(y for y, _ in found)])

    def margins_of(self, rows: Rows, unary: np.ndarray, transitions: np.ndarray) -> np.ndarray:
        """By how much the best output of each packed input beats the second best (n_inputs,)."""
        found = [self.best_with_margin(parts)[2] for parts in self.parts_of(rows, unary, transitions)]
        return np.array(found, np.float64)

    prefers_likely = False

    def likely_outputs(
        self, rows: Rows, unary: np.ndarray, transitions: np.ndarray, given: Sequence[Any] | None = None,
        first: Any = 0, failures: list[tuple[int, bool]] | None = None,
    ) -> np.ndarray:  # fmt: skip
        """Outputs of packed inputs with the most probable nodes: the decoder, fed with probabilities for scores.

        For structures with ``expectations``, of packed inputs whose scores are as :meth:`best_outputs` takes them.
        """
        expected = [self.expectations(parts) for parts in self.parts_of(rows, unary, transitions)]
        raise_infeasible(np.array([log_z for log_z, _, _ in expected]), first)
        nodes = np.concatenate([np.zeros((0, self.n_nodes_)), *(found for _, found, _ in expected)])
        return self.best_outputs(rows, nodes, np.zeros(self.n_transitions_), given, first, failures)

    def warn_of(self, failures: list[tuple[int, bool]], stacklevel: int) -> None:
        """Outputs that cannot be had are an error."""

    # -- comparing --------------------------------------------------------------------------------------------------
    def count_errors(self, y: np.ndarray, found: np.ndarray, offsets: np.ndarray) -> tuple[int, int]:
        """How many rows of known outputs were predicted wrong, and how many there are."""
        known = ~self.is_hidden(y)
        different = (y != found).any(axis=tuple(range(1, y.ndim)))
        return int(np.sum(different & known)), int(np.sum(known))

    def score_outputs(self, X: Any, Y: Sequence[Any], found: Sequence[Any]) -> float:
        """Fraction of outputs that are right."""
        right = [y == y_pred for y, y_pred in zip(Y, found) if y is not None]
        if not right:
            raise InputError("Y has no labels to score against")
        return sum(right) / len(right)

    def strata(self, y: np.ndarray) -> np.ndarray | None:
        """A class for each input, as many of which should be in every fold; None: any folds will do."""
        return None

    def label_counts(self, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        raise NotImplementedError("a structure without the capability labels")

    # -- learning ---------------------------------------------------------------------------------------------------
    def problem(self, rows: Rows, y: np.ndarray, rescaling: str = "margin", norm: int = 1, n_jobs: int = 1) -> Problem:
        """Labeled examples as solvers see them."""
        return ExampleProblem(self, rows, y, rescaling, norm, n_jobs)

    def consensus_problem(
        self, channels: Sequence[Rows], y: np.ndarray, rescaling: str = "margin", norm: int = 1
    ) -> ConsensusProblem:
        """Examples, labeled or not, in several views, as solvers see them."""
        return ExampleConsensusProblem(self, channels, y, rescaling, norm)

    def working_set(self, rows: Rows, offsets: np.ndarray, targets: np.ndarray, n_jobs: int = 1) -> WorkingSet:
        """No wrong outputs yet of the inputs that ``offsets`` name."""
        return ExampleWorkingSet(self, rows, offsets, targets, n_jobs)


def input_numbers(first: Any, n: int) -> Sequence[int]:
    """Numbers of ``n`` inputs, of which the first, or all, are given."""
    return range(first, first + n) if isinstance(first, (int, np.integer)) else first


def raise_infeasible(
    scores: np.ndarray, first: Any, unary: np.ndarray | None = None, offsets: np.ndarray | None = None
) -> None:
    """Name the first input for which no output is allowed, or whose label scores (``unary``) are no numbers."""
    bad = np.flatnonzero(~(scores > -np.inf))
    if bad.size:
        where = input_numbers(first, scores.size)[bad[0]]
        own = np.zeros((1, 1)) if unary is None or offsets is None else unary[offsets[bad[0]] : offsets[bad[0] + 1]]
        if not (own.max(axis=1, initial=-np.inf) < np.inf).all() or (own == -np.inf).all(axis=1).any():
            raise InputError(
                f"X[{where}]: its scores are not finite, because its features, or those of the training, are too large "
                "to compute with; scale them, for example by ArrayFeatures(standardize=True)"
            )
        raise InfeasibleError(
            f"X[{where}]: no output satisfies the constraints and the given labels; relax one of them"
        )
