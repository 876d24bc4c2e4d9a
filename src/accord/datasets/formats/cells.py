"""What the cells of a table look like: numbers, categories, texts that people wrote, or names of columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice

import numpy as np

# What people call a column of labels, the surest first.
LABELS = (
    "label", "labels", "class", "classes", "category", "categories", "target", "gold", "gold_label", "annotation",
    "topic", "sentiment", "intent", "y",
)  # fmt: skip
# A column is free text if its cells have so many words on the average, and so many of them are distinct.
_WORDS_OF_TEXT, _DISTINCT_OF_TEXT, _CELLS_OF_TEXT = 3.0, 0.5, 4
_FEW_WORDS, _ALL_DISTINCT = 1.5, 0.9  # or this
_CHANCE = 0.05  # below which it is no chance that no cell of the first row occurs again
_LOOKED_AT = 100  # cells
_ALMOST = re.compile(r"[-+]?\s?[$€£¥]?\s?[-+]?\d[\d.,' ]*\s?[%$€£¥]?")


def floats(cells: Sequence[str]) -> np.ndarray | None:
    """The column as floats, empty cells as nan; None if some cell is not a number."""
    try:
        values = np.array([float(cell) if cell else np.nan for cell in cells])
    except ValueError:
        return None
    return None if any("_" in cell for cell in cells) else values  # Python reads 1_000 as a number, no other tool does


def is_number(cell: str) -> bool:
    return bool(cell) and floats([cell]) is not None


def are_almost_numbers(cells: Sequence[str]) -> bool:
    """Whether cells, the first of many, are numbers as people write them but programs do not: 1,5 or $20 or 3 %."""
    filled = list(islice((cell for cell in cells if cell), _LOOKED_AT))
    return bool(filled) and floats(filled) is None and all(map(_ALMOST.fullmatch, filled))


def is_free_text(cells: Sequence[str]) -> bool:
    """Whether a column looks like texts that people wrote: several words, mostly distinct.

    Two words are enough where hardly anything occurs twice: as categories, such values would say nothing about others.
    Numbers with a unit are no texts.
    """
    filled = [cell for cell in cells if cell]
    if are_almost_numbers(filled) or len(filled) < _CELLS_OF_TEXT or len(set(filled)) < _DISTINCT_OF_TEXT * len(filled):
        return False
    words = _FEW_WORDS if len(set(filled)) >= _ALL_DISTINCT * len(filled) else _WORDS_OF_TEXT
    return sum(len(cell.split()) for cell in filled) >= words * len(filled)


def named_label(names: Sequence[str]) -> str | None:
    """The name that columns of labels usually have."""
    known = {name.strip().lower(): name for name in reversed(names)}
    return next((known[name] for name in LABELS if name in known), None)


def is_header(first: Sequence[str], rows: Sequence[Sequence[str]]) -> bool | None:
    """Whether the first row of a table names its columns, None if that cannot be found out; no cell of it is a number.

    It does if a column is one of numbers, or of texts below short names, or if one is called like columns of labels
    are. A name of a column does not occur in it again, unless files with headers were put together; where most cells
    do, that alone says enough.
    """
    below = list(zip(*rows))
    if any(floats(cells) is not None for cells in below):
        return True
    short = all(len(cell.split()) <= 2 for cell in first)
    again = [name for name, cells in zip(first, below) if name and name in cells]
    label = named_label(first)
    if short and label is not None and (label not in again or list(first) in map(list, rows)):
        return True
    if again:
        return False
    if short and any(map(is_free_text, below)):
        return True
    alone = [Counter(cells) for cells in below]
    chance = np.prod([sum(n == 1 for n in found.values()) / max(1, found.total()) for found in alone])
    return True if rows and chance < _CHANCE else None
