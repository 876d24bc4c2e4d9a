"""Words of a few texts and how alike they are, without a table of all words: a word is known by a number of 64 bits."""

import numpy as np

from accord.kernels.compiling import ONE, helper, kernel
from accord.kernels.records.strings import (
    _LONG_WORD,
    _SHORTENED_WORD,
    _SIMILAR_WORD,
    _n_same,
    _one_edit,
    sort_rows,
    trigrams,
)

LETTER, DIGIT, BLANK = 0, 1, 2  # kinds of characters
_LEAST = 0.05  # a word that all records have still says a little
_BASIS, _PRIME, _SHIFT = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3), np.uint64(32)


@kernel
def words_of(codes, kinds, starts, keys, places, indptr):
    """Keys of the words of every text, where each begins and ends, and where the words of a text begin.

    There is room for as many words as characters.
    """
    n = 0
    for v in range(starts.size - 1):
        indptr[v], i, last = n, starts[v], starts[v + 1]
        while i < last:
            if kinds[i] == BLANK:
                i += 1
                continue
            begin, key = i, _BASIS
            while i < last and kinds[i] != BLANK:
                key = (key ^ np.uint64(codes[i])) * _PRIME
                key ^= key >> _SHIFT
                i += 1
            keys[n], places[0, n], places[1, n] = np.int64(key), begin, i
            n += 1
    indptr[starts.size - 1] = n


@kernel
def look_up(keys, indptr, tables, known, values, other, out):
    """Values of keys: row ``v`` looks into ``known[first:last]``, sorted, with ``first, last = tables[v]``."""
    for v in range(indptr.size - 1):
        for k in range(indptr[v], indptr[v + 1]):
            low, high = tables[v, 0], tables[v, 1]
            while low < high:
                middle = (low + high) // 2
                if known[middle] < keys[k]:
                    low = middle + 1
                else:
                    high = middle
            out[k] = values[low] if low < tables[v, 1] and known[low] == keys[k] else other


@helper
def _best_match(codes, keys, begins, ends, k, first, last):
    """How much a word is like that of a text which it is most like: 1 the same, less for one edit or a beginning."""
    best = 0.0
    a, a_end = begins[k], ends[k]
    for m in range(first, last):
        if keys[m] == keys[k]:
            return 1.0
        b, b_end = begins[m], ends[m]
        shorter = min(a_end - a, b_end - b)
        if best < _SIMILAR_WORD:
            if shorter >= _LONG_WORD and _one_edit(codes, a, a_end, b, b_end):
                best = _SIMILAR_WORD
            elif _n_same(codes, a, b, ONE, shorter) == shorter:
                best = _SHORTENED_WORD
    return best


@helper
def _share(codes, keys, begins, ends, rarity, first, last, other, other_end, many):
    """What share of the words of a text another one has, by weight."""
    total, found, j = 0.0, 0.0, other
    for k in range(first, last):
        while j < other_end and keys[j] < keys[k]:
            j += 1
        best = 1.0 if j < other_end and keys[j] == keys[k] else 0.0
        if best == 0.0 and not many:
            best = _best_match(codes, keys, begins, ends, k, other, other_end)
        total += rarity[k]
        found += best * rarity[k]
    return found / total if total > 0.0 else 0.0


@helper
def _n_numbers(digits, first, last):
    n = 0
    for k in range(first, last):
        n += digits[k]
    return n


