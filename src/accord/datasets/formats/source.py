"""Lines of text from a path, standard input or an open file, with errors that know their line.

All readers of this package get their lines here, so gzip, encodings, byte-order marks and line ends are
handled once. Bytes are decoded in large chunks: decoding line by line would cost more than parsing.
"""

from __future__ import annotations

import codecs
import gzip
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from os import PathLike, fspath
from typing import IO, Any

from accord.exceptions import FormatError, InputError

# A path, "-" for standard input, or an open text or binary file.
Source = str | PathLike[str] | IO[Any]

_CHUNK = 1 << 16
_GZIP_MAGIC = b"\x1f\x8b"
# How files begin that hold no text.
_NO_TEXT = {
    b"PK\x03\x04": "a zip archive, as files of Excel are; unpack it, or save the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "a file of Excel or Word; save it as CSV or as text",
    b"PAR1\x15": "a Parquet file; give --format parquet, or name it .parquet",
    b"%PDF": "a PDF file; save its text",
    b"BZh91AY&SY": "packed by bzip2; unpack it, or use gzip, which is read as it is",
    b"\xfd7zXZ": "packed by xz; unpack it, or use gzip, which is read as it is",
    b"\x28\xb5\x2f\xfd": "packed by zstd; unpack it, or use gzip, which is read as it is",
}
# Only these separate columns and tokens. str.split() would also cut at no-break spaces, which real tokens hold.
BLANKS = " \t"


def source_name(source: Source) -> str:
    """Name of a source for error messages: the path, ``<stdin>``, or the stream's own name."""
    if isinstance(source, (str, PathLike)):
        return "<stdin>" if source == "-" else fspath(source)
    return str(getattr(source, "name", "<stream>"))


def split_blanks(line: str) -> list[str]:
    """Split at blanks and tabs only, dropping empty pieces.

    >>> split_blanks(" a  b\\tc\\xa0d ")
    ['a', 'b', 'c\\xa0d']
    """
    pieces = line.replace("\t", " ").split(" ")
    return [piece for piece in pieces if piece] if "" in pieces else pieces


def iter_lines(source: Source, encoding: str = "utf-8") -> Iterator[str]:
    r"""Yield the lines of a source without their line ends (``\n`` or ``\r\n``).

    Parameters
    ----------
    source : path, "-" or open file
        ``"-"`` is standard input. Binary input may be gzip-compressed. A file opened by the caller stays open.
    encoding : str
        Encoding of binary input; a text file keeps the encoding it was opened with.
    """
    name = source_name(source)
    try:
        codecs.lookup(encoding)
    except LookupError as error:
        raise InputError(f"the encoding {encoding!r} is not known to Python; try 'utf-8' or 'latin-1'") from error
    if isinstance(source, (str, PathLike)) and source != "-":
        with open(source, "rb") as stream:
            yield from _split_lines(_decode(_binary_chunks(stream, name), encoding, name))
        return
    opened: Any = getattr(sys.stdin, "buffer", sys.stdin) if isinstance(source, (str, PathLike)) else source
    if not hasattr(opened, "read"):
        raise InputError(f"source must be a path, '-' or an open file, got {type(source).__name__}")
    if isinstance(opened.read(0), str):
        yield from _split_lines(_text_lines(opened, name))
    else:
        yield from _split_lines(_decode(_binary_chunks(opened, name), encoding, name))


def waiting_line(encoding: str = "utf-8") -> str | None:
    """The first line of standard input, which is still read by whoever reads it next; None if it cannot be seen yet."""
    buffer: Any = getattr(sys.stdin, "buffer", None)
    seen = b""
    if hasattr(buffer, "peek"):
        seen = buffer.peek(1)
    elif buffer is not None and buffer.seekable():
        here = buffer.tell()
        seen = buffer.readline()
        buffer.seek(here)
    line, end, _ = seen.partition(b"\n")
    return line.decode(encoding, "replace").removeprefix("\ufeff") if end else None


