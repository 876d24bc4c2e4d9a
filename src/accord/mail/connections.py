"""Connections of strangers: how many a server keeps, and which ones go when there are too many.

To open a connection and to say nothing costs nothing, so these must not cost those who have something to say. They are
counted apart from requests and messages, and of too many it is the oldest that go, never the newcomer.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import socket
from collections import Counter
from typing import Protocol

LOG = logging.getLogger("accord.mail")
AT_ONCE = 128  # connections that are accepted before others have their turn
_QUEUE = 2048  # connections that the system keeps until they are accepted; those beyond have to try again
_OTHER_FILES = 64  # that a service has open


class Guest(Protocol):
    """A connection."""

    def evict(self) -> None:
        """Close it at once."""


class Lobby:
    """Connections that wait for their clients.

    Parameters
    ----------
    most : int
    most_of_one : int, optional
        Most of one address; by default there is no such limit.
    """

    def __init__(self, most: int, most_of_one: int | None = None) -> None:
        self._most, self._most_of_one = most, most if most_of_one is None else most_of_one
        self._inside: dict[Guest, str] = {}  # with their addresses, in the order in which they came
        self._of_one: Counter[str] = Counter()
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._inside)

    def __contains__(self, guest: Guest) -> bool:
        return guest in self._inside

    def enter(self, guest: Guest, address: str = "") -> None:
        """A connection waits from now on."""
        self.leave(guest)
        self._inside[guest] = address
        self._of_one[address] += 1
        if self._timer is None and (len(self) > self._most or self._is_too_much(address)):
            # A timer, even of no time, runs after what has come in is read: a request that is there already counts.
            self._timer = asyncio.get_running_loop().call_later(0, self._clear)

    def leave(self, guest: Guest) -> None:
        """It does not, or is gone; nothing happens if it is not here."""
        address = self._inside.pop(guest, None)
        if address is not None:
            self._of_one[address] -= 1
            if not self._of_one[address]:
                del self._of_one[address]

    def _is_too_much(self, address: str) -> bool:
        return bool(address) and self._of_one[address] > self._most_of_one

    def _clear(self) -> None:
        self._timer = None
        for guest, address in list(self._inside.items()):
            if self._is_too_much(address):
                self._evict(guest)
        for guest in list(self._inside)[: max(0, len(self) - self._most)]:
            self._evict(guest)

    def _evict(self, guest: Guest) -> None:
        self.leave(guest)
        guest.evict()


def lobby_of_strangers(connections: int) -> Lobby:
    """A lobby for four times as many strangers as there may be connections that are looked after, or as files allow."""
    most = 4 * connections
    if (files := _file_limit()) is not None:
        most = max(4, min(most, (files - _OTHER_FILES) // 4))
    return Lobby(most, max(1, most // 4))


def network_of(address: str) -> str:
    """What counts as one address: with IPv6, anybody has a network of 64 bits to choose from.

    Examples
    --------
    >>> network_of("192.0.2.7"), network_of("2001:db8::7"), network_of("::ffff:192.0.2.7"), network_of("")
    ('192.0.2.7', '2001:db8::/64', '192.0.2.7', '')
    """
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:  # a Unix socket
        return ""
    if isinstance(ip, ipaddress.IPv4Address):
        return str(ip)
    if ip.ipv4_mapped is not None:
        return str(ip.ipv4_mapped)
    return str(ipaddress.ip_network((int(ip), 64), strict=False))


# -- the system -----------------------------------------------------------------------------------------------------
def listen_long(server: asyncio.Server) -> None:
    """Let connections of a sudden crowd wait in a long queue of the system, from which few are taken at a time.

    asyncio has one number for both: a short queue turns clients away for a second, and taking many at a time keeps all
    others waiting, or uses up the files that may be open.
    """
    for listening in server.sockets:
        with socket.socket(fileno=os.dup(listening.fileno())) as same:
            same.listen(_QUEUE)


def allow_files(connections: int) -> None:
    """Let this process have as many files open as its connections need, as far as the system lets it."""
    try:
        import resource
    except ImportError:  # no such limit on this system
        return
    needed = 10 * connections + 2 * AT_ONCE + _OTHER_FILES
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if now == resource.RLIM_INFINITY or now >= needed:
        return
    wanted = needed if most == resource.RLIM_INFINITY else min(needed, most)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
    except (ValueError, OSError):
        wanted = now
    if wanted < needed:
        LOG.warning(
            "this process may have %d files open, but limits.connections = %d may need %d; raise the limit (ulimit -n, "
            "LimitNOFILE=), or lower limits.connections",
            wanted, connections, needed,
        )  # fmt: skip


def _file_limit() -> int | None:
    try:
        import resource
    except ImportError:
        return None
    now = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return None if now == resource.RLIM_INFINITY else now
