"""The k best trees of a sentence."""

from __future__ import annotations

import numpy as np

from accord.decoders import cky
from accord.decoders.cky_k_best import k_best_trees, new_nodes

# Nodes that are looked at, for each token; most sentences need fewer.
NODES = 32


def k_best(
    grammar: cky.Grammar, parts: cky.TreeScores, brackets: cky.Brackets, chart: np.ndarray, k: int
) -> list[tuple[np.ndarray, float]]:
    """At most ``k`` trees with their scores, best first."""
    n_tokens = parts.leaf.shape[0]
    if n_tokens == 0:
        return [(np.empty((0, 4), np.int32), 0.0)]
    cky.fill_chart(grammar, parts, brackets, False, chart)
    trees, values = np.full((k, n_tokens, 4), -1, np.int32), np.empty(k)
    size, count = NODES * n_tokens, -1
    while count < 0:
        trees[:] = -1
        count = k_best_trees(new_nodes(size, k), grammar, parts, chart, trees, values)
        size *= 4
    return [(trees[i].copy(), float(values[i])) for i in range(count)]
