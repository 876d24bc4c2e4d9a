"""``accord dedupe ask``: from a table without labels, by a few answers, to clusters and a model."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Any

import click

from accord.cli.dedupe.tables import need_columns, read, table_options, with_column, write
from accord.cli.option_types import NAMES
from accord.cli.places import check_outputs
from accord.cli.program import debug_option
from accord.cli.terminal import computing, note


@click.command(short_help="Answer a few questions instead of giving labels.")
@click.argument("table")
@click.option("--model", type=click.Path(path_type=Path), help="Write the model here, for `apply` and `assign`.")
@click.option("--output", "-o", help="Write the table with its clusters here; - is standard output.")
@click.option("--terminal", is_flag=True, help="Ask y/n/u in the terminal, not on a page.")
@click.option("--store", type=click.Path(path_type=Path), help="File of the answers.  [default: TABLE.labels.sqlite]")
@click.option("--ignore", type=NAMES, default=[], help="Columns not to compare, such as row numbers.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port.  [default: the first free one from 8040 on]")
@click.option("--browser/--no-browser", default=True, help="Whether to open the page in a browser.")
@click.option("--annotator", help="Your name.  [default: that of your account]")
@table_options
@debug_option
def ask(table: str, **options: Any) -> None:
    """Ask about pairs of records of TABLE whether they are the same, those first from which most can be learned.

    Ten answers give a usable clustering, and it is said when more would not help. When it is finished (f, or Ctrl-C for
    the page), --output and --model are written; answers are kept in --store, and asking goes on from there next time.

    \b
    Examples:
      accord dedupe ask people.csv --output clustered.csv
      accord dedupe people.csv --ask --terminal --output clustered.csv --model people.accord
    """
    from accord.labeling.project import Project
    from accord.labeling.service import open_service
    from accord.labeling.store import Store

    store = options["store"] or Path(f"{table}.labels.sqlite")
    check_outputs({"--model": options["model"], "--output": options["output"], "--store": store}, (table,))
    rows = read(table, options)
    need_columns(rows, options["ignore"], "which --ignore names")
    records = rows.records({options["label_column"], *options["ignore"]})
    project = Project("pairs", name=Path(table).name)
    for record in records:
        project.add({"fields": record})
    with computing():
        service = open_service(project, Store(store))
        if options["terminal"]:
            from accord.labeling.terminal import ask as in_terminal

            name = options["annotator"] or getpass.getuser()
            given = in_terminal(service, name, lambda text: input(text), lambda line: click.echo(line, err=True))
            note(f"{given} answers; all are in {store}")
        else:
            from accord.labeling.running import serve

            serve(service, port=options["port"], browser=options["browser"], announce=note, close=False)
        _finish(service, rows, options)


def _finish(service: Any, rows: Any, options: dict[str, Any]) -> None:
    """Write what the answers have taught."""
    if not options["model"] and not options["output"]:
        note("give --output or --model to write what was learned")
        return
    learned = service.live.learn(service.store.truth())
    if options["model"]:
        model = learned.deduplicator()
        model.n_jobs = options["n_jobs"]
        model.save(options["model"])
        note(f"the model is in {options['model']}")
    if options["output"]:
        ids = learned.clusters(options["n_jobs"])
        write(*with_column(rows, options["label_column"], ids), options["output"], options)
        note(f"{len(ids):,} records, {len(set(ids)):,} clusters")
