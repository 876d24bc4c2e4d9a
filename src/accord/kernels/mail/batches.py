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

`best_batch` finds the batch with the largest sum of similarities. It computes features in three steps and leaves out a
batch as soon as an upper bound says that its sum stays below zero: features are in [0, 1], so what is not computed yet
adds at most the sum of its positive weights to each pair; for marks, one byte of each (`tags`) tells most that
differ. The decision is the same as without. Loops over columns have lengths that the compiler does not know: these
become vector instructions, while short loops of known length are unrolled, which is four times slower.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

N_TEXTS, N_BINS, N_PADDED = 8, 64, 32
SUBJECT = 48  # bytes of a subject that are compared: a 64-bit word holds the column of the edit distance
HIGH = np.array([0.5, 0.9, 0.5, 0.5])  # thresholds of words, bigrams, bins and triples


class Signatures(NamedTuple):
    """What is kept of mails, one row each."""

    marks: np.ndarray  # (n, n_marks) uint32, 0: none
    tags: np.ndarray  # (n, 32) uint8, 0 for no mark, else 1 + mark % 254
    numbers: np.ndarray  # (n, 32) float32, unused ones 0
    words: np.ndarray  # (n, 128) int8, length 127
    bigrams: np.ndarray  # (n, 128) int8, length 127
    single: np.ndarray  # (n, 64) uint8, 0: empty
    triples: np.ndarray  # (n, 64) uint8, 0: empty
    sets: np.ndarray  # (n, 2 * n_sets) uint64, bit maps of 128 bits
    subject: np.ndarray  # (n, SUBJECT) uint8
    lengths: np.ndarray  # (n, 3) uint8: bins filled in single and triples, bytes of subject


@njit(cache=True, nogil=True)
def _cosine(a, i, b, j):
    total = np.int32(0)
    for m in range(b.shape[1]):
        total = np.int32(total + np.int32(np.int32(a[i, m]) * np.int32(b[j, m])))
    return min(max(total / 16129.0, 0.0), 1.0)


@njit(cache=True, nogil=True)
def _equal_bins(a, b, j, n_a, n_b):
    """Share of equal bins; empty ones are 0 in ``b`` and 255, which is no value, in ``a``."""
    n = np.uint8(0)
    for m in range(N_BINS):
        n = np.uint8(n + np.uint8(a[m] == b[j, m]))
    return n / max(n_a, n_b, 1)


@njit(cache=True, nogil=True)
def _without_zeros(bins, i):
    out = np.empty(N_BINS, np.uint8)
    for m in range(N_BINS):
        out[m] = bins[i, m] if bins[i, m] else 255
    return out


@njit(cache=True, nogil=True)
def _n_bits(x):
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True, nogil=True)
def _jaccard(a, i, b, j, s):
    both = _n_bits(a[i, 2 * s] & b[j, 2 * s]) + _n_bits(a[i, 2 * s + 1] & b[j, 2 * s + 1])
    either = _n_bits(a[i, 2 * s] | b[j, 2 * s]) + _n_bits(a[i, 2 * s + 1] | b[j, 2 * s + 1])
    return both / max(either, 1)


@njit(cache=True, nogil=True)
def _letter_positions(pattern, n, positions):
    """For each byte the positions in ``pattern[:n]`` where it stands, as bits."""
    for j in range(positions.size):
        positions[j] = 0
    for j in range(n):
        positions[pattern[j]] |= np.uint64(1) << np.uint64(j)


@njit(cache=True, nogil=True)
def _edit_similarity(positions, n, texts, j, n_text):
    """1 - Levenshtein distance / longer length; a column of the table is two bit vectors (Myers 1999)."""
    if n == 0 or n_text == 0:
        return 0.0
    one = np.uint64(1)
    top = one << np.uint64(n - 1)
    plus, minus = ~np.uint64(0), np.uint64(0)
    distance = np.int64(n)
    for t in range(n_text):
        here = positions[texts[j, t]]
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
def _above(value, threshold):
    return max(0.0, value - threshold) / (1.0 - threshold)


