"""Several views as one, their features side by side; and what a view that wraps another one needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, TypeAlias, cast

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from accord.exceptions import InputError
from accord.forms import array, fitted, items
from accord.packed.rows import Rows, stack
from accord.views.base import View
from accord.views.default import default_view
from accord.views.inputs import describe
from accord.views.side_by_side import SideBySide, owners_of_slots, renumbered

Views: TypeAlias = View | Sequence[View] | Mapping[str, View]


def as_view(view: Any) -> View:
    """A view, or a list or dict of views as one view."""
    if isinstance(view, (list, tuple)):
        return ConcatenatedViews(list(view))
    if isinstance(view, Mapping):
        return ConcatenatedViews(dict(view))
    if not isinstance(view, View):
        raise InputError(
            f"view is {describe(view)}; expected a view such as TokenFeatures(), or a list or dict of views"
        )
    return view


def new_view(view: Views | None, X: Any, default: Callable[[Any], View] | None = None) -> View:
    """A copy of a view, to be fitted on ``X``. None becomes ``default`` of what it sees, here and inside the view."""
    default = default or default_view
    return (default(X) if view is None else clone(as_view(view))).with_default(default)


class WrappingView(View):
    """A view made from another one; it has that view's features, of all or of a part of each input.

    Subclasses have a parameter ``view``: a view, a list or dict of views, or None for the one that suits the inputs.
    """

    view: Views | None
    view_: View

    stored: ClassVar = {"view_": fitted("view split")}
    agrees: ClassVar = {"n_dims_ is that of view_": lambda self: self.n_dims_ == self.view_.n_dims_}

    def _inputs(self, X: Any) -> Any:
        """What the wrapped view gets to see."""
        return X

    def fit_rows(self, X: Any) -> Rows:
        """Fit the wrapped view and return the rows of ``X``."""
        self._check_params()
        X = self._inputs(X)
        view = new_view(self.view, X, self._default)
        rows = view.fit_rows(X)
        self.view_, self.n_dims_ = view, view.n_dims_
        return rows

    def _extend(self, X: Any) -> Rows:
        rows = self.view_.extend_rows(self._inputs(X))
        self.n_dims_ = self.view_.n_dims_
        return rows

    def transform(self, X: Any) -> Rows:
        """Rows of new inputs."""
        return self._fitted().transform(self._inputs(X))

    def feature_names(self, features: Iterable[int]) -> list[str]:
        """The names that the wrapped view gives."""
        return self._fitted().feature_names(features)

    def feature_groups(self) -> tuple[np.ndarray, list[str]]:
        """The groups of the wrapped view."""
        return self._fitted().feature_groups()

    def constant_features(self) -> np.ndarray:
        """Those of the wrapped view."""
        return self._fitted().constant_features()

    def view_names(self) -> list[str]:
        """The views of the wrapped view."""
        view = getattr(self, "view_", self.view)
        return super().view_names() if view is None else as_view(view).view_names()

    def members(self, rows: Rows, rng: np.random.Generator, labels: np.ndarray | None = None) -> list[np.ndarray]:
        """The features of each view of the wrapped view."""
        return self._fitted().members(rows, rng, labels)

    def _fitted(self) -> View:
        check_is_fitted(self, "view_")
        return self.view_


@dataclass(eq=False, repr=False)
class ConcatenatedViews(View):
    """The features of several views of the same inputs, side by side.

    Parameters
    ----------
    views : list of View, or dict of View
        They must give the same number of rows for every input. The keys of a dict are the names of the views; those
        of a list are called ``view0``, ``view1``, ... A part that has several views itself, such as a random split,
        brings all of them: ``view0/random1``, ``view0/random2``.

    Attributes
    ----------
    views_ : list of View
        The fitted views.
    blocks_ : list of int arrays of shape (n_blocks, 2)
        Where the features of each view are: feature ``f >= blocks_[v][b, 0]`` of view ``v`` is feature ``f -
        blocks_[v][b, 0] + blocks_[v][b, 1]`` here, for the last such ``b``. A view has one block, and one more each
        time that it has grown, so that old features keep their numbers.
    n_dims_ : int
        Number of features.

    Examples
    --------
    >>> from accord import ArrayFeatures, ConcatenatedViews
    >>> view = ConcatenatedViews([ArrayFeatures(bias=False), ArrayFeatures(standardize=True)])
    >>> view.fit_rows([[1.0], [3.0]]).matrix().toarray()
    array([[ 1., -1.,  1.],
           [ 3.,  1.,  1.]])
    """

    views: Sequence[View] | Mapping[str, View]

    stored: ClassVar = {
        "views_": items(fitted("view split TypeOdds LabelScores"), "n_views"),
        "blocks_": items(array("i8", "*", 2), "n_views"),
    }
    agrees: ClassVar = {"blocks_ give every feature of views_ a number of its own": lambda self: self._is_placed()}

    @classmethod
    def of_fitted(cls, views: Sequence[View]) -> ConcatenatedViews:
        """A fitted composition of views that are fitted already."""
        out = cls(list(views))
        out._place(list(views))
        return out

    def fit_rows(self, X: Any) -> Rows:
        """Fit every view and return the rows of ``X``."""
        views = [new_view(view, X, self._default) for view in self._parts().values()]
        parts = [view.fit_rows(X) for view in views]
        self._place(views)
        return self.stacked(parts)

    def _extend(self, X: Any) -> Rows:
        parts = []
        for v, view in enumerate(self.views_):
            before = view.n_dims_
            parts.append(view.extend_rows(X))
            if view.n_dims_ > before:
                self._add_block(v, before, parts[-1])
        return self.stacked(parts)

    def transform(self, X: Any) -> Rows:
        """Rows of new inputs."""
        check_is_fitted(self, "views_")
        parts = [view.transform(X) for view in self.views_]
        if any(blocks.shape[0] > 1 for blocks in self.blocks_):
            return self.stacked(parts)
        first = [int(blocks[0, 1]) for blocks in self.blocks_]
        return cast(Rows, SideBySide(parts, first, lambda: self.stacked(parts)))

    def feature_names(self, features: Iterable[int]) -> list[str]:
        """The names that the views give, after the name of the view."""
        owners, own = self._owners()
        parts = list(self._parts())
        return [
            f"{parts[owners[f]]}/{self.views_[owners[f]].feature_names([own[f]])[0]}" if owners[f] >= 0 else "unused"
            for f in features
        ]

    def feature_groups(self) -> tuple[np.ndarray, list[str]]:
        """The groups of every view, after its name (``view0/token``); a view without groups is one, ``view1``."""
        owners, own = self._owners()
        groups, names = np.zeros(self.n_dims_, np.int64), ["unused"]
        for v, (part, view) in enumerate(zip(self._parts(), self.views_)):
            here = np.flatnonzero(owners == v)
            try:
                index, known = view.feature_groups()
            except InputError:
                index, known = np.zeros(view.n_dims_, np.int64), []
            groups[here] = len(names) + index[own[here]]
            names += [f"{part}/{name}" for name in known] or [part]
        return groups, names

    def constant_features(self) -> np.ndarray:
        """Those of all views."""
        owners, own = self._owners()
        found = [np.isin(own, view.constant_features()) & (owners == v) for v, view in enumerate(self.views_)]
        return np.flatnonzero(np.any(found, axis=0))

    def view_names(self) -> list[str]:
        """Keys or numbers of the views, with the names of their own views if there are several."""
        names = []
        for part, view in zip(self._parts(), getattr(self, "views_", self._parts().values())):
            own = view.view_names()
            names += [part] if len(own) == 1 else [f"{part}/{name}" for name in own]
        return names

    def members(self, rows: Rows, rng: np.random.Generator, labels: np.ndarray | None = None) -> list[np.ndarray]:
        """The features of each view, or of each of its own views if it has several."""
        owners, own = self._owners()
        rows = rows.merged()
        owner_of_slot = owners_of_slots(rows, owners)
        out = []
        for v, (view, blocks) in enumerate(zip(self.views_, self.blocks_)):
            slots, here = np.flatnonzero(owner_of_slot == v), np.flatnonzero(owners == v)
            part = replace(
                rows,
                slots=np.ascontiguousarray(rows.slots[:, slots]),
                base=rows.base[slots],
                stride=rows.stride[slots],
                bounds=rows.bounds[slots],
                n_dims=view.n_dims_,
            )
            for member in view.members(renumbered(part, blocks[:, ::-1]), rng, labels):
                joint = np.zeros(rows.n_dims, np.bool_)
                joint[here] = member[own[here]]
                out.append(joint)
        return out

    def _parts(self) -> dict[str, View]:
        """The views of the constructor by name."""
        if not isinstance(self.views, (list, tuple, Mapping)) or not self.views:
            raise InputError(f"views is {describe(self.views)}; expected a list or dict of at least one view")
        parts = self.views if isinstance(self.views, Mapping) else dict(enumerate(self.views))
        for key, view in parts.items():
            if not isinstance(view, View):
                raise InputError(f"views[{key!r}] is {describe(view)}; expected a view such as TokenFeatures()")
            if parts is self.views and not isinstance(key, str):
                raise InputError(f"views has the key {describe(key)}; expected a name, which is a string")
        return {key if isinstance(key, str) else f"view{key}": view for key, view in parts.items()}

    def _owners(self) -> tuple[np.ndarray, np.ndarray]:
        """The view of every feature (n_dims,), -1 for an unused number, and the feature's number in that view."""
        check_is_fitted(self, "views_")
        owners = np.full(self.n_dims_, -1, np.int64)
        own = np.zeros(self.n_dims_, np.int64)
        for v, (view, blocks) in enumerate(zip(self.views_, self.blocks_)):
            ends = np.append(blocks[1:, 0], view.n_dims_)
            for (first, start), end in zip(blocks, ends):
                owners[start : start + end - first] = v
                own[start : start + end - first] = np.arange(first, end)
        return owners, own

    def _is_placed(self) -> bool:
        """Whether every feature of every view has one number below ``n_dims_``, and no two have the same."""
        ranges = []
        for view, blocks in zip(self.views_, self.blocks_):
            ends = np.append(blocks[1:, 0], view.n_dims_)
            empty = np.any(ends <= blocks[:, 0]) and view.n_dims_ > 0
            if not blocks.size or blocks[0, 0] != 0 or empty or np.any(blocks[:, 1] < 0):
                return False
            ranges += [(start, start + end - first) for (first, start), end in zip(blocks.tolist(), ends.tolist())]
        ranges.sort()
        return all(a[1] <= b[0] for a, b in pairwise(ranges)) and ranges[-1][1] <= self.n_dims_

    def _place(self, views: list[View]) -> None:
        """Number the features of fitted views, one view after another."""
        self.views_, self.n_dims_ = views, 0
        self.blocks_: list[np.ndarray] = []
        for view in views:
            self.blocks_.append(np.array([[0, self.n_dims_]], np.int64))
            self.n_dims_ += view.n_dims_

    def _add_block(self, v: int, before: int, part: Rows) -> None:
        """Number the new features after all others; the shift must be a whole number of columns in every slot."""
        step = math.lcm(*(int(stride) for stride in part.stride))
        first, start = self.blocks_[v][0]
        gap = (first - start + self.n_dims_ - before) % step
        place = self.n_dims_ + (step - gap) % step
        self.blocks_[v] = np.vstack([self.blocks_[v], [[before, place]]])
        self.n_dims_ = place + part.n_dims - before

    def stacked(self, parts: list[Rows]) -> Rows:
        """Rows of all views from those of each."""
        return stack([renumbered(part, blocks) for part, blocks in zip(parts, self.blocks_)], self.n_dims_)
