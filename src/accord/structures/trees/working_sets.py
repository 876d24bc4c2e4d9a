"""Working sets of parse trees: wrong trees beside the trees they are compared with; see :mod:`.working_sets`."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from accord.kernels.trees.features import tree_entries
from accord.structures.chains.working_sets import WorkingSet, Wrong
from accord.structures.rescaling import RESCALINGS
from accord.structures.trees.tree import Tree
from accord.threads import map_threads


class TreeWorkingSet(WorkingSet):
    """Wrong trees of packed sentences, sorted by sentence. Parts are nodes at tokens, and rules.

    ``tokens`` are those of all rows of these sentences.
    """

    structure: Tree  # type: ignore[assignment]

    def __init__(
        self, structure: Tree, offsets: np.ndarray, targets: np.ndarray, n_jobs: int, tokens: list[Any]
    ) -> None:
        super().__init__(structure, offsets, targets, n_jobs)
        self._allowed = [structure.leaf_allowed(tokens[lo:hi]) for lo, hi in zip(self.offsets, self.offsets[1:])]
        self._features: dict[tuple[int, bytes], tuple[np.ndarray, np.ndarray]] = {}

    def predict(self, unary: np.ndarray, chain: Any, given: np.ndarray | None = None) -> np.ndarray:
        """Best trees for the scores of nodes at these rows, -1 where the grammar has none."""

        def best(i: int) -> np.ndarray:
            return self.structure.parse(self._scores(i, unary, chain))[0]

        found = map_threads(best, [(i,) for i in range(self.n_examples)], self.n_jobs)
        return np.concatenate(found) if found else self.targets

    def find(self, unary: np.ndarray, chain: Any) -> Wrong:
        """The worst tree of each sentence that is not an entry yet."""
        first = np.searchsorted(self.example, np.arange(self.n_examples + 1))
        starts = self._starts()

        def worst(i: int) -> tuple[np.ndarray, float, float] | None:
            target, parts = self.targets[self._span(i)], self._scores(i, unary, chain)
            tree = self._worst(parts, target)
            if tree is None:
                return None
            size = len(tree)
            if any(np.array_equal(tree, self.labels[at : at + size]) for at in starts[first[i] : first[i + 1]]):
                return None
            margin = self.structure.score(parts, target) - self.structure.score(parts, tree)
            return tree, self.structure.loss_between(target, tree), margin

        known = np.flatnonzero(self.has_target)
        found = map_threads(worst, [(int(i),) for i in known], self.n_jobs)
        here = [(i, *one) for i, one in zip(known, found) if one is not None]
        return Wrong(
            np.array([i for i, _, _, _ in here], np.int64),
            np.concatenate([self.labels[:0], *(tree for _, tree, _, _ in here)]),
            np.array([delta for _, _, delta, _ in here], float),
            np.array([margin for _, _, _, margin in here], float),
        )

    def _worst(self, parts: Any, target: np.ndarray) -> np.ndarray | None:
        """The wrong tree of largest loss plus score; where none violates the margin, that of largest score."""
        found = np.empty_like(target)
        violation, _ = self.structure.find_violator(parts, target, RESCALINGS["margin"], 1, found)
        if violation > 0.0 and not np.array_equal(found, target):
            return found
        best = self.structure.k_best(parts, 2)
        return next((tree for tree, _ in best if not np.array_equal(tree, target)), None)

    def matrix(self, n_rows: int) -> sp.csr_array:
        s = self.structure
        n_parts, starts = n_rows * s.n_nodes_, self._starts()
        indptr = [0]
        columns: list[np.ndarray] = [np.empty(0, np.int64)]
        values: list[np.ndarray] = [np.empty(0)]
        for i, at in zip(self.example.tolist(), starts.tolist()):
            span = self._span(i)
            plus = self._tree_features(i, self.targets[span])
            minus = self._tree_features(i, self.labels[at : at + span.stop - span.start])
            every, inverse = np.unique(np.concatenate([plus[0], minus[0]]), return_inverse=True)
            value = np.bincount(inverse, np.concatenate([plus[1], -minus[1]]), every.size)
            here = np.flatnonzero(value)
            moved, at_node = every[here], every[here] >= 0
            # rules are numbered below 0, so that nodes can be numbered from the first token of their sentence
            first = (self.first_row + span.start) * s.n_nodes_
            columns.append(np.where(at_node, first + moved, n_parts - 1 - moved))
            values.append(value[here])
            indptr.append(indptr[-1] + here.size)
        data = np.concatenate(values), np.concatenate(columns), np.array(indptr)
        return sp.csr_array(data, shape=(self.size, n_parts + s.n_transitions_))

    def _tree_features(self, i: int, tree: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Parts of a tree of sentence ``i`` (nodes counted from its first token, rules as -1, -2, ...), how often."""
        key = i, tree.tobytes()
        if key not in self._features:
            s = self.structure
            rules, room = np.zeros(s.n_transitions_), np.empty((6 * len(tree) + 1, 2), np.int64)
            n = tree_entries(s.arrays_, s.grammar_.leaf_tag, s.n_tag_nodes_, len(s.anchors_), tree, room, rules)
            used = np.flatnonzero(rules)
            nodes = room[:n, 0] * s.n_nodes_ + room[:n, 1]
            self._features[key] = np.concatenate([nodes, -1 - used]), np.concatenate([np.ones(n), rules[used]])
        return self._features[key]

    def keep(self, kept: np.ndarray) -> int:
        dropped = super().keep(kept)
        if dropped:  # what dropped trees were made of is not needed any more
            self._features.clear()
        return dropped

    def _span(self, i: int) -> slice:
        return slice(int(self.offsets[i]), int(self.offsets[i + 1]))

    def _scores(self, i: int, unary: np.ndarray, transitions: np.ndarray) -> Any:
        return self.structure.scores(self._allowed[i], unary[self._span(i)], transitions)
