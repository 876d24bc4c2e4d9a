"""RLSR: kernel ridge regression as an estimator; targets in any container; what is chosen by leave-one-out."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from row_tables import each_row
from sklearn.base import clone, is_regressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import accord
from accord import RLSR, KernelFeatures, OddEvenSplit, Select
from accord.exceptions import InputError
from accord.learners.regression import read_targets

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3)) * [1, 5, 0.2] + [0, 3, 0]
Y = np.sin(X[:, 0]) + 0.2 * X[:, 1] + 0.1 * RNG.normal(size=40)
NEW = RNG.normal(size=(7, 3)) * [1, 5, 0.2] + [0, 3, 0]
FIXED = {"gamma": 0.3, "eta": 0.5, "standardize": False}


def rbf(a, b, gamma):
    return np.exp(-gamma * ((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=2))


def left_out(model, X, y):
    """Predictions without the label of the example, by fits with the same kernel, eta and scale."""
    fixed = clone(model).set_params(gamma=model.gamma_, eta=model.eta_, standardize=False)
    Z = (X - X.mean(axis=0)) / X.std(axis=0) if model.standardize else X
    y = (y - model.y_mean_) / model.y_scale_
    found = [fixed.fit(np.delete(Z, i, 0), np.delete(y, i)).predict(Z[[i]])[0] for i in range(len(y))]
    return np.array(found) * model.y_scale_ + model.y_mean_


# -- the same as others -----------------------------------------------------------------------------------------------

PEERS = {
    "rbf": ({"kernel": "rbf", "gamma": 0.3}, {"kernel": "rbf", "gamma": 0.3}),
    "poly": (
        {"kernel": "poly", "gamma": 0.1, "degree": 3, "coef0": 0.5},
        {"kernel": "poly", "gamma": 0.1, "degree": 3, "coef0": 0.5},
    ),
    "linear": ({"kernel": "linear"}, {"kernel": lambda a, b: a @ b + 1.0}),  # with a constant
    "function": (
        {"kernel": lambda a, b: 1 / (1 + np.abs(a[:, None] - b[None]).sum(axis=2))},
        {"kernel": lambda a, b: 1 / (1 + np.abs(a - b).sum())},
    ),
}


@each_row("name", PEERS)
@each_row("n_outputs", [1, 2])
def test_equals_kernel_ridge(name, n_outputs):
    own, peer = PEERS[name]
    y = Y if n_outputs == 1 else np.column_stack([Y, Y**2])
    model = RLSR(**own, eta=0.5, standardize=False).fit(X, y)
    other = KernelRidge(**peer, alpha=0.5).fit(X, y)
    np.testing.assert_allclose(model.predict(NEW), other.predict(NEW), atol=1e-8)
    np.testing.assert_allclose(model.coefficients_[0].reshape(y.shape), other.dual_coef_, atol=1e-8)
    assert model.score(X, y) == pytest.approx(other.score(X, y))


def test_precomputed_equals_rbf():
    gram, values = rbf(X, X, 0.3), rbf(NEW, X, 0.3)
    y = np.where(np.arange(40) % 4 == 0, np.nan, Y)
    expected = RLSR(**FIXED).fit(X, y)
    for make in (np.asarray, sp.csr_array, pd.DataFrame):
        model = RLSR(kernel="precomputed", eta=0.5, standardize=False).fit(make(gram), y)
        np.testing.assert_allclose(model.predict(make(values)), expected.predict(NEW), atol=1e-10)
    rule = RLSR(kernel="precomputed", eta=None).fit(gram, y)
    assert rule.eta_ == 1.0  # images of an rbf kernel have length 1


def test_the_papers_rules():
    model = RLSR(gamma=None, eta=None, standardize=False).fit(X, Y)
    assert model.gamma_ == pytest.approx(1 / np.mean([np.sum((a - b) ** 2) for a in X for b in X]))
    assert model.eta_ == pytest.approx(1 / np.mean(np.linalg.norm(X, axis=1)))


@each_row("standardize", [True, "columns", False])
def test_standardize(standardize):
    model = RLSR(gamma=0.3, eta=0.5, standardize=standardize).fit(X, 100 + 7 * Y)
    Z, Z_new = ((A - X.mean(axis=0)) / X.std(axis=0) if standardize else A for A in (X, NEW))
    mean, scale = (np.mean(100 + 7 * Y), np.std(7 * Y)) if standardize is True else (0.0, 1.0)
    expected = KernelRidge(kernel="rbf", gamma=0.3, alpha=0.5).fit(Z, (100 + 7 * Y - mean) / scale)
    np.testing.assert_allclose(model.predict(NEW), expected.predict(Z_new) * scale + mean, rtol=1e-9)


def test_standardize_says_what_it_takes():
    """What equals True is True."""
    one = RLSR(gamma=0.3, eta=0.5, standardize=np.True_).fit(X, 100 + Y)
    np.testing.assert_array_equal(one.predict(NEW), RLSR(gamma=0.3, eta=0.5).fit(X, 100 + Y).predict(NEW))


# -- leave-one-out ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("standardize", [True, False])
def test_loo_rmse(standardize):
    model = RLSR(standardize=standardize).fit(X, Y)
    assert model.loo_rmse_ == pytest.approx(np.sqrt(np.mean((left_out(model, X, Y) - Y) ** 2)), rel=1e-6)


def test_auto_takes_the_lowest_leave_one_out_error():
    model = RLSR().fit(X, Y)
    rule = RLSR(gamma=None, eta=None).fit(X, Y)
    for gamma in rule.gamma_ * 4.0 ** np.arange(-3, 3):
        for eta in (1e-6, 1e-4, 1e-2, 1.0, 100.0):
            assert RLSR(gamma=gamma, eta=eta).fit(X, Y).loo_rmse_ >= model.loo_rmse_ * (1 - 1e-9)
    assert RLSR(eta=0.5).fit(X, Y).eta_ == 0.5
    assert RLSR(gamma=0.5).fit(X, Y).gamma_ == 0.5


def test_auto_regularises_noise_more():
    clean = RLSR(kernel="linear").fit(X, X[:, 0])
    noise = RLSR(kernel="linear").fit(X, RNG.normal(size=40))
    assert clean.eta_ < 1e-3 < noise.eta_


@each_row("n", [1, 2, 3])
def test_few_labels(n):
    y = [*Y[:n], *[None] * (40 - n)]
    model = RLSR().fit(X, y)
    assert np.isfinite(model.predict(NEW)).all()
    if n == 1:
        assert (model.gamma_, model.eta_) == (1.0, RLSR(gamma=None, eta=None).fit(X, y).eta_)


def test_constant_targets():
    model = RLSR().fit(X, np.full(40, 3.5))
    np.testing.assert_allclose(model.predict(NEW), 3.5)
    assert model.loo_rmse_ == pytest.approx(0.0, abs=1e-12)


def test_duplicates_and_constant_columns():
    twice = np.vstack([X, X])
    twice = np.column_stack([twice, np.full(80, 2.0)])
    model = RLSR().fit(twice, np.r_[Y, Y])
    assert np.isfinite(model.predict(twice)).all()
    assert model.score(twice, np.r_[Y, Y]) > 0.9


# -- targets ----------------------------------------------------------------------------------------------------------

MISSING = np.arange(40) % 3 == 0
CONTAINERS = {
    "array": np.where(MISSING, np.nan, Y),
    "list": [None if out else y for out, y in zip(MISSING, Y.tolist())],
    "tuple": tuple(np.nan if out else y for out, y in zip(MISSING, Y)),
    "objects": np.array([None if out else y for out, y in zip(MISSING, Y)], dtype=object),
    "series": pd.Series(np.where(MISSING, np.nan, Y), index=np.arange(40)[::-1]),
    "series of objects": pd.Series([None if out else y for out, y in zip(MISSING, Y)], dtype=object),
    "nullable series": pd.Series([None if out else y for out, y in zip(MISSING, Y)], dtype="Float64"),
}


@each_row("container", CONTAINERS)
def test_targets_in_any_container(container):
    model = RLSR(**FIXED).fit(X, CONTAINERS[container])
    expected = RLSR(**FIXED).fit(X[~MISSING], Y[~MISSING])
    np.testing.assert_allclose(model.predict(NEW), expected.predict(NEW), atol=1e-10)
    np.testing.assert_array_equal(model.labeled_, np.flatnonzero(~MISSING))
    np.testing.assert_array_equal(model.targets_[:, 0], Y[~MISSING])


def test_several_outputs_are_fitted_as_one_by_one():
    both = np.column_stack([Y, X[:, 0]])
    for y in (both, both.tolist(), pd.DataFrame(both)):
        model = RLSR(**FIXED).fit(X, y)
        assert model.predict(NEW).shape == (7, 2)
        for k in range(2):
            np.testing.assert_allclose(model.predict(NEW)[:, k], RLSR(**FIXED).fit(X, both[:, k]).predict(NEW))
    partly = [None if out else row for out, row in zip(MISSING, both.tolist())]
    assert RLSR(**FIXED).fit(X, partly).labeled_.tolist() == np.flatnonzero(~MISSING).tolist()
    assert RLSR(**FIXED).fit(X, Y[:, None]).predict(NEW).shape == (7, 1)


def test_score_does_not_ask_for_what_is_unlabeled():
    """As for Accord's other learners, searches work with unlabeled examples."""
    y = CONTAINERS["list"]
    model = RLSR(**FIXED).fit(X, y)
    assert model.score(X, y) == pytest.approx(model.score(X[~MISSING], Y[~MISSING]))
    assert np.isfinite(cross_val_score(RLSR(**FIXED), X, CONTAINERS["array"], cv=3, error_score="raise")).all()


