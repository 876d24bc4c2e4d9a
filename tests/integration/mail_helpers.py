"""What tests of the mail services share: a stand-in detector, servers in threads, and a mail server's side of the
milter protocol, written from its description and importing nothing from Accord."""

import asyncio
import contextlib
import hashlib
import json
import socket
import struct
import threading
import time
from pathlib import Path
from typing import NamedTuple

OFFER = (6, 0x1FF, 0x1FFFFF)  # version, actions and steps that Postfix offers


# -- the milter protocol --------------------------------------------------------------------------------------------
def packet(kind: bytes, data: bytes = b"") -> bytes:
    return struct.pack(">I", len(data) + 1) + kind + data


class Reply(NamedTuple):
    """What a milter wants done with a message."""

    added: list
    deleted: list
    verdict: bytes


class MilterClient:
    """A mail server's side of a connection."""

    def __init__(self, port, offer=OFFER, address="192.0.2.7", negotiate=True):
        if isinstance(port, str):  # the path of a Unix socket
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(20)
            self.socket.connect(port)
        else:
            self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.steps = 0
        if negotiate:
            self.send(packet(b"O", struct.pack(">III", *offer)))
            kind, data = self.read()
            assert kind == b"O"
            self.version, self.actions, self.steps = struct.unpack(">III", data)
            assert self.steps & ~offer[2] == 0
            assert self.actions & ~offer[1] == 0
            self.connect(address)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def read_bytes(self, n):
        out = b""
        while len(out) < n:
            piece = self.socket.recv(n - len(out))
            if not piece:
                raise EOFError
            out += piece
        return out

    def read(self):
        (length,) = struct.unpack(">I", self.read_bytes(4))
        data = self.read_bytes(length)
        return data[:1], data[1:]

    def is_closed(self):
        """Whether the other side hangs up."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def connect(self, address):
        family = b"U" if not address else b"L" if address.startswith("/") else b"6" if ":" in address else b"4"
        text = f"IPv6:{address}" if family == b"6" else address
        data = b"host\0" + family + (b"" if family == b"U" else struct.pack(">H", 1234) + text.encode() + b"\0")
        self.command(b"C", data, 0x1000)

    def command(self, kind, data, unanswered_bit, unwanted_bit=0):
        if self.steps & unwanted_bit:
            return
        self.send(packet(kind, data))
        if not self.steps & unanswered_bit:
            assert self.read() == (b"c", b"")

    def message(self, raw, sender="a@example.org", login="", end=True):
        """Send a message as Postfix does; what comes back. Without `end`, the last command is left to the caller."""
        head, _, body = raw.replace(b"\r\n", b"\n").partition(b"\n\n")
        if login:
            self.send(packet(b"D", b"Mi\x001234\0{auth_authen}\0" + login.encode() + b"\0"))
        self.command(b"M", f"<{sender}>\0SIZE=1\0".encode(), 0x4000)
        self.command(b"R", b"<b@example.com>\0", 0x8000, 0x08)
        self.command(b"T", b"", 0x10000, 0x200)
        for line in head.replace(b"\n ", b"\0 ").split(b"\n"):
            name, _, value = line.replace(b"\0 ", b"\n ").partition(b":")
            value = value if self.steps & 0x100000 else value.lstrip(b" ")
            self.command(b"L", name + b"\0" + value + b"\0", 0x80)
        self.command(b"N", b"", 0x40000)
        body = body.replace(b"\n", b"\r\n")
        for start in range(0, len(body), 65535):
            self.command(b"B", body[start : start + 65535], 0x80000, 0x10)
        if not end:
            return None
        self.send(packet(b"E"))
        return self.reply()

    def reply(self):
        added, deleted = [], []
        while True:
            kind, data = self.read()
            if kind == b"h":
                name, value = data[:-1].decode().split("\0")
                assert value.startswith(" ") == bool(self.steps & 0x100000)
                added.append((name, value.lstrip(" ")))
            elif kind == b"m":
                name, value = data[4:-1].split(b"\0")
                assert value == b""
                deleted.append((name.decode().lower(), struct.unpack(">I", data[:4])[0]))
            else:
                return Reply(added, deleted, kind)


# Each closes its connection.
MALFORMED = {
    "no length": b"\0\0\0\0",
    "endless": struct.pack(">I", 0xFFFFFFFF) + b"L",
    "HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "unknown command": packet(b"?"),
    "short offer": packet(b"O", b"\0\0"),
    "ancient": packet(b"O", struct.pack(">III", 1, 0, 0)),
    "header without end": packet(b"L", b"name"),
    "header of three": packet(b"L", b"a\0b\0c\0"),
    "no sender": packet(b"M", b""),
    "no family": packet(b"C", b"host\0"),
    "no host": packet(b"C", b"host"),
    "no address": packet(b"C", b"host\x004"),
    "odd macros": packet(b"D", b"Mname\0"),
    "empty macros": packet(b"D"),
}


# -- a stand-in for the detector ------------------------------------------------------------------------------------
class Found(NamedTuple):
    batch: str
    size: int
    similarity: float
    is_new: bool
    short: bool


class SubjectDetector:
    """Messages with the same subject are a batch. Subjects also make it slow, wait until ``go`` is set, or fail."""

    def __init__(self):
        self.go = threading.Event()
        self.sizes = {}
        self.seen = []
        self.window = []
        self.saves = 0

    def _batch(self, raw):
        lines = raw.replace(b"\r\n", b"\n").split(b"\n")
        subject = next((line[8:].strip() for line in lines if line.lower().startswith(b"subject:")), b"")
        if subject == b"fail":
            raise RuntimeError("a mistake of the detector")
        if subject.startswith(b"sleep"):
            time.sleep(float(subject[5:]))
        if subject == b"wait":
            assert self.go.wait(20)
        return hashlib.sha1(subject).hexdigest()[:8]

    def assign_detailed(self, raw, received=None):
        batch = self._batch(raw)
        self.seen.append(raw)
        self.sizes[batch] = self.sizes.get(batch, 0) + 1
        return Found(batch, self.sizes[batch], 1.0, self.sizes[batch] == 1, False)

    def explain(self, raw):
        return {"batch": self._batch(raw), "reasons": []}

    def save(self, path):
        self.saves += 1
        Path(path).write_text(json.dumps(self.sizes))

    def __len__(self):
        return len(self.seen)

    @property
    def n_batches(self):
        return len(self.sizes)


def simple_message(subject="hello", body="text", extra=""):
    return f"From: a@example.org\r\nSubject: {subject}\r\n{extra}\r\n{body}\r\n".encode()


# -- servers --------------------------------------------------------------------------------------------------------
@contextlib.contextmanager
def milter_in_thread(service, settings):
    """A milter on a free port; the server object with its address."""
    from accord.mail.milter import MilterServer

    ready, box = threading.Event(), {}

    async def main():
        server = MilterServer(service, settings)
        await server.start()
        box.update(server=server, loop=asyncio.get_running_loop(), stop=asyncio.Event())
        ready.set()
        await box["stop"].wait()
        await server.close(2.0)

    service.start()
    thread = threading.Thread(target=asyncio.run, args=(main(),), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield box["server"]
    finally:
        box["loop"].call_soon_threadsafe(box["stop"].set)
        thread.join(10)
        service.stop()


def wait_until(condition, seconds=10.0):
    """Wait until a condition holds; an assertion fails if it does not."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)
