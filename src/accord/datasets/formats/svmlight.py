"""svmlight / libsvm files: ``label index:value index:value ... # comment``, one sparse example a line.

Labels stay strings, so any word without blanks, ``:`` and ``#`` names a class; a line that starts with a feature
is unlabeled. ``qid:`` entries are ignored. Text is parsed many lines at a time; only when that fails is it gone
through line by line, to say where.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Literal, NamedTuple

import numpy as np
import scipy.sparse as sp

from accord.datasets.formats.source import Source, iter_lines, source_name
from accord.exceptions import FormatError, InputError

ZeroBased = bool | Literal["auto"]
Labels = list[str | None]
_TWO_COLONS = re.compile(r":[^\s:]*:")
_QUERY_ID = re.compile(r"(?<!\S)qid:\S*")
_MAX_INDEX = int(np.iinfo(np.int32).max)


class _Rows(NamedTuple):
    """Parsed lines, the entries of all of them one after the other."""

    labels: Labels
    indices: np.ndarray  # (n_entries,) int64, feature indices as the file has them
    values: np.ndarray  # (n_entries,) float64
    counts: np.ndarray  # (n_rows,) int64, number of entries of each row
    numbers: np.ndarray  # (n_rows,) int64, line number of each row

    def line_of(self, entry: int) -> int:
        """Line number of an entry."""
        return int(self.numbers[np.searchsorted(np.cumsum(self.counts), entry, side="right")])


def _parse(lines: list[tuple[int, str]], name: str) -> _Rows:
    labels: Labels = []
    features: list[str] = []
    numbers: list[int] = []
    for number, line in lines:
        line = line.partition("#")[0]
        if "qid:" in line:
            line = _QUERY_ID.sub("", line)
        head = line.split(None, 1)
        if not head:
            continue
        unlabeled = ":" in head[0]
        labels.append(None if unlabeled else head[0])
        features.append(line if unlabeled else head[1] if len(head) == 2 else "")
        numbers.append(number)
    counts = np.array([text.count(":") for text in features], dtype=np.int64)
    n_entries = int(counts.sum())
    text = "\n".join(features)
    flat = text.replace(":", " ").split()
    # No token has two colons, there is one colon per token and no token lacks a side of it:
    # then, and only then, flat alternates between index and value.
    if _TWO_COLONS.search(text) or len(text.split()) != n_entries or len(flat) != 2 * n_entries or "_" in text:
        raise _first_error(features, numbers, name)
    try:
        indices = np.array(list(map(int, flat[0::2])), dtype=np.int64)
        values = np.array(list(map(float, flat[1::2])), dtype=np.float64)
    except (ValueError, OverflowError):
        raise _first_error(features, numbers, name) from None
    if n_entries and (indices.min() < 0 or indices.max() > _MAX_INDEX or not np.isfinite(values).all()):
        raise _first_error(features, numbers, name)
    return _Rows(labels, indices, values, counts, np.array(numbers, dtype=np.int64))


def _first_error(features: list[str], numbers: list[int], name: str) -> FormatError:
    """Name the first entry that is not ``index:value``."""
    for number, text in zip(numbers, features):
        for token in text.split():
            index, _, value = token.partition(":")
            # Python reads 1_0 as a number, no other tool does
            try:
                sound = 0 <= int(index) <= _MAX_INDEX and bool(np.isfinite(float(value))) and "_" not in token
            except ValueError:
                sound = False
            if not sound:
                wanted = "expected index:value with a whole number from 0, a colon and a finite number"
                return FormatError(f"{wanted}, found {token!r}", name, number)
    return FormatError("expected index:value entries", name)


def _matrix(rows: _Rows, offset: int, n_features: int | None, name: str) -> sp.csr_matrix:
    """Sparse matrix of the rows; `offset` is the index the file gives to the first feature."""
    columns = rows.indices - offset
    if n_features is None:
        n_features = int(columns.max()) + 1 if columns.size else 0
    outside = (columns < 0) | (columns >= n_features)
    if outside.any():
        entry = int(np.argmax(outside))
        index = int(rows.indices[entry])
        allowed = f"{offset} to {n_features + offset - 1}"
        hint = "; some files count from 0" if index == 0 else ""
        message = f"feature index {index} is outside {allowed}{hint}"
        raise FormatError(message, name, rows.line_of(entry), "zero_based" if hint else None)
    row_of = np.repeat(np.arange(len(rows.counts)), rows.counts)  # (n_entries,) row of each entry
    order = np.lexsort((columns, row_of))
    same = (np.diff(columns[order]) == 0) & (np.diff(row_of[order]) == 0)
    if same.any():
        entry = int(order[np.argmax(same)])
        raise FormatError(f"feature index {rows.indices[entry]} occurs twice", name, rows.line_of(entry))
    indptr = np.concatenate([[0], np.cumsum(rows.counts)])
    return sp.csr_matrix((rows.values[order], columns[order], indptr), shape=(len(rows.counts), n_features))


def _offset(rows: _Rows, zero_based: ZeroBased) -> int:
    if zero_based == "auto":
        return 0 if rows.indices.size and rows.indices.min() == 0 else 1
    return 0 if zero_based else 1


def _pieces(source: Source, encoding: str, zero_based: ZeroBased, size: int) -> Iterator[_Rows]:
    """So many lines at a time."""
    if zero_based not in (True, False, "auto"):
        raise InputError(f"zero_based must be True, False or 'auto', got {zero_based!r}")
    lines = enumerate(iter_lines(source, encoding), 1)
    while chunk := list(islice(lines, size)):
        yield _parse(chunk, source_name(source))


def iter_svmlight(
    source: Source,
    chunk_size: int = 10_000,
    n_features: int | None = None,
    zero_based: ZeroBased = "auto",
    encoding: str = "utf-8",
) -> Iterator[tuple[sp.csr_matrix, Labels]]:
    """Read an svmlight file in chunks of lines, for files larger than memory.

    Parameters
    ----------
    source, encoding : see `accord.datasets.formats`
    chunk_size : int
        Number of lines per chunk.
    n_features : int, optional
        Number of columns; a larger index is an error. By default the largest index seen so far, so that later
        chunks may be wider: give it wherever all chunks must have one width.
    zero_based : bool or "auto"
        Whether the first feature is number 0 or 1. "auto": 1, unless a 0 occurs in the first chunk.

    Yields
    ------
    X : csr_matrix of shape (n_lines, n_features)
    y : list of (str, or None)
        None for lines without a label.

    Examples
    --------
    >>> import io
    >>> for X, y in iter_svmlight(io.StringIO("spam 1:2 3:0.5\\nham 2:1\\n1:4\\n"), chunk_size=2, n_features=3):
    ...     print(X.shape, y)
    (2, 3) ['spam', 'ham']
    (1, 3) [None]
    """
    if chunk_size < 1:
        raise InputError(f"chunk_size must be at least 1, got {chunk_size}")
    offset, widest, name = None, 0, source_name(source)
    for rows in _pieces(source, encoding, zero_based, chunk_size):
        if offset is None and (rows.indices.size or zero_based != "auto"):
            offset = _offset(rows, zero_based)
        start = 1 if offset is None else offset
        if n_features is None and rows.indices.size:
            widest = max(widest, int(rows.indices.max()) - start + 1)
        yield _matrix(rows, start, widest if n_features is None else n_features, name), rows.labels


def read_svmlight(
    source: Source,
    n_features: int | None = None,
    zero_based: ZeroBased = "auto",
    encoding: str = "utf-8",
) -> tuple[sp.csr_matrix, Labels]:
    """Read a whole svmlight file; the parameters are those of `iter_svmlight`, "auto" looks at all lines.

    Returns
    -------
    X : csr_matrix of shape (n_lines, n_features)
    y : list of (str, or None)
        Labels as written in the file; None for lines without one.

    Examples
    --------
    >>> import io
    >>> X, y = read_svmlight(io.StringIO("spam 1:2 3:0.5\\nham 2:1  # second\\n1:4\\n"))
    >>> X.toarray()
    array([[2. , 0. , 0.5],
           [0. , 1. , 0. ],
           [4. , 0. , 0. ]])
    >>> y
    ['spam', 'ham', None]
    """
    name = source_name(source)
    # in pieces: the text of an entry takes far more memory than its value
    parts = list(_pieces(source, encoding, zero_based, 5_000)) or [_parse([], name)]
    labels = [label for part in parts for label in part.labels]
    indices, values, counts, numbers = (np.concatenate(arrays) for arrays in list(zip(*parts))[1:])
    rows = _Rows(labels, indices, values, counts, numbers)
    return _matrix(rows, _offset(rows, zero_based), n_features, name), labels
