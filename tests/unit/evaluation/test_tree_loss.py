"""Tree loss on hand-made taxonomies."""

import pytest

from accord.evaluation import TreeLoss
from accord.exceptions import InputError

TREE = {"a1": "a", "a2": "a", "b1": "b", "a": "root", "b": "root", "root": None}


def test_heights_of_common_ancestors():
    loss = TreeLoss(TREE)
    assert [loss.pair("a1", y) for y in ("a1", "a2", "b1")] == [0, 1, 2]
    assert loss(["a1", "a1", "a1", "b1"], ["a1", "a2", "b1", "b1"]) == pytest.approx(3 / 4)


def test_inner_nodes_can_be_predicted():
    loss = TreeLoss(TREE)
    assert loss.pair("a", "a") == 0
    assert loss.pair("a1", "a") == 1
    assert loss.pair("a", "b") == 2


def test_uneven_depths_use_the_longest_way_down():
    loss = TreeLoss({"x": "root", "y": "m", "z": "m", "m": "n", "n": "root"})
    assert loss.pair("y", "z") == 1
    assert loss.pair("x", "y") == 3


def test_dag_takes_the_lowest_common_ancestor():
    loss = TreeLoss({"x": ["p", "q"], "y": ("q",), "z": {"p"}, "p": "r", "q": "r", "r": "s"})
    assert loss.pair("x", "y") == 1
    assert loss.pair("x", "z") == 1
    assert loss.pair("y", "z") == 2


def test_classes_without_common_ancestor_meet_above_all_roots():
    assert TreeLoss({"a": "r1", "b": "r2", "c": "m", "m": "r2"}).pair("a", "b") == 3


def test_bad_input_is_named():
    with pytest.raises(InputError, match="'a' is its own ancestor"):
        TreeLoss({"a": "b", "b": "a", "c": "b"})
    with pytest.raises(InputError, match=r"y_pred\[1\] is 'q', which is no node"):
        TreeLoss(TREE)(["a1", "a1"], ["a1", "q"])
    with pytest.raises(InputError, match="one class per example"):
        TreeLoss(TREE)([["a1"]], [["a1"]])
