"""A progress bar on a terminal, silence in a pipe.

Bars go to standard error, so that standard output stays clean for results.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False, repr=False)
class Progress:
    """Show how far a loop is, if somebody is watching.

    Parameters
    ----------
    total : int, optional
        Number of steps; None if it is not known beforehand.
    description : str
        What is going on.
    enabled : bool
        False never shows anything; True shows a bar if standard error is a terminal.

    Examples
    --------
    >>> with Progress(2, "training") as progress:
    ...     for epoch in range(2):
    ...         progress.advance(info=f"epoch {epoch}")
    """

    total: int | None = None
    description: str = ""
    enabled: bool = True
    _bar: Any = field(default=None, init=False)

    def __enter__(self) -> Progress:
        # stderr is None in programs without a console
        if self.enabled and sys.stderr is not None and sys.stderr.isatty():
            self._start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def advance(self, n: int = 1, info: str = "") -> None:
        """Go `n` steps on; `info` is shown behind the bar until the next one."""
        if self._bar is not None:
            self._bar.update(self._task, advance=n, info=info)

    def _start(self) -> None:
        # rich takes a while to import, and most runs never show a bar
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        self._bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[info]}", markup=False),
            console=Console(stderr=True),
            # else rich would send what the program prints to standard output through its own console
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._bar.add_task(self.description, total=self.total, info="")
        self._bar.start()
