"""The k best trees of a sentence."""

from __future__ import annotations

import numpy as np

from accord.exceptions import InputError
from accord.kernels.trees import cky
from accord.kernels.trees.k_best import k_best_trees, new_nodes

# Nodes that are looked at, for each token; most sentences need fewer.
NODES = 32
FIRST = 256  # trees that room is made for at first


def k_best(
    grammar: cky.Grammar, parts: cky.TreeScores, brackets: cky.Brackets, chart: np.ndarray, k: int
) -> list[tuple[np.ndarray, float]]:
    """At most ``k`` trees with their scores, best first."""
    n_tokens = parts.leaf.shape[0]
    if n_tokens == 0:
        return [(np.empty((0, 4), np.int32), 0.0)]
    cky.fill_chart(grammar, parts, brackets, False, chart)
    wanted = min(k, FIRST)
    try:
        found = _some_best(grammar, parts, chart, wanted)
        while len(found) == wanted < k:  # room is made for as many as are wanted, and few sentences have so many
            wanted = min(k, 16 * wanted)
            found = _some_best(grammar, parts, chart, wanted)
    except MemoryError:
        raise InputError(
            f"k is {k}: no room for {wanted} trees of a sentence of {n_tokens} tokens; ask for fewer"
        ) from None
    return found


def _some_best(
    grammar: cky.Grammar, parts: cky.TreeScores, chart: np.ndarray, k: int
) -> list[tuple[np.ndarray, float]]:
    n_tokens = parts.leaf.shape[0]
    trees, values = np.full((k, n_tokens, 4), -1, np.int32), np.empty(k)
    size, count = NODES * n_tokens, -1
    while count < 0:
        trees[:] = -1
        count = k_best_trees(new_nodes(size, k), grammar, parts, chart, trees, values)
        size *= 4
    return [(trees[i].copy(), float(values[i])) for i in range(count)]
