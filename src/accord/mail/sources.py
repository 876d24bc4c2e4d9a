"""Mail from where it is kept: mbox files, Maildir and MH folders, messages, tar and zip archives, standard input.

Every message comes as ``(name, raw bytes)``, one at a time, so that archives of any size can be read. Nothing is
parsed.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import sys
import tarfile
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import IO, Any

from accord.exceptions import FormatError, InputError

MAX_MESSAGE = 64 << 20  # bytes; longer ones are cut, so that one file cannot fill the memory
_CHUNK = 1 << 20
_PACKED: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh[1-9]1AY&SY": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
}  # by how they begin
_UNREADABLE = (EOFError, OSError, lzma.LZMAError, zlib.error)
# with a time, since a text may begin with "From", too
_NEXT_MESSAGE = re.compile(rb"\n\r?\nFrom [^\n]*\d:\d\d[^\n]*\n")


def iter_mail(source: str | PathLike[str] | IO[bytes], name: str | None = None) -> Iterator[tuple[str, bytes]]:
    """Yield ``(name, raw)`` for each message.

    Files in a folder that cannot be read, or have vanished, are skipped with a warning.

    Parameters
    ----------
    source : path, "-" or open binary file
        A folder (Maildir: ``new`` and ``cur``; else all files below it, by name), a tar archive (compressed or not)
        or zip archive (its members in their order), an mbox file (it begins with ``From ``), or a single message; these
        two may be compressed by gzip, bzip2 or xz, and be pipes. ``"-"`` is standard input, an mbox or one message.
    name : str, optional
        What the names of messages begin with; default: the file's name, and nothing for folders and archives.
    """
    if not isinstance(source, (str, PathLike)):
        yield from _from_stream(source, name or str(getattr(source, "name", "<stream>")))
        return
    if source == "-":
        yield from _from_file(sys.stdin.buffer, name or "<stdin>", "standard input")
        return
    path = Path(source)
    if _holds_files(path):
        inside = _from_folder(path) if path.is_dir() else _from_zip(path) if _is_zip(path) else _from_tar(path)
        yield from inside if name is None else ((f"{name}/{member}", raw) for member, raw in inside)
    elif path.is_file() or path.is_fifo() or path.is_char_device():
        with open(path, "rb") as stream:
            yield from _from_file(stream, name or path.name, fspath(path))
    else:
        raise InputError(
            f"{fspath(source)!r} is no file or folder; give an mbox, Maildir, folder, tar, zip or message file"
        )


def iter_sources(sources: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yield ``(name, raw)`` for each message of several sources, such that names tell sources apart.

    If there are several, names begin with the path as given for folders and archives, and for files that have their
    name in common.
    """
    given = list(dict.fromkeys(sources))
    names = Counter(Path(source).name for source in given)
    for source in sources:
        path = Path(source)
        alike = source != "-" and len(given) > 1 and (names[path.name] > 1 or _holds_files(path))
        yield from iter_mail(source, source.rstrip("/") if alike else None)


def _holds_files(path: Path) -> bool:
    """Whether it is a folder or an archive."""
    return path.is_dir() or (path.is_file() and (_is_zip(path) or _is_tar(path)))


def _is_zip(path: Path) -> bool:
    """By its beginning: a message or mbox may end like an archive that is attached to it."""
    try:
        with open(path, "rb") as stream:
            return stream.read(4) in (b"PK\3\4", b"PK\5\6")
    except OSError:
        return False


def _is_tar(path: Path) -> bool:
    if path.name.endswith((".eml", ".mbox", ".msg")):
        return False
    if ".tar" in path.suffixes:  # even if it is damaged
        return True
    try:
        return tarfile.is_tarfile(path)
    except _UNREADABLE:
        return False


def _from_folder(path: Path) -> Iterator[tuple[str, bytes]]:
    folders = [path / name for name in ("cur", "new") if (path / name).is_dir()] or [path]
    files = [file for folder in folders for file in folder.rglob("*")]
    n_skipped = 0
    for file in sorted(files, key=lambda file: (file.name, file.as_posix())):
        try:
            # one that is not there was a moment ago: Maildirs may be in use
            if file.name.startswith(".") or (file.exists() and not file.is_file()):
                continue
            with open(file, "rb") as stream:
                yield from _from_file(stream, file.relative_to(path).as_posix(), fspath(file))
        except (OSError, FormatError) as error:
            n_skipped += 1
            reason = f"{file}: {error.strerror}" if isinstance(error, OSError) else error
            warnings.warn(f"skipped {reason}", stacklevel=3)
    if n_skipped:
        warnings.warn(f"{n_skipped:,} file{'s' * (n_skipped > 1)} in {path} could not be read", stacklevel=3)


def _from_tar(path: Path) -> Iterator[tuple[str, bytes]]:
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                content = archive.extractfile(member) if member.isfile() else None
                if content is not None:
                    yield from _from_member(content, member.name)
                archive.members = []  # type: ignore[attr-defined]  # it would keep an entry per message
    except (tarfile.TarError, *_UNREADABLE) as error:
        raise FormatError(f"the archive cannot be read: {error}", fspath(path)) from error


def _from_zip(path: Path) -> Iterator[tuple[str, bytes]]:
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                parts = Path(member.filename).parts
                # what archivers add: files that begin with a dot, and resources of macOS
                if parts and not member.is_dir() and not parts[-1].startswith(".") and "__MACOSX" not in parts:
                    with archive.open(member) as content:
                        yield from _from_member(content, member.filename)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, *_UNREADABLE) as error:  # RuntimeError: a password
        raise FormatError(f"the archive cannot be read: {error}", fspath(path)) from error


def _from_member(content: IO[bytes], name: str) -> Iterator[tuple[str, bytes]]:
    """An mbox if it holds several messages; archives of single ones often keep their first line, ``From ...``."""
    content = _unpacked(content)
    raw = content.read(MAX_MESSAGE)
    if not (raw.startswith(b"From ") and _NEXT_MESSAGE.search(raw)):
        yield name, raw
    elif len(raw) < MAX_MESSAGE:
        yield from _from_stream(io.BytesIO(raw), name)
    else:
        content.seek(0)  # slow in compressed archives, so only for long ones
        yield from _from_stream(content, name)


def _from_file(stream: IO[bytes], name: str, where: str) -> Iterator[tuple[str, bytes]]:
    """An mbox or one message, compressed or not; `where` is named in errors."""
    try:
        yield from _from_stream(_unpacked(stream), name)
    except _UNREADABLE as error:
        raise FormatError(f"cannot be read: {getattr(error, 'strerror', None) or error}", where) from error


def _unpacked(stream: IO[bytes]) -> IO[bytes]:
    start = stream.peek(10) if isinstance(stream, io.BufferedReader) else b""
    packed = next((opened for magic, opened in _PACKED.items() if re.match(magic, start)), None)
    return stream if packed is None else packed(stream)


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
