"""Which records have a key, in a table of SQLite: the nearest records of a new one, without a look at all others.

A key has its records with it, each with the inverse length of its field's keys, until it has too many; then only its
share of all records is kept, which says how little it counts. So a new record reads as many rows as it has keys,
however large the table.

Each of these rows is on a page of its own, and to write a hundred pages takes longer than to decide. So the last
records are written down one by one with all of their keys, which every program has in memory, too; when there are
enough of them, the keys of the oldest few are put where they belong. So no call has much to write.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from accord.dedupe.lookup_keys import (
    MAX_RECORDS,
    MOST_KEYS,
    KeyFiles,
    RecordKeys,
    fewer_keys_of,
    key_weights,
    shares_of_fields,
)
from accord.dedupe.pairs import RecordTable
from accord.kernels.records import blocking

TABLES = (
    "CREATE TABLE keys (key INTEGER PRIMARY KEY, share REAL, postings BLOB)",
    "CREATE TABLE recent (record INTEGER PRIMARY KEY, keys BLOB)",
)
_POSTING = np.dtype([("record", "<u4"), ("scale", "<f4")])
_PARAMETERS = 128  # of a statement that asks for keys
_ENOUGH = 1500  # postings of the rarest keys that are looked at, and then no more
_RECENT = 256  # records whose keys are not where they belong yet; and how many of these are
_SETTLED = 32  # put there at a time
_FREQUENT = 1 << 17  # keys without postings that are kept in memory

_KEY = np.dtype([("key", "<i8"), ("scale", "<f4")])  # of a record, with the inverse length of its field

Row = tuple["float | None", bytes]  # the share of a key, or None and its postings


class Postings:
    """Which records have a key; transactions are up to the caller."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self.forget()

    def forget(self) -> None:
        """What is in memory is not what is in the tables."""
        self._frequent: dict[int, float] = {}  # shares never change
        self._recent: dict[int, bytearray] = {}  # postings of recent records by key, oldest first
        self._keys: dict[int, list[int]] = {}  # keys of recent records, oldest first

    def refresh(self) -> None:
        """Take in what other programs have added; to be called when a transaction begins."""
        question = "SELECT (SELECT min(record) FROM recent), (SELECT max(record) FROM recent)"
        first, last = self.db.execute(question).fetchone()
        for record in list(self._keys):
            if first is not None and record >= first:
                break
            self._drop(record)
        newest = next(reversed(self._keys), -1)
        if last is not None and last > newest:
            question = "SELECT record, keys FROM recent WHERE record > ? ORDER BY record"
            for record, keys in self.db.execute(question, (newest,)).fetchall():
                self._take(record, np.frombuffer(keys, _KEY))

    def _take(self, record: int, keys: np.ndarray) -> None:
        """Keep postings of a record in memory."""
        entries = np.empty(keys.size, _POSTING)
        entries["record"], entries["scale"] = record, keys["scale"]
        data, width = entries.tobytes(), _POSTING.itemsize
        self._keys[record] = names = keys["key"].tolist()
        for k, name in enumerate(names):
            self._recent.setdefault(name, bytearray()).extend(data[k * width : (k + 1) * width])

    def _drop(self, record: int) -> None:
        """Keep postings of the oldest record in memory no longer."""
        for name in self._keys.pop(record):
            own = self._recent[name]
            del own[: _POSTING.itemsize]
            if not own:
                del self._recent[name]

    def _rows(self, names: list[int]) -> dict[int, Row]:
        """What is known of keys, the recent records included."""
        rows: dict[int, Row] = {name: (self._frequent[name], b"") for name in names if name in self._frequent}
        wanted = sorted(name for name in names if name not in rows)
        known = self._stored(wanted)
        for name in wanted:
            share, own = known.get(name, (None, b""))
            if share is None:
                recent = self._recent.get(name)
                share, own = _kept(own if recent is None else own + recent)
            elif len(self._frequent) < _FREQUENT:
                self._frequent[name] = share
            rows[name] = (share, own)
        return rows

    def _stored(self, names: list[int]) -> dict[int, Row]:
        """What is in the table of those keys that are there."""
        found = select(self.db, "key, share, postings FROM keys", "key", names)
        return {key: (share, own) for key, share, own in found}

    def look_up(self, keys: RecordKeys, n_records: int, limit: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The `limit` nearest records of a new one, one of `n_records`, nearest first, and how near they are.

        Then those of its keys that are to be written down.
        """
        names = keys.key.view(np.int64).tolist()
        rows = self._rows(names)
        frequency, listed, ptr, parts = np.ones(len(names)), np.zeros(len(names), np.bool_), [0], []
        for place, name in enumerate(names):
            share, own = rows[name]
            if own:
                listed[place] = True
                parts.append(own)
                frequency[place] += len(own) // _POSTING.itemsize
            elif share is not None:
                frequency[place] = max(share * n_records, 1.0)
            ptr.append(ptr[-1] + len(own) // _POSTING.itemsize)
        weights = key_weights(frequency, n_records)
        shares = shares_of_fields(int(keys.field.max(initial=0)), joint=True)
        lengths = np.sqrt(np.bincount(keys.field, weights**2, shares.size))
        scales = np.divide(1.0, lengths, out=np.zeros(shares.size), where=lengths > 0)
        looked_up = scales * shares**2  # what is written down is not scaled to shares
        postings = np.frombuffer(b"".join(parts), np.uint32).reshape(-1, 2)
        near, sums = blocking.nearest_posted(
            weights, keys.field, looked_up, listed, np.array(ptr), postings[:, 0], postings.view(np.float32)[:, 1],
            _ENOUGH, MOST_KEYS, limit,
        )  # fmt: skip
        kept = np.array([rows[name][0] is None for name in names], np.bool_)
        found = np.empty(np.count_nonzero(kept), _KEY)
        found["key"], found["scale"] = keys.key.view(np.int64)[kept], scales[keys.field[kept]]
        return near, sums, found

    def add(self, keys: np.ndarray, record: int) -> None:
        """Write down that a record has the keys that were looked up for it."""
        self.db.execute("INSERT INTO recent VALUES (?, ?)", (record, keys.tobytes()))
        self._take(record, keys)
        if len(self._keys) >= _RECENT + _SETTLED:
            self.settle(_SETTLED)

    def settle(self, n_records: int | None = None) -> None:
        """Put the keys of so many of the oldest recent records, or of all, where they belong."""
        oldest = list(islice(self._keys, n_records))
        if not oldest:
            return
        n_entries = Counter(chain.from_iterable(self._keys[record] for record in oldest))
        names = sorted(n_entries)
        for first in range(0, len(names), _PARAMETERS):
            some = names[first : first + _PARAMETERS]
            rows = dict.fromkeys(some, (None, b"")) | self._stored(some)
            changed = (
                (name, *_kept(own + self._recent[name][: n_entries[name] * _POSTING.itemsize]))
                for name, (share, own) in rows.items()
                if share is None
            )
            self.db.executemany("INSERT OR REPLACE INTO keys VALUES (?, ?, ?)", changed)
        self.db.execute("DELETE FROM recent WHERE record <= ?", (oldest[-1],))
        for record in oldest:
            self._drop(record)


def _kept(postings: bytes) -> Row:
    """Postings of a key, or its share when there came to be too many."""
    if len(postings) <= MAX_RECORDS * _POSTING.itemsize:
        return None, postings
    record = int(np.frombuffer(postings, _POSTING)["record"][MAX_RECORDS])
    return (MAX_RECORDS + 1) / (record + 1), b""


def add_all(db: sqlite3.Connection, tables: Iterable[RecordTable], n_records: int, n_fields: int) -> None:
    """Keys of the first records of an index, packed in blocks."""
    with TemporaryDirectory(prefix="accord-") as folder:
        files, first = KeyFiles(Path(folder), (n_records >> 15).bit_length()), 0  # a bucket has some million entries
        for table in tables:
            files.add(fewer_keys_of(table, np.arange(len(table))), first)
            first += len(table)
        lengths = np.zeros((n_records, n_fields))
        for bucket in files.buckets(n_fields):
            bucket.lengths(n_records, lengths)
        scales = np.divide(1.0, np.sqrt(lengths), out=np.zeros_like(lengths), where=lengths > 0)
        for bucket in files.buckets(n_fields):
            entries = np.empty(bucket.record.size, _POSTING)
            entries["record"], entries["scale"] = bucket.record, scales[bucket.record, bucket.field]
            data, width = entries.tobytes(), _POSTING.itemsize
            ends = (bucket.ptr * width).tolist()
            rows = (
                (key, None, data[a:b]) if b - a <= MAX_RECORDS * width else (key, (b - a) / width / n_records, b"")
                for key, a, b in zip(bucket.keys.view(np.int64).tolist(), ends[:-1], ends[1:])
            )
            db.executemany("INSERT INTO keys VALUES (?, ?, ?)", rows)


def select(db: sqlite3.Connection, what: str, name: str, values: list[int]) -> list[tuple[Any, ...]]:
    """Rows of a table, and what of them, whose `name` is among the values."""
    out: list[tuple[Any, ...]] = []
    for first in range(0, len(values), _PARAMETERS):
        some: list[int | None] = [*values[first : first + _PARAMETERS]]
        some += [None] * (-len(some) % 16)  # few different statements
        out += db.execute(f"SELECT {what} WHERE {name} IN ({', '.join('?' * len(some))})", some).fetchall()
    return out
