"""The milter protocol (version 6, as Sendmail defined it and Postfix speaks it): packets to Python values and back.

A packet is four bytes of length, one letter that says what it is, and data. Nothing here does input or output.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from accord.exceptions import InputError

# What a mail server tells.
NEGOTIATE, MACROS, CONNECT, HELO = b"O", b"D", b"C", b"H"
MAIL, RECIPIENT, DATA, UNKNOWN = b"M", b"R", b"T", b"U"
HEADER, END_OF_HEADERS, BODY, END_OF_MESSAGE = b"L", b"N", b"B", b"E"
ABORT, QUIT, QUIT_CONNECTION_STAYS = b"A", b"Q", b"K"
# What a milter answers.
ACCEPT, CONTINUE, ADD_HEADER, CHANGE_HEADER = b"a", b"c", b"h", b"m"

VERSION = 6
ADDS_HEADERS, CHANGES_HEADERS = 0x01, 0x10  # actions
NO_BODY = 0x10
LEADING_SPACE = 0x100000  # header values come with the white space after their colon
# Commands that a milter can do without, and those that it can leave unanswered: fewer waits for the mail server.
_UNWANTED = {HELO: 0x02, RECIPIENT: 0x08, UNKNOWN: 0x100, DATA: 0x200}
_UNANSWERED = {
    HEADER: 0x80, CONNECT: 0x1000, HELO: 0x2000, MAIL: 0x4000, RECIPIENT: 0x8000, DATA: 0x10000,
    UNKNOWN: 0x20000, END_OF_HEADERS: 0x40000, BODY: 0x80000,
}  # fmt: skip
ANSWERED = frozenset(_UNANSWERED)

_NUMBER = struct.Struct(">I")
_HEAD = struct.Struct(">IB")
_OFFER = struct.Struct(">III")
_PORT = struct.Struct(">H")
MAX_PACKET = (1 << 20) + 1024  # Sendmail's largest packet, which has to be asked for, is 1 MB; Postfix's is 64 kB


class ProtocolError(Exception):
    """The other side does not speak the milter protocol."""


class Terms(NamedTuple):
    """What was agreed on for a connection."""

    silent: frozenset[bytes] = frozenset()  # commands that get no answer
    leading_space: bool = False
    may_add: bool = False
    may_change: bool = False


def packet(kind: bytes, data: bytes = b"") -> bytes:
    """A packet, ready to be sent.

    Examples
    --------
    >>> packet(ACCEPT)
    b'\\x00\\x00\\x00\\x01a'
    """
    return _NUMBER.pack(len(data) + 1) + kind + data


def take_packet(buffer: bytes, start: int) -> tuple[bytes, bytes, int] | None:
    """The packet at `start`: its kind, its data and where the next one begins; None if it is not all there."""
    if len(buffer) < start + 4:
        return None
    (length,) = _NUMBER.unpack_from(buffer, start)
    if not 1 <= length <= MAX_PACKET:
        raise ProtocolError(f"a packet of {length} bytes")
    stop = start + 4 + length
    if len(buffer) < stop:
        return None
    return buffer[start + 4 : start + 5], buffer[start + 5 : stop], stop


def take_headers(buffer: bytes, start: int, most: int) -> tuple[list[tuple[bytes, bytes]], int]:
    """Names and values of headers whose packets follow each other from `start` on, and where the next packet begins.

    Most packets are headers, so these are taken many at a time. What is no header, or not all there, or malformed is
    left to :func:`take_packet`.
    """
    found: list[tuple[bytes, bytes]] = []
    last = len(buffer) - _HEAD.size
    while start <= last and len(found) < most:
        length, kind = _HEAD.unpack_from(buffer, start)
        stop = start + 4 + length
        parts = buffer[start + 5 : stop].split(b"\0") if kind == HEADER[0] and stop <= len(buffer) else []
        if len(parts) != 3 or parts[2]:
            break
        found.append((parts[0], parts[1]))
        start = stop
    return found, start


def negotiate(data: bytes, want_body: bool) -> tuple[bytes, Terms]:
    """The answer to a mail server's offer (version, actions and protocol steps), and what follows from it.

    `want_body` says whether bodies are to be sent to us.
    """
    if len(data) < _OFFER.size:
        raise ProtocolError("an offer without version, actions and steps")
    version, actions, steps = _OFFER.unpack_from(data)
    if version < 2:
        raise ProtocolError(f"version {version}; 2 or higher is expected")
    wanted = LEADING_SPACE | sum(_UNWANTED.values()) | sum(_UNANSWERED.values()) | (0 if want_body else NO_BODY)
    agreed = steps & wanted
    allowed = actions & (ADDS_HEADERS | CHANGES_HEADERS)
    silent = frozenset(kind for kind, bit in _UNANSWERED.items() if agreed & bit)
    terms = Terms(silent, bool(agreed & LEADING_SPACE), bool(allowed & ADDS_HEADERS), bool(allowed & CHANGES_HEADERS))
    return packet(NEGOTIATE, _OFFER.pack(min(version, VERSION), allowed, agreed)), terms


def strings(data: bytes) -> list[bytes]:
    """The strings of a packet, each ended by a zero byte."""
    if not data.endswith(b"\0"):
        raise ProtocolError("a string without its end")
    return data[:-1].split(b"\0")


def macros(data: bytes) -> tuple[bytes, dict[bytes, bytes]]:
    """The command that macros belong to, and the macros by name (without braces)."""
    parts = strings(data[1:]) if len(data) > 1 else []
    if not data or len(parts) % 2:
        raise ProtocolError("macros that are no pairs of names and values")
    return data[:1], {name.strip(b"{}"): value for name, value in zip(parts[::2], parts[1::2])}


def client(data: bytes) -> tuple[bytes, str]:
    """How an SMTP client is connected (``4``, ``6``, ``L`` for a Unix socket, ``U`` for unknown) and its IP address."""
    _, zero, rest = data.partition(b"\0")
    if not zero or not rest:
        raise ProtocolError("a connection without an address family")
    family = rest[:1]
    if family not in (b"4", b"6"):
        return family, ""
    if len(rest) <= 1 + _PORT.size:
        raise ProtocolError("a connection without an address")
    address = strings(rest[1 + _PORT.size :])[0].decode("ascii", "replace")
    return family, address[5:] if address[:5].lower() == "ipv6:" else address


def header(data: bytes) -> tuple[bytes, bytes]:
    """Name and value of a header."""
    parts = strings(data)
    if len(parts) != 2:
        raise ProtocolError("a header that is no pair of name and value")
    return parts[0], parts[1]


def add_header(name: str, value: str, terms: Terms) -> bytes:
    """The wish to add a header at the end of the message's headers; an error if it would be more than one line."""
    for text in (name, value):
        if not (text.isascii() and text.isprintable()):
            raise InputError(f"{text!r} cannot be in a header; expected printable ASCII")
    space = b" " if terms.leading_space else b""  # who sends the space after the colon also wants to be sent it
    return packet(ADD_HEADER, name.encode("ascii") + b"\0" + space + value.encode("ascii") + b"\0")


def delete_header(name: bytes, occurrence: int) -> bytes:
    """The wish to delete the `occurrence`-th header of a name, counted from 1."""
    return packet(CHANGE_HEADER, _NUMBER.pack(occurrence) + name + b"\0\0")
