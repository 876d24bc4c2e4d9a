"""The smooth machines reach the optimum of their objectives, with all outputs listed and by other solvers."""

import warnings
from functools import partial

import numpy as np
import plain_chain
import plain_smooth
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from solver_cases import EVERY_DATA, multiclass, sequence, taxonomy

from accord import (
    ArrayFeatures,
    GradientCoSVM,
    GradientSVM,
    MultiClass,
    Select,
    Sequence,
    StructuredSVM,
    TransductiveSVM,
)
from accord.learners import smooth_machines
from accord.packed.rows import Rows
from accord.solvers import transduction

EXACT = {name: make for name, make in EVERY_DATA.items() if "F1" not in name}
CLASSES = {"0/1": multiclass, "costs": partial(multiclass, "cost"), "taxonomy": taxonomy}
each_solver = pytest.mark.parametrize("solver", ["primal", "expansion"])
PRECISE = {"tol": 1e-9, "max_iter": 3000, "random_state": 0}


def fit(data, cls=GradientSVM, **options):
    return cls(data.structure, view=data.view, **{**PRECISE, **options}).fit(data.X, data.Y)


# -- the supervised machine -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rho", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("make", CLASSES.values(), ids=CLASSES)
@each_solver
def test_classes_reach_the_optimum_over_all_outputs(make, solver, rho):
    """With classes every wrong output is in the working set if it counts, so any rho is exact."""
    data, C = make(), 0.8
    best, w = plain_smooth.solve(data.examples, C, 0.3, rho)
    model = fit(data, C=C, rho=rho, solver=solver)
    assert model.converged_
    found = data.listed(model.weights_)
    assert plain_smooth.objective(data.examples, found, C, 0.3, rho) == pytest.approx(best, rel=1e-6)
    assert model.objective_ == pytest.approx(best, rel=1e-6)
    np.testing.assert_allclose(data.examples[0].phi @ found, data.examples[0].phi @ w, atol=1e-3)


@pytest.mark.parametrize("make", EXACT.values(), ids=EXACT)
def test_working_sets_are_enough(make):
    """With a sharp maximum, the objective over the working sets is that over all outputs."""
    data, C, rho = make(), 1.0, 300.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = fit(data, C=C, rho=rho, tol=1e-6)
    w = data.listed(model.weights_)
    over_all = plain_smooth.objective(data.examples, w, C, 0.3, np.inf)
    most = max(len(e.outputs) for e in data.examples)
    blur = C * len(data.examples) * np.log(most) / rho  # what the soft maximum may add
    assert over_all - 1e-3 <= model.objective_ <= over_all + blur
    best = plain_smooth.solve(data.examples, C, 0.3, rho)[0]
    assert best - blur - 1e-3 <= model.objective_ <= best + 1e-3


@pytest.mark.parametrize("make", EXACT.values(), ids=EXACT)
def test_both_solvers_find_the_same_weights(make):
    data = make()
    models = [fit(data, solver=solver) for solver in ("primal", "expansion")]
    assert [m.solver_ for m in models] == ["primal", "expansion"]
    assert models[0].objective_ == pytest.approx(models[1].objective_, rel=1e-7)
    np.testing.assert_allclose(models[0].weights_.flat(), models[1].weights_.flat(), atol=1e-5)


