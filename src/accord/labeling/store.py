"""One SQLite file with every answer that was ever given.

An answer is stored in the transaction after whose end it is acknowledged (write-ahead log, flushed to the disk at every
commit), so that a program or a machine may stop at any time. Undo is an event like any other, and therefore works over
sessions. Several threads, and several programs, may use one file.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from accord.exceptions import InputError
from accord.labeling.schema import SCHEMA, VERSION

LEASE = 120.0  # seconds for which an item belongs to the window that it is shown in
_ANSWERS = ("answer", "import")
_BUSY = 10.0  # seconds to wait for another program


class Event(NamedTuple):
    """A row of the history."""

    id: int
    at: float
    annotator: str
    item: str
    action: str
    value: Any
    undone: int | None


class Store:
    """The file of labels, made if there is none.

    Examples
    --------
    >>> store = Store(":memory:")
    >>> store.answer("item", "ana", "sport")
    1
    >>> store.truth(), store.undo("ana")[0].item, store.truth()
    ({'item': 'sport'}, 'item', {})
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = str(path)
        self._lock = threading.RLock()
        self._parsed: dict[int, Any] = {}  # values of events
        if self.path != ":memory:":
            _refuse_others(Path(self.path))
        try:
            self._db = sqlite3.connect(self.path, timeout=_BUSY, isolation_level=None, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.executescript(SCHEMA)
        except sqlite3.DatabaseError as error:
            raise InputError(f"{self.path} cannot be used as a store of labels: {error}") from error
        found = self.recall("version")
        if found is None:
            self.remember("version", VERSION)
        elif found != VERSION:
            raise InputError(f"{self.path} is a store of version {found}; this is for version {VERSION}")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    @contextmanager
    def _changing(self, safe: bool = True) -> Iterator[sqlite3.Connection]:
        """A transaction that no other writer comes between; its end is when things are safe, if they need to be."""
        with self._lock:
            if not safe:  # no waiting for the disk; what is lost if the machine stops is who has which item open
                self._db.execute("PRAGMA synchronous = NORMAL")
            try:
                self._db.execute("BEGIN IMMEDIATE")
                try:
                    yield self._db
                except BaseException:
                    self._db.execute("ROLLBACK")
                    raise
                self._db.execute("COMMIT")
            finally:
                if not safe:
                    self._db.execute("PRAGMA synchronous = FULL")

    def _all(self, question: str, *values: Any) -> list[Any]:
        with self._lock:
            return self._db.execute(question, values).fetchall()

    # -- what the store is about ----------------------------------------------------------------------------------
    def recall(self, name: str) -> Any:
        """Something remembered, or None."""
        found = self._all("SELECT value FROM meta WHERE name = ?", name)
        return json.loads(found[0][0]) if found else None

    def remember(self, name: str, value: Any) -> None:
        """Keep something under a name."""
        with self._changing() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, _json(value)))

    def add_items(self, keys: Sequence[str], contents: Sequence[Any]) -> int:
        """Add the items that are not there yet; how many."""
        with self._changing() as db:
            before = db.total_changes
            db.executemany("INSERT OR IGNORE INTO items (key, content) VALUES (?, ?)", zip(keys, map(_json, contents)))
            return db.total_changes - before

    def items(self) -> tuple[list[str], list[Any]]:
        """All items, in the order in which they came: keys and contents."""
        found = self._all("SELECT key, content FROM items ORDER BY place")
        return [key for key, _ in found], [json.loads(content) for _, content in found]

    # -- answers --------------------------------------------------------------------------------------------------
    def answer(
        self, item: str, annotator: str, value: Any, *, token: str | None = None, seconds: float | None = None
    ) -> int:
        """Store an answer; its number. It is safe once this returns."""
        return self._add(item, annotator, "answer", value, token, seconds)

    def skip(self, item: str, annotator: str, *, token: str | None = None) -> int:
        """Do not ask this annotator about an item again."""
        return self._add(item, annotator, "skip", None, token, None)

    def decide(self, item: str, annotator: str, value: Any, *, token: str | None = None) -> int:
        """Settle what annotators disagree on."""
        return self._add(item, annotator, "decide", value, token, None)

    def bring_in(self, annotator: str, values: dict[str, Any]) -> int:
        """Take over labels from a file, where this annotator has said nothing yet; how many."""
        now, added = time.time(), 0
        with self._changing() as db:
            known = {item for (item,) in db.execute("SELECT item FROM current WHERE annotator = ?", (annotator,))}
            for item, value in values.items():
                if item not in known:
                    self._insert(db, (None, now, annotator, item, "import", _json(value), None))
                    added += 1
        return added

    def take_over(self, answers: Sequence[tuple[str, str, Any]]) -> int:
        """Store answers of other programs (item, annotator, value), all of them or none; how many are new."""
        now, added = time.time(), 0
        with self._changing() as db:
            for item, annotator, value in answers:
                stored = _json(value)
                known = "SELECT 1 FROM current WHERE item = ? AND annotator = ? AND action = 'answer' AND value = ?"
                if db.execute(known, (item, annotator, stored)).fetchone() is None:
                    self._insert(db, (None, now, annotator, item, "answer", stored, None))
                    added += 1
        return added

    def answer_together(self, annotator: str, values: dict[str, Any], token: str | None, seconds: float | None) -> int:
        """Store answers that were given in one act, and are taken back in one; the number of the first."""
        now = time.time()
        with self._changing() as db:
            twice = token and db.execute("SELECT id FROM events WHERE token = ?", (token,)).fetchone()
            if twice:
                return twice[0]
            numbers = [
                self._insert(db, (None if k else token, now, annotator, item, "answer", _json(value), seconds))
                for k, (item, value) in enumerate(values.items())
            ]
            return numbers[0]

    def _add(self, item: str, annotator: str, action: str, value: Any, token: str | None, seconds: float | None) -> int:
        with self._changing() as db:
            if token is not None:
                twice = db.execute("SELECT id FROM events WHERE token = ?", (token,)).fetchone()
                if twice:  # its acknowledgement was lost on the way
                    return twice[0]
            stored = None if action == "skip" else _json(value)
            number = self._insert(db, (token, time.time(), annotator, item, action, stored, seconds))
            db.execute("DELETE FROM leases WHERE item = ?", (item,))
            return number

    @staticmethod
    def _insert(db: sqlite3.Connection, row: tuple[Any, ...]) -> int:
        number = db.execute(
            "INSERT INTO events (token, at, annotator, item, action, value, seconds) VALUES (?, ?, ?, ?, ?, ?, ?)", row
        ).lastrowid
        _, _, annotator, item, action, value, _ = row
        if action == "decide":
            db.execute("INSERT OR REPLACE INTO decided VALUES (?, ?, ?, ?)", (item, annotator, number, value))
        else:
            db.execute(
                "INSERT OR REPLACE INTO current VALUES (?, ?, ?, ?, ?)", (item, annotator, number, action, value)
            )
        return int(number or 0)

    def undo(self, annotator: str) -> list[Event]:
        """Take back what an annotator did last and has not taken back: one event, or those of one act; none are left
        if the list is empty."""
        columns = "SELECT id, at, annotator, item, action, value, undone FROM events WHERE annotator = ?"
        open_ones = "AND undone IS NULL AND action IN ('answer', 'skip', 'decide')"
        with self._changing() as db:
            last = db.execute(f"{columns} {open_ones} ORDER BY id DESC LIMIT 1", (annotator,)).fetchone()
            if last is None:
                return []
            act = f"{columns} AND at = ? {open_ones} ORDER BY id DESC"
            events = [_event(row) for row in db.execute(act, (annotator, last[1])).fetchall()]
            now = time.time()
            for event in events:
                undo = db.execute(
                    "INSERT INTO events (at, annotator, item, action, undone) VALUES (?, ?, ?, 'undo', ?)",
                    (now, annotator, event.item, event.id),
                ).lastrowid
                db.execute("UPDATE events SET undone = ? WHERE id = ?", (undo, event.id))
                self._restore(db, event)
            return events

    @staticmethod
    def _restore(db: sqlite3.Connection, last: Event) -> None:
        """Put what held before an event in its place."""
        if last.action == "decide":
            before = db.execute(
                "SELECT annotator, id, value FROM events WHERE item = ? AND action = 'decide' AND undone IS NULL "
                "ORDER BY id DESC LIMIT 1", (last.item,),
            ).fetchone()  # fmt: skip
            db.execute("DELETE FROM decided WHERE item = ?", (last.item,))
            if before:
                db.execute("INSERT INTO decided VALUES (?, ?, ?, ?)", (last.item, *before))
            return
        before = db.execute(
            "SELECT id, action, value FROM events WHERE item = ? AND annotator = ? AND undone IS NULL "
            "AND action IN ('answer', 'skip', 'import') ORDER BY id DESC LIMIT 1", (last.item, last.annotator),
        ).fetchone()  # fmt: skip
        db.execute("DELETE FROM current WHERE item = ? AND annotator = ?", (last.item, last.annotator))
        if before:
            db.execute("INSERT INTO current VALUES (?, ?, ?, ?, ?)", (last.item, last.annotator, *before))

    # -- what holds now -------------------------------------------------------------------------------------------
    @property
    def version(self) -> int:
        """A number that grows with every event."""
        return int(self._all("SELECT COALESCE(MAX(id), 0) FROM events")[0][0])

    def answers(self) -> dict[str, dict[str, Any]]:
        """What each annotator says about each item, in the order of the answers."""
        found: dict[str, dict[str, Any]] = {}
        known, parsed = self._parsed, {}  # reading JSON takes most of the time, and is done once for each event
        for number, item, annotator, value in self._all(
            "SELECT event, item, annotator, value FROM current WHERE action IN (?, ?) ORDER BY event", *_ANSWERS
        ):
            parsed[number] = known[number] if number in known else json.loads(value)
            found.setdefault(item, {})[annotator] = parsed[number]
        self._parsed = parsed
        return found

    def answer_of(self, item: str, annotator: str) -> Any:
        """What an annotator says about an item, or None."""
        one = "SELECT value FROM current WHERE item = ? AND annotator = ? AND action IN (?, ?)"
        found = self._all(one, item, annotator, *_ANSWERS)
        return json.loads(found[0][0]) if found else None

    def truth(self) -> dict[str, Any]:
        """One value for each item: what was decided, else what most annotators say, and of these the latest."""
        decided = {item: json.loads(value) for item, value in self._all("SELECT item, value FROM decided")}
        return {item: decided[item] if item in decided else _most(given) for item, given in self.answers().items()}

    def decisions(self) -> dict[str, Any]:
        """What was settled."""
        return {item: json.loads(value) for item, value in self._all("SELECT item, value FROM decided")}

    def seen(self, annotator: str) -> set[str]:
        """Items that an annotator has answered or skipped."""
        return {item for (item,) in self._all("SELECT item FROM current WHERE annotator = ?", annotator)}

    def annotators(self) -> dict[str, int]:
        """How many items each annotator has answered."""
        return dict(
            self._all("SELECT annotator, COUNT(*) FROM current WHERE action IN (?, ?) GROUP BY annotator", *_ANSWERS)
        )

    def history(self, annotator: str | None = None, limit: int = 50, before: int | None = None) -> list[Event]:
        """The latest events, the last one first."""
        rows = self._all(
            "SELECT id, at, annotator, item, action, value, undone FROM events WHERE (? IS NULL OR annotator = ?) "
            "AND id < ? AND action != 'import' ORDER BY id DESC LIMIT ?",
            annotator, annotator, before or 1 << 62, limit,
        )  # fmt: skip
        return [_event(row) for row in rows]

    # -- who has which item open ----------------------------------------------------------------------------------
    def lease(
        self,
        wanted: Sequence[str],
        window: str,
        annotator: str,
        shared: Callable[[str], bool] = lambda item: False,
        seconds: float = LEASE,
    ) -> str | None:
        """Give a window, for a while, the first item that is open: no other window has it, the annotator has not seen
        it, and nobody has answered it unless it is `shared`. An item that the window has and that is open is kept."""
        now = time.time()
        with self._changing(safe=False) as db:
            own = [item for (item,) in db.execute("SELECT item FROM leases WHERE window = ?", (window,))]
            db.execute("DELETE FROM leases WHERE until < ? OR window = ?", (now, window))
            taken = {item for (item,) in db.execute("SELECT item FROM leases")}
            said = "SELECT annotator, action FROM current WHERE item = ?"

            def is_free(item: str) -> bool:
                known = db.execute(said, (item,)).fetchall()
                mine, others = any(who == annotator for who, _ in known), any(what in _ANSWERS for _, what in known)
                return not mine and (not others or shared(item))

            chosen = next((item for item in (*own, *wanted) if item not in taken and is_free(item)), None)
            if chosen is not None:
                db.execute("INSERT INTO leases VALUES (?, ?, ?)", (chosen, window, now + seconds))
            return chosen

    def renew(self, window: str, seconds: float = LEASE) -> None:
        """The window is still open."""
        with self._changing(safe=False) as db:
            db.execute("UPDATE leases SET until = ? WHERE window = ?", (time.time() + seconds, window))

    def release(self, window: str) -> None:
        """The window was closed."""
        with self._changing(safe=False) as db:
            db.execute("DELETE FROM leases WHERE window = ?", (window,))

    # -- who may come in ------------------------------------------------------------------------------------------
    def admit(self, digest: str, until: float) -> None:
        """Remember the digest of a cookie, so that an open page goes on when the program is started again."""
        with self._changing() as db:
            db.execute("DELETE FROM visitors WHERE until < ?", (time.time(),))
            db.execute("INSERT OR REPLACE INTO visitors VALUES (?, ?)", (digest, until))

    def admitted(self, digest: str) -> bool:
        """Whether a cookie of this digest was given out and still holds."""
        return bool(self._all("SELECT 1 FROM visitors WHERE digest = ? AND until > ?", digest, time.time()))


def _most(given: dict[str, Any]) -> Any:
    values = list(given.values())
    if len(values) == 1:
        return values[0]
    counts = Counter(map(_json, values))
    most = max(counts.values())
    return next(value for value in reversed(values) if counts[_json(value)] == most)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _event(row: Sequence[Any]) -> Event:
    number, at, annotator, item, action, value, undone = row
    return Event(number, at, annotator, item, action, None if value is None else json.loads(value), undone)


def _refuse_others(path: Path) -> None:
    """Refuse to write into what is no store; make a new one that only its owner can read."""
    if path.is_dir() or not path.parent.is_dir():
        what = "is a folder; expected a file" if path.is_dir() else "lies in no folder that there is; make it first"
        raise InputError(f"{path} {what}")
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    elif path.stat().st_size:
        with path.open("rb") as file:
            if file.read(16) != b"SQLite format 3\0":
                raise InputError(f"{path} is no store of labels; give --store the name of a new file")
