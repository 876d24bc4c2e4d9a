"""Columns of free text: names, titles, addresses, and whole records as one text."""

from __future__ import annotations

from itertools import chain

import numpy as np

from accord.dedupe.column import COMPARISONS, MOST_WORDS, WHOLE, Column, spellings, text_key
from accord.dedupe.packing import Growing, Numbers, PackedStrings, RareTrigrams, Trigrams, distinct, rows_of
from accord.kernels.records import strings

_MOST_KEYS = 256  # by which a long text is looked up


class _Spoken(Column):
    """Values as sets of words and of trigrams, both weighted by how rare they are."""

    kind = "text"

    def __init__(
        self,
        value_counts: dict[str, int],
        word_counts: dict[str, int],
        n_records: int,
        gram_counts: dict[str, int] | None = None,
    ) -> None:
        super().__init__(value_counts, word_counts, n_records)
        symbols = {" ": 0}
        self.text, self.spelling = PackedStrings(symbols), PackedStrings(symbols)
        self.word_numbers_of = Numbers()
        self.word_rarity = Growing(np.float64)
        self.word_ptr, self.word_ids = Growing(np.int64), Growing(np.int32)
        self.word_ptr.append([0])
        self.word_squares, self.word_lengths = Growing(np.float64), Growing(np.float64)  # of words by how rare they are
        self.most_words = 0
        self.grams = Trigrams()
        self.rare_grams = None if gram_counts is None else RareTrigrams(gram_counts, symbols, n_records)
        self.gram_squares, self.gram_lengths = Growing(np.float64), Growing(np.float64)

    def pack(self, fresh: list[str]) -> None:
        self.pack_words(fresh)
        first = self.text.starts.size - 1
        self.text.append(fresh)
        self.grams.append(self.text, first)
        keys = self.grams.keys.array[self.gram_squares.size :]
        self.gram_squares.append(np.ones(keys.size) if self.rare_grams is None else self.rare_grams.squares(keys))
        ptr = self.grams.ptr.array[first:]
        squares = self.gram_squares.array[self.grams.ids.array[ptr[0] :]]
        self.gram_lengths.append(np.sqrt(_sums(squares, np.diff(ptr))))

    def pack_words(self, fresh: list[str]) -> list[str]:
        """Take in the words of values that are new; returns words that are new."""
        split = [value.split() for value in fresh]
        numbers, words = self.word_numbers_of(chain.from_iterable(split))
        # a word that all records have still says a little
        rarity = np.maximum(self.words.rarity(words), 0.05)
        self.word_rarity.append(rarity)
        self.word_squares.append(rarity**2)
        rows = np.repeat(np.arange(len(fresh)), [len(one) for one in split])
        n = np.int64(self.word_rarity.size)
        entries = distinct(rows * n + np.asarray(numbers))
        ids, sizes = entries % n, np.bincount(entries // n, minlength=len(fresh))
        self.word_ids.append(ids)
        self.word_ptr.append(self.word_ptr.array[-1] + np.cumsum(sizes))
        self.most_words = max(self.most_words, int(sizes.max()))
        self.word_lengths.append(_sums(self.word_squares.array[ids], sizes))
        return words

    def shared_words(self, weights: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Number and weights of the words that two values share; `weights` are of words."""
        n_shared, out = np.empty(a.size), np.empty(a.size)
        strings.shared_items(self.word_ptr.array, self.word_ids.array, weights, a, b, n_shared, out)
        return n_shared, out

    def rare_words(self, shared: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Cosine of words, weighted by how rare they are."""
        totals = self.word_lengths.array
        return np.minimum(shared / np.sqrt(totals[a] * totals[b]), 1.0)

    def trigrams(self, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Dice's measure of trigrams, and their cosine if they are weighted by how rare they are."""
        pointers, ids, squares = self.grams.ptr.array, self.grams.ids.array, self.gram_squares.array
        n_shared, shared = np.empty(a.size), np.empty(a.size)
        strings.shared_items(pointers, ids, squares, a, b, n_shared, shared)
        sizes, lengths = pointers[a + 1] - pointers[a] + (pointers[b + 1] - pointers[b]), self.gram_lengths.array
        return 2 * n_shared / sizes, np.minimum(shared / (lengths[a] * lengths[b]), 1.0)


class WholeColumn(_Spoken):
    """All cells of a record as one text: who moves words from one column to the other is no one else."""

    effort = 2

    def name(self, fresh: list[str]) -> None:
        """Whole records are not looked up."""

    @property
    def n_comparisons(self) -> int:
        return len(WHOLE)

    def values(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        shared = self.shared_words(self.word_squares.array, a, b)[1]
        return np.column_stack([self.rare_words(shared, a, b), self.trigrams(a, b)[1]])


class TextColumn(_Spoken):
    """Names, titles, addresses."""

    effort = 3

    def __init__(
        self,
        value_counts: dict[str, int],
        word_counts: dict[str, int],
        n_records: int,
        gram_counts: dict[str, int] | None = None,
    ) -> None:
        super().__init__(value_counts, word_counts, n_records, gram_counts)
        self.has_digit, self.n_numbers = Growing(np.float64), Growing(np.float64)  # of each word, of each value
        self.word_keys = Growing(np.int64)

    @property
    def n_comparisons(self) -> int:
        return len(COMPARISONS["text"]) - (self.rare_grams is None)

    def pack_words(self, fresh: list[str]) -> list[str]:
        begin = self.word_ids.size
        words = super().pack_words(fresh)
        self.spelling.append(words)
        self.word_keys.append([text_key(word) for word in words])
        self.has_digit.append([float(any(c.isdigit() for c in word)) for word in words])
        digits = self.has_digit.array[self.word_ids.array[begin:]]
        self.n_numbers.append(_sums(digits, np.diff(self.word_ptr.array[-len(fresh) - 1 :])))
        return words

    def values(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        out = np.empty((a.size, self.n_comparisons))
        out[:, :2] = super().values(a, b)
        out[:, 2:7] = spellings(self.text, a, b)
        ptr = self.word_ptr.array
        n_shared, shared = self.shared_words(self.word_squares.array, a, b)
        out[:, 7] = n_shared / (ptr[a + 1] - ptr[a] + (ptr[b + 1] - ptr[b]) - n_shared)
        out[:, 8] = self.rare_words(shared, a, b)
        two = np.empty((a.size, 2))
        strings.align_words(
            self.spelling.codes.array, self.spelling.starts.array, ptr, self.word_ids.array, self.word_rarity.array,
            self.most_words, MOST_WORDS, a, b, two,
        )  # fmt: skip
        out[:, 9:11] = two
        out[:, 11], rare_trigrams = self.trigrams(a, b)
        n_a, n_b = self.n_numbers.array[a], self.n_numbers.array[b]
        both = (n_a > 0) & (n_b > 0)
        if both.any():
            shared = self.shared_words(self.has_digit.array, a, b)[1]
            out[:, 12] = np.where(both, shared / np.maximum(n_a + n_b - shared, 1), 0.0)
            out[:, 13] = both & (shared == 0)
        else:
            out[:, 12:14] = 0.0
        if self.rare_grams is not None:
            out[:, 14] = rare_trigrams
        return out

    def keys(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Words and trigrams."""
        gram_ptr, grams = rows_of(self.grams.ptr.array, self.grams.ids.array, values)
        word_ptr, words = rows_of(self.word_ptr.array, self.word_ids.array, values)
        keys = np.empty(grams.size + words.size, np.int64)
        keys[np.arange(grams.size) + np.repeat(word_ptr[:-1], np.diff(gram_ptr))] = self.text.lasting(
            self.grams.keys.array
        )[grams]
        keys[np.arange(words.size) + np.repeat(gram_ptr[1:], np.diff(word_ptr))] = self.word_keys.array[words]
        return _signatures(gram_ptr + word_ptr, keys)


def _sums(items: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Sums over rows of these sizes."""
    return np.bincount(np.repeat(np.arange(sizes.size), sizes), items, sizes.size)


def _signatures(ptr: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of values with very many keys those of the lowest hashes: others that share keys with them share these."""
    sizes = np.diff(ptr)
    many = np.flatnonzero(sizes > 2 * _MOST_KEYS)
    if not many.size:
        return ptr, keys
    kept = np.ones(keys.size, np.bool_)
    for value in many.tolist():
        own = keys[ptr[value] : ptr[value + 1]].astype(np.uint64)
        own = (own ^ (own >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
        kept[ptr[value] + np.argpartition(own, _MOST_KEYS)[_MOST_KEYS:]] = False
    sizes[many] = _MOST_KEYS
    return np.concatenate([[0], np.cumsum(sizes)]), keys[kept]
