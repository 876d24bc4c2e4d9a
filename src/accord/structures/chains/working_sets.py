"""Working sets of chains: wrong outputs found by kernels, many examples at a time."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from accord.kernels.chains import working_sets as kernels
from accord.kernels.chains.viterbi import force_labels, viterbi_batch
from accord.packed.problem import Wrong
from accord.packed.tables import runs
from accord.structures.generic.working_sets import Entries
from accord.threads import map_threads

# Examples per block of parallel work. Fixed, so that results do not depend on the number of threads.
BLOCK = 1024


def blocks(n_examples: int) -> list[tuple[int, int]]:
    """The first and the last example of each block of parallel work, the last not included."""
    return [(lo, min(lo + BLOCK, n_examples)) for lo in range(0, n_examples, BLOCK)]


class ChainWorkingSet(Entries):
    """Wrong label sequences: the worst of each example, and of classes all."""

    def predict(self, unary: np.ndarray, chain: tuple, given: np.ndarray | None = None) -> np.ndarray:
        """Best outputs for the scores of these rows, -1 for examples without one; ``given`` label numbers are kept."""
        found, scores = np.empty(self.targets.size, np.int32), np.empty(self.n_examples)
        if given is not None:
            unary = unary.copy()
            force_labels(unary, given, self.structure.n_labels_)

        def block(lo: int, hi: int) -> None:
            first, last = self.offsets[lo], self.offsets[hi]
            offsets = self.offsets[lo : hi + 1] - first
            viterbi_batch(offsets, unary[first:last], *chain, found[first:last], scores[lo:hi])

        map_threads(block, blocks(self.n_examples), self.n_jobs)
        found[~np.repeat(scores > -np.inf, self.lengths)] = -1
        return found

    def find(self, unary: np.ndarray, chain: tuple) -> Wrong:
        """Wrong outputs that are not entries yet: the worst of each example, and of classes all."""
        if self.structure.single_row:
            return self._classes(unary)
        n = self.n_examples
        found = np.empty(self.targets.size, np.int32)
        delta, margin, listed = np.empty(n), np.empty(n), np.empty(n, np.bool_)
        targets = np.maximum(self.targets, 0)
        starts, first = self.starts(), np.searchsorted(self.example, np.arange(n + 1))

        def block(lo: int, hi: int) -> None:
            a, b = self.offsets[lo], self.offsets[hi]
            offsets = self.offsets[lo : hi + 1] - a
            kernels.wrong_outputs(
                self.structure.loss_, offsets, unary[a:b], *chain, targets[a:b], found[a:b], delta[lo:hi], margin[lo:hi]
            )
            kernels.is_listed(offsets, found[a:b], first[lo : hi + 1], starts, self.labels, listed[lo:hi])

        map_threads(block, blocks(self.n_examples), self.n_jobs)
        new = np.flatnonzero((delta >= 0.0) & ~listed & self.has_target)
        return Wrong(new, found[runs(self.offsets[new], self.lengths[new])], delta[new], margin[new])

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

    def matrix(self, n_rows: int) -> sp.csr_array:
        """What turns part scores of ``n_rows`` rows into margins: (n_entries, n_parts)."""
        s = self.structure
        starts = self.offsets[self.example]
        n_parts = n_rows * s.n_columns_
        indptr, indices, values = kernels.differences(
            starts + self.first_row, self.lengths[self.example], starts, self.targets, self.starts(), self.labels,
            s.n_labels_, s.n_columns_, n_parts, s.order_, s.eta_, s.n_transitions_,
        )  # fmt: skip
        return sp.csr_array((values, indices, indptr), shape=(self.size, n_parts + s.n_transitions_))
