"""``accord dedupe learn``: from a table with known clusters to a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from accord.cli.dedupe.big import BigRows, is_big, to_learn_from, work_option
from accord.cli.dedupe.tables import FIELD, need_columns, read, table_options, with_column, write
from accord.cli.models import lost_if_interrupted, optional_model_option, seed_option
from accord.cli.option_types import NAMES, Choice
from accord.cli.places import check_outputs
from accord.cli.program import Interrupted, debug_option, if_interrupted
from accord.cli.terminal import computing, note, print_pairs, print_table

_N_WEIGHTS = 10  # of the strongest comparisons that a report shows


@click.command(short_help="Learn from a table with known clusters, or cluster one without.")
@click.argument("table")
@optional_model_option
@click.option(
    "--clusters", metavar="FILE",
    help="Also write the table with a column of cluster numbers; - is standard output, where it goes anyway if there "
    "are no labels.",
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
    "--method", type=Choice(["pairwise", "sequential", "iterative", "compact"]), default="pairwise",
    show_default=True, help="How weights are learned.",
)  # fmt: skip
@click.option(
    "--decoder", type=Choice(["agglomerative", "sequential", "lp", "exact"]), default="agglomerative",
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
    "--linkage", type=Choice(["auto", "correlation", "average", "components"]), default="auto", show_default=True,
    help="What clusters are: the largest sum of similarities, a positive mean between parts, or whatever is connected; "
    "auto chooses.",
)  # fmt: skip
@click.option(
    "--calibrate/--no-calibrate", default=True, show_default=True,
    help="Choose similarities, linkage and threshold by held-out records.",
)  # fmt: skip
@click.option(
    "--self-training/--no-self-training", default=True, show_default=True,
    help="Learn from clusters found among unlabeled records too, if held-out records speak for it; with "
    "--calibrate, by the methods pairwise and sequential.",
)  # fmt: skip
@click.option(
    "--n-candidates", type=click.IntRange(min=1), default=20, show_default=True,
    help="Records that each record is compared with.",
)  # fmt: skip
@seed_option
@work_option
@table_options
@debug_option
@click.pass_context
def learn(ctx: click.Context, table: str, model: Path | None, clusters: str | None, **options: Any) -> None:
    """Learn from TABLE, in which a column says which records belong together.

    Rows with an empty cell there are unlabeled: they say which words and values are frequent, and clusters found among
    them are learned from as well, if those of held-out labeled rows get better. A few hundred labeled records are
    usually enough, as long as some clusters have two or more of them.

    Without such a column, the table is clustered by how alike its records are, and written with one. Of fewer than
    three records, or records that are all the same, only copies are put together.

    Of more than 50,000 records without labels that many, drawn at random, are learned from. Tables of more than 256 MB
    are clustered from files of a folder beside them (see --work), with the same result.

    \b
    Examples:
      accord dedupe people.csv > clustered.csv
      accord dedupe people.csv --model people.accord
      accord dedupe people.csv --model people.accord --field name=text --field born=date --field zip=category
      accord dedupe few.csv --unlabeled all.csv --ignore row --model people.accord --threshold 2
    """
    check_outputs({"--model": model, "--clusters": clusters}, (table, *options["unlabeled"]))
    label = options["label_column"]
    big = is_big(table, options)
    labeled: Any = BigRows(table, options) if big else read(table, options, empty=model is None)
    named = ctx.get_parameter_source("label_column") is not ParameterSource.DEFAULT
    if named or label in labeled.names:
        need_columns(labeled, [label], "which --label-column names")
    fields = dict(options["fields"])
    need_columns(labeled, [*fields, *options["ignore"]], "which --field or --ignore names")
    without = {label, *options["ignore"]} if not fields else set()
    known = label if label in labeled.names else None
    if big:
        records, ids = labeled.sample(known, without, options["random_state"])
    else:
        records, ids = labeled.records(without), labeled.column(label) if known else [None] * len(labeled.rows)
    own = records
    unlabeled = all(one is None for one in ids)
    if model is None and not unlabeled:
        raise click.UsageError("Missing option '--model': the file to write")
    clusters = "-" if clusters is None and unlabeled else clusters
    if unlabeled and model is None and not big and not options["unlabeled"] and (copies := _copies(own)) is not None:
        write(*with_column(labeled, label, copies), str(clusters), options)
        note(f"{len(own):,} records, too few or too much the same to learn from: only copies are together")
        return
    if not big:
        chosen = to_learn_from(ids, options["random_state"])
        records, ids = [own[k] for k in chosen], [ids[k] for k in chosen]
    for name in options["unlabeled"]:
        more = read(name, options)
        need_columns(more, fields, "which --field names")
        records = records + more.records(without)
        ids = ids + [None] * len(more.rows)
    names = ("method", "decoder", "C", "threshold", "linkage", "calibrate", "self_training", "n_candidates", "n_jobs")
    settings = {name: options[name] for name in names}
    with lost_if_interrupted(model) if model else if_interrupted("nothing was written"), computing():
        import accord

        fitted = accord.Deduplicator(
            fields or None, **settings, random_state=options["random_state"], verbose=int(not options["quiet"])
        )
        fitted.fit(records, ids)
        found: Any = []
        if clusters:
            found = labeled.clusters(fitted, without) if big else fitted.predict(own)
    fitted.verbose = 0
    if model:
        fitted.save(model)
    if clusters:
        if big:
            labeled.write(label, found, clusters)
        else:
            write(*with_column(labeled, label, found), clusters, options)
    if fitted.interrupted_:
        raise Interrupted(f"{model} has what was learned from labeled records")
    if unlabeled and not options["quiet"]:
        n = len(found) or len(records)
        said = f"{n:,} records without labels in column {label!r}: clustered by how alike they are"
        click.echo(f"{said}, {1 + max(found):,} clusters" if clusters else said, err=True)
    if model and not options["quiet"] and clusters != "-":
        _report(fitted, ids, model)


def _copies(records: list[dict[str, str | None]]) -> list[int] | None:
    """Cluster numbers of copies; None for a table of which more can be said. Records without any cell are apart."""
    from accord.dedupe.values import plain_words

    cells = [tuple((name, plain_words(cell) or cell) for name, cell in one.items() if cell) for one in records]
    if len(records) > 2 and len(set(cells)) > 1:
        return None
    seen: dict[Any, int] = {}
    return [seen.setdefault(own or k, len(seen)) for k, own in enumerate(cells)]


def needed(fitted: Any) -> str:
    """How similar pairs have to be in clusters of improbable sizes, from each size on at which that changes."""
    costs = fitted.size_costs_
    steps = [size for size in range(1, costs.size) if costs[size] > costs[size - 1]]
    return ", ".join(f"{size}{' or more' if size == steps[-1] else ''}: {costs[size]:.2f}" for size in steps)


def _tried(fitted: Any) -> str:
    """What self-training did to held-out records, and whether it was kept."""
    before, after = 100.0 * fitted.held_out_f1_.mean(axis=0)
    kept = "yes" if fitted.self_trained_ else "no"
    return f"{kept}; F1 of pairs of held-out records {before:.1f} % without, {after:.1f} % with it"


def _expected(fitted: Any) -> list[tuple[str, str]]:
    """What was chosen by held-out records, and what it leads to expect."""
    rows = [row for row in fitted.report_ or [] if row["chosen"]]
    return [
        ("chosen", f"similarity {row['similarity']}, linkage {row['linkage']}; expect precision "
         f"{100 * row['precision']:.0f} %, recall {100 * row['recall']:.0f} % of pairs")
        for row in rows
    ]  # fmt: skip


def _report(fitted: Any, ids: list[str | None], model: Path) -> None:
    known = [one for one in ids if one is not None]
    print_pairs(
        f"wrote {model}",
        [
            ("records", f"{len(ids):,}"),
            ("labeled", f"{len(known):,} in {len(set(known)):,} clusters"),
            ("fields", ", ".join(f"{name} ({kind})" for name, kind in fitted.view_.fields_.items())),
            ("calibrated", "no" if fitted.n_calibration_ is None else "yes"),
            *_expected(fitted),
            *([] if fitted.held_out_f1_ is None else [("self-training", _tried(fitted))]),
            *([("similarity", f"at least 0; in clusters of {sizes}")] if (sizes := needed(fitted)) else []),
        ],
    )
    strongest = abs(fitted.weights_).argsort()[::-1][:_N_WEIGHTS]
    lines = [[fitted.view_.names_[k], f"{fitted.weights_[k] * fitted.slope_:+.3f}"] for k in strongest]
    print_table("", ["comparison", "weight"], lines)
