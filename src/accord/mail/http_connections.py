"""Connections of the HTTP service: who may stay, who has to hurry, and heads that are refused.

A connection is a stranger's until a request on it bears the token (any request, if none is asked for). Strangers are
answered as well, but their connections are the first to go. Requests of others are counted, and only these.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import h11
import uvicorn
from fastapi import FastAPI
from fastapi.responses import JSONResponse
from uvicorn.protocols.http.flow_control import CLOSE_HEADER
from uvicorn.protocols.http.h11_impl import H11Protocol

from accord.mail.config import LimitSettings
from accord.mail.connections import AT_ONCE, Lobby, lobby_of_strangers, network_of
from accord.mail.counters import Counters

_SLOWEST_HEAD = 10.0  # seconds for a request's head to come in, and for a client to read what it is sent
_IDLE_SECONDS = 30  # that a connection stays open after an answer
_LARGEST_HEAD = 65536


def http_server(app: FastAPI, counters: Counters, limits: LimitSettings, **options: Any) -> uvicorn.Server:
    """A server for the application that `create_app` makes; `options` are uvicorn's."""
    made: Any = partial(HttpConnection, doors=Doors(app.state.is_token_borne, counters, limits))
    config = uvicorn.Config(
        app, http=made, ws="none", loop="asyncio", lifespan="off", log_config=None, access_log=False,
        server_header=False, timeout_keep_alive=_IDLE_SECONDS, backlog=AT_ONCE, **options,
    )  # fmt: skip
    return uvicorn.Server(config)


class Doors:
    """What the connections of a server share."""

    def __init__(self, is_token_borne: Callable[[Any], bool], counters: Counters, limits: LimitSettings) -> None:
        self.is_token_borne, self.counters = is_token_borne, counters
        self.strangers = lobby_of_strangers(limits.connections)
        self.known = Lobby(limits.connections)  # idle between their requests
        self.n_requests, self.most_requests = 0, limits.connections


class StrictParser(h11.Connection):
    """Refuses heads from which two programs, such as a proxy and this one, could read different requests."""

    def next_event(self) -> Any:
        if self.their_state is not h11.IDLE:
            return super().next_event()
        before = self.trailing_data[0]
        event = super().next_event()
        if isinstance(event, h11.Request):
            head = before[: len(before) - len(self.trailing_data[0])]
            if reason := ambiguity(head, event.http_version):
                raise h11.RemoteProtocolError(reason)
        return event


def ambiguity(head: bytes, version: bytes = b"1.1") -> str:
    """What is ambiguous about the head of a request; empty if nothing is.

    Examples
    --------
    >>> ambiguity(b"GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"), ambiguity(b"GET / HTTP/1.1\\nHost: x\\n\\n")
    ('', 'a line that does not end in CR LF')
    """
    lines = head.split(b"\r\n")
    if any(b"\r" in line or b"\n" in line for line in lines):
        return "a line that does not end in CR LF"
    if any(line[:1] in (b" ", b"\t") for line in lines):
        return "a folded header"
    fields = [(name.lower(), value) for name, _, value in (line.partition(b":") for line in lines[1:])]
    lengths = [value for name, value in fields if name == b"content-length"]
    encodings = [value for name, value in fields if name == b"transfer-encoding"]
    if len(lengths) + len(encodings) > 1 or any(b"," in value for value in lengths):
        return "more than one length of the body"
    return "chunks in a request of HTTP/1.0" if encodings and version < b"1.1" else ""


class HttpConnection(H11Protocol):
    """A connection that is closed when it waits for its client too long.

    uvicorn itself waits for ever for the head of a request and for its answer to be read, and counts connections that
    do nothing like requests. A body has a time limit of its own, and so has a client that may send another request.
    """

    _timer: asyncio.TimerHandle | None = None
    _is_known = False
    _latest: Any = None  # the latest request

    def __init__(self, *args: Any, doors: Doors, **options: Any) -> None:
        super().__init__(*args, **options)
        self.conn = StrictParser(h11.SERVER, _LARGEST_HEAD)
        self._doors, self._inner, self.app = doors, self.app, self._answer

    def evict(self) -> None:
        """Close the connection at once."""
        self.transport.abort()

    # -- called by the event loop ---------------------------------------------------------------------------------
    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._doors.strangers.enter(self, network_of(self.client[0] if self.client else ""))
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop()
        self._watch()

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        self._doors.strangers.leave(self)
        self._doors.known.leave(self)
        self._stop()

    # -- called by uvicorn ----------------------------------------------------------------------------------------
    def handle_events(self) -> None:
        """Read what is there; if that begins a request, nothing has been done for it yet."""
        super().handle_events()
        if self.cycle is self._latest:
            return
        self._latest = self.cycle
        self._doors.known.leave(self)
        if not self._is_known and self._doors.is_token_borne(self.headers):
            self._is_known = True
            self._doors.strangers.leave(self)
        if any(name == b"transfer-encoding" for name, _ in self.headers):
            # parsers disagree on the details of chunks; so nothing that follows them is ever taken for a request
            self.headers.append(CLOSE_HEADER)

    def on_response_complete(self) -> None:
        """An answer has been sent; another request may have come in meanwhile."""
        super().on_response_complete()
        if self._is_known and self.cycle.response_complete and not self.transport.is_closing():
            self._doors.known.enter(self)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request, or not the rest of one."""
        self._doors.counters.malformed += 1
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:  # it has its answer
            self.transport.abort()
        if self.cycle is not None:  # nothing more can be sent
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    async def _answer(self, *asgi: Any) -> None:
        doors = self._doors
        if not self._is_known:
            await self._inner(*asgi)  # all that it gets without a token is given at once
        elif doors.n_requests >= doors.most_requests:
            text = f"{doors.most_requests} requests are being answered already; try again"
            busy = JSONResponse({"detail": text}, 503, {"Retry-After": "1", "Connection": "close"})
            await busy(*asgi)
        else:
            doors.n_requests += 1
            try:
                await self._inner(*asgi)
            finally:
                doors.n_requests -= 1

    # -- time -----------------------------------------------------------------------------------------------------
    def _watch(self) -> None:
        is_busy = self.cycle is not None and not self.cycle.response_complete
        if is_busy and not self.flow.write_paused:
            self._stop()
        elif self._timer is None and not self.transport.is_closing():
            self._timer = self.loop.call_later(_SLOWEST_HEAD, self.transport.abort)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
