"""Numbers to predict, in the column where other data have labels; what is no number is an error that knows its line."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from accord.datasets.formats.source import iter_lines, source_name
from accord.exceptions import FormatError

if TYPE_CHECKING:
    from accord.cli.reading import Batch, Reader


class KeptInput:
    """The lines of standard input in the shape of an open text file, so that a line can be looked up afterwards."""

    name = source_name("-")

    def __init__(self, encoding: str) -> None:
        self._lines = list(iter_lines("-", encoding))

    def read(self, _: int = -1) -> str:
        """Nothing: only asked to tell text from bytes."""
        return ""

    def __iter__(self) -> Iterator[str]:
        return (line + "\n" for line in self._lines)


def read_again(source: Any, encoding: str) -> Any:
    """The source, or what it held if it can be read only once."""
    return KeptInput(encoding) if source == "-" else source


def with_targets(reader: Reader, source: Any, batches: Iterable[Batch]) -> Iterator[Batch]:
    """Batches with numbers for the text in the label column."""
    n = 0
    for batch in batches:
        yield batch._replace(Y=to_numbers(reader, source, batch.Y, n))
        n += len(batch.Y)


def to_numbers(reader: Reader, source: Any, Y: list[Any], first: int = 0) -> list[float | None]:
    """Targets as numbers, None where unlabeled; `first` examples of the source came before them."""
    out = []
    for i, text in enumerate(Y, first):
        value = None if text is None else as_number(text)
        if value is not None and not math.isfinite(value):
            raise FormatError(
                f"the target {text!r} is not a finite number; if it stands for no target, leave it out or give it as "
                "--unknown-label",
                source_name(source),
                _line(reader, source, i),
            )
        out.append(value)
    return out


def as_number(text: str) -> float:
    """The number, or nan for text that is none."""
    try:
        return float(text) if "_" not in text else math.nan  # Python reads 1_000 as a number, no other tool does
    except ValueError:
        return math.nan


def _line(reader: Reader, source: Any, example: int) -> int:
    """On which line an example ends, found by reading once more, as the readers do."""
    lines = iter_lines(source, reader.encoding)
    if reader.format == "csv":
        first = next(lines, "")
        delimiter = reader.delimiter or max(",;\t|", key=first.count)
        rows = csv.reader((line + "\n" for line in chain([first], lines)), delimiter=delimiter)
        numbers = (rows.line_num for row in rows if row)
        return next(islice(numbers, example + (reader.header is not False), None))
    filled = (k for k, line in enumerate(lines, 1) if reader.format == "text" or line.partition("#")[0].strip())
    return next(islice(filled, example, None))
