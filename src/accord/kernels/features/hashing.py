"""Consecutive numbers for 64-bit keys, in order of first occurrence, with an open-addressing hash table.

Keys are hashes of features. Two of ``n`` features share a key with probability about ``n**2 / 2**65``: 3e-8 for a
million. A table is two arrays: ``slot_keys`` (uint64) and ``slot_ids`` (int32, minus one where empty); their size
is a power of two.
"""

import numpy as np

from accord.kernels.compiling import helper, kernel


@helper
def _find(slot_keys, slot_ids, key):
    """The slot of a key, or the empty slot where it belongs."""
    mask = np.uint64(slot_ids.size - 1)
    s = key & mask
    while slot_ids[s] >= 0 and slot_keys[s] != key:
        s = (s + np.uint64(1)) & mask
    return s


def hash_table(keys, room=0):
    """A hash table (slot keys, slot ids) that numbers distinct ``keys`` in order, with room for more."""
    capacity = 1 << (2 * (keys.size + room) + 1024).bit_length()
    empty = np.zeros(capacity, np.uint64), np.full(capacity, -1, np.int32)
    return count(keys, np.array([0, keys.size]), empty, 0, True)[-2:]


@kernel
def _count(keys, indptr, slot_keys, slot_ids, grow, place, indices, counts, out_indptr, first, state):
    """Count the features of one input after another, as long as the table has room for all that are new.

    ``place`` is where a feature was counted last. ``state`` is how far it came: the next input, the next entry of
    ``indices``, and the number of features.
    """
    t, p, n = state[0], state[1], state[2]
    n_before = place.size - first.size
    while t < indptr.size - 1 and 2 * (n + (indptr[t + 1] - indptr[t]) * grow) <= slot_ids.size:
        begin = p
        for q in range(indptr[t], indptr[t + 1]):
            s = _find(slot_keys, slot_ids, keys[q])
            f = slot_ids[s]
            if f < 0:
                if not grow:
                    continue
                f = n
                first[n - n_before] = q
                slot_keys[s] = keys[q]
                slot_ids[s] = f
                n += 1
            if place[f] < begin:
                place[f] = p
                indices[p] = f
                counts[p] = 0
                p += 1
            counts[place[f]] += 1
        t += 1
        out_indptr[t] = p
    state[0], state[1], state[2] = t, p, n


def count(keys, indptr, table, n_features, grow):
    """Feature numbers of every input, each once, and how often it has them.

    Keys that are not in the table get the next numbers when ``grow``, otherwise they are left out. Returns
    (indices, counts, indptr, positions in ``keys`` of the new features, slot keys, slot ids); the table given may have
    been filled further.
    """
    slot_keys, slot_ids = table
    indices, counts = np.empty(keys.size, np.int32), np.empty(keys.size, np.int32)
    out_indptr, first = np.zeros(indptr.size, np.int64), np.empty(keys.size if grow else 0, np.int64)
    place, state = np.full(n_features + first.size, -1, np.int64), np.array([0, 0, n_features], np.int64)
    while True:
        _count(keys, indptr, slot_keys, slot_ids, grow, place, indices, counts, out_indptr, first, state)
        done, p, n = state.tolist()
        if done == indptr.size - 1:
            break
        used = slot_ids >= 0
        known = np.empty(n, np.uint64)
        known[slot_ids[used]] = slot_keys[used]
        slot_keys, slot_ids = hash_table(known, slot_ids.size // 2)
    return indices[:p].copy(), counts[:p].copy(), out_indptr, first[: n - n_features].copy(), slot_keys, slot_ids


def number(keys, indptr, table, n_features, grow):
    """Feature numbers of every type, each once; as :func:`count`, without the counts."""
    indices, _, *others = count(keys, indptr, table, n_features, grow)
    return indices, *others


SEPARATOR = np.uint32(10)  # a newline stands between words


@kernel
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


@kernel
def look_up(keys, slot_keys, slot_ids, first, out):
    """Write the number of every key plus ``first``, or -1 if the table does not have it."""
    for i in range(keys.size):
        found = slot_ids[_find(slot_keys, slot_ids, keys[i])]
        out[i] = found + first if found >= 0 else -1
