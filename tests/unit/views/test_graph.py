"""GraphFeatures: inner products of the features are the papers' graph kernels."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from row_tables import each_row
from sklearn.base import clone

import accord
from accord import (
    ArrayFeatures,
    ConcatenatedViews,
    GradientSVM,
    GraphFeatures,
    KernelFeatures,
    MultiClass,
    RandomSplit,
    StructuredPerceptron,
    TokenFeatures,
)
from accord.exceptions import InputError
from accord.model_file import _pack
from accord.persistence import write_model
from accord.views import graph as graph_module

A, B = np.split(np.random.default_rng(0).normal(size=(20, 3)), [14])
TEXT = [["Ana", "sees", "Tom"], ["Tom", "runs"], ["Ana", "runs", "home"], []]


def cloud(*shape, seed=1):
    return np.random.default_rng(seed).normal(size=shape)


def features(rows):
    return rows.matrix().toarray()


def products(rows, other=None):
    return features(rows) @ features(other if other is not None else rows).T


def squared(a, b):
    return ((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=2)


def rbf(a, b, gamma=0.7):
    return np.exp(-gamma * squared(a, b))


def plain_weights(a, k, width=None, unit=False, edges="mutual"):
    """The nearest-neighbour graph, by sorting all distances and asking every pair."""
    distance = squared(a, a)
    near = [[j for j in np.argsort(row, kind="stable") if j != i][:k] for i, row in enumerate(distance)]
    width = np.mean([distance[i, j] for i in range(len(a)) for j in near[i]]) if width is None else width
    weights = np.zeros_like(distance)
    for i in range(len(a)):
        for j in range(len(a)):
            found = (j in near[i]) + (i in near[j])
            if found == 2 or (found == 1 and edges == "either"):
                weights[i, j] = 1.0 if unit else np.exp(-distance[i, j] / width)
    return weights


def plain_laplacian(weights):
    return np.diag(weights.sum(axis=1)) - weights


def plain_regularised(kernel, a, x, laplacian, ambient, intrinsic):
    """k~(x, z) = k_x' Q^{-1} k_z with Q = ambient K + intrinsic K L K, as the paper prints it."""
    gram_matrix, values = kernel(a, a), kernel(x, a)
    q = ambient * gram_matrix + intrinsic * gram_matrix @ laplacian @ gram_matrix
    return values @ np.linalg.inv(q) @ values.T


# -- the graph --------------------------------------------------------------------------------------------------------


@each_row("k", [1, 3, 13])
@each_row("unit", [False, True])
@each_row("edges", ["mutual", "either"])
@each_row("method", ["regularised", "transductive"])
def test_the_graph_joins_nearest_neighbours(k, unit, edges, method):
    parameters = {"n_neighbors": k, "edges": edges, "weights": "unit" if unit else "heat", "method": method}
    view = GraphFeatures(**parameters).fit(A)
    np.testing.assert_allclose(view.graph_.toarray(), plain_weights(A, k, None, unit, edges), atol=1e-12)
    given = GraphFeatures(**parameters, width=0.3).fit(A)
    np.testing.assert_allclose(given.graph_.toarray(), plain_weights(A, k, 0.3, unit, edges), atol=1e-12)
    assert given.width_ == 0.3


