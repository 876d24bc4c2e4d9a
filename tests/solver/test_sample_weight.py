"""Weights of examples: weight 2 is the example twice, weight 0 the example left out, in the objective and its optimum.

Machines with weights are compared with listed programs over repeated examples (`plain_chain`), or with the same learner
trained on the repeated examples themselves.
"""

import numpy as np
import plain_chain
import pytest
from solver_cases import EVERY_DATA, multiclass, sequence
from test_svm_optimum import SOLVERS, each_machine, precision, tol_for

from accord import (
    CRF,
    HMM,
    PCFG,
    RLSR,
    ArrayFeatures,
    ClusteringSVM,
    CoPerceptron,
    CoRLSR,
    CoSVM,
    GradientCoSVM,
    GradientSVM,
    MultiClass,
    OddEvenSplit,
    Select,
    Sequence,
    StructuredPerceptron,
    StructuredSVM,
    SumOfViews,
    TransductiveSVM,
    Tree,
    TypeConsistency,
)
from accord.solvers.least_squares import Exact, Ridge, SemiParametric, feature_map

TIMES = np.array([2, 1, 0, 3, 1, 1, 0, 2, 1])  # how often each example counts


def weights_of(n):
    """Weights, none of them whole, and the factor of C that makes them the counts of ``repeated``."""
    return 0.5 * TIMES[:n], 2.0


def repeated(items):
    """Every example as often as it counts."""
    return [item for item, times in zip(items, TIMES) for _ in range(times)]


@pytest.mark.parametrize("name", EVERY_DATA)
def test_crf_reaches_the_optimum_of_repeated_examples(name):
    data = EVERY_DATA[name]()
    weights, factor = weights_of(len(data.X))
    examples = repeated(data.examples)
    model = CRF(data.structure, view=data.view, C=0.7 * factor, tol=1e-10, max_iter=2000)
    model.fit(data.X, data.Y, sample_weight=weights)
    value, slope = plain_chain.crf_objective(examples, data.listed(model.weights_), 0.7)
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    assert np.abs(slope).max() < 1e-3 * max(value, 1.0)


@each_machine
@pytest.mark.parametrize("name", ["classes, costs", "sequence, count, iob2", "sequence, weighted, second order"])
def test_large_margins_reach_the_optimum_of_repeated_examples_with_true_certificates(name, rescaling, norm):
    data, C = EVERY_DATA[name](), 0.7
    weights, factor = weights_of(len(data.X))
    examples = repeated(data.examples)
    best, _ = plain_chain.svm_solve(examples, C, rescaling, norm)
    for solver, options in SOLVERS.items():
        rel = precision(solver)
        tol = tol_for(solver, rel, best, C, len(examples))
        options = {"rescaling": rescaling, "norm": norm, "random_state": 0, "tol": tol, **options}
        machine = StructuredSVM(data.structure, view=data.view, C=factor * C, **options)
        machine.fit(data.X, data.Y, sample_weight=weights)
        primal = plain_chain.svm_primal(examples, data.listed(machine.weights_), C, rescaling, norm)
        assert machine.converged_
        assert machine.objective_ == pytest.approx(primal, rel=1e-9), solver
        assert primal == pytest.approx(best, rel=rel), solver
        assert machine.dual_objective_ <= best * (1 + 1e-9), solver
        assert machine.dual_objective_ == pytest.approx(best, rel=rel), solver


@pytest.mark.parametrize("solver", ["cutting-plane", "frank-wolfe"])
def test_certificates_hold_however_early_the_solver_stops(solver):
    data, C = sequence("count", n=7), 2.0
    weights, factor = weights_of(7)
    examples = repeated(data.examples)
    best, _ = plain_chain.svm_solve(examples, C, "margin", 2)
    for passes in (1, 2, 3):
        machine = StructuredSVM(
            data.structure, view=data.view, C=factor * C, norm=2, solver=solver, tol=1e-9, max_iter=passes,
            random_state=0,
        )  # fmt: skip
        with pytest.warns(UserWarning, match="duality gap"):
            machine.fit(data.X, data.Y, sample_weight=weights)
        primal = plain_chain.svm_primal(examples, data.listed(machine.weights_), C, "margin", 2)
        assert machine.objective_ == pytest.approx(primal, rel=1e-9)
        assert 0 < machine.dual_objective_ <= best * (1 + 1e-9) <= primal * (1 + 2e-9)


