"""Metrics of partitions: by hand, against sums over all pairs, and against scikit-learn."""

import enumerate_partitions as oracle
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from accord import InputError
from accord.evaluation import clusters as m


@st.composite
def two_partitions(draw, least=1, most=12):
    n = draw(st.integers(least, most))
    labels = st.lists(st.integers(0, 5), min_size=n, max_size=n)
    return draw(labels), draw(labels)


def pair_sets(y):
    return {(j, k) for j, k in oracle.pairs(len(y)) if y[j] == y[k]}


@settings(max_examples=40)
@given(two_partitions())
def test_losses_are_their_definitions(case):
    y, other = case
    assert m.rand_loss(y, other) == pytest.approx(float(oracle.rand_loss(y, other)))
    assert m.total_loss(y, other) == pytest.approx(float(oracle.total_loss(y, other)))
    assert m.total_loss_per_object(y, other) == pytest.approx(float(oracle.total_loss(y, other)) / len(y))


@settings(max_examples=40)
@given(two_partitions())
def test_pairs_and_objects_are_counted_as_by_hand(case):
    y, other = case
    counts = m.pair_counts(y, other)
    true, pred = pair_sets(y), pair_sets(other)
    assert (counts.n_true, counts.n_pred, counts.n_correct) == (len(true), len(pred), len(true & pred))
    n = len(y)
    own = [{k for k in range(n) if y[k] == y[j]} for j in range(n)]
    found = [{k for k in range(n) if other[k] == other[j]} for j in range(n)]
    precision = sum(len(a & b) / len(b) for a, b in zip(own, found)) / n
    recall = sum(len(a & b) / len(a) for a, b in zip(own, found)) / n
    assert m.b_cubed(y, other) == pytest.approx((precision, recall, 2 * precision * recall / (precision + recall)))


@settings(max_examples=40)
@given(two_partitions())
def test_adjusted_rand_is_that_of_scikit_learn(case):
    assert m.adjusted_rand_index(*case) == pytest.approx(adjusted_rand_score(*case), abs=1e-12)


@settings(max_examples=40)
@given(st.lists(two_partitions(), min_size=1, max_size=4))
def test_several_sets(cases):
    true, pred = [a for a, _ in cases], [b for _, b in cases]
    for metric in (m.rand_loss, m.total_loss, m.adjusted_rand_index):
        assert metric(true, pred) == pytest.approx(np.mean([metric(a, b) for a, b in cases]))
    n = sum(map(len, true))
    assert m.total_loss_per_object(true, pred) == pytest.approx(sum(m.total_loss(a, b) for a, b in cases) / n)
    assert m.b_cubed(true, pred)[0] == pytest.approx(sum(m.b_cubed(a, b)[0] * len(a) for a, b in cases) / n)
    assert m.pair_counts(true, pred).n_correct == sum(m.pair_counts(a, b).n_correct for a, b in cases)


def test_an_object_in_a_wrong_cluster_costs_about_one_however_large_clusters_are():
    for size in (5, 50, 500):
        y = [0] * size + [1] * size + [2]
        moved = y.copy()
        moved[-2] = 0  # the last of the second cluster
        assert m.total_loss(y, moved) == pytest.approx(2.0)
        alone = y.copy()
        alone[0] = 3
        assert m.total_loss(y, alone) == pytest.approx(1.0)
        swallowed = y.copy()
        swallowed[-1] = 0  # a singleton that comes last
        assert m.total_loss(y, swallowed) == pytest.approx(1.0)


def test_large_sets_take_no_time():
    rng = np.random.default_rng(0)
    y, other = rng.integers(0, 2000, 80_000), rng.integers(0, 2000, 80_000)
    assert 0 < m.rand_loss([y], [other]) < 2e-3
    assert m.total_loss_per_object([y], [other]) == pytest.approx(1.0, abs=0.01)  # half for missing, half for wrong
    assert m.b_cubed_f1([y], [other]) < 0.1


def test_what_is_refused():
    with pytest.raises(InputError, match=r"y_pred\[0\] has 1 objects but y_true\[0\] has 2"):
        m.rand_loss([0, 0], [0])
    with pytest.raises(InputError, match="y_pred has 2 sets but y_true has 1"):
        m.rand_loss([[0, 0]], [[0, 0], [1]])
    with pytest.raises(InputError, match="empty"):
        m.b_cubed([], [])
    with pytest.raises(InputError, match="only empty sets"):
        m.b_cubed([[]], [[]])
    with pytest.raises(InputError, match=r"y_true\[0\]\[1\] is None"):
        m.total_loss([0, None], [0, 0])
