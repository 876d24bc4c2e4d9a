"""Features along links: steps and walks against matrix powers, ways to name nodes, new nodes, bad input."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import accord
from accord import Classifier, LinkedFeatures
from accord.exceptions import FormatError, InputError
from accord.views.links import read_links, spread

EDGES = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 1), (2, 2)]
OWN = np.array([[1.0, 0, 0], [0, 2, 0], [0, 0, 1], [1, 1, 0], [0, 1, 3], [0, 0, 5]])  # node 5 has no links


def adjacency(n=6, edges=EDGES):
    a = np.zeros((n, n))
    for i, j, *w in edges:
        if i != j:
            a[i, j] = a[j, i] = max(a[i, j], *(w or [1.0]))
    return a


def unit(rows):
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


def plain(own, a, steps, restart):
    """By powers of the normalised adjacency."""
    with_self = a + np.eye(len(a))
    root = np.diag(with_self.sum(axis=1) ** -0.5)
    s = root @ with_self @ root
    own = unit(own)
    if not restart:
        return unit(np.linalg.matrix_power(s, steps) @ own)
    total = np.linalg.matrix_power((1 - restart) * s, steps)
    for k in range(steps):
        total = total + restart * np.linalg.matrix_power((1 - restart) * s, k)
    return unit(total @ own)


def features(rows):
    found = rows.matrix().toarray()
    np.testing.assert_array_equal(found[:, -1], 1.0)
    return found[:, :-1]


@pytest.mark.parametrize(("steps", "restart"), [(0, 0.0), (1, 0.0), (3, 0.0), (2, 0.3), (10, 0.15)])
def test_features_are_those_of_matrix_powers(steps, restart):
    view = LinkedFeatures(EDGES, steps=steps, restart=restart, weighting=None)
    found = features(view.fit_rows(OWN))[:, :3]
    np.testing.assert_allclose(found, plain(OWN, adjacency(), steps, restart), atol=1e-12)
    np.testing.assert_array_equal(features(view.transform(OWN))[:, :3], found)


def test_ways_to_give_links(tmp_path):
    (tmp_path / "links.txt").write_text("from,to,weight\n# a comment\n0\t1\n\n1,2\n2 0\n3 4 0.5\n")
    given = [
        [(0, 1), (1, 2), (2, 0), (3, 4, 0.5)],
        np.array([[0, 1, 1.0], [1, 2, 1], [2, 0, 1], [3, 4, 0.5]]),
        sp.csr_array(adjacency(6, [(0, 1), (1, 2), (2, 0), (3, 4, 0.5)])),
        adjacency(6, [(0, 1), (1, 2), (2, 0), (3, 4, 0.5)]),
        str(tmp_path / "links.txt"),
    ]
    expected = adjacency(6, given[0])
    for edges in given:
        graph = LinkedFeatures(edges).fit(OWN).graph_
        np.testing.assert_array_equal(graph.toarray(), expected)
    neighbours = {0: [1, 2], "1": "2", 3: []}
    graph = LinkedFeatures(neighbours).fit(OWN).graph_
    np.testing.assert_array_equal(graph.toarray(), adjacency(6, [(0, 1), (0, 2), (1, 2)]))


def test_rows_of_a_table():
    whole = features(LinkedFeatures(EDGES).fit_rows(OWN))
    view = LinkedFeatures(EDGES, table=OWN)
    np.testing.assert_array_equal(features(view.fit_rows([4, 0])), whole[[4, 0]])
    np.testing.assert_array_equal(features(view.transform(np.array([[5], [1]]))), whole[[5, 1]])
    assert clone(view).table is OWN


@pytest.mark.parametrize("form", ["dicts", "tuples"])
def test_inputs_that_name_their_nodes(form):
    names = list("abcdef")
    edges = [(names[i], names[j]) for i, j in EDGES]
    if form == "dicts":
        X, key = [{"id": name, "u": a, "v": b, "w": c} for name, (a, b, c) in zip(names, OWN.tolist())], "id"
    else:
        X, key = list(zip(names, OWN.tolist())), 0
    view = LinkedFeatures(edges, key=key, weighting=None, steps=2, restart=0.0)
    found = features(view.fit_rows(X[::-1]))[::-1]
    expected = plain(OWN, adjacency(), 2, 0.0)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-12)
    np.testing.assert_array_equal(features(view.transform(X[2:4])), found[2:4])


def test_new_nodes_bring_their_links():
    """The same as if they had been there from the beginning, with links and features of the others as they were."""
    names = list("abcdef")
    links = {"a": ["b", "c"], "b": "c, e", "d": ["e"]}
    X = [(name, row, links.get(name)) for name, row in zip(names, OWN.tolist())]
    options = {"key": 0, "links": 2, "weighting": None, "steps": 3, "restart": 0.1}
    whole = LinkedFeatures(**options)
    expected = features(whole.fit_rows(X))
    known = [x if x[0] != "d" else ("d", [0.0, 0.0, 0.0], None) for x in X]
    part = LinkedFeatures(**options).fit([x for x in known if x[0] != "d"])
    np.testing.assert_allclose(features(part.transform([X[3]])), expected[[3]], atol=1e-12)
    alone = features(part.transform([("z", [0.0, 3.0, 4.0], [])]))
    np.testing.assert_allclose(alone[:, :3], [[0, 0.6, 0.8]], atol=1e-12)  # and the constant of the node itself


def test_links_are_added_later():
    names, edges = list("abcdef"), [(a, b) for a, b in ("ab", "bc", "ca", "de", "eb")]
    X = list(zip(names, OWN.tolist()))
    options = {"key": 0, "weighting": None, "steps": 3, "restart": 0.1}
    expected = features(LinkedFeatures(edges, **options).fit_rows(X))
    view = LinkedFeatures(edges[:3], **options).fit([x for x in X if x[0] not in "de"])
    view.add_links(edges[3:])
    np.testing.assert_allclose(features(view.transform(X[3:5])), expected[3:5], atol=1e-12)
    with pytest.raises(InputError, match="edges has node '9'; without key=, nodes are those of fit, 0 to 5"):
        LinkedFeatures(EDGES).fit(OWN).add_links([(0, 9)])
    more = LinkedFeatures(EDGES[:3], weighting=None).fit(OWN).add_links(EDGES[3:])
    whole = LinkedFeatures(EDGES, weighting=None).fit_rows(OWN)
    np.testing.assert_allclose(features(more.transform(OWN)), features(whole), atol=1e-12)


def test_frames():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(
        {"id": list("abcdef"), "u": OWN[:, 0], "v": OWN[:, 1], "cites": ["b c", "", None, "e", "b", ""]}
    )
    view = LinkedFeatures(key="id", links="cites", steps=1, restart=0.0)
    rows = view.fit_rows(table)
    assert rows.n_rows == 6
    np.testing.assert_array_equal(view.graph_.toarray() > 0, adjacency(6, [(0, 1), (0, 2), (3, 4), (4, 1)]) > 0)
    with pytest.raises(InputError, match="no column 'cites'"):
        view.transform(table.drop(columns="cites"))


def test_words_are_weighted_and_directions_are_few():
    rng = np.random.default_rng(0)
    X = sp.csr_array((rng.random((40, 200)) < 0.03).astype(float))
    view = LinkedFeatures([(i, i + 1) for i in range(39)], steps=1, restart=0.0).fit(X)
    frequency = np.asarray((X.toarray() > 0).sum(axis=0))
    np.testing.assert_allclose(view.idf_[:200], np.log(40 / np.maximum(frequency, 1)) + 1e-3)
    assert not hasattr(LinkedFeatures(EDGES).fit(OWN), "idf_")
    few = LinkedFeatures([(0, 1)], n_components=5).fit(X)
    assert few.n_dims_ == 11
    assert few.feature_names([0, 6, 10]) == ["far:direction0", "near:direction1", "bias"]


def test_features_that_went_far_stand_beside_those_that_stayed_near():
    found = features(LinkedFeatures(EDGES, weighting=None).fit_rows(OWN))
    apart = [plain(OWN, adjacency(), 10, restart) for restart in (0.05, 0.3)]
    np.testing.assert_allclose(found @ found.T, sum(rows @ rows.T for rows in apart) / 2, atol=1e-12)


def test_what_there_is_to_choose():
    assert LinkedFeatures(EDGES, steps=2, restart=0.1).choices() == {}
    pairs = {name: (view.steps, view.restart) for name, view in LinkedFeatures(EDGES).choices().items()}
    assert pairs == {"no links": (0, 0.0), "two steps": (2, 0.0)}
    assert LinkedFeatures(EDGES, restart=0.2).choices()["two steps"].restart == 0.2


def test_saved_models(tmp_path):
    Y = ["a", "a", "a", "b", "b", None]
    model = Classifier(view=LinkedFeatures(EDGES, table=OWN, steps=2, restart=0.1), random_state=0).fit(range(6), Y)
    model.save(tmp_path / "m")
    loaded = accord.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict_proba([3, 5, 0]), model.predict_proba([3, 5, 0]))


@pytest.mark.parametrize(
    ("view", "X", "message"),
    [
        (LinkedFeatures([(0, 9)]), OWN, "edges has node '9', but nodes are 0 to 5"),
        (LinkedFeatures([(0, 1, -1.0)]), OWN, r"edges\[0\] has the weight -1"),
        (LinkedFeatures([0, 1]), OWN, r"edges\[0\] is 0"),
        (LinkedFeatures(7), OWN, "edges is 7"),
        (LinkedFeatures(np.ones((3, 4))), OWN, r"matrix of shape \(3, 4\)"),
        (LinkedFeatures(-adjacency()), OWN, "negative"),
        (LinkedFeatures(EDGES, steps=-1), OWN, "steps"),
        (LinkedFeatures(EDGES, restart=2.0), OWN, "restart"),
        (LinkedFeatures(EDGES, key="id"), [{"u": 1.0}], r"X\[0\] .* has no 'id'"),
        (LinkedFeatures(EDGES, key=0), [("a", [1.0]), ("a", [2.0])], "'a' twice"),
        (LinkedFeatures([("x", "y")], key=0), [("a", [1.0])], "edges has no node of X: it has 'x', 'y'"),
        (LinkedFeatures(EDGES, table=OWN), ["x"], "expected numbers of nodes"),
        (LinkedFeatures([("a", "b")], key=0), [("a", [["x", "y"], ["z"]])], "."),
    ],
)
def test_what_makes_no_sense(view, X, message):
    with pytest.raises(InputError, match=message):
        view.fit(X)


def test_other_nodes_than_those_of_fit():
    with pytest.raises(InputError, match="X has 2 inputs, and the graph 6 nodes"):
        LinkedFeatures(EDGES).fit(OWN).transform(OWN[:2])
    with pytest.raises(InputError, match="node '6', which fit did not have"):
        LinkedFeatures(EDGES, table=OWN).fit([0]).transform([6])


@pytest.mark.parametrize("text", ["", "a\n", "a b c d\n", "a b x\n"])
def test_files_without_links(tmp_path, text):
    (tmp_path / "links").write_text(text)
    with pytest.raises(FormatError, match="links"):
        read_links(tmp_path / "links")


def test_isolated_nodes_keep_their_own():
    own = np.eye(2)
    np.testing.assert_allclose(spread(sp.csr_array((2, 2)), own, 5, 0.2), own)
