"""A message on its way through the milter: what the detector is shown of it, and headers that only we may set."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable

from accord.mail import milter_protocol as wire
from accord.mail.message import MAX_BYTES

LOG = logging.getLogger("accord.mail.milter")
_MOST_DELETIONS = 1000


class PassingMessage:
    """A message, piece by piece.

    `own` are the names of our headers, in small letters: all that come in are forged. Only as much is kept of a message
    as is looked at, and nothing of those that are let through without a look for a `reason`.
    """

    def __init__(self, own: Collection[bytes], reason: str = "") -> None:
        self.reason = reason
        self.raw = bytearray()
        self._own = own
        self._forged: dict[bytes, int] = {}
        self.size = 0
        self._has_body = False

    def add_headers(self, headers: Iterable[tuple[bytes, bytes]], leading_space: bool) -> None:
        """The next headers; `leading_space` tells that values come with the white space after the colon."""
        colon = b":" if leading_space else b": "
        lines: list[bytes] = []
        for name, value in headers:
            own = name.strip().lower()
            if own in self._own:  # not shown to the detector either: whether a header was forged says nothing
                self._forged[own] = self._forged.get(own, 0) + 1
                continue
            if b"\n" in value:  # a folded header comes as Unix lines
                value = value.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
            lines += (name, colon, value, b"\r\n")
        self._keep(b"".join(lines))

    def add_body(self, data: bytes) -> None:
        """The next piece of the body."""
        if not self._has_body:
            self._has_body = True
            self._keep(b"\r\n")
        self._keep(data)

    def _keep(self, piece: bytes) -> None:
        self.size += len(piece)
        if not self.reason:
            self.raw += piece[: MAX_BYTES - len(self.raw)]

    def deletions(self) -> list[bytes]:
        """The wishes to delete forged headers."""
        # from the last to the first: mail servers disagree on whether the others are renumbered meanwhile
        most = _MOST_DELETIONS  # each costs the mail server a pass over the headers
        out = [wire.delete_header(name, k) for name, n in self._forged.items() for k in range(min(n, most), 0, -1)]
        if (found := sum(self._forged.values())) > most:
            LOG.warning("a message has %d forged headers, of which %d are removed", found, most)
            out = out[-most:]
        return out
