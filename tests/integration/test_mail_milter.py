"""The milter against a scripted mail server: what it says to well-formed mail, and that nothing stops it."""

import random
import select
import socket
import struct
import threading
import time

import pytest
from mail_helpers import (
    MALFORMED,
    OFFER,
    MilterClient,
    SubjectDetector,
    milter_in_thread,
    packet,
    simple_message,
    wait_until,
)

from accord.exceptions import InputError
from accord.mail.config import DetectorSettings, read_settings
from accord.mail.message import MAX_BYTES
from accord.mail.milter import remove_stale_socket
from accord.mail.service import MailService, open_service

OLD_OFFER = (2, 0x1F, 0x7F)  # a mail server that insists on an answer to every command


@pytest.fixture
def start():
    """Starts milters with other settings than the defaults."""
    running = []

    def run(detector=None, spam_filter=None, **flags):
        named = {key.replace("__", "."): value for key, value in flags.items()}
        settings = read_settings(flags={"milter.listen": "127.0.0.1:0", **named})
        detector = SubjectDetector() if detector is None else detector
        service = MailService(detector, spam_filter, settings.detector, settings.limits)
        running.append(milter_in_thread(service, settings))
        return running[-1].__enter__()

    yield run
    for context in running:
        context.__exit__(None, None, None)


def port(server):
    return server.address.port


def test_headers_are_added(start):
    server = start()
    with MilterClient(port(server)) as client:
        first, second = client.message(simple_message("one")), client.message(simple_message("one"))
        other = client.message(simple_message("two"))
    assert first.verdict == second.verdict == b"a"
    assert [name for name, _ in first.added] == ["X-Accord-Batch", "X-Accord-Batch-Size"]
    assert first.added[0] == second.added[0] != other.added[0]
    assert [reply.added[1][1] for reply in (first, second, other)] == ["1", "2", "1"]
    assert first.deleted == []


@pytest.mark.parametrize("offer", [OFFER, OLD_OFFER])
def test_the_detector_sees_the_message_as_it_came(start, offer):
    detector = SubjectDetector()
    server = start(detector)
    raw = b"From: a@b\r\nSubject: folded\r\n line\r\nX-Empty:\r\n\r\nline 1\r\n\r\n3\r\n" + b"x" * 200_000 + b"\r\n"
    with MilterClient(port(server), offer) as client:
        assert client.message(raw).verdict == b"a"
    expected = raw if offer is OFFER else raw.replace(b"X-Empty:", b"X-Empty: ")
    assert detector.seen == [expected]


def test_no_answers_are_waited_for_but_the_last(start):
    with MilterClient(port(start())) as client:
        assert client.version == 6
        assert client.actions == 0x11
        for bit in (0x80, 0x1000, 0x4000, 0x40000, 0x80000):
            assert client.steps & bit


def test_score_of_a_spam_filter(start):
    class Filter:
        def decision(self, found):
            return 0.5 + found.size

    with MilterClient(port(start(spam_filter=Filter()))) as client:
        assert client.message(simple_message()).added[2] == ("X-Accord-Spam-Score", "1.5000")


def test_forged_headers_are_removed_from_the_last_to_the_first(start):
    forged = "X-Accord-Batch: 1\r\nx-accord-batch: 2\r\nX-ACCORD-SPAM-SCORE: -9\r\nX-Accord-Other: stays\r\n"
    detector = SubjectDetector()
    with MilterClient(port(start(detector))) as client:
        reply = client.message(simple_message(extra=forged))
        assert client.message(simple_message()).deleted == []  # forgotten with the message
    assert reply.deleted == [("x-accord-batch", 2), ("x-accord-batch", 1), ("x-accord-spam-score", 1)]
    assert len(reply.added) == 2
    assert b"x-accord-batch" not in detector.seen[0].lower()
    assert b"X-Accord-Other: stays" in detector.seen[0]


def test_a_flood_of_forged_headers_is_bounded(start):
    with MilterClient(port(start())) as client:
        reply = client.message(simple_message(extra="X-Accord-Batch: 1\r\n" * 3000))
    assert len(reply.deleted) == 1000
    assert reply.verdict == b"a"


@pytest.mark.parametrize(
    ("address", "flags", "is_tagged"),
    [
        ("127.0.0.1", {}, False),
        ("127.0.0.1", {"milter__tag_local": True}, True),
        ("::1", {}, False),
        ("::ffff:127.0.0.1", {}, False),
        ("/run/socket", {}, False),
        ("", {}, True),
        ("not an address", {}, True),
        ("10.1.2.3", {}, True),
        ("10.1.2.3", {"milter__local_networks": ["10.0.0.0/8"]}, False),
        ("10.1.2.3", {"allow__networks": ["10.1.2.3"]}, False),
        ("2001:db8::1", {"allow__networks": ["2001:db8::/32"]}, False),
        ("2001:db8::1", {}, True),
    ],
)
def test_clients(start, address, flags, is_tagged):
    with MilterClient(port(start(**flags)), address=address) as client:
        assert bool(client.message(simple_message()).added) is is_tagged


