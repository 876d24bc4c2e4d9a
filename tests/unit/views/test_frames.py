"""Columns and tables of pandas, polars and Arrow: what learners make of them is what they make of plain lists."""

import datetime

import numpy as np
import pandas as pd
import pytest

import accord
from accord import RLSR, Classifier, InputError, StructuredPerceptron, Tagger
from accord.views.frames import Frame, as_plain, frame_dicts, text_columns

N = 24
SOME = [["up", "down"][i % 2] if i < 7 else None for i in range(N)]  # too few to compare anything on
TEXTS = [f"{'rise high fly' if i % 2 == 0 else 'fall low sink'} says number {i}" for i in range(N)]
NUMBERS = {"size": [float(i % 2) + i / 100 for i in range(N)], "age": [float(i % 5) for i in range(N)]}
MIXED = {
    "size": [None, *NUMBERS["size"][1:]],
    "town": ["Rome" if i % 3 else None for i in range(N)],
    "note": [*TEXTS[:5], None, *TEXTS[6:]],
    "new": [i % 2 == 0 for i in range(N)],
}


def polars():
    return pytest.importorskip("polars")


def arrow():
    return pytest.importorskip("pyarrow")


def own(table):
    """The class that tables of polars and Arrow become."""
    arrays = {name: np.array(values, float if name in ("size", "age") else object) for name, values in table.items()}
    return Frame({**arrays, "new": np.array(table["new"], float)} if "new" in table else arrays)


TABLES = {
    "pandas": pd.DataFrame,
    "frame": own,
    "polars": lambda table: polars().DataFrame(table),
    "lazy": lambda table: polars().LazyFrame(table),
    "arrow": lambda table: arrow().table(table),
}
COLUMNS = {
    "pandas": pd.Series,
    "pandas string": lambda values: pd.Series(values, dtype="string"),
    "polars": lambda values: polars().Series(values),
    "arrow": lambda values: arrow().array(values),
    "arrow, chunks": lambda values: arrow().chunked_array([values[:3], values[3:]]),
}
each_table = pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
each_column = pytest.mark.parametrize("make", COLUMNS.values(), ids=COLUMNS)


def learned(X, y):
    return Classifier(learn_unlabeled="always", random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def expected():
    """Scores of the mixed table as pandas has it."""
    return learned(pd.DataFrame(MIXED), SOME).decision_function(pd.DataFrame(MIXED))


@each_column
def test_columns_of_texts_and_labels(make):
    expected = learned(TEXTS, SOME)
    model = learned(make(TEXTS), make(SOME))
    np.testing.assert_array_equal(model.decision_function(make(TEXTS)), expected.decision_function(TEXTS))
    assert model.score(make(TEXTS), make(SOME)) == expected.score(TEXTS, SOME)
    assert model.transduction_ == expected.transduction_


@each_table
def test_tables_of_numbers(make):
    matrix = np.column_stack(list(NUMBERS.values()))
    expected = learned(matrix, SOME)
    model = learned(make(NUMBERS), SOME)
    np.testing.assert_allclose(model.decision_function(make(NUMBERS)), expected.decision_function(matrix))
    assert model.feature_names_in_.tolist() == ["size", "age"]
    targets = [None if i % 4 == 0 else 2.0 * x for i, x in enumerate(NUMBERS["size"])]
    found = RLSR().fit(make(NUMBERS), targets).predict(make(NUMBERS))
    np.testing.assert_allclose(found, RLSR().fit(matrix, targets).predict(matrix))


@each_table
def test_tables_of_texts_words_and_numbers(make, expected, tmp_path):
    model = learned(make(MIXED), SOME)
    assert model.view_.view_names() == ["note", "other columns"]
    assert model.feature_names_in_.tolist() == list(MIXED)
    assert np.mean(model.predict(make(MIXED)) == np.array(["up", "down"] * (N // 2))) > 0.9
    np.testing.assert_allclose(model.decision_function(make(MIXED)), expected)
    model.save(tmp_path / "m.accord")
    loaded = accord.load(tmp_path / "m.accord")
    np.testing.assert_array_equal(loaded.predict(make(MIXED)), model.predict(make(MIXED)))
    few = {name: values[7:9] for name, values in MIXED.items()}  # whose look says nothing about the kinds of columns
    np.testing.assert_allclose(model.decision_function(make(few)), expected[7:9])


def test_columns_of_tokens():
    X, Y = [["Ana", "left"], ["Tom", "saw", "Rome"]], [["PER", "O"], ["PER", "O", "LOC"]]
    expected = Tagger(random_state=0).fit(X, Y)
    for make in (pd.Series, lambda values: polars().Series(values), lambda values: arrow().array(values)):
        model = Tagger(random_state=0).fit(make(X), make(Y))
        assert model.predict(make(X)) == expected.predict(X)


def test_dicts_with_texts_get_the_same_views():
    rows = [{"note": text, "n": i} for i, text in enumerate(TEXTS)]
    assert text_columns(rows) == (["note"], ["n"])
    assert learned(rows, SOME).view_.view_names() == ["note", "other columns"]
    named = [{"word": "Rome", "n": i} for i in range(N)]
    assert text_columns(named) == ([], ["word", "n"])


def test_rows_of_a_frame_leave_out_what_is_missing():
    day = datetime.date(2020, 5, 1)
    frame = pd.DataFrame({"a": [1.5, np.nan], "b": ["x", pd.NA], "c": [None, day], "d": [True, False]})
    assert frame_dicts(frame) == [{"a": 1.5, "b": "x", "d": True}, {"c": "2020-05-01", "d": False}]


def test_what_is_plain_stays_as_it_is():
    for X in ([1], (1,), np.ones(2), pd.Series([1]), pd.DataFrame({"a": [1]}), None, "text"):
        assert as_plain(X) is X


def test_missing_texts_and_numbers_are_named():
    with pytest.raises(InputError, match=r"X\[1\] is None of type NoneType; expected a text"):
        StructuredPerceptron(accord.MultiClass()).fit(pd.Series(["a b", None, "c"], dtype=object), ["x", "y", "x"])
    with pytest.raises(InputError, match="row 1, column 'size', that is nan"):
        Classifier().fit(own({"size": [1.0, np.nan]}), ["x", "y"])
