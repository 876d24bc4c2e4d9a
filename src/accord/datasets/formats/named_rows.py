"""Tables whose rows name their cells, JSON lines and Parquet, as rows of text like those of a CSV file.

So one reader of columns (`csv_table`) does for all of them: which columns hold numbers, words or free text is found out
from what is written there. Nothing, ``null`` and nan are empty cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

from accord.datasets.formats.json_lines import iter_json_lines
from accord.datasets.formats.source import Source, iter_lines, source_name
from accord.exceptions import FormatError, MissingExtraError

FORMATS = ("jsonl", "parquet")
_EXACT = 2**53  # whole numbers below are the same as floats
_BATCH = 4096


class NamedRows(NamedTuple):
    """The columns of a table, and its rows, each with the number of its line."""

    name: str
    columns: list[str]
    rows: Iterator[tuple[int, list[str]]]

    def numbered(self) -> Iterator[tuple[int, list[str]]]:
        """All rows, the names of columns first."""
        return chain([(1, self.columns)], self.rows)


def named_rows(form: str, source: Source, encoding: str = "utf-8", known: Sequence[str] | None = None) -> NamedRows:
    """The rows of a file; with ``known`` columns, it is not read as a whole before the first row comes.

    Lines of "text" are the first column known, or, before a tab, the second one.
    """
    if form == "text":
        return _text(source, encoding, list(known or ()))
    return _parquet(source) if form == "parquet" else _json(source, encoding, known)


# -- text -----------------------------------------------------------------------------------------------------------
def _text(source: Source, encoding: str, columns: list[str]) -> NamedRows:
    def rows() -> Iterator[tuple[int, list[str]]]:
        for number, line in enumerate(iter_lines(source, encoding), 1):
            label, tab, text = line.partition("\t")
            yield number, [text.strip(), label.strip()][: len(columns)] if tab else [line.strip(), ""][: len(columns)]

    return NamedRows(source_name(source), columns, rows())


# -- JSON lines -----------------------------------------------------------------------------------------------------
def _json(source: Source, encoding: str, known: Sequence[str] | None) -> NamedRows:
    name = source_name(source)
    found = iter_json_lines(source, encoding, 'expected an object such as {"text": "...", "label": "..."}')
    seen = list(islice(found, None if known is None else 1))
    if not seen:
        raise FormatError("the file is empty; expected one row per example", name)
    columns = list(dict.fromkeys([*(known or ()), *chain.from_iterable(entry for _, entry in seen)]))
    return NamedRows(name, columns, _json_rows(name, columns, chain(seen, found)))


def _json_rows(
    name: str, columns: list[str], found: Iterable[tuple[int, dict[str, Any]]]
) -> Iterator[tuple[int, list[str]]]:
    places = set(columns)
    for number, entry in found:
        if not entry.keys() <= places:
            new = next(key for key in entry if key not in places)
            raise FormatError(f"{new!r} is new here; the columns are {columns}", name, number)
        try:
            yield number, [_cell(entry.get(column)) for column in columns]
        except TypeError:
            key, value = next((k, v) for k, v in entry.items() if isinstance(v, (dict, list)))
            message = f"{key!r} is a {type(value).__name__}; expected text, a number, true, false or null"
            raise FormatError(message, name, number) from None


# -- Parquet --------------------------------------------------------------------------------------------------------
def _parquet(source: Source) -> NamedRows:
    name = source_name(source)
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError(
            f"{name}: a Parquet file needs pyarrow, which is not installed; install it with: "
            "pip install 'accord-ml[parquet]'"
        ) from None
    if source == "-":
        raise FormatError("a Parquet file is not read from front to back; give its path", name)
    try:
        opened = parquet.ParquetFile(source)
    except (pyarrow.ArrowException, OSError) as error:
        if isinstance(error, (FileNotFoundError, PermissionError, IsADirectoryError)):
            raise
        raise FormatError(f"no Parquet file ({error})", name) from None
    columns = opened.schema_arrow.names
    return NamedRows(name, columns, _parquet_rows(name, columns, opened.iter_batches(_BATCH), pyarrow.ArrowException))


def _parquet_rows(name: str, columns: list[str], batches: Any, damaged: Any) -> Iterator[tuple[int, list[str]]]:
    number = 0
    try:
        for batch in batches:
            for row in zip(*(column.to_pylist() for column in batch.columns)):
                number += 1
                yield number, [_cell(value) for value in row]
    except TypeError:
        column, value = next((c, v) for c, v in zip(columns, row) if isinstance(v, (dict, list, bytes)))
        message = f"the column {column!r} holds a {type(value).__name__}; expected text, numbers, truth values or dates"
        raise FormatError(message, name, number) from None
    except (damaged, OSError) as error:
        raise FormatError(f"a damaged Parquet file ({error})", name) from None


def _cell(value: Any) -> str:
    """What would stand in a CSV file."""
    if isinstance(value, str):
        return value.strip()
    if value is None or value != value:
        return ""
    if isinstance(value, (dict, list, bytes)):
        raise TypeError
    if isinstance(value, bool):
        return str(value).lower()
    whole = isinstance(value, float) and value.is_integer() and abs(value) < _EXACT
    return str(int(value)) if whole else str(value)
