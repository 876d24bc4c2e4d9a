"""Packed forests of sentences: exactly the trees that there are, and the same best ones as the chart's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tree_cases import EVERY_KIND, array, close

from accord import Tree
from accord.kernels.trees.best_trees import parse, tree_score
from accord.kernels.trees.cky import Brackets, fill_chart
from accord.kernels.trees.forest import MAX_EDGES, pack_forest, parse_forest


def forest_of(structure, parts, y):
    """(forest, whether it is complete, brackets of the tree without bonuses)."""
    gold, _ = structure.mark(y)
    brackets = Brackets(gold, 0.0, 0.0, np.empty(0, np.bool_), np.empty((0, 0), np.int32))
    chart = structure.new_chart(len(y))
    fill_chart(structure.arrays_, parts, brackets, False, chart)
    return *pack_forest(structure.arrays_, parts, gold, chart), brackets


def n_trees(forest):
    """How many trees the forest has, by adding up its edges."""
    n_nodes = len(forest.symbol)
    ways = np.zeros(n_nodes, int)
    for left, right, first, _ in forest.span[:-1]:
        if right - left == 1:
            ways[first:] = 1  # the spans of one token are the last
            break
    for parent, left, right, _, _ in forest.edge[::-1]:
        ways[parent] += ways[left] * ways[right]
    return int(ways[: forest.span[1, 2]].sum())


@pytest.mark.parametrize("kind", EVERY_KIND)
@settings(max_examples=10)
@given(data=st.data())
def test_forest_has_the_trees_of_the_chart(kind, data):
    case = data.draw(EVERY_KIND[kind])
    ranking, s, parts = case.ranking, case.structure, case.parts
    if not ranking or not case.tokens:
        return
    forest, complete, brackets = forest_of(s, parts, array(ranking[-1][1]))
    assert complete
    assert n_trees(forest) == len(ranking)
    for per_match, per_label in case.rng.normal(size=(3, 2)).tolist() + [[0.0, 0.0], [-1.0, 0.5]]:
        wished = brackets._replace(per_match=per_match, per_label=per_label)
        expected, found = np.empty((2, len(case.tokens), 4), np.int32)
        best, margin = parse(s.arrays_, parts, wished, s.new_chart(len(case.tokens)), expected)
        assert close(parse_forest(forest, parts.start, per_match, per_label, found), best)
        if margin > 1e-9:
            np.testing.assert_array_equal(found, expected)


def test_forest_too_large():
    """A sentence with more edges than a forest may have is searched by charts: the same loss, the same violation."""
    leaf = ["x", "x"]
    pair = ["A", leaf, leaf]
    s = Tree("f1", terminals="tags", span_features=None).fit([["A", pair, pair], ["A", pair, leaf], ["A", leaf, pair]])
    n = 200
    tokens = ["x"] * n
    rng = np.random.default_rng(0)
    parts = s.parts(tokens, None, rng.normal(size=s.n_transitions_))
    y, _, _ = s.parse(parts)
    _, complete, _ = forest_of(s, parts, y)
    assert n * (n * n - 1) // 6 > MAX_EDGES
    assert not complete
    found, value = s.oracle(parts, y)
    gain = tree_score(s.arrays_, parts, found) - tree_score(s.arrays_, parts, y)
    assert value == pytest.approx(s.loss_between(y, found) + gain)
    assert value > 0.0
