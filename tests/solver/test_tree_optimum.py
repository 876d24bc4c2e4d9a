"""Trees: large-margin machines and random fields reach the optimum of the program with all trees written out."""

import itertools

import numpy as np
import plain_chain
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from tree_data import KINDS, WORDS, treebank

from accord import CRF, CoSVM, StructuredSVM
from accord.packed.weights import Weights
from accord.solvers import gradient

MACHINES = list(itertools.product(["margin", "slack"], [1, 2]))
EXACT = [("hamming", "margin", 1), *(("zero-one", *machine) for machine in MACHINES)]
OTHERS = [(loss, *machine) for loss in ("hamming", "f1") for machine in MACHINES if (loss, *machine) not in EXACT]
# All machines of the first kind, and of each other kind one for each loss.
OPTIMA = [
    *(("words", *machine) for machine in EXACT),
    *(("words", "f1", *machine) for machine in MACHINES),  # by level: the sentences are short
    *((kind, *machine) for k, kind in enumerate(list(KINDS)[1:]) for machine in (EXACT[0], EXACT[1 + k % 4])),
]
SOLVERS = {"one example at a time": {"reoptimize": "example", "max_iter": 5000}, "all": {"reoptimize": "all"}}

N_TREES = {1: 4, 2: 3}  # with the 2-norm, passes over single sentences are many

each_kind = pytest.mark.parametrize("kind", KINDS)


def fit(data, rescaling, norm, C, tol, **more):
    options = {"rescaling": rescaling, "norm": norm, "random_state": 0, **more}
    return StructuredSVM(data.structure, view=WORDS, C=C, tol=tol, **options).fit(data.X, data.Y)


@pytest.mark.parametrize(("kind", "loss", "rescaling", "norm"), OPTIMA)
def test_the_machine_reaches_the_listed_optimum(kind, loss, rescaling, norm):
    data, C = treebank(n=N_TREES[norm], loss=loss, **KINDS[kind]), 0.7
    best, w = plain_chain.svm_solve(data.examples, C, rescaling, norm)
    assert best > 0.1, "the case is too easy to tell solvers apart"
    for name, solver in SOLVERS.items():
        tol = 3e-5 * min(best / (C * len(data.X)), 1.0)
        machine = fit(data, rescaling, norm, C, tol, **solver)
        primal = plain_chain.svm_primal(data.examples, machine.weights_.flat(), C, rescaling, norm)
        assert machine.exact_
        assert machine.converged_, name
        assert machine.objective_ == pytest.approx(primal, rel=1e-9), name
        assert primal == pytest.approx(best, rel=1e-4), name
        assert machine.dual_objective_ <= best * (1 + 1e-9), name
        assert machine.dual_objective_ == pytest.approx(best, rel=1e-4), name
        # |w - w*|^2 / 2 is at most what the objective lacks, because it is strongly convex
        assert 0.5 * np.sum((machine.weights_.flat() - w) ** 2) <= 2 * (primal - best) + 1e-7, name


@pytest.mark.parametrize(
    ("seed", "loss", "rescaling", "norm"),
    [(seed, *machine) for machine in OTHERS for seed in ((0, 1) if machine[-1] == 1 else (0,))],
)
def test_with_a_decoder_that_is_not_exact_the_dual_is_still_a_lower_bound(seed, loss, rescaling, norm):
    """A missed violation makes the reported primal too small; every constraint found is a true one, though."""
    data, C = treebank(seed, loss=loss, rare=0, exact_length=0), 1.0
    best, _ = plain_chain.svm_solve(data.examples, C, rescaling, norm)
    # the second seed and the 2-norm, which needs many passes over single sentences, with all sentences together
    machine = fit(data, rescaling, norm, C, tol=1e-3, reoptimize="all" if seed or norm == 2 else "example")
    primal = plain_chain.svm_primal(data.examples, machine.weights_.flat(), C, rescaling, norm)
    assert not machine.exact_
    assert machine.objective_ <= primal * (1 + 1e-9)
    assert machine.dual_objective_ <= best * (1 + 1e-9)
    assert best * (1 - 1e-9) <= primal <= 1.25 * best, "the search finds most violations"


@pytest.mark.parametrize(("loss", "rescaling", "norm"), EXACT)
def test_support_trees_give_back_weights_and_dual(loss, rescaling, norm):
    """w = sum of alpha times the scaled feature differences; the dual value follows from alpha alone."""
    data, C = treebank(0, loss=loss, rare=0), 1.3
    machine = fit(data, rescaling, norm, C, 1e-5, reoptimize="example" if norm == 1 else "all")
    support = machine.support_outputs()
    assert len(support) == machine.n_constraints_ > 0
    w, linear, mass = np.zeros(machine.weights_.size), 0.0, np.zeros(len(data.X))
    for i, output, alpha in support:
        e = data.examples[i]
        b, D = plain_chain.constraints(e, rescaling, norm)
        row = [z for k, z in enumerate(e.outputs) if k != e.true].index(output)
        w, linear, mass[i] = w + alpha * D[row], linear + alpha * b[row], mass[i] + alpha
    np.testing.assert_allclose(machine.weights_.flat(), w, atol=1e-8)
    ridge = 0.0 if norm == 1 else 1.0 / C
    assert machine.dual_objective_ == pytest.approx(linear - 0.5 * w @ w - 0.5 * ridge * mass @ mass, rel=1e-8)
    if norm == 1:
        assert mass.max() <= C * (1 + 1e-8)


