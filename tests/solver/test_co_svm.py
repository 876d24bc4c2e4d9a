"""The co-support vector machine's quadratic programs, and its visits to unlabeled examples, with outputs listed."""

import itertools

import numpy as np
import pytest
from co_svm_cases import COLUMNS, EVERY, make, visit
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from plain_co_svm import Block, Visit, maximise

from accord import (
    ArrayFeatures,
    Select,
    Sequence,
)
from accord.kernels.chains.subspace import maximise_subspace
from accord.solvers import qp
from accord.structures.chains.consensus import ChainConsensusProblem
from accord.views.compose import as_view

MACHINES = list(itertools.product(["margin", "slack"], [1, 2]))
each_machine = pytest.mark.parametrize(("rescaling", "norm"), MACHINES)
PLAIN = ArrayFeatures(bias=False)


# -- quadratic programs -----------------------------------------------------------------------------------------------


@st.composite
def programs(draw):
    """(gram, linear, ridge, budget, a feasible start)."""
    n = draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    factor = rng.normal(size=(n, draw(st.integers(0, n + 1))))  # of low rank: the Gram matrix is singular
    if draw(st.booleans()) and n > 1:
        factor[-1] = factor[0]
    linear = rng.normal(size=n) * rng.choice([0.01, 1.0, 30.0])
    if draw(st.booleans()) and n > 1:
        linear[-1] = linear[0]
    start = rng.random(n) * (rng.random(n) < 0.5)
    if draw(st.booleans()):
        ridge, budget = 0.0, float(rng.choice([1e-4, 0.1, 1.0, 20.0]))
        start *= budget * rng.choice([0.3, 1.0]) / max(start.sum(), 1.0)
    else:
        ridge, budget = float(rng.choice([0.1, 1.0, 1e4])), np.inf
    return factor @ factor.T, linear, ridge, budget, start


@settings(max_examples=70)
@given(program=programs())
def test_the_subspace_is_maximised(program):
    gram, linear, ridge, budget, start = program
    H = gram + ridge

    def value(a):
        return linear @ a - 0.5 * a @ H @ a

    a = start.copy()
    gain = maximise_subspace(gram, linear, a.size, ridge, budget, a)
    assert gain >= 0
    assert gain == pytest.approx(value(a) - value(start), rel=1e-6, abs=1e-8 * (1 + abs(value(a))))
    assert a.min() >= 0
    assert a.sum() <= budget * (1 + 1e-9)
    best, _ = maximise(gram, linear, ridge, budget)
    assert value(a) == pytest.approx(best, rel=1e-7, abs=1e-9)
    if np.trace(gram) > 0 and budget >= 0.1:  # qp.solve is not made for linear programs and tiny numbers
        peer = qp.solve(H, linear, np.zeros(a.size, int), budget)
        peer *= min(1.0, budget / max(peer.sum(), 1e-300))  # it may use up a little more
        assert value(a) == pytest.approx(value(peer), rel=1e-5, abs=1e-6)


def test_rows_beyond_the_size_do_not_count():
    gram, linear, alpha = np.full((4, 4), np.nan), np.full(4, np.nan), np.full(4, 7.0)
    gram[:2, :2], linear[:2], alpha[:2] = [[2.0, 0.0], [0.0, 4.0]], [1.0, 2.0], 0.0
    assert maximise_subspace(gram, linear, 2, 0.0, 100.0, alpha) == pytest.approx(0.25 + 0.5)
    assert alpha.tolist() == [0.5, 0.5, 7.0, 7.0]
    # with a budget of 1/2: 1 - 2 a = 2 - 4 (1/2 - a) has the solution a = 1/6
    alpha[:2] = 0.0
    maximise_subspace(gram, linear, 2, 0.0, 0.5, alpha)
    np.testing.assert_allclose(alpha[:2], [1 / 6, 1 / 3])


def test_a_direction_without_length_takes_the_whole_budget():
    """The scores cannot change, so the violation stays: all of the budget is paid."""
    alpha = np.zeros(1)
    assert maximise_subspace(np.zeros((1, 1)), np.array([0.5]), 1, 0.0, 3.0, alpha) == pytest.approx(1.5)
    assert alpha[0] == 3.0


# -- visits -----------------------------------------------------------------------------------------------------------


def start_weights(problem, case, rng, size=1.0):
    """Random weights, in both forms."""
    weights = problem.zero_weights()
    listed = []
    for v in range(case.n_views):
        w = size * rng.normal(size=case.mask(v).size) * case.mask(v)
        weights.flat(v)[:] = w[case.data.positions]
        listed.append(w * np.isin(np.arange(w.size), case.data.positions))
    return weights, listed