@each_row(
    ("y", "message"),
    [
        (None, "fit requires y to be passed, but the target y is None; expected one number for each input"),
        ("abc", "y is 'abc' of type str"),
        (1.5, r"y is 1\.5 of type float"),
        (np.array(1.0), "y is"),
        (Y[:5], "y has 5 entries but X has 40 inputs"),
        ([*Y[:39], "much"], r"y\[39\] is 'much' of type str; expected a number, or None"),
        ([[1.0, 2.0]] * 39 + [[1.0]], "y has rows of different lengths; expected the same number of outputs"),
        ([*Y[:39], np.inf], r"y\[39\] is infinite; expected a finite number"),
        ([[1.0, 2.0]] * 3 + [[1.0, np.nan]] * 37, r"y\[3\] has some outputs but not all of them"),
        (np.zeros((40, 2, 2)), r"y has shape \(40, 2, 2\)"),
        (np.zeros((40, 0)), r"y has shape \(40, 0\)"),
        ([None] * 40, "all 40 examples are unlabeled: fit needs at least one labeled example"),
        (np.full(40, np.nan), "all 40 examples are unlabeled"),
        ({"Z": Y}, r"y has targets for \['Z'\]; the views are \['X'\]"),
        (Y.astype(complex), "y"),
        ([str(y) for y in Y], r"y\[0\] is"),
    ],
)
def test_bad_targets(y, message):
    with pytest.raises(InputError, match=message):
        RLSR(**FIXED).fit(X, y)


