"""Whole texts as features: words, pairs of words and character n-grams, weighted by tf-idf.

Terms are 64-bit hashes until they become columns, as those of tokens are (see ``kernels.features.hashing``); a text is
gone through once, in a kernel, a quarter of a million characters at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from accord.exceptions import InputError
from accord.forms import COUNT, TEXT, array, items
from accord.kernels.features import documents as kernels
from accord.kernels.features import hashing
from accord.packed.rows import Rows
from accord.packed.tables import as_table
from accord.settings import FLAG, NOT_NEGATIVE, one_of
from accord.tokenizer import is_document
from accord.views.base import View
from accord.views.characters import pack
from accord.views.inputs import as_list, describe
from accord.views.matrices import typical_value
from accord.views.templates import length_mask

BLOCK = 1 << 18  # characters at a time, about
GROUPS = ["bias", "word", "pair", "ngram"]
_GROUP_OF_KIND = np.array([1, 2, 3, 3, 3, 3])
_WORD = re.compile(r"\w\w+")


@dataclass(eq=False, repr=False)
class TextFeatures(View):
    """Words and character n-grams of texts: ``X`` is a list (array, Series) of strings, one row each.

    With its defaults but ``bias=False``, the matrix is that of scikit-learn's ``TfidfVectorizer(sublinear_tf=True,
    min_df=2)`` up to the order of columns. Frequencies of terms come from all texts of ``fit``, labeled and unlabeled.

    Parameters
    ----------
    words : 0, 1 or 2, default=1
        No words, words, or words and pairs of successive words. A word is a run of two or more letters, digits and
        underscores of any script.
    ngrams : sequence of int or None, default=None
        Lengths of character n-grams within words; here a word is what stands between blanks, and has one on each side
        (scikit-learn's ``analyzer="char_wb"``).
    lower : bool, default=True
        Everything in lower case.
    sublinear : bool, default=True
        A term that occurs c times counts 1 + log c, not c.
    idf : bool, default=True
        Terms weigh ``1 + log((1 + n) / (1 + k))`` if k of n texts have them; otherwise 1.
    norm_rows : bool, default=True
        Rows have length 1.
    min_count : int, default=2
        Leave out terms of fewer texts than this. When the view grows, new texts alone are counted for new terms.
    bias : bool, default=True
        A further feature that is the same in every row: as large as the root mean square of the others in a row, as
        the nearest power of two.

    Attributes
    ----------
    terms_ : list of str
        The words, pairs and n-grams that have a column.
    counts_ : ndarray
        The number of texts that have them, of ``n_texts_``.
    bias_ : float
        The value of the constant feature, 0 without ``bias``.
    n_dims_ : int
        Number of features.

    Examples
    --------
    >>> from accord import TextFeatures
    >>> view = TextFeatures(min_count=1, bias=False)
    >>> view.fit_rows(["Good wine, good price", "wine list"]).matrix().toarray().round(2)
    array([[0.81, 0.34, 0.48, 0.  ],
           [0.  , 0.58, 0.  , 0.81]])
    >>> view.feature_names(range(4))
    ['word=good', 'word=wine', 'word=price', 'word=list']
    """

    words: int = 1
    ngrams: tuple[int, ...] | None = None
    _: KW_ONLY
    lower: bool = True
    sublinear: bool = True
    idf: bool = True
    norm_rows: bool = True
    min_count: int = 2
    bias: bool = True

    expects: ClassVar = {
        "words": one_of(0, 1, 2), "lower": FLAG, "sublinear": FLAG, "idf": FLAG, "norm_rows": FLAG, "bias": FLAG,
    }  # fmt: skip
    stored: ClassVar = {
        "terms_": items(TEXT, "n_terms"),
        "keys_": array("u8", "n_terms"),
        "kinds_": array("u1", "n_terms", below=kernels.N_KINDS),
        "counts_": array("i8", "n_terms", least=0),
        "n_texts_": COUNT,
        "bias_": NOT_NEGATIVE,
    }
    agrees: ClassVar = {
        "n_dims_ is the number of terms and the bias": lambda self: self.n_dims_ == len(self.terms_) + bool(self.bias),
        "keys_ are distinct": lambda self: np.unique(self.keys_).size == self.keys_.size,
        "counts_ are of n_texts_ texts": lambda self: self.counts_.max(initial=0) <= self.n_texts_,
    }

    def fit_rows(self, X: Any) -> Rows:
        """Learn the terms of the texts and how many have them, and return the rows of ``X``."""
        self._check_params()
        texts = text_list(X)
        self.terms_: list[str] = []
        self.keys_ = np.empty(0, np.uint64)
        self.kinds_ = np.empty(0, np.uint8)
        self.counts_ = np.empty(0, np.int64)
        self.n_texts_ = 0
        return self._grow(texts)

    def _extend(self, X: Any) -> Rows:
        return self._grow(text_list(X))

    def transform(self, X: Any) -> Rows:
        """Rows of new texts; terms that were not seen in ``fit`` are ignored."""
        check_is_fitted(self, "terms_")
        table = self._hashes()
        found = [
            hashing.count(terms.keys, indptr, table, self.keys_.size, False)[:3]
            for terms, indptr, _ in self._terms(text_list(X))
        ]
        return self._rows(*_joined(found))

    def feature_names(self, features: Iterable[int]) -> list[str]:
        """Names such as ``word=wine``, ``pair=red wine`` and ``ngram=win``."""
        check_is_fitted(self, "terms_")
        groups, names = self.feature_groups()
        return [names[groups[f]] + (f"={self.terms_[f]}" if f < len(self.terms_) else "") for f in features]

    def feature_groups(self) -> tuple[np.ndarray, list[str]]:
        """The group of every feature (n_dims,), as an index into the list of group names."""
        check_is_fitted(self, "terms_")
        return np.append(_GROUP_OF_KIND[self.kinds_], [0] * bool(self.bias)).astype(np.int64), list(GROUPS)

    def constant_features(self) -> np.ndarray:
        """The bias."""
        check_is_fitted(self, "terms_")
        return np.arange(self.n_dims_ - bool(self.bias), self.n_dims_)

    def _check_params(self) -> None:
        super()._check_params()
        if self.words == 0 and length_mask(self.ngrams, "ngrams").size == 1:
            raise InputError("words is 0 and ngrams has no lengths: there are no features; use words=1")

    def _hashes(self) -> tuple[np.ndarray, np.ndarray]:
        if getattr(self, "_hash_table", None) is None:
            self._hash_table: tuple[np.ndarray, np.ndarray] | None = hashing.hash_table(self.keys_)
        return self._hash_table  # type: ignore[return-value]

    def _terms(self, texts: Sequence[str]) -> Iterator[tuple[kernels.Terms, np.ndarray, str]]:
        """Blocks of texts: their terms, where those of each text begin, and the joined texts."""
        wanted = length_mask(self.ngrams, "ngrams")
        for block in _blocks([text.lower() for text in texts] if self.lower else texts):
            packed = pack(block)
            n = packed.codes.size
            room = int(self.words) * ((n + len(block)) // 3) + int(wanted.sum()) * 3 * n
            out = kernels.Terms(
                np.empty(room, np.uint64), np.empty(room, np.uint8), np.empty(room, np.int64), np.empty(room, np.int32)
            )
            indptr = np.zeros(len(block) + 1, np.int64)
            n = kernels.emit(packed, int(self.words), wanted, out, indptr)
            yield kernels.Terms(*(values[:n] for values in out)), indptr, "".join(block)

    def _grow(self, texts: Sequence[str]) -> Rows:
        table = tuple(values.copy() for values in self._hashes())
        n_old = self.keys_.size
        n, found, fresh = n_old, [], []
        for terms, indptr, joined in self._terms(texts):
            *counted, first, keys, ids = hashing.count(terms.keys, indptr, table, n, True)
            table, n = (keys, ids), n + first.size
            found.append(tuple(counted))
            fresh.append((*(values[first] for values in terms), joined))
        indices, counts, indptr = _joined(found)
        frequencies = np.bincount(indices, minlength=n)
        kept = np.append(np.ones(n_old, np.bool_), frequencies[n_old:] >= self.min_count)
        self._add_columns(fresh, kept[n_old:])
        self.counts_ = np.append(self.counts_, np.zeros(self.keys_.size - n_old, np.int64)) + frequencies[kept]
        self.n_texts_ += len(texts)
        self._hash_table = None
        indices, counts, indptr = _without(indices, counts, indptr, kept)
        self.n_dims_ = self.keys_.size + bool(self.bias)
        if n_old == 0:
            self.bias_ = typical_value(self._matrix(indices, counts, indptr)) if self.bias else 0.0
        return self._rows(indices, counts, indptr)

    def _add_columns(self, fresh: list[tuple[Any, ...]], kept: np.ndarray) -> None:
        """Columns for those terms of new texts that are to be kept; the others never become strings."""
        keys, kinds, terms = [self.keys_], [self.kinds_], list(self.terms_)
        ends = np.cumsum([part[0].size for part in fresh])
        for (*values, joined), chosen in zip(fresh, np.split(kept, ends[:-1])):
            of_keys, of_kinds, begins, lengths = (column[chosen] for column in values)
            keys.append(of_keys)
            kinds.append(of_kinds)
            spans = zip(of_kinds.tolist(), begins.tolist(), lengths.tolist())
            terms += [_term(kind, joined[b : b + k]) for kind, b, k in spans]
        self.keys_, self.kinds_, self.terms_ = np.concatenate(keys), np.concatenate(kinds), terms

    def _weights(self, indices: np.ndarray, counts: np.ndarray, indptr: np.ndarray) -> np.ndarray:
        idf = np.ones(self.counts_.size)
        if self.idf:
            idf += np.log((1 + self.n_texts_) / (1 + self.counts_))
        return kernels.weigh(indptr, indices, counts, idf, bool(self.sublinear), bool(self.norm_rows))

    def _matrix(self, indices: np.ndarray, counts: np.ndarray, indptr: np.ndarray) -> sp.csr_array:
        """The tf-idf matrix (n_texts, n_dims), whose last column is left free for the bias."""
        matrix = sp.csr_array((indptr.size - 1, self.n_dims_))
        matrix.data, matrix.indices, matrix.indptr = self._weights(indices, counts, indptr), indices, indptr
        return matrix

    def _rows(self, indices: np.ndarray, counts: np.ndarray, indptr: np.ndarray) -> Rows:
        matrix = self._matrix(indices, counts, indptr)
        if self.bias:
            matrix = _with_last_column(matrix, self.bias_)
        return Rows.from_matrix(as_table(matrix))


def text_list(X: Any) -> Sequence[str]:
    """The texts; an error names the first that is none."""
    texts = as_list(X, "a text, which is a string")
    if not set(map(type, texts)) <= {str}:
        texts = [text.text if is_document(type(text)) else text for text in texts]
        for i, text in enumerate(texts):
            if not isinstance(text, str):
                hint = " Join the words of a text, or use DictFeatures" if isinstance(text, (list, tuple)) else ""
                raise InputError(
                    f'X[{i}] is {describe(text)}; expected a text, which is a string ("" if missing).{hint}'
                )
    return texts


def _blocks(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Successive texts of about ``BLOCK`` characters."""
    first = size = 0
    for i, text in enumerate(texts):
        size += len(text)
        if size >= BLOCK:
            yield texts[first : i + 1]
            first, size = i + 1, 0
    if first < len(texts):
        yield texts[first:]


def _term(kind: int, span: str) -> str:
    """What is said of a term that was first seen here."""
    if kind == kernels.WORD:
        return span
    if kind == kernels.PAIR:
        words = span.split()
        if len(words) != 2 or not (words[0].isalnum() and words[1].isalnum()):
            words = _WORD.findall(span)  # takes several times as long, and few need it
        return " ".join(words)
    beyond = max(kind - int(kernels.GRAM), 0)
    return " " * (beyond & 1) + span + " " * (beyond >> 1)


def _joined(parts: list[Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counted terms of several blocks as one: indices, counts, and where each text begins."""
    if not parts:
        return np.empty(0, np.int32), np.empty(0, np.int32), np.zeros(1, np.int64)
    ends = np.cumsum([0] + [part[0].size for part in parts])
    pointers = [part[2][:-1] + end for part, end in zip(parts, ends)]
    return (
        np.concatenate([part[0] for part in parts]),
        np.concatenate([part[1] for part in parts]),
        np.concatenate([*pointers, ends[-1:]]).astype(np.int64),
    )


def _without(
    indices: np.ndarray, counts: np.ndarray, indptr: np.ndarray, kept: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counted terms without those that are not kept, the others numbered anew."""
    if kept.all():
        return indices, counts, indptr
    here = np.flatnonzero(kept[indices])
    numbers = (np.cumsum(kept) - 1).astype(np.int32)
    return numbers[indices[here]], counts[here], np.searchsorted(here, indptr)


def _with_last_column(matrix: sp.csr_array, value: float) -> sp.csr_array:
    """The matrix with an entry in the last column of every row."""
    n = matrix.shape[0]
    at = matrix.indptr[1:]
    out = sp.csr_array(matrix.shape)
    out.data = np.insert(matrix.data, at, value)
    out.indices = np.insert(matrix.indices, at, np.int32(matrix.shape[1] - 1))
    out.indptr = matrix.indptr + np.arange(n + 1)
    return out
