"""Headers of mail: where they end, what they say in whatever charset, addresses and parameters in them."""

from __future__ import annotations

import binascii
import re

import numpy as np

from accord.kernels.mail.headers import read_headers
from accord.mail.charsets import as_utf8

MAX_HEADER = 65_536  # bytes
_HEADER = re.compile(rb"([!-9;-~]+)[ \t]*:[ \t]*(.*)")
_ENCODED_WORD = re.compile(rb"=\?([^?\s]{1,60})\?([bBqQ])\?([^?\n]*)\?=")
_ADDRESS = re.compile(rb"<([^<>\s]+)>")
_BARE_ADDRESS = re.compile(rb"([^\s<>,;:\"()]+@[^\s<>,;:\"()]+)")


def split_headers(data: bytes) -> tuple[dict[bytes, bytes], list[bytes], bytes, int]:
    """The headers (the first of each name), all names, the body, and the bytes of the header block.

    The block ends at the first empty line, or before the first line that cannot be a header.
    """
    if data.startswith(b"\n"):
        return {}, [], data[1:], 0
    end = data.find(b"\n\n")
    if end < 0:
        end = len(data)
    end = min(end, MAX_HEADER)
    start = 0
    if data[:5] in (b"From ", b">From"):  # the separator line of a mailbox file
        start = min(data.find(b"\n", 0, end) + 1 or end, end)
    room = np.empty((2, end - start + 2), np.uint8)
    n_names, n_values = read_headers(np.frombuffer(data, np.uint8), start, end, room[0], room[1])
    if n_names < 0:  # some line is no header
        block = data[start:end].replace(b"\n\t", b" ").replace(b"\n ", b" ")
        return _split_odd_headers(block, data, end)
    names = room[0, : n_names - 1].tobytes().split(b"\n")
    values = room[1, : n_values - 1].tobytes().split(b"\n")
    names.reverse()  # the first of several with the same name is to win
    values.reverse()
    headers = dict(zip(names, values))
    names.reverse()
    return headers, names, data[end + 2 :], end


def _split_odd_headers(block: bytes, data: bytes, end: int) -> tuple[dict[bytes, bytes], list[bytes], bytes, int]:
    """The same for a block in which not every line is a header."""
    headers: dict[bytes, bytes] = {}
    names: list[bytes] = []
    for k, line in enumerate(lines := block.split(b"\n")):
        match = _HEADER.match(line)
        if match:
            name = match[1].lower()
            names.append(name)
            headers.setdefault(name, match[2])
        elif not line and k == len(lines) - 1:
            break
        else:
            return headers, names, b"\n".join(lines[k:]) + data[end:], sum(map(len, lines[:k]))
    return headers, names, data[end + 2 :], end


def decode_header(value: bytes) -> str:
    """A header's text, encoded words decoded (RFC 2047), blanks collapsed.

    >>> decode_header(b"=?iso-8859-1?Q?Andr=E9?= =?utf-8?b?IMOE?= and\\n others")
    'André Ä and others'
    """
    value = value[:4096]
    if b"=?" not in value:
        return " ".join(as_utf8(value, b"").decode("utf-8", "replace").split())
    pieces, end, after_word = [], 0, False
    for match in _ENCODED_WORD.finditer(value):
        between = value[end : match.start()]
        if between and not (after_word and between.isspace()):
            pieces.append(as_utf8(between, b""))
        charset, kind, content = match.groups()
        decoded = decode_base64(content) if kind in b"bB" else binascii.a2b_qp(content, header=True)
        pieces.append(as_utf8(decoded, charset.partition(b"*")[0].lower()))
        end, after_word = match.end(), True
    pieces.append(as_utf8(value[end:], b""))
    return " ".join(b"".join(pieces).decode("utf-8", "replace").split())


def parameter(value: bytes, name: bytes) -> bytes:
    """A parameter of a header such as ``text/plain; charset="utf-8"``, or nothing."""
    if b"=" not in value:
        return b""
    pattern = rb";\s*" + name + rb"\*?\s*=\s*(?:\"([^\"\n]*)\"?|([^\s;\"]+))"
    match = re.search(pattern, value[:2048], re.IGNORECASE)
    return (match[1] or match[2] or b"").strip() if match else b""


def address_and_name(value: bytes) -> tuple[str, str]:
    """The address, and the name beside it."""
    if not value:
        return "", ""
    value = value[:1024]
    address, name = b"", value
    if match := _ADDRESS.search(value) or _BARE_ADDRESS.search(value):
        address, name = match[1], value[: match.start()] + value[match.end() :]
    return address.decode("utf-8", "replace").lower(), decode_header(name).strip("\"'() ").lower()


def decode_base64(content: bytes) -> bytes:
    """Decode what there is: characters that are none are skipped, an incomplete end is dropped."""
    try:
        return binascii.a2b_base64(content)
    except binascii.Error:
        kept = re.sub(rb"[^A-Za-z0-9+/]", b"", content)
        return binascii.a2b_base64(kept[: len(kept) // 4 * 4])
