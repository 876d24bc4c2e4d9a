"""The HTTP service, over loopback by a real server in a process of its own loop: answers, refusals, and no 500."""

import asyncio
import contextlib
import http.client
import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from mail_helpers import SubjectDetector, simple_message, wait_until

pytest.importorskip("fastapi", reason="needs accord-ml[mail]")
pytest.importorskip("uvicorn", reason="needs accord-ml[mail]")
pytest.importorskip("prometheus_client", reason="needs accord-ml[mail]")
pytest.importorskip("python_multipart", reason="needs accord-ml[mail]")

from accord.exceptions import AccordError, InputError
from accord.mail import http_connections, http_service
from accord.mail.config import read_settings
from accord.mail.detector import BatchDetector
from accord.mail.http_connections import http_server
from accord.mail.http_service import create_app
from accord.mail.message import MAX_BYTES
from accord.mail.service import MailService, plain
from accord.mail.service_run import run

LIMIT = 50_000


@contextlib.contextmanager
def serving(detector=None, **flags):
    """A server on a free port, in a thread."""
    flags = {"limits.message_bytes": LIMIT, **{key.replace("__", "."): value for key, value in flags.items()}}
    settings = read_settings(flags=flags)
    service = MailService(SubjectDetector() if detector is None else detector, None, settings.detector, settings.limits)
    server = http_server(create_app(service, settings), service.counters, settings.limits, port=0)
    service.start()
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_until(lambda: server.started)
    try:
        yield Client(server.servers[0].sockets[0].getsockname()[1], service)
    finally:
        server.should_exit = True
        thread.join(10)
        service.stop()


class Client:
    def __init__(self, port, service):
        self.port, self.service = port, service

    def ask(self, method, path, body=None, kind="message/rfc822", **headers):
        """Status, decoded answer and headers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, ({"Content-Type": kind} if body is not None else {}) | named)
            answer = connection.getresponse()
            text = answer.read().decode()
            is_json = answer.headers.get_content_type() == "application/json"
            return answer.status, json.loads(text) if is_json else text, answer.headers
        finally:
            connection.close()

    def raw(self, data):
        """What comes back when arbitrary bytes are sent."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            out = b""
            with contextlib.suppress(ConnectionResetError):
                while piece := connection.recv(65536):
                    out += piece
            return out

    def works(self):
        return self.ask("POST", "/assign", simple_message())[0] == 200


@pytest.fixture(scope="module")
def client():
    with serving() as made:
        yield made


def form(*messages, boundary="xyz"):
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="message"; filename="m{k}.eml"\r\n'
        "Content-Type: message/rfc822\r\n\r\n".encode()
        + raw
        + b"\r\n"
        for k, raw in enumerate(messages)
    ]
    return b"".join(parts) + f"--{boundary}--\r\n".encode()


def test_assign(client):
    raw = simple_message("assign")
    status, first, _ = client.ask("POST", "/assign", raw)
    assert status == 200
    assert set(first) == {"batch", "size", "similarity", "is_new", "short", "score"}
    assert (first["size"], first["is_new"], first["score"]) == (1, True, None)
    _, second, _ = client.ask("POST", "/assign", raw, "application/octet-stream")
    assert (second["batch"], second["size"], second["is_new"]) == (first["batch"], 2, False)
    assert client.service.detector.seen[-1] == raw


def test_assign_a_form_of_several(client):
    messages = [simple_message("form"), simple_message("form", "a\r\n--xy\r\nb"), simple_message("other")]
    status, answer, _ = client.ask("POST", "/assign", form(*messages), "multipart/form-data; boundary=xyz")
    assert status == 200
    assert [result["size"] for result in answer["results"]] == [1, 2, 1]
    assert client.service.detector.seen[-3:] == messages  # byte by byte


