"""What ``accord inspect`` tells about a model of parse trees: its grammar, and what weighs most in it."""

from __future__ import annotations

from typing import Any

import click

from accord.cli.outputs.description import describe_structured, print_structured, weight_sizes
from accord.cli.terminal import print_table

_PLACES = ("first", "last", "split")


def describe_trees(model: Any, top: int) -> dict[str, Any]:
    """Everything about a model as plain values."""
    return {**describe_structured(model, _sizes(model)), **_strongest(model, top), "transitions": None}


def _sizes(model: Any) -> dict[str, int]:
    s, g = model.structure_, model.structure_.grammar_
    return {
        "rules": len(g.rules),
        "symbols": g.n_symbols,
        "tags": len(g.tags),
        "labels": s.n_labels_,
        "words": len(s.lexicon_.terminals) if s.terminals == "words" else 0,
        **weight_sizes(model),
    }


def _strongest(model: Any, top: int) -> dict[str, Any]:
    """The rules and the features of tokens with the highest and the lowest weights; a rule with its count."""
    import numpy as np

    s, g = model.structure_, model.structure_.grammar_
    rule = s.split_transitions(model.weights_.transitions)[0]
    used = [int(p) for p in np.argsort(-rule, kind="stable") if g.rule_counts[p] > 0]
    rules = [[g.rule_name(p), float(rule[p]), int(g.rule_counts[p])] for p in used]
    unary, columns = model.weights_.unary, _column_names(model)
    flat = unary.ravel()
    some = min(top, flat.size)
    order = np.argsort(-flat, kind="stable") if flat.size else np.empty(0, int)
    found = {"highest": [int(k) for k in order[:some] if flat[k] > 0],
             "lowest": [int(k) for k in order[::-1][:some] if flat[k] < 0]}  # fmt: skip
    features = {
        which: [
            [columns[k % unary.shape[1]], model.view_.feature_names([k // unary.shape[1]])[0], float(flat[k])]
            for k in places
        ]
        for which, places in found.items()
    }
    return {
        "root": g.root,
        "starts": {str(g.symbols[k]): int(g.start_counts[k]) for k in np.argsort(-g.start_counts) if g.start_counts[k]},
        "rules": {"highest": rules[:top], "lowest": rules[::-1][:top]},
        "features": features,
    }


def _column_names(model: Any) -> list[str]:
    """What the columns of token weights belong to: a tag, or a place in the spans of a label."""
    s = model.structure_
    tags = [f"tag {tag}" for tag in s.grammar_.tags] if s.n_tag_nodes_ else []
    return tags + [f"{place} of {anchor}" for place in _PLACES for anchor in s.anchors_]


def print_trees(found: dict[str, Any]) -> None:
    """Print a description, rules and features as tables."""
    print_structured(found)
    click.echo()
    starts = ", ".join(f"{symbol} ({count:,})" for symbol, count in list(found["starts"].items())[:10])
    root = "" if found["root"] is None else f" below {found['root'] or 'a root without label'}"
    click.echo(f"Symbols at the top{root} (trees): {starts}")
    for which, title in (("highest", "Strongest rules"), ("lowest", "Weakest rules")):
        rows = [[name, f"{weight:+.3f}", f"{count:,}"] for name, weight, count in found["rules"][which]]
        if rows:
            click.echo()
            print_table(title, ["rule", "weight", "times seen"], rows)
    for which, title in (("highest", "Strongest features"), ("lowest", "Features against")):
        rows = [[where, name, f"{weight:+.3f}"] for where, name, weight in found["features"][which]]
        if rows:
            click.echo()
            print_table(title, ["of", "feature of the token", "weight"], rows, left=2)
