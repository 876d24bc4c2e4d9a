"""Taxonomies: their nodes, losses and checks."""

import re

import numpy as np
import pytest
from row_tables import each_row

from accord import StructuredSVM, Taxonomy, load
from accord.exceptions import InputError

TREE = {"cat": "animal", "dog": "animal", "car": "thing", "animal": "all", "thing": "all"}
OWN = {"car": {"car": 1.0, "thing": 0.5}, "cat": {"cat": 1.0}, "dog": {"dog": 2.0}}


def test_leaves_or_all_nodes_can_be_predicted():
    assert Taxonomy(TREE).fit([]).labels_ == ["car", "cat", "dog"]
    assert Taxonomy(TREE, predict="all").fit([]).labels_ == ["all", "animal", "car", "cat", "dog", "thing"]


def test_a_node_above_all_classes_has_no_weights_unless_its_share_differs():
    assert Taxonomy(TREE).fit([]).nodes_ == ["animal", "car", "cat", "dog", "thing"]
    assert "all" in Taxonomy(TREE, beta="normalized").fit([]).nodes_


@each_row("predict", ["leaves", "all"])
def test_normalized_classes_have_length_one(predict):
    deep = {**TREE, "siamese": "cat"}
    nodes = Taxonomy(deep, predict=predict, beta="normalized").fit([]).node_map_.toarray()
    np.testing.assert_allclose((nodes**2).sum(axis=1), 1.0)


def test_parents_may_be_one_a_list_a_set_or_none():
    forms = [
        {"x": ["a", "b"], "a": "r", "b": ("r",), "r": None},
        {"x": {"a", "b"}, "a": ["r"], "b": {"r"}, "r": []},
        {"x": frozenset(["a", "b"]), "a": frozenset(["r"]), "b": "r"},
    ]
    maps = [Taxonomy(form, predict="all").fit([]) for form in forms]
    assert all(m.labels_ == ["a", "b", "r", "x"] for m in maps)
    assert all((m.node_map_.toarray() == maps[0].node_map_.toarray()).all() for m in maps)


def test_tree_loss():
    s = Taxonomy(TREE, predict="all").fit([])
    number = s.label_numbers()

    def loss(a, b):
        return s.loss_between([number[a]], [number[b]])

    assert [loss("cat", "cat"), loss("cat", "dog"), loss("cat", "animal"), loss("cat", "car")] == [0.0, 1.0, 1.0, 2.0]


def test_classes_without_a_common_ancestor_meet_above_all_roots():
    s = Taxonomy({"cat": "animal", "car": "thing", "thing": "stuff"}).fit([])
    assert s.loss_between([0], [1]) == 3.0


@each_row("cycle", [{"a": "a"}, {"a": "b", "b": "a"}, {"a": "b", "b": ["r", "c"], "c": "a"}])
def test_cycles(cycle):
    with pytest.raises(InputError, match="taxonomy: 'a' is its own ancestor; remove the cycle"):
        Taxonomy(cycle).fit([])


@each_row("taxonomy", [{}, None, [("a", "b")], "a"])
def test_not_a_taxonomy(taxonomy):
    with pytest.raises(InputError, match="taxonomy: expected a non-empty mapping of child to parent"):
        Taxonomy(taxonomy).fit([])


def test_outputs_that_are_no_classes_are_named_with_their_index():
    with pytest.raises(InputError, match=r"Y\[2\] is 'animal', which is an inner node; use predict='all'"):
        Taxonomy(TREE).fit(["cat", None, "animal"])
    with pytest.raises(InputError, match=r"Y\[1\] is 'fish', which is not in the taxonomy"):
        Taxonomy(TREE).fit(["cat", "fish"])


@each_row(
    ("arguments", "message"),
    [
        ({"loss": "hamming"}, 'loss is \'hamming\'; expected "tree" or "zero-one"'),
        ({"predict": "inner"}, 'predict is \'inner\'; expected "leaves" or "all"'),
        ({"beta": 2}, 'beta is 2; expected "one", "normalized", a mapping {class: {node: weight}}, a function'),
        ({"beta": {"cow": {}}}, "beta has weights for 'cow', which is not in the taxonomy"),
        ({"beta": {"cat": {"cat": 1}}}, "beta['car'] is None; expected {node: weight} for every class"),
        ({"beta": OWN | {"cat": {"thing": 1}}}, "beta['cat'] has a weight for 'thing', which is neither 'cat'"),
        ({"beta": OWN | {"cat": {"cat": np.nan}}}, "beta['cat']['cat'] is nan; expected a finite number"),
        ({"beta": lambda y, z: "1"}, "beta['car']['all'] is '1'; expected a finite number"),
        ({"beta": lambda y, z: y != z}, "beta['car']['all'] is True; expected a finite number"),
        ({"beta": lambda y, z: float(y != z)}, "beta gives 'cat' and 'dog' the same weights"),
    ],
)
def test_unknown_options(arguments, message):
    with pytest.raises(InputError, match=re.escape(message)):
        Taxonomy(TREE, **arguments).fit([])


def test_own_weights_come_back_from_a_file(tmp_path):
    X, Y = np.eye(3), ["cat", "dog", "car"]
    model = StructuredSVM(Taxonomy(TREE, beta=OWN), random_state=0).fit(X, Y)
    model.save(tmp_path / "model.accord")
    again = load(tmp_path / "model.accord")
    assert again.structure_.node_map_.toarray().tolist() == [[1, 0, 0, 0.5], [0, 1, 0, 0], [0, 0, 2, 0]]
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
