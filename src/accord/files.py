"""Files that are written in one step: a kill, a full disk or a power cut leaves the old one or the new one."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

_NAME_KEPT = 100  # characters of a file's name in that of its temporary file


@contextmanager
def replacing(target: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file beside `target` that takes its place if, and only if, the block succeeds."""
    temporary = target.with_name(f".{target.name[:_NAME_KEPT]}.{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as stream:  # x: the usual permissions, and never somebody else's file
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
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


def write_file(path: str | os.PathLike[str], content: str | bytes) -> Path:
    """Write `content` to `path`; makes the folder if need be."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as stream:
        stream.write(content.encode("utf-8") if isinstance(content, str) else content)
    return target


def remove_leftovers(path: str | os.PathLike[str]) -> None:
    """Remove the temporary files for `path` of programs that were killed; nobody may be writing it now."""
    target = Path(os.path.realpath(path))
    leftover = re.compile(rf"\.{re.escape(target.name[:_NAME_KEPT])}\.[0-9a-f]{{16}}\.tmp")
    with suppress(OSError):
        for name in os.listdir(target.parent):
            if leftover.fullmatch(name):
                with suppress(OSError):
                    os.unlink(target.parent / name)
