"""Hard margins: the optimum of the program with all constraints written out, and an error where there is none."""

import numpy as np
import plain_chain
import pytest
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from solver_cases import EVERY_DATA, multiclass, sequence, with_machines

from accord import ArrayFeatures, MultiClass, Sequence, StructuredSVM, load
from accord.exceptions import InputError

# examples few enough for their dimensions that some can be separated and some cannot
SIZES = [(2, 5), (4, 5), (1, 12), (2, 12)]
CASES = [(kind, *size) for kind in ("hamming", "zero-one") for size in SIZES]


def exists(examples, rescaling, norm):
    """Whether any weights keep all margins: a linear program, which knows nothing of norms."""
    b, D = (np.concatenate(parts) for parts in zip(*(plain_chain.constraints(e, rescaling, norm) for e in examples)))
    found = linprog(np.zeros(D.shape[1]), A_ub=-D, b_ub=-b, bounds=(None, None), method="highs")
    assert found.status in (0, 2)
    return found.status == 0


def fit(data, **options):
    options = {"C": np.inf, "tol": 1e-7, "random_state": 0} | options
    return StructuredSVM(data.structure, view=data.view, **options).fit(data.X, data.Y)


@pytest.mark.parametrize(("kind", "n_dims", "n", "rescaling", "norm"), with_machines(CASES))
def test_the_optimum_or_an_error(kind, n_dims, n, rescaling, norm):
    data = sequence(kind, n_dims=n_dims, n=n)
    if not exists(data.examples, rescaling, norm):
        with pytest.raises(InputError, match="C is inf, but no weights keep the margins of all labeled outputs"):
            fit(data, rescaling=rescaling, norm=norm)
        return
    best, w = plain_chain.svm_hard(data.examples, rescaling, norm)
    machine = fit(data, rescaling=rescaling, norm=norm)
    listed = data.listed(machine.weights_)
    assert plain_chain.slacks(data.examples, listed, rescaling, norm).max() <= 1e-6
    assert machine.objective_ == pytest.approx(best, rel=1e-6)
    assert machine.dual_objective_ == pytest.approx(best, rel=1e-6)
    np.testing.assert_allclose(listed, w, atol=1e-4 * np.abs(w).max())
    assert machine.converged_
    assert machine.score(data.X, data.Y) == 1.0


def test_both_happen():
    found = [exists(sequence(kind, n_dims=d, n=n).examples, "margin", 1) for kind, d, n in CASES]
    assert 0 < sum(found) < len(found)


def test_a_finite_C_that_is_large_enough_is_the_same_machine():
    data = sequence("hamming", n_dims=4, n=5)
    hard = fit(data)
    mass = np.zeros(len(data.X))
    for i, _, alpha in hard.support_outputs():
        mass[i] += alpha
    soft = fit(data, C=2 * mass.max(), max_iter=5000)
    np.testing.assert_allclose(hard.weights_.flat(), soft.weights_.flat(), atol=1e-3)


def test_two_classes_are_the_textbooks_machine():
    """With w_a = -w_b = v / 2 the margin of 1 is <v, x> >= 1, and |w|^2 / 2 = |v|^2 / 4."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3))
    X, signs = X[np.abs(X[:, 0]) > 0.2], np.sign(X[:, 0])[np.abs(X[:, 0]) > 0.2]
    mirrored = np.vstack([X * signs[:, None], -X * signs[:, None]])  # so that the peer's intercept is zero
    peer = SVC(kernel="linear", C=1e9, tol=1e-10).fit(mirrored, np.repeat([1, -1], len(X)))
    machine = StructuredSVM(MultiClass(), view=ArrayFeatures(bias=False), C=np.inf, tol=1e-9, random_state=0)
    machine.fit(X, np.where(signs > 0, "a", "b").tolist())
    np.testing.assert_allclose(machine.weights_.unary @ [1.0, -1.0], peer.coef_[0], rtol=1e-4)
    assert machine.objective_ == pytest.approx(0.25 * float(np.sum(peer.coef_**2)), rel=1e-4)


def test_examples_that_contradict_each_other_are_named():
    X, Y = [[[1.0], [2.0]], [[3.0]], [[1.0], [2.0]]], [["x", "y"], ["y"], ["y", "x"]]
    with pytest.raises(InputError, match="those of the labeled examples 0, 2 contradict each other"):
        StructuredSVM(Sequence(), view=ArrayFeatures(), C=np.inf, random_state=0).fit(X, Y)


def test_other_solvers_and_what_is_not_a_C():
    data = multiclass()
    with pytest.raises(InputError, match='C is inf, which solver="cutting-plane" can do'):
        fit(data, solver="frank-wolfe")
    for C in (-np.inf, np.nan):
        with pytest.raises(InputError, match="expected a positive number, at most 1e15, or inf"):
            fit(data, C=C)


def test_stopping_early_is_no_solution(tmp_path):
    data = sequence("hamming", n_dims=4, n=5)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 passes with a duality gap of inf"):
        machine = fit(data, max_iter=1)
    assert machine.objective_ == np.inf
    assert not machine.converged_
    machine.save(tmp_path / "model.accord")
    assert load(tmp_path / "model.accord").C == np.inf


def test_every_structure_takes_it():
    for name, make in EVERY_DATA.items():
        data = make()
        possible = exists(data.examples, "margin", 1)
        if possible:
            best, _ = plain_chain.svm_hard(data.examples, "margin", 1)
            assert fit(data).objective_ == pytest.approx(best, rel=1e-5), name
        else:
            with pytest.raises(InputError, match="no weights keep the margins"):
                fit(data)