def test_explain_changes_nothing(client):
    before, outcomes = len(client.service.detector), dict(client.service.counters.outcomes)
    status, answer, _ = client.ask("POST", "/explain", simple_message("assign"))
    assert status == 200
    assert answer["reasons"] == []
    assert client.ask("POST", "/explain", simple_message("fail"))[0] == 503
    assert len(client.service.detector) == before
    assert client.service.counters.outcomes == outcomes


def test_health_and_metrics(client):
    assert client.works()
    status, health, _ = client.ask("GET", "/health")
    assert (status, health["status"]) == (200, "ok")
    status, text, headers = client.ask("GET", "/metrics")
    assert status == 200
    assert headers["Content-Type"].startswith("text/plain")
    figures = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert float(figures['accord_mail_messages_total{outcome="assigned"}']) >= 1
    assert float(figures["accord_mail_window_messages"]) == len(client.service.detector)
    assert float(figures["accord_mail_answer_seconds_count"]) == sum(client.service.counters.buckets)
    assert figures['accord_mail_answer_seconds_bucket{le="+Inf"}'] == figures["accord_mail_answer_seconds_count"]


@pytest.mark.parametrize("path", ["/assign", "/explain"])
@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"", "message/rfc822", 400),
        (b"{}", "application/json", 415),
        (b"a=b", "application/x-www-form-urlencoded", 415),
        (form(b"x" * LIMIT), "multipart/form-data; boundary=xyz", 413),
        (form(b""), "multipart/form-data; boundary=xyz", 400),
        (form(), "multipart/form-data; boundary=xyz", 400),
        (form(b"x"), "multipart/form-data", 400),
        (form(b"x"), "multipart/form-data; boundary=other", 400),
        (b"rubbish", "multipart/form-data; boundary=xyz", 400),
        (b"--xyz\r\nrubbish\r\n\r\nx\r\n--xyz--", "multipart/form-data; boundary=xyz", 400),
        (form(*[b"x"] * 101), "multipart/form-data; boundary=xyz", 400),
    ],
)
def test_refusals(client, path, body, kind, status):
    before = len(client.service.detector)
    found, answer, _ = client.ask("POST", path, body, kind)
    assert found == status
    assert isinstance(answer["detail"], str)
    assert len(client.service.detector) == before
    assert client.works()


def test_dashboard():
    """Batches, rates and a template without what is private, for those who bear the token."""
    offer = (
        b"From: %s@x.example\nSubject: Offer for %s\n\nDear %s, <b>buy</b> our fine watches at http://x.example/%d now"
    )
    with serving(BatchDetector(window=50)) as client:
        assert "No batch of two or more" in client.ask("GET", "/dashboard")[1]
        for k, name in enumerate((b"Ann", b"Bob", b"Eve")):
            client.ask("POST", "/assign", offer % (name, name, name, k))
        status, page, headers = client.ask("GET", "/dashboard")
    assert (status, headers.get_content_type()) == (200, "text/html")
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "3 messages in the window, 1 batches" in page
    assert "Offer for …" in page
    assert "&lt;b&gt;buy&lt;/b&gt; our fine watches at … now" in page
    assert not any(word in page for word in ("Ann", "Bob", "Eve", "http://", "x.example", "<b>buy"))


def test_large_messages_are_judged_by_their_beginning(client):
    raw = simple_message("padded")
    _, small, _ = client.ask("POST", "/assign", raw)
    status, large, _ = client.ask("POST", "/assign", raw + b"x" * 3_000_000)
    assert (status, large["batch"]) == (200, small["batch"])
    assert client.service.detector.seen[-1] == raw + b"x" * (MAX_BYTES - len(raw))


def test_a_form_that_hides_its_size_is_cut(client):
    """Chunked, so that no length is announced, and endless."""
    with socket.create_connection(("127.0.0.1", client.port), timeout=20) as connection:
        kind = b"Content-Type: multipart/form-data; boundary=x\r\n"
        connection.sendall(b"POST /assign HTTP/1.1\r\nHost: x\r\n" + kind + b"Transfer-Encoding: chunked\r\n\r\n")
        sent = 0
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            while sent < 100 * LIMIT:
                connection.sendall(b"2710\r\n" + b"x" * 10_000 + b"\r\n")
                sent += 10_000
                if select.select([connection], [], [], 0.01)[0]:
                    break
        assert connection.recv(100).startswith(b"HTTP/1.1 413")
    assert sent < 100 * LIMIT
    assert client.works()


