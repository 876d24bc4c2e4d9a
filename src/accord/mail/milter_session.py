"""One connection of a mail server to the milter: what is said in it, and what happens when something goes wrong.

Only the end of a message is answered; all the rest is agreed to be sent without waiting. While a message waits for its
verdict, or the mail server does not read our answers, hardly anything is read from its connection, so what a connection
can hold in memory is bounded. After so many packets of one connection it is the turn of others.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Protocol

from accord.mail import milter_protocol as wire
from accord.mail.config import MailSettings
from accord.mail.connections import Lobby
from accord.mail.counters import Counters
from accord.mail.milter_message import PassingMessage
from accord.mail.milter_policy import Policy
from accord.mail.service import Overloaded, Verdict

LOG = logging.getLogger("accord.mail.milter")
_MOST_PACKETS = 200  # at a time; the smallest ones take less than a millisecond
_MOST_AHEAD = 4096  # bytes that are read while there is no use for them yet
_STALE_SECONDS = 300.0  # after which mail servers give up clients that say nothing outside of messages
Answer = Future[Verdict] | asyncio.Future[Verdict]
_QUICK_ACK: Any = getattr(socket, "TCP_QUICKACK", None)  # Linux


class Service(Protocol):
    """What a connection needs of a `MailService`, or of what stands for it in another process."""

    counters: Counters

    def assign(self, raw: bytes, received: float) -> Answer:
        """Ask for the verdict on a message."""


class MilterSession(asyncio.Protocol):
    """One connection of a mail server, over which one message comes after the other.

    `policy` is that of the settings, `sessions` are all connections, this one among them while it is open; `strangers`
    are those of them that have not begun as mail servers do.
    """

    _transport: asyncio.Transport

    def __init__(
        self,
        service: Service,
        settings: MailSettings,
        policy: Policy,
        sessions: set[MilterSession],
        strangers: Lobby,
    ) -> None:
        self.service, self.limits, self.policy = service, settings.limits, policy
        self.sessions, self.strangers = sessions, strangers
        self.since = self.active = time.monotonic()
        self.terms = wire.Terms()
        self._socket: socket.socket | None = None  # if it is one of TCP
        self._buffer = bytearray()
        self._is_full = False  # more connections than we look after
        self._client_reason = ""
        self._is_authenticated = False
        self._waiting: Answer | None = None  # for the detector
        self._timer: asyncio.TimerHandle | None = None
        self._next: asyncio.Handle | None = None  # the next look at packets that are there already
        self._answers: list[bytes] = []  # to be sent together
        self._is_unread = False  # the mail server does not read what we send
        prefix = settings.milter.header_prefix
        self._names = (f"{prefix}Batch", f"{prefix}Batch-Size", f"{prefix}Spam-Score")
        self._own = {name.lower().encode() for name in self._names}
        self._commands: dict[bytes, Callable[[bytes], None]] = {
            wire.NEGOTIATE: self._negotiate, wire.MACROS: self._macros, wire.CONNECT: self._connect,
            wire.MAIL: self._mail, wire.HEADER: lambda data: self._headers([wire.header(data)]),
            wire.BODY: lambda data: self._message.add_body(data), wire.END_OF_MESSAGE: self._end,
            wire.ABORT: lambda _: self._reset(), wire.QUIT: lambda _: self.hang_up(),
            wire.QUIT_CONNECTION_STAYS: self._new_client,
        }  # fmt: skip
        self._reset()

    # -- the connection -------------------------------------------------------------------------------------------
    def connection_made(self, transport: Any) -> None:
        """Called by the event loop."""
        self._transport = transport
        opened = transport.get_extra_info("socket")
        if _QUICK_ACK is not None and opened is not None and opened.family != socket.AF_UNIX:
            self._socket = opened
        self.sessions.add(self)
        self.strangers.enter(self)  # all may come from one address: that of the mail server
        self._reset()

    def connection_lost(self, error: Exception | None) -> None:
        """Called by the event loop."""
        self.sessions.discard(self)
        self.strangers.leave(self)
        self._forget_question()
        self._buffer.clear()
        self._answers.clear()
        self._reset()

    def hang_up(self) -> None:
        """Close the connection, after what is to be sent has been sent; at once if nobody reads it."""
        if self._is_unread or self._transport.is_closing():
            self._transport.abort()
        else:
            self._flush()
            self._transport.close()

    def evict(self) -> None:
        """Close the connection at once."""
        self._transport.abort()

    def pause_writing(self) -> None:
        """Called by the event loop when much of what we sent has not been read."""
        self._is_unread = True

    def resume_writing(self) -> None:
        """Called by the event loop when it has been read after all."""
        self._is_unread = False
        self._read_packets()

    @property
    def in_packet(self) -> bool:
        """Whether a packet has begun but not ended."""
        return bool(self._buffer)

    def data_received(self, data: bytes) -> None:
        """Called by the event loop with the next bytes, which may be less or more than a packet."""
        self.active = time.monotonic()
        self._acknowledge()
        self._buffer += data
        self._read_packets()

    def _acknowledge(self) -> None:
        """Acknowledge what came without delay, which the system forgets again and again.

        A mail server that sends small packets without waiting for answers holds back each until the one before is
        acknowledged (Nagle's algorithm), and the system holds back acknowledgements for 40 ms in the hope of an answer
        that they could travel with. Without this, Postfix takes more than 40 ms longer for every message.
        """
        if self._socket is not None:
            with suppress(OSError):
                self._socket.setsockopt(socket.IPPROTO_TCP, _QUICK_ACK, 1)

    def _read_packets(self) -> None:
        """Work on packets that are there, and read more when there are none left."""
        if self._next is not None:
            self._next.cancel()
            self._next = None
        start, left, packets = 0, _MOST_PACKETS, bytes(self._buffer)
        try:
            while left and self._waiting is None and not self._is_unread and not self._transport.is_closing():
                begin = start
                if wire.HEADER in self.terms.silent:
                    headers, start = wire.take_headers(packets, start, left)
                    self._do(wire.HEADER, self._headers, headers)
                    left -= len(headers)
                if start == begin:
                    found = wire.take_packet(packets, start)
                    if found is None:
                        break
                    kind, data, start = found
                    self._handle(kind, data)
                    left -= 1
            if not left:
                self._next = asyncio.get_running_loop().call_soon(self._read_packets)
        except wire.ProtocolError as error:
            LOG.warning("a connection is closed: %s", error)
            self.service.counters.malformed += 1
            self.hang_up()
        finally:
            del self._buffer[:start]
            self._flush()
        is_held = self._waiting is not None or self._is_unread or self._next is not None
        if is_held and len(self._buffer) > _MOST_AHEAD:
            self._transport.pause_reading()
        else:  # most send nothing before they are answered, and to pause and resume costs more than to wait for nothing
            self._transport.resume_reading()

    def _handle(self, kind: bytes, data: bytes) -> None:
        command = self._commands.get(kind)
        if command is None and kind not in wire.ANSWERED:
            raise wire.ProtocolError(f"the command {kind!r}")
        if command is not None:
            self._do(kind, command, data)
        if kind in wire.ANSWERED and kind not in self.terms.silent:
            self._answers.append(wire.packet(wire.CONTINUE))

    def _do(self, kind: bytes, command: Callable[[Any], None], data: Any) -> None:
        try:
            command(data)
        except wire.ProtocolError:
            raise
        except Exception:  # a mistake of ours, which must not cost anybody a message
            LOG.exception("a message goes through without headers")
            self._message.reason = "error"
            if kind == wire.END_OF_MESSAGE:
                self._forget_question()
                self._finish("error")

    def _flush(self) -> None:
        answers, self._answers = b"".join(self._answers), []
        if answers and not self._transport.is_closing():
            self._transport.write(answers)

    # -- commands -------------------------------------------------------------------------------------------------
    def _negotiate(self, data: bytes) -> None:
        if self in self.strangers:
            self.strangers.leave(self)
            self._is_full = not self._has_room()
            self._reset()
        reply, self.terms = wire.negotiate(data, want_body=not self._is_full)
        self._answers.append(reply)

    def _has_room(self) -> bool:
        """Whether there are few enough mail servers to look after another one, now that stale ones are gone."""
        others = self.sessions - {self}
        known = sum(session not in self.strangers for session in others)
        if known < self.limits.connections:
            return True
        resting = [session for session in others if session not in self.strangers and not session.in_message]
        stalest = min(resting, key=lambda session: session.active, default=self)
        is_stale = time.monotonic() - stalest.active > _STALE_SECONDS
        if is_stale or known >= 2 * self.limits.connections:  # those not looked after are let be up to so many
            stalest.hang_up()
        return is_stale

    def _macros(self, data: bytes) -> None:
        command, values = wire.macros(data)
        if command == wire.MAIL:
            self._is_authenticated = bool(values.get(b"auth_authen"))

    def _connect(self, data: bytes) -> None:
        self._client_reason = self.policy.of_client(*wire.client(data))

    def _mail(self, data: bytes) -> None:
        self._reset()
        sender = wire.strings(data)[0].strip(b"<> ").decode("utf-8", "replace")
        reason = self._client_reason or self.policy.of_sender(sender, self._is_authenticated)
        self._message.reason = reason or self._message.reason
        self._is_authenticated = False  # told again for every message
        self.in_message = True

    def _headers(self, headers: list[tuple[bytes, bytes]]) -> None:
        if headers:
            self.in_message = True
            self._message.add_headers(headers, self.terms.leading_space)

    def _end(self, data: bytes) -> None:
        message = self._message
        if data:
            message.add_body(data)
        if message.reason:
            self._finish(message.reason)
            return
        try:
            self._waiting = self.service.assign(bytes(message.raw), time.time())
        except Overloaded:
            self._finish("overloaded")
            return
        message.raw.clear()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self.limits.seconds, self._give_up)
        if isinstance(self._waiting, asyncio.Future):
            self._waiting.add_done_callback(self._answered)
        else:  # of another thread
            self._waiting.add_done_callback(lambda answer: _tell(loop, self._answered, answer))

    def _new_client(self, _: bytes) -> None:
        self._client_reason = ""
        self._reset()

    # -- verdicts -------------------------------------------------------------------------------------------------
    def _answered(self, answer: Answer) -> None:
        if answer is not self._waiting:
            return  # given up, or the connection is gone
        self._forget_question()
        if answer.cancelled() or (failure := answer.exception()) is not None:
            self._finish("overloaded" if isinstance(failure, Overloaded) else "error")
        else:
            self._finish("assigned", answer.result())
        self._read_packets()

    def _give_up(self) -> None:
        if self._waiting is not None:
            self._forget_question()
            self._finish("timeout")
            self._read_packets()

    def _forget_question(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        question, self._waiting, self._timer = self._waiting, None, None
        if question is not None:
            question.cancel()

    def _finish(self, outcome: str, verdict: Verdict | None = None) -> None:
        """Tell the mail server to accept the message, with the changes that we want and can write."""
        changes: list[bytes] = []
        try:
            if outcome != "local" and self.terms.may_change:
                changes += self._message.deletions()
                self.service.counters.spoofed += len(changes)
            if verdict is not None and self.terms.may_add:
                changes += self._additions(verdict)
        except Exception:  # a mistake of ours, which must not cost anybody a message
            LOG.exception("a message goes through without headers")
            outcome = "error"
        self.service.counters.count(outcome)
        self._answers.append(b"".join(changes) + wire.packet(wire.ACCEPT))
        self._reset()

    def _additions(self, verdict: Verdict) -> list[bytes]:
        values = [verdict.batch, str(verdict.size)]
        values += [] if verdict.score is None else [f"{verdict.score:.4f}"]
        return [wire.add_header(name, value, self.terms) for name, value in zip(self._names, values)]

    def _reset(self) -> None:
        """Forget the message."""
        reason = self._client_reason or ("overloaded" if self._is_full else "")
        self._message = PassingMessage(self._own, reason)
        self.in_message = False  # whether a message is being transferred or waits for its verdict


def _tell(loop: asyncio.AbstractEventLoop, function: Callable[..., None], answer: Future[Verdict]) -> None:
    """Call a function in the event loop from another thread; the loop may be gone when the service stops."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(function, answer)