def test_support_outputs_keep_the_numbers_of_their_examples():
    data = sequence("count", n=7)
    weights = np.array([0, 0, 0, 2.0, 1.0, 0, 0])
    svm = StructuredSVM(data.structure, view=data.view, C=10.0).fit(data.X, data.Y, sample_weight=weights)
    assert {i for i, _, _ in svm.support_outputs()} <= {3, 4}
    assert svm.support_outputs()


# -- learners against themselves, trained on the repeated examples ----------------------------------------------------


def token_task(n=9, seed=0):
    rng = np.random.default_rng(seed)
    words = {"P": ["Ana", "Tom", "Eva"], "L": ["Rome", "Oslo"], "O": ["left", "saw", "in", "the"]}
    X, Y = [], []
    for _ in range(n):
        y = rng.choice(list(words), rng.integers(2, 6)).tolist()
        X.append([str(rng.choice(words[label if rng.random() < 0.8 else "O"])) for label in y])
        Y.append(y)
    return X, Y


def numbers_task(n=9, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.normal(size=(n, 4)) + 1.5 * np.eye(4)[y], [f"class {c}" for c in y]


SMOOTH = {"C": 0.8, "tol": 1e-6, "random_state": 0}


@pytest.mark.parametrize("task", ["classes", "sequences"])
@pytest.mark.parametrize("solver", ["primal", "expansion"])
@pytest.mark.parametrize("rho", [10.0, 0.0])
def test_smooth_machine(task, solver, rho):
    X, Y = numbers_task() if task == "classes" else token_task()
    structure = MultiClass() if task == "classes" else Sequence(normalize=True)
    twice = GradientSVM(structure, solver=solver, rho=rho, **SMOOTH).fit(repeated(list(X)), repeated(Y))
    model = GradientSVM(structure, solver=solver, rho=rho, **SMOOTH).set_params(C=1.6)
    model.fit(X, Y, sample_weight=0.5 * TIMES)
    assert model.objective_ == pytest.approx(twice.objective_, rel=1e-4)
    assert list(model.predict(X)) == list(twice.predict(X))


@pytest.mark.parametrize("task", ["classes", "sequences"])
def test_smooth_consensus_without_unlabeled_examples(task):
    X, Y = numbers_task() if task == "classes" else token_task()
    structure = MultiClass() if task == "classes" else Sequence()
    options = {"views": OddEvenSplit(), "unlabeled_weight": 0.0, **SMOOTH}
    twice = GradientCoSVM(structure, **options).fit(repeated(list(X)), repeated(Y))
    model = GradientCoSVM(structure, **options).fit(X, Y, sample_weight=TIMES)
    assert model.objective_ == pytest.approx(twice.objective_, rel=1e-4)


@pytest.mark.parametrize("norm", [1, 2])
def test_co_svm_without_unlabeled_examples(norm):
    """Each view is a machine of its own: its objective is that of the repeated examples."""
    data, C = multiclass(), 0.7
    views = [Select([0, 1], ArrayFeatures(bias=False)), Select([2], ArrayFeatures(bias=False))]
    machine = CoSVM(data.structure, views, C=C, norm=norm, unlabeled_weight=0.0, tol=1e-6, random_state=0)
    machine.fit(data.X, data.Y, sample_weight=TIMES)
    for columns, weights in zip(([0, 1], [2]), machine.view_weights_):
        shown = np.zeros((3, 3))
        shown[columns] = 1.0
        examples = [plain_chain.Listed(e.outputs, e.phi * shown.ravel(), e.loss, e.true) for e in data.examples]
        best, _ = plain_chain.svm_solve(repeated(examples), C, "margin", norm)
        found = plain_chain.svm_primal(repeated(examples), weights.flat(), C, "margin", norm)
        assert found == pytest.approx(best, rel=1e-3)


@pytest.mark.parametrize(
    "learner",
    [
        TransductiveSVM(MultiClass(), C=0.8, random_state=0),
        TransductiveSVM(Sequence(), C=0.8, random_state=0),
        TransductiveSVM(MultiClass(), C=0.8, balance=True, random_state=0),
        GradientCoSVM(MultiClass(), C=0.8, random_state=0),
        CoSVM(MultiClass(), max_iter=5, freeze=False, random_state=0),
        CoSVM(Sequence(), norm=2, max_iter=5, random_state=0),
        CoPerceptron(Sequence(), random_state=0),
        HMM(Sequence()),
        PCFG(Tree(rare=0)),
    ],
    ids=lambda learner: f"{type(learner).__name__}, {type(learner.structure).__name__}",
)
def test_weights_of_unlabeled_examples_multiply_the_unlabeled_weight(learner):
    if isinstance(learner.structure, MultiClass):
        X, Y = numbers_task(24)
    elif isinstance(learner.structure, Sequence):
        X, Y = token_task(24)
    else:
        X, Y = trees()
        X, Y = 2 * X, 2 * Y
    half = len(X) // 2
    Y = [*Y[:half], *([None] * (len(X) - half))]
    models = []
    for weight, unlabeled_weight in ((1.0, 0.5), (4.0, 0.125), (0.0, 0.5)):
        model = learner.set_params(unlabeled_weight=unlabeled_weight)
        model.fit(X, Y, sample_weight=np.r_[np.ones(half), np.full(len(X) - half, weight)])
        models.append(model.weights_.flat().copy())
        assert len(model.transduction_) == len(X) - half
    np.testing.assert_allclose(models[1], models[0], rtol=1e-7, atol=1e-9)
    assert np.abs(models[2] - models[0]).max() > 1e-6


@pytest.mark.parametrize("emission", ["bernoulli", "gaussian"])
@pytest.mark.parametrize("hidden", [False, True])
def test_hmm(emission, hidden):
    X, Y = token_task(12)
    Y = [*Y[:7], *([None] * 5)]
    if hidden:
        Y[0] = [None, *Y[0][1:]]
    view = None
    if emission == "gaussian":
        rng = np.random.default_rng(3)
        X = [rng.normal(size=(len(x), 2)) for x in X]
    times = np.r_[TIMES, 2, 0, 3]
    often = np.repeat(np.arange(12), times)
    options = {"emission": emission, "unlabeled_weight": 0.5, "max_iter": 4, "tol": 1e-12}
    twice = HMM(Sequence(labels=["L", "O", "P"]), view, **options).fit([X[i] for i in often], [Y[i] for i in often])
    model = HMM(Sequence(labels=["L", "O", "P"]), view, **options).fit(X, Y, sample_weight=times)
    np.testing.assert_allclose(model.weights_.transitions, twice.weights_.transitions, rtol=1e-8, atol=1e-8)
    if emission == "gaussian":
        np.testing.assert_allclose(model.weights_.unary, twice.weights_.unary, rtol=1e-6)
        np.testing.assert_allclose(model.log_likelihood_, twice.log_likelihood_, rtol=1e-8)
    marginals = zip(model.predict_marginals(X), twice.predict_marginals(X))
    if emission == "gaussian" or not (times == 0).any():
        for one, other in marginals:
            np.testing.assert_allclose(one, other, atol=1e-7)


def test_naive_bayes():
    X, Y = numbers_task()
    twice = HMM(MultiClass(), emission="gaussian").fit(repeated(list(X)), repeated(Y))
    model = HMM(MultiClass(), emission="gaussian").fit(X, Y, sample_weight=TIMES)
    np.testing.assert_allclose(model.predict_marginals(X), twice.predict_marginals(X), atol=1e-9)


def trees():
    texts = [
        "(S (NP (D the) (N dog)) (V barks))",
        "(S (NP (D a) (N cat)) (VP (V sees) (NP (D the) (N dog))))",
        "(S (NP (N Ana)) (V sleeps))",
        "(S (NP (D the) (N cat)) (VP (V sees) (NP (N Ana))))",
        "(S (NP (NP (D a) (N dog)) (PP (P in) (N Rome))) (V sleeps))",
    ]
    X = [[part.rstrip(")") for part in text.split() if part.endswith(")")] for text in texts]
    return X, texts


def test_pcfg():
    X, Y = trees()
    times, often = [2, 1, 3, 1, 2], np.repeat(np.arange(5), [2, 1, 3, 1, 2])
    X[4], Y[4] = ["the", "dog", "sees", "Ana"], None
    # pseudo-counts of unknown words are shared out as the structure has counted them, so they have to be small
    options = {"unlabeled_weight": 0.5, "max_iter": 3, "tol": 1e-12, "smoothing": 1e-10}
    twice = PCFG(Tree(rare=0), **options).fit([X[i] for i in often], [Y[i] for i in often])
    model = PCFG(Tree(rare=0), **options).fit(X, Y, sample_weight=times)
    plain = PCFG(Tree(rare=0), **options).fit(X, Y)
    for name in ("emissions_", "weights_"):
        one, other, without = (
            np.exp(getattr(m, name).transitions if name == "weights_" else getattr(m, name))
            for m in (model, twice, plain)
        )
        np.testing.assert_allclose(one, other, atol=1e-7)
        assert np.abs(one - without).max() > 0.01
    np.testing.assert_allclose(model.log_likelihood_, twice.log_likelihood_, rtol=1e-6)


@pytest.mark.parametrize("learner", [CRF, StructuredSVM], ids=["crf", "svm"])
def test_trees(learner):
    X, Y = trees()
    often = np.repeat(np.arange(5), [2, 1, 3, 1, 2])
    options = {"C": 0.5, "tol": 1e-8 if learner is CRF else 1e-4}
    twice = learner(Tree(rare=0), **options).fit([X[i] for i in often], [Y[i] for i in often])
    model = learner(Tree(rare=0), **options).fit(X, Y, sample_weight=[2, 1, 3, 1, 2])
    assert model.objective_ == pytest.approx(twice.objective_, rel=1e-3)


def test_sum_of_views_and_type_consistency_pass_weights_on():
    X, Y = token_task(12)
    Y = [*Y[:9], *([None] * 3)]
    often = np.repeat(np.arange(12), [*TIMES, 1, 1, 1])
    crf = CRF(Sequence(labels=["L", "O", "P"]), C=0.5, tol=1e-9, max_iter=1000)
    for learner in (SumOfViews(crf, views=OddEvenSplit()), TypeConsistency(crf, strength=0.4, student=False)):
        twice = learner.fit([X[i] for i in often], [Y[i] for i in often]).decision_function(X)
        once = learner.fit(X, Y).decision_function(X)
        model = learner.fit(X, Y, sample_weight=[*TIMES, 1, 1, 1])
        for one, other, plain in zip(model.decision_function(X), twice, once):
            np.testing.assert_allclose(one, other, atol=5e-3)
            assert np.abs(one - plain).max() > 0.01


# -- steps ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("averaged", [True, False])
def test_perceptron_steps_are_as_long_as_the_weight(averaged):
    X, Y = token_task()
    options = {"averaged": averaged, "shuffle": False, "max_iter": 3}
    plain = StructuredPerceptron(Sequence(), **options).fit(X, Y)
    long = StructuredPerceptron(Sequence(), **options).fit(X, Y, sample_weight=np.full(9, 4.0))
    np.testing.assert_allclose(long.weights_.flat(), 4.0 * plain.weights_.flat(), rtol=1e-12)
    mixed = StructuredPerceptron(Sequence(), **options).fit(X, Y, sample_weight=TIMES)
    assert np.abs(mixed.weights_.flat() - plain.weights_.flat()).max() > 0.1
    # of one example alone, the first step is the only one
    one = StructuredPerceptron(Sequence(), averaged=False, max_iter=1)
    first = one.partial_fit(X[:1], Y[:1], classes=["L", "O", "P"]).weights_.flat().copy()
    again = StructuredPerceptron(Sequence(), averaged=False, max_iter=1)
    again.partial_fit(X[:1], Y[:1], classes=["L", "O", "P"], sample_weight=[2.5])
    np.testing.assert_allclose(again.weights_.flat(), 2.5 * first, rtol=1e-12)
    assert np.abs(first).max() > 0


@pytest.mark.parametrize("name", ["classes, costs", "sequence, Hamming"])
def test_a_step_of_stochastic_gradient_descent_is_that_of_the_weighted_likelihood(name):
    data = EVERY_DATA[name]()
    model = CRF(data.structure, view=data.view, solver="sgd", learning_rate=0.1, max_iter=1, C=1e12)
    model.fit(data.X[:1], data.Y[:1])
    once = model.weights_.flat().copy()
    model.fit(data.X[:1], data.Y[:1], sample_weight=[3.0])
    np.testing.assert_allclose(model.weights_.flat(), 3.0 * once, rtol=1e-9)


def test_stochastic_gradient_descent_comes_near_the_weighted_optimum():
    data = EVERY_DATA["classes, 0/1"]()
    best = CRF(data.structure, view=data.view, C=0.3).fit(data.X, data.Y, sample_weight=TIMES)
    model = CRF(data.structure, view=data.view, C=0.3, solver="sgd", max_iter=500, random_state=0)
    model.fit(data.X, data.Y, sample_weight=TIMES)
    value, _ = plain_chain.crf_objective(repeated(data.examples), data.listed(model.weights_), 0.3)
    assert value == pytest.approx(best.objective_, rel=0.01)


# -- numbers ----------------------------------------------------------------------------------------------------------


def test_ridge_and_what_it_predicts_for_an_example_left_out():
    rng = np.random.default_rng(0)
    X, y, weights = rng.normal(size=(8, 3)), rng.normal(size=(8, 2)), rng.uniform(0.2, 3.0, 8)
    K, eta = X @ X.T + 1.0, 0.3
    found = Ridge(K, y, weights=weights).solve(eta)
    # the gradient of sum w (y - K a)^2 + eta a'K a
    alpha = found.coefficients[0]
    np.testing.assert_allclose(K @ (weights[:, None] * (K @ alpha - y) + eta * alpha), 0, atol=1e-9)
    for i in range(8):
        rest = np.delete(np.arange(8), i)
        alone = Ridge(K[np.ix_(rest, rest)], y[rest], weights=weights[rest]).solve(eta).coefficients[0]
        np.testing.assert_allclose(found.left_out[0][i], K[i, rest] @ alone, atol=1e-9)


@pytest.mark.parametrize("standardize", [False, "columns", True])
def test_regression(standardize):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(9, 3)), 5.0 + rng.normal(size=9)
    if standardize:  # columns are scaled by inputs, each of which counts once
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    options = {"gamma": 0.4, "eta": 0.7, "standardize": standardize}
    weighted = RLSR(**options).fit(X, y, sample_weight=TIMES)
    often = np.repeat(np.arange(9), TIMES)
    mean, scale = (y[often].mean(), y[often].std()) if standardize is True else (0.0, 1.0)
    twice = RLSR(**{**options, "standardize": False}).fit(X[often], (y[often] - mean) / scale)
    np.testing.assert_allclose(weighted.predict(X), twice.predict(X) * scale + mean, atol=1e-8)
    assert weighted.labeled_.tolist() == np.flatnonzero(TIMES).tolist()


