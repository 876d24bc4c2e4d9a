"""The smooth machines on sequences sum over all outputs, as they are defined: values, gradients and optima."""

import math
import warnings
from functools import partial

import enumerate_chain
import numpy as np
import plain_smooth
import pytest
from chain_cases import SEQUENCE_LOSSES
from chain_cases import sequence as random_chain
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from smooth_cases import evaluate, make_objective
from solver_cases import sequence
from test_smooth import make_space

from accord import GradientCoSVM, GradientSVM, TransductiveSVM
from accord.structures.chains.working_sets import ChainWorkingSet

DATA = {
    "share": sequence,
    "count, iob2": partial(sequence, "count", constraints="iob2"),
    "0/1, eta 0.5": partial(sequence, "zero-one", eta=0.5),
    "weighted, second order": partial(sequence, "weighted", order=2, n=5),
    "F1": partial(sequence, "f1"),
}
each_data = pytest.mark.parametrize("make", DATA.values(), ids=DATA)
PRECISE = {"tol": 1e-7, "max_iter": 3000, "random_state": 0, "max_outputs": 10**6}


def losses_of(rescaling):
    """Huber hinge and symmetric loss of a margin and a loss, widths being parameters."""
    if rescaling == "margin":
        return plain_smooth.huber, plain_smooth.symmetric
    return (
        lambda t, delta, width: delta * plain_smooth.huber(t, 1.0, width),
        lambda t, delta, width: delta * plain_smooth.symmetric(t, 1.0, width),
    )


# -- listing ----------------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@pytest.mark.parametrize("loss", SEQUENCE_LOSSES)
@given(data=st.data())
def test_all_outputs_near_the_margin_are_listed_once(loss, data):
    case = data.draw(random_chain(loss=loss, styles=["real", "ties", "minus infinity"]))
    outputs = enumerate_chain.feasible(case.chain)
    if not outputs or outputs[0][1] == ():
        return
    rescaling, reach = data.draw(st.sampled_from(["margin", "slack"])), data.draw(st.sampled_from([0.0, 0.3, 5.0]))
    true_score, y = data.draw(st.sampled_from(outputs))
    entries = ChainWorkingSet(case.structure, np.array([0, len(y)]), np.array(y, np.int32))
    wrong = entries.find(case.parts.unary, case.parts[1:], rescaling, reach, 10**6)
    assert entries.n_incomplete == 0
    found = [tuple(z) for z in wrong.labels.reshape(-1, len(y)).tolist()]
    assert len(set(found)) == len(found)
    for score, z in outputs:
        margin, delta = true_score - score, case.loss(y, z)
        beyond = margin - (delta if rescaling == "margin" else 1.0) - reach
        if z != y and beyond < -1e-9:
            k = found.index(z)
            assert wrong.margin[k] == pytest.approx(margin, abs=1e-9)
            assert wrong.delta[k] == pytest.approx(delta)
    assert y not in found
    entries.add(wrong, np.ones(len(found), bool))
    assert entries.find(case.parts.unary, case.parts[1:], rescaling, reach, 10**6).labels.size == 0


@settings(max_examples=60)
@given(data=st.data())
def test_if_there_are_too_many_the_nearest_are_listed(data):
    case = data.draw(random_chain(loss="hamming", styles=["real"]))
    outputs = enumerate_chain.feasible(case.chain)
    if len(outputs) < 3:
        return
    true_score, y = outputs[0]
    entries = ChainWorkingSet(case.structure, np.array([0, len(y)]), np.array(y, np.int32))
    wanted = data.draw(st.integers(1, len(outputs) - 2))
    wrong = entries.find(case.parts.unary, case.parts[1:], "margin", 1e6, wanted)
    assert 1 <= wrong.delta.size <= wanted
    assert entries.n_incomplete == 1
    gaps = sorted((case.loss(y, z) + score - true_score for score, z in outputs if z != y), reverse=True)
    np.testing.assert_allclose(sorted(wrong.delta - wrong.margin, reverse=True), gaps[: wrong.delta.size], atol=1e-9)


# -- values and gradients ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("loss", ["huber", "symmetric"])
@each_data
def test_values_and_gradients_are_those_over_all_outputs(make, loss, rescaling):
    rng = np.random.default_rng(0)
    data = make()
    space, y = make_space(data, "primal")
    x = 0.4 * rng.normal(size=space.zeros().size)
    width, rho = (0.3, 2.0) if loss == "huber" else (0.4, 2.0)
    entries = ChainWorkingSet(space.structure, space.rows.offsets, y)
    scores = space.label_scores(space.forward(x))
    wrong = entries.find(scores, space.structure.chain(space.transitions(space.forward(x))), rescaling, width, 10**6)
    entries.add(wrong, np.ones(wrong.delta.size, bool))
    value, gradient = evaluate(space, make_objective(space, entries, loss, rho, rescaling=rescaling), x)
    by_definition = losses_of(rescaling)[loss == "symmetric"]

    def over_all(w):
        slacks = (plain_smooth.slack(e, w, lambda t, d: by_definition(t, d, width), rho) for e in data.examples)
        return w @ w + 0.7 * math.fsum(slacks)

    w = data.listed(space.weights(x))
    assert value == pytest.approx(over_all(w), rel=1e-12, abs=1e-9)
    expected = 2 * w + 0.7 * sum(slack_gradient(e, w, loss, rescaling, width, rho) for e in data.examples)
    np.testing.assert_allclose(gradient, expected[data.positions], atol=1e-9)
    h = 1e-6
    for k in rng.choice(data.positions.size, 3, replace=False):
        step = h * np.eye(w.size)[data.positions[k]]
        slope = (over_all(w + step) - over_all(w - step)) / (2 * h)
        assert gradient[k] == pytest.approx(slope, abs=1e-6)