def read_blocks(problem, blocks, i, example):
    """The blocks of one example as the listed form has them."""
    lo, hi = problem.offsets[i : i + 2]
    out = {}
    for p, pair in enumerate(zip(blocks.learner.tolist(), blocks.peer.tolist())):
        n = blocks.size[i, p]
        outputs = [example.outputs.index(tuple(blocks.output[p, k, lo:hi].tolist())) for k in range(n)]
        target = example.outputs.index(tuple(blocks.target[p, lo:hi].tolist())) if n else -1
        assert not blocks.alpha[i, p, n:].any()
        out[pair] = Block(target, outputs, blocks.alpha[i, p, :n].copy())
    return out


@settings(max_examples=50)
@given(
    task=st.sampled_from(EVERY),
    machine=st.sampled_from(MACHINES),
    share=st.sampled_from([1, 1, 0.6]),
    C=st.sampled_from([0.2, 2.0, 20.0]),
    C_u=st.sampled_from([0.05, 1.0]),
    tol=st.sampled_from([0.1, 1e-4]),
    max_repeats=st.sampled_from([1, 2, 10]),
    own=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_a_visit_is_that_of_table_62(task, machine, share, C, C_u, tol, max_repeats, own, seed):
    """The blocks, the variables and the weights of a visit, whatever it starts from."""
    rng = np.random.default_rng(seed)
    case = make(*task, seed=seed % 7)
    given = case.hidden(share, seed)
    problem = case.problem(given, rescaling=machine[0], norm=machine[1])
    if not problem.unlabeled.size:
        reject()
    weights, listed = start_weights(problem, case, rng)
    i = int(rng.choice(problem.unlabeled))
    plain = Visit(listed, case.unlabeled(i, given[i]), C, C_u, tol, max_repeats, *machine, own).run()
    if plain.close_calls:
        reject()
    blocks, apart, tokens, steps, least_gain = visit(problem, weights, [i], C, C_u, tol, max_repeats, own=own)
    found = read_blocks(problem, blocks, i, plain.example)
    assert found.keys() == plain.blocks.keys()
    for pair, expected in plain.blocks.items():
        alpha = dict(zip(found[pair].outputs, found[pair].alpha))
        assert alpha.keys() == set(expected.outputs)
        for k, a in zip(expected.outputs, expected.alpha):
            assert alpha[k] == pytest.approx(a, rel=1e-5, abs=1e-8 * C)
        if alpha:
            assert found[pair].target == expected.target
    for v in range(case.n_views):
        np.testing.assert_allclose(weights.flat(v), plain.weights[v][case.data.positions], atol=1e-6 * (1 + C))
    assert steps == plain.n_steps
    assert least_gain >= 0
    if steps:
        assert least_gain == pytest.approx(min(plain.gains), rel=1e-4, abs=1e-8)
    predicted = [plain.example.outputs[k] for k in plain.predicted]
    assert tokens == sum(len(set(labels)) > 1 for labels in zip(*predicted))
    assert apart == (tokens > 0)


@settings(max_examples=4)
@given(
    task=st.sampled_from([task for task in EVERY if task[1] > 1]),
    rescaling=st.sampled_from(["margin", "slack"]),
    seed=st.integers(0, 10**6),
)
def test_a_later_visit_forgets_the_earlier_one(task, rescaling, seed):
    """All examples twice: what is learned from one is there when the next is visited, and made anew after that."""
    case = make(*task, seed=seed % 7)
    given = case.hidden(1, seed)
    problem = case.problem(given, rescaling=rescaling)
    rng = np.random.default_rng(seed)
    weights, listed = start_weights(problem, case, rng)
    together = problem.zero_weights()
    together.stacked[:] = weights.stacked
    order = rng.permutation(np.tile(problem.unlabeled, 2)).tolist()
    last, blocks, compared = {}, problem.new_blocks(10), 0
    for i in order:
        if i in last:
            last[i].forget()
        last[i] = Visit(listed, case.unlabeled(i, given[i]), 2.0, 0.5, 0.01, 10, rescaling).run()
        visit(problem, weights, [i], 2.0, 0.5, blocks=blocks)
        if not last[i].close_calls:
            compared += 1
            for v in range(case.n_views):
                np.testing.assert_allclose(weights.flat(v), listed[v][case.data.positions], atol=1e-5)
        for v in range(case.n_views):  # differences must not add up
            listed[v][:] = case.data.listed(weights.view(v))
        last[i].blocks = read_blocks(problem, blocks, i, last[i].example)
    assert compared
    visit(problem, together, order, 2.0, 0.5)
    assert np.array_equal(together.stacked, weights.stacked), "one call or many"


@each_machine
@pytest.mark.parametrize("n_views", COLUMNS)
def test_the_budget_is_the_peers_margin(n_views, rescaling, norm):
    """1-norm: the variables of a block sum to C C_u min(margin of the peer, 1) at most; 2-norm: they have no budget."""
    C, C_u, used = 0.3, 0.5, []
    for seed in range(12):
        case = make("sequence, Hamming", n_views, seed % 7)
        given = case.hidden(1, seed)
        problem = case.problem(given, rescaling=rescaling, norm=norm)
        weights, listed = start_weights(problem, case, np.random.default_rng(seed), 0.4)
        i = int(problem.unlabeled[seed % problem.unlabeled.size])
        blocks, *found = visit(problem, weights, [i], C, C_u, tol=1e-3, max_repeats=50)
        if found[2] > 40 * n_views:
            continue  # it goes round in circles, so that the last margins are not those of the last step
        plain = Visit(listed, case.unlabeled(i, given[i]), C, C_u, 1e-3, 50, rescaling, norm)
        for v in range(n_views):
            plain.weights[v] = case.data.listed(weights.view(v))
        for p, u in enumerate(blocks.peer):
            budget = C * C_u * min(plain.predict(u)[1], 1.0)
            mass = blocks.alpha[i, p].sum()
            used.append(mass / budget if mass else 0.0)
    if norm == 1:
        assert len(used) > 5 * n_views
        assert max(used) <= 1 + 1e-9
        assert max(used) >= 1 - 1e-3, "the bound is never reached, so it may as well be another"
    else:
        assert max(used) > 0


@pytest.mark.parametrize("max_repeats", [1, 2, 5])
def test_no_more_steps_than_repeats(max_repeats):
    case = make("sequence, F1, second order", 2)
    given = case.hidden(1, 0)
    problem = case.problem(given)
    weights, _ = start_weights(problem, case, np.random.default_rng(0))
    n_steps = []
    for i in problem.unlabeled:
        blocks, *found = visit(problem, weights, [i], 5.0, 1.0, tol=1e-6, max_repeats=max_repeats)
        n_steps.append(found[2])
        assert blocks.size.max() <= max_repeats
        assert blocks.output.shape[1] == max_repeats
    assert max(n_steps) == 2 * max_repeats  # of two views, one block each


def test_one_view_learns_from_itself():
    case = make("sequence, Hamming", 1)
    given = case.hidden(1, 0)
    problem = case.problem(given)
    weights, listed = start_weights(problem, case, np.random.default_rng(0), 0.3)
    before = [int(np.argmax(case.data.examples[i].phi @ listed[0])) for i in problem.unlabeled]
    i = int(problem.unlabeled[0])
    blocks, apart, *_ = visit(problem, weights, [i], 1.0, 1.0)
    lo, hi = problem.offsets[i : i + 2]
    assert (blocks.learner.tolist(), blocks.peer.tolist(), apart) == ([0], [0], 0)
    assert blocks.size[i, 0] > 0
    assert tuple(blocks.target[0, lo:hi].tolist()) == case.data.examples[i].outputs[before[0]]


def test_an_example_without_allowed_outputs_is_passed_over():
    """B must be followed by E: a sentence of one word has no output, and no kernel may read beyond arrays."""
    rng = np.random.default_rng(0)
    structure = Sequence(labels=["B-X", "E-X"], constraints="bioes").fit([])
    view = as_view([Select([0], PLAIN), Select([1], PLAIN)])
    rows = view.fit_rows([rng.normal(size=(2, 2)), rng.normal(size=(1, 2)), rng.normal(size=(2, 2))])
    channels = view.channels(rows, rng)
    y = np.array([0, 1, -1, -1, -1], np.int32)
    problem = ChainConsensusProblem(structure, channels, y)
    assert problem.constrained
    weights = problem.zero_weights()
    weights.stacked[:] = rng.normal(size=weights.stacked.shape)
    blocks, apart, tokens, *_ = visit(problem, weights, [1, 2], 1.0, 1.0)
    assert (apart, tokens) == (0, 0), "the other one has a single output"
    assert not blocks.size.any()
