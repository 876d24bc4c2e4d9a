"""Correlation clustering against all partitions, against definitions to the letter, and against SciPy's programs."""

import enumerate_partitions as oracle
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from accord.exceptions import InputError
from accord.kernels.partitions import correlation as cc
from accord.kernels.partitions import lp, moves, triangles


@st.composite
def whole_sets(draw, most=7):
    """Similarities that add up without rounding, with many ties."""
    n = draw(st.integers(1, most))
    size = n * (n - 1) // 2
    return n, draw(st.lists(st.integers(-4, 4).map(float), min_size=size, max_size=size))


@st.composite
def real_sets(draw, most=7):
    n = draw(st.integers(2, most))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    return n, (rng.normal(size=n * (n - 1) // 2) + draw(st.sampled_from([-1.0, 0.0, 0.5]))).tolist()


def is_partition(labels, n):
    return labels.shape == (n,) and labels.tolist() == oracle.labels_of(
        [np.flatnonzero(labels == c).tolist() for c in np.unique(labels)], n
    )


def full_program(n, sim):
    """Value and z of the relaxation with all its inequalities, by SciPy."""
    number = {frozenset(pair): p for p, pair in enumerate(oracle.pairs(n))}
    A = np.zeros((len(oracle.triangles(n)), len(sim)))
    for row, (j, k, l) in zip(A, oracle.triangles(n)):
        row[number[frozenset((j, k))]] += 1
        row[number[frozenset((k, l))]] += 1
        row[number[frozenset((j, l))]] -= 1
    found = linprog(-np.array(sim), A_ub=A if A.size else None, b_ub=np.ones(len(A)) if A.size else None, bounds=(0, 1))
    return -found.fun, A


@settings(max_examples=35)
@given(whole_sets())
def test_sequential_is_its_definition(case):
    n, sim = case
    labels = cc.sequential(sim)
    assert labels.tolist() == oracle.sequential(sim, n)


@settings(max_examples=35)
@given(whole_sets(12), st.integers(1, 4))
def test_sequential_in_blocks_is_sequential(case, size):
    n, sim = case
    matrix = cc.square(np.array(sim))
    clusters = cc.SequentialClusters()
    for first in range(0, n, size):
        clusters.extend(matrix[first : first + size])
    assert clusters.labels.tolist() == oracle.sequential(sim, n)


@settings(max_examples=35)
@given(whole_sets(9))
def test_agglomerative_is_its_definition(case):
    n, sim = case
    labels = cc.agglomerative(sim)
    assert labels.tolist() == oracle.agglomerative(sim, n)


@settings(max_examples=30)
@given(st.one_of(whole_sets(), real_sets()))
def test_every_decoder_against_all_partitions(case):
    n, sim = case
    best = oracle.best_value(sim, n)
    scale = 1.0 + sum(map(abs, sim))
    exact, relaxed = lp.exact(sim), lp.lp(sim)
    assert abs(exact.value - best) <= 1e-9 * scale
    assert relaxed.bound >= best - 1e-9 * scale
    for labels in (exact.labels, relaxed.labels, cc.sequential(sim), cc.agglomerative(sim)):
        assert is_partition(labels, n)
        assert oracle.value(sim, labels) <= best + 1e-9 * scale
    for found in (exact, relaxed):
        assert abs(oracle.value(sim, found.labels) - found.value) <= 1e-9 * scale


@settings(max_examples=25)
@given(st.one_of(whole_sets(), real_sets(9)))
def test_inequalities_found_one_by_one_give_the_full_program(case):
    n, sim = case
    if n < 2:
        return
    z, bound = lp.relaxed(sim)
    value, A = full_program(n, sim)
    scale = 1.0 + sum(map(abs, sim))
    assert abs(bound - value) <= 1e-6 * scale
    assert abs(z @ np.array(sim) - value) <= 1e-6 * scale
    assert np.all(A @ z <= 1 + 2e-6)
    assert z.min() >= 0
    assert z.max() <= 1


@settings(max_examples=25)
@given(real_sets(7), st.data())
def test_a_program_may_be_used_again(case, data):
    n, sim = case
    program = triangles.TriangleProgram(n)
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    for values in (np.array(sim), rng.normal(size=len(sim)), np.array(sim)):
        _, bound = program.solve(values)
        assert abs(bound - full_program(n, values)[0]) <= 1e-6 * (1 + np.abs(values).sum())


@settings(max_examples=35)
@given(st.one_of(whole_sets(9), real_sets(9)), st.data())
def test_moves_never_lose_and_leave_no_better_move(case, data):
    n, sim = case
    if n < 2:
        return
    start = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=n, max_size=n)))
    labels = moves.improved(np.array(sim), start)
    value = oracle.value(sim, labels)
    assert is_partition(labels, n)
    assert value >= oracle.value(sim, start) - 1e-9
    for j in range(n):
        for c in range(labels.max() + 2):
            other = labels.copy()
            other[j] = c
            assert oracle.value(sim, other) <= value + 1e-9
    for a in range(labels.max() + 1):
        for b in range(a):
            assert oracle.value(sim, np.where(labels == a, b, labels)) <= value + 1e-9


