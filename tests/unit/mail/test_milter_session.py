"""One connection of the milter without a network: every message is answered, and nothing grows without limit."""

import asyncio
import struct
import tracemalloc
from concurrent.futures import Future

import numpy as np
import pytest
from mail_helpers import OFFER, packet
from row_tables import each_row

from accord.exceptions import InputError
from accord.mail import milter_protocol as wire
from accord.mail.config import read_settings
from accord.mail.connections import Lobby
from accord.mail.counters import Counters
from accord.mail.milter_policy import Policy
from accord.mail.milter_session import _MOST_AHEAD, _MOST_PACKETS, MilterSession
from accord.mail.service import Verdict

ACCEPT, CONTINUE = packet(b"a"), packet(b"c")
HELO = packet(b"H", b"x\0")
TALKATIVE = packet(b"O", struct.pack(">III", 2, 0x1F, 0x7F))  # wants an answer to every command
SILENT = packet(b"O", struct.pack(">III", *OFFER))
MESSAGE = packet(b"M", b"<a@b>\0") + packet(b"L", b"Subject\0 x\0") + packet(b"B", b"text") + packet(b"E")
GOOD = Verdict("b1", 1, 1.0, True, False)


class Transport:
    """Keeps what is written, and says when there is too much of it, as those of asyncio do."""

    def __init__(self, room=10**9):
        self.room = room
        self.session = None
        self.writes = []
        self.is_reading, self.is_closed, self.is_aborted = True, False, False

    def get_extra_info(self, _):
        return None

    def write(self, data):
        self.writes.append(data)
        if self.unread > self.room:
            self.session.pause_writing()

    @property
    def unread(self):
        return sum(map(len, self.writes))

    def is_closing(self):
        return self.is_closed

    def close(self):
        self.is_closed = True

    def abort(self):
        self.is_closed = self.is_aborted = True

    def pause_reading(self):
        self.is_reading = False

    def resume_reading(self):
        self.is_reading = True


class Service:
    """Answers when it is told to."""

    def __init__(self):
        self.counters = Counters()
        self.asked = []

    def assign(self, raw, received):
        self.asked.append((raw, Future()))
        return self.asked[-1][1]


def connect(service=None, room=10**9, others=None, **flags):
    settings = read_settings(flags={key.replace("__", "."): value for key, value in flags.items()})
    service = Service() if service is None else service
    others = (set(), Lobby(100)) if others is None else others
    session, transport = MilterSession(service, settings, Policy(settings), *others), Transport(room)
    transport.session = session
    session.connection_made(transport)
    return session, transport


async def settled():
    """All that is to be done soon is done."""
    for _ in range(5):
        await asyncio.sleep(0)


@each_row("text", ["a\r\nX-Evil: 1", "a\n", "a\rb", "a\0b", "Büro-1", "tab\t"])
def test_a_header_is_one_line_of_ascii(text):
    for name, value in ((text, "1"), ("X-Accord-Batch", text)):
        with pytest.raises(InputError, match="printable ASCII"):
            wire.add_header(name, value, wire.Terms())