def test_the_dual_never_exceeds_the_primal_however_early_the_solver_stops():
    data, C = treebank(2, loss="hamming", rare=0), 2.0
    best, _ = plain_chain.svm_solve(data.examples, C, "margin", 1)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 passes with a duality gap"):
        machine = fit(data, "margin", 1, C, tol=1e-9, max_iter=1)
    assert 0 < machine.dual_objective_ <= best * (1 + 1e-9) <= machine.objective_ * (1 + 2e-9)


@pytest.mark.parametrize(("loss", "rescaling", "norm"), EXACT)
def test_a_co_svm_of_one_view_without_unlabeled_sentences_is_the_machine(loss, rescaling, norm):
    data, C = treebank(n=N_TREES[norm], loss=loss, rare=0), 0.7
    best, _ = plain_chain.svm_solve(data.examples, C, rescaling, norm)
    tol = 3e-5 * min(best / (C * len(data.X)), 1.0)
    options = {"rescaling": rescaling, "norm": norm, "C": C, "tol": tol, "random_state": 0, "unlabeled_weight": 0.0}
    model = CoSVM(data.structure, views=WORDS, **options).fit(data.X, data.Y)
    primal = plain_chain.svm_primal(data.examples, model.weights_.flat(), C, rescaling, norm)
    assert best > 0.1
    assert primal == pytest.approx(best, rel=1e-3)
    machine = fit(data, rescaling, norm, C, tol, reoptimize="all")
    assert 0.5 * np.sum((model.weights_.flat() - machine.weights_.flat()) ** 2) <= 4e-3 * best


# -- conditional random fields ------------------------------------------------------------------------------------
@each_kind
def test_objective_and_gradient_are_those_of_listed_trees(kind):
    data = treebank(**KINDS[kind])
    problem = data.problem()
    zero = problem.zero_weights()
    for seed in range(3):
        w = np.random.default_rng(seed).normal(size=zero.size)
        value, slope = gradient.objective(problem, Weights.from_flat(w, *zero.unary.shape), 2.3)
        expected, expected_slope = plain_chain.crf_objective(data.examples, w, 2.3)
        assert value == pytest.approx(expected, rel=1e-10)
        np.testing.assert_allclose(slope, expected_slope, rtol=1e-8, atol=1e-8)


@each_kind
def test_gradient_is_that_of_finite_differences(kind):
    problem = treebank(**KINDS[kind]).problem()
    zero, rng = problem.zero_weights(), np.random.default_rng(1)
    w = rng.normal(size=zero.size)

    def objective(v):
        return gradient.objective(problem, Weights.from_flat(v, *zero.unary.shape), 0.8)

    slope = objective(w)[1]
    for direction in rng.normal(size=(6, w.size)):
        ahead, back = (objective(w + s * 1e-5 * direction)[0] for s in (1, -1))
        assert slope @ direction == pytest.approx((ahead - back) / 2e-5, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("C", [0.3, 5.0])
@each_kind
def test_lbfgs_finds_the_optimum_of_listed_trees(kind, C):
    data = treebank(**KINDS[kind])
    crf = CRF(data.structure, view=WORDS, C=C, tol=1e-13, max_iter=2000).fit(data.X, data.Y)
    best = minimize(
        lambda w: plain_chain.crf_objective(data.examples, w, C), np.zeros(crf.weights_.size), jac=True,
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 5000, "maxfun": 10000},
    )  # fmt: skip
    assert crf.objective_ == pytest.approx(best.fun, rel=1e-8)
    np.testing.assert_allclose(crf.weights_.flat(), best.x, atol=1e-4)


def test_stochastic_gradient_comes_close_to_the_optimum():
    data = treebank(rare=0)
    best = CRF(data.structure, view=WORDS, C=0.5, tol=1e-12, max_iter=2000).fit(data.X, data.Y).objective_
    crf = CRF(data.structure, view=WORDS, C=0.5, solver="sgd", max_iter=120, random_state=0).fit(data.X, data.Y)
    found, _ = plain_chain.crf_objective(data.examples, crf.weights_.flat(), 0.5)
    assert best * (1 - 1e-9) <= found <= best * (1 + 1e-2)


@each_kind
def test_marginals_are_those_of_listed_trees(kind):
    from enumerate_trees import counted

    data = treebank(**KINDS[kind])
    crf = CRF(data.structure, view=WORDS, C=3.0).fit(data.X, data.Y)
    for found, e in zip(crf.predict_marginals(data.X), data.examples):
        p = np.exp(e.phi @ crf.weights_.flat() - (e.phi @ crf.weights_.flat()).max())
        expected = {}
        for probability, tree in zip(p / p.sum(), e.outputs):
            for constituent in counted(tree):
                expected[constituent] = expected.get(constituent, 0.0) + probability
        assert found.keys() <= expected.keys()
        for constituent, probability in expected.items():
            assert found.get(constituent, 0.0) == pytest.approx(probability, abs=1e-9)
