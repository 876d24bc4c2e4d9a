"""``accord dedupe suspects``: records of a table that are probably in the wrong cluster."""

from __future__ import annotations

import json
from typing import Any

import click

from accord.cli.dedupe.tables import need_columns, read, table_options
from accord.cli.models import seed_option
from accord.cli.option_types import NAMES
from accord.cli.program import debug_option
from accord.cli.terminal import computing, note, print_table

_LETTERS = 60  # of a record that are shown


@click.command(short_help="Find records that are probably in the wrong cluster.")
@click.argument("table")
@click.option("--ignore", type=NAMES, default=[], help="Columns not to compare, such as row numbers.")
@click.option("--most", type=click.IntRange(min=1), default=100, show_default=True, help="Records to show at most.")
@click.option("--n-splits", type=click.IntRange(min=2), default=5, show_default=True, help="Folds of the clusters.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines.")
@seed_option
@table_options
@debug_option
def suspects(table: str, ignore: list[str], most: int, n_splits: int, as_json: bool, **options: Any) -> None:
    """Print records of TABLE whose entry in the column of clusters is probably wrong, the most suspicious first.

    Models that have not seen a cluster judge who belongs to it. "alone" suggests a cluster of its own. Rows with an
    empty cell there are left alone.

    \b
    Examples:
      accord dedupe suspects people.csv
      accord dedupe suspects people.csv --label-column person --most 20
    """
    from accord import Deduplicator
    from accord import suspects as find

    rows, label = read(table, options), options["label_column"]
    need_columns(rows, [label], "which --label-column names")
    need_columns(rows, ignore, "which --ignore names")
    with computing():
        records = rows.records({label, *ignore})
        model = Deduplicator(random_state=options["random_state"], n_jobs=options["n_jobs"])
        found = find(records, rows.column(label), model, n_splits, options["random_state"])
    note(f"{len(found):,} suspects among {len(records):,} records")
    if as_json:
        for one in found[:most]:
            line = {"record": one.example + 1, "given": one.given, "suggested": one.suggested}
            click.echo(json.dumps({**line, "probability": one.probability}, ensure_ascii=False))
        return
    lines = [
        (str(one.example + 1), _shown(records[one.example]), str(one.given), str(one.suggested or "alone"),
         f"{100 * one.probability:.1f} %")
        for one in found[:most]
    ]  # fmt: skip
    print_table("", ("row", "record", "given", "suggested", "wrong"), lines, left=4)


def _shown(record: dict[str, str | None]) -> str:
    text = ", ".join(cell for cell in record.values() if cell)
    return text if len(text) <= _LETTERS else text[: _LETTERS - 3] + "..."
