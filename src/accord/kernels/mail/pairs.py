"""Features of pairs of mails.

A mail is a row of `Signatures`. All features are in [0, 1] and symmetric; they come in groups, in this order:

==========  ======================================================================================================
marks       1 where both have the same hash (0 stands for "has none")
numbers     1 - min(1, |a - b|)
texts       cosines of the sketches of words and bigrams, shares of equal bins of words and word triples; each
            followed by what it has above a threshold, because near-copies stand out only there
sets        Jaccard coefficients of bit maps
subject     1 - edit distance / length of the longer one
==========  ======================================================================================================

Loops over columns have lengths that the compiler does not know: these become vector instructions, while short loops of
known length are unrolled, which is four times slower.
"""

from typing import NamedTuple

import numpy as np

from accord.kernels.compiling import helper, kernel
from accord.kernels.mail.text import N_BINS

N_TEXTS, N_PADDED = 8, 32
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


@helper
def cosine(a, i, b, j):
    """Of rows that are scaled to length 127; not below 0."""
    total = np.int32(0)
    for m in range(b.shape[1]):
        total = np.int32(total + np.int32(np.int32(a[i, m]) * np.int32(b[j, m])))
    return min(max(total / 16129.0, 0.0), 1.0)


@helper
def n_equal(a, b, j):
    """How many bins are equal; empty ones are 0 in ``b`` and 255, which is no value, in ``a``."""
    n = np.uint8(0)
    for m in range(N_BINS):
        n = np.uint8(n + np.uint8(a[m] == b[j, m]))
    return n


@helper
def equal_bins(a, b, j, n_a, n_b):
    """Share of equal bins; see `n_equal`."""
    return n_equal(a, b, j) / max(n_a, n_b, 1)


@helper
def without_zeros(bins, i):
    """A row of bins with 255 for those that are empty."""
    out = np.empty(N_BINS, np.uint8)
    for m in range(N_BINS):
        out[m] = bins[i, m] if bins[i, m] else 255
    return out


@helper
def _n_bits(x):
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@helper
def jaccard(a, i, b, j, s):
    """Bits in common by bits in either, of bit map ``s``."""
    both = _n_bits(a[i, 2 * s] & b[j, 2 * s]) + _n_bits(a[i, 2 * s + 1] & b[j, 2 * s + 1])
    either = _n_bits(a[i, 2 * s] | b[j, 2 * s]) + _n_bits(a[i, 2 * s + 1] | b[j, 2 * s + 1])
    return both / max(either, 1)


@helper
def letter_positions(pattern, n, positions):
    """For each byte the positions in ``pattern[:n]`` where it stands, as bits."""
    positions[:] = 0
    for j in range(n):
        positions[pattern[j]] |= np.uint64(1) << np.uint64(j)


@helper
def edit_similarity(positions, n, texts, j, n_text):
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


@helper
def above(value, threshold):
    """What a value has above a threshold, as a part of what it could have."""
    return max(0.0, value - threshold) / (1.0 - threshold)


@helper
def _fill(a, i, single, triples, b, j, positions, high, out):
    """All features of one pair; ``single``, ``triples`` and ``positions`` are made of row ``i`` of ``a``."""
    n_marks, n_sets = a.marks.shape[1], a.sets.shape[1] // 2
    n_numbers = out.size - n_marks - N_TEXTS - n_sets - 1
    for m in range(n_marks):
        out[m] = 1.0 if a.marks[i, m] == b.marks[j, m] and a.marks[i, m] != 0 else 0.0
    for m in range(n_numbers):
        out[n_marks + m] = 1.0 - min(1.0, abs(np.float64(a.numbers[i, m]) - np.float64(b.numbers[j, m])))
    at = n_marks + n_numbers
    out[at] = cosine(a.words, i, b.words, j)
    out[at + 2] = cosine(a.bigrams, i, b.bigrams, j)
    out[at + 4] = equal_bins(single, b.single, j, a.lengths[i, 0], b.lengths[j, 0])
    out[at + 6] = equal_bins(triples, b.triples, j, a.lengths[i, 1], b.lengths[j, 1])
    for g in range(4):
        out[at + 2 * g + 1] = above(out[at + 2 * g], high[g])
    at += N_TEXTS
    for s in range(n_sets):
        out[at + s] = jaccard(a.sets, i, b.sets, j, s)
    out[at + n_sets] = edit_similarity(positions, a.lengths[i, 2], b.subject, j, b.lengths[j, 2])


@kernel
def features_between(a, b, high, out):
    """Features ``out`` (rows of a, rows of b, d)."""
    positions = np.empty(256, np.uint64)
    for i in range(out.shape[0]):
        letter_positions(a.subject[i], a.lengths[i, 2], positions)
        single, triples = without_zeros(a.single, i), without_zeros(a.triples, i)
        for j in range(out.shape[1]):
            _fill(a, i, single, triples, b, j, positions, high, out[i, j])


@kernel
def features_of_pairs(a, high, out):
    """Features ``out`` (pairs, d) of all pairs of rows, in condensed order."""
    positions = np.empty(256, np.uint64)
    p = 0
    for i in range(a.marks.shape[0]):
        letter_positions(a.subject[i], a.lengths[i, 2], positions)
        single, triples = without_zeros(a.single, i), without_zeros(a.triples, i)
        for j in range(i):
            _fill(a, i, single, triples, a, j, positions, high, out[p])
            p += 1
