"""KernelFeatures: inner products of the features are kernel values."""

import numpy as np
import pytest
import scipy.sparse as sp
from row_tables import each_row
from sklearn.base import clone

import accord
from accord import ArrayFeatures, DictFeatures, GraphFeatures, KernelFeatures, MultiClass, RandomSplit, TokenFeatures
from accord.exceptions import InputError
from accord.model_file import _pack
from accord.persistence import write_model
from accord.views import gram

RNG = np.random.default_rng(0)
A = RNG.normal(size=(12, 3))
B = RNG.normal(size=(5, 3))


def rbf(a, b, gamma):
    return np.exp(-gamma * ((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=2))


def features(rows):
    return rows.matrix().toarray()


KERNELS = [
    (KernelFeatures(kernel="linear"), lambda a, b: a @ b.T),
    (KernelFeatures(kernel="poly", degree=2), lambda a, b: (a @ b.T + 1) ** 2),
    (KernelFeatures(kernel="poly", degree=3, gamma=0.5, coef0=2.0), lambda a, b: (0.5 * a @ b.T + 2) ** 3),
    (KernelFeatures(kernel="rbf", gamma=0.7), lambda a, b: rbf(a, b, 0.7)),
    (KernelFeatures(kernel=lambda a, b: np.minimum(a @ b.T, np.inf)), lambda a, b: a @ b.T),
]


@each_row(("view", "kernel"), KERNELS)
@each_row("method", ["cholesky", "nystroem"])
def test_gram_matrix_is_reproduced(view, kernel, method):
    # nystroem with all rows as landmarks is exact, too
    view.set_params(method=method)
    phi = features(view.fit_rows(A))
    np.testing.assert_allclose(phi @ phi.T, kernel(A, A), atol=1e-8)
    assert phi.shape[1] == view.n_dims_ == np.linalg.matrix_rank(kernel(A, A))
    # between new and training rows every kernel value is reproduced, because training rows span the features
    np.testing.assert_allclose(features(view.transform(B)) @ phi.T, kernel(B, A), atol=1e-8)
    np.testing.assert_allclose(features(view.transform(A)), phi, atol=1e-6)


def test_features_of_new_rows_are_projections():
    # what the features of new rows lack of the kernel value is never negative: they are projected on the training span
    view = KernelFeatures(kernel="rbf", gamma=0.7).fit(A)
    assert np.all(np.sum(features(view.transform(B)) ** 2, axis=1) <= 1 + 1e-9)


def test_default_gamma_is_one_over_the_mean_squared_distance():
    expected = 1 / np.mean([np.sum((a - b) ** 2) for a in A for b in A])
    assert KernelFeatures().fit(A).gamma_ == pytest.approx(expected)
    assert KernelFeatures().fit(sp.csr_array(A)).gamma_ == pytest.approx(expected)
    assert KernelFeatures().fit(A[:1]).gamma_ == 1.0


def test_equal_rows_share_a_unit():
    X = [np.vstack([A[:4], A[:2]]), A[1:3], A[:0]]
    rows = KernelFeatures().fit_rows(X)
    assert rows.table.shape[0] == 4
    assert list(rows.offsets) == [0, 6, 8, 8]
    assert list(rows.slots[:, 0]) == [0, 1, 2, 3, 0, 1, 1, 2]


def test_kernel_on_tokens():
    X = [["Ana", "sees", "Tom"], ["Tom", "sees", "Ana"], ["Ana", "sees", "Tom"]]
    view = KernelFeatures(TokenFeatures(window=1), kernel="poly", degree=2)
    rows = view.fit_rows(X)
    assert rows.table.shape[0] == 6  # the third sentence repeats the first
    base = TokenFeatures(window=1).fit_rows(X).matrix().toarray()
    np.testing.assert_allclose(features(rows) @ features(rows).T, (base @ base.T + 1) ** 2, rtol=1e-8)
    new = [["Eva", "sees", "Tom"]]
    new_base = view.view_.transform(new).matrix().toarray()
    np.testing.assert_allclose(
        features(view.transform(new)) @ features(rows).T, (new_base @ base.T + 1) ** 2, rtol=1e-6
    )


def test_equal_rows_made_of_different_units_are_one():
    rows = KernelFeatures(DictFeatures(), kernel="linear").fit_rows([[{"a": 1, "b": 2}, {"b": 2, "a": 1}]])
    assert rows.table.shape[0] == 1


def test_products_of_sparse_rows():
    dense = RNG.poisson(0.05, size=(300, 400)).astype(float)
    dense[:, :5] = 1.0  # common columns take another way
    a, b = sp.csr_array(dense[:200]), sp.csr_array(dense[100:])
    np.testing.assert_allclose(gram.products(a, b), dense[:200] @ dense[100:].T)


def test_nystroem_draws_by_seed():
    first = KernelFeatures(method="nystroem", n_components=5, random_state=3).fit(A)
    again = KernelFeatures(method="nystroem", n_components=5, random_state=3).fit(A)
    other = KernelFeatures(method="nystroem", n_components=5, random_state=4).fit(A)
    np.testing.assert_array_equal(first.factor_, again.factor_)
    assert first.n_dims_ == 5
    assert not np.array_equal(first.pivots_, other.pivots_)
    phi = features(first.transform(first.pivots_))
    np.testing.assert_allclose(phi @ phi.T, rbf(first.pivots_, first.pivots_, first.gamma_), atol=1e-8)


def test_cholesky_with_few_components_takes_the_best_pivots():
    view = KernelFeatures(n_components=4)
    phi = features(view.fit_rows(A))
    assert phi.shape == (12, 4)
    missing = np.diag(rbf(A, A, view.gamma_) - phi @ phi.T)
    assert missing.min() > -1e-9
    np.testing.assert_allclose(features(view.transform(A)), phi, atol=1e-9)


@each_row("method", ["cholesky", "nystroem"])
def test_precomputed_equals_the_kernel(method):
    K = rbf(A, A, 0.7)
    view = KernelFeatures(kernel="precomputed", method=method)
    phi = features(view.fit_rows(K))
    np.testing.assert_allclose(phi @ phi.T, K, atol=1e-8)
    np.testing.assert_allclose(features(view.transform(rbf(B, A, 0.7))) @ phi.T, rbf(B, A, 0.7), atol=1e-8)
    blocks = KernelFeatures(kernel="precomputed", method=method).fit_rows([K[:5], K[5:]])
    assert list(blocks.offsets) == [0, 5, 12]
    np.testing.assert_allclose(features(blocks), phi)


@each_row(
    ("X", "message"),
    [
        (np.ones((3, 4)), "X has 3 rows of 4 kernel values"),
        (np.array([[1.0, 2.0], [3.0, 1.0]]), r"not symmetric: entry \(0, 1\) is 2.0 but \(1, 0\) is 3.0"),
        (np.array([[0.0, 1.0], [1.0, 0.0]]), "not positive semi-definite"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), "not positive semi-definite"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), r"X\[0, 1\] is nan"),
    ],
)
def test_bad_precomputed_values(X, message):
    with pytest.raises(InputError, match=message):
        KernelFeatures(kernel="precomputed").fit(X)


