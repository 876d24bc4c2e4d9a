"""Tables of records: a header, then one record per row, cells kept as text (empty cells as None)."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike, fspath
from typing import NamedTuple

from accord.datasets.formats.csv_table import TableReader
from accord.datasets.formats.named_rows import NamedRows, named_rows
from accord.datasets.formats.source import Source


class RecordRows(NamedTuple):
    """A table as it is in the file.

    Attributes
    ----------
    names : list of str
        The header.
    rows : list of list of str
        Cells, as many as there are names, without blanks around them.
    name : str
        Of the file, for error messages.
    """

    names: list[str]
    rows: list[list[str]]
    name: str

    def records(self, without: Iterable[str] = ()) -> list[dict[str, str | None]]:
        """Rows as dicts of the columns that are not left out."""
        left_out = set(without)
        kept = [(k, name) for k, name in enumerate(self.names) if name not in left_out]
        return [{name: row[k] or None for k, name in kept} for row in self.rows]

    def column(self, name: str) -> list[str | None]:
        """Cells of one column."""
        k = self.names.index(name)
        return [row[k] or None for row in self.rows]


def read_records(source: Source, delimiter: str | None = None, encoding: str = "utf-8") -> RecordRows:
    """Read a delimited table with a header, or a Parquet file.

    A row with more or fewer cells than the header is an error that says where; the second column of one name gets a
    number (``name (2)``) and a warning.

    Examples
    --------
    >>> import io
    >>> read_records(io.StringIO("name,city\\nAnn,\\n")).records()
    [{'name': 'Ann', 'city': None}]
    """
    names, rows, name = iter_records(source, delimiter, encoding)
    return RecordRows(names, list(rows), name)


def iter_records(
    source: Source, delimiter: str | None = None, encoding: str = "utf-8"
) -> tuple[list[str], Iterator[list[str]], str]:
    """Header, rows one after another, and name of a table that may be too large for memory, see `read_records`."""
    rows: Source | NamedRows = source
    if isinstance(source, (str, PathLike)) and fspath(source).endswith(".parquet"):
        rows = named_rows("parquet", source)
    reader = TableReader(rows, None, delimiter, True, encoding)
    names = reader.take_header(numbered=True)
    return names, (row for _, row in reader.checked()), reader.name


def format_records(names: Sequence[str], rows: Iterable[Sequence[object]], delimiter: str = ",") -> str:
    """A table as text."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return out.getvalue()


def packed_records(text: str, path: str, encoding: str = "utf-8") -> bytes:
    """The bytes of a file of that name: gzip-compressed if it ends in ``.gz``."""
    data = text.encode(encoding)
    return gzip.compress(data, mtime=0) if path.endswith(".gz") else data
