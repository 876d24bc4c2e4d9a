"""Every structure crossed with every operation, against enumeration."""

import math

import numpy as np
import pytest
from chain_cases import EVERY_STRUCTURE, SEQUENCE_LOSSES, sequence
from chain_features import forced, joint_features
from enumerate_chain import all_outputs, feasible, joint_feature, log_partition, marginals, ranked, score, violation
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from accord.exceptions import InfeasibleError
from accord.packed.weights import Weights

each_structure = pytest.mark.parametrize("structure", EVERY_STRUCTURE)


def close(value, expected):
    """Equal up to rounding: scores reach thousands, so about twelve digits."""
    return value == expected or abs(value - expected) <= 1e-10 * max(1.0, abs(expected)) + 1e-10


def as_tuple(y):
    return tuple(int(c) for c in y)


def check_decode(case, best):
    if not best:
        with pytest.raises(InfeasibleError, match="no output is allowed"):
            case.structure.decode(case.parts)
        return
    y, value = case.structure.decode(case.parts)
    assert close(value, best[0][0])
    assert close(score(case.chain, as_tuple(y)), value), "the output does not have the score that came with it"


def check_k_best(case, k, best):
    found = case.structure.k_best(case.parts, k)
    assert len(found) == min(k, len(best))
    assert len({as_tuple(y) for y, _ in found}) == len(found), "an output is listed twice"
    values = [value for _, value in found]
    assert values == sorted(values, reverse=True)
    for (y, value), (expected, _) in zip(found, best):
        assert close(value, expected)
        assert close(score(case.chain, as_tuple(y)), value)


def check_partition(case):
    log_z = log_partition(case.chain)
    found = case.structure.log_partition(case.parts)
    assert type(found) is float
    if log_z == -math.inf:
        assert found == -math.inf
        with pytest.raises(InfeasibleError, match="no output is allowed"):
            case.structure.marginals(case.parts)
        return
    assert close(found, log_z)
    expected = np.array(marginals(case.chain)).reshape(-1, case.chain.n_labels)
    np.testing.assert_allclose(case.structure.marginals(case.parts), expected, rtol=1e-8, atol=1e-9)


def check_violators(case, pick):
    """The returned output has the returned violation; it is the largest where the structure says it is exact."""
    listed = feasible(case.chain)
    assume(listed)
    own, y = listed[pick % len(listed)]
    gains = {z: (case.loss(y, z), s - own) for s, z in listed}
    top = max(s for s, _ in listed)
    for rescaling in ("margin", "slack"):
        for norm in (1, 2):
            every = {z: violation(loss, gain, rescaling, norm) for z, (loss, gain) in gains.items()}
            found, value = case.structure.oracle(case.parts, np.array(y), rescaling, norm)
            largest = max(every.values())
            assert as_tuple(found) in every, "an excluded output was returned"
            assert close(every[as_tuple(found)], value)
            assert value >= 0.0
            if case.structure.exact(rescaling, norm):
                assert close(value, largest), (rescaling, norm)
            else:
                assert value <= largest or close(value, largest), (rescaling, norm)
                best = [every[z] for s, z in listed if close(s, top)]
                assert value >= min(best) or close(value, min(best)), "worse than plain decoding"


@each_structure
@settings(max_examples=20)
@given(data=st.data(), k=st.sampled_from([1, 2, 3, 7, 1000]))
def test_decode_k_best_and_sums(structure, data, k):
    """All that is asked of the same scores."""
    case = data.draw(EVERY_STRUCTURE[structure])
    best = ranked(case.chain)
    check_decode(case, best)
    check_k_best(case, k, best)
    check_partition(case)


@each_structure
@settings(max_examples=14)
@given(data=st.data(), pick=st.integers(0, 1000))
def test_most_violated_output(structure, data, pick):
    check_violators(data.draw(EVERY_STRUCTURE[structure]), pick)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("loss", SEQUENCE_LOSSES)
@settings(max_examples=10)
@given(data=st.data(), pick=st.integers(0, 1000))
def test_most_violated_sequence_of_every_loss(loss, order, data, pick):
    check_violators(data.draw(sequence(order, loss=loss)), pick)


