"""An index in a file: the same decisions as in memory and by hand, merges and splits, several programs, kill -9."""

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections import Counter

import numpy as np
import pytest
from record_cases import people

from accord import Deduplicator, InputError, StoredIndex
from accord.dedupe import decisions, postings
from accord.dedupe.lookup_keys import fewer_keys_of, fewer_keys_of_one
from accord.exceptions import ModelFileError

FIELDS = {"name": "text", "street": "text", "born": "date"}


@pytest.fixture(scope="module")
def model() -> Deduplicator:
    records, ids = people(20, seed=0)
    return Deduplicator(FIELDS, calibrate=False).fit(records, ids)


@pytest.fixture
def path(model, tmp_path):
    records, ids = people(15, seed=6)
    model.index(records[:20], ids[:20], path=tmp_path / "i").close()
    return tmp_path / "i"


def test_decisions_are_those_of_an_index_in_memory(model, path):
    records, ids = people(15, seed=6)
    in_memory = model.index(records[:20], ids[:20])
    with StoredIndex(path) as index:
        found = index.find(records[20:21])[0]
        given = index.assign_detailed(records[20:])
        assert given == in_memory.assign_detailed(records[20:])
        assert found == (given[0] if not given[0].is_new else (None, True, 0.0))
        assert index.ids == in_memory.ids
        assert index.n_clusters == in_memory.n_clusters
        assert index.record(20) == {name: records[20][name] for name in FIELDS}
    with StoredIndex(path, readonly=True) as index:
        assert len(index) == len(records)
        assert index.find(records[:1])[0].id == ids[0]
        with pytest.raises(InputError, match="readonly"):
            index.assign(records[:1])


def fail_behind(index, record):
    """A call that fails when a record was added and keys were put where they belong."""
    with index._changing() as deciding:
        deciding.decide(deciding.plain([record])[0], deciding.raw(record), deciding.n_records())
        deciding.postings.settle()
        raise RuntimeError


def test_a_stream_is_decided_as_in_memory_whoever_writes(model, tmp_path, monkeypatch):
    """Two programs in turn, calls that fail, keys that are put where they belong every few records or at the end."""
    records, ids = people(30, seed=8)
    stream = [record for one in (people(30, seed=8)[0], people(30, seed=9)[0]) for record in one]
    given = []
    for every in (5, 10**6):
        monkeypatch.setattr(postings, "_RECENT", every)
        monkeypatch.setattr(postings, "_SETTLED", 2)
        in_memory = model.index(records[:20], ids[:20])
        model.index(records[:20], ids[:20], path=tmp_path / f"{every}").close()
        with StoredIndex(tmp_path / f"{every}") as one, StoredIndex(tmp_path / f"{every}") as other:
            for k, record in enumerate(stream):
                index = one if k % 3 else other
                if k % 7 == 0:
                    with pytest.raises(RuntimeError):
                        fail_behind(index, stream[-1 - k])
                expected = in_memory.assign_detailed([record])
                assert other.find([record])[0].is_new == expected[0].is_new
                assert index.assign_detailed([record]) == expected
                given.append(expected[0])
            with StoredIndex(tmp_path / f"{every}") as late:
                late.find(stream[:1])
                other.find(stream[:1])
                assert late._decisions.postings._recent == other._decisions.postings._recent
                assert 5 <= len(late._decisions.postings._keys) < every + 2
    assert given[: len(stream)] == given[len(stream) :]
    assert any(one.is_new for one in given)
    assert not all(one.is_new for one in given)


def test_one_by_one_leaves_the_same_keys_as_all_at_once(model, tmp_path):
    """But for how much they count, which is that of the time."""
    records, ids = people(12, seed=3)
    found = []
    for name, n in (("all", len(records)), ("one", 0)):
        with model.index(records[:n], ids[:n], path=tmp_path / name) as index:
            for record in records[n:]:
                index.assign([record])
            with index._changing() as deciding:
                deciding.postings.settle()
        with sqlite3.connect(tmp_path / name) as db:
            rows = db.execute("SELECT key, share, postings FROM keys ORDER BY key").fetchall()
        found.append([(key, share, np.frombuffer(p, postings._POSTING)["record"].tolist()) for key, share, p in rows])
    assert found[0] == found[1]
    table = model.view_.table(records)
    for k in range(len(records)):
        keys, one = (
            fewer_keys_of(table, np.array([k])),
            fewer_keys_of_one(list(FIELDS.values()), index._decisions.plain(records)[k]),
        )
        assert set(zip(keys.field.tolist(), keys.key.tolist())) == set(zip(one.field.tolist(), one.key.tolist()))