def slack_gradient(example, w, loss, rescaling, width, rho):
    """Gradient of a slack over all wrong outputs, one after the other, by the chain rule."""
    by_definition = losses_of(rescaling)[loss == "symmetric"]
    total, pull = 1.0, np.zeros(w.size)
    for k in plain_smooth.wrong_outputs(example):
        difference, delta = example.phi[example.true] - example.phi[k], example.loss[k]
        factor, corner = (1.0, delta) if rescaling == "margin" else (delta, 1.0)
        slope = (huber_slope if loss == "huber" else symmetric_slope)(difference @ w, corner, width)
        weight = math.exp(rho * by_definition(difference @ w, delta, width))
        total += weight - 1
        pull += weight * factor * slope * difference
    return pull / total


def huber_slope(t, delta, epsilon):
    return -min(max((delta + epsilon - t) / (2 * epsilon), 0.0), 1.0)


def symmetric_slope(t, delta, tau):
    tau, side, t = min(tau, delta), math.copysign(1.0, t), abs(t)
    rising, falling = t - (delta - tau), (delta + tau) - t
    return -side * max(min(rising, falling), 0.0) / tau**2


# -- optima -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("C", "rho"), [(1.0, 10.0), (3.0, 2.0)])
@each_data
def test_fits_end_at_the_optimum_over_all_outputs(make, C, rho):
    """The working sets of the worst outputs alone ended 0.5 to 9 % above it."""
    data = make()
    best = plain_smooth.solve(data.examples, C, 0.3, rho)[0]
    model = GradientSVM(data.structure, data.view, C=C, rho=rho, **PRECISE).fit(data.X, data.Y)
    assert model.converged_
    assert model.n_incomplete_ == 0
    found = plain_smooth.objective(data.examples, data.listed(model.weights_), C, 0.3, rho)
    assert found == pytest.approx(best, rel=1e-5)
    assert model.objective_ == pytest.approx(best, rel=1e-5)


@each_data
def test_slack_rescaling_ends_at_its_optimum_over_all_outputs(make):
    data, C, rho = make(), 1.5, 5.0
    huber = losses_of("slack")[0]

    def objective(w):
        slacks = (plain_smooth.slack(e, w, lambda t, delta: huber(t, delta, 0.3), rho) for e in data.examples)
        return w @ w + C * math.fsum(slacks)

    model = GradientSVM(data.structure, data.view, C=C, rho=rho, rescaling="slack", **PRECISE).fit(data.X, data.Y)
    assert model.converged_
    w = data.listed(model.weights_)
    assert model.objective_ == pytest.approx(objective(w), rel=1e-9)
    other = minimize(objective, w, method="L-BFGS-B", options={"maxiter": 20, "maxfun": 5000})
    assert objective(w) <= other.fun * (1 + 1e-5)


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_unlabeled_sequences_count_over_all_outputs(rescaling):
    """The target is the predicted output; the slack is the soft maximum over all others."""
    data, C, rho, weight = sequence("count", n=8), 0.7, 3.0, 0.5
    Y = [y if i < 5 else None for i, y in enumerate(data.Y)]
    options = {"C": C, "rho": rho, "rescaling": rescaling, "ramp": 3, **PRECISE, "tol": 1e-6}
    model = TransductiveSVM(data.structure, data.view, unlabeled_weight=weight, **options).fit(data.X, Y)
    assert model.converged_
    assert model.n_incomplete_ == 0
    huber, symmetric = losses_of(rescaling)
    w = data.listed(model.weights_)

    def objective(w):
        total = w @ w
        for e, y in zip(data.examples, Y):
            if y is not None:
                total += C * plain_smooth.slack(e, w, lambda t, delta: huber(t, delta, 0.3), rho)
                continue
            scores = e.phi @ w
            best = int(np.argmax(scores))
            losses = [
                symmetric(scores[best] - s, sum(a != b for a, b in zip(e.outputs[best], z)), 0.4)
                for s, z in zip(scores, e.outputs) if z != e.outputs[best]
            ]  # fmt: skip
            total += C * weight * plain_smooth.smax(losses, rho)
        return total

    assert model.objective_ == pytest.approx(objective(w), rel=1e-6)
    rng = np.random.default_rng(0)
    for d in rng.normal(size=(20, w.size)):
        assert objective(w + 1e-4 * d / np.linalg.norm(d)) > objective(w) - 1e-7


def test_one_view_of_a_consensus_is_the_same_machine():
    data = sequence("count")
    options = {"rho": 3.0, "rescaling": "slack", **PRECISE}
    model = GradientCoSVM(data.structure, data.view, C=0.6, unlabeled_weight=0, **options).fit(data.X, data.Y)
    single = GradientSVM(data.structure, data.view, C=1.2, **options).fit(data.X, data.Y)
    assert 2 * model.objective_ == pytest.approx(single.objective_, rel=1e-5)


def test_it_is_said_how_many_lists_were_cut():
    data = sequence("count", longest=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        few, worst = (
            GradientSVM(data.structure, data.view, C=3.0, rho=2.0, max_outputs=k, random_state=0).fit(data.X, data.Y)
            for k in (60 * len(data.X), 0)
        )
    assert 0 < few.n_incomplete_ <= worst.n_incomplete_ == len(data.X)
    assert few.objective_ > worst.objective_
