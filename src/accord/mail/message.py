"""Mail as it comes from the wire, taken apart: `parse` never fails, never takes long, and looks at a bounded part.

Mail need not be well-formed, least of all the kind one wants to recognise. Whatever cannot be understood (a header
block without end, unknown charsets, base64 that is none, multiparts without their boundary) is read as text as far as
possible. Where a message is well-formed, parts and texts are those of the standard library's ``email``; tests compare
them on real mail.
"""

from __future__ import annotations

import binascii
import re
import zlib
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from accord.exceptions import InputError
from accord.kernels.mail.text import BLOCK_TAGS, HIDDEN_TAGS, IMAGE_TAG, html_to_text
from accord.mail.charsets import as_utf8

MAX_BYTES = 262_144  # of a message that are looked at
MAX_TEXT = 32_768  # bytes of text kept, and of each part that are decoded
MAX_HEADER = 65_536
MAX_PARTS, MAX_DEPTH, MAX_LINKS, MAX_ATTACHMENTS = 64, 8, 64, 16

_HEADER = re.compile(rb"^([!-9;-~]+)[ \t]*:[ \t]*(.*)", re.MULTILINE)
_ENCODED_WORD = re.compile(rb"=\?([^?\s]{1,60})\?([bBqQ])\?([^?\n]*)\?=")
_ADDRESS = re.compile(rb"<([^<>\s]+)>")
_BARE_ADDRESS = re.compile(rb"[^\s<>,;:\"()]+@[^\s<>,;:\"()]+")
_LINK = re.compile(rb"https?://([^\s/\"'<>?#\\)]{1,200})(/[^\s\"'<>?#]{0,200})?")


class Attachment(NamedTuple):
    """A part that is no text: its type, file name, encoded size and a checksum of its encoded bytes."""

    type: str
    name: str
    size: int
    checksum: int


@dataclass(slots=True)
class Message:
    """What `parse` found. Addresses, names and types are in small letters."""

    n_bytes: int = 0
    header_bytes: int = 0
    headers: dict[bytes, bytes] = field(default_factory=dict)  # the first of each name, unfolded, not decoded
    header_names: list[bytes] = field(default_factory=list)  # all, in their order
    subject: str = ""
    sender: str = ""
    sender_name: str = ""
    reply_to: str = ""
    structure: str = ""  # "multipart/mixed(text/plain,image/gif)"
    content_type: str = "text/plain"
    charset: str = ""
    encoding: str = ""
    n_parts: int = 0
    text: bytes = b""  # UTF-8, of all text parts, without HTML's tags
    n_tags: int = 0
    n_images: int = 0
    skeleton: int = 0  # hash of the sequence of HTML tags
    links: list[tuple[bytes, bytes]] = field(default_factory=list)  # host and path
    attachments: list[Attachment] = field(default_factory=list)

    @property
    def body(self) -> str:
        """The text as a string."""
        return self.text.decode("utf-8", "replace")


def parse(raw: bytes) -> Message:
    """Take a message apart.

    Parameters
    ----------
    raw : bytes
        A message as transferred or stored (RFC 5322 and MIME); anything else is taken for text.

    Examples
    --------
    >>> message = parse(b"From: Ann <Ann@Example.org>\\nSubject: =?utf-8?q?caf=C3=A9?=\\n\\nHello, see http://example.org/x\\n")
    >>> message.sender, message.subject, message.links
    ('ann@example.org', 'café', [(b'example.org', b'/x')])
    """
    if not isinstance(raw, (bytes, bytearray, memoryview)):
        raise InputError(f"raw must be the bytes of a message, got {type(raw).__name__}; encode text with .encode()")
    message = Message(n_bytes=len(raw))
    data = bytes(raw[:MAX_BYTES])
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    headers, names, body, header_bytes = _split_headers(data)
    message.headers, message.header_names, message.header_bytes = headers, names, header_bytes
    message.subject = decode_header(headers.get(b"subject", b""))
    message.sender, message.sender_name = _address(headers.get(b"from", b""))
    message.reply_to = _address(headers.get(b"reply-to", b""))[0]
    collected = _Collector(message)
    message.structure = collected.part(headers, body, "text/plain", 0)
    message.content_type = message.structure.partition("(")[0]
    message.text = b"\n".join(collected.texts)[:MAX_TEXT]
    return message


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
        decoded = _base64(content) if kind in b"bB" else binascii.a2b_qp(content, header=True)
        pieces.append(as_utf8(decoded, charset.partition(b"*")[0].lower()))
        end, after_word = match.end(), True
    pieces.append(as_utf8(value[end:], b""))
    return " ".join(b"".join(pieces).decode("utf-8", "replace").split())