@pytest.mark.parametrize("mode", ["semiparametric", "exact"])
def test_co_regression(mode):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(20, 4)), rng.normal(size=20)
    y[9:] = np.nan
    times = np.r_[TIMES, rng.integers(0, 4, 11)]
    often = np.repeat(np.arange(20), times)
    options = {
        "views": [Select([0, 1]), Select([2, 3])], "mode": mode, "disagreement_weight": 0.3, "gamma": 0.4, "eta": 0.5,
        "standardize": False,
    }  # fmt: skip
    weighted = CoRLSR(**options).fit(X, y, sample_weight=times)
    twice = CoRLSR(**options).fit(X[often], y[often])
    # a kernel matrix of repeated rows is singular: the expansion differs, the function does not
    np.testing.assert_allclose(weighted.predict(X), twice.predict(X), atol=1e-6)
    assert weighted.transduction_.shape == (11,)
    plain = CoRLSR(**options).fit(X, y)
    assert np.abs(weighted.predict(X) - plain.predict(X)).max() > 1e-3


@pytest.mark.parametrize("exact", [False, True])
def test_weighted_views_without_the_label_of_an_example(exact):
    """What is predicted without a label is what a fit without that label predicts."""
    rng = np.random.default_rng(4)
    X, U, y = rng.normal(size=(2, 6, 2)), rng.normal(size=(2, 5, 2)), rng.normal(size=(6, 1))
    weights, others = rng.uniform(0.3, 3.0, 6), rng.uniform(0.3, 3.0, 5)
    kernel = lambda a, b: np.exp(-0.5 * np.sum((a[:, None] - b[None]) ** 2, axis=2))  # noqa: E731

    def solve(rows):
        """Both views' predictions for all six, and without their labels, from a fit to some of them."""
        targets, labeled, each = [y[rows]] * 2, [np.arange(rows.size)] * 2, [weights[rows]] * 2
        if exact:
            bases = [np.vstack([X[v][rows], U[v]]) for v in range(2)]
            grams = [kernel(b, b) for b in bases]
            found = Exact(grams, targets, [0.4, 0.6], labeled, ["a", "b"], each, others).solve(0.2)
        else:
            bases = [X[v][rows] for v in range(2)]
            grams = [kernel(b, b) for b in bases]
            maps = [feature_map(gram) for gram in grams]
            mapped = np.hstack([kernel(U[v], bases[v]) @ maps[v] for v in range(2)])
            products = (mapped.T * others) @ mapped
            found = SemiParametric(grams, maps, targets, [0.4, 0.6], labeled, products, each).solve(0.2)
        return [kernel(X[v], bases[v]) @ found.coefficients[v] for v in range(2)], found.left_out

    _, left_out = solve(np.arange(6))
    if exact:  # only then is an example without its label out of the expansion, too
        for i in range(6):
            others_fit, _ = solve(np.delete(np.arange(6), i))
            for v in range(2):
                np.testing.assert_allclose(left_out[v][i], others_fit[v][i], atol=1e-8)
    assert all(np.isfinite(one).all() for one in left_out)


# -- clusterings ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["pairwise", "iterative", "compact", "sequential"])
@pytest.mark.parametrize("standardize", [False, True])
def test_clustering(method, standardize):
    rng = np.random.default_rng(5)
    sets = [rng.normal(size=(n * (n - 1) // 2, 3)) for n in (4, 5, 3, 4)]
    partitions = [[0, 0, 1, 1], [0, 1, 1, 2, 2], [0, 0, 1], [0, 1, 0, 1]]
    times, often = [2, 1, 0, 3], np.repeat(np.arange(4), [2, 1, 0, 3])
    options = {"C": 0.4, "tol": 1e-8, "standardize": standardize, "training_decoder": "exact"}
    weighted = ClusteringSVM(method, **options).fit(sets, partitions, sample_weight=times)
    twice = ClusteringSVM(method, **options).fit([sets[i] for i in often], [partitions[i] for i in often])
    assert weighted.objective_ == pytest.approx(twice.objective_, rel=1e-6)
    assert weighted.dual_objective_ == pytest.approx(twice.dual_objective_, rel=1e-6)
    np.testing.assert_allclose(weighted.weights_, twice.weights_, atol=1e-3 * np.abs(twice.weights_).max())
