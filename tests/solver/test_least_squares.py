"""Closed forms of (co-)regularised least squares against the thesis' own systems, optimisers and refitting."""

from itertools import product

import numpy as np
import plain_least_squares as plain
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from accord.exceptions import InputError
from accord.solvers.least_squares import (
    Exact,
    Ridge,
    SemiParametric,
    cholesky,
    feature_map,
    inverse,
    is_well_conditioned,
    mapped_products,
    separate,
)

MODES = ("exact", "semiparametric")
each_mode = pytest.mark.parametrize("mode", MODES)


class Case:
    """Rows of every view with kernel values, targets and names of the labeled examples."""

    def __init__(self, seed=0, n_views=2, n=6, m=9, n_outputs=1, gamma=0.3, eta=0.1, differ=False, rows=None):
        rng = np.random.default_rng(seed)
        self.m = m
        all_rows = [rng.normal(size=(2 * n + m, 3)) for _ in range(n_views)] if rows is None else rows
        y = np.stack([np.sin(r @ rng.normal(size=(3, n_outputs))) for r in all_rows]).mean(axis=0)
        y = y + 0.1 * rng.normal(size=y.shape)
        self.labeled, self.K, self.y, self.etas = [], [], [], []
        for v, own in enumerate(all_rows):
            chosen = np.sort(rng.choice(2 * n, n - v % 2, replace=False)) if differ else np.arange(n)
            kept = np.concatenate([chosen, np.arange(2 * n, 2 * n + m)])
            self.labeled.append(chosen)
            self.K.append(plain.rbf(own[kept], own[kept], gamma * (1 + v)))
            self.y.append(y[chosen])
            self.etas.append(eta * (1 + 0.5 * v))

    def plain(self, mode):
        make = plain.exact_view if mode == "exact" else plain.semiparametric_view
        return [make(*parts) for parts in zip(self.K, self.y, self.etas, self.labeled)]

    def solve(self, mode, lambda_, late=False):
        """Accord's solution; ``late``: products are mapped after they are taken."""
        if mode == "exact":
            names = [f"view {v}" for v in range(len(self.K))]
            return Exact(self.K, self.y, self.etas, self.labeled, names).solve(lambda_)
        grams = [K[: len(y), : len(y)] for K, y in zip(self.K, self.y)]
        maps = [feature_map(gram) for gram in grams]
        values = [K[len(y) :, : len(y)] for K, y in zip(self.K, self.y)]
        if late:
            joint = np.hstack(values)
            products = mapped_products(joint.T @ joint, maps)
        else:
            joint = np.hstack([U @ F for U, F in zip(values, maps)])
            products = joint.T @ joint
        return SemiParametric(grams, maps, self.y, self.etas, self.labeled, products).solve(lambda_)


def worst_gradient(case, mode, lambda_, late=False):
    """Largest relative violation of the first-order conditions."""
    found = case.solve(mode, lambda_, late).coefficients
    sizes = plain.gradients(case.plain(mode), found, lambda_)
    return max(np.linalg.norm(g) / scale for g, scale in sizes)


def flat(parts):
    return np.concatenate([part.ravel() for part in parts])


# -- the optimum ------------------------------------------------------------------------------------------------------


@each_mode
@pytest.mark.parametrize("n_views", [1, 2, 3, 5])
def test_first_order_conditions(mode, n_views):
    for differ, n_outputs, lambda_ in product((False, True), (1, 3), (0.0, 1e-6, 0.1, 10.0, 1e4)):
        case = Case(n_views, n_views, differ=differ, n_outputs=n_outputs)
        assert worst_gradient(case, mode, lambda_) < 1e-8, (differ, n_outputs, lambda_)


