"""Losses, soft maxima, gradients and conjugate gradients of the smooth large-margin objectives."""

from functools import partial

import numpy as np
import plain_smooth
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from smooth_cases import assert_gradients, evaluate, make_objective
from solver_cases import multiclass, sequence, taxonomy

from accord.kernels import smooth_losses
from accord.packed.spaces import ExpansionSpace, PrimalSpace
from accord.solvers import smooth
from accord.structures.chains.working_sets import ChainWorkingSet
from accord.views.gram import products

DATA = {
    "classes, 0/1": multiclass,
    "classes, costs": partial(multiclass, "cost"),
    "taxonomy, tree loss": taxonomy,
    "taxonomy, 0/1, all nodes, normalized": partial(taxonomy, "zero-one", "all", "normalized"),
    "sequence, Hamming": sequence,
    "sequence, count, eta 0.5, observed": partial(sequence, "count", eta=0.5, observed=True),
    "sequence, 0/1, without ends": partial(sequence, "zero-one", ends=False),
    "sequence, weighted, second order": partial(sequence, "weighted", order=2, n=5),
}
SPACES = ["primal", "expansion", "primal, centred", "expansion, centred"]
each_data = pytest.mark.parametrize("make", DATA.values(), ids=DATA)
each_space = pytest.mark.parametrize("kind", SPACES)
numbers = st.floats(-3, 3)


# -- losses -----------------------------------------------------------------------------------------------------------


@given(t=numbers, delta=st.floats(0, 2), epsilon=st.floats(0.01, 1))
def test_huber_is_the_papers(t, delta, epsilon):
    value, slope = smooth.loss("huber", np.array([t]), np.array([delta]), epsilon)
    assert value[0] == pytest.approx(plain_smooth.huber(t, delta, epsilon), abs=1e-12)
    expected = -1.0 if t <= delta - epsilon else 0.0 if t >= delta + epsilon else -0.5 * ((delta - t) / epsilon + 1)
    assert slope[0] == pytest.approx(expected, abs=1e-9)


def test_huber_of_width_0_is_the_hinge():
    value, slope = smooth.loss("huber", np.array([-1.0, 0.5, 1.0, 2.0]), np.ones(4), 0.0)
    assert value.tolist() == [2.0, 0.5, 0.0, 0.0]
    assert slope.tolist() == [-1.0, -1.0, 0.0, 0.0]


@given(t=numbers, delta=st.floats(0.01, 2), tau=st.floats(0.01, 1))
def test_the_symmetric_loss_is_the_papers(t, delta, tau):
    def value(at):
        return smooth.loss("symmetric", np.array([at]), np.array([delta]), tau)[0][0]

    assert value(t) == pytest.approx(plain_smooth.symmetric(t, delta, tau), abs=1e-9)
    assert value(t) == value(-t)
    slope = smooth.loss("symmetric", np.array([t]), np.array([delta]), tau)[1][0]
    h = 1e-6 * min(tau, delta)
    bend = 1.0 / min(tau, delta) ** 2  # the slope may change by this much from one side of a kink to the other
    assert slope == pytest.approx((value(t + h) - value(t - h)) / (2 * h), abs=1e-6 / min(tau, delta) + bend * h)


def test_an_output_without_loss_counts_for_nothing_among_the_unlabeled():
    value, slope = smooth.loss("symmetric", np.array([0.0, 0.1, -1.0]), np.zeros(3), 0.4)
    assert value.tolist() == slope.tolist() == [0.0, 0.0, 0.0]


# -- soft maximum -----------------------------------------------------------------------------------------------------


def smax(s, segments, rho):
    """Soft maximum of every segment of non-negative numbers, and its derivatives."""
    ends, share = np.append(segments[1:], s.size), np.empty(s.size)
    value = [
        smooth_losses._soft_maximum(s[a:b], b - a, float(rho), share[a:b], np.ones(b - a))
        for a, b in zip(segments, ends)
    ]
    return np.array(value), share


