"""CoNLL columns: one token per line, a blank line between sentences, labels in a column.

The format of the CoNLL shared tasks, of CRFsuite's and CRF++'s input, and of most tagged corpora::

    Tom     NNP  B-PER
    sleeps  VBZ  O
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from os import PathLike
from typing import IO, Any, Literal, NamedTuple

from accord.datasets.formats.source import BLANKS, Source, iter_lines, open_target, source_name, split_blanks
from accord.exceptions import FormatError, InputError

Labeled = bool | Literal["partial"]
UNLABELED = "_"  # stands for "no label" in files that mix labeled and unlabeled sentences
_DOCUMENT_START = "-DOCSTART-"
_MISSING = object()


class Sentence(NamedTuple):
    """One sentence of a CoNLL file.

    Attributes
    ----------
    tokens : list of str
    labels : list of str, or None
        None for an unlabeled sentence.
    extra : tuple of list of str
        The columns asked for with ``extra_columns``, in that order.

    Examples
    --------
    >>> import io
    >>> first = next(iter_conll(io.StringIO("Tom B-PER\\nsleeps O\\n")))
    >>> first.tokens, first.labels
    (['Tom', 'sleeps'], ['B-PER', 'O'])
    """

    tokens: list[str]
    labels: list[str] | None
    extra: tuple[list[str], ...]


class _Layout:
    """Which column holds what, and how many columns there must be (learnt from the first line if not given)."""

    def __init__(
        self, columns: int | None, token: int, label: int, extra: Sequence[int], labeled: Labeled, name: str
    ) -> None:
        if labeled not in (True, False, "partial"):
            raise InputError(f"labeled must be True, False or 'partial', got {labeled!r}")
        self.width, self.given = columns, columns is not None
        self.token, self.label, self.extra = token, label, tuple(extra)
        self.labeled, self.name = labeled, name

    def sentence(self, rows: list[list[str]], numbers: list[int]) -> Sentence:
        """Check the rows of one sentence (`numbers` are their line numbers) and turn them into columns."""
        if self.width is None:
            self.width = len(rows[0])
            if self.labeled == "partial" and self.width == 1:
                self.width = 2  # a lone token column: the labels are the missing one
        width = self.width
        widths = set(map(len, rows))
        has_labels = bool(self.labeled)
        if self.labeled == "partial" and widths == {width - 1} and self.label in (-1, width - 1):
            width, has_labels = width - 1, False
        if widths != {width}:
            self._fail_width(rows, numbers)
        columns = list(zip(*rows))
        tokens = list(self._column(columns, self.token, "token_column", numbers))
        if "" in tokens:
            raise FormatError("the token is empty", self.name, numbers[tokens.index("")])
        extra = tuple(list(self._column(columns, k, "extra_columns", numbers)) for k in self.extra)
        labels = None
        if has_labels:
            labels = self._labels(list(self._column(columns, self.label, "label_column", numbers)), numbers)
            if self.label % width == self.token % width:
                hint = "labeled=False reads a file without labels"
                raise FormatError(f"tokens and labels are both column {self.token}; {hint}", self.name, numbers[0])
        return Sentence(tokens, labels, extra)

    def _column(self, columns: list[Any], index: int, argument: str, numbers: list[int]) -> Sequence[str]:
        if not -len(columns) <= index < len(columns):
            message = f"{argument} {index} asked for, but the line has {len(columns)} column(s)"
            raise FormatError(message, self.name, numbers[0])
        return columns[index]

    def _labels(self, labels: list[str], numbers: list[int]) -> list[str] | None:
        reserved = ("", UNLABELED) if self.labeled == "partial" else ("",)
        missing = [label in reserved for label in labels]
        if not any(missing):
            return labels
        if self.labeled == "partial":
            if all(missing):
                return None
            message = "this token has no label but others of its sentence have; label all of them or none"
        else:
            message = "the label is empty; labeled='partial' reads files with unlabeled sentences"
        raise FormatError(message, self.name, numbers[missing.index(True)])

    def _fail_width(self, rows: list[list[str]], numbers: list[int]) -> None:
        bad = next(i for i, row in enumerate(rows) if len(row) != self.width)
        why = "as was said" if self.given else "as in the lines before"
        message = f"expected {self.width} columns {why}, found {len(rows[bad])}"
        if self.labeled == "partial" and not self.given:
            message += "; if the first sentence has no label column, say how many there are"
        raise FormatError(message, self.name, numbers[bad], "columns")


def iter_conll(
    source: Source,
    columns: int | None = None,
    token_column: int = 0,
    label_column: int = -1,
    labeled: Labeled = True,
    encoding: str = "utf-8",
    *,
    extra_columns: Sequence[int] = (),
    comment: str | None = None,
) -> Iterator[Sentence]:
    """Yield the sentences of a CoNLL file one at a time.

    A line is split at tabs if it holds one, else at blanks. Blank lines end a sentence; so do ``-DOCSTART-``
    lines, which are dropped.

    Parameters
    ----------
    source, encoding : see `accord.datasets.formats`
    columns : int, optional
        Number of columns every line must have; by default that of the first line.
    token_column, label_column : int
        Negative numbers count from the last column.
    labeled : bool or "partial"
        False: there are no labels to read. ``"partial"``: a sentence whose labels are all ``_`` or empty, or
        that lacks the (last) label column, is unlabeled and yields None. Otherwise every token needs a label.
    extra_columns : sequence of int
        Further columns to return, such as part-of-speech tags.
    comment : str, optional
        Lines that start with it are dropped. Not the default, because ``#`` is a token in real text.

    Examples
    --------
    >>> import io
    >>> file = io.StringIO("Tom NNP B-PER\\nsleeps VBZ O\\n\\nAna NNP B-PER\\n")
    >>> for tokens, labels, extra in iter_conll(file, extra_columns=[1]):
    ...     tokens, labels, extra
    (['Tom', 'sleeps'], ['B-PER', 'O'], (['NNP', 'VBZ'],))
    (['Ana'], ['B-PER'], (['NNP'],))
    """
    layout = _Layout(columns, token_column, label_column, extra_columns, labeled, source_name(source))
    rows: list[list[str]] = []
    numbers: list[int] = []
    for number, line in enumerate(iter_lines(source, encoding), 1):
        if comment and line.startswith(comment):
            continue
        row = line.split("\t") if "\t" in line else split_blanks(line)
        if not row or row[0] == _DOCUMENT_START or (not row[0] and not line.strip(BLANKS)):
            if rows:
                yield layout.sentence(rows, numbers)
                rows, numbers = [], []
            continue
        rows.append(row)
        numbers.append(number)
    if rows:
        yield layout.sentence(rows, numbers)


def read_conll(
    source: Source,
    columns: int | None = None,
    token_column: int = 0,
    label_column: int = -1,
    labeled: Labeled = True,
    encoding: str = "utf-8",
    *,
    comment: str | None = None,
) -> tuple[list[list[str]], list[list[str] | None]]:
    """Read a whole CoNLL file; the parameters are those of `iter_conll`.

    Returns
    -------
    X : list of list of str
        Tokens, sentence by sentence.
    Y : list of (list of str, or None)
        Labels; None for an unlabeled sentence.

    Examples
    --------
    >>> import io
    >>> read_conll(io.StringIO("Tom B-PER\\nsleeps O\\n\\nAna _\\n"), labeled="partial")
    ([['Tom', 'sleeps'], ['Ana']], [['B-PER', 'O'], None])
    """
    X: list[list[str]] = []
    Y: list[list[str] | None] = []
    share = dict[str, str]().setdefault  # one string object per distinct word: a corpus repeats them many times over
    for tokens, labels, _ in iter_conll(
        source, columns, token_column, label_column, labeled, encoding, comment=comment
    ):
        X.append(list(map(share, tokens, tokens)))
        Y.append(None if labels is None else list(map(share, labels, labels)))
    return X, Y


def write_conll(
    target: str | PathLike[str] | IO[str],
    X: Iterable[Sequence[str]],
    Y: Iterable[Sequence[str] | None] | None = None,
    *,
    extra: Sequence[Iterable[Sequence[str]]] = (),
    separator: str = "\t",
    encoding: str = "utf-8",
) -> None:
    """Write tokens, further columns and labels, in this order, so that `read_conll` gives them back.

    Parameters
    ----------
    target : path, "-" or open text file
        ``"-"`` is standard output; a path that ends in ``.gz`` is compressed.
    X : iterable of sequences of str
        An empty sentence leaves only its blank line, which no reader can tell from a separator.
    Y : iterable of (sequence of str, or None), optional
        ``None`` instead of labels writes ``_`` in their place (see ``labeled="partial"``). Without Y there is no
        label column.
    extra : sequence of iterables
        Columns between tokens and labels, each parallel to X.
    separator : str
        A tab or a blank.

    Examples
    --------
    >>> import sys
    >>> write_conll(sys.stdout, [["Tom", "sleeps"], ["Ana"]], [["B-PER", "O"], None], separator=" ")
    Tom B-PER
    sleeps O
    <BLANKLINE>
    Ana _
    <BLANKLINE>
    """
    if separator not in ("\t", " "):
        raise InputError(f"separator must be a tab or a blank, got {separator!r}")
    names = ["X", *(f"extra[{k}]" for k in range(len(extra))), *(["Y"] if Y is not None else [])]
    sources: list[Iterable[Any]] = [X, *extra, *([Y] if Y is not None else [])]
    # With a tab in every line a token may hold blanks; without one they would read as columns.
    forbidden = frozenset("\t\n\r" if separator == "\t" and len(names) > 1 else " \t\n\r")
    with open_target(target, encoding) as stream:
        for i, columns in enumerate(zip_longest(*sources, fillvalue=_MISSING)):
            rows = _checked_columns(i, list(columns), names, forbidden)
            stream.writelines(separator.join(row) + "\n" for row in zip(*rows))
            stream.write("\n")


def _checked_columns(i: int, columns: list[Any], names: list[str], forbidden: frozenset[str]) -> list[Sequence[str]]:
    """Columns of sentence `i`, all of one length and free of characters that would break the file."""
    for name, column in zip(names, columns):
        if column is _MISSING:
            raise InputError(f"{name} ends at {i} sentences but another column goes on; they must be parallel")
    n_tokens = len(columns[0])
    for k, (name, column) in enumerate(zip(names, columns)):
        if column is None and name == "Y":
            columns[k] = column = [UNLABELED] * n_tokens
        if len(column) != n_tokens:
            raise InputError(f"{name}[{i}] has {len(column)} entries but X[{i}] has {n_tokens} tokens")
        for t, cell in enumerate(column):
            if not isinstance(cell, str) or not cell or not forbidden.isdisjoint(cell):
                raise InputError(
                    f"{name}[{i}][{t}] is {cell!r}; a CoNLL cell must be a non-empty string "
                    "without the separator or line ends"
                )
    return columns
