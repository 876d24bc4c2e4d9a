"""Cells of records: what they say as text, number, date or vector, and which kind a column is."""

from __future__ import annotations

import datetime as dt
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from accord.exceptions import InputError

Record = Mapping[str, Any]  # cells by field
KINDS = ("text", "number", "date", "category", "vector")
_MONTHS = {name: k + 1 for k, name in enumerate(re.findall("...", "janfebmaraprmayjunjulaugsepoctnovdec"))}
_THREE_NUMBERS = re.compile(r"(\d{1,4})[-/. ](\d{1,2})[-/. ](\d{1,4})(?:[Tt ]\d{1,2}:\d{2}.*)?")
_EIGHT_DIGITS = re.compile(r"(\d{4})(\d{2})(\d{2})")
_DAY_WORD_YEAR = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?\.?[- ]([a-z]{3})[a-z]*\.?,?[- ](\d{2,4})")
_WORD_DAY_YEAR = re.compile(r"([a-z]{3})[a-z]*\.?[- ](\d{1,2})(?:st|nd|rd|th)?,?[- ](\d{2,4})")
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
_NUMBERS = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
VECTOR = re.compile(rf"[\[(]?\s*{_NUMBERS}(?:[\s,]+{_NUMBERS})+\s*[\])]?")
_SINGLE = (int, float, bool, dt.date, dt.datetime)
_LETTER_OR_DIGIT, _DIGIT = re.compile(r"[^\W_]"), re.compile(r"\d")
_ASCII = [chr(point) for point in range(128)]
_PLAIN = str.maketrans({c: c.lower() if c.isalnum() else None if c == "'" else " " for c in _ASCII})
_FEW_VALUES = 12  # a column of so few different short values is a category
_LEAST_OF_VECTOR = 8  # numbers in a cell, as many in all cells, for a column to be one of vectors
_MOST = 0.9  # of the cells have to be dates, or numbers, for a column to be of that kind


def cell_text(value: Any, where: str) -> str | None:
    """A cell as text, None if it is missing (None, nan, blanks)."""
    if value is None:
        return None
    if isinstance(value, str):
        return value.strip() or None
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:  # a number of NumPy
        value = value.item()
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, _SINGLE) or type(value).__name__ == "Decimal":
        return str(value)
    if (isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) == 1) and (found := vector_text(value)):
        return found
    raise InputError(
        f"{where} is a {type(value).__name__}; expected text, a number, a date, a vector of finite numbers or None"
    )


def vector_text(value: Any) -> str | None:
    """A vector as text, with five digits of each number; None if it is none."""
    try:
        numbers = [float(number) for number in value]
    except (TypeError, ValueError):
        return None
    if len(numbers) < 2 or not all(map(math.isfinite, numbers)):
        return None
    return " ".join(f"{number:.5g}" for number in numbers)


@lru_cache(maxsize=1 << 16)
def plain_words(text: str) -> str:
    """Small letters without accents, words of letters and digits with one blank between them.

    >>> plain_words("  Café—Müller,  3rd Floor ")
    'cafe muller 3rd floor'
    """
    if text.isascii():  # the same, quicker
        return " ".join(text.translate(_PLAIN).split())
    apart = unicodedata.normalize("NFKD", text).casefold()
    kept = [c if c.isalnum() else "" if unicodedata.combining(c) or c in "'’" else " " for c in apart]
    return " ".join("".join(kept).split())


def parse_number(text: str) -> float | None:
    """A number, also with a currency sign, a percent sign or commas between thousands; None if it is none.

    >>> parse_number("$1,250.50"), parse_number("12b")
    (1250.5, None)
    """
    found = text.strip(" $€£%")
    if re.fullmatch(r"[-+]?\d{1,3}(,\d{3})+(\.\d*)?", found):
        found = found.replace(",", "")
    if not _NUMBER.fullmatch(found):
        return None
    number = float(found)
    return number if math.isfinite(number) else None