@settings(max_examples=25)
@given(whole_sets())
def test_some_best_partition_stays_within_components(case):
    n, sim = case
    parts = cc.components(np.array(sim))
    within = [y for y in oracle.partitions(n) if all(parts[j] == parts[k] for j, k in oracle.pairs(n) if y[j] == y[k])]
    assert max(oracle.value(sim, y) for y in within) == oracle.best_value(sim, n)


@settings(max_examples=35)
@given(st.one_of(whole_sets(), real_sets()))
def test_branching_alone_is_exact(case):
    """Without roundings that would find the best partition anyhow."""
    n, sim = case
    real, calls = lp.rounded, []

    def singletons_unless_whole(values, z, bound):
        calls.append(1)
        return (
            real(values, z, bound)
            if triangles.is_whole(z)
            else lp.Clustering(np.arange(cc.n_objects(values.size)), 0.0, bound)
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lp, "rounded", singletons_unless_whole)
        assert lp.exact(sim).value == pytest.approx(oracle.best_value(sim, n), abs=1e-9 * (1 + sum(map(abs, sim))))


def test_inequalities_that_do_not_matter_are_dropped(monkeypatch):
    monkeypatch.setattr(triangles, "ROWS_PER_PAIR", 0.5)
    rng = np.random.default_rng(0)
    program, dropped = triangles.TriangleProgram(8), []
    monkeypatch.setattr(
        program, "_drop_slack_rows", lambda: (dropped.append(1), type(program)._drop_slack_rows(program))
    )
    for _ in range(30):
        values = rng.normal(size=28)
        assert program.solve(values).bound == pytest.approx(full_program(8, values)[0], abs=1e-6)
        assert len(program.rows) == program.highs.getNumRow()
    assert dropped


@pytest.mark.parametrize("steps", [0, 20])
def test_interior_points_have_bounds_as_well(steps, monkeypatch):
    monkeypatch.setattr(triangles, "STEPS_PER_OBJECT", steps)
    rng = np.random.default_rng(1)
    for n in (6, 12, 20):
        values = rng.normal(size=n * (n - 1) // 2)
        program = triangles.TriangleProgram(n)
        z, bound = program.solve(values)
        assert program.simplex == (steps > 0 or triangles.is_whole(z))
        assert bound >= values @ triangles.closed(z) - 1e-9
        assert bound == pytest.approx(full_program(n, values)[0], rel=1e-6)


def test_larger_sets_are_solved_exactly_too():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 5, 24)
    j, k = np.tril_indices(24, -1)
    sim = np.where(truth[j] == truth[k], 1.0, -1.0) + rng.normal(size=j.size)
    exact, relaxed = lp.exact(sim), lp.lp(sim)
    assert exact.value == pytest.approx(oracle.value(sim, exact.labels))
    assert relaxed.value <= exact.value + 1e-9 <= relaxed.bound + 2e-9
    assert max(oracle.value(sim, moves.improved(sim, rng.integers(0, 5, 24))) for _ in range(100)) <= exact.value + 1e-9


def test_what_is_no_similarity_is_refused():
    with pytest.raises(InputError, match="shape"):
        cc.condensed([1.0, 2.0])
    with pytest.raises(InputError, match="not finite"):
        cc.condensed([np.nan])
    with pytest.raises(InputError, match="not symmetric"):
        cc.condensed([[0.0, 1.0], [2.0, 0.0]])
    with pytest.raises(InputError, match=r"search 61 objects"):
        lp.exact(np.ones(61 * 30))
