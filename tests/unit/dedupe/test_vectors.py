"""Fields of vectors, such as an encoder makes of texts."""

import numpy as np
import pytest
from record_cases import people

import accord
from accord import Deduplicator, InputError, RecordPairs
from accord.dedupe.few_pairs import FewPairs
from accord.dedupe.values import cell_text, guess_kind
from accord.dedupe.vectors import parse_vector
from accord.evaluation.clusters import pair_counts


@pytest.fixture(scope="module")
def table():
    """People whose names say nothing, and a vector that does; some have none."""
    records, ids = people(30, seed=0)
    rng = np.random.default_rng(0)
    means = rng.normal(size=(max(ids) + 1, 12))
    records = [{"name": f"{record['name'].split()[0]}", "city": ["Bonn", "Ulm", "Kiel"][k % 3]} for k, record in
               enumerate(records)]  # fmt: skip
    for k, (record, who) in enumerate(zip(records, ids)):
        record["meaning"] = None if k % 11 == 0 else means[who] + 0.2 * rng.normal(size=12)
    return records, ids


def test_cells_of_vectors():
    assert cell_text([1, 2.5], "it") == cell_text(np.array([1, 2.5]), "it") == cell_text((1.0, 2.5), "it") == "1 2.5"
    for bad in ([], [1.0], [1.0, float("nan")], ["a", "b"], [[1.0], [2.0]], [1.0, None]):
        with pytest.raises(InputError, match="it is a list; expected text, a number, a date, a vector of"):
            cell_text(bad, "it")
    with pytest.raises(InputError, match="it is a ndarray; expected text"):
        cell_text(np.zeros((2, 2)), "it")
    for text in ("3 4", "[3.0, 4]", "(3,4)", "+3e0 4."):
        np.testing.assert_allclose(parse_vector(text), [0.6, 0.8], rtol=1e-6)
    for none in ("3", "3 4 a", "", "0 0", "3-4", "1" * 50 + "x", "1 " * 30 + "x"):
        assert parse_vector(none) is None


def test_they_are_guessed():
    eight = [" ".join(str(k + i) for i in range(8)) for k in range(5)]
    assert guess_kind(eight) == "vector"
    assert guess_kind([*eight, "1 2 3"]) == "text"
    assert guess_kind(["1.5 2.5 3.5", "4 5 6"]) == "text"


def test_pairs_are_compared_by_cosines(table):
    records, _ = table
    view = RecordPairs().fit([records])
    assert view.fields_["meaning"] == "vector"
    assert not view.word_counts_["meaning"]
    packed, n = view.table(records), len(records)
    left, right = np.tril_indices(n, -1)
    found = packed.compare(left, right)
    x = np.array([np.zeros(12) if one["meaning"] is None else one["meaning"] for one in records])
    length = np.maximum(np.linalg.norm(x, axis=1), 1e-9)
    expected = np.maximum((x @ x.T) / length / length[:, None], 0.0)[left, right]
    np.testing.assert_allclose(found[:, view.names_.index("meaning: close")], expected, atol=1e-4)
    without = RecordPairs({name: kind for name, kind in view.fields_.items() if kind != "vector"}).fit([records])
    for name in without.names_:  # also of the whole record, which they are no part of
        np.testing.assert_array_equal(
            found[:, view.names_.index(name)],
            without.table(records).compare(left, right)[:, without.names_.index(name)],
        )
    cells = list(zip(*view.plain_cells(records).values()))
    for i in (0, 1, 5):
        others = [k for k in range(n) if k != i]
        few = FewPairs(view).compare(cells[i], [cells[k] for k in others])
        np.testing.assert_allclose(few, packed.compare(np.full(n - 1, i), np.array(others)), atol=1e-9)


def test_other_lengths_and_no_vectors_are_unlike():
    records = [{"a": "x y", "m": one} for one in ("1 2 3", "1 2 3", "1 2", "2 4 6", "none", "0 0 0")]
    view = RecordPairs({"a": "text", "m": "vector"}).fit([records])
    found = view.table(records).compare(np.arange(1, 6), np.zeros(5, int))
    close, equal = (found[:, view.names_.index(f"m: {name}")] for name in ("close", "equal"))
    np.testing.assert_allclose(close, [1, 0, 1, 0, 0], atol=1e-6)
    assert equal.tolist() == [1, 0, 0, 0, 0]


def test_they_decide_where_names_do_not(table, tmp_path):
    records, ids = table
    model = Deduplicator(calibrate=False).fit(records, [one if one < 15 else None for one in ids])
    found = np.array(model.predict(records))
    known = [one if one < 15 else None for one in ids]
    without = Deduplicator({"name": "text", "city": "category"}, calibrate=False).fit(records, known).predict(records)
    with_them, alone = (pair_counts(np.array(ids), np.array(one)).f1 for one in (found, without))
    assert with_them > alone + 0.2
    model.save(tmp_path / "m")
    again = accord.load(tmp_path / "m")
    assert again.predict(records) == found.tolist()
    assert again.predict_chunks([records[:20], records[20:]], tmp_path / "w").tolist() == found.tolist()
    index = model.index(records[:40], ids[:40], path=tmp_path / "index")
    memory = model.index(records[:40], ids[:40])
    assert index.assign(records[40:50]) == memory.assign(records[40:50])
    as_text = [{**one, "meaning": cell_text(one["meaning"], "it")} for one in records]  # as in a CSV file
    assert model.predict(as_text) == found.tolist()
