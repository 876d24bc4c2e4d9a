"""DictFeatures: CRFsuite's conventions, growth, errors."""

import numpy as np
import pytest
from row_tables import each_row

from accord import DictFeatures
from accord.exceptions import InputError


def as_dicts(view, rows):
    matrix = rows.matrix()
    out = []
    for a, b in zip(matrix.indptr[:-1], matrix.indptr[1:]):
        out.append(dict(zip(view.feature_names(matrix.indices[a:b]), matrix.data[a:b].tolist())))
    return out


def test_values_mean_what_crfsuite_means():
    token = {
        "word": "Tom",
        "length": 3,
        "score": -0.5,
        "upper": True,
        "digit": False,
        "zero": 0.0,
        "count": np.int64(2),
        "flag": np.bool_(True),
        "tags": ["a", "b"],
        "near": {"word": "x", "deep": {"n": 4.0}},
    }
    expected = {
        "word=Tom": 1.0,
        "length": 3.0,
        "score": -0.5,
        "upper": 1.0,
        "count": 2.0,
        "flag": 1.0,
        "tags:a": 1.0,
        "tags:b": 1.0,
        "near:word=x": 1.0,
        "near:deep:n": 4.0,
    }
    view = DictFeatures()
    assert as_dicts(view, view.fit_rows([[token]])) == [expected]


def test_strings_are_not_parsed_and_count_as_often_as_they_occur():
    view = DictFeatures()
    rows = view.fit_rows([[["a:0.5", "b", "b"], ("b",)], [{"c"}, []]])
    assert as_dicts(view, rows) == [{"a:0.5": 1.0, "b": 2.0}, {"b": 1.0}, {"c": 1.0}, {}]
    assert list(rows.offsets) == [0, 2, 4]


def test_one_feature_however_it_is_written():
    view = DictFeatures()
    view.fit([[{"a": "b"}, ["a=b"], {"a=b": 2.0}]])
    assert view.names_ == ["a=b"]


def test_one_dict_per_input():
    view = DictFeatures()
    rows = view.fit_rows([{"a": 1}, {"b": 2.0, "a": 3}])
    assert list(rows.offsets) == [0, 1, 2]
    assert rows.matrix().toarray().tolist() == [[1.0, 0.0], [3.0, 2.0]]


def test_one_list_of_strings_per_input():
    view = DictFeatures()
    rows = view.fit_rows([[], ["a", "b"], ("b", "b"), {"c": 2.0}])
    assert as_dicts(view, rows) == [{}, {"a": 1.0, "b": 1.0}, {"b": 2.0}, {"c": 2.0}]
    assert list(rows.offsets) == [0, 1, 2, 3, 4]


def test_unknown_features_are_ignored():
    view = DictFeatures().fit([[{"a": "x", "n": 2}]])
    rows = view.transform([[{"a": "y", "n": 5.0}, {"a": "x"}], [["a=x", "nope"]]])
    assert as_dicts(view, rows) == [{"n": 5.0}, {"a=x": 1.0}, {"a=x": 1.0}]
    assert rows.n_dims == view.n_dims_ == 2


def test_growth_keeps_numbers():
    view = DictFeatures(window=1)
    view.fit([[{"a": "x"}, {"b": 1}]])
    before = view.feature_names(range(view.n_dims_))
    rows = view.extend_rows([[{"a": "y"}, {"b": 2}]])
    assert view.feature_names(range(len(before))) == before
    assert as_dicts(view, rows) == [
        {"-1:boundary": 1.0, "0:a=y": 1.0, "+1:b": 2.0},
        {"-1:a=y": 1.0, "0:b": 2.0, "+1:boundary": 1.0},
    ]
    grown = DictFeatures(window=1)
    grown.extend_rows([[{"a": "x"}, {"b": 1}]])
    assert grown.n_dims_ == len(before)


def test_a_failed_call_changes_nothing():
    view = DictFeatures().fit([[{"a": "x"}]])
    with pytest.raises(InputError):
        view.extend_rows([[{"new": "y"}, {"bad": None}]])
    view.extend_rows([[{"b": "z"}]])
    assert view.names_ == ["a=x", "b=z"]


def test_window_has_its_own_boundary():
    view = DictFeatures(window=(1, 0))
    rows = view.fit_rows([[["boundary"], ["c"]]])
    assert rows.matrix().toarray().tolist() == [[1, 0, 0, 1, 0, 0], [0, 0, 1, 0, 0, 1]]


@each_row("empty", [[], [[]], [[], []]])
def test_nothing_to_learn_from(empty):
    rows = DictFeatures().fit_rows(empty)
    assert (rows.n_rows, rows.n_inputs, rows.n_dims) == (0, len(empty), 0)


@each_row(
    ("bad", "message"),
    [
        ([[{"a": 1}, "word"]], r"X\[0\]\[1\] is 'word' of type str.*TokenFeatures"),
        ([[{"a": 1}], "word"], r"X\[1\] is 'word'"),
        ([["a"], "word"], r"X\[1\] is 'word'"),
        ([["a"], [{"b": 1}]], r"X\[1\] has \{'b': 1\} of type dict"),
        ([[["a", 3]]], r"X\[0\]\[0\] has 3 of type int in a list of features"),
        ([[["a"], ["b", {"c": 1}]]], r"X\[0\]\[1\] has \{'c': 1\} of type dict"),
        ([[{"a": 1}], [{"b": float("nan")}]], r"X\[1\]\[0\]\['b'\] is nan; features must be finite"),
        ([[{"b": float("inf")}]], r"X\[0\]\[0\]\['b'\] is inf"),
        ([[{"b": None}]], r"X\[0\]\[0\]\['b'\] is None"),
        ([[{"b": 1j}]], r"X\[0\]\[0\]\['b'\] is 1j of type complex"),
        ([[{3: "b"}]], r"X\[0\]\[0\] has the feature name 3 of type int"),
        ([[{"a": ["b", 3]}]], r"X\[0\]\[0\]\['a'\] has 3 of type int"),
        ([[{"a": {"b": float("nan")}}]], r"X\[0\]\[0\]\['a:b'\] is nan"),
        ([[3.5]], r"X\[0\]\[0\] is 3.5 of type float"),
        ([{"a": 1}, [{"a": 1}]], r"X\[1\] has \{'a': 1\} of type dict in a list of features"),
        ([{"a": 1}, 3], r"X\[1\] is 3 of type int"),
        ([[{"a": 1}], {"a": 1}], r"X\[1\] is \{'a': 1\} of type dict"),
        ("text", r"X is 'text'"),
        ({"a": 1}, r"X is \{'a': 1\} of type dict"),
        ([None], r"X\[0\] is None"),
    ],
)
def test_bad_features(bad, message):
    for use in (DictFeatures().fit, DictFeatures().fit([[{"a": 1}]]).transform):
        with pytest.raises(InputError, match=message):
            use(bad)
