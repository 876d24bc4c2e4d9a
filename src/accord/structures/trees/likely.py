"""Trees of probable constituents: the most right ones that can be expected, against the wrong ones [Goodman 1996]."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from accord.kernels.trees import cky, inside_outside, likely
from accord.kernels.trees.cky import Grammar, TreeScores

# What the probability of a symbol counts beside that of its constituents: it breaks ties, of tags for example.
TIE = 1e-6


class LikelyTrees:
    """Finds trees by the probabilities of their constituents.

    Of all trees of a sentence, the one with the largest sum over its constituents of ``probability - doubt``. With a
    doubt of 0 it has the most right constituents to be expected; with 1/2 the fewest that are only in one of the two
    trees, the true one and itself.

    Parameters
    ----------
    grammar : Grammar
    n_labels : int
        Labels that constituents have.
    doubt : float
    """

    def __init__(self, grammar: Grammar, n_labels: int, doubt: float) -> None:
        self.grammar, self.doubt = grammar, doubt
        self.counts = constituents_of(grammar, n_labels, False)
        self.top_counts = constituents_of(grammar, n_labels, True)

    def find(
        self, parts: TreeScores, chart: np.ndarray, log_z: float, nothing: inside_outside.Expected
    ) -> tuple[np.ndarray, float]:
        """The tree and its worth, from inside sums, which are overwritten; ``nothing`` are counts of all parts."""
        n = parts.leaf.shape[0]
        tree = np.empty((n, 4), np.int32)
        posterior = inside_outside.outside(self.grammar, parts, chart, log_z, 1.0, nothing)
        worth = self._worth(posterior, self.counts)
        if n:
            top = cky.cell(0, n, n)
            worth[top] = self._worth(posterior[top : top + 1], self.top_counts)[0]
        worth[posterior == 0.0] = -np.inf
        return tree, float(likely.worthiest_tree(self.grammar, parts.rule, parts.start, worth, chart, tree))

    def _worth(self, posterior: np.ndarray, counts: sp.csr_array) -> np.ndarray:
        """What each symbol over each span is worth."""
        probability = posterior @ counts
        return np.asarray((probability - self.doubt) @ counts.T + TIE * posterior)


def constituents_of(grammar: Grammar, n_labels: int, is_root: bool) -> sp.csr_array:
    """Which constituents (n_symbols, n_labels * most) symbols stand for: a first NP, a second above it, ..."""
    rows, columns, most = [], [], 1
    for symbol in range(grammar.label_ptr.size - 1):
        first = cky.first_label(grammar, symbol, is_root)
        labels = grammar.labels[first : grammar.label_ptr[symbol + 1]].tolist()
        for i, label in enumerate(labels):
            again = labels[:i].count(label)
            rows.append(symbol)
            columns.append(again * n_labels + label)
            most = max(most, again + 1)
    shape = (grammar.label_ptr.size - 1, most * max(n_labels, 1))
    return sp.csr_array((np.ones(len(rows)), (np.array(rows, np.int64), np.array(columns, np.int64))), shape=shape)
