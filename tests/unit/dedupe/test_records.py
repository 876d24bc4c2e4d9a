"""Comparisons of records by hand, guessed kinds, candidates, bad records."""

import datetime as dt
import math
import pickle

import numpy as np
import pytest
from record_cases import people
from row_tables import each_row

from accord import InputError, RecordPairs
from accord.dedupe.blocking import candidate_pairs
from accord.dedupe.values import cell_text, guess_kind, parse_date, parse_number, plain_words, says_day_first


def compared(view: RecordPairs, a: dict, b: dict) -> dict[str, float]:
    values = view.pairs([a, b])
    np.testing.assert_allclose(values, view.pairs([b, a]), rtol=1e-12)
    return dict(zip(view.names_, values[0].tolist()))


def test_ways_to_compare():
    """All features; and for each way to compare texts one feature of each, with other fields and what is missing."""
    view = RecordPairs({"n": "text", "z": "category", "t": "text"}).fit([[{"n": "a b", "z": "1", "t": "c"}]])
    everything, *ways = view.ways()
    assert everything.tolist() == list(range(len(view.names_)))
    kept = [
        "z: equal",
        "z: equal and rare",
        *(f"{f}: {m}" for f in "nzt" for m in ("one is missing", "both are missing")),
    ]
    seen = []
    for columns in ways:
        names = [view.names_[i] for i in columns]
        texts = [name for name in names if name not in kept]
        assert sorted(names) == sorted([*kept, *texts])
        whole = [name for name in texts if name.startswith("whole record: ")]
        texts = [name for name in texts if name not in whole]
        assert whole == [f"whole record: {texts[0][3:]}"] * (texts[0][3:] in ("rare words", "rare trigrams"))
        assert [name[0] for name in texts] == ["n", "t"]
        assert len({name[3:] for name in texts}) == 1
        seen.append(texts[0])
    assert len(set(seen)) == len(ways) > 1
    assert [one.tolist() for one in RecordPairs({"z": "category"}).fit([[{"z": "1"}]]).ways()] == [[0, 1, 2, 3]]


def test_text_by_hand():
    records = [{"n": text} for text in ("John Smith 12", "Smith, Jon 12", "john smith 12", "Ann Lee 7", "Bob Smith")]
    view = RecordPairs({"n": "text"}).fit([records])
    same = compared(view, records[0], records[2])
    assert same["n: equal"] == same["n: edits"] == same["n: words"] == same["n: trigrams"] == same["n: numbers"] == 1.0
    assert same["n: equal and rare"] == pytest.approx(math.log(5 / 2) / math.log(5))  # two of five records have it
    near = compared(view, records[0], records[1])
    assert near["n: equal"] == 0.0
    assert near["n: words"] == 2 / 4  # smith, 12 of john, smith, 12, jon
    assert near["n: numbers"] == 1.0
    # smith and 12 are there, jon is no spelling of john that counts: too short
    assert 0 < near["n: words aligned"] <= near["n: words contained"] < 1.0
    # rarity: john 2 of 5, smith 4, 12 3, jon 1; a cosine of squared weights
    w = {word: math.log(5 / n) / math.log(5) for word, n in (("john", 2), ("smith", 4), ("12", 3), ("jon", 1))}
    lengths = [math.sqrt(w["smith"] ** 2 + w["12"] ** 2 + w[word] ** 2) for word in ("john", "jon")]
    assert near["n: rare words"] == pytest.approx((w["smith"] ** 2 + w["12"] ** 2) / lengths[0] / lengths[1])
    far = compared(view, records[0], records[3])
    assert far["n: numbers"] == 0.0
    assert far["n: numbers differ"] == 1.0
    assert compared(view, records[0], records[4])["n: numbers differ"] == 0.0  # one has no number


def test_numbers_dates_and_categories_by_hand():
    records = [
        {"x": "100", "d": "1990-04-03", "c": "red"},
        {"x": 90, "d": "3 Apr 1990", "c": "Red"},
        {"x": "1000", "d": "1990-03-04", "c": "blue"},
        {"x": None, "d": "unknown", "c": float("nan")},
    ]
    view = RecordPairs({"x": "number", "d": "date", "c": "category"}).fit([records])
    one = compared(view, records[0], records[1])
    assert one["x: equal"] == 0.0
    assert one["x: close"] == pytest.approx(0.9)
    assert one["d: equal"] == one["d: close"] == one["d: same year"] == one["d: edits"] == 1.0
    assert one["d: day and month swapped"] == 0.0
    assert one["c: equal"] == 1.0
    other = compared(view, records[0], records[2])
    assert other["x: close"] == pytest.approx(0.1)
    assert other["d: day and month swapped"] == other["d: same year"] == 1.0
    assert other["d: same day and month"] == 0.0
    assert other["d: close"] == pytest.approx(math.exp(-30 / 30))
    assert other["c: equal"] == 0.0
    gone = compared(view, records[0], records[3])
    assert gone["x: one is missing"] == gone["c: one is missing"] == 1.0
    assert gone["d: one is missing"] == 0.0
    assert sum(value for name, value in gone.items() if name.startswith(("x", "c"))) == 2.0
    assert gone["d: close"] == gone["d: same year"] == 0.0
    both = compared(view, records[3], dict(records[3]))
    assert both["x: both are missing"] == 1.0
    assert both["x: one is missing"] == 0.0