def test_frequent_keys_are_given_up_and_large_clusters_guessed(model, tmp_path, monkeypatch):
    monkeypatch.setattr(postings, "MAX_RECORDS", 4)
    monkeypatch.setattr(decisions, "_MOST_MEMBERS", 4)
    record = {"name": "Ann Lee", "street": "1 Oak Street", "born": "1990-01-02"}
    other = {"name": "Bob Kay", "street": "9 Elm Street", "born": "1950-03-04"}
    with model.index([record, record, other], [1, 1, 2], path=tmp_path / "i") as index:
        assert index.assign([record] * 2) == [1, 1]
        before = index.find([record])[0].similarity
        with index._changing() as deciding:
            deciding.postings.settle()
        assert index.find([record])[0].similarity == before
        with sqlite3.connect(tmp_path / "i") as db:
            shares = db.execute("SELECT share FROM keys WHERE share IS NOT NULL").fetchall()
        assert shares
        assert all(share == 1.0 for (share,) in shares)  # all five records have them
        assert before > 0
        members, size = index._decisions.members(0, 4)
        assert (members, size) == ([0, 1, 3, 4], 4)
        index._decisions.db.execute("UPDATE records SET cluster = 0")
        assert index._decisions.members(0, 4) == ([0, 1, 3, 4], 5)


def test_merges_and_splits_can_be_undone_and_ids_keep_their_meaning(model, path):
    with StoredIndex(path) as index:
        before = index.ids
        a, b, c = list(dict.fromkeys(before))[:3]
        assert index.merge(a, b, why="same person") == a
        assert (index.resolve(b), index.members(b), index.n_clusters) == (a, index.members(a), len(set(before)) - 1)
        with pytest.raises(InputError, match="the same cluster already"):
            index.merge(b, a)
        assert index.merge(c, b) == c  # what b leads to
        assert {index.resolve(one) for one in (a, b, c)} == {c}
        with pytest.raises(InputError, match="undo the later events first"):
            index.undo(1)
        mine = index.members(c)[:1]
        fresh = index.split(c, mine, why="another one")
        assert index.members(fresh) == mine
        assert fresh not in before
        assert [one.kind for one in index.history()] == ["merge", "merge", "split"]
        assert [one.number for one in index.history(a)] == [1, 2]
        undone = index.undo()
        assert (undone.kind, index.resolve(fresh)) == ("unsplit", c)
        assert index.undo(undone.number).kind == "split"  # what is undone can be done again
        assert index.members(fresh) == mine
        for _ in range(3):
            index.undo()
        assert index.ids == before
        assert index.resolve(fresh) == c  # an id that was seen is known for ever
        with pytest.raises(InputError, match="nothing to undo"):
            index.undo()
        pair = next(one for one in before if before.count(one) > 1)
        assert index.split(pair, index.members(pair)[:1]) != fresh
    with StoredIndex(path) as index:
        assert [one.kind for one in index.history()][-4:] == ["unsplit", "unmerge", "unmerge", "split"]


def test_records_that_came_after_a_merge_stay_when_it_is_undone(model, path):
    records, _ = people(15, seed=6)
    with StoredIndex(path) as index:
        a, b = list(dict.fromkeys(index.ids))[:2]
        first = index.members(a)
        second = index.members(b)
        index.merge(a, b)
        index.model.threshold = -1000.0
        new = index.assign([records[first[0]]])
        assert new == [a]
        index.undo()
        assert index.members(b) == second
        assert index.members(a) == [*first, 20]


