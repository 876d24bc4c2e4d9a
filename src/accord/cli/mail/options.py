"""Flags of ``accord mail``, made from the settings of its configuration file: a flag wins over the file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import Field, fields
from typing import Any

import click

from accord.mail.config import MailSettings, read_settings

_PREFIX = "setting__"  # of the names under which click hands over values, so that no option can be mistaken for another


def setting_options(*tables: str, names: tuple[str, ...] = ()) -> Callable[[Any], Any]:
    """Add ``--config`` and a flag per setting of these tables, and of `names` (as ``"table.name"``), to a command."""

    def decorate(function: Any) -> Any:
        for table in reversed(fields(MailSettings)):
            for known in reversed(fields(table.default_factory)):  # type: ignore[arg-type]
                key = f"{table.name}.{known.name}"
                # several tables have an address, but a command has one --listen
                if key in names or (table.name in tables and known.name != "listen"):
                    function = _option(key, known)(function)
        return click.option(
            "--config", metavar="FILE", help="Settings; `accord mail config` prints a file with all of them."
        )(function)

    return decorate


def _option(key: str, known: Field[Any]) -> Callable[[Any], Any]:
    table, _, name = key.partition(".")
    variable = f"{_PREFIX}{table}__{name}"
    flag = (f"allow-{name[:-1]}" if table == "allow" else name).replace("_", "-")
    default: Any = known.default
    text = known.metadata["help"].replace('""', "none")
    if isinstance(default, bool):
        return click.option(f"--{flag}/--no-{flag}", variable, default=None, help=text)
    if isinstance(default, tuple):
        shown = f"  [default: {', '.join(default)}]" if default else ""
        single = flag[:-1] if flag.endswith("s") and table != "allow" else flag
        return click.option(f"--{single}", variable, multiple=True, metavar="TEXT", help=f"{text} Repeatable.{shown}")
    shown = f"  [default: {default}]" if default != "" else ""
    return click.option(f"--{flag}", variable, type=type(default), help=text + shown)


def take_settings(options: dict[str, Any], **more: Any) -> MailSettings:
    """The settings of a command, taken out of its options; `more` are flags by ``table__name``."""
    given = {key.removeprefix(_PREFIX): options.pop(key) for key in list(options) if key.startswith(_PREFIX)}
    flags = {key.replace("__", "."): None if value == () else value for key, value in (given | more).items()}
    return read_settings(options.pop("config"), flags)
