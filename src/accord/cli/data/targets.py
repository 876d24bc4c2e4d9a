"""Numbers to predict, in the column where other data have labels; what is no number is an error that knows its line."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any

from accord.cli.data.batch import Batch
from accord.cli.data.layout import Layout
from accord.datasets.formats import named_rows
from accord.datasets.formats.source import iter_lines, source_name
from accord.exceptions import FormatError


class Lines:
    """Lines in the shape of an open text file."""

    def __init__(self, name: str, lines: Iterable[str]) -> None:
        self.name, self._lines = name, lines

    def read(self, _: int = -1) -> str:
        """Nothing: only asked to tell text from bytes."""
        return ""

    def __iter__(self) -> Iterator[str]:
        return (line + "\n" for line in self._lines)


def read_again(source: Any, encoding: str) -> Any:
    """The source, or what it held if it can be read only once."""
    return Lines(source_name(source), list(iter_lines(source, encoding))) if source == "-" else source


def delimiter_of(layout: Layout, first: str) -> str:
    """What separates the cells of a table: as given, or as its first line looks."""
    return layout.delimiter or max(",;\t|", key=first.count)


def with_targets(layout: Layout, source: Any, batches: Iterable[Batch]) -> Iterator[Batch]:
    """Batches with numbers for the text in the label column."""
    n = 0
    for batch in batches:
        yield batch._replace(Y=to_numbers(layout, source, batch.Y, n))
        n += len(batch.Y)


def to_numbers(layout: Layout, source: Any, Y: list[Any], first: int = 0) -> list[float | None]:
    """Targets as numbers, None where unlabeled; `first` examples of the source came before them."""
    out = []
    for i, text in enumerate(Y, first):
        value = None if text is None else _number(text)
        if value is not None and not math.isfinite(value):
            raise FormatError(
                f"the target {text!r} is not a finite number; if it stands for no target, leave it out or give it as "
                "--unknown-label",
                source_name(source),
                _line(layout, source, i),
            )
        out.append(value)
    return out


def as_numbers(lines: list[str], name: str) -> list[float]:
    """The numbers of a file that holds one in each line."""
    found = [_number(text) for text in lines]
    for k, (text, value) in enumerate(zip(lines, found), 1):
        if not math.isfinite(value):
            raise FormatError(f"{text!r} is not a finite number; expected one number per line", name, k)
    return found


def _number(text: str) -> float:
    """The number, or nan for text that is none."""
    try:
        return float(text) if "_" not in text else math.nan  # Python reads 1_000 as a number, no other tool does
    except ValueError:
        return math.nan


def _line(layout: Layout, source: Any, example: int) -> int:
    """On which line an example ends, found by reading once more, as the readers do."""
    if layout.format in named_rows.FORMATS:
        named = named_rows.named_rows(layout.format, source, layout.encoding)
        return next(number for number, _ in islice(named.rows, example, None))
    lines = iter_lines(source, layout.encoding)
    if layout.format == "csv":
        first = next(lines, "")
        rows = csv.reader((line + "\n" for line in chain([first], lines)), delimiter=delimiter_of(layout, first))
        numbers = (rows.line_num for row in rows if row)
        return next(islice(numbers, example + (layout.header is not False), None))
    filled = (k for k, line in enumerate(lines, 1) if layout.format == "text" or line.partition("#")[0].strip())
    return next(islice(filled, example, None))
