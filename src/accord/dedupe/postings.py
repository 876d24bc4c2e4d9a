"""Which records have a key, in a table of SQLite: the nearest records of a new one, without a look at all others.

A key has its records with it, each with the inverse length of its field's keys, until it has too many; then only its
share of all records is kept, which says how little it counts. So a new record reads and writes as many rows as it has
keys, however large the table.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from accord.dedupe.lookup_keys import MAX_RECORDS, MOST_KEYS, KeyFiles, RecordKeys, fewer_keys_of, key_weights
from accord.dedupe.pairs import RecordTable
from accord.kernels.records import blocking

SCHEMA = "CREATE TABLE keys (key INTEGER PRIMARY KEY, share REAL, postings BLOB)"
_POSTING = np.dtype([("record", "<u4"), ("scale", "<f4")])
_PARAMETERS = 128  # of a statement that asks for keys
_ENOUGH = 1500  # postings of the rarest keys that are looked at, and then no more


class Found(NamedTuple):
    """Keys of a new record as the table has them, its share or None and postings, and the lengths of its fields."""

    keys: RecordKeys
    rows: dict[int, tuple[Any, ...]]
    scales: np.ndarray


def look_up(
    db: sqlite3.Connection, keys: RecordKeys, n_records: int, limit: int
) -> tuple[np.ndarray, np.ndarray, Found]:
    """The `limit` nearest records of a new one, which is one of `n_records`, nearest first, and how near they are."""
    names = keys.key.view(np.int64).tolist()
    rows = {one[0]: one[1:] for one in select(db, "key, share, postings FROM keys", "key", sorted(names))}
    frequency, listed, ptr, parts = np.ones(len(names)), np.zeros(len(names), np.bool_), [0], []
    for place, name in enumerate(names):
        row = rows.get(name)
        if row is not None:
            share, postings = row
            if share is None:
                listed[place] = True
                parts.append(postings)
                frequency[place] += len(postings) // _POSTING.itemsize
            else:
                frequency[place] = max(share * n_records, 1.0)
        ptr.append(ptr[-1] + (len(parts[-1]) // _POSTING.itemsize if listed[place] else 0))
    weights = key_weights(frequency, n_records)
    n_fields = int(keys.field.max(initial=-1)) + 1
    lengths = np.sqrt(np.bincount(keys.field, weights**2, n_fields))
    scales = np.divide(1.0, lengths, out=np.zeros(n_fields), where=lengths > 0)
    postings = np.frombuffer(b"".join(parts), np.uint32).reshape(-1, 2)
    near, sums = blocking.nearest_posted(
        weights, keys.field, scales, listed, np.array(ptr), postings[:, 0], postings.view(np.float32)[:, 1], _ENOUGH,
        MOST_KEYS, limit,
    )  # fmt: skip
    return near, sums, Found(keys, rows, scales)


def add(db: sqlite3.Connection, found: Found, record: int) -> None:
    """Write down that a record has the keys that were looked up for it."""
    rows: list[tuple[int, float | None, bytes]] = []
    pack = struct.Struct("<If").pack  # a posting
    for key, scale in zip(found.keys.key.view(np.int64).tolist(), found.scales[found.keys.field].tolist()):
        share, postings = found.rows.get(key, (None, b""))
        if share is None:
            n = len(postings) // _POSTING.itemsize + 1
            if n > MAX_RECORDS:
                rows.append((key, n / (record + 1), b""))
            else:
                rows.append((key, None, postings + pack(record, scale)))
    db.executemany("INSERT OR REPLACE INTO keys VALUES (?, ?, ?)", rows)


def add_all(db: sqlite3.Connection, tables: Iterable[RecordTable], n_records: int, n_fields: int) -> None:
    """Keys of the first records of an index, packed in blocks."""
    with TemporaryDirectory(prefix="accord-") as folder:
        files, first = KeyFiles(Path(folder), (n_records >> 15).bit_length()), 0  # a bucket has some million entries
        for table in tables:
            files.add(fewer_keys_of(table, np.arange(len(table))), first)
            first += len(table)
        files.sort()
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