@pytest.mark.parametrize("make", EXACT.values(), ids=EXACT)
def test_the_limit_is_the_structural_svm(make):
    """No factor 1/2 of the norm: C here is C / 2 there, and the objective is twice as large."""
    data, C = make(), 1.0
    best = 2 * plain_chain.svm_solve(data.examples, C / 2, "margin", 1)[0]
    gaps = []
    for epsilon, rho in ((0.3, 10.0), (0.003, 1000.0)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = fit(data, C=C, epsilon=epsilon, rho=rho, tol=1e-6)
        value = 2 * plain_chain.svm_primal(data.examples, data.listed(model.weights_), C / 2, "margin", 1)
        assert value >= best * (1 - 1e-6)
        gaps.append(value / best - 1)
    assert gaps[-1] < 0.003
    assert gaps[-1] < gaps[0]
    machine = StructuredSVM(data.structure, view=data.view, C=C / 2, tol=1e-5, random_state=0).fit(data.X, data.Y)
    assert 2 * machine.objective_ == pytest.approx(value, rel=0.005)


def test_f1_adds_what_the_decoder_finds():
    data = sequence("f1")
    model = fit(data, tol=1e-4)
    start = plain_smooth.objective(data.examples, np.zeros(data.examples[0].phi.shape[1]), 1.0, 0.3, np.inf)
    assert plain_smooth.objective(data.examples, data.listed(model.weights_), 1.0, 0.3, np.inf) < 0.9 * start


def test_auto_chooses_the_cheaper_solver():
    rng = np.random.default_rng(0)
    wide, narrow = rng.normal(size=(20, 300)), rng.normal(size=(300, 2))
    assert GradientSVM(MultiClass()).fit(wide, list("ab") * 10).solver_ == "expansion"
    assert GradientSVM(MultiClass()).fit(narrow, list("ab") * 150).solver_ == "primal"


def test_a_kernel_matrix_that_does_not_fit_is_not_made(monkeypatch):
    X = np.random.default_rng(0).normal(size=(200, 300))
    assert GradientSVM(MultiClass()).fit(X, list("ab") * 100).solver_ == "expansion"
    monkeypatch.setenv("ACCORD_MEMORY", "1000000")
    assert GradientSVM(MultiClass()).fit(X, list("ab") * 100).solver_ == "primal"


# -- with unlabeled examples ------------------------------------------------------------------------------------------


@each_solver
def test_without_unlabeled_examples_transduction_is_the_supervised_machine(solver):
    data = sequence()
    plain = fit(data, solver=solver)
    both = fit(data, TransductiveSVM, solver=solver, unlabeled_weight=1.0)
    assert np.array_equal(plain.weights_.flat(), both.weights_.flat())
    assert not both.bias_.any()
    X, Y = [*data.X, *data.X], [*data.Y, *[None] * len(data.X)]
    for balance in (False, True):
        ignored = TransductiveSVM(
            data.structure, view=data.view, solver=solver, unlabeled_weight=0, balance=balance, **PRECISE
        ).fit(X, Y)
        assert np.array_equal(plain.weights_.flat(), ignored.weights_.flat())
        assert list(ignored.predict(data.X)) == list(plain.predict(data.X)) == ignored.transduction_


@each_solver
@pytest.mark.parametrize("balance", [False, True])
def test_the_transductive_objective_is_the_definition(solver, balance):
    """Classes: over all wrong outputs of the targets that were predicted, with scores shifted if balanced."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(15, 2)) + c for c in ([0, 0], [3, 0], [0, 3])])
    Y = [label if i % 15 < 2 else None for i, label in enumerate(np.repeat(list("abc"), 15))]
    C, weight, rho = 0.5, 0.3, 4.0
    model = TransductiveSVM(
        MultiClass(), view=ArrayFeatures(bias=False), C=C, unlabeled_weight=weight, rho=rho, solver=solver,
        balance=balance, ramp=4, **PRECISE,
    ).fit(X, Y)  # fmt: skip
    assert model.converged_
    scores = X @ model.weights_.unary + model.bias_
    np.testing.assert_allclose(scores, model.decision_function(X))
    total = model.weights_.flat() @ model.weights_.flat()
    for s, y in zip(scores, Y):
        target = int(np.argmax(s)) if y is None else "abc".index(y)
        margins = [s[target] - s[c] for c in range(3) if c != target]
        if y is None:
            total += C * weight * plain_smooth.smax([plain_smooth.symmetric(t, 1.0, 0.4) for t in margins], rho)
        else:
            total += C * plain_smooth.smax([plain_smooth.huber(t, 1.0, 0.3) for t in margins], rho)
    assert model.objective_ == pytest.approx(total, rel=1e-6)


@each_solver
def test_at_the_end_no_direction_leads_downhill(solver):
    """The transductive optimum is a local one: small random changes of the weights raise the objective."""
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + [3, 1]])
    Y = [label if i % 20 < 2 else None for i, label in enumerate(np.repeat(list("ab"), 20))]
    model = TransductiveSVM(
        MultiClass(), view=ArrayFeatures(bias=False), unlabeled_weight=0.5, rho=5.0, solver=solver, ramp=5, **PRECISE
    ).fit(X, Y)

    def value(w):
        scores, total = X @ w, float((w * w).sum())
        for s, y in zip(scores, Y):
            target = int(np.argmax(s)) if y is None else "ab".index(y)
            t = s[target] - s[1 - target]
            loss = plain_smooth.symmetric(t, 1.0, 0.4) * 0.5 if y is None else plain_smooth.huber(t, 1.0, 0.3)
            total += loss
        return total

    w = model.weights_.unary
    here = value(w)
    assert here == pytest.approx(model.objective_, rel=1e-6)
    for _ in range(30):
        d = rng.normal(size=w.shape)
        assert value(w + 1e-4 * d / np.linalg.norm(d)) > here - 1e-9


@each_solver
def test_balance_holds_the_mean_scores(solver):
    rng = np.random.default_rng(2)
    X = np.concatenate([rng.normal(size=(30, 3)), rng.normal(size=(10, 3)) + 2])
    truth = np.repeat(list("ab"), [30, 10])
    Y = [label if i in (0, 1, 2, 30) else None for i, label in enumerate(truth)]
    model = TransductiveSVM(MultiClass(), unlabeled_weight=0.2, balance=True, solver=solver, **PRECISE).fit(X, Y)
    hidden = np.array([y is None for y in Y])
    np.testing.assert_allclose(model.decision_function(X)[hidden].mean(), 0.25 - 0.75, atol=1e-9)
    tokens = [[row] for row in X]
    tagger = TransductiveSVM(
        Sequence(labels=["a", "b"]), unlabeled_weight=0.2, balance=True, solver=solver, tol=1e-4
    ).fit([np.array(t) for t in tokens], [None if y is None else [y] for y in Y])
    scores = np.concatenate(tagger.decision_function([np.array(t) for t in tokens]))
    np.testing.assert_allclose(scores[hidden].mean(axis=0), [0.25, -0.25], atol=1e-9)


# -- several views ----------------------------------------------------------------------------------------------------


@each_solver
@pytest.mark.parametrize("weight", [0.4, 2])
def test_consensus_objective_is_the_definition(solver, weight):
    """Each view: |w|^2 / 2 + C (labeled + C_u unlabeled), with the other view's predictions as targets."""
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.normal(size=(15, 4)) + 2 * c for c in np.eye(3, 4)])
    Y = [label if i % 15 < 3 else None for i, label in enumerate(np.repeat(list("abc"), 15))]
    C, rho = 0.7, 3.0
    plain = [ArrayFeatures(bias=False), ArrayFeatures(bias=False)]
    model = GradientCoSVM(
        MultiClass(), [Select([0, 1], plain[0]), Select([2, 3], plain[1])], C=C, unlabeled_weight=weight, rho=rho,
        solver=solver, ramp=3, **PRECISE,
    ).fit(X, Y)  # fmt: skip
    assert model.converged_
    scores = [X[:, :2] @ model.view_weights_[0].unary[:2], X[:, 2:] @ model.view_weights_[1].unary[2:]]
    total = 0.0
    for v in (0, 1):
        total += 0.5 * (model.view_weights_[v].unary ** 2).sum()
        for i, y in enumerate(Y):
            target = int(np.argmax(scores[1 - v][i])) if y is None else "abc".index(y)
            losses = [
                plain_smooth.huber(scores[v][i, target] - scores[v][i, c], 1.0, 0.3) for c in range(3) if c != target
            ]
            total += C * (weight if y is None else 1.0) * plain_smooth.smax(losses, rho)
    assert model.objective_ == pytest.approx(total, rel=1e-6)


