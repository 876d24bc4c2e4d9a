"""What an option of ``accord train`` knows about the constructor parameter that it stands for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import click

from accord.cli.option_types import flag


@dataclass(frozen=True)
class Parameter:
    """A constructor parameter, the classes that have it with their defaults, and its text for ``--help``."""

    name: str
    defaults: Mapping[str, Any]
    help: str
    type: Any = None  # None: a switch
    shown: str | None = None  # instead of the default
    alias: str | None = None  # another name of the option

    @property
    def flag(self) -> str:
        """The option on the command line."""
        return flag(self.name)

    def option(self) -> click.Option:
        """The click option; it is None unless given."""
        spelled = self.flag if self.type is not None else f"{self.flag}/--no-{self.flag[2:]}"
        flags = [spelled] if self.alias is None else [spelled, self.alias]
        return click.Option([self.name, *flags], default=None, type=self.type, help=f"{self.help} {self._default()}")

    def _default(self) -> str:
        if self.shown is not None:
            return f"[{self.shown}]"
        shown = {owner: _show(value) for owner, value in self.defaults.items()}
        texts = set(shown.values())
        if len(texts) == 1:
            only = "" if len(shown) > 3 else ", ".join(shown) + "; "
            return f"[{only}default: {texts.pop()}]"
        return f"[default: {', '.join(f'{value} ({owner})' for owner, value in shown.items())}]"


def _show(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def same(value: Any, *owners: str) -> dict[str, Any]:
    """One default for several classes."""
    return dict.fromkeys(owners, value)