@njit(cache=True, nogil=True)
def _texts(a, i, single, triples, b, j, high, out):
    out[0] = _cosine(a.words, i, b.words, j)
    out[2] = _cosine(a.bigrams, i, b.bigrams, j)
    out[4] = _equal_bins(single, b.single, j, a.lengths[i, 0], b.lengths[j, 0])
    out[6] = _equal_bins(triples, b.triples, j, a.lengths[i, 1], b.lengths[j, 1])
    for g in range(4):
        out[2 * g + 1] = _above(out[2 * g], high[g])


@njit(cache=True, nogil=True)
def _fill(a, i, single, triples, b, j, positions, high, out):
    """All features of one pair; ``single``, ``triples`` and ``positions`` are made of row ``i`` of ``a``."""
    n_marks, n_numbers = a.marks.shape[1], out.size - N_TEXTS - a.sets.shape[1] // 2 - 1 - a.marks.shape[1]
    n_sets = a.sets.shape[1] // 2
    for m in range(n_marks):
        out[m] = 1.0 if a.marks[i, m] == b.marks[j, m] and a.marks[i, m] != 0 else 0.0
    for m in range(n_numbers):
        out[n_marks + m] = 1.0 - min(1.0, abs(np.float64(a.numbers[i, m]) - np.float64(b.numbers[j, m])))
    at = n_marks + n_numbers
    _texts(a, i, single, triples, b, j, high, out[at:])
    at += N_TEXTS
    for s in range(n_sets):
        out[at + s] = _jaccard(a.sets, i, b.sets, j, s)
    out[at + n_sets] = _edit_similarity(positions, a.lengths[i, 2], b.subject, j, b.lengths[j, 2])


@njit(cache=True, nogil=True)
def features_between(a, b, high, out):
    """Features ``out`` (rows of a, rows of b, d)."""
    positions = np.empty(256, np.uint64)
    for i in range(out.shape[0]):
        _letter_positions(a.subject[i], a.lengths[i, 2], positions)
        single, triples = _without_zeros(a.single, i), _without_zeros(a.triples, i)
        for j in range(out.shape[1]):
            _fill(a, i, single, triples, b, j, positions, high, out[i, j])


@njit(cache=True, nogil=True)
def features_of_pairs(a, high, out):
    """Features ``out`` (pairs, d) of all pairs of rows, in condensed order."""
    positions = np.empty(256, np.uint64)
    p = 0
    for i in range(a.marks.shape[0]):
        _letter_positions(a.subject[i], a.lengths[i, 2], positions)
        single, triples = _without_zeros(a.single, i), _without_zeros(a.triples, i)
        for j in range(i):
            _fill(a, i, single, triples, a, j, positions, high, out[p])
            p += 1


@njit(cache=True, nogil=True)
def finish_row(row, marks, numbers, is_count, scales):
    """Fill marks, tags, numbers and lengths of a mail whose sketches and subject are there.

    Counts are compared by their logarithms, all numbers on their scales. ``lengths[2]`` has been set.
    """
    for m in range(marks.size):
        row.marks[0, m] = marks[m]
        row.tags[0, m] = marks[m] % 254 + 1 if marks[m] else 0
    for m in range(numbers.size):
        row.numbers[0, m] = (np.log1p(numbers[m]) if is_count[m] else numbers[m]) / scales[m]
    n_single, n_triples = 0, 0
    for m in range(N_BINS):
        n_single += row.single[0, m] != 0
        n_triples += row.triples[0, m] != 0
    row.lengths[0, 0], row.lengths[0, 1] = n_single, n_triples


@njit(cache=True, nogil=True)
def copy_row(source, i, target, j):
    """Copy row ``i`` to row ``j``."""
    for m in range(source.marks.shape[1]):
        target.marks[j, m] = source.marks[i, m]
    for m in range(N_PADDED):
        target.tags[j, m] = source.tags[i, m]
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


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _numbers_score(a, b, j, weights):
    """Weighted sum of the closeness of numbers, in single precision and any order: four at a time."""
    total = np.float32(0)
    for m in range(b.shape[1]):
        total += weights[m] * (np.float32(1) - min(np.float32(1), abs(a[m] - b[j, m])))
    return total


