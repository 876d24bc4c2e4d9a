"""What ``accord inspect`` tells about every model of a structure, and the parameters of any model."""

from __future__ import annotations

from typing import Any

import click

from accord.cli.outputs.views import describe_views, innermost
from accord.cli.terminal import named, print_pairs

_PARTS = ("structure", "learner", "view", "views")  # parameters that have parameters
# Fitted attributes that tell how training went.
_OUTCOMES = (
    "n_iter_", "converged_", "objective_", "dual_objective_", "duality_gap_", "n_constraints_", "exact_",
    "unlabeled_weight_", "strength_", "student_", "learning_rate_", "n_seen_",
)  # fmt: skip


def describe_structured(model: Any, sizes: dict[str, int]) -> dict[str, Any]:
    """Everything about a model as plain values, but what it has learned."""
    parts = [model.learner] if hasattr(model, "learner") else []
    return {
        "kind": type(model).__name__,
        "structure": type(model.structure_).__name__,
        "view": type(innermost(model.view_)).__name__,
        "views": describe_views(model),
        "labels": [_plain(label) for label in model.structure_.labels_],
        "sizes": sizes,
        "parameters": parameters([model, *parts, model.structure_, *made_of(model.view_)]),
        "training": {name[:-1]: _plain(getattr(model, name)) for name in _OUTCOMES if hasattr(model, name)},
    }


def weight_sizes(model: Any) -> dict[str, int]:
    """How many features and weights there are."""
    weights = model.weights_
    graphs = [part.graph_ for part in made_of(model.view_) if type(part).__name__ == "LinkedFeatures"]
    linked = {"nodes": graphs[0].shape[0], "links": graphs[0].nnz // 2} if graphs else {}
    return {
        **linked,
        "features": int(weights.unary.shape[0]),
        "weights": int(weights.size),
        "nonzero_weights": int((weights.flat() != 0).sum()),
    }


def parameters(owners: list[Any]) -> dict[str, dict[str, Any]]:
    """The constructor parameters of a model and of what it is made of, by class; parts have entries of their own."""
    out: dict[str, dict[str, Any]] = {}
    for owner in owners:
        params = {k: v for k, v in owner.get_params(deep=False).items() if k not in _PARTS}
        if not params:
            continue
        name = kind = type(owner).__name__
        while name in out:
            name = f"{kind} {len(out)}"
        out[name] = _plain(params)
    return out


def made_of(view: Any) -> list[Any]:
    """A view and those that it is made of."""
    inner = [view.view_] if hasattr(view, "view_") else getattr(view, "views_", [])
    return [view, *(part for one in inner for part in made_of(one))]


def _plain(value: Any) -> Any:
    """A value as JSON knows it; objects by their text, long collections by their size."""
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if abs(value) < float("inf") else str(value)
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()} if len(value) <= 30 else f"{len(value)} entries"
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value] if len(value) <= 30 else f"{len(value)} entries"
    return " ".join(str(value).split())


# -- printing -----------------------------------------------------------------------------------------------------
def print_structured(found: dict[str, Any]) -> None:
    """Print what :func:`describe_structured` found."""
    print_head(found, f"over {found['structure']} with {found['view']}")
    labels = found["labels"]
    click.echo("Labels: " + ", ".join(map(str, labels[:40])) + (", ...\n" if len(labels) > 40 else "\n"))
    print_pairs("Sizes", named(found["sizes"]))
    if found["views"] is not None:
        _print_views(found)
    print_parameters(found)
    if found["training"]:
        click.echo()
        print_pairs("Training", named(found["training"]))


def print_head(found: dict[str, Any], what: str) -> None:
    """The line that says which file this is."""
    size = f"{found['file']['bytes'] / 1e6:.1f} MB"
    click.echo(f"{found['file']['path']}: {found['kind']} {what} ({size})\n")


def print_parameters(found: dict[str, Any]) -> None:
    """The parameters of each class."""
    for owner, values in found["parameters"].items():
        click.echo()
        print_pairs(f"Parameters of {owner}", named(values))


def _print_views(found: dict[str, Any]) -> None:
    views = found["views"]
    click.echo()
    width = len(f"{max(view['features'] for view in views):,}")
    pairs = [(view["name"], f"{view['features']:>{width},} features with a weight") for view in views]
    print_pairs(f"Views ({len(views)}; the model is their sum)", pairs)
    if "disagreement" in found:
        seen = found["disagreement"]
        click.echo(f"They disagree on {100 * seen['rate']:.2f} % of the {seen['of']} of {seen['data']}.")