def test_consensus_of_one_view_without_unlabeled_examples_is_the_supervised_machine():
    """|w|^2 / 2 + C is half of |w|^2 + 2 C."""
    data = sequence()
    model = GradientCoSVM(data.structure, data.view, C=0.6, unlabeled_weight=0, **PRECISE).fit(data.X, data.Y)
    single = fit(data, C=1.2)
    assert 2 * model.objective_ == pytest.approx(single.objective_, rel=1e-7)
    np.testing.assert_allclose(model.weights_.flat(), single.weights_.flat(), atol=1e-5)


# -- steps among some of the rows -------------------------------------------------------------------------------------


def mostly_clear():
    """Sequences in which most tokens are never in doubt, sparse features."""
    rng = np.random.default_rng(4)
    X, Y = [], []
    for _ in range(12):
        n = int(rng.integers(6, 12))
        y = ["O"] * n
        y[int(rng.integers(n))] = "A" if rng.random() < 0.5 else "B"
        X.append([{"w": f"{label}{rng.integers(3)}", "d": str(rng.integers(40))} for label in y])
        Y.append(y)
    return X, Y


@each_solver
def test_leaving_out_rows_without_entries_changes_nothing(solver, monkeypatch):
    X, Y = mostly_clear()
    sizes = []
    original = transduction.minimise
    monkeypatch.setattr(
        transduction, "minimise", lambda space, *rest: sizes.append(space.n_rows) or original(space, *rest)
    )

    def solution():
        options = PRECISE | {"tol": 1e-7, "max_outputs": 0}  # listed outputs would differ from targets everywhere
        return GradientSVM(Sequence(normalize=True), rho=30.0, solver=solver, **options).fit(X, Y)

    few = solution()
    assert min(sizes) < 0.7 * sum(len(x) for x in X)
    monkeypatch.setattr(transduction, "MOST", -1.0)
    sizes.clear()
    every = solution()
    assert set(sizes) == {sum(len(x) for x in X)}
    assert few.objective_ == pytest.approx(every.objective_, rel=1e-5)
    np.testing.assert_allclose(few.weights_.flat(), every.weights_.flat(), atol=2e-3)


