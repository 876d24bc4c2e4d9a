"""Working sets of the smooth large-margin learners [thesis 7.1, 7.2].

An entry is a wrong output of an example beside the target it is compared with. Its *margin*, how much better the target
scores, is linear in the scores of the parts (nodes at rows, transitions): ``A`` times those, with a sparse ``A`` that
is 1 where only the target has a part and -1 where only the wrong output has it. So no joint feature vector is ever
made: parameters give part scores, and coefficients of margins give coefficients of parts.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from accord.packed.problem import Wrong
from accord.packed.rescaling import RESCALINGS
from accord.packed.rows import Rows
from accord.packed.tables import runs, sums_by_input
from accord.threads import map_threads


class Entries:
    """Wrong outputs of packed examples, sorted by example: the book-keeping.

    Parameters
    ----------
    structure : fitted structure
    offsets : int64 array (n_examples + 1,)
        Example ``i`` owns rows ``offsets[i]:offsets[i + 1]`` of all rows; the first need not be row 0.
    targets : int32 array (number of those rows, ...)
        Outputs that wrong ones are compared with; hidden for all rows of an example that has no target yet.
    n_jobs : threads for decoding
    """

    def __init__(self, structure: Any, offsets: np.ndarray, targets: np.ndarray, n_jobs: int = 1) -> None:
        self.structure, self.n_jobs = structure, n_jobs
        self.first_row = int(offsets[0])
        self.offsets = np.ascontiguousarray(offsets - offsets[0], np.int64)
        self.lengths = np.diff(self.offsets)
        self.targets = np.ascontiguousarray(targets, np.int32).copy()
        self.example = np.empty(0, np.int64)
        self.labels = self.targets[:0]
        self.delta = np.empty(0)
        self.idle = np.empty(0, np.int64)
        self.n_incomplete = 0

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

    def retarget(self, targets: np.ndarray) -> tuple[int, int]:
        """Take other targets and forget the entries of examples whose target has changed: (changed, dropped).

        A first target is no change.
        """
        different = (targets != self.targets).reshape(len(targets), -1).any(axis=1)
        changed = sums_by_input(different, self.offsets) > 0
        n_changed = int(np.count_nonzero(changed & self.has_target))
        self.targets = np.ascontiguousarray(targets, np.int32).copy()
        return n_changed, self.keep(~changed[self.example])

    def starts(self) -> np.ndarray:
        """Where each entry begins in ``labels``."""
        lengths = self.lengths[self.example]
        return (np.cumsum(lengths) - lengths).astype(np.int64)

    def add(self, wrong: Wrong, chosen: np.ndarray) -> int:
        """Add the chosen ones of the outputs that were found."""
        lengths = self.lengths[wrong.example]
        labels = wrong.labels[np.repeat(chosen, lengths)]
        example = np.concatenate([self.example, wrong.example[chosen]])
        starts = np.concatenate([self.starts(), len(self.labels) + np.cumsum(lengths[chosen]) - lengths[chosen]])
        order = np.argsort(example, kind="stable")
        every = np.concatenate([self.labels, labels])
        self.labels = every[runs(starts[order], self.lengths[example[order]])]
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


class ExampleWorkingSet(Entries):
    """Wrong outputs of any structure, found one example at a time; ``rows`` are all rows, ``offsets`` name some."""

    def __init__(self, structure: Any, rows: Rows, offsets: np.ndarray, targets: np.ndarray, n_jobs: int = 1) -> None:
        super().__init__(structure, offsets, targets, n_jobs)
        tokens = rows.tokens
        self._contexts = [structure.context(None if tokens is None else tokens[lo:hi]) for lo, hi in pairwise(offsets)]
        self._features: dict[tuple[int, bytes], tuple[np.ndarray, np.ndarray]] = {}

    def predict(self, unary: np.ndarray, chain: Any, given: np.ndarray | None = None) -> np.ndarray:
        """Best outputs for the scores of nodes at these rows, hidden where there is none."""

        def best(i: int) -> np.ndarray:
            y, score = self.structure.best(self._parts(i, unary, chain))
            return y if score > -np.inf else self.structure.hidden(int(self.lengths[i]))

        found = map_threads(best, [(i,) for i in range(self.n_examples)], self.n_jobs)
        return np.concatenate(found) if found else self.targets

    def find(
        self, unary: np.ndarray, chain: Any, rescaling: str = "margin", reach: float = 0.0, wanted: int = 0
    ) -> Wrong:
        """The worst output of each example that is not an entry yet: others are not listed."""
        first = np.searchsorted(self.example, np.arange(self.n_examples + 1))
        starts = self.starts()

        def worst(i: int) -> tuple[np.ndarray, float, float] | None:
            target, parts = self.targets[self._span(i)], self._parts(i, unary, chain)
            output = self._worst(parts, target, rescaling)
            if output is None:
                return None
            size = len(output)
            if any(np.array_equal(output, self.labels[at : at + size]) for at in starts[first[i] : first[i + 1]]):
                return None
            margin = self.structure.score(parts, target) - self.structure.score(parts, output)
            return output, self.structure.loss_between(target, output), margin

        known = np.flatnonzero(self.has_target)
        self.n_incomplete = known.size
        found = map_threads(worst, [(int(i),) for i in known], self.n_jobs)
        here = [(i, *one) for i, one in zip(known, found) if one is not None]
        return Wrong(
            np.array([i for i, _, _, _ in here], np.int64),
            np.concatenate([self.labels[:0], *(output for _, output, _, _ in here)]),
            np.array([delta for _, _, delta, _ in here], float),
            np.array([margin for _, _, _, margin in here], float),
        )

    def _worst(self, parts: Any, target: np.ndarray, rescaling: str) -> np.ndarray | None:
        """The most violating wrong output; where none violates the margin, that of largest score."""
        violation, _, found = self.structure.find_violator(parts, target, RESCALINGS[rescaling], 1)
        if violation > 0.0 and not np.array_equal(found, target):
            return found
        return next((y for y, _ in self.structure.k_best(parts, 2) if not np.array_equal(y, target)), None)

    def matrix(self, n_rows: int) -> sp.csr_array:
        s = self.structure
        n_parts, starts = n_rows * s.n_nodes_, self.starts()
        indptr = [0]
        columns: list[np.ndarray] = [np.empty(0, np.int64)]
        values: list[np.ndarray] = [np.empty(0)]
        for i, at in zip(self.example.tolist(), starts.tolist()):
            span = self._span(i)
            plus = self._parts_used(i, self.targets[span])
            minus = self._parts_used(i, self.labels[at : at + span.stop - span.start])
            every, inverse = np.unique(np.concatenate([plus[0], minus[0]]), return_inverse=True)
            value = np.bincount(inverse, np.concatenate([plus[1], -minus[1]]), every.size)
            here = np.flatnonzero(value)
            moved, at_node = every[here], every[here] >= 0
            # transitions are numbered below 0, so that nodes can be numbered from the first row of their example
            first = (self.first_row + span.start) * s.n_nodes_
            columns.append(np.where(at_node, first + moved, n_parts - 1 - moved))
            values.append(value[here])
            indptr.append(indptr[-1] + here.size)
        data = np.concatenate(values), np.concatenate(columns), np.array(indptr)
        return sp.csr_array(data, shape=(self.size, n_parts + s.n_transitions_))

    def _parts_used(self, i: int, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Parts of an output (nodes counted from its first row, transitions as -1, -2, ...), and how often."""
        key = i, y.tobytes()
        if key not in self._features:
            counts = np.zeros(self.structure.n_transitions_)
            entries = self.structure.count_parts(y, counts)
            used = np.flatnonzero(counts)
            nodes = entries[:, 0] * self.structure.n_nodes_ + entries[:, 1]
            times = np.concatenate([np.ones(len(entries)), counts[used]])
            self._features[key] = np.concatenate([nodes, -1 - used]), times
        return self._features[key]

    def keep(self, kept: np.ndarray) -> int:
        dropped = super().keep(kept)
        if dropped:  # what dropped outputs were made of is not needed any more
            self._features.clear()
        return dropped

    def _span(self, i: int) -> slice:
        return slice(int(self.offsets[i]), int(self.offsets[i + 1]))

    def _parts(self, i: int, unary: np.ndarray, transitions: np.ndarray) -> Any:
        return self.structure.part_scores(self._contexts[i], unary[self._span(i)], transitions)
