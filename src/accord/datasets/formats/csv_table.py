"""Delimited tables (CSV, TSV, semicolons): one example per row, the class in one column.

What a column becomes: if every cell is a number (or empty) it is *numeric*; if most cells have several words and are
unlike all others it is *free text*; otherwise it is *categorical*; one unparsable cell, such as ``?``, makes the whole
column categorical. If all columns are numeric, X is a float array with ``nan`` for empty cells. If there is free text,
see `Table`. Otherwise X is a list of dicts, one per row, for `DictFeatures` or scikit-learn's ``DictVectorizer``:
``{"age": 41.0, "city=Rome": 1.0}``, empty cells left out.
"""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, count, islice
from typing import Any, NamedTuple

import numpy as np

from accord.datasets.formats.cells import floats, is_free_text, is_header, is_number
from accord.datasets.formats.named_rows import NamedRows
from accord.datasets.formats.source import Source, iter_lines, source_name
from accord.exceptions import FormatError, InputError

_DELIMITERS = ",;\t|"
_LONGEST_TEXT = 2**31 - 1  # of the csv module's own limit, 128 KB, texts know nothing
_HINT = re.compile(r'"?sep=."?', re.IGNORECASE)
Column = int | str
# From the names of all columns, their cells and the place of the label's, if it was given: where the labels are, and
# the names of columns to leave out.
Chooser = Callable[[list[str], list[Sequence[str]], int | None], tuple[int, list[str]]]


class Table(NamedTuple):
    """A table read from a file.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features), or list of dict
        See the module's description. If all features are one column of free text, a list of strings, for
        `TextFeatures`. If there are other columns beside free text, a list of tuples: the texts, then a dict of the
        other columns, for ``Select(0, TextFeatures())``, ..., ``Select(-1, DictFeatures())``.
    y : list of (str, or None)
        Classes; None where the label cell is empty or there is no label column.
    feature_names : list of str
        Names of the columns but the label's: from the header, else ``"0"``, ``"1"``, ... by position in the file.
    categorical : list of str
        Those of them that hold words, as categories. Pass it when reading data for the same model again.
    texts : list of str
        Those of them that are free text. Pass it, too.

    Examples
    --------
    >>> import io
    >>> table = read_csv(io.StringIO("age,city,kind\\n41,Rome,a\\n38,Oslo,\\n"), label_column="kind")
    >>> table.X, table.y, table.categorical
    ([{'age': 41.0, 'city=Rome': 1.0}, {'age': 38.0, 'city=Oslo': 1.0}], ['a', None], ['city'])
    """

    X: Any
    y: list[str | None]
    feature_names: list[str]
    categorical: list[str]
    texts: list[str]


