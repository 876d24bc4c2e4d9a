"""``accord dedupe apply``, ``assign`` and ``explain``: what is done with a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from accord.cli.dedupe.big import BigRows, is_big, work_option
from accord.cli.dedupe.learn import needed
from accord.cli.dedupe.tables import load_as, need_columns, read, records_for, table_options, with_column, write
from accord.cli.places import check_outputs
from accord.cli.program import debug_option, if_interrupted
from accord.cli.terminal import computing, print_table
from accord.exceptions import InputError


@click.command(short_help="Cluster a table.")
@click.argument("model")
@click.argument("table", default="-")
@click.option("--output", "-o", default="-", show_default=True, help="File to write to; - is standard output.")
@click.option("--threshold", type=float, help="Above 0 prefers precision.  [default: as in training]")
@click.option("--index", "index_file", type=click.Path(path_type=Path), help="Also write an index for `assign`.")
@work_option
@table_options
@debug_option
def apply(
    model: str, table: str, output: str, threshold: float | None, index_file: Path | None, **options: Any
) -> None:
    """Cluster the records of TABLE with MODEL and write it with a column of cluster numbers, 0, 1, ...

    A column of that name is written over. Files are written at once when everything is done, or not at all.

    \b
    Examples:
      accord dedupe apply people.accord people-2.csv --output clustered.csv.gz
      accord dedupe apply people.accord people-2.csv --index people.index > clustered.csv
    """
    check_outputs({"--output": output, "--index": index_file}, (model, table))
    if is_big(table, options):
        if index_file is not None:
            raise click.UsageError("--index goes with tables that fit into memory; not with --work")
        _apply_big(model, table, output, threshold, options)
        return
    rows = read(table, options, empty=True)
    with computing(), if_interrupted("nothing was written"):
        fitted = load_as(model, "Deduplicator")
        _set(fitted, threshold, options)
        records = records_for(fitted, rows)
        ids = fitted.predict(records) if records else []
        if index_file is not None:
            fitted.verbose = 0
            fitted.index(records, ids, path=index_file).close()
    write(*with_column(rows, options["label_column"], ids), output, options)
    if not options["quiet"]:
        click.echo(f"{len(ids):,} records, {len(set(ids)):,} clusters", err=True)


def _apply_big(model: str, table: str, output: str, threshold: float | None, options: dict[str, Any]) -> None:
    rows = BigRows(table, options)
    with computing(), if_interrupted(f"what was done is in {rows.work}; the same command goes on from there"):
        fitted = load_as(model, "Deduplicator")
        _set(fitted, threshold, options)
        need_columns(rows, fitted.view_.fields_, "which the model compares")
        ids = rows.clusters(fitted, set())
        rows.write(options["label_column"], ids, output)
    if not options["quiet"]:
        click.echo(f"{ids.size:,} records, {ids.max() + 1:,} clusters", err=True)


@click.command(short_help="Give new records the ids of a clustered table, or fresh ones.")
@click.argument("model")
@click.argument("new", default="-")
@click.option("--table", "table", metavar="FILE", help="The clustered table; its ids never change.")
@click.option("--output", "-o", default="-", show_default=True, help="File to write to; - is standard output.")
@click.option("--all", "everything", is_flag=True, help="Write the records of --table, too, the new ones behind them.")
@click.option("--threshold", type=float, help="Above 0 prefers precision.  [default: as in training]")
@table_options
@debug_option
def assign(
    model: str, new: str, table: str | None, output: str, everything: bool, threshold: float | None, **options: Any
) -> None:
    """Give each record of NEW the id of the cluster of a table that it belongs to, or a fresh id.

    MODEL is a model of `learn`, with the clustered table given by --table, or an index written by `apply --index`,
    which holds its table and is updated. Records are decided one after another and never reconsidered; ids that were
    given before do not change. Fresh ids are the next numbers if all ids are numbers, else new-1, new-2, ...; an index
    remembers ids for ever, a table only while some row has them.

    \b
    Examples:
      accord dedupe assign people.accord new.csv --table clustered.csv --output new-with-ids.csv
      accord dedupe assign people.accord new.csv --table all.csv --all --output all.csv
      accord dedupe assign people.index monday.csv > monday-with-ids.csv
    """
    # with --all the whole table is written again, and may take its own place
    check_outputs({"--output": output}, (model, new, None if everything else table))
    label = options["label_column"]
    arriving = read(new, options, empty=True)
    with computing(), if_interrupted("nothing was written"):
        found = load_as(model, "Deduplicator", "RecordIndex", "StoredIndex")
        is_index = type(found).__name__ != "Deduplicator"
        fitted = found.model if is_index else found
        if is_index == (table is not None):
            raise click.UsageError(
                "an index holds its table: leave --table out"
                if is_index
                else "Missing option '--table': the clustered table"
            )
        if everything and is_index:
            raise click.UsageError("--all goes with --table")
        before = fitted.threshold
        _set(fitted, threshold, options)
        known = None if is_index else _clustered(str(table), options)
        index = found if known is None else fitted.index(records_for(fitted, known), known.column(label))
        given = index.assign_detailed(records_for(fitted, arriving))
    names, rows = with_column(arriving, label, [one.id for one in given])
    if everything:
        assert known is not None
        if set(names) != set(known.names):
            raise InputError(
                f"--all: {new} has the columns {', '.join(names)}, but {table} has {', '.join(known.names)}"
            )
        order = [names.index(name) for name in known.names]
        names, rows = known.names, [*known.rows, *([row[k] for k in order] for row in rows)]
    if type(found).__name__ == "RecordIndex":  # first: an id that somebody has seen must not be given again
        fitted.threshold, fitted.verbose = before, 0
        index.save(model)
    write(names, rows, output, options)
    if not options["quiet"]:
        fresh = sum(one.is_new for one in given)
        click.echo(f"{len(given):,} records, {len(given) - fresh:,} of known clusters, {fresh:,} fresh ids", err=True)


@click.command(short_help="Why two records are (not) similar.")
@click.argument("model")
@click.argument("table")
@click.argument("first", type=click.IntRange(min=1))
@click.argument("second", type=click.IntRange(min=1))
@table_options
@debug_option
def explain(model: str, table: str, first: int, second: int, **options: Any) -> None:
    """Show what each comparison adds to the similarity of the records in rows FIRST and SECOND (from 1) of TABLE.

    \b
    Example:
      accord dedupe explain people.accord people.csv 17 42
    """
    rows = read(table, options)
    for number in (first, second):
        if number > len(rows.rows):
            raise InputError(f"{table} has {len(rows.rows)} records, but record {number} was asked for")
    with computing():
        fitted = load_as(model, "Deduplicator")
        records = records_for(fitted, rows)
        a, b = records[first - 1], records[second - 1]
        found = fitted.explain(a, b)
        similarity = fitted.similarity(a, b, len(records))
    lines = [[one.name, f"{one.value:.3f}", f"{one.weight:+.3f}", f"{one.contribution:+.3f}"] for one in found]
    print_table("", ["comparison", "value", "weight", "adds"], lines)
    click.echo(f"similarity in a table of {len(records):,} records: {similarity:+.3f}")
    if sizes := needed(fitted):
        click.echo(f"needed in clusters of {sizes}")


def _set(fitted: Any, threshold: float | None, options: dict[str, Any]) -> None:
    if threshold is not None:
        fitted.threshold = threshold
    fitted.n_jobs, fitted.verbose = options["n_jobs"], int(not options["quiet"])


def _clustered(table: str, options: dict[str, Any]) -> Any:
    known = read(table, options)
    label = options["label_column"]
    need_columns(known, [label], "which --label-column names")
    empty = [i for i, cell in enumerate(known.column(label)) if cell is None]
    if empty:
        raise InputError(f"{table}: record {empty[0] + 1} has no entry in column {label!r}; cluster it first")
    return known
