"""Trees with values worked out on paper: the enumerating oracle itself, and the structure beside it."""

import math

import enumerate_trees as et
import numpy as np
import pytest
from tree_cases import leaf_options, plain_grammar, plain_scores

from accord.exceptions import InfeasibleError, InputError
from accord.structures.trees import k_best as tree_k_best
from accord.structures.trees.tree import Tree

# Two trees of "x x x" with the rules S -> x x, S -> S x and S -> x S, in the order of the grammar: left child first.
BANK = ["(S (S (x a) (x b)) (x c))", "(S (x a) (S (x b) (x c)))"]
LEFT, RIGHT = [["S", ["S", ["x", "x"], ["x", "x"]], ["x", "x"]], ["S", ["x", "x"], ["S", ["x", "x"], ["x", "x"]]]]
XX, XS, SX = 0, 1, 2


def fitted(bank=BANK, **options):
    return Tree(**{"terminals": "tags", "span_features": None, "horizontal": None, **options}).fit(bank)


def transitions(structure, rule=(), leaf=(), start=()):
    vector = np.zeros(structure.n_transitions_)
    for part, values in zip(structure.split_transitions(vector), (rule, leaf, start)):
        part[: len(values)] = values
    return vector


def shown(structure, y, n):
    return structure.outputs(y, [0, n], ["x"] * n)[0]


def test_two_trees_of_three_tokens():
    s = fitted()
    assert [s.grammar_.rule_name(p) for p in range(3)] == ["S -> x x", "S -> x S", "S -> S x"]
    # both trees: 3 leaves of 10, S -> x x of 1, S at the top of 100; S -> S x of 5 or S -> x S of 3
    parts = s.parts(["x"] * 3, transitions=transitions(s, (1.0, 3.0, 5.0), (10.0,), (0.0, 100.0)))
    y, score, margin = s.parse(parts)
    assert (shown(s, y, 3), score, margin) == (LEFT, 136.0, 2.0)
    assert y.tolist() == [[0, -1, -1, -1], [0, XX, 0, 2], [0, SX, 0, 3]]
    found = s.k_best(parts, 5)
    assert [(shown(s, y, 3), score) for y, score in found] == [(LEFT, 136.0), (RIGHT, 134.0)]
    assert s.log_partition(parts) == pytest.approx(136.0 + math.log(1.0 + math.exp(-2.0)))
    left = 1.0 / (1.0 + math.exp(-2.0))
    assert s.marginals(parts) == pytest.approx({("S", 0, 2): left, ("S", 1, 3): 1.0 - left})
    assert et.brackets(shown(s, s.decode(parts, s.given(3, [(1, 3)]))[0], 3)) == et.brackets(RIGHT)
    assert et.brackets(shown(s, s.decode(parts, s.given(3, [("S", 1, 3)]))[0], 3)) == et.brackets(RIGHT)
    with pytest.raises(InputError, match=r"given\[0\] and given\[1\] cross"):
        s.given(3, [(0, 2), (1, 3)])


def test_span_features_of_one_tree():
    s = fitted(span_features="label")
    assert s.anchors_ == ["S", "x"]
    nodes = np.arange(1.0, 19.0).reshape(3, 6)  # columns: first S, first x, last S, last x, split S, split x
    vector = transitions(s)
    s.split_transitions(vector)[3][:3] = [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]
    y = s.encode([BANK[0]])
    # leaves: first x and last x of 0, 1, 2 and width 1; S over 0-2: first of 0, last of 1, split at 1, width 2;
    # S over 0-3: first of 0, last of 2, split at 2, width 3
    leaves = (2 + 4 + 0.2) + (8 + 10 + 0.2) + (14 + 16 + 0.2)
    expected = leaves + (1 + 9 + 11 + 0.3) + (1 + 15 + 17 + 0.5)
    assert s.score(s.parts(["x"] * 3, nodes, vector), y) == pytest.approx(expected)
    plain = plain_grammar(s)
    trees = et.all_trees(plain, leaf_options(s, [], ["x"] * 3))
    scores = {et.tie_order(tree): et.score(plain, plain_scores(s, nodes, vector), tree) for tree in trees}
    assert len(scores) == 2
    assert any(value == pytest.approx(expected) for value in scores.values())


