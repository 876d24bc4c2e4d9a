"""The enumerating oracles themselves, against values worked out on paper."""

import math

import enumerate_chain as ec
import enumerate_losses as el
import pytest

# Two rows, two labels: scores of (0,0), (0,1), (1,0), (1,1) are written out below.
CHAIN = ec.Chain(
    n_labels=2, unary=[[1.0, 2.0], [0.0, 5.0]], start=[10.0, 20.0], end=[100.0, 200.0], pair=[[7.0, -7.0], [-1.0, 1.0]]
)
SCORES = {(0, 0): 118.0, (0, 1): 209.0, (1, 0): 121.0, (1, 1): 228.0}


def test_score_and_ranking():
    assert {y: ec.score(CHAIN, y) for y in ec.all_outputs(CHAIN)} == SCORES
    assert [y for _, y in ec.ranked(CHAIN)] == [(1, 1), (0, 1), (1, 0), (0, 0)]


def test_second_order_score_and_eta():
    chain = ec.Chain(2, [[0.0, 0.0]] * 3, [0.0, 0.0], [0.0, 0.0], [[0.0, 0.0]] * 2, {}, eta=2.0)
    chain.triple = {(a, b, c): 0.0 for a in (ec.NOTHING, 0, 1) for b in (0, 1) for c in (0, 1)}
    chain.triple[ec.NOTHING, 1, 0] = 3.0
    chain.triple[1, 0, 1] = 4.0
    assert [ec.score(chain, y) for y in [(1, 0, 1), (1, 0, 0), (0, 1, 0), (1, 0)]] == [14.0, 6.0, 0.0, 6.0]


def test_what_is_excluded():
    chain = ec.Chain(2, [[0.0, -math.inf], [0.0, 0.0], [0.0, 0.0]], given={2: 1}, allowed=lambda y: y != (0, 0, 1))
    assert [y for _, y in ec.feasible(chain)] == [(0, 1, 1)]


def test_partition_and_marginals():
    chain = ec.Chain(2, [[0.0, math.log(3.0)], [math.log(2.0), 0.0]])
    assert ec.log_partition(chain) == pytest.approx(math.log(12.0))
    assert ec.marginals(chain) == [pytest.approx([0.25, 0.75]), pytest.approx([2 / 3, 1 / 3])]
    assert ec.expected_transitions(chain)["pair", 1, 0] == pytest.approx(0.5)
    assert ec.log_partition(ec.Chain(2, [[-math.inf, -math.inf]])) == -math.inf
    assert ec.log_partition(ec.Chain(2, [])) == 0.0


def test_joint_feature():
    phi = ec.joint_feature([[1.0, 2.0], [10.0, 20.0]], [{"a": 1.0, "r": 1.0}, {"b": 1.0, "r": 1.0}], (0, 1), 2, 0.5)
    assert phi == {
        ("emit", 0, "a"): 1.0, ("emit", 1, "a"): 2.0, ("emit", 0, "b"): 10.0, ("emit", 1, "b"): 20.0,
        ("emit", 0, "r"): 11.0, ("emit", 1, "r"): 22.0,
        ("start", 0): 0.5, ("end", 1): 0.5, ("pair", 0, 1): 0.5, ("triple", ec.NOTHING, 0, 1): 0.5,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rescaling", "norm", "expected"),
    [("margin", 1, 4.0 + 10.0), ("margin", 2, 2.0 + 10.0), ("slack", 1, 4.0 * 11.0), ("slack", 2, 2.0 * 11.0)],
)
def test_violation(rescaling, norm, expected):
    assert ec.violation(4.0, 10.0, rescaling, norm) == expected


def test_violations_of_a_chain():
    found = {y: h for h, y in ec.violations(CHAIN, (0, 1), el.hamming, "slack", 1)}
    assert found == {(0, 1): 0.0, (1, 1): 0.5 * 20.0, (0, 0): 0.5 * -90.0, (1, 0): 1.0 * -87.0}


