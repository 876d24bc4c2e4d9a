"""What ``accord inspect`` tells about a model of labels: its strongest features, and its transitions."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

import click

from accord.cli.outputs.description import describe_structured, print_structured, weight_sizes
from accord.cli.outputs.views import innermost
from accord.cli.terminal import print_table

_MATRIX = 12  # labels at most for transitions as a matrix


def describe_labels(model: Any, top: int) -> dict[str, Any]:
    """Everything about a model as plain values."""
    structure = model.structure_
    return {
        **describe_structured(model, _sizes(model)),
        "features": _features(model, top),
        "transitions": _transitions(model) if structure.has_transitions else None,
    }


def _sizes(model: Any) -> dict[str, int]:
    view = innermost(model.view_)
    return {
        "labels": model.structure_.n_labels_,
        **weight_sizes(model),
        "transitions": int(model.structure_.n_transitions_),
        **({"token_types": len(view.types_)} if hasattr(view, "types_") else {}),
    }


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
def print_labels(found: dict[str, Any]) -> None:
    """Print a description."""
    print_structured(found)
    _print_features(found)
    if found["transitions"] is not None:
        _print_transitions(found["transitions"], [str(label) for label in found["labels"]])


def _print_features(found: dict[str, Any]) -> None:
    rows, sections = [], []
    for label, of_label in found["features"].items():
        for k, pair in enumerate(zip_longest(of_label["highest"], of_label["lowest"])):
            cells = [[f"{one[1]:+.3f}", one[0]] if one else ["", ""] for one in pair]
            rows.append(["" if k else label, *cells[0], *cells[1]])
        sections.append(len(rows) - 1)
    if rows:
        click.echo()
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