def test_local_mail_is_untouched_but_allowed_mail_is_cleaned(start):
    forged = simple_message(extra="X-Accord-Batch: 1\r\n")
    server = start(allow__networks=["10.0.0.0/8"])
    with MilterClient(port(server), address="127.0.0.1") as client:
        assert client.message(forged) == ([], [], b"a")
    with MilterClient(port(server), address="10.0.0.1") as client:
        assert client.message(forged) == ([], [("x-accord-batch", 1)], b"a")


def test_authenticated_mail(start):
    with MilterClient(port(start())) as client:
        assert client.message(simple_message(), login="anna").added == []
        assert len(client.message(simple_message()).added) == 2  # who logged in is told for every message
    with MilterClient(port(start(milter__tag_authenticated=True))) as client:
        assert len(client.message(simple_message(), login="anna").added) == 2


@pytest.mark.parametrize(
    ("sender", "is_tagged"),
    [("News@Example.org", False), ("x@example.org", True), ("x@sub.example.net", False), ("x@badexample.net", True),
     ("x@example.net", False), ("", True), ("postmaster", True)],
)  # fmt: skip
def test_allowed_senders(start, sender, is_tagged):
    server = start(allow__senders=["news@example.org"], allow__domains=["example.net"])
    with MilterClient(port(server)) as client:
        assert bool(client.message(simple_message(), sender=sender).added) is is_tagged


def test_large_messages_are_judged_by_their_beginning(start):
    """Padding does not keep a message from its batch, and is not kept in memory."""
    detector = SubjectDetector()
    server = start(detector)
    with MilterClient(port(server)) as client:
        small = client.message(simple_message())
        reply = client.message(simple_message(body="x" * 3_000_000, extra="X-Accord-Batch: 1\r\n"))
        assert reply.added[0] == small.added[0]
        assert reply.deleted == [("x-accord-batch", 1)]
        client.message(simple_message(body="x" * 1_000_000), end=False)
        wait_until(lambda: all(session._message.size > 900_000 for session in server.sessions))
        (session,) = server.sessions
        assert len(session._message.raw) == MAX_BYTES
    assert [len(raw) == MAX_BYTES for raw in detector.seen] == [False, True]
    assert server.service.counters.outcomes["assigned"] == 2


def test_a_failing_detector_lets_mail_through(start):
    with MilterClient(port(start())) as client:
        assert client.message(simple_message("fail")) == ([], [], b"a")
        assert len(client.message(simple_message()).added) == 2


def test_a_batch_that_cannot_be_in_a_header_lets_mail_through(start):
    class Odd(SubjectDetector):
        def _batch(self, raw):
            return "Büro-1" if b"odd" in raw else super()._batch(raw)

    server = start(Odd(), limits__seconds=20.0)
    with MilterClient(port(server)) as client:
        client.socket.settimeout(5)
        forged = simple_message("odd", extra="X-Accord-Batch: 1\r\n")
        assert client.message(forged) == ([], [("x-accord-batch", 1)], b"a")
        assert len(client.message(simple_message()).added) == 2
    assert server.service.counters.outcomes["error"] == 1


def test_a_slow_detector_lets_mail_through_in_time(start):
    server = start(limits__seconds=0.2)
    with MilterClient(port(server)) as client:
        assert client.message(simple_message("wait")) == ([], [], b"a")
        server.service.detector.go.set()
        wait_until(lambda: len(server.service.detector) == 1)
        assert not select.select([client.socket], [], [], 0.2)[0]
        assert len(client.message(simple_message()).added) == 2  # the late answer went to nobody


def test_a_full_queue_lets_mail_through_at_once(start):
    server = start(limits__queue=1, limits__seconds=20.0)
    replies = {}

    def send(subject):
        with MilterClient(port(server)) as client:
            replies[subject] = client.message(simple_message(subject))

    threads = [threading.Thread(target=send, args=(subject,)) for subject in ("wait", "queued", "too many")]
    for thread in threads:
        thread.start()
        time.sleep(0.2)
    threads[2].join()
    assert replies == {"too many": ([], [], b"a")}
    server.service.detector.go.set()
    for thread in threads:
        thread.join()
    assert len(replies["wait"].added) == len(replies["queued"].added) == 2


