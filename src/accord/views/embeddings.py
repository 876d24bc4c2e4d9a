"""Word vectors made elsewhere (word2vec, GloVe, fastText) as features, in a window if wanted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from os import PathLike
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from accord.datasets.formats.word_vectors import Wanted, read_word_vectors
from accord.exceptions import InputError
from accord.forms import array
from accord.settings import whole
from accord.views.inputs import describe
from accord.views.word_table import WordTable


@dataclass(eq=False, repr=False)
class Embeddings(WordTable):
    """Vectors of words that were learned elsewhere: ``X`` is a list of lists of strings.

    A word without a vector has a feature that says so, and no others.

    Parameters
    ----------
    vectors : dict of str to vector, or path
        Or a file: text as word2vec, GloVe and fastText (``.vec``) write it, a word and its numbers on every line, with
        or without a first line that gives the number of words and of dimensions, perhaps compressed with gzip;
        word2vec's binary form (``.bin``); or a matrix with a row for every word (``.npy``, ``.safetensors``), whose
        words `vocabulary` gives.
    window : int or (int, int), default=0
        Number of neighbours on either side (before, after) whose vectors count, too.
    normalize : bool, default=True
        Give all vectors the same length.
    lowercase_fallback : bool, default=True
        Look a word up in lower case if it has no vector as it is.
    scale : float, default=3.0
        Length of the vectors with `normalize`, otherwise a factor. Larger vectors have more say next to other
        features; a token of `TokenFeatures` has a length of about 6.
    vocabulary : list of str, dict or path, optional
        The word of each row of a matrix: a list, a dict of row numbers, a file with a word on every line, or JSON.
    keep : int, default=50000
        Beside the words in the ``X`` of ``fit`` keep the first ones of the file, which are the most frequent ones in
        most files, so that words first met at prediction have their vectors, too. Model files grow with it.
    keep_all : bool, default=False
        Keep all vectors. Then model files are as large as the vectors.

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
    vocabulary: Any = None
    keep: int = 50_000
    keep_all: bool = False

    expects: ClassVar = {"keep": whole(0)}
    stored: ClassVar = {"vectors_": array("f4", "n_words", "*")}

    def _saved(self) -> dict[str, Any]:
        """What model files hold: not the dict, which may be huge."""
        return {**vars(self), **{name: _path_only(getattr(self, name)) for name in ("vectors", "vocabulary")}}

    def __sklearn_clone__(self) -> Embeddings:
        """Shares the vectors."""
        return type(self)(**self.get_params(deep=False))

    def _learn(self, tokens: list[str], offsets: np.ndarray, distinct: list[str]) -> None:
        """Keep the vectors of the distinct words."""
        wanted = None
        if not self.keep_all:
            wanted = frozenset(distinct)
            if self.lowercase_fallback:
                wanted |= {word.lower() for word in distinct}
        words, matrix = _read(self.vectors, Wanted(wanted, self.keep), self.vocabulary)
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


def _path_only(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _read(vectors: Any, wanted: Wanted, vocabulary: Any) -> tuple[list[str], np.ndarray]:
    """The wanted words and their vectors (n_words, width)."""
    if isinstance(vectors, (str, PathLike)):
        return read_word_vectors(vectors, wanted, vocabulary)
    if not isinstance(vectors, Mapping):
        hint = ". Model files leave them out, so give them again to fit anew" if vectors is None else ""
        raise InputError(f"vectors is {describe(vectors)}; expected a dict of vectors or the path of a file{hint}")
    found, width = _from_dict(vectors, wanted)
    return list(found), np.array(list(found.values())).reshape(len(found), width)


def _from_dict(vectors: Mapping[str, Any], wanted: Wanted) -> tuple[dict[str, np.ndarray], int]:
    found: dict[str, np.ndarray] = {}
    width = len(np.ravel(next(iter(vectors.values()), ())))
    if not width:
        raise InputError("vectors has no numbers; expected a dict of words and their vectors")
    for word in [word for place, word in enumerate(vectors) if wanted.has(word, place)]:
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
