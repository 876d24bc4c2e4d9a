"""What processes of one milter hand each other: signatures come as they went, and verdicts are those of one process."""

import asyncio
import random
import socket
from types import SimpleNamespace

import numpy as np
import pytest

from accord.mail.config import read_settings
from accord.mail.counters import Counters
from accord.mail.detector import BatchDetector
from accord.mail.front import DistantService
from accord.mail.fronts import Front
from accord.mail.generator import MailGenerator
from accord.mail.handing import Frames, frame, packed, unpacked
from accord.mail.service import MailService, Overloaded
from accord.mail.signature import checked, sign

MAILS = [mail.raw for mail in MailGenerator(random_state=3).stream(60)]


def test_signatures_come_as_they_went():
    for raw in MAILS:
        mail = sign(raw)
        found = checked(unpacked(packed(mail)), "found")
        for name, column in mail.row._asdict().items():
            assert np.array_equal(getattr(found.row, name), column)
        assert np.array_equal(found.words, mail.words)
        assert np.array_equal(found.counts, mail.counts)
        assert found[3:] == mail[3:]
        # kernels are compiled for arrays that can be written to
        assert all(column.flags.writeable for column in (*found.row, found.words, found.counts))


def test_values_in_pieces():
    values = [(k, "x" * k**2) for k in range(30)]
    data = b"".join(map(frame, values))
    rng = random.Random(0)
    frames, found, start = Frames(), [], 0
    while start < len(data):
        stop = start + rng.randint(1, 200)
        found += frames.take(data[start:stop])
        start = stop
    assert found == values


class Length:
    """A spam filter that has to see the whole text."""

    def decision(self, found):
        return len(found.message.text)


class Failing(BatchDetector):
    def assign_detailed(self, raw, received=None):
        raise RuntimeError("a mistake of the detector")


def answers(service, whole, ask, most=200):
    """What `ask`, given a `DistantService`, returns; the service decides in a thread, as in the real program."""

    async def main():
        ours, theirs = socket.socketpair()
        lost = asyncio.Event()
        fronts = SimpleNamespace(service=service, lose=lambda _: lost.set())
        front = Front(ours, SimpleNamespace(), fronts)
        distant = DistantService(service.detector.similarity.idf, most, whole)
        await asyncio.get_running_loop().create_connection(lambda: distant, sock=theirs)
        found = await ask(distant, front)
        distant.end()
        await asyncio.wait_for(lost.wait(), 10)
        ours.close()
        return found

    return asyncio.run(main())


@pytest.mark.parametrize("spam_filter", [None, Length()])
def test_verdicts_are_those_of_one_process(spam_filter):
    async def ask(distant, _):
        return await asyncio.gather(*(distant.assign(raw, 1e9 + k) for k, raw in enumerate(MAILS)))

    service = MailService(BatchDetector(window=40), spam_filter)
    found = answers(service, spam_filter is not None, ask)
    alone = MailService(BatchDetector(window=40), spam_filter).start()
    assert found == [alone.assign(raw, 1e9 + k).result(60) for k, raw in enumerate(MAILS)]
    assert max(verdict.size for verdict in found) > 2
    shown = [[(one.batch, one.subject, one.text) for one in each.board.largest()] for each in (service, alone)]
    alone.stop()
    assert shown[0] == shown[1]
    assert any(text for _, _, text in shown[0])
    assert sum(service.counters.buckets) == len(MAILS)


def test_what_fails_is_an_error_of_that_message():
    async def ask(distant, _):
        return await asyncio.gather(*(distant.assign(raw, 1e9) for raw in MAILS[:3]), return_exceptions=True)

    found = answers(MailService(Failing(window=4)), False, ask)
    assert [type(one) for one in found] == [RuntimeError] * 3
    service = MailService(BatchDetector(window=4))
    service.stop()
    assert [type(one) for one in answers(service, False, ask)] == [Overloaded] * 3


def test_too_many_wait():
    async def ask(distant, _):
        first = [distant.assign(raw, 1e9) for raw in MAILS[:2]]
        with pytest.raises(Overloaded):
            distant.assign(MAILS[2], 1e9)
        first[0].cancel()  # given up: it is answered all the same, and nobody is told
        await first[1]
        return await distant.assign(MAILS[2], 1e9)

    service = MailService(BatchDetector(window=4))
    assert answers(service, False, ask, most=2).size == 1
    assert len(service.detector) == 3


def test_figures_arrive_once():
    async def ask(distant, _):
        for _ in range(3):
            distant.counters.count("assigned")
            distant.counters.malformed += 1
            distant.tell_figures()
            distant.tell_figures()  # nothing new
        await distant.assign(MAILS[0], 1e9)
        await asyncio.sleep(0.1)

    service = MailService(BatchDetector(window=4))
    answers(service, False, ask)
    assert service.counters.outcomes == {**Counters().outcomes, "assigned": 3}
    assert service.counters.malformed == 3


def test_settings():
    assert read_settings().milter.processes == 1
    assert read_settings(flags={"milter.processes": 3}).milter.processes == 3
