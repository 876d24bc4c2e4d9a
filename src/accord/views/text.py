"""Templates for tokens of text: the surface features of Tables 5.3 and 5.4 of the thesis, in a window.

Every feature but a few depends on the token alone, so features are computed once per distinct token and a row only
names the tokens around it. The first ``P`` features describe the place of the token in its sentence; feature
``P + f`` is feature ``f`` of a window (see ``views.window``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from accord.forms import TEXT, array, items, sparse
from accord.kernels.features import hashing, windows
from accord.kernels.features import text as kernels
from accord.packed.rows import Rows
from accord.packed.tables import as_table
from accord.settings import whole
from accord.views.base import View
from accord.views.characters import N_PAIRS, mark_roles
from accord.views.inputs import distinct_tokens, flatten_tokens, offsets_of, token_lists
from accord.views.templates import GROUP_OF_KIND, GROUPS, emit, length_mask, name_of, origins_at
from accord.views.token_index import TokenIndex
from accord.views.window import Window, parse_window, warn_of_wide

_POSITIONS = ["initial", "last", "enclosed"]  # bits 0, 1, 2 of a position unit


class _Layout(NamedTuple):
    """Where features and units are."""

    window: Window
    n_place: int  # features of the place in the sentence, which come first
    outside: int  # the unit "outside of the sentence"; those before it are places in the sentence


@dataclass(eq=False, repr=False)
class TokenFeatures(View):
    """Features of tokens for sequences of words: ``X`` is a list of lists of strings.

    Parameters
    ----------
    window : int or (int, int), default=1
        Number of neighbours on either side (before, after) whose features count, too.
    token, lower : bool, default=True
        The token as it is; in lower case.
    affixes : sequence of int or None, default=(1, 2, 3, 4)
        Lengths of prefixes and suffixes.
    ngrams : sequence of int or None, default=None
        Lengths of letter n-grams; a token has an n-gram or has it not, however often it occurs.
    shape : bool, default=True
        The token with upper-case letters written ``X``, lower-case ``x``, other letters ``c`` and digits ``d``, in
        full and with runs of a symbol written once.
    clues : bool, default=True
        Initial upper case, initial lower case, all upper case (a capital and no small letter), mixed case (a small
        letter, and a capital that is not the first character), digit-dot-digit, contains a digit, is a number (only
        digits), contains a special symbol (neither letter nor number), is punctuation (only symbols), contains a
        Greek letter or one's name, length (10 stands for 10 and more), and the places of upper- and lower-case
        characters.
    case_positions : int, default=4
        The upper- and lower-case clues look at this many characters.
    position : bool, default=True
        Whether the token is the first, the last, or between brackets or quotes; not for neighbours.
    bias : bool, default=True
        A feature that is always 1.
    min_count : int, default=1
        Leave out features of fewer tokens (occurrences, not types) than this in the ``X`` of ``fit``. When the view
        grows, tokens of the new ``X`` alone are counted for new features.

    Attributes
    ----------
    types_ : list of str
        The distinct tokens.
    table_ : CSR array
        Features of the units: places in the sentence, outside the sentence, then the distinct tokens.
    n_dims_ : int
        Number of features.

    Examples
    --------
    >>> from accord import TokenFeatures
    >>> view = TokenFeatures(window=0, affixes=(2,), shape=False, clues=False, position=False)
    >>> rows = view.fit_rows([["Tom", "comes"], ["tom"]])
    >>> view.feature_names(range(view.n_dims_))[2:6]
    ['0:prefix2=To', '0:token=Tom', '0:suffix2=om', '0:lower=tom']
    """

    window: int | tuple[int, int] = 1
    _: KW_ONLY
    token: bool = True
    lower: bool = True
    affixes: tuple[int, ...] | None = (1, 2, 3, 4)
    ngrams: tuple[int, ...] | None = None
    shape: bool = True
    clues: bool = True
    case_positions: int = 4
    position: bool = True
    bias: bool = True
    min_count: int = 1

    expects: ClassVar = {"case_positions": whole(0, 100)}
    stored: ClassVar = {
        "types_": items(TEXT, "n_types", distinct=True),
        "keys_": array("u8", "n_keys"),
        "origins_": array("i4", "n_keys", 4, least=0),
        "table_": sparse("n_units", "n_columns"),
    }
    agrees: ClassVar = {
        "n_dims_ is the number of places and of columns in the window": lambda self: (
            self.n_dims_ == self._layout().n_place + self._layout().window.size * self.keys_.size
        ),
        "table_ has a row for every place and type, and a column for every key": lambda self: (
            self.table_.shape
            == (self._layout().outside + 1 + len(self.types_), max(self.keys_.size, self._layout().n_place))
        ),
        "keys_ are distinct": lambda self: np.unique(self.keys_).size == self.keys_.size,
        "origins_ name kinds of features and types": lambda self: bool(
            np.all(self.origins_[:, :2] < [GROUP_OF_KIND.size, max(len(self.types_), 1)])
        ),
    }

    def fit_rows(self, X: Any) -> Rows:
        """Learn the features of the tokens in ``X`` and return its rows."""
        self._check_params()
        warn_of_wide(self.window)
        tokens, offsets = flatten_tokens(X)
        distinct = distinct_tokens(tokens, offsets)
        self.types_: list[str] = []
        # One entry per table column: its key, and where it was first seen (kind, type, begin, length), to print it.
        # Column 0 is the feature of every position outside the sentence.
        self.keys_ = np.zeros(1, np.uint64)
        self.origins_ = np.array([[kernels.BOUNDARY, 0, 0, 0]], np.int32)
        self.table_ = self._first_units()
        self._index: TokenIndex | None = None
        self._hash_table: tuple[np.ndarray, np.ndarray] | None = None
        return self._grow(tokens, offsets, distinct)

    def _extend(self, X: Any) -> Rows:
        tokens, offsets = flatten_tokens(X)
        return self._grow(tokens, offsets, distinct_tokens(tokens, offsets))

    def transform(self, X: Any) -> Rows:
        """Rows of new text; features that were not seen in ``fit`` are ignored."""
        check_is_fitted(self, "table_")
        sentences = token_lists(X)
        offsets = offsets_of(sentences)
        units = self._type_index().units_of(sentences, int(offsets[-1]))
        unknown = np.flatnonzero(units < 0)
        extra, extra_index = None, {}
        if unknown.size:
            where = np.searchsorted(offsets, unknown, side="right") - 1
            missing = [sentences[i][k] for i, k in zip(where.tolist(), (unknown - offsets[where]).tolist())]
            if not all(isinstance(token, str) for token in missing):
                distinct_tokens(*flatten_tokens(X))  # says which
            types = list(dict.fromkeys(missing))
            extra_index = dict(zip(types, range(self.table_.shape[0], self.table_.shape[0] + len(types))))
            units[unknown] = np.fromiter(map(extra_index.__getitem__, missing), np.int32, len(missing))
            indices, indptr = self._look_up(types)
            extra = _with_rows_of_ones(as_table(sp.csr_array((0, 1))), indptr, indices, self.table_.shape[1])
        return self._rows(units, offsets, extra, extra_index)

    def feature_names(self, features: Iterable[int]) -> list[str]:
        """Names such as ``-1:suffix3=ción``: the suffix of the token before."""
        check_is_fitted(self, "table_")
        layout = self._layout()
        names = ["bias"] * bool(self.bias) + _POSITIONS * bool(self.position)
        out = []
        for f in features:
            if f < layout.n_place:
                out.append(names[f])
            else:
                column, position = layout.window.place(f - layout.n_place)
                out.append(f"{position}:{name_of(self.origins_[column], self.types_)}")
        return out

    def feature_groups(self) -> tuple[np.ndarray, list[str]]:
        """The group of every feature (n_dims,), as an index into the list of group names."""
        check_is_fitted(self, "table_")
        layout = self._layout()
        place = np.full(layout.n_place, GROUPS.index("position"))
        if self.bias:
            place[0] = GROUPS.index("bias")
        return np.append(place, np.repeat(GROUP_OF_KIND[self.origins_[:, 0]], layout.window.size)), list(GROUPS)

    def constant_features(self) -> np.ndarray:
        """The bias."""
        return np.arange(int(bool(self.bias)))

    def _check_params(self) -> None:
        super()._check_params()
        parse_window(self.window)
        self._wanted()

    def _layout(self) -> _Layout:
        n_place = bool(self.bias) + len(_POSITIONS) * bool(self.position)
        return _Layout(parse_window(self.window), n_place, 8 if self.position else min(n_place, 1))

    def _wanted(self) -> kernels.Wanted:
        return kernels.Wanted(
            token=bool(self.token),
            lower=bool(self.lower),
            affixes=length_mask(self.affixes, "affixes"),
            ngrams=length_mask(self.ngrams, "ngrams"),
            shape=bool(self.shape),
            clues=bool(self.clues),
            case_positions=int(self.case_positions),
        )

    def _first_units(self) -> sp.csr_array:
        """The units that precede the tokens: every place in the sentence, then outside the sentence."""
        _, n_place, n_units = self._layout()
        table = np.zeros((n_units + 1, max(n_place, 1)))
        if self.bias:
            table[:n_units, 0] = 1.0
        for bit in range(len(_POSITIONS) * bool(self.position)):
            table[:n_units, bool(self.bias) + bit] = np.arange(n_units) >> bit & 1
        table[n_units, 0] = 1.0
        return as_table(sp.csr_array(table))

    def _type_index(self) -> TokenIndex:
        """The unit of each distinct token."""
        if getattr(self, "_index", None) is None:
            self._index = TokenIndex(self.types_, self.table_.shape[0] - len(self.types_))
        return self._index  # type: ignore[return-value]

    def _hashes(self) -> tuple[np.ndarray, np.ndarray]:
        if getattr(self, "_hash_table", None) is None:
            self._hash_table = hashing.hash_table(self.keys_)
        return self._hash_table  # type: ignore[return-value]

    def _grow(self, tokens: list[str], offsets: np.ndarray, distinct: list[str]) -> Rows:
        index = self._type_index()
        new = [token for token in distinct if token not in index] if index else distinct
        n_old = len(self.types_)
        index.add(new, self.table_.shape[0])
        units = np.fromiter(map(index.__getitem__, tokens), np.int32, len(tokens))
        self.types_ = self.types_ + new
        if self.min_count == 1:
            known = self.table_
            emitted, starts = emit(new, self._wanted())
            numbered = hashing.number(emitted.keys, starts, self._hashes(), self.keys_.size, True)
            indices, indptr, found, *table = numbered
            self._add_columns(emitted, starts, found, np.arange(n_old, n_old + len(new)))
            self._hash_table = (table[0], table[1])
        else:
            # a feature of old types may be frequent enough only now, so their features are looked up again
            known = self._first_units()
            self._add_frequent_columns(distinct, units)
            indices, indptr = self._look_up(self.types_)
        layout = self._layout()
        self.table_ = _with_rows_of_ones(known, indptr, indices, max(self.keys_.size, layout.n_place))
        self.n_dims_ = layout.n_place + layout.window.size * self.keys_.size
        return self._rows(units, offsets, None, {})

    def _add_columns(
        self, emitted: kernels.Emitted, starts: np.ndarray, found: np.ndarray, type_numbers: np.ndarray
    ) -> None:
        self.keys_ = np.concatenate([self.keys_, emitted.keys[found]])
        self.origins_ = np.concatenate([self.origins_, origins_at(emitted, starts, found, type_numbers)])

    def _add_frequent_columns(self, distinct: list[str], units: np.ndarray) -> None:
        index = self._type_index()
        own_units = np.array([index[token] for token in distinct], np.int64)
        emitted, starts = emit(distinct, self._wanted())
        scratch = tuple(array.copy() for array in self._hashes())
        indices, indptr, found, *_ = hashing.number(emitted.keys, starts, scratch, self.keys_.size, True)
        occurrences = np.repeat(np.bincount(units, minlength=1)[own_units], np.diff(indptr))
        counts = np.bincount(indices, occurrences, self.keys_.size + found.size)[self.keys_.size :]
        first_type = self._layout().outside + 1
        self._add_columns(emitted, starts, found[counts >= self.min_count], own_units - first_type)
        self._hash_table = None

    def _look_up(self, types: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Known features of the types, as CSR indices and row pointers."""
        emitted, starts = emit(types, self._wanted())
        indices, indptr, *_ = hashing.number(emitted.keys, starts, self._hashes(), self.keys_.size, False)
        return indices, indptr

    def _rows(
        self, units: np.ndarray, offsets: np.ndarray, extra: sp.csr_array | None, extra_index: dict[str, int]
    ) -> Rows:
        window, n_place, outside = self._layout()
        n_units = self.table_.shape[0]
        with_place = int(outside > 0)
        slots = np.zeros((units.size, with_place + window.size), np.int32)
        if self.position:
            roles = mark_roles(self._type_index(), extra_index, n_units=n_units + len(extra_index))
            windows.position_units(units, offsets, roles, N_PAIRS, slots)
        windows.window_slots(units, offsets, window.before, window.after, outside, slots, with_place)
        place = np.zeros(with_place, np.int64)
        return Rows(
            table=self.table_,
            slots=slots,
            base=np.concatenate([place, n_place + np.arange(window.size)]),
            stride=np.concatenate([place + 1, np.full(window.size, window.size)]),
            bounds=np.array([[0, outside]] * with_place + [[outside, n_units]] * window.size, np.int64),
            offsets=offsets,
            n_dims=self.n_dims_,
            extra=extra,
            shared=True,
        )


def _with_rows_of_ones(table: sp.csr_array, indptr: np.ndarray, indices: np.ndarray, n_columns: int) -> sp.csr_array:
    """The table with more rows, all of whose entries are 1."""
    data = np.concatenate([table.data, np.ones(indices.size)])
    pointers = np.concatenate([table.indptr, table.indptr[-1] + indptr[1:]])
    stacked = (data, np.concatenate([table.indices, indices]), pointers)
    return as_table(sp.csr_array(stacked, shape=(pointers.size - 1, n_columns)))
