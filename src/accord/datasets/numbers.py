"""Tables with a number to predict: the regression sets, and donations after a mailing (KDD Cup 1998).

Nominal attributes are columns of zeros and ones; `Numbers.attribute` tells which columns belong to one attribute, so
that views can have whole attributes.
"""

from __future__ import annotations

import csv
from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from accord.datasets.formats.cells import floats
from accord.datasets.formats.source import iter_lines
from accord.datasets.stored import stored_arrays
from accord.exceptions import FormatError

MAX_NOMINAL = 200  # attributes with as many different values or more are left out, as in the thesis [4.4.2]
_NOT_INPUTS = ("TARGET_B", "TARGET_D", "CONTROLN")  # whether and how much was given, and a running number


@dataclass(frozen=True)
class Numbers:
    """Inputs (n, n_columns), targets (n,), and for each column its name and the number of its attribute."""

    X: Any
    y: np.ndarray
    columns: np.ndarray
    attribute: np.ndarray


def read_numbers(path: Path, indicators: bool = False) -> Numbers:
    """An archive with the arrays X, y, columns, column_attribute and missing (packed bits, or empty).

    With `indicators` there is a further column, 1 where the value is missing, for each column of numbers in which some
    are; values that are missing are the mean of their column.
    """
    a = stored_arrays(path, "X", "y", "columns", "column_attribute", "missing")
    X = a["X"].astype(np.float64)
    if X.shape != (len(a["y"]), len(a["columns"])) or X.shape[1] != len(a["column_attribute"]):
        raise FormatError(
            f"X has shape {X.shape} but there are {len(a['y'])} targets, {len(a['columns'])} names and "
            f"{len(a['column_attribute'])} attribute numbers of columns",
            str(path),
        )
    columns, attribute = a["columns"], a["column_attribute"].astype(np.int64)
    if indicators and a["missing"].size:
        missing = np.unpackbits(a["missing"], axis=1)[:, : X.shape[1]].astype(bool)
        lacking = np.flatnonzero(missing.any(axis=0) & (np.bincount(attribute)[attribute] == 1))
        X = np.hstack([X, missing[:, lacking].astype(float)])
        columns = np.concatenate([columns, [f"{columns[j]} is missing" for j in lacking]])
        attribute = np.concatenate([attribute, attribute[lacking]])
    return Numbers(X, a["y"].astype(np.float64), columns, attribute)


def read_learning_file(path: Path) -> Numbers:
    """The learning file of KDD Cup 1998 (``cup98LRN.txt``), coded as in the thesis [4.4.2], as a sparse matrix.

    Attributes with a value that is no number are nominal: one column for each value, none for blanks; left out if
    there are `MAX_NOMINAL` values or more. Others are continuous: blanks become the mean, and a further column is 1
    there.
    """
    names, tables, codes = _read_columns(path)
    if "TARGET_D" not in names:
        raise FormatError("there is no column 'TARGET_D', what was given", str(path), 1)
    parts: list[sp.csc_array] = []
    columns: list[str] = []
    attribute: list[int] = []
    y = np.empty(0)
    for k, (name, table, which) in enumerate(zip(names, tables, codes)):
        values, code = [value.strip() for value in table], np.frombuffer(which, np.int32)
        numbers = floats(values)
        if name == "TARGET_D":
            if numbers is None or np.isnan(numbers).any():
                raise FormatError(f"the column {name!r} has a value that is no number", str(path))
            y = numbers[code]
        if name in _NOT_INPUTS:
            continue
        if numbers is None or np.isnan(numbers).all():
            found, own = _nominal(name, values, code)
        else:
            found, own = _continuous(name, numbers[code])
        parts += found
        columns += own
        attribute += [k] * len(own)
    if not parts:
        raise FormatError("there is no attribute that can be used", str(path))
    _, dense = np.unique(attribute, return_inverse=True)
    return Numbers(sp.csr_array(sp.hstack(parts)), y, np.array(columns), dense.astype(np.int64))


def _read_columns(path: Path) -> tuple[list[str], list[dict[str, int]], list[array[int]]]:
    """Names, the different values of each column, and which of them each row has: text only once."""
    rows = csv.reader(iter_lines(path))
    names = [name.strip() for name in next(rows, [])]
    tables: list[dict[str, int]] = [{} for _ in names]
    codes = [array("i") for _ in names]
    for number, row in enumerate(rows, 2):
        if len(row) != len(names):
            raise FormatError(f"expected {len(names)} values, found {len(row)}", str(path), number)
        for table, code, value in zip(tables, codes, row):
            code.append(table.setdefault(value, len(table)))
    return names, tables, codes


def _nominal(name: str, values: list[str], code: np.ndarray) -> tuple[list[sp.csc_array], list[str]]:
    known = sorted({value for value in values if value})
    if not 0 < len(known) < MAX_NOMINAL:
        return [], []
    place = {value: j for j, value in enumerate(known)}
    column = np.array([place.get(value, -1) for value in values])[code]
    rows = np.flatnonzero(column >= 0)
    matrix = sp.csc_array((np.ones(rows.size), (rows, column[rows])), shape=(code.size, len(known)))
    return [matrix], [f"{name}={value}" for value in known]


def _continuous(name: str, column: np.ndarray) -> tuple[list[sp.csc_array], list[str]]:
    missing = np.isnan(column)
    column[missing] = column[~missing].mean()
    found, names = [sp.csc_array(column[:, None])], [name]
    if missing.any():
        found.append(sp.csc_array(missing[:, None].astype(float)))
        names.append(f"{name} is missing")
    return found, names