def iter_text(source: Source, encoding: str = "utf-8") -> Iterator[list[str]]:
    """Yield the tokens of each line; an empty line yields an empty list, so outputs stay aligned with lines.

    >>> import io
    >>> list(iter_text(io.StringIO("Tom comes from London .\\n\\nAna too\\n")))
    [['Tom', 'comes', 'from', 'London', '.'], [], ['Ana', 'too']]
    """
    return map(split_blanks, iter_lines(source, encoding))


@contextmanager
def open_target(target: str | PathLike[str] | IO[str], encoding: str) -> Iterator[IO[str]]:
    """A text file to write to: standard output for ``"-"``, compressed if the path ends in ``.gz``."""
    if not isinstance(target, (str, PathLike)):
        yield target
    elif target == "-":
        yield sys.stdout
        sys.stdout.flush()
    else:
        opened = gzip.open if fspath(target).endswith(".gz") else open
        with opened(target, "wt", encoding=encoding, newline="\n") as stream:  # type: ignore[operator]
            yield stream


def _split_lines(texts: Iterable[str]) -> Iterator[str]:
    """Cut a stream of text pieces at newlines only (splitlines would also cut at U+0085, U+2028 and others)."""
    tail = ""
    first = True
    for text in texts:
        if first and text:
            text, first = text.removeprefix("\ufeff"), False
        joined = tail + text
        lines = joined.split("\n")
        tail = lines.pop()
        if "\r" in joined:
            lines = [line.removesuffix("\r") for line in lines]
        yield from lines
    if tail:
        yield tail.removesuffix("\r")


def _text_lines(stream: IO[str], name: str) -> Iterator[str]:
    """Iterate over a text file, whose own decoder may fail a little ahead of the line being read."""
    n_lines = 0
    try:
        for line in stream:
            n_lines += 1
            yield line
    except UnicodeDecodeError as error:
        hint = "open the file with the right encoding= or pass its path"
        raise FormatError(f"not valid {error.encoding} somewhere after line {n_lines}; {hint}", name) from error


def _binary_chunks(stream: IO[bytes], name: str) -> Iterator[bytes]:
    """Yield chunks of a binary file, unpacked if they are gzip."""
    # read1 returns what a pipe holds now instead of waiting for a full chunk, so streams are served promptly.
    read = getattr(stream, "read1", stream.read)
    chunks = iter(lambda: read(_CHUNK), b"")
    first = next(chunks, b"")
    if len(first) == 1:
        first += next(chunks, b"")  # a pipe may deliver a single byte: too few to recognise gzip
    if found := next((what for magic, what in _NO_TEXT.items() if first.startswith(magic)), ""):
        raise FormatError(f"no text but {found}", name)
    if first.startswith(_GZIP_MAGIC):
        yield from _gunzip(first, chunks, name)
    else:
        yield first
        yield from chunks


def _gunzip(pending: bytes, rest: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Unpack gzip data, several members in a row included."""
    unpacker = zlib.decompressobj(wbits=31)
    try:
        while pending:
            yield unpacker.decompress(pending)
            pending = unpacker.unused_data.lstrip(b"\0") if unpacker.eof else b""
            pending = pending or next(rest, b"")
            if unpacker.eof and pending:
                unpacker = zlib.decompressobj(wbits=31)
    except zlib.error as error:
        raise FormatError(f"damaged gzip data ({error}); fetch or compress the file again", name) from error
    if not unpacker.eof:
        raise FormatError("gzip data end too early; the file is truncated", name)


def _decode(chunks: Iterable[bytes], encoding: str, name: str) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(encoding)()
    n_lines = 0
    try:
        for chunk in chunks:
            text = decoder.decode(chunk)
            n_lines += text.count("\n")
            yield text
        yield decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        # error.object starts at the first byte not decoded yet, so whole lines in it are still to be counted
        before = error.object[: error.start].decode(encoding, errors="ignore")
        bad = error.object[error.start]
        other = "cp1252" if 0x80 <= bad < 0xA0 else "latin-1"  # quotes and dashes of Windows
        other = "utf-16" if bad in (0xFE, 0xFF) and not n_lines and not before else other
        raise FormatError(
            f"byte 0x{bad:02x} is not valid {encoding}; the file has another encoding, perhaps {other}",
            name,
            n_lines + before.count("\n") + 1,
            "encoding",
        ) from error
