"""``accord dedupe``: learn which records of a table belong together, cluster tables, give new records stable ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from accord.cli.dedupe_tables import (
    FIELD,
    load_as,
    need_columns,
    read,
    records_for,
    table_options,
    with_column,
    write,
)
from accord.cli.option_types import NAMES
from accord.cli.program import Interrupted, debug_option
from accord.cli.terminal import computing, print_pairs, print_table
from accord.exceptions import InputError, ModelFileError

_N_WEIGHTS = 10  # of the strongest comparisons that a report shows


class DefaultGroup(click.Group):
    """A group whose first command is meant if none is named: `accord dedupe TABLE` learns."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the name of the first command in front if it is missing."""
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help", "--debug"):
            args = ["learn", *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order in which one needs them."""
        return list(self.commands)


@click.group(cls=DefaultGroup, short_help="Find records that belong together; stable ids for new ones.")
@debug_option
def dedupe() -> None:
    """Find the records of a table that belong together, such as entries about the same person.

    `accord dedupe TABLE` is short for `accord dedupe learn TABLE`. Tables are CSV files with a header (gzip is
    recognised; - is standard input).

    \b
    Examples:
      accord dedupe people.csv --label-column cluster_id --model people.accord
      accord dedupe apply people.accord other.csv --output clustered.csv
      accord dedupe assign people.accord new.csv --table clustered.csv --output new-with-ids.csv
      accord dedupe explain people.accord other.csv 17 42
    """


@dedupe.command(short_help="Learn from a table with known clusters.")
@click.argument("table")
@click.option(
    "--model", "--output", "-o", "model", required=True, type=click.Path(path_type=Path),
    help="File to write the model to.",
)  # fmt: skip
@click.option(
    "--field", "fields", type=FIELD, multiple=True,
    help="Compare this column, as text, number, date or category. May be given several times; then no other column is "
    "compared.  [default: all columns, kinds found out]",
)  # fmt: skip
@click.option("--ignore", type=NAMES, default=[], help="Columns not to compare, such as row numbers.")
@click.option(
    "--unlabeled", metavar="FILE", multiple=True,
    help="More records, without clusters: they tell what is rare, and take part in self-training.",
)  # fmt: skip
@click.option(
    "--method", type=click.Choice(["pairwise", "sequential", "iterative", "compact"]), default="pairwise",
    show_default=True, help="How weights are learned.",
)  # fmt: skip
@click.option(
    "--decoder", type=click.Choice(["agglomerative", "sequential", "lp", "exact"]), default="agglomerative",
    show_default=True, help="How clusters are found.",
)  # fmt: skip
@click.option(
    "--C", "C", type=float, default=1.0, show_default=True, help="Weight of the data against the regulariser."
)
@click.option(
    "--threshold", type=float, default=0.0, show_default=True,
    help="Above 0 prefers precision, below 0 recall (logarithm of odds).",
)  # fmt: skip
@click.option(
    "--calibrate/--no-calibrate", default=True, show_default=True, help="Fit similarities to held-out records."
)
@click.option(
    "--self-training/--no-self-training", default=True, show_default=True,
    help="Learn from clusters found among unlabeled records too, unless held-out records speak against it; with "
    "--calibrate, by the methods pairwise and sequential.",
)  # fmt: skip
@click.option(
    "--n-candidates", type=click.IntRange(min=1), default=20, show_default=True,
    help="Records that each record is compared with.",
)  # fmt: skip
@click.option(
    "--random-state", type=int, default=0, show_default=True, help="Seed; the same seed gives the same model."
)
@table_options
@debug_option
def learn(table: str, model: Path, **options: Any) -> None:
    """Learn from TABLE, in which a column says which records belong together.

    Rows with an empty cell there are unlabeled: they say which words and values are frequent, and clusters found among
    them are learned from as well, unless those of held-out labeled rows get clearly worse. A few hundred labeled
    records are usually enough, as long as some clusters have two or more of them.

    \b
    Examples:
      accord dedupe people.csv --model people.accord
      accord dedupe people.csv --model people.accord --field name=text --field born=date --field zip=category
      accord dedupe few.csv --unlabeled all.csv --ignore row --model people.accord --threshold 2
    """
    if model.is_dir() or not model.parent.is_dir():
        what = "is a folder, not a file" if model.is_dir() else "cannot be written: its folder does not exist"
        raise ModelFileError(f"--model {model} {what}")
    label = options["label_column"]
    labeled = read(table, options)
    need_columns(labeled, [label], "which --label-column names")
    fields = dict(options["fields"])
    need_columns(labeled, [*fields, *options["ignore"]], "which --field or --ignore names")
    without = {label, *options["ignore"]} if not fields else set()
    records, ids = labeled.records(without), labeled.column(label)
    for name in options["unlabeled"]:
        more = read(name, options)
        need_columns(more, fields, "which --field names")
        records += more.records(without)
        ids += [None] * len(more.rows)
    names = ("method", "decoder", "C", "threshold", "calibrate", "self_training", "n_candidates", "n_jobs")
    settings = {name: options[name] for name in names}
    try:
        with computing(announce=False if options["quiet"] else None):
            import accord

            fitted = accord.Deduplicator(
                fields or None, **settings, random_state=options["random_state"], verbose=int(not options["quiet"])
            )
            fitted.fit(records, ids)
    except KeyboardInterrupt:
        state = "is as it was before" if model.exists() else "was not written"
        raise Interrupted(f"the model is lost, and {model} {state}") from None
    fitted.verbose = 0
    fitted.save(model)
    if fitted.interrupted_:
        raise Interrupted(f"{model} has what was learned from labeled records")
    if not options["quiet"]:
        _report(fitted, ids, model)


@dedupe.command(short_help="Cluster a table.")
@click.argument("model")
@click.argument("table", default="-")
@click.option("--output", "-o", default="-", show_default=True, help="File to write to; - is standard output.")
@click.option("--threshold", type=float, help="Above 0 prefers precision.  [default: as in training]")
@click.option("--index", "index_file", type=click.Path(path_type=Path), help="Also write an index for `assign`.")
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
    rows = read(table, options)
    with computing():
        fitted = load_as(model, "Deduplicator")
        _set(fitted, threshold, options)
        records = records_for(fitted, rows)
        try:
            ids = fitted.predict(records)
            if index_file is not None:
                fitted.verbose = 0
                fitted.index(records, ids).save(index_file)
        except KeyboardInterrupt:
            raise Interrupted("nothing was written") from None
    write(*with_column(rows, options["label_column"], ids), output, options)
    if not options["quiet"]:
        click.echo(f"{len(ids):,} records, {len(set(ids)):,} clusters", err=True)


@dedupe.command(short_help="Give new records the ids of a clustered table, or fresh ones.")
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
    label = options["label_column"]
    arriving = read(new, options)
    with computing():
        found = load_as(model, "Deduplicator", "RecordIndex")
        is_index = type(found).__name__ == "RecordIndex"
        fitted = found.model if is_index else found
        if is_index == (table is not None):
            raise click.UsageError(
                "an index holds its table: leave --table out"
                if is_index
                else "Missing option '--table': the clustered table"
            )
        before = fitted.threshold
        _set(fitted, threshold, options)
        try:
            known = None if is_index else _clustered(fitted, str(table), options)
            index = found if known is None else fitted.index(records_for(fitted, known), known.column(label))
            given = index.assign_detailed(records_for(fitted, arriving))
        except KeyboardInterrupt:
            raise Interrupted("nothing was written") from None
    names, rows = with_column(arriving, label, [one.id for one in given])
    if everything:
        if known is None:
            raise click.UsageError("--all goes with --table")
        if set(names) != set(known.names):
            raise InputError(
                f"--all: {new} has the columns {', '.join(names)}, but {table} has {', '.join(known.names)}"
            )
        order = [names.index(name) for name in known.names]
        names, rows = known.names, [*known.rows, *([row[k] for k in order] for row in rows)]
    if is_index:  # first: an id that somebody has seen must not be given again
        fitted.threshold, fitted.verbose = before, 0
        index.save(model)
    write(names, rows, output, options)
    if not options["quiet"]:
        fresh = sum(one.is_new for one in given)
        click.echo(f"{len(given):,} records, {len(given) - fresh:,} of known clusters, {fresh:,} fresh ids", err=True)


@dedupe.command(short_help="Why two records are (not) similar.")
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
    if sizes := _needed(fitted):
        click.echo(f"needed in clusters of {sizes}")


def _set(fitted: Any, threshold: float | None, options: dict[str, Any]) -> None:
    if threshold is not None:
        fitted.threshold = threshold
    fitted.n_jobs, fitted.verbose = options["n_jobs"], int(not options["quiet"])


def _needed(fitted: Any) -> str:
    """How similar pairs have to be in clusters of improbable sizes, from each size on at which that changes."""
    costs = fitted.size_costs_
    steps = [size for size in range(1, costs.size) if costs[size] > costs[size - 1]]
    return ", ".join(f"{size}{' or more' if size == steps[-1] else ''}: {costs[size]:.2f}" for size in steps)


def _clustered(fitted: Any, table: str, options: dict[str, Any]) -> Any:
    known = read(table, options)
    label = options["label_column"]
    need_columns(known, [label], "which --label-column names")
    empty = [i for i, cell in enumerate(known.column(label)) if cell is None]
    if empty:
        raise InputError(f"{table}: record {empty[0] + 1} has no entry in column {label!r}; cluster it first")
    return known


def _tried(fitted: Any) -> str:
    """What self-training did to held-out records, and whether it was kept."""
    before, after = 100.0 * fitted.held_out_f1_.mean(axis=0)
    kept = "yes" if fitted.self_trained_ else "no"
    return f"{kept}; F1 of pairs of held-out records {before:.1f} % without, {after:.1f} % with it"


def _report(fitted: Any, ids: list[str | None], model: Path) -> None:
    known = [one for one in ids if one is not None]
    print_pairs(
        f"wrote {model}",
        [
            ("records", f"{len(ids):,}"),
            ("labeled", f"{len(known):,} in {len(set(known)):,} clusters"),
            ("fields", ", ".join(f"{name} ({kind})" for name, kind in fitted.view_.fields_.items())),
            ("calibrated", "no" if fitted.n_calibration_ is None else "yes"),
            *([] if fitted.held_out_f1_ is None else [("self-training", _tried(fitted))]),
            *([("similarity", f"at least 0; in clusters of {sizes}")] if (sizes := _needed(fitted)) else []),
        ],
    )
    strongest = abs(fitted.weights_).argsort()[::-1][:_N_WEIGHTS]
    lines = [[fitted.view_.names_[k], f"{fitted.weights_[k] * fitted.slope_:+.3f}"] for k in strongest]
    print_table("", ["comparison", "weight"], lines)
