"""Words and character n-grams of whole texts, and their tf-idf weights.

Texts arrive as one array of code points with their classes. :func:`emit` writes one entry per occurrence: a 64-bit key
(a hash of the kind and the characters) and the place where it stands, to print it again; ``hashing.count`` turns keys
into counts of numbered terms.
"""

from typing import NamedTuple

import numpy as np

from accord.kernels.compiling import helper, kernel
from accord.kernels.features.text import SPACE, SYMBOL

# Kinds of terms. Words and pairs of successive words span (begin, length); n-grams span what lies inside the word, with
# a blank before it (+ 1) and after it (+ 2) if they reach beyond.
WORD, PAIR, GRAM = np.int64(0), np.int64(1), np.int64(2)
N_KINDS = 6

_BASIS = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)
_MIX_1 = np.uint64(0xFF51AFD7ED558CCD)
_MIX_2 = np.uint64(0xC4CEB9FE1A85EC53)
_SHIFT = np.uint64(33)
_UNDERSCORE, _BLANK = np.uint32(95), np.uint32(32)
_NONE = np.int64(0)


class Terms(NamedTuple):
    """Occurrences in the order of the texts that have them."""

    keys: np.ndarray  # (n,) uint64
    kinds: np.ndarray  # (n,) uint8
    begins: np.ndarray  # (n,) int64: in the array of all code points
    lengths: np.ndarray  # (n,) int32


@helper
def _put(out, p, h, kind, begin, length):
    h = h + np.uint64(min(kind, GRAM)) * _MIX_2
    h = (h ^ (h >> _SHIFT)) * _MIX_1
    h = (h ^ (h >> _SHIFT)) * _MIX_2
    out.keys[p] = h ^ (h >> _SHIFT)
    out.kinds[p] = kind
    out.begins[p] = begin
    out.lengths[p] = length
    return p + 1


@helper
def _emit_words(text, first, last, pairs, out, p):
    """Runs of two or more letters, digits and underscores; with ``pairs``, two successive ones as well."""
    before, before_begin = np.uint64(0), np.int64(-1)
    h, begin = _BASIS, first
    for i in range(first, last + 1):
        if i < last and ((text.classes[i] & SYMBOL) == 0 or text.codes[i] == _UNDERSCORE):
            h = (h ^ np.uint64(text.codes[i])) * _PRIME
            continue
        if i - begin > 1:
            p = _put(out, p, h, WORD, begin, i - begin)
            if pairs:
                if before_begin >= 0:
                    p = _put(out, p, (before ^ (before >> _SHIFT)) * _MIX_1 + h, PAIR, before_begin, i - before_begin)
                before, before_begin = h, begin
        h, begin = _BASIS, i + 1
    return p


@helper
def _emit_grams_of_word(text, first, last, wanted, out, p):
    """N-grams of a word between two blanks, shortest first; a word that is shorter than they are counts once."""
    size = last - first + 2
    for n in range(1, wanted.size):
        if not wanted[n]:
            continue
        for start in range(first - 1, max(first - 1, last + 1 - n) + 1):
            end = min(start + n, last + 1)
            h = _BASIS
            for i in range(start, end):
                h = (h ^ np.uint64(text.codes[i] if first <= i < last else _BLANK)) * _PRIME
            leads, trails = np.int64(start < first), np.int64(end > last)
            p = _put(out, p, h, GRAM + leads + 2 * trails, start + leads, end - start - leads - trails)
        if size <= n:
            break
    return p


@kernel
def emit(text, words, wanted, out, indptr):
    """Fill ``out`` and ``indptr`` (n_texts + 1,): terms of every text; returns how many there are.

    ``words``: 0 none, 1 words, 2 words and pairs of them. ``wanted`` (longest + 1,): lengths of character n-grams.
    """
    p = _NONE
    for t in range(text.starts.size - 1):
        indptr[t] = p
        first, last = text.starts[t], text.starts[t + 1]
        if words > 0:
            p = _emit_words(text, first, last, words > 1, out, p)
        if wanted.size > 1:
            begin = first
            for i in range(first, last + 1):
                if i == last or text.classes[i] & SPACE:
                    if i > begin:
                        p = _emit_grams_of_word(text, begin, i, wanted, out, p)
                    begin = i + 1
    indptr[text.starts.size - 1] = p
    return p


@kernel
def weigh(indptr, indices, counts, idf, sublinear, norm):
    """The tf-idf weights (n_entries,) of counted terms; rows of length 1 with ``norm``."""
    out = np.empty(indices.size)
    for t in range(indptr.size - 1):
        total = 0.0
        for p in range(indptr[t], indptr[t + 1]):
            tf = float(counts[p])
            if sublinear and tf > 1.0:
                tf = 1.0 + np.log(tf)
            out[p] = tf * idf[indices[p]]
            total += out[p] * out[p]
        if norm and total > 0.0:
            factor = 1.0 / np.sqrt(total)
            for p in range(indptr[t], indptr[t + 1]):
                out[p] *= factor
    return out