def test_mutual_edges_are_some_of_the_others():
    """On a line, the nearest of the far point has nearer ones itself."""
    mutual, either = (
        GraphFeatures(n_neighbors=1, edges=edges, weights="unit").fit([[0.0], [1.0], [3.0]]).graph_.toarray()
        for edges in ("mutual", "either")
    )
    np.testing.assert_array_equal(mutual, [[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(either, [[0, 1, 0], [1, 0, 1], [0, 1, 0]])


def test_defaults_are_those_of_the_papers():
    points = cloud(40, 2)
    regularised = GraphFeatures().fit(points)
    np.testing.assert_allclose(regularised.graph_.toarray(), plain_weights(points, 5), atol=1e-12)
    transductive = GraphFeatures(method="transductive").fit(points)
    np.testing.assert_array_equal(transductive.graph_.toarray(), plain_weights(points, 10, None, True, "either"))
    assert (regularised.ambient, regularised.intrinsic) == (0.1, 0.9)
    assert (transductive.scale, transductive.shift) == (10.0, 1e-6)


def test_the_graph_of_sparse_rows_is_that_of_dense_ones():
    points = np.maximum(cloud(60, 30), 0.0)
    dense, sparse = GraphFeatures().fit(points), GraphFeatures().fit(sp.csr_array(points))
    np.testing.assert_allclose(sparse.graph_.toarray(), dense.graph_.toarray(), atol=1e-9)
    np.testing.assert_allclose(products(sparse.transform(points)), products(dense.transform(points)), atol=1e-7)


def test_equal_rows_are_one_node():
    X = [np.array([A[0], A[1], A[0]]), np.array([A[2], A[1], A[3]])]
    view = GraphFeatures(n_neighbors=2, gamma=0.7)
    rows = view.fit_rows(X)
    assert view.graph_.shape == (4, 4)
    np.testing.assert_array_equal(rows.slots[:, 0], [0, 1, 0, 2, 1, 3])
    np.testing.assert_array_equal(rows.offsets, [0, 3, 6])
    alone = GraphFeatures(n_neighbors=2, gamma=0.7).fit_rows(A[:4])
    np.testing.assert_allclose(features(rows), features(alone)[[0, 1, 0, 2, 1, 3]], atol=1e-12)


def test_fewer_rows_than_neighbours_make_a_complete_graph():
    weights = GraphFeatures(n_neighbors=50, weights="unit").fit(A).graph_.toarray()
    np.testing.assert_array_equal(weights, 1 - np.eye(len(A)))


def test_a_single_row_has_no_edges():
    rows = GraphFeatures(kernel="linear").fit_rows([[3.0, 4.0]])
    np.testing.assert_allclose(products(rows), [[25 / 0.1]])
    rows = GraphFeatures(method="transductive").fit_rows([[3.0, 4.0], [3.0, 4.0]])
    np.testing.assert_allclose(products(rows), np.full((2, 2), 10 / 1e-6))


def test_rows_far_from_all_others_are_isolated():
    points = np.vstack([A, [[1e3, 0.0, 0.0]]])
    view = GraphFeatures(width=0.5, gamma=0.7)
    rows = view.fit_rows(points)
    assert view.graph_.toarray()[-1].sum() == 0  # the heat has died down
    # nothing smooths the function there: the base kernel, divided by the ambient weight
    assert products(rows)[-1, -1] == pytest.approx(1 / 0.1)


def test_rows_without_mutual_neighbours_are_predicted_from_what_is_similar():
    """The regularised kernel is the base kernel there; the transductive one knows nothing of them."""
    points = np.array([[0.0], [1.0], [3.0]])
    view = GraphFeatures(n_neighbors=1, gamma=0.1)
    kernel = lambda a, b: rbf(a, b, 0.1)  # noqa: E731
    laplacian = plain_laplacian(plain_weights(points, 1))
    assert not laplacian[2].any()
    expected = plain_regularised(kernel, points, points, laplacian, 0.1, 0.9)
    np.testing.assert_allclose(products(view.fit_rows(points)), expected, rtol=1e-7)
    assert expected[2, 1] > 1
    alone = products(GraphFeatures(n_neighbors=1, method="transductive", edges="mutual").fit_rows(points))
    np.testing.assert_allclose(alone[2], [0.0, 0.0, 10 / 1e-6])
    assert (products(GraphFeatures(n_neighbors=1, method="transductive").fit_rows(points)) > 0).all()


# -- the regularised kernel -------------------------------------------------------------------------------------------

KERNELS = [
    ({"kernel": "rbf", "gamma": 0.7}, rbf),
    ({"kernel": "poly", "degree": 3, "gamma": 0.5, "coef0": 2.0}, lambda a, b: (0.5 * a @ b.T + 2) ** 3),
    ({"kernel": lambda a, b: rbf(a, b, 0.2)}, lambda a, b: rbf(a, b, 0.2)),
]


@each_row(("parameters", "kernel"), KERNELS)
@each_row(("ambient", "intrinsic"), [(0.1, 0.9), (1.0, 0.05), (0.01, 3.0)])
def test_the_formula_of_the_paper_in_and_out_of_sample(parameters, kernel, ambient, intrinsic):
    view = GraphFeatures(**parameters, n_neighbors=3, ambient=ambient, intrinsic=intrinsic)
    rows = view.fit_rows(A)
    laplacian = plain_laplacian(plain_weights(A, 3))
    expected = plain_regularised(kernel, A, np.vstack([A, B]), laplacian, ambient, intrinsic)
    phi = np.vstack([features(rows), features(view.transform(B))])
    np.testing.assert_allclose(phi @ phi.T, expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max())
    np.testing.assert_allclose(features(view.transform(A)), features(rows), atol=1e-7)


def test_links_that_are_known_take_the_place_of_neighbours(tmp_path):
    links = [(0, 3), (3, 5, 2.0), (7, 13), (1, 1)]
    weights = np.zeros((14, 14))
    for i, j, w in ((0, 3, 1.0), (3, 5, 2.0), (7, 13, 1.0)):
        weights[i, j] = weights[j, i] = w
    expected = plain_regularised(lambda a, b: rbf(a, b), A, np.vstack([A, B]), plain_laplacian(weights), 0.1, 0.9)
    for edges in (links, weights, sp.csr_array(weights)):
        view = GraphFeatures(gamma=0.7, edges=edges)
        phi = np.vstack([features(view.fit_rows(A)), features(view.transform(B))])
        np.testing.assert_allclose(phi @ phi.T, expected, rtol=1e-6, atol=1e-6)
    model = StructuredPerceptron(MultiClass(), view=GraphFeatures(gamma=0.7, edges=links)).fit(A, ["a", "b"] * 7)
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(accord.load(tmp_path / "m").predict(B), model.predict(B))
    alone = GraphFeatures(edges=links, method="transductive", shift=0.1)
    inverse = 10.0 * np.linalg.inv(plain_laplacian(weights) + 0.1 * np.eye(14))
    np.testing.assert_allclose(products(alone.fit_rows(A)), inverse, rtol=1e-8, atol=1e-8)
    # tokens are counted through all sentences, and equal ones are one node
    view = GraphFeatures(TokenFeatures(window=0, position=False), edges=[(0, 4)]).fit(TEXT)
    assert view.graph_.nnz == 2
    assert view.graph_[0, 3] == 1.0  # Ana and runs, the fourth word


@pytest.mark.parametrize("intrinsic", [0.9, 0.0])
def test_landmarks_at_all_rows_give_the_exact_kernel(intrinsic):
    exact = GraphFeatures(gamma=0.7, intrinsic=intrinsic)
    landmarks = GraphFeatures(gamma=0.7, intrinsic=intrinsic, n_landmarks=len(A), tol=1e-14, random_state=0)
    np.testing.assert_allclose(products(landmarks.fit_rows(A)), products(exact.fit_rows(A)), atol=1e-8)
    np.testing.assert_allclose(
        products(landmarks.transform(B), landmarks.transform(A)),
        products(exact.transform(B), exact.transform(A)),
        atol=1e-8,
    )


def test_without_the_graph_it_is_the_base_kernel():
    view = GraphFeatures(gamma=0.7, ambient=0.4, intrinsic=0.0)
    np.testing.assert_allclose(products(view.fit_rows(A)), rbf(A, A) / 0.4, atol=1e-8)
    np.testing.assert_allclose(products(view.transform(B), view.transform(A)), rbf(B, A) / 0.4, atol=1e-8)


def test_few_landmarks_see_the_whole_graph():
    """Functions in the span of the landmarks, as smooth as the graph of all rows makes them."""
    view = GraphFeatures(gamma=0.7, n_neighbors=3, n_landmarks=5, random_state=0)
    rows = view.fit_rows(A)
    assert view.n_dims_ == 5
    landmarks = view.map_.pivots_
    laplacian = plain_laplacian(plain_weights(A, 3))
    cross = rbf(A, landmarks)
    q = 0.1 * rbf(landmarks, landmarks) + 0.9 * cross.T @ laplacian @ cross
    points = np.vstack([A, B])
    expected = rbf(points, landmarks) @ np.linalg.inv(q) @ rbf(points, landmarks).T
    phi = np.vstack([features(rows), features(view.transform(B))])
    np.testing.assert_allclose(phi @ phi.T, expected, atol=1e-7)
    again = GraphFeatures(gamma=0.7, n_neighbors=3, n_landmarks=5, random_state=0).fit_rows(A)
    np.testing.assert_array_equal(features(again), features(rows))
    other = GraphFeatures(gamma=0.7, n_neighbors=3, n_landmarks=5, random_state=1).fit_rows(A)
    assert not np.allclose(products(other), products(rows))


def test_more_landmarks_come_closer_to_the_exact_kernel():
    points = cloud(300, 2)
    exact = products(GraphFeatures(gamma=0.5).fit_rows(points))
    errors = []
    for m in (10, 40, 160):
        near = products(GraphFeatures(gamma=0.5, n_landmarks=m, random_state=0).fit_rows(points))
        errors.append(np.linalg.norm(near - exact) / np.linalg.norm(exact))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.01


def test_blocks_do_not_change_the_features(monkeypatch):
    expected = features(GraphFeatures(gamma=0.7).fit_rows(A))
    monkeypatch.setattr(graph_module, "_BLOCK", 3)
    monkeypatch.setattr("accord.views.neighbours._BLOCK", 4)
    np.testing.assert_allclose(features(GraphFeatures(gamma=0.7).fit_rows(A)), expected, atol=1e-9)


def test_a_base_of_words():
    view = GraphFeatures(TokenFeatures(window=1), kernel="linear", n_neighbors=2)
    rows = view.fit_rows(TEXT)
    base = TokenFeatures(window=1).fit_rows(TEXT).matrix().toarray()
    _, first = np.unique(base, axis=0, return_index=True)
    nodes = base[np.sort(first)]
    laplacian = plain_laplacian(view.graph_.toarray())
    assert view.graph_.shape == (len(nodes), len(nodes))
    linear = lambda a, b: a @ b.T  # noqa: E731
    expected = plain_regularised(linear, nodes, base, laplacian, 0.1, 0.9)
    np.testing.assert_allclose(products(rows), expected, atol=1e-6)
    assert features(view.transform([["Ana", "who"]])).shape == (2, view.n_dims_)


# -- the transductive kernel ------------------------------------------------------------------------------------------


@each_row("weights", ["unit", "heat"])
def test_the_inverse_of_the_laplacian(weights):
    view = GraphFeatures(method="transductive", n_neighbors=3, weights=weights, shift=0.01, scale=4.0)
    rows = view.fit_rows(A)
    laplacian = plain_laplacian(plain_weights(A, 3, None, weights == "unit", "either"))
    expected = 4.0 * np.linalg.inv(laplacian + 0.01 * np.eye(len(A)))
    np.testing.assert_allclose(products(rows), expected, rtol=1e-9)


@each_row("n_groups", [1, 2, 9])
def test_small_shifts_are_exact_on_every_component(n_groups):
    """In groups far from each other; many of them are stored sparsely."""
    points = np.vstack([cloud(8, 2, seed=g) + 1000 * g for g in range(n_groups)])
    order = np.random.default_rng(0).permutation(len(points))
    # eight nodes with four neighbours each cannot fall apart
    view = GraphFeatures(method="transductive", n_neighbors=4, shift=1e-9, scale=2.0)
    rows = view.fit_rows(points[order])
    assert sp.issparse(rows.table) == (n_groups == 9)
    group = order // 8
    got = products(rows)
    assert np.array_equal(got != 0, group[:, None] == group)
    constant = (group[:, None] == group) / 8
    laplacian = plain_laplacian(plain_weights(points[order], 4, None, True, "either"))
    # (L + shift I)^{-1} without its huge part, from the pseudo-inverse
    rest = got - 2.0 / 1e-9 * constant
    np.testing.assert_allclose(rest, 2.0 * np.linalg.pinv(laplacian, rcond=1e-10), atol=1e-5)
    # on the features themselves, nothing is lost to rounding: differences within a group
    phi = features(rows)
    for members in [np.flatnonzero(group == g) for g in range(n_groups)]:
        centred = phi[members] - phi[members].mean(axis=0)
        exact = 2.0 * np.linalg.pinv(laplacian[np.ix_(members, members)] + 1e-9 * np.eye(8), rcond=1e-10)
        exact -= exact.mean(axis=0)
        np.testing.assert_allclose(centred @ centred.T, exact - exact.mean(axis=1, keepdims=True), atol=1e-6)


def test_the_transductive_kernel_knows_the_inputs_of_fit():
    X = [A[:3], A[3:10], A[10:]]
    view = GraphFeatures(method="transductive")
    rows = view.fit_rows(X)
    again = view.transform([A[5:7], A[:1]])
    np.testing.assert_array_equal(features(again), features(rows)[[5, 6, 0]])
    np.testing.assert_array_equal(again.offsets, [0, 2, 3])
    assert again.table is rows.table
    assert again.shared
    np.testing.assert_array_equal(features(view.transform(sp.csr_array(A))), features(rows))


def test_the_transductive_kernel_refuses_new_inputs():
    view = GraphFeatures(method="transductive").fit([A[:3], A[3:]])
    with pytest.raises(InputError, match=r"X\[2\] has a row \(number 1\) that was not in fit.*method='regularised'"):
        view.transform([A[:2], A[4:5], np.vstack([A[1], B[0]]), B])


def test_a_fit_forgets_the_fit_before():
    view = GraphFeatures(method="transductive")
    view.fit(A)
    view.transform(A[:1])
    np.testing.assert_allclose(products(view.fit_rows(B)), products(clone(view).fit_rows(B)))
    view.transform(B[:1])
    with pytest.raises(InputError, match=r"X\[0\]"):
        view.transform(A[:1])
    view.set_params(method="regularised").fit(A)
    assert not hasattr(view, "units_")
    assert features(view.transform(B)).shape[0] == len(B)


# -- what it shares with other views ----------------------------------------------------------------------------------


@each_row("method", ["regularised", "transductive"])
def test_pickle_and_names(method):
    view = GraphFeatures(method=method).fit(A)
    copy = pickle.loads(pickle.dumps(view))
    np.testing.assert_allclose(features(copy.transform(A[:4])), features(view.transform(A[:4])), atol=1e-12)
    assert view.feature_names([0, 2]) == ["phi0", "phi2"]


def test_the_state_of_the_transductive_kernel_is_small():
    points = cloud(200, 2)
    view = GraphFeatures(method="transductive").fit(points)
    view.transform(points)
    assert len(pickle.dumps(view)) < 2 * 200 * 200  # a table of features has four times as many bytes


@pytest.mark.parametrize("method", ["regularised", "transductive"])
def test_models_are_saved_and_loaded(method, tmp_path):
    labels = ["a" if row[0] > 0 else "b" for row in A]
    some = [label if i < 8 else None for i, label in enumerate(labels)]
    model = StructuredPerceptron(MultiClass(), view=GraphFeatures(method=method), random_state=0).fit(A, some)
    model.save(tmp_path / "model.accord")
    copy = accord.load(tmp_path / "model.accord")
    assert list(copy.predict(A)) == list(model.predict(A))
    np.testing.assert_allclose(copy.decision_function(A), model.decision_function(A), rtol=1e-9)
    if method == "transductive":
        with pytest.raises(InputError, match="method='regularised'"):
            copy.predict(B)
    else:
        assert list(copy.predict(B)) == list(model.predict(B))


@pytest.mark.parametrize("method", ["regularised", "transductive"])
def test_model_files_of_before_have_the_edges_of_before(method, tmp_path):
    """They do not say which, and joined two nodes if either was a neighbour of the other."""
    view = GraphFeatures(method=method, edges="either")
    model = GradientSVM(MultiClass(), view=view, random_state=0).fit(A, ["a", "b"] * 7)
    arrays = {}
    tree = _pack(model, arrays, "model")
    for name in ("view", "view_"):
        assert tree["fields"][name]["fields"].pop("edges") == "either"
    write_model(tmp_path / "old.accord", {"model": tree}, arrays)
    loaded = accord.load(tmp_path / "old.accord")
    assert loaded.view.edges == loaded.view_.edges == "either"
    np.testing.assert_array_equal(loaded.decision_function(A), model.decision_function(A))
    again = clone(loaded).fit(A, ["a", "b"] * 7)
    np.testing.assert_array_equal(again.view_.graph_.toarray(), model.view_.graph_.toarray())


@pytest.mark.parametrize("method", ["regularised", "transductive"])
def test_in_splits_and_lists(method):
    split = RandomSplit(GraphFeatures(method=method))
    rows = split.fit_rows(A)
    one, two = split.channels(rows, np.random.default_rng(0))
    np.testing.assert_allclose(products(one) + products(two), products(rows), rtol=1e-9)
    both = ConcatenatedViews([GraphFeatures(method=method), ArrayFeatures(bias="one")])
    np.testing.assert_allclose(products(both.fit_rows(A)), products(rows) + A @ A.T + 1, rtol=1e-9)
    np.testing.assert_allclose(features(both.transform(A)), features(both.fit_rows(A)), atol=1e-6)


def test_it_does_not_grow():
    with pytest.raises(NotImplementedError, match="GraphFeatures cannot grow; fit it on all inputs at once"):
        GraphFeatures().fit(A).extend_rows(B)


def test_the_base_stays_unfitted():
    base = ArrayFeatures(bias=False)
    GraphFeatures(base).fit(A)
    assert not hasattr(base, "n_dims_")


def test_a_base_kernel_of_a_standardised_view():
    view = GraphFeatures(ArrayFeatures(standardize=True, bias=False), gamma=0.3, n_neighbors=3)
    scaled = (A - A.mean(axis=0)) / A.std(axis=0)
    expected = products(GraphFeatures(gamma=0.3, n_neighbors=3).fit_rows(scaled))
    np.testing.assert_allclose(products(view.fit_rows(A)), expected, atol=1e-8)
    assert GraphFeatures().fit(A).gamma_ == KernelFeatures().fit(A).gamma_


# -- errors -----------------------------------------------------------------------------------------------------------


@each_row(
    ("parameters", "message"),
    [
        ({"method": "inductive"}, 'method is .inductive.; expected "regularised" or "transductive"'),
        ({"kernel": "precomputed"}, "kernel is 'precomputed'; expected one of linear, poly, rbf, or a function"),
        ({"edges": "both"}, 'edges is .both.; expected "mutual", "either", None, or links'),
        ({"edges": [(0, 14)]}, "edges has node '14'; expected numbers of rows of X, 0 to 13"),
        ({"edges": [(0, 1, -1)]}, r"edges\[0\] has the weight -1"),
        ({"weights": "cosine"}, 'weights is .cosine.; expected "heat", "unit" or None'),
        ({"n_neighbors": 0}, "n_neighbors is 0; expected a whole number, 1 or more"),
        ({"n_neighbors": 2.5}, "n_neighbors is 2.5"),
        ({"n_neighbors": True}, "n_neighbors is True"),
        ({"n_landmarks": 0}, "n_landmarks is 0"),
        ({"n_landmarks": 3, "method": "transductive"}, "n_landmarks is for method='regularised'"),
        ({"width": 0.0}, "width is 0.0; expected a positive number"),
        ({"ambient": 0.0}, "ambient is 0.0; expected a positive number"),
        ({"ambient": np.nan}, "ambient is nan"),
        ({"intrinsic": -1.0}, "intrinsic is -1.0; expected a number, 0 or more"),
        ({"shift": 0.0}, "shift is 0.0; expected a positive number"),
        ({"scale": "large"}, "scale is 'large'; expected a positive number"),
        ({"gamma": -1.0}, "gamma is -1.0"),
        ({"tol": 2.0}, "tol is 2.0"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(InputError, match=message):
        GraphFeatures(**parameters).fit(A)


def test_no_rows():
    with pytest.raises(InputError, match="X has no rows; a graph needs rows to join"):
        GraphFeatures().fit(np.zeros((0, 2)))
    for method in ("regularised", "transductive"):
        assert features(GraphFeatures(method=method).fit(A).transform(np.zeros((0, 3)))).shape[0] == 0


def test_too_many_rows_for_the_memory(monkeypatch):
    monkeypatch.setenv("ACCORD_MEMORY", str(5 * 8 * len(A) * len(A) - 1))
    with pytest.raises(InputError, match=r"X has 14 distinct rows.*Use n_landmarks, or fewer rows"):
        GraphFeatures().fit(A)
    GraphFeatures(n_landmarks=4).fit(A)
    monkeypatch.setenv("ACCORD_MEMORY", str(3 * 8 * len(A) * len(A) - 1))
    with pytest.raises(InputError, match="Use a smaller n_landmarks"):
        GraphFeatures(n_landmarks=14).fit(A)
    with pytest.raises(InputError, match="Use method='regularised' with n_landmarks"):
        GraphFeatures(method="transductive").fit(A)
