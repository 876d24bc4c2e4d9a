"""Loaders of the sets with a number to predict, with a small folder made up here."""

import gzip

import numpy as np
import pytest

from accord.datasets import available, load
from accord.datasets.numbers import MAX_NOMINAL
from accord.exceptions import FormatError, InputError


def write(path, X, attribute, missing=None, y=None):
    X = np.array(X, float)
    path.parent.mkdir(exist_ok=True)
    np.savez(
        path,
        X=X,
        y=np.arange(len(X)) if y is None else y,
        missing=np.empty((0, 0), np.uint8) if missing is None else np.packbits(np.array(missing, bool), axis=1),
        columns=np.array([f"c{j}" for j in range(X.shape[1])]),
        column_attribute=np.array(attribute, np.int32),
    )


def test_a_regression_set(tmp_path):
    write(tmp_path / "regression" / "housing.npz", [[1, 0, 5], [0, 1, 6]], [0, 0, 1], y=[2.5, -1.0])
    found = load("regression", tmp_path, part="housing", extra=True)
    np.testing.assert_array_equal(found.X, [[1, 0, 5], [0, 1, 6]])
    np.testing.assert_array_equal(found.Y, [2.5, -1.0])
    assert found.extra["attribute"].tolist() == [0, 0, 1]
    assert found.extra["columns"].tolist() == ["c0", "c1", "c2"]
    assert found.split.tolist() == ["housing"] * 2
    assert load("regression", tmp_path, part="housing").extra == {}
    assert available(tmp_path) == ["regression"]


@pytest.mark.parametrize("part", ["train", "all", "nowhere"])
def test_regression_sets_are_named(tmp_path, part):
    with pytest.raises(
        InputError, match=rf"part='{part}' does not exist for regression; choose from 2dplanes, abalone"
    ):
        load("regression", tmp_path, part=part)


def test_an_absent_regression_set(tmp_path):
    (tmp_path / "regression").mkdir()
    with pytest.raises(InputError, match=r"wine\.npz .* is missing"):
        load("regression", tmp_path, part="wine")


def test_numbers_that_do_not_fit_together(tmp_path):
    write(tmp_path / "regression" / "wine.npz", [[1, 0], [0, 1]], [0], y=[1.0, 2.0])
    with pytest.raises(FormatError, match=r"shape \(2, 2\) but there are 2 targets, 2 names and 1 attribute numbers"):
        load("regression", tmp_path, part="wine")


def test_donations_have_indicators_of_missing_numbers(tmp_path):
    # column 0 lacks a value; columns 1 and 2 are one nominal attribute, which has no indicator
    missing = [[1, 0, 0], [0, 1, 1], [0, 0, 0]]
    write(tmp_path / "kdd98_proxy" / "pva97nk.npz", [[4, 1, 0], [2, 0, 1], [6, 0, 1]], [0, 1, 1], missing)
    found = load("kdd98_proxy", tmp_path, extra=True)
    np.testing.assert_array_equal(found.X, [[4, 1, 0, 1], [2, 0, 1, 0], [6, 0, 1, 0]])
    assert found.extra["attribute"].tolist() == [0, 1, 1, 0]
    assert found.extra["columns"].tolist() == ["c0", "c1", "c2", "c0 is missing"]


LEARNING_FILE = """ODATEDW,STATE,CONTROLN,ZIP,AGE,TARGET_B,TARGET_D,EMPTY
8901,CA,10,Z0,60,0,0,
9401, NY,11,Z1,,1,12.5,
9001,,12,Z2,40,0,0,
8701,CA,13,Z3,,0,0,
"""


def test_the_learning_file_is_coded_as_in_the_thesis(tmp_path):
    (tmp_path / "kdd98").mkdir()
    (tmp_path / "kdd98" / "cup98LRN.txt").write_text(LEARNING_FILE)
    found = load("kdd98", tmp_path, extra=True)
    zips = [f"ZIP=Z{k}" for k in range(4)]
    assert found.extra["columns"].tolist() == ["ODATEDW", "STATE=CA", "STATE=NY", *zips, "AGE", "AGE is missing"]
    assert found.extra["attribute"].tolist() == [0, 1, 1, 2, 2, 2, 2, 3, 3]
    expected = [
        [8901, 1, 0, 1, 0, 0, 0, 60, 0],
        [9401, 0, 1, 0, 1, 0, 0, 50, 1],
        [9001, 0, 0, 0, 0, 1, 0, 40, 0],
        [8701, 1, 0, 0, 0, 0, 1, 50, 1],
    ]
    np.testing.assert_array_equal(found.X.toarray(), expected)
    np.testing.assert_array_equal(found.Y, [0, 12.5, 0, 0])


def test_nominal_attributes_with_many_values_are_left_out(tmp_path):
    folder = tmp_path / "kdd98"
    folder.mkdir()
    for n in (MAX_NOMINAL - 1, MAX_NOMINAL):
        rows = "".join(f"z{k},{k},{k}\n" for k in range(n))
        with gzip.open(folder / "cup98LRN.txt.gz", "wt") as file:
            file.write("ZIP,AGE,TARGET_D\n" + rows)
        assert load("kdd98", tmp_path).X.shape == (n, 1 + (n if n < MAX_NOMINAL else 0))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("AGE,STATE\n1,CA\n", "there is no column 'TARGET_D'"),
        ("AGE,TARGET_D\n1\n", "line 2: expected 2 values, found 1|expected 2 values, found 1"),
        ("AGE,TARGET_D\n1,much\n", "'TARGET_D' has a value that is no number"),
        ("CONTROLN,TARGET_D\n1,2\n", "no attribute that can be used"),
    ],
)
def test_learning_files_that_cannot_be_used(tmp_path, text, message):
    (tmp_path / "kdd98").mkdir()
    (tmp_path / "kdd98" / "cup98LRN.txt").write_text(text)
    with pytest.raises(FormatError, match=message):
        load("kdd98", tmp_path)
