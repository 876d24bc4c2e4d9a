"""CSV for the commands: tables whose columns have to be those that a model was trained on."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

from accord.cli.reading import Batch, Reader
from accord.cli.targets import read_again, to_numbers
from accord.datasets import iter_csv, read_csv
from accord.datasets.formats.csv_table import Table
from accord.datasets.formats.source import iter_lines, source_name
from accord.exceptions import FormatError


def load_training_csv(reader: Reader, source: str) -> tuple[Batch, Reader]:
    """A whole table with its column kinds found out, and a reader that will read others the same way."""
    label = -1 if reader.label_column is None else reader.label_column
    header = "auto" if reader.header is None else reader.header
    kept: Any = read_again(source, reader.encoding) if reader.numeric else source
    table = read_csv(kept, label, reader.delimiter, header, reader.encoding, categorical=reader.categorical)
    settled = _settled(reader, table)
    y: list[Any] = list(table.y) if reader.unknown_label is None else reader.hide(list(table.y))
    return Batch(table.X, to_numbers(settled, kept, y) if reader.numeric else y), settled


def _settled(reader: Reader, table: Table) -> Reader:
    header = reader.header
    if header is None:  # without a header, columns are named by their numbers
        header = not all(name.isdigit() for name in table.feature_names)
    return replace(
        reader,
        label_column=-1 if reader.label_column is None else reader.label_column,
        header=header,
        feature_names=tuple(table.feature_names),
        categorical=tuple(table.categorical),
    )


def csv_batches(reader: Reader, source: Any, size: int, labeled: bool) -> Iterator[Batch]:
    """Rows in batches, the columns in the order of training."""
    stream = _Peeked(source, reader)
    header = True if reader.header is None else reader.header
    label = _label_column(reader, stream, header, labeled)
    for table in iter_csv(
        stream, label, stream.delimiter, header, reader.encoding,  # type: ignore[arg-type]
        categorical=reader.categorical or (), chunk_size=size,
    ):  # fmt: skip
        yield Batch(_ordered(reader, table, stream.name, header), list(table.y), columns=tuple(table.feature_names))


class _Peeked:
    """The lines of a source with the first one known beforehand, in the shape of an open text file."""

    def __init__(self, source: Any, reader: Reader) -> None:
        self.name = source_name(source)
        lines = iter_lines(source, reader.encoding)
        first = next(lines, None)
        self._lines = lines if first is None else chain([first], lines)
        self.delimiter = reader.delimiter or max(",;\t|", key=lambda d: (first or "").count(d))
        self.cells = [cell.strip() for cell in next(csv.reader([first or ""], delimiter=self.delimiter), [])]

    def read(self, _: int = -1) -> str:
        """Nothing: only asked to tell text from bytes."""
        return ""

    def __iter__(self) -> Iterator[str]:
        return (line + "\n" for line in self._lines)


def _label_column(reader: Reader, stream: _Peeked, header: bool, labeled: bool) -> int | str | None:
    """Where the classes are; None if the file has none, which is only right for prediction."""
    stored = -1 if reader.label_column is None else reader.label_column
    n_known = len(reader.feature_names) if reader.feature_names is not None else reader.n_features
    if labeled or n_known is None:
        return stored if labeled else reader.label_column
    if header and reader.feature_names is not None:
        others = [name for name in stream.cells if name not in reader.feature_names]
        if len(others) > 1:
            raise FormatError(
                f"the columns {others} are no features of the model; leave all but the class out", stream.name, 1
            )
        return others[0] if others else None
    if len(stream.cells) != n_known:
        return stored
    if reader.categorical and stored not in (-1, n_known):
        message = f"the column of the class ({stored}) is missing; keep it (it may be empty), or use a header"
        raise FormatError(message, stream.name, 1)
    return None


def _ordered(reader: Reader, table: Table, name: str, header: bool) -> Any:
    """The features of a table as the model knows them."""
    if not header or reader.feature_names is None:
        return table.X
    missing = [column for column in reader.feature_names if column not in table.feature_names]
    if missing:
        raise FormatError(f"the column {missing[0]!r} is missing, which the model was trained on", name, 1)
    if isinstance(table.X, list):
        return table.X
    return table.X[:, [table.feature_names.index(column) for column in reader.feature_names]]
