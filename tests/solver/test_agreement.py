"""Views that exchange predictions: their answers, the thesis' rounds, and the accelerated ones."""

import numpy as np
import plain_least_squares as plain
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.solvers.agreement import Accelerated, ExactView, SemiParametricView, others_of
from accord.solvers.least_squares import feature_map

MODES = ("exact", "semiparametric")
each_mode = pytest.mark.parametrize("mode", MODES)


class Case:
    """Views of the same unlabeled examples, each with labeled ones of its own."""

    def __init__(self, mode, seed=0, n_views=2, n=8, m=12, n_outputs=1, eta=0.3, gamma=0.3):
        rng = np.random.default_rng(seed)
        make = plain.exact_view if mode == "exact" else plain.semiparametric_view
        self.plain, self.own = [], []
        for v in range(n_views):
            rows = rng.normal(size=(n - v % 2 + m, 3))
            y = np.sin(rows[: n - v % 2] @ rng.normal(size=(3, n_outputs)))
            K = plain.rbf(rows, rows, gamma)
            self.plain.append(make(K, y, eta))
            self.own.append(self._view(mode, K, y, eta))
        self.shape = (m, n_outputs)

    def _view(self, mode, K, y, eta):
        n = len(y)
        if mode == "exact":
            return ExactView(K, y, eta)
        return SemiParametricView(K[:n, :n], feature_map(K[:n, :n]), y, eta, K[n:, :n])

    def optimum(self, lambda_):
        return [view["U"] @ a for view, a in zip(self.plain, plain.solve(self.plain, lambda_))]

    def settled(self, lambda_):
        """The optimum of problems whose systems are too badly conditioned for ``optimum``."""
        return self.rounds(lambda_, 40)[-1]

    def in_turn(self, lambda_, n_rounds):
        """Answers of all views, round by round, one view after another."""
        supposed = {f"view{v}": np.zeros(self.shape) for v in range(len(self.own))}
        out = []
        for _ in range(n_rounds):
            for name, view in zip(supposed, self.own):
                supposed[name] = view.answer(view.fit(others_of(name, supposed), lambda_))
            out.append(list(supposed.values()))
        return out

    def rounds(self, lambda_, n_rounds):
        """Answers of all views, round by round, with acceleration."""
        names = [f"view{v}" for v in range(len(self.own))]
        supposed = {name: np.zeros(self.shape) for name in names}
        history = Accelerated(self.shape)
        out = []
        for _ in range(n_rounds):
            questions = {name: others_of(name, supposed) for name in names}
            answers = {n: view.answer(view.fit(questions[n], lambda_)) for n, view in zip(names, self.own)}
            for name in names:
                history.add(name, questions[name], answers[name])
            supposed = history.suppose()
            out.append(list(answers.values()))
        return out


def distances(history, optimum):
    """Largest relative distance of a view from the optimum, after each round."""
    return np.array(
        [max(np.linalg.norm(p - q) / np.linalg.norm(q) for p, q in zip(found, optimum)) for found in history]
    )


def needed(errors, tol):
    """Rounds until the error stays below ``tol``."""
    above = np.flatnonzero(errors > tol)
    return int(above[-1]) + 2 if above.size else 1


# -- what a view answers ----------------------------------------------------------------------------------------------


@pytest.mark.quick
@each_mode
@pytest.mark.parametrize("n_views", [2, 3, 5])
def test_an_answer_is_a_step_of_the_thesis(mode, n_views):
    case, rng = Case(mode, n_views=n_views, n_outputs=2), np.random.default_rng(0)
    for lambda_ in (0.01, 0.1, 5.0, 0.1):  # the last one again: a view must not remember another weight
        for own, view in zip(case.own, case.plain):
            others = rng.normal(size=(n_views - 1, *case.shape))
            right = view["L"].T @ view["y"] + 2 * lambda_ * view["U"].T @ others.sum(axis=0)
            expected = view["U"] @ np.linalg.solve(plain.G(view, n_views, lambda_), right)
            np.testing.assert_allclose(own.answer(own.fit(others, lambda_)), expected, atol=1e-8)


@pytest.mark.quick
@each_mode
def test_alone_or_without_weight_a_view_is_rlsr(mode):
    case = Case(mode)
    own, view = case.own[0], case.plain[0]
    n = len(view["y"])
    expected = view["U"][:, :n] @ plain.ridge(view["K"][:n, :n], view["y"], view["eta"])
    for others, lambda_ in ((np.empty((0, *case.shape)), 0.5), (np.ones((1, *case.shape)), 0.0)):
        np.testing.assert_allclose(own.answer(own.fit(others, lambda_)), expected, atol=1e-10)


