"""What solvers see: training sets without x and y. The whole contract.

Solvers know examples by number and weights by array. Loops over examples run inside the problems, because kernels can
hold them.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from accord.packed.rows import Rows
from accord.packed.weights import ViewWeights, Weights

Sparse = tuple[np.ndarray, np.ndarray]  # flat indices and values


class Problem(Protocol):
    """Labeled examples of one structure in one view."""

    structure: Any
    rows: Rows
    y: np.ndarray  # packed outputs as numbers
    norm: int  # power of the slacks, 1 or 2
    constrained: bool  # whether training outputs obey the structure's constraints

    @property
    def n_examples(self) -> int:
        """How many there are."""

    @property
    def partial(self) -> np.ndarray:
        """Which examples have hidden labels (n_examples,)."""

    def zero_weights(self) -> Weights:
        """Weights of the right size."""

    def chain(self, weights: Weights) -> Any:
        """What is made ready once before examples are visited with the same weights."""

    # -- mistakes ---------------------------------------------------------------------------------------------------
    def perceptron_epoch(
        self, weights: Weights, sums: Weights, order: np.ndarray, clock: float
    ) -> tuple[float, int, int]:
        """One pass in the given order; updates ``weights`` and ``sums`` in place: (clock, wrong outputs, tokens)."""

    # -- likelihood (structures that can do it) ---------------------------------------------------------------------
    def log_likelihood(self, weights: Weights) -> tuple[float, Weights]:
        """Summed log likelihood of the outputs and its gradient."""

    def crf_epoch(
        self, weights: Weights, order: np.ndarray, decay: float, rate: float, clock: float
    ) -> tuple[float, float]:
        """One pass of stochastic gradient descent in the given order: (clock, summed loss)."""

    # -- margins ----------------------------------------------------------------------------------------------------
    def violations(self, weights: Weights) -> np.ndarray:
        """Slack of every example: the violation of its most violating output (0 at least)."""

    def violator(self, i: int, weights: Weights, chain: Any) -> tuple[float, float, np.ndarray]:
        """Most violating output of example ``i``: (violation, offset b of its constraint, numbers)."""

    def constraint(self, i: int, found: np.ndarray, offset: float, work: np.ndarray) -> Sparse:
        """Scaled joint-feature difference d of the true output and ``found``; the constraint is xi >= b - <w, d>.

        ``work`` is a zero array like the weights of features, and is zero again afterwards.
        """

    # -- hidden labels ----------------------------------------------------------------------------------------------
    def impute(self, weights: Weights) -> np.ndarray:
        """The outputs with everything hidden filled in as the weights would have it."""

    def relabeled(self, y: np.ndarray) -> Problem:
        """The same inputs with other outputs."""

    # -- structures with the capability "frank-wolfe" -----------------------------------------------------------------
    def frank_wolfe_epoch(self, weights: Weights, dual: Any, order: np.ndarray, C: float) -> None:
        """One pass of block-coordinate Frank-Wolfe in the given order; updates everything in place."""


class ConsensusProblem(Protocol):
    """Examples, labeled or not, of one structure in several views."""

    structure: Any
    channels: list[Rows]
    n_views: int
    offsets: np.ndarray
    y: np.ndarray  # packed outputs as numbers, negative where hidden
    labeled: np.ndarray  # numbers of the examples whose outputs are known
    unlabeled: np.ndarray  # of all others
    partly_labeled: np.ndarray  # of those of which a part is known
    with_labels: np.ndarray  # of those of which anything is known

    @property
    def n_examples(self) -> int:
        """How many there are."""

    def zero_weights(self) -> ViewWeights:
        """Weights of the right size."""

    def labeled_part(self, v: int) -> tuple[Rows, np.ndarray]:
        """The fully labeled examples in view ``v`` and their outputs."""

    def co_perceptron_epoch(
        self, weights: ViewWeights, sums: np.ndarray, order: np.ndarray, unlabeled_weight: float, pseudo: np.ndarray,
        clock: np.ndarray,
    ) -> tuple[int, int, int, int]:  # fmt: skip
        """One pass in the given order: (wrong outputs, disagreements, disagreeing tokens, updates).

        ``pseudo`` (n_views, n_rows) are the outputs that views teach each other; empty: what they predict at the time.
        ``clock`` (1,) counts examples, in place, so that what an interrupt leaves can still be averaged.
        """

    def new_blocks(self, max_repeats: int) -> Any:
        """Room for the constraints of unlabeled examples, ``max_repeats`` for each pair of views at most."""

    def visit_unlabeled(
        self, weights: ViewWeights, blocks: Any, order: np.ndarray, C: float, unlabeled_weight: float,
        pseudo: Any, tol: float, max_repeats: int, work: np.ndarray, keep: bool = False, own: bool = False,
    ) -> tuple[int, int, int, float]:  # fmt: skip
        """Rebuild the blocks of the given examples, or go on from those there are (``keep``): (disagreements, tokens of
        those, subspace steps, least gain). ``pseudo`` is what views teach their peers; empty: what they predict then.
        ``own``: a view that disagrees is shown its own output against the peer's, not the most violating one.
        """

    def predictions(self, weights: ViewWeights) -> Any:
        """What each view predicts for the unlabeled examples, and by which margin, as ``visit_unlabeled`` takes it."""

    def objective_of_blocks(
        self, weights: ViewWeights, blocks: Any, order: np.ndarray, C: float, unlabeled_weight: float, pseudo: Any,
        work: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """What the given examples add to the primal and to the dual objective of every view, if ``pseudo`` stays what
        the views teach: weighted slacks, and what dual variables bring; without the norms of the weights.
        """

    # -- structures with the capability "labels" --------------------------------------------------------------------
    def label_frequency(self) -> np.ndarray:
        """How frequent each label is among the annotated rows, as if each had been seen once more."""

    def unlabeled_scores(self, weights: ViewWeights, v: int) -> tuple[np.ndarray, np.ndarray, Any]:
        """Label scores of view ``v`` for the examples that are not fully labeled, with annotated labels forced:
        (offsets, scores, chain)."""

    def pseudo_outputs(self, weights: ViewWeights, bias: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What each view predicts for the unlabeled examples with constants (n_views, n_labels) added to its scores:
        labels (n_views, n_rows) and margins (n_views, n_examples)."""


