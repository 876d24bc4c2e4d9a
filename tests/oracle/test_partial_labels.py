"""Hidden labels against enumeration: forced decoding, likelihoods and their gradients, updates, expected counts."""

import math
from dataclasses import replace
from itertools import pairwise

import enumerate_losses as el
import numpy as np
import plain_hmm
import pytest
import solver_cases
from chain_cases import STYLES, draw_scores, sequence
from enumerate_chain import ranked
from hypothesis import given, settings
from hypothesis import strategies as st

from accord import HMM, ArrayFeatures, Sequence
from accord.kernels.chains.viterbi import force_labels, viterbi_batch
from accord.packed.weights import Weights
from accord.solvers import gradient
from accord.structures.chains.problem import ChainProblem

PLAIN = ArrayFeatures(bias=False)
HIDDEN = -1
TAGS = ["B-X", "I-X", "O"]


def agrees(z, y):
    """Whether an output has the labels that are given."""
    return all(b in (a, HIDDEN) for a, b in zip(z, y))


# -- decoding ---------------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(data=st.data())
def test_forced_decoding(data):
    """The best output that has the given labels; it is the free one, ties included, if that has them."""
    case = data.draw(sequence(sizes=(0,), observed=False))
    n, rng = case.chain.n_labels, case.rng
    lengths = data.draw(st.lists(st.sampled_from([2, 3, 1, 0]), min_size=1, max_size=4))
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    unary = draw_scores(rng, data.draw(st.sampled_from(STYLES)), (int(offsets[-1]), n))
    y = rng.integers(HIDDEN, n, len(unary)).astype(np.int32)
    free, found = np.empty_like(y), np.empty_like(y)
    scores = np.empty(len(lengths))
    viterbi_batch(offsets, unary, *case.parts[1:], free, scores)
    forced = unary.copy()
    force_labels(forced, y, n)
    viterbi_batch(offsets, forced, *case.parts[1:], found, scores)
    for i, (lo, hi) in enumerate(pairwise(offsets.tolist())):
        known = {t: label for t, label in enumerate(y[lo:hi].tolist()) if label != HIDDEN}
        best = ranked(replace(case.chain, unary=unary[lo:hi].tolist(), given=known))
        assert scores[i] == pytest.approx(best[0][0] if best else -math.inf, rel=1e-10, abs=1e-10)
        if best:
            assert agrees(found[lo:hi], y[lo:hi])
            if agrees(free[lo:hi], y[lo:hi]):
                assert found[lo:hi].tolist() == free[lo:hi].tolist()


# -- training sets with hidden labels -------------------------------------------------------------------------------

KINDS = {
    "first order, observed": {"observed": True},
    "eta, iob2": {"constraints": "iob2", "eta": 0.5},
    "second order, observed": {"order": 2, "observed": True, "n": 5},
    "second order, iob2": {"order": 2, "constraints": "iob2", "n": 5},
}


class Hidden:
    """A training set with all outputs listed, in which some labels are hidden."""

    def __init__(self, kind, seed, share=0.5):
        rng = np.random.default_rng(seed)
        self.data = solver_cases.sequence(**KINDS[kind], seed=seed % 1000)
        complete = self.data.problem()
        y = np.where(rng.random(complete.y.size) < share, HIDDEN, complete.y).astype(np.int32)
        y[: complete.offsets[1]] = complete.y[: complete.offsets[1]]  # the first example stays as it is
        self.problem = ChainProblem(complete.structure, complete.rows, y)
        self.y = [y[lo:hi].tolist() for lo, hi in pairwise(complete.offsets)]
        zero = self.problem.zero_weights()
        self.weights = Weights.from_flat(rng.normal(size=zero.size), *zero.unary.shape)

    def scored(self, weights):
        """For each example: scores of its outputs, which of them agree with the labels, and its joint features."""
        w = self.data.listed(weights)
        for e, y in zip(self.data.examples, self.y):
            yield e.phi @ w, np.array([agrees(z, y) for z in e.outputs]), e.phi


@st.composite
def hidden_cases(draw, **options):
    return Hidden(draw(st.sampled_from(list(KINDS))), draw(st.integers(0, 10**6)), **options)


def log_sum(scores):
    return scores.max() + np.log(np.exp(scores - scores.max()).sum())


def expectation(scores, phi):
    return np.exp(scores - log_sum(scores)) @ phi


def listed_likelihood(case, weights):
    """log p(outputs that agree), and its gradient."""
    value, slope = 0.0, 0.0
    for scores, agree, phi in case.scored(weights):
        value += log_sum(scores[agree]) - log_sum(scores)
        slope = slope + expectation(scores[agree], phi[agree]) - expectation(scores, phi)
    return value, slope


