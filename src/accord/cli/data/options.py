"""The options about data files, which most commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from accord.cli.data.layout import FORMATS
from accord.cli.option_types import LENGTHS, NAMES, Parsed


def _column(text: str) -> int | str:
    return int(text) if text.lstrip("-").isdigit() else text


COLUMN = Parsed("N|NAME", _column, "a column")
_OPTIONS: list[tuple[tuple[str, ...], dict[str, Any]]] = [
    (("--format",), {"type": click.Choice(FORMATS), "help": "Format of the data.  [default: by the file's name]"}),
    (("--token-column",), {"type": int, "help": "CoNLL: column of the token.  [default: 0]"}),
    (
        ("--label-column",),
        {"type": COLUMN, "help": "CoNLL, CSV: column of the label, by number or CSV header.  [default: -1, the last]"},
    ),
    (
        ("--feature-columns",),
        {
            "type": LENGTHS,
            "help": "CoNLL: features are the token and these columns (numbers from 0, such as 1,2), and no others.",
        },
    ),
    (
        ("--unknown-label",),
        {
            "metavar": "TEXT",
            "help": "Label that stands for no label, also of single tokens of a sentence, such as ?.  [default: none]",
        },
    ),
    (("--columns",), {"type": int, "help": "CoNLL: number of columns.  [default: as in the first line]"}),
    (("--comment",), {"help": "CoNLL: drop lines that start with this.", "metavar": "TEXT"}),
    (("--header/--no-header",), {"default": None, "help": "CSV: whether there is a header.  [default: found out]"}),
    (("--delimiter",), {"help": "CSV: separator of cells.  [default: found out]"}),
    (("--categorical",), {"type": NAMES, "help": "CSV: columns that hold words.  [default: found out]"}),
    (("--zero-based/--one-based",), {"default": None, "help": "svmlight: number of the first feature.  [default: 1]"}),
    (("--n-features",), {"type": int, "help": "svmlight: number of features.  [default: found out]"}),
    (
        ("--clean/--no-clean",),
        {"default": None, "help": "Treebanks: strip function tags and traces.  [default: as in training; no]"},
    ),
    (
        ("--max-length",),
        {"type": click.IntRange(min=1), "help": "Treebanks: leave out sentences of more words.  [default: none]"},
    ),
    (("--encoding",), {"default": "utf-8", "show_default": True, "help": "Encoding of the data."}),
]  # fmt: skip


def reading_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options about data files to a command."""
    for names, settings in reversed(_OPTIONS):
        function = click.option(*names, **settings)(function)
    return function


def take_reading_options(options: dict[str, Any]) -> dict[str, Any]:
    """Take the options about data files out of all options."""
    names = [names[0].split("/")[0][2:].replace("-", "_") for names, _ in _OPTIONS]
    taken = {name: options.pop(name) for name in names}
    if taken["categorical"] is not None:
        taken["categorical"] = tuple(taken["categorical"])
    return taken
