"""Loss-augmented clustering against all partitions, and the losses that it is made of."""

from itertools import pairwise

import enumerate_partitions as oracle
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.exceptions import InputError
from accord.kernels.partitions import triangles
from accord.structures.partitions.partition import DECODERS, Partition
from accord.structures.partitions.problem import sequential_constraints


@st.composite
def cases(draw, most=6):
    n = draw(st.integers(2, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return rng.normal(size=n * (n - 1) // 2), rng.integers(0, n, n), draw(st.sampled_from(["total", "rand"]))


@settings(max_examples=20)
@given(cases())
def test_loss_augmented_decoding_against_all_partitions(case):
    sim, y, loss = case
    n = y.size
    structure = Partition(loss).fit([])
    worst = max(float(oracle.LOSSES[loss](y, z)) + oracle.value(sim, z) for z in oracle.partitions(n))
    for decoder in (*DECODERS, "moves"):
        found = structure.loss_augmented(sim, y, decoder)
        assert found.value <= worst + 1e-9
        assert found.value == pytest.approx(found.loss + sim @ found.z)
        assert set(found.z.tolist()) <= {0.0, 1.0}
        if decoder == "exact":
            assert found.value == pytest.approx(worst)
    assert structure.relaxed_loss_augmented(sim, y).value >= worst - 1e-9


@settings(max_examples=20)
@given(cases(), st.floats(-3.0, 3.0))
def test_some_relaxed_partition_that_is_bad_enough(case, shift):
    sim, y, loss = case
    structure = Partition(loss).fit([])
    best = structure.relaxed_loss_augmented(sim, y)
    program = triangles.TriangleProgram(y.size)
    found = structure.relaxed_loss_augmented(sim, y, program, enough=best.value + shift)
    assert found.value >= best.value - 1e-7  # a bound
    assert found.loss + sim @ found.z <= best.value + 1e-7  # a relaxed partition
    if shift < 0:
        assert found.loss + sim @ found.z >= best.value + shift - 1e-9
    z = found.z
    number = {frozenset(pair): p for p, pair in enumerate(oracle.pairs(y.size))}
    for j, k, l in oracle.triangles(y.size):
        assert z[number[frozenset((j, k))]] + z[number[frozenset((k, l))]] - z[number[frozenset((j, l))]] <= 1 + 1e-5


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.integers(1, 7))
def test_closing_is_the_least_change_that_keeps_all_inequalities(seed, n):
    z = np.random.default_rng(seed).uniform(size=n * (n - 1) // 2)
    closed = triangles.closed(z)
    distance = {}
    for value, (j, k) in zip(z, oracle.pairs(n)):
        distance[j, k] = distance[k, j] = 1 - value
    for k in range(n):
        for j in range(n):
            for l in range(n):
                if len({j, k, l}) == 3:
                    distance[j, l] = min(distance[j, l], distance[j, k] + distance[k, l])
    np.testing.assert_allclose(closed, [1 - distance[pair] for pair in oracle.pairs(n)], atol=1e-12)


@pytest.mark.parametrize("loss", ["total", "rand", "zero-one"])
@settings(max_examples=35)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=5))
def test_constraints_of_the_sequential_learner(loss, y):
    """Each object goes to the end of its set; its alternatives are all partitions that agree on the others."""
    n = len(y)
    labels = Partition().encode(y)
    pairs = np.random.default_rng(n).normal(size=(n * (n - 1) // 2, 2))
    table = {}
    for row, (j, k) in zip(pairs, oracle.pairs(n)):
        table[j, k] = table[k, j] = row
    found = sequential_constraints(pairs, labels, loss)
    ends = np.append(found.starts, found.offsets.size)
    expected = []
    for j in range(n):
        order = [m for m in range(n) if m != j] + [j]
        truth = [y[m] for m in order]
        here = []
        for other in oracle.partitions(n):
            agree = all((truth[a] == truth[b]) == (other[a] == other[b]) for a, b in oracle.pairs(n - 1))
            wrong = [(truth[a] == truth[b]) - (other[a] == other[b]) for a, b in oracle.pairs(n)]
            if agree and any(wrong):
                delta = sum(v * table[order[a], order[b]] for v, (a, b) in zip(wrong, oracle.pairs(n)))
                here.append((float(oracle.LOSSES[loss](truth, other)), *delta.tolist()))
        if here:
            expected.append(sorted(here))
    got = [
        sorted((b, *d) for b, d in zip(found.offsets[lo:hi].tolist(), found.deltas[lo:hi].tolist()))
        for lo, hi in pairwise(ends)
    ]
    assert [len(g) for g in got] == [len(e) for e in expected]
    for g, e in zip(got, expected):
        np.testing.assert_allclose(g, e, atol=1e-9)
    assert found.offsets.size <= n**2


def test_zero_one_is_no_sum_over_pairs():
    with pytest.raises(InputError, match="no sum over pairs"):
        Partition("zero-one").fit([]).loss_augmented(np.zeros(1), np.array([0, 1]))
