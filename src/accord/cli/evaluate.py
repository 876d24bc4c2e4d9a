"""``accord evaluate``: how wrong a model (or a file of predictions) is on labeled data."""

from __future__ import annotations

import json
from typing import Any

import click

from accord.cli.data.batch import Batch, is_hidden
from accord.cli.data.layout import (
    TITLES,
    Layout,
    guess_format,
    layout_of,
    reading_options,
    take_reading_options,
    task_of_file,
)
from accord.cli.data.reading import load, load_predictions, load_settled
from accord.cli.help import GroupedCommand
from accord.cli.models import load_model, source_options
from accord.cli.option_types import Choice
from accord.cli.program import debug_option
from accord.cli.tasks import REGRESSION, SEQUENCE
from accord.cli.terminal import computing, note, quiet_option
from accord.exceptions import InputError

_SHOWN = 5  # unknown labels
# What --help shows; --help-all shows the rest.
_GROUPS = {"Data": ("format", "label_column", "predictions"), "Output": ("as_json",), "Running": ("n_jobs", "quiet")}


@click.command(cls=GroupedCommand, groups=_GROUPS, titles=TITLES, short_help="Score a model on labeled data.")
@click.argument("model", required=False)
@click.argument("data", required=False)
@click.option("--predictions", metavar="FILE", help="Score this output of `accord predict` instead of a model.")
@click.option("--numbers", is_flag=True, help="With --predictions: they are numbers, not classes.")
@click.option(
    "--scoring", type=Choice(["papers", "collins"]), default="papers", show_default=True,
    help="Trees: count all constituents but the root; or as EVALB does with COLLINS.prm (no punctuation, no function "
    "tags, PRT is ADVP).",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--n-jobs", type=int, help="Threads.  [default: as in training]")
@quiet_option
@source_options
@reading_options
@debug_option
def evaluate(model: str | None, data: str | None, predictions: str | None, as_json: bool, **options: Any) -> None:
    """Score MODEL on labeled DATA, a file or - for standard input.

    Prints the error rates and F1 over labels; for labels such as B-PER also precision, recall and F1 of spans,
    counted as conlleval does; for taxonomies the tree loss. For parse trees: precision, recall and F1 of constituents,
    exact matches, tags, and constituents that cross true ones. If MODEL predicts numbers: the root mean squared error,
    the mean absolute error, and R², the share of the variance that is explained.

    \b
    Examples:
      accord evaluate names.accord test.conll
      accord evaluate names.accord test.conll --json | jq .span_f1
      accord evaluate --predictions predicted.conll test.conll
      accord evaluate parser.accord test.mrg --scoring collins
      accord evaluate --predictions predicted.trees test.mrg
      accord evaluate houses.accord test.csv
    """
    reading, scoring = take_reading_options(options), options["scoring"]
    if predictions is not None:
        if model is None or data is not None:
            raise click.UsageError("with --predictions give only the labeled DATA")
        model, data = predictions, model
        layout = _file_layout(data, options["numbers"], reading)
        scores = _score_file(predictions, layout, data, scoring)
    else:
        if model is None or data is None:
            raise click.UsageError("Missing argument 'MODEL' or 'DATA'; give a model and labeled data.")
        with computing():
            fitted = load_model(model, **options)
            layout = layout_of(fitted, reading, data, labeled=True)
            scores = score_model(fitted, layout, data, scoring)
    if as_json:
        click.echo(json.dumps(scores, ensure_ascii=False, indent=2))
    else:
        layout.task.print_scores(scores, f"{model} on {data}")


def score_model(model: Any, layout: Layout, data: str, scoring: str = "papers") -> dict[str, Any]:
    """Predict labeled data and measure."""
    from accord.learners.inputs import take

    batch = load(layout, data)
    keep = _labeled(batch, data)
    tokens = None if batch.tokens is None else [batch.tokens[i] for i in keep]
    if layout.task.hides_labels and not layout.task.numeric:
        _tell_unknown(model, [batch.Y[i] for i in keep], data)
    predictor = layout.task.predictor(model)
    X = batch.X if len(keep) == len(batch.Y) else take(batch.X, keep)
    found = [p.y for p in predictor(X, tokens)]
    predictor.tell()
    taxonomy = getattr(getattr(model, "structure", None), "taxonomy", None)
    return layout.task.scores([batch.Y[i] for i in keep], found, taxonomy=taxonomy, scoring=scoring)


def _tell_unknown(model: Any, Y: list[Any], data: str) -> None:
    """Name labels that the model cannot predict, because it has never seen them: all of these count as wrong."""
    structure = getattr(model, "structure_", None)
    known = getattr(structure, "labels_", None)
    if known is not None and not hasattr(structure, "taxonomy"):  # whose inner nodes are known
        labels = {str(label) for y in Y for label in (y if isinstance(y, list) else [y]) if label is not None}
        unknown = sorted(labels - set(map(str, known)))
        if unknown:
            what = "label" if len(unknown) == 1 else "labels"
            shown = ", ".join(map(repr, unknown[:_SHOWN])) + ", ..." * (len(unknown) > _SHOWN)
            note(f"{data}: the model does not know the {what} {shown}; these count as wrong")


def _labeled(batch: Batch, data: str) -> list[int]:
    keep = [i for i, y in enumerate(batch.Y) if not is_hidden(y)]
    if not keep:
        raise InputError(f"{data} has no labels to score against")
    return keep


# -- files of predictions -------------------------------------------------------------------------------------------
def _file_layout(data: str, numbers: bool, given: dict[str, Any]) -> Layout:
    """How the data are read that a file of predictions is compared with: their format tells what they are."""
    otherwise = (REGRESSION if numbers else SEQUENCE).labeled_format
    found = given.get("format") or guess_format(data, of_tokens=not numbers) or otherwise
    task = REGRESSION if numbers else task_of_file(data, found, given.get("encoding", "utf-8"))
    return Layout(task, **given).for_file(data, found)


def _score_file(predictions: str, layout: Layout, data: str, scoring: str) -> dict[str, Any]:
    gold, layout = load_settled(layout, data)
    found = load_predictions(layout, predictions)
    if len(found.Y) != len(gold.Y):
        what, examples = layout.task.outputs, f"{layout.task.example}s"
        raise InputError(f"{predictions} has {len(found.Y)} {what} but {data} has {len(gold.Y)} {examples}")
    trees = layout.format == "treebank"
    if not trees or scoring != "collins":  # which deletes traces, so that one side need not have them
        hint = " (--clean takes traces out of both)" if trees and not layout.clean else ""
        for i, (a, b) in enumerate(zip(found.tokens or (), gold.tokens or ()), 1):
            if a != b:
                shown = f"{a[:5]}, {b[:5]} ...{hint}"
                raise InputError(f"{predictions}: sentence {i} has other tokens than the labeled data: {shown}")
    keep = _labeled(gold, data)
    return layout.task.scores([gold.Y[i] for i in keep], [found.Y[i] for i in keep], scoring=scoring)