class _Collector:
    """Goes through the parts of a message and gathers texts, links and attachments within the limits."""

    def __init__(self, message: Message) -> None:
        self.message = message
        self.texts: list[bytes] = []
        self.room = MAX_TEXT
        self.n_parts = 0

    def part(self, headers: dict[bytes, bytes], body: bytes, default_type: str, depth: int) -> str:
        """Take in one part, and what is in it. Returns its structure."""
        declared = headers.get(b"content-type", b"")
        kind = declared.partition(b";")[0].strip().lower()
        kind = kind if kind.count(b"/") == 1 and len(kind) < 80 else b""
        name = kind.decode("ascii", "replace") or (default_type if not declared else "text/plain")
        self.message.n_parts += 1
        if name.startswith("multipart/") and depth < MAX_DEPTH:
            boundary = _parameter(declared, b"boundary")
            pieces = _split_parts(body, boundary) if boundary else []
            if pieces:
                inner = "message/rfc822" if name == "multipart/digest" else "text/plain"
                return f"{name}({','.join(self._inner(piece, inner, depth) for piece in pieces)})"
            name = "text/plain" if not boundary else name
        if name == "message/rfc822" and depth < MAX_DEPTH:
            return f"{name}({self._inner(body, 'text/plain', depth)})"
        disposition = headers.get(b"content-disposition", b"")
        is_text = name.startswith(("text/", "multipart/", "message/"))
        if is_text and disposition[:10].lower() != b"attachment":
            self._text(headers, declared, body, name == "text/html")
        elif len(self.message.attachments) < MAX_ATTACHMENTS:
            file_name = _parameter(disposition, b"filename") or _parameter(declared, b"name")
            checksum = zlib.crc32(body.rstrip()) ^ (len(body) & 0xFFFFFFFF)
            self.message.attachments.append(Attachment(name, decode_header(file_name).lower(), len(body), checksum))
        return name

    def _inner(self, piece: bytes, default_type: str, depth: int) -> str:
        if self.n_parts >= MAX_PARTS:
            return "..."
        self.n_parts += 1
        headers, _, body, _ = _split_headers(piece)
        return self.part(headers, body, default_type, depth + 1)

    def _text(self, headers: dict[bytes, bytes], declared: bytes, body: bytes, is_html: bool) -> None:
        message = self.message
        encoding = headers.get(b"content-transfer-encoding", b"").strip().lower()
        charset = _parameter(declared, b"charset").lower()
        if not message.charset:
            message.charset = charset.decode("ascii", "replace")[:40]
            message.encoding = encoding.decode("ascii", "replace")[:40]
        if self.room <= 0:
            return
        # base64 and quoted-printable grow a text by a third, and up to three times
        if encoding == b"base64":
            content = _base64(body[: MAX_TEXT * 4 // 3])
        elif encoding == b"quoted-printable":
            content = binascii.a2b_qp(body[: MAX_TEXT * 2])
        else:
            content = body[:MAX_TEXT]
        content = as_utf8(content[:MAX_TEXT], charset)
        self._links(content)
        if is_html:
            content = self._html(content)
        self.texts.append(content[: self.room])
        self.room -= len(content) + 1

    def _html(self, content: bytes) -> bytes:
        message = self.message
        out = np.empty(len(content) + 8, np.uint8)
        source = np.frombuffer(content, np.uint8)
        n, n_tags, n_images, skeleton = html_to_text(source, out, BLOCK_TAGS, HIDDEN_TAGS, IMAGE_TAG)
        message.n_tags += n_tags
        message.n_images += n_images
        message.skeleton = message.skeleton or skeleton
        return out[:n].tobytes()

    def _links(self, content: bytes) -> None:
        links = self.message.links
        lowered = content.lower()
        if b"http" not in lowered:
            return
        for match in _LINK.finditer(lowered):
            if len(links) >= MAX_LINKS:
                return
            links.append((match[1].rpartition(b"@")[2].partition(b":")[0], match[2] or b""))


def _split_headers(data: bytes) -> tuple[dict[bytes, bytes], list[bytes], bytes, int]:
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
    block = data[start:end].replace(b"\n\t", b" ").replace(b"\n ", b" ")
    found = _HEADER.findall(block)
    if len(found) <= block.count(b"\n"):  # some line is no header
        return _split_odd_headers(block, data, end)
    names = b"\n".join([name for name, _ in found]).lower().split(b"\n") if found else []
    headers = dict(zip(reversed(names), [value for _, value in reversed(found)]))
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


def _split_parts(body: bytes, boundary: bytes) -> list[bytes]:
    """The parts of a multipart; the texts before the first and after the last boundary are dropped."""
    pieces = (b"\n" + body).split(b"\n--" + boundary, 4 * MAX_PARTS)
    parts: list[bytes] = []
    for piece in pieces[1:]:
        line, newline, content = piece.partition(b"\n")
        if line.startswith(b"--") and not line[2:].strip():
            break
        if line.strip():  # a longer boundary that begins like this one
            if parts:
                parts[-1] += b"\n--" + boundary + piece
        elif newline:
            parts.append(content)
        else:
            parts.append(b"")
    return parts


@lru_cache(maxsize=64)
def _parameter_pattern(name: bytes) -> re.Pattern[bytes]:
    return re.compile(rb";\s*" + name + rb"\*?\s*=\s*(?:\"([^\"\n]*)\"?|([^\s;\"]+))", re.IGNORECASE)


def _parameter(value: bytes, name: bytes) -> bytes:
    """A parameter of a header such as ``text/plain; charset="utf-8"``, or nothing."""
    if b"=" not in value:
        return b""
    match = _parameter_pattern(name).search(value[:2048])
    return (match[1] or match[2] or b"").strip() if match else b""


def _address(value: bytes) -> tuple[str, str]:
    """The address, and the name beside it."""
    value = value[:1024]
    match = _ADDRESS.search(value)
    if match:
        address, name = match[1], value[: match.start()] + value[match.end() :]
    elif bare := _BARE_ADDRESS.search(value):
        address, name = bare[0], value[: bare.start()] + value[bare.end() :]
    else:
        address, name = b"", value
    return address.decode("utf-8", "replace").lower(), decode_header(name).strip("\"'() ").lower()


def _base64(content: bytes) -> bytes:
    """Decode what there is: characters that are none are skipped, an incomplete end is dropped."""
    try:
        return binascii.a2b_base64(content)
    except binascii.Error:
        kept = re.sub(rb"[^A-Za-z0-9+/]", b"", content)
        try:
            return binascii.a2b_base64(kept[: len(kept) // 4 * 4])
        except binascii.Error:
            return b""
