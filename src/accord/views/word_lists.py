"""Word lists as features: which tokens of a sentence are an entry of a list, or occur in some."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from itertools import pairwise
from os import PathLike, fspath
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from accord.exceptions import InputError
from accord.forms import TEXT, array, items
from accord.packed.rows import Rows
from accord.settings import POSITIVE
from accord.views.base import View
from accord.views.inputs import describe, distinct_tokens, flatten_tokens
from accord.views.phrases import PhraseIndex, read_phrases
from accord.views.window import parse_window

# What a token has for every list: where in an entry it is and how that is written, how long the entry is, and of how
# many entries it is a word.
PLACES, WRITTEN = ("all", "first", "last", "inside"), ("", " in other case", ", a common word")
LENGTHS = ("1 token", "2 tokens", "3 tokens or more")
COUNTS = ("1 entry", "2 to 9 entries", "10 to 99 entries", "100 to 999 entries", "1000 entries or more")
COLUMNS = [
    *(f"{place} of an entry{written}" for place in PLACES for written in WRITTEN),
    *(f"an entry of {length}" for length in LENGTHS),
    *(f"a word of {count}" for count in COUNTS),
]
_LENGTH = len(PLACES) * len(WRITTEN)  # the first column of lengths
_COUNT = _LENGTH + len(LENGTHS)


@dataclass(eq=False, repr=False)
class WordLists(View):
    """Lists of words and phrases, such as first names, towns or genes: ``X`` is a list of lists of strings.

    Entries are found in sentences from left to right, the longest first, whether sentences are cut at blanks, as texts
    are, or at every mark ("TEF - 1"). A word of an entry may be written with other capital letters than there ("ROME"),
    but not without any ("rome"). A token of an entry has features that say which list it is, where in the entry the
    token is, whether the entry is written as in the list, and how long it is; that an entry of one word is a common
    word as well, which the text of ``fit`` mostly writes small, is said, too. Every word has a feature for each list
    that says of how many entries it is a word. Lists need not be clean: labels teach what these features are worth.

    Parameters
    ----------
    lists : dict, list or path
        A dict from names of lists to words and phrases, or to a file with one in every line; or files, as paths or as
        texts ``"FILE:NAME"``, whose names are otherwise those of the files.
    window : int or (int, int), default=0
        Number of neighbours on either side (before, after) whose entries count, too.
    scale : float, default=2.0
        Value of the features. Lists know more than most features of a few labeled sentences.

    Attributes
    ----------
    names_ : list of str
        Names of the lists.
    phrases_, offsets_ : list of str, and array of shape (n_lists + 1,)
        List ``k`` has the entries ``phrases_[offsets_[k]:offsets_[k + 1]]``.
    common_ : list of str
        Entries of one word, in small letters, that the text of ``fit`` mostly writes so.
    n_dims_ : int
        Number of features.

    Notes
    -----
    Model files hold the entries, but not where they came from: in a loaded model ``lists`` is None.

    Examples
    --------
    >>> from accord import WordLists
    >>> view = WordLists({"places": ["New York", "Rome"]})
    >>> rows = view.fit_rows([["in", "new", "York"]]).matrix()
    >>> view.feature_names(rows[[1]].indices)
    ['0:places: first of an entry in other case', '0:places: an entry of 2 tokens']
    """

    lists: Any = None  # None: of a loaded model
    window: int | tuple[int, int] = 0
    _: KW_ONLY
    scale: float = 2.0

    expects: ClassVar = {"scale": POSITIVE}
    stored: ClassVar = {
        "names_": items(TEXT, "n_lists", distinct=True),
        "phrases_": items(TEXT, "n_phrases"),
        "offsets_": array("i8", "n_lists+1", pointers="n_phrases"),
        "common_": items(TEXT, distinct=True),
    }
    agrees: ClassVar = {
        "n_dims_ is the number of columns in the window": lambda self: (
            self.n_dims_ == parse_window(self.window).size * self._width()
        ),
    }

    def _saved(self) -> dict[str, Any]:
        return {**vars(self), "lists": None}

    def __sklearn_clone__(self) -> WordLists:
        """Shares the lists."""
        return type(self)(**self.get_params(deep=False))

    def fit_rows(self, X: Any) -> Rows:
        """Read the lists and return the rows of ``X``."""
        self._check_params()
        found = read_lists(self.lists)
        self.names_ = list(found)
        self.phrases_ = [phrase for phrases in found.values() for phrase in phrases]
        self.offsets_ = np.cumsum([0, *map(len, found.values())], dtype=np.int64)
        self.n_dims_ = parse_window(self.window).size * self._width()
        self.__dict__.pop("_cached_lists", None)
        self.common_ = self._common_words(flatten_tokens(X)[0])
        self.__dict__.pop("_cached_common", None)
        return self.transform(X)

    def transform(self, X: Any) -> Rows:
        """Rows of new text."""
        check_is_fitted(self, "names_")
        tokens, offsets = flatten_tokens(X)
        small = {token: token.lower() for token in distinct_tokens(tokens, offsets)}
        of_word = {token: tuple(self._of_word(token)) for token in small}
        columns = [of_word[token] for token in tokens]
        for start, end in pairwise(offsets.tolist()):
            written = tokens[start:end]
            for place, column in self._of_entries(written, [small[token] for token in written]):
                columns[start + place] += (column,)
        units = {found: unit for unit, found in enumerate(dict.fromkeys(columns), start=1)}
        in_order = np.fromiter(map(units.__getitem__, columns), np.int32, len(columns))
        return parse_window(self.window).rows(self._table(units), in_order, offsets)

    def feature_names(self, features: Iterable[int]) -> list[str]:
        """Names such as ``-1:places: all of an entry``: what is known about the word before."""
        check_is_fitted(self, "names_")
        own = [f"{name}: {column}" for name in self.names_ for column in COLUMNS] + ["boundary"]
        return [f"{position}:{own[column]}" for column, position in map(parse_window(self.window).place, features)]

    def feature_groups(self) -> tuple[np.ndarray, list[str]]:
        """The group of every feature (n_dims,), as an index into the list of group names: lists, and position."""
        check_is_fitted(self, "names_")
        window = parse_window(self.window)
        columns = np.append(np.repeat(np.arange(len(self.names_)), len(COLUMNS)), [len(self.names_)] * window.is_wide)
        return np.repeat(columns.astype(np.int64), window.size), [*self.names_, "position"]

    def _check_params(self) -> None:
        super()._check_params()
        parse_window(self.window)

    def _extend(self, X: Any) -> Rows:
        """Lists stay what they are."""
        return self.transform(X)

    # -- what is found -------------------------------------------------------------------------------------------------
    def _indices(self) -> list[tuple[PhraseIndex, PhraseIndex, Counter[str]]]:
        """Of every list: entries as they are written, and in small letters; and of how many each such word is."""
        if not hasattr(self, "_cached_lists"):
            self._cached_lists = []
            for first, last in pairwise(self.offsets_.tolist()):
                entries = self.phrases_[first:last]
                counts = Counter(word for entry in entries for word in set(entry.split()))
                self._cached_lists.append((*PhraseIndex.of_both(entries), counts))
        return self._cached_lists

    def _common_words(self, tokens: list[Any]) -> list[str]:
        """Entries of one word that are mostly written small in this text, capital letters notwithstanding."""
        n = Counter(token for token in tokens if isinstance(token, str))
        capital: Counter[str] = Counter()
        for token, count in n.items():
            if token != token.lower():
                capital[token.lower()] += count
        entries = {word for _, folded, _ in self._indices() for word in folded.known if isinstance(word, str)}
        return sorted(word for word in entries & n.keys() if n[word] > capital[word])

    def _of_word(self, token: str) -> Iterator[int]:
        """Columns of a word, wherever it stands; if it has capital letters, case is not important."""
        small = token.lower()
        for k, (_, _, counts) in enumerate(self._indices()):
            n = counts[token] or (token != small and (counts[token.title()] or counts[small]))
            if n:
                yield k * len(COLUMNS) + _COUNT + (0 if n == 1 else min(len(str(n)), len(COUNTS) - 1))

    def _of_entries(self, tokens: Sequence[str], small: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Places in a sentence and columns that they have, because entries are there."""
        if not hasattr(self, "_cached_common"):
            self._cached_common = frozenset(self.common_)
        for k, (exact, folded, _) in enumerate(self._indices()):
            is_entry = partial(_is_entry, tokens, small, exact)
            for first, last in folded.find(small, is_entry):
                common = last == first + 1 and small[first] in self._cached_common
                written = 2 if common else 0 if exact.has(tokens[first:last]) else 1
                for t in range(first, last):
                    place = 0 if last == first + 1 else 1 if t == first else 2 if t == last - 1 else 3
                    yield t, k * len(COLUMNS) + place * len(WRITTEN) + written
                    yield t, k * len(COLUMNS) + _LENGTH + min(last - first, len(LENGTHS)) - 1

    def _width(self) -> int:
        """Columns of the table."""
        return len(self.names_) * len(COLUMNS) + parse_window(self.window).is_wide

    def _table(self, units: Iterable[tuple[int, ...]]) -> sp.csr_array:
        """Features of each distinct set of columns; unit 0 is outside of the sentence."""
        outside = [self._width() - 1] * parse_window(self.window).is_wide
        sets = [outside, *map(sorted, units)]
        indices = np.array([column for found in sets for column in found], np.int64)
        values = np.full(indices.size, self.scale)
        values[: len(outside)] = 1.0
        return sp.csr_array((values, indices, np.cumsum([0, *map(len, sets)])), shape=(len(sets), self._width()))


