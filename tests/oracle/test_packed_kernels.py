"""Kernels over packed ragged inputs do the same as one input at a time, and path scores and counts as defined."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
from chain_cases import STYLES, draw_scores, sequence, with_pairs
from enumerate_chain import (
    NOTHING,
    all_outputs,
    expected_transitions,
    feasible,
    log_partition,
    marginals,
    pair_marginals,
    ranked,
    score,
    transition_counts,
)
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from accord.kernels.chains import forward_backward as fb
from accord.kernels.chains.violator import MARGIN, SLACK, find_violator, find_violators
from accord.kernels.chains.viterbi import viterbi, viterbi_batch

RESCALINGS = {"margin": MARGIN, "slack": SLACK}


def packed(data):
    """A structure's case, the chains of several inputs with its transitions, their packed rows and offsets."""
    case = data.draw(sequence(sizes=(0,)))
    n, rng = case.chain.n_labels, case.rng
    lengths = data.draw(st.lists(st.sampled_from([2, 3, 1, 0]), min_size=1, max_size=4))
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    unary = draw_scores(rng, data.draw(st.sampled_from(STYLES)), (int(offsets[-1]), n))
    chains = [replace(case.chain, unary=unary[lo:hi].tolist(), observed=None) for lo, hi in pairwise(offsets)]
    if case.observed:
        pairs = draw_scores(rng, data.draw(st.sampled_from(STYLES)), (len(unary), n, n))
        rows = [with_pairs(c, unary[lo:hi], pairs[lo:hi]) for c, (lo, hi) in zip(chains, pairwise(offsets))]
        unary = np.concatenate(rows)
    return case, chains, unary, offsets


def spans(offsets):
    return list(pairwise(offsets.tolist()))


@settings(max_examples=40)
@given(data=st.data())
def test_viterbi_batch(data):
    case, chains, unary, offsets = packed(data)
    moves = case.parts[1:]
    labels, scores = np.full(len(unary), -7, np.int32), np.full(len(chains), np.nan)
    viterbi_batch(offsets, unary, *moves, labels, scores)
    for i, (lo, hi) in enumerate(spans(offsets)):
        y = np.empty(hi - lo, np.int32)
        assert viterbi(unary[lo:hi], *moves, y) == scores[i]
        best = ranked(chains[i])
        if not best:
            assert scores[i] == -np.inf
        else:
            assert labels[lo:hi].tolist() == y.tolist()
            np.testing.assert_allclose(scores[i], best[0][0], rtol=1e-10, atol=1e-10)


def empty_counts(case):
    return [np.zeros_like(a) for a in case.parts[1:]]


def add_to_counts(counts, by_definition, order):
    """Enumerated transitions in the layout of the kernels."""
    init, step, final = counts
    for key, value in by_definition.items():
        if key[0] == "start":
            init[key[1]] += value
        elif key[0] == "end":
            final[key[1]] += value
        elif key[0] == "pair" and order == 1:
            step[key[1], 0, key[2]] += value
        elif key[0] == "triple" and order == 2:
            before = step.shape[0] - 1 if key[1] == NOTHING else key[1]
            step[before, key[2], key[3]] += value