@njit(cache=True, nogil=True)
def _tags_bound(a, b, j, weights):
    """At most this much do equal marks add, in the units of ``weights`` (rounded up)."""
    total = np.int32(0)
    for m in range(b.shape[1]):
        total = np.int32(total + np.int32(np.int32(a[m] == b[j, m]) * np.int32(weights[m])))
    return total


@njit(cache=True, nogil=True)
def _tag_weights(new, weights, tags, out):
    """Fill the tags of the new mail, 255 for those without a mark, and their weights; returns the unit of these."""
    largest = 0.0
    for m in range(new.marks.shape[1]):
        largest = max(largest, weights[m])
    unit = max(largest / 127.0, 1e-300)
    for m in range(N_PADDED):
        tags[m], out[m] = 255, 0
        if m < new.marks.shape[1] and new.marks[0, m] != 0:
            tags[m] = new.tags[0, m]
            out[m] = np.int8(min(np.ceil(max(weights[m], 0.0) / unit - 1e-9), 127.0))
    return unit


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _first_step(new, window, n_rows, places, weights, w_numbers, bias, high, rest, rows, scores, bounds):
    """Words and numbers of all rows that take part, and an upper bound of the rest. Returns the number of rows."""
    n_marks, n_numbers = new.marks.shape[1], w_numbers.size
    w_texts = weights[n_marks + n_numbers :]
    padded, w_padded = np.zeros(N_PADDED, np.float32), np.zeros(N_PADDED, np.float32)
    for m in range(n_numbers):
        padded[m], w_padded[m] = new.numbers[0, m], w_numbers[m]
    tags, w_tags = np.empty(N_PADDED, np.uint8), np.empty(N_PADDED, np.int8)
    q_single, q_triples = _without_zeros(new.single, 0), _without_zeros(new.triples, 0)
    unit = _tag_weights(new, weights, tags, w_tags)
    kept = 0
    for k in range(n_rows):
        if places[k] < 0:
            continue
        rows[kept] = k
        kept += 1
        words = _cosine(new.words, 0, window.words, k)
        single = _equal_bins(q_single, window.single, k, new.lengths[0, 0], window.lengths[k, 0])
        triples = _equal_bins(q_triples, window.triples, k, new.lengths[0, 1], window.lengths[k, 1])
        total = bias + w_texts[0] * words + w_texts[1] * _above(words, high[0])
        total += w_texts[4] * single + w_texts[5] * _above(single, high[2])
        total += w_texts[6] * triples + w_texts[7] * _above(triples, high[3])
        scores[k] = total + _numbers_score(padded, window.numbers, k, w_padded)
        bounds[k] = scores[k] + unit * _tags_bound(tags, window.tags, k, w_tags) + rest
    return kept


@njit(cache=True, nogil=True)
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
    rest = 0.0
    for m in range(w_sets, w_subject + 1):
        rest += max(weights[m], 0.0)
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
        bigrams = _cosine(new.bigrams, 0, window.bigrams, k)
        total = scores[k] + w_bigrams * bigrams + w_above * _above(bigrams, high[1])
        for m in range(n_marks):
            if new.marks[0, m] == window.marks[k, m] and new.marks[0, m] != 0:
                total += weights[m]
        scores[k] = total
    if prune:
        kept = _drop_hopeless(rows, kept, places, scores, rest, sums)
    positions = np.empty(256, np.uint64)
    _letter_positions(new.subject[0], new.lengths[0, 2], positions)
    for r in range(kept):
        k = rows[r]
        total = scores[k]
        for s in range(n_sets):
            total += weights[w_sets + s] * _jaccard(new.sets, 0, window.sets, k, s)
        same = _edit_similarity(positions, new.lengths[0, 2], window.subject, k, window.lengths[k, 2])
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
