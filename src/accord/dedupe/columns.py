"""Packed columns of records and their comparisons, each between 0 (nothing in common) and 1.

A column keeps its distinct values, each cleaned, cut into words and packed once; records hold value numbers. Values are
only ever appended, so a table can grow. What is frequent was learned by ``fit`` and does not change with the table: a
value or word that was never seen counts as the rarest.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import chain

import numpy as np

from accord.dedupe.packing import Growing, Numbers, PackedStrings, RareTrigrams, Trigrams, rows_of
from accord.dedupe.values import parse_date, parse_number, plain_words
from accord.kernels.records import strings

MISSING = ["one is missing", "both are missing"]
MONTH = 30.0  # days after which closeness of dates has fallen to 1 / e
_TEXT = [
    "equal", "equal and rare", "jaro-winkler", "edits", "longest common piece", "common beginning", "common end",
    "words", "rare words", "words aligned", "words contained", "trigrams", "numbers", "numbers differ",
    "rare trigrams",
]  # fmt: skip
_NUMBER = ["equal", "equal and rare", "close", "jaro-winkler", "edits"]
_DATE = ["equal", "equal and rare", "close", "same year", "same day and month", "day and month swapped", "edits"]
_CATEGORY = ["equal", "equal and rare"]
# Ways to compare two texts as a whole, each of which is enough to tell how similar they are.
WAYS = [
    "jaro-winkler", "edits", "longest common piece", "words", "rare words", "words aligned", "words contained",
    "trigrams", "rare trigrams",
]  # fmt: skip
COMPARISONS = {"text": _TEXT, "number": _NUMBER, "date": _DATE, "category": _CATEGORY}
WHOLE = ["rare words", "rare trigrams"]  # comparisons of all cells of a record, one after another
LONGEST = 128  # characters of a text whose spelling is compared letter by letter
_END = 4  # characters of a number
_MOST_KEYS = 256  # by which a long text is looked up
MOST_WORDS = 24  # in which spelling errors are looked for


class Frequencies:
    """How rare values or words are: log of the share of records that have them, from 0 (all) to 1 (none or one)."""

    def __init__(self, counts: dict[str, int], n_records: int) -> None:
        self.counts, self.n = counts, max(n_records, 2)

    def rarity(self, items: list[str]) -> np.ndarray:
        """Rarity of each."""
        counts = np.array([max(self.counts.get(item, 1), 1) for item in items], np.float64)
        return np.log(self.n / np.minimum(counts, self.n)) / np.log(self.n)


@lru_cache(maxsize=1 << 16)
def text_key(text: str) -> int:
    """A whole number below 0 for a text, the same in every program."""
    return -1 - (int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big") >> 1)


def parts_of(kind: str, value: str) -> list[int]:
    """Numbers of what a value is best known by: its longest words, the ends of a number, or the value itself."""
    if kind == "text":
        parts = sorted(set(value.split()), key=lambda word: (-len(word), word))[:2]
    elif kind == "number":
        parts = [value[:_END], value[-_END:]] if len(value) > _END else [value]
    else:
        parts = [value]
    return [text_key(part) for part in dict.fromkeys(parts)]


def _spellings(text: PackedStrings, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    out = np.empty((a.size, 5))
    longest = min(text.longest, LONGEST)
    strings.compare(text.codes.array, text.starts.array, len(text.symbols), longest, a, b, out)
    return out


class Column:
    """Distinct values of one field; a subclass for each kind says how they are compared."""

    kind = "category"

    @property
    def n_comparisons(self) -> int:
        """Number of comparisons of two values."""
        return len(COMPARISONS[self.kind])

    def __init__(self, value_counts: dict[str, int], word_counts: dict[str, int], n_records: int) -> None:
        self.frequencies = Frequencies(value_counts, n_records)
        self.words = Frequencies(word_counts, n_records)
        self.numbers_of = Numbers()
        self.rarity = Growing(np.float64)
        self.ids = Growing(np.int64)  # of every record; -1 where the cell is missing
        self.value_keys = Growing(np.int64)
        self.part_ptr, self.part_keys = Growing(np.int64), Growing(np.int64)
        self.part_ptr.append([0])

    @property
    def n_values(self) -> int:
        """Number of different values."""
        return self.rarity.size

    def append(self, cells: Sequence[str | None]) -> None:
        """Add the cells of more records."""
        numbers, fresh = self.numbers_of(cells)
        self.ids.append(numbers)
        if fresh:
            self.name(fresh)
            self.rarity.append(self.frequencies.rarity(fresh))
            self.pack(fresh)

    def compare(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Comparisons of pairs of records, then whether one or both of the cells are missing."""
        a, b = self.ids.array[left], self.ids.array[right]
        n_here = self.n_comparisons
        out = np.zeros((left.size, n_here + len(MISSING)))
        out[:, n_here] = (a < 0) != (b < 0)
        out[:, n_here + 1] = (a < 0) & (b < 0)
        present = np.flatnonzero((a >= 0) & (b >= 0))
        if present.size:
            a, b = a[present], b[present]
            # the same two values often meet in many pairs of records
            n = self.n_values
            keys, inverse = np.unique(np.minimum(a, b) * n + np.maximum(a, b), return_inverse=True)
            low, high = keys // n, keys % n
            out[present, :n_here] = self.values(low, high)[inverse]
        return out

    def name(self, fresh: list[str]) -> None:
        """Take in keys of values that are new, and of their parts."""
        self.value_keys.append([text_key(value) for value in fresh])
        parts = [parts_of(self.kind, value) for value in fresh]
        self.part_keys.append([part for row in parts for part in row])
        self.part_ptr.append(self.part_ptr.array[-1] + np.cumsum([len(row) for row in parts]))

    def pack(self, fresh: list[str]) -> None:
        """Take in values that are new."""

    def values(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Comparisons of pairs of values."""
        equal = a == b
        return np.column_stack([equal, equal * self.rarity.array[a]])

    def keys(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Row pointers and keys by which values are looked up: here the value itself.

        Keys are the same in every table, whatever else is in it.
        """
        return np.arange(values.size + 1), self.value_keys.array[values]


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
        self.word_ptr, self.word_ids = Growing(np.int64), Growing(np.int64)
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
        squares = np.ones(keys.size) if self.rare_grams is None else self.rare_grams.squares(keys)
        self.gram_squares.append(squares)
        self.gram_lengths.append(np.sqrt(_sums(squares, np.diff(self.grams.ptr.array[first:]))))

    def pack_words(self, fresh: list[str]) -> list[str]:
        """Take in the words of values that are new; returns words that are new."""
        split = [value.split() for value in fresh]
        numbers, words = self.word_numbers_of(chain.from_iterable(split))
        # a word that all records have still says a little
        self.word_rarity.append(np.maximum(self.words.rarity(words), 0.05))
        rows = np.repeat(np.arange(len(fresh)), [len(one) for one in split])
        n = np.int64(self.word_rarity.size)
        entries = np.unique(rows * n + np.array(numbers))  # sorted, without repetitions
        ids, sizes = entries % n, np.bincount(entries // n, minlength=len(fresh))
        self.word_ids.append(ids)
        self.word_ptr.append(self.word_ptr.array[-1] + np.cumsum(sizes))
        self.most_words = max(self.most_words, int(sizes.max()))
        squares = self.word_rarity.array[ids] ** 2
        self.word_squares.append(squares)
        self.word_lengths.append(_sums(squares, sizes))
        return words

    def shared_words(self, weights: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Number and weights of the words that two values share; `weights` are of ``word_ids``."""
        n_shared, out = np.empty(a.size), np.empty(a.size)
        strings.shared_items(self.word_ptr.array, self.word_ids.array, weights, a, b, n_shared, out)
        return n_shared, out

    def rare_words(self, shared: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Cosine of words, weighted by how rare they are."""
        totals = self.word_lengths.array
        return np.minimum(shared / np.sqrt(totals[a] * totals[b]), 1.0)

    def trigrams(self, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Dice's measure of trigrams, and their cosine if they are weighted by how rare they are."""
        pointers, keys = self.grams.ptr.array, self.grams.keys.array
        n_shared, shared = np.empty(a.size), np.empty(a.size)
        squares = self.gram_squares.array
        strings.shared_items(pointers, keys, squares, a, b, n_shared, shared)
        sizes, lengths = pointers[a + 1] - pointers[a] + (pointers[b + 1] - pointers[b]), self.gram_lengths.array
        return 2 * n_shared / sizes, np.minimum(shared / (lengths[a] * lengths[b]), 1.0)


class WholeColumn(_Spoken):
    """All cells of a record as one text: who moves words from one column to the other is no one else."""

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

    def __init__(
        self,
        value_counts: dict[str, int],
        word_counts: dict[str, int],
        n_records: int,
        gram_counts: dict[str, int] | None = None,
    ) -> None:
        super().__init__(value_counts, word_counts, n_records, gram_counts)
        self.has_digit = Growing(np.float64)  # of each word
        self.word_digits, self.n_numbers = Growing(np.float64), Growing(np.float64)  # of ``word_ids``, of each value
        self.word_keys = Growing(np.int64)

    @property
    def n_comparisons(self) -> int:
        return len(_TEXT) - (self.rare_grams is None)

    def pack_words(self, fresh: list[str]) -> list[str]:
        begin = self.word_ids.size
        words = super().pack_words(fresh)
        self.spelling.append(words)
        self.word_keys.append([text_key(word) for word in words])
        self.has_digit.append([float(any(c.isdigit() for c in word)) for word in words])
        digits = self.has_digit.array[self.word_ids.array[begin:]]
        self.word_digits.append(digits)
        self.n_numbers.append(_sums(digits, np.diff(self.word_ptr.array[-len(fresh) - 1 :])))
        return words

    def values(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        out = np.empty((a.size, self.n_comparisons))
        out[:, :2] = super().values(a, b)
        out[:, 2:7] = _spellings(self.text, a, b)
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
            shared = self.shared_words(self.word_digits.array, a, b)[1]
            out[:, 12] = np.where(both, shared / np.maximum(n_a + n_b - shared, 1), 0.0)
            out[:, 13] = both & (shared == 0)
        else:
            out[:, 12:14] = 0.0
        if self.rare_grams is not None:
            out[:, 14] = rare_trigrams
        return out

    def keys(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Words and trigrams."""
        gram_ptr, grams = rows_of(self.grams.ptr.array, self.grams.keys.array, values)
        word_ptr, words = rows_of(self.word_ptr.array, self.word_ids.array, values)
        keys = np.empty(grams.size + words.size, np.int64)
        keys[np.arange(grams.size) + np.repeat(word_ptr[:-1], np.diff(gram_ptr))] = self.text.lasting(grams)
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


class _SpelledColumn(Column):
    """Numbers and dates: compared as what they are, and as they are written, because they are typed in by people."""

    def __init__(self, value_counts: dict[str, int], word_counts: dict[str, int], n_records: int) -> None:
        super().__init__(value_counts, word_counts, n_records)
        self.text = PackedStrings({" ": 0})
        self.grams = Trigrams()

    def pack(self, fresh: list[str]) -> None:
        first = self.text.starts.size - 1
        self.text.append([self.spelled(value) for value in fresh])
        self.grams.append(self.text, first)

    def keys(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Trigrams of the spelling."""
        ptr, grams = rows_of(self.grams.ptr.array, self.grams.keys.array, values)
        return ptr, self.text.lasting(grams)

    def spelled(self, value: str) -> str:
        """The text that is compared."""
        return value

    def spelling(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Jaro-Winkler and edits."""
        return _spellings(self.text, a, b)[:, :2]


class NumberColumn(_SpelledColumn):
    """Numbers; a cell that is none is compared by its spelling alone."""

    kind = "number"

    def __init__(self, value_counts: dict[str, int], word_counts: dict[str, int], n_records: int) -> None:
        super().__init__(value_counts, word_counts, n_records)
        self.numbers = Growing(np.float64)

    def pack(self, fresh: list[str]) -> None:
        super().pack(fresh)
        found = [parse_number(value) for value in fresh]
        self.numbers.append([np.nan if number is None else number for number in found])

    def values(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        x, y = self.numbers.array[a], self.numbers.array[b]
        largest = np.maximum(np.abs(x), np.abs(y))
        with np.errstate(invalid="ignore"):
            close = 1.0 - np.minimum(np.abs(x - y) / np.where(largest > 0, largest, 1.0), 1.0)
        close = np.where(np.isnan(close), 0.0, close)
        return np.column_stack([super().values(a, b), close, self.spelling(a, b)])


class DateColumn(_SpelledColumn):
    """Dates; a cell that is none is compared by its spelling alone."""

    kind = "date"

    def __init__(
        self, value_counts: dict[str, int], word_counts: dict[str, int], n_records: int, day_first: bool = True
    ) -> None:
        super().__init__(value_counts, word_counts, n_records)
        self.day_first = day_first
        self.parts = [Growing(np.int64) for _ in range(4)]  # year, month, day, number of the day; 0 if it is no date

    def spelled(self, value: str) -> str:
        found = parse_date(value, self.day_first)
        return plain_words(value) or value if found is None else "{:04d}{:02d}{:02d}".format(*found)

    def pack(self, fresh: list[str]) -> None:
        super().pack(fresh)
        dates = [parse_date(value, self.day_first) for value in fresh]
        rows = [(0, 0, 0, 0) if date is None else (*date, dt.date(*date).toordinal()) for date in dates]
        for part, column in zip(self.parts, zip(*rows)):
            part.append(column)

    def values(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        (year, year_b), (month, month_b), (day, day_b), (number, number_b) = (
            (part.array[a], part.array[b]) for part in self.parts
        )
        known = (number > 0) & (number_b > 0)
        close = known * np.exp(-np.abs(number - number_b) / MONTH)
        same_year, same_day = known & (year == year_b), known & (month == month_b) & (day == day_b)
        swapped = same_year & (month == day_b) & (day == month_b) & (month != day)
        edits = self.spelling(a, b)[:, 1]
        return np.column_stack([super().values(a, b), close, same_year, same_day, swapped, edits])


COLUMNS = {"text": TextColumn, "number": NumberColumn, "date": DateColumn, "category": Column}
