"""``accord inspect``: what is in a model file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from accord.cli.data.layout import TITLES, layout_of, reading_options, take_reading_options
from accord.cli.data.reading import load
from accord.cli.help import GroupedCommand
from accord.cli.models import load_model, source_options
from accord.cli.outputs.views import disagreement
from accord.cli.program import debug_option
from accord.cli.tasks import task_of
from accord.cli.terminal import computing


@click.command(
    cls=GroupedCommand, groups={"Data": ("format",), "Output": ("top", "as_json")}, titles=TITLES,
    short_help="Show a model's labels, sizes, views, features and transitions.",
)  # fmt: skip
@click.argument("model")
@click.argument("data", required=False)
@click.option(
    "--top", type=click.IntRange(min=0), default=5, show_default=True,
    help="Features per label to show; of trees, rules and features.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@source_options
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
    fitted = load_model(model, predicting=data is not None, **options)
    task = task_of(fitted)
    found = task.describe(fitted, top)
    if data is not None:
        layout = layout_of(fitted, take_reading_options(options), data)
        with computing():
            rate = disagreement(fitted, load(layout, data, labeled=False).X)
        of = {"rms": rate} if task.numeric else {"rate": rate, "of": task.unit}
        found["disagreement"] = {"data": data, **of}
    found["file"] = {"path": model, "bytes": Path(model).stat().st_size}
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=False, indent=2, allow_nan=False))
    else:
        task.print_description(found)