def test_indefinite_landmarks():
    with pytest.raises(InputError, match="not positive semi-definite"):
        KernelFeatures(kernel="precomputed", method="nystroem").fit(np.array([[1.0, 2.0], [2.0, 1.0]]))


def test_precomputed_values_of_new_rows_need_all_columns():
    view = KernelFeatures(kernel="precomputed").fit(rbf(A, A, 1.0))
    with pytest.raises(InputError, match="X has 5 features, but Accord is expecting 12"):
        view.transform(np.ones((2, 5)))


@each_row(
    ("kernel", "message"),
    [
        (lambda a, b: np.ones((1, 1)), r"kernel returned an array of shape \(1, 1\)"),
        (lambda a, b: np.full((a.shape[0], b.shape[0]), np.nan), "not finite"),
        (lambda a, b: a @ np.arange(9.0).reshape(3, 3) @ b.T, "kernel returned a matrix that is not symmetric"),
        (lambda a, b: -(a @ b.T), "not positive semi-definite"),
    ],
)
def test_bad_functions(kernel, message):
    with pytest.raises(InputError, match=message):
        KernelFeatures(kernel=kernel).fit(A)


@each_row(
    ("parameters", "message"),
    [
        ({"kernel": "cosine"}, "kernel is 'cosine'"),
        ({"method": "svd"}, "method is 'svd'"),
        ({"n_components": 0}, "n_components is 0"),
        ({"gamma": -1.0}, "gamma is -1.0"),
        ({"tol": 2.0}, "tol is 2.0"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(InputError, match=message):
        KernelFeatures(**parameters).fit(A)


def test_too_many_rows_for_memory(monkeypatch):
    monkeypatch.setenv("ACCORD_MEMORY", "1000")
    with pytest.raises(InputError, match=r"12 distinct rows.*Use method='nystroem'"):
        KernelFeatures().fit(A)
    KernelFeatures(method="nystroem", n_components=2).fit(A)
    with pytest.raises(InputError, match="smaller n_components"):
        KernelFeatures(method="nystroem", n_components=8).fit(A)


def test_no_rows():
    with pytest.raises(InputError, match="X has no rows"):
        KernelFeatures().fit(np.zeros((0, 2)))
    assert features(KernelFeatures().fit(A).transform(np.zeros((0, 3)))).shape == (0, 12)


def test_the_view_inside_is_not_touched():
    view = ArrayFeatures(bias=False, standardize=True)
    KernelFeatures(view).fit(A)
    assert not hasattr(view, "n_columns_")


def test_a_kernel_cannot_grow():
    with pytest.raises(NotImplementedError, match="KernelFeatures cannot grow"):
        KernelFeatures().fit(A).extend_rows(B)


# -- the view inside was called "base" --------------------------------------------------------------------------------


@each_row("made", [KernelFeatures, GraphFeatures])
def test_the_former_name_works_with_a_warning(made):
    inside = ArrayFeatures(bias=False)
    with pytest.warns(FutureWarning, match="^base is called view now") as caught:
        view = made(base=inside, kernel="poly")
    assert caught[0].filename == __file__
    assert view.view is inside
    with pytest.warns(FutureWarning, match="base is called view now"):
        assert view.base is inside
    with pytest.warns(FutureWarning, match="base is called view now"):
        view.set_params(base__bias=True)
    assert inside.bias
    other = TokenFeatures()
    with pytest.warns(FutureWarning, match="base is called view now"):
        assert view.set_params(base=other).view is other
    with pytest.warns(FutureWarning, match="base_ is called view_ now"):
        assert isinstance(made().fit(A).base_, ArrayFeatures)
    with pytest.warns(FutureWarning), pytest.raises(InputError, match="give view alone"):
        made(view=inside, base=inside)
    with pytest.raises(TypeError, match="basis"):
        made(basis=inside)


def test_parameters_have_the_new_name_only(recwarn):
    view = KernelFeatures(ArrayFeatures(), "poly")
    assert "view__bias" in view.get_params()
    assert not any(name.startswith("base") for name in view.get_params())
    assert (
        repr(clone(view).set_params(view__bias=False))
        == "KernelFeatures(kernel='poly', view=ArrayFeatures(bias=False))"
    )
    assert not recwarn.list


def with_former_names(tree):
    """What an earlier version wrote: the view inside was ``base``."""
    if isinstance(tree, list):
        return [with_former_names(part) for part in tree]
    if not isinstance(tree, dict):
        return tree
    tree = {key: with_former_names(part) for key, part in tree.items()}
    if tree.get("class") in ("KernelFeatures", "GraphFeatures"):
        former = {"view": "base", "view_": "base_"}
        tree["fields"] = {former.get(key, key): part for key, part in tree["fields"].items()}
    return tree


@pytest.mark.parametrize("view", [KernelFeatures(kernel="poly"), RandomSplit(GraphFeatures(ArrayFeatures()))])
def test_model_files_with_the_former_name_load(tmp_path, view, recwarn):
    model = accord.StructuredPerceptron(MultiClass(), view=view, random_state=0).fit(A, ["a", "b"] * 6)
    arrays = {}
    tree = with_former_names(_pack(model, arrays, "model"))
    assert "base_" in repr(tree)
    write_model(tmp_path / "old.accord", {"model": tree}, arrays)
    loaded = accord.load(tmp_path / "old.accord")
    np.testing.assert_array_equal(loaded.decision_function(B), model.decision_function(B))
    assert repr(loaded.view_) == repr(model.view_)
    assert not recwarn.list
