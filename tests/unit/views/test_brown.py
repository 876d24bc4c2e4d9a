"""Brown clusters as features: dicts, files of other tools, unknown words, windows, saving."""

import gzip
import json

import numpy as np
import pytest
from sklearn.base import clone

import accord
from accord import CRF, Sequence
from accord.exceptions import FormatError, InputError
from accord.views.brown import BrownClusters

PATHS = {"monday": "01101", "friday": "0111", "Runs": "10", "runs": "110", "x": "0"}
X = [["Monday", "Runs", "?"], [], ["RUNS", "x"]]


def named(view, rows):
    """The names of the features that each row has."""
    names = np.array(view.feature_names(range(view.n_dims_)))
    return [set(names[row != 0]) for row in rows.matrix().toarray()]


def expected_of(path, lengths):
    return {f"0:cluster={path[:n]}" for n in lengths} if path else {"0:unknown"}


@pytest.mark.parametrize("lengths", [(1,), (2, 4), (4, 2, 20), (3, 3)])
def test_features_are_the_beginnings_of_paths(lengths):
    view = BrownClusters(PATHS, lengths)
    paths = ["01101", "10", None, "110", "0"]
    assert named(view, view.fit_rows(X)) == [expected_of(path, lengths) for path in paths]


def test_equal_beginnings_of_different_lengths_are_features_of_their_own():
    view = BrownClusters({"a": "01", "b": "010"}, (2, 3), scale=2.0)
    np.testing.assert_array_equal(view.fit_rows([["a", "b"]]).matrix().toarray(), [[2, 2, 0, 0], [2, 0, 2, 0]])


def test_all_words_are_kept_or_those_of_fit():
    view = BrownClusters(PATHS, (20,)).fit(X)
    assert named(view, view.transform([["Friday"]])) == [{"0:cluster=0111"}]
    assert view.words_ == list(PATHS)
    view = BrownClusters(PATHS, keep_all=False).fit(X)
    assert view.words_ == ["monday", "Runs", "runs", "x"]
    assert named(view, view.transform([["friday"]])) == [{"0:unknown"}]


def test_windows():
    view = BrownClusters(PATHS, (1,), window=1)
    found = named(view, view.fit_rows(X))
    assert found[1] == {"-1:cluster=0", "0:cluster=1", "+1:unknown"}
    assert found[4] == {"-1:cluster=1", "0:cluster=0", "+1:boundary"}


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_files_of_liangs_program(tmp_path, pack):
    path = tmp_path / "paths"
    path.write_bytes(pack(b"0110\tmonday\t12\n0111\tla semana\t3\n1\tmonday\t1\n\n"))
    view = BrownClusters(str(path), (20,)).fit(X)
    assert dict(zip(view.words_, view.paths_)) == {"monday": "0110", "la semana": "0111"}


def test_numbers_have_the_first_bit_lowest(tmp_path):
    for name, pack in (("c.json", bytes), ("c.json.gz", gzip.compress)):
        path = tmp_path / name
        path.write_bytes(pack(json.dumps({"monday": 0b0110, "friday": 0b1110, ",": 0}).encode()))
        view = BrownClusters(str(path), (3,)).fit(X)
        assert dict(zip(view.words_, view.paths_)) == {"monday": "011", "friday": "0111"}


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("", "paths", "is empty"),
        ("01\ta\n2\tb\n", "paths", "line 2: .*not a path of bits"),
        ("01\n", "paths", "line 1: .*not a path of bits"),
        ("[1]", "c.json", "not a dict"),
        ("{", "c.json", "not JSON"),
    ],
)
def test_files_that_are_none(tmp_path, text, name, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(FormatError, match=message):
        BrownClusters(str(tmp_path / name)).fit(X)


@pytest.mark.parametrize(
    ("view", "message"),
    [
        (BrownClusters(None), "clusters is None"),
        (BrownClusters({}), "clusters has no words"),
        (BrownClusters({"a": "012"}), r"clusters\['a'\] is '012'"),
        (BrownClusters({"a": -1}), r"clusters\['a'\] is -1"),
        (BrownClusters(PATHS, ()), r"prefixes is \(\)"),
        (BrownClusters(PATHS, (0,)), r"prefixes is \(0,\)"),
        (BrownClusters(PATHS, scale=0.0), "scale"),
    ],
)
def test_what_makes_no_sense(view, message):
    with pytest.raises(InputError, match=message):
        view.fit(X)


def test_saved_models_know_their_clusters(tmp_path):
    Y = [["D", "V", "P"], [], ["V", "D"]]
    view = BrownClusters(PATHS, window=1)
    assert clone(view).clusters is PATHS
    model = CRF(Sequence(), view).fit(X, Y)
    model.save(tmp_path / "model")
    loaded = accord.load(tmp_path / "model")
    assert loaded.view_.clusters is None
    new = [["Friday", "runs"]]
    np.testing.assert_array_equal(
        loaded.view_.transform(new).matrix().toarray(), model.view_.transform(new).matrix().toarray()
    )
    assert loaded.predict(new) == model.predict(new)