def test_targets_of_views():
    found, single = read_targets({"b": [1, None], "a": [3, 4]}, 2, ["a", "b"])
    assert single
    np.testing.assert_array_equal(np.hstack(found), [[3, 1], [4, np.nan]])
    with pytest.raises(InputError, match="y has different numbers of outputs for different views"):
        read_targets({"b": [1, None], "a": [[3], [4]]}, 2, ["a", "b"])
    with pytest.raises(InputError, match=r"y\['b'\]\[1\] is 'x'"):
        read_targets({"b": [1, "x"], "a": [3, 4]}, 2, ["a", "b"])
    with pytest.raises(InputError, match=r"y\['b'\] has 1 entries but X has 2 inputs"):
        read_targets({"b": [1], "a": [3, 4]}, 2, ["a", "b"])


# -- inputs -----------------------------------------------------------------------------------------------------------


@each_row("standardize", [True, False])
@each_row(
    "make",
    [pd.DataFrame, np.ndarray.tolist, list, lambda A: A.astype(np.float32).astype(float)],
    ids=["frame", "lists", "list of rows", "array"],
)
def test_inputs_in_any_container(make, standardize):
    X32, NEW32 = (A.astype(np.float32).astype(float) for A in (X, NEW))
    settings = {"gamma": 0.3, "eta": 0.5, "standardize": standardize}
    expected = RLSR(**settings).fit(X32, Y).predict(NEW32)
    np.testing.assert_allclose(RLSR(**settings).fit(make(X32), Y).predict(make(NEW32)), expected, atol=1e-10)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_matrix, sp.coo_array])
