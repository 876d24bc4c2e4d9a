"""The batch a mail joins: the sequential decision over a window [thesis, Table 8.2].

`best_batch` finds the batch with the largest sum of similarities. It computes features in three steps and leaves out a
batch as soon as an upper bound says that its sum stays below zero: features are in [0, 1], so what is not computed yet
adds at most the sum of its positive weights to each pair; for marks, one byte of each (`tags`) tells most that
differ. The decision is the same as without.
"""

import numpy as np
from numba import njit

from accord.kernels.compiling import HELPER, ZERO, helper, kernel
from accord.kernels.mail.pairs import (
    N_PADDED,
    N_TEXTS,
    above,
    cosine,
    edit_similarity,
    equal_bins,
    jaccard,
    letter_positions,
    without_zeros,
)


@njit(**HELPER, fastmath={"reassoc"})
def _numbers_score(a, b, j, weights):
    """Weighted sum of the closeness of numbers, in single precision and any order: four at a time."""
    total = np.float32(0)
    for m in range(b.shape[1]):
        total += weights[m] * (np.float32(1) - min(np.float32(1), abs(a[m] - b[j, m])))
    return total


@helper
def _tags_bound(a, b, j, weights):
    """At most this much do equal marks add, in the units of ``weights`` (rounded up)."""
    total = np.int32(0)
    for m in range(b.shape[1]):
        total = np.int32(total + np.int32(np.int32(a[m] == b[j, m]) * np.int32(weights[m])))
    return total


@helper
def _tag_weights(new, weights, tags, out):
    """Fill the tags of the new mail, 255 for those without a mark, and their weights; returns the unit of these."""
    unit = max(weights[: new.marks.shape[1]].max() / 127.0, 1e-300)
    for m in range(N_PADDED):
        tags[m], out[m] = 255, 0
        if m < new.marks.shape[1] and new.marks[0, m] != 0:
            tags[m] = new.tags[0, m]
            out[m] = np.int8(min(np.ceil(max(weights[m], 0.0) / unit - 1e-9), 127.0))
    return unit


@helper
def _drop_hopeless(rows, n_rows, places, bounds, rest, sums):
    """Keep the rows of batches whose bounds, ``rest`` added to each, sum up to zero. Returns their number."""
    for r in range(n_rows):
        sums[places[rows[r]]] = 0.0
    for r in range(n_rows):
        sums[places[rows[r]]] += bounds[rows[r]] + rest
    kept = 0
    for r in range(n_rows):
        if sums[places[rows[r]]] >= -1e-4:  # rounding must not cost a batch that reaches zero exactly
            rows[kept] = rows[r]
            kept += 1
    return kept


@helper
def _first_step(new, window, n_rows, places, weights, w_numbers, bias, high, rest, rows, scores, bounds):
    """Words and numbers of all rows that take part, and an upper bound of the rest. Returns the number of rows."""
    n_marks, n_numbers = new.marks.shape[1], w_numbers.size
    w_texts = weights[n_marks + n_numbers :]
    padded, w_padded = np.zeros(N_PADDED, np.float32), np.zeros(N_PADDED, np.float32)
    for m in range(n_numbers):
        padded[m], w_padded[m] = new.numbers[0, m], w_numbers[m]
    tags, w_tags = np.empty(N_PADDED, np.uint8), np.empty(N_PADDED, np.int8)
    q_single, q_triples = without_zeros(new.single, ZERO), without_zeros(new.triples, ZERO)
    unit = _tag_weights(new, weights, tags, w_tags)
    kept = 0
    for k in range(n_rows):
        if places[k] < 0:
            continue
        rows[kept] = k
        kept += 1
        words = cosine(new.words, ZERO, window.words, k)
        single = equal_bins(q_single, window.single, k, new.lengths[0, 0], window.lengths[k, 0])
        triples = equal_bins(q_triples, window.triples, k, new.lengths[0, 1], window.lengths[k, 1])
        total = bias + w_texts[0] * words + w_texts[1] * above(words, high[0])
        total += w_texts[4] * single + w_texts[5] * above(single, high[2])
        total += w_texts[6] * triples + w_texts[7] * above(triples, high[3])
        scores[k] = total + _numbers_score(padded, window.numbers, k, w_padded)
        bounds[k] = scores[k] + unit * _tags_bound(tags, window.tags, k, w_tags) + rest
    return kept


@kernel
def best_batch(new, window, n_rows, places, serials, weights, bias, high, prune, rows, scores, bounds, sums):
    """The place of the batch that a mail joins and the sum of similarities to its members, or -1 and the largest sum
    looked at; and the number of rows looked at to the end.

    Parameters: ``new`` has the mail in row 0; ``places[k]`` is where the batch of row k of the window is accounted
    (-1: the row takes no part); ``serials`` numbers batches by age, the older one wins a tie; ``rows``, ``scores``,
    ``bounds`` (n_rows,) and ``sums`` (places) are room to work in. ``rows`` begins with those looked at to the end.
    """
    n_marks, n_sets = new.marks.shape[1], new.sets.shape[1] // 2
    w_subject = weights.size - 1
    w_sets = w_subject - n_sets
    w_texts = w_sets - N_TEXTS
    rest = np.maximum(weights[w_sets:], 0.0).sum()
    # a bigram cosine c adds w c + w' (c - t) / (1 - t) above the threshold t, which is largest at 0, t or 1
    w_bigrams, w_above = weights[w_texts + 2], weights[w_texts + 3]
    rest_bigrams = max(0.0, w_bigrams * high[1], w_bigrams + w_above)
    w_numbers = weights[n_marks:w_texts]
    rest_first = rest + rest_bigrams
    kept = _first_step(new, window, n_rows, places, weights, w_numbers, bias, high, rest_first, rows, scores, bounds)
    if prune:
        kept = _drop_hopeless(rows, kept, places, bounds, 0.0, sums)
    for r in range(kept):
        k = rows[r]
        bigrams = cosine(new.bigrams, ZERO, window.bigrams, k)
        total = scores[k] + w_bigrams * bigrams + w_above * above(bigrams, high[1])
        for m in range(n_marks):
            if new.marks[0, m] == window.marks[k, m] and new.marks[0, m] != 0:
                total += weights[m]
        scores[k] = total
    if prune:
        kept = _drop_hopeless(rows, kept, places, scores, rest, sums)
    positions = np.empty(256, np.uint64)
    letter_positions(new.subject[0], new.lengths[0, 2], positions)
    for r in range(kept):
        k = rows[r]
        total = scores[k]
        for s in range(n_sets):
            total += weights[w_sets + s] * jaccard(new.sets, ZERO, window.sets, k, s)
        same = edit_similarity(positions, new.lengths[0, 2], window.subject, k, window.lengths[k, 2])
        scores[k] = total + weights[w_subject] * same
    return _largest(rows, kept, places, serials, scores, sums)


@helper
def _largest(rows, n_rows, places, serials, scores, sums):
    for r in range(n_rows):
        sums[places[rows[r]]] = 0.0
    for r in range(n_rows):
        sums[places[rows[r]]] += scores[rows[r]]
    best, best_sum = -1, -np.inf
    for r in range(n_rows):
        place = places[rows[r]]
        if sums[place] > best_sum or (sums[place] == best_sum and serials[place] < serials[best]):
            best, best_sum = place, sums[place]
    return (best if best_sum >= 0 else -1), best_sum, n_rows
