"""The text of mails, byte by byte: HTML to text, and one pass that turns text into words, sketches and counts.

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
from numba import njit

N_WORDS, N_BIGRAMS, N_BINS = 128, 128, 64
TABLE = 4096  # slots of the table of a text's words; at most half of them are used
# What `scan_text` counts, in this order.
COUNTS = (
    "characters", "letters", "capitals", "digits", "punctuation", "exclamations", "currency", "foreign", "lines",
    "words", "distinct", "numbers",
)  # fmt: skip
HASHES = ("all_words", "first_words", "last_words")
EDGE = 6  # words of the first and last words of a text
_BLOCK_TAGS = "p br div td tr li ul ol table h1 h2 h3 h4 h5 h6 hr title body html blockquote pre center form option"
_HIDDEN_TAGS = "script style"


class Sketches(NamedTuple):
    """Places for the results of `scan_text`, one text each."""

    words: np.ndarray  # (N_WORDS,) int8
    bigrams: np.ndarray  # (N_BIGRAMS,) int8
    single: np.ndarray  # (N_BINS,) uint8
    triples: np.ndarray  # (N_BINS,) uint8


@njit(cache=True, nogil=True)
def hash_bytes(text, first, last):
    """FNV-1a with a final mix, 32 bits, never 0."""
    h = np.uint64(0xCBF29CE484222325)
    for i in range(first, last):
        h = (h ^ np.uint64(text[i])) * np.uint64(0x100000001B3)
    return _mixed(h)


@njit(cache=True, nogil=True)
def _mixed(h):
    h = (h ^ (h >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    h = (h ^ (h >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    h = (h ^ (h >> np.uint64(33))) & np.uint64(0xFFFFFFFF)
    return h if h != np.uint64(0) else np.uint64(1)


def _tag_hash(name: str) -> int:
    h = 0
    for letter in name.encode():
        h = (h * 31 + letter) & 0xFFFFFFFF
    return h


BLOCK_TAGS = np.array(sorted(_tag_hash(name) for name in _BLOCK_TAGS.split()), dtype=np.int64)
HIDDEN_TAGS = np.array(sorted(_tag_hash(name) for name in _HIDDEN_TAGS.split()), dtype=np.int64)
IMAGE_TAG = _tag_hash("img")


@njit(cache=True, nogil=True)
def _among(value, values):
    found = False
    for other in values:
        found |= other == value
    return found


@njit(cache=True, nogil=True)
def _put_utf8(code, out, p):
    if code < 0x80:
        out[p] = code
        return p + 1
    if code < 0x800:
        out[p], out[p + 1] = 0xC0 | code >> 6, 0x80 | code & 63
        return p + 2
    if code < 0x10000:
        out[p], out[p + 1], out[p + 2] = 0xE0 | code >> 12, 0x80 | code >> 6 & 63, 0x80 | code & 63
        return p + 3
    out[p], out[p + 1] = 0xF0 | code >> 18, 0x80 | code >> 12 & 63
    out[p + 2], out[p + 3] = 0x80 | code >> 6 & 63, 0x80 | code & 63
    return p + 4


@njit(cache=True, nogil=True)
def _entity(html, i):
    """The character of ``&...;`` at ``i`` and the position after it, or -1. Numbers and the few common names."""
    n = min(html.size, i + 12)
    end = i + 1
    while end < n and html[end] != 59:
        end += 1
    if end >= n or end < i + 3:
        return -1, i
    if html[i + 1] == 35:  # &#
        code = 0
        hexadecimal = html[i + 2] | 32 == 120
        for j in range(i + 3 if hexadecimal else i + 2, end):
            c = int(html[j])
            digit = c - 48 if 48 <= c <= 57 else (c | 32) - 87 if 97 <= c | 32 <= 102 else 99
            if digit >= (16 if hexadecimal else 10):
                return -1, i
            code = min(code * (16 if hexadecimal else 10) + digit, 1 << 24)
        if code == 160:
            code = 32
        valid = 9 <= code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF
        return (code if valid else 32), end + 1
    name = 0
    for j in range(i + 1, end):
        name = name * 256 + int(html[j] | 32)
        if j > i + 6:
            return -1, i
    if name == 0x6E627370:  # nbsp
        return 32, end + 1
    if name == 0x616D70:  # amp
        return 38, end + 1
    if name == 0x6C74:  # lt
        return 60, end + 1
    if name == 0x6774:  # gt
        return 62, end + 1
    if name == 0x71756F74:  # quot
        return 34, end + 1
    if name == 0x61706F73:  # apos
        return 39, end + 1
    return -1, i


@njit(cache=True, nogil=True)
def _skip_to_close(html, i, tag):
    """Position of the ``</script`` or ``</style`` that ends hidden text begun before ``i``, or the end."""
    n = html.size
    while i < n - 1:
        if html[i] == 60 and html[i + 1] == 47:
            h, j = np.int64(0), i + 2
            while j < n and 97 <= html[j] | 32 <= 122:
                h = (h * 31 + np.int64(html[j] | 32)) & 0xFFFFFFFF
                j += 1
            if h == tag:
                return i
        i += 1
    return n


@njit(cache=True, nogil=True)
def html_to_text(html, out, block_tags, hidden_tags, image_tag):
    """Write the visible text of ``html`` to ``out`` (of the same size). Returns its length, the numbers of tags and of
    images, and a hash of the first 100 opening tags.

    Tags that begin a block become a line end. Others vanish, because ``mort<b></b>gage`` reads as one word.
    """
    n, i, p = html.size, 0, 0
    n_tags, n_images = 0, 0
    skeleton = np.uint64(0xCBF29CE484222325)
    while i < n:
        c = html[i]
        if c == 38:
            code, after = _entity(html, i)
            if code >= 0:
                p = _put_utf8(code, out, p)
                i = after
                continue
        if c != 60 or i + 1 >= n:
            out[p] = c
            p += 1
            i += 1
            continue
        d = html[i + 1]
        if d == 33:  # <! ... >, and comments up to -->
            comment = i + 3 < n and html[i + 2] == 45 and html[i + 3] == 45
            i += 4 if comment else 2
            while i < n and not (html[i] == 62 and (not comment or (html[i - 1] == 45 and html[i - 2] == 45))):
                i += 1
            i += 1
            continue
        opening = d != 47
        j = i + 1 if opening else i + 2
        if j >= n or not 97 <= html[j] | 32 <= 122:  # a bare <
            out[p] = c
            p += 1
            i += 1
            continue
        tag = np.int64(0)
        while j < n and (97 <= html[j] | 32 <= 122 or 48 <= html[j] <= 57):
            tag = (tag * 31 + np.int64(html[j] | 32 if html[j] >= 64 else html[j])) & 0xFFFFFFFF
            j += 1
        while j < n and html[j] != 62:
            j += 1
        i = j + 1
        if _among(tag, block_tags):
            out[p] = 10
            p += 1
        if opening:
            n_tags += 1
            n_images += tag == image_tag
            if n_tags <= 100:
                skeleton = (skeleton ^ np.uint64(tag)) * np.uint64(0x100000001B3)
            if _among(tag, hidden_tags):
                i = _skip_to_close(html, i, tag)
    return p, n_tags, n_images, np.int64(_mixed(skeleton)) if n_tags else np.int64(0)


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _put_bin(bins, h):
    """Keep the smallest hash of a bin: bits 0-5 choose the bin, further bits make the value (1 to 254)."""
    where = np.int64(h & np.uint64(N_BINS - 1))
    value = np.int64((h >> np.uint64(8)) % np.uint64(254)) + 1
    if bins[where] == 0 or value < bins[where]:
        bins[where] = value


@njit(cache=True, nogil=True)
def _scaled(values, out):
    """Write ``values``, scaled to length 127, as whole numbers."""
    norm = 0.0
    for x in values:
        norm += x * x
    factor = 127.0 / np.sqrt(norm) if norm > 0 else 0.0
    for j in range(values.size):
        out[j] = np.int8(np.rint(values[j] * factor))


@njit(cache=True, nogil=True)
def scan_text(text, idf, sketches, counts, hashes, word_keys, word_counts):
    """One pass over a text.

    ``idf`` (a power of two) holds a weight per hash bucket. Fills ``sketches``, ``counts`` (see `COUNTS`), ``hashes``
    (see `HASHES`; 0: none), and the distinct words, sorted, with their counts (``word_keys``, ``word_counts``), of
    which it returns the number.
    """
    keys, tallies, used = np.zeros(TABLE, np.uint32), np.zeros(TABLE, np.int32), np.empty(TABLE // 2, np.int64)
    pairs = np.zeros(N_BIGRAMS)
    recent = np.zeros(EDGE, np.uint64)  # the last words
    for j in range(N_BINS):
        sketches.single[j] = 0
        sketches.triples[j] = 0
    for j in range(counts.size):
        counts[j] = 0
    n_used, n_words = 0, 0
    sequence = np.uint64(0xCBF29CE484222325)
    hashes[1] = 0
    last_letter = np.uint64(0)
    h, length, has_digit = np.uint64(0xCBF29CE484222325), 0, False
    for i in range(text.size + 1):
        c = np.uint64(text[i]) if i < text.size else np.uint64(32)
        is_capital = 65 <= c <= 90
        if is_capital:
            c += np.uint64(32)
        is_letter = 97 <= c <= 122 or c >= 128
        is_digit = bool(48 <= c <= 57)
        if is_letter or is_digit:
            h = (h ^ c) * np.uint64(0x100000001B3)
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
        if length:
            if has_digit:
                counts[11] += 1
            elif length > 1:
                word = _mixed(h)
                n_used = _add_word(keys, tallies, used, n_used, word)
                _put_bin(sketches.single, word)
                sequence = (sequence ^ word) * np.uint64(0x100000001B3)
                recent[n_words % EDGE] = word
                n_words += 1
                if n_words >= 3:
                    before, first = recent[(n_words - 2) % EDGE], recent[(n_words - 3) % EDGE]
                    triple = (first * np.uint64(31) + before) * np.uint64(31) + word
                    _put_bin(sketches.triples, _mixed(triple))
                if n_words == EDGE:
                    hashes[1] = np.int64(_mixed(sequence))
            h, length, has_digit = np.uint64(0xCBF29CE484222325), 0, False
        if i < text.size:
            counts[8] += c == 10
            if 33 <= c < 127:
                counts[4] += 1
                counts[5] += c == 33
                counts[6] += c == 36
    counts[0], counts[9], counts[10] = text.size, n_words, n_used
    hashes[0] = np.int64(_mixed(sequence)) if n_words else 0
    tail = np.uint64(0xCBF29CE484222325)
    for j in range(n_words - EDGE, n_words):
        tail = (tail ^ recent[j % EDGE]) * np.uint64(0x100000001B3)
    hashes[2] = np.int64(_mixed(tail)) if n_words >= EDGE else 0
    _fill_words(keys, tallies, used, n_used, idf, sketches.words, word_keys, word_counts)
    for j in range(N_BIGRAMS):
        pairs[j] = np.sqrt(pairs[j])
    _scaled(pairs, sketches.bigrams)
    n_listed = min(n_used, word_keys.size)
    _sort_words(word_keys, word_counts, n_listed)
    return n_listed


@njit(cache=True, nogil=True)
def _sort_words(keys, counts, n):
    """Shell's sort, for a few hundred words."""
    gap = 701
    while gap > 0:
        for i in range(gap, n):
            key, count, j = keys[i], counts[i], i
            while j >= gap and keys[j - gap] > key:
                keys[j], counts[j] = keys[j - gap], counts[j - gap]
                j -= gap
            keys[j], counts[j] = key, count
        gap = gap // 5 * 2 if gap > 5 else gap // 2


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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
