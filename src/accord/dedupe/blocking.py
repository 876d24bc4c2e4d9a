"""Candidate pairs of a table: for each record those that share the most of its rare words and trigrams.

Five thousand records have 12.5 million pairs, nearly all of them plainly different. Every field's words, trigrams and
values are keys of an inverted index, weighted by the logarithm of their rarity and scaled to unit length per field; the
records with the largest sums of products are the candidates. Keys of very many records are left out; of large tables
those would be most, so whole values, and parts of two fields together, are keys there as well. A pair of duplicates
that agrees in nothing but frequent keys, or that has many others nearer, is missed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from accord.dedupe.lookup_keys import LARGE, MAX_RECORDS, MOST_KEYS, joint_keys, key_weights, mixed, shares_of_fields
from accord.dedupe.packing import distinct, rows_of
from accord.dedupe.pairs import RecordTable
from accord.kernels.records import blocking
from accord.threads import map_threads

_ROWS = 2048  # records per call
_SQUARE = 4000  # records of a table that is small enough to keep all products


class Index(NamedTuple):
    """Keys of every record, and records of every key, both with values."""

    ptr: np.ndarray
    keys: np.ndarray
    values: np.ndarray
    key_ptr: np.ndarray
    key_rows: np.ndarray
    key_values: np.ndarray


def key_index(table: RecordTable, max_records: int = MAX_RECORDS) -> Index:
    """The inverted index of a table; keys of more than `max_records` records are left out."""
    rows, keys, values, n_keys = [], [], [], 0
    shares = shares_of_fields(len(table.columns), joint=len(table) > LARGE).tolist()
    for (ids, ptr, own), share in zip(_fields(table), shares):
        row, key, value, found = _field_keys(ids, ptr, own, max_records, share)
        rows.append(row)
        keys.append(key + n_keys)
        values.append(value)
        n_keys += found
    row, key, value = np.concatenate(rows), np.concatenate(keys), np.concatenate(values)
    order = np.argsort(row * np.int64(max(n_keys, 1)) + key)  # keys of a record in one order, whatever was before
    by_key = np.argsort(key[order], kind="stable")
    row, key, value = row[order], key[order], value[order]
    ptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(table)))])
    key_ptr = np.concatenate([[0], np.cumsum(np.bincount(key, minlength=n_keys))])
    return Index(ptr, key, value, key_ptr, row[by_key], value[by_key])


def _fields(table: RecordTable) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Values of every record in each field, row pointers and keys of values; in large tables of two fields together."""
    for number, column in enumerate(table.columns.values()):
        ptr, keys = column.keys(np.arange(column.n_values))
        yield column.ids.array, ptr, mixed(keys, number)
    if len(table) > LARGE:
        every = np.arange(len(table))
        row, keys = joint_keys(table, every)
        yield every, np.concatenate([[0], np.cumsum(np.bincount(row, minlength=every.size))]), keys


class Closeness:
    """Products of what records share by the index of a table, for all pairs of some of them."""

    def __init__(self, table: RecordTable, index: Index | None = None) -> None:
        self._index = key_index(table) if index is None else index
        self._all: np.ndarray | None = None

    def within(self, records: np.ndarray) -> np.ndarray:
        """The square matrix of some records."""
        n = self._index.ptr.size - 1
        if n > _SQUARE:
            return self._products(records)
        if self._all is None:
            self._all = self._products(np.arange(n)).astype(np.float32)
        return self._all[np.ix_(records, records)]

    def _products(self, records: np.ndarray) -> np.ndarray:
        index = self._index
        ptr, keys = rows_of(index.ptr, index.keys, records)
        keys, place = np.unique(keys, return_inverse=True)  # few of very many
        rows = csr_array((rows_of(index.ptr, index.values, records)[1], place, ptr), shape=(records.size, keys.size))
        return (rows @ rows.T).toarray()


def candidate_pairs(
    table: RecordTable,
    n_candidates: int,
    first: int | None = None,
    max_records: int = MAX_RECORDS,
    n_jobs: int | None = 1,
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs (later record, earlier record) of the table, each once, sorted.

    Every record has its `n_candidates` nearest records. With ``first``, only records from there on look for candidates,
    and only among those before them: what is decided for a record must not depend on those that come later.
    """
    index = key_index(table, max_records)
    n, start = len(table), 0 if first is None else first
    found = np.empty((n - start, n_candidates), np.int64)

    def search(begin: int) -> None:
        end = min(begin + _ROWS, n)
        scores = np.empty((end - begin, n_candidates))
        blocking.nearest(
            *index, begin, end, first is not None, n_candidates, found[begin - start : end - start], scores
        )

    map_threads(search, ((begin,) for begin in range(start, n, _ROWS)), n_jobs)
    row, place = np.nonzero(found >= 0)
    other = found[row, place]
    row = row + start
    pairs = distinct(np.maximum(row, other) * n + np.minimum(row, other))
    return pairs // n, pairs % n


def _field_keys(
    ids: np.ndarray, ptr: np.ndarray, keys: np.ndarray, max_records: int, share: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Records, keys (numbered from 0) and values of one field, of keys that two or more records have.

    All values of a record, also those of keys that are left out, are scaled to the length `share`.
    """
    records = np.flatnonzero(ids >= 0)
    values_of = ids[records]
    counts = np.diff(ptr)[values_of]
    row = np.repeat(records, counts)
    place = np.repeat(ptr[values_of] - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts) + np.arange(row.size)
    _, key, frequency = np.unique(keys[place], return_inverse=True, return_counts=True)
    weight = key_weights(frequency, ids.size)
    lengths = np.sqrt(np.bincount(row, weight[key] ** 2, ids.size)) / share
    useful = (frequency >= 2) & (frequency <= max(max_records, 2)) & (weight > 0)
    kept = useful[key]
    number = np.cumsum(useful) - 1
    row, key = row[kept], key[kept]
    if row.size and np.bincount(row).max() > MOST_KEYS:
        rarest = np.lexsort((key, -weight[key], row))
        row, key = row[rarest], key[rarest]
        rank = np.arange(row.size) - np.searchsorted(row, row)
        row, key = row[rank < MOST_KEYS], key[rank < MOST_KEYS]
    return row, number[key], weight[key] / lengths[row], int(useful.sum())
