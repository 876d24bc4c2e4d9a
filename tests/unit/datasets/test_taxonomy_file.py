"""Class hierarchies from edges and from paths."""

import io

import pytest
from row_tables import each_row

from accord.datasets import read_taxonomy
from accord.exceptions import FormatError


def read(text):
    return read_taxonomy(io.StringIO(text))


def test_edges():
    assert read("b\ta\nc\ta\n\nd\tb\n") == {"b": ["a"], "a": [], "c": ["a"], "d": ["b"]}


def test_several_parents_and_repeated_edges():
    assert read("c\ta\nc\tb\nc\ta\n") == {"c": ["a", "b"], "a": [], "b": []}


def test_root_given_by_an_empty_parent():
    assert read("alone\t\n") == {"alone": []}


def test_paths_keep_equal_words_apart():
    assert read("AI/Logic\nTheory/Logic\nLogic\n") == {
        "AI/Logic": ["AI"],
        "AI": [],
        "Theory/Logic": ["Theory"],
        "Theory": [],
        "Logic": [],
    }


def test_deep_path_gives_every_prefix():
    assert read("a/b/c\n") == {"a/b/c": ["a/b"], "a/b": ["a"], "a": []}


@each_row(
    ("text", "message"),
    [
        ("b\ta\tc\n", r"line 1: expected child<TAB>parent, found 3 cells"),
        ("b\ta\n\tc\n", r"line 2: expected child<TAB>parent"),
        ("a/b\na//c\n", r"line 2: the path 'a//c' has an empty step"),
        ("\n", "the file is empty"),
        ("a\tb\nb\tc\nc\ta\nd\tc\nx\ty\n", r"its own ancestor; the cycle is among \['a', 'b', 'c', 'd'\]"),
        ("a\ta\n", "its own ancestor"),
    ],
)
def test_errors(text, message):
    with pytest.raises(FormatError, match=message):
        read(text)
