"""Working sets of the smooth large-margin learners [thesis 7.1, 7.2].

An entry is a wrong output of an example beside the target it is compared with. Its *margin*, how much better the target
scores, is linear in the scores of the parts (labels at rows, transitions): ``A`` times those, with a sparse ``A`` that
is 1 where only the target has a part and -1 where only the wrong output has it. So no joint feature vector is ever
made: parameters give part scores, and coefficients of margins give coefficients of parts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from accord.kernels.chains import working_sets as kernels
from accord.kernels.chains.viterbi import force_labels
from accord.structures.chains.chain import ChainStructure
from accord.threads import map_threads

# Examples per block of parallel work. Fixed, so that results do not depend on the number of threads.
BLOCK = 1024


class Wrong(NamedTuple):
    """Wrong outputs that have been found, sorted by example."""

    example: np.ndarray  # (n,) int64
    labels: np.ndarray  # their label numbers, one output after another
    delta: np.ndarray  # (n,) loss
    margin: np.ndarray  # (n,) how much better the target scores


class WorkingSet:
    """Wrong outputs of packed examples, sorted by example.

    Parameters
    ----------
    structure : fitted ChainStructure
    offsets : int64 array (n_examples + 1,)
        Example ``i`` owns rows ``offsets[i]:offsets[i + 1]`` of all rows; the first need not be row 0.
    targets : int32 array (number of those rows,)
        Label numbers that wrong outputs are compared with; -1 for all rows of an example that has no target yet.
    n_jobs : threads for decoding
    """

    def __init__(self, structure: ChainStructure, offsets: np.ndarray, targets: np.ndarray, n_jobs: int = 1) -> None:
        self.structure, self.n_jobs = structure, n_jobs
        self.first_row = int(offsets[0])
        self.offsets = np.ascontiguousarray(offsets - offsets[0], np.int64)
        self.lengths = np.diff(self.offsets)
        self.targets = np.ascontiguousarray(targets, np.int32).copy()
        self.example = np.empty(0, np.int64)
        self.labels = self.targets[:0]
        self.delta = np.empty(0)
        self.idle = np.empty(0, np.int64)

    @property
    def size(self) -> int:
        return self.example.size

    @property
    def n_examples(self) -> int:
        return self.offsets.size - 1

    @property
    def rows(self) -> slice:
        """The rows of these examples."""
        return slice(self.first_row, self.first_row + len(self.targets))

    @property
    def has_target(self) -> np.ndarray:
        """Which examples have a target (and at least one row)."""
        known = np.zeros(self.n_examples, np.bool_)
        there = self.lengths > 0
        known[there] = ~self.structure.is_hidden(self.targets[self.offsets[:-1][there]])
        return known

    # -- decoding -------------------------------------------------------------------------------------------------
    def _blocks(self) -> list[tuple[int, int]]:
        return [(lo, min(lo + BLOCK, self.n_examples)) for lo in range(0, self.n_examples, BLOCK)]

    def predict(self, unary: np.ndarray, chain: tuple, given: np.ndarray | None = None) -> np.ndarray:
        """Best outputs for the scores of these rows, -1 for examples without one; ``given`` label numbers are kept."""
        found, feasible = np.empty(self.targets.size, np.int32), np.empty(self.n_examples, np.bool_)
        if given is not None:
            unary = unary.copy()
            force_labels(unary, given)

        def block(lo: int, hi: int) -> None:
            first, last = self.offsets[lo], self.offsets[hi]
            offsets = self.offsets[lo : hi + 1] - first
            kernels.decode(offsets, unary[first:last], *chain, found[first:last], feasible[lo:hi])

        map_threads(block, self._blocks(), self.n_jobs)
        found[~np.repeat(feasible, self.lengths)] = -1
        return found

    def retarget(self, targets: np.ndarray) -> tuple[int, int]:
        """Take other targets and forget the entries of examples whose target has changed: (changed, dropped).

        A first target is no change.
        """
        different = (targets != self.targets).reshape(len(targets), -1).any(axis=1)
        changed = np.diff(np.concatenate([[0], np.cumsum(different)])[self.offsets]) > 0
        n_changed = int(np.count_nonzero(changed & self.has_target))
        self.targets = np.ascontiguousarray(targets, np.int32).copy()
        return n_changed, self.keep(~changed[self.example])

    def find(self, unary: np.ndarray, chain: tuple) -> Wrong:
        """Wrong outputs that are not entries yet: the worst of each example, and of classes all."""
        if self.structure.single_row:
            return self._classes(unary)
        n = self.n_examples
        found = np.empty(self.targets.size, np.int32)
        delta, margin, listed = np.empty(n), np.empty(n), np.empty(n, np.bool_)
        targets = np.maximum(self.targets, 0)
        starts, first = self._starts(), np.searchsorted(self.example, np.arange(n + 1))

        def block(lo: int, hi: int) -> None:
            a, b = self.offsets[lo], self.offsets[hi]
            offsets = self.offsets[lo : hi + 1] - a
            kernels.wrong_outputs(
                self.structure.loss_, offsets, unary[a:b], *chain, targets[a:b], found[a:b], delta[lo:hi], margin[lo:hi]
            )
            kernels.is_listed(offsets, found[a:b], first[lo : hi + 1], starts, self.labels, listed[lo:hi])

        map_threads(block, self._blocks(), self.n_jobs)
        new = np.flatnonzero((delta >= 0.0) & ~listed & self.has_target)
        return Wrong(new, found[_ragged(self.offsets[new], self.lengths[new])], delta[new], margin[new])

    def _classes(self, unary: np.ndarray) -> Wrong:
        """All wrong classes, of which there are few enough to look at each."""
        n, n_labels = unary.shape
        targets = np.maximum(self.targets, 0)
        new = np.repeat(self.has_target[:, None], n_labels, axis=1)
        new[np.arange(n), targets] = False
        new[self.example, self.labels] = False
        example, label = np.nonzero(new)
        target = targets[example]
        costs = self.structure.loss_.cost
        delta = costs[target, label] if costs.size else np.ones(example.size)
        return Wrong(
            example, label.astype(np.int32), delta.astype(float), unary[example, target] - unary[example, label]
        )

    # -- entries --------------------------------------------------------------------------------------------------
    def _starts(self) -> np.ndarray:
        """Where each entry begins in ``labels``."""
        lengths = self.lengths[self.example]
        return (np.cumsum(lengths) - lengths).astype(np.int64)

    def add(self, wrong: Wrong, chosen: np.ndarray) -> int:
        """Add the chosen ones of the outputs that were found."""
        lengths = self.lengths[wrong.example]
        labels = wrong.labels[np.repeat(chosen, lengths)]
        example = np.concatenate([self.example, wrong.example[chosen]])
        starts = np.concatenate([self._starts(), len(self.labels) + np.cumsum(lengths[chosen]) - lengths[chosen]])
        order = np.argsort(example, kind="stable")
        every = np.concatenate([self.labels, labels])
        self.labels = every[_ragged(starts[order], self.lengths[example[order]])]
        self.example = example[order]
        self.delta = np.concatenate([self.delta, wrong.delta[chosen]])[order]
        self.idle = np.concatenate([self.idle, np.zeros(lengths[chosen].size, np.int64)])[order]
        return int(chosen.sum())

    def keep(self, kept: np.ndarray) -> int:
        """Drop the other entries; returns how many those are."""
        self.labels = self.labels[np.repeat(kept, self.lengths[self.example])]
        self.example, self.delta, self.idle = self.example[kept], self.delta[kept], self.idle[kept]
        return int(np.count_nonzero(~kept))

    def shrink(self, used: np.ndarray, patience: int) -> int:
        """Drop entries that have not been used ``patience`` times in a row; returns how many those are."""
        self.idle = np.where(used, 0, self.idle + 1)
        return self.keep(self.idle < patience)

    def segments(self) -> np.ndarray:
        """The first entry of every example that has entries."""
        return np.flatnonzero(np.diff(self.example, prepend=-1))

    def matrix(self, n_rows: int) -> sp.csr_array:
        """What turns part scores of ``n_rows`` rows into margins: (n_entries, n_parts)."""
        s = self.structure
        starts = self.offsets[self.example]
        n_parts = n_rows * s.n_labels_
        indptr, indices, values = kernels.differences(
            starts + self.first_row, self.lengths[self.example], starts, self.targets, self._starts(), self.labels,
            s.n_labels_, n_parts, s.order_, s.eta_, s.n_transitions_ > 0,
        )  # fmt: skip
        return sp.csr_array((values, indices, indptr), shape=(self.size, n_parts + s.n_transitions_))


def _ragged(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Positions of runs that begin at ``starts``, one after another."""
    shift = starts - (np.cumsum(lengths) - lengths)
    return np.repeat(shift, lengths) + np.arange(int(lengths.sum()))
