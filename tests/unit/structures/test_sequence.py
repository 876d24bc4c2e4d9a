"""Label sequences: constraints, losses, and what is said about bad arguments."""

import numpy as np
import pytest
from chain_features import forced, joint_features
from row_tables import each_row

from accord import Sequence
from accord.exceptions import InfeasibleError, InputError
from accord.structures.chains.sequence import bioes_allows, iob2_allows

LABELS = ["a", "b", "O"]


def fitted(**arguments):
    return Sequence(**{"labels": LABELS, **arguments}).fit([])


@each_row(
    ("a", "b", "iob2", "bioes"),
    [
        (None, "I-X", False, False),
        (None, "B-X", True, True),
        ("O", "I-X", False, False),
        ("B-X", "I-X", True, True),
        ("B-X", "I-Y", False, False),
        ("I-X", "I-X", True, True),
        ("I-X", "B-X", True, False),
        ("B-X", None, True, False),
        ("B-X", "E-X", True, True),
        ("E-X", None, True, True),
        ("S-X", "O", True, True),
        ("S-X", "E-X", True, False),
        ("E-X", "I-X", False, False),
        ("B", "I", True, True),
        ("O", "I", False, False),
        ("B", "I-X", False, False),
        ("B-a-b", "I-a-b", True, True),
        ("B-a-b", "I-a-c", False, False),
        ("word", 7, True, True),
    ],
)
def test_moves_of_the_tagging_schemes(a, b, iob2, bioes):
    assert iob2_allows(a, b) is iob2
    assert bioes_allows(a, b) is bioes


@each_row("order", [1, 2])
def test_forbidden_pairs_and_ends(order):
    s = fitted(order=order, constraints=[("a", "b"), (None, "O"), ("b", None)])
    kept = [tuple(s.labels_[c] for c in y) for y, _ in s.k_best(s.parts(np.zeros((2, 3))), 100)]
    assert sorted(kept) == [("a", "O"), ("a", "a"), ("b", "O"), ("b", "a")]


def test_the_chain_without_constraints_keeps_the_scores():
    s = fitted(constraints=[("a", "b"), (None, "O"), ("b", None)])
    moves = np.arange(15.0)
    for free, held in zip(s.chain(moves, constrained=False), s.chain(moves)):
        assert np.all(np.isfinite(free))
        assert np.sum(held == -np.inf) == 1
        np.testing.assert_array_equal(free[held > -np.inf], held[held > -np.inf])


def test_pairs_with_labels_that_do_not_occur_forbid_nothing():
    assert fitted(constraints=[("a", "x"), ("x", None)]).forbidden_.shape == (0, 2)


def test_relevant_labels_default_to_all_but_outside():
    assert fitted(loss="f1").loss_.relevant.tolist() == [True, True, False]
    assert fitted(loss="f1", outside="a").loss_.relevant.tolist() == [False, True, True]
    assert fitted(loss="f1", relevant=["b"]).loss_.relevant.tolist() == [False, True, False]


def test_label_weights_count_the_true_label_and_ignore_labels_that_do_not_occur():
    s = fitted(label_weights={"a": 3.0, "x": 9.0}, normalize=False)
    assert s.loss_between([0, 1], [1, 0]) == 4.0


def test_transition_weight_scales_features_and_scores():
    s = fitted(transition_weight=0.5)
    moves = np.arange(s.n_transitions_, dtype=float)
    assert s.parts(np.zeros((1, 3)), moves).init.tolist() == [0.0, 0.5, 1.0]
    assert joint_features(s, np.zeros((2, 1)), [0, 0]).transitions.sum() == 1.5


def test_without_ends_there_are_moves_alone():
    s = fitted(ends=False, constraints=[(None, "b")])
    assert s.n_transitions_ == 9
    parts = s.parts(np.zeros((1, 3)), np.ones(9))
    assert parts.init.tolist() == [0.0, -np.inf, 0.0]
    assert parts.final.tolist() == [0.0, 0.0, 0.0]
    assert joint_features(s, np.zeros((2, 1)), [0, 0]).transitions.sum() == 1.0