@settings(max_examples=40)
@given(data=st.data(), weighted=st.booleans())
def test_forward_backward_batch(data, weighted):
    """Partition functions, marginals and summed expected transition counts; counts are added to what was there."""
    case, chains, unary, offsets = packed(data)
    moves, weights = case.parts[1:], case.rng.uniform(0.0, 3.0, len(chains)) if weighted else np.empty(0)
    counts = [a + 1.0 for a in empty_counts(case)]
    table, log_z = np.zeros_like(unary), np.full(len(chains), np.nan)
    fb.forward_backward_batch(offsets, unary, moves, weights, table, log_z, counts)
    expected = [a + 1.0 for a in empty_counts(case)]
    for i, (lo, hi) in enumerate(spans(offsets)):
        np.testing.assert_allclose(log_z[i], log_partition(chains[i]), rtol=1e-10, atol=1e-9)
        if log_z[i] > -np.inf and hi > lo:
            n = case.chain.n_labels
            np.testing.assert_allclose(table[lo:hi, :n], marginals(chains[i]), rtol=1e-8, atol=1e-9)
            if case.observed:
                pairs = np.array(pair_marginals(chains[i])).reshape(hi - lo, n * n)
                np.testing.assert_allclose(table[lo:hi, n:], pairs, rtol=1e-8, atol=1e-9)
            weight = weights[i] if weighted else 1.0
            add_to_counts(expected, {k: weight * v for k, v in expected_transitions(chains[i]).items()}, case.order)
        one_z, one_table = np.zeros(1), np.zeros_like(unary[lo:hi])
        fb.forward_backward_batch(
            np.array([0, hi - lo]), unary[lo:hi], moves, weights[i : i + 1], one_table, one_z, empty_counts(case)
        )  # fmt: skip
        assert one_z[0] == log_z[i]
        np.testing.assert_array_equal(one_table, table[lo:hi])
    for found, by_definition in zip(counts, expected):
        np.testing.assert_allclose(found, by_definition, rtol=1e-8, atol=1e-8)


@settings(max_examples=30)
@given(data=st.data(), rescaling=st.sampled_from(["margin", "slack"]), norm=st.sampled_from([1, 2]))
def test_find_violators(data, rescaling, norm):
    case, chains, unary, offsets = packed(data)
    assume(all(feasible(chain) for chain in chains))
    moves = case.parts[1:]
    picks = [feasible(chain)[int(case.rng.integers(len(feasible(chain))))][1] for chain in chains]
    y = np.array([label for pick in picks for label in pick], np.int32)
    true_scores = np.empty(len(chains))
    fb.path_scores(offsets, y, unary, *moves, true_scores)
    found, values = np.full_like(y, -7), np.full(len(chains), np.nan)
    find_violators(
        case.structure.loss_, RESCALINGS[rescaling], norm, offsets, unary, *moves, y, true_scores, found, values
    )
    for i, (lo, hi) in enumerate(spans(offsets)):
        one = np.empty(hi - lo, np.int32)
        value = find_violator(
            case.structure.loss_, RESCALINGS[rescaling], norm, unary[lo:hi], *moves, y[lo:hi], true_scores[i], one
        )
        assert value == values[i]
        assert one.tolist() == found[lo:hi].tolist()
        z, h = case.structure.oracle(case.parts._replace(unary=unary[lo:hi]), y[lo:hi], rescaling, norm)
        np.testing.assert_allclose(max(values[i], 0.0), h, rtol=1e-10, atol=1e-9)
        if h > 1e-9:
            assert z.tolist() == one.tolist()


@settings(max_examples=30)
@given(data=st.data(), weighted=st.booleans())
def test_path_scores_and_counts(data, weighted):
    case, chains, unary, offsets = packed(data)
    outputs = [(every := all_outputs(chain))[int(case.rng.integers(len(every)))] for chain in chains]
    y = np.array([label for output in outputs for label in output], np.int32)
    scores = np.full(len(chains), np.nan)
    fb.path_scores(offsets, y, unary, *case.parts[1:], scores)
    by_definition = [score(chain, output) for chain, output in zip(chains, outputs)]
    np.testing.assert_allclose(scores, by_definition, rtol=1e-10, atol=1e-10)
    counts, expected = empty_counts(case), empty_counts(case)
    weights = case.rng.uniform(0.0, 3.0, len(chains)) if weighted else np.ones(len(chains))
    fb.path_counts(offsets, y, weights if weighted else np.empty(0), *counts)
    for output, weight in zip(outputs, weights):
        add_to_counts(expected, {k: weight * v for k, v in transition_counts(output).items()}, case.order)
    for found, value in zip(counts, expected):
        np.testing.assert_allclose(found, value, rtol=1e-12)
