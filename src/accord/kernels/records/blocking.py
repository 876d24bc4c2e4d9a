"""Pairs of rows that share keys: the nearest rows by an inverted index, without looking at all pairs."""

import numpy as np

from accord.kernels.compiling import ZERO, helper, kernel


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
