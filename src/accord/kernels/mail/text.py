"""The text of a mail, byte by byte, turned into words, sketches and counts.

Text is UTF-8. A *word* is a run of letters and digits; bytes from 128 count as letters, ASCII capitals as small ones.
Runs with a digit (amounts, telephone numbers, random strings) vary from copy to copy and are no words, only counted.

====================  ==================================================================================================
`Sketches.words`      signed sums of tf-idf weights: word ``h`` adds to column ``h % 128``, scaled to length 127
`Sketches.bigrams`    roots of the frequencies of hashed pairs of successive letters; what is no letter is left out, so
                      that ``mo rtgage`` has the pairs of ``mortgage``; scaled to length 127
`Sketches.single`     for each of 64 bins the smallest hash (1 to 254) among the words in it, 0 where there is none
`Sketches.triples`    the same for three words in a row
====================  ==================================================================================================
"""

from typing import NamedTuple

import numpy as np

from accord.kernels.compiling import ZERO, helper, kernel

N_WORDS, N_BIGRAMS, N_BINS = 128, 128, 64
TABLE = 4096  # slots of the table of a text's words, at most; half of them are used at most
# What `scan_text` counts, in this order.
COUNTS = (
    "characters", "letters", "capitals", "digits", "punctuation", "exclamations", "currency", "foreign", "lines",
    "words", "distinct", "numbers",
)  # fmt: skip
HASHES = ("all_words", "first_words", "last_words")
EDGE = 6  # words of the first and last words of a text
FNV_START, FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)  # the hash FNV-1a


class Sketches(NamedTuple):
    """Places for the results of `scan_text`, one text each."""

    words: np.ndarray  # (N_WORDS,) int8
    bigrams: np.ndarray  # (N_BIGRAMS,) int8
    single: np.ndarray  # (N_BINS,) uint8
    triples: np.ndarray  # (N_BINS,) uint8


