"""Features that depend on the word alone: what the views of word vectors and word classes share.

A table has one row per known word, and a row of an input names the words in its window. Feature ``column * W + k`` is
the table's ``column`` at position ``k`` of a window of ``W`` positions. With a window, one more column at the end says
"outside the sentence".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from accord.exceptions import InputError
from accord.packed.rows import Rows, as_table, window_slots
from accord.views.base import View
from accord.views.inputs import distinct_tokens, flatten_tokens, parse_window


class WordTable(View):
    """Base of the views that look words up; ``X`` is a list of lists of tokens.

    Subclasses set ``words_`` and ``n_dims_`` in ``fit_rows``, and say which unit a word is and which features units
    have. Unit 0 is "outside the sentence"; the others are the subclass' own.
    """

    window: int | tuple[int, int]
    words_: list[str]

    def extend_rows(self, X: Any) -> Rows:
        """The rows of ``X``: what is known about words stays what the first data taught."""
        return self.transform(X) if hasattr(self, "words_") else self.fit_rows(X)

    def transform(self, X: Any) -> Rows:
        """Rows of new text."""
        check_is_fitted(self, "words_")
        tokens, offsets = flatten_tokens(X)
        return self._rows(tokens, offsets, distinct_tokens(tokens, offsets))

    def feature_names(self, features: Any) -> list[str]:
        """Names such as ``-1:x12``: a column of the word before."""
        check_is_fitted(self, "words_")
        before, after = parse_window(self.window)
        own = self._column_names() + ["boundary"]
        names = []
        for f in features:
            column, k = divmod(int(f), before + 1 + after)
            names.append(f"{'0' if k == before else format(k - before, '+d')}:{own[column]}")
        return names

    def feature_groups(self) -> tuple[np.ndarray, list[str]]:
        """The group of every feature (n_dims,), as an index into the list of group names."""
        check_is_fitted(self, "words_")
        before, after = parse_window(self.window)
        groups, names = self._column_groups()
        columns = np.append(groups, [len(names)] * (before + after > 0))
        return np.repeat(columns, before + 1 + after), [*names, "position"]

    # -- what subclasses say ----------------------------------------------------------------------------------------
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
    def _forget(self) -> None:
        """Drop what was made from an earlier fit."""
        for name in [name for name in vars(self) if name.startswith("_cached")]:
            delattr(self, name)

    def _index(self) -> dict[str, int]:
        """Place of each word in ``words_``."""
        if not hasattr(self, "_cached_index"):
            self._cached_index = {word: place for place, word in enumerate(self.words_)}
        return self._cached_index

    def _table(self) -> sp.csr_array:
        """Features of all units, made when first needed."""
        if not hasattr(self, "_cached_table"):
            self._cached_table = _with_outside(self._features(), parse_window(self.window) != (0, 0))
        return self._cached_table

    def _rows(self, tokens: list[str], offsets: np.ndarray, distinct: Iterable[str]) -> Rows:
        units = {word: self._unit_of(word) for word in distinct}
        before, after = parse_window(self.window)
        n_window, table = before + 1 + after, self._table()
        in_order = np.fromiter(map(units.__getitem__, tokens), np.int32, len(tokens))
        return Rows(
            table=table,
            slots=window_slots(in_order, offsets, before, after, 0),
            base=np.arange(n_window, dtype=np.int64),
            stride=np.full(n_window, n_window, np.int64),
            bounds=np.array([[0, table.shape[0]]] * n_window, np.int64),
            offsets=offsets,
            n_dims=self.n_dims_,
            shared=True,
        )


def _with_outside(features: sp.csr_array, with_column: bool) -> sp.csr_array:
    """The table with unit 0 in front, whose only feature is one more column if there is a window."""
    n_columns = features.shape[1] + with_column
    outside = sp.csr_array(([1.0] * with_column, ([0] * with_column, [n_columns - 1] * with_column)), (1, n_columns))
    widened = sp.csr_array((features.data, features.indices, features.indptr), (features.shape[0], n_columns))
    return as_table(sp.vstack([outside, widened], format="csr"))


def check_scale(scale: Any) -> None:
    """The length of vectors must be a positive number."""
    if isinstance(scale, bool) or not isinstance(scale, (int, float, np.number)) or not 0 < scale < np.inf:
        raise InputError(f"scale is {scale!r}; expected a number above 0")
