"""A view that many fits on the same inputs share."""

from __future__ import annotations

from typing import Any

from accord.exceptions import InputError
from accord.packed.rows import Rows
from accord.views.base import View
from accord.views.compose import ConcatenatedViews


class PackedOnce(View):
    """A view that is fitted on a pool beforehand and later only picks the rows of the inputs it is given.

    Views never see labels, so every fit on the same inputs, whichever of them are labeled, would fit the same view.

    Parameters
    ----------
    view : View, fitted by ``pack``
    """

    def __init__(self, view: View) -> None:
        self.view = view

    def pack(self, X: list[Any]) -> PackedOnce:
        """Fit the view on the pool."""
        self._pool = X  # keeps the inputs alive, whose identities are the keys
        self._rows = self.view.fit_rows(X)
        self._place = {id(x): i for i, x in enumerate(X)}
        self.n_dims_ = self.view.n_dims_
        self.views_ = getattr(self.view, "views_", [self.view])
        return self

    @classmethod
    def joined(cls, parts: list[PackedOnce]) -> PackedOnce:
        """The features of several, which are packed already and for the same pool in any order, side by side."""
        view = ConcatenatedViews.of_fitted([part.view for part in parts])
        out = cls(view)
        out._pool, out._place = parts[0]._pool, parts[0]._place
        out._rows = view.stacked([part.fit_rows(out._pool) for part in parts])
        out.n_dims_, out.views_ = view.n_dims_, view.views_
        return out

    def fit_rows(self, X: Any) -> Rows:
        """The rows of inputs of the pool (the very objects)."""
        try:
            return self._rows.take([self._place[id(x)] for x in X])  # type: ignore[arg-type]
        except KeyError:
            raise InputError("X has an input that is not of the pool this view was packed for") from None

    def transform(self, X: Any) -> Rows:
        """Rows of any inputs."""
        return self.view.transform(X)

    def __sklearn_clone__(self) -> PackedOnce:
        """Itself: what it has learned depends on the pool alone."""
        return self
