"""Keys by which records are looked up: words, trigrams and values of fields, the same numbers in every table and file.

Of a table that does not fit into memory they are sorted on disk, in buckets by their first bits (:class:`KeyFiles`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from accord.dedupe.column import parts_of, text_key
from accord.dedupe.packing import rows_of
from accord.dedupe.pairs import RecordTable
from accord.kernels.records import blocking, strings

MAX_RECORDS = 500  # a key of more records says too little to be looked at
MOST_KEYS = 256  # of one cell; of a longer text the rarest ones have to do
_ENTRY = np.dtype([("key", "<u8"), ("record", "<u4"), ("field", "<u4")])
_STEP = 65536.0
_DIGITS = ("number", "date")
LARGE = 20_000  # records of a table above which keys of two fields together are used
_MOST_JOINT = 32  # such keys of one record
_VALUE, _PART, _JOINT = 1 << 20, 2 << 20, 3 << 20  # beside numbers of fields


class RecordKeys(NamedTuple):
    """Keys of records: the place of the record, the number of its field, and the key itself."""

    row: np.ndarray
    field: np.ndarray
    key: np.ndarray


def keys_of(table: RecordTable, records: np.ndarray) -> RecordKeys:
    """Keys of some records of a table; rows are places in `records`.

    Behind those of all fields come those of two fields together, for large tables, as if they were of one more field.
    """
    parts = []
    for number, column in enumerate(table.columns.values()):
        ids = column.ids.array[records]
        here = np.flatnonzero(ids >= 0)
        ptr, keys = column.keys(ids[here])
        fields = np.full(keys.size, number)
        parts.append((np.repeat(here, np.diff(ptr)), fields, mixed(keys, fields)))
    row, key = joint_keys(table, records)
    parts.append((row, np.full(key.size, len(table.columns)), key))
    row, field, key = (np.concatenate(part) for part in zip(*parts))
    return RecordKeys(row, field, key)


def joint_keys(table: RecordTable, records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows, in order, and keys of whole values, and of parts of two fields together.

    In a large table too many records have a word or a trigram to look at all of them; few have two of these.
    """
    columns = list(table.columns.values())
    rows, keys, ragged = [], [], []
    for number, column in enumerate(columns):
        ids = column.ids.array[records]
        here = np.flatnonzero(ids >= 0)
        rows.append(here)
        keys.append(mixed(column.value_keys.array[ids[here]], _VALUE + number))
        ptr, parts = rows_of(column.part_ptr.array, column.part_keys.array, ids[here])
        sizes = np.zeros(ids.size, np.int64)
        sizes[here] = np.diff(ptr)
        ragged.append((sizes, np.cumsum(sizes) - sizes, mixed(parts, _PART + number)))
    for a, b in _two_of(len(columns)):
        (n_a, first_a, parts_a), (n_b, first_b, parts_b) = ragged[a], ragged[b]
        sizes = n_a * n_b
        row = np.repeat(np.arange(sizes.size), sizes)
        place = np.arange(row.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        one, other = first_a[row] + place // n_b[row], first_b[row] + place % n_b[row]
        wanted = slice(None) if a != b else one < other
        rows.append(row[wanted])
        keys.append(_joint(parts_a[one[wanted]], parts_b[other[wanted]]))
    row, key = np.concatenate(rows), np.concatenate(keys)
    order = np.lexsort((key, row))
    row, key = row[order], key[order]
    sizes = np.bincount(row)
    rank = np.arange(row.size) - (np.cumsum(sizes) - sizes)[row]
    kept = rank < _MOST_JOINT  # those that others have as well are there, too
    return row[kept], key[kept]


def _two_of(n_fields: int) -> list[tuple[int, int]]:
    """Pairs of fields; a single one is taken twice."""
    return [(0, 0)] if n_fields == 1 else [(a, b) for b in range(n_fields) for a in range(b)]


def _joint(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return mixed((a ^ (b << np.uint64(1))).view(np.int64), _JOINT)


def fewer_keys_of(table: RecordTable, records: np.ndarray) -> RecordKeys:
    """The same without runs of digits of numbers and dates, which are too many to be written down one by one."""
    found = keys_of(table, records)
    left_out = [k for k, kind in enumerate(table.view.fields_.values()) if kind in _DIGITS]
    kept = ~np.isin(found.field, left_out)
    return RecordKeys(*(part[kept] for part in found))


def fewer_keys_of_one(kinds: Sequence[str], cells: Sequence[str | None]) -> RecordKeys | None:
    """The same of one record that is in no table, given the cells that are compared; None if a text is long."""
    there = [(number, kind, cell) for number, (kind, cell) in enumerate(zip(kinds, cells)) if cell is not None]
    texts = [(number, cell) for number, kind, cell in there if kind == "text"]
    if any(len(cell) > MOST_KEYS for _, cell in texts):
        return None
    grams, ptr = _grams_of([cell for _, cell in texts])
    keys: list[int] = []
    fields: list[int] = []
    for number, kind, cell in there:
        if kind not in _DIGITS:
            own = {text_key(word) for word in cell.split()} if kind == "text" else {text_key(cell)}
            keys += own
            fields += [number] * len(own)
    n_own = grams.size + len(keys)
    keys += [text_key(cell) for _, _, cell in there]
    fields += [_VALUE + number for number, _, _ in there]
    ends = [grams.size + len(keys)]
    for number, (kind, value) in enumerate(zip(kinds, cells)):
        parts = [] if value is None else parts_of(kind, value)
        keys += parts
        fields += [_PART + number] * len(parts)
        ends.append(ends[-1] + len(parts))
    of_grams = np.repeat(np.array([number for number, _ in texts], np.int64), np.diff(ptr))
    field = np.concatenate([of_grams, np.array(fields, np.int64)])
    key = blocking.keys_of_one(
        np.concatenate([grams, np.array(keys, np.int64)]), field, n_own, np.array(ends, np.int64), _JOINT, _MOST_JOINT
    )
    field = np.concatenate([field[:n_own], np.full(key.size - n_own, len(kinds))])
    return RecordKeys(np.zeros(field.size, np.int64), field, key)


def _grams_of(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Trigrams of texts, and where those of a text begin."""
    points = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.int32).copy()
    ptr, starts = np.empty((2, len(texts) + 1), np.int64)
    starts[0] = 0
    np.cumsum([len(text) for text in texts], out=starts[1:])
    keys = np.empty(points.size + starts.size, np.int64)
    strings.trigrams(points, starts, np.int64(ord(" ")), keys, ptr)
    return keys[: strings.sort_rows(keys, np.empty((0, keys.size), np.int64), ptr)], ptr


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


def shares_of_fields(n_fields: int, joint: bool) -> np.ndarray:
    """What keys of fields are scaled to in length, so that the products of two records compare.

    Every field has 1. Keys of two fields together speak of all fields, so they count as much as all of these do. If
    they counted as one more field, many records that happen to have a rare spelling error in common would come before
    those that agree in several fields, the more of them the larger the table.
    """
    return np.concatenate([np.ones(n_fields), [np.sqrt(n_fields)] if joint else []])


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
        bucket = (keys.key >> np.uint64(64 - self.bits)).astype(np.uint16)  # of so few bits, for a quick sort
        order = np.argsort(bucket, kind="stable")
        ends = np.searchsorted(bucket[order], np.arange((1 << self.bits) + 1))
        for b in range(1 << self.bits):
            self._append(b, entries[order[ends[b] : ends[b + 1]]])

    def _append(self, bucket: int, entries: np.ndarray) -> None:
        with open(self._files[bucket], "ab") as stream:
            stream.write(entries.tobytes())

    def n_entries(self) -> int:
        """How many keys were added, each as often as records have it."""
        return sum(path.stat().st_size for path in self._files) // _ENTRY.itemsize

    def buckets(self, n_fields: int) -> Iterator[SortedKeys]:
        """Buckets in the order of their keys, of the first fields, sorted by key, then by record."""
        for path in self._files:
            entries = np.fromfile(path, _ENTRY)
            entries = entries[entries["field"] < n_fields]
            entries = entries[np.argsort(entries["key"], kind="stable")]  # records come in order
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
        blocking.add_squares(self.ptr, key_weights(np.diff(self.ptr), n_records), self.record, self.field, out)
