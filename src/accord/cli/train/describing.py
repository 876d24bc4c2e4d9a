"""``accord train --dry-run``: what was understood of the data and the options, before anything is trained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import click

from accord.cli.data.batch import is_hidden
from accord.cli.outputs.description import parameters
from accord.cli.outputs.results import counted
from accord.cli.terminal import named, print_pairs
from accord.cli.train.fitting import Plan, Understood

_LABELS = 12  # listed at most, the most frequent first
_COLUMNS = 12
_LETTERS = 40  # of a label


def print_plan(plan: Plan, found: Understood) -> None:
    """Print what would be trained on what."""
    print_pairs("data", [pair for describe in ABOUT_DATA for pair in describe(plan, found)])
    for owner, values in _learner(found.learner):
        click.echo()
        print_pairs(owner, named(values))
    click.echo("\nnothing was trained (--dry-run)")


# -- the data -------------------------------------------------------------------------------------------------------
def _files(plan: Plan, found: Understood) -> Iterable[tuple[str, str]]:
    task = found.layout.task
    sizes = iter(found.sizes.items())
    name, n = next(sizes)
    yield "file", f"{name}: {found.layout.format}, {counted(n, task.example)}"
    for name, n in sizes:
        yield "unlabeled file", f"{name}: {counted(n, task.example)}"
    yield "task", f"{task.name}: {task.outputs} are predicted"


def _columns(plan: Plan, found: Understood) -> Iterable[tuple[str, str]]:
    layout = found.layout
    if layout.format == "conll":
        label = "the last column" if layout.target == -1 else f"column {layout.target}"
        yield "columns", f"tokens in column {layout.token_column or 0}, labels in {label} (counted from 0)"
        if layout.feature_columns:
            yield "features", f"the token and columns {', '.join(map(str, layout.feature_columns))}"
    if layout.is_table:
        names, words, texts = layout.feature_names or (), layout.categorical or (), layout.text_columns or ()
        if layout.named:
            links = [layout.link_column, plan.options["links"]]
            yield "names of rows", str(layout.node_column)
            yield "links", " and ".join(str(one) for one in links if one is not None)
        yield "label column", str(layout.target) if layout.target != -1 else "the last"
        if layout.format == "csv":
            yield "header", "yes" if layout.header else "no"
        if layout.left_out:
            yield "left out", _some(list(layout.left_out), _COLUMNS)
        for kind, columns in (
            ("numbers", [name for name in names if name not in (*words, *texts)]),
            ("words", [name for name in names if name in words]),
            ("free text", list(layout.free_texts)),
        ):
            if columns:
                yield f"columns of {kind}", _some(columns, _COLUMNS)
    if layout.format == "svmlight":
        yield "columns", f"{layout.n_features:,}"


def _sizes(plan: Plan, found: Understood) -> Iterable[tuple[str, str]]:
    hidden = len(found.hidden)
    partly = f" ({found.n_partial:,} of them partly)" if found.n_partial else ""
    yield "labeled", f"{len(found.Y) - hidden:,}{partly}"
    yield "unlabeled", f"{hidden:,}"
    if found.layout.task.of_tokens:
        yield "tokens", f"{sum(map(len, found.X)):,}"


def _labels(plan: Plan, found: Understood) -> Iterable[tuple[str, str]]:
    known = [y for y in found.Y if not is_hidden(y)]
    if not known:
        yield "labels", "none: training needs at least one labeled example"
    elif found.layout.task.numeric:
        yield "targets", f"{min(known):g} to {max(known):g}, mean {sum(known) / len(known):g}"
    elif found.layout.task.hides_labels:  # trees have none
        labels = Counter(label for y in known for label in (y if isinstance(y, list) else [y]) if label is not None)
        shown = [f"{_short(str(label))} ({n:,})" for label, n in labels.most_common(_LABELS + 1)]
        yield f"{len(labels):,} label{'s'[: len(labels) != 1]}", _some(shown, _LABELS, len(labels))


def _short(label: str) -> str:
    return label if len(label) <= _LETTERS else f"{label[: _LETTERS - 1]}…"


def _some(names: list[str], most: int, n: int | None = None) -> str:
    n = len(names) if n is None else n
    return ", ".join(names[:most]) + (f" and {n - most:,} more" if n > most else "")


# What is said about the data, in this order: functions from a plan and what was read to names and values.
ABOUT_DATA = [_files, _columns, _sizes, _labels]


# -- the learner ----------------------------------------------------------------------------------------------------
def _learner(learner: Any) -> Iterable[tuple[str, dict[str, Any]]]:
    """The estimator and what it is made of, each with its parameters."""
    parts = [learner, getattr(learner, "learner", None)]
    owner = parts[1] or learner
    views = [getattr(owner, "view", None), getattr(learner, "views", None)]
    made = [part for view in views for part in _parts(view)]
    structure = getattr(owner, "structure", None)
    return parameters([part for part in (*parts, structure, *made) if hasattr(part, "get_params")]).items()


def _parts(view: Any) -> list[Any]:
    """A view that is not fitted, and those that it is made of."""
    several = getattr(view, "views", None) or []
    inner = several.values() if isinstance(several, dict) else [*several, getattr(view, "view", None)]
    return [view, *(part for one in inner if one is not None for part in _parts(one))]
