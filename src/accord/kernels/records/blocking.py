"""Pairs of rows that share keys: the nearest rows by an inverted index, without looking at all pairs."""

import numpy as np

from accord.kernels.compiling import ZERO, helper, kernel

_GOLDEN, _FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_ONE, _27, _30, _31 = np.uint64(1), np.uint64(27), np.uint64(30), np.uint64(31)


@helper
def _put(scores, rows, n, limit, score, row):
    """Insert into a list that is sorted by descending score, then ascending row, and has at most `limit` entries."""
    if n == limit and (score < scores[n - 1] or (score == scores[n - 1] and row > rows[n - 1])):
        return n
    place = n if n < limit else n - 1
    while place > 0 and (scores[place - 1] < score or (scores[place - 1] == score and rows[place - 1] > row)):
        scores[place] = scores[place - 1]
        rows[place] = rows[place - 1]
        place -= 1
    scores[place] = score
    rows[place] = row
    return min(n + 1, limit)


@kernel
def nearest(indptr, keys, values, key_indptr, key_rows, key_values, first, last, below, limit, out_rows, out_scores):
    """For each of the rows ``first .. last - 1`` the `limit` rows with the largest product of values at shared keys.

    The inverted index names the rows of each key in ascending order. ``below``: only smaller row numbers count. Free
    places of ``out_rows`` are -1. Ties go to the lowest row.
    """
    n_rows = indptr.size - 1
    sums = np.zeros(n_rows)
    touched = np.empty(n_rows, np.int64)
    for row in range(first, last):
        n_touched = 0
        for e in range(indptr[row], indptr[row + 1]):
            key = keys[e]
            for f in range(key_indptr[key], key_indptr[key + 1]):
                other = key_rows[f]
                if below and other >= row:
                    break
                if other == row:
                    continue
                if sums[other] == 0.0:
                    touched[n_touched] = other
                    n_touched += 1
                sums[other] += values[e] * key_values[f]
        n = ZERO
        out_rows[row - first] = -1
        for t in range(n_touched):
            n = _put(out_scores[row - first], out_rows[row - first], n, limit, sums[touched[t]], touched[t])
            sums[touched[t]] = 0.0


@helper
def _mixed(key, field):
    """`mixed` of the keys by which records are looked up."""
    out = key + (field + _ONE) * _GOLDEN
    out = (out ^ (out >> _30)) * _FIRST
    out = (out ^ (out >> _27)) * _SECOND
    return out ^ (out >> _31)


@kernel
def keys_of_one(keys, fields, n_own, part_ptr, joint, most):
    """Scattered keys of a record: of the first ``n_own`` one each, then those of two fields together, sorted.

    Behind the first come keys of whole values, then parts of values, those of field f at ``part_ptr[f]`` and behind. A
    single field is taken twice. Of all but the first the `most` lowest are left.
    """
    scattered = np.empty(keys.size, np.uint64)
    for k in range(keys.size):
        scattered[k] = _mixed(np.uint64(keys[k]), np.uint64(fields[k]))
    n_fields, first = part_ptr.size - 1, part_ptr[0]
    n_parts = keys.size - first
    both, n = np.empty(first - n_own + n_parts * n_parts, np.uint64), first - n_own
    both[:n] = scattered[n_own:first]
    for b in range(n_fields):
        for a in range(b if n_fields > 1 else 1):
            for i in range(part_ptr[a], part_ptr[a + 1]):
                for j in range(part_ptr[b] if a != b else i + 1, part_ptr[b + 1]):
                    both[n] = _mixed(scattered[i] ^ (scattered[j] << _ONE), np.uint64(joint))
                    n += 1
    both = np.sort(both[:n])[:most]
    out = np.empty(n_own + both.size, np.uint64)
    out[:n_own] = scattered[:n_own]
    out[n_own:] = both
    return out


@helper
def _rarest_first(weights, listed):
    """Places of those that are listed and count, by descending weight, then ascending place."""
    order, n = np.empty(weights.size, np.int64), 0
    for k in range(weights.size):
        if listed[k] and weights[k] > 0.0:
            place = n
            while place > 0 and weights[order[place - 1]] < weights[k]:
                order[place] = order[place - 1]
                place -= 1
            order[place] = k
            n += 1
    return order[:n]


@kernel
def nearest_posted(weights, fields, scales, listed, indptr, records, values, enough, most_keys, limit):
    """Rows that share the most of some keys, and how much that is; ties go to the lowest row.

    ``records[indptr[k]:indptr[k + 1]]`` have key k, with their ``values``; a key counts its squared weight times the
    scale of its field. Keys are looked at from the rarest on, until they have so many records that it is `enough`, and
    `most_keys` of a field at most.
    """
    order = _rarest_first(weights, listed)
    n_of_field = np.zeros(scales.size, np.int64)
    size = np.int64(64)
    while size < 2 * min(enough + indptr[indptr.size - 1], records.size + 1):
        size *= 2
    slots, sums, touched = np.full(size, -1, np.int64), np.zeros(size), np.empty(size, np.int64)
    n_seen, n_touched = 0, 0
    for k in order:
        if n_seen >= enough:
            break
        n_seen += indptr[k + 1] - indptr[k]
        n_of_field[fields[k]] += 1
        if n_of_field[fields[k]] > most_keys:
            continue
        value = weights[k] * weights[k] * scales[fields[k]]
        for e in range(indptr[k], indptr[k + 1]):
            row = np.int64(records[e])
            slot = np.int64(np.uint64(row) * _GOLDEN >> _31) & (size - 1)
            while slots[slot] >= 0 and slots[slot] != row:
                slot = (slot + 1) & (size - 1)
            if slots[slot] < 0:
                slots[slot] = row
                touched[n_touched] = slot
                n_touched += 1
            sums[slot] += value * values[e]
    n, out_rows, out_sums = ZERO, np.empty(limit, np.int64), np.empty(limit)
    for t in range(n_touched):
        n = _put(out_sums, out_rows, n, limit, sums[touched[t]], slots[touched[t]])
    return out_rows[:n], out_sums[:n]


@kernel
def add_squares(indptr, weights, records, fields, out):
    """Add the squared weight of every key to ``out[record, field]`` of those that have it."""
    for k in range(weights.size):
        for e in range(indptr[k], indptr[k + 1]):
            out[records[e], fields[e]] += weights[k] * weights[k]
