"""Processes that can be killed at a moment, or at a step that others can see on the disk."""

from __future__ import annotations

import mmap
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from accord.cli import main as command_line


class Wrong(Exception):
    """What must not happen after a kill."""


def must(condition: bool, what: str) -> None:
    """Note a defect."""
    if not condition:
        raise Wrong(what)


_steps = mmap.mmap(-1, 16)  # shared with children: how many steps were done


def steps_done() -> int:
    """How many steps the last child did."""
    return int.from_bytes(_steps[:8], "little")


class Child:
    """A process that runs a function in a folder; what it prints comes through a pipe."""

    def __init__(self, run: Callable[[], Any], folder: Path, at_step: int = 0) -> None:
        out, printed = os.pipe()
        _steps[:8] = bytes(8)
        self.pid, self.out = os.fork(), out
        if self.pid == 0:
            os.close(out)
            _become(run, folder, printed, at_step)
        os.close(printed)

    def kill_after(self, seconds: float) -> None:
        """Set the clock."""
        signal.signal(signal.SIGALRM, lambda *_: self.kill())
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))

    def kill(self) -> None:
        """Without a word."""
        os.kill(self.pid, signal.SIGKILL)

    def end(self) -> tuple[list[str], int]:
        """Wait for it: the whole lines that it printed, and how it ended (-9 if it was killed)."""
        pieces = []
        while piece := os.read(self.out, 1 << 16):
            pieces.append(piece)
        os.close(self.out)
        _, status = os.waitpid(self.pid, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        lines = b"".join(pieces).decode().split("\n")
        return lines[:-1], os.waitstatus_to_exitcode(status)


def _become(run: Callable[[], Any], folder: Path, printed: int, at_step: int) -> None:
    """The life of a child."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(printed, 1)
    if not os.environ.get("KILLS_DEBUG"):
        os.dup2(printed, 2)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", closefd=False)
    os.chdir(folder)
    _count_steps(str(folder), at_step)
    code = 1
    try:
        run()
        code = 0
    except SystemExit as error:
        code = int(error.code or 0)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _count_steps(folder: str, last: int) -> None:
    """Kill this process at a step."""

    def step() -> None:
        number = steps_done() + 1
        _steps[:8] = number.to_bytes(8, "little")
        if number == last:
            os.kill(os.getpid(), signal.SIGKILL)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("open", "os.rename", "os.remove", "os.truncate", "os.mkdir"):
            name = arguments[0]
            if isinstance(name, int) or (isinstance(name, (str, os.PathLike)) and _is_inside(os.fspath(name))):
                step()

    def _is_inside(name: Any) -> bool:
        return isinstance(name, str) and (name.startswith(folder) or not os.path.isabs(name))

    fsync, replace = os.fsync, os.replace

    def seen_fsync(handle: int) -> None:
        step()
        fsync(handle)

    def seen_replace(*arguments: Any) -> None:
        replace(*arguments)
        step()

    os.fsync, os.replace = seen_fsync, seen_replace
    sys.addaudithook(hook)


def accord_command(*arguments: Any) -> Callable[[], None]:
    """The program ``accord`` with these arguments."""

    def run() -> None:
        sys.argv = ["accord", *map(str, arguments)]
        command_line()

    return run