class TableReader:
    """Rows of one file with their line numbers, after its header."""

    def __init__(
        self,
        source: Source | NamedRows,
        label_column: Column | None,
        delimiter: str | None,
        header: bool | str,
        encoding: str,
    ) -> None:
        if header not in (True, False, "auto"):
            raise InputError(f"header must be True, False or 'auto', got {header!r}")
        self.header = True if isinstance(label_column, str) or isinstance(source, NamedRows) else header
        if isinstance(source, NamedRows):
            self.name, rows = source.name, source.numbered()
        else:
            self.name = source_name(source)
            rows = self._rows(source, delimiter, encoding)
        first = next(rows, None)
        if first is None:
            raise FormatError("the file is empty; expected one row per example", self.name)
        self.width = len(first[1])
        self.rows: Iterator[tuple[int, list[str]]] = chain([first], rows)
        self.label_column = label_column
        if self.header == "auto" and any(is_number(cell) for cell in first[1]):
            self.header = False  # a header names columns, it does not count them

    def _rows(self, source: Source, delimiter: str | None, encoding: str) -> Iterator[tuple[int, list[str]]]:
        lines = iter_lines(source, encoding)
        head = list(islice(lines, 1))
        if delimiter is None:
            counts = {d: head[0].count(d) for d in _DELIMITERS} if head else {",": 0}
            delimiter = max(counts, key=lambda d: counts[d])
        if head and _HINT.fullmatch(head[0]):
            raise FormatError(f"the first line, {head[0]!r}, is meant for a spreadsheet; remove it", self.name, 1)
        begins = 1  # the line on which a row begins
        csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_TEXT))
        # the reader wants line ends, to keep those inside quotes
        reader = csv.reader((line + "\n" for line in chain(head, lines)), delimiter=delimiter, strict=True)
        try:
            for row in reader:
                if row:
                    yield reader.line_num, [cell.strip() for cell in row]
                begins = reader.line_num + 1
        except csv.Error as error:
            raise FormatError(_what_is_wrong(str(error)), self.name, begins if reader.line_num else None) from error

    def take_header(self, numbered: bool = False) -> list[str]:
        """Names of all columns; consumes the first row if it is the header.

        The second column of one name is an error, or called ``name (2)`` if they are to be `numbered`.
        """
        if self.header is not True:
            return [str(k) for k in range(self.width)]
        number, names = next(self.rows)
        doubled = next((name for k, name in enumerate(names) if name in names[:k]), None)
        if doubled is None:
            return names
        if not numbered:
            raise FormatError(f"two columns are named {doubled!r}", self.name, number)
        out: list[str] = []
        for name in names:
            found = (name if k == 1 else f"{name} ({k})" for k in count(1))
            out.append(next(one for one in found if one not in out and (one == name or one not in names)))
        warnings.warn(
            f"{self.name}: two columns are named {doubled!r}; columns are now {out}", UserWarning, stacklevel=2
        )
        return out

    def label_index(self, names: list[str]) -> int | None:
        if isinstance(self.label_column, str):
            if self.label_column not in names:
                message = f"the label column {self.label_column!r} is not among the columns {names}"
                raise FormatError(message, self.name, argument="label_column")
            return names.index(self.label_column)
        if self.label_column is not None and not -self.width <= self.label_column < self.width:
            message = f"the label column is {self.label_column}, but there are {self.width} columns"
            raise FormatError(message, self.name, argument="label_column")
        return None if self.label_column is None else self.label_column % self.width

    def checked(self) -> Iterator[tuple[int, list[str]]]:
        for number, row in self.rows:
            if len(row) != self.width:
                columns = f"{self.width} column{'s'[: self.width != 1]}"
                message = f"expected {columns} as in the first row, found {len(row)}"
                if len(row) > self.width:
                    message += "; a cell with a separator in it has to stand in quotes"
                raise FormatError(message, self.name, number)
            yield number, row


def _what_is_wrong(message: str) -> str:
    """What the csv module says, for those who did not write a program."""
    if "unexpected end of data" in message:
        return "a quote begins in this row and never ends"
    if "new-line character" in message:
        return "carriage returns stand within lines; save the file with line feeds at the end of each line"
    if "expected after" in message:
        return 'text follows the quote at the end of a cell; quotes within a cell that has quotes are doubled, as in ""'
    return message


def _build(
    rows: list[tuple[int, list[str]]], names: list[str], label: int | None, categorical: list[str] | None,
    texts: list[str] | None, file: str, finite: bool, first: Sequence[str] = (), without: Sequence[str] = (),
) -> Table:  # fmt: skip
    """Turn numbered rows into features and labels; column kinds that are None are found out."""
    columns = _columns(rows, names)
    y: list[str | None] = [cell or None for cell in columns[label]] if label is not None else [None] * len(rows)
    features = {name: columns[k] for k, name in enumerate(names) if k != label and name not in without}
    numeric: dict[str, np.ndarray] = {}
    for name, cells in features.items():
        if name in (*first, *(categorical or ()), *(texts or ())):
            continue
        values = floats(cells)
        if values is not None:
            numeric[name] = values
        elif categorical is not None:
            bad = next(i for i, cell in enumerate(cells) if cell and not is_number(cell))
            message = f"{cells[bad]!r} in column {name!r} is not a number; columns of words have to be named"
            raise FormatError(message, file, rows[bad][0], "categorical")
    if texts is None:
        possible = [] if categorical is not None else [name for name in features if name not in numeric]
        texts = [name for name in possible if is_free_text(features[name])]
    texts = [name for name in dict.fromkeys([*first, *texts]) if name in features]
    kinds = [name for name in features if name not in numeric and name not in texts]
    if finite:
        _refuse_missing(rows, names, numeric, bool(kinds or texts), file)
    others = {name: cells for name, cells in features.items() if name not in texts}
    if not texts:
        X: Any = _matrix(numeric, len(rows)) if not kinds else _dicts(others, numeric, len(rows))
    elif not others:
        X = list(features[texts[0]]) if len(texts) == 1 else list(zip(*(features[name] for name in texts)))
    else:
        X = list(zip(*(features[name] for name in texts), _dicts(others, numeric, len(rows))))
    return Table(X, y, list(features), kinds, texts)


