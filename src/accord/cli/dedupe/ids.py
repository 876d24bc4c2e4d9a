"""``accord dedupe show``, ``merge``, ``split``, ``undo``, ``history`` and ``export``: people correct an index."""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING, Any

import click

from accord.cli.dedupe.tables import load_as, write
from accord.cli.places import check_outputs
from accord.cli.program import debug_option
from accord.cli.terminal import note, print_table, quiet_option
from accord.exceptions import InputError

if TYPE_CHECKING:
    from accord.dedupe.redirects import Event
    from accord.dedupe.stored_index import StoredIndex

_why_option = click.option("--why", default="", help="A reason, kept in the history.")


@click.command(short_help="The records of one id of an index.")
@click.argument("index")
@click.argument("id")
@debug_option
def show(index: str, id: str) -> None:
    """Print the records of the cluster that ID leads to, with their numbers, which `split` takes.

    \b
    Example:
      accord dedupe show people.index 17
    """
    with _open(index) as stored:
        known = _known(stored, id)
        current = stored.resolve(known)
        members = stored.members(known)
        records = [stored.record(k) for k in members]
    if current != known:
        click.echo(f"{id} was merged into {current}", err=True)
    names = list(records[0])
    rows = [[str(k), *_cells(one, names)] for k, one in zip(members, records)]
    print_table("", ["record", *names], rows, left=1 + len(names))


@click.command(short_help="Put two clusters of an index together.")
@click.argument("index")
@click.argument("keep")
@click.argument("other")
@_why_option
@quiet_option
@debug_option
def merge(index: str, keep: str, other: str, why: str, **_: Any) -> None:
    """Put the records of OTHER to those of KEEP. The id OTHER stays known, leads to KEEP and is never given again.

    \b
    Example:
      accord dedupe merge people.index 17 42 --why "same passport"
    """
    with _open(index) as stored:
        kept = stored.merge(_known(stored, keep), _known(stored, other), why)
        n = len(stored.members(kept))
    note(f"{other} leads to {kept} now, which has {n:,} records; `accord dedupe undo {index}` takes it back")


@click.command(short_help="Give some records of a cluster of an index a fresh id.")
@click.argument("index")
@click.argument("id")
@click.argument("records", type=click.IntRange(min=0), nargs=-1, required=True)
@_why_option
@quiet_option
@debug_option
def split(index: str, id: str, records: tuple[int, ...], why: str, **_: Any) -> None:
    """Take RECORDS (numbers that `show` prints) out of the cluster ID and give them a fresh id, which is printed.

    \b
    Example:
      accord dedupe split people.index 17 203 204 --why "father and son"
    """
    with _open(index) as stored:
        fresh = stored.split(_known(stored, id), list(records), why)
    click.echo(fresh)
    note(f"{len(records):,} records of {id} are {fresh} now; `accord dedupe undo {index}` takes it back")


@click.command(short_help="Take back a merge or a split of an index.")
@click.argument("index")
@click.argument("event", type=click.IntRange(min=1), required=False)
@_why_option
@quiet_option
@debug_option
def undo(index: str, event: int | None, why: str, **_: Any) -> None:
    """Take back the last merge or split, or that with the number EVENT of `history`. This can be taken back as well.

    \b
    Examples:
      accord dedupe undo people.index
      accord dedupe undo people.index 3
    """
    with _open(index) as stored:
        done = stored.undo(event, why)
    note(f"{len(done.records):,} records went from {done.source} to {done.target}: {done.kind}")


@click.command(short_help="What was merged, split and undone in an index.")
@click.argument("index")
@click.argument("id", required=False)
@debug_option
def history(index: str, id: str | None) -> None:
    """Print what people changed, of one ID or of all, oldest first.

    \b
    Example:
      accord dedupe history people.index
    """
    with _open(index) as stored:
        events = stored.history(None if id is None else _known(stored, id))
    if not events:
        click.echo("nothing was merged or split", err=True)
        return
    columns = ["event", "when", "what", "from", "to", "records", "undone by", "why"]
    print_table("", columns, [_line(event) for event in events], left=len(columns))


@click.command(short_help="Write the records of an index as a table.")
@click.argument("index")
@click.option("--output", "-o", default="-", show_default=True, help="File to write to; - is standard output.")
@click.option("--label-column", default="cluster_id", show_default=True, help="Column of the ids.")
@click.option("--delimiter", default=",", show_default=True, help="Separator of cells.")
@click.option("--encoding", default="utf-8", show_default=True, help="Encoding of the table.")
@quiet_option
@debug_option
def export(index: str, output: str, label_column: str, **options: Any) -> None:
    """Write all records of an index, in the order in which they came, with the ids that they have now in front.

    \b
    Example:
      accord dedupe export people.index --output clustered.csv
    """
    check_outputs({"--output": output}, (index,))
    with _open(index) as stored:
        names = list(stored.model.view_.fields_)
        rows = [[one, *_cells(record, names)] for one, record in stored]
    if label_column in names:
        raise InputError(f"--label-column is {label_column!r}, which is a column of the records; name another")
    write([label_column, *names], rows, output, options)
    note(f"{len(rows):,} records, {len({row[0] for row in rows}):,} clusters")


def _open(index: str) -> StoredIndex:
    from accord.dedupe.stored_index import is_index_file

    if os.path.isfile(index) and not is_index_file(index):
        made = f"accord dedupe apply MODEL TABLE --index {os.path.splitext(index)[0]}.index"
        raise InputError(f"{index} is no index of records; `{made}` makes one from a model and a table")
    stored: StoredIndex = load_as(index, "StoredIndex")
    return stored


def _known(stored: StoredIndex, text: str) -> Any:
    """The id that somebody typed: a text, or a number."""
    candidates: list[Any] = [text]
    with contextlib.suppress(ValueError):
        candidates.append(int(text))
    for one in candidates:
        with contextlib.suppress(InputError):
            stored.resolve(one)
            return one
    raise InputError(f"{text!r} was never an id of {stored.path}; `accord dedupe export {stored.path}` lists them all")


def _cells(record: dict[str, Any], names: list[str]) -> list[str]:
    return ["" if record[name] is None else str(record[name]) for name in names]


def _line(event: Event) -> list[str]:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(event.at))
    undone = "" if event.undone is None else str(event.undone)
    return [
        str(event.number), when, event.kind, str(event.source), str(event.target), str(len(event.records)), undone,
        event.why,
    ]  # fmt: skip
