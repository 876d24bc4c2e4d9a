"""What people see: tables, notes on standard error, and an announcement before kernels are compiled."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

_QUIET = "accord.quiet"
_COMPILING = "compiling kernels, once after installation (`accord warm` compiles all of them)"
_WIDE = 240  # columns of a table that goes to a file or a pipe


def _remember(ctx: click.Context, _: click.Parameter, value: bool) -> bool:
    ctx.meta[_QUIET] = value
    return value


quiet_option = click.option("--quiet", "-q", is_flag=True, callback=_remember, help="No progress and no report.")


def is_quiet() -> bool:
    """Whether the command that runs was asked to say nothing but what went wrong."""
    ctx = click.get_current_context(silent=True)
    return ctx is not None and bool(ctx.meta.get(_QUIET))


def note(message: str) -> None:
    """A line on standard error, also in a pipe, unless the command was asked to be quiet."""
    if not is_quiet():
        click.echo(message, err=True)


def listed(names: Iterable[str], last: str = "and") -> str:
    """Names as one says them: ``a, b and c``."""
    *front, end = names
    return f"{', '.join(front)} {last} {end}" if front else end


def set_encoding(encoding: str) -> None:
    """Write standard output in this encoding, not in that of the locale, and with plain line ends."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding=encoding, newline="\n")


def print_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], sections: Sequence[int] = (), left: int = 1
) -> None:
    """Print a table; the first `left` columns hold text, and a line is drawn after each of the rows `sections`."""
    from rich.console import Console
    from rich.table import Table

    class Pipe(Console):
        def on_broken_pipe(self) -> None:
            raise  # called while it is handled; the program ends as for all of its output

    # no markup: labels may hold brackets
    console = Pipe(markup=False, highlight=False, emoji=False, width=None if sys.stdout.isatty() else _WIDE)
    table = Table()
    for k, name in enumerate(columns):
        table.add_column(name, justify="left" if k < left else "right", no_wrap=k >= left)
    for i, row in enumerate(rows):
        table.add_row(*row, end_section=i in sections)
    if title:
        console.print(title, style="bold")
    console.print(table)


def print_pairs(title: str, pairs: Sequence[tuple[str, Any]]) -> None:
    """Print names and values below each other."""
    click.echo(title)
    width = max(len(name) for name, _ in pairs)
    for name, value in pairs:
        click.echo(f"  {name:<{width}}  {value}")


def named(values: dict[str, Any]) -> list[tuple[str, str]]:
    """Names and values for :func:`print_pairs`."""

    def text(value: Any) -> str:
        if isinstance(value, bool) or value is None:
            return {True: "yes", False: "no", None: "none"}[value]
        return f"{value:,}" if isinstance(value, int) else f"{value:.6g}" if isinstance(value, float) else str(value)

    return [(name, text(value)) for name, value in values.items()] or [("none", "")]


@contextmanager
def computing(on_compile: Callable[[], None] | None = None, message: str = _COMPILING) -> Iterator[None]:
    """Around everything that trains or predicts.

    Says once that a kernel has to be compiled, then calls `on_compile`.
    Keeps BLAS at one thread: the vectors are short, and waiting for a second thread costs many times what it brings.
    `n_jobs` threads are Accord's own.
    """
    from numba.core import event
    from threadpoolctl import threadpool_limits

    class FirstCompilation(event.Listener):
        seen = False

        def on_start(self, _: Any) -> None:
            if self.seen:
                return
            self.seen = True
            # on a terminal a progress bar may stand in this line
            start = "\r\x1b[K" if sys.stderr is not None and sys.stderr.isatty() else ""
            note(f"{start}{message} ...")
            if on_compile is not None:
                on_compile()

        def on_end(self, _: Any) -> None:
            return

    with event.install_listener("numba:compile", FirstCompilation()), threadpool_limits(limits=1, user_api="blas"):
        yield
