"""Several processes behind one port, with one window: this one decides, others speak with mail servers and sign.

A batch is found by comparing its mails, so there can be only one window. But most of what a message costs is to be
received, parsed and signed, which needs none.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import socket
import threading
from contextlib import suppress
from multiprocessing.process import BaseProcess
from typing import Any

from accord.exceptions import AccordError
from accord.mail.config import Address, MailSettings
from accord.mail.counters import Counters
from accord.mail.front import STOP, run_front
from accord.mail.handing import Frames, Signed, frame, unpacked
from accord.mail.milter import MilterServer
from accord.mail.service import MailService, Overloaded, Verdict

LOG = logging.getLogger("accord.mail")
_PIECE = 1 << 14  # bytes that are read at a time: some messages, which are answered together
_START_SECONDS = 300.0  # kernels may have to be compiled
_AGAIN_SECONDS = 0.5  # until one that has ended is replaced
_LATE_SECONDS = 3.0  # that they may take to end, over the time for messages
_SPAWN = multiprocessing.get_context("spawn")  # there are threads here, which a fork would not survive


class Front:
    """One of the processes, as seen from the one that decides: a thread here decides about its messages."""

    def __init__(self, channel: socket.socket, process: BaseProcess, fronts: Fronts) -> None:
        self.channel, self.process, self.fronts = channel, process, fronts
        self.loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[None] = self.loop.create_future()
        self.gone = asyncio.Event()
        threading.Thread(target=self._work, name="accord-mail-front", daemon=True).start()

    def _work(self) -> None:
        frames = Frames()
        with suppress(OSError):
            while data := self.channel.recv(_PIECE):
                answers = [frame(answer) for found in frames.take(data) if (answer := self._take(found)) is not None]
                if answers:
                    self.channel.sendall(b"".join(answers))  # waits for nobody but this process
        with suppress(RuntimeError):  # the loop is gone
            self.loop.call_soon_threadsafe(self.fronts.lose, self)

    def _take(self, found: Any) -> tuple[int, Verdict | str | None] | None:
        """The answer to what came, if there is one."""
        service = self.fronts.service
        if isinstance(found, Signed):
            return found.number, self._verdict(service, found)
        if isinstance(found, Counters):
            self.loop.call_soon_threadsafe(service.counters.add, found)
        else:
            self.loop.call_soon_threadsafe(self._begin)
        return None

    def _begin(self) -> None:
        if not self.ready.done():
            self.ready.set_result(None)

    @staticmethod
    def _verdict(service: MailService, mail: Signed) -> Verdict | str | None:
        try:
            return service.decide(unpacked(mail.signature), mail.message, mail.received, mail.since)
        except Overloaded as error:
            return str(error)
        except Exception:
            LOG.exception("the detector failed")
            return None


class Fronts:
    """The milter of several processes; used like a `MilterServer`."""

    def __init__(self, service: MailService, settings: MailSettings) -> None:
        self.service, self.settings = service, settings
        self.fronts: set[Front] = set()
        self._door = MilterServer(service, settings)  # binds addresses, and serves nobody
        self._is_stopping = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> Address:
        """Begin to listen; where, is returned when all processes are ready."""
        address = await self._door.bind()
        try:
            fronts = [self._open() for _ in range(self.settings.milter.processes - 1)]
            async with asyncio.timeout(_START_SECONDS):
                await asyncio.gather(*(front.ready for front in fronts))
        except BaseException:
            await self.close(0.0)
            raise
        return address

    async def close(self, seconds: float = 5.0) -> None:
        """Listen no more, wait for the messages that are being transferred, and end the processes."""
        self._is_stopping = True
        for task in self._tasks:
            task.cancel()
        for front in self.fronts:
            with suppress(OSError):
                front.channel.send(frame(STOP))
        for kill in (False, True):
            for front in self.fronts if kill else ():
                front.process.kill()
            with suppress(TimeoutError):
                async with asyncio.timeout(_LATE_SECONDS + (0.0 if kill else seconds)):
                    await asyncio.gather(*(front.gone.wait() for front in self.fronts))
        await self._door.close(0.0)

    # -- processes ------------------------------------------------------------------------------------------------
    def _open(self) -> Front:
        ours, theirs = socket.socketpair()
        whole = self.service.spam_filter is not None
        sockets = self._door.sockets
        given = theirs, sockets, self.settings, self.service.detector.similarity.idf, whole
        process = _SPAWN.Process(target=run_front, args=given, name="accord-mail-front", daemon=True)
        process.start()
        for one in (theirs, *sockets):  # it has its own by now
            one.close()
        front = Front(ours, process, self)
        self.fronts.add(front)
        return front

    async def _replace(self) -> None:
        await asyncio.sleep(_AGAIN_SECONDS)
        self._open()

    def lose(self, front: Front) -> None:
        """A process has ended."""
        front.channel.close()
        self.fronts.discard(front)
        front.gone.set()
        front.process.join(1.0)
        front.process.kill()  # if it has hung up without ending
        if not front.ready.done():
            front.ready.set_exception(AccordError("a process of the milter did not start; see its messages above"))
            front.ready.exception()  # nobody asks if it is one that was to replace another
        if not self._is_stopping:
            code = front.process.exitcode
            LOG.error("a process of the milter has ended (exit code %s); another takes its place", code)
            task = asyncio.get_running_loop().create_task(self._replace())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
