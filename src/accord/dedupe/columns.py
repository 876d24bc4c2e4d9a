"""Columns of numbers, dates and vectors, and the column of every kind of field."""

from __future__ import annotations

import datetime as dt

import numpy as np

from accord.dedupe.column import MONTH, Column, spellings
from accord.dedupe.packing import Growing, PackedStrings, Trigrams, rows_of
from accord.dedupe.text_columns import TextColumn
from accord.dedupe.values import parse_date, parse_number, plain_words
from accord.dedupe.vectors import cosines, parse_vector


class _SpelledColumn(Column):
    """Numbers and dates: compared as what they are, and as they are written, because they are typed in by people."""

    effort = 1

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
        ptr, grams = rows_of(self.grams.ptr.array, self.grams.ids.array, values)
        return ptr, self.text.lasting(self.grams.keys.array)[grams]

    def spelled(self, value: str) -> str:
        """The text that is compared."""
        return value

    def spelling(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Jaro-Winkler and edits."""
        return spellings(self.text, a, b)[:, :2]


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


class VectorColumn(Column):
    """Vectors, such as an encoder makes of texts; a cell that is none, or is of another length, is unlike."""

    kind = "vector"
    effort = 2

    def __init__(self, value_counts: dict[str, int], word_counts: dict[str, int], n_records: int) -> None:
        super().__init__(value_counts, word_counts, n_records)
        self.ptr, self.numbers = Growing(np.int64), Growing(np.float32)
        self.ptr.append([0])

    def pack(self, fresh: list[str]) -> None:
        found = [parse_vector(value) for value in fresh]
        known = [one for one in found if one is not None]
        self.numbers.append(np.concatenate(known) if known else [])
        self.ptr.append(self.ptr.array[-1] + np.cumsum([0 if one is None else one.size for one in found]))

    def values(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        ptr, close = self.ptr.array, np.zeros(a.size)
        sizes = ptr[a + 1] - ptr[a]
        alike = np.flatnonzero((sizes > 0) & (sizes == ptr[b + 1] - ptr[b]))
        for first in range(0, alike.size, _VECTORS):
            some = alike[first : first + _VECTORS]
            for size in np.unique(sizes[some]).tolist():
                here = some[sizes[some] == size]
                x, y = (self.numbers.array[ptr[side[here]][:, None] + np.arange(size)] for side in (a, b))
                close[here] = cosines(x, y)
        return np.column_stack([super().values(a, b), close])


_VECTORS = 2048  # pairs of them at a time
COLUMNS = {
    "text": TextColumn,
    "number": NumberColumn,
    "date": DateColumn,
    "category": Column,
    "vector": VectorColumn,
}
