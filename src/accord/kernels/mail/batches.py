"""The batch a mail joins: the sequential decision over a window [thesis, Table 8.2].

`best_batch` finds the batch with the largest sum of similarities. It leaves out a batch as soon as an upper bound says
that its sum stays below zero: features are in [0, 1], so what is not computed yet adds at most the sum of its positive
weights to each pair. A sieve leaves a few mails of thousands; these are compared in two steps, of which the second has
what takes long. The decision is the same as without.
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
from accord.kernels.mail.sieve import drop_hopeless, hopeful_rows, most_of


@njit(**HELPER, fastmath={"reassoc"})
def _numbers_score(a, b, j, weights):
    """Weighted sum of the closeness of numbers, in single precision and any order: four at a time."""
    total = np.float32(0)
    for m in range(b.shape[1]):
        total += weights[m] * (np.float32(1) - min(np.float32(1), abs(a[m] - b[j, m])))
    return total


@helper
def _all_rows(n_rows, places, rows):
    """Fill ``rows`` with those that take part; returns their number."""
    kept = 0
    for k in range(n_rows):
        if places[k] >= 0:
            rows[kept] = k
            kept += 1
    return kept


@helper
def _first_step(new, window, rows, n_rows, weights, bias, high, scores):
    """Scores of some rows but for sets and subjects."""
    n_marks, n_sets = new.marks.shape[1], new.sets.shape[1] // 2
    at = weights.size - 1 - n_sets - N_TEXTS
    w_texts, n_numbers = weights[at:], at - n_marks
    padded, w_padded = np.zeros(N_PADDED, np.float32), np.zeros(N_PADDED, np.float32)
    for m in range(n_numbers):
        padded[m], w_padded[m] = new.numbers[0, m], weights[n_marks + m]
    q_single, q_triples = without_zeros(new.single, ZERO), without_zeros(new.triples, ZERO)
    for r in range(n_rows):
        k = rows[r]
        words = cosine(new.words, ZERO, window.words, k)
        single = equal_bins(q_single, window.single, k, new.lengths[0, 0], window.lengths[k, 0])
        triples = equal_bins(q_triples, window.triples, k, new.lengths[0, 1], window.lengths[k, 1])
        total = bias + w_texts[0] * words + w_texts[1] * above(words, high[0])
        total += w_texts[4] * single + w_texts[5] * above(single, high[2])
        total += w_texts[6] * triples + w_texts[7] * above(triples, high[3])
        total += _numbers_score(padded, window.numbers, k, w_padded)
        bigrams = cosine(new.bigrams, ZERO, window.bigrams, k)
        total += w_texts[2] * bigrams + w_texts[3] * above(bigrams, high[1])
        for m in range(n_marks):
            if new.marks[0, m] == window.marks[k, m] and new.marks[0, m] != 0:
                total += weights[m]
        scores[k] = total


@kernel
def best_batch(new, window, columns, n_rows, places, serials, weights, bias, high, prune, rows, scores, bounds, sums):
    """The place of the batch that a mail joins and the sum of similarities to its members, or -1 and the largest sum
    looked at; and the number of rows looked at to the end.

    Parameters: ``new`` has the mail in row 0; ``columns`` is what the sieve sees of the window; ``places[k]`` is where
    the batch of row k of the window is accounted (-1: the row takes no part); ``serials`` numbers batches by age, the
    older one wins a tie; ``rows``, ``scores``, ``bounds`` (n_rows,), of 32-bit integers, and ``sums`` (places) are room
    to work in. ``rows`` begins with those looked at to the end.
    """
    n_sets = new.sets.shape[1] // 2
    w_subject = weights.size - 1
    w_sets = w_subject - n_sets
    w_texts = w_sets - N_TEXTS
    rest = np.maximum(weights[w_sets:], 0.0).sum()
    if prune:
        rest_first = rest + most_of(weights[w_texts + 2], weights[w_texts + 3], high[1])
        kept = hopeful_rows(
            new, window, columns, n_rows, places, weights, bias, high, rest_first, rows, bounds, scores, sums
        )
    else:
        kept = _all_rows(n_rows, places, rows)
    _first_step(new, window, rows, kept, weights, bias, high, scores)
    if prune:
        kept = drop_hopeless(rows, kept, places, scores, rest, sums)
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


@kernel
def are_alike(new, window, rows, any_of, all_of, subject, out):
    """Fill ``out`` with whether some rows of the window have one of the marks ``any_of`` of the new mail, all of the
    marks ``all_of``, or a subject of so much edit similarity."""
    positions = np.empty(256, np.uint64)
    letter_positions(new.subject[0], new.lengths[0, 2], positions)
    for r in range(rows.size):
        k = rows[r]
        found, n_same = False, 0
        for m in any_of:
            found |= new.marks[0, m] == window.marks[k, m] and new.marks[0, m] != 0
        for m in all_of:
            n_same += new.marks[0, m] == window.marks[k, m] and new.marks[0, m] != 0
        if not found and n_same < all_of.size:
            same = edit_similarity(positions, new.lengths[0, 2], window.subject, k, window.lengths[k, 2])
            found = same >= subject
        out[r] = found or n_same == all_of.size
