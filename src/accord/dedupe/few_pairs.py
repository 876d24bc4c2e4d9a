"""One record compared with a few others, as :class:`RecordTable` would, but all fields at once.

A table is made to compare millions of pairs; to pack twenty records into it takes longer than to compare them. Here the
cells of all fields are packed together, so that every kernel is called once.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from itertools import chain

import numpy as np

from accord.dedupe.column import COMPARISONS, LONGEST, MISSING, MONTH, MOST_WORDS, WHOLE
from accord.dedupe.pairs import RecordPairs, whole_text
from accord.dedupe.values import parse_date, parse_number
from accord.kernels.records import strings

Cells = Sequence["str | None"]
_BOUNDARY = np.int64(ord(" "))
_LETTERS = 512  # numbers of letters below this need not be made smaller
_MANY = 100  # trigrams, above which they are not sorted by insertion


class FewPairs:
    """Comparisons of one record with others, given by the cells that are compared."""

    def __init__(self, view: RecordPairs) -> None:
        self.view = view
        self.fields = list(view.fields_.items())
        self.texts = [k for k, (_, kind) in enumerate(self.fields) if kind == "text"]
        self.spelled = [k for k, (_, kind) in enumerate(self.fields) if kind in ("number", "date")]
        counts = view.gram_counts_
        self.grams = [None if counts is None else _sorted_grams(counts[self.fields[k][0]]) for k in self.texts]
        self.words = [view.word_counts_[self.fields[k][0]] for k in self.texts]
        if view.whole_counts_ is not None:
            self.words.append(view.whole_counts_[0])
            self.grams.append(_sorted_grams(view.whole_counts_[1]))
        self.n = max(view.n_records_, 2)
        widths = [
            len(COMPARISONS[kind]) - (kind == "text" and counts is None) + len(MISSING) for _, kind in self.fields
        ]
        self.starts = np.concatenate([[0], np.cumsum(widths)]).tolist()

    def compare(self, one: Cells, others: Sequence[Cells]) -> np.ndarray:
        """Features of the pairs of `one` with each of the others."""
        rows = [one, *others]
        out = np.zeros((len(others), len(self.view.names_)))
        packed = _Packed(self, rows)
        for k, (name, kind) in enumerate(self.fields):
            first, last = self.starts[k], self.starts[k + 1] - len(MISSING)
            there = np.array([row[k] is not None for row in others], np.bool_)
            if one[k] is None:
                out[:, last], out[:, last + 1] = there, ~there
                continue
            out[:, last] = ~there
            places = np.flatnonzero(there)
            values = [others[place][k] for place in places.tolist()]
            equal = np.array([value == one[k] for value in values], np.float64)
            out[places, first] = equal
            out[places, first + 1] = equal * self._rarity(self.view.value_counts_[name], [one[k]])[0]
            if places.size and kind != "category":
                more = packed.text(k) if kind == "text" else packed.spelling(k)[:, :2]
                if kind == "number":
                    more = np.column_stack([_close(one[k], values), more])
                elif kind == "date":
                    more = np.column_stack([_dates(one[k], values, self.view.day_first_[name]), more[:, 1]])
                out[places, first + 2 : last] = more
        if self.view.whole_counts_ is not None:
            filled, found = packed.whole()
            out[filled, self.starts[-1] : self.starts[-1] + len(WHOLE)] = found
        return out

    def _rarity(self, counts: dict[str, int], items: Sequence[str | None]) -> np.ndarray:
        found = np.array([max(counts.get(item, 1), 1) for item in items], np.float64)  # type: ignore[arg-type]
        return np.log(self.n / np.minimum(found, self.n)) / np.log(self.n)


class _Packed:
    """Cells of some records: texts column by column, then those of whole records, then numbers and dates."""

    def __init__(self, few: FewPairs, rows: Sequence[Cells]) -> None:
        columns = [[row[k] for row in rows] for k in few.texts]
        if few.view.whole_counts_ is not None:
            columns.append([whole_text(row) for row in rows])
        self.n_worded = len(columns)
        columns += [[row[k] for row in rows] for k in few.spelled]
        self.few, self.columns = few, columns
        self.place = {k: place for place, k in enumerate(few.texts)}
        self.place |= {k: self.n_worded + place for place, k in enumerate(few.spelled)}
        self.left, self.right, self.pairs, values = self._lay_out()
        points = _points(values)
        self.starts = _ends([len(value) for value in values])
        self.codes, self.n_letters = points.astype(np.int32), int(points.max(initial=0)) + 1
        if self.n_letters > _LETTERS:
            letters, codes = np.unique(points, return_inverse=True)
            self.codes, self.n_letters = codes.astype(np.int32), letters.size
        n_worded = self.pairs[self.n_worded]
        self.words = self._words(n_worded)
        self.grams = self._trigrams(points, n_worded)
        longest = min(max(map(len, values), default=1), LONGEST)
        self.spellings = np.empty((self.left.size, 5))
        strings.compare(self.codes, self.starts, self.n_letters, longest, self.left, self.right, self.spellings)

    def _lay_out(self) -> tuple[np.ndarray, np.ndarray, list[int], list[str]]:
        """Pairs of values of all columns, the first value being that of the first record; where columns begin."""
        left: list[int] = []
        right: list[int] = []
        values: list[str] = []
        begins, self.value_begins, self.others = [0], [0], []
        for column in self.columns:
            first, others = len(values), []
            if column[0] is not None:
                others = [k for k, cell in enumerate(column[1:]) if cell is not None]
                values += [cell for cell in column if cell is not None]
                left += [first] * len(others)
                right += range(first + 1, len(values))
            self.others.append(others)
            begins.append(len(left))
            self.value_begins.append(len(values))
        return np.array(left, np.int64), np.array(right, np.int64), begins, values

    def _words(self, n_pairs: int) -> np.ndarray:
        """Of every pair of texts: words shared and all of both, cosine, aligned, contained, and two of numbers."""
        few = self.few
        rows: list[list[int]] = []
        words: list[str] = []
        rarities: list[np.ndarray] = []
        for k in range(self.n_worded):
            known: dict[str, int] = {}
            base = len(words)
            for cell in self.columns[k] if self.value_begins[k + 1] > self.value_begins[k] else ():
                if cell is not None:
                    rows.append(sorted({base + known.setdefault(word, len(known)) for word in cell.split()}))
            words += known
            rarities.append(few._rarity(few.words[k], list(known)))
        rarity = np.maximum(np.concatenate([np.empty(0), *rarities]), 0.05)
        sizes = np.array([len(row) for row in rows], np.int64)
        ptr, ids = _ends(sizes), np.array(list(chain.from_iterable(rows)), np.int64)
        owner = np.repeat(np.arange(sizes.size), sizes)
        squares = rarity[ids] ** 2
        lengths = np.bincount(owner, squares, sizes.size)
        a, b = self.left[:n_pairs], self.right[:n_pairs]
        n_shared, shared = np.empty((2, n_pairs))
        strings.shared_items(ptr, ids, squares, a, b, n_shared, shared)
        out = np.zeros((n_pairs, 6))
        out[:, 0] = n_shared / (sizes[a] + sizes[b] - n_shared)
        out[:, 1] = np.minimum(shared / np.sqrt(lengths[a] * lengths[b]), 1.0)
        n_texts = self.pairs[len(few.texts)]
        two = np.empty((n_texts, 2))
        most = int(sizes.max(initial=0))
        word_codes, word_starts = _points(words).astype(np.int32), _ends([len(word) for word in words])
        strings.align_words(word_codes, word_starts, ptr, ids, rarity, most, MOST_WORDS, a[:n_texts], b[:n_texts], two)
        out[:n_texts, 2:4] = two
        has_digit = [not word.isalpha() and any(map(str.isdigit, word)) for word in words]
        if any(has_digit):
            digits = np.array(has_digit, np.float64)[ids]
            numbers = np.bincount(owner, digits, sizes.size)
            n_a, n_b = numbers[a], numbers[b]
            both = (n_a > 0) & (n_b > 0)
            strings.shared_items(ptr, ids, digits, a, b, n_shared, shared)
            out[:, 4] = np.where(both, shared / np.maximum(n_a + n_b - shared, 1), 0.0)
            out[:, 5] = both & (shared == 0)
        return out

    def _trigrams(self, points: np.ndarray, n_pairs: int) -> np.ndarray:
        """Dice's measure of trigrams of every pair of texts, and the cosine by how rare they are."""
        starts = self.starts[: self.value_begins[self.n_worded] + 1]
        keys, ptr = np.empty(int(starts[-1]) + starts.size, np.int64), np.empty(starts.size, np.int64)
        strings.trigrams(points.astype(np.int32), starts, _BOUNDARY, keys, ptr)
        for row in np.flatnonzero(np.diff(ptr) > _MANY):
            keys[ptr[row] : ptr[row + 1]].sort()
        keys = keys[: strings.sort_rows(keys, ptr)]
        squares = np.ones(keys.size)
        for k in range(self.n_worded):
            first, last = ptr[self.value_begins[k]], ptr[self.value_begins[k + 1]]
            squares[first:last] = self._squares(self.few.grams[k], keys[first:last])
        sizes = np.diff(ptr)
        lengths = np.sqrt(np.bincount(np.repeat(np.arange(sizes.size), sizes), squares, sizes.size))
        a, b = self.left[:n_pairs], self.right[:n_pairs]
        n_shared, shared = np.empty((2, n_pairs))
        strings.shared_items(ptr, keys, squares, a, b, n_shared, shared)
        cosine = np.minimum(shared / (lengths[a] * lengths[b]), 1.0)
        return np.column_stack([2 * n_shared / (sizes[a] + sizes[b]), cosine])

    def _squares(self, known: tuple[np.ndarray, np.ndarray] | None, keys: np.ndarray) -> np.ndarray:
        if known is None:
            return np.ones(keys.size)
        counts, n = np.ones(keys.size), self.few.view.n_records_
        if known[0].size:
            place = np.minimum(np.searchsorted(known[0], keys), known[0].size - 1)
            counts = np.where(known[0][place] == keys, known[1][place], 1)
        return (np.log((1.0 + n) / (1.0 + np.minimum(counts, n))) + 1.0) ** 2

    def spelling(self, k: int) -> np.ndarray:
        """Five similarities of the spelling of a field."""
        return self.spellings[self.pairs[self.place[k]] : self.pairs[self.place[k] + 1]]

    def text(self, k: int) -> np.ndarray:
        """What is compared of a text, in the order of the comparisons."""
        here = slice(self.pairs[self.place[k]], self.pairs[self.place[k] + 1])
        words, grams = self.words[here], self.grams[here]
        parts = [self.spellings[here], words[:, :4], grams[:, :1], words[:, 4:]]
        return np.concatenate(parts if self.few.grams[self.place[k]] is None else [*parts, grams[:, 1:]], axis=1)

    def whole(self) -> tuple[list[int], np.ndarray]:
        """Places of records that are not empty, and what is compared of them as a whole."""
        k = self.n_worded - 1
        here = slice(self.pairs[k], self.pairs[k + 1])
        return self.others[k], np.column_stack([self.words[here, 1], self.grams[here, 1]])


