"""One record compared with a few others, as :class:`RecordTable` would, but all fields at once.

A table is made to compare millions of pairs; to pack twenty records into it takes longer than to compare them. Here the
cells of all fields are packed together, so that every kernel is called once, and single cells are left to Python.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from accord.dedupe.column import COMPARISONS, LONGEST, MISSING, MONTH, MOST_WORDS, WHOLE
from accord.dedupe.pairs import RecordPairs
from accord.dedupe.values import parse_date, parse_number
from accord.dedupe.vectors import cosines, parse_vector
from accord.kernels.records import strings, words

Cells = Sequence["str | None"]
_BOUNDARY = np.int64(ord(" "))
_LETTERS = 512  # numbers of letters below this need not be made smaller


class FewPairs:
    """Comparisons of one record with others, given by the cells that are compared."""

    def __init__(self, view: RecordPairs) -> None:
        self.view, self.n = view, max(view.n_records_, 2)
        self.fields = list(view.fields_.items())
        self.texts = [k for k, (_, kind) in enumerate(self.fields) if kind == "text"]
        self.spelled = [k for k, (_, kind) in enumerate(self.fields) if kind in ("number", "date")]
        counts = view.gram_counts_
        names = [self.fields[k][0] for k in self.texts]
        seen = [view.word_counts_[name] for name in names]
        grams = [{} if counts is None else counts[name] for name in names]
        self.has_whole = view.whole_counts_ is not None
        if view.whole_counts_ is not None:
            seen.insert(0, view.whole_counts_[0])
            grams.insert(0, view.whole_counts_[1])
        self.has_grams = counts is not None
        rarity = [np.array([self.rarity(count) for count in one.values()]) for one in seen]
        self.words = _Known([_word_keys(list(one)) for one in seen], rarity, 1.0)
        squares = [self._squares(list(one.values())) for one in grams]
        self.grams = _Known([_gram_keys(list(one)) for one in grams], squares, float(self._squares([1])[0]))
        widths = [
            len(COMPARISONS[kind]) - (kind == "text" and counts is None) + len(MISSING) for _, kind in self.fields
        ]
        self.starts = np.concatenate([[0], np.cumsum(widths)]).tolist()

    def compare(self, one: Cells, others: Sequence[Cells]) -> np.ndarray:
        """Features of the pairs of `one` with each of the others."""
        out = np.zeros((len(others), len(self.view.names_)))
        rows, columns, values = self._single(one, others)
        out[rows, columns] = values
        packed = _Packed(self, one, others)
        for k, (_, kind) in enumerate(self.fields):
            if one[k] is not None and kind not in ("category", "vector"):
                places, found = packed.of(k)
                last = self.starts[k + 1] - len(MISSING)
                out[places, last - found.shape[1] : last] = found
        if self.has_whole:
            places, found = packed.whole()
            out[places, self.starts[-1] : self.starts[-1] + len(WHOLE)] = found
        return out

    def _single(self, one: Cells, others: Sequence[Cells]) -> tuple[list[int], list[int], list[float]]:
        """Rows, columns and values of the features that are not 0 and need no kernel."""
        rows: list[int] = []
        columns: list[int] = []
        values: list[float] = []
        for k, (name, kind) in enumerate(self.fields):
            cell, first, last = one[k], self.starts[k], self.starts[k + 1] - len(MISSING)
            rarity = 0.0 if cell is None else self.rarity(self.view.value_counts_[name].get(cell, 1))
            for row, other in enumerate(others):
                if cell is None or other[k] is None:
                    found: Sequence[tuple[int, float]] = ((last + (cell is None and other[k] is None), 1.0),)
                else:
                    found = ((first, 1.0), (first + 1, rarity)) if other[k] == cell else ()
                    if kind == "number":
                        found = (*found, (first + 2, _close(cell, str(other[k]))))
                    elif kind == "vector":
                        found = (*found, (first + 2, _alike(cell, str(other[k]))))
                    elif kind == "date":
                        dates = _dates(cell, str(other[k]), self.view.day_first_[name])
                        found = (*found, *enumerate(dates, first + 2))
                for column, value in found:
                    rows.append(row)
                    columns.append(column)
                    values.append(value)
        return rows, columns, values

    def _squares(self, counts: Sequence[int]) -> np.ndarray:
        """Squared weights of trigrams of so many records."""
        n = self.view.n_records_
        return (np.log((1.0 + n) / (1.0 + np.minimum(np.array(counts, np.float64), n))) + 1.0) ** 2

    def rarity(self, count: int) -> float:
        """How rare a value or a word of so many records is."""
        return math.log(self.n / min(max(count, 1), self.n)) / math.log(self.n)


class _Packed:
    """Cells of some records, column by column: whole records, then texts, then numbers and dates."""

    def __init__(self, few: FewPairs, one: Cells, others: Sequence[Cells]) -> None:
        rows = [one, *others]
        columns = [[few.view.whole_text(row) for row in rows]] if few.has_whole else []
        n_whole, n_worded = len(columns), len(columns) + len(few.texts)
        columns += [[row[k] for row in rows] for k in [*few.texts, *few.spelled]]
        self.few, self.place = few, {k: n_whole + place for place, k in enumerate([*few.texts, *few.spelled])}
        left, right, values = self._lay_out(columns)
        points = _points(values)
        starts = np.zeros(len(values) + 1, np.int64)
        np.cumsum([len(value) for value in values], out=starts[1:])
        n_pairs, n_values = self.begins[n_worded], self.value_begins[n_worded]
        sizes = np.diff(self.value_begins[: n_worded + 1])
        texts, words_here = starts[: n_values + 1], few.words
        self.words, self.grams = np.zeros((n_pairs, 6)), np.zeros((n_pairs, 2))
        if n_pairs:
            words.compare_words(
                points, _kinds(points), texts, np.repeat(words_here.bounds, sizes, axis=0), words_here.keys,
                words_here.values, self.begins[n_whole], MOST_WORDS, left[:n_pairs], right[:n_pairs], self.words,
            )  # fmt: skip
            words.compare_trigrams(
                points, texts, _BOUNDARY, np.repeat(few.grams.bounds, sizes, axis=0), few.grams.keys, few.grams.values,
                few.grams.other, left[:n_pairs], right[:n_pairs], self.grams,
            )  # fmt: skip
        self.spellings = np.empty((left.size, 5))
        longest = min(max(map(len, values), default=1), LONGEST)
        n_letters, first = int(points.max(initial=0)) + 1, self.begins[n_whole]
        if n_letters > _LETTERS:
            letters, points = np.unique(points, return_inverse=True)
            points, n_letters = points.astype(np.int32), letters.size
        strings.compare(points, starts, n_letters, longest, left[first:], right[first:], self.spellings[first:])

    def _lay_out(self, columns: Sequence[Cells]) -> tuple[np.ndarray, np.ndarray, list[str]]:
        """Pairs of values of all columns, the first value being that of the first record; where columns begin."""
        left: list[int] = []
        right: list[int] = []
        values: list[str] = []
        self.begins, self.value_begins = [0], [0]
        self.others: list[list[int]] = []  # records of the pairs of each column
        for column in columns:
            first, others = len(values), []
            if column[0] is not None:
                others = [k for k, cell in enumerate(column[1:]) if cell is not None]
                values += [cell for cell in column if cell is not None]
                left += [first] * len(others)
                right += range(first + 1, len(values))
            self.others.append(others)
            self.begins.append(len(left))
            self.value_begins.append(len(values))
        return np.array(left, np.int64), np.array(right, np.int64), values

    def of(self, k: int) -> tuple[list[int], np.ndarray]:
        """Records whose cell of a field is there, and what kernels say of it, in the order of the comparisons."""
        place = self.place[k]
        here, kind = slice(self.begins[place], self.begins[place + 1]), self.few.fields[k][1]
        if kind != "text":
            return self.others[place], self.spellings[here, :2] if kind == "number" else self.spellings[here, 1:2]
        words, grams = self.words[here], self.grams[here]
        parts = [self.spellings[here], words[:, :4], grams[:, :1], words[:, 4:], grams[:, 1:]]
        return self.others[place], np.concatenate(parts if self.few.has_grams else parts[:-1], axis=1)

    def whole(self) -> tuple[list[int], np.ndarray]:
        """Places of records that are not empty, and what is compared of them as a whole."""
        here = slice(0, self.begins[1])
        return self.others[0], np.column_stack([self.words[here, 1], self.grams[here, 1]])


class _Known:
    """Words or trigrams of every column that were seen, by key, with a value of each; others have another one."""

    def __init__(self, keys: list[np.ndarray], values: list[np.ndarray], other: float) -> None:
        if not keys:  # no column is a text
            keys, values = [np.empty(0, np.int64)], [np.empty(0)]
        orders = [np.argsort(one) for one in keys]
        self.keys = np.concatenate([one[order] for one, order in zip(keys, orders)])
        self.values = np.concatenate([one[order] for one, order in zip(values, orders)])
        ends = _ends([one.size for one in keys])
        self.bounds, self.other = np.column_stack([ends[:-1], ends[1:]]), other


def _points(texts: Sequence[str]) -> np.ndarray:
    return np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.int32).copy()


def _kinds(points: np.ndarray) -> np.ndarray:
    """Whether characters are letters, digits or blanks."""
    out = _ASCII[np.minimum(points, 127)]
    for place in np.flatnonzero(points > 127).tolist():
        out[place] = _kind(int(points[place]))
    return out


@lru_cache(maxsize=1 << 12)
def _kind(point: int) -> int:
    return words.DIGIT if chr(point).isdigit() else words.BLANK if chr(point).isspace() else words.LETTER


_ASCII = np.array([_kind(point) for point in range(127)] + [words.LETTER], np.int8)


def _word_keys(known: Sequence[str]) -> np.ndarray:
    points, starts = _points(known), _ends([len(word) for word in known])
    keys, ptr = np.empty(points.size, np.int64), np.empty(starts.size, np.int64)
    words.words_of(points, _kinds(points), starts, keys, np.empty((2, points.size), np.int64), ptr)
    return keys[: ptr[-1]]


def _gram_keys(known: Sequence[str]) -> np.ndarray:
    points = _points(known).astype(np.int64).reshape(-1, 3)
    return points[:, 0] << 42 | points[:, 1] << 21 | points[:, 2]


def _ends(sizes: Sequence[int] | np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


_number, _date = lru_cache(1 << 14)(parse_number), lru_cache(1 << 14)(parse_date)


def _close(one: str, other: str) -> float:
    """How near two numbers are; 0 if one of the two is none."""
    x, y = _number(one), _number(other)
    if x is None or y is None:
        return 0.0
    largest = max(abs(x), abs(y))
    return 1.0 - min(abs(x - y) / (largest if largest > 0 else 1.0), 1.0)


def _alike(one: str, other: str) -> float:
    """The cosine of two vectors; 0 if one of them is none."""
    x, y = parse_vector(one), parse_vector(other)
    return 0.0 if x is None or y is None or x.size != y.size else float(cosines(x, y))


def _dates(one: str, other: str, day_first: bool) -> tuple[float, float, float, float]:
    """Close, same year, same day and month, swapped."""
    x, y = _date(one, day_first), _date(other, day_first)
    if x is None or y is None:
        return 0.0, 0.0, 0.0, 0.0
    days = abs(dt.date(*x).toordinal() - dt.date(*y).toordinal())
    year = x[0] == y[0]
    swapped = year and x[1] == y[2] and x[2] == y[1] and x[1] != x[2]
    return math.exp(-days / MONTH), float(year), float(x[1:] == y[1:]), float(swapped)
