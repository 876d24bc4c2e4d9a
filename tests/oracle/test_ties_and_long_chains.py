"""What enumeration of random scores does not show: which of several best outputs is taken, and chains of many rows."""

import math

import numpy as np
import pytest
from chain_cases import STYLES, TAGS, draw_scores, every_structure, sequence
from enumerate_chain import ranked
from enumerate_losses import is_valid
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from accord import Sequence
from accord.exceptions import InfeasibleError

WITH_TIES = every_structure(styles=["ties"])  # whole and half scores, so equal sums are equal floats


@pytest.mark.parametrize("structure", WITH_TIES)
@settings(max_examples=14)
@given(data=st.data())
def test_ties_go_to_the_lowest_label(structure, data):
    """Of the best outputs, the one whose last label is lowest, then its last but one, ... (first order).

    A state of a second-order chain is a pair of labels: the lowest last pair, then the label before it, ...
    """
    case = data.draw(WITH_TIES[structure])
    best = ranked(case.chain)
    assume(best)
    tied = [y for s, y in best if s == best[0][0]]
    if case.order == 2 and len(case.chain.unary) > 1:
        lowest = min(tied, key=lambda y: (y[-2], y[-1], y[:-2][::-1]))
    else:
        lowest = min(tied, key=lambda y: y[::-1])
    assert tuple(case.structure.decode(case.parts)[0].tolist()) == lowest
    assert tuple(case.structure.k_best(case.parts, 3)[0][0].tolist()) == lowest


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("style", STYLES)
@settings(max_examples=8)
@given(n_labels=st.integers(1, 4), n_tokens=st.integers(50, 400), seed=st.integers(0, 2**32 - 1))
def test_long_chains_without_transitions_are_rows_side_by_side(style, order, n_labels, n_tokens, seed):
    """Every row is then a softmax of its own: nothing may under- or overflow on the way."""
    unary = draw_scores(np.random.default_rng(seed), style, (n_tokens, n_labels))
    unary[np.all(unary == -np.inf, axis=1)] = 0.0
    structure = Sequence(labels=list(range(n_labels)), order=order).fit([])
    parts = structure.parts(unary)
    top = unary.max(axis=1, keepdims=True)
    weights = np.exp(unary - top)
    log_z = math.fsum(float(top[t, 0]) + math.log(math.fsum(weights[t].tolist())) for t in range(n_tokens))
    assert structure.log_partition(parts) == pytest.approx(log_z, rel=1e-10, abs=1e-8)
    softmax = weights / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(structure.marginals(parts), softmax, rtol=1e-6, atol=1e-9)
    y, score = structure.decode(parts)
    assert y.tolist() == unary.argmax(axis=1).tolist()
    assert score == pytest.approx(math.fsum(top.ravel().tolist()), rel=1e-10, abs=1e-8)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("gap", [1.0, 50.0, 99.0, 101.0, 700.0, 1000.0])
def test_partition_where_the_best_label_of_every_row_is_forbidden_by_transitions(gap, order):
    """Labels a and b must alternate, and the scores favour the impossible: only two outputs remain."""
    structure = Sequence(labels=["a", "b"], order=order, constraints=[("a", "a"), ("b", "b"), (None, "b")]).fit([])
    for n in (1, 2, 5, 200):
        unary = np.zeros((n, 2))
        unary[np.arange(n), 1 - np.arange(n) % 2] = gap  # the label that the only allowed output does not have
        assert structure.log_partition(structure.parts(unary)) == pytest.approx(0.0, abs=1e-9)
        expected = np.zeros((n, 2))
        expected[np.arange(n), np.arange(n) % 2] = 1.0
        np.testing.assert_allclose(structure.marginals(structure.parts(unary)), expected, atol=1e-9)
        assert structure.decode(structure.parts(unary))[0].tolist() == (np.arange(n) % 2).tolist()


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("gap", [1.0, 50.0, 99.0])
def test_partition_where_the_only_output_falls_behind_little_by_little(gap, order):
    """Labels never change, b scores less than a at every row, and only at the end a turns out to be impossible."""
    structure = Sequence(labels=["a", "b"], order=order, constraints=[("a", "b"), ("b", "a"), ("a", None)]).fit([])
    for n in (1, 4, 5, 8, 12, 400):
        unary = np.array([[0.0, -gap]] * n)
        parts = structure.parts(unary)
        assert structure.log_partition(parts) == pytest.approx(-gap * n, rel=1e-12)
        np.testing.assert_allclose(structure.marginals(parts), [[0.0, 1.0]] * n, atol=1e-9)
        assert structure.decode(parts)[0].tolist() == [1] * n


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("scheme", ["iob2", "bioes"])
@settings(max_examples=25)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1), n_tokens=st.integers(1, 25))
def test_what_is_decoded_is_well_formed(scheme, order, data, seed, n_tokens):
    """Judged by a grammar of whole sequences, on inputs too long to enumerate; violators and runners-up too."""
    labels = data.draw(st.permutations(sorted({tag for row in TAGS[scheme] for tag in row})))
    structure = Sequence(labels=labels, constraints=scheme, order=order).fit([])
    rng = np.random.default_rng(seed)
    parts = structure.parts(rng.normal(size=(n_tokens, len(labels))) * 3, rng.normal(size=structure.n_transitions_))
    found = structure.k_best(parts, 3)
    y = found[-1][0]
    found += [structure.oracle(parts, y, rescaling, norm) for rescaling in ("margin", "slack") for norm in (1, 2)]
    for output, _ in [structure.decode(parts), *found]:
        assert is_valid([labels[c] for c in output], scheme)
    assert len(found) == 3 + 4


@pytest.mark.parametrize("rows", [1, 3])
def test_an_input_without_any_output(rows):
    structure = Sequence(labels=["B-X", "I-X"], constraints="bioes").fit([])  # a span could not end
    parts = structure.parts(np.zeros((rows, 2)))
    with pytest.raises(InfeasibleError):
        structure.decode(parts)
    with pytest.raises(InfeasibleError):
        structure.marginals(parts)
    assert structure.k_best(parts, 5) == []
    assert structure.log_partition(parts) == -math.inf


@settings(max_examples=35)
@given(data=st.data(), rescaling=st.sampled_from(["margin", "slack"]), norm=st.sampled_from([1, 2]))
def test_a_well_learned_output_is_not_violated(data, rescaling, norm):
    """Where the true output leads by more than any loss, the most violated one is itself, with violation 0."""
    case = data.draw(sequence())
    best = ranked(case.chain)
    assume(best)
    y = np.array(best[0][1], dtype=int)
    if case.structure.label_weights and rescaling == "slack":
        assume(min(case.structure.label_weights.values()) > 0)  # or an output without loss has violation 0 too
    lead = np.where(np.arange(case.chain.n_labels) == y[:, None], 0.0, -1e5)
    parts = case.parts._replace(unary=case.parts.unary.copy())
    parts.unary[:, : case.chain.n_labels] += lead
    found, violation = case.structure.oracle(parts, y, rescaling, norm)
    assert found.tolist() == y.tolist()
    assert violation == pytest.approx(0.0, abs=1e-9)
