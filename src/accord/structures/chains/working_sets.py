"""Working sets of chains: wrong outputs found by kernels, many examples at a time."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from accord.kernels.chains import listing
from accord.kernels.chains import working_sets as kernels
from accord.kernels.chains.viterbi import force_labels, viterbi_batch
from accord.packed.problem import Wrong
from accord.packed.rescaling import RESCALINGS
from accord.packed.tables import runs
from accord.structures.generic.working_sets import Entries
from accord.threads import map_threads

# Examples per block of parallel work. Fixed, so that results do not depend on the number of threads.
BLOCK = 1024


def blocks(n_examples: int) -> list[tuple[int, int]]:
    """The first and the last example of each block of parallel work, the last not included."""
    return [(lo, min(lo + BLOCK, n_examples)) for lo in range(0, n_examples, BLOCK)]


class ChainWorkingSet(Entries):
    """Wrong label sequences: the worst of each example or all near the margin, and of classes all."""

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

    def find(
        self, unary: np.ndarray, chain: tuple, rescaling: str = "margin", reach: float = 0.0, wanted: int = 0
    ) -> Wrong:
        """Wrong outputs that are not entries yet: of classes all; of sequences up to ``wanted`` of those within
        ``reach`` of the margin, and the worst of examples that have more.
        """
        if self.structure.single_row:
            return self._classes(unary)
        listed, complete = self._near(unary, chain, rescaling, reach, wanted)
        self.n_incomplete = int(np.count_nonzero(self.has_target & ~complete))
        worst = self._worst(unary, chain, rescaling, self.has_target & ~complete)
        worst = self._not_among(listed.example, listed.labels, worst)
        return self._not_among(self.example, self.labels, self._joined(listed, worst))

    def _worst(self, unary: np.ndarray, chain: tuple, rescaling: str, chosen: np.ndarray) -> Wrong:
        """The worst wrong output of each of the chosen examples that has one."""
        n, targets = self.n_examples, np.maximum(self.targets, 0)
        found, delta, margin = np.empty(targets.size, np.int32), np.empty(n), np.empty(n)

        def block(lo: int, hi: int) -> None:
            a, b = self.offsets[lo], self.offsets[hi]
            kernels.wrong_outputs(
                self.structure.loss_, RESCALINGS[rescaling], self.offsets[lo : hi + 1] - a, unary[a:b], *chain,
                targets[a:b], found[a:b], delta[lo:hi], margin[lo:hi],
            )  # fmt: skip

        if chosen.any():
            map_threads(block, blocks(n), self.n_jobs)
        here = np.flatnonzero(chosen & (delta >= 0.0)) if chosen.any() else np.empty(0, np.int64)
        return Wrong(here, found[runs(self.offsets[here], self.lengths[here])], delta[here], margin[here])

    def _near(
        self, unary: np.ndarray, chain: tuple, rescaling: str, reach: float, wanted: int
    ) -> tuple[Wrong, np.ndarray]:
        """Outputs within ``reach`` of the margin, ``wanted`` at most for each example, and of which these are all."""
        n, targets, way = self.n_examples, np.maximum(self.targets, 0), RESCALINGS[rescaling]
        # else cut lists would grow with every change of the weights
        full = np.bincount(self.example, minlength=n) >= wanted
        limits = np.where(self.has_target & ~full, wanted, 0)
        bounds, counts, complete = np.empty(n), np.zeros(n, np.int64), np.zeros(n, np.bool_)

        def arguments(lo: int, hi: int) -> tuple:
            a, b = self.offsets[lo], self.offsets[hi]
            return self.structure.loss_, way, self.offsets[lo : hi + 1] - a, unary[a:b], *chain, targets[a:b]

        def count(lo: int, hi: int) -> None:
            here = slice(lo, hi)
            listing.count_outputs(
                *arguments(lo, hi), float(reach), limits[here], bounds[here], counts[here], complete[here]
            )

        if wanted:
            map_threads(count, blocks(n), self.n_jobs)
        ends, label_ends = (np.concatenate([[0], np.cumsum(k)]) for k in (counts, counts * self.lengths))
        labels, delta, margin = np.empty(label_ends[-1], np.int32), np.empty(ends[-1]), np.empty(ends[-1])

        def write(lo: int, hi: int) -> None:
            here, at = slice(ends[lo], ends[hi]), slice(label_ends[lo], label_ends[hi])
            listing.list_outputs(
                *arguments(lo, hi), bounds[lo:hi], counts[lo:hi], labels[at], delta[here], margin[here]
            )

        if wanted:
            map_threads(write, blocks(n), self.n_jobs)
        return Wrong(np.repeat(np.arange(n), counts), labels, delta, margin), complete

    def _joined(self, a: Wrong, b: Wrong) -> Wrong:
        """Two lists of outputs as one, sorted by example."""
        example = np.concatenate([a.example, b.example])
        order = np.argsort(example, kind="stable")
        lengths = self.lengths[example]
        labels = np.concatenate([a.labels, b.labels])[runs((np.cumsum(lengths) - lengths)[order], lengths[order])]
        return Wrong(
            example[order],
            labels,
            np.concatenate([a.delta, b.delta])[order],
            np.concatenate([a.margin, b.margin])[order],
        )

    def _not_among(self, example: np.ndarray, labels: np.ndarray, wrong: Wrong) -> Wrong:
        """Outputs that are not among others (sorted by example, too)."""
        lengths, others = self.lengths[wrong.example], self.lengths[example]
        listed = np.zeros(wrong.example.size, np.bool_)
        listing.is_listed(
            wrong.example, self.lengths, np.cumsum(lengths) - lengths, wrong.labels,
            np.searchsorted(example, np.arange(self.n_examples + 1)), np.cumsum(others) - others, labels, listed,
        )  # fmt: skip
        new = ~listed
        return Wrong(wrong.example[new], wrong.labels[np.repeat(new, lengths)], wrong.delta[new], wrong.margin[new])

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
