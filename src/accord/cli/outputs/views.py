"""The views of a model: which there are, how far they disagree, and which of them sees the inputs as they are read."""

from __future__ import annotations

from typing import Any

from accord.exceptions import InputError


def describe_views(model: Any) -> list[dict[str, Any]] | None:
    """The name of each view, and to how many features it gives a weight; None for a model without views."""
    if not hasattr(model, "view_weights_"):
        return None
    # one view is what "auto" falls back to
    names = ["all features"] if model.n_views_ == 1 else model.view_names_
    return [
        {"name": name, "features": int((weights.unary != 0).any(axis=1).sum())}
        for name, weights in zip(names, model.view_weights_)
    ]


def disagreement(model: Any, X: Any) -> float:
    """How often two views differ, or by how much if they predict numbers."""
    if len(getattr(model, "view_weights_", ()) or getattr(model, "views_", ())) < 2:
        raise InputError(f"this {type(model).__name__} has one view; views can only disagree in a model of several")
    return float(model.disagreement(X))


def innermost(view: Any) -> Any:
    """The view within splits."""
    from accord.views.compose import WrappingView

    while isinstance(view, WrappingView):
        view = view.view_
    return view


def sees_texts(view: Any) -> bool:
    """Whether its inputs are whole texts."""
    from accord.views.documents import TextFeatures

    return isinstance(view, TextFeatures)


def input_view(model: Any) -> Any:
    """The view that sees the inputs as they are read; views of parts of them (``Select``) do not."""
    from accord.views.select import Select

    view = model.view_ if hasattr(model, "view_") else model.views_[0].parts[0][0]
    return view if isinstance(view, Select) else innermost(view)