@each_mode
@settings(max_examples=50)
@given(
    seed=st.integers(0, 10**6),
    n_views=st.integers(1, 4),
    n=st.integers(1, 6),
    m=st.integers(0, 8),
    gamma=st.sampled_from([1e-3, 0.1, 2.0]),
    eta=st.sampled_from([1e-3, 0.3, 20.0]),
    lambda_=st.sampled_from([0.0, 1e-3, 0.1, 5.0]),
    differ=st.booleans(),
)
def test_first_order_conditions_of_any_problem(mode, seed, n_views, n, m, gamma, eta, lambda_, differ):
    case = Case(seed, n_views, max(n, 2) if differ else n, m, 1, gamma, eta, differ)
    assert worst_gradient(case, mode, lambda_) < 1e-8


@pytest.mark.quick
@each_mode
@pytest.mark.parametrize("n_views", [2, 3, 5])
def test_the_systems_of_the_propositions_have_the_same_solution(mode, n_views):
    case = Case(3, n_views, gamma=1.0, differ=True, n_outputs=2)
    for lambda_ in (0.01, 0.1, 3.0):
        expected = plain.solve(case.plain(mode), lambda_)
        for found, own in zip(case.solve(mode, lambda_).coefficients, expected):
            np.testing.assert_allclose(found, own, rtol=0, atol=1e-8 * np.abs(own).max())


@each_mode
def test_a_generic_optimiser_finds_the_same(mode):
    """It only sees the objective, and starts from nothing."""
    case, lambda_ = Case(1, 2, n=5, m=6, gamma=1.0, differ=True), 0.2
    views = case.plain(mode)
    sizes = [view["K"].shape[0] for view in views]

    def split(a):
        return np.split(a.reshape(-1, 1), np.cumsum(sizes)[:-1])

    def gradient(a):
        return flat([g for g, _ in plain.gradients(views, split(a), lambda_)])

    found = minimize(
        lambda a: plain.objective(views, split(a), lambda_),
        np.zeros(sum(sizes)),
        jac=gradient,
        method="BFGS",
        options={"gtol": 1e-9, "maxiter": 5000},
    )
    own = flat(case.solve(mode, lambda_).coefficients)
    assert plain.objective(views, split(own), lambda_) == pytest.approx(found.fun, rel=1e-9)
    np.testing.assert_allclose(own, found.x, atol=1e-4 * np.abs(own).max())


@each_mode
@pytest.mark.parametrize("n_views", [1, 3])
def test_the_objective_rises_in_every_direction(mode, n_views):
    """Finite differences: slope 0, curvature above 0; and the oracle's own gradient away from the optimum."""
    case, lambda_ = Case(5, n_views, n_outputs=2, differ=True), 0.3
    views, rng = case.plain(mode), np.random.default_rng(0)
    best = case.solve(mode, lambda_).coefficients
    at_best = plain.objective(views, best, lambda_)
    for _ in range(10):
        step = [1e-4 * rng.normal(size=a.shape) for a in best]
        up, down = (plain.objective(views, [a + s * d for a, d in zip(best, step)], lambda_) for s in (1, -1))
        assert abs(up - down) < 1e-4 * (up + down - 2 * at_best)
        assert min(up, down) > at_best
    start = [rng.normal(size=a.shape) for a in best]
    up, down = (plain.objective(views, [a + s * d for a, d in zip(start, step)], lambda_) for s in (1, -1))
    slope = sum(np.sum(2 * d * g) for d, (g, _) in zip(step, plain.gradients(views, start, lambda_)))
    assert up - down == pytest.approx(slope, rel=1e-6)


# -- single views -----------------------------------------------------------------------------------------------------


@pytest.mark.quick
@each_mode
@pytest.mark.parametrize(("n_views", "m", "lambda_"), [(1, 9, 0.5), (3, 0, 0.5), (3, 9, 0.0)])
def test_reduces_to_rlsr(mode, n_views, m, lambda_):
    case = Case(2, n_views, m=m, differ=True, n_outputs=2)
    solution = case.solve(mode, lambda_)
    for K, y, eta, found, out in zip(case.K, case.y, case.etas, solution.coefficients, solution.left_out):
        n = len(y)
        np.testing.assert_allclose(found[:n], plain.ridge(K[:n, :n], y, eta), atol=1e-10)
        assert np.all(found[n:] == 0.0)
        view = plain.semiparametric_view(K[:n, :n], y, eta)
        np.testing.assert_allclose(out, plain.left_out([view], 0.0)[0], atol=1e-9)


