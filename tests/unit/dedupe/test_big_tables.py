"""Tables beyond memory: the index and the clusters are those of memory, bit for bit."""

import numpy as np
import pytest

from accord import Deduplicator, InputError
from accord.datasets.many_people import many_people
from accord.dedupe import big_tables, blocking, decoding, disk_index, lookup_keys, similarity
from accord.dedupe.lookup_keys import KeyFiles, keys_of
from accord.exceptions import AccordError


@pytest.fixture(scope="module")
def table():
    """Records with long texts, empty ones and copies, and a model."""
    records, ids = next(many_people(250, random_state=1))
    rng = np.random.default_rng(0)
    for k in range(0, 40, 4):
        words = rng.integers(0, 5000, 150)
        records[k]["street"] = " ".join(f"w{word}" for word in words)
        records[k + 1]["street"] = " ".join(f"w{word}" for word in words[:140])
    records += [{}, {"name": None}, *records[:3]]
    ids = [*ids, 900, 901, *ids[:3]]
    kinds = dict.fromkeys(("name", "street", "city"), "text")
    fields = {**kinds, "born": "date", "zip": "category", "phone": "number"}
    return records, Deduplicator(fields, calibrate=False).fit(records, ids)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(big_tables, "_ROWS", 37)
    monkeypatch.setattr(big_tables, "_BITS", 2)
    monkeypatch.setattr(disk_index, "_PART", 400)


@pytest.mark.parametrize("large", [50, 20_000])
def test_the_index_in_files_is_that_of_memory(table, tmp_path, monkeypatch, large):
    records, model = table
    for module in (blocking, disk_index):
        monkeypatch.setattr(module, "LARGE", large)
    for module in (blocking, disk_index):
        monkeypatch.setattr(module, "MOST_KEYS", 40)  # cells are cut
    packed = model.view_.table(records)
    files = KeyFiles(tmp_path, 2)
    for first in range(0, len(packed), 50):
        files.add(keys_of(packed, np.arange(first, min(first + 50, len(packed)))), first)
    disk_index.build(tmp_path, files, len(packed), len(packed.columns))
    found = disk_index.open_index(tmp_path)
    true = blocking.key_index(packed)
    assert np.array_equal(found.ptr, true.ptr)
    assert np.array_equal(found.values, true.values)
    assert np.array_equal(np.sort(np.diff(found.key_ptr)), np.sort(np.diff(true.key_ptr)))
    out = []
    for index in (found, true):
        near, scores = np.empty((len(packed), 6), np.int64), np.empty((len(packed), 6))
        blocking.blocking.nearest(*index, 0, len(packed), False, 6, near, scores)
        out.append((near, scores[near >= 0]))
    assert np.array_equal(out[0][0], out[1][0])
    assert np.array_equal(out[0][1], out[1][1])


def test_two_fields_together_count_as_much_as_all_others(table, monkeypatch):
    monkeypatch.setattr(blocking, "LARGE", 20)
    records = [record for record in next(many_people(20))[0] if all(record.values())]
    index = blocking.key_index(table[1].view_.table(records * 2))  # every key has two records
    squares = np.add.reduceat(index.values**2, index.ptr[:-1])
    np.testing.assert_allclose(squares, 6 + 6)


@pytest.mark.parametrize("linkage", ["correlation", "average", "components"])
def test_clusters_are_those_of_memory(table, tmp_path, monkeypatch, linkage):
    records, model = table
    monkeypatch.setattr(decoding, "MOST_ALL_PAIRS", 4)  # similarities of larger components are guessed
    monkeypatch.setattr(big_tables, "MOST_ALL_PAIRS", 4)
    monkeypatch.setattr(decoding, "MAX_COMPONENT", 30)
    monkeypatch.setattr(model, "linkage_", linkage)
    for threshold, large in ((0.0, 50), (-3.0, 20_000)):
        for module in (blocking, disk_index):
            monkeypatch.setattr(module, "LARGE", large)
        monkeypatch.setattr(model, "threshold", threshold)
        chunks = [records[:80], [], records[80:81], records[81:]]
        found = model.predict_chunks(iter(chunks), tmp_path / str(threshold))
        assert found.tolist() == model.predict(records)
        assert not (tmp_path / str(threshold)).exists()


def test_clusters_of_a_table_larger_than_that_of_fit_are_those_of_memory(table, tmp_path, monkeypatch):
    records, model = table
    monkeypatch.setattr(model, "n_calibration_", 0.5)
    monkeypatch.setattr(model, "threshold", -1.0)
    monkeypatch.setattr(model, "linkage_", "average")
    assert [model.rule(n).lenience for n in (0, 1, 27)] == [0.0, 0.0, 0.0]
    assert model.rule(len(records)).lenience == pytest.approx(np.log(len(records) / 0.5) / 2 - 2)
    found = model.predict(records)
    assert model.predict_chunks([records[:100], records[100:]], tmp_path / "w").tolist() == found
    monkeypatch.setattr(similarity, "_MOST_WITHIN", 10.0)
    assert model.predict(records) != found


def test_a_finished_step_is_not_done_again(table, tmp_path, monkeypatch):
    records, model = table
    true = model.predict(records)
    read = []

    def chunks():
        for first in range(0, len(records), 100):
            read.append(first)
            yield records[first : first + 100]

    compare = big_tables.BigTable._compare

    def interrupted(self, n_parts, weights, constant):
        compare(self, 1, weights, constant)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(big_tables.BigTable, "_compare", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.predict_chunks(chunks(), tmp_path / "w", "mine")
    assert read
    read.clear()
    with pytest.raises(InputError, match="another table or by another model"):
        model.predict_chunks(chunks(), tmp_path / "w", "other")
    assert model.predict_chunks(chunks(), tmp_path / "w", "mine", keep=True).tolist() == true
    assert not read
    assert model.predict_chunks(chunks(), tmp_path / "w", "mine").tolist() == true
    assert not (tmp_path / "w").exists()


def test_small_tables_and_bad_ones(table, tmp_path):
    records, model = table
    assert model.predict_chunks([], tmp_path / "a").tolist() == []
    assert model.predict_chunks([records[:1]], tmp_path / "b").tolist() == [0]
    with pytest.raises(InputError, match="field 'name' of record 3"):
        model.predict_chunks([records[:2], [{}, {"name": object()}]], tmp_path / "c")
    with pytest.raises(AccordError, match="chunks"):
        model.predict_chunks([{"name": "a"}], tmp_path / "d")


def test_keys_of_fields_are_different():
    keys = np.arange(-5, 5)
    mixed = [lookup_keys.mixed(keys, field) for field in range(3)]
    assert np.unique(np.concatenate(mixed)).size == 30
    assert np.array_equal(lookup_keys.mixed(np.tile(keys, 3), np.repeat(np.arange(3), 10)), np.concatenate(mixed))