@each_row(
    ("text", "date"),
    [
        ("1999-12-31", (1999, 12, 31)), ("19991231", (1999, 12, 31)), ("31.12.1999", (1999, 12, 31)),
        ("12/31/1999", (1999, 12, 31)), ("31-Dec-99", (1999, 12, 31)), ("December 31, 1999", (1999, 12, 31)),
        ("1999-12-31T10:00:00", (1999, 12, 31)), ("31 12 12", (2012, 12, 31)), ("1st Jan 2001", (2001, 1, 1)),
        ("1999-02-30", None), ("1999", None), ("13/13/1999", None), ("", None), ("12345678", None),
    ],
)  # fmt: skip
def test_dates(text, date):
    assert parse_date(text) == date


def test_columns_say_where_the_day_is():
    assert says_day_first(["3/4/1999", "25/4/1999"])
    assert not says_day_first(["3/4/1999", "4/25/1999"])
    assert parse_date("3/4/1999", day_first=False) == (1999, 3, 4)


def test_cells():
    assert [cell_text(v, "x") for v in (None, " ", float("nan"), 7.0, 0.5, np.int64(3), True)] == [
        None, None, None, "7", "0.5", "3", "True",
    ]  # fmt: skip
    assert cell_text(dt.date(2020, 1, 2), "x") == "2020-01-02"
    assert plain_words("Ｆｕｌｌ—Straße O'Neil") == "full strasse oneil"
    assert plain_words("北京 大学") == "北京 大学"
    assert parse_number("1,234.5") == 1234.5
    assert parse_number("1_000") is None
    assert parse_number("1e999") is None


def test_guessed_kinds():
    n = 40
    cells = {
        "row": [str(i) for i in range(n)],
        "amount": [str(37 * i % 11 * 10) for i in range(n)],
        "day": [f"{1 + i % 28}.{1 + i % 12}.1980" for i in range(n)],
        "state": ["ny" if i % 2 else "ca" for i in range(n)],
        "name": [f"name {i % 17} x" for i in range(n)],
        "constant": ["x"] * n,
        "empty": [None] * n,
    }
    records = [{name: column[i] for name, column in cells.items()} for i in range(n)]
    assert RecordPairs().fit([records]).fields_ == {
        "amount": "number", "day": "date", "state": "category", "name": "text",
    }  # fmt: skip
    assert guess_kind(["1", "2"]) == "number"
    assert guess_kind([]) is None


def test_interfaces_agree():
    records, _ = people(12)
    view = RecordPairs().fit([records[:10], records[10:]])
    pairs = view.pairs(records)
    assert pairs.shape == (len(records) * (len(records) - 1) // 2, len(view.names_))
    assert np.isfinite(pairs).all()
    assert pairs.min() >= 0
    assert pairs.max() <= 1
    square = view.between(records, records)
    j, k = np.tril_indices(len(records), -1)
    np.testing.assert_array_equal(square[j, k], pairs)
    weights = np.random.default_rng(0).normal(size=len(view.names_))
    np.testing.assert_allclose(view.scores(records, weights), pairs @ weights)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(view)).pairs(records), pairs)
    table = view.table(records[:5])
    for record in records[5:]:  # one by one or at once
        table.append([record])
    np.testing.assert_array_equal(table.compare(j, k), pairs)


def test_rows_of_a_frame():
    pandas = pytest.importorskip("pandas")
    records, _ = people(6)
    frame = pandas.DataFrame(records)
    view = RecordPairs({"name": "text", "born": "date"}).fit([frame])
    np.testing.assert_array_equal(view.pairs(frame), view.pairs(records))


def test_candidates_find_nearly_all_duplicates():
    records, ids = people(300, seed=3)
    view = RecordPairs().fit([records])
    table, ids = view.table(records), np.array(ids)
    left, right = candidate_pairs(table, 10)
    assert (left > right).all()
    assert len(set(zip(left, right))) == left.size <= 10 * len(records)
    same = np.equal.outer(ids, ids)[np.tril_indices(len(ids), -1)].sum()
    assert (ids[left] == ids[right]).sum() >= 0.96 * same
    later, earlier = candidate_pairs(table, 5, first=len(records) - 3)
    assert set(later) <= set(range(len(records) - 3, len(records)))
    assert (earlier < later).all()


def test_two_threads_find_the_same():
    records, _ = people(40)
    table = RecordPairs().fit([records]).table(records)
    for one, two in zip(candidate_pairs(table, 4), candidate_pairs(table, 4, n_jobs=2)):
        np.testing.assert_array_equal(one, two)


@each_row(
    ("fields", "sets", "message"),
    [
        (None, [["a record"]], r"sets\[0\]\[0\] is a str; expected a record"),
        (None, ["records"], r"sets\[0\] is a str"),
        (None, [[]], "there are no records"),
        (None, [[{"a": 1}, {"a": 1}]], "no field of the records tells them apart"),
        ({"a": "string"}, [[{"a": 1}]], "'string'; expected one of text, number, date, category"),
        ({"b": "text"}, [[{"a": 1}]], "fields names 'b', but no record has it"),
        ({}, [[{"a": 1}]], "expected a dict of field names"),
        ({"a": "text"}, [[{"a": "x"}, {"a": ["y"]}]], "field 'a' of record 1 is a list"),
    ],
)
def test_bad_records(fields, sets, message):
    with pytest.raises(InputError, match=message):
        RecordPairs(fields).fit(sets)


def test_a_bad_record_changes_nothing():
    view = RecordPairs({"a": "text", "b": "text"}).fit([[{"a": "x", "b": "y"}, {"a": "z", "b": "w"}]])
    table = view.table([{"a": "x", "b": "y"}])
    with pytest.raises(InputError):
        table.append([{"a": "fine", "b": {}}])
    assert len(table) == 1
    assert all(column.ids.size == 1 for column in table.columns.values())
