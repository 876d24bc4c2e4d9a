"""``accord inspect``: what is in a model file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from accord.cli.multiview import describe_views, disagreement, innermost, unit
from accord.cli.program import debug_option
from accord.cli.reading import default_format, reader_of
from accord.cli.reading_options import reading_options, take_reading_options
from accord.cli.reading_trees import predicts_trees
from accord.cli.regression import describe_regressor, predicts_numbers, print_regressor
from accord.cli.terminal import computing, named, print_pairs, print_table
from accord.cli.tree_inspection import grammar_sizes, print_strongest, strongest

_PARTS = ("structure", "learner", "view", "views")  # parameters that have parameters
_MATRIX = 12  # labels at most for transitions as a matrix
# Fitted attributes that tell how training went.
_OUTCOMES = (
    "n_iter_", "converged_", "objective_", "dual_objective_", "duality_gap_", "n_constraints_", "exact_",
    "unlabeled_weight_", "strength_", "student_", "learning_rate_", "n_seen_",
)  # fmt: skip


@click.command(short_help="Show a model's labels, sizes, views, features and transitions.")
@click.argument("model")
@click.argument("data", required=False)
@click.option(
    "--top", type=click.IntRange(min=0), default=5, show_default=True,
    help="Features per label to show; of trees, rules and features.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@reading_options
@debug_option
def inspect(model: str, data: str | None, top: int, as_json: bool, **options: Any) -> None:
    """Show what MODEL is: its kind, sizes, views, parameters, strongest features and transitions.

    With DATA (a file, or - for standard input) also how often the views of a model of several disagree on them, which
    is an estimate of its error that needs no labels; if they predict numbers, by how much they differ. Labels in DATA
    are not looked at.

    Of a parser it shows the size of its grammar, and the rules and features with the highest and lowest weights.

    Of a model that predicts numbers it shows the views with their gamma, eta and number of expansion rows, lambda, the
    leave-one-out rmse, whether auto fell back to a single view, and what auto compared.

    \b
    Examples:
      accord inspect names.accord --top 10
      accord inspect names.accord new.txt
      accord inspect names.accord --json | jq .labels
    """
    import accord

    fitted = accord.load(model)
    found = describe(fitted, top)
    if data is not None:
        reader = reader_of(fitted, take_reading_options(options))
        reader = reader.for_file(data, default_format(fitted, reader))
        with computing():
            rate = disagreement(fitted, reader.load(data, labeled=False).X)
        of = {"rms": rate} if predicts_numbers(fitted) else {"rate": rate, "of": unit(fitted)}
        found["disagreement"] = {"data": data, **of}
    found["file"] = {"path": model, "bytes": Path(model).stat().st_size}
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=False, indent=2, allow_nan=False))
    else:
        (print_regressor if predicts_numbers(fitted) else _print)(found)


def describe(model: Any, top: int) -> dict[str, Any]:
    """Everything about a model as plain values."""
    if predicts_numbers(model):
        return {**describe_regressor(model), "parameters": _parameters([model, *_parts(model)])}
    structure = model.structure_
    view, trees = innermost(model.view_), predicts_trees(model)
    return {
        "kind": type(model).__name__,
        "structure": type(structure).__name__,
        "view": type(view).__name__,
        "views": describe_views(model),
        "labels": [_plain(label) for label in structure.labels_],
        "sizes": grammar_sizes(model) if trees else _sizes(model, view),
        "parameters": _parameters(
            [model, *([model.learner] if hasattr(model, "learner") else []), model.structure, *_views(model.view_)]
        ),
        "training": {name[:-1]: _plain(getattr(model, name)) for name in _OUTCOMES if hasattr(model, name)},
        **(strongest(model, top) if trees else {"features": _features(model, top)}),
        "transitions": _transitions(model) if not trees and structure.has_transitions else None,
    }


def _sizes(model: Any, view: Any) -> dict[str, int]:
    structure, weights = model.structure_, model.weights_
    return {
        "labels": structure.n_labels_,
        "features": int(weights.unary.shape[0]),
        "weights": int(weights.size),
        "nonzero_weights": int((weights.flat() != 0).sum()),
        "transitions": int(structure.n_transitions_),
        **({"token_types": len(view.types_)} if hasattr(view, "types_") else {}),
    }


def _parameters(owners: list[Any]) -> dict[str, dict[str, Any]]:
    """The constructor parameters of the model and of what it is made of, by class; parts have entries of their own."""
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


def _parts(regressor: Any) -> list[Any]:
    """The views that its columns come from; those of a split are the same."""
    seen = {repr(part): part for view in regressor.views_ for part, _ in view.parts}
    return [one for part in seen.values() for one in _views(part)]


def _views(view: Any) -> list[Any]:
    """A view and those that it is made of."""
    inner = [view.view_] if hasattr(view, "view_") else getattr(view, "views_", [])
    return [view, *(part for one in inner for part in _views(one))]


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


def _features(model: Any, top: int) -> dict[str, dict[str, list[list[Any]]]]:
    """The features with the highest and the lowest weights of each label (of each node, in a taxonomy)."""
    import numpy as np

    structure, unary = model.structure_, model.weights_.unary
    names = structure.labels_ if structure.node_map_ is None else structure.nodes_
    out: dict[str, dict[str, list[list[Any]]]] = {}
    for k, name in enumerate(names):
        column = unary[:, k]
        order = np.argsort(-column, kind="stable")
        for_, against = order[:top], order[::-1][:top]
        chosen = {"highest": for_[column[for_] > 0], "lowest": against[column[against] < 0]}
        out[str(name)] = {
            which: [[text, float(column[f])] for text, f in zip(_names(model, found), found)]
            for which, found in chosen.items()
        }
    return out


def _names(model: Any, features: Any) -> list[str]:
    """Names of features; columns of a file are called what they are called there."""
    from accord.views.dense import ArrayFeatures

    names = model.view_.feature_names(features)
    kept = getattr(model, "input_", {})
    if not isinstance(innermost(model.view_), ArrayFeatures) or not kept:
        return names
    first = 0 if kept.get("zero_based") else 1
    columns = kept.get("feature_names") or [str(k + first) for k in range(kept.get("n_features", 0))]
    return [columns[f] if f < len(columns) else name for f, name in zip(features, names)]


def _transitions(model: Any) -> dict[str, Any]:
    """Scores of starting, moving and ending; None where the constraints forbid it."""
    structure = model.structure_
    init, step, final = structure.chain(model.weights_.transitions)
    out: dict[str, Any] = {"order": structure.order_, "start": _scores(init), "end": _scores(final)}
    if structure.order_ == 1:
        out["pairs"] = [_scores(row) for row in step[:, 0]]
        return out
    n = structure.n_labels_
    labels = [str(label) for label in structure.labels_]
    out["triples"] = [
        {"labels": [labels[a] if a < n else None, labels[b], labels[c]], "score": _scores(step[a, b])[c]}
        for a in range(n + 1)
        for b in range(n)
        for c in range(n)
    ]
    return out


def _scores(row: Any) -> list[float | None]:
    return [float(v) if v > -float("inf") else None for v in row]


# -- printing -----------------------------------------------------------------------------------------------------
def _print(found: dict[str, Any]) -> None:
    size = f"{found['file']['bytes'] / 1e6:.1f} MB"
    click.echo(f"{found['file']['path']}: {found['kind']} over {found['structure']} with {found['view']} ({size})\n")
    labels = found["labels"]
    click.echo("Labels: " + ", ".join(map(str, labels[:40])) + (", ...\n" if len(labels) > 40 else "\n"))
    print_pairs("Sizes", named(found["sizes"]))
    if found["views"] is not None:
        _print_views(found)
    for owner, parameters in found["parameters"].items():
        click.echo()
        print_pairs(f"Parameters of {owner}", named(parameters))
    if found["training"]:
        click.echo()
        print_pairs("Training", named(found["training"]))
    (print_strongest if "rules" in found else _print_features)(found)
    if found["transitions"] is not None:
        _print_transitions(found["transitions"], [str(label) for label in labels])


def _print_views(found: dict[str, Any]) -> None:
    views = found["views"]
    click.echo()
    width = len(f"{max(view['features'] for view in views):,}")
    pairs = [(view["name"], f"{view['features']:>{width},} features with a weight") for view in views]
    print_pairs(f"Views ({len(views)}; the model is their sum)", pairs)
    if "disagreement" in found:
        seen = found["disagreement"]
        click.echo(f"They disagree on {100 * seen['rate']:.2f} % of the {seen['of']} of {seen['data']}.")


def _print_features(found: dict[str, Any]) -> None:
    rows, sections = [], []
    for label, of_label in found["features"].items():
        high, low = of_label["highest"], of_label["lowest"]
        for k in range(max(len(high), len(low))):
            left = [high[k][0], f"{high[k][1]:+.3f}"] if k < len(high) else ["", ""]
            right = [low[k][0], f"{low[k][1]:+.3f}"] if k < len(low) else ["", ""]
            rows.append([label if k == 0 else "", left[0], right[0], left[1], right[1]])
        sections.append(len(rows) - 1)
    if rows:
        click.echo()
        rows = [[row[0], row[3], row[1], row[4], row[2]] for row in rows]
        print_table("Strongest features", ["label", "weight", "for", "weight", "against"], rows, sections, left=5)


def _print_transitions(t: dict[str, Any], labels: list[str]) -> None:
    click.echo()
    ends = [("(start)", label, v) for label, v in zip(labels, t["start"])]
    ends += [(label, "(end)", v) for label, v in zip(labels, t["end"])]
    if t["order"] == 1 and len(labels) <= _MATRIX:
        rows = [["(start)", *map(_cell, t["start"]), ""]]
        rows += [[label, *map(_cell, row), _cell(v)] for label, row, v in zip(labels, t["pairs"], t["end"])]
        print_table("Transitions from the row to the column (–: forbidden)", ["", *labels, "(end)"], rows, sections=[0])
        return
    if t["order"] == 1:
        moves = [(a, b, v) for a, row in zip(labels, t["pairs"]) for b, v in zip(labels, row)] + ends
    else:
        pairs = [(m["labels"], m["score"]) for m in t["triples"]]
        moves = [(f"{a or '(start)'} {b}", c, v) for (a, b, c), v in pairs] + ends
    allowed = sorted((m for m in moves if m[2] is not None), key=lambda m: -m[2])
    n = min(10, (len(allowed) + 1) // 2)
    chosen = [*allowed[:n], *allowed[len(allowed) - n :]] if len(allowed) > 1 else allowed
    rows = [[a, b, _cell(v)] for a, b, v in chosen]
    title = f"Strongest and weakest transitions ({len(moves) - len(allowed)} are forbidden)"
    print_table(title, ["from", "to", "score"], rows, sections=[n - 1], left=2)


def _cell(score: float | None) -> str:
    return "–" if score is None else f"{score:+.2f}"
