"""The store against a list of what was done: nothing is lost, undo gives back what held before."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from accord import InputError
from accord.labeling import agreement
from accord.labeling.store import Store


def test_answers_undo_and_truth_are_those_of_a_list_of_events(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "labels.sqlite"
    store, done = Store(path), []  # (annotator, item, action, value, number of the act), in order
    for step in range(120):
        who, item = f"a{rng.integers(3)}", f"i{rng.integers(12)}"
        action = rng.choice(["answer", "answer", "skip", "decide", "together", "undo"])
        if action == "undo":
            mine = [one for one in done if one[0] == who]
            last = [one for one in mine if one[4] == mine[-1][4]]
            assert [(event.item, event.action) for event in store.undo(who)] == [one[1:3] for one in reversed(last)]
            done = [one for one in done if one not in last]
        elif action == "together":
            values = {f"i{k}": str(rng.integers(3)) for k in rng.choice(12, 3, replace=False)}
            first = store.answer_together(who, values, f"token{step}", None)
            assert first == store.answer_together(who, {"i0": "other"}, f"token{step}", None)  # sent twice
            done += [(who, item, "answer", value, step) for item, value in values.items()]
        else:
            value = str(rng.integers(3)) if action != "skip" else None
            getattr(store, action)(item, who, *([value] if action != "skip" else []))
            done.append((who, item, action, value, step))
        if step % 30 == 29:  # another session
            store.close()
            store = Store(path)
        current, decided = {}, {}
        for who, item, action, value, _ in done:
            if action == "decide":
                decided.pop(item, None)
                decided[item] = value
            else:
                current.pop((item, who), None)
                current[item, who] = (action, value)
        answers = {}
        for (item, who), (action, value) in current.items():
            if action == "answer":
                answers.setdefault(item, {})[who] = value
        assert store.answers() == answers
        assert store.decisions() == decided
        assert all(store.truth()[item] == value for item, value in decided.items() if item in answers)
        assert store.seen("a0") == {item for item, who in current if who == "a0"}
    assert len(store.history(limit=1000)) >= 100  # every event is still there, also those taken back
    assert len(store.history("a1", limit=5)) == 5


def test_what_is_sent_twice_is_stored_once_and_the_majority_is_the_truth():
    store = Store(":memory:")
    assert store.answer("i", "a", "x", token="t1") == store.answer("i", "a", "x", token="t1")
    assert len(store.history()) == 1
    for who, value in (("b", "y"), ("c", "y")):
        store.answer("i", who, value)
    assert store.truth() == {"i": "y"}
    store.answer("k", "a", "old")
    store.answer("k", "b", "new")
    assert store.truth()["k"] == "new"
    assert store.bring_in("file", {"i": "z", "j": "z"}) == 2
    assert store.bring_in("file", {"i": "other", "j": "other"}) == 0
    assert store.undo("file") == []  # what a file says is not taken back step by step
    assert agreement.conflicts(store.answers(), {}) == ["i", "k"]
    assert agreement.conflicts(store.answers(), {"i": "y"}) == ["k"]


def test_windows_do_not_get_the_same_item():
    store = Store(":memory:")
    got, wanted = [], [f"i{k}" for k in range(40)]

    def take(window):
        for _ in range(5):
            item = store.lease(wanted, window, "x")
            got.append((window, item))
            store.answer(item, "x", 1)

    threads = [threading.Thread(target=take, args=(f"w{k}",)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted({item for _, item in got}) == sorted(wanted)
    assert len(got) == 40
    assert store.lease(["a"], "w1", "x") == "a"
    assert store.lease(["a"], "w2", "x") is None
    assert store.lease(["a"], "w1", "x") == "a"  # its own
    store.lease(["a"], "w1", "x", seconds=-1)
    assert store.lease(["a"], "w2", "x") == "a"  # the other has run out
    store.release("w2")
    assert store.lease(["a"], "w3", "x") == "a"
    assert store.lease(["i1"], "w4", "y") is None  # somebody has answered
    assert store.lease(["i1"], "w4", "y", lambda item: True) == "i1"


_WRITER = """
import sys
from accord.labeling.store import Store
store = Store(sys.argv[1])
for k in range(100000):
    store.answer(f"i{k}", "a", k)
    print(k, flush=True)
