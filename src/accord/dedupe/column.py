"""Packed columns of records and their comparisons, each between 0 (nothing in common) and 1.

A column keeps its distinct values, each cleaned, cut into words and packed once; records hold value numbers. Values are
only ever appended, so a table can grow. What is frequent was learned by ``fit`` and does not change with the table: a
value or word that was never seen counts as the rarest.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b

import numpy as np

from accord.dedupe.packing import Growing, Numbers, PackedStrings
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
_VECTOR = ["equal", "equal and rare", "close"]
# Ways to compare two texts as a whole, each of which is enough to tell how similar they are.
WAYS = [
    "jaro-winkler", "edits", "longest common piece", "words", "rare words", "words aligned", "words contained",
    "trigrams", "rare trigrams",
]  # fmt: skip
COMPARISONS = {"text": _TEXT, "number": _NUMBER, "date": _DATE, "category": _CATEGORY, "vector": _VECTOR}
WHOLE = ["rare words", "rare trigrams"]  # comparisons of all cells of a record, one after another
LONGEST = 128  # characters of a text whose spelling is compared letter by letter
_END = 4  # characters of a number
MOST_WORDS = 24  # in which spelling errors are looked for


class Frequencies:
    """How rare values or words are: log of the share of records that have them, from 0 (all) to 1 (none or one)."""

    def __init__(self, counts: dict[str, int], n_records: int) -> None:
        self.counts, self.n = counts, max(n_records, 2)

    def rarity(self, items: list[str]) -> np.ndarray:
        """Rarity of each."""
        counts = np.array([max(self.counts.get(item, 1), 1) for item in items], np.float64)
        return np.log(self.n / np.minimum(counts, self.n)) / np.log(self.n)


def _text_key(text: str) -> int:
    """A whole number below 0 for a text, the same in every program."""
    return -1 - (int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big") >> 1)


text_key = lru_cache(maxsize=1 << 16)(_text_key)  # for words, which come again


def parts_of(kind: str, value: str) -> list[int]:
    """Numbers of what a value is best known by: its longest words, the ends of a number, or the value itself."""
    if kind == "vector":
        return []
    if kind == "text":
        parts = sorted(set(value.split()), key=lambda word: (-len(word), word))[:2]
    elif kind == "number":
        parts = [value[:_END], value[-_END:]] if len(value) > _END else [value]
    else:
        parts = [value]
    return [text_key(part) for part in dict.fromkeys(parts)]


def spellings(text: PackedStrings, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Comparisons of values letter by letter."""
    out = np.empty((a.size, 5))
    longest = min(text.longest, LONGEST)
    strings.compare(text.codes.array, text.starts.array, len(text.symbols), longest, a, b, out)
    return out


class Column:
    """Distinct values of one field; a subclass for each kind says how they are compared."""

    kind = "category"
    effort = 0  # how long it takes to compare two values, beside other kinds

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

    def texts(self, records: np.ndarray) -> list[str | None]:
        """Cells of records, as they are compared."""
        known = self.numbers_of.texts()
        return [None if value < 0 else known[value] for value in self.ids.array[records].tolist()]

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
        self.value_keys.append([_text_key(value) for value in fresh])  # seen once, so they need not be remembered
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
