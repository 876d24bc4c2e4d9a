"""Trees as nested lists: conversion, what is read off them, cleaning, binarisation and back."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from row_tables import each_row

from accord.datasets.trees import (
    Symbol,
    as_tree,
    base_label,
    binarise,
    bracketed,
    clean,
    constituents,
    debinarise,
    is_preterminal,
    leaves,
    tags,
)
from accord.exceptions import InputError

DOG = ["S", ["NP", ["DT", "the"], ["NN", "dog"]], ["VP", ["V", "barks"]]]
DEEP = 3000


class Nltk(list):
    """As NLTK's trees are: a list of the children, with a method for the label."""

    def __init__(self, label, children):
        super().__init__(children)
        self._label = label

    def label(self):
        return self._label


def chain(depth):
    tree = ["N", "dog"]
    for k in range(depth):
        tree = [f"X{k}", tree]
    return tree


def comb(depth):
    tree = ["N", "dog"]
    for _ in range(depth):
        tree = ["NP", ["A", "big"], tree, ["P", "!"]]
    return tree


# --------------------------------------------------------------------------------------------------------- conversion
@each_row(
    "value",
    [
        DOG,
        ("S", ("NP", ("DT", "the"), ("NN", "dog")), ("VP", ("V", "barks"))),
        "(S (NP (DT the) (NN dog)) (VP (V barks)))",
        "\n( S (NP(DT the)\t(NN dog)\n) (VP (V barks )))  ",
        Nltk("S", [Nltk("NP", [Nltk("DT", ["the"]), Nltk("NN", ["dog"])]), Nltk("VP", [Nltk("V", ["barks"])])]),
    ],
)
def test_as_tree(value):
    assert as_tree(value) == DOG


def test_as_tree_copies():
    copy = as_tree(DOG)
    copy[1][1][1] = "a"
    assert leaves(DOG) == ["the", "dog", "barks"]


@each_row(
    ("value", "message"),
    [
        (None, "Y[3] is None; expected nested lists"),
        (7, "Y[3] is 7; expected nested lists"),
        ([], "Y[3] is []; expected nested lists"),
        (["S"], "Y[3] is the node 'S' with nothing below it"),
        ([5, "dog"], "Y[3] has a label of type int; expected a string"),
        (["S", ["NP", ["N", "dog"]], ["VP", ["V"]]], "Y[3][2][1] is the node 'V' with nothing below it"),
        (["S", ["NP", ["N", "dog"], None]], "Y[3][1][2] is None; expected"),
        (["S", ["NP", ["D", "the"], "dog"]], "Y[3][1] is the node 'NP' with a word among 2 children"),
        (["NP", "the", "dog"], "Y[3] is the node 'NP' with a word among 2 children"),
        (["S", ["N", ""]], "Y[3][1][1] is an empty string"),
        (Nltk("S", [Nltk("N", [])]), "Y[3][1] is the node 'N' with nothing below it"),
        ({"S": 1}, "Y[3] is dict; expected"),
        ("dogs bark", "Y[3], line 1 of its text: 'dogs' outside of brackets"),
        ("(S (N dogs)\n(V bark)", "Y[3], line 1 of its text: the tree that begins here never ends: 1 closing"),
        ("(S\n(N dogs dog))", "Y[3], line 2 of its text: the leaf (N dogs dog) has 3 fields"),
        ("", "Y[3] is a string with 0 trees"),
        ("(N dogs) (N cats)", "Y[3] is a string with 2 trees"),
        ("# (N dogs)", "Y[3], line 1 of its text: '#' outside of brackets"),
    ],
)
def test_as_tree_says_what_is_wrong_where(value, message):
    with pytest.raises(InputError, match=re.escape(message)):
        as_tree(value, "Y[3]")


# ----------------------------------------------------------------------------------------------------- reading things
def test_reading_off():
    assert leaves(DOG) == ["the", "dog", "barks"]
    assert tags(DOG) == ["DT", "NN", "V"]
    assert constituents(DOG) == [("S", 0, 3), ("NP", 0, 2), ("VP", 2, 3)]
    assert is_preterminal(DOG[1][1])
    assert not is_preterminal(DOG[2])


def test_a_tree_of_one_word():
    assert (leaves(["N", "dog"]), tags(["N", "dog"]), constituents(["N", "dog"])) == (["dog"], ["N"], [])


def test_words_of_two_letters_are_words():
    assert leaves(["S", ["P", "he"], ["V", "is"]]) == ["he", "is"]


