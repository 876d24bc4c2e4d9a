"""Word vectors made elsewhere (word2vec, GloVe, fastText) as features, in a window if wanted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from os import PathLike
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from accord.datasets.formats.source import iter_lines, source_name
from accord.exceptions import FormatError, InputError
from accord.forms import array
from accord.views.inputs import describe
from accord.views.word_table import WordTable


@dataclass(eq=False, repr=False)
class Embeddings(WordTable):
    """Vectors of words that were learned elsewhere: ``X`` is a list of lists of strings.

    A word without a vector has a feature that says so, and no others.

    Parameters
    ----------
    vectors : dict of str to vector, or path
        Or a text file as word2vec, GloVe and fastText write it: a word and its numbers on every line, with or without
        a first line that gives the number of words and of dimensions; it may be compressed with gzip.
    window : int or (int, int), default=0
        Number of neighbours on either side (before, after) whose vectors count, too.
    normalize : bool, default=True
        Give all vectors the same length.
    lowercase_fallback : bool, default=True
        Look a word up in lower case if it has no vector as it is.
    scale : float, default=3.0
        Length of the vectors with `normalize`, otherwise a factor. Larger vectors have more say next to other
        features; a token of `TokenFeatures` has a length of about 6.
    keep_all : bool, default=False
        Keep all vectors and not only those of words in the ``X`` of ``fit``. Then words first met at prediction have
        theirs, too, but model files are as large as the vectors.

    Attributes
    ----------
    words_ : list of str
        Words whose vectors are kept.
    vectors_ : float32 array of shape (n_words, n_columns)
        Their vectors, normalized and scaled.
    n_dims_ : int
        Number of features.

    Notes
    -----
    A fitted view does not need the dict any more, and model files leave it out: in a loaded model ``vectors`` is None.

    Examples
    --------
    >>> from accord import Embeddings
    >>> view = Embeddings({"rome": [3.0, 4.0], "runs": [0.0, 1.0]}, scale=1.0)
    >>> view.fit_rows([["Rome", "!"]]).matrix().toarray()
    array([[0.6, 0.8, 0. ],
           [0. , 0. , 1. ]])
    >>> view.feature_names(range(3))
    ['0:x0', '0:x1', '0:unknown']
    """

    vectors: Mapping[str, Any] | str | PathLike[str] | None = None  # None: of a loaded model
    window: int | tuple[int, int] = 0
    _: KW_ONLY
    normalize: bool = True
    lowercase_fallback: bool = True
    scale: float = 3.0
    keep_all: bool = False

    stored: ClassVar = {"vectors_": array("f4", "n_words", "*")}

    def _saved(self) -> dict[str, Any]:
        """What model files hold: not the dict, which may be huge."""
        return {**vars(self), "vectors": self.vectors if isinstance(self.vectors, str) else None}

    def __sklearn_clone__(self) -> Embeddings:
        """Shares the vectors."""
        return type(self)(**self.get_params(deep=False))

    def _learn(self, tokens: list[str], offsets: np.ndarray, distinct: list[str]) -> None:
        """Keep the vectors of the distinct words."""
        wanted = None
        if not self.keep_all:
            wanted = set(distinct)
            if self.lowercase_fallback:
                wanted.update([word.lower() for word in distinct])
        words, matrix = _read(self.vectors, wanted)
        if self.normalize:
            lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
            matrix = np.divide(matrix, lengths, out=np.zeros_like(matrix), where=lengths > 0)
        self.words_ = words
        self.vectors_ = (matrix * self.scale).astype(np.float32)

    def _unit_of(self, word: str) -> int:
        place = self._index().get(word)
        if place is None and self.lowercase_fallback:
            place = self._index().get(word.lower())
        return 1 if place is None else 2 + place

    def _features(self) -> sp.csr_array:
        """Unit 1 is every unknown word."""
        n, width = self.vectors_.shape
        table = np.zeros((1 + n, width + 1))
        table[0, width] = 1.0
        table[1:, :width] = self.vectors_
        return sp.csr_array(table)

    def _column_names(self) -> list[str]:
        return [f"x{k}" for k in range(self.vectors_.shape[1])] + ["unknown"]

    def _column_groups(self) -> tuple[np.ndarray, list[str]]:
        return np.append(np.zeros(self.vectors_.shape[1], np.int64), 1), ["vector", "unknown"]


def _read(vectors: Any, wanted: set[str] | None) -> tuple[list[str], np.ndarray]:
    """The wanted words and their vectors (n_words, width); None wants all of them."""
    if isinstance(vectors, (str, PathLike)):
        found, width = _from_file(vectors, wanted)
    elif isinstance(vectors, Mapping):
        found, width = _from_dict(vectors, wanted)
    else:
        hint = ". Model files leave them out, so give them again to fit anew" if vectors is None else ""
        raise InputError(f"vectors is {describe(vectors)}; expected a dict of vectors or the path of a text file{hint}")
    return list(found), np.array(list(found.values())).reshape(len(found), width)


def _from_dict(vectors: Mapping[str, Any], wanted: set[str] | None) -> tuple[dict[str, np.ndarray], int]:
    found: dict[str, np.ndarray] = {}
    width = len(np.ravel(next(iter(vectors.values()), ())))
    if not width:
        raise InputError("vectors has no numbers; expected a dict of words and their vectors")
    for word in vectors if wanted is None else filter(wanted.__contains__, vectors):
        try:
            vector = np.asarray(vectors[word], dtype=np.float64)
        except (TypeError, ValueError):
            vector = np.full(width, np.nan)
        if not isinstance(word, str):
            raise InputError(f"vectors has the key {describe(word)}; expected a word, which is a string")
        if vector.shape != (width,) or not np.isfinite(vector).all():
            raise InputError(f"vectors[{word!r}] is {describe(vectors[word])}; expected {width} finite numbers")
        found[word] = vector
    return found, width


def _from_file(path: str | PathLike[str], wanted: set[str] | None) -> tuple[dict[str, np.ndarray], int]:
    """Numbers are read for wanted words only. A word may hold blanks, so a line is cut from its end."""
    found: dict[str, np.ndarray] = {}
    width, name = 0, source_name(path)
    beginnings = None if wanted is None else {word.partition(" ")[0] for word in wanted}
    for number, line in enumerate(iter_lines(path), start=1):
        line = line.replace("\t", " ").rstrip(" ")
        if number == 1 and re.fullmatch(r"\d+ \d+", line):  # a header: number of words and of dimensions
            width = int(line.split(" ")[1])
            continue
        if not line:
            continue
        n_numbers = line.count(" ")
        width = width or n_numbers
        if n_numbers < width or not width:
            expected = f"{width} numbers" if width else "numbers"
            raise FormatError(f"a word with {n_numbers} numbers; expected a word with {expected}", name, number)
        if beginnings is not None and line.partition(" ")[0] not in beginnings:
            continue
        word, *numbers = line.rsplit(" ", width)
        if word not in found and (wanted is None or word in wanted):  # the first of several, as other readers do
            found[word] = _numbers(numbers, word, name, number)
    if not width:
        raise FormatError("the file is empty; expected a word and its numbers on every line", name)
    return found, width


def _numbers(texts: list[str], word: str, name: str, line: int) -> np.ndarray:
    try:
        vector = np.array(list(map(float, texts)))
    except ValueError as error:
        raise FormatError(f"the vector of {word!r} is not made of numbers ({error})", name, line) from None
    if not np.isfinite(vector).all():
        raise FormatError(f"the vector of {word!r} has a number that is not finite", name, line)
    return vector