def _is_entry(tokens: Sequence[str], small: Sequence[str], exact: PhraseIndex, start: int, end: int) -> bool:
    """Whether tokens that are an entry in small letters are one as they are written: "ROME" is, and "rome" is not."""
    return tokens[start:end] != small[start:end] or exact.has(tokens[start:end])


# -- reading ----------------------------------------------------------------------------------------------------------
def read_lists(lists: Any) -> dict[str, list[str]]:
    """The entries of each list."""
    if isinstance(lists, Mapping):
        found = {name: _entries(name, entries) for name, entries in lists.items()}
    elif isinstance(lists, (str, PathLike)):
        found = _named([lists])
    elif isinstance(lists, (list, tuple)):
        found = _named(lists)
    else:
        hint = ". Model files leave it out, so give it again to fit anew" if lists is None else ""
        raise InputError(f"lists is {describe(lists)}; expected a dict from names to words, or files{hint}")
    if not found:
        raise InputError("lists is empty; expected a dict from names to words, or files")
    return found


def _named(files: Sequence[Any]) -> dict[str, list[str]]:
    """Files with or without names."""
    found: dict[str, list[str]] = {}
    for i, file in enumerate(files):
        if not isinstance(file, (str, PathLike)):
            raise InputError(f"lists[{i}] is {describe(file)}; expected a file, or FILE:NAME")
        path, name = file_and_name(fspath(file))
        if name in found:
            raise InputError(f"lists has {name!r} twice; say FILE:NAME")
        found[name] = read_phrases(path)
    return found


def file_and_name(text: str) -> tuple[str, str]:
    """A file and the name of its list, from ``FILE:NAME`` or from the file alone, which has the name."""
    path, colon, name = text.rpartition(":")
    if not colon or not name or "/" in name or "\\" in name or Path(text).is_file():
        path, name = text, Path(text).name.split(".")[0]
    return path, name or path


def _entries(name: Any, entries: Any) -> list[str]:
    if not isinstance(name, str):
        raise InputError(f"lists has the name {describe(name)}; expected a text")
    if isinstance(entries, (str, PathLike)):
        return read_phrases(entries)
    if isinstance(entries, (bytes, Mapping)) or not isinstance(entries, Iterable):
        raise InputError(f"lists[{name!r}] is {describe(entries)}; expected words and phrases, or a file of them")
    found = list(entries)
    for i, entry in enumerate(found):
        if not isinstance(entry, str) or not entry.strip():
            raise InputError(f"lists[{name!r}][{i}] is {describe(entry)}; expected a word or a phrase")
    if not found:
        raise InputError(f"lists[{name!r}] has no words; expected at least one")
    return found
