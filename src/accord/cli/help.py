"""Help that shows what most people need: few options in groups with ``--help``, all of them with ``--help-all``."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import click

_ALL = "accord.help-all"
_HELP, _HELPFUL = "Help", {"--help", "--help-all", "--debug"}


class GroupedCommand(click.Command):
    """A command with its important options in groups.

    `groups` are names of parameters by title, `titles` those under which the others stand where that is not "More". A
    form feed in the help text ends what ``--help`` shows of it.
    """

    def __init__(
        self, *args: Any, groups: Mapping[str, Sequence[str]], titles: Mapping[str, str] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.groups, self.titles = groups, dict(titles or {})
        self.params.append(
            click.Option(
                ["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_show_all,
                help="Show all options.",
            )
        )  # fmt: skip

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the command is for; the second part only if all is wanted."""
        brief, _, more = inspect.cleandoc(self.help or "").partition("\f")
        for text in (brief, more if ctx.meta.get(_ALL) else ""):
            if text.strip():
                formatter.write_paragraph()
                with formatter.indentation():
                    formatter.write_text(text.strip("\n"))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of the groups, then the others or how to see them."""
        place = {name: title for title, names in self.groups.items() for name in names}
        options = {str(p.name): p for p in self.get_params(ctx) if isinstance(p, click.Option)}
        place |= {name: _HELP for name, option in options.items() if not _HELPFUL.isdisjoint(option.opts)}
        shown = [name for name in place if name in options]
        others = [name for name in options if name not in place]
        place |= {name: self.titles.get(name, "More") for name in others}
        records: dict[str, list[tuple[str, str]]] = {title: [] for title in self.groups}
        records |= {title: [] for title in (*self.titles.values(), "More", _HELP)}
        for name in shown + others if ctx.meta.get(_ALL) else shown:
            record = options[name].get_help_record(ctx)
            if record is not None:
                records[place[name]].append(record)
        for title, entries in records.items():
            if entries:
                with formatter.section(title):
                    formatter.write_dl(entries)
        if others and not ctx.meta.get(_ALL):
            formatter.write(f"\n`{ctx.command_path} --help-all` shows {len(others)} more options.\n")


def _show_all(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()