@helper
def mixed(h):
    """A hash whose bits all matter: 32 bits, never 0."""
    h = (h ^ (h >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    h = (h ^ (h >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    h = (h ^ (h >> np.uint64(33))) & np.uint64(0xFFFFFFFF)
    return h if h != np.uint64(0) else np.uint64(1)


@helper
def _put_bin(bins, h):
    """Keep the smallest hash of a bin: bits 0-5 choose the bin, further bits make the value (1 to 254)."""
    where = np.int64(h & np.uint64(N_BINS - 1))
    value = np.int64((h >> np.uint64(8)) % np.uint64(254)) + 1
    if bins[where] == 0 or value < bins[where]:
        bins[where] = value


@helper
def _scaled(values, out):
    """Write ``values``, scaled to length 127, as whole numbers."""
    norm = 0.0
    for x in values:
        norm += x * x
    factor = 127.0 / np.sqrt(norm) if norm > 0 else 0.0
    for j in range(values.size):
        out[j] = np.int8(np.rint(values[j] * factor))


@helper
def _count_bytes(text, counts):
    """Count kinds of bytes: how often each of 256 occurs, then sums of these."""
    seen = np.zeros((2, 256), np.int32)  # two, since the same byte twice in a row has to wait for itself
    for i in range(0, text.size - 1, 2):
        seen[0, text[i]] += 1
        seen[1, text[i + 1]] += 1
    if text.size & 1:
        seen[0, text[text.size - 1]] += 1
    counts[:] = 0
    counts[0] = text.size
    for c in range(256):
        n = seen[0, c] + seen[1, c]
        is_capital, is_digit = 65 <= c <= 90, 48 <= c <= 57
        is_letter = is_capital or 97 <= c <= 122 or c >= 128
        counts[1] += n if is_letter else 0
        counts[2] += n if is_capital else 0
        counts[3] += n if is_digit else 0
        counts[4] += n if 33 <= c < 127 and not is_letter and not is_digit else 0
        counts[7] += n if c >= 128 else 0
    counts[5], counts[6], counts[8] = seen[0, 33] + seen[1, 33], seen[0, 36] + seen[1, 36], seen[0, 10] + seen[1, 10]


@helper
def _small_letters(out):
    """For each byte what it counts as in a word: small letters for capitals, 0 for what is in none."""
    for c in range(256):
        is_word = 48 <= c <= 57 or 65 <= c <= 90 or 97 <= c <= 122 or c >= 128
        out[c] = (c + 32 if 65 <= c <= 90 else c) if is_word else 0


@helper
def _read_words(text, words, pairs):
    """Hash the words and count pairs of letters; returns the numbers of words and of runs with a digit."""
    small = np.empty(256, np.uint8)
    _small_letters(small)
    n, n_numbers, i = ZERO, ZERO, ZERO
    last = np.uint64(0)  # the letter before, multiplied
    while i < text.size:
        c = np.uint64(small[text[i]])
        i += 1
        if not c:
            continue
        h, begin, has_digit = FNV_START, i, False
        while c:
            h = (h ^ c) * FNV_PRIME
            if c >= 97:
                if last:
                    pairs[((last + c * np.uint64(0x85EBCA6B)) >> np.uint64(7)) & np.uint64(N_BIGRAMS - 1)] += 1
                last = c * np.uint64(0x9E3779B1)
            else:
                has_digit = True
            c = np.uint64(small[text[i]]) if i < text.size else np.uint64(0)
            i += 1
        if has_digit:
            n_numbers += 1
        elif i - begin > 1:
            words[n] = mixed(h)
            n += 1
    return n, n_numbers


@helper
def _chained(words, begin, end):
    """A hash of some words in their order."""
    h = FNV_START
    for j in range(begin, end):
        h = (h ^ words[j]) * FNV_PRIME
    return np.int64(mixed(h))


@helper
def _fill_bins(words, n_words, sketches):
    sketches.single[:] = 0
    sketches.triples[:] = 0
    for j in range(n_words):
        _put_bin(sketches.single, words[j])
    for j in range(2, n_words):
        triple = (words[j - 2] * np.uint64(31) + words[j - 1]) * np.uint64(31) + words[j]
        _put_bin(sketches.triples, mixed(triple))


@helper
def _distinct(words, n_words, keys, tallies):
    """Fill ``keys`` with the first distinct words and ``tallies`` with how often each occurs; returns their number."""
    size = 16
    while size < 2 * n_words and size < TABLE:
        size *= 2
    table, mask = np.zeros(size, np.int32), np.uint64(size - 1)  # 1 + places in keys
    n = ZERO
    for j in range(n_words):
        h = words[j]
        slot = (h * np.uint64(0x9E3779B1)) & mask
        while table[slot] and keys[table[slot] - 1] != h:
            slot = (slot + np.uint64(1)) & mask
        if table[slot]:
            tallies[table[slot] - 1] += 1
        elif n < keys.size:
            keys[n], tallies[n] = h, 1
            n += 1
            table[slot] = n
    return n


@helper
def _sort(keys, tallies, n, out_keys, out_tallies):
    """Write both in the order of ``keys``: sorted by one byte after the other, the lowest first."""
    for shift in range(0, 32, 8):
        starts = np.zeros(257, np.int64)
        for j in range(n):
            starts[((keys[j] >> shift) & 255) + 1] += 1
        for c in range(256):
            starts[c + 1] += starts[c]
        for j in range(n):
            c = (keys[j] >> shift) & 255
            out_keys[starts[c]], out_tallies[starts[c]] = keys[j], tallies[j]
            starts[c] += 1
        for j in range(n):
            keys[j], tallies[j] = out_keys[j], out_tallies[j]


@helper
def scan(text, idf, sketches, counts, hashes, word_keys, word_counts):
    """`scan_text` for other kernels."""
    _count_bytes(text, counts)
    words, pairs = np.empty(text.size // 3 + 2, np.uint64), np.zeros(N_BIGRAMS, np.int64)
    n_words, n_numbers = _read_words(text, words, pairs)
    _fill_bins(words, n_words, sketches)
    keys, tallies = np.empty(min(n_words, TABLE // 2), np.int64), np.empty(min(n_words, TABLE // 2), np.int64)
    n = _distinct(words, n_words, keys, tallies)
    counts[9], counts[10], counts[11] = n_words, n, n_numbers
    hashes[0] = _chained(words, ZERO, n_words) if n_words else 0
    hashes[1] = _chained(words, ZERO, EDGE) if n_words >= EDGE else 0
    hashes[2] = _chained(words, n_words - EDGE, n_words) if n_words >= EDGE else 0
    _fill_words(keys, tallies, n, idf, sketches.words)
    _scaled(np.sqrt(pairs), sketches.bigrams)
    n_listed = min(n, word_keys.size)
    _sort(keys, tallies, n_listed, word_keys, word_counts)
    return n_listed


@kernel
def scan_text(text, idf, sketches, counts, hashes, word_keys, word_counts):
    """One pass over a text.

    ``idf`` (a power of two) holds a weight per hash bucket. Fills ``sketches``, ``counts`` (see `COUNTS`), ``hashes``
    (see `HASHES`; 0: none), and the distinct words, sorted, with their counts (``word_keys``, ``word_counts``), of
    which it returns the number.
    """
    return scan(text, idf, sketches, counts, hashes, word_keys, word_counts)


@helper
def _fill_words(keys, tallies, n, idf, out):
    """The tf-idf sketch, (1 + log tf) * idf with the sign of another hash bit."""
    sums = np.zeros(N_WORDS)
    mask = np.uint64(idf.size - 1)
    for j in range(n):
        word = np.uint64(keys[j])
        weight = 1.0 * idf[(word >> np.uint64(4)) & mask]
        if tallies[j] > 1:
            weight *= 1.0 + np.log(tallies[j])
        sums[word & np.uint64(N_WORDS - 1)] += weight if (word >> np.uint64(31)) & np.uint64(1) else -weight
    _scaled(sums, out)


@kernel
def merge_counts(words, counts, more_words, more_counts, limit):
    """Add up two lists of words, sorted by word, and their counts. Beyond ``limit`` words, new ones are left out."""
    out_words = np.empty(words.size + more_words.size, np.uint32)
    out_counts = np.empty(words.size + more_words.size, np.int64)
    i, j, n = 0, 0, 0
    room = max(limit - words.size, 0)
    while i < words.size or j < more_words.size:
        if j == more_words.size or (i < words.size and words[i] < more_words[j]):
            out_words[n], out_counts[n] = words[i], counts[i]
            i += 1
        elif i == words.size or more_words[j] < words[i]:
            j += 1
            if room == 0:
                continue
            room -= 1
            out_words[n], out_counts[n] = more_words[j - 1], more_counts[j - 1]
        else:
            out_words[n], out_counts[n] = words[i], counts[i] + more_counts[j]
            i += 1
            j += 1
        n += 1
    return out_words[:n].copy(), out_counts[:n].copy()
