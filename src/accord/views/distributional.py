"""What unlabeled text tells about words: vectors and classes of words that have similar neighbours.

Counts of the words to the left and to the right of every word (sides kept apart, the sentence boundary is a word, too)
become shifted positive pointwise mutual information, with context counts to the power 0.75 [Levy, Goldberg & Dagan
2015]; the left singular vectors of it, times their singular values, are the words' vectors. K-means groups the vectors
into classes, at several granularities. Words that are too rare to be counted alone are counted together with others
of their shape.

No step sees a label or depends on the order of the sentences.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import KW_ONLY, dataclass
from itertools import compress
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from accord.exceptions import InputError
from accord.forms import array, items
from accord.packed.tables import window_slots
from accord.settings import whole
from accord.views.inputs import describe, token_numbers
from accord.views.word_table import WordTable

SHAPES = ["digits", "capitals", "capitalised", "letters", "symbols"]
# Both make less of chance meetings of rare words. Chosen, like the defaults, on Spanish and biomedical text with 20 and
# 100 labeled sentences.
_CONTEXT_POWER = 0.75
_SHIFT = 1.0
_N_SHOWN = 3  # words that stand for a class in the name of a feature


@dataclass(eq=False, repr=False)
class DistributionalFeatures(WordTable):
    """Word vectors and word classes learned from the text itself: ``X`` is a list of lists of strings.

    They carry over what few labels teach about one word to words that are used like it. Fit them on all the text there
    is: give a learner the unlabeled sentences, too, with None as their output.

    Parameters
    ----------
    n_classes : sequence of int, default=(32, 128, 512)
        Numbers of classes that words are grouped into, each on its own.
    n_components : int, default=64
        Length of the word vectors.
    min_count : int, default=2
        Words that occur less often are counted together with all others of the same shape (see `SHAPES`), whose
        features they have; so have words that were not seen in ``fit``.
    neighbours : int, default=3
        Number of words on either side that are counted, the one at distance ``d`` as 1/d.
    window : int or (int, int), default=0
        Number of neighbours on either side (before, after) whose features count, too.
    classes, vectors : bool, default=True
        Use the classes; the vectors.
    scale : float, default=3.0
        Length of the vectors as features. Larger vectors have more say next to other features; a token of
        `TokenFeatures` has a length of about 6.
    lowercase : bool, default=True
        Count words in lower case.
    random_state : int, default=0
        Seed of the decomposition and of the grouping.

    Attributes
    ----------
    words_ : list of str
        Words with vectors of their own, the most frequent first.
    vectors_ : float32 array of shape (n_words + n_shapes, n_components)
        Vectors of length 1 (0 if nothing is known) of the words, then of the shapes.
    n_classes_ : list of int
        Numbers of classes, if there were enough words for them.
    word_classes_ : int32 array of shape (n_words + n_shapes, n_granularities)
        The classes; -1 for a shape that did not occur. See also `class_of`.
    n_dims_ : int
        Number of features.

    Examples
    --------
    >>> from accord import DistributionalFeatures
    >>> X = [["on", day, "it", what] for day in ("monday", "tuesday") for what in ("rains", "snows")]
    >>> view = DistributionalFeatures(n_classes=(3,), n_components=3, neighbours=1).fit(X)
    >>> view.nearest("monday", 1)
    [('tuesday', 1.0)]
    >>> view.class_of("rains") == view.class_of("snows") != view.class_of("monday")
    True
    """

    n_classes: tuple[int, ...] = (32, 128, 512)
    n_components: int = 64
    min_count: int = 2
    neighbours: int = 3
    window: int | tuple[int, int] = 0
    _: KW_ONLY
    classes: bool = True
    vectors: bool = True
    scale: float = 3.0
    lowercase: bool = True
    random_state: int = 0

    expects: ClassVar = {"n_components": whole(1), "random_state": whole(0)}
    stored: ClassVar = {
        "vectors_": array("f4", f"n_words+{len(SHAPES)}", "*"),
        "n_classes_": items(whole(1), "n_groupings"),
        "word_classes_": array("i4", f"n_words+{len(SHAPES)}", "n_groupings", least=-1),
    }
    agrees: ClassVar = {
        "word_classes_ are classes of n_classes_": lambda self: bool(np.all(self.word_classes_ < self.n_classes_)),
    }

    def class_of(self, word: str) -> dict[int, int]:
        """The class of a word in each grouping: ``{32: 7, 128: 41, 512: 3}``; -1 if nothing is known of its shape."""
        check_is_fitted(self, "words_")
        return dict(zip(self.n_classes_, self.word_classes_[self._unit_of(word) - 1].tolist()))

    def nearest(self, word: str, k: int = 10) -> list[tuple[str, float]]:
        """The ``k`` words with the most similar vectors, and the cosines."""
        check_is_fitted(self, "words_")
        own = self._unit_of(word) - 1
        cosines = self.vectors_[: len(self.words_)] @ self.vectors_[own]
        order = [place for place in np.argsort(-cosines, kind="stable")[: k + 1].tolist() if place != own]
        return [(self.words_[place], round(float(cosines[place]), 6)) for place in order[:k]]

    # -- learning ---------------------------------------------------------------------------------------------------
    def _learn(self, tokens: list[str], offsets: np.ndarray, distinct: list[str]) -> None:
        """Learn vectors and classes from all sentences."""
        if not distinct:
            raise InputError("X has no tokens: there is nothing to learn about words from")
        units = self._learn_words(tokens, distinct)
        counts = neighbour_counts(units, offsets, len(self.words_) + len(SHAPES), self.neighbours)
        occurs = np.bincount(units, minlength=counts[0].shape[0]) > 0
        # one thread: sums in the same order every time, whatever the machine is doing
        with threadpool_limits(limits=1):
            self.vectors_ = word_vectors([ppmi(side) for side in counts], self.n_components, self.random_state)
            self.n_classes_, self.word_classes_ = self._group(occurs)

    def _learn_words(self, tokens: list[str], distinct: list[str]) -> np.ndarray:
        """Set ``words_``; the place of every token among words and shapes."""
        types = token_numbers(tokens, distinct)
        written = [word.lower() for word in distinct] if self.lowercase else distinct
        key = {word: k for k, word in enumerate(dict.fromkeys(written))}
        keys = np.fromiter(map(key.__getitem__, written), np.int64, len(written))
        counts = np.bincount(keys[types], minlength=len(key))
        frequent = list(compress(zip((-counts).tolist(), key), counts >= self.min_count))
        self.words_ = [word for _, word in sorted(frequent)]
        return np.fromiter(map(self._unit_of, distinct), np.int64, len(distinct))[types] - 1

    def _group(self, occurs: np.ndarray) -> tuple[list[int], np.ndarray]:
        known = self.vectors_[occurs]
        n_distinct = np.unique(known, axis=0).shape[0]
        if max(self.n_classes, default=0) > n_distinct:
            warnings.warn(
                f"n_classes has {max(self.n_classes)}, but X has only {n_distinct} words that differ (words "
                f"that occur at least min_count={self.min_count} times, and shapes); no more classes are made",
                stacklevel=4,
            )
        sizes = sorted({min(int(n), n_distinct) for n in self.n_classes})
        classes = np.full((occurs.size, len(sizes)), -1, np.int32)
        for column, n in enumerate(sizes):
            classes[occurs, column] = k_means(known, n, self.random_state)
        return sizes, classes

    # -- features ---------------------------------------------------------------------------------------------------
    def _unit_of(self, word: str) -> int:
        place = self._index().get(word.lower() if self.lowercase else word)
        return 1 + (len(self.words_) + shape_of(word) if place is None else place)

    def _features(self) -> sp.csr_array:
        blocks = []
        for column, n in enumerate(self.n_classes_ if self.classes else []):
            unit = np.flatnonzero(self.word_classes_[:, column] >= 0)
            ones = (np.ones(unit.size), (unit, self.word_classes_[unit, column]))
            blocks.append(sp.csr_array(ones, shape=(self.vectors_.shape[0], n)))
        if self.vectors:
            blocks.append(sp.csr_array(self.vectors_.astype(np.float64) * self.scale))
        return sp.csr_array(sp.hstack(blocks, format="csr"))

    def _column_names(self) -> list[str]:
        names = []
        called = self.words_ + [f"<{shape}>" for shape in SHAPES]
        for column, n in enumerate(self.n_classes_ if self.classes else []):
            members: list[list[str]] = [[] for _ in range(n)]
            for word, c in zip(called, self.word_classes_[:, column].tolist()):
                if c >= 0 and len(members[c]) <= _N_SHOWN:
                    members[c].append(word)
            for c, some in enumerate(members):
                names.append(f"class{n}={c} ({', '.join(some[:_N_SHOWN] + ['...'] * (len(some) > _N_SHOWN))})")
        return names + [f"vector{k}" for k in range(self.vectors_.shape[1] * bool(self.vectors))]

    def _column_groups(self) -> tuple[np.ndarray, list[str]]:
        n_vector = self.vectors_.shape[1] * bool(self.vectors)
        return np.repeat([0, 1], [sum(self.n_classes_) * bool(self.classes), n_vector]), ["class", "vector"]

    def _check_params(self) -> None:
        super()._check_params()
        sizes = self.n_classes
        if not isinstance(sizes, (tuple, list)) or not all(map(whole(1).accepts, sizes)):
            raise InputError(f"n_classes is {describe(sizes)}; expected numbers of classes such as (32, 128, 512)")
        if not (self.classes and sizes) and not self.vectors:
            raise InputError("there are no features: set classes=True with n_classes, or vectors=True")


def shape_of(word: str) -> int:
    """Index into `SHAPES`: has a digit; only capitals; begins with a capital; begins with a letter; anything else."""
    if any(map(str.isdigit, word)):
        return 0
    if word[:1].isupper():
        return 1 if len(word) > 1 and word.isupper() else 2
    return 3 if word[:1].isalpha() else 4


def neighbour_counts(units: np.ndarray, offsets: np.ndarray, n_words: int, neighbours: int) -> list[sp.csr_array]:
    """How often each word stands to the left and to the right of each: two arrays (n_words, n_words + 1).

    Entry ``[w, c]`` sums ``m / d`` over all places where ``c`` is ``d`` words away from ``w``; the last column is
    "outside the sentence". The number ``m``, the least common multiple of all ``d``, makes sums exact.
    """
    multiple = math.lcm(*range(1, neighbours + 1))
    around = window_slots(units, offsets, neighbours, neighbours, n_words)
    sides = []
    for sign in (-1, 1):
        contexts = [around[:, neighbours + sign * d] for d in range(1, neighbours + 1)]
        weights = np.repeat([multiple / d for d in range(1, neighbours + 1)], units.size)
        pairs = (np.tile(units, neighbours), np.concatenate(contexts))
        sides.append(sp.csr_array(sp.coo_array((weights, pairs), shape=(n_words, n_words + 1))))
    return sides


def ppmi(counts: sp.csr_array) -> sp.csr_array:
    """``max(0, log p(w, c) / (p(w) q(c)) - 1)``; ``q(c)`` is proportional to the count of ``c`` to the power 0.75."""
    of_word = np.asarray(counts.sum(axis=1)).ravel()
    of_context = np.asarray(counts.sum(axis=0)).ravel() ** _CONTEXT_POWER
    word = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    information = np.log(counts.data * of_context.sum() / (of_word[word] * of_context[counts.indices]))
    out = sp.csr_array((np.maximum(information - _SHIFT, 0.0), counts.indices, counts.indptr), shape=counts.shape)
    out.eliminate_zeros()
    return out


def word_vectors(sides: list[sp.csr_array], n_components: int, random_state: int) -> np.ndarray:
    """Left singular vectors times singular values, scaled to rows of length 1 (rows of zeros stay)."""
    from sklearn.utils.extmath import randomized_svd

    matrix = sp.hstack(sides, format="csr")
    u, s, _ = randomized_svd(matrix, min(n_components, *matrix.shape), n_iter=4, random_state=random_state)
    vectors = u * s
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    # what rounding leaves of a word without information must not be blown up
    known = lengths > 1e-8 * max(lengths.max(), 1e-8)
    return np.divide(vectors, lengths, out=np.zeros_like(vectors), where=known).astype(np.float32)


def k_means(points: np.ndarray, n_classes: int, random_state: int) -> np.ndarray:
    """The class of each point."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # points that differ by rounding only
        # the usual choice of first centres takes four times as long and ends within 1 % of the same distances
        model = KMeans(n_classes, init="random", n_init=1, max_iter=50, random_state=random_state)
        return model.fit(points).labels_
