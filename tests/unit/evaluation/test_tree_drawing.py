"""Trees drawn as text and as SVG."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.datasets.trees import as_tree, leaves
from accord.evaluation import draw_svg, draw_text
from accord.exceptions import InputError

SVG = "{http://www.w3.org/2000/svg}"


def drawn(text):
    """Lines without the blanks around the whole drawing."""
    return [line.rstrip() for line in text.strip("\n").split("\n")]


def test_exactly():
    expected = """
       S
   ┌───┴────┐
   NP       VP
 ┌─┴──┐     │
 DT   NN    V
the  dog  barks
"""
    assert drawn(draw_text("(S (NP (DT the) (NN dog)) (VP (V barks)))")) == drawn(expected)


def test_lines_go_down_to_lower_levels():
    lines = draw_text("(TOP (S (NP (PRP she)) (VP (VBD saw) (NP (D a) (N bee))) (. .)))").split("\n")
    assert [line.split() for line in lines if not re.search("[┌┐]", line)] == [
        ["TOP"],
        ["│"],
        ["S"],
        ["│", "VP", "│"],
        ["NP", "│", "NP", "│"],
        ["PRP", "VBD", "D", "N", "."],
        ["she", "saw", "a", "bee", "."],
    ]
    columns = [lines[row].rindex("│") for row in (4, 5, 6, 7)]
    assert len({*columns, lines[3].index("┐"), lines[8].index(".")}) == 1


def test_middle_child_below_its_parent():
    assert drawn(draw_text("(S (A a) (B b) (C c))")) == ["   S", "┌──┼──┐", "A  B  C", "a  b  c"]


def test_one_word():
    assert draw_text("(N dog)").split() == ["N", "dog"]


def test_wide_letters_take_two_cells():
    lines = draw_text("(S (N 東京) (V b))").split("\n")
    assert lines[-1] == "東京  b"
    assert lines[-2].index("V") == 6


def test_outline_when_too_wide():
    tree = "(S (NP (DT the) (NN dog)) (VP (V barks)))"
    assert draw_text(tree, width=15) == draw_text(tree)
    assert draw_text(tree, width=14).split("\n") == [
        "S",
        "├─ NP",
        "│  ├─ DT the",
        "│  └─ NN dog",
        "└─ VP",
        "   └─ V barks",
    ]


names = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=12)
random_trees = st.recursive(
    st.tuples(names, names).map(list),
    lambda below: st.tuples(names, st.lists(below, min_size=1, max_size=4)).map(lambda p: [p[0], *p[1]]),
    max_leaves=12,
)


def heights(tree, found):
    """The labels of each level above the words, from left to right."""
    if isinstance(tree, str):
        level = 0
    else:
        level = 1 + max(heights(child, found) for child in tree[1:])
    found.setdefault(level, []).append(tree if isinstance(tree, str) else tree[0])
    return level


@given(random_trees)
def test_every_label_has_its_place(tree):
    levels = {}
    top = heights(tree, levels)
    lines = draw_text(tree).split("\n")
    assert len(lines) == 2 * top
    for level, labels in levels.items():
        line = lines[2 * (top - level) if level else -1]
        assert line.replace("│", " ").split() == labels
    assert not any(line.endswith(" ") for line in lines)


@given(random_trees)
def test_svg_is_well_formed_and_words_do_not_overlap(tree):
    root = ElementTree.fromstring(draw_svg(tree))
    texts = root.findall(f"{SVG}text")
    words = [text for text in texts if text.get("class") == "word"]
    assert [text.text for text in words] == leaves(tree)
    assert len({text.get("y") for text in words}) == 1
    places = [float(text.get("x")) for text in words]
    assert all(a < b for a, b in pairwise(places))
    assert 0 < min(places)
    assert max(places) < float(root.get("width"))
    assert len(root.findall(f"{SVG}path")) == len(texts) - len(words) - 1  # all nodes but the root hang on something


def test_svg_escapes():
    text = draw_svg(["S", ["<&", "a<b"], ["N", 'x"\x00\x1b']])
    root = ElementTree.fromstring(text)
    assert [t.text for t in root.findall(f"{SVG}text")] == ["S", "<&", "a<b", "N", 'x"\ufffd\ufffd']
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")  # nothing to fetch


def test_svg_labels_stand_over_their_words():
    root = ElementTree.fromstring(draw_svg("(S (NP (DT the) (NN dog)) (V barks))"))
    place = {text.text: float(text.get("x")) for text in root.findall(f"{SVG}text")}
    assert place["DT"] == pytest.approx(place["the"], abs=1)
    assert place["NP"] == pytest.approx((place["DT"] + place["NN"]) / 2, abs=1)
    assert place["NN"] < place["S"] < place["V"]


def test_deep_trees():
    tree = ["N", "a"]
    for _ in range(3000):
        tree = ["X", tree]
    assert draw_text(tree).count("X") == 3000
    assert draw_svg(tree).count(">X<") == 3000
    assert draw_text(as_tree(tree), width=0).count("└─") == 3000


def test_what_is_no_tree():
    for draw in (draw_text, draw_svg):
        with pytest.raises(InputError, match="tree is None; expected"):
            draw(None)
