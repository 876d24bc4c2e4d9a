"""Crowds of connections that ask for nothing: whoever has a token, or is a mail server, is answered all the same."""

import contextlib
import http.client
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time

import pytest
from mail_helpers import MilterClient, simple_message, wait_until

pytest.importorskip("fastapi", reason="needs accord-ml[mail]")
resource = pytest.importorskip("resource", reason="needs limits of files")

TOKEN = {"Authorization": "Bearer secret"}
# Forks a service for every line that it reads: starting the interpreter takes longer than all that is looked at.
PROGRAM = """
import json, os, resource, signal, sys
sys.path.insert(0, sys.argv[1])
from mail_helpers import SubjectDetector
from accord.mail import http_service
from accord.mail.config import read_settings
from accord.mail.service import MailService
from accord.mail.service_run import run

def serve(flags, files):
    if files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files // 2, files))
    settings = read_settings(flags={"http.listen": "127.0.0.1:0", "milter.listen": "127.0.0.1:0", **flags})
    service = MailService(SubjectDetector(), settings=settings.detector, limits=settings.limits)
    run(settings, milter=True, http=True, announce=lambda line: print(line, flush=True), service=service)

signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # who has ended is gone at once
for line in sys.stdin:
    child = os.fork()
    if not child:
        sys.stdin.close()
        serve(*json.loads(line))
        os._exit(0)
    print(child, flush=True)
"""


@pytest.fixture(autouse=True, scope="module")
def many_files():
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if now < 4000:
        if most != resource.RLIM_INFINITY and most < 4000:
            pytest.skip("needs 4,000 open files")
        resource.setrlimit(resource.RLIMIT_NOFILE, (4000, most))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (now, most))


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A function that starts milter and HTTP service, with a token, in a process of their own: their ports."""
    token = tmp_path_factory.mktemp("service") / "token"
    token.write_text("secret\n")
    forking = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, os.path.dirname(__file__)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip

    @contextlib.contextmanager
    def start(files=0, **flags):
        flags = {"http.token_file": str(token), **{k.replace("__", "."): v for k, v in flags.items()}}
        forking.stdin.write(json.dumps([flags, files]) + "\n")
        forking.stdin.flush()
        pid, *ports = sorted((forking.stdout.readline().strip() for _ in range(3)), key=lambda line: not line.isdigit())
        try:
            yield tuple(int(line.rsplit(":", 1)[1]) for line in sorted(ports, key=lambda line: "milter" not in line))
            os.kill(int(pid), 0)  # it is still there
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)

    try:
        yield start
    finally:
        forking.kill()
        forking.communicate()


@pytest.fixture(scope="module")
def ports(program):
    """Of milter and HTTP service."""
    with program() as found:
        yield found


@pytest.fixture(scope="module")
def ports_of_few_files(program):
    """The same, and few files may be open."""
    with program(files=512) as found:
        yield found


class Crowd:
    """Connections that stay open; several loopback addresses stand for several machines."""

    def __init__(self, port, addresses=("127.0.0.1",)):
        self.port, self.addresses, self.sockets = port, addresses, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for one in self.sockets:
            one.close()

    def add(self, n, data=b""):
        for k in range(n):
            one = socket.socket()
            one.setblocking(False)
            one.bind((self.addresses[k % len(self.addresses)], 0))
            one.connect_ex(("127.0.0.1", self.port))
            self.sockets.append(one)
        if data:
            self.send(data)

    def send(self, data):
        for one in self.sockets:
            with contextlib.suppress(OSError):
                one.send(data)

    def n_open(self):
        """How many the server has not closed."""
        poll = select.poll()
        for one in self.sockets:
            poll.register(one, select.POLLIN | select.POLLHUP | select.POLLERR)
        return len(self.sockets) - len(poll.poll(0))


def ask(port, connection=None, path="/assign"):
    """Status, and the seconds that the answer took."""
    begun = time.monotonic()
    made = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        made.request("POST", path, simple_message(), {"Content-Type": "message/rfc822", **TOKEN})
        answer = made.getresponse()
        answer.read()
        return answer.status, time.monotonic() - begun
    except OSError as error:
        return type(error).__name__, time.monotonic() - begun
    finally:
        if connection is None:
            made.close()


def is_answered_in_time(port, n=10):
    """Ask so many times. Each answer is due within a second; on a busy machine each has three chances."""
    for _ in range(n):
        tries = []
        while not tries or (tries[-1][1] >= 1 and tries[-1][0] == 200 and len(tries) < 3):
            tries.append(ask(port))
        assert tries[-1][0] == 200, tries
        assert tries[-1][1] < 1, tries
    return True


CROWDS = {
    "silent": b"",
    "half a head": b"POST /assign HTTP/1.1\r\nHost: x\r\nX-A: ",
    "no token": b"POST /assign HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf",
    "answered, then silent": b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n",
    "answered, without their body": b"POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n",
}


@pytest.mark.parametrize("name", CROWDS)
def test_a_thousand_connections_without_a_token(ports, name):
    port = ports[1]
    with Crowd(port) as crowd:
        crowd.add(1000, CROWDS[name])
        assert is_answered_in_time(port, 3)
        crowd.send(b"x")
        assert is_answered_in_time(port, 3)


def test_new_connections_again_and_again(ports):
    """Four hundred every second, and the client's connection of before is still there."""
    port = ports[1]
    with Crowd(port) as crowd:
        kept = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        assert ask(port, kept)[0] == 200
        local = kept.sock.getsockname()
        for _ in range(2):
            crowd.add(400)
            until = time.monotonic() + 1
            while time.monotonic() < until:
                assert is_answered_in_time(port, 1)
                time.sleep(0.1)
        assert ask(port, kept)[0] == 200
        assert kept.sock.getsockname() == local
        kept.close()


def test_many_addresses(program):
    addresses = [f"127.0.1.{k}" for k in range(1, 251)]
    with program(limits__connections=50) as (_, port), Crowd(port, addresses) as crowd:
        crowd.add(400)
        assert is_answered_in_time(port, 5)
        wait_until(lambda: crowd.n_open() <= 200)  # the oldest are gone
        assert crowd.n_open() > 100
        one = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        one.connect()
        with Crowd(port, ["127.0.2.1"]) as single:  # drives out nobody but itself
            single.add(300)
            wait_until(lambda: single.n_open() <= 50)
            assert ask(port, one)[0] == 200
        one.close()


def test_few_files_that_may_be_open(ports_of_few_files):
    port = ports_of_few_files[1]
    with Crowd(port) as crowd:
        for _ in range(3):
            crowd.add(400)
            assert is_answered_in_time(port, 3)


@pytest.mark.long
def test_a_milter_among_a_thousand_connections(ports_of_few_files):
    port, http_port = ports_of_few_files
    with Crowd(port) as crowd, MilterClient(port) as before:
        for _ in range(3):
            crowd.add(1000)
            with MilterClient(port) as new:
                assert new.message(simple_message()).added  # they are looked at
                assert before.message(simple_message()).added
            assert is_answered_in_time(http_port, 2)
