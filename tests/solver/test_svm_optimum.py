"""Structural SVMs: every solver reaches the optimum of the program with all constraints written out.

The primal is recomputed from listed outputs, and the listed program is solved by an interior-point method in the
primal, while Accord's solvers work in the dual and generate constraints by decoding.
"""

import itertools

import numpy as np
import plain_chain
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from solver_cases import EVERY_DATA, multiclass, sequence, with_machines, with_one_machine

from accord import ArrayFeatures, MultiClass, StructuredSVM

# Every solver there is; the cutting planes in both variants.
SOLVERS = {
    "one example at a time": {"solver": "cutting-plane", "reoptimize": "example", "max_iter": 5000},
    "all examples together": {"solver": "cutting-plane", "reoptimize": "all"},
    "frank-wolfe": {"solver": "frank-wolfe", "max_iter": 30_000},
}
MACHINES = list(itertools.product(["margin", "slack"], [1, 2]))

each_solver = pytest.mark.parametrize("solver", SOLVERS)
each_machine = pytest.mark.parametrize(("rescaling", "norm"), MACHINES)


def fit(data, solver, rescaling, norm, C, tol, **more):
    options = {"rescaling": rescaling, "norm": norm, "random_state": 0} | SOLVERS[solver] | more
    return StructuredSVM(data.structure, view=data.view, C=C, tol=tol, **options).fit(data.X, data.Y)


def precision(solver, C=1.0):
    """How near an optimum is asked for: Frank-Wolfe comes near soon and then needs ten times as long for a digit."""
    if solver != "frank-wolfe":
        return 2e-4
    return 1e-3 if C <= 1 else 5e-3


def tol_for(solver, fraction, best, C, n):
    """The tol that leaves the given fraction of the objective as gap, with some reserve."""
    if SOLVERS[solver]["solver"] == "cutting-plane":  # C * tol per example, and as a fraction for working sets
        return 0.3 * fraction * min(best / (C * n), 1.0)
    return 0.95 * fraction


@pytest.mark.parametrize(("name", "rescaling", "norm"), with_one_machine(EVERY_DATA))
def test_all_solvers_reach_the_listed_optimum(name, rescaling, norm):
    data, C = EVERY_DATA[name](), 0.7
    best, w = plain_chain.svm_solve(data.examples, C, rescaling, norm)
    assert best > 0.1, "the case is too easy to tell solvers apart"
    for solver in SOLVERS:
        rel = precision(solver)
        machine = fit(data, solver, rescaling, norm, C, tol_for(solver, rel, best, C, len(data.examples)))
        listed = data.listed(machine.weights_)
        primal = plain_chain.svm_primal(data.examples, listed, C, rescaling, norm)
        assert machine.exact_
        assert machine.converged_, solver
        assert machine.objective_ == pytest.approx(primal, rel=1e-9), solver
        assert primal == pytest.approx(best, rel=rel), solver
        assert machine.dual_objective_ <= best * (1 + 1e-9), solver
        assert machine.dual_objective_ == pytest.approx(best, rel=rel), solver
        assert machine.duality_gap_ == machine.objective_ - machine.dual_objective_
        # |w - w*|^2 / 2 is at most what the objective lacks, because it is strongly convex
        assert 0.5 * np.sum((listed - w) ** 2) <= 2 * (primal - best) + 1e-7, solver


@pytest.mark.parametrize(
    ("C", "solver", "rescaling", "norm"), with_one_machine(list(itertools.product([20.0, 0.05], SOLVERS)))
)
def test_small_and_large_C(C, solver, rescaling, norm):
    for data in (multiclass("cost"), sequence("hamming", n=5)):
        best, _ = plain_chain.svm_solve(data.examples, C, rescaling, norm)
        rel = precision(solver, C)
        machine = fit(data, solver, rescaling, norm, C, tol_for(solver, rel, best, C, len(data.examples)))
        assert machine.objective_ == pytest.approx(best, rel=rel)


@each_solver
@each_machine
def test_dual_never_exceeds_primal_however_early_the_solver_stops(rescaling, norm, solver):
    data = sequence("count", n=7)
    C = 2.0
    best, _ = plain_chain.svm_solve(data.examples, C, rescaling, norm)
    duals = []
    for passes in (1, 2, 3):
        with pytest.warns(ConvergenceWarning, match=f"max_iter={passes} passes with a duality gap"):
            machine = fit(data, solver, rescaling, norm, C, tol=1e-9, max_iter=passes)
        primal = plain_chain.svm_primal(data.examples, data.listed(machine.weights_), C, rescaling, norm)
        assert machine.objective_ == pytest.approx(primal, rel=1e-9)
        assert machine.dual_objective_ <= best * (1 + 1e-9) <= machine.objective_ * (1 + 2e-9)
        assert not machine.converged_
        assert machine.n_iter_ == passes
        duals.append(machine.dual_objective_)
    assert duals[0] > 0
    assert duals == sorted(duals), "the same random order goes on, so the dual can only grow"


@pytest.mark.parametrize(
    ("tol", "solver", "rescaling", "norm"), with_machines(itertools.product([0.3, 0.003], SOLVERS))
)
def test_tol_bounds_the_gap(tol, solver, rescaling, norm):
    data = sequence("hamming", n=7)
    C, n = 1.5, 7
    machine = fit(data, solver, rescaling, norm, C, tol)
    slack = plain_chain.slacks(data.examples, data.listed(machine.weights_), rescaling, norm)
    if SOLVERS[solver]["solver"] != "cutting-plane":
        bound = tol * machine.objective_
    else:
        if norm == 1:
            bound, paid = C * tol * n, C * slack.sum()
        else:  # C / 2 (xi + tol)^2 - C / 2 xi^2
            bound, paid = C * tol * (slack.sum() + 0.5 * tol * n), 0.5 * C * slack @ slack
        # working sets are optimal to a fraction of the dual value, and single ones of what they pay
        bound += min(tol, 1e-3) * machine.dual_objective_ + min(tol, 0.01) * paid
    assert -1e-9 <= machine.duality_gap_ <= bound