def test_mistakes(model, path, tmp_path):
    (tmp_path / "text").write_text("not an index")
    with sqlite3.connect(tmp_path / "other") as db:
        db.execute("CREATE TABLE t (a)")
    for name, error, message in (
        ("nothing", FileNotFoundError, "no such file"),
        ("text", ModelFileError, "no index of records"),
        ("other", ModelFileError, "no index of records of this version"),
    ):
        with pytest.raises(error, match=message):
            StoredIndex(tmp_path / name)
    with pytest.raises(InputError, match=r"ids\[1\] is missing"):
        model.index([{}, {}], [1, None], path=tmp_path / "new")
    with pytest.raises(InputError, match=r"ids\[0\] is a tuple"):
        model.index([{}], [(1, 2)], path=tmp_path / "new")
    assert not (tmp_path / "new").exists()
    index = StoredIndex(path)
    with pytest.raises(InputError, match="field 'name' of record 1"):
        index.assign([{"name": "a"}, {"name": object()}])
    for call, message in (
        (lambda: index.merge(index.ids[0], "x"), "other is 'x', which was never an id"),
        (lambda: index.split(index.ids[0], []), "expected some, not all"),
        (lambda: index.split(index.ids[0], [99]), r"records\[0\] is 99"),
        (lambda: index.undo(7), "event is 7"),
        (lambda: index.record(99), "expected a whole number below 20"),
    ):
        with pytest.raises(InputError, match=message):
            call()
    assert len(index) == 20
    with pytest.raises(InputError, match="some program has open"):
        model.index(path=path)
    index.close()
    with pytest.raises(InputError, match="is closed"):
        index.assign([{"name": "a"}])
    for what in ("plain = '[1, 2'", "plain = '[1, 2, 3]'", "cluster = 'x'"):
        with StoredIndex(path) as index:
            index._decisions.db.execute(f"UPDATE records SET {what}")
            with pytest.raises(ModelFileError, match="the index is damaged"):
                index.assign(people(15, seed=6)[0])
    damaged = path.read_bytes()
    path.write_bytes(damaged[:4096] + b"\xff" * 4096 + damaged[8192:])
    with pytest.raises(ModelFileError, match="damaged"):
        StoredIndex(path).assign(people(15, seed=6)[0])


_WRITER = """
    import sys
    from accord import StoredIndex
    index = StoredIndex(sys.argv[1], flush=False)
    for k in range(100_000):
        record = {"name": f"name {k} {sys.argv[2]}", "street": f"{k} Street", "born": None}
        print(k, index.assign([record])[0], flush=True)
"""


def test_a_killed_program_loses_nothing_that_it_said(path):
    """Two programs write at once, one reads; both are killed in the midst of it."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", textwrap.dedent(_WRITER), str(path)]
    writers = {
        name: subprocess.Popen([*command, name], stdout=subprocess.PIPE, text=True, env=environment)
        for name in ("zqa", "zqb")
    }
    said: dict[str, str] = {}
    reader = StoredIndex(path, readonly=True)
    for name, writer in writers.items():
        for _ in range(15):
            k, given = writer.stdout.readline().split()
            said[f"name {k} {name}"] = given
        assert len(reader) >= 35
    for name, writer in writers.items():
        writer.send_signal(signal.SIGKILL)
        for line in writer.communicate()[0].split("\n")[:-1]:  # a line that was cut off was not said
            k, given = line.split()
            said[f"name {k} {name}"] = given
    reader.close()
    with StoredIndex(path) as index:
        records = [index.record(k) for k in range(len(index))]
        known = {record["name"]: str(one) for record, one in zip(records, index.ids)}
        assert len(said) >= 30
        assert all(known[name] == one for name, one in said.items())
        assert index._decisions.db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        # no record without its keys, and none twice
        index._decisions.postings.settle()
        keys = fewer_keys_of(index.model.view_.table(records), np.arange(len(records)))
        true = Counter(keys.key.view(np.int64).tolist())
        for key, share, own in index._decisions.db.execute("SELECT key, share, postings FROM keys"):
            listed = np.frombuffer(own, postings._POSTING)["record"]
            assert true.pop(key) == listed.size if share is None else true.pop(key) > postings.MAX_RECORDS
            assert np.unique(listed).size == listed.size
        assert not true
