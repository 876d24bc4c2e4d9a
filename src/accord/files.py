"""Files that are written in one step: a kill, a full disk or a power cut leaves the old one or the new one."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows, where nobody can remove a file that is open anyway
    fcntl = None  # type: ignore[assignment]

_NAME_KEPT = 100  # characters of a file's name in that of its temporary file
_TEMPORARY = re.compile(r"\..*\.[0-9a-f]{16}\.accord-tmp")


@contextmanager
def replacing(target: Path, private: bool = False) -> Iterator[IO[bytes]]:
    """Open a temporary file beside `target` that takes its place if, and only if, the block succeeds.

    A `private` file can be read and written by its owner only (mode 0600), from its first byte on.
    """
    remove_leftovers(target)
    temporary, stream = _new_file(target, 0o600 if private else 0o666)
    try:
        with stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            os.replace(temporary, target)  # while it is locked, so that nobody takes it for a leftover
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    with suppress(OSError):  # so that the rename itself survives a power cut, where a directory can be synced
        handle = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _new_file(target: Path, mode: int) -> tuple[Path, IO[bytes]]:
    """A temporary file beside `target`, open and locked: the lock tells others that its program is alive.

    `mode` are its permissions, of which the usual mask takes some away.
    """
    while True:
        temporary = target.with_name(f".{target.name[:_NAME_KEPT]}.{secrets.token_hex(8)}.accord-tmp")
        opener = lambda path, flags: os.open(path, flags, mode)  # noqa: E731
        stream = open(temporary, "xb", opener=opener)  # noqa: SIM115  # x: never somebody else's file
        with suppress(OSError):  # a file system without locks
            _lock(stream)
        if temporary.exists():  # nobody has removed it before it was locked
            return temporary, stream
        stream.close()


def write_file(path: str | os.PathLike[str], content: str | bytes) -> Path:
    """Write `content` to `path`; makes the folder if need be."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as stream:
        stream.write(content.encode("utf-8") if isinstance(content, str) else content)
    return target


def remove_leftovers(path: str | os.PathLike[str]) -> None:
    """Remove the temporary files beside `path` of programs that were killed."""
    folder = Path(os.path.realpath(path)).parent
    with suppress(OSError):
        for name in filter(_TEMPORARY.fullmatch, os.listdir(folder)):
            with suppress(OSError), open(folder / name, "rb") as stream:
                _lock(stream)  # an error if the program that writes it is alive
                os.unlink(folder / name)


def _lock(stream: IO[bytes]) -> None:
    if fcntl is not None:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
