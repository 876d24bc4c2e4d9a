"""Chains seen through several views: what the consensus solvers see of them.

All views number their features in one space, and the rows of view ``v`` follow those of view ``v - 1``, so a kernel
reaches view ``v`` of an example by adding to its first row.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from accord.kernels.chains import co_perceptron, co_svm
from accord.kernels.chains.viterbi import force_labels
from accord.packed.rows import Rows, stack_channels
from accord.packed.tables import sums_by_input
from accord.packed.weights import ViewWeights
from accord.structures.chains.decoding import ChainDecoders
from accord.structures.chains.problem import ChainProblem
from accord.structures.generic.viewed import ViewedProblem


class ChainConsensusProblem(ViewedProblem):
    """Examples, labeled or not, of a chain structure in several views.

    Parameters
    ----------
    structure : fitted chain structure
    channels : list of Rows
        The same inputs in every view, with the same slots, numbered in one feature space.
    y : int32 array (n_rows,)
        Label numbers; -1 for a row without a label.
    rescaling, norm : how margins count (co-support vector machine)
    """

    def __init__(
        self,
        structure: ChainDecoders,
        channels: Sequence[Rows],
        y: np.ndarray,
        rescaling: str = "margin",
        norm: int = 1,
    ) -> None:
        super().__init__(structure, channels, np.ascontiguousarray(y, np.int32), rescaling, norm)
        self.features = stack_channels(self.channels).features()
        windows = [c.window() for c in self.channels]
        units = np.cumsum([0] + [c.table.shape[0] for c in self.channels[:-1]])
        self.window = windows[0]
        if any(w[:3] != windows[0][:3] for w in windows):
            self.window = windows[0]._replace(size=0)
        self.outside = np.array([w.outside + u for w, u in zip(windows, units)], np.int64)
        self.label_map = structure.label_map()
        known, lengths = sums_by_input(self.y >= 0, self.offsets), np.diff(self.offsets)
        self.is_labeled = known == lengths
        self.labeled = np.flatnonzero(self.is_labeled)
        self.unlabeled = np.flatnonzero(known < lengths)
        self.partly_labeled = np.flatnonzero((0 < known) & (known < lengths))
        self.with_labels = np.flatnonzero((known > 0) | (lengths == 0))
        # labels that break the constraints free the unlabeled examples from them, too
        self.constrained = ChainProblem(structure, *self.labeled_part(0)).constrained

    def _views(self) -> co_perceptron.Views:
        """The examples as the kernels take them."""
        s = self.structure
        return co_perceptron.Views(
            self.features, self.window, self.outside, self.label_map, self.offsets, self.y,
            self.channels[0].kernel_weights, s.order_, s.eta_, s.loss_, self.rescaling, self.norm, self.n_dims,
            s.n_transitions_,
        )  # fmt: skip

    def _model(self, weights: ViewWeights) -> co_perceptron.Model:
        """The weights as the kernels take them, with the decoders' arrays of all views, views first."""
        chains = [self.structure.chain(weights.view(v).transitions, self.constrained) for v in range(self.n_views)]
        return co_perceptron.Model(weights.stacked, *(np.stack(arrays) for arrays in zip(*chains)))

    def label_frequency(self) -> np.ndarray:
        """How frequent each label is among the annotated rows, as if each had been seen once more."""
        counts = self.structure.label_counts(self.y, self.channels[0].row_weights()) + 1.0
        return counts / counts.sum()

    def unlabeled_scores(self, weights: ViewWeights, v: int) -> tuple[np.ndarray, np.ndarray, tuple]:
        """Label scores of view ``v`` for the examples that are not fully labeled, with annotated labels forced:
        (offsets, scores, the decoder's arrays)."""
        s, w = self.structure, weights.view(v)
        rows = self.channels[v].take(self.unlabeled)
        unary = s.label_scores(rows.scores(w.unary))
        force_labels(unary, self.y[np.repeat(~self.is_labeled, np.diff(self.offsets))], s.n_labels_)
        return rows.offsets, unary, s.chain(w.transitions, self.constrained)

    def pseudo_outputs(self, weights: ViewWeights, bias: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What each view predicts for the unlabeled examples with constants (n_views, n_labels) added to its scores:
        labels (n_views, n_rows) and margins (n_views, n_examples)."""
        labels = np.repeat(self.y[None], self.n_views, axis=0)
        margins = np.full((self.n_views, self.n_examples), np.inf)
        here = np.repeat(~self.is_labeled, np.diff(self.offsets))
        for v in range(self.n_views):
            offsets, unary, chain = self.unlabeled_scores(weights, v)
            found, by = np.empty(unary.shape[0], np.int32), np.empty(offsets.size - 1)
            co_svm.predict_with_margin(offsets, self.structure.biased(unary, bias[v]), *chain, found, by)
            labels[v, here], margins[v, self.unlabeled] = found, by
        return labels, margins

    def predictions(self, weights: ViewWeights) -> tuple[np.ndarray, np.ndarray]:
        """What each view predicts for the unlabeled examples, and by which margin, as ``visit_unlabeled`` takes it."""
        return self.pseudo_outputs(weights, np.zeros((self.n_views, self.structure.n_labels_)))

    # -- co-perceptron ----------------------------------------------------------------------------------------------
    def co_perceptron_epoch(
        self,
        weights: ViewWeights,
        sums: np.ndarray,
        order: np.ndarray,
        unlabeled_weight: float,
        pseudo: np.ndarray,
        clock: np.ndarray,
    ) -> tuple[int, int, int, int]:
        """One pass in the given order: (wrong outputs, disagreements, disagreeing tokens, updates).

        ``clock`` (1,) counts examples, in place, so that what an interrupt leaves can still be averaged.
        """
        return co_perceptron.co_perceptron_epoch(
            self._views(), self._model(weights), order, unlabeled_weight, pseudo, sums, clock
        )

    # -- co-support vector machine ----------------------------------------------------------------------------------
    def new_blocks(self, max_repeats: int) -> co_svm.Blocks:
        """Empty blocks of constraints for all examples that are not fully labeled."""
        n, n_pairs, n_rows = self.n_examples, len(self.pairs), self.y.size
        return co_svm.Blocks(
            learner=np.array([v for v, _ in self.pairs]),
            peer=np.array([u for _, u in self.pairs]),
            size=np.zeros((n, n_pairs), np.int64),
            target=np.full((n_pairs, n_rows), -1, np.int32),
            output=np.zeros((n_pairs, max_repeats, n_rows), np.int32),
            scale=np.zeros((n, n_pairs, max_repeats)),
            offset=np.zeros((n, n_pairs, max_repeats)),
            alpha=np.zeros((n, n_pairs, max_repeats)),
        )

    def visit_unlabeled(
        self, weights: ViewWeights, blocks: co_svm.Blocks, order: np.ndarray, C: float, unlabeled_weight: float,
        pseudo: tuple[np.ndarray, np.ndarray], tol: float, max_repeats: int, work: np.ndarray, keep: bool = False,
        own: bool = False,
    ) -> tuple[int, int, int, float]:  # fmt: skip
        """Rebuild the blocks of the given examples, or go on from those there are: (disagreements, tokens of those,
        subspace steps, least gain)."""
        budget = co_svm.Budget(C, unlabeled_weight, tol, max_repeats, keep, own)
        return co_svm.visit_unlabeled(self._views(), self._model(weights), blocks, order, budget, *pseudo, work)

    def objective_of_blocks(
        self, weights: ViewWeights, blocks: co_svm.Blocks, order: np.ndarray, C: float, unlabeled_weight: float,
        pseudo: tuple[np.ndarray, np.ndarray], work: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """What the given examples add to the primal and to the dual objective of every view, for these targets."""
        primal, dual = np.zeros((2, self.n_views))
        budget = co_svm.Budget(C, unlabeled_weight, 0.0, 0, True, False)
        co_svm.objective_of_blocks(
            self._views(), self._model(weights), blocks, order, budget, *pseudo, work, primal, dual
        )
        return primal, dual
