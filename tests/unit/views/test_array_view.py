"""ArrayFeatures: containers, scaling, windows, errors."""

import numpy as np
import pytest
import scipy.sparse as sp
from row_tables import each_row

from accord import ArrayFeatures
from accord.exceptions import InputError

A = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 2.0], [5.0, 6.0, 2.0], [0.0, 0.0, 2.0]])


def frame(values, columns):
    return pytest.importorskip("pandas").DataFrame(values, columns=columns)


@each_row("X", [A, A.tolist(), list(A), sp.csr_matrix(A), sp.coo_array(A), A.astype(np.float32), np.asfortranarray(A)])
def test_one_row_per_input(X):
    rows = ArrayFeatures(bias="one").fit_rows(X)
    assert list(rows.offsets) == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(rows.matrix().toarray(), np.hstack([A, np.ones((4, 1))]))
    assert isinstance(rows.table, np.ndarray) != sp.issparse(X)


@each_row(
    "X",
    [
        [A[:3], A[:0], A[3:]],
        [A[:3].tolist(), [], A[3:].tolist()],
        [sp.csr_array(A[:3]), sp.csr_array((0, 3)), sp.csr_array(A[3:])],
        [sp.csr_array(A[:3]), A[:0], A[3:]],
    ],
)
def test_one_row_per_token(X):
    rows = ArrayFeatures(bias=False).fit_rows(X)
    assert list(rows.offsets) == [0, 3, 3, 4]
    np.testing.assert_array_equal(rows.matrix().toarray(), A)


def test_three_dimensional_array_is_one_matrix_per_input():
    rows = ArrayFeatures(bias=False).fit_rows(A.reshape(2, 2, 3))
    assert list(rows.offsets) == [0, 2, 4]
    np.testing.assert_array_equal(rows.matrix().toarray(), A)


@each_row("make", [np.array, sp.csr_array])
def test_the_bias_is_as_large_as_other_features(make):
    X = make([[0.6, 0.8, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.3, 0.3, 0.3], [0.1, 0.1, 0.1], [0.2, 0.0, 0.0]])
    view = ArrayFeatures()
    # the median of the mean squares 0.01, 0.04, 0.09, 0.5 and 1 is 0.09; its root is nearest to a quarter
    assert set(view.fit_rows(X).matrix().toarray()[:, 3]) == {0.25}
    assert set(view.transform(X * 8.0).matrix().toarray()[:, 3]) == {0.25}  # it stays
    assert set(ArrayFeatures().fit_rows(X * 8.0).matrix().toarray()[:, 3]) == {2.0}
    assert set(ArrayFeatures(bias="one").fit_rows(X).matrix().toarray()[:, 3]) == {1.0}
    assert ArrayFeatures(standardize=True).fit(X).bias_ == 1.0
    assert ArrayFeatures().fit(X * 0.0).bias_ == 1.0
    with pytest.raises(InputError, match="bias is 'two'; expected"):
        ArrayFeatures(bias="two").fit(X)


def test_frames_name_their_columns():
    pd = pytest.importorskip("pandas")
    view = ArrayFeatures(bias="one")
    X = pd.DataFrame({"age": [1, 2], "rate": [0.5, 1.5], "yes": [True, False]})
    np.testing.assert_array_equal(view.fit_rows(X).matrix().toarray(), [[1, 0.5, 1, 1], [2, 1.5, 0, 1]])
    assert view.feature_names(range(4)) == ["age", "rate", "yes", "bias"]
    with pytest.raises(InputError, match="Feature names must be in the same order as they were in fit"):
        view.transform(X[["rate", "age", "yes"]])
    with pytest.raises(InputError, match=r"column 'town' of type .*not numeric.*DictFeatures"):
        ArrayFeatures().fit(X.assign(town=["Rome", "Oslo"]))
    with pytest.raises(InputError, match=r"row 1, column 'rate', that is nan"):
        view.transform(X.assign(rate=[0.5, np.nan]))
    with pytest.raises(InputError, match=r"row 0, column 'age', that is nan"):
        view.transform(X.assign(age=pd.array([None, 2], dtype="Int64")))