def test_a_body_that_never_ends_is_given_up(client, monkeypatch):
    monkeypatch.setattr(http_service, "_SLOWEST_UPLOAD", 0.2)
    with socket.create_connection(("127.0.0.1", client.port), timeout=20) as connection:
        connection.sendall(b"POST /assign HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nFrom: a")
        assert connection.recv(100).startswith(b"HTTP/1.1 408")
    assert client.works()


def is_closed(connection, seconds=5.0):
    """Whether the server ends the connection, whatever it sends before."""
    connection.settimeout(seconds)
    try:
        while connection.recv(65536):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


def test_silent_connections_do_not_keep_others_out(monkeypatch):
    monkeypatch.setattr(http_connections, "_SLOWEST_HEAD", 0.5)
    with serving(limits__connections=5) as client, contextlib.ExitStack() as stack:
        silent = [stack.enter_context(socket.create_connection(("127.0.0.1", client.port))) for _ in range(10)]
        assert client.works()
        assert all(map(is_closed, silent))


def test_only_requests_with_a_token_are_counted(tmp_path):
    (tmp_path / "token").write_text("secret")
    head = b"POST /assign HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n"
    token = b"Authorization: Bearer secret\r\n"
    flags = {"limits__connections": 2, "http__token_file": str(tmp_path / "token")}
    with serving(**flags) as client, contextlib.ExitStack() as stack:

        def begin(data):
            one = stack.enter_context(socket.create_connection(("127.0.0.1", client.port), timeout=20))
            one.sendall(data)
            return one

        for _ in range(3):
            assert begin(head + b"\r\n").recv(12) == b"HTTP/1.1 401"
        slow = [begin(head + token + b"Expect: 100-continue\r\n\r\n") for _ in range(2)]
        assert all(one.recv(12) == b"HTTP/1.1 100" for one in slow)
        assert client.ask("GET", "/health")[0] == 200
        status, answer, headers = client.ask("POST", "/assign", b"x", Authorization="Bearer secret")
        assert (status, headers["Retry-After"]) == (503, "1")
        assert "2 requests are being answered" in answer["detail"]
        slow[0].sendall(b"a" * 9)
        wait_until(lambda: client.ask("POST", "/assign", b"x", Authorization="Bearer secret")[0] == 200)