@each_solver
@pytest.mark.parametrize("dense", [False, True])
def test_a_part_of_the_rows_is_a_part_of_the_space(solver, dense):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(7, 4)) * (rng.random((7, 4)) < (1.0 if dense else 0.4))
    rows = Rows.from_matrix(features if dense else sp.csr_array(features))
    structure = Sequence().fit([["a", "b", "c"]])
    space = smooth_machines.make_space(structure, rows, solver)
    active = np.array([1, 2, 5])
    small, kept = space.restricted(active)
    x = np.zeros(space.zeros().size)
    x[kept] = rng.normal(size=kept.size)
    n_labels, n_scores = 3, 7 * 3
    whole, part = space.forward(x), small.forward(x[kept])
    np.testing.assert_allclose(part[:9].reshape(3, 3), whole[:n_scores].reshape(7, 3)[active])
    np.testing.assert_array_equal(part[9:], whole[n_scores:])
    assert small.inner(x[kept], x[kept], part) == pytest.approx(space.inner(x, x, whole))
    parts = np.zeros(n_scores + structure.n_transitions_)
    parts[:n_scores].reshape(7, n_labels)[active] = rng.normal(size=(3, n_labels))
    parts[n_scores:] = rng.normal(size=structure.n_transitions_)
    some = np.concatenate([parts[:n_scores].reshape(7, n_labels)[active].ravel(), parts[n_scores:]])
    np.testing.assert_allclose(small.coefficients(some), space.coefficients(parts)[kept])
    assert not np.delete(space.coefficients(parts), kept).any()  # what is left out would not be needed