def _columns(rows: list[tuple[int, list[str]]], names: list[str]) -> list[Any]:
    return list(zip(*(row for _, row in rows))) if rows else [()] * len(names)


def _matrix(numeric: dict[str, np.ndarray], n_rows: int) -> np.ndarray:
    return np.column_stack(list(numeric.values())) if numeric else np.empty((n_rows, 0))


def _dicts(columns: dict[str, Any], numeric: dict[str, np.ndarray], n_rows: int) -> list[dict[str, float]]:
    """One dict of features per row, empty cells left out."""
    found: list[dict[str, float]] = [{} for _ in range(n_rows)]
    for name, cells in columns.items():
        if name in numeric:
            for entry, value in zip(found, numeric[name].tolist()):
                if value == value:  # nan marks an empty cell
                    entry[name] = value
        else:
            for entry, cell in zip(found, cells):
                if cell:
                    entry[f"{name}={cell}"] = 1.0
    return found


def _refuse_missing(
    rows: list[tuple[int, list[str]]], names: list[str], numeric: dict[str, np.ndarray], dicts: bool, file: str
) -> None:
    """Complain about the first cell that is no finite number; rows that become dicts may leave cells empty."""
    bad = [(int(i), name) for name, values in numeric.items() for i in np.flatnonzero(~np.isfinite(values))]
    for i, name in sorted(bad, key=lambda place: (place[0], names.index(place[1]))):
        number, cells = rows[i]
        cell = cells[names.index(name)]
        if cell or not dicts:
            what = f"{cell!r}" if cell else "an empty cell"
            message = f"{what} in column {name!r}, which is one of numbers; fill it in, or leave out the row or column"
            raise FormatError(message, file, number)


def _named(columns: Sequence[Column] | None, names: list[str], file: str, what: str, argument: str) -> list[str] | None:
    """Columns by name, in the order given."""
    if columns is None:
        return None
    named = [names[c] if isinstance(c, int) and -len(names) <= c < len(names) else str(c) for c in columns]
    unknown = set(named) - set(names)
    if unknown:
        raise FormatError(f"{sorted(unknown)} should be {what}, but the columns are {names}", file, argument=argument)
    return named


