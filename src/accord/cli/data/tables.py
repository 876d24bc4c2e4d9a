"""Tables for the commands, CSV or rows that name their cells: columns have to be those of training."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Any

from accord.cli.data.batch import Batch
from accord.cli.data.columns import Columns
from accord.cli.data.layout import Layout
from accord.cli.data.targets import Lines, delimiter_of, read_again, to_numbers
from accord.cli.terminal import note
from accord.datasets import iter_csv, read_csv
from accord.datasets.formats import named_rows
from accord.datasets.formats.cells import named_label
from accord.datasets.formats.csv_table import Table
from accord.datasets.formats.source import iter_lines, source_name
from accord.exceptions import FormatError


def load_table(layout: Layout, source: str) -> tuple[Batch, Layout]:
    """A whole table with its column kinds found out, and the layout to read others the same way."""
    header: Any = "auto" if layout.header is None else layout.header
    kept: Any = read_again(source, layout.encoding) if layout.task.numeric else source
    rows, target = kept, layout.target
    if layout.format in named_rows.FORMATS:
        rows = named_rows.named_rows(layout.format, kept, layout.encoding)
        header = True
    columns = Columns(layout, source_name(source))
    table = read_csv(
        rows, target, layout.delimiter, header, layout.encoding,
        categorical=layout.categorical, texts=layout.text_columns, first=layout.named, finite=True, choose=columns,
    )  # fmt: skip
    if len(table.feature_names) <= len(layout.named):
        found = "are no columns but names, links and labels" if layout.named else "is a single column"
        raise FormatError(
            f"there {found}; expected one with labels (empty where there is none) and others to learn from",
            source_name(source),
        )
    if not table.y:
        raise FormatError("there are no rows below the first; expected one per example", source_name(source))
    if header == "auto":  # without a header, columns are named by their numbers
        header = not all(name.isdigit() for name in table.feature_names)
    node, link = [*table.texts[: len(layout.named)], None, None][:2]
    settled = replace(
        layout, label_column=columns.settled(layout, bool(header)), header=header,
        feature_names=tuple(table.feature_names), categorical=tuple(table.categorical),
        text_columns=tuple(table.texts), node_column=node, link_column=link, left_out=tuple(columns.left_out),
    )  # fmt: skip
    for line in columns.said(settled):
        note(line)
    y: list[Any] = layout.hide(list(table.y))
    return Batch(table.X, to_numbers(settled, kept, y) if layout.task.numeric else y), settled


def table_batches(layout: Layout, source: Any, size: int, labeled: bool) -> Iterator[Batch]:
    """Rows in batches, the columns in the order of training."""
    stream: _Peeked | _Named = (_Peeked if layout.format == "csv" else _Named)(source, layout)
    label = _label_column(layout, stream, labeled)
    unknown = _unknown(layout, stream, label)
    if unknown:
        note(f"{stream.name}: left out {', '.join(map(repr, unknown))}, unknown to the model")
    for table in iter_csv(
        stream.rows, label, stream.delimiter, stream.header, layout.encoding,
        categorical=layout.categorical or (), texts=layout.text_columns or (),
        without=[*(layout.left_out or ()), *unknown], chunk_size=size, finite=True,
    ):  # fmt: skip
        yield Batch(_ordered(layout, table, stream), list(table.y), columns=tuple(table.feature_names))


class _Peeked(Lines):
    """The lines of a CSV file with the cells of the first one known beforehand."""

    def __init__(self, source: Any, layout: Layout) -> None:
        lines = iter_lines(source, layout.encoding)
        head = list(islice(lines, 1))
        if not head:
            raise FormatError("the file is empty; expected one row per example", source_name(source))
        super().__init__(source_name(source), chain(head, lines))
        self.rows: Any = self
        self.header = True if layout.header is None else layout.header
        self.delimiter = delimiter_of(layout, "".join(head))
        self.cells = [cell.strip() for row in csv.reader(head, delimiter=self.delimiter) for cell in row]
        by_name = named_label(self.cells) if layout.label_column is None and self.header else None
        self.target = layout.target if by_name is None else by_name


class _Named:
    """The same of a table whose rows name their cells."""

    header, delimiter = True, None

    def __init__(self, source: Any, layout: Layout) -> None:
        label = [layout.label_column] if isinstance(layout.label_column, str) else []
        known = None if layout.feature_names is None else [*layout.feature_names, *label]
        self.rows: Any = named_rows.named_rows(str(layout.format), source, layout.encoding, known or label)
        self.name, self.cells = self.rows.name, self.rows.columns
        self.target = _target(layout, self.cells)


def _target(layout: Layout, columns: Sequence[str]) -> int | str:
    """The column of labels by name, where all columns have names; as it was given if there is none."""
    target = layout.target
    if layout.label_column is None and (by_name := named_label(columns)) is not None:
        return by_name
    return columns[target] if isinstance(target, int) and -len(columns) <= target < len(columns) else target


def _label_column(layout: Layout, stream: _Peeked | _Named, labeled: bool) -> int | str | None:
    """Where the classes are; None if the file has none, which is only right for prediction."""
    n_known = len(layout.feature_names) if layout.feature_names is not None else layout.n_features
    if labeled or n_known is None:
        return stream.target if labeled else layout.label_column
    if stream.header and layout.feature_names is not None:
        _require_columns(layout, stream.cells, stream.name)
        if layout.label_column in stream.cells:
            return layout.label_column
        unknown = _unknown(layout, stream, None)
        return unknown[0] if len(unknown) == 1 else named_label(unknown)
    if len(stream.cells) != n_known:
        return stream.target
    if (layout.categorical or layout.text_columns) and layout.target not in (-1, n_known):
        message = f"the column of the class ({layout.target}) is missing; keep it (it may be empty), or use a header"
        raise FormatError(message, stream.name, 1)
    return None


def _unknown(layout: Layout, stream: _Peeked | _Named, label: int | str | None) -> list[str]:
    """Columns that are neither features of the model, nor the label, nor names of rows."""
    if not stream.header or layout.feature_names is None:
        return []
    within = isinstance(label, int) and -len(stream.cells) <= label < len(stream.cells)
    target = stream.cells[label] if within else label  # type: ignore[index]
    known = {*layout.feature_names, *(layout.left_out or ()), target}
    return [name for name in stream.cells if name not in known]


def _ordered(layout: Layout, table: Table, stream: _Peeked | _Named) -> Any:
    """The features of a table as the model knows them."""
    if not stream.header or layout.feature_names is None:
        return table.X
    _require_columns(layout, table.feature_names, stream.name)
    if isinstance(table.X, list):
        return table.X
    return table.X[:, [table.feature_names.index(column) for column in layout.feature_names]]


def _require_columns(layout: Layout, found: Sequence[str], name: str) -> None:
    """Whether the columns are there that the model was trained on."""
    missing = next((column for column in layout.feature_names or () if column not in found), None)
    if missing is not None:
        message = f"the column {missing!r} is missing, which the model was trained on"
        if layout.holds_one_text:
            message += "; if every line is a text, give --format text"
        raise FormatError(message, name, 1)
