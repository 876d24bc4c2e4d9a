"""Features that depend on the word alone: what the views of word vectors and word classes share.

A table has one row per known word, and a row of an input names the words in its window (see ``views.window``). With a
window, one more column at the end says "outside the sentence".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from accord.forms import TEXT, items
from accord.packed.rows import Rows
from accord.packed.tables import as_table
from accord.views.base import View
from accord.views.inputs import distinct_tokens, flatten_tokens
from accord.views.window import parse_window


class WordTable(View):
    """Base of the views that look words up; ``X`` is a list of lists of tokens.

    Subclasses learn ``words_``, and say which unit a word is and which features units have. Unit 0 is "outside the
    sentence"; the others are the subclass' own.
    """

    window: int | tuple[int, int]
    scale: float
    words_: list[str]

    stored: ClassVar = {"words_": items(TEXT, "n_words", distinct=True)}
    agrees: ClassVar = {
        "n_dims_ is the number of columns in the window": lambda self: (
            self.n_dims_ == parse_window(self.window).size * self._table().shape[1]
        ),
    }

    def fit_rows(self, X: Any) -> Rows:
        """Learn what there is to know about words and return the rows of ``X``."""
        self._check_params()
        tokens, offsets = flatten_tokens(X)
        distinct = distinct_tokens(tokens, offsets)
        self.__dict__.pop("_cached_index", None)
        self.__dict__.pop("_cached_table", None)
        self._learn(tokens, offsets, distinct)
        self.n_dims_ = parse_window(self.window).size * self._table().shape[1]
        return self._rows(tokens, offsets, distinct)

    def transform(self, X: Any) -> Rows:
        """Rows of new text."""
        check_is_fitted(self, "words_")
        tokens, offsets = flatten_tokens(X)
        return self._rows(tokens, offsets, distinct_tokens(tokens, offsets))

    def feature_names(self, features: Iterable[int]) -> list[str]:
        """Names such as ``-1:x12``: a column of the word before."""
        check_is_fitted(self, "words_")
        own = self._column_names() + ["boundary"]
        return [f"{position}:{own[column]}" for column, position in map(parse_window(self.window).place, features)]

    def feature_groups(self) -> tuple[np.ndarray, list[str]]:
        """The group of every feature (n_dims,), as an index into the list of group names."""
        check_is_fitted(self, "words_")
        window = parse_window(self.window)
        groups, names = self._column_groups()
        columns = np.append(groups, [len(names)] * window.is_wide)
        return np.repeat(columns, window.size), [*names, "position"]

    def _check_params(self) -> None:
        super()._check_params()
        parse_window(self.window)

    # -- what subclasses say ----------------------------------------------------------------------------------------
    def _learn(self, tokens: list[str], offsets: np.ndarray, distinct: list[str]) -> None:
        """Set ``words_`` and what is known about them."""
        raise NotImplementedError

    def _unit_of(self, word: str) -> int:
        """The unit of a word, 1 or more."""
        raise NotImplementedError

    def _features(self) -> sp.csr_array:
        """Features (n_units - 1, n_columns) of the units from 1 on."""
        raise NotImplementedError

    def _column_names(self) -> list[str]:
        raise NotImplementedError

    def _column_groups(self) -> tuple[np.ndarray, list[str]]:
        raise NotImplementedError

    # -- rows -------------------------------------------------------------------------------------------------------
    def _extend(self, X: Any) -> Rows:
        """What is known about words stays what the first data taught."""
        return self.transform(X)

    def _index(self) -> dict[str, int]:
        """Place of each word in ``words_``."""
        if not hasattr(self, "_cached_index"):
            self._cached_index = {word: place for place, word in enumerate(self.words_)}
        return self._cached_index

    def _table(self) -> sp.csr_array:
        """Features of all units, made when first needed."""
        if not hasattr(self, "_cached_table"):
            self._cached_table = _with_outside(self._features(), parse_window(self.window).is_wide)
        return self._cached_table

    def _rows(self, tokens: list[str], offsets: np.ndarray, distinct: Iterable[str]) -> Rows:
        units = {word: self._unit_of(word) for word in distinct}
        in_order = np.fromiter(map(units.__getitem__, tokens), np.int32, len(tokens))
        return parse_window(self.window).rows(self._table(), in_order, offsets, shared=True)


def _with_outside(features: sp.csr_array, with_column: bool) -> sp.csr_array:
    """The table with unit 0 in front, whose only feature is one more column if there is a window."""
    n_columns = features.shape[1] + with_column
    outside = sp.csr_array(([1.0] * with_column, ([0] * with_column, [n_columns - 1] * with_column)), (1, n_columns))
    widened = sp.csr_array((features.data, features.indices, features.indptr), (features.shape[0], n_columns))
    return as_table(sp.vstack([outside, widened], format="csr"))
