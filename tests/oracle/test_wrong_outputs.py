"""Outputs that are not the target, against enumeration: the best one, with and without the loss added."""

import math

import numpy as np
import pytest
from chain_cases import EVERY_STRUCTURE, SEQUENCE_LOSSES, sequence
from enumerate_chain import feasible, score
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.kernels.chains.working_sets import best_other, wrong_outputs
from accord.structures.chains.working_sets import ChainWorkingSet

ADDITIVE = [name for name in SEQUENCE_LOSSES if "f1" not in name]


def draw_target(data, case):
    """A feasible output, or None."""
    outputs = [y for _, y in feasible(case.chain)]
    return data.draw(st.sampled_from(outputs)) if outputs and outputs != [()] else None


def close(a, b, unary):
    return a == pytest.approx(b, abs=1e-11 * (1 + np.abs(unary[np.isfinite(unary)]).sum() + abs(b)))


@settings(max_examples=60)
@given(case=sequence(), data=st.data())
def test_the_best_output_that_is_not_the_target(case, data):
    y = draw_target(data, case)
    if y is None:
        return
    unary, chain = case.parts.unary, case.parts[1:]
    n = unary.shape[0]
    labels, work = np.full(n, -7, np.int32), np.full((n, chain[1].shape[0] * chain[1].shape[1]), np.nan)
    top = best_other(*case.parts, np.array(y, np.int32), work, np.full(n, np.nan), labels)
    others = [s for s, z in feasible(case.chain) if z != y]
    if not others:
        assert top == -math.inf
        return
    assert close(top, max(others), unary)
    assert tuple(labels.tolist()) != y
    assert close(score(case.chain, labels.tolist()), top, unary)


@settings(max_examples=30)
@pytest.mark.parametrize("loss", ADDITIVE)
@given(data=st.data())
def test_the_worst_wrong_output(loss, data):
    """Its loss plus score is the largest of all wrong outputs, for every loss that adds over tokens."""
    case = data.draw(sequence(loss=loss, styles=["real", "ties", "minus infinity"]))
    y = draw_target(data, case)
    if y is None:
        return
    unary = case.parts.unary
    n = unary.shape[0]
    labels, delta, margin = np.full(n, -7, np.int32), np.full(1, np.nan), np.full(1, np.nan)
    wrong_outputs(case.structure.loss_, 0, np.array([0, n]), *case.parts, np.array(y, np.int32), labels, delta, margin)
    others = [(case.loss(y, z) + s, z) for s, z in feasible(case.chain) if z != y]
    if not others:
        assert delta[0] == -1.0
        return
    found = tuple(labels.tolist())
    assert found != y
    assert delta[0] == pytest.approx(case.loss(y, found))
    assert close(margin[0], score(case.chain, y) - score(case.chain, found), unary)
    assert close(delta[0] + score(case.chain, found), max(v for v, _ in others), unary)


@settings(max_examples=30)
@given(data=st.data())
def test_with_f1_the_target_itself_is_never_taken_for_a_wrong_output(data):
    case = data.draw(sequence(loss=data.draw(st.sampled_from(["f1", "macro-f1"])), styles=["real"]))
    y = draw_target(data, case)
    if y is None:
        return
    n = case.parts.unary.shape[0]
    labels, delta, margin = np.full(n, -7, np.int32), np.full(1, np.nan), np.full(1, np.nan)
    wrong_outputs(case.structure.loss_, 0, np.array([0, n]), *case.parts, np.array(y, np.int32), labels, delta, margin)
    if delta[0] >= 0:
        assert tuple(labels.tolist()) != y
        assert delta[0] == pytest.approx(case.loss(y, tuple(labels.tolist())))


@pytest.mark.parametrize("name", [n for n in EVERY_STRUCTURE if not n.startswith("sequence")])
@settings(max_examples=12)
@given(data=st.data())
def test_all_wrong_classes_are_found_once(name, data):
    case = data.draw(EVERY_STRUCTURE[name])
    y = draw_target(data, case)
    if y is None:
        return
    entries = ChainWorkingSet(case.structure, np.array([0, 1]), np.array(y, np.int32))
    unary = np.where(np.isfinite(case.parts.unary), case.parts.unary, -1e3)
    wrong = entries.find(unary, case.parts[1:])
    expected = [c for c in range(case.structure.n_labels_) if c != y[0]]
    assert wrong.labels.tolist() == expected
    assert wrong.delta.tolist() == pytest.approx([case.loss(y, (c,)) for c in expected])
    assert wrong.margin.tolist() == pytest.approx([unary[0, y[0]] - unary[0, c] for c in expected])
    entries.add(wrong, np.ones(len(expected), bool))
    assert entries.find(unary, case.parts[1:]).labels.size == 0
