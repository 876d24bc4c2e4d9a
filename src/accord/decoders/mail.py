"""Features of pairs of mails, and the batch a mail joins: the sequential decision over a window [thesis, Table 8.2].

A mail is a row of `Signatures`. All features are in [0, 1] and symmetric; they come in groups, in this order:

==========  ======================================================================================================
marks       1 where both have the same hash (0 stands for "has none")
numbers     1 - min(1, |a - b|)
texts       cosines of the sketches of words and bigrams, shares of equal bins of words and word triples; each
            followed by what it has above a threshold, because near-copies stand out only there
sets        Jaccard coefficients of bit maps
subject     1 - edit distance / length of the longer one
==========  ======================================================================================================

`best_batch` finds the batch with the largest sum of similarities. It goes through the groups one after another and
leaves out a batch as soon as an upper bound says that its sum stays below zero: features are in [0, 1], so what is not
computed yet adds at most the sum of its positive weights to each pair. The decision is the same as without.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

N_TEXTS = 8
SUBJECT = 48  # bytes of a subject that are compared: a 64-bit word holds the column of the edit distance
HIGH = np.array([0.5, 0.9, 0.5, 0.5])  # thresholds of words, bigrams, bins and triples


class Signatures(NamedTuple):
    """What is kept of mails, one row each."""

    marks: np.ndarray  # (n, n_marks) uint32, 0: none
    numbers: np.ndarray  # (n, n_numbers) float32
    words: np.ndarray  # (n, 128) int8, length 127
    bigrams: np.ndarray  # (n, 128) int8, length 127
    single: np.ndarray  # (n, 64) uint8, 0: empty
    triples: np.ndarray  # (n, 64) uint8, 0: empty
    sets: np.ndarray  # (n, 2 * n_sets) uint64, bit maps of 128 bits
    subject: np.ndarray  # (n, SUBJECT) uint8
    lengths: np.ndarray  # (n, 3) uint8: bins filled in single and triples, bytes of subject


@njit(cache=True, nogil=True)
def _cosine(a, b):
    total = np.int32(0)
    for j in range(a.size):
        total = np.int32(total + np.int32(np.int32(a[j]) * np.int32(b[j])))
    return min(max(total / 16129.0, 0.0), 1.0)


@njit(cache=True, nogil=True)
def _equal_bins(a, b, n_a, n_b):
    n = np.uint8(0)
    for j in range(a.size):
        n = np.uint8(n + np.uint8((a[j] == b[j]) & (a[j] != 0)))
    return n / max(n_a, n_b, 1)


@njit(cache=True, nogil=True)
def _n_bits(x):
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True, nogil=True)
def _jaccard(a, b, s):
    both = _n_bits(a[2 * s] & b[2 * s]) + _n_bits(a[2 * s + 1] & b[2 * s + 1])
    either = _n_bits(a[2 * s] | b[2 * s]) + _n_bits(a[2 * s + 1] | b[2 * s + 1])
    return both / max(either, 1)


@njit(cache=True, nogil=True)
def _letter_positions(pattern, n, positions):
    """For each byte the positions in ``pattern[:n]`` where it stands, as bits."""
    for j in range(positions.size):
        positions[j] = 0
    for j in range(n):
        positions[pattern[j]] |= np.uint64(1) << np.uint64(j)


@njit(cache=True, nogil=True)
def _edit_similarity(positions, n, text, n_text):
    """1 - Levenshtein distance / longer length; a column of the table is two bit vectors (Myers 1999)."""
    if n == 0 or n_text == 0:
        return 0.0
    one = np.uint64(1)
    top = one << np.uint64(n - 1)
    plus, minus = ~np.uint64(0), np.uint64(0)
    distance = np.int64(n)
    for t in range(n_text):
        here = positions[text[t]]
        vertical = here | minus
        here = (((here & plus) + plus) ^ plus) | here
        up = minus | ~(here | plus)
        down = plus & here
        if up & top:
            distance += 1
        elif down & top:
            distance -= 1
        up = (up << one) | one
        plus = (down << one) | ~(vertical | up)
        minus = up & vertical
    return 1.0 - distance / max(n, n_text)


@njit(cache=True, nogil=True)
def _texts(a, i, b, j, high, out):
    out[0] = _cosine(a.words[i], b.words[j])
    out[2] = _cosine(a.bigrams[i], b.bigrams[j])
    out[4] = _equal_bins(a.single[i], b.single[j], a.lengths[i, 0], b.lengths[j, 0])
    out[6] = _equal_bins(a.triples[i], b.triples[j], a.lengths[i, 1], b.lengths[j, 1])
    for g in range(4):
        out[2 * g + 1] = max(0.0, out[2 * g] - high[g]) / (1.0 - high[g])


@njit(cache=True, nogil=True)
def _fill(a, i, b, j, positions, high, out):
    """All features of one pair; ``positions`` are those of the subject of row ``i`` of ``a``."""
    n_marks, n_numbers = a.marks.shape[1], a.numbers.shape[1]
    n_sets = a.sets.shape[1] // 2
    for m in range(n_marks):
        out[m] = 1.0 if a.marks[i, m] == b.marks[j, m] and a.marks[i, m] != 0 else 0.0
    for m in range(n_numbers):
        out[n_marks + m] = 1.0 - min(1.0, abs(np.float64(a.numbers[i, m]) - np.float64(b.numbers[j, m])))
    at = n_marks + n_numbers
    _texts(a, i, b, j, high, out[at:])
    at += N_TEXTS
    for s in range(n_sets):
        out[at + s] = _jaccard(a.sets[i], b.sets[j], s)
    out[at + n_sets] = _edit_similarity(positions, a.lengths[i, 2], b.subject[j], b.lengths[j, 2])


@njit(cache=True, nogil=True)
def features_between(a, b, high, out):
    """Features ``out`` (rows of a, rows of b, d)."""
    positions = np.empty(256, np.uint64)
    for i in range(out.shape[0]):
        _letter_positions(a.subject[i], a.lengths[i, 2], positions)
        for j in range(out.shape[1]):
            _fill(a, i, b, j, positions, high, out[i, j])


@njit(cache=True, nogil=True)
def features_of_pairs(a, high, out):
    """Features ``out`` (pairs, d) of all pairs of rows, in condensed order."""
    positions = np.empty(256, np.uint64)
    p = 0
    for i in range(a.marks.shape[0]):
        _letter_positions(a.subject[i], a.lengths[i, 2], positions)
        for j in range(i):
            _fill(a, i, a, j, positions, high, out[p])
            p += 1


@njit(cache=True, nogil=True)
def copy_row(source, i, target, j):
    """Copy row ``i`` to row ``j``."""
    for m in range(source.marks.shape[1]):
        target.marks[j, m] = source.marks[i, m]
    for m in range(source.numbers.shape[1]):
        target.numbers[j, m] = source.numbers[i, m]
    for m in range(source.words.shape[1]):
        target.words[j, m] = source.words[i, m]
        target.bigrams[j, m] = source.bigrams[i, m]
    for m in range(source.single.shape[1]):
        target.single[j, m] = source.single[i, m]
        target.triples[j, m] = source.triples[i, m]
    for m in range(source.sets.shape[1]):
        target.sets[j, m] = source.sets[i, m]
    for m in range(source.subject.shape[1]):
        target.subject[j, m] = source.subject[i, m]
    for m in range(3):
        target.lengths[j, m] = source.lengths[i, m]


@njit(cache=True, nogil=True)
def _drop_hopeless(rows, n_rows, places, scores, rest, prune, sums):
    """Keep the rows of batches whose sum may still reach zero if every pair gains ``rest``. Returns their number."""
    if not prune:
        return n_rows
    for r in range(n_rows):
        sums[places[rows[r]]] = 0.0
    for r in range(n_rows):
        sums[places[rows[r]]] += scores[rows[r]] + rest
    kept = 0
    for r in range(n_rows):
        if sums[places[rows[r]]] >= -1e-6:  # rounding must not cost a batch that reaches zero exactly
            rows[kept] = rows[r]
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def best_batch(new, window, n_rows, places, serials, weights, bias, high, prune, rows, scores, sums):
    """The place of the batch that a mail joins and the sum of similarities to its members, or -1 and the largest sum
    looked at.

    Parameters: ``new`` has the mail in row 0; ``places[k]`` is where the batch of row k of the window is accounted
    (-1: the row takes no part); ``serials`` numbers batches by age, the older one wins a tie; ``rows``, ``scores``
    (n_rows,) and ``sums`` (places) are room to work in. Afterwards ``rows[:kept]`` are those looked at to the end.
    """
    n_marks, n_numbers, n_sets = new.marks.shape[1], new.numbers.shape[1], new.sets.shape[1] // 2
    w_numbers, w_texts = n_marks, n_marks + n_numbers
    w_sets = w_texts + N_TEXTS
    w_subject = w_sets + n_sets
    rest_last = 0.0
    for m in range(w_sets, w_subject + 1):
        rest_last += max(weights[m], 0.0)
    rest_numbers = rest_last
    for m in range(w_numbers, w_texts):
        rest_numbers += max(weights[m], 0.0)
    rest_marks = rest_numbers
    for m in range(n_marks):
        if new.marks[0, m] != 0:
            rest_marks += max(weights[m], 0.0)
    kept = 0
    texts = np.empty(N_TEXTS)
    for k in range(n_rows):
        if places[k] < 0:
            continue
        rows[kept] = k
        kept += 1
        _texts(new, 0, window, k, high, texts)
        total = bias
        for g in range(N_TEXTS):
            total += weights[w_texts + g] * texts[g]
        scores[k] = total
    kept = _drop_hopeless(rows, kept, places, scores, rest_marks, prune, sums)
    for r in range(kept):
        k = rows[r]
        total = scores[k]
        for m in range(n_marks):
            if new.marks[0, m] == window.marks[k, m] and new.marks[0, m] != 0:
                total += weights[m]
        scores[k] = total
    kept = _drop_hopeless(rows, kept, places, scores, rest_numbers, prune, sums)
    for r in range(kept):
        k = rows[r]
        total = scores[k]
        for m in range(n_numbers):
            distance = abs(np.float64(new.numbers[0, m]) - np.float64(window.numbers[k, m]))
            total += weights[w_numbers + m] * (1.0 - min(1.0, distance))
        scores[k] = total
    kept = _drop_hopeless(rows, kept, places, scores, rest_last, prune, sums)
    positions = np.empty(256, np.uint64)
    _letter_positions(new.subject[0], new.lengths[0, 2], positions)
    for r in range(kept):
        k = rows[r]
        total = scores[k]
        for s in range(n_sets):
            total += weights[w_sets + s] * _jaccard(new.sets[0], window.sets[k], s)
        same = _edit_similarity(positions, new.lengths[0, 2], window.subject[k], window.lengths[k, 2])
        scores[k] = total + weights[w_subject] * same
    return _largest(rows, kept, places, serials, scores, sums)


@njit(cache=True, nogil=True)
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
