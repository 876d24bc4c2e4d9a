"""The inverted index of :mod:`accord.dedupe.blocking` for tables that do not fit into memory: the same, in files.

Entries are sorted by key to count them, by record to scale and cut them, and by key again, each time in parts that fit
into memory (:class:`Parts`). The result are arrays in files, mapped into memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from accord.dedupe.blocking import Index
from accord.dedupe.lookup_keys import LARGE, MAX_RECORDS, MOST_KEYS, KeyFiles, key_weights, shares_of_fields
from accord.dedupe.packing import FileGrowing

_PART = 4_000_000  # entries in memory at a time
_FEW_OF = 3  # of so many keys one is rare enough to be looked up, but not unique; of most tables
_BY_RECORD = np.dtype([("record", "<i8"), ("field", "<i8"), ("key", "<i8"), ("weight", "<f8")])
_BY_KEY = np.dtype([("key", "<i8"), ("record", "<i8"), ("value", "<f8")])
NAMES = {"ptr": "i8", "keys": "i8", "values": "f8", "key_ptr": "i8", "key_rows": "i8", "key_values": "f8"}


class Parts:
    """Entries that are shared out to files by ranges of a whole number, to be read range by range."""

    def __init__(self, folder: Path, name: str, dtype: np.dtype, highest: int, n_entries: int) -> None:
        self.n_parts = max(-(-n_entries // _PART), 1)
        self.dtype, self.width = dtype, max(-(-highest // self.n_parts), 1)
        self._files = [folder / f"{name}-{k}" for k in range(self.n_parts)]
        for path in self._files:
            path.write_bytes(b"")

    def add(self, entries: np.ndarray, numbers: np.ndarray) -> None:
        """Add entries to the ranges that their numbers are in."""
        part = (numbers // self.width).astype(np.uint16)  # of so few bits, for a quick sort
        order = np.argsort(part, kind="stable")
        ends = np.searchsorted(part[order], np.arange(len(self._files) + 1))
        for k, path in enumerate(self._files):
            if ends[k] < ends[k + 1]:
                with open(path, "ab") as stream:
                    stream.write(entries[order[ends[k] : ends[k + 1]]].tobytes())

    def __iter__(self) -> Iterator[tuple[int, int, np.ndarray]]:
        """First and last number (not included) of each range, and its entries in the order in which they came."""
        for k, path in enumerate(self._files):
            yield k * self.width, (k + 1) * self.width, np.fromfile(path, self.dtype)
            path.unlink()


def build(
    folder: Path, files: KeyFiles, n_records: int, n_fields: int, advance: Callable[[], None] = lambda: None
) -> None:
    """Arrays of the index in a folder, from keys of all records; `advance` is called after each of the files."""
    shares = shares_of_fields(n_fields, joint=n_records > LARGE)
    n_fields = shares.size
    lengths = np.zeros((n_records, n_fields))
    by_record = Parts(folder, "by-record", _BY_RECORD, n_records, files.n_entries() // _FEW_OF)
    n_keys = n_entries = 0
    for bucket in files.buckets(n_fields):
        bucket.lengths(n_records, lengths)
        sizes = np.diff(bucket.ptr)
        useful = (sizes >= 2) & (sizes <= MAX_RECORDS) & (key_weights(sizes, n_records) > 0)
        kept = np.repeat(useful, sizes)
        entries = np.empty(int(kept.sum()), _BY_RECORD)
        entries["record"], entries["field"] = bucket.record[kept], bucket.field[kept]
        entries["key"] = np.repeat(n_keys + np.arange(int(useful.sum())), sizes[useful])
        entries["weight"] = np.repeat(key_weights(sizes[useful], n_records), sizes[useful])
        by_record.add(entries, entries["record"])
        n_keys, n_entries = n_keys + int(useful.sum()), n_entries + entries.size
        advance()
    np.sqrt(lengths, out=lengths)
    lengths /= shares
    arrays = {name: FileGrowing(folder / f"index.{name}", np.empty(0, kind)) for name, kind in NAMES.items()}
    by_key = Parts(folder, "by-key", _BY_KEY, n_keys, n_entries)
    _write_records(arrays, by_record, by_key, lengths)
    _write_keys(arrays, by_key, n_keys)


def open_index(folder: Path) -> Index:
    """What :func:`build` wrote."""
    arrays = (FileGrowing(folder / f"index.{name}", np.empty(0, kind)) for name, kind in NAMES.items())
    return Index(*(one.array if one.size else np.empty(0, kind) for one, kind in zip(arrays, NAMES.values())))


def _write_records(arrays: dict[str, FileGrowing], by_record: Parts, by_key: Parts, lengths: np.ndarray) -> None:
    """Keys of every record, a cell's rarest ones, and their values; entries by key follow from them."""
    total = 0
    for first, last, entries in by_record:
        last = min(last, len(lengths))
        cell = entries["record"] * lengths.shape[1] + entries["field"]
        order = np.argsort(cell, kind="stable")  # keys come in order
        cell, entries = cell[order], entries[order]
        if entries.size and np.bincount(cell - cell[0]).max() > MOST_KEYS:
            rarest = np.lexsort((entries["key"], -entries["weight"], cell))
            rank = np.arange(cell.size) - np.searchsorted(cell, cell)
            entries = entries[np.sort(rarest[rank < MOST_KEYS])]
        out = np.empty(entries.size, _BY_KEY)
        out["key"], out["record"] = entries["key"], entries["record"]
        out["value"] = entries["weight"] / lengths[entries["record"], entries["field"]]
        by_key.add(out, out["key"])
        arrays["keys"].append(out["key"])
        arrays["values"].append(out["value"])
        if last > first:
            ends = total + np.cumsum(np.bincount(entries["record"] - first, minlength=last - first))
            arrays["ptr"].append(ends if first else np.concatenate([[0], ends]))
            total = int(ends[-1])


def _write_keys(arrays: dict[str, FileGrowing], by_key: Parts, n_keys: int) -> None:
    """Records of every key."""
    total = 0
    arrays["key_ptr"].append([0])
    for first, last, entries in by_key:
        last = min(last, n_keys)
        entries = entries[np.argsort(entries["key"], kind="stable")]  # records come in order
        arrays["key_rows"].append(entries["record"])
        arrays["key_values"].append(entries["value"])
        if last > first:
            ends = total + np.cumsum(np.bincount(entries["key"] - first, minlength=last - first))
            arrays["key_ptr"].append(ends)
            total = int(ends[-1])