@settings(max_examples=40)
@given(
    groups=st.lists(st.lists(st.floats(0, 3), min_size=1, max_size=5), min_size=1, max_size=4),
    rho=st.sampled_from([0.0, 1e-8, 1e-3, 1.0, 30.0, 200.0, np.inf]),
)
def test_soft_maximum(groups, rho):
    s = np.concatenate(groups)
    segments = np.cumsum([0] + [len(g) for g in groups[:-1]])
    value, share = smax(s, segments, rho)
    for found, group in zip(value, groups):
        # the definition itself loses digits there
        rel, apart = (1e-6, 1e-7) if 0 < rho < 1e-6 else (1e-10, 1e-9)
        assert found == pytest.approx(plain_smooth.smax(group, rho), rel=rel, abs=apart)
        assert max(group) - 1e-12 <= found <= sum(group) * (1 + 1e-9) + 1e-12
    if rho < np.inf:
        h = 1e-6
        for k in range(s.size):
            more, less = s.copy(), s.copy()
            more[k] += h
            less[k] = max(less[k] - h, 0.0)
            rise = smax(more, segments, rho)[0].sum() - smax(less, segments, rho)[0].sum()
            assert share[k] == pytest.approx(rise / (more[k] - less[k]), abs=1e-3 if rho > 100 else 1e-4)
    else:
        assert share.sum() == len(groups)


def test_soft_maxima_of_huge_numbers_are_finite():
    value, share = smax(np.array([1e6, 1e6, 0.0]), np.array([0]), 1e3)
    assert value[0] == pytest.approx(1e6 + np.log(2) / 1e3)
    np.testing.assert_allclose(share, [0.5, 0.5, 0.0], atol=1e-6)


@given(
    group=st.lists(st.floats(0, 3), min_size=1, max_size=4),
    more=st.floats(0, 3),
    rho=st.sampled_from([0.0, 1e-3, 1.0, 50.0, np.inf]),
)
def test_what_one_more_number_raises(group, more, rho):
    before = np.array([plain_smooth.smax(group, rho)])
    raised = smooth.smax_raise(before, np.array([more]), rho)[0]
    assert raised == pytest.approx(plain_smooth.smax([*group, more], rho) - before[0], abs=1e-9)


@pytest.mark.parametrize("rho", [1e3, 1e5, 1e7])
def test_what_one_more_number_raises_a_sharp_maximum(rho):
    raised = smooth.smax_raise(np.array([0.0, 2.0, 2.0]), np.array([5.0, 5.0, 1.0]), rho)
    np.testing.assert_allclose(raised, [5.0, 3.0, 0.0], atol=1 / rho)


# -- gradients --------------------------------------------------------------------------------------------------------


