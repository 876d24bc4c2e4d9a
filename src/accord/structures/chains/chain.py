"""Chains as learners see them: packed inputs decoded, and training sets whose loops run inside kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from accord.exceptions import InfeasibleError, InputError
from accord.kernels.chains import forward_backward as fb
from accord.kernels.chains import viterbi as vit
from accord.kernels.chains.co_svm import predict_with_margin
from accord.packed.rows import Rows
from accord.packed.tables import sums_by_input
from accord.packed.weights import Parts
from accord.structures.base import input_numbers, raise_infeasible
from accord.structures.chains.consensus import ChainConsensusProblem
from accord.structures.chains.decoding import ChainDecoders
from accord.structures.chains.problem import ChainProblem
from accord.structures.chains.working_sets import ChainWorkingSet


class ChainStructure(ChainDecoders):
    """Base of the structures whose outputs are chains of labels."""

    def check_partial(self, y: np.ndarray, lengths: Sequence[int] | np.ndarray, index: np.ndarray) -> None:
        """Some allowed output has the labels of every output in which others are hidden (-1)."""
        if not np.any(y < 0) or not len(self.forbidden_):
            return
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        unary = np.zeros((y.size, self.n_labels_))
        vit.force_labels(unary, y, self.n_labels_)
        scores = np.empty(offsets.size - 1)
        vit.viterbi_batch(offsets, unary, *self.allowed(), np.empty_like(y), scores)
        bad = np.flatnonzero((sums_by_input(y < 0, offsets) > 0) & (scores == -np.inf))
        if bad.size:
            raise InfeasibleError(
                f"Y[{index[bad[0]]}]: no output that the constraints allow has its labels, whatever the hidden ones "
                "are; correct them or relax the constraints"
            )

    # -- what learners do with packed inputs ------------------------------------------------------------------------
    def best_outputs(
        self, rows: Rows, unary: np.ndarray, transitions: np.ndarray, given: Sequence[Any] | None = None,
        first: Any = 0, failures: list[tuple[int, bool]] | None = None,
    ) -> np.ndarray:  # fmt: skip
        """Label numbers of the best outputs of packed inputs, from their label scores (which are changed).

        ``given`` labels are kept; ``first`` is the number of the first input in error messages, or the numbers of all.
        ``failures`` stays empty: labels that cannot be had are an error.
        """
        self._force(rows, unary, given, first)
        y, scores = np.empty(rows.n_rows, np.int32), np.empty(rows.n_inputs)
        vit.viterbi_batch(rows.offsets, unary, *self.chain(transitions), y, scores)
        raise_infeasible(scores, first, unary, rows.offsets)
        return y

    def likely_outputs(
        self, rows: Rows, unary: np.ndarray, transitions: np.ndarray, given: Sequence[Any] | None = None,
        first: Any = 0, failures: list[tuple[int, bool]] | None = None,
    ) -> np.ndarray:  # fmt: skip
        """As :meth:`best_outputs`, but of all allowed outputs those whose rows are expected to cost least.

        A cost that is a sum over rows has an expectation that is a sum over rows, of label probabilities times costs:
        the same decoder finds the least, given which transitions are allowed.
        """
        self._force(rows, unary, given, first)
        chain = self.chain(transitions)
        found, log_z = np.zeros_like(unary), np.zeros(rows.n_inputs)
        counts = (np.zeros_like(a) for a in chain)
        fb.forward_backward_batch(rows.offsets, unary, chain, np.empty(0), found, log_z, counts)
        raise_infeasible(log_z, first, unary, rows.offsets)
        found, unary = np.ascontiguousarray(found[:, : self.n_labels_]), unary[:, : self.n_labels_]
        cost = self.loss_.cost
        if cost.shape[1:] == (self.n_labels_,):
            found = -(found @ cost)
        elif cost.size:  # what any other label costs
            found *= cost[:, 0]
        if given is not None:
            found[unary == -np.inf] = -np.inf
        y, scores = np.empty(rows.n_rows, np.int32), np.empty(rows.n_inputs)
        vit.viterbi_batch(rows.offsets, found, *self.allowed(), y, scores)
        return y

    def _force(self, rows: Rows, unary: np.ndarray, given: Sequence[Any] | None, first: Any) -> None:
        """Forbid everything but the given labels, where there are any."""
        number = input_numbers(first, rows.n_inputs)
        for i, labels in enumerate(() if given is None else given):
            if labels is not None:
                here = slice(rows.offsets[i], rows.offsets[i + 1])
                labels = [labels] if self.single_row else labels
                if not isinstance(labels, (list, tuple, np.ndarray)):
                    kind = type(labels).__name__
                    raise InputError(f"given[{number[i]}] is a {kind}; expected a list of labels and None, or None")
                if len(labels) != here.stop - here.start:
                    raise InputError(
                        f"given[{number[i]}] has {len(labels)} labels but X[{number[i]}] has "
                        f"{here.stop - here.start} tokens"
                    )
                unary[here] = self.forced_unary(unary[here], list(labels), f"given[{number[i]}]")

    def parts_of(self, rows: Rows, unary: np.ndarray, transitions: np.ndarray) -> Iterator[Parts]:
        """Part scores of each packed input."""
        chain = self.chain(transitions)
        for lo, hi in pairwise(rows.offsets.tolist()):
            yield Parts(unary[lo:hi], *chain)

    def marginals_of(self, rows: Rows, unary: np.ndarray, transitions: np.ndarray, first: int = 0) -> list[np.ndarray]:
        """Label probabilities (n_rows, n_labels) of each packed input."""
        chain = self.chain(transitions)
        marginals, log_z = np.zeros_like(unary), np.zeros(rows.n_inputs)
        counts = (np.zeros_like(a) for a in chain)
        fb.forward_backward_batch(rows.offsets, unary, chain, np.empty(0), marginals, log_z, counts)
        raise_infeasible(log_z, first, unary, rows.offsets)
        return [marginals[lo:hi, : self.n_labels_] for lo, hi in pairwise(rows.offsets.tolist())]

    def margins_of(self, rows: Rows, unary: np.ndarray, transitions: np.ndarray) -> np.ndarray:
        """By how much the best labels of each packed input beat the second best (n_inputs,)."""
        y, margins = np.empty(rows.n_rows, np.int32), np.empty(rows.n_inputs)
        predict_with_margin(rows.offsets, unary, *self.chain(transitions), y, margins)
        return margins

    # -- learning ---------------------------------------------------------------------------------------------------
    def problem(
        self, rows: Rows, y: np.ndarray, rescaling: str = "margin", norm: int = 1, n_jobs: int = 1
    ) -> ChainProblem:
        return ChainProblem(self, rows, y, rescaling, norm, n_jobs)

    def consensus_problem(
        self, channels: Sequence[Rows], y: np.ndarray, rescaling: str = "margin", norm: int = 1
    ) -> ChainConsensusProblem:
        return ChainConsensusProblem(self, channels, y, rescaling, norm)

    def working_set(self, rows: Rows, offsets: np.ndarray, targets: np.ndarray, n_jobs: int = 1) -> ChainWorkingSet:
        return ChainWorkingSet(self, offsets, targets, n_jobs)
