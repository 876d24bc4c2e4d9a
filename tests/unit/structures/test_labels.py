"""Labels of structures: where they come from, their numbers, and what is said about bad ones."""

import numpy as np
import pytest
from row_tables import each_row
from sklearn.base import clone

from accord import MultiClass, Sequence, Taxonomy
from accord.exceptions import InputError
from accord.packed.weights import Weights
from accord.structures.chains.labels import sorted_labels

TREE = {"cat": "animal", "dog": "animal", "car": "thing"}


def test_labels_come_sorted_from_the_labeled_outputs():
    assert MultiClass().fit(["b", None, "a", "b"]).labels_ == ["a", "b"]
    assert Sequence().fit([["O", "B"], None, [], ["A", None]]).labels_ == ["A", "B", "O"]
    assert Taxonomy(TREE).fit([None]).labels_ == ["car", "cat", "dog"]


def test_declared_labels_keep_their_order_and_need_not_occur():
    assert MultiClass(labels=["z", "a", "m"]).fit(["a"]).labels_ == ["z", "a", "m"]
    assert Sequence(labels=["z", "a"]).fit([]).label_numbers() == {"z": 0, "a": 1}


def test_labels_of_numpy_arrays_become_plain_python():
    labels = MultiClass().fit(np.array([3, 1, 3])).labels_
    assert labels == [1, 3]
    assert all(type(label) is int for label in labels)


def test_labels_of_mixed_types_have_a_fixed_order():
    assert sorted_labels(["b", 2, "a", 1]) == sorted_labels([1, "a", "b", 2]) == [1, 2, "a", "b"]


def test_fit_changes_no_parameter_and_clones_are_unfitted():
    for structure in (MultiClass(labels=("a", "b")), Sequence(constraints="iob2", labels=("a", "b")), Taxonomy(TREE)):
        before = dict(structure.get_params())
        assert structure.fit([]) is structure
        assert structure.get_params() == before
        assert not hasattr(clone(structure), "labels_")


@each_row("structure", [MultiClass(labels=["a", "b", "a"]), Sequence(labels=["a", "b", "a"])])
def test_a_label_declared_twice(structure):
    with pytest.raises(InputError, match="labels: a label is listed twice"):
        structure.fit([])


@each_row(("structure", "Y"), [(MultiClass(labels=["a"]), ["a", "x"]), (Sequence(labels=["a"]), [["a"], ["a", "x"]])])
def test_a_label_that_is_not_declared(structure, Y):
    with pytest.raises(InputError, match=r"Y has the label 'x', which is not among labels=\['a'\]; add it there"):
        structure.fit(Y)


@each_row("structure", [MultiClass(), Sequence()])
@each_row("Y", [[], [None, None]])
def test_no_labels_at_all(structure, Y):
    with pytest.raises(InputError, match="Y has no labels: give at least one labeled example, or declare labels="):
        structure.fit(Y)


def test_encode_and_outputs_undo_each_other():
    s = Sequence(labels=["a", "b", "c"]).fit([])
    Y = [["c", "a"], [], ["b"]]
    offsets = np.array([0, 2, 2, 3])
    numbers = s.encode(Y)
    assert numbers.dtype == np.int32
    assert numbers.tolist() == [2, 0, 1]
    assert s.outputs(numbers, offsets) == Y
    m = MultiClass(labels=["a", "b"]).fit([])
    assert m.outputs(m.encode(["b", "a"]), np.arange(3)) == ["b", "a"]


def test_unknown_labels_are_named_with_their_place():
    m, s = MultiClass(labels=["a"]).fit([]), Sequence(labels=["a"]).fit([])
    with pytest.raises(InputError, match=r"Y\[1\] is 'x', which is not one of the labels \['a'\]"):
        m.encode(["a", "x"])
    with pytest.raises(InputError, match=r"Y\[1\]\[2\] is 'x', which is not one of the labels \['a'\]"):
        s.encode([["a"], ["a", "a", "x"]])
    with pytest.raises(InputError, match=r"Y\[17\]\[0\] is 'x'"):
        s.encode([["a"], ["x"]], index=[4, 17])


def test_an_output_of_the_wrong_kind_is_named_with_its_place():
    with pytest.raises(InputError, match=r"Y\[1\] is a list; expected a label"):
        MultiClass(labels=["a"]).fit([]).encode(["a", ["a"]])
    with pytest.raises(InputError, match=r"Y\[0\]\[1\] is a list; expected a label"):
        Sequence(labels=["a"]).fit([]).encode([["a", ["a"]]])


def test_weights_in_one_vector_and_back():
    w = Weights(np.arange(6.0).reshape(3, 2), np.array([7.0, 8.0]))
    assert w.size == 8
    assert w.flat().tolist() == [0, 1, 2, 3, 4, 5, 7, 8]
    again = Weights.from_flat(w.flat(), 3, 2)
    assert again.unary.tolist() == w.unary.tolist()
    assert again.transitions.tolist() == w.transitions.tolist()
    copy = w.copy()
    copy.unary[0, 0] = 5
    copy.transitions[0] = 5
    assert w.flat().tolist() == [0, 1, 2, 3, 4, 5, 7, 8]


def test_weights_grow_by_zero_rows():
    w = Weights(np.ones((2, 3)), np.ones(1))
    assert w.grown(4).unary.tolist() == [[1, 1, 1], [1, 1, 1], [0, 0, 0], [0, 0, 0]]
    assert w.grown(2) is w