def test_standardize_uses_the_statistics_of_fit():
    view = ArrayFeatures(standardize=True, bias=False)
    fitted = view.fit_rows(A).matrix().toarray()
    np.testing.assert_allclose(fitted[:, :2].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(fitted[:, :2].std(axis=0), 1)
    np.testing.assert_array_equal(fitted[:, 2], 0)  # constant: shifted, not divided
    new = np.array([[9.0, 9.0, 9.0]])
    np.testing.assert_allclose(view.transform(new).matrix().toarray(), (new - A.mean(0)) / view.scale_)
    np.testing.assert_allclose(view.transform(sp.csr_array(new)).matrix().toarray(), (new - A.mean(0)) / view.scale_)


def test_standardize_keeps_sparse_data_sparse():
    view = ArrayFeatures(standardize=True, bias=False)
    rows = view.fit_rows(sp.csr_array(A))
    expected = A / np.where(A.std(axis=0) > 0, A.std(axis=0), 1.0)
    np.testing.assert_allclose(rows.matrix().toarray(), expected)
    assert rows.table.nnz == np.count_nonzero(A)
    np.testing.assert_allclose(view.transform(A).matrix().toarray(), expected)


@each_row("make", [np.asarray, sp.csr_array])
@each_row("bias", [True, False])
def test_windows(make, bias):
    view = ArrayFeatures(window=(1, 1), bias=bias)
    rows = view.fit_rows([make(A[:2]), make(A[2:3])])
    values = rows.matrix().toarray()
    names = view.feature_names(range(view.n_dims_))
    assert len(set(names)) == view.n_dims_ == 12 + bias
    got = [{n: v for n, v in zip(names, row) if v} for row in values]
    common = {"bias": 1.0} if bias else {}
    assert got[0] == common | {"-1:boundary": 1, "0:x0": 1, "0:x2": 2, "+1:x1": 3, "+1:x2": 2}
    assert got[1] == common | {"-1:x0": 1, "-1:x2": 2, "0:x1": 3, "0:x2": 2, "+1:boundary": 1}
    assert got[2] == common | {"-1:boundary": 1, "0:x0": 5, "0:x1": 6, "0:x2": 2, "+1:boundary": 1}
    weights = np.random.default_rng(0).normal(size=(view.n_dims_, 2))
    np.testing.assert_allclose(rows.scores(weights), values @ weights)
    np.testing.assert_allclose(rows.transpose_scores(values @ weights), values.T @ values @ weights)


def test_extend_is_transform_of_the_fitted_view():
    view = ArrayFeatures(standardize=True)
    view.extend_rows(A)
    mean = view.mean_.copy()
    np.testing.assert_allclose(view.extend_rows(A + 1).matrix().toarray(), view.transform(A + 1).matrix().toarray())
    np.testing.assert_array_equal(view.mean_, mean)


@each_row("empty", [[], np.zeros((0, 3)), [np.zeros((0, 3))], [[], []]])
def test_transform_of_nothing(empty):
    rows = ArrayFeatures().fit(A).transform(empty)
    assert (rows.n_rows, rows.n_dims) == (0, 4)


@each_row(
    ("bad", "message"),
    [
        ([], "X has no columns to learn from"),
        ([[], []], "X has no columns to learn from"),
        (np.array([[1.0, np.nan]]), r"X\[0, 1\] is nan; features must be finite"),
        (sp.csr_array([[0.0, 0.0], [0.0, np.inf]]), r"X\[1, 1\] is inf"),
        ([[1.0, 2.0], [np.inf, 2.0]], r"X\[1\]\[0\] is inf"),
        ([A, np.array([[1.0, 2.0, 3.0], [1.0, -np.inf, 3.0]])], r"X\[1\]\[1, 1\] is -inf"),
        ([[1.0, 2.0], [1.0]], r"X\[1\] has 1 columns but X\[0\] has 2"),
        ([[1.0, 2.0], []], r"X\[1\] has 0 columns but X\[0\] has 2"),
        ([A, A[:, :2]], r"X\[1\] has 2 columns but X\[0\] has 3"),
        ([[[1.0, 2.0], [1.0]]], r"X\[0\] is .* not a rectangular array"),
        ([A, A[0]], r"X\[1\] has 1 dimensions but X\[0\] has 2"),
        ([1.0, 2.0], r"X\[0\] is a single number"),
        (np.arange(3.0), r"X\[0\] is a single number"),
        ([["a", "b"]], r"X\[0\] is \['a', 'b'\] of type list.*DictFeatures"),
        ([["1.5", 2.0]], r"X\[0\] is .*not a rectangular array of real numbers"),
        (np.array([[1 + 2j]]), "Complex data not supported: X is"),
        ([[None, 1.0]], r"X\[0\]\[0\] is nan"),
        ([{"a": 1.0}], r"X\[0\] is \{'a': 1.0\} of type dict"),
        ("abc", r"X is 'abc'"),
        (None, r"X is None"),
    ],
)
def test_bad_arrays(bad, message):
    with pytest.raises(InputError, match=message):
        ArrayFeatures().fit(bad)


def test_wrong_number_of_columns():
    view = ArrayFeatures().fit(A)
    with pytest.raises(InputError, match="X has 2 features, but Accord is expecting 3"):
        view.transform(A[:, :2])
    with pytest.raises(InputError, match="X has 2 features, but Accord is expecting 3"):
        view.transform([A[:, :2]])


def test_bias_alone():
    assert ArrayFeatures().fit_rows(np.zeros((2, 0))).matrix().toarray().tolist() == [[1], [1]]
    assert ArrayFeatures().fit_rows([np.zeros((2, 0)), []]).matrix().toarray().tolist() == [[1], [1]]


def test_standardize_needs_rows():
    with pytest.raises(InputError, match="nothing to standardize by"):
        ArrayFeatures(standardize=True).fit(np.zeros((0, 2)))


def test_constant_column_is_not_blown_up_by_rounding():
    X = np.full((1000, 1), 0.1)
    for container in (X, sp.csr_array(X)):
        assert ArrayFeatures(standardize=True).fit(container).scale_[0] == 1.0
