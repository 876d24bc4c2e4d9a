"""Three ways to be a milter, doing the same: collect a message, and add one header.

``accord`` is `accord.mail.milter` (asyncio, with its queue and thread), ``pymilter`` the binding to libmilter,
``kilter`` the package kilter.service. Those that are not installed are left out:

    pip install kilter.service==0.3.1 pymilter==1.0.5       # pymilter needs libmilter-dev and a C compiler
    python benchmarks/mail_milters.py --messages 2000

Each runs in a process of its own. A scripted mail server sends messages of 4 kB, with 16 headers, as fast as it can,
over 1 and 8 Unix connections (messages per second; median and 99th percentile of the time from the end of a message to
its verdict). Then, where it can be started, a real Postfix sends over one connection, reaching the milter by TCP and by
a Unix socket. Last, malformed packets: after which it must still answer.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "integration"))

from mail_helpers import MALFORMED, MilterClient, packet  # noqa: E402

NEEDS = {"accord": "accord", "pymilter": "Milter", "kilter": "kilter"}
HEADERS = "".join(f"X-Header-{k}: {'value ' * 8}\r\n" for k in range(14))
MESSAGE = f"From: a@example.net\r\nSubject: measured\r\n{HEADERS}\r\n{'words of a message ' * 170}\r\n".encode()


# -- servers --------------------------------------------------------------------------------------------------------
def serve_accord(address: str) -> None:
    from types import SimpleNamespace

    from accord.mail.config import read_settings
    from accord.mail.service import MailService
    from accord.mail.service_run import run

    class Nothing:
        n_batches = 0

        def assign_detailed(self, raw, received=None):
            return SimpleNamespace(batch="b1", size=len(raw), similarity=0.0, is_new=False, short=False)

        def __len__(self):
            return 0

    settings = read_settings(flags={"milter.listen": address, "milter.tag_local": True})
    run(settings, milter=True, service=MailService(Nothing()))


def serve_pymilter(address: str) -> None:
    import Milter

    class Adding(Milter.Base):
        @Milter.noreply
        def connect(self, *_):
            return Milter.CONTINUE

        @Milter.noreply
        def envfrom(self, *_):
            self.pieces = []
            return Milter.CONTINUE

        @Milter.noreply
        @Milter.decode("bytes")
        def header(self, name, value):
            self.pieces.append(name.encode() + b": " + value + b"\r\n")
            return Milter.CONTINUE

        @Milter.noreply
        def eoh(self):
            return Milter.CONTINUE

        @Milter.noreply
        def body(self, chunk):
            self.pieces.append(chunk)
            return Milter.CONTINUE

        def eom(self):
            self.addheader("X-Accord-Batch-Size", str(len(b"".join(self.pieces))))
            return Milter.ACCEPT

    Milter.factory = Adding
    Milter.set_flags(Milter.ADDHDRS)
    host, _, port = address.rpartition(":")
    Milter.runmilter("benchmark", address if host == "unix" else f"inet:{port}@{host}", timeout=240)


def serve_kilter(address: str) -> None:
    import anyio
    from kilter.protocol import Accept, Header
    from kilter.service import END, Runner, Session
    from kilter.service.options import NEVER, examine_body, examine_headers, examine_sender

    @examine_sender(can_respond=False)
    @examine_headers(can_respond=NEVER, can_add=True)
    @examine_body(can_respond=NEVER)
    async def adding(session: Session):
        size = 0
        async with session.headers as headers:
            async for header in headers:
                size += len(header.name) + len(header.value)
        async with session.body as body:
            async for chunk in body:
                size += len(chunk)
        await session.headers.insert(Header("X-Accord-Batch-Size", b"%d" % size), END)
        return Accept()

    async def main():
        host, _, port = address.rpartition(":")
        if host == "unix":
            listener = await anyio.create_unix_listener(port)
        else:
            listener = await anyio.create_tcp_listener(local_host=host, local_port=int(port))
        await listener.serve(Runner(adding))

    anyio.run(main)


SERVERS = {"accord": serve_accord, "pymilter": serve_pymilter, "kilter": serve_kilter}


# -- measuring ------------------------------------------------------------------------------------------------------
def stream(n_connections: int, n_messages: int, where: int | str) -> tuple[float, list[float]]:
    """Messages per second, and the seconds from each message's end to its verdict."""
    times: list[float] = []
    failures: list[Exception] = []

    def work() -> None:
        try:
            with MilterClient(where) as client:
                for _ in range(n_messages // n_connections):
                    times.append(timed_message(client))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(n_connections)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return len(times) / (time.perf_counter() - began), sorted(times)


def timed_message(client: MilterClient) -> float:
    client.message(MESSAGE, end=False)
    began = time.perf_counter()
    client.send(packet(b"E"))
    reply = client.reply()
    if not any(name == "X-Accord-Batch-Size" for name, _ in reply.added):
        raise RuntimeError(f"no header was added: {reply}")
    took = time.perf_counter() - began
    client.send(packet(b"A"))  # as Postfix does between messages
    return took


def survives(where: int | str) -> str:
    """How many kinds of malformed input it answers by closing the connection, and whether it serves afterwards."""
    closed = 0
    try:
        for data in MALFORMED.values():
            with MilterClient(where, negotiate=False) as client, contextlib.suppress(TimeoutError):
                client.socket.settimeout(1.0)
                client.send(data)
                closed += client.is_closed()
        timed_with_timeout(where)
    except (OSError, EOFError) as error:
        return f"{closed} of {len(MALFORMED)} closed, then it has ended ({type(error).__name__})"
    return f"{closed} of {len(MALFORMED)} closed, serves on"


def timed_with_timeout(where: int | str) -> float:
    with MilterClient(where) as client:
        client.socket.settimeout(5.0)
        return timed_message(client)


def through_postfix(address: str, n_messages: int) -> float | None:
    """Milliseconds per message through a Postfix that asks the milter at this address ("": none)."""
    import postfix_helpers

    if postfix_helpers.find_postfix() is None or os.geteuid() != 0:
        return None
    settings = postfix_helpers.SETTINGS
    asked = f"{'' if address.startswith('unix:') else 'inet:'}{address}" if address else ""
    postfix_helpers.SETTINGS = settings.replace("inet:127.0.0.1:{milter}", asked)
    try:
        with postfix_helpers.Postfix(0) as postfix:
            postfix.send([MESSAGE] * 20, connections=1)
            began = time.perf_counter()
            postfix.send([MESSAGE] * n_messages, connections=1)
            return 1000 * (time.perf_counter() - began) / n_messages
    finally:
        postfix_helpers.SETTINGS = settings


@contextlib.contextmanager
def running(name: str, address: str) -> Iterator[int | str]:
    """A server in a process of its own; what `MilterClient` needs to reach it."""
    command = [sys.executable, __file__, "--serve", name, "--address", address]
    server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    host, _, place = address.rpartition(":")
    where = place if host == "unix" else int(place)
    try:
        for _ in range(300):
            time.sleep(0.1)
            try:
                MilterClient(where).socket.close()
                break
            except (OSError, EOFError):
                continue
        if host == "unix":
            os.chmod(place, 0o666)
        yield where
    finally:
        server.kill()
        server.wait()


def measure(name: str, n_messages: int) -> list[str]:
    from postfix_helpers import free_port

    row = [name]
    with tempfile.TemporaryDirectory(prefix="accord-milter-") as folder:
        os.chmod(folder, 0o755)
        address = f"unix:{folder}/socket"
        with running(name, address) as where:
            stream(1, 100, where)
            for n_connections in (1, 8):
                rate, times = stream(n_connections, n_messages, where)
                middle, most = 1e3 * times[len(times) // 2], 1e3 * times[int(len(times) * 0.99)]
                row.append(f"{rate:,.0f}/s, {middle:.2f} / {most:.2f} ms")
            by_unix = through_postfix(address, 200)
            behaviour = survives(where)
    address = f"127.0.0.1:{free_port()}"
    with running(name, address):
        by_tcp = through_postfix(address, 200)
    row += ["-" if took is None else f"{took:.1f} ms" for took in (by_tcp, by_unix)]
    return [*row, behaviour]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=2000)
    parser.add_argument("--only", choices=SERVERS)
    parser.add_argument("--serve", choices=SERVERS)
    parser.add_argument("--address", default="")
    parser.add_argument("--precedence", action="store_true", help="run before all other programs (Linux, root)")
    options = parser.parse_args()
    if options.precedence and not options.serve:  # a busy machine is then like an idle one; children inherit it
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(5))
    if options.serve:
        SERVERS[options.serve](options.address)
        return
    print(
        "| milter | 1 connection: rate, p50 / p99 | 8 connections | Postfix, TCP | Postfix, Unix | malformed packets |"
    )
    print("|---|---|---|---|---|---|")
    for name, module in NEEDS.items():
        if options.only not in (None, name):
            continue
        if importlib.util.find_spec(module) is None:
            print(f"| {name} | not installed | | | | |")
        else:
            print(f"| {' | '.join(measure(name, options.messages))} |", flush=True)
    took = through_postfix("", 200)
    print(f"| no milter | | | {'-' if took is None else f'{took:.1f} ms'} | | |")


if __name__ == "__main__":
    main()
