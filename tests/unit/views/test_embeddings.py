"""Pre-computed word vectors as features: dicts and files, unknown words, windows, saving."""

import gzip
import pickle
from pathlib import Path

import numpy as np
import pytest
from row_tables import each_row
from sklearn.base import clone

import accord
from accord import Sequence, StructuredPerceptron
from accord.exceptions import FormatError, InputError
from accord.views.embeddings import Embeddings

VECTORS = {"Rome": [3.0, 4.0], "rome": [0.0, 2.0], "runs": [-1.0, 0.0], "null": [0.0, 0.0], "rare": [5.0, 5.0]}
X = [["Rome", "runs", "?"], [], ["ROME", "null"]]
FILE = "Rome 3 4\nrome 0 2.0\nruns -1e0 0 \nnull 0 0\nrare 5 5\n"


def dense(rows):
    return rows.matrix().toarray()


def write(folder, text, name="vectors.txt"):
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return str(path)


def test_features_are_unit_vectors_times_the_scale():
    expected = [[0.6, 0.8, 0], [-1, 0, 0], [0, 0, 1], [0, 1, 0], [0, 0, 0]]
    np.testing.assert_allclose(dense(Embeddings(VECTORS, scale=1).fit_rows(X)), expected, atol=1e-7)
    expected = np.array(expected) * [2, 2, 1]  # the mark of unknown words is a mark, not a vector
    np.testing.assert_allclose(dense(Embeddings(VECTORS, scale=2).fit_rows(X)), expected, atol=1e-7)


def test_vectors_as_they_are():
    expected = [[3, 4, 0], [-1, 0, 0], [0, 0, 1], [0, 2, 0], [0, 0, 0]]
    np.testing.assert_allclose(dense(Embeddings(VECTORS, normalize=False, scale=1).fit_rows(X)), expected)


def test_without_lower_case():
    rows = dense(Embeddings(VECTORS, lowercase_fallback=False, scale=1).fit_rows(X))
    np.testing.assert_allclose(rows[3], [0, 0, 1])


def test_only_words_that_occur_are_kept():
    view = Embeddings(VECTORS, keep=0).fit(X)
    assert view.words_ == ["Rome", "rome", "runs", "null"]
    assert view.vectors_.shape == (4, 2)
    rows = dense(view.transform([["rare"], ["Null"], ["RUNS"]]))
    np.testing.assert_allclose(rows, [[0, 0, 1], [0, 0, 0], [-3, 0, 0]], atol=1e-6)
    view = Embeddings(VECTORS, keep_all=True, scale=1).fit(X)
    np.testing.assert_allclose(dense(view.transform([["rare"]])), [[0.5**0.5, 0.5**0.5, 0]], atol=1e-7)


@each_row("window", [1, (2, 0), (0, 1), 3])
def test_windows_are_those_of_a_slow_reference(window):
    before, after = (window, window) if isinstance(window, int) else window
    view = Embeddings(VECTORS, window=window, scale=1)
    rows = view.fit_rows(X)
    one = {token: row for x in X for token, row in zip(x, dense(Embeddings(VECTORS, scale=1).fit_rows([x])))}
    names = view.feature_names(range(view.n_dims_))
    places = [(x, t) for x in X for t in range(len(x))]
    for row, (x, t) in zip(dense(rows), places):
        expected = {}
        for shift in range(-before, after + 1):
            prefix = f"{shift:+d}:" if shift else "0:"
            inside = 0 <= t + shift < len(x)
            values = [*one[x[t + shift]], 0.0] if inside else [0.0, 0.0, 0.0, 1.0]
            expected.update({prefix + name: v for name, v in zip(["x0", "x1", "unknown", "boundary"], values)})
        assert dict(zip(names, row)) == pytest.approx(expected)
    found = rows.window()
    assert (found.size, found.before, found.outside) == (before + after + 1, before, 0)


def test_groups():
    view = Embeddings(VECTORS, window=1).fit(X)
    groups, names = view.feature_groups()
    assert [names[g] for g in groups] == ["vector"] * 6 + ["unknown"] * 3 + ["position"] * 3


@pytest.mark.parametrize("name", ["vectors.txt", "vectors.vec.gz"])
@pytest.mark.parametrize("header", ["", "5 2\n"])
@pytest.mark.parametrize("keep_all", [False, True])
def test_files(tmp_path, name, header, keep_all):
    path = write(tmp_path, header + FILE, name)
    expected = Embeddings(VECTORS, keep_all=keep_all).fit(X)
    for given in (path, Path(path)):
        view = Embeddings(given, keep_all=keep_all).fit(X)
        assert view.words_ == expected.words_
        np.testing.assert_array_equal(view.vectors_, expected.vectors_)


def test_odd_files(tmp_path):
    text = "a 1 2\n. . 3 4\n\n\xa0 5 6\nb\t7\t8\r\na 9 9\n"
    view = Embeddings(write(tmp_path, text), normalize=False, scale=1, keep_all=True).fit([["a"]])
    assert view.words_ == ["a", ". .", "\xa0", "b"]
    np.testing.assert_array_equal(view.vectors_, [[1, 2], [3, 4], [5, 6], [7, 8]])
    view = Embeddings(write(tmp_path, text), normalize=False, scale=1, keep=0).fit([[". .", "b", "."]])
    assert view.words_ == [". .", "b"]