@each_mode
def test_answers_are_affine_in_the_sum_of_the_others(mode):
    case, rng = Case(mode, n_views=3, n_outputs=2), np.random.default_rng(0)
    own = case.own[0]
    a, b = rng.normal(size=(2, 2, *case.shape))
    f = [own.answer(own.fit(o, 0.4)) for o in (a, b, 0.3 * a + 0.7 * b, a[::-1])]
    np.testing.assert_allclose(f[2], 0.3 * f[0] + 0.7 * f[1], atol=1e-10)
    np.testing.assert_allclose(f[3], f[0], atol=1e-12)


# -- acceleration -----------------------------------------------------------------------------------------------------


@each_mode
@pytest.mark.parametrize("n_views", [2, 3, 5])
def test_rounds_one_after_another_are_those_of_the_thesis(mode, n_views):
    case = Case(mode, 3, n_views, n_outputs=2, gamma=1.0)
    for found, expected in zip(case.in_turn(0.1, 6), plain.descend(case.plain, 0.1, 6)):
        for p, q in zip(found, expected):
            np.testing.assert_allclose(p, q, atol=1e-9)


@each_mode
@pytest.mark.parametrize(("n_views", "n_outputs"), [(2, 1), (3, 2), (5, 1)])
def test_accelerated_rounds_reach_the_optimum(mode, n_views, n_outputs):
    case, lambda_ = Case(mode, 1, n_views, n=15, m=40, gamma=1.0, n_outputs=n_outputs), 0.1
    assert distances(case.rounds(lambda_, 25), case.optimum(lambda_))[-1] < 1e-9


@each_mode
@pytest.mark.parametrize("n_views", [2, 4])
def test_accelerated_rounds_are_few(mode, n_views):
    """Where the thesis' own rounds are slow: many unlabeled examples, smooth functions."""
    case, lambda_ = Case(mode, 1, n_views, n=20, m=120, eta=0.1, gamma=0.1), 0.1
    optimum = case.settled(lambda_)
    fast = needed(distances(case.rounds(lambda_, 25), optimum), 1e-6)
    slow = needed(distances(case.in_turn(lambda_, 40), optimum), 1e-6)
    assert fast <= 15
    assert slow > fast if n_views == 2 else slow > 1.5 * fast
    # the optimum is one: no view wants to change
    predictions = dict(enumerate(optimum))
    for v, view in enumerate(case.own):
        wanted = view.answer(view.fit(others_of(v, predictions), lambda_))
        np.testing.assert_allclose(wanted, optimum[v], atol=1e-9 * np.abs(optimum[v]).max())


@each_mode
@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    n_views=st.integers(2, 5),
    m=st.integers(1, 6),
    lambda_=st.sampled_from([1e-3, 0.1, 10.0]),
)
def test_few_examples_need_few_rounds(mode, seed, n_views, m, lambda_):
    """Every round tells a new direction of each view, of which there are no more than examples."""
    case = Case(mode, seed, n_views, n=5, m=m, gamma=1.0)
    errors = distances(case.rounds(lambda_, m + 3), case.optimum(lambda_))
    assert errors[-1] < 1e-6


def test_a_waiting_view_stays_as_it_is():
    """The others fit each other and its last answer."""
    case, lambda_ = Case("exact", 2, 3), 0.2
    names = ["a", "b", "c"]
    supposed = {name: np.zeros(case.shape) for name in names}
    history = Accelerated(case.shape)
    for k in range(12):
        for name, view in zip(names, case.own):
            if k == 0 or name != "c":
                question = others_of(name, supposed)
                history.add(name, question, view.answer(view.fit(question, lambda_)))
        before = history.answers["c"][-1].reshape(case.shape)
        supposed = history.suppose(["c"])
        np.testing.assert_array_equal(supposed["c"], before)
    for name, view in zip(names[:2], case.own):
        expected = view.answer(view.fit(others_of(name, supposed), lambda_))
        np.testing.assert_allclose(supposed[name], expected, atol=1e-9)


@pytest.mark.quick
def test_with_everyone_waiting_last_answers_stand():
    history = Accelerated((2, 1))
    for value in (1.0, 3.0):
        history.add("a", np.full((1, 2, 1), value), np.full((2, 1), 2 * value))
    assert history.suppose(["a"])["a"].tolist() == [[6.0], [6.0]]


@pytest.mark.quick
def test_the_same_question_twice_teaches_nothing_and_harms_nothing():
    case = Case("exact")
    history = Accelerated(case.shape)
    for _ in range(3):
        for name, view in zip("ab", case.own):
            question = np.ones((1, *case.shape))
            history.add(name, question, view.answer(view.fit(question, 0.1)))
    found = history.suppose()
    for name in "ab":
        np.testing.assert_array_equal(found[name].ravel(), history.answers[name][-1])


@pytest.mark.quick
def test_others_come_in_order():
    supposed = {name: np.full((1, 1), k) for k, name in enumerate("abc")}
    assert others_of("b", supposed).ravel().tolist() == [0, 2]
