"""Views compared by kernels: which columns, which kernel, which scale."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from row_tables import each_row

from accord import (
    ArrayFeatures,
    DictFeatures,
    FeatureGroups,
    KernelFeatures,
    OddEvenSplit,
    RandomSplit,
    Select,
    TokenFeatures,
)
from accord.exceptions import InputError
from accord.views.kernel_views import (
    Comparison,
    Kernel,
    check_kernel,
    joined,
    kernel_views,
    matrices,
    stack_matrices,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 4)) * [1, 10, 0.1, 1] + [0, 5, 0, -3]
NEW = RNG.normal(size=(5, 4))
RBF = Kernel("rbf", gamma=0.4)


def rbf(a, b, gamma):
    return np.exp(-gamma * ((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=2))


def dense(matrix):
    return matrix.toarray() if sp.issparse(matrix) else matrix


def columns_of(view, X=X):
    """Which columns of X a view without standardisation compares."""
    matrix = dense(view.matrix(X))
    return [int(np.flatnonzero(np.all(np.isclose(X, own[:, None]), axis=0))[0]) for own in matrix.T]


# -- kernel values ----------------------------------------------------------------------------------------------------

VALUES = {
    "rbf": (RBF, lambda a, b: rbf(a, b, 0.4)),
    "linear": (Kernel("linear"), lambda a, b: a @ b.T),
    "poly": (Kernel("poly", degree=3, coef0=0.5, gamma=0.2), lambda a, b: (0.2 * a @ b.T + 0.5) ** 3),
    "function": (Kernel(lambda a, b: np.asarray((a @ b.T) ** 2)), lambda a, b: (a @ b.T) ** 2),
}


@each_row("name", VALUES)
@each_row("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_values(name, make):
    kernel, expected = VALUES[name]
    if name == "function" and make is sp.csr_array:
        kernel = Kernel(lambda a, b: (a @ b.T).toarray() ** 2)
    rows, base = make(NEW), make(X)
    (view,) = kernel_views(ArrayFeatures(bias=False), kernel, False, X)
    np.testing.assert_allclose(view.values(rows, base), expected(NEW, X), rtol=1e-9)
    out = np.full((12, 5), np.nan)
    assert Comparison(kernel, base)(rows, out) is out
    np.testing.assert_allclose(out, expected(X, NEW), rtol=1e-9)


def test_precomputed_values_are_looked_up():
    (view,) = kernel_views(ArrayFeatures(bias=False), Kernel("precomputed"), True, X)
    for rows in (X, sp.csr_array(X)):
        np.testing.assert_array_equal(view.values(rows, np.array([3, 1])), X[:, [3, 1]])
    np.testing.assert_array_equal(view.matrix(X), X)  # never standardised


def test_distances_far_from_the_origin():
    """Squares of large numbers must not cancel."""
    far = X + 1e7
    expected = rbf(far, far, 0.4)  # differences of numbers that have lost digits, too
    np.testing.assert_allclose(Comparison(RBF, far)(far), expected, atol=1e-12)


def test_sparse_rows_against_a_dense_base():
    np.testing.assert_allclose(Comparison(RBF, X)(sp.csr_array(NEW)), rbf(X, NEW, 0.4), rtol=1e-9)
    np.testing.assert_allclose(Comparison(RBF, sp.csr_array(X))(NEW), rbf(X, NEW, 0.4), rtol=1e-9)


def test_a_function_must_return_values_for_all_pairs():
    with pytest.raises(InputError, match=r"kernel returned an array of shape \(5,\) for matrices of 5 and 12 rows"):
        Comparison(Kernel(lambda a, b: np.ones(5)), X)(NEW)
    with pytest.raises(InputError, match="kernel returned values that are not finite"):
        Comparison(Kernel(lambda a, b: np.full((5, 12), np.nan)), X)(NEW)


# -- rules of the thesis ----------------------------------------------------------------------------------------------


@each_row("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_rules(make):
    (view,) = kernel_views(ArrayFeatures(bias=False), Kernel("rbf"), False, X)
    expected = np.mean([np.sum((a - b) ** 2) for a in X for b in X])
    assert view.default_gamma(make(X)) == pytest.approx(1 / expected)
    assert view.default_eta(make(X), np.eye(12)) == pytest.approx(1 / np.mean(np.linalg.norm(X, axis=1)))


def test_rules_without_anything_to_measure():
    (view,) = kernel_views(ArrayFeatures(bias=False), Kernel("rbf"), False, X)
    assert view.default_gamma(X[[0, 0]]) == 1.0
    assert view.default_eta(np.zeros((2, 4)), np.eye(2)) == 1.0
    (linear,) = kernel_views(ArrayFeatures(bias=False), Kernel("linear"), False, X)
    assert linear.default_gamma(X) == 1.0
    (given,) = kernel_views(ArrayFeatures(bias=False), Kernel("precomputed"), False, X)
    assert given.default_eta(np.arange(2), np.diag([4.0, 16.0])) == pytest.approx(1 / 3)


def test_another_gamma_is_another_view():
    (view,) = kernel_views(ArrayFeatures(bias=False), Kernel("rbf"), False, X)
    other = view.scaled(0.7)
    assert (view.kernel.gamma, other.kernel.gamma, other.name) == (None, 0.7, view.name)
    np.testing.assert_allclose(other.values(NEW, X), rbf(NEW, X, 0.7))


# -- which columns ----------------------------------------------------------------------------------------------------


def test_a_list_of_views():
    one, two = kernel_views([Select([0, 2]), Select(slice(1, 3))], RBF, False, X)
    assert (one.name, two.name) == ("view0", "view1")
    assert (columns_of(one), columns_of(two)) == ([0, 2], [1, 2])
    assert one.kernel == two.kernel == RBF


def test_a_dict_of_views_and_splits():
    views = {"first": Select([0]), "halves": OddEvenSplit()}
    found = {view.name: columns_of(view) for view in kernel_views(views, RBF, False, X)}
    assert found == {"first": [0], "halves/odd": [1, 3], "halves/even": [0, 2]}


def test_splits():
    views = kernel_views(RandomSplit(n_views=3), RBF, False, X, np.random.default_rng(1))
    assert [view.name for view in views] == ["random1", "random2", "random3"]
    assert sorted(itertools.chain(*map(columns_of, views))) == [0, 1, 2, 3]
    groups = kernel_views(FeatureGroups(groups=["a", "b", "b", None]), RBF, False, X)
    assert {view.name: columns_of(view) for view in groups} == {"a": [0], "b": [1, 2]}


def test_a_kernel_of_its_own():
    linear = KernelFeatures(kernel="linear")
    poly = Select([1], KernelFeatures(kernel="poly", degree=3, gamma=0.5, coef0=2.0))
    halves = OddEvenSplit(KernelFeatures(ArrayFeatures(bias=False), kernel="rbf", gamma=0.1))
    found = kernel_views([linear, poly, halves, Select([2])], RBF, False, X)
    kernels = [view.kernel for view in found]
    assert kernels == [
        Kernel("linear", 2, 1.0, None),
        Kernel("poly", 3, 2.0, 0.5),
        *[Kernel("rbf", 2, 1.0, 0.1)] * 2,
        RBF,
    ]
    assert [view.matrix(X).shape[1] for view in found] == [5, 1, 2, 2, 1]  # a linear one has a constant


@each_row(
    "view",
    [
        Select([0, 1, 2], RandomSplit(KernelFeatures(kernel="linear"))),
        RandomSplit(Select([0, 1, 2], KernelFeatures(kernel="linear"))),
        [Select([0, 1], KernelFeatures(kernel="linear")), Select([2])],
    ],
    ids=["split inside", "selection inside", "several"],
)
def test_a_kernel_deep_inside_is_used_as_a_kernel_or_refused(view):
    """Never as features that another kernel compares."""
    try:
        found = kernel_views({"deep": view}, RBF, False, X)
    except InputError:
        return
    first = found[0]
    assert first.kernel.kernel == "linear"
    matrix = dense(first.matrix(X))
    columns = matrix[:, np.ptp(matrix, axis=0) > 0]
    assert all(np.any(np.all(np.isclose(X, own[:, None]), axis=0)) for own in columns.T)


def test_the_given_views_are_not_changed():
    given = Select([1], KernelFeatures(kernel="poly"))
    kernel_views([given, given], RBF, True, X)
    assert isinstance(given.view, KernelFeatures)
    assert not hasattr(given, "view_")


def test_a_single_view_of_everything():
    halves = kernel_views(OddEvenSplit(), RBF, False, X)
    everything = joined(halves)
    np.testing.assert_allclose(everything.matrix(X), X)
    assert (everything.name, everything.kernel) == ("all", RBF)
    parts = joined(kernel_views([Select([3]), Select([0, 1])], RBF, False, X))
    np.testing.assert_allclose(parts.matrix(X), X[:, [3, 0, 1]])
    (one,) = kernel_views(Select([0]), RBF, False, X)
    assert joined([one]) is one
    assert joined(kernel_views([Select([0]), KernelFeatures(kernel="linear")], RBF, False, X)) is None
    assert joined(kernel_views([Select([0]), Select([1])], Kernel("precomputed"), False, X)) is None


def test_views_of_one_split_look_at_the_inputs_once():
    views = kernel_views(OddEvenSplit(), RBF, False, X)
    calls = []
    shared = views[0].parts[0][0]
    transform = shared.transform
    shared.transform = lambda rows: calls.append(1) or transform(rows)
    found = matrices(views, NEW)
    assert len(calls) == 1
    np.testing.assert_allclose(found[0], NEW[:, [1, 3]])
    np.testing.assert_allclose(found[1], NEW[:, [0, 2]])


# -- scale ------------------------------------------------------------------------------------------------------------


def test_columns_are_standardised_by_the_inputs_of_the_fit():
    for views in ([Select([0, 1]), Select([2, 3])], OddEvenSplit(), KernelFeatures(kernel="rbf")):
        found = kernel_views(views, RBF, True, X)
        matrix = np.hstack([dense(view.matrix(NEW)) for view in found])
        expected = (NEW - X.mean(axis=0)) / X.std(axis=0)
        np.testing.assert_allclose(np.sort(matrix, axis=1), np.sort(expected, axis=1), atol=1e-9)


def test_views_that_are_told_otherwise_are_left_alone():
    (view,) = kernel_views(ArrayFeatures(bias="one"), RBF, True, X)
    np.testing.assert_allclose(view.matrix(X), np.column_stack([X, np.ones(12)]))


def test_a_linear_kernel_has_a_constant():
    (view,) = kernel_views(Select([0, 1]), Kernel("linear"), True, X)
    assert view.matrix(X).shape == (12, 3)
    np.testing.assert_array_equal(view.matrix(NEW)[:, 2], 1.0)
    halves = kernel_views(OddEvenSplit(), Kernel("linear"), False, X)
    assert all(np.all(view.matrix(X)[:, -1] == 1.0) for view in halves)


def test_other_inputs():
    words = [{"red": 1.0, "old": 2.0}, {"old": 1.0}, {"new": 1.0}]
    (view,) = kernel_views(DictFeatures(), Kernel("linear"), True, words)
    matrix = dense(view.matrix(words))
    np.testing.assert_allclose((matrix @ matrix.T)[0, 1], 2.0)
    pairs = [(np.ones(2), {"a": 1.0}), (np.zeros(2), {"b": 1.0})]
    numbers, features = kernel_views([Select(0), Select(1, DictFeatures())], RBF, False, pairs)
    assert dense(numbers.matrix(pairs)).shape == (2, 2)
    assert dense(features.matrix(pairs)).shape[0] == 2


@each_row("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_stacked(make):
    found = stack_matrices([make(X), make(NEW)])
    assert sp.issparse(found) == (make is sp.csr_array)
    np.testing.assert_array_equal(dense(found), np.vstack([X, NEW]))


# -- what is refused --------------------------------------------------------------------------------------------------


@each_row(
    ("views", "message"),
    [
        ([], "views is empty; expected at least one view"),
        ({}, "views is empty"),
        ("rbf", "views is 'rbf' of type str; expected a view such as RandomSplit"),
        ([Select([0]), 5], r"views\['view1'\] is 5 of type int; expected a view"),
        ({"a": None}, r"views\['a'\] is None of type NoneType"),
        ([[]], r"views\['view0'\] is \[\] of type list"),
        ([Select([7])], "4 columns; Select cannot take"),
    ],
)
def test_bad_views(views, message):
    with pytest.raises(InputError, match=message):
        kernel_views(views, RBF, False, X)


def test_inputs_of_several_rows():
    sentences = [["a", "b"], ["c"]]
    (view,) = kernel_views([TokenFeatures()], Kernel("linear"), False, sentences)
    with pytest.raises(InputError, match="view 'view0' has 3 rows for 2 inputs; expected one row of numbers for each"):
        view.matrix(sentences)


@each_row(
    ("kernel", "message"),
    [
        (Kernel("cosine"), "kernel is 'cosine'; expected one of linear, poly, rbf, precomputed, or a function"),
        (Kernel(None), "kernel is None"),
        (Kernel("rbf", gamma="scale"), 'gamma is .scale.; expected a positive number, or "auto" or None'),
        (Kernel("rbf", gamma=0.0), r"gamma is 0\.0; expected a positive number"),
        (Kernel("rbf", gamma=-1), "gamma is -1"),
        (Kernel("rbf", gamma=np.nan), "gamma is nan"),
        (Kernel("rbf", gamma=[1.0]), r"gamma is \[1\.0\]"),
        (Kernel("rbf", gamma={}), r"gamma is \{\}"),
        (Kernel("poly", degree="2"), "degree is '2'"),
        (Kernel("poly", degree=np.nan), "degree is nan"),
        (Kernel("poly", coef0=np.inf), "coef0 is inf"),
    ],
)
def test_bad_kernels(kernel, message):
    with pytest.raises(InputError, match=message):
        check_kernel(kernel)
    with pytest.raises(InputError, match=message):
        kernel_views([Select([0])], kernel, False, X)