class Wrong(NamedTuple):
    """Wrong outputs that have been found, sorted by example."""

    example: np.ndarray  # (n,) int64
    labels: np.ndarray  # their numbers, one output after another
    delta: np.ndarray  # (n,) loss
    margin: np.ndarray  # (n,) how much better the target scores


class WorkingSet(Protocol):
    """Wrong outputs of packed examples, sorted by example: what the smooth large-margin solvers sum over.

    Outputs are compared with *targets*, which may change. ``matrix`` turns scores of parts into margins.
    """

    targets: np.ndarray
    example: np.ndarray  # (size,) whose wrong outputs the entries are
    delta: np.ndarray  # (size,) their losses

    @property
    def n_examples(self) -> int:
        """How many examples there are."""

    @property
    def size(self) -> int:
        """How many wrong outputs there are."""

    @property
    def n_incomplete(self) -> int:
        """Examples with outputs near the margin that :meth:`find` may have left out when it was last called."""

    @property
    def rows(self) -> slice:
        """The rows of these examples."""

    def predict(self, unary: np.ndarray, chain: Any, given: np.ndarray | None = None) -> np.ndarray:
        """Best outputs for the scores of these rows, -1 for examples without one; ``given`` label numbers are kept."""

    def retarget(self, targets: np.ndarray) -> tuple[int, int]:
        """Take other targets and forget the entries of examples whose target has changed: (changed, dropped)."""

    def find(
        self, unary: np.ndarray, chain: Any, rescaling: str = "margin", reach: float = 0.0, wanted: int = 0
    ) -> Wrong:
        """Wrong outputs that are not entries yet: the worst of each example or, where outputs can be listed, up to
        ``wanted`` of those that are within ``reach`` of the margin."""

    def add(self, wrong: Wrong, chosen: np.ndarray) -> int:
        """Add the chosen ones of the outputs that were found."""

    def shrink(self, used: np.ndarray, patience: int) -> int:
        """Drop entries that have not been used ``patience`` times in a row; returns how many those are."""

    def segments(self) -> np.ndarray:
        """The first entry of every example that has entries."""

    def matrix(self, n_rows: int) -> sp.csr_array:
        """What turns part scores of ``n_rows`` rows into margins: (size, n_parts)."""
