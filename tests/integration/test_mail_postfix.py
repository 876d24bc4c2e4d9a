"""A real Postfix on the loopback interface: all mail is delivered, with headers, and without the milter, too."""

import signal
import subprocess
from email import message_from_bytes

import pytest
from cli_helpers import process
from mail_helpers import wait_until
from postfix_helpers import Postfix, free_port, require_postfix

from accord.mail.generator import MailGenerator

N = 300


@pytest.fixture(scope="module")
def stream():
    """Generated mail with a number to recognise it by, and a forged header."""
    require_postfix()
    mails = MailGenerator(random_state=0).stream(N)
    marked = b"X-Number: %d\r\nx-accord-batch: forged\r\nX-Accord-Spam-Score: -100\r\n"
    return [(marked % k) + mail.raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n") for k, mail in enumerate(mails)]


@pytest.fixture
def milter(tmp_path):
    """The program, with a state; its port."""
    port = free_port()
    program = process(
        "mail", "milter", "--listen", f"127.0.0.1:{port}", "--state", tmp_path / "state", "--window", 200,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert any(f"milter on 127.0.0.1:{port}" in line for line in program.stderr)
        program.port, program.state = port, tmp_path / "state"
        yield program
    finally:
        program.kill()
        program.communicate()


def deliver(postfix, stream, **options):
    """Send everything; the delivered messages by number."""
    postfix.send(stream, **options)
    wait_until(lambda: len(postfix.delivered()) >= len(stream), 60)
    files = [path.read_bytes() for path in postfix.delivered()]
    assert len(files) == len(stream)
    messages = {int(message["X-Number"]): message for message in map(message_from_bytes, files)}
    postfix.bodies = {int(message_from_bytes(raw)["X-Number"]): body_of(raw) for raw in files}
    return messages


def body_of(raw):
    return raw.replace(b"\r\n", b"\n").partition(b"\n\n")[2]


def test_every_message_is_delivered_with_headers(stream, milter):
    with Postfix(milter.port) as postfix:
        received = deliver(postfix, stream)
        assert set(received) == set(range(N))
        for message in received.values():
            assert len(message.get_all("X-Accord-Batch")) == len(message.get_all("X-Accord-Batch-Size")) == 1
            assert message["X-Accord-Batch"] != "forged"
            assert message["X-Accord-Spam-Score"] is None  # forged, and there is no filter
        sizes = {}
        for message in received.values():
            sizes.setdefault(message["X-Accord-Batch"], []).append(int(message["X-Accord-Batch-Size"]))
        for numbers in sizes.values():
            assert sorted(numbers) == list(range(1, len(numbers) + 1))  # every member was counted once
        assert max(map(len, sizes.values())) > 5
        # mail of this machine itself goes through untouched
        local = deliver_one(postfix, stream[0].replace(b"X-Number: 0", b"X-Number: 7777"), N)
        assert local["x-accord-batch"] == "forged"
        assert local["X-Accord-Batch-Size"] is None
    milter.send_signal(signal.SIGTERM)
    assert milter.wait(30) == 0
    assert milter.state.stat().st_size > 0


def deliver_one(postfix, raw, n_before):
    before = set(postfix.delivered())
    postfix.send([raw], client="", connections=1)
    wait_until(lambda: len(postfix.delivered()) > n_before)
    (new,) = set(postfix.delivered()) - before
    return message_from_bytes(new.read_bytes())


def test_every_message_is_delivered_when_the_milter_is_killed_half_way(stream, milter):
    def kill(n):
        if n == N // 2:
            milter.kill()

    with Postfix(milter.port) as postfix:
        received = deliver(postfix, stream, on_sent=kill)
    assert set(received) == set(range(N))
    with_headers = [k for k, message in received.items() if message["X-Accord-Batch-Size"] is not None]
    assert N // 2 - 10 <= len(with_headers) <= N // 2 + 10
    assert postfix.bodies == {k: body_of(raw) for k, raw in enumerate(stream)}  # byte by byte
