"""What people see: tables, notes on standard error, and an announcement before kernels are compiled."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

_WIDE = 240  # columns of a table that goes to a file or a pipe


def note(message: str) -> None:
    """A line on standard error, if somebody is watching."""
    if sys.stderr is not None and sys.stderr.isatty():
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
def computing(announce: bool | None = None, on_compile: Callable[[], None] | None = None) -> Iterator[None]:
    """Around everything that trains or predicts.

    Announces once when a kernel has to be compiled (`announce`: None only on a terminal), then calls `on_compile`.
    Keeps BLAS at one thread: the vectors are short, and waiting for a second thread costs many times what it brings.
    `n_jobs` threads are Accord's own.
    """
    from numba.core import event
    from threadpoolctl import threadpool_limits

    shown = sys.stderr.isatty() if announce is None else announce

    class FirstCompilation(event.Listener):
        seen = False

        def on_start(self, _: Any) -> None:
            if self.seen:
                return
            self.seen = True
            if shown:
                # on a terminal a progress bar may stand in this line
                start = "\r\x1b[K" if sys.stderr.isatty() else ""
                click.echo(f"{start}compiling kernels (first run only, about half a minute) ...", err=True)
            if on_compile is not None:
                on_compile()

        def on_end(self, _: Any) -> None:
            return

    with event.install_listener("numba:compile", FirstCompilation()), threadpool_limits(limits=1, user_api="blas"):
        yield
