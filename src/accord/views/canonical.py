"""Word vectors by canonical correlation: what of a word's look goes with what of its neighbours' look.

A token and its neighbours are two views of one place in the text; the directions in which the features of the one
correlate most with those of the others carry what both tell, which is much of what a label tells [Dhillon, Foster and
Ungar 2011; the variances are taken as diagonal]. A word's vector is linear in its features (token, affixes, shape), so
words that were never seen have one, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from accord.exceptions import InputError
from accord.forms import array, fitted
from accord.packed.rows import Rows
from accord.packed.tables import Table, as_table, window_slots
from accord.settings import whole
from accord.views.base import View
from accord.views.text import TokenFeatures
from accord.views.window import parse_window

_OVERSAMPLING, _ITERATIONS = 15, 4  # of the randomised decomposition
_MIN_VARIANCE = 1.0  # added to the variances (in counts): rare features must not dominate


@dataclass(eq=False, repr=False)
class CanonicalFeatures(View):
    """Vectors of tokens that correlate with their neighbours: ``X`` is a list of lists of strings.

    Fit them on all the text there is: give a learner the unlabeled sentences, too, with None as their output.

    Parameters
    ----------
    view : TokenFeatures, optional
        The features whose correlations are looked for; its window and position features are ignored.
    n_components : int, default=100
        Length of the vectors.
    neighbours : int, default=2
        Number of tokens on either side that make up the other view.
    min_count : int, default=5
        Features that occur less often are left out.
    n_classes : int, default=0
        Group the words into so many classes (k-means on the vectors), for :class:`accord.TypeConsistency`; 0: none.
    window : int or (int, int), default=0
        Number of neighbours on either side whose vectors count as features, too.
    scale : float, default=5.0
        Length of the vectors as features.
    random_state : int, default=0
        Seed of the decomposition and of the grouping.

    Attributes
    ----------
    view_ : TokenFeatures
    projection_ : array of shape (n_columns, n_components)
        From a word's features to its vector, before ``center_`` is taken away and the length made ``scale``.

    Examples
    --------
    >>> from accord import CanonicalFeatures
    >>> view = CanonicalFeatures(n_components=2, min_count=1)
    >>> view.fit_rows([["a", "cat"], ["a", "dog"], ["the", "cat"]]).n_dims
    2
    """

    view: TokenFeatures | None = None
    n_components: int = 100
    neighbours: int = 2
    min_count: int = 5
    n_classes: int = 0
    window: int | tuple[int, int] = 0
    scale: float = 5.0
    random_state: int = 0

    expects: ClassVar = {"n_classes": whole(0), "n_components": whole(1)}
    stored: ClassVar = {
        "view_": fitted("TokenFeatures"),
        "projection_": array("f8", "*", "width"),
        "center_": array("f8", "width"),
        "class_centers_": array("f8", "*", "width"),
    }
    agrees: ClassVar = {
        "projection_ has a row for every feature of a word": lambda self: (
            self.projection_.shape[0] == self.view_.table_.shape[1]
        ),
        "n_dims_ is the number of components in the window": lambda self: (
            self.n_dims_ == parse_window(self.window).size * self.center_.size
        ),
    }

    def fit_rows(self, X: Any) -> Rows:
        """Learn the vectors from all sentences and return their rows."""
        self._check_params()
        own = TokenFeatures() if self.view is None else clone(self.view)
        self.view_ = own.set_params(window=0, position=False)
        rows = self.view_.fit_rows(X)
        if rows.n_rows == 0:
            raise InputError("X has no tokens: there is nothing to learn about words from")
        units, table = rows.slots[:, -1], sp.csr_array(rows.table)
        counts = np.bincount(units, minlength=table.shape[0]).astype(float)
        # one thread: sums in the same order every time, whatever the machine is doing
        with threadpool_limits(limits=1):
            self.projection_ = correlated_directions(
                table, units, rows.offsets, self.neighbours, self.min_count, self.n_components, self.random_state
            )
            self.center_ = (counts @ (table @ self.projection_)) / counts.sum()
            self.class_centers_ = self._group(table[np.flatnonzero(counts)])
        self.n_dims_ = parse_window(self.window).size * self.projection_.shape[1]
        self.__dict__.pop("_known", None)
        self.__dict__.pop("_known_classes", None)
        return self._rows(rows)

    def transform(self, X: Any) -> Rows:
        """Rows of new text; words that were not seen get their vector from their affixes and their shape."""
        check_is_fitted(self, "projection_")
        return self._rows(self.view_.transform(X))

    def feature_names(self, features: Iterable[int]) -> list[str]:
        """Names such as ``-1:canonical12``: a component of the token before."""
        places = map(parse_window(self.window).place, features)
        return [f"{position}:canonical{column}" for column, position in places]

    def word_classes(self, words: list[str]) -> np.ndarray:
        """The class of each word, a number below ``n_classes``."""
        check_is_fitted(self, "projection_")
        if self.class_centers_.size == 0:
            raise InputError("n_classes is 0; set it to the number of classes to group words into")
        rows = self.view_.transform([list(words)])
        if getattr(self, "_known_classes", None) is None:  # of all words of fit; learners ask again and again
            self._known_classes = self._nearest(self.view_.table_)
        parts = [self._known_classes] if rows.extra is None else [self._known_classes, self._nearest(rows.extra)]
        return np.concatenate(parts)[rows.slots[:, -1]]

    # -- internals --------------------------------------------------------------------------------------------------
    def _extend(self, X: Any) -> Rows:
        """What is known about words stays what the first data taught."""
        return self.transform(X)

    def _vectors(self, table: Table) -> np.ndarray:
        """Vectors of units, of length ``scale``; a unit without features has none."""
        vectors = np.asarray(sp.csr_array(table) @ self.projection_) - self.center_
        vectors[np.diff(sp.csr_array(table).indptr) == 0] = 0.0
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.divide(self.scale * vectors, lengths, out=np.zeros_like(vectors), where=lengths > 1e-12)

    def _nearest(self, table: Table) -> np.ndarray:
        """The class of each unit."""
        distance = -2.0 * self._vectors(table) @ self.class_centers_.T
        distance += (self.class_centers_**2).sum(axis=1)
        return np.argmin(distance, axis=1)

    def _group(self, table: sp.csr_array) -> np.ndarray:
        if not self.n_classes:
            return np.empty((0, self.projection_.shape[1]))
        from sklearn.cluster import MiniBatchKMeans

        points = self._vectors(table)
        n = min(self.n_classes, np.unique(points, axis=0).shape[0])
        # the usual choice of first centres takes three times as long as all the rest
        seed = self.random_state
        model = MiniBatchKMeans(n, init="random", n_init=2, batch_size=4096, max_iter=60, random_state=seed)
        return model.fit(points).cluster_centers_

    def _rows(self, rows: Rows) -> Rows:
        """Rows of vectors from rows of tokens. Unit 0, which no token names, stands for "outside the sentence"."""
        if getattr(self, "_known", None) is None:
            vectors = self._vectors(self.view_.table_)
            self._known = as_table(np.concatenate([np.zeros((1, vectors.shape[1])), vectors]))
        extra = None if rows.extra is None else as_table(sp.csr_array(self._vectors(rows.extra)))
        units = rows.slots[:, -1] + np.int32(1)
        return parse_window(self.window).rows(self._known, units, rows.offsets, extra=extra, shared=True)

    def _check_params(self) -> None:
        super()._check_params()
        parse_window(self.window)
        if self.view is not None and not isinstance(self.view, TokenFeatures):
            raise InputError(f"view is {self.view!r}; expected TokenFeatures(...), whose features are correlated")


def correlated_directions(
    table: sp.csr_array,
    units: np.ndarray,
    offsets: np.ndarray,
    neighbours: int,
    min_count: int,
    n_components: int,
    random_state: int,
) -> np.ndarray:
    """Directions (n_columns, n_components) in which the features of a token correlate with its neighbours' features.

    The leading singular vectors of the cross-covariance of both, each feature divided by its standard deviation, times
    the root of the singular values. The cross-covariance is never written down: it is the product of the table, the
    counts of pairs of units, and the table again, less the means.
    """
    n, n_units = units.size, table.shape[0]
    around = window_slots(units, offsets, neighbours, neighbours, n_units)
    shifts = [k for k in range(2 * neighbours + 1) if k != neighbours]
    padded = sp.csr_array(sp.vstack([table, sp.csr_array((1, table.shape[1]))], format="csr"))
    own, own_mean, kept, deviation = _standardised(padded, units, min_count)
    sides = [_standardised(padded, around[:, k], min_count) for k in shifts]
    pairs = [
        sp.csr_array(sp.coo_array((np.ones(n), (units, around[:, k])), shape=(n_units + 1, n_units + 1)))
        for k in shifts
    ]
    ends = np.cumsum([0] + [side[0].shape[1] for side in sides])
    mean = np.concatenate([side[1] for side in sides])
    own_T = sp.csr_array(own.T)
    sides_T = [sp.csr_array(side[0].T) for side in sides]
    pairs_T = [sp.csr_array(pair.T) for pair in pairs]

    def times(x: np.ndarray) -> np.ndarray:
        middle = sum(pair @ (side[0] @ x[a:b]) for pair, side, a, b in zip(pairs, sides, ends[:-1], ends[1:]))
        return own_T @ middle - np.outer(n * own_mean, mean @ x)

    def transposed_times(x: np.ndarray) -> np.ndarray:
        middle = own @ x
        blocks = [side_T @ (pair_T @ middle) for side_T, pair_T in zip(sides_T, pairs_T)]
        return np.vstack(blocks) - np.outer(n * mean, own_mean @ x)

    size = min(n_components + _OVERSAMPLING, own.shape[1], int(ends[-1]))
    q = np.random.default_rng(random_state).standard_normal((int(ends[-1]), size))
    for _ in range(_ITERATIONS):
        q, _ = _orthonormal(times(q))
        q, _ = _orthonormal(transposed_times(q))
    u, s = _orthonormal(times(q))
    k = min(n_components, s.size)
    out = np.zeros((table.shape[1], n_components))
    out[kept, :k] = u[:, :k] * np.sqrt(s[:k]) / deviation[:, None]
    return out


def _orthonormal(tall: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Left singular vectors and singular values of a matrix of few columns, the largest first.

    By way of the products of its columns, which takes a tenth of the time of a QR decomposition. Columns that depend on
    others up to rounding are left out.
    """
    squares, turn = np.linalg.eigh(tall.T @ tall)
    squares, turn = squares[::-1], turn[:, ::-1]
    kept = squares > 1e-13 * max(float(squares.max(initial=0.0)), 1e-300)
    values = np.sqrt(squares[kept])
    return tall @ (turn[:, kept] / values), values


def _standardised(
    table: sp.csr_array, units: np.ndarray, min_count: int
) -> tuple[sp.csr_array, np.ndarray, np.ndarray, np.ndarray]:
    """The frequent columns divided by their deviation over tokens: (table, means, which columns, deviations)."""
    counts = np.bincount(units, minlength=table.shape[0]).astype(float)
    occurs = table.T @ counts
    kept = np.flatnonzero(occurs >= min_count)
    share = occurs[kept] / units.size
    deviation = np.sqrt(units.size * np.maximum(share * (1.0 - share), 0.0) + _MIN_VARIANCE)
    small = sp.csr_array(sp.csr_array(table[:, kept]) @ sp.diags_array(1.0 / deviation))
    return small, share / deviation, kept, deviation