def test_brackets():
    assert bracketed(DOG) == "(S (NP (DT the) (NN dog)) (VP (V barks)))"
    assert bracketed(["", ["N", "a"]]) == "( (N a))"
    assert bracketed(["S", ["(", "("], ["N", "b)"]]) == "(S (-LRB- -LRB-) (N b-RRB-))"
    for tree, what in (
        (["N", "New York"], "word 'New York'"),
        (["", "dog"], "tag ''"),
        (["A\nB", ["N", "a"]], "label"),
    ):
        with pytest.raises(InputError, match=f"the {what}.* cannot be written"):
            bracketed(tree)


# ----------------------------------------------------------------------------------------------------------- cleaning
def test_clean():
    raw = as_tree(
        "( (S (NP-SBJ=2 (-NONE- *T*-1)) (VP (VB Take) (NP-TMP-3 (PRP$ its)) (-LRB- -LRB-) (S-NOM (NP (-NONE- *)))) ))"
    )
    assert bracketed(clean(raw)) == "(TOP (S (VP (VB Take) (NP (PRP$ its)) (-LRB- -LRB-))))"
    kept = clean(raw, functions=False, empty=False, root=None)
    assert kept == raw
    assert kept is not raw
    assert clean(raw, functions=False, root="R")[1][1][2][0] == "NP-TMP-3"
    assert tags(clean(raw, empty=False))[0] == "-NONE-"


def test_tags_keep_their_names_unless_one_says_otherwise():
    tree = as_tree("(fcl-MAIN (np=1 (V-FIN corre)) (-LRB- -LRB-) (-NONE-X 0))")
    assert bracketed(clean(tree)) == "(fcl (np (V-FIN corre)) (-LRB- -LRB-) (-NONE-X 0))"
    assert tags(clean(tree, functions="tags")) == ["V", "-LRB-", "-NONE-X"]
    assert clean(tree, functions=False) == tree


def test_clean_may_leave_nothing():
    assert clean(["S", ["NP", ["-NONE-", "*"]]]) is None
    assert clean(["-NONE-", "*"]) is None


def test_only_a_root_without_label_is_named():
    assert clean(["S-1", ["N", "a"]]) == ["S", ["N", "a"]]
    assert clean(["", ["", ["N", "a"]]]) == ["TOP", ["", ["N", "a"]]]


def test_base_labels():
    assert [base_label(x) for x in ("NP", "NP-SBJ=1", "NP=1-SBJ", "-NONE-", "=", "")] == [
        "NP",
        "NP",
        "NP",
        "-NONE-",
        "=",
        "",
    ]


# ------------------------------------------------------------------------------------------------------- binarisation
def test_symbols_are_readable():
    assert str(Symbol(("NP",))) == "NP"
    assert str(Symbol(("S", "VP"))) == "S+VP"
    assert str(Symbol(("NP",), ("DT", "JJ"))) == "@NP|DT,JJ"
    assert str(Symbol(("NP",), (), ("S", "TOP"))) == "@NP|^S^TOP"
    assert str(Symbol(("NP",), parents=("S",))) == "NP^S"


def test_chains_collapse():
    tree = as_tree("(TOP (S (VP (V go) (NP (N home)))))")
    assert binarise(tree) == [Symbol(("TOP", "S", "VP")), [Symbol(("V",)), "go"], [Symbol(("NP", "N")), "home"]]
    assert binarise(["S", ["N", "dog"]]) == [Symbol(("S", "N")), "dog"]
    assert binarise(["N", "dog"]) == [Symbol(("N",)), "dog"]


def test_binary_trees_can_be_read_by_people():
    tree = as_tree("(S (NP (D a) (J b) (N c)) (VP (V d)))")
    assert bracketed(binarise(tree, vertical=2)) == "(S (NP^S (D^NP a) (@NP|D^S (J^NP b) (N^NP c))) (VP+V^S d))"


FOUR = as_tree("(S (X (NP (A a) (U (B b)) (C c) (D d))) (E e))")


@each_row(
    ("horizontal", "first", "second"),
    [(3, ("A",), ("A", "U")), (2, ("A",), ("A", "U")), (1, ("A",), ("U",)), (0, (), ())],
)
def test_factored_to_the_right(horizontal, first, second):
    top, phrase, _ = binarise(FOUR, horizontal)
    assert top == Symbol(("S",))
    assert phrase == [
        Symbol(("X", "NP")),
        [Symbol(("A",)), "a"],
        [
            Symbol(("NP",), first),
            [Symbol(("U", "B")), "b"],
            [Symbol(("NP",), second), [Symbol(("C",)), "c"], [Symbol(("D",)), "d"]],
        ],
    ]


