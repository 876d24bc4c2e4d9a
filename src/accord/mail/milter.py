"""A milter: a mail server shows every message to it before accepting it, and adds the headers it is told to.

Written on `asyncio`, with the protocol of `milter_protocol`. It fails open: whatever goes wrong with a message, it is
accepted as it came, at the latest after the limit of time. Our own headers are removed from mail that comes in from
outside, even if nothing else is done with it, because only we may set them.
"""

from __future__ import annotations

import asyncio
import os
import socket
import stat
import time
from contextlib import suppress
from typing import Any

from accord.exceptions import InputError
from accord.mail.config import Address, MailSettings, parse_address
from accord.mail.connections import AT_ONCE, listen_long, lobby_of_strangers
from accord.mail.milter_policy import Policy
from accord.mail.milter_session import MilterSession, Service

_LOOK_SECONDS = 1.0  # between looks for idle connections
_PACKET_SECONDS = 60.0  # for the rest of a packet that has begun
_OFFER_SECONDS = 10.0  # for the offer with which mail servers begin


class MilterServer:
    """Listens for mail servers. The service has been started, and is not stopped here."""

    def __init__(self, service: Service, settings: MailSettings) -> None:
        self.service, self.settings = service, settings
        self.policy = Policy(settings)
        self.sessions: set[MilterSession] = set()
        self.strangers = lobby_of_strangers(settings.limits.connections)
        self.address: Address | None = None
        self._servers: list[asyncio.Server] = []
        self._watch: asyncio.Task[None] | None = None

    @property
    def sockets(self) -> list[socket.socket]:
        """Those that are bound."""
        return [socket.socket(fileno=os.dup(one.fileno())) for server in self._servers for one in server.sockets]

    async def start(self) -> Address:
        """Begin to listen; where, is returned (port 0 chooses a free one)."""
        address = await self.bind()
        for server in self._servers:
            await server.start_serving()
        self._begin()
        return address

    async def bind(self) -> Address:
        """Take the address, without listening yet."""
        wanted = parse_address(self.settings.milter.listen, "milter.listen")
        loop = asyncio.get_running_loop()
        options: dict[str, Any] = {"backlog": AT_ONCE, "start_serving": False}
        if wanted.path:
            remove_stale_socket(wanted.path)
            server = await loop.create_unix_server(self._session, wanted.path, **options)
            os.chmod(wanted.path, 0o660)
            self.address = wanted
        else:
            server = await loop.create_server(self._session, wanted.host, wanted.port, **options)
            self.address = Address(wanted.host, server.sockets[0].getsockname()[1])
        self._servers = [server]
        return self.address

    async def serve(self, sockets: list[socket.socket]) -> None:
        """Begin to listen on sockets that another process has bound; of their connections, take one at a time."""
        loop = asyncio.get_running_loop()
        self._servers = [await loop.create_server(self._session, sock=one, backlog=1) for one in sockets]
        self._begin()

    def _begin(self) -> None:
        for server in self._servers:
            listen_long(server)
        self._watch = asyncio.create_task(self._close_idle())

    async def close(self, seconds: float = 5.0) -> None:
        """Listen no more, wait for the messages that are being transferred, and hang up."""
        for server in self._servers:
            server.close()
        if self._watch is not None:
            self._watch.cancel()
        deadline = time.monotonic() + seconds
        while any(session.in_message for session in self.sessions) and time.monotonic() < deadline:
            await asyncio.sleep(0.02)
        for session in list(self.sessions):
            session.hang_up()
        if self.address is not None and self.address.path:
            with suppress(OSError):
                os.unlink(self.address.path)

    def _session(self) -> MilterSession:
        return MilterSession(self.service, self.settings, self.policy, self.sessions, self.strangers)

    async def _close_idle(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            now = time.monotonic()
            for session in list(self.sessions):
                allowed = _PACKET_SECONDS if session.in_packet else self.settings.milter.idle_seconds
                is_late = session in self.strangers and now - session.since > _OFFER_SECONDS
                if is_late or now - session.active > allowed:
                    session.hang_up()


def remove_stale_socket(path: str) -> None:
    """Remove the socket that a killed process left; an error if a program still listens there."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:  # nothing there, or binding will tell why not
        return
    # connecting to any other kind of file is refused as well, and that file is not ours to remove
    if not stat.S_ISSOCK(mode):
        raise InputError(f"{path} is there already and is no socket; choose another path, or remove it")
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
            return
        except OSError:
            pass
    raise InputError(f"{path} is in use; stop the program that listens there, or choose another path")
