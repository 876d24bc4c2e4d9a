"""A process that speaks with mail servers and signs their messages, for the one that holds the window and decides.

It has no window and no state. If it is killed, mail servers lose the connections that it had, and another one takes its
place; if the deciding process is gone, it ends at once.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import time
from contextlib import suppress
from typing import Any

import numpy as np

from accord.mail.config import MailSettings
from accord.mail.connections import allow_files
from accord.mail.counters import Counters
from accord.mail.dashboard import beginning
from accord.mail.handing import Frames, Signed, frame, packed
from accord.mail.message import Message, parse
from accord.mail.milter import MilterServer
from accord.mail.service import Overloaded, Verdict
from accord.mail.signature import sign

READY, STOP = "ready", "stop"
_GRACE = 5.0  # seconds for messages that are being transferred when it is told to end
_TELL_SECONDS = 0.5  # between figures


class DistantService(asyncio.Protocol):
    """Takes the place of a `MailService` where messages are decided about in another process.

    Parameters
    ----------
    idf : ndarray
        Weights of words, those of the detector.
    most : int
        Messages that wait for their verdict at a time.
    whole : bool
        Hand over all of a message, for a spam filter, and not only what the dashboard shows.
    """

    _transport: asyncio.Transport

    def __init__(self, idf: np.ndarray, most: int, whole: bool) -> None:
        self.counters = Counters()
        self.told_to_stop = asyncio.Event()
        self._idf, self._most, self._whole = idf, most, whole
        self._frames = Frames()
        self._waiting: dict[int, asyncio.Future[Verdict]] = {}
        self._n_asked = 0
        self._is_ending = False

    # -- use ------------------------------------------------------------------------------------------------------
    def assign(self, raw: bytes, received: float) -> asyncio.Future[Verdict]:
        """Sign a message and ask for its verdict."""
        if len(self._waiting) >= self._most:  # those that are not wanted any more still take their time
            raise Overloaded(f"{self._most} messages are waiting already")
        since = time.perf_counter()
        message = parse(raw)
        signature = packed(sign(message, self._idf))
        if not self._whole:
            subject, text = beginning(message)
            message = Message(subject=subject, text=text)
        self._n_asked += 1
        answer: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
        self._waiting[self._n_asked] = answer
        self.tell(Signed(self._n_asked, signature, message, received, since))
        return answer

    def tell(self, value: Any) -> None:
        """Send something to the process that decides."""
        self._transport.write(frame(value))

    def tell_figures(self) -> None:
        """Send what has been counted since the last time."""
        counted, self.counters = self.counters, Counters()
        if counted != self.counters:
            self.tell(counted)

    def end(self) -> None:
        """Send what is left, and hang up."""
        self._is_ending = True
        self._transport.close()

    # -- called by the event loop ---------------------------------------------------------------------------------
    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        for found in self._frames.take(data):
            if found == STOP:
                self.told_to_stop.set()
                continue
            number, verdict = found
            answer = self._waiting.pop(number)
            if answer.done():  # given up
                continue
            if isinstance(verdict, Verdict):
                answer.set_result(verdict)
            else:
                answer.set_exception(Overloaded(verdict) if verdict else RuntimeError("the detector failed"))

    def connection_lost(self, error: Exception | None) -> None:
        if not self._is_ending:
            os._exit(1)  # nobody is there to decide, and mail servers know what to do without a milter


def run_front(
    channel: socket.socket, listening: list[socket.socket], settings: MailSettings, idf: np.ndarray, whole: bool
) -> None:
    """Serve until told to stop; `listening` are sockets that are bound, `channel` leads to the process that decides."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the one that decides tells the others
    allow_files(settings.limits.connections)
    text = b"From: a@example.org\nSubject: a\n\nWords that are enough to be compared with each other.\n"
    for raw in (text, text.replace(b"\n", b"\r\n"), text.replace(b"\n\n", b"\nContent-Type: text/html\n\n<p>")):
        sign(parse(raw), idf)  # loads or compiles what is needed
    gc.freeze()
    asyncio.run(_serve(channel, listening, settings, idf, whole))


async def _serve(
    channel: socket.socket, listening: list[socket.socket], settings: MailSettings, idf: np.ndarray, whole: bool
) -> None:
    loop = asyncio.get_running_loop()
    service = DistantService(idf, settings.limits.queue, whole)
    loop.add_signal_handler(signal.SIGTERM, service.told_to_stop.set)
    await loop.create_connection(lambda: service, sock=channel)
    server = MilterServer(service, settings)
    await server.serve(listening)
    service.tell(READY)
    while not service.told_to_stop.is_set():
        with suppress(TimeoutError):
            await asyncio.wait_for(service.told_to_stop.wait(), _TELL_SECONDS)
        service.tell_figures()
    await server.close(_GRACE)
    await asyncio.sleep(0)  # what is answered is sent
    service.tell_figures()
    service.end()
