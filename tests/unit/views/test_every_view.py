"""What all views have in common: scikit-learn's manners, plain state, and rows that mean their matrix."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from row_tables import each_row
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from accord import ArrayFeatures, ConcatenatedViews, DictFeatures, GraphFeatures, KernelFeatures, TokenFeatures
from accord.exceptions import InputError
from accord.kernels.features import sparse as kernels
from accord.views.base import View
from accord.views.compose import as_view

RNG = np.random.default_rng(1)
TEXT = [["Ana", "sees", "(", "Tom", ")"], [], ["Tom", "runs"]]
NEW_TEXT = [["Eva", "runs"], ["Ana"]]
DICTS = [[{"w": w, "n": len(w) / 2} for w in x] for x in TEXT]
NEW_DICTS = [[{"w": w, "n": len(w) / 2} for w in x] for x in NEW_TEXT]
ARRAYS = [RNG.normal(size=(len(x), 3)) for x in TEXT]
NEW_ARRAYS = [RNG.normal(size=(len(x), 3)) for x in NEW_TEXT]
K = np.vstack(ARRAYS) @ np.vstack(ARRAYS).T

CASES = {
    "text": (TokenFeatures(window=(1, 2), ngrams=(2,)), TEXT, NEW_TEXT),
    "bare text": (TokenFeatures(window=0, position=False, bias=False), TEXT, NEW_TEXT),
    "frequent text": (TokenFeatures(min_count=2), TEXT, NEW_TEXT),
    "dicts": (DictFeatures(), DICTS, NEW_DICTS),
    "dict window": (DictFeatures(window=1), DICTS, NEW_DICTS),
    "arrays": (ArrayFeatures(standardize=True), ARRAYS, NEW_ARRAYS),
    "array window": (ArrayFeatures(window=1), ARRAYS, NEW_ARRAYS),
    "kernel": (KernelFeatures(kernel="rbf"), ARRAYS, NEW_ARRAYS),
    "token kernel": (KernelFeatures(TokenFeatures(), kernel="poly"), TEXT, NEW_TEXT),
    "nystroem": (KernelFeatures(method="nystroem", n_components=4, random_state=0), ARRAYS, NEW_ARRAYS),
    "precomputed": (KernelFeatures(kernel="precomputed"), [K[:5], K[:0], K[5:]], [K[:2], K[2:3]]),
    "graph": (GraphFeatures(n_neighbors=2), ARRAYS, NEW_ARRAYS),
    "token graph": (GraphFeatures(TokenFeatures(), n_neighbors=2), TEXT, NEW_TEXT),
    "graph with landmarks": (GraphFeatures(n_neighbors=2, n_landmarks=4, random_state=0), ARRAYS, NEW_ARRAYS),
    "transductive graph": (GraphFeatures(method="transductive", n_neighbors=2), ARRAYS, [ARRAYS[2], ARRAYS[0][:1]]),
    "two views": (ConcatenatedViews([TokenFeatures(), TokenFeatures(window=2, token=False)]), TEXT, NEW_TEXT),
    "array and kernel": (ConcatenatedViews([ArrayFeatures(window=1), KernelFeatures()]), ARRAYS, NEW_ARRAYS),
}


def unfitted(case):
    view, X, new = case
    return clone(view), X, new


each_case = each_row("case", CASES.values(), CASES, unfitted)


def dense(rows):
    return rows.matrix().toarray()


@each_case
def test_rows_mean_their_matrix(case):
    view, X, new = case
    fitted = view.fit_rows(X)
    weights = RNG.normal(size=(view.n_dims_, 3))
    for rows in (fitted, view.transform(new)):
        assert rows.n_dims == view.n_dims_
        assert rows.offsets.dtype == np.int64
        assert rows.slots.dtype == np.int32
        assert rows.slots.flags.c_contiguous
        assert rows.base.dtype == rows.stride.dtype == rows.bounds.dtype == np.int64
        matrix = dense(rows)
        np.testing.assert_allclose(rows.scores(weights), matrix @ weights, atol=1e-12)
        coefficients = RNG.normal(size=(rows.n_rows, 3))
        np.testing.assert_allclose(rows.transpose_scores(coefficients), matrix.T @ coefficients, atol=1e-12)
        merged = rows.merged()
        for k in range(merged.slots.shape[1]):
            first, last = merged.bounds[k]
            assert np.all((merged.slots[:, k] >= first) & (merged.slots[:, k] < last))
        window = merged.window()
        for lo, hi in zip(rows.offsets[:-1], rows.offsets[1:]):
            wide, out = np.empty((hi - lo + 1, window.size * 3)), np.empty((hi - lo, 3))
            kernels.score_rows(merged.features(), window, lo, weights, wide, out)
            np.testing.assert_allclose(out, matrix[lo:hi] @ weights, atol=1e-12)


@each_row("around", [(1, 1), (2, 0), (0, 2), (3, 1)])
def test_text_windows_are_scored_as_windows(around):
    X = [["Ana", "lives", "in", "Rome"], [], ["Tom"], ["a", "b", "a"]]
    for rows in (TokenFeatures(window=around).fit_rows(X), TokenFeatures(window=around).fit_rows(X).take([3, 2])):
        window = rows.window()
        assert (window.size, window.before) == (sum(around) + 1, around[0])
    shuffled = replace(rows, slots=rows.slots[::-1].copy())  # neighbours that are not neighbours
    assert shuffled.window().size == 0


@each_case
def test_tables_have_the_types_of_the_kernels(case):
    view, X, new = case
    view.fit(X)
    for table in (view.transform(new).table, view.transform(new).merged().table):
        assert table.dtype == np.float64
        if sp.issparse(table):
            assert isinstance(table, sp.csr_array)
            assert (table.indices.dtype, table.indptr.dtype) == (np.int32, np.int64)
        else:
            assert table.flags.c_contiguous


@each_case
def test_taking_inputs(case):
    view, X, _ = case
    rows = view.fit_rows(X)
    taken = rows.take(np.array([2, 0]))
    a, b = rows.offsets[1], rows.offsets[2]
    np.testing.assert_array_equal(dense(taken), np.vstack([dense(rows)[b:], dense(rows)[:a]]))


@each_case
def test_fit_then_transform_is_fit_rows(case):
    view, X, _ = case
    expected = dense(clone(view).fit_rows(X))
    assert view.fit(X) is view
    np.testing.assert_allclose(dense(view.transform(X)), expected, atol=1e-7)


@each_case
def test_fitting_again_forgets(case):
    view, X, new = case
    if view.__class__ is KernelFeatures and view.kernel == "precomputed":
        new = [K[:2, :2], K[2:3, 2:3]][:1]
    expected = dense(clone(view).fit_rows(new))
    view.fit(X)
    np.testing.assert_allclose(dense(view.fit_rows(new)), expected, atol=1e-12)


@each_case
def test_parameters_are_stored_and_cloned(case):
    view, X, _ = case
    before = repr(view.get_params(deep=False))
    view.fit(X)
    assert repr(view.get_params(deep=False)) == before
    fresh = clone(view)
    assert not hasattr(fresh, "n_dims_")


@each_case
def test_pickle(case):
    view, X, new = case
    view.fit(X)
    view.transform(new)
    copy = pickle.loads(pickle.dumps(view))
    np.testing.assert_array_equal(dense(copy.transform(new)), dense(view.transform(new)))
    assert copy.feature_names(range(view.n_dims_)) == view.feature_names(range(view.n_dims_))


def is_plain(value):
    if isinstance(value, dict):
        return all(isinstance(key, str) and is_plain(item) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return all(is_plain(item) for item in value)
    if isinstance(value, View):
        return is_plain(value.__getstate__())
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biufU"
    return value is None or isinstance(value, (str, int, float, bool, sp.csr_array))


@each_case
def test_state_is_data(case):
    view, X, new = case
    view.fit(X)
    view.transform(new)
    state = view.__getstate__()
    assert is_plain(state), {name: type(value) for name, value in state.items()}
    assert all(name.endswith("_") or name in view.get_params() for name in state)


@each_case
def test_a_view_made_from_its_state_alone_works(case):
    view, X, new = case
    view.fit(X)
    other = clone(view)
    for name, value in view.__getstate__().items():
        setattr(other, name, value)
    np.testing.assert_array_equal(dense(other.transform(new)), dense(view.transform(new)))


@each_case
def test_names_are_distinct(case):
    view, X, _ = case
    names = view.fit(X).feature_names(range(view.n_dims_))
    assert len(names) == view.n_dims_ == len(set(names))
    assert all(isinstance(name, str) for name in names)


@each_case
def test_transform_before_fit(case):
    view, _, new = case
    with pytest.raises(NotFittedError):
        view.transform(new)


def test_features_side_by_side():
    parts = [TokenFeatures(), TokenFeatures(window=0, ngrams=(2,))]
    view = ConcatenatedViews(parts)
    expected = np.hstack([dense(clone(part).fit_rows(TEXT)) for part in parts])
    np.testing.assert_array_equal(dense(view.fit_rows(TEXT)), expected)
    expected = np.hstack([dense(part.transform(NEW_TEXT)) for part in view.views_])
    np.testing.assert_array_equal(dense(view.transform(NEW_TEXT)), expected)
    assert not hasattr(parts[0], "n_dims_")


def test_a_growing_list_of_views_keeps_its_numbers():
    view = ConcatenatedViews([TokenFeatures(window=1), TokenFeatures(window=0), TokenFeatures(window=(2, 2))])
    view.fit(TEXT)
    for batch in ([["Eva", "goes"]], [["Eva"]], [["Pau", "y", "Bea"], ["fin"]]):
        names = view.feature_names(range(view.n_dims_))
        old = dense(view.transform(TEXT))
        rows = view.extend_rows(batch)
        assert view.feature_names(range(len(names))) == names
        grown = dense(view.transform(TEXT))
        np.testing.assert_array_equal(grown[:, : old.shape[1]], old)
        assert not grown[:, old.shape[1] :].any()
        values = dense(rows)
        for v, part in enumerate(view.views_):
            own = dense(part.transform(batch))
            for row in range(rows.n_rows):
                expected = {f"view{v}/{name}" for name in part.feature_names(np.flatnonzero(own[row]))}
                got = set(view.feature_names(np.flatnonzero(values[row])))
                assert {name for name in got if name.startswith(f"view{v}/")} == expected


def test_lists_of_views_are_views():
    text = TokenFeatures()
    assert as_view(text) is text
    assert isinstance(as_view([text, DictFeatures()]), ConcatenatedViews)
    with pytest.raises(InputError, match="view is 'tokens' of type str"):
        as_view("tokens")
    with pytest.raises(InputError, match=r"views\[1\] is 3 of type int"):
        ConcatenatedViews([text, 3]).fit(TEXT)
    with pytest.raises(InputError, match=r"views is \[\]"):
        ConcatenatedViews([]).fit(TEXT)


def test_views_of_different_lengths_cannot_stand_side_by_side():
    class Halves(TokenFeatures):
        def fit_rows(self, X):
            return super().fit_rows([x[: len(x) // 2] for x in X])

    with pytest.raises(InputError, match="same number of rows"):
        ConcatenatedViews([TokenFeatures(), Halves()]).fit(TEXT)


@each_row("dense", [False, True])
def test_some_rows_have_the_same_scores_over_a_smaller_table(dense):
    X = [[["a", "b"], ["c"]], [["a"], ["d", "b"], ["e"]]]
    view = DictFeatures()
    if dense:
        X = [np.arange(6.0).reshape(3, 2), -np.ones((2, 2))]
        view = ArrayFeatures(window=1)
    rows = view.fit_rows(X)
    weights = np.random.default_rng(0).normal(size=(rows.n_dims, 3))
    chosen = np.array([3, 0])
    some = rows.take_rows(chosen)
    assert some.n_inputs == some.n_rows == 2
    assert some.table.shape[0] < rows.table.shape[0]
    np.testing.assert_allclose(some.scores(weights), rows.scores(weights)[chosen])
    coefficients = np.random.default_rng(1).normal(size=(2, 3))
    expected = rows.matrix()[chosen].T @ coefficients
    np.testing.assert_allclose(some.transpose_scores(coefficients), expected)


def test_names_are_found_in_the_package():
    import accord.views

    assert accord.views.TokenFeatures is TokenFeatures
    assert accord.views.View is View
    with pytest.raises(AttributeError, match=r"module 'accord\.views' has no attribute 'CRF'"):
        accord.views.CRF  # noqa: B018
