"""Running the page: a port, a link, a browser, and an orderly end."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
import webbrowser
from collections.abc import Callable
from typing import Any

from accord import memory
from accord.exceptions import InputError
from accord.labeling.app import create_app
from accord.labeling.service import Service
from accord.labeling.sessions import LOOPBACK, Doorkeeper

PORT = 8040
_TRIES = 20  # ports after the first one, if that is taken


def serve(
    service: Service,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    names: tuple[str, ...] = (),
    browser: bool = True,
    announce: Callable[[str], None],
    close: bool = True,
) -> None:
    """Serve the page until Ctrl-C or SIGTERM."""
    place = Place(host, port, names)
    door = Doorkeeper(service.store, place.hosts)
    link = f"{place.address}/?token={door.invite()}"
    announce(f"label at {link}")
    announce("the link works once; the page itself can make more of them. Ctrl-C ends, nothing is lost")
    place.warn(announce)
    memory.give_back_early()
    service.trainer.start()
    if browser:
        webbrowser.open(link)
    try:
        place.run(create_app(service, door))
    finally:
        service.trainer.stop()
        if close:
            service.store.close()


class Place:
    """Where something is served: a port that is taken at once, and the names under which it may be asked for."""

    def __init__(self, host: str, port: int | None, names: tuple[str, ...] = (), first: int = PORT) -> None:
        if host in ("0.0.0.0", "::") and not names:
            raise InputError(f"--host {host} is every address of this machine; say by which name: --allow-host NAME")
        shown = f"[{host}]" if ":" in host else host
        self.is_loopback = host in ("127.0.0.1", "localhost", "::1")
        allowed = LOOPBACK if self.is_loopback and not names else (*LOOPBACK, shown, *names)
        self.hosts = {name.lower() for name in allowed}
        self._listener = _listen(host, port, first)
        self.address = f"http://{names[0] if names else shown}:{self._listener.getsockname()[1]}"

    def warn(self, announce: Callable[[str], None]) -> None:
        """Say so if others can come in."""
        if not self.is_loopback:
            announce("warning: other machines can reach this address, and what they send is not encrypted")

    def run(self, app: Any) -> None:
        """Serve until Ctrl-C or SIGTERM."""
        import uvicorn

        settings = uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=1,
            timeout_keep_alive=20, limit_concurrency=200,
        )  # fmt: skip
        sys.setswitchinterval(0.001)  # requests do not wait for the turns of threads that train
        with contextlib.suppress(KeyboardInterrupt, asyncio.CancelledError):
            uvicorn.Server(settings).run(sockets=[self._listener])


def _listen(host: str, port: int | None, first: int) -> socket.socket:
    """The port that was asked for; without one, the first that is free, so that an open page finds its server again."""
    for number in [port] if port is not None else range(first, first + _TRIES):
        listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, number))
            listener.listen(128)  # who comes before the server runs waits
            return listener
        except OSError as error:
            listener.close()
            if port is not None:
                raise InputError(f"--port {port} of {host} cannot be used: {error.strerror}") from error
    raise InputError(f"no port from {first} to {first + _TRIES - 1} is free; name one: --port")