@pytest.mark.parametrize("reoptimize", ["example", "all"])
@each_machine
def test_support_outputs_give_back_weights_and_dual(rescaling, norm, reoptimize):
    """w = sum of alpha times the scaled feature differences; the dual value follows from alpha alone."""
    data, C = sequence("count", n=6), 1.3
    machine = StructuredSVM(
        data.structure,
        view=data.view,
        C=C,
        norm=norm,
        rescaling=rescaling,
        reoptimize=reoptimize,
        tol=1e-5,
        random_state=0,
    ).fit(data.X, data.Y)
    support = machine.support_outputs()
    assert len(support) == machine.n_constraints_ > 0
    w, linear, mass = 0.0, 0.0, np.zeros(len(data.X))
    for i, output, alpha in support:
        e = data.examples[i]
        b, D = plain_chain.constraints(e, rescaling, norm)
        wrong = [z for k, z in enumerate(e.outputs) if k != e.true]
        row = wrong.index(tuple(data.structure.labels.index(label) for label in output))
        assert alpha > 0
        w, linear, mass[i] = w + alpha * D[row], linear + alpha * b[row], mass[i] + alpha
    np.testing.assert_allclose(data.listed(machine.weights_), w, atol=1e-8)
    ridge = 0.0 if norm == 1 else 1.0 / C
    dual = linear - 0.5 * w @ w - 0.5 * ridge * mass @ mass
    assert machine.dual_objective_ == pytest.approx(dual, rel=1e-8)
    if norm == 1:
        assert mass.max() <= C * (1 + 1e-8)


@each_solver
def test_unlabeled_examples_do_not_change_the_optimum(solver):
    data, C = sequence("hamming"), 1.0
    best, _ = plain_chain.svm_solve(data.examples, C, "margin", 1)
    X, Y = [data.X[2], *data.X, data.X[0]], [None, *data.Y, None]
    rel = precision(solver)
    options = {"C": C, "tol": tol_for(solver, rel, best, C, len(data.X)), "random_state": 0} | SOLVERS[solver]
    machine = StructuredSVM(data.structure, view=data.view, **options).fit(X, Y)
    assert machine.objective_ == pytest.approx(best, rel=rel)
    if machine.support_ is not None:
        assert set(machine.support_["example"].tolist()) <= set(range(1, len(data.X) + 1))


def test_training_ignores_constraints_that_the_labels_break():
    data = sequence("hamming")  # its labels start some sequences with I-X
    assert any(y[0] == "I-X" for y in data.Y)
    structure = data.structure.set_params(constraints="iob2")
    with pytest.warns(UserWarning, match="labeled outputs break the constraints"):
        machine = StructuredSVM(structure, view=data.view, tol=1e-6, reoptimize="all", random_state=0).fit(
            data.X, data.Y
        )
    best, _ = plain_chain.svm_solve(data.examples, 1.0, "margin", 1)
    assert machine.objective_ == pytest.approx(best, rel=1e-4)
    assert all(y[0] != "I-X" for y in machine.predict(data.X))


@each_solver
@each_machine
def test_with_a_decoder_that_is_not_exact_the_dual_is_still_a_lower_bound(rescaling, norm, solver):
    """A missed violation makes the reported primal too small; every constraint found is a true one, though."""
    data, C = sequence("macro-f1"), 1.0
    best, _ = plain_chain.svm_solve(data.examples, C, rescaling, norm)
    machine = fit(data, solver, rescaling, norm, C, tol=1e-3)
    primal = plain_chain.svm_primal(data.examples, data.listed(machine.weights_), C, rescaling, norm)
    assert not machine.exact_
    assert machine.objective_ <= primal * (1 + 1e-9)
    assert machine.dual_objective_ <= best * (1 + 1e-9)
    assert best * (1 - 1e-9) <= primal <= 1.25 * best, "the sweep finds most violations"


@pytest.mark.parametrize("solver", ["cutting-plane", "frank-wolfe"])
def test_the_number_of_threads_does_not_change_a_bit(solver):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 2))  # several blocks of parallel work
    Y = (X @ [1.0, -1.0] + rng.normal(size=2500) > 0).tolist()
    found = []
    for n_jobs in (1, 2):
        options = {"C": 0.01, "tol": 0.3, "n_jobs": n_jobs, "random_state": 0, "solver": solver}
        machine = StructuredSVM(MultiClass(), **options).fit(X, Y)
        found.append((machine.weights_.flat(), machine.objective_, machine.dual_objective_))
    assert np.array_equal(found[0][0], found[1][0])
    assert found[0][1:] == found[1][1:]


@pytest.mark.parametrize("C", [0.1, 1.0, 5.0])
def test_classes_are_crammer_and_singers_machine(C):
    data = multiclass()
    peer = LinearSVC(
        multi_class="crammer_singer", fit_intercept=False, C=C, tol=1e-9, max_iter=1_000_000, random_state=0
    )
    theirs = plain_chain.svm_primal(data.examples, peer.fit(data.X, data.Y).coef_.T.ravel(), C, "margin", 1)
    machine = StructuredSVM(MultiClass(), view=ArrayFeatures(bias=False), C=C, tol=1e-6, random_state=0).fit(
        data.X, data.Y
    )
    assert machine.objective_ == pytest.approx(theirs, rel=1e-5)
    np.testing.assert_allclose(machine.weights_.unary, peer.coef_.T, atol=1e-3)
