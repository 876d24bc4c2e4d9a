"""The CRF objective, its gradient and its optimum, against finite differences and listed outputs."""

import numpy as np
import plain_chain
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from solver_cases import EVERY_DATA, multiclass

from accord import CRF, ArrayFeatures, DictFeatures, MultiClass, Sequence, TokenFeatures
from accord.packed.weights import Weights
from accord.solvers import gradient
from accord.structures.chains.problem import ChainProblem

each_data = pytest.mark.parametrize("name", EVERY_DATA)


def random_weights(problem, seed=0):
    zero = problem.zero_weights()
    w = np.random.default_rng(seed).normal(size=zero.size)
    return w, zero.unary.shape


def central_differences(problem, w, shape, C, h=1e-5):
    def value(v):
        return gradient.objective(problem, Weights.from_flat(v, *shape), C)[0]

    return np.array([(value(w + h * e) - value(w - h * e)) / (2 * h) for e in np.eye(w.size)])


@each_data
def test_gradient_is_that_of_finite_differences(name):
    problem = EVERY_DATA[name]().problem()
    w, shape = random_weights(problem)
    _, found = gradient.objective(problem, Weights.from_flat(w, *shape), 1.7)
    np.testing.assert_allclose(found, central_differences(problem, w, shape, 1.7), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(
    "view",
    [TokenFeatures(window=1, affixes=(1,), clues=False, shape=False), TokenFeatures(window=(0, 2), token=False)],
    ids=["both sides", "ahead"],
)
def test_gradient_with_windows_over_tokens(view, order):
    X = [["Tom", "left"], ["Ana", "saw", "Tom"], ["left"], ["Ana", "left", "(", "Rome", ")"]]
    Y = [["P", "O"], ["P", "O", "P"], ["O"], ["P", "O", "O", "L", "O"]]
    structure, rows = Sequence(order=order).fit(Y), view.fit_rows(X)
    problem = ChainProblem(structure, rows, structure.encode(Y))
    w, shape = random_weights(problem)
    _, found = gradient.objective(problem, Weights.from_flat(w, *shape), 0.8)
    rng = np.random.default_rng(1)
    for direction in rng.normal(size=(20, w.size)):
        ahead, back = (
            gradient.objective(problem, Weights.from_flat(w + s * 1e-5 * direction, *shape), 0.8)[0] for s in (1, -1)
        )
        assert found @ direction == pytest.approx((ahead - back) / 2e-5, rel=1e-6, abs=1e-6)


@each_data
def test_objective_and_gradient_are_those_of_listed_outputs(name):
    data = EVERY_DATA[name]()
    problem = data.problem()
    for seed in range(3):
        w, shape = random_weights(problem, seed)
        weights = Weights.from_flat(w, *shape)
        value, slope = gradient.objective(problem, weights, 2.3)
        expected, expected_slope = plain_chain.crf_objective(data.examples, data.listed(weights), 2.3)
        assert value == pytest.approx(expected, rel=1e-12)
        np.testing.assert_allclose(slope, expected_slope[data.positions], rtol=1e-9, atol=1e-9)


def listed_optimum(data, C):
    zeros = np.zeros(data.examples[0].phi.shape[1])
    found = minimize(
        lambda w: plain_chain.crf_objective(data.examples, w, C), zeros, jac=True, method="BFGS", options={"gtol": 1e-9}
    )
    return found.fun, found.x


@pytest.mark.parametrize("C", [0.1, 10.0])
@each_data
def test_lbfgs_finds_the_optimum_of_listed_outputs(name, C):
    data = EVERY_DATA[name]()
    crf = CRF(data.structure, view=data.view, C=C, tol=1e-13, max_iter=2000).fit(data.X, data.Y)
    value, w = listed_optimum(data, C)
    assert crf.objective_ == pytest.approx(value, rel=1e-9)
    assert plain_chain.crf_objective(data.examples, data.listed(crf.weights_), C)[0] == pytest.approx(value, rel=1e-9)
    # the objective is strongly convex, so the weights are unique, too
    np.testing.assert_allclose(data.listed(crf.weights_), w, atol=1e-4)
    assert crf.history_ == sorted(crf.history_, reverse=True)
    assert crf.converged_


@each_data
def test_stochastic_gradient_comes_close_to_the_optimum(name):
    data = EVERY_DATA[name]()
    crf = CRF(data.structure, view=data.view, C=0.5, solver="sgd", max_iter=700, random_state=0).fit(data.X, data.Y)
    value, _ = listed_optimum(data, 0.5)
    found, _ = plain_chain.crf_objective(data.examples, data.listed(crf.weights_), 0.5)
    assert value * (1 - 1e-9) <= found <= value * (1 + 2e-3)


@each_data
def test_marginals_are_those_of_listed_outputs(name):
    data = EVERY_DATA[name]()
    crf = CRF(data.structure, view=data.view, C=3.0).fit(data.X, data.Y)
    w = data.listed(crf.weights_)
    for found, e in zip(crf.predict_marginals(data.X), data.examples):
        p = np.exp(e.phi @ w - (e.phi @ w).max())
        expected = np.zeros((len(e.outputs[0]), crf.structure_.n_labels_))
        for probability, y in zip(p / p.sum(), e.outputs):
            expected[np.arange(len(y)), list(y)] += probability
        np.testing.assert_allclose(np.atleast_2d(found), expected, atol=1e-10)


def test_classes_are_logistic_regression():
    data = multiclass()
    C = 2.0
    peer = LogisticRegression(C=C, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(data.X, data.Y)
    crf = CRF(MultiClass(), view=ArrayFeatures(bias=False), C=C, tol=1e-13, max_iter=1000).fit(data.X, data.Y)
    # the softmax does not care about a constant added to all classes, the regulariser takes the mean away
    np.testing.assert_allclose(crf.weights_.unary, (peer.coef_ - peer.coef_.mean(axis=0)).T, atol=1e-5)
    np.testing.assert_allclose(crf.predict_marginals(data.X), peer.predict_proba(data.X), atol=1e-5)


def test_two_classes_are_logistic_regression_with_half_the_regularisation():
    """One weight vector v = w1 - w2 with w1 = -w2 has |w1|^2 + |w2|^2 = |v|^2 / 2, so its C counts twice."""
    data = multiclass()
    Y = ["a" if y == "a" else "b" for y in data.Y]
    peer = LogisticRegression(C=2 * 0.7, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(data.X, Y)
    crf = CRF(MultiClass(), view=ArrayFeatures(bias=False), C=0.7, tol=1e-13, max_iter=1000).fit(data.X, Y)
    np.testing.assert_allclose(crf.predict_marginals(data.X), peer.predict_proba(data.X), atol=1e-5)


def test_the_number_of_threads_does_not_change_a_bit():
    rng = np.random.default_rng(0)
    X = [[{"w": f"w{k}"} for k in rng.integers(0, 50, rng.integers(1, 4))] for _ in range(2500)]
    Y = [[f"l{int(token['w'][1:]) % 3}" for token in x] for x in X]
    fits = [CRF(Sequence(), view=DictFeatures(), max_iter=5, n_jobs=k, tol=1e-9) for k in (1, 2)]
    with pytest.warns(UserWarning, match="L-BFGS stopped early"):
        one, two = (fit.fit(X, Y).weights_.flat() for fit in fits)
    assert np.array_equal(one, two)
