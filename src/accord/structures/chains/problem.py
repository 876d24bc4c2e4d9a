"""A packed, labeled training set of a chain structure: what solvers see of the data.

Solvers know examples by number and weights by array. The loops over examples run inside kernels.
"""

from __future__ import annotations

import copy
import warnings
from functools import cached_property
from typing import Any

import numpy as np

from accord import memory
from accord.kernels.chains import forward_backward as fb
from accord.kernels.chains import frank_wolfe, online
from accord.kernels.chains.violator import find_violators
from accord.kernels.chains.viterbi import force_labels, viterbi_batch
from accord.packed.rescaling import RESCALINGS
from accord.packed.rows import Rows
from accord.packed.tables import sums_by_input
from accord.packed.weights import Weights
from accord.structures.chains.decoding import ChainDecoders
from accord.structures.chains.working_sets import blocks
from accord.threads import map_threads


class ChainProblem:
    """Labeled examples of a chain structure.

    Parameters
    ----------
    structure : fitted ChainStructure
    rows : Rows
        Packed features of the labeled inputs.
    y : int32 array (n_rows,)
        Label numbers; -1 is hidden (not annotated). The margin solvers need outputs without hidden labels.
    rescaling, norm : how margins count (for the large-margin solvers)
    n_jobs : threads for passes in which the weights do not change
    """

    def __init__(
        self,
        structure: ChainDecoders,
        rows: Rows,
        y: np.ndarray,
        rescaling: str = "margin",
        norm: int = 1,
        n_jobs: int = 1,
    ) -> None:
        self.structure = structure
        self.rows = rows.merged()
        self.features = self.rows.features()
        self.window = self.rows.window()
        self.offsets = self.rows.offsets
        self.y = np.ascontiguousarray(y, dtype=np.int32)
        self.label_map = structure.label_map()
        self.rescaling, self.norm = RESCALINGS[rescaling], norm
        self.n_jobs = n_jobs
        self.constrained = self._outputs_are_allowed()

    @property
    def n_examples(self) -> int:
        return self.offsets.size - 1

    def _outputs_are_allowed(self) -> bool:
        """Train within the constraints, unless the training outputs themselves break them."""
        s = self.structure
        if not len(s.forbidden_):
            return True
        scores = np.zeros(self.n_examples)
        chain = s.chain(np.zeros(s.n_transitions_))
        fb.path_scores(self.offsets, self.y, np.zeros((self.y.size, s.n_columns_)), *chain, scores)
        broken = np.flatnonzero((scores == -np.inf) & ~self.partial)
        if broken.size:
            warnings.warn(
                f"{broken.size} of {self.n_examples} labeled outputs break the constraints (the first is labeled "
                f"example {broken[0]}); training ignores the constraints, predictions still obey them",
                stacklevel=4,
            )
        return not broken.size

    def chain(self, weights: Weights) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.structure.chain(weights.transitions, self.constrained)

    def scores(self, weights: Weights) -> np.ndarray:
        """Scores of rows (n_rows, n_columns)."""
        return self.structure.label_scores(self.rows.scores(weights.unary))

    def zero_weights(self) -> Weights:
        return self.structure.zero_weights(self.rows.n_dims)

    # -- hidden labels ------------------------------------------------------------------------------------------
    @cached_property
    def partial(self) -> np.ndarray:
        """Which examples have hidden labels (n_examples,)."""
        return sums_by_input(self.y < 0, self.offsets) > 0

    @cached_property
    def _partial_rows(self) -> np.ndarray:
        """Which rows belong to examples with hidden labels (n_rows,)."""
        return np.repeat(self.partial, np.diff(self.offsets))

    def impute(self, weights: Weights) -> np.ndarray:
        """Label numbers with every hidden one filled in: the best outputs that have the given labels."""
        if not self.partial.any():
            return self.y.copy()
        chain = self.chain(weights)
        return np.concatenate([part._impute(weights, chain) for part in self._parts])

    def _impute(self, weights: Weights, chain: tuple) -> np.ndarray:
        y = self.y.copy()
        rows = self.rows.take(np.flatnonzero(self.partial))
        unary = self.structure.label_scores(rows.scores(weights.unary))
        force_labels(unary, y[self._partial_rows], self.structure.n_labels_)
        found, scores = np.empty(rows.n_rows, np.int32), np.empty(rows.n_inputs)
        viterbi_batch(rows.offsets, unary, *chain, found, scores)
        y[self._partial_rows] = found
        return y

    def relabeled(self, y: np.ndarray) -> ChainProblem:
        """The same inputs with other label numbers."""
        return self._changed(y=np.ascontiguousarray(y, dtype=np.int32))

    def _changed(self, **changes: Any) -> ChainProblem:
        other = copy.copy(self)
        for name in ("partial", "_partial_rows", "_observed", "_observed_columns", "_parts"):
            other.__dict__.pop(name, None)
        other.__dict__.update(changes)
        return other

    @cached_property
    def _parts(self) -> list[ChainProblem]:
        """Problems of some examples each, so that their label scores fit into memory: as a rule just one of all."""
        width = self.structure.n_columns_
        if self.y.size * width <= memory.SCORES:
            return [self]
        most = max(1, memory.SCORES // (width * self.rows.slots.shape[1]))  # rows
        parts, first = [], 0
        while first < self.n_examples:
            fits = np.searchsorted(self.offsets, self.offsets[first] + most, side="right") - 1
            last = max(int(fits), first + 1)
            rows = self.rows.take(np.arange(first, last)).without_idle_units()
            parts.append(
                self._changed(
                    rows=rows, features=rows.features(), offsets=rows.offsets,
                    y=self.y[self.offsets[first] : self.offsets[last]],
                )
            )  # fmt: skip
            first = last
        return parts

    # -- perceptron and stochastic gradient ---------------------------------------------------------------------
    def perceptron_epoch(self, weights: Weights, sums: Weights, order: np.ndarray, clock: float):
        """One pass in the given order; updates ``weights`` and ``sums`` in place: (clock, wrong outputs, tokens)."""
        s = self.structure
        return online.perceptron_epoch(
            self.features, self.window, self.label_map, self.offsets, self.y, self.rows.kernel_weights, order,
            s.order_, s.eta_, weights.unary, weights.transitions, *self.chain(weights),
            sums.unary, sums.transitions, clock,
        )  # fmt: skip

    def crf_epoch(self, weights: Weights, order: np.ndarray, decay: float, rate: float, clock: float):
        """One pass of stochastic gradient descent in the given order: (clock, summed loss)."""
        s = self.structure
        chain = self.chain(weights)
        work = fb.workspace(int(np.diff(self.offsets).max(initial=0)), s.n_columns_, *chain[:2])
        return online.crf_epoch(
            self.features, self.window, self.label_map, self.offsets, self.y, self.rows.kernel_weights, order,
            s.order_, s.eta_, decay, rate, weights.unary, weights.transitions, *chain, work, clock,
        )  # fmt: skip

    # -- likelihood -----------------------------------------------------------------------------------------------
    def log_likelihood(self, weights: Weights) -> tuple[float, Weights]:
        """Summed log likelihood of the outputs, each times the weight of its example, and its gradient.

        Where labels are hidden it is that of all outputs that have the given ones: ``log Z(forced) - log Z``, with
        the difference of the two expectations as its gradient.
        """
        chain = self.chain(weights)
        gradient = self.zero_weights()
        return sum(part._add_likelihood(weights, chain, gradient) for part in self._parts), gradient

    def _add_likelihood(self, weights: Weights, chain: tuple, gradient: Weights) -> float:
        s = self.structure
        unary = self.scores(weights)
        residual = np.empty_like(unary)
        calls = [(lo, hi, unary, chain, residual) for lo, hi in blocks(self.n_examples)]
        done = map_threads(self._block_likelihood, calls, self.n_jobs)
        total = float(sum(d[0] for d in done))
        np.negative(residual, out=residual)
        for rows, columns in self._observed_columns:
            residual[rows, columns] += 1.0
        if self.rows.input_weights is not None:
            residual *= self.rows.row_weights()[:, None]
        if gradient.transitions.size:
            expected = (np.asarray(sum(d[k] for d in done)) for k in (1, 2, 3))
            gradient.transitions += s.transition_counts(*self._observed) - s.transition_counts(*expected)
        self.rows.transpose_scores(s.node_coefficients(residual), gradient.unary)
        return total

    @cached_property
    def _observed_columns(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Rows and columns that the outputs without hidden labels have: of labels and, if transitions are observed, of
        pairs."""
        n, complete = self.structure.n_labels_, ~self._partial_rows
        found = [(rows := np.flatnonzero(complete), self.y[rows])]
        if self.structure.observed_:
            complete = complete.copy()
            complete[self.offsets[:-1][np.diff(self.offsets) > 0]] = False  # nothing comes before the first row
            rows = np.flatnonzero(complete)
            found.append((rows, n * (1 + self.y[rows - 1]) + self.y[rows]))
        return found

    @cached_property
    def _observed(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Transitions of the outputs without hidden labels."""
        arrays = tuple(np.zeros_like(a) for a in self.structure.allowed())
        lengths = np.where(self.partial, 0, np.diff(self.offsets))
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        fb.path_counts(offsets, self.y[~self._partial_rows], self.rows.kernel_weights, arrays[0], arrays[1], arrays[2])
        return arrays  # type: ignore[return-value]

    def _block_likelihood(self, lo, hi, unary, chain, marginals):
        first, last = self.offsets[lo], self.offsets[hi]
        offsets = self.offsets[lo : hi + 1] - first
        log_z, path = np.zeros(hi - lo), np.zeros(hi - lo)
        counts = [np.zeros_like(a) for a in chain]
        weights = self.rows.kernel_weights[lo:hi]
        fb.forward_backward_batch(offsets, unary[first:last], chain, weights, marginals[first:last], log_z, counts)
        fb.path_scores(offsets, self.y[first:last], unary[first:last], *chain, path)  # means nothing with hidden labels
        if np.any(self.partial[lo:hi]):
            self._force_block(lo, hi, unary, chain, marginals, path, counts)
        gains = path - log_z
        return (float(np.sum(weights * gains if weights.size else gains)), *counts)

    def _force_block(self, lo, hi, unary, chain, marginals, path, counts) -> None:
        """Put log Z(forced) into ``path`` and subtract the forced expectations, for the examples with hidden labels."""
        partial = self.partial[lo:hi]
        rows = self.offsets[lo] + np.flatnonzero(self._partial_rows[self.offsets[lo] : self.offsets[hi]])
        lengths = np.diff(self.offsets[lo : hi + 1])[partial]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        forced = unary[rows]
        force_labels(forced, self.y[rows], self.structure.n_labels_)
        agreeing, log_z = np.zeros_like(forced), np.zeros(lengths.size)
        agreeing_counts = [np.zeros_like(a) for a in chain]
        weights = self.rows.kernel_weights[lo:hi]
        weights = weights[partial] if weights.size else weights
        fb.forward_backward_batch(offsets, forced, chain, weights, agreeing, log_z, agreeing_counts)
        path[partial] = log_z
        marginals[rows] -= agreeing
        for a, b in zip(counts, agreeing_counts):
            a -= b

    # -- margins --------------------------------------------------------------------------------------------------
    def violations(self, weights: Weights) -> np.ndarray:
        """Slack of every example: the violation of its most violating output (0 at least)."""
        chain = self.chain(weights)
        return np.concatenate([part._violations(weights, chain) for part in self._parts])

    def _violations(self, weights: Weights, chain: tuple) -> np.ndarray:
        unary = self.scores(weights)
        found, violations = np.empty_like(self.y), np.zeros(self.n_examples)

        def block(lo: int, hi: int) -> None:
            first, last = self.offsets[lo], self.offsets[hi]
            offsets, y = self.offsets[lo : hi + 1] - first, self.y[first:last]
            true = np.zeros(hi - lo)
            fb.path_scores(offsets, y, unary[first:last], *chain, true)
            find_violators(
                self.structure.loss_, self.rescaling, self.norm, offsets, unary[first:last], *chain, y, true,
                found[first:last], violations[lo:hi],
            )  # fmt: skip

        map_threads(block, blocks(self.n_examples), self.n_jobs)
        return np.maximum(violations, 0.0)

    def violator(self, i: int, weights: Weights, chain) -> tuple[float, float, np.ndarray]:
        """Most violating output of example ``i``: (violation, offset of its constraint, label numbers)."""
        lo, hi = self.offsets[i], self.offsets[i + 1]
        found = np.empty(hi - lo, np.int32)
        h, offset = frank_wolfe.example_violator(
            self.features, self.window, self.label_map, lo, self.y[lo:hi],
            self.structure.loss_, self.rescaling, self.norm,
            weights.unary, *chain, found,
        )  # fmt: skip
        return h, offset, found

    def constraint(self, i: int, found: np.ndarray, offset: float, work: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Scaled joint-feature difference of the true output and ``found``: (flat indices, values)."""
        lo, hi = self.offsets[i], self.offsets[i + 1]
        s = self.structure
        indices, values = frank_wolfe.joint_difference(
            self.features, self.label_map, lo, self.y[lo:hi], found, s.order_, s.eta_, s.n_transitions_, work
        )
        return indices, (values if self.rescaling == RESCALINGS["margin"] else values * offset)

    def frank_wolfe_epoch(self, weights: Weights, dual, order: np.ndarray, C: float) -> None:
        """One pass of block-coordinate Frank-Wolfe in the given order; updates everything in place."""
        s = self.structure
        frank_wolfe.frank_wolfe_epoch(
            self.features, self.window, self.label_map, self.offsets, self.y, self.rows.kernel_weights, order,
            s.order_, s.eta_, s.loss_, self.rescaling, self.norm, C,
            weights.unary, weights.transitions, *self.chain(weights),
            dual.rows, dual.transitions, dual.linear, dual.mass, dual.norm, dual.work, dual.gaps,
            True if s.observed_ else None,
        )  # fmt: skip