def test_losses():
    y, y_pred = (1, 1, 0, 2), (1, 0, 2, 1)
    assert el.zero_one(y, y_pred) == 1.0
    assert el.zero_one(y, y) == 0.0
    assert el.hamming(y, y_pred) == 0.75
    assert el.hamming(y, y_pred, normalize=False) == 3.0
    assert el.hamming(y, y_pred, normalize=False, weights=[10.0, 1.0, 0.5]) == 11.5
    assert el.hamming((), ()) == 0.0
    # labels 1 and 2: 1 correct, 3 true, 3 predicted
    assert el.micro_f1(y, y_pred, [1, 2]) == pytest.approx(2 / 3)
    # label 1: 1 correct, 2 true, 2 predicted, F1 = 1/2; label 2: 0 correct; label 3 does not occur
    assert el.macro_f1(y, y_pred, [1, 2, 3]) == pytest.approx(0.75)
    assert el.micro_f1((0, 0), (0, 0), [1]) == el.macro_f1((0, 0), (0, 0), [1]) == 0.0
    assert el.cost((1,), (0,), [[0, 5], [7, 0]]) == 7.0


def test_tree_loss():
    tree = {"r": [], "a": ["r"], "b": ["r"], "c": ["a"], "d": ["a"], "e": ["b"], "f": ["e"]}
    assert [el.height(z, tree) for z in "rabcdef"] == [3, 1, 2, 0, 0, 1, 0]
    assert el.leaves(tree) == ["c", "d", "f"]
    pairs = {"cc": 0, "cd": 1, "cf": 3, "ca": 1, "cr": 3, "ef": 1, "fb": 2}
    assert {p: el.tree_loss(*p, tree) for p in pairs} == pairs
    dag = {"r": [], "s": [], "m": ["r"], "x": ["m", "s"], "y": ["s", "r"], "z": ["m"]}
    assert el.tree_loss("x", "y", dag) == 1.0  # common: r (height 2) and s (height 1), neither below the other
    assert el.tree_loss("x", "z", dag) == 1.0  # m, which lies below r
    assert el.tree_loss("y", "z", {"y": [], "z": []}) == 1.0


def test_taxonomy_lambda():
    tree = {"r": [], "a": ["r"], "c": ["a"]}
    assert el.taxonomy_lambda("a", tree, normalized=False) == {"a": 1.0, "r": 1.0}
    assert el.taxonomy_lambda("a", tree, normalized=True) == pytest.approx({"a": 0.5**0.5, "r": 0.5**0.5})


@pytest.mark.parametrize(
    ("tags", "iob2", "bioes"),
    [
        ("", True, True),
        ("O O", True, True),
        ("B-X I-X I-X B-X", True, False),
        ("I-X", False, False),
        ("O I-X", False, False),
        ("B-X I-Y", False, False),
        ("B-X O I-X", False, False),
        ("B-X I-X E-X", False, True),
        ("S-X B-Y E-Y O", False, True),
        ("B-X E-Y", False, False),
        ("B-X I-X", True, False),
        ("B-X E-X I-X E-X", False, False),
        ("E-X", False, False),
        ("B I O", True, False),
        ("O I", False, False),
        ("B I-X", False, False),
        ("B-X I", False, False),
        ("B E S", False, True),
    ],
)
def test_tagging_schemes(tags, iob2, bioes):
    assert el.is_valid(tags.split(), "iob2") is iob2
    assert el.is_valid(tags.split(), "bioes") is bioes


def test_forbidden_moves():
    assert el.has_forbidden_move(["a", "b"], [("a", "b")])
    assert not el.has_forbidden_move(["b", "a"], [("a", "b")])
    assert el.has_forbidden_move(["a", "b"], [(None, "a")])
    assert el.has_forbidden_move(["a", "b"], [("b", None)])
    assert not el.has_forbidden_move(["a", "b"], [("a", None), (None, "b")])