def _points(texts: Sequence[str]) -> np.ndarray:
    return np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)


def _ends(sizes: Sequence[int] | np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


def _sorted_grams(counts: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
    points = _points(list(counts)).astype(np.int64).reshape(-1, 3)
    keys = points[:, 0] << 42 | points[:, 1] << 21 | points[:, 2]
    order = np.argsort(keys)
    return keys[order], np.array(list(counts.values()), np.int64)[order]


def _close(one: str | None, values: Sequence[str | None]) -> np.ndarray:
    """How near numbers are to one; 0 if one of the two is none."""
    x = parse_number(str(one))
    found = [parse_number(str(value)) for value in values]
    if x is None:
        return np.zeros(len(found))
    out = []
    for y in found:
        largest = 0.0 if y is None else max(abs(x), abs(y))
        out.append(0.0 if y is None else 1.0 - min(abs(x - y) / (largest if largest > 0 else 1.0), 1.0))
    return np.array(out)


def _dates(one: str | None, values: Sequence[str | None], day_first: bool) -> np.ndarray:
    """Close, same year, same day and month, swapped."""
    x = parse_date(str(one), day_first)
    rows = []
    for value in values:
        y = parse_date(str(value), day_first)
        if x is None or y is None:
            rows.append((0.0, 0.0, 0.0, 0.0))
            continue
        days = abs(dt.date(*x).toordinal() - dt.date(*y).toordinal())
        year = x[0] == y[0]
        swapped = year and x[1] == y[2] and x[2] == y[1] and x[1] != x[2]
        rows.append((np.exp(-days / MONTH), float(year), float(x[1:] == y[1:]), float(swapped)))
    return np.array(rows)
