"""Types of options: text on the command line to a value, or an error that says what was expected."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

import click

from accord.registry import TABLE

NONE = object()  # "none" as it was typed; None itself stands for an option that was not given


def flag(argument: str) -> str:
    """The option for an argument of the library: they have the same names."""
    return "--" + argument.rstrip("_").replace("_", "-")


class Parsed(click.ParamType):
    """A type made from a function that raises a ValueError for text it cannot read."""

    def __init__(self, name: str, parse: Callable[[str], Any], expected: str) -> None:
        self.name = name
        self.parse = parse
        self.expected = expected

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse, or say what was expected."""
        try:
            return self.parse(value) if isinstance(value, str) else value
        except ValueError:
            self.fail(f"{value!r} is not {self.expected}", param, ctx)


class Choice(click.Choice):
    """One of some words; a misspelt one, or the name of the class in Python, is understood enough to suggest the right
    one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The word, or an error that says which one was probably meant."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            words = [str(word) for word in self.choices]
            meant = [TABLE[value].command] if value in TABLE else get_close_matches(value.lower(), words, 1, 0.5)
            if not meant or meant[0] not in words:
                raise
            message = f"{error.message} Did you mean {meant[0]}?"
        return self.fail(message, param, ctx)


def _window(text: str) -> int | tuple[int, int]:
    numbers = tuple(int(part) for part in text.split(","))
    if len(numbers) > 2:
        raise ValueError
    return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])


def _lengths(text: str) -> tuple[int, ...]:
    return () if text == "none" else tuple(int(part) for part in text.split(","))


def _names(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _weights(text: str) -> dict[str, float]:
    pairs = [part.rpartition("=") for part in _names(text)]
    if not all(sep for _, sep, _ in pairs):
        raise ValueError
    return {label: float(weight) for label, _, weight in pairs}


def _numbers(text: str) -> float | list[float]:
    return [float(part) for part in text.split(",")] if "," in text else float(text)


def _count(text: str) -> int:
    if int(text) < 0:
        raise ValueError
    return int(text)


def _column(text: str) -> int | str:
    return int(text) if text.lstrip("-").isdigit() else text


def _or(read: Callable[[str], Any] | None, *words: str) -> Callable[[str], Any]:
    """Reads some words as themselves (and none as none), everything else by `read`."""

    def parse(text: str) -> Any:
        if text in words:
            return NONE if text == "none" else text
        if read is None:
            raise ValueError
        return read(text)

    return parse


WINDOW = Parsed("N|N,N", _window, "a number of neighbours, or two: before,after")
LENGTHS = Parsed("N,N,...", _lengths, "a list of numbers such as 2,3, or none")
NAMES = Parsed("A,B,...", _names, "a list of names separated by commas")
WEIGHTS = Parsed("A=W,...", _weights, "a list such as O=0.5,B-PER=2")
NUMBER_OR_AUTO = Parsed("FLOAT|auto", _or(float, "auto"), "a number or auto")
NUMBER_OR_RULE = Parsed("FLOAT|auto|none", _or(float, "auto", "none"), "a number, auto or none")
NUMBERS_OR_RULE = Parsed(
    "FLOAT,...|auto|none", _or(_numbers, "auto", "none"), "a number (or several: 0.1,0.5), auto or none"
)
COUNT_OR_NONE = Parsed("N|none", _or(_count, "none"), "a number, 0 or more, or none")
SPAN_FEATURES = Parsed(
    "label|symbol|rule|none", _or(None, "label", "symbol", "rule", "none"), "one of label, symbol, rule and none"
)
COLUMN = Parsed("N|NAME", _column, "a column")