@each_row(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
        ("Rome 1 2\nruns 1\n", r"vectors.txt, line 2: a word with 1 numbers; expected a word with 2 numbers"),
        ("2 3\nRome 1 2\n", r"line 2: a word with 2 numbers; expected a word with 3 numbers"),
        ("Rome\n", "line 1: a word with 0 numbers"),
        ("x 1 2\nRome 1 two\n", r"line 2: the vector of 'Rome' is not made of numbers .*'two'"),
        ("x 1 2\nRome 1 nan\n", r"line 2: the vector of 'Rome' has a number that is not finite"),
    ],
)
def test_errors_of_files_name_the_line(tmp_path, text, message):
    with pytest.raises(FormatError, match=message):
        Embeddings(write(tmp_path, text)).fit(X)


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        Embeddings(str(tmp_path / "none.txt")).fit(X)


@each_row(
    ("vectors", "message"),
    [
        (None, "vectors is None.*give them again"),
        ([1.0], r"vectors is \[1.0\]"),
        ({}, "vectors has no numbers"),
        ({"Rome": []}, "vectors has no numbers"),
        ({"Rome": [1.0, 2.0], "runs": [1.0]}, r"vectors\['runs'\] is \[1.0\] of type list; expected 2 finite numbers"),
        ({"Rome": [1.0, np.inf]}, r"vectors\['Rome'\]"),
        ({"Rome": ["one"]}, r"vectors\['Rome'\] is \['one'\]"),
    ],
)
def test_bad_vectors(vectors, message):
    with pytest.raises(InputError, match=message):
        Embeddings(vectors).fit(X)


def test_a_key_that_is_no_word():
    with pytest.raises(InputError, match="vectors has the key 7 of type int"):
        Embeddings({7: [1.0]}, keep_all=True).fit(X)


@each_row(
    ("parameters", "message"),
    [({"window": -1}, "window is -1"), ({"scale": -1.0}, "scale is -1.0"), ({"scale": True}, "scale is True")],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(InputError, match=message):
        Embeddings(VECTORS, **parameters).fit(X)


@each_row("empty", [[], [[]]])
def test_no_text(empty):
    view = Embeddings(VECTORS, keep=0)
    assert view.fit_rows(empty).n_rows == 0
    assert dense(view.transform([["Rome"]])).tolist() == [[0.0, 0.0, 1.0]]


def test_clones_share_the_vectors():
    view = Embeddings(VECTORS, window=1).fit(X)
    copy = clone(view)
    assert copy.vectors is VECTORS
    assert copy.get_params() == view.get_params()
    assert not hasattr(copy, "words_")
    assert clone(Embeddings("a.txt")).set_params(vectors=VECTORS).vectors is VECTORS
    assert clone(Embeddings(VECTORS)).set_params(vectors="a.txt").vectors == "a.txt"


@pytest.mark.parametrize("as_file", [False, True])
def test_pickle(tmp_path, as_file):
    given = write(tmp_path, FILE) if as_file else VECTORS
    unfitted = pickle.loads(pickle.dumps(Embeddings(given, window=1)))  # as processes of a grid search get it
    assert unfitted.vectors == given
    view = Embeddings(given, window=1).fit(X)
    copy = pickle.loads(pickle.dumps(view))
    assert copy.get_params() == view.get_params()
    np.testing.assert_array_equal(dense(copy.transform(X)), dense(view.transform(X)))
    np.testing.assert_array_equal(dense(copy.fit_rows(X[:1])), dense(unfitted.fit_rows(X[:1])))


@pytest.mark.parametrize("as_file", [False, True])
def test_model_files_hold_the_needed_vectors_only(tmp_path, as_file):
    many = {**VECTORS, **{f"w{i}": [1.0, float(i)] for i in range(5000)}}
    text = "".join(f"{word} {a} {b}\n" for word, (a, b) in many.items())
    given = write(tmp_path, text) if as_file else many
    Y = [["LOC", "O", "O"], [], ["LOC", "O"]]
    model = StructuredPerceptron(Sequence(), view=Embeddings(given, window=1, keep=0), random_state=0).fit(X, Y)
    model.save(tmp_path / "model.accord")
    assert (tmp_path / "model.accord").stat().st_size < 20_000
    loaded = accord.load(tmp_path / "model.accord")
    new = [["rome", "new", "runs"]]
    np.testing.assert_array_equal(loaded.decision_function(new)[0], model.decision_function(new)[0])
    assert loaded.predict(X) == Y
    assert loaded.view_.vectors == (given if as_file else None)


def test_fitting_again_forgets():
    view = Embeddings(VECTORS, window=1).fit(X)
    view.transform(X)
    again = [["rare", "Rome"]]
    np.testing.assert_array_equal(dense(view.fit_rows(again)), dense(Embeddings(VECTORS, window=1).fit_rows(again)))
    n_dims = view.n_dims_
    np.testing.assert_array_equal(dense(view.extend_rows(X)), dense(view.transform(X)))
    assert view.n_dims_ == n_dims
