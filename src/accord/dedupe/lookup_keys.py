"""Keys by which records are looked up: words, trigrams and values of fields, the same numbers in every table and file.

Of a table that does not fit into memory they are sorted on disk, in buckets by their first bits (:class:`KeyFiles`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from accord.dedupe.columns import text_key
from accord.dedupe.pairs import RecordTable

MAX_RECORDS = 500  # a key of more records says too little to be looked at
MOST_KEYS = 256  # of one cell; of a longer text the rarest ones have to do
_ENTRY = np.dtype([("key", "<u8"), ("record", "<u4"), ("field", "<u4")])
_STEP = 65536.0


class RecordKeys(NamedTuple):
    """Keys of records: the place of the record, the number of its field, and the key itself."""

    row: np.ndarray
    field: np.ndarray
    key: np.ndarray


def keys_of(table: RecordTable, records: np.ndarray) -> RecordKeys:
    """Keys of some records of a table; rows are places in `records`."""
    parts = []
    for number, column in enumerate(table.columns.values()):
        ids = column.ids.array[records]
        here = np.flatnonzero(ids >= 0)
        ptr, keys = column.keys(ids[here])
        fields = np.full(keys.size, number)
        parts.append((np.repeat(here, np.diff(ptr)), fields, mixed(keys, fields)))
    row, field, key = (np.concatenate(part) for part in zip(*parts))
    return RecordKeys(row, field, key)


def keys_of_one(kinds: Sequence[str], cells: Sequence[str | None]) -> RecordKeys | None:
    """The same of one record that is in no table, given the cells that are compared; None if a text is long."""
    keys: list[int] = []
    fields: list[int] = []
    for number, (kind, cell) in enumerate(zip(kinds, cells)):
        if cell is None:
            continue
        if len(cell) > MOST_KEYS:
            return None
        if kind == "category":
            own = {text_key(cell)}
        else:
            padded = f" {cell} "
            own = {_gram_key(padded[k : k + 3]) for k in range(len(cell))}
            if kind == "text":
                own.update(map(text_key, cell.split()))
        keys += own
        fields += [number] * len(own)
    field = np.array(fields, np.int64)
    return RecordKeys(np.zeros(field.size, np.int64), field, mixed(np.array(keys, np.int64), field))


@lru_cache(maxsize=1 << 16)
def _gram_key(three: str) -> int:
    return ord(three[0]) << 42 | ord(three[1]) << 21 | ord(three[2])


def mixed(keys: np.ndarray, field: np.ndarray | int) -> np.ndarray:
    """Keys of fields, scattered over all numbers of 64 bits; different ones of a field stay different."""
    out = keys.astype(np.uint64) + (np.atleast_1d(field).astype(np.uint64) + np.uint64(1)) * np.uint64(
        0x9E3779B97F4A7C15
    )
    out = (out ^ (out >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    out = (out ^ (out >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return out ^ (out >> np.uint64(31))


def key_weights(frequency: np.ndarray, n_records: int) -> np.ndarray:
    """How much keys of so many records count: the logarithm of their rarity.

    In steps of 2 ** -16: sums of squares are then exact, and do not depend on the order in which they are summed.
    """
    return np.round(np.log(n_records / np.minimum(frequency, n_records)) * _STEP) / _STEP


class KeyFiles:
    """Keys of very many records in a folder: added in blocks, then read sorted, bucket by bucket."""

    def __init__(self, folder: Path, bits: int, fresh: bool = True) -> None:
        self.bits = bits  # of a key that say its bucket
        self._files = [folder / f"keys-{bucket}" for bucket in range(1 << bits)]
        for path in self._files if fresh else ():
            path.write_bytes(b"")

    def add(self, keys: RecordKeys, first: int) -> None:
        """Add keys of records whose numbers begin at `first`."""
        entries = np.empty(keys.key.size, _ENTRY)
        entries["key"], entries["record"], entries["field"] = keys.key, keys.row + first, keys.field
        if not self.bits:
            self._append(0, entries)
            return
        bucket = (keys.key >> np.uint64(64 - self.bits)).astype(np.int64)
        order = np.argsort(bucket, kind="stable")
        ends = np.searchsorted(bucket[order], np.arange((1 << self.bits) + 1))
        for b in range(1 << self.bits):
            self._append(b, entries[order[ends[b] : ends[b + 1]]])

    def _append(self, bucket: int, entries: np.ndarray) -> None:
        with open(self._files[bucket], "ab") as stream:
            stream.write(entries.tobytes())

    def sort(self) -> None:
        """Sort every bucket by key, then by record."""
        for path in self._files:
            entries = np.fromfile(path, _ENTRY)
            entries[np.argsort(entries["key"], kind="stable")].tofile(path)  # records come in order

    def buckets(self) -> Iterator[SortedKeys]:
        """Buckets in the order of their keys."""
        for path in self._files:
            entries = np.fromfile(path, _ENTRY)
            key = np.ascontiguousarray(entries["key"])
            starts = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]])) if key.size else np.empty(0, int)
            record, field = entries["record"].astype(np.int64), entries["field"].astype(np.int64)
            yield SortedKeys(key[starts], np.append(starts, key.size), field, record)

    def remove(self) -> None:
        """Remove the files."""
        for path in self._files:
            path.unlink(missing_ok=True)


class SortedKeys(NamedTuple):
    """Different keys, where the entries of each begin, and field and record of every entry."""

    keys: np.ndarray
    ptr: np.ndarray
    field: np.ndarray
    record: np.ndarray

    def lengths(self, n_records: int, out: np.ndarray) -> None:
        """Add the squared weights to those of every record and field: `out` of shape (records, fields)."""
        weights = key_weights(np.diff(self.ptr), n_records)
        np.add.at(out, (self.record, self.field), np.repeat(weights**2, np.diff(self.ptr)))
