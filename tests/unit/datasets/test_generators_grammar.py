"""Sentences from grammars: derivations by the rules, in proportion to their weights, and never endless."""

from collections import Counter

import pytest
from row_tables import each_row

from accord.datasets import grammar_sentences
from accord.datasets.grammar import ENGLISH
from accord.datasets.trees import bracketed
from accord.exceptions import InputError

COUNTING = {"S": [(("A", "S", "B"), 3.0), (("A", "B"), 1.0)], "A": [(("a",), 1.0)], "B": [(("b",), 1.0)]}


def rules_used(tree):
    """(symbol, right-hand side) of every inner node."""
    right = tuple(child if isinstance(child, str) else child[0] for child in tree[1:])
    used = [(tree[0], right)]
    for child in tree[1:]:
        used += [] if isinstance(child, str) else rules_used(child)
    return used


def words_of(tree):
    return [tree] if isinstance(tree, str) else [word for child in tree[1:] for word in words_of(child)]


def depth(tree):
    return 0 if isinstance(tree, str) else 1 + max(map(depth, tree[1:]))


@pytest.mark.parametrize("grammar", [None, COUNTING], ids=["english", "counting"])
def test_trees_derive_from_the_rules(grammar):
    X, trees = grammar_sentences(200, grammar, random_state=0)
    known = {(left, tuple(right)) for left, rules in (grammar or ENGLISH).items() for right, _ in rules}
    for x, tree in zip(X, trees):
        assert tree[0] == "S"
        assert words_of(tree) == x
        assert set(rules_used(tree)) <= known
        assert depth(tree) <= 10


def test_rules_occur_in_proportion_to_their_weights():
    _, trees = grammar_sentences(1000, max_depth=60, random_state=0)
    counts = Counter(rule for tree in trees for rule in rules_used(tree))
    for left, rules in ENGLISH.items():
        total = sum(counts[left, right] for right in {tuple(right) for right, _ in rules})
        weights = Counter()
        for right, weight in rules:
            weights[tuple(right)] += weight  # a rule listed twice counts twice
        for right, weight in weights.items():
            share = weight / sum(weights.values())
            error = (share * (1 - share) / total) ** 0.5
            assert counts[left, right] / total == pytest.approx(share, abs=5 * error + 1e-12)


def test_english_is_ambiguous_and_nested():
    X, trees = grammar_sentences(500, random_state=0)
    tags = {}
    for tree in trees:
        for left, right in rules_used(tree):
            if right[0] not in ENGLISH:
                tags.setdefault(right[0], set()).add(left)
    assert tags["saw"] == {"NN", "VT"}
    assert any(sum(left == "S" for left, _ in rules_used(tree)) > 1 for tree in trees)
    assert 4 < sum(map(len, X)) / len(X) < 12


def test_every_tree_ends_within_the_depth():
    # 3 of 4 expansions go on, so that without a limit trees would be deep without bound
    endless = {"S": [(("S", "S"), 1e6), (("a",), 1e-6)]}
    X, trees = grammar_sentences(5, endless, max_depth=6, random_state=0)
    assert all(depth(tree) == 6 for tree in trees)
    assert all(len(x) == 2**5 for x in X)
    X, trees = grammar_sentences(300, COUNTING, max_depth=4, random_state=0)
    assert {len(x) for x in X} == {2, 4, 6}
    shortest, _ = grammar_sentences(20, COUNTING, max_depth=2, random_state=0)
    assert all(x == ["a", "b"] for x in shortest)


def test_other_start_symbols_and_lists_as_rules():
    X, trees = grammar_sentences(5, start="NP", random_state=0)
    assert all(tree[0] == "NP" for tree in trees)
    X, trees = grammar_sentences(1, {"N": [[["dogs"], 1]]}, start="N", random_state=0)
    assert (X, trees) == ([["dogs"]], [["N", "dogs"]])
    assert bracketed(trees[0]) == "(N dogs)"


@each_row(
    ("arguments", "message"),
    [
        (
            {"grammar": {"A": [(("a",), 1.0)]}},
            r"start is 'S', which has no rules in the grammar; its symbols are \['A'\]",
        ),
        ({"grammar": {"S": [(("NP", "VP"), 1.0)], "NP": [(("I",), 1.0)]}}, r"grammar\['S'\] has.*'VP' has no rules"),
        ({"grammar": {"S": [(("S", "S"), 1.0)]}}, "no tree below 'S' ever ends"),
        ({"grammar": {"S": [(("a",), 1.0)], "B": [(("B",), 1.0)]}}, "no tree below 'B' ever ends"),
        ({"grammar": {"S": []}}, r"grammar\['S'\] has no rules"),
        ({"grammar": {"S": [(("a",), 0.0)]}}, r"grammar\['S'\] has \(\('a',\), 0.0\); expected a pair"),
        ({"grammar": {"S": [("a", 1.0)]}}, r"grammar\['S'\] has \('a', 1.0\); expected a pair"),
        ({"grammar": {"S": [((), 1.0)]}}, r"grammar\['S'\] has"),
        ({"grammar": {"S": [("a", "b", "c")]}}, r"grammar\['S'\] has"),
        ({"grammar": [("S", "a")]}, "grammar is of type list; expected a dict"),
        ({"max_depth": 0}, "max_depth must be at least 1"),
        ({"max_depth": 2}, "max_depth is 2, but the smallest tree below 'S' has depth 3"),
    ],
)
def test_wrong_grammars_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        grammar_sentences(1, **arguments)
