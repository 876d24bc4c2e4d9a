"""How far a loop is: a bar on a terminal, now and then a line in a pipe or a log.

Both go to standard error, so that standard output stays clean for results.
"""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Any, ClassVar

INTERVAL = 10.0  # seconds between lines in a pipe; what takes less time says nothing


@dataclass(eq=False, repr=False)
class Progress:
    """Show how far a loop is, with the time that has passed and the time that is left.

    Of loops inside loops only the outermost is shown. A loop may end before its total: what is left is a bound.

    Parameters
    ----------
    total : int, optional
        Number of steps at most; None if it is not known beforehand.
    description : str
        What is going on.
    enabled : bool
        False never shows anything; True shows a bar if standard error is a terminal, else a line every ten seconds.

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
    _done: int = field(default=0, init=False)
    _start: float = field(default=0.0, init=False)
    _due: float = field(default=0.0, init=False)  # when the next line is
    _info: str = field(default="", init=False)
    _ended: threading.Event | None = field(default=None, init=False)

    _shown: ClassVar[Progress | None] = None

    def __enter__(self) -> Progress:
        # stderr is None in programs without a console
        if self.enabled and sys.stderr is not None and Progress._shown is None:
            Progress._shown = self
            self._done, self._start = 0, time.monotonic()
            self._due = self._start + INTERVAL
            if sys.stderr.isatty():
                self._start_bar()
            else:
                self._ended = threading.Event()
                threading.Thread(target=self._watch, args=(self._ended,), daemon=True).start()
        return self

    def __exit__(self, *failed: object) -> None:
        if Progress._shown is self:
            Progress._shown = None
        if self._ended is not None:
            self._ended.set()
        if self._bar is not None:
            if failed[0] is None and self.total is not None:  # what ended early is done all the same
                self._bar.update(self._task, total=self._done, left="")
            self._bar.stop()
            self._bar = None

    def advance(self, n: int = 1, info: str = "") -> None:
        """Go `n` steps on; `info` is shown behind the bar until the next one."""
        self._done += n
        self._info = info
        if self._bar is not None:
            self._bar.update(self._task, advance=n, info=info, left=self._left())
        elif Progress._shown is self:
            self._say()

    def _watch(self, ended: threading.Event) -> None:
        """Steps may take longer than people wait for a word."""
        while not ended.wait(INTERVAL):
            self._say()

    def _say(self) -> None:
        """Write a line if it is time for one."""
        now = time.monotonic()
        if now < self._due or sys.stderr is None:
            return
        self._due = now + INTERVAL
        of = "" if self.total is None else f" of {self.total:,}"
        parts = [f"{self._done:,}{of}", _clock(now - self._start), self._left(), self._info]
        sys.stderr.write(f"{self.description}: {', '.join(filter(None, parts))}\n")
        sys.stderr.flush()

    def _left(self) -> str:
        if self.total is None or not 0 < self._done < self.total:
            return ""
        seconds = (time.monotonic() - self._start) / self._done * (self.total - self._done)
        return f"up to {_clock(seconds)} left"

    def _start_bar(self) -> None:
        # rich takes a while to import, and most runs never show a bar
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar
        from rich.table import Column

        def fixed(width: int) -> Column:
            return Column(no_wrap=True, min_width=width)

        self._bar = Bar(
            TextColumn("{task.description}", markup=False, table_column=fixed(len(self.description))),
            BarColumn(bar_width=10),
            MofNCompleteColumn(table_column=fixed(2 * len(str(self.total or 0)) + 1)),
            TimeElapsedColumn(table_column=fixed(7)),
            TextColumn("{task.fields[left]}", markup=False, table_column=fixed(0 if self.total is None else 15)),
            # what does not fit is cut off here
            TextColumn("{task.fields[info]}", markup=False, table_column=Column(no_wrap=True, ratio=1)),
            expand=True,
            console=Console(stderr=True),
            # else rich would send what the program prints to standard output through its own console
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._bar.add_task(self.description, total=self.total, info="", left="")
        self._bar.start()


def _clock(seconds: float) -> str:
    """``1:02:03``, or ``2:03``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