def test_without_a_limit_nothing_is_forgotten():
    """Neither the chain that an intermediate node is in, nor those of the children before it, nor which are tags."""
    _, (chain, *_, (first, _, (second, _, _))), _ = binarise(FOUR, None, 2)
    assert chain == Symbol(("X", "NP"), None, ("S",))
    assert first == Symbol(("X", "NP"), ("A\t",), ("S",))
    assert second == Symbol(("X", "NP"), ("A\t", "U\tB\t"), ("S",))
    assert str(second) == "@X+NP|A,U+B^S"


@each_row(
    ("vertical", "phrase", "inside", "child"),
    [
        (1, (), (), ()),
        (2, ("S",), ("X",), ("NP",)),
        (3, ("S",), ("X", "S"), ("NP", "X")),
        (4, ("S",), ("X", "S"), ("NP", "X", "S")),
    ],
)
def test_ancestors_are_counted_through_chains(vertical, phrase, inside, child):
    tree = binarise(FOUR, 3, vertical)
    assert tree[0].parents == ()
    assert tree[1][0].parents == phrase
    assert tree[1][2][0] == Symbol(("NP",), ("A",), inside)  # an intermediate node is part of the end of its chain
    assert tree[1][1][0].parents == child
    assert tree[1][2][1][0].parents == child
    assert tree[1][2][2][2][0].parents == child
    assert tree[2][0].parents == ("S",)[: vertical - 1]


labels = st.text(st.characters(exclude_categories=["Cs"]), max_size=3) | st.sampled_from(
    ["NP", "@NP|DT", "NP^S", "S+VP", "(", ")", ",", "-LRB-", "", " "]
)
words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4) | st.sampled_from(["(", ")", "@"])
preterminals = st.tuples(labels, words).map(list)
random_trees = st.recursive(
    preterminals,
    lambda below: st.tuples(labels, st.lists(below, min_size=1, max_size=5)).map(lambda p: [p[0], *p[1]]),
    max_leaves=15,
)


def nodes_of(tree):
    yield tree
    for child in tree[1:]:
        if not isinstance(child, str):
            yield from nodes_of(child)


@settings(max_examples=50)
@given(random_trees, st.none() | st.integers(0, 3), st.integers(1, 4))
def test_binary_trees_lead_back(tree, horizontal, vertical):
    binary = binarise(tree, horizontal, vertical)
    for node in nodes_of(binary):
        assert isinstance(node[0], Symbol)
        assert len(node) == 3 or (len(node) == 2 and isinstance(node[1], str))
        assert len(node[0].parents) <= vertical - 1
        if node[0].siblings is not None and horizontal is not None:
            assert len(node[0].siblings) <= horizontal
    assert leaves(binary) == leaves(tree)
    assert debinarise(binary) == tree
    assert as_tree(tree) == tree


@settings(max_examples=50)
@given(random_trees)
def test_constituents_cover_what_is_below_them(tree):
    def expected(node, left):
        if is_preterminal(node):
            return [], left + 1
        inner, right = [], left
        for child in node[1:]:
            found, right = expected(child, right)
            inner += found
        return [(node[0], left, right), *inner], right

    assert constituents(tree) == expected(tree, 0)[0]


def test_bad_options():
    with pytest.raises(InputError, match=r"horizontal must be None or a number of siblings.*-1"):
        binarise(DOG, -1)
    with pytest.raises(InputError, match="vertical must be at least 1, but it is 0"):
        binarise(DOG, vertical=0)


@each_row("tree", [["S"], ["S", ["N"], ["V", "go"]], ["NP", "the", "dog"]])
def test_no_trees_are_not_binarised(tree):
    with pytest.raises(InputError, match="is no tree"):
        binarise(tree)


def test_a_part_of_a_binary_tree_is_no_tree():
    with pytest.raises(InputError, match=r"intermediate symbol @X\+NP\|A;"):
        debinarise(binarise(FOUR)[1][2])


@pytest.mark.parametrize("tree", [chain(DEEP), comb(DEEP)], ids=["chain", "comb"])
def test_deep_trees(tree):
    text = bracketed(tree)
    assert bracketed(as_tree(tree)) == bracketed(as_tree(text)) == bracketed(clean(tree)) == text
    assert len(constituents(tree)) == DEEP
    assert len(tags(tree)) == len(leaves(tree)) == text.count("(") - DEEP
    binary = binarise(tree, 1, 3)
    assert leaves(binary) == leaves(tree)
    assert bracketed(debinarise(binary)) == text
