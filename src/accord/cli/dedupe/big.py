"""Tables of ``accord dedupe`` that do not fit into memory: read again and again, row after row, and never kept."""

from __future__ import annotations

import csv
import gzip
import io
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from accord.cli.terminal import set_encoding
from accord.exceptions import FormatError

if TYPE_CHECKING:
    import numpy as np

BIG = 256 << 20  # bytes of a table from which on it is clustered from files
MOST_UNLABELED = 50_000  # records without labels that are learned from
_CHUNK = 20_000  # rows read at a time

work_option = click.option(
    "--work", type=click.Path(path_type=Path),
    help="Cluster from files of this folder, for tables that do not fit into memory. After a kill the same command "
    "goes on where it was.  [default: TABLE.work, for tables of more than 256 MB]",
)  # fmt: skip


class BigRows:
    """A table that is read whenever it is asked for."""

    def __init__(self, source: str, options: dict[str, Any]) -> None:
        self.source, self.options = source, options
        self.names, _, self.name = self._open()
        self.work = options["work"] or Path(f"{source}.work")

    def _open(self) -> tuple[list[str], Iterator[list[str]], str]:
        from accord.datasets.formats.record_table import iter_records

        return iter_records(self.source, self.options["delimiter"], self.options["encoding"])

    def chunks(self) -> Iterator[list[list[str]]]:
        """Rows, some at a time."""
        rows = self._open()[1]
        while chunk := list(islice(rows, _CHUNK)):
            yield chunk

    def records(self, chunk: list[list[str]], without: set[str]) -> list[dict[str, str | None]]:
        """Rows as dicts of the columns that are not left out."""
        from accord.datasets.formats.record_table import RecordRows

        return RecordRows(self.names, chunk, self.name).records(without)

    def sample(self, label: str | None, without: set[str], seed: int | None) -> tuple[list[Any], list[str | None]]:
        """Records and labels to learn from: those with a label, and of the others at most `MOST_UNLABELED`."""
        place = None if label is None else self.names.index(label)
        chosen: dict[int, list[str]] = {}
        luck: dict[int, float] = {}
        for first, chunk, draws in _drawn(self.chunks(), seed):
            for k, row in enumerate(chunk):
                chosen[first + k] = row
                if place is None or not row[place]:
                    luck[first + k] = draws[k]
            _drop(chosen, luck)
        if not chosen:
            raise FormatError("the table has a header but no rows", self.name)
        kept = [chosen[number] for number in sorted(chosen)]
        labels = [None if place is None else row[place] or None for row in kept]
        return self.records(kept, without), labels

    def clusters(self, model: Any, without: set[str]) -> np.ndarray:
        """Cluster numbers of all rows."""
        size = os.stat(self.source)
        name = f"{os.path.realpath(self.source)} {size.st_size} {size.st_mtime_ns}"
        chunks = (self.records(chunk, without) for chunk in self.chunks())
        return model.predict_chunks(chunks, self.work, name, keep=True)

    def write(self, column: str, cells: np.ndarray, output: str) -> None:
        """The table with a column, in place of that of the same name, else in front; then the folder is removed."""
        first, names = 0, self.names if column in self.names else [column, *self.names]
        place = names.index(column)
        with _writing(output, self.options) as write:
            write([names])
            for chunk in self.chunks():
                own = cells[first : first + len(chunk)].tolist()
                first += len(chunk)
                if column in self.names:
                    write([[*row[:place], cell, *row[place + 1 :]] for row, cell in zip(chunk, own)])
                else:
                    write([[cell, *row] for row, cell in zip(chunk, own)])
        shutil.rmtree(self.work)


def is_big(source: str, options: dict[str, Any]) -> bool:
    """Whether a table is to be clustered from files."""
    if options["work"] is not None:
        if source == "-":
            raise click.UsageError("--work needs a table that can be read twice, and standard input cannot")
        return True
    return source != "-" and os.path.isfile(source) and os.path.getsize(source) > BIG


def to_learn_from(ids: list[str | None], seed: int | None) -> list[int]:
    """Places of the rows of a table in memory that :meth:`BigRows.sample` would choose."""
    luck: dict[int, float] = {}
    chosen: dict[int, Any] = dict.fromkeys(range(len(ids)))
    chunks = (ids[first : first + _CHUNK] for first in range(0, len(ids), _CHUNK))
    for first, chunk, draws in _drawn(chunks, seed):
        luck.update((first + k, draws[k]) for k, one in enumerate(chunk) if one is None)
    _drop(chosen, luck)
    return sorted(chosen)


def _drawn(chunks: Any, seed: int | None) -> Iterator[tuple[int, Any, list[float]]]:
    """Chunks with the number of their first row and a random number for each row."""
    import numpy as np

    rng, first = np.random.default_rng(0 if seed is None else seed), 0
    for chunk in chunks:
        yield first, chunk, rng.random(len(chunk)).tolist()
        first += len(chunk)


def _drop(chosen: dict[int, Any], luck: dict[int, float]) -> None:
    """Leave out those with the largest numbers, if there are too many."""
    if len(luck) > MOST_UNLABELED:
        for number in sorted(luck, key=luck.__getitem__)[MOST_UNLABELED:]:
            del chosen[number], luck[number]


@contextmanager
def _writing(output: str, options: dict[str, Any]) -> Iterator[Callable[[list[list[Any]]], None]]:
    """A function that writes rows: to standard output, or to a file that is there at once or not at all."""
    from accord.files import replacing

    delimiter = options["delimiter"] or ","
    if output == "-":
        set_encoding(options["encoding"])
        yield csv.writer(sys.stdout, delimiter=delimiter, lineterminator="\n").writerows
        sys.stdout.flush()
        return
    with replacing(Path(os.path.realpath(output))) as stream:
        packed: Any = gzip.GzipFile(fileobj=stream, mode="wb", mtime=0) if output.endswith(".gz") else stream
        text = io.TextIOWrapper(packed, options["encoding"], newline="")
        yield csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows
        text.flush()
        text.detach()
        if packed is not stream:
            packed.close()