def test_nothing_is_read_while_a_message_waits(start):
    server = start()
    with MilterClient(port(server)) as client:
        client.send(message_stream(simple_message("wait")))
        wait_until(lambda: all(session.in_message for session in server.sessions))
        client.socket.setblocking(False)
        sent = 0
        try:
            while sent < 100_000_000:
                sent += client.socket.send(packet(b"B", b"x" * 60_000))
        except BlockingIOError:
            pass
        (session,) = server.sessions
        assert len(session._buffer) < 1_000_000
        assert sent < 100_000_000
        server.service.detector.go.set()


def test_a_flood_of_packets_whose_answers_are_not_read(start, tmp_path):
    path = str(tmp_path / "socket")  # has smaller buffers than TCP
    server = start(milter__listen=f"unix:{path}")
    hello, n = packet(b"H", b"x\0"), 500_000
    with MilterClient(path, OLD_OFFER) as flood, MilterClient(path) as other:
        flood.socket.setblocking(False)
        stream, sent, since = memoryview(hello * n), 0, time.monotonic()
        while sent < len(stream) and time.monotonic() - since < 0.5:
            try:
                sent += flood.socket.send(stream[sent : sent + 50_000])
                since = time.monotonic()
            except BlockingIOError:
                time.sleep(0.01)
        assert sent < len(stream)  # nothing more is taken
        assert len(other.message(simple_message()).added) == 2
        flood.socket.settimeout(20)
        for _ in range(sent // len(hello)):
            assert flood.read() == (b"c", b"")
    wait_until(lambda: not server.sessions)


def test_too_many_connections_send_no_bodies(start):
    server = start(limits__connections=1)
    with MilterClient(port(server)) as first, MilterClient(port(server)) as second:
        assert first.steps & 0x10 == 0
        assert second.steps & 0x10  # "no body"
        forged = simple_message(extra="X-Accord-Batch: 1\r\n")
        assert second.message(forged) == ([], [("x-accord-batch", 1)], b"a")
        assert len(first.message(forged).added) == 2


def test_a_mail_server_that_forbids_changes_gets_none(start):
    with MilterClient(port(start()), (6, 0x01, OFFER[2])) as client:
        reply = client.message(simple_message(extra="X-Accord-Batch: 1\r\n"))
        assert reply.deleted == []
        assert len(reply.added) == 2
    with MilterClient(port(start()), (6, 0, OFFER[2])) as client:
        assert client.message(simple_message()) == ([], [], b"a")


# -- bytes ----------------------------------------------------------------------------------------------------------
def message_stream(raw):
    head, _, body = raw.partition(b"\r\n\r\n")
    headers = [line.partition(b":") for line in head.split(b"\r\n")]
    return b"".join(
        [packet(b"D", b"M"), packet(b"M", b"<a@b>\0"), *(packet(b"L", n + b"\0" + v + b"\0") for n, _, v in headers),
         packet(b"N"), packet(b"B", body), packet(b"E")]
    )  # fmt: skip


@pytest.mark.parametrize("piece", [1, 3, 7, 1000])
def test_partial_packets(start, piece):
    stream = message_stream(simple_message("one")) * 2
    with MilterClient(port(start())) as client:
        for k in range(0, len(stream), piece):
            client.send(stream[k : k + piece])
        replies = [client.reply(), client.reply()]  # both messages, although the second came before the first's answer
    assert [reply.added[1][1] for reply in replies] == ["1", "2"]


def test_a_connection_is_used_again_for_another_client(start):
    with MilterClient(port(start()), address="127.0.0.1") as client:
        assert client.message(simple_message()).added == []
        client.send(packet(b"K"))
        client.connect("192.0.2.1")
        assert len(client.message(simple_message()).added) == 2


def test_an_aborted_message_leaves_nothing(start):
    detector = SubjectDetector()
    with MilterClient(port(start(detector))) as client:
        client.send(
            packet(b"M", b"<a@b>\0") + packet(b"L", b"X-Accord-Batch\0 1\0") + packet(b"B", b"old") + packet(b"A")
        )
        reply = client.message(simple_message("new"))
    assert reply.deleted == []
    assert b"old" not in detector.seen[0]


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_packets_close_their_connection_only(start, name):
    server = start()
    with MilterClient(port(server)) as good:
        with MilterClient(port(server), negotiate=False) as bad:
            bad.send(MALFORMED[name])
            assert bad.is_closed()
        assert len(good.message(simple_message()).added) == 2
    assert server.service.counters.malformed == 1


def test_random_bytes_never_stop_it(start):
    server = start()
    rng = random.Random(0)
    whole = packet(b"O", struct.pack(">III", *OFFER)) + message_stream(simple_message())
    for _ in range(150):
        stream = bytearray(whole * 2)
        for _ in range(rng.randint(1, 4)):
            stream[rng.randrange(len(stream))] = rng.randrange(256)
        with MilterClient(port(server), negotiate=False) as bad:
            bad.send(bytes(stream[: rng.randrange(len(stream))]))
    with MilterClient(port(server)) as client:
        assert len(client.message(simple_message()).added) == 2
    wait_until(lambda: not server.sessions)


def test_abrupt_ends(start):
    """The mail server leaves in the middle of a packet, of a message, and while its message is looked at."""
    server = start()
    for stream in (b"\0\0", packet(b"M", b"<a@b>\0"), message_stream(simple_message("sleep 0.1"))):
        client = MilterClient(port(server))
        client.send(stream)
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset
        client.socket.close()
    wait_until(lambda: not server.sessions)
    with MilterClient(port(server)) as client:
        assert len(client.message(simple_message()).added) == 2


def test_idle_connections_are_closed(start):
    server = start(milter__idle_seconds=1.0)
    with MilterClient(port(server)) as client:
        assert client.is_closed()


# -- the end --------------------------------------------------------------------------------------------------------
def test_stopping_answers_what_waits_and_writes_the_state(tmp_path):
    settings = read_settings(flags={"milter.listen": "127.0.0.1:0", "detector.state": str(tmp_path / "state")})
    detector = SubjectDetector()
    service = MailService(detector, settings=settings.detector)
    with milter_in_thread(service, settings) as server:
        client = MilterClient(port(server))
        client.send(message_stream(simple_message("sleep 0.3")))
        wait_until(lambda: any(session.in_message for session in server.sessions))
    assert len(client.reply().added) == 2
    client.socket.close()
    assert detector.saves == 1
    assert (tmp_path / "state").exists()


def test_checkpoints_by_number_and_by_time(tmp_path):
    settings = DetectorSettings(state=str(tmp_path / "state"), checkpoint_messages=3, checkpoint_seconds=1000.0)
    service = MailService(SubjectDetector(), settings=settings).start()
    for _ in range(3):
        service.assign(simple_message()).result(5)
    wait_until(lambda: service.counters.checkpoints == 1)
    service.stop()
    settings = DetectorSettings(state=str(tmp_path / "state"), checkpoint_seconds=0.1)
    service = MailService(SubjectDetector(), settings=settings).start()
    service.assign(simple_message()).result(5)
    wait_until(lambda: service.counters.checkpoints == 1)
    time.sleep(0.3)
    assert service.counters.checkpoints == 1  # nothing new, nothing written
    service.stop()


def test_a_full_disk_does_not_stop_the_mail(tmp_path):
    settings = DetectorSettings(state=str(tmp_path / "missing" / "state"), checkpoint_messages=1)
    service = MailService(SubjectDetector(), settings=settings).start()
    service.assign(simple_message()).result(5)
    wait_until(lambda: service.counters.checkpoint_errors > 0)
    assert service.assign(simple_message()).result(5).size == 2
    service.stop()


def test_ids_are_not_given_again_after_a_crash(tmp_path):
    """What came after the last checkpoint is forgotten, but its ids are in mail that was delivered."""
    settings = DetectorSettings(state=str(tmp_path / "state"), window=20, checkpoint_messages=100)
    seen = []
    for start in range(3):
        service = open_service(settings).start()
        for k in range(3):
            text = " ".join(f"{word}{start}{k}" for word in ("other", "words", "in", "every", "message", "here"))
            seen.append(service.assign(simple_message(f"subject {start} {k}", text)).result(60).batch)
            if k == 0:
                service.checkpoint()  # and then it is killed
    assert len(set(seen)) == 9


def test_a_state_of_other_settings_is_put_aside(tmp_path):
    settings = DetectorSettings(state=str(tmp_path / "state"), window=20)
    open_service(settings).checkpoint()
    assert open_service(settings).detector.window == 20
    assert (tmp_path / "state").exists()
    assert open_service(DetectorSettings(state=str(tmp_path / "state"), window=30)).detector.window == 30
    assert not (tmp_path / "state").exists()
    assert (tmp_path / "state.unused").exists()


def test_sockets_of_killed_programs_are_removed(tmp_path):
    path = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(path)
    remove_stale_socket(path)
    with socket.socket(socket.AF_UNIX) as used:
        used.bind(path)
        used.listen()
        with pytest.raises(InputError, match="in use"):
            remove_stale_socket(path)