def test_sparse_inputs(kind):
    A, B = (np.where(np.abs(M) < 0.8, 0.0, M) for M in (X, NEW))
    model = RLSR(**FIXED).fit(kind(A), Y)
    expected = RLSR(**FIXED).fit(A, Y)
    for new in (B, kind(B)):
        np.testing.assert_allclose(model.predict(new), expected.predict(B), atol=1e-10)
        np.testing.assert_allclose(expected.predict(new), expected.predict(B), atol=1e-10)
    scaled = RLSR(gamma=0.3, eta=0.5).fit(kind(A), Y)  # sparse columns are divided only, which distances do not notice
    np.testing.assert_allclose(scaled.predict(B), RLSR(gamma=0.3, eta=0.5).fit(A, Y).predict(B), atol=1e-8)


def test_views_of_some_columns():
    expected = RLSR(**FIXED).fit(X[:, [0, 2]], Y).predict(NEW[:, [0, 2]])
    np.testing.assert_allclose(RLSR(Select([0, 2]), **FIXED).fit(X, Y).predict(NEW), expected)
    frame, new = pd.DataFrame(X, columns=list("abc")), pd.DataFrame(NEW, columns=list("abc"))
    np.testing.assert_allclose(RLSR(Select(["a", "c"]), **FIXED).fit(frame, Y).predict(new), expected)
    own = RLSR(KernelFeatures(kernel="rbf", gamma=0.3), kernel="linear", eta=0.5, standardize=False).fit(X, Y)
    np.testing.assert_allclose(own.predict(NEW), RLSR(**FIXED).fit(X, Y).predict(NEW))
    whole = RLSR(OddEvenSplit(), **FIXED).fit(X, Y)
    np.testing.assert_allclose(whole.predict(NEW), RLSR(**FIXED).fit(X, Y).predict(NEW), atol=1e-10)


def test_a_single_view_answers_for_all():
    model = RLSR(**FIXED).fit(X, Y)
    (own,) = model.predict_views(NEW).values()
    np.testing.assert_array_equal(own, model.predict(NEW))
    assert model.disagreement(NEW) == 0.0


def test_many_inputs_are_predicted_in_blocks():
    model = RLSR(**FIXED).fit(X, Y)
    many = np.tile(NEW, (400, 1))
    np.testing.assert_allclose(model.predict(many), np.tile(model.predict(NEW), 400), atol=1e-12)
    assert model.predict(NEW[:0]).shape == (0,)