@lru_cache(maxsize=1 << 16)
def parse_date(text: str, day_first: bool = True) -> tuple[int, int, int] | None:
    """Year, month and day of a date; None if it is none.

    Understood: 1999-12-31, 1999/12/31, 19991231, 31.12.1999, 31/12/1999, 12/31/1999, 31-Dec-1999, Dec 31, 1999, with
    two digits of the year and with a time behind. ``day_first`` decides where day and month could be either.

    >>> parse_date("19991231"), parse_date("3/4/99"), parse_date("3/4/99", day_first=False), parse_date("1999")
    ((1999, 12, 31), (1999, 4, 3), (1999, 3, 4), None)
    """
    text = text.strip().lower()
    if found := _EIGHT_DIGITS.fullmatch(text):
        return _checked(*(int(part) for part in found.groups()))
    if found := _THREE_NUMBERS.fullmatch(text):
        a, b, c = found.groups()
        if len(a) == 4:
            return _checked(int(a), int(b), int(c))
        if len(a) > 2 or len(c) == 3:
            return None
        either = (int(b), int(a)) if day_first else (int(a), int(b))
        return _checked(_year(c), *either) or _checked(_year(c), *either[::-1])
    if found := _DAY_WORD_YEAR.fullmatch(text):
        return _checked(_year(found[3]), _MONTHS.get(found[2], 0), int(found[1]))
    if found := _WORD_DAY_YEAR.fullmatch(text):
        return _checked(_year(found[3]), _MONTHS.get(found[1], 0), int(found[2]))
    return None


def says_day_first(cells: Sequence[str]) -> bool:
    """Whether 3/4/1999 is in April: no date of the column has its month in front, or more have their day there."""
    votes = 0
    for cell in cells:
        found = _THREE_NUMBERS.fullmatch(cell.strip())
        if found and len(found[1]) <= 2:
            votes += (int(found[1]) > 12) - (int(found[2]) > 12)
    return votes >= 0


def guess_kind(cells: Sequence[str]) -> str | None:
    """The kind of a column from its cells that are not missing; None if it tells nothing.

    Row numbers (different whole numbers of a range less than twice their count) and columns with a single value say
    nothing about which records belong together.
    """
    different = set(cells)
    if len(different) < 2:
        return None
    dates = [parse_date(cell) for cell in cells]
    if sum(date is not None and 1800 <= date[0] <= 2100 for date in dates) >= _MOST * len(cells):
        return "date"
    numbers = [parse_number(cell) for cell in cells]
    known = [number for number in numbers if number is not None]
    if len(known) >= _MOST * len(cells):
        return None if len(different) == len(cells) and _counts_up(known) else "number"
    if all(VECTOR.fullmatch(cell) for cell in cells):
        sizes = {len(cell.replace(",", " ").split()) for cell in cells}
        if len(sizes) == 1 and min(sizes) >= _LEAST_OF_VECTOR:
            return "vector"
    if len(different) <= _FEW_VALUES and len(cells) >= 10 * len(different):
        return "category"
    return "text"


def are_codes(cells: Sequence[str]) -> bool:
    """Whether cells are no more than names of their rows, such as C-1041: all different, and all of one pattern."""
    patterns = {_LETTER_OR_DIGIT.sub("x", cell) for cell in cells}
    alike = len(patterns) == 1 and all(_DIGIT.search(cell) for cell in cells)
    return len(cells) >= 10 and alike and len(set(cells)) == len(cells)


def _counts_up(numbers: Sequence[float]) -> bool:
    whole = len(numbers) >= 10 and all(number.is_integer() for number in numbers)
    return whole and max(numbers) - min(numbers) < 2 * len(numbers)


def _year(digits: str) -> int:
    year = int(digits)
    return year if len(digits) > 2 else year + (2000 if year < 50 else 1900)


def _checked(year: int, month: int, day: int) -> tuple[int, int, int] | None:
    try:
        dt.date(year, month, day)
    except ValueError:
        return None
    return year, month, day
