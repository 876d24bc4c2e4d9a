"""A milter of several processes: the batches of one, and what happens when a process is killed."""

import os
import signal
import subprocess
import urllib.request
from pathlib import Path

import pytest
from cli_helpers import process
from mail_helpers import MilterClient, packet, wait_until
from postfix_helpers import free_port

from accord.mail.detector import BatchDetector
from accord.mail.generator import MailGenerator

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for processes as Linux lists them")
MAILS = [mail.raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n") for mail in MailGenerator(random_state=5).stream(90)]


@pytest.fixture
def milter(tmp_path):
    """The program with two processes that listen; its port."""
    port, http = free_port(), free_port()
    program = process(
        "mail", "milter", "--listen", f"127.0.0.1:{port}", "--processes", 3, "--state", tmp_path / "state",
        "--window", 50, "--seconds", 30, "--http-listen", f"127.0.0.1:{http}", stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert any(f"HTTP on 127.0.0.1:{http}" in line for line in program.stderr)
        program.port, program.http, program.state = port, http, tmp_path / "state"
        yield program
    finally:
        program.kill()
        program.communicate()


def fronts(program):
    """The processes that listen, by what their command line says of multiprocessing."""
    children = Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()
    return [int(one) for one in children if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()]


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def metric(program, name):
    with urllib.request.urlopen(f"http://127.0.0.1:{program.http}/metrics", timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))


def numbered(batches):
    """Batches numbered in the order in which they appear."""
    numbers = {}
    return [numbers.setdefault(batch, len(numbers)) for batch in batches]


def test_batches_of_one_window(milter):
    clients = [MilterClient(milter.port) for _ in range(6)]
    replies = [clients[k % 6].message(raw) for k, raw in enumerate(MAILS)]
    detector = BatchDetector(window=50)
    expected = [detector.assign_detailed(raw) for raw in MAILS]
    found = [dict(reply.added) for reply in replies]
    assert numbered(one["X-Accord-Batch"] for one in found) == numbered(one.batch for one in expected)
    assert [int(one["X-Accord-Batch-Size"]) for one in found] == [one.size for one in expected]
    wait_until(lambda: metric(milter, 'accord_mail_messages_total{outcome="assigned"}') == len(MAILS))
    assert metric(milter, "accord_mail_answer_seconds_count") == len(MAILS)
    clients[0].send(packet(b"?"))
    assert clients[0].is_closed()
    wait_until(lambda: metric(milter, "accord_mail_malformed_total") == 1)

    # what has begun is finished, the state is written, and all processes end
    pids = fronts(milter)
    assert len(pids) == 2
    clients[1].message(MAILS[0], end=False)
    milter.send_signal(signal.SIGTERM)
    clients[1].send(packet(b"E"))
    assert dict(clients[1].reply().added)["X-Accord-Batch"]
    assert milter.wait(30) == 0
    assert not any(map(is_running, pids))
    assert len(BatchDetector.restore(milter.state)) == 50


def test_a_process_that_is_killed_is_replaced(milter):
    """Its connections are closed, those of the other one go on, and the window stays as it is."""
    with MilterClient(milter.port) as client:
        client.message(MAILS[0])
    n_answered = 0
    for pid in fronts(milter):
        clients = [patient_client(milter.port) for _ in range(4)]
        for client in clients:
            client.message(MAILS[1], end=False)
        os.kill(pid, signal.SIGKILL)
        n_answered += sum(map(is_answered, clients))
        wait_until(lambda pid=pid: len(set(fronts(milter)) - {pid}) == 2, 60)
    with patient_client(milter.port) as client:
        sizes = [int(dict(client.message(mail).added)["X-Accord-Batch-Size"]) for mail in MAILS[:2]]
    assert sizes[0] == 2
    assert n_answered < sizes[1] <= 9


def patient_client(port):
    """A connection; it waits for a process that may only just be starting."""
    for _ in range(5):
        try:
            return MilterClient(port)
        except TimeoutError:
            continue
    raise AssertionError("no process takes its place")


def is_answered(client):
    """Whether a message gets its verdict; False if the connection is closed, and an error if neither happens."""
    try:
        client.send(packet(b"E"))
        return bool(client.reply().added)
    except (ConnectionError, EOFError):
        return False


def test_without_the_one_that_decides_the_others_end(milter):
    pids = fronts(milter)
    assert len(pids) == 2
    milter.kill()
    wait_until(lambda: not any(map(is_running, pids)))