@settings(max_examples=30)
@given(case=hidden_cases())
def test_likelihood_and_gradient(case):
    value, slope = case.problem.log_likelihood(case.weights)
    expected, expected_slope = listed_likelihood(case, case.weights)
    assert value == pytest.approx(expected, rel=1e-10, abs=1e-10)
    np.testing.assert_allclose(slope.flat(), expected_slope[case.data.positions], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_gradient_is_that_of_finite_differences(kind):
    case = Hidden(kind, 7)
    assert any(HIDDEN in y and set(y) != {HIDDEN} for y in case.y), "nothing is partly hidden"
    w, shape = case.weights.flat(), case.weights.unary.shape

    def value(v):
        return gradient.objective(case.problem, Weights.from_flat(v, *shape), 1.3)[0]

    _, found = gradient.objective(case.problem, case.weights, 1.3)
    expected = [(value(w + 1e-5 * e) - value(w - 1e-5 * e)) / 2e-5 for e in np.eye(w.size)]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_labels_that_are_all_forced_are_those_of_the_path(kind):
    """The way of hidden labels and the way of complete ones meet where nothing is hidden."""
    case = Hidden(kind, 3, share=0.0)
    value, slope = case.problem.log_likelihood(case.weights)
    forced = case.problem.relabeled(case.problem.y)
    forced.partial = np.ones(forced.n_examples, bool)
    forced_value, forced_slope = forced.log_likelihood(case.weights)
    assert forced_value == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(forced_slope.flat(), slope.flat(), rtol=1e-9, atol=1e-10)


@settings(max_examples=30)
@given(case=hidden_cases())
def test_a_stochastic_step_follows_the_gradient(case):
    """With next to no decay a visit adds the gradient of one example; the loss is that before the visit."""
    weights = case.weights
    for i, (scores, agree, phi) in enumerate(case.scored(weights)):
        after = weights.copy()
        _, loss = case.problem.crf_epoch(after, np.array([i]), 1e-300, 0.7, 0.0)
        assert loss == pytest.approx(log_sum(scores) - log_sum(scores[agree]), rel=1e-9, abs=1e-9)
        slope = expectation(scores[agree], phi[agree]) - expectation(scores, phi)
        np.testing.assert_allclose(
            after.flat() - weights.flat(), 0.7 * slope[case.data.positions], rtol=1e-7, atol=1e-9
        )  # fmt: skip


@settings(max_examples=30)
@given(case=hidden_cases())
def test_imputed_labels_are_those_of_the_best_agreeing_output(case):
    found = case.problem.impute(case.weights)
    for i, (scores, agree, _) in enumerate(case.scored(case.weights)):
        best = case.data.examples[i].outputs[int(np.argmax(np.where(agree, scores, -np.inf)))]
        lo, hi = case.problem.offsets[i : i + 2]
        assert found[lo:hi].tolist() == list(best)


@settings(max_examples=30)
@given(case=hidden_cases(), averaged=st.booleans())
def test_perceptron_moves_towards_the_best_agreeing_output(case, averaged):
    """Two passes, example by example, from weights without ties."""
    w = case.data.listed(case.weights)
    sums, clock, wrong = np.zeros_like(w), 1.0, 0
    order = np.tile(np.arange(len(case.y)), 2)
    for i in order:
        e, y = case.data.examples[i], case.y[i]
        agree = np.array([agrees(z, y) for z in e.outputs])
        free = int(np.argmax(e.phi @ w))
        target = int(np.argmax(np.where(agree, e.phi @ w, -np.inf)))
        wrong += free != target
        w = w + e.phi[target] - e.phi[free]
        sums += clock * (e.phi[target] - e.phi[free])
        clock += 1.0
    weights, total = case.weights.copy(), case.problem.zero_weights()
    if not averaged:
        total = Weights(np.empty((0, total.unary.shape[1])), np.empty(0))
    found_clock, found_wrong, tokens = case.problem.perceptron_epoch(weights, total, order, 1.0)
    assert (found_clock, found_wrong) == (clock, wrong)
    assert tokens >= wrong
    np.testing.assert_allclose(weights.flat(), w[case.data.positions], atol=1e-9)
    if averaged:
        np.testing.assert_allclose(total.flat(), sums[case.data.positions], atol=1e-8)


# -- hidden Markov models -------------------------------------------------------------------------------------------


def hmm_data(emission, seed=0):
    """Complete, partly labeled and unlabeled sequences that IOB2 allows."""
    rng = np.random.default_rng(seed)
    centres = np.array([[0.8, 0.2, 0.5], [0.2, 0.8, 0.1], [0.3, 0.3, 0.9]])
    X, Y = [], []
    while len(X) < 12:
        y = rng.integers(0, 3, rng.integers(1, 5)).tolist()
        if el.is_valid([TAGS[c] for c in y], "iob2"):
            noise = rng.normal(size=(len(y), 3))
            X.append(centres[y] * 2 + noise if emission == "gaussian" else (rng.random(noise.shape) < centres[y]) * 1.0)
            Y.append(y)
    for i in range(3, 10):  # one token at least keeps its label
        given = rng.integers(len(Y[i]))
        Y[i] = [c if t == given or rng.random() < 0.3 else HIDDEN for t, c in enumerate(Y[i])]
    Y[10:] = [[HIDDEN] * len(y) for y in Y[10:]]
    return X, Y


def as_outputs(Y):
    return [[None if c == HIDDEN else TAGS[c] for c in y] for y in Y]


def plain_model(hmm, X):
    """The parameters of a fitted HMM as :mod:`plain_hmm` takes them."""
    start, end, pair = np.split(np.exp(hmm.weights_.transitions), [3, 6])
    scores = {x.tobytes(): s for rows in X for x, s in zip(rows, hmm.decision_function([rows])[0])}
    return {"start": start, "end": end, "pair": pair.reshape(3, 3), "emit": lambda x, c: scores[x.tobytes()][c]}


def listed_step(model, X, Y, weight, smoothing, emission, constraints):
    """(log likelihood, model after one step of Baum-Welch) with every hidden sequence listed."""
    value, guessed = 0.0, []
    for rows, y in zip(X, Y):
        complete, unlabeled = HIDDEN not in y, set(y) == {HIDDEN}

        def allowed(z, y=y, complete=complete):
            valid = complete or constraints is None or el.is_valid([TAGS[c] for c in z], constraints)
            return valid and agrees(z, y)

        share = weight if unlabeled else 1.0
        log_p, outputs = plain_hmm.posterior(model, rows, 3, allowed)
        value += share * log_p
        guessed += [(share * p, rows, z) for p, z in outputs]
    return value, plain_hmm.estimate(guessed, 3, smoothing, emission, np.vstack(X))


class Steps(HMM):
    """Takes as many steps as it is told, none among them, and never stops early."""

    def _check_params(self):
        self.tol = -1.0


@pytest.mark.parametrize("emission", ["bernoulli", "gaussian"])
@pytest.mark.parametrize("constraints", [None, "iob2"])
@pytest.mark.parametrize(("weight", "smoothing"), [(1.0, 1.0), (0.3, 0.2)])
def test_steps_of_baum_welch_are_those_of_listed_hidden_sequences(emission, constraints, weight, smoothing):
    X, Y = hmm_data(emission)
    before, *fits = (
        Steps(
            Sequence(labels=TAGS, constraints=constraints), view=PLAIN, emission=emission, smoothing=smoothing,
            unlabeled_weight=weight, max_iter=n,
        ).fit(X, as_outputs(Y))
        for n in (0, 1, 2, 3)
    )  # fmt: skip
    for hmm in fits:
        model = plain_model(before, X)
        value, expected = listed_step(model, X, Y, weight, smoothing, emission, constraints)
        found = plain_model(hmm, X)
        for name in ("start", "end", "pair"):
            np.testing.assert_allclose(found[name], expected[name])
        for rows in X:
            scores = [[expected["emit"](row, c) for c in range(3)] for row in rows]
            np.testing.assert_allclose(hmm.decision_function([rows])[0], scores)
        if emission == "bernoulli":  # whose prior is easily written down
            p = 1 / (1 + np.exp(-before.weights_.unary))
            prior = sum(np.log(a).sum() for a in (model["start"], model["end"], model["pair"], p, 1 - p))
            assert hmm.log_likelihood_[-1] == pytest.approx(value + smoothing * prior)
        before = hmm


@pytest.mark.parametrize("emission", ["bernoulli", "gaussian"])
@pytest.mark.parametrize("constraints", [None, "iob2"])
@pytest.mark.parametrize("unlabeled", [True, False])
def test_no_step_lowers_the_penalised_likelihood(emission, constraints, unlabeled):
    X, Y = hmm_data(emission, seed=1)
    if not unlabeled:
        X, Y = X[:-2], Y[:-2]
    structure = Sequence(labels=TAGS, constraints=constraints)
    hmm = Steps(structure, view=PLAIN, emission=emission, unlabeled_weight=0.5, max_iter=30)
    hmm.fit(X, as_outputs(Y))
    assert len(hmm.log_likelihood_) == 30
    steps = np.diff(hmm.log_likelihood_)
    assert steps.min() >= -1e-9 * abs(hmm.log_likelihood_[0])
    assert steps.max() > 1e-6 * abs(hmm.log_likelihood_[0]), "nothing was learned from the hidden labels"
    assert hmm.unlabeled_weight_ == (0.5 if unlabeled else 0.0)
    assert len(hmm.transduction_) == (2 if unlabeled else 0)