@each_row(
    ("settings", "message"),
    [
        ({"kernel": "cosine"}, "kernel is 'cosine'"),
        ({"gamma": -1.0}, r"gamma is -1\.0"),
        ({"eta": 0.0}, r'eta is 0\.0; expected a positive number, or "auto" or None'),
        ({"eta": True}, "eta is True"),
        ({"eta": "best"}, "eta is 'best'"),
        ({"eta": np.nan}, "eta is nan"),
        ({"eta": [1.0]}, r"eta is \[1\.0\]"),
        ({"standardize": "rows"}, "standardize is 'rows'; expected True or False, or \"columns\""),
        ({"view": [Select([0]), KernelFeatures(kernel="linear")]}, "view has several views with kernels of their own"),
        ({"view": 3}, "view is 3 of type int|views is 3 of type int"),
        ({"kernel": "precomputed"}, "has 3 kernel values for each of 40 inputs; with kernel='precomputed' fit needs"),
        ({"kernel": "poly", "degree": 400, "standardize": False}, "not finite|too large|infinite"),
        ({"kernel": "poly", "degree": 0.5, "coef0": 0.0}, "not finite|degree"),
        ({"kernel": lambda a, b: -a @ b.T}, "the kernel matrix of view 'view' is not positive definite"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(InputError, match=message), np.errstate(all="ignore"):
        RLSR(**settings).fit(100 * X, Y)


def test_given_kernel_values_must_be_symmetric():
    gram = rbf(X, X, 0.3) + 0.1 * np.eye(40)
    gram[3, 5] += 0.01
    with pytest.raises(InputError, match="not symmetric"):
        RLSR(kernel="precomputed").fit(gram, Y)


@each_row(
    ("bad", "message"),
    [
        (None, "X is a NoneType"),
        ("abc", "X is a str"),
        (X[:, :2], "2 features, but Accord is expecting 3"),
        (np.where(X > 8, np.nan, X), r"X\[\d+, 1\] is nan"),
        ([["a", "b", "c"]], r"X\[0\] is \['a', 'b', 'c'\]"),
    ],
)
def test_bad_inputs(bad, message):
    with pytest.raises(InputError, match=message):
        RLSR(**FIXED).fit(X, Y).predict(bad)


# -- an estimator -----------------------------------------------------------------------------------------------------


def test_parameters():
    settings = {**FIXED, "view": Select([0, 1]), "kernel": "poly", "degree": 3, "coef0": 0.0}
    model = RLSR(**settings)
    assert model.get_params(deep=False) == settings
    assert model.get_params()["view__key"] == [0, 1]
    copy = clone(model.fit(X, Y))
    assert not hasattr(copy, "coefficients_")
    assert copy.get_params()["eta"] == 0.5
    assert model.get_params(deep=False) == settings, "fit changed a parameter"
    assert is_regressor(model)
    with pytest.raises(ValueError, match="not fitted yet"):
        copy.predict(X)


@pytest.mark.parametrize("view", [None, Select([0, 1]), KernelFeatures(kernel="linear")])
def test_copies_on_disk(tmp_path, view):
    model = RLSR(view).fit(X, np.column_stack([Y, Y]))
    expected = model.predict(NEW)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(NEW), expected)
    model.save(tmp_path / "model.accord")
    loaded = accord.load(tmp_path / "model.accord")
    np.testing.assert_array_equal(loaded.predict(NEW), expected)
    assert loaded.get_params(deep=False).keys() == model.get_params(deep=False).keys()
    np.testing.assert_array_equal(clone(loaded).fit(X, np.column_stack([Y, Y])).predict(NEW), expected)
    with pytest.raises(ValueError, match="not fitted yet"):
        RLSR().save(tmp_path / "none.accord")


def test_a_function_cannot_be_saved(tmp_path):
    model = RLSR(kernel=lambda a, b: a @ b.T).fit(X, Y)
    with pytest.raises(InputError, match="use pickle"):
        model.save(tmp_path / "model.accord")


def test_searches():
    search = GridSearchCV(RLSR(**FIXED), {"eta": [1e-3, 0.5, 100.0]}, cv=KFold(4), error_score="raise").fit(X, Y)
    assert search.best_params_["eta"] != 100.0
    by_hand = []
    for train, test in KFold(4).split(X):
        by_hand.append(RLSR(**{**FIXED, "eta": 1e-3}).fit(X[train], Y[train]).score(X[test], Y[test]))
    assert search.cv_results_["mean_test_score"][0] == pytest.approx(np.mean(by_hand))


def test_pipelines():
    piped = make_pipeline(StandardScaler(), RLSR(gamma=0.3, eta=0.5, standardize=False)).fit(X, Y)
    own = RLSR(gamma=0.3, eta=0.5, standardize="columns").fit(X, Y)
    np.testing.assert_allclose(piped.predict(NEW), own.predict(NEW), atol=1e-9)


def test_fits_are_repeatable():
    np.testing.assert_array_equal(RLSR().fit(X, Y).predict(NEW), RLSR().fit(X, Y).predict(NEW))
