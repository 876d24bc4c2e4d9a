"""What a file looks like: said where it was read as CoNLL columns, the default, and is probably something else."""

from __future__ import annotations

import re
from itertools import islice
from typing import Any

from accord.cli.data.layout import Layout
from accord.datasets.formats.source import iter_lines
from accord.exceptions import FormatError, InputError

_LINES = 50  # that are looked at
_SEPARATORS = {",": "commas", ";": "semicolons", "|": "bars"}
_SVMLIGHT = re.compile(r"\S+( \d+:\S+)+\s*")


def explain(layout: Layout, source: str, Y: list[Any], X: Any) -> None:
    """Refuse what was read as CoNLL columns if it looks like JSON or trees, or has no labels and looks otherwise."""
    if layout.format != "conll":
        return
    lines = _first_lines(layout, source)
    if said := _look_at_brackets(lines):
        raise InputError(f"{source}: {said}")
    if not any(y is not None for y in Y):
        said = _look(lines) if lines else _look_at_cells([token for x in X[:_LINES] for token in x])
        if said:
            raise InputError(f"{source}: no token has a label. {said}")


def explained(layout: Layout, source: str, error: FormatError) -> FormatError | InputError:
    """The error of a reader of CoNLL columns, with what the file looks like."""
    said = _look(_first_lines(layout, source)) if layout.format == "conll" else ""
    return InputError(f"{error.message}. {said}") if said else error


def has_texts_in_cells(source: str, encoding: str) -> bool:
    """Whether all first lines have as many tabs, and some cells several words, as tokens never have."""
    try:
        lines = list(islice(iter_lines(source, encoding), _LINES))
    except InputError:
        return False
    tabs = {line.count("\t") for line in lines}
    return len(tabs) == 1 and tabs != {0} and any(" " in cell.strip() for line in lines for cell in line.split("\t"))


def look_at_text(source: str, encoding: str) -> str:
    """What a file that is called like plain text looks like if it has labels, and what to do."""
    lines = _head(source, encoding)
    if lines and all(line.startswith("__label__") for line in lines):
        return "The lines begin with __label__; write each as class<TAB>words, and give --task multiclass"
    return _look_at_cells(lines)


def _first_lines(layout: Layout, source: str) -> list[str]:
    return _head(source, layout.encoding)


def _head(source: str, encoding: str) -> list[str]:
    if source == "-":  # has been read
        return []
    try:
        filled = (line.strip() for line in iter_lines(source, encoding) if line.strip())
        return list(islice(filled, _LINES))
    except InputError:  # which is not about columns
        return []


def _look(lines: list[str]) -> str:
    """A sentence about what lines look like if that is no CoNLL file, and what to do."""
    if not lines:
        return ""
    if said := _look_at_brackets(lines):
        return said
    if all(map(_SVMLIGHT.fullmatch, lines)):
        return "The file looks like svmlight; give --format svmlight"
    if said := _look_at_cells(lines):
        return said
    columns = {len(line.split()) for line in lines}
    if columns == {1}:
        return "The file has a single column; a line of a labeled file is token<TAB>label"
    if len(columns) > 2 and max(columns) > 5:
        return (
            "The file looks like plain text; give it as --unlabeled beside labeled data, or with --task multiclass "
            "--format text if its lines are class<TAB>words"
        )
    return ""


def _look_at_brackets(lines: list[str]) -> str:
    """What is said of JSON and of trees, which have lines of two words, too."""
    if not lines:
        return ""
    if lines[0][0] in "{[" and lines[-1][-1] in "}]," and any(":" in line for line in lines):
        return "The file looks like JSON; if every line is an object of its own, give --format jsonl"
    if lines[0][0] == "(" and sum(line.count("(") for line in lines) > len(lines):
        return "The file looks like a treebank; give --format treebank"
    return ""


def _look_at_cells(lines: list[str]) -> str:
    """What is said if there is the same number of separators in all lines."""
    for mark, name in _SEPARATORS.items():
        counts = {line.count(mark) for line in lines}
        if len(counts) == 1 and counts != {0} and len(lines) > 1:
            return (
                f"The file looks like a table with {name}; give --format csv, and --label-column NAME for the labels; "
                "or, if its lines are tokens, put a tab between token and label"
            )
    return ""