def make_space(data, kind):
    """The parameters of a data set, of the given kind, and its label numbers."""
    structure = data.structure.fit(data.Y)
    rows = data.view.fit_rows(data.X)
    centre = (rows.n_rows // 2, rows.n_rows) if "centred" in kind else None
    y = structure.encode(data.Y)
    if kind.startswith("primal"):
        return PrimalSpace(structure, rows, centre), y
    matrix = rows.matrix().toarray()
    return ExpansionSpace(structure, rows, products(matrix, matrix), centre), y


def full_set(space, y, rng, rounds=4):
    """A working set with outputs that are worst for random scores."""
    s = space.structure
    entries = ChainWorkingSet(s, space.rows.offsets, y)
    for _ in range(rounds):
        chain = s.chain(rng.normal(size=s.n_transitions_))
        wrong = entries.find(rng.normal(size=(y.size, s.n_columns_)), chain)
        entries.add(wrong, rng.random(wrong.example.size) < 0.7)
    return entries


@each_space
@each_data
def test_gradients_are_those_of_finite_differences(make, kind):
    space, y = make_space(make(), kind)
    assert_gradients(space, full_set(space, y, np.random.default_rng(0)), 0.5)


@each_data
def test_the_objective_is_the_definition(make):
    """Margins by the sparse matrix are those of listed joint features, and so is the whole objective."""
    rng = np.random.default_rng(1)
    data = make()
    space, y = make_space(data, "primal")
    entries = full_set(space, y, rng)
    x = rng.normal(size=space.zeros().size)
    w = data.listed(space.weights(x))
    margins = entries.matrix(space.n_rows) @ space.part_scores(space.forward(x))
    starts = np.concatenate([[0], np.cumsum(entries.lengths[entries.example])])
    chosen = [[] for _ in data.examples]
    for k, i in enumerate(entries.example.tolist()):
        e = data.examples[i]
        output = e.outputs.index(tuple(entries.labels[starts[k] : starts[k + 1]].tolist()))
        assert output != e.true
        assert output not in chosen[i], "an output is listed twice"
        chosen[i].append(output)
        assert margins[k] == pytest.approx((e.phi[e.true] - e.phi[output]) @ w, abs=1e-9)
        assert entries.delta[k] == pytest.approx(e.loss[output])
    for loss in ("huber", "symmetric"):
        plain = {
            "huber": lambda t, d: plain_smooth.huber(t, d, 0.3),
            "symmetric": partial(plain_smooth.symmetric, tau=0.4),
        }
        expected = w @ w + 0.7 * sum(
            plain_smooth.slack(e, w, plain[loss], 2.0, outputs) for e, outputs in zip(data.examples, chosen)
        )
        found = evaluate(space, make_objective(space, entries, loss, 2.0), x)[0]
        assert found == pytest.approx(expected, rel=1e-10)


@each_data
def test_both_spaces_are_the_same_function(make):
    rng = np.random.default_rng(2)
    data = make()
    for centred in ("", ", centred"):
        primal, y = make_space(data, "primal" + centred)
        expansion, _ = make_space(data, "expansion" + centred)
        entries = full_set(primal, y, np.random.default_rng(3))
        b = rng.normal(size=expansion.zeros().size)
        x = expansion.weights(b).flat()
        np.testing.assert_allclose(primal.forward(x), expansion.forward(b), atol=1e-9)
        for loss in ("huber", "symmetric"):
            value, gradient = evaluate(primal, make_objective(primal, entries, loss, 5.0), x)
            other, coefficients = evaluate(expansion, make_objective(expansion, entries, loss, 5.0), b)
            assert other == pytest.approx(value, rel=1e-9)
            np.testing.assert_allclose(expansion.weights(coefficients).flat(), gradient, atol=1e-9)


# -- conjugate gradients ----------------------------------------------------------------------------------------------


@each_space
@each_data
def test_conjugate_gradients_find_the_minimum(make, kind):
    space, y = make_space(make(), kind)
    entries = full_set(space, y, np.random.default_rng(0))
    for rho in (0.0, 1.0, 20.0):
        objective = make_objective(space, entries, "huber", rho)
        x = space.zeros()
        found = smooth.minimise(space, objective, smooth.Point(x, space.forward(x)), 1e-12, 5000)
        assert found.converged, rho
        value, gradient = evaluate(space, objective, found.x)
        assert found.value == pytest.approx(value, rel=1e-9), rho
        np.testing.assert_allclose(found.forward, space.forward(found.x), atol=1e-9)
        assert space.inner(gradient, gradient, space.forward(gradient)) <= 1e-9 * value, rho
        if kind == "primal":
            peer = minimize(
                partial(evaluate, space, objective), x, jac=True, method="L-BFGS-B",
                options={"maxiter": 5000, "maxfun": 20000, "ftol": 1e-15, "gtol": 1e-10},
            )  # fmt: skip
            assert found.value <= peer.fun * (1 + 1e-9), rho


def test_conjugate_gradients_say_when_they_have_not_arrived():
    space, y = make_space(sequence(), "primal")
    objective = make_objective(space, full_set(space, y, np.random.default_rng(0)), "huber", 1.0)
    x = space.zeros()
    found = smooth.minimise(space, objective, smooth.Point(x, space.forward(x)), 1e-12, 2)
    assert (found.converged, found.n_steps) == (False, 2)
    assert found.value < evaluate(space, objective, x)[0]


def test_nothing_to_learn_gives_weights_of_zero():
    space, y = make_space(sequence(), "primal")
    objective = make_objective(space, ChainWorkingSet(space.structure, space.rows.offsets, y), "huber", 1.0)
    x = np.ones_like(space.zeros())
    found = smooth.minimise(space, objective, smooth.Point(x, space.forward(x)), 1e-9)
    assert found.value == pytest.approx(0.0, abs=1e-12)
