"""What all subcommands share: how errors, warnings, interrupts and closed pipes end the program.

============================  =========  ==========================================
what happened                 exit code  on standard error
============================  =========  ==========================================
bad data, file or option      2          one line, ``accord: error: ...``
Ctrl-C                        130        one line that says what was (not) written
the reader of a pipe left     141        nothing, as for any Unix filter
============================  =========  ==========================================
"""

from __future__ import annotations

import atexit
import errno
import gc
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

import click

from accord.exceptions import AccordError, InputError

_DEBUG, _COMMAND = "accord.debug", "accord.command"
INTERRUPTED = 130  # 128 + SIGINT
BROKEN_PIPE = 141  # 128 + SIGPIPE
_OBJECTS = 100_000  # that are made before garbage is looked for


class Failure(click.ClickException):
    """Ends the program with one line on standard error."""

    exit_code = 2
    kind = "error: "

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the line."""
        click.echo(f"accord: {self.kind}{self.message}", file=file, err=True)


class Interrupted(Failure):
    """Ctrl-C; the message says what became of the output."""

    exit_code = INTERRUPTED
    kind = "interrupted; "


class InOrder(click.Group):
    """A group of commands that lists them in the order in which one needs them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands as they were added."""
        return list(self.commands)


class Program(InOrder):
    """A group of commands that turns what goes wrong in them into one line."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program.

        Two thousand modules are imported, and almost nothing of that is ever garbage: looking for it while they are
        imported, and once more at the end, would take a fifth of the time of a short command.
        """
        gc.set_threshold(_OBJECTS, *gc.get_threshold()[1:])
        atexit.register(gc.freeze)
        return super().main(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            try:
                out = super().invoke(ctx)
                sys.stdout.flush()
                return out
            except BrokenPipeError:
                _drop_stdout()
                ctx.exit(BROKEN_PIPE)
            except KeyboardInterrupt:
                raise Interrupted("nothing was finished") from None
            except (AccordError, OSError) as error:
                if ctx.meta.get(_DEBUG):
                    traceback.print_exc()
                if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                    _drop_stdout()
                raise Failure(_one_line(error, ctx.meta.get(_COMMAND))) from error


@contextmanager
def if_interrupted(message: str) -> Iterator[None]:
    """Around what Ctrl-C may end; the message says what became of the output."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(message) from None


@contextmanager
def noticing_interrupts() -> Iterator[list[int]]:
    """A list that gets an entry by every Ctrl-C, which raises KeyboardInterrupt all the same.

    Learners that return what they have so far catch the exception; this tells that there was one.
    """
    seen: list[int] = []

    def notice(number: int, frame: Any) -> None:
        seen.append(number)
        signal.default_int_handler(number, frame)

    # left alone where it is ignored (nohup) or handled by others; only the main thread may set handlers
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not ours or threading.current_thread() is not threading.main_thread():
        yield seen
        return
    signal.signal(signal.SIGINT, notice)
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def debug_option(function: Any) -> Any:
    """Add ``--debug`` to a command (and to the program, so that it may stand before or after the command)."""

    def remember(ctx: click.Context, _: click.Parameter, value: bool) -> None:
        ctx.meta[_COMMAND] = ctx.command
        if value:
            ctx.meta[_DEBUG] = True

    return click.option(
        "--debug", is_flag=True, expose_value=False, callback=remember, help="Show the traceback of an error."
    )(function)


def _one_line(error: Exception, command: click.Command | None) -> str:
    if isinstance(error, OSError) and error.strerror:
        where = f"{os.fspath(error.filename)}: " if isinstance(error.filename, (str, os.PathLike)) else ""
        return where + error.strerror
    if not isinstance(error, InputError) or error.argument is None:
        return str(error)
    options = [param.opts[0] for param in command.params if param.name == error.argument] if command else []
    return "; see ".join([error.message, *options])


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    click.echo(f"accord: warning: {message}", err=True)


def _drop_stdout() -> None:
    """Point standard output to nowhere: Python would otherwise complain at exit about what it could not flush."""
    with suppress(OSError, ValueError):  # standard output is no file, as in a test
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
