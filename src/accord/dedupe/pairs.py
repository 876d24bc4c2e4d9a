"""Pair features of records: every field of two records compared in several ways.

All comparisons lie between 0 and 1, so that one regulariser suits them. A field that is missing in one or both records
has 0 for its comparisons and says so by two indicators.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from accord.dedupe.column import COMPARISONS, MISSING, WAYS, WHOLE, Column
from accord.dedupe.columns import COLUMNS, DateColumn
from accord.dedupe.packing import PackedStrings, Trigrams
from accord.dedupe.text_columns import WholeColumn
from accord.dedupe.values import KINDS, Record, are_codes, cell_text, guess_kind, plain_words, says_day_first
from accord.exceptions import InputError
from accord.forms import FLAG, TEXT, items, mapping, optional
from accord.kernels.partitions.condensed import pair_numbers
from accord.settings import one_of, whole
from accord.threads import map_threads
from accord.views.pairs import PairFeatures

CHUNK = 1 << 15  # pairs compared at a time
_ROUNDING = 1e-6  # by which sums may be wrong
_BEGINNING = 200  # characters of each cell in the text of a whole record


class RecordPairs(PairFeatures):
    """Comparisons of two records, field by field.

    Parameters
    ----------
    fields : dict of str to {"text", "number", "date", "category", "vector"}, or None
        The fields to compare and what they are. Fields that are not named are not looked at. None guesses from the
        records: dates and numbers if nine of ten cells are, vectors if all cells are (of eight numbers or more, all of
        the same length), a category if there are few different values, else text; a
        field with one value only, row numbers and other names of rows (all different, of one pattern) are left out.

    Attributes
    ----------
    fields_ : dict
        The fields in use with their kinds.
    names_ : list of str
        Names of the comparisons, ``field: comparison``.
    n_records_ : int
        Number of records that ``fit`` saw.
    value_counts_, word_counts_ : dict of dict
        In how many of them each value and each word of a field occurs: what is rare weighs more.
    gram_counts_ : dict of dict, or None
        The same for runs of three letters of each text; None in models of earlier versions, which do not compare them.
    whole_counts_ : list of two dicts, or None
        The same for words and runs of three letters of all cells of a record together, which are compared as one text
        as well if there are several fields.

    Examples
    --------
    >>> from accord import RecordPairs
    >>> records = [{"name": "Anna Müller", "born": "1990-04-03"}, {"name": "A. Muller", "born": "03/04/1990"}]
    >>> view = RecordPairs({"name": "text", "born": "date"}).fit([records])
    >>> dict(zip(view.names_, view.pairs(records)[0].round(2).tolist()))["born: equal"]
    1.0
    """

    stored: ClassVar = {
        "n_records_": whole(1),
        "fields_": mapping(TEXT, one_of(*KINDS)),
        "day_first_": mapping(TEXT, FLAG),
        "value_counts_": mapping(TEXT, mapping(TEXT, whole(1))),
        "word_counts_": mapping(TEXT, mapping(TEXT, whole(1))),
        "gram_counts_": optional(mapping(TEXT, mapping(TEXT, whole(1)))),
        "whole_counts_": optional(items(mapping(TEXT, whole(1)), 2)),
    }
    agrees: ClassVar = {
        "every field has counts, and every date an order": lambda self: (
            set(self.fields_) == set(self.value_counts_) == set(self.word_counts_)
            and set(self.day_first_) >= {name for name, kind in self.fields_.items() if kind == "date"}
        ),
        "counts are of runs of three letters of every text": lambda self: (
            (self.gram_counts_ is None or set(self.gram_counts_) == set(self._texts()))
            and all(len(run) == 3 for counts in self._all_gram_counts() for run in counts)
        ),
        "names_ are those of the comparisons": lambda self: self.names_ == self._comparison_names(),
    }

    gram_counts_: dict[str, dict[str, int]] | None = None  # what files of earlier versions mean
    whole_counts_: list[dict[str, int]] | None = None

    def __init__(self, fields: Mapping[str, str] | None = None) -> None:
        self.fields = fields

    def fit(self, sets: Sequence[Any]) -> RecordPairs:
        """Guess what is to be guessed, and count values and words. A record is a dict; a set may be a DataFrame."""
        records = [record for i, one in enumerate(sets) for record in as_records(one, f"sets[{i}]")]
        if not records:
            raise InputError("there are no records to learn fields and frequencies from")
        self.n_records_ = len(records)
        names = self._names(records)
        cells = {name: [cell for cell in _column(records, name) if cell is not None] for name in names}
        kinds = {name: guess_kind(cells[name]) for name in names} if self.fields is None else self.fields
        self.fields_ = {name: kind for name, kind in kinds.items() if kind is not None}
        if self.fields is None:
            codes = [name for name, kind in self.fields_.items() if kind == "text" and are_codes(cells[name])]
            if len(codes) < len(self.fields_):  # else there is nothing better
                self.fields_ = {name: kind for name, kind in self.fields_.items() if name not in codes}
        if not self.fields_:
            raise InputError("no field of the records tells them apart; name fields= to compare")
        dates = [name for name, kind in self.fields_.items() if kind == "date"]
        self.day_first_ = {name: says_day_first(cells[name]) for name in dates}
        self.value_counts_, self.word_counts_, self.gram_counts_ = {}, {}, {}
        texts: list[list[str]] = [[] for _ in records]
        for name in self.fields_:
            values = self._values(name, _column(records, name))
            for text, value in zip(texts, values):
                text += [] if value is None or self.fields_[name] == "vector" else [value[:_BEGINNING]]
            known = [value for value in values if value is not None]
            # what occurs once need not be kept: unknown values count as often
            self.value_counts_[name] = {v: n for v, n in Counter(known).items() if n > 1}
            self.word_counts_[name] = {} if self.fields_[name] == "vector" else _word_counts(known)
            if self.fields_[name] == "text":
                self.gram_counts_[name] = _gram_counts(known)
        self.whole_counts_ = None
        if len(self.fields_) > 1:
            whole = [" ".join(text) for text in texts if text]
            self.whole_counts_ = [_word_counts(whole), _gram_counts(whole)]
        self.names_ = self._comparison_names()
        return self

    def ways(self) -> list[np.ndarray]:
        """Numbers of the features of several ways to compare records: all; and for each way to compare texts its own.

        The latter have few features that say the same: one for each text, what is missing, and all of other fields.
        """
        check_is_fitted(self, "names_")
        compared = [(kind, one) for _, kind, one in self._comparisons()]
        found = [np.arange(len(compared))]
        for way in WAYS if "text" in self.fields_.values() else []:
            if way != WAYS[-1] or self.gram_counts_ is not None:
                unlike = ("text", "whole")
                chosen = [i for i, (kind, one) in enumerate(compared) if kind not in unlike or one in (way, *MISSING)]
                found.append(np.array(chosen))
        return found

    def alone(self) -> np.ndarray:
        """Numbers of features of which each alone says how similar two records are: their rare trigrams, and words."""
        wanted = "text" if self.whole_counts_ is None else "whole"
        return np.array([i for i, (_, kind, one) in enumerate(self._comparisons()) if kind == wanted and one in WHOLE])

    def table(self, records: Any = ()) -> RecordTable:
        """Records packed for many comparisons."""
        check_is_fitted(self, "names_")
        table = RecordTable(self)
        table.append(as_records(records, "records"))
        return table

    def plain_cells(self, records: Sequence[Record], first: int = 0) -> dict[str, list[str | None]]:
        """Cells of each field as they are compared, None where they are missing; errors count records from `first`."""
        return {name: self._values(name, _column(records, name, first)) for name in self.fields_}

    def without_counts(self) -> RecordPairs:
        """A view that compares what is packed already: counts, of which there may be very many, are left out."""
        bare = copy(self)
        nothing: dict[str, dict[str, int]] = {name: {} for name in self.fields_}
        bare.value_counts_, bare.word_counts_ = nothing, nothing
        bare.gram_counts_ = None if self.gram_counts_ is None else {name: {} for name in self.gram_counts_}
        bare.whole_counts_ = None if self.whole_counts_ is None else [{}, {}]
        return bare

    def pairs(self, objects: Any) -> np.ndarray:
        """Features (T * (T - 1) / 2, d) of the pairs of a set, in condensed order."""
        table = self.table(objects)
        return table.compare(*pair_numbers(len(table)))

    def between(self, objects: Any, others: Any) -> np.ndarray:
        """Features (len(objects), len(others), d)."""
        table = self.table(objects)
        n = len(table)
        table.append(as_records(others, "others"))
        left, right = np.meshgrid(np.arange(n), np.arange(n, len(table)), indexing="ij")
        return table.compare(left.ravel(), right.ravel()).reshape(n, len(table) - n, -1)

    def scores(self, objects: Any, weights: np.ndarray) -> np.ndarray:
        """Products (T * (T - 1) / 2,) of the pairs of a set with ``weights`` (d,), without all features in memory."""
        table = self.table(objects)
        return table.scores(*pair_numbers(len(table)), weights)

    def count(self, objects: Any) -> int:
        return len(as_records(objects, "a set"))

    def whole_text(self, cells: Sequence[str | None]) -> str | None:
        """All cells of a record as one text, but for vectors; None if there are none."""
        written = zip(cells, self.fields_.values())
        return " ".join([cell[:_BEGINNING] for cell, kind in written if cell is not None and kind != "vector"]) or None

    def _comparison_names(self) -> list[str]:
        return [f"{name}: {comparison}" for name, _, comparison in self._comparisons()]

    def _comparisons(self) -> list[tuple[str, str, str]]:
        """Field, its kind and the comparison of every feature."""
        found = [(name, kind, one) for name, kind in self.fields_.items() for one in (*COMPARISONS[kind], *MISSING)]
        if self.gram_counts_ is None:
            found = [one for one in found if one[1:] != ("text", "rare trigrams")]
        return found + [("whole record", "whole", one) for one in WHOLE if self.whole_counts_ is not None]

    def _texts(self) -> list[str]:
        return [name for name, kind in self.fields_.items() if kind == "text"]

    def _all_gram_counts(self) -> list[dict[str, int]]:
        whole = [] if self.whole_counts_ is None else [self.whole_counts_[1]]
        return [*(self.gram_counts_ or {}).values(), *whole]

    def _names(self, records: Sequence[Record]) -> list[str]:
        if self.fields is None:
            return list(dict.fromkeys(name for record in records for name in record))
        check_fields(self.fields)
        known = {name for record in records for name in record}
        for name in self.fields:
            if name not in known:
                raise InputError(f"fields names {name!r}, but no record has it; there are {sorted(map(str, known))}")
        return list(self.fields)

    def _values(self, name: str, cells: Sequence[str | None]) -> list[str | None]:
        """The values that are compared: cleaned, dates in one layout."""
        kind = self.fields_[name]
        spell: Callable[[str], str] = plain_words
        if kind == "date":
            spell = DateColumn({}, {}, 2, self.day_first_[name]).spelled
        elif kind == "number":  # its marks matter: 12.5 is not 125
            spell = _same_number
        elif kind == "vector":
            return list(cells)
        return [None if cell is None else spell(cell) or None for cell in cells]

    def _columns(self) -> dict[str, Column]:
        out: dict[str, Column] = {}
        for name, kind in self.fields_.items():
            counts = (self.value_counts_[name], self.word_counts_[name], self.n_records_)
            more: tuple[Any, ...] = (self.day_first_[name],) if kind == "date" else ()
            if kind == "text" and self.gram_counts_ is not None:
                more = (self.gram_counts_[name],)
            out[name] = COLUMNS[kind](*counts, *more)
        return out

    def _whole(self) -> WholeColumn | None:
        """A column of all cells of each record."""
        if self.whole_counts_ is None:
            return None
        words, grams = self.whole_counts_
        return WholeColumn({}, words, self.n_records_, grams)


class RecordTable:
    """Records, packed once, that can be compared pair by pair; more can be appended."""

    def __init__(self, view: RecordPairs) -> None:
        self.view = view
        self.columns, self.whole = view._columns(), view._whole()
        self.n_records = 0

    def __len__(self) -> int:
        return self.n_records

    def append(self, records: Sequence[Record]) -> None:
        """Add records at the end."""
        cells = self.view.plain_cells(records)  # nothing is added if a cell of any record is bad
        self.append_plain(list(zip(*cells.values())))

    def append_plain(self, rows: Sequence[Sequence[str | None]]) -> None:
        """Add records at the end, given as rows of the cells that are compared."""
        if not rows:
            return
        for column, cells in zip(self.columns.values(), zip(*rows)):
            column.append(cells)
        if self.whole is not None:
            self.whole.append([self.view.whole_text(row) for row in rows])
        self.n_records += len(rows)

    def compare(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Features of pairs of records, given by their places in the table."""
        parts = [column.compare(left, right) for column in self.columns.values()]
        if self.whole is not None:
            parts.append(self.whole.compare(left, right)[:, : len(WHOLE)])  # never missing
        return np.concatenate(parts, axis=1)

    def scores(self, left: np.ndarray, right: np.ndarray, weights: np.ndarray, n_jobs: int | None = 1) -> np.ndarray:
        """Products of the features of pairs with weights, chunk after chunk."""
        out = np.empty(left.size)

        def fill(first: int) -> None:
            chunk = slice(first, first + CHUNK)
            out[chunk] = self.compare(left[chunk], right[chunk]) @ weights

        map_threads(fill, ((first,) for first in range(0, left.size, CHUNK)), n_jobs)
        return out

    def similarities(
        self, left: np.ndarray, right: np.ndarray, weights: np.ndarray, constant: float, n_jobs: int | None = 1
    ) -> np.ndarray:
        """:meth:`scores` plus a constant where that may be above 0, and -inf where it cannot be.

        Most candidates are plainly different: columns that are quickly compared show it, and the others stay closed.
        """
        out, bounds = np.full(left.size, -np.inf), self._bounds(weights)

        def fill(first: int) -> None:
            chunk = slice(first, first + CHUNK)
            a, b = left[chunk], right[chunk]
            places = np.arange(a.size)
            known, rest = np.full(a.size, constant), sum(most for *_, most in bounds)
            for column, own, most in bounds[:-1]:  # all have to be compared for those that are left
                known += column.compare(a[places], b[places])[:, : own.size] @ own
                rest -= most
                kept = known + rest > -_ROUNDING
                places, known = places[kept], known[kept]
            out[chunk][places] = self.compare(a[places], b[places]) @ weights + constant

        map_threads(fill, ((first,) for first in range(0, left.size, CHUNK)), n_jobs)
        return out

    def _bounds(self, weights: np.ndarray) -> list[tuple[Column, np.ndarray, float]]:
        """Columns, those first that are quickly compared, with their weights and the most that these can add up to."""
        found, first = [], 0
        for column in self.columns.values():
            n_here = column.n_comparisons
            own = weights[first : first + n_here + len(MISSING)]
            first += own.size
            found.append((column, own, max(np.maximum(own[:n_here], 0.0).sum(), *own[n_here:])))
        if self.whole is not None:
            found.append((self.whole, weights[first:], np.maximum(weights[first:], 0.0).sum()))
        return sorted(found, key=lambda one: one[0].effort)


