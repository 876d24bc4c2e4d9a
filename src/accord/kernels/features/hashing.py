"""Consecutive numbers for 64-bit keys, in order of first occurrence, with an open-addressing hash table.

Keys are hashes of features. Two of ``n`` features share a key with probability about ``n**2 / 2**65``: 3e-8 for a
million. A table is two arrays: ``slot_keys`` (uint64) and ``slot_ids`` (int32, minus one where empty); their size
is a power of two.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _find(slot_keys, slot_ids, key):
    """The slot of a key, or the empty slot where it belongs."""
    mask = np.uint64(slot_ids.size - 1)
    s = key & mask
    while slot_ids[s] >= 0 and slot_keys[s] != key:
        s = (s + np.uint64(1)) & mask
    return s


@njit(cache=True, nogil=True)
def hash_table(keys):
    """A hash table (slot keys, slot ids) that numbers ``keys`` in order, with as much room again and some."""
    capacity = 1
    while capacity <= 2 * keys.size + 1024:
        capacity *= 2
    slot_keys, slot_ids = np.zeros(capacity, np.uint64), np.full(capacity, -1, np.int32)
    for f in range(keys.size):
        s = _find(slot_keys, slot_ids, keys[f])
        slot_keys[s] = keys[f]
        slot_ids[s] = f
    return slot_keys, slot_ids


@njit(cache=True, nogil=True)
def _twice_as_large(slot_keys, slot_ids):
    keys, ids = np.zeros(2 * slot_ids.size, np.uint64), np.full(2 * slot_ids.size, -1, np.int32)
    for old in range(slot_ids.size):
        if slot_ids[old] >= 0:
            s = _find(keys, ids, slot_keys[old])
            keys[s] = slot_keys[old]
            ids[s] = slot_ids[old]
    return keys, ids


@njit(cache=True, nogil=True)
def number(keys, indptr, slot_keys, slot_ids, n_features, grow):
    """Feature numbers of every type, each once.

    Keys that are not in the table get the next numbers when ``grow``, otherwise they are left out. Returns
    (indices, indptr, positions in ``keys`` of the new features, slot keys, slot ids); the table given may have been
    filled further.
    """
    indices, out_indptr = np.empty(keys.size, np.int32), np.zeros(indptr.size, np.int64)
    first = np.empty(keys.size if grow else 0, np.int64)
    seen = np.full(n_features + first.size, -1, np.int32)
    p, n = 0, n_features
    for t in range(indptr.size - 1):
        for q in range(indptr[t], indptr[t + 1]):
            s = _find(slot_keys, slot_ids, keys[q])
            f = slot_ids[s]
            if f < 0:
                if not grow:
                    continue
                f = n
                first[n - n_features] = q
                slot_keys[s] = keys[q]
                slot_ids[s] = f
                n += 1
                if 2 * n > slot_ids.size:
                    slot_keys, slot_ids = _twice_as_large(slot_keys, slot_ids)
            if seen[f] != t:
                seen[f] = t
                indices[p] = f
                p += 1
        out_indptr[t + 1] = p
    return indices[:p].copy(), out_indptr, first[: n - n_features].copy(), slot_keys, slot_ids


@njit(cache=True, nogil=True)
def count(keys, indptr, slot_keys, slot_ids, n_features, grow):
    """Feature numbers of every input, each once, and how often it has them; otherwise as :func:`number`.

    Returns (indices, counts, indptr, positions in ``keys`` of the new features, slot keys, slot ids).
    """
    indices, counts = np.empty(keys.size, np.int32), np.empty(keys.size, np.int32)
    out_indptr = np.zeros(indptr.size, np.int64)
    first = np.empty(keys.size if grow else 0, np.int64)
    place = np.full(n_features + first.size, -1, np.int64)  # where a feature was counted last
    p, n = 0, n_features
    for t in range(indptr.size - 1):
        begin = p
        for q in range(indptr[t], indptr[t + 1]):
            s = _find(slot_keys, slot_ids, keys[q])
            f = slot_ids[s]
            if f < 0:
                if not grow:
                    continue
                f = n
                first[n - n_features] = q
                slot_keys[s] = keys[q]
                slot_ids[s] = f
                n += 1
                if 2 * n > slot_ids.size:
                    slot_keys, slot_ids = _twice_as_large(slot_keys, slot_ids)
            if place[f] < begin:
                place[f] = p
                indices[p] = f
                counts[p] = 1
                p += 1
            else:
                counts[place[f]] += 1
        out_indptr[t + 1] = p
    return indices[:p].copy(), counts[:p].copy(), out_indptr, first[: n - n_features].copy(), slot_keys, slot_ids


SEPARATOR = np.uint32(10)  # a newline stands between words


@njit(cache=True, nogil=True)
def word_keys(codes, keys):
    """Write a 64-bit key of every newline-separated word of code points; returns how many words there are.

    Words beyond the size of ``keys`` are only counted.
    """
    n = 0
    key = np.uint64(0xCBF29CE484222325)
    for p in range(codes.size + 1):
        if p < codes.size and codes[p] != SEPARATOR:
            key = (key ^ np.uint64(codes[p])) * np.uint64(0x100000001B3)
            continue
        key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        if n < keys.size:
            keys[n] = key ^ (key >> np.uint64(27))
        n += 1
        key = np.uint64(0xCBF29CE484222325)
    return n


@njit(cache=True, nogil=True)
def look_up(keys, slot_keys, slot_ids, first, out):
    """Write the number of every key plus ``first``, or -1 if the table does not have it."""
    for i in range(keys.size):
        found = slot_ids[_find(slot_keys, slot_ids, keys[i])]
        out[i] = found + first if found >= 0 else -1
