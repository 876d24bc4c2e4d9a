"""Several views as one: their features side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from accord.exceptions import InputError
from accord.views.base import View
from accord.views.inputs import describe
from accord.views.rows import Rows, as_table, stack


def as_view(view: Any) -> View:
    """A view, or a list of views as one view."""
    if isinstance(view, (list, tuple)):
        return ConcatenatedViews(list(view))
    if not isinstance(view, View):
        raise InputError(f"view is {describe(view)}; expected a view such as TokenFeatures(), or a list of views")
    return view


class ConcatenatedViews(View):
    """The features of several views of the same inputs, side by side.

    Parameters
    ----------
    views : list of View
        They must give the same number of rows for every input.

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
    >>> from accord.views import ArrayFeatures, ConcatenatedViews
    >>> view = ConcatenatedViews([ArrayFeatures(bias=False), ArrayFeatures(standardize=True)])
    >>> view.fit_rows([[1.0], [3.0]]).matrix().toarray()
    array([[ 1., -1.,  1.],
           [ 3.,  1.,  1.]])
    """

    def __init__(self, views: Sequence[View]) -> None:
        self.views = views

    def fit_rows(self, X: Any) -> Rows:
        """Fit every view and return the rows of ``X``."""
        if not isinstance(self.views, (list, tuple)) or not self.views:
            raise InputError(f"views is {describe(self.views)}; expected a list of at least one view")
        for v, view in enumerate(self.views):
            if not isinstance(view, View):
                raise InputError(f"views[{v}] is {describe(view)}; expected a view such as TokenFeatures()")
        self.views_: list[View] = [clone(view) for view in self.views]
        self.blocks_: list[np.ndarray] = []
        self.n_dims_ = 0
        parts = [view.fit_rows(X) for view in self.views_]
        for part in parts:
            self.blocks_.append(np.array([[0, self.n_dims_]], np.int64))
            self.n_dims_ += part.n_dims
        return self._stack(parts)

    def extend_rows(self, X: Any) -> Rows:
        """Let every view grow; old features keep their numbers."""
        if not hasattr(self, "views_"):
            return self.fit_rows(X)
        parts = []
        for v, view in enumerate(self.views_):
            before = view.n_dims_
            parts.append(view.extend_rows(X))
            if view.n_dims_ > before:
                self._add_block(v, before, parts[-1])
        return self._stack(parts)

    def transform(self, X: Any) -> Rows:
        """Rows of new inputs."""
        check_is_fitted(self, "views_")
        return self._stack([view.transform(X) for view in self.views_])

    def feature_names(self, features: Any) -> list[str]:
        """The names that the views give, after the number of the view."""
        check_is_fitted(self, "views_")
        owners = np.full(self.n_dims_, -1, np.int64)
        own = np.zeros(self.n_dims_, np.int64)
        for v, (view, blocks) in enumerate(zip(self.views_, self.blocks_)):
            ends = np.append(blocks[1:, 0], view.n_dims_)
            for (first, start), end in zip(blocks, ends):
                owners[start : start + end - first] = v
                own[start : start + end - first] = np.arange(first, end)
        return [
            f"view{owners[f]}/{self.views_[owners[f]].feature_names([own[f]])[0]}" if owners[f] >= 0 else "unused"
            for f in features
        ]

    def _add_block(self, v: int, before: int, part: Rows) -> None:
        """Number the new features after all others; the shift must be a whole number of columns in every slot."""
        step = math.lcm(*(int(stride) for stride in part.stride))
        first, start = self.blocks_[v][0]
        gap = (first - start + self.n_dims_ - before) % step
        place = self.n_dims_ + (step - gap) % step
        self.blocks_[v] = np.vstack([self.blocks_[v], [[before, place]]])
        self.n_dims_ = place + part.n_dims - before

    def _stack(self, parts: list[Rows]) -> Rows:
        return stack([_renumbered(part, blocks) for part, blocks in zip(parts, self.blocks_)], self.n_dims_)


def _renumbered(part: Rows, blocks: np.ndarray) -> Rows:
    """The part with its features numbered by the blocks."""
    part = part.merged()
    base = part.base + blocks[0, 1]
    if blocks.shape[0] == 1:
        return replace(part, base=base)
    table = sp.csr_array(part.table)
    columns = table.indices.astype(np.int64)
    shifts = blocks[:, 1] - blocks[:, 0] - blocks[0, 1]
    done: set[tuple[int, int]] = set()
    for (first, last), start, stride in zip(part.bounds.tolist(), part.base, part.stride):
        if (first, last) in done:  # slots that share units also share their stride, and blocks begin at whole columns
            continue
        done.add((first, last))
        entries = slice(table.indptr[first], table.indptr[last])
        features = start + columns[entries] * stride
        columns[entries] += shifts[np.searchsorted(blocks[:, 0], features, side="right") - 1] // stride
    width = int(columns.max(initial=0)) + 1
    return replace(
        part,
        table=as_table(sp.csr_array((table.data, columns, table.indptr), shape=(table.shape[0], width))),
        base=base,
        shared=False,
    )
