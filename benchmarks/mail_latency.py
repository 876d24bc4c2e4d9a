"""How long mail waits for the milter: the time from the end of a message to its verdict, at a steady rate.

    python benchmarks/mail_latency.py                               # generated mail, 200 messages per second
    python benchmarks/mail_latency.py --mail spam.tar.xz --rate 400

`accord mail milter` runs as a program of its own, writes its state every 5 seconds (`--checkpoint`), and has its window
filled first. Then a scripted mail server sends messages at random times (exponentially distributed) over several
connections, and measures. A message that is late because this program is, is sent when it can be, and not counted as
waiting. Long runs (``--seconds 3600``) also show whether messages are lost and whether the program's memory grows.
"""

from __future__ import annotations

import argparse
import itertools
import os
import queue
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

MOST_DIFFERENT = 50_000
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "integration"))

from mail_helpers import MilterClient, packet  # noqa: E402
from postfix_helpers import free_port  # noqa: E402

COMMAND = [sys.executable, "-c", "from accord.cli import main; main(prog_name='accord')"]


def load(path: str | None, n_messages: int) -> list[bytes]:
    """Messages of a file or folder, repeated if they are too few; generated ones by default."""
    if path is None:
        from accord.mail.generator import MailGenerator

        return [mail.raw for mail in MailGenerator(random_state=0).stream(n_messages)]
    from accord.mail.sources import iter_mail

    found = [raw for _, raw in itertools.islice(iter_mail(path), n_messages)]
    random.Random(0).shuffle(found)
    return list(itertools.islice(itertools.cycle(found), n_messages))


def encoded(raw: bytes) -> bytes:
    """All packets of a message but the last, as Postfix sends them when it need not wait for answers."""
    head, _, body = raw.replace(b"\r\n", b"\n").partition(b"\n\n")
    out = [packet(b"D", b"M"), packet(b"M", b"<a@example.net>\0")]
    for line in head.replace(b"\0", b"").replace(b"\n ", b"\1 ").replace(b"\n\t", b"\1\t").split(b"\n"):
        name, _, value = line.replace(b"\1", b"\n").partition(b":")
        out.append(packet(b"L", name + b"\0" + value + b"\0"))
    out.append(packet(b"N"))
    body = body.replace(b"\n", b"\r\n")
    out += [packet(b"B", body[k : k + 65535]) for k in range(0, len(body), 65535)]
    return b"".join(out)


