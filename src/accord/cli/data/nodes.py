"""Which column of a table has the names of its rows, if links tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import click

from accord.cli.data.layout import Layout
from accord.exceptions import InputError


def with_node_column(layout: Layout, source: str, links: str) -> Layout:
    """The layout with the column of names, as given, or else that in which no name is twice and most have links."""
    if not layout.is_table or layout.task.numeric:
        raise click.UsageError("--links join rows of a table that have classes; give one, with --format csv")
    if layout.node_column is not None:
        return layout
    if source == "-":
        raise click.UsageError("--links: say by --node-column where the names of rows from standard input are")
    from accord.views.links import read_links

    ends = read_links(links).ends()
    linked, columns = set(ends), _columns(layout, source)
    known = [len(linked.intersection(cells)) if len(set(cells)) == len(cells) else 0 for _, cells in columns]
    if not any(known):
        raise InputError(
            f"no column of {source} has names of the nodes of {links}, such as {ends[0]!r}; say by --node-column "
            "which one it is"
        )
    column, cells = columns[known.index(max(known))]
    above = layout.header is None and cells[0] not in linked  # a name of the column
    return replace(layout, node_column=column, header=True if above else layout.header)


def _columns(layout: Layout, source: str) -> list[tuple[int | str, Sequence[str]]]:
    """Cells of all columns; of a CSV file with those of its header, if it has one, and numbers as names."""
    from accord.datasets.formats import named_rows
    from accord.datasets.formats.csv_table import TableReader

    if layout.format in named_rows.FORMATS:
        read = named_rows.named_rows(str(layout.format), source, layout.encoding)
        return list(zip(read.columns, zip(*(cells for _, cells in read.rows))))
    rows = TableReader(source, None, layout.delimiter, False, layout.encoding).checked()
    return list(enumerate(zip(*(cells for _, cells in rows))))