@each_mode
def test_little_weight_is_nearly_none(mode):
    case = Case(2, 3, differ=True)
    for little, none in zip(case.solve(mode, 1e-13).coefficients, case.solve(mode, 0.0).coefficients):
        np.testing.assert_allclose(little, none, atol=1e-9)


@each_mode
def test_great_weight_lets_views_agree(mode):
    case = Case(2, 3, n=12, m=9, gamma=1.0)
    views = case.plain(mode)

    def distance(lambda_):
        predictions = [view["U"] @ a for view, a in zip(views, case.solve(mode, lambda_).coefficients)]
        return max(np.abs(p - predictions[0]).max() for p in predictions)

    assert distance(1e6) < 1e-3 * distance(0.0)


@pytest.mark.quick
def test_ridge_for_many_etas():
    case = Case(4, 1, n=8, m=0, n_outputs=2)
    ridge = Ridge(case.K[0], case.y[0])
    for eta in (1e-6, 1e-2, 1.0, 1e3):
        view = plain.semiparametric_view(case.K[0], case.y[0], eta)
        solution = ridge.solve(eta)
        np.testing.assert_allclose(solution.coefficients[0], plain.ridge(case.K[0], case.y[0], eta), rtol=1e-8)
        np.testing.assert_allclose(solution.left_out[0], plain.left_out([view], 0.0)[0], atol=1e-7)


# -- leave-one-out ----------------------------------------------------------------------------------------------------


@each_mode
@pytest.mark.parametrize("n_views", [1, 2, 3])
def test_left_out_predictions_are_those_of_another_fit(mode, n_views):
    for differ, lambda_ in product((False, True), (0.0, 0.05, 2.0)):
        case = Case(7, n_views, gamma=1.0, eta=0.2, differ=differ, n_outputs=2)
        expected = plain.left_out(case.plain(mode), lambda_)
        for found, own in zip(case.solve(mode, lambda_).left_out, expected):
            np.testing.assert_allclose(found, own, atol=1e-9, err_msg=f"differ={differ}, lambda={lambda_}")


@each_mode
@settings(max_examples=50)
@given(seed=st.integers(0, 10**6), n_views=st.integers(2, 4), n=st.integers(2, 5), m=st.integers(1, 6))
def test_left_out_predictions_of_any_problem(mode, seed, n_views, n, m):
    case = Case(seed, n_views, n, m, gamma=1.0, eta=0.2, differ=True)
    for found, own in zip(case.solve(mode, 0.3).left_out, plain.left_out(case.plain(mode), 0.3)):
        np.testing.assert_allclose(found, own, atol=1e-8)


# -- hard cases -------------------------------------------------------------------------------------------------------


def singular(kind, eta):
    """Every row twice; a kernel that is almost constant; more rows than dimensions."""
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=(40, 3)) for _ in range(3)]
    if kind == "duplicates":
        rows = [np.repeat(own[:20], 2, axis=0) for own in rows]
    case = Case(0, 3, n=10, m=20, gamma=1e-5 if kind == "flat" else 0.3, eta=eta, rows=rows)
    if kind == "linear":
        kept = np.r_[0:10, 20:40]
        case.K = [own[kept] @ own[kept].T for own in rows]
    return case


@each_mode
@pytest.mark.parametrize("kind", ["duplicates", "flat", "linear"])
def test_nearly_singular_kernels(kind, mode):
    for eta, lambda_ in product((1e-3, 1e-1, 1.0), (1e-4, 0.1, 3.0)):
        assert worst_gradient(singular(kind, eta), mode, lambda_) < 1e-8, (eta, lambda_)