@each_structure
@settings(max_examples=10)
@given(data=st.data(), k=st.integers(1, 5))
def test_forced_rows(structure, data, k):
    """With some labels given, every operation sees only the outputs that have them."""
    case = data.draw(EVERY_STRUCTURE[structure])
    labels = case.structure.labels_
    given_labels = [data.draw(st.sampled_from([None, *labels])) for _ in case.chain.unary]
    case.chain.given = {t: labels.index(label) for t, label in enumerate(given_labels) if label is not None}
    free, case.parts = case.parts, forced(case.structure, case.parts, given_labels)
    assert free.unary is not case.parts.unary, "the scores of the free input must stay as they were"
    best = ranked(case.chain)
    check_decode(case, best)
    check_k_best(case, k, best)
    check_partition(case)


@each_structure
@settings(max_examples=8)
@given(data=st.data(), pick=st.integers(0, 1000))
def test_loss(structure, data, pick):
    case = data.draw(EVERY_STRUCTURE[structure])
    outputs = all_outputs(case.chain)
    y = outputs[pick % len(outputs)]
    for z in outputs:
        expected = case.loss(y, z)
        assert close(case.structure.loss_between(np.array(y), np.array(z)), expected)
        assert expected >= 0
    assert case.structure.loss_between(np.array(y), np.array(y)) == 0.0


def dense(phi, nodes, n_dims, n_labels, order, ends):
    """Enumerated features in the layout of the weights: (dimension, node), then start, end, pair, triple."""
    unary = [[phi.get(("emit", d, node), 0.0) for node in nodes] for d in range(n_dims)]
    if order == 0:
        return np.array(unary).reshape(n_dims, len(nodes)), np.empty(0)
    each = range(n_labels)
    keys = [(end, c) for end in ("start", "end") for c in each if ends] + [("pair", b, c) for b in each for c in each]
    if order == 2:
        keys += [("triple", a, b, c) for a in [*each, -1] for b in each for c in each]
    return np.array(unary).reshape(n_dims, len(nodes)), np.array([phi.get(key, 0.0) for key in keys])


@each_structure
@settings(max_examples=8)
@given(data=st.data())
def test_joint_feature_and_score(structure, data):
    """Phi is the enumerated one, and the score of its part scores is its product with the weights.

    Nodes above all classes of a taxonomy have no column, so there the features may differ by what all outputs share.
    """
    case = data.draw(EVERY_STRUCTURE[structure])
    s, n_dims = case.structure, data.draw(st.integers(1, 3))
    rows = case.rng.normal(size=(len(case.chain.unary), n_dims))
    w = Weights(case.rng.normal(size=(n_dims, s.n_nodes_)), case.rng.normal(size=s.n_transitions_))
    assert s.zero_weights(n_dims).flat().shape == w.flat().shape
    parts = s.parts(s.label_scores(rows @ w.unary), w.transitions)
    outputs = all_outputs(case.chain)
    outputs = [outputs[i] for i in case.rng.permutation(len(outputs))[:12]]
    first = joint_feature(rows.tolist(), case.label_nodes, outputs[0], case.order, case.eta, case.observed)
    base = joint_features(s, rows, np.array(outputs[0], int))
    for y in outputs:
        phi = joint_features(s, rows, np.array(y, int))
        by_definition = joint_feature(rows.tolist(), case.label_nodes, y, case.order, case.eta, case.observed)
        change = {key: by_definition.get(key, 0.0) - first.get(key, 0.0) for key in {*by_definition, *first}}
        unary, transitions = dense(change, case.nodes, n_dims, s.n_labels_, case.order, s.ends_)
        np.testing.assert_allclose(phi.unary - base.unary, unary, atol=1e-12)
        np.testing.assert_allclose(phi.transitions - base.transitions, transitions, atol=1e-12)
        dropped = [v for key, v in change.items() if key[0] == "emit" and key[2] not in case.nodes]
        assert all(abs(v) < 1e-12 for v in dropped), "a node without a column tells outputs apart"
        if not structure.startswith("taxonomy"):
            unary, transitions = dense(by_definition, case.nodes, n_dims, s.n_labels_, case.order, s.ends_)
            np.testing.assert_allclose(phi.unary, unary, atol=1e-12)
            np.testing.assert_allclose(phi.transitions, transitions, atol=1e-12)
        if case.chain.allowed(y) or not y:
            assert close(s.score(parts, np.array(y)), float(w.flat() @ phi.flat()))
        else:
            assert s.score(parts, np.array(y)) == -math.inf