def test_enumeration_counts_trees():
    """Binary trees over n tokens: Catalan numbers."""
    s = fitted([*BANK, "(S (S (x a) (x b)) (S (x c) (x d)))"])
    plain = plain_grammar(s)
    counts = [len(et.all_trees(plain, leaf_options(s, [], ["x"] * n))) for n in range(7)]
    assert counts == [0, 0, 1, 2, 5, 14, 42]
    assert [len(s.k_best(s.parts(["x"] * n), 1000)) for n in range(2, 7)] == counts[2:]


def test_f1_and_hamming():
    """(S (A (B b) ..) C) against (S A (D ..)): constituents A02, B01, C34 and A02, D24: one in common."""
    one = "(S (A (B (x a)) (x b)) (x c) (C (x d)))"
    two = "(S (A (x a) (x b)) (D (x c) (x d)))"
    assert et.counted(["S", ["A", ["B", ["x", "a"]], ["x", "b"]], ["x", "c"], ["C", ["x", "d"]]]) == [
        ("A", 0, 2), ("B", 0, 1), ("C", 3, 4),
    ]  # fmt: skip
    for loss, expected in (("f1", 1 - 2 / 5), ("hamming", 3 / 4), ("zero-one", 1.0)):
        s = fitted([one, two], loss=loss)
        assert s.loss_between(s.encode([one]), s.encode([two])) == pytest.approx(expected)
        assert s.loss_between(s.encode([one]), s.encode([one])) == 0.0


def test_a_repeated_label_counts_as_often_as_it_is_in_both():
    one, two = "(S (A (A (A (x a)))) (y b))", "(S (A (A (x a))) (y b))"
    s = fitted([one, two], loss="hamming")
    assert s.compare(s.encode([one]), s.encode([two])) == (3, 2, 2)
    assert s.compare(s.encode([two]), s.encode([one])) == (2, 3, 2)


def test_the_root_does_not_count():
    """Neither the label at the top nor a common root above it, nor that root where it has several children."""
    plain = fitted(["(A (x a) (y b))", "(B (x a) (y b))"])
    first, second = plain.encode(["(A (x a) (y b))"]), plain.encode(["(B (x a) (y b))"])
    assert plain.compare(first, second) == (0, 0, 0)
    assert plain.loss_between(first, second) == 0.0
    bank = ["(TOP (A (x a) (y b)))", "(TOP (B (x a) (y b)))", "(TOP (x a) (y b))"]
    s = fitted(bank)
    assert s.grammar_.root == "TOP"
    a, b, flat = (s.encode([tree]) for tree in bank)
    assert s.compare(a, b) == (1, 1, 0)
    assert s.compare(a, flat) == (1, 0, 0)
    assert s.compare(flat, flat) == (0, 0, 0)
    assert s.outputs(flat, [0, 2], ["a", "b"]) == [["TOP", ["x", "a"], ["y", "b"]]]
    spans = s.marginals(s.parts(["x", "y"]))
    assert spans == pytest.approx({("A", 0, 2): 1 / 3, ("B", 0, 2): 1 / 3})


def test_a_root_above_its_own_label_comes_back():
    bank = ["(S (S (x a) (y b)))", "(S (A (x a) (y b)))", "(S (S (z a)))"]
    s = fitted(bank)
    for tree, words in zip(bank, ("ab", "ab", "a")):
        (back,) = s.outputs(s.encode([tree]), [0, len(words)], list(words))
        assert et.brackets(back)[0][0] == "S"
        assert s.encode([back]).tolist() == s.encode([tree]).tolist()
        assert len(et.brackets(back)) == tree.count("(")


def test_an_unlabelled_bracket_is_a_node_that_people_see():
    """(S x y z) has a binarised node over y z, but no bracket there."""
    s = fitted(["(S (x a) (y b) (z c))"])
    parts = s.parts(["x", "y", "z"])
    assert s.parse(parts, s.given(3, [(0, 3), (1, 2)]))[1] == 0.0
    assert s.parse(parts, s.given(3, [(1, 3)]))[1] == -math.inf
    assert s.inside(parts, s.given(3, [(1, 3)]))[0] == -math.inf


def test_no_parse():
    s = fitted()
    for tokens in (["x"], ["x", "unseen", "x"]):
        parts = s.parts(tokens)
        y, score, _ = s.parse(parts)
        assert score == -math.inf
        assert (y == -1).all()
        assert s.k_best(parts, 3) == []
        assert s.log_partition(parts) == -math.inf
        with pytest.raises(InfeasibleError, match="no parse"):
            s.decode(parts)
        with pytest.raises(InfeasibleError, match="no parse"):
            s.marginals(parts)
    flat = s.outputs(y, [0, 3], ["x", "unseen", "x"])
    assert flat == [["S", ["x", "x"], ["unseen", "unseen"], ["x", "x"]]]