def check_fields(fields: Any) -> None:
    """Refuse what is no dict of fields and their kinds."""
    if fields is None:
        return
    if not isinstance(fields, Mapping) or not fields:
        example = "such as {'name': 'text'}"
        raise InputError(f"fields is {fields!r}; expected a dict of field names and kinds, {example}, or None")
    for name, kind in fields.items():
        if kind not in KINDS:
            raise InputError(f"fields[{name!r}] is {kind!r}; expected one of {', '.join(KINDS)}")


def as_records(records: Any, where: str) -> list[Record]:
    """Records as a list of dicts; the rows of a DataFrame are turned into dicts."""
    if hasattr(records, "to_dict") and hasattr(records, "columns"):
        return records.to_dict("records")
    if isinstance(records, (str, bytes, Mapping)) or not isinstance(records, Iterable):
        raise InputError(f"{where} is a {type(records).__name__}; expected a list of records (dicts) or a DataFrame")
    out = list(records)
    for i, record in enumerate(out):
        if not isinstance(record, Mapping):
            raise InputError(f"{where}[{i}] is a {type(record).__name__}; expected a record: a dict of its fields")
    return out


def _column(records: Sequence[Record], name: str, first: int = 0) -> list[str | None]:
    cells = [record.get(name) for record in records]
    return [
        (cell.strip() or None) if type(cell) is str else cell_text(cell, f"field {name!r} of record {i}")
        for i, cell in enumerate(cells, first)
    ]


def _word_counts(texts: Sequence[str]) -> dict[str, int]:
    """In how many texts each word occurs that is in several."""
    words = Counter(word for text in texts for word in set(text.split()))
    return {word: n for word, n in words.items() if n > 1}


def _gram_counts(texts: Sequence[str]) -> dict[str, int]:
    """The same of runs of three letters."""
    different = Counter(texts)
    packed, grams = PackedStrings({" ": 0}), Trigrams()
    packed.append(list(different))
    grams.append(packed, 0)
    return grams.counts(packed.symbols, np.array(list(different.values())))


def _same_number(cell: str) -> str:
    """One spelling of a number: 7, 7.0 and 007 are different texts, but blanks around them are not."""
    return " ".join(cell.split())