@each_row(
    "verdict",
    [
        Verdict("Büro-1", 1, 1.0, True, False),
        Verdict("a\r\nX-Evil: 1", 1, 1.0, True, False),
        Verdict("a\0b", 1, 1.0, True, False),
        Verdict(None, 1, 1.0, True, False),
        Verdict("b1", 1, 1.0, True, False, "no number"),
    ],
)
def test_a_verdict_that_cannot_be_written_lets_mail_through(verdict):
    async def run():
        session, transport = connect()
        session.data_received(SILENT + packet(b"M", b"<a@b>\0") + packet(b"L", b"x-accord-batch\0 1\0") + packet(b"E"))
        assert transport.is_reading  # a little
        session.data_received(HELO * (_MOST_AHEAD // len(HELO) + 1))
        assert not transport.is_reading
        transport.writes.clear()
        session.service.asked[0][1].set_result(verdict)
        await settled()
        assert b"".join(transport.writes) == packet(b"m", b"\0\0\0\1x-accord-batch\0\0") + ACCEPT
        assert transport.is_reading
        session.data_received(MESSAGE)  # goes on
        session.service.asked[1][1].set_result(GOOD)
        await settled()
        assert packet(b"h", b"X-Accord-Batch\0 b1\0") in transport.writes[-1]
        assert session.service.counters.outcomes["assigned"] == 1
        assert session.service.counters.outcomes["error"] == 1

    asyncio.run(run())


def test_a_mistake_after_the_question_lets_mail_through():
    class Broken(Service):
        def assign(self, raw, received):
            question = super().assign(raw, received)
            if len(self.asked) == 1:
                question.add_done_callback = None
            return question

    async def run():
        session, transport = connect(Broken())
        session.data_received(SILENT + MESSAGE)
        assert b"".join(transport.writes).endswith(ACCEPT)
        assert transport.is_reading
        session.data_received(MESSAGE)
        session.service.asked[1][1].set_result(GOOD)
        await settled()
        assert b"X-Accord-Batch" in transport.writes[-1]

    asyncio.run(run())


def test_a_verdict_in_time_and_one_too_late():
    async def run():
        session, transport = connect(limits__seconds=0.01)
        session.data_received(SILENT + MESSAGE + MESSAGE)
        await asyncio.sleep(0.05)
        assert transport.writes[-1] == ACCEPT
        assert len(session.service.asked) == 2  # the next one is looked at
        assert session.service.counters.outcomes["timeout"] >= 1

    asyncio.run(run())


def test_many_small_packets_are_answered_together_and_others_have_their_turn():
    async def run():
        session, transport = connect()
        n, turns = 20 * _MOST_PACKETS, 0
        session.data_received(TALKATIVE)
        transport.writes.clear()
        session.data_received(HELO * n)
        assert not transport.is_reading
        while transport.unread < n * len(CONTINUE):
            await asyncio.sleep(0)  # here others have their turn
            turns += 1
            assert turns < 1000
        await settled()
        assert b"".join(transport.writes) == CONTINUE * n
        assert turns >= 19
        assert len(transport.writes) <= 21
        assert transport.is_reading

    asyncio.run(run())


def test_who_does_not_read_answers_is_not_listened_to():
    async def run():
        session, transport = connect(room=3000)
        n = 20 * _MOST_PACKETS
        session.data_received(TALKATIVE)
        session.data_received(HELO * n)
        for _ in range(100):
            await asyncio.sleep(0)
        assert transport.unread < 3000 + _MOST_PACKETS * len(CONTINUE) + 100
        assert not transport.is_reading
        answered = b""
        while len(answered) < n * len(CONTINUE):
            await settled()
            assert transport.writes
            answered += b"".join(transport.writes)
            transport.writes.clear()
            session.resume_writing()
        await settled()
        assert answered.endswith(CONTINUE * n)
        assert transport.is_reading

    asyncio.run(run())


def test_a_connection_that_does_not_read_can_be_ended():
    async def run():
        session, transport = connect(room=0)
        session.data_received(TALKATIVE)
        session.hang_up()
        assert transport.is_aborted
        session, transport = connect()
        session.data_received(TALKATIVE + HELO + packet(b"Q") + HELO)
        assert transport.writes[-1].endswith(CONTINUE)
        assert transport.is_closed
        assert not transport.is_aborted
        session.hang_up()  # what is to be sent is not read: the second time, it is given up
        assert transport.is_aborted

    asyncio.run(run())


def test_packets_that_wait_are_forgotten_with_their_connection():
    async def run():
        session, transport = connect()
        session.data_received(TALKATIVE + HELO * 1000)
        transport.is_closed = True
        session.connection_lost(None)
        n = len(transport.writes)
        await settled()
        assert len(transport.writes) == n

    asyncio.run(run())


@pytest.mark.parametrize("piece", [b"", b"xy"])
def test_small_pieces_of_bodies_take_no_more_than_they_are(piece):
    async def run():
        session, _ = connect()
        session.data_received(SILENT + packet(b"M", b"<a@b>\0"))
        small = packet(b"B", piece) * 1000
        tracemalloc.start()
        try:
            for _ in range(12):
                session.data_received(small)
                while session.in_packet:
                    await asyncio.sleep(0)
            size, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert size < 120_000
        session.data_received(packet(b"E"))
        assert session.service.asked[0][0] == b"\r\n" + piece * 12_000

    asyncio.run(run())


def test_forged_headers_without_end():
    async def run():
        session, transport = connect()
        session.data_received(SILENT + packet(b"M", b"<a@b>\0"))
        for _ in range(20):
            session.data_received(packet(b"L", b"X-Accord-Batch\0x\0") * 1000)
            while session.in_packet:
                await asyncio.sleep(0)
        session.data_received(packet(b"E"))
        tracemalloc.start()
        try:
            session.service.asked[0][1].set_result(GOOD)
            await settled()
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert transport.writes[-1].count(b"x-accord-batch\0\0") == 1000
        assert peak < 500_000

    asyncio.run(run())


def test_room_is_for_those_that_begin_as_mail_servers_do(monkeypatch):
    """Strangers take none, stale connections make some, and others are let through unseen until there are too many."""
    others = (set(), Lobby(100))
    bodies = struct.pack(">I", 0x10)  # bit of the steps by which a milter forgoes bodies

    def negotiated():
        session, transport = connect(others=others, limits__connections=2)
        session.data_received(SILENT)
        steps = b"".join(transport.writes)[-4:]
        return session, transport, not steps[3] & bodies[3]

    for _ in range(5):
        connect(others=others, limits__connections=2)
    assert len(others[1]) == 5
    servers = [negotiated() for _ in range(4)]
    assert [is_seen for *_, is_seen in servers] == [True, True, False, False]
    assert len(others[1]) == 5
    servers[0][0].data_received(packet(b"M", b"<a@b>\0"))  # is in a message, and stays however long it takes
    servers[0][0].active -= 10_000
    servers[1][0].active -= 10
    assert not negotiated()[2]
    assert servers[1][1].is_closed  # one too many: the one that has rested the longest goes
    servers[1][0].connection_lost(None)
    servers[2][0].active -= 301
    assert negotiated()[2]
    assert servers[2][1].is_closed
    assert not servers[0][1].is_closed


def test_headers_taken_together_are_those_taken_one_by_one():
    """Also if something else, a malformed header or half of one comes among them."""
    rng = np.random.default_rng(0)
    odd = [packet(b"B", b"a\0b\0"), packet(b"L", b"no end\0"), packet(b"L", b"a\0b\0c\0"), packet(b"L"), packet(b"")]
    kinds = [packet(b"L", b"Subject\0 x\0"), packet(b"L", b"To\0 a,\n b\0"), packet(b"L", b"\0\0")]
    kinds += [*odd, b"\0\0\0\0", b"\xff\xff\xff\xffL"]
    n_together = 0
    for _ in range(300):
        stream = b"".join(kinds[k] for k in rng.choice(len(kinds), 6, p=[0.4, 0.2, 0.1, *[0.3 / 7] * 7]))
        stream, most = stream[: rng.integers(len(stream) + 1)], int(rng.integers(1, 7))
        expected, start = [], 0
        while len(expected) < most:
            try:
                found = wire.take_packet(stream, start)
                if found is None or found[0] != wire.HEADER:
                    break
                expected.append(wire.header(found[1]))
            except wire.ProtocolError:
                break
            start = found[2]
        assert wire.take_headers(stream, 0, most) == (expected, start)
        n_together += len(expected) > 1
    assert n_together > 50
