"""Packed columns of records and their comparisons, each between 0 (nothing in common) and 1.

A column keeps its distinct values, each cleaned, cut into words and packed once; records hold value numbers. Values are
only ever appended, so a table can grow. What is frequent was learned by ``fit`` and does not change with the table: a
value or word that was never seen counts as the rarest.
"""

from __future__ import annotations

import datetime as dt

import numpy as np

from accord.dedupe.packing import Growing, PackedStrings, RareTrigrams, Trigrams
from accord.dedupe.values import parse_date, parse_number, plain_words
from accord.kernels.records import strings

MISSING = ["one is missing", "both are missing"]
_MONTH = 30.0  # days after which closeness of dates has fallen to 1 / e
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
_LONGEST = 128  # characters of a text whose spelling is compared letter by letter
_MOST_KEYS = 256  # by which a long text is looked up
_MOST_WORDS = 24  # in which spelling errors are looked for


class Frequencies:
    """How rare values or words are: log of the share of records that have them, from 0 (all) to 1 (none or one)."""

    def __init__(self, counts: dict[str, int], n_records: int) -> None:
        self.counts, self.n = counts, max(n_records, 2)

    def rarity(self, items: list[str]) -> np.ndarray:
        """Rarity of each."""
        counts = np.array([max(self.counts.get(item, 1), 1) for item in items], np.float64)
        return np.log(self.n / np.minimum(counts, self.n)) / np.log(self.n)