def read_csv(
    source: Source | NamedRows,
    label_column: Column | None = -1,
    delimiter: str | None = None,
    header: bool | str = "auto",
    encoding: str = "utf-8",
    *,
    categorical: Sequence[Column] | None = None,
    texts: Sequence[Column] | None = None,
    first: Sequence[Column] = (),
    finite: bool = False,
    choose: Chooser | None = None,
) -> Table:
    """Read a table into features and classes.

    Parameters
    ----------
    source, encoding : see `accord.datasets.formats`
    label_column : int, str or None
        Position or header name of the class column; None if there is none.
    delimiter : str, optional
        By default whichever of comma, semicolon, tab and bar is most frequent in the first line.
    header : bool or "auto"
        "auto": the first row is a header if `label_column` is a name, or if none of its cells is a number while
        some column below it is numeric, or if it has names of ``categorical`` or ``texts``. If all columns are words,
        it is one if a cell is a usual name of labels (label, class, category, ...), or if texts are below short names,
        or if none of its cells occurs again where most others do; it is none if one of its cells is in its column
        again. Else an error asks.
    categorical : sequence of int or str, optional
        Columns to read as words; all others but ``texts`` must then be numeric. By default found out from the data.
    texts : sequence of int or str, optional
        Columns of free text; by default none if ``categorical`` is given, else found out from the data.
    first : sequence of int or str, optional
        Columns that are the first ones of ``texts`` whatever they look like, such as names of nodes.
    finite : bool
        Refuse cells such as ``nan`` in numeric columns, and empty ones in tables of numbers, and name line and column.
    choose : callable, optional
        Decides when all is read: from the names of the columns, their cells and the place that `label_column` has (None
        if there is none) it returns the place of the labels, and names of columns to leave out.

    Returns
    -------
    Table
        A named tuple ``(X, y, feature_names, categorical, texts)``.

    Examples
    --------
    >>> import io
    >>> table = read_csv(io.StringIO("length,width,kind\\n5.1,3.5,setosa\\n6.2,2.9,\\n"))
    >>> table.X
    array([[5.1, 3.5],
           [6.2, 2.9]])
    >>> table.y, table.feature_names
    (['setosa', None], ['length', 'width'])
    >>> read_csv(io.StringIO("age,city,kind\\n41,Rome,a\\n7,Oslo,b\\n"), label_column="kind").X
    [{'age': 41.0, 'city=Rome': 1.0}, {'age': 7.0, 'city=Oslo': 1.0}]
    >>> read_csv(io.StringIO("note,kind\\nwe went to Rome,a\\nno news at all,b\\n"), texts=["note"]).X
    ['we went to Rome', 'no news at all']
    """
    reader = TableReader(source, label_column, delimiter, header, encoding)
    numbered = list(reader.checked())
    if reader.header == "auto":
        head, *below = (row for _, row in numbered)
        named = {*(categorical or ()), *(texts or ()), *first} & {*head}
        found = True if named else is_header(head, below)
        if found is None:
            raise FormatError(
                f"it is not clear whether the first row, {', '.join(head)}, names the columns or is an example; say "
                "whether it is a header",
                reader.name,
                argument="header",
            )
        reader.header = found
    reader.rows = iter(numbered)
    names = reader.take_header()
    words = _named(categorical, names, reader.name, "categorical", "categorical")
    free = _named(texts, names, reader.name, "free text", "texts")
    kept = _named(first, names, reader.name, "the first texts", "first") or ()
    rows, label, without = list(reader.rows), reader.label_index(names), list[str]()
    if choose is not None:
        label, without = choose(names, _columns(rows, names), label)
    return _build(rows, names, label, words, free, reader.name, finite, kept, without)


def iter_csv(
    source: Source | NamedRows,
    label_column: Column | None = -1,
    delimiter: str | None = None,
    header: bool = True,
    encoding: str = "utf-8",
    *,
    categorical: Sequence[Column] = (),
    texts: Sequence[Column] = (),
    without: Sequence[str] = (),
    chunk_size: int = 10_000,
    finite: bool = False,
) -> Iterator[Table]:
    """Read a table in chunks of rows, for files larger than memory.

    A stream cannot be looked at twice, so `header`, `categorical` and `texts` must be given where they differ from
    the defaults (a header; numeric columns only), and the names of columns to leave out, if there are some, `without`.
    The other parameters are those of `read_csv`.

    Examples
    --------
    >>> import io
    >>> for table in iter_csv(io.StringIO("a,kind\\n1,x\\n2,y\\n3,x\\n"), chunk_size=2):
    ...     table.X.ravel().tolist(), table.y
    ([1.0, 2.0], ['x', 'y'])
    ([3.0], ['x'])
    """
    if chunk_size < 1:
        raise InputError(f"chunk_size must be at least 1, got {chunk_size}")
    if header not in (True, False):
        raise InputError(f"header must be True or False when a file is streamed, got {header!r}")
    reader = TableReader(source, label_column, delimiter, header, encoding)
    names = reader.take_header()
    label, words = reader.label_index(names), _named(categorical, names, reader.name, "categorical", "categorical")
    free = _named(texts, names, reader.name, "free text", "texts")
    rows = reader.checked()
    while numbered := list(islice(rows, chunk_size)):
        yield _build(numbered, names, label, words, free, reader.name, finite, without=without)