def test_one_token():
    s = fitted(["(S (A (x a)))", "(S (x a))"])
    assert s.grammar_.root == "S"
    assert s.labels_ == ["A"]
    parts = s.parts(["x"], transitions=transitions(s, (), (1.0, 5.0), (20.0, 10.0)))
    leaves = [str(symbol) for symbol in s.grammar_.symbols]
    assert leaves == ["A+x", "x"]
    y, score, margin = s.parse(parts)
    assert (y.tolist(), score, margin) == ([[0, -1, -1, -1]], 21.0, 6.0)
    assert s.outputs(y, [0, 1], ["x"]) == [["S", ["A", ["x", "x"]]]]
    assert s.marginals(parts) == pytest.approx({("A", 0, 1): 1 / (1 + math.exp(-6.0))})
    assert s.compare(y, np.array([[1, -1, -1, -1]], np.int32)) == (1, 0, 0)


def test_no_token():
    s = fitted()
    parts = s.parts([])
    y, score, margin = s.parse(parts)
    assert (y.shape, score, margin) == ((0, 4), 0.0, math.inf)
    assert s.log_partition(parts) == 0.0
    assert s.marginals(parts) == {}
    assert [score for _, score in s.k_best(parts, 3)] == [0.0]
    assert s.oracle(parts, y)[1] == 0.0
    assert s.loss_between(y, y) == 0.0
    assert s.outputs(y, [0, 0], []) == [[]]


def test_widths_of_long_spans():
    """A grammar with one tree for every sentence: each width has the class that its definition says."""
    s = fitted(["(S (x a) (S (x b) (x c)))"], span_features="label")
    n = 40
    vector = transitions(s)
    by_class = [1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10]
    s.split_transitions(vector)[3][:, 0] = by_class
    # widths 2 to 40: one each of 2, 3, 4 and 5; 6-7; 8-10; 11-15; 16-20; 21-30; ten more
    sizes = [0, 1, 1, 1, 1, 2, 3, 5, 5, 10, 10]
    y, score = s.decode(s.parts(["x"] * n, transitions=vector))
    assert score == sum(size * value for size, value in zip(sizes, by_class))
    assert [et.width_class(w) for w in (1, 5, 6, 7, 8, 10, 11, 15, 16, 20, 21, 30, 31, 99)] == [
        0, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10,
    ]  # fmt: skip
    assert s.k_best(s.parts(["x"] * n, transitions=vector), 2)[0][0].tolist() == y.tolist()


def test_brackets_that_cannot_be():
    s = fitted()
    for span in ((0, 4), (-1, 2), (2, 2), ("S", 2, 1)):
        with pytest.raises(InputError, match=r"given\[0\] is .* expected 0 <= left < right <= 3"):
            s.given(3, [span])
    with pytest.raises(InputError, match=r"given\[1\] has the label 'Q'"):
        s.given(3, [(0, 1), ("Q", 0, 2)])


def test_sums_do_not_depend_on_rules_that_cannot_be_used():
    """Two tokens have one tree, whatever S -> S x scores."""
    s = fitted()
    parts = s.parts(["x"] * 2, transitions=transitions(s, (1.0, 0.0, 1000.0)))
    assert s.parse(parts)[1] == 1.0
    assert s.log_partition(parts) == pytest.approx(1.0)


def test_k_best_with_too_little_room_at_first(monkeypatch):
    """Room for the nodes of a sentence is made larger until it suffices."""
    s = Tree(terminals="tags").fit(["(S (A x) (S (A x) (A x)))", "(S (S (A x) (A x)) (A x))"])
    parts = s.parts(["A"] * 7)
    expected = s.k_best(parts, 30)
    monkeypatch.setattr(tree_k_best, "NODES", 1)
    found = s.k_best(parts, 30)
    assert len(found) == 30
    assert [(y.tolist(), value) for y, value in found] == [(y.tolist(), value) for y, value in expected]


def test_k_best_of_a_very_long_sentence():
    """Trees may be deeper than Python's own stack."""
    s = Tree(terminals="tags").fit(["(S (A a) (S (A a) (A a)))"])
    found = s.k_best(s.parts(["A"] * 550), 3)
    assert [len(y) for y, _ in found] == [550]
    assert s.outputs(found[0][0], [0, 550], ["A"] * 550)[0][0] == "S"