def _spellings(text: PackedStrings, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    out = np.empty((a.size, 5))
    longest = min(text.longest, _LONGEST)
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
        self.index: dict[str, int] = {}
        self.rarity = Growing(np.float64)
        self.ids = Growing(np.int64)  # of every record; -1 where the cell is missing

    def append(self, cells: list[str | None]) -> None:
        """Add the cells of more records."""
        index, known = self.index, len(self.index)
        self.ids.append([-1 if cell is None else index.setdefault(cell, len(index)) for cell in cells])
        if len(index) > known:
            fresh = list(index)[known:]
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
            keys, inverse = np.unique(np.minimum(a, b) * len(self.index) + np.maximum(a, b), return_inverse=True)
            low, high = keys // len(self.index), keys % len(self.index)
            out[present, :n_here] = self.values(low, high)[inverse]
        return out

    def pack(self, fresh: list[str]) -> None:
        """Take in values that are new."""

    def values(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Comparisons of pairs of values."""
        equal = a == b
        return np.column_stack([equal, equal * self.rarity.array[a]])

    def keys(self) -> tuple[np.ndarray, np.ndarray]:
        """Row pointers and keys by which a value is looked up: here the value itself."""
        n = len(self.index)
        return np.arange(n + 1), np.arange(n)


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
        self.word_index: dict[str, int] = {}
        self.word_rarity = Growing(np.float64)
        self.word_ptr, self.word_ids = Growing(np.int64), Growing(np.int64)
        self.word_ptr.append([0])
        self.grams = Trigrams()
        self.rare_grams = None if gram_counts is None else RareTrigrams(gram_counts, symbols, n_records)
        self.gram_squares, self.gram_lengths = Growing(np.float64), Growing(np.float64)

    def pack(self, fresh: list[str]) -> None:
        self.pack_words(fresh)
        first = self.text.starts.size - 1
        self.text.append(fresh)
        self.grams.append(self.text, first)
        if self.rare_grams is not None:
            begin = self.gram_squares.size
            self.gram_squares.append(self.rare_grams.squares(self.grams.keys.array[begin:]))
            starts = self.grams.ptr.array[first:-1] - begin
            self.gram_lengths.append(np.sqrt(np.add.reduceat(self.gram_squares.array[begin:], starts)))

    def pack_words(self, fresh: list[str]) -> list[str]:
        """Take in the words of values that are new; returns words that are new."""
        index, known = self.word_index, len(self.word_index)
        rows = [sorted({index.setdefault(word, len(index)) for word in value.split()}) for value in fresh]
        self.word_ids.append([word for row in rows for word in row])
        self.word_ptr.append(self.word_ptr.array[-1] + np.cumsum([len(row) for row in rows]))
        words = list(index)[known:]
        # a word that all records have still says a little
        self.word_rarity.append(np.maximum(self.words.rarity(words), 0.05))
        return words

    def shared_words(self, weights: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights of the words that two values share, and of all words of each value."""
        n_shared, out, of_words = np.empty(a.size), np.empty(a.size), weights[self.word_ids.array]
        strings.shared_items(self.word_ptr.array, self.word_ids.array, of_words, a, b, n_shared, out)
        rows = np.repeat(np.arange(len(self.index)), np.diff(self.word_ptr.array))
        return out, np.bincount(rows, of_words, len(self.index))

    def rare_words(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Cosine of words, weighted by how rare they are."""
        shared, totals = self.shared_words(self.word_rarity.array**2, a, b)
        return np.minimum(shared / np.sqrt(totals[a] * totals[b]), 1.0)

    def trigrams(self, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Dice's measure of trigrams, and their cosine if they are weighted by how rare they are."""
        pointers, keys = self.grams.ptr.array, self.grams.keys.array
        n_shared, shared, sizes = np.empty(a.size), np.empty(a.size), np.diff(pointers)
        squares = np.ones(keys.size) if self.rare_grams is None else self.gram_squares.array
        strings.shared_items(pointers, keys, squares, a, b, n_shared, shared)
        lengths = np.sqrt(sizes) if self.rare_grams is None else self.gram_lengths.array
        return 2 * n_shared / (sizes[a] + sizes[b]), np.minimum(shared / (lengths[a] * lengths[b]), 1.0)


class WholeColumn(_Spoken):
    """All cells of a record as one text: who moves words from one column to the other is no one else."""

    @property
    def n_comparisons(self) -> int:
        return len(WHOLE)

    def values(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.column_stack([self.rare_words(a, b), self.trigrams(a, b)[1]])


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
        self.has_digit = Growing(np.float64)

    @property
    def n_comparisons(self) -> int:
        return len(_TEXT) - (self.rare_grams is None)

    def pack_words(self, fresh: list[str]) -> list[str]:
        words = super().pack_words(fresh)
        self.spelling.append(words)
        self.has_digit.append([float(any(c.isdigit() for c in word)) for word in words])
        return words

    def values(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        out = np.empty((a.size, self.n_comparisons))
        out[:, :2] = super().values(a, b)
        out[:, 2:7] = _spellings(self.text, a, b)
        rarity, digits = self.word_rarity.array, self.has_digit.array
        shared, totals = self.shared_words(np.ones(rarity.size), a, b)
        out[:, 7] = shared / (totals[a] + totals[b] - shared)
        out[:, 8] = self.rare_words(a, b)
        two = np.empty((a.size, 2))
        strings.align_words(
            self.spelling.codes.array, self.spelling.starts.array, self.word_ptr.array, self.word_ids.array, rarity,
            _MOST_WORDS, a, b, two,
        )  # fmt: skip
        out[:, 9:11] = two
        out[:, 11], rare_trigrams = self.trigrams(a, b)
        shared, totals = self.shared_words(digits, a, b)
        both = (totals[a] > 0) & (totals[b] > 0)
        out[:, 12] = np.where(both, shared / np.maximum(totals[a] + totals[b] - shared, 1), 0.0)
        out[:, 13] = both & (shared == 0)
        if self.rare_grams is not None:
            out[:, 14] = rare_trigrams
        return out

    def keys(self) -> tuple[np.ndarray, np.ndarray]:
        """Words and trigrams; words are numbered behind all trigrams."""
        n_grams, n_words = np.diff(self.grams.ptr.array), np.diff(self.word_ptr.array)
        ptr = np.concatenate([[0], np.cumsum(n_grams + n_words)])
        keys = np.empty(ptr[-1], np.int64)
        gram_places = np.repeat(ptr[:-1] - self.grams.ptr.array[:-1], n_grams) + np.arange(self.grams.keys.size)
        word_places = np.repeat(ptr[:-1] + n_grams - self.word_ptr.array[:-1], n_words) + np.arange(self.word_ids.size)
        keys[gram_places] = self.grams.keys.array
        keys[word_places] = -1 - self.word_ids.array
        return _signatures(ptr, keys)


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

    def keys(self) -> tuple[np.ndarray, np.ndarray]:
        """Trigrams of the spelling."""
        return self.grams.ptr.array, self.grams.keys.array

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
        close = known * np.exp(-np.abs(number - number_b) / _MONTH)
        same_year, same_day = known & (year == year_b), known & (month == month_b) & (day == day_b)
        swapped = same_year & (month == day_b) & (day == month_b) & (month != day)
        edits = self.spelling(a, b)[:, 1]
        return np.column_stack([super().values(a, b), close, same_year, same_day, swapped, edits])


COLUMNS = {"text": TextColumn, "number": NumberColumn, "date": DateColumn, "category": Column}
