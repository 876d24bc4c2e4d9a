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
from typing import NamedTuple

import numpy as np

from accord.exceptions import InputError
from accord.kernels.mail.headers import unify_line_ends
from accord.kernels.mail.html import BLOCK_TAGS, HIDDEN_TAGS, IMAGE_TAG, html_to_text
from accord.mail.charsets import as_utf8
from accord.mail.headers import address_and_name, decode_base64, decode_header, parameter, split_headers

MAX_BYTES = 262_144  # of a message that are looked at
MAX_TEXT = 32_768  # bytes of text kept, and of each part that are decoded
MAX_PARTS, MAX_DEPTH, MAX_LINKS, MAX_ATTACHMENTS = 64, 8, 64, 16

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

    n_bytes: int = 0  # that were looked at
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
    data = bytes(raw[:MAX_BYTES])
    message = Message(n_bytes=len(data))  # not what follows: padding must change nothing
    if b"\r" in data:
        room = np.empty(len(data), np.uint8)
        data = room[: unify_line_ends(np.frombuffer(data, np.uint8), room)].tobytes()
    headers, names, body, header_bytes = split_headers(data)
    message.headers, message.header_names, message.header_bytes = headers, names, header_bytes
    message.subject = decode_header(headers.get(b"subject", b""))
    message.sender, message.sender_name = address_and_name(headers.get(b"from", b""))
    message.reply_to = address_and_name(headers.get(b"reply-to", b""))[0]
    collected = _Collector(message)
    message.structure = collected.part(headers, body, "text/plain", 0)
    message.content_type = message.structure.partition("(")[0]
    message.text = b"\n".join(collected.texts)[:MAX_TEXT]
    return message


class _Collector:
    """Goes through the parts of a message and gathers texts, links and attachments within the limits."""

    def __init__(self, message: Message) -> None:
        self.message = message
        self.texts: list[bytes] = []
        self.room = MAX_TEXT

    def part(self, headers: dict[bytes, bytes], body: bytes, default_type: str, depth: int) -> str:
        """Take in one part, and what is in it. Returns its structure."""
        declared = headers.get(b"content-type", b"")
        kind = declared.partition(b";")[0].strip().lower()
        kind = kind if kind.count(b"/") == 1 and len(kind) < 80 else b""
        name = kind.decode("ascii", "replace") or (default_type if not declared else "text/plain")
        self.message.n_parts += 1
        if name.startswith("multipart/") and depth < MAX_DEPTH:
            boundary = parameter(declared, b"boundary")
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
            file_name = parameter(disposition, b"filename") or parameter(declared, b"name")
            checksum = zlib.crc32(body.rstrip()) ^ (len(body) & 0xFFFFFFFF)
            self.message.attachments.append(Attachment(name, decode_header(file_name).lower(), len(body), checksum))
        return name

    def _inner(self, piece: bytes, default_type: str, depth: int) -> str:
        if self.message.n_parts > MAX_PARTS:
            return "..."
        headers, _, body, _ = split_headers(piece)
        return self.part(headers, body, default_type, depth + 1)

    def _text(self, headers: dict[bytes, bytes], declared: bytes, body: bytes, is_html: bool) -> None:
        message = self.message
        encoding = headers.get(b"content-transfer-encoding", b"").strip().lower()
        charset = parameter(declared, b"charset").lower()
        if not message.charset:
            message.charset = charset.decode("ascii", "replace")[:40]
            message.encoding = encoding.decode("ascii", "replace")[:40]
        if self.room <= 0:
            return
        # base64 and quoted-printable grow a text by a third, and up to three times
        if encoding == b"base64":
            content = decode_base64(body[: MAX_TEXT * 4 // 3])
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


def _split_parts(body: bytes, boundary: bytes) -> list[bytes]:
    """The parts of a multipart; the texts before the first and after the last boundary are dropped."""
    pieces = (b"\n" + body).split(b"\n--" + boundary, 4 * MAX_PARTS)
    parts: list[bytes] = []
    for piece in pieces[1:]:
        line, _, content = piece.partition(b"\n")
        if line.startswith(b"--") and not line[2:].strip():
            break
        if line.strip():  # a longer boundary that begins like this one
            if parts:
                parts[-1] += b"\n--" + boundary + piece
        else:
            parts.append(content)
    return parts