@each_mode
@pytest.mark.parametrize("lambda_", [1.0, 100.0])
@pytest.mark.parametrize("kind", ["duplicates", "flat", "linear"])
def test_nearly_singular_kernels_with_hardly_any_regularisation(kind, mode, lambda_):
    """Coefficients may be large where they have no effect; the objective is as low as that of the direct system."""
    case = singular(kind, 1e-6)
    views = case.plain(mode)
    own = plain.objective(views, case.solve(mode, lambda_).coefficients, lambda_)
    assert own <= plain.objective(views, plain.solve(views, lambda_), lambda_) * (1 + 1e-9)


@pytest.mark.quick
@each_mode
def test_a_matrix_that_is_no_kernel_is_refused(mode):
    case = Case(0, 2)
    case.K[1] = case.K[1] - 0.9 * np.eye(len(case.K[1]))
    with pytest.raises(InputError, match="not positive definite"):
        case.solve(mode, 0.1)
    with pytest.raises(InputError, match=r"smallest eigenvalue is -.*raise eta"):
        case.solve(mode, 0.0)


@pytest.mark.quick
def test_errors_name_the_view():
    bad = np.diag([1.0, -1.0])
    with pytest.raises(InputError, match=r"kernel matrix of view 'b' is not positive definite \(.* -1\)"):
        feature_map(bad, "view 'b'")
    with pytest.raises(InputError, match="kernel matrix of view 'b' is not positive definite: raise eta"):
        inverse(bad, np.full(2, 0.5), "view 'b'")
    with pytest.raises(InputError, match="kernel matrix of all of them is not positive definite"):
        cholesky(bad, "all of them")
    with pytest.raises(InputError, match="kernel matrix of X is not positive definite"):
        Ridge(bad, np.zeros((2, 1)))


@pytest.mark.quick
def test_a_feature_map_is_an_inverse_root():
    case = Case(0, 1, n=7, m=0)
    F = feature_map(case.K[0])
    np.testing.assert_allclose(F @ F.T @ case.K[0], np.eye(7), atol=1e-8)
    assert is_well_conditioned(feature_map(np.diag([1.0, 1e-5])))
    assert not is_well_conditioned(feature_map(np.diag([1.0, 1e-7])))
    twice = np.repeat(np.repeat(case.K[0], 2, axis=0), 2, axis=1)
    for rank, width in ((None, 14), (7, 7), (20, 14)):
        F = feature_map(twice, rank=rank)
        assert F.shape == (14, width)
        assert not is_well_conditioned(F)
        np.testing.assert_allclose(twice @ F @ F.T @ twice, twice, atol=1e-8)
    assert feature_map(np.zeros((3, 3))).shape == (3, 0)


@pytest.mark.parametrize("lambda_", [0.01, 1.0])
def test_products_may_be_mapped_late_if_the_kernel_is_well_conditioned(lambda_):
    """The same conditions hold, at the worst condition that is let through."""
    case = Case(0, 2, n=10, m=500, eta=1e-4)
    for K in case.K:
        values, vectors = np.linalg.eigh(K[:10, :10])
        forced = np.geomspace(2e-6 * values[-1], values[-1], 10)
        turn = vectors @ np.diag(np.sqrt(forced / values)) @ vectors.T  # as a change of coordinates of the features
        K[10:, :10] = K[10:, :10] @ turn
        K[:10, :10] = vectors @ np.diag(forced) @ vectors.T
        assert is_well_conditioned(feature_map(K[:10, :10]))
    assert worst_gradient(case, "semiparametric", lambda_, late=True) < 1e-8


@pytest.mark.quick
def test_separate_gives_unlabeled_examples_no_coefficient():
    case = Case(0, 2, m=0)
    solution = separate(case.K, case.y, case.etas, 4)
    assert [a.shape for a in solution.coefficients] == [(10, 1)] * 2
    assert all(np.all(a[6:] == 0) for a in solution.coefficients)