@kernel
def compare_words(codes, kinds, starts, tables, known, values, first_aligned, most, left, right, out):
    """Of pairs of texts: words that both have / all words; cosine by rarity; smaller and larger share of words that the
    other one has, spelling errors included (from pair ``first_aligned`` on); numbers shared / all; whether both have
    numbers and none is shared. How rare a word is says :func:`look_up`, 1 if it is not known.
    """
    n = starts[starts.size - 1]
    keys, places, indptr = np.empty(n, np.int64), np.empty((2, n), np.int64), np.empty(starts.size, np.int64)
    words_of(codes, kinds, starts, keys, places, indptr)
    n = sort_rows(keys, places, indptr)
    begins, ends, rarity = places[0], places[1], np.empty(n)
    look_up(keys, indptr, tables, known, values, 1.0, rarity)
    for k in range(n):
        rarity[k] = max(rarity[k], _LEAST)
    digits = np.zeros(indptr[-1], np.int64)
    for k in range(indptr[-1]):
        for i in range(begins[k], ends[k]):
            if kinds[i] == DIGIT:
                digits[k] = 1
    for p in range(left.size):
        i, i_end = indptr[left[p]], indptr[left[p] + 1]
        j, j_end = indptr[right[p]], indptr[right[p] + 1]
        many = max(i_end - i, j_end - j) > most
        if p >= first_aligned:
            one = _share(codes, keys, begins, ends, rarity, i, i_end, j, j_end, many)
            other = _share(codes, keys, begins, ends, rarity, j, j_end, i, i_end, many)
            out[p, 2], out[p, 3] = min(one, other), max(one, other)
        n_all, n_a, n_b = i_end - i + j_end - j, _n_numbers(digits, i, i_end), _n_numbers(digits, j, j_end)
        length_a = length_b = shared = 0.0
        for k in range(i, i_end):
            length_a += rarity[k] * rarity[k]
        for k in range(j, j_end):
            length_b += rarity[k] * rarity[k]
        n_shared = n_same_numbers = 0
        while i < i_end and j < j_end:
            if keys[i] == keys[j]:
                n_shared += 1
                shared += rarity[i] * rarity[i]
                n_same_numbers += digits[i]
                i += 1
                j += 1
            elif keys[i] < keys[j]:
                i += 1
            else:
                j += 1
        out[p, 0] = n_shared / (n_all - n_shared) if n_all > 0 else 0.0
        out[p, 1] = min(shared / np.sqrt(length_a * length_b), 1.0) if length_a * length_b > 0.0 else 0.0
        out[p, 4] = n_same_numbers / (n_a + n_b - n_same_numbers) if n_a > 0 and n_b > 0 else 0.0
        out[p, 5] = 1.0 if n_a > 0 and n_b > 0 and n_same_numbers == 0 else 0.0


@helper
def _shared_keys(indptr, keys, weights, left, right, n_shared, shared):
    """`shared_items` of sorted keys of any size, ``weights[i]`` being that of ``keys[i]``."""
    for p in range(left.size):
        i, i_end = indptr[left[p]], indptr[left[p] + 1]
        j, j_end = indptr[right[p]], indptr[right[p] + 1]
        n, total = 0, 0.0
        while i < i_end and j < j_end:
            first, second = keys[i], keys[j]
            if first == second:
                n += 1
                total += weights[i]
            # without branches, which nothing could foresee
            i += first <= second
            j += second <= first
        n_shared[p] = n
        shared[p] = total


@kernel
def compare_trigrams(codes, starts, boundary, tables, known, values, other, left, right, out):
    """Of pairs of texts: Dice's measure of trigrams, and their cosine by how rare they are.

    Squared weights of trigrams says :func:`look_up`, ``other`` of those that are not known.
    """
    n = starts[starts.size - 1] + starts.size
    keys, indptr = np.empty(n, np.int64), np.empty(starts.size, np.int64)
    trigrams(codes, starts, boundary, keys, indptr)
    n = sort_rows(keys, np.empty((0, n), np.int64), indptr)
    squares, lengths = np.empty(n), np.zeros(starts.size - 1)
    look_up(keys, indptr, tables, known, values, other, squares)
    for v in range(lengths.size):
        for k in range(indptr[v], indptr[v + 1]):
            lengths[v] += squares[k]
        lengths[v] = np.sqrt(lengths[v])
    n_shared, shared = np.empty(left.size), np.empty(left.size)
    _shared_keys(indptr, keys, squares, left, right, n_shared, shared)
    for p in range(left.size):
        a, b = left[p], right[p]
        sizes = indptr[a + 1] - indptr[a] + indptr[b + 1] - indptr[b]
        out[p, 0] = 2 * n_shared[p] / sizes
        out[p, 1] = min(shared[p] / (lengths[a] * lengths[b]), 1.0)