def test_second_order_features_count_triples():
    s = fitted(order=2)
    assert s.n_transitions_ == 3 + 3 + 9 + 4 * 9
    assert joint_features(s, np.zeros((3, 1)), [0, 1, 2]).transitions.sum() == 1 + 1 + 2 + 2


def test_forced_rows():
    s = fitted()
    parts = s.parts(np.array([[5.0, 0, 0], [5.0, 0, 0]]))
    assert s.decode(forced(s, parts, [None, "O"]))[0].tolist() == [0, 2]
    assert s.decode(parts)[0].tolist() == [0, 0]
    forbidden = fitted(constraints=[("a", "O")])
    with pytest.raises(InfeasibleError, match="no output is allowed"):
        forbidden.decode(forced(forbidden, forbidden.parts(parts.unary), ["a", "O"]))


@each_row(
    ("arguments", "message"),
    [
        ({"loss": "F1"}, 'loss is \'F1\'; expected "hamming", "zero-one", "f1" or "macro-f1"'),
        ({"loss": None}, 'loss is None; expected "hamming"'),
        ({"order": 3}, "order is 3; expected 1 or 2"),
        ({"order": 0}, "order is 0; expected 1 or 2"),
        ({"constraints": "iob1"}, r"constraints is 'iob1'; expected one of \['bioes', 'iob2'\] or pairs"),
        ({"constraints": 5}, r"constraints is 5; expected one of \['bioes', 'iob2'\] or pairs"),
        ({"constraints": ["ab"]}, r"constraints has 'ab'; expected \(label, next label\) pairs"),
        ({"constraints": [("a", "b", "O")]}, r"constraints has \('a', 'b', 'O'\); expected \(label, next label\)"),
        ({"label_weights": {"a": -1.0}}, r"label_weights\['a'\] is -1.0; expected a number, 0 or more"),
        ({"label_weights": {"a": np.inf}}, r"label_weights\['a'\] is inf; expected a number, 0 or more"),
        ({"label_weights": {"a": "much"}}, r"label_weights\['a'\] is 'much'; expected a number, 0 or more"),
        ({"transition_weight": np.nan}, "transition_weight is nan; expected a finite number"),
        ({"transition_weight": "x"}, "transition_weight is 'x'; expected a finite number"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(InputError, match=message):
        fitted(**arguments)


def test_bad_part_scores():
    s = fitted()
    with pytest.raises(InputError, match=r"unary has shape \(2, 4\); expected \(n_rows, 3\)"):
        s.parts(np.zeros((2, 4)))
    with pytest.raises(InputError, match=r"unary has shape \(3,\); expected \(n_rows, 3\)"):
        s.parts(np.zeros(3))
    with pytest.raises(InputError, match=r"transitions has shape \(9,\); expected \(15,\)"):
        s.parts(np.zeros((2, 3)), np.zeros(9))


def test_bad_given_labels():
    s = fitted()
    with pytest.raises(InputError, match=r"given\[1\] is 'x', which is not one of the labels \['a', 'b', 'O'\]"):
        forced(s, s.parts(np.zeros((2, 3))), [None, "x"])


def test_bad_requests():
    s = fitted()
    parts = s.parts(np.zeros((2, 3)))
    with pytest.raises(InputError, match="k is 0; expected at least 1"):
        s.k_best(parts, 0)
    with pytest.raises(InputError, match="rescaling is 'hinge', norm is 1"):
        s.oracle(parts, [0, 0], "hinge")
    with pytest.raises(InputError, match="rescaling is 'slack', norm is 3"):
        s.oracle(parts, [0, 0], "slack", 3)


def test_outputs_that_do_not_fit_the_input():
    s = fitted()
    parts = s.parts(np.zeros((2, 3)))
    for call in (s.score, s.oracle):
        with pytest.raises(InputError, match=r"y has shape \(3,\); expected \(2,\), one label number per row"):
            call(parts, [0, 0, 0])
        with pytest.raises(InputError, match=r"y holds \[0, 3\]; expected label numbers below 3"):
            call(parts, [0, 3])
    with pytest.raises(InputError, match=r"y_pred has shape \(1,\); expected \(2,\)"):
        s.loss_between([0, 1], [0])
    with pytest.raises(InputError, match=r"y_pred holds \[0, -1\]"):
        s.loss_between([0, 1], [0, -1])
