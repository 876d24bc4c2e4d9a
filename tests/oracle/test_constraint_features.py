"""The pieces of block-coordinate Frank-Wolfe that stand alone: features of a constraint, and the best mix of two."""

import math

import numpy as np
import pytest
from chain_cases import EVERY_STRUCTURE
from enumerate_chain import all_outputs, joint_feature
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.kernels.chains.frank_wolfe import best_mix, joint_difference
from accord.kernels.features.sparse import Features

NO_INTS, NO_FLOATS = np.empty(0, np.int64), np.empty(0)


def packed_features(data, rng, n_rows):
    """Random packed features and the same rows written out: every slot's table row, column j at base + j * stride."""
    n_units, n_columns = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    n_slots = data.draw(st.integers(1, 3))
    table = rng.integers(-2, 3, (n_units, n_columns)) * rng.choice([1.0, 0.37])
    layout = data.draw(st.sampled_from(["blocks", "interleaved", "shared"]))
    if layout == "blocks":
        base, stride = np.arange(n_slots) * n_columns, np.ones(n_slots, int)
    elif layout == "interleaved":
        base, stride = np.arange(n_slots), np.full(n_slots, n_slots)
    else:  # all slots count the same features
        base, stride = np.zeros(n_slots, int), np.ones(n_slots, int)
    slots = rng.integers(0, n_units, (n_rows, n_slots)).astype(np.int32)
    rows = [[0.0] * (n_columns * n_slots) for _ in range(n_rows)]
    for r in range(n_rows):
        for k in range(n_slots):
            for j in range(n_columns):
                rows[r][int(base[k] + j * stride[k])] += float(table[slots[r, k], j])
    place = slots, base.astype(np.int64), stride.astype(np.int64)
    if data.draw(st.booleans()):
        return Features(NO_INTS, NO_INTS.astype(np.int32), NO_FLOATS, table, *place), rows
    where = [np.flatnonzero(row) for row in table]
    indptr = np.concatenate([[0], np.cumsum([len(w) for w in where])]).astype(np.int64)
    indices = np.concatenate(where).astype(np.int32)
    values = np.concatenate([row[w] for row, w in zip(table, where)])
    return Features(indptr, indices, values, np.zeros((0, 0)), *place), rows


@pytest.mark.parametrize("structure", EVERY_STRUCTURE)
@settings(max_examples=12)
@given(data=st.data())
def test_joint_difference(structure, data):
    """Phi(x, y) - Phi(x, found) as (flat index, value), for an input that starts anywhere in the packed rows."""
    case = data.draw(EVERY_STRUCTURE[structure])
    s, n_rows = case.structure, len(case.chain.unary)
    first_row = data.draw(st.integers(0, 2))
    features, rows = packed_features(data, case.rng, first_row + n_rows)
    outputs = all_outputs(case.chain)
    y, found = (outputs[i] for i in case.rng.integers(0, len(outputs), 2))
    work = np.zeros((len(rows[0]) if rows else 1, s.n_nodes_))
    indices, values = joint_difference(
        features, s.label_map(), first_row, np.array(y, np.int32), np.array(found, np.int32), max(case.order, 1),
        case.eta, s.n_transitions_, work,
    )  # fmt: skip
    assert len(set(indices.tolist())) == len(indices), "a feature is listed twice"
    assert not work.any(), "the work space must be left clean"
    difference = np.zeros(work.size + s.n_transitions_)
    difference[indices] = values
    expected = np.zeros_like(difference)
    for output, sign in ((y, 1.0), (found, -1.0)):
        for key, value in joint_feature(
            rows[first_row:], case.label_nodes, output, case.order, case.eta, case.observed
        ).items():
            if key[2] in case.nodes if key[0] == "emit" else key[0] not in ("start", "end") or s.ends_:
                expected[flat_index(key, case, work.size)] += sign * value
    np.testing.assert_allclose(difference, expected, atol=1e-12)


def flat_index(key, case, n_unary):
    """Place of a joint feature in the flat weights: (dimension, node), then start, end, pair, triple."""
    n = case.chain.n_labels
    if key[0] == "emit":
        return key[1] * len(case.nodes) + case.nodes.index(key[2])
    pair = 2 * n if case.structure.ends_ else 0
    first = {"start": 0, "end": n, "pair": pair, "triple": pair + n * n}[key[0]]
    labels = [n if c == -1 else c for c in key[1:]]  # "nothing before" comes after all labels
    place = 0
    for c in labels:
        place = place * n + c
    return n_unary + first + place


def mix_value(a, g, gains, vectors, masses, ridge):
    """The objective of best_mix, from the vectors whose inner products it is given."""
    mixed = [a * u + g * v for u, v in zip(*vectors)]
    mass = a * masses[0] + g * masses[1]
    return a * gains[0] + g * gains[1] - 0.5 * (sum(x * x for x in mixed) + ridge * mass * mass)


def best_value(top, gains, vectors, masses, ridge):
    """Largest objective with a + g <= top: the best g for a given a is a quotient; the best a, by trisection."""
    cross = sum(p * q for p, q in zip(*vectors)) + ridge * masses[0] * masses[1]
    curvature = sum(q * q for q in vectors[1]) + ridge * masses[1] ** 2

    def value(a):
        slope = gains[1] - a * cross  # at g = 0
        if slope <= 0:
            g = 0.0
        else:
            g = min(slope / curvature, top - a) if curvature > 0 else top - a
        return mix_value(a, g, gains, vectors, masses, ridge)

    low, high = 0.0, top
    for _ in range(150):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if value(left) < value(right):
            low = left
        else:
            high = right
    return value((low + high) / 2)


@settings(max_examples=60)
@given(data=st.data())
def test_best_mix(data):
    """No point of the triangle (or, without a budget, of the quadrant) is better."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    kind = data.draw(st.sampled_from(["plain", "parallel", "first is zero", "second is zero", "orthogonal"]))
    u, v = rng.normal(size=(2, 3)) * rng.choice([0.3, 1.0, 3.0], (2, 1))
    if kind == "parallel":
        v = u * rng.choice([1.0, -1.0, 0.5])
    elif kind == "first is zero":
        u = np.zeros(3)
    elif kind == "second is zero":
        v = np.zeros(3)
    elif kind == "orthogonal":
        u[0], v[1:] = 0.0, 0.0
    gains = (rng.normal(size=2) * rng.choice([0.1, 1.0, 10.0])).tolist()
    # as the learner calls it: a budget of 1 without a ridge, or a ridge (and masses) without a budget
    masses = [float(rng.uniform(0.1, 2.0)), 1.0]
    bounded = data.draw(st.booleans())
    ridge, budget = (0.0, 1.0) if bounded else (float(rng.uniform(0.5, 2.0)), math.inf)
    a, g = best_mix(*gains, u @ u, u @ v, v @ v, *masses, ridge, budget)
    assert a >= 0
    assert g >= 0
    assert a + g <= budget + 1e-12
    problem = gains, (u.tolist(), v.tolist()), masses, ridge
    found = mix_value(a, g, *problem)
    # without a budget gains below 100 and ridge * mass ** 2 above 0.005 keep the optimum below 2e4
    assert found == pytest.approx(best_value(1.0 if bounded else 2e4, *problem), rel=1e-7, abs=1e-7)
    grid = np.linspace(0, 1, 11)
    assert found >= max(mix_value(x, z, *problem) for x in grid for z in grid if x + z <= 1) - 1e-9
