"""Tables of ``accord dedupe``: reading with checks of columns, writing at once or not at all."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from accord.cli.option_types import Parsed
from accord.cli.terminal import quiet_option, set_encoding
from accord.dedupe.values import KINDS
from accord.exceptions import FormatError, InputError

if TYPE_CHECKING:
    from accord.datasets.formats.record_table import RecordRows


def _field(text: str) -> tuple[str, str]:
    name, mark, kind = text.rpartition("=")
    if not mark or not name or kind not in KINDS:
        raise ValueError
    return name, kind


FIELD = Parsed("NAME=KIND", _field, f"a column and its kind ({', '.join(KINDS)}), such as name=text")


def read(source: str, options: dict[str, Any], empty: bool = False) -> RecordRows:
    """A table with at least one row, unless it may be `empty`."""
    from accord.datasets.formats.record_table import read_records

    table = read_records(source, options["delimiter"], options["encoding"])
    if not table.rows and not empty:
        raise FormatError("the table has a header but no rows", table.name)
    return table


def need_columns(table: Any, names: Any, why: str) -> None:
    """Complain about a column that is not there."""
    for name in names:
        if name not in table.names:
            raise FormatError(
                f"there is no column {name!r}, {why}; the columns are {', '.join(table.names)}", table.name, 1
            )


def records_for(model: Any, table: RecordRows) -> list[dict[str, str | None]]:
    """Rows of a table that has all fields of a model."""
    need_columns(table, model.view_.fields_, "which the model compares")
    return table.records()


def write(names: list[str], rows: list[list[Any]], output: str, options: dict[str, Any]) -> None:
    """Write a table to a file, at once or not at all, or to standard output."""
    from accord.datasets.formats.record_table import format_records, packed_records
    from accord.files import write_file

    text = format_records(names, rows, options["delimiter"] or ",")
    if output == "-":
        set_encoding(options["encoding"])
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        write_file(output, packed_records(text, output, options["encoding"]))


def with_column(table: RecordRows, name: str, cells: list[Any]) -> tuple[list[str], list[list[Any]]]:
    """The table with a column of these cells: in place of that of the same name, else in front."""
    if name in table.names:
        k = table.names.index(name)
        return table.names, [[*row[:k], cell, *row[k + 1 :]] for row, cell in zip(table.rows, cells)]
    return [name, *table.names], [[cell, *row] for row, cell in zip(table.rows, cells)]


def load_as(path: str, *kinds: str) -> Any:
    """A model or an index from a file."""
    import accord
    from accord.dedupe.stored_index import is_index_file

    found = accord.StoredIndex(path) if is_index_file(path) else accord.load(path)
    if type(found).__name__ not in kinds:
        raise InputError(f"{path} holds a {type(found).__name__}; `accord dedupe` needs a {' or a '.join(kinds)}")
    return found


def table_options(function: Any) -> Any:
    """The options that all commands about tables share."""
    for option in (
        click.option(
            "--label-column", "--labels-column", default="cluster_id", show_default=True,
            help="Column of the clusters; records with the same entry belong together.",
        ),
        click.option("--delimiter", help="Separator of cells.  [default: found out; comma in what is written]"),
        click.option("--encoding", default="utf-8", show_default=True, help="Encoding of the tables."),
        click.option("--n-jobs", type=int, default=1, show_default=True, help="Threads."),
        quiet_option,
    ):  # fmt: skip
        function = option(function)
    return function
