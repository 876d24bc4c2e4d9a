"""Splits: the features of one view shared out among several views that are to agree (thesis, Section 5.4.4).

A split has the feature space of the view that it splits; it only says, in ``channels``, which features belong to which
view. See :mod:`accord.views.channels` for what a column is. A bias (``View.constant_features``) belongs to every view.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from accord.exceptions import InputError
from accord.packed.rows import Rows
from accord.views.channels import Columns, columns_of
from accord.views.compose import Views, WrappingView
from accord.views.inputs import describe

# Tables 5.3 and 5.4: tokens and letter n-grams against surface clues. What the tables do not list goes where it is
# most alike: prefixes and suffixes are n-grams, shapes are summaries of clues.
TOKEN_AND_SURFACE = {"token": ["token", "affix", "ngram"], "surface": ["shape", "clue", "position"]}


class Split(WrappingView):
    """Base of the splits: ``_share_out`` says which features each view has."""

    def members(self, rows: Rows, rng: np.random.Generator, labels: np.ndarray | None = None) -> list[np.ndarray]:
        """The features of each view; an error if a view has none."""
        columns = columns_of(rows, self.constant_features())
        constant = columns.features(columns.constant)
        shares = self._share_out(columns, rng, labels)
        if not shares:
            raise InputError(f"{type(self).__name__} puts no feature into any view")
        for name, share in zip(self.view_names(), shares):
            if not np.any(share & ~constant):
                n = np.count_nonzero(~columns.constant)
                raise InputError(
                    f"view {name!r} of {type(self).__name__} has no features: none of the columns of features that X "
                    f"has, {n} feature(s) of {rows.n_inputs} sample(s), is in it (a bias does not count). Give fewer "
                    "views, or a view with more features"
                )
        return [share | constant for share in shares]

    def column_weights(self, weights: np.ndarray) -> np.ndarray | None:
        """Those of the view that is split."""
        return self._fitted().column_weights(weights)

    def _share_out(self, columns: Columns, rng: np.random.Generator, labels: np.ndarray | None) -> list[np.ndarray]:
        """For each view, which features (n_dims,) it has; constant ones are added."""
        raise NotImplementedError


@dataclass(eq=False, repr=False)
class RandomSplit(Split):
    """Views that have random parts of the features; drawn anew in every fit of a learner.

    Parameters
    ----------
    view : View, list or dict of views, optional
        The view to split (views of a list are put together first). By default the one that suits the look of ``X``:
        ``ArrayFeatures()``, ``TokenFeatures()`` or ``DictFeatures()``.
    n_views : int, default=2
        Number of views.
    share : float, optional
        By default every column belongs to one view, and views have equally many (give or take one). Otherwise every
        view draws this share of the columns, independently of the others, so that views overlap.

    Notes
    -----
    A column goes to a view as a whole, with all positions of its window: if one view has the suffix of a word, it
    also has that of the word's neighbours. The bias of ``TokenFeatures`` and ``ArrayFeatures`` belongs to all views.

    Examples
    --------
    >>> import numpy as np
    >>> from accord import ArrayFeatures, RandomSplit
    >>> view = RandomSplit(ArrayFeatures(), n_views=2)
    >>> rows = view.fit_rows([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]])
    >>> one, two = view.channels(rows, np.random.default_rng(0))
    >>> one.matrix().toarray() + two.matrix().toarray()
    array([[1., 2., 3., 4., 8.],
           [5., 6., 7., 8., 8.]])
    >>> view.view_names()
    ['random1', 'random2']
    """

    view: Views | None = None
    n_views: int = 2
    share: float | None = None

    def view_names(self) -> list[str]:
        """``random1``, ``random2``, ..."""
        return [f"random{v}" for v in range(1, self.n_views + 1)]

    def _share_out(self, columns: Columns, rng: np.random.Generator, labels: np.ndarray | None) -> list[np.ndarray]:
        free = np.flatnonzero(~columns.constant)
        shares = []
        order = rng.permutation(free)
        for v in range(self.n_views):
            chosen = np.zeros(columns.number.size, np.bool_)
            if self.share is None:
                chosen[order[v :: self.n_views]] = True
            else:
                chosen[order[: round(self.share * free.size)]] = True
                order = rng.permutation(free)
            shares.append(columns.features(chosen))
        return shares


@dataclass(eq=False, repr=False)
class OddEvenSplit(Split):
    """Two views that have the odd-numbered and the even-numbered columns (numbered from 0).

    Parameters
    ----------
    view : View, list or dict of views, optional
        The view to split; by default the one that suits the look of ``X``.

    Examples
    --------
    >>> import numpy as np
    >>> from accord import ArrayFeatures, OddEvenSplit
    >>> view = OddEvenSplit(ArrayFeatures(bias=False))
    >>> rows = view.fit_rows([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> odd, even = view.channels(rows, np.random.default_rng(0))
    >>> odd.matrix().toarray()
    array([[0., 2., 0.],
           [0., 5., 0.]])
    """

    view: Views | None = None

    def view_names(self) -> list[str]:
        """``odd`` and ``even``."""
        return ["odd", "even"]

    def _share_out(self, columns: Columns, rng: np.random.Generator, labels: np.ndarray | None) -> list[np.ndarray]:
        return [columns.features(~columns.constant & (columns.number % 2 == rest)) for rest in (1, 0)]


@dataclass(eq=False, repr=False)
class FeatureGroups(Split):
    """Views that have certain groups of features.

    Parameters
    ----------
    view : View, list or dict of views, optional
        The view to split; by default the one that suits the look of ``X``.
    groups : dict, callable or sequence, optional
        A dict gives for each view the groups that it has, out of those that the view to split knows (for
        ``TokenFeatures`` these are position, token, affix, ngram, shape and clue; for a list or dict of views they
        are ``name/group``, or ``name`` alone for a view without groups). Views may share groups.
        A function takes the name of a feature and returns the name of its view, or None for no view; names differ
        between the positions of a window, so that positions can be views, too. A sequence has the name of the view, or
        None, for each column of the matrix that ``ArrayFeatures`` takes. By default the split of the thesis for
        ``TokenFeatures``: "token" has tokens and letter n-grams, "surface" has the surface clues.

    Notes
    -----
    Features of groups that no view has are left out, except the bias, which belongs to every view.

    Examples
    --------
    >>> import numpy as np
    >>> from accord import FeatureGroups, TokenFeatures
    >>> view = FeatureGroups(TokenFeatures(window=0), {"words": ["token"], "letters": ["affix", "shape"]})
    >>> rows = view.fit_rows([["Tom", "comes"]])
    >>> words, letters = view.channels(rows, np.random.default_rng(0))
    >>> view.feature_names(np.flatnonzero(words.matrix().toarray()[0]))
    ['bias', '0:token=Tom', '0:lower=tom']
    """

    view: Views | None = None
    groups: Mapping[str, Sequence[str]] | Callable[[str], str | None] | Sequence[Any] | None = None

    def fit_rows(self, X: Any) -> Rows:
        """Fit the view to be split and return the rows of ``X``; an error if it does not know the groups."""
        self._views: list[str | None] | None = None
        rows = super().fit_rows(X)
        if isinstance(self._groups(), Mapping):
            self._groups_of_views()
        return rows

    def view_names(self) -> list[str]:
        """The names that ``groups`` gives; if it is a function, in the order of the features."""
        groups = self._groups()
        return list(map(str, groups)) if isinstance(groups, Mapping) else _distinct(self._views_of_columns())

    def _check_params(self) -> None:
        self._groups()

    def _groups(self) -> Any:
        groups = TOKEN_AND_SURFACE if self.groups is None else self.groups
        listed = isinstance(groups, (Mapping, list, tuple, np.ndarray))
        if not callable(groups) and not (listed and len(groups)):
            raise InputError(
                f"groups is {describe(groups)}; expected a dict such as {{'words': ['token'], 'rest': ['clue']}}, "
                "a function of a feature's name, or the name of a view for each column"
            )
        return groups

    def _share_out(self, columns: Columns, rng: np.random.Generator, labels: np.ndarray | None) -> list[np.ndarray]:
        occurs = columns.features(np.ones(columns.number.size, np.bool_))
        groups = self._groups()
        if isinstance(groups, Mapping):
            return [share & occurs for share in self._groups_of_views()]
        views = self._views_of_columns()
        shares = [np.array([view == name for view in views], np.bool_) for name in _distinct(views)]
        if callable(groups):
            return [share & occurs for share in shares]
        return [columns.features(np.append(share, False)[np.minimum(columns.number, share.size)]) for share in shares]

    def _groups_of_views(self) -> list[np.ndarray]:
        """For each view, the features in its groups."""
        index, known = self.view_.feature_groups()
        shares = []
        for name, wanted in self._groups().items():
            wanted = [wanted] if isinstance(wanted, str) else wanted
            if not isinstance(wanted, (list, tuple, set, frozenset)):
                raise InputError(f"groups[{name!r}] is {describe(wanted)}; expected a list of groups of features")
            for group in wanted:
                if group not in known:
                    raise InputError(f"groups[{name!r}] has {group!r}; the groups of the features are {known}")
            shares.append(np.isin(index, [known.index(group) for group in wanted]))
        return shares

    def _views_of_columns(self) -> list[str | None]:
        """The view of every feature if ``groups`` is a function, and of every column otherwise."""
        view = self._fitted()
        groups = self._groups()
        if callable(groups):
            # kept, because names of many features take a while; a view that has grown has more of them
            views = getattr(self, "_views", None)
            if views is None or len(views) != self.n_dims_:
                names = view.feature_names(range(self.n_dims_))
                self._views = views = [_name(groups(name), name) for name in names]
                for f in view.constant_features():
                    views[f] = None
            return views
        while isinstance(view, WrappingView):
            view = view.view_
        n_columns = getattr(view, "n_columns_", None)
        if n_columns is None:
            raise InputError(
                f"groups is {describe(groups)}, which is for the columns of ArrayFeatures; "
                f"{type(view).__name__} needs a dict or a function of a feature's name"
            )
        if len(groups) != n_columns:
            raise InputError(f"groups has {len(groups)} entries but X has {n_columns} columns; expected one for each")
        return [_name(group, f"column {k}") for k, group in enumerate(groups)]


def _name(group: Any, of: str) -> str | None:
    if group is not None and not isinstance(group, (str, int, np.integer)):
        raise InputError(f"groups gives {describe(group)} for {of!r}; expected the name of a view, or None")
    return None if group is None else str(group)


def _distinct(names: Sequence[str | None]) -> list[str]:
    return list(dict.fromkeys(name for name in names if name is not None))


def check_channels(channels: Sequence[Rows], names: Sequence[str]) -> None:
    """An error for a view without features; a warning for views that have the same features.

    Also views that number the same features differently (twice the same view in a list) are the same: what counts is
    whether their features have the same values in all rows. Features are compared by their products with a random
    vector.
    """
    marks = []
    for name, rows in zip(names, channels):
        # the same vector for all views; the seed does not matter
        vector = np.random.default_rng(0).normal(size=(rows.n_rows, 1))
        products = rows.transpose_scores(vector)[:, 0]
        marks.append(np.sort(products[products != 0]))
        if not marks[-1].size:
            raise InputError(f"view {name!r} has no features in X, so it cannot learn anything; leave it out")
    for v, mark in enumerate(marks):
        for u in range(v):
            if mark.size == marks[u].size and np.allclose(mark, marks[u], rtol=1e-9, atol=1e-9):
                warnings.warn(
                    f"views {names[u]!r} and {names[v]!r} have the same features, so they agree on everything and "
                    "unlabeled data teach them nothing; use different features, or a random split",
                    stacklevel=3,
                )