class Senders:
    """Connections that wait for messages to send."""

    def __init__(self, port: int | str, n: int) -> None:
        self.jobs: queue.Queue[bytes | None] = queue.Queue()
        self.times: list[float] = []
        self.untagged: list[float] = []  # when; lists are appended to by several threads without losing anything
        self.threads = [threading.Thread(target=self._work, args=(port,), daemon=True) for _ in range(n)]
        for thread in self.threads:
            thread.start()

    def _work(self, port: int | str) -> None:
        with MilterClient(port) as client:
            while (stream := self.jobs.get()) is not None:
                client.send(stream)
                began = time.perf_counter()
                client.send(packet(b"E"))
                reply = client.reply()
                self.times.append(time.perf_counter() - began)
                if not reply.added:
                    self.untagged.append(time.time())

    def close(self) -> None:
        for _ in self.threads:
            self.jobs.put(None)
        for thread in self.threads:
            thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=float, default=200.0, help="messages per second")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--window", type=int, default=5000)
    parser.add_argument("--processes", type=int, default=1, help="of the milter")
    parser.add_argument("--checkpoint", type=float, default=5.0, help="seconds between states that are written")
    parser.add_argument("--unix", action="store_true", help="reach the milter by a Unix socket instead of TCP")
    parser.add_argument("--connections", type=int, default=20)
    parser.add_argument("--mail", help="mbox, folder or archive of messages; default: generated mail")
    parser.add_argument("--precedence", action="store_true", help="run before all other programs (Linux, root)")
    options = parser.parse_args()
    if options.precedence:  # a busy machine is then like an idle one; children inherit it
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(5))
    n_measured = int(options.rate * options.seconds)
    # so many different ones, again and again if the run is long
    different = [encoded(raw) for raw in load(options.mail, min(options.window + n_measured, MOST_DIFFERENT))]
    streams = list(itertools.islice(itertools.cycle(different), options.window + n_measured))
    with tempfile.TemporaryDirectory() as folder:
        port: int | str = os.path.join(folder, "socket") if options.unix else free_port()
        state = os.path.join(folder, "state")
        address = f"unix:{port}" if options.unix else f"127.0.0.1:{port}"
        flags = ["--listen", address, "--window", str(options.window), "--seconds", "30", "--state", state,
                 "--checkpoint-seconds", str(options.checkpoint), "--processes", str(options.processes)]  # fmt: skip
        program = subprocess.Popen([*COMMAND, "mail", "milter", *flags], stderr=subprocess.PIPE, text=True)
        try:
            if not any("milter on" in line for line in program.stderr):  # others may tell that kernels are compiled
                raise SystemExit("the milter did not start")
            began = time.perf_counter()
            filler = Senders(port, 4)
            for stream in streams[: options.window]:
                filler.jobs.put(stream)
            filler.close()
            filling = options.window / (time.perf_counter() - began)
            print(f"filling the window of {options.window:,}: {filling:,.0f} messages per second over 4 connections")
            measured, began, used = Senders(port, options.connections), time.perf_counter(), seconds_used(program.pid)
            n_parts = max(4, round(options.seconds / 60))  # quarters, or minutes of a longer run
            for part in range(n_parts):
                done = len(measured.times)
                send_steadily(measured, streams[options.window + part :: n_parts], options.rate)
                tell(program.pid, time.perf_counter() - began, measured, done)
            measured.close()
            took = seconds_used(program.pid) - used
            report(measured, n_measured, options, state)
            print(f"processor time of the program: {1e3 * took / n_measured:.2f} ms per message")
        finally:
            program.terminate()
            program.wait()


def send_steadily(senders: Senders, streams: list[bytes], rate: float) -> None:
    rng = random.Random(1)
    due = time.perf_counter()
    for stream in streams:
        due += rng.expovariate(rate)
        time.sleep(max(0.0, due - time.perf_counter()))
        senders.jobs.put(stream)


def family(process: int) -> list[int]:
    """A process and its children (Linux)."""
    return [process, *map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split())]


def resident(process: int) -> float:
    """Megabytes that a process has in memory (Linux)."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def seconds_used(program: int) -> float:
    """Processor time of a program and its children (Linux)."""
    fields = [Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split() for one in family(program)]
    return sum(int(one[11]) + int(one[12]) for one in fields) / os.sysconf("SC_CLK_TCK")


def tell(program: int, seconds: float, senders: Senders, done: int) -> None:
    """A line about the messages that were answered since, so that a run that is broken off is not lost."""
    times = sorted(senders.times[done:]) or [0.0]
    p50, p99 = (1e3 * times[int(len(times) * q)] for q in (0.5, 0.99))
    memory = " + ".join(f"{resident(one):.0f}" for one in family(program))
    print(
        f"{seconds:.0f} s: {len(senders.times):,} answered, {len(senders.untagged)} untagged, "
        f"{senders.jobs.qsize()} not sent yet; p50 {p50:.2f} ms, p99 {p99:.2f} ms; "
        f"memory {memory} MB; load {os.getloadavg()[0]:.1f}",
        flush=True,
    )


def report(senders: Senders, n_sent: int, options: argparse.Namespace, state: str) -> None:
    times = sorted(1e3 * seconds for seconds in senders.times)
    n = len(times)
    quantiles = {name: times[min(n - 1, int(n * q))] for name, q in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99))}
    shown = ", ".join(f"{name} {value:.2f} ms" for name, value in quantiles.items())
    print(
        f"{n:,} messages at {options.rate:g}/s over {options.connections} connections, "
        f"{len(senders.untagged)} untagged, {n_sent - n:,} without a verdict"
    )
    print(f"end of message to verdict: {shown}, largest {times[-1]:.2f} ms")
    print(f"state: {os.path.getsize(state) / 1e6:.1f} MB; load of the machine: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