"""


def test_no_acknowledged_answer_is_lost_by_kill_9(tmp_path):
    path = tmp_path / "labels.sqlite"
    process = subprocess.Popen([sys.executable, "-c", _WRITER, path], stdout=subprocess.PIPE, text=True)
    lines = [process.stdout.readline() for _ in range(50)]
    time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    lines += process.stdout.readlines()
    process.wait()
    acknowledged = [int(line) for line in lines if line.endswith("\n")]
    kept = Store(path).truth()
    assert len(acknowledged) >= 50
    assert all(kept[f"i{k}"] == k for k in acknowledged)
    assert len(kept) <= len(acknowledged) + 1
    assert (path.stat().st_mode & 0o777) == 0o600


def test_what_is_no_store_is_left_alone(tmp_path):
    file = tmp_path / "thesis.txt"
    file.write_text("a year of work")
    with pytest.raises(InputError, match="no store of labels"):
        Store(file)
    assert file.read_text() == "a year of work"
    with pytest.raises(InputError, match="is a folder"):
        Store(tmp_path)
    newer = tmp_path / "newer.sqlite"
    Store(newer).remember("version", 99)
    with pytest.raises(InputError, match="version 99"):
        Store(newer)
    damaged = tmp_path / "damaged.sqlite"
    damaged.write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    with pytest.raises((InputError, sqlite3.DatabaseError)):
        Store(damaged)


def test_agreement():
    answers = {
        "1": {"a": ["B-PER", "O", "O"], "b": ["B-PER", "O", "B-LOC"]},
        "2": {"a": ["O", None], "b": ["O", "O"]},
        "3": {"a": ["O"]},
    }
    (found,) = agreement.agreements("tokens", answers)
    assert (found["items"], found["same"]) == (2, 0)
    assert found["f1"] == pytest.approx(2 / 3)
    a, b = ["B-PER", "O", "O", "O"], ["B-PER", "O", "B-LOC", "O"]
    from sklearn.metrics import cohen_kappa_score

    assert found["kappa"] == pytest.approx(cohen_kappa_score(a, b))
    assert agreement.conflicts(answers, {}) == ["1"]
    pairs = {"p": {"a": "same", "b": "unsure"}, "q": {"a": "same", "b": "different"}}
    assert agreement.conflicts(pairs, {}) == ["q"]
    trees = {"t": {"a": "(S (N a) (V b))", "b": "(S (N a) (V b))"}}
    assert agreement.agreements("trees", trees)[0]["f1"] == 1.0


def test_one_answer_is_asked_for_by_item_and_annotator(tmp_path):
    store = Store(tmp_path / "s.sqlite")
    store.answer("a", "ana", ["O", None])
    store.answer("a", "bob", "x")
    store.skip("b", "ana")
    assert store.answer_of("a", "ana") == store.answers()["a"]["ana"] == ["O", None]
    assert store.answer_of("b", "ana") is None
    store.answer("a", "ana", ["B-X", "O"])
    assert store.answers()["a"] == {"ana": ["B-X", "O"], "bob": "x"}
    store.undo("ana")
    assert store.answers()["a"]["ana"] == ["O", None]


def test_labels_wait_for_the_disk_and_open_items_do_not(tmp_path):
    store = Store(tmp_path / "s.sqlite")

    def how():
        return store._db.execute("PRAGMA synchronous").fetchone()[0]

    with store._changing(safe=False):
        assert how() == 1
    with store._changing():
        assert how() == 2
    with pytest.raises(ZeroDivisionError), store._changing(safe=False):
        raise ZeroDivisionError
    assert how() == 2
    assert store.lease(["a"], "window", "ana") == "a"
