"""One record compared with a few others, as :class:`RecordTable` would, but all fields at once.

A table is made to compare millions of pairs; to pack twenty records into it takes longer than to compare them. Here the
cells of all fields are packed together, so that every kernel is called once.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from accord.dedupe.column import COMPARISONS, LONGEST, MISSING, MONTH, MOST_WORDS, WHOLE
from accord.dedupe.pairs import RecordPairs, whole_text
from accord.dedupe.values import parse_date, parse_number
from accord.kernels.records import strings, words

Cells = Sequence["str | None"]
_BOUNDARY = np.int64(ord(" "))
_LETTERS = 512  # numbers of letters below this need not be made smaller
_MANY = 100  # words or trigrams, above which they are not sorted by insertion


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
        if view.whole_counts_ is not None:
            seen.append(view.whole_counts_[0])
            grams.append(view.whole_counts_[1])
        self.has_grams = counts is not None
        rarity = [self._rarity(one, list(one)) for one in seen]
        self.words = _Known([_word_keys(list(one)) for one in seen], rarity, 1.0)
        squares = [self._squares(list(one.values())) for one in grams]
        self.grams = _Known([_gram_keys(list(one)) for one in grams], squares, float(self._squares([1])[0]))
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

    def _squares(self, counts: Sequence[int]) -> np.ndarray:
        """Squared weights of trigrams of so many records."""
        n = self.view.n_records_
        return (np.log((1.0 + n) / (1.0 + np.minimum(np.array(counts, np.float64), n))) + 1.0) ** 2

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
        self.points = codes = _points(values)
        self.starts = _ends([len(value) for value in values])
        n_letters = int(codes.max(initial=0)) + 1
        if n_letters > _LETTERS:
            letters, codes = np.unique(codes, return_inverse=True)
            codes, n_letters = codes.astype(np.int32), letters.size
        self.columns_of = np.repeat(np.arange(self.n_worded), np.diff(self.value_begins[: self.n_worded + 1]))
        n_worded = self.pairs[self.n_worded]
        self.words = self._words(n_worded)
        self.grams = self._trigrams(n_worded)
        longest = min(max(map(len, values), default=1), LONGEST)
        self.spellings = np.empty((self.left.size, 5))
        strings.compare(codes, self.starts, n_letters, longest, self.left, self.right, self.spellings)

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
        starts, n = self._worded()
        out = np.zeros((n_pairs, 6))
        if not n:
            return out
        kinds = _kinds(self.points)
        keys, begins, ends, ptr = _words_of(self.points, kinds, starts)
        rarity = np.empty(n)
        self.few.words.look_up(keys, ptr, self.columns_of, rarity)
        words.compare_words(
            self.points, kinds, keys, begins, ends, ptr, np.maximum(rarity, 0.05), self.pairs[len(self.few.texts)],
            MOST_WORDS, self.left[:n_pairs], self.right[:n_pairs], out,
        )  # fmt: skip
        return out

    def _worded(self) -> tuple[np.ndarray, int]:
        """Where values that have words begin, and how many characters they have."""
        starts = self.starts[: self.value_begins[self.n_worded] + 1]
        return starts, int(starts[-1])

    def _trigrams(self, n_pairs: int) -> np.ndarray:
        """Dice's measure of trigrams of every pair of texts, and the cosine by how rare they are."""
        starts, n = self._worded()
        if not n:
            return np.zeros((n_pairs, 2))
        keys, ptr = np.empty(n + starts.size, np.int64), np.empty(starts.size, np.int64)
        strings.trigrams(self.points, starts, _BOUNDARY, keys, ptr)
        keys = keys[: _sort_rows(keys, np.empty((0, keys.size), np.int64), ptr)]
        squares = np.empty(keys.size)
        self.few.grams.look_up(keys, ptr, self.columns_of, squares)
        sizes = np.diff(ptr)
        lengths = np.sqrt(np.bincount(np.repeat(np.arange(sizes.size), sizes), squares, sizes.size))
        a, b = self.left[:n_pairs], self.right[:n_pairs]
        n_shared, shared = np.empty((2, n_pairs))
        strings.shared_items(ptr, keys, squares, a, b, n_shared, shared)
        cosine = np.minimum(shared / (lengths[a] * lengths[b]), 1.0)
        return np.column_stack([2 * n_shared / (sizes[a] + sizes[b]), cosine])

    def spelling(self, k: int) -> np.ndarray:
        """Five similarities of the spelling of a field."""
        return self.spellings[self.pairs[self.place[k]] : self.pairs[self.place[k] + 1]]

    def text(self, k: int) -> np.ndarray:
        """What is compared of a text, in the order of the comparisons."""
        here = slice(self.pairs[self.place[k]], self.pairs[self.place[k] + 1])
        words, grams = self.words[here], self.grams[here]
        parts = [self.spellings[here], words[:, :4], grams[:, :1], words[:, 4:]]
        return np.concatenate([*parts, grams[:, 1:]] if self.few.has_grams else parts, axis=1)

    def whole(self) -> tuple[list[int], np.ndarray]:
        """Places of records that are not empty, and what is compared of them as a whole."""
        k = self.n_worded - 1
        here = slice(self.pairs[k], self.pairs[k + 1])
        return self.others[k], np.column_stack([self.words[here, 1], self.grams[here, 1]])


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

    def look_up(self, keys: np.ndarray, ptr: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
        """Values of rows of keys, each row of one of the columns."""
        words.look_up(keys, ptr, self.bounds[columns], self.keys, self.values, self.other, out)


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


def _words_of(
    points: np.ndarray, kinds: np.ndarray, starts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Keys of the words of texts, where they begin and end, and where those of a text begin."""
    n = int(starts[-1])
    keys, places, ptr = np.empty(n, np.int64), np.empty((2, n), np.int64), np.empty(starts.size, np.int64)
    words.words_of(points, kinds, starts, keys, places, ptr)
    _sort_rows(keys, places, ptr)
    return keys, places[0], places[1], ptr


def _sort_rows(keys: np.ndarray, carried: np.ndarray, ptr: np.ndarray) -> int:
    for row in np.flatnonzero(np.diff(ptr) > _MANY):
        here = slice(ptr[row], ptr[row + 1])
        order = np.argsort(keys[here])
        keys[here], carried[:, here] = keys[here][order], carried[:, here][:, order]
    return int(strings.sort_rows(keys, carried, ptr))


def _word_keys(known: Sequence[str]) -> np.ndarray:
    points = _points(known)
    keys, _, _, ptr = _words_of(points, _kinds(points), _ends([len(word) for word in known]))
    return keys[: ptr[-1]]


def _gram_keys(known: Sequence[str]) -> np.ndarray:
    points = _points(known).astype(np.int64).reshape(-1, 3)
    return points[:, 0] << 42 | points[:, 1] << 21 | points[:, 2]


def _ends(sizes: Sequence[int] | np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


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
