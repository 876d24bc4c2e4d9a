"""Mail from where it is kept: mbox files, Maildir and MH folders, single messages, tar archives, standard input.

Every message comes as ``(name, raw bytes)``, one at a time, so that archives of any size can be read. Nothing is
parsed.
"""

from __future__ import annotations

import lzma
import sys
import tarfile
import zlib
from collections.abc import Iterator
from os import PathLike, fspath
from pathlib import Path
from typing import IO

from accord.exceptions import FormatError, InputError

MAX_MESSAGE = 64 << 20  # bytes; longer ones are cut, so that one file cannot fill the memory
_CHUNK = 1 << 20


def iter_mail(source: str | PathLike[str] | IO[bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield ``(name, raw)`` for each message.

    Parameters
    ----------
    source : path, "-" or open binary file
        A folder (Maildir: ``new`` and ``cur``; else all files below it, by name), a tar archive (compressed or not;
        its members in their order), an mbox file (it begins with ``From ``), or a single message. ``"-"`` is standard
        input, an mbox or one message.
    """
    if not isinstance(source, (str, PathLike)):
        yield from _from_stream(source, str(getattr(source, "name", "<stream>")))
        return
    if source == "-":
        yield from _from_stream(sys.stdin.buffer, "<stdin>")
        return
    path = Path(source)
    if path.is_dir():
        yield from _from_folder(path)
    elif path.is_file():
        if _is_tar(path):
            yield from _from_tar(path)
        else:
            with open(path, "rb") as stream:
                yield from _from_stream(stream, path.name)
    else:
        raise InputError(f"{fspath(source)!r} is no file or folder; give an mbox, Maildir, folder, tar or message file")


def _is_tar(path: Path) -> bool:
    if path.name.endswith((".eml", ".mbox", ".msg")):
        return False
    if ".tar" in path.suffixes:  # even if it is damaged
        return True
    try:
        return tarfile.is_tarfile(path)
    except OSError:
        return False


def _from_folder(path: Path) -> Iterator[tuple[str, bytes]]:
    folders = [path / name for name in ("cur", "new") if (path / name).is_dir()] or [path]
    files = [file for folder in folders for file in folder.rglob("*")]
    for file in sorted(files, key=lambda file: (file.name, file.as_posix())):
        if file.is_file() and not file.name.startswith("."):
            name = file.relative_to(path).as_posix()
            with open(file, "rb") as stream:
                first = stream.read(5)
                stream.seek(0)
                if first == b"From ":
                    yield from _from_stream(stream, name)
                else:
                    yield name, stream.read(MAX_MESSAGE)


def _from_tar(path: Path) -> Iterator[tuple[str, bytes]]:
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                content = archive.extractfile(member) if member.isfile() else None
                if content is not None:
                    yield member.name, content.read(MAX_MESSAGE)
                archive.members = []  # type: ignore[attr-defined]  # it would keep an entry per message
    except (tarfile.TarError, EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        raise FormatError(f"the archive cannot be read: {error}", fspath(path)) from error


def _from_stream(stream: IO[bytes], name: str) -> Iterator[tuple[str, bytes]]:
    """An mbox if the first line begins with ``From ``, else one message."""
    first = stream.readline(_CHUNK)
    if not first.startswith(b"From "):
        raw = first + stream.read(max(MAX_MESSAGE - len(first), 0))
        if raw:
            yield name, raw
        return
    lines: list[bytes] = []
    size, number, blank = 0, 0, False
    while line := stream.readline(_CHUNK):
        if line.startswith(b"From ") and (blank or not lines):
            if lines:
                number += 1
                yield f"{name}:{number}", b"".join(lines[:-1])  # the empty line belongs to the separator
            lines, size, blank = [], 0, False
            continue
        blank = line in (b"\n", b"\r\n")
        size += len(line)
        if size <= MAX_MESSAGE:
            lines.append(line[1:] if line.startswith(b">From ") else line)
    if lines:
        yield f"{name}:{number + 1}", b"".join(lines[:-1] if blank else lines)
