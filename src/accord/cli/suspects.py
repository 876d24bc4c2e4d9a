"""``accord suspects``: labels of a file that are probably wrong."""

from __future__ import annotations

import json
from typing import Any

import click

from accord.cli.data.batch import Batch
from accord.cli.data.layout import TITLES, Layout, guess_format, reading_options, take_reading_options, task_of_file
from accord.cli.data.reading import load_settled
from accord.cli.help import GroupedCommand
from accord.cli.models import seed_option
from accord.cli.option_types import Choice
from accord.cli.program import debug_option
from accord.cli.tasks import TASKS, Task
from accord.cli.terminal import computing, note, print_table, quiet_option
from accord.cli.train.building import for_table, make_learner
from accord.cli.train.parameters import WORD_VIEWS
from accord.exceptions import InputError

_GROUPS = {
    "Data": ("format", "label_column", "unknown_label", "task"),
    "Output": ("most", "as_json"),
    "Running": ("n_splits", "n_jobs", "random_state", "quiet"),
}
_PENALTY = 1.0  # C of the CRF
_WORDS = 60  # characters of the words that are shown


@click.command(cls=GroupedCommand, groups=_GROUPS, titles=TITLES, short_help="Find labels that are probably wrong.")
@click.argument("data")
@click.option(
    "--task", type=Choice(["sequence", "multiclass", "tree"]), help="What the labels are.  [default: by DATA]"
)
@click.option("--most", type=click.IntRange(min=1), default=100, show_default=True, help="Labels to show at most.")
@click.option("--n-splits", type=click.IntRange(min=2), default=5, show_default=True, help="Folds of the examples.")
@click.option("--n-jobs", type=int, default=1, show_default=True, help="Threads.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines.")
@seed_option
@quiet_option
@reading_options
@debug_option
def suspects(data: str, most: int, n_splits: int, as_json: bool, **options: Any) -> None:
    """Print labels of DATA that are probably wrong, the most suspicious first.

    DATA, a file or - for standard input, is what `accord train` learns from. A model of some of its examples
    judges the labels of the others: classes, tokens, constituents, and the kinds of spans (B-PER, I-PER).

    \b
    Examples:
      accord suspects train.conll
      accord suspects reviews.csv --label-column stars --most 20
      accord suspects wsj.mrg --clean --json > odd.jsonl
    """
    from accord.learners.suspects import suspects as find

    reading = take_reading_options(options)
    layout = _layout(data, options["task"], reading)
    with computing():
        batch, layout = load_settled(layout, data)
        if not batch.Y:
            raise InputError(f"{data} has no {layout.task.outputs}")
        found = find(batch.X, batch.Y, _learner(layout, batch, options), n_splits, options["random_state"])
    note(f"{len(found):,} suspects among the labels of {len(batch.Y):,} {layout.task.example}s")
    if as_json:
        for one in found[:most]:
            click.echo(json.dumps({**one._asdict(), "example": one.example + 1}, ensure_ascii=False, default=str))
        return
    rows = [
        (str(one.example + 1), _words(batch, one), str(one.given), str(one.suggested), f"{100 * one.probability:.1f} %")
        for one in found[:most]
    ]
    print_table("", (layout.task.example, "words", "given", "suggested", "wrong"), rows, left=4)


def _layout(data: str, task_name: str | None, reading: dict[str, Any]) -> Layout:
    found = reading.get("format") or guess_format(data, of_tokens=True)
    task: Task = TASKS[task_name] if task_name else task_of_file(data, found, reading.get("encoding", "utf-8"))
    return Layout(task, **reading).for_file(data, task.labeled_format)


def _learner(layout: Layout, batch: Batch, options: dict[str, Any]) -> Any:
    """A CRF with the features that `accord train` would take."""
    sources = ["taxonomy", "grammar", "vocabulary", "encoder", "links", *WORD_VIEWS]
    unused = dict.fromkeys(["base_learner", "views", *sources])
    chosen = {**options, **unused, "learner": "crf", "stream": False, "rules": ()}
    given = {"C": _PENALTY}
    if layout.is_table and isinstance(batch.X, list):
        return for_table(layout, given, chosen)
    learner = make_learner(layout.task, layout.view, given, chosen)
    if layout.task.name == "sequence":
        from accord.learners.tag_schemes import natural_structure

        learner.set_params(structure=natural_structure([y for y in batch.Y if y is not None]))
    return learner.set_params(verbose=0)


def _words(batch: Batch, one: Any) -> str:
    """The words whose label it is."""
    if batch.tokens is not None:
        text = " ".join(map(str, batch.tokens[one.example][one.start : one.end]))
    else:
        text = str(batch.X[one.example]) if isinstance(batch.X, list) else ""
    return text if len(text) <= _WORDS else text[: _WORDS - 3] + "..."