POST = b"POST /assign HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
AMBIGUOUS = {
    "length and chunks": POST + b"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nX",
    "chunks and length": POST + b"transfer-encoding: chunked\r\ncontent-length: 1\r\n\r\n0\r\n\r\n",
    "two lengths": POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "the same length twice": POST + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\nab",
    "a list of lengths": POST + b"Content-Length: 2, 2\r\n\r\nab",
    "a signed length": POST + b"Content-Length: +2\r\n\r\nab",
    "a negative length": POST + b"Content-Length: -2\r\n\r\nab",
    "a length in hexadecimal": POST + b"Content-Length: 0x2\r\n\r\nab",
    "an empty length": POST + b"Content-Length:\r\n\r\nab",
    "an endless length": POST + b"Content-Length: " + b"9" * 50 + b"\r\n\r\nab",
    "space before the colon": POST + b"Content-Length : 2\r\n\r\nab",
    "a folded length": POST + b"Content-Length:\r\n 2\r\n\r\nab",
    "a folded header": POST + b"X-A: b\r\n\tContent-Length: 9\r\nContent-Length: 2\r\n\r\nab",
    "bare line feeds": POST.replace(b"\r\n", b"\n") + b"Content-Length: 2\n\nab",
    "one bare line feed": POST + b"X-A: b\nContent-Length: 2\r\n\r\nab",
    "a bare carriage return": POST + b"X-A: b\rContent-Length: 9\r\nContent-Length: 2\r\n\r\nab",
    "a zero byte": POST + b"X-A: b\0\r\nContent-Length: 2\r\n\r\nab",
    "another coding": POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "chunks twice": POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "hidden chunks": POST + b"Transfer-Encoding: xchunked\r\nContent-Length: 2\r\n\r\nab",
    "chunks of HTTP/1.0": CHUNKED.replace(b"HTTP/1.1", b"HTTP/1.0") + b"2\r\nab\r\n0\r\n\r\n",
    "a negative chunk": CHUNKED + b"-1\r\n\r\n",
    "a signed chunk": CHUNKED + b"+2\r\nab\r\n0\r\n\r\n",
    "a chunk with a prefix": CHUNKED + b"0x2\r\nab\r\n0\r\n\r\n",
    "an endless chunk": CHUNKED + b"f" * 30 + b"\r\nab\r\n0\r\n\r\n",
    "a chunk without a size": CHUNKED + b"\r\nab\r\n0\r\n\r\n",
    "a chunk of letters": CHUNKED + b"zz\r\nab\r\n0\r\n\r\n",
    "a chunk that is too long": CHUNKED + b"2\r\nabc\r\n0\r\n\r\n",
    "no host": POST.replace(b"Host: x\r\n", b"") + b"Content-Length: 2\r\n\r\nab",
    "two hosts": POST + b"Host: y\r\nContent-Length: 2\r\n\r\nab",
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_ambiguous_requests_are_refused(client, name, caplog):
    """A proxy in front could see another request; what follows is not read."""
    before, seen = client.service.counters.malformed, len(client.service.detector)
    answer = client.raw(AMBIGUOUS[name] + b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"connection: close" in answer.lower()
    assert answer.count(b"HTTP/1.1") == 1
    assert client.service.counters.malformed > before
    assert len(client.service.detector) == seen
    assert "Traceback" not in caplog.text
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_nothing_follows_chunks(client):
    tail = b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    for request, n_answers in (
        (CHUNKED + b"4\r\nabcd\r\n0\r\n\r\n", 1),
        (POST + b"Content-Length: 4\r\n\r\nabcd", 2),  # others may be followed by the next request
    ):
        with socket.create_connection(("127.0.0.1", client.port), timeout=20) as connection:
            connection.sendall(request + tail)
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        assert answer.count(b"HTTP/1.1 200") == answer.count(b"HTTP/1.1") == n_answers
        assert answer.lower().count(b"connection: close") == 1


def test_rubbish_after_an_answer_is_no_error_of_ours(client, caplog):
    """The rest of a body that was not waited for."""
    client.raw(b"POST /nothing HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
    with socket.create_connection(("127.0.0.1", client.port), timeout=20) as connection:
        connection.sendall(b"PUT /assign HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n")
        assert connection.recv(12) == b"HTTP/1.1 405"
        connection.sendall(b"ab\0\0\r\n\r\n")
        assert is_closed(connection)
    assert client.works()
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


@pytest.mark.parametrize(
    "begin",
    [
        b"",
        b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n",  # answered, and then another request begins
        b"GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n",  # answered before its body came
        b"POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n",
    ],
)
def test_requests_that_come_byte_by_byte_are_given_up(client, monkeypatch, begin):
    monkeypatch.setattr(http_connections, "_SLOWEST_HEAD", 0.5)
    with socket.create_connection(("127.0.0.1", client.port), timeout=20) as connection:
        if begin:
            connection.sendall(begin)
            assert connection.recv(1000).startswith(b"HTTP/1.1 ")
        with contextlib.suppress(OSError):
            for byte in b"GET /health HTTP/1.1\r\nX-Long: " + b"x" * 1000:
                connection.sendall(bytes([byte]))
                time.sleep(0.05)
                if select.select([connection], [], [], 0)[0] and is_closed(connection, 0.01):
                    break
            else:
                pytest.fail("the server listened to the end")
    assert client.works()


def test_answers_that_are_not_read_are_given_up(client, monkeypatch):
    monkeypatch.setattr(http_connections, "_SLOWEST_HEAD", 0.5)
    request = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", client.port))
        connection.settimeout(0.05)
        given_up = []

        def send():
            try:
                connection.sendall(request * 100)
            except TimeoutError:
                pass
            except OSError as error:
                given_up.append(error)
            return bool(given_up)

        wait_until(send)
    assert client.works()


def test_a_slow_answer_and_an_idle_client_are_not_hurried(monkeypatch):
    monkeypatch.setattr(http_connections, "_SLOWEST_HEAD", 0.3)
    with serving() as client:
        connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=20)
        for _ in range(2):
            connection.request("POST", "/assign", simple_message("sleep 0.6"), {"Content-Type": "message/rfc822"})
            answer = connection.getresponse()
            assert (answer.status, bool(answer.read())) == (200, True)
            time.sleep(0.6)
            assert connection.sock is not None  # the same connection is used again
        connection.close()


def test_other_paths_and_methods(client):
    assert client.ask("GET", "/nothing")[0] == 404
    assert client.ask("GET", "/assign")[0] == 405
    assert client.ask("POST", "/health", b"x")[0] == 405


def test_rubbish_on_the_socket(client):
    rng = random.Random(0)
    good = b"POST /assign HTTP/1.1\r\nHost: x\r\nContent-Type: message/rfc822\r\nContent-Length: 20\r\n\r\n" + b"a" * 20
    for _ in range(100):
        data = bytearray(good)
        for _ in range(rng.randint(1, 5)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        answer = client.raw(bytes(data[: rng.randrange(1, len(data))]))
        assert not answer.startswith(b"HTTP/1.1 500")
    assert client.works()


def test_a_failing_detector_is_no_500(client):
    status, answer, headers = client.ask("POST", "/assign", simple_message("fail"))
    assert (status, headers["Retry-After"]) == (503, "1")
    assert "mistake" not in answer["detail"]  # what went wrong inside is for the log
    assert client.works()


def test_a_slow_detector_and_a_full_queue():
    with serving(limits__seconds=0.3, limits__queue=1) as client:
        answers = {}

        def send(subject):
            answers[subject] = client.ask("POST", "/assign", simple_message(subject))[0]

        threads = [threading.Thread(target=send, args=(subject,)) for subject in ("sleep 0.8", "waits", "too many")]
        for thread in threads:
            thread.start()
            time.sleep(0.1)
        for thread in threads:
            thread.join()
        assert answers == {"sleep 0.8": 503, "waits": 503, "too many": 503}
        outcomes = client.service.counters.outcomes
        assert (outcomes["timeout"], outcomes["overloaded"]) == (2, 1)
        wait_until(lambda: client.service.waiting == 0)
        assert client.works()
        assert len(client.service.detector) == 2  # no work was done for "waits", for whom nobody waited any more


def test_token(tmp_path):
    token = tmp_path / "token"
    token.write_text("secret\n")
    with serving(http__token_file=str(token)) as client:
        raw = simple_message()
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "secret"}):
            status, _, answered = client.ask("POST", "/assign", raw, **headers)
            assert (status, answered["WWW-Authenticate"]) == (401, "Bearer")
        assert client.ask("POST", "/assign", raw, Authorization="Bearer secret")[0] == 200
        assert client.ask("GET", "/metrics")[0] == 401
        assert client.ask("GET", "/dashboard")[0] == 401
        # who has no token is told whether it is alive, and nothing else
        assert client.ask("GET", "/health")[:2] == (200, {"status": "ok"})
        assert client.ask("GET", "/health", Authorization="Bearer wrong")[1] == {"status": "ok"}
        assert client.ask("GET", "/health", Authorization="Bearer secret")[1] == {"status": "ok", "window": 1}
        assert len(client.service.detector) == 1


def test_other_machines_need_a_token(tmp_path):
    service = MailService(SubjectDetector())
    with pytest.raises(InputError, match="no token"):
        create_app(service, read_settings(flags={"http.listen": "0.0.0.0:8025"}))
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(InputError, match="empty"):
        create_app(service, read_settings(flags={"http.token_file": str(tmp_path / "empty")}))


@pytest.mark.parametrize("content", ["geheimé\n".encode(), b"\xff\xfe\x00", b"two\nlines\n", b"a\0b", b"tab\tin it"])
def test_tokens_that_no_request_can_bear(tmp_path, content):
    (tmp_path / "token").write_bytes(content)
    with pytest.raises(InputError, match=r"token is no token; expected one line of printable ASCII.*openssl"):
        create_app(MailService(SubjectDetector()), read_settings(flags={"http.token_file": str(tmp_path / "token")}))


def test_answers_are_plain():
    import numpy as np

    given = {"a": np.float64(1.5), "b": np.arange(2), "c": float("-inf"), 3: (1, "x")}
    assert plain(given) == {"a": 1.5, "b": [0, 1], "c": None, "3": [1, "x"]}


PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from mail_helpers import SubjectDetector
from accord.mail import http_service
from accord.mail.config import read_settings
from accord.mail.service import MailService
from accord.mail.service_run import run
anywhere = "127.0.0.1:0"
settings = read_settings(flags={"http.listen": anywhere, "milter.listen": anywhere, "detector.state": sys.argv[2]})
service = MailService(SubjectDetector(), settings=settings.detector)
run(settings, milter=True, http=True, announce=lambda line: print(line, flush=True), service=service)
print("ended", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_the_program_and_write_the_state(tmp_path, number):
    """Milter and HTTP service in one process, sharing one detector."""
    from mail_helpers import MilterClient

    state = tmp_path / "state"
    folder = os.path.dirname(__file__)
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, folder, str(state)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        milter, http_port = (int(program.stdout.readline().rsplit(":", 1)[1]) for _ in range(2))
        with MilterClient(milter) as mail_server:
            assert mail_server.message(simple_message()).added[1][1] == "1"
            status, answer, _ = Client(http_port, None).ask("POST", "/assign", simple_message())
            assert (status, answer["size"]) == (200, 2)
            assert not state.exists()
            program.send_signal(number)
            assert mail_server.is_closed()
        out, err = program.communicate(timeout=20)
        assert (program.returncode, out, err) == (0, "ended\n", "")
        assert list(json.loads(state.read_text()).values()) == [2]
    finally:
        program.kill()
        program.communicate()


@pytest.mark.parametrize("error", [None, OSError("no more")], ids=["silently", "with an error"])
def test_an_http_service_that_ends_by_itself_is_an_error(tmp_path, monkeypatch, error):
    """The milter ends as well, and the state is written: whoever started the program is to start it again."""

    async def short(_):
        await asyncio.sleep(0.1)
        if error is not None:
            raise error

    monkeypatch.setattr("uvicorn.Server.main_loop", short)
    state, anywhere, said = tmp_path / "state", "127.0.0.1:0", []
    flags = {"http.listen": anywhere, "milter.listen": anywhere, "detector.state": str(state)}
    settings = read_settings(flags=flags)
    service = MailService(SubjectDetector(), settings=settings.detector)
    service.start().assign(b"x").result(10)  # so that there is something to write
    monkeypatch.setattr(service, "start", lambda: service)
    interval = sys.getswitchinterval()
    try:
        with pytest.raises(AccordError, match="the HTTP service has ended by itself") as found:
            run(settings, milter=True, http=True, announce=said.append, service=service)
    finally:
        sys.setswitchinterval(interval)
    assert found.value.__cause__ is error
    assert state.exists()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(said[0].rsplit(":", 1)[1])), timeout=5).close()
