"""One pass over the text of a mail, byte by byte, which turns it into words, sketches and counts.

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
TABLE = 4096  # slots of the table of a text's words; at most half of them are used
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
def _add_word(keys, tallies, used, n_used, h):
    """Count word ``h`` in the open-addressing table; words beyond half of the table are not counted."""
    mask = np.uint64(keys.size - 1)
    slot = (h * np.uint64(0x9E3779B1)) & mask
    while keys[slot] != 0:
        if keys[slot] == h:
            tallies[slot] += 1
            return n_used
        slot = (slot + np.uint64(1)) & mask
    if n_used < used.size:
        keys[slot] = h
        tallies[slot] = 1
        used[n_used] = slot
        return n_used + 1
    return n_used


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
def _take_word(word, n_words, sequence, recent, sketches, hashes):
    """Take in the next word, after ``n_words`` others; returns the hash of all words so far."""
    _put_bin(sketches.single, word)
    sequence = (sequence ^ word) * FNV_PRIME
    recent[n_words % EDGE] = word
    if n_words >= 2:
        before, first = recent[(n_words - 1) % EDGE], recent[(n_words - 2) % EDGE]
        _put_bin(sketches.triples, mixed((first * np.uint64(31) + before) * np.uint64(31) + word))
    if n_words == EDGE - 1:
        hashes[1] = np.int64(mixed(sequence))
    return sequence


@helper
def _finish_hashes(n_words, sequence, recent, hashes):
    """Hashes of all words and of the last ones."""
    hashes[0] = np.int64(mixed(sequence)) if n_words else 0
    tail = FNV_START
    for j in range(n_words - EDGE, n_words):
        tail = (tail ^ recent[j % EDGE]) * FNV_PRIME
    hashes[2] = np.int64(mixed(tail)) if n_words >= EDGE else 0


@kernel
def scan_text(text, idf, sketches, counts, hashes, word_keys, word_counts):
    """One pass over a text.

    ``idf`` (a power of two) holds a weight per hash bucket. Fills ``sketches``, ``counts`` (see `COUNTS`), ``hashes``
    (see `HASHES`; 0: none), and the distinct words, sorted, with their counts (``word_keys``, ``word_counts``), of
    which it returns the number.
    """
    keys, tallies, used = np.zeros(TABLE, np.uint32), np.zeros(TABLE, np.int32), np.empty(TABLE // 2, np.int64)
    pairs = np.zeros(N_BIGRAMS)
    recent = np.zeros(EDGE, np.uint64)  # the last words
    sketches.single[:] = 0
    sketches.triples[:] = 0
    counts[:] = 0
    n_used, n_words, sequence = ZERO, ZERO, FNV_START
    hashes[1] = 0
    last_letter = np.uint64(0)
    h, length, has_digit = FNV_START, 0, False
    for i in range(text.size + 1):
        c = np.uint64(text[i]) if i < text.size else np.uint64(32)
        is_capital = 65 <= c <= 90
        if is_capital:
            c += np.uint64(32)
        is_letter = 97 <= c <= 122 or c >= 128
        is_digit = bool(48 <= c <= 57)
        if is_letter or is_digit:
            h = (h ^ c) * FNV_PRIME
            length += 1
            has_digit |= is_digit
            counts[2] += is_capital
            if is_letter:
                counts[1] += 1
                counts[7] += c >= 128
                if last_letter:
                    pair = (last_letter * np.uint64(0x9E3779B1) + c * np.uint64(0x85EBCA6B)) >> np.uint64(7)
                    pairs[pair & np.uint64(N_BIGRAMS - 1)] += 1
                last_letter = c
            else:
                counts[3] += 1
            continue
        if has_digit:
            counts[11] += 1
        elif length > 1:
            word = mixed(h)
            n_used = _add_word(keys, tallies, used, n_used, word)
            sequence = _take_word(word, n_words, sequence, recent, sketches, hashes)
            n_words += 1
        h, length, has_digit = FNV_START, 0, False
        if i < text.size:
            counts[8] += c == 10
            if 33 <= c < 127:
                counts[4] += 1
                counts[5] += c == 33
                counts[6] += c == 36
    counts[0], counts[9], counts[10] = text.size, n_words, n_used
    _finish_hashes(n_words, sequence, recent, hashes)
    _fill_words(keys, tallies, used, n_used, idf, sketches.words, word_keys, word_counts)
    _scaled(np.sqrt(pairs), sketches.bigrams)
    n_listed = min(n_used, word_keys.size)
    order = np.argsort(word_keys[:n_listed])
    word_keys[:n_listed], word_counts[:n_listed] = word_keys[order], word_counts[order]
    return n_listed


@helper
def _fill_words(keys, tallies, used, n_used, idf, out, word_keys, word_counts):
    """The tf-idf sketch, (1 + log tf) * idf with the sign of another hash bit, and the list of words."""
    sums = np.zeros(N_WORDS)
    mask = np.uint64(idf.size - 1)
    for u in range(n_used):
        slot = used[u]
        word = np.uint64(keys[slot])
        weight = (1.0 + np.log(tallies[slot])) * idf[(word >> np.uint64(4)) & mask]
        sums[word & np.uint64(N_WORDS - 1)] += weight if (word >> np.uint64(31)) & np.uint64(1) else -weight
        if u < word_keys.size:
            word_keys[u] = keys[slot]
            word_counts[u] = tallies[slot]
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
