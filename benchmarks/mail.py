"""How fast mail is assigned to batches: raw bytes in, batch id out, with a full window of 5,000 mails.

    python benchmarks/mail.py DATA [--mails 4000] [--window 5000] [--parts throughput,windows,peers,memory,fuzz]
    python benchmarks/mail.py DATA --parts turns --other SRC

DATA is a folder with mail (archives, mbox files, folders); ``email`` of a local data folder, for example. Parts:

throughput  one process; one process that signs and one that decides (same results: signing does not need the window)
windows     time per mail against the size of the window, beside LP decoding of a window (anew for every mail)
peers       datasketch's MinHash LSH and river's TextClust on the same texts (see requirements-mail-peers.lock)
memory      resident memory while --long mails (damaged copies, so that none is the same) pass through
fuzz        --mutations damaged mails: exceptions, slowest mail
turns       this version and the one in --other, a folder ``src``: 500 mails each, by turns, in one process each

Writes results/mail.json and results/mail_windows.svg.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import platform
import random
import resource
import subprocess
import sys
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "property"))

import numpy as np
from mail_mutations import mutated

from accord.mail.detector import BatchDetector
from accord.mail.message import parse
from accord.mail.signature import sign
from accord.mail.sources import iter_mail

RESULTS = Path(__file__).parent / "results"
PARTS = ("throughput", "windows", "peers", "memory", "fuzz")
TURN = 500  # mails


def load(folder: Path) -> list[bytes]:
    """All mails of a folder in an order that mixes its archives."""
    sources = [path for path in sorted(folder.iterdir()) if path.is_dir() or path.suffix not in (".tsv", ".json")]
    mails = [raw for path in sources for _, raw in iter_mail(path)]
    random.Random(0).shuffle(mails)
    return mails


def endless(mails: list[bytes], seed: int = 1) -> Iterator[bytes]:
    """Damaged copies, for ever."""
    r = random.Random(seed)
    while True:
        yield mutated(r.choice(mails), mails, r)


def timed(work: Callable[[Any], Any], items: list[Any]) -> dict[str, float]:
    """Rates by the clock and by processor time, and quantiles of the times of single items."""
    times = np.empty(len(items))
    start, start_cpu = time.perf_counter(), time.process_time()
    for k, item in enumerate(items):
        before = time.perf_counter()
        work(item)
        times[k] = time.perf_counter() - before
    wall, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    p50, p99 = np.quantile(times, [0.5, 0.99]) * 1e3
    return {"per_second": len(items) / wall, "per_cpu_second": len(items) / cpu, "p50_ms": p50, "p99_ms": p99}


def full(mails: list[bytes], window: int) -> BatchDetector:
    """A detector whose window is full."""
    detector = BatchDetector(window=window)
    for k in range(window):
        detector.assign(mails[k % len(mails)])
    return detector


# -- throughput -------------------------------------------------------------------------------------------------------
def throughput(mails: list[bytes], options: argparse.Namespace) -> dict[str, Any]:
    later = [mails[(options.window + k) % len(mails)] for k in range(options.mails)]
    detector = full(mails, options.window)
    idf = detector.similarity.idf
    out: dict[str, Any] = {"one process": timed(detector.assign, later)}
    out["batches in the window"] = detector.n_batches
    out["of which parsing"] = timed(parse, later)
    out["of which parsing and signing"] = timed(lambda raw: sign(raw, idf), later)
    expected = [a.batch for a in map(full(mails, options.window).assign_detailed, later)]
    with multiprocessing.get_context("fork").Pool(1, _start_worker) as pool:
        detector = full(mails, options.window)
        list(pool.imap(_sign, later[:100], 32))
        start = time.perf_counter()
        found = [detector.assign(signature) for signature in pool.imap(_sign, later, 32)]
        out["two processes"] = {"per_second": len(later) / (time.perf_counter() - start)}
    out["two processes"]["same results"] = found == expected
    return out


def _start_worker() -> None:
    global _IDF
    _IDF = BatchDetector(window=1).similarity.idf


def _sign(raw: bytes) -> Any:
    return sign(raw, _IDF)


# -- versions by turns ------------------------------------------------------------------------------------------------
def turns(mails: list[bytes], options: argparse.Namespace) -> dict[str, Any]:
    """Rates by processor time; machines change their pace, so those of one turn are compared."""
    command = [sys.executable, __file__, str(options.data), "--window", str(options.window), "--answer"]
    with ExitStack() as stack:
        sides = []
        for source in (Path(__file__).parent.parent / "src", options.other):
            environment = os.environ | {"PYTHONPATH": str(source)}
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            sides.append(stack.enter_context(subprocess.Popen(command, env=environment, text=True, **pipes)))
            sides[-1].stdout.readline()
        found = np.array([[_ask(side) for side in sides] for _ in range(max(2, options.mails // TURN))])
        for side in sides:
            side.stdin.close()
    rates = found[:, :, 0]
    return {
        "per_cpu_second": {"this": np.median(rates[:, 0]), "other": np.median(rates[:, 1])},
        "best": {"this": rates[:, 0].max(), "other": rates[:, 1].max()},
        "ratio": np.median(rates[:, 0] / rates[:, 1]),
        "turns": len(rates),
        "same batches": bool((found[:, 0, 1] == found[:, 1, 1]).all()),
    }


def _ask(side: subprocess.Popen[str]) -> tuple[float, float]:
    side.stdin.write("\n")
    side.stdin.flush()
    rate, batches = side.stdout.readline().split()
    return float(rate), float(batches)


def _answer(mails: list[bytes], options: argparse.Namespace) -> None:
    """For every line that comes, decide about so many mails: how many a second, and a checksum of their batches."""
    detector, later = full(mails, options.window), itertools.cycle(mails)
    for raw in itertools.islice(later, options.window):
        detector.assign(raw)
    print("ready", flush=True)
    for _ in sys.stdin:
        some = list(itertools.islice(later, TURN))
        start = time.process_time()
        batches = [detector.assign(raw) for raw in some]
        print(TURN / (time.process_time() - start), zlib.crc32(" ".join(batches).encode()), flush=True)


# -- window sizes -----------------------------------------------------------------------------------------------------
def windows(mails: list[bytes], options: argparse.Namespace) -> dict[str, Any]:
    out: dict[str, Any] = {"sequential": {}, "lp": {}}
    signed = [sign(raw) for raw in mails[: max(options.sizes) // 4 + 300]]
    for size in options.sizes:
        detector = BatchDetector(window=size)
        for k in range(size):
            detector.assign(signed[k % (len(signed) - 300)])
        out["sequential"][size] = timed(detector.assign, signed[-300:])["p50_ms"]
        print(f"window {size}: {out['sequential'][size]:.3f} ms", flush=True)
    from accord.kernels.partitions.lp import lp
    from accord.mail.features import MailPairs

    similarity = BatchDetector().similarity
    view = MailPairs(idf=False).fit([])
    lp(np.array([1.0, -1.0, 1.0]))  # loads the solver
    for size in options.lp_sizes:
        scores = view.pairs(signed[:size]) @ similarity.weights + similarity.bias
        start = time.perf_counter()
        lp(scores)
        out["lp"][size] = (time.perf_counter() - start) * 1e3
        print(f"LP of {size}: {out['lp'][size]:.1f} ms", flush=True)
    draw(out, RESULTS / "mail_windows.svg")
    return out


def draw(times: dict[str, Any], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(5, 3.4))
    axis.loglog(*zip(*sorted(times["sequential"].items())), "o-", label="sequential, one more mail")
    axis.loglog(*zip(*sorted(times["lp"].items())), "s--", label="linear program of the window")
    axis.set(xlabel="mails in the window", ylabel="milliseconds")
    axis.grid(alpha=0.3)
    axis.legend()
    figure.tight_layout()
    figure.savefig(path)


# -- peers ------------------------------------------------------------------------------------------------------------
def peers(mails: list[bytes], options: argparse.Namespace) -> dict[str, Any]:
    """The same raw mails; the peers get our parser's text, so that only the way to find similar ones differs."""
    n = min(options.window, 2000)
    later = mails[n : n + 300]
    out: dict[str, Any] = {"window": n, "accord": timed(full(mails, n).assign, later)}
    for name, make in (("datasketch MinHashLSH", minhash_lsh), ("river TextClust", textclust)):
        try:
            assign = make(n)
        except ImportError as error:
            out[name] = f"not installed: {error}"
            continue
        for raw in mails[:n] if name.startswith("datasketch") else mails[:300]:
            assign(raw)
        out[name] = timed(assign, later)
    return out


def minhash_lsh(window: int) -> Callable[[bytes], Any]:
    """Near duplicates by word triples (Jaccard at least 0.5), 128 permutations, the oldest leaves the index."""
    from datasketch import MinHash, MinHashLSH

    index, order, count = MinHashLSH(threshold=0.5, num_perm=128), deque(), iter(range(1 << 60))

    def assign(raw: bytes) -> Any:
        words = parse(raw).text.lower().split()
        hashed = MinHash(num_perm=128)
        hashed.update_batch([b" ".join(words[i : i + 3]) for i in range(max(len(words) - 2, 1))])
        found = index.query(hashed)
        key = next(count)
        index.insert(key, hashed)
        order.append(key)
        if len(order) > window:
            index.remove(order.popleft())
        return found

    return assign


def textclust(window: int) -> Callable[[bytes], Any]:
    from river import cluster, compose, feature_extraction

    model = compose.Pipeline(feature_extraction.BagOfWords(lowercase=True), cluster.TextClust(real_time_fading=False))

    def assign(raw: bytes) -> Any:
        text = parse(raw).body
        model.learn_one(text)
        return model.predict_one(text)

    return assign


# -- long runs --------------------------------------------------------------------------------------------------------
def resident() -> float:
    """Megabytes now."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def memory(mails: list[bytes], options: argparse.Namespace) -> dict[str, Any]:
    detector = BatchDetector(window=options.window)
    stream, found = endless(mails), {}
    for k in range(options.long + 1):
        detector.assign(next(stream))
        if k % max(options.long // 10, 1) == 0:
            found[k] = round(resident(), 1)
            print(f"{k} mails: {found[k]} MB", flush=True)
    return {"megabytes after mails": found}


def fuzz(mails: list[bytes], options: argparse.Namespace) -> dict[str, Any]:
    detector, stream = BatchDetector(window=200), endless(mails, seed=7)
    slowest, failures = 0.0, []
    for _ in range(options.mutations):
        raw = next(stream)
        start = time.process_time()
        try:
            detector.assign(raw)
        except Exception as error:
            failures.append(repr(error)[:200])
        slowest = max(slowest, time.process_time() - start)
    return {"mails": options.mutations, "exceptions": len(failures), "first": failures[:3], "slowest_seconds": slowest}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="a folder with mail")
    parser.add_argument("--mails", type=int, default=4000, help="mails that are measured (default 4000)")
    parser.add_argument("--window", type=int, default=5000, help="mails in the window (default 5000)")
    parser.add_argument("--long", type=int, default=1_000_000, help="mails of the memory part (default 1000000)")
    parser.add_argument("--mutations", type=int, default=100_000, help="mails of the fuzz part (default 100000)")
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 300, 1000, 3000, 5000, 10000, 20000])
    parser.add_argument("--lp-sizes", type=int, nargs="+", default=[20, 50, 100, 200, 400])
    parser.add_argument("--parts", default=",".join(PARTS), help=f"of {','.join(PARTS)}")
    parser.add_argument("--other", type=Path, help="the source of the version that turns are taken with")
    parser.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if "turns" in options.parts.split(",") and options.other is None:
        parser.error("turns are taken with another version: name its folder src by --other")
    mails = load(options.data)
    if not mails:
        parser.error(f"{options.data} has no mail")
    for raw in mails[:2]:
        BatchDetector(window=2).assign(raw)  # compiles
    if options.answer:
        _answer(mails, options)
        return
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "mail.json"
    results = json.loads(path.read_text()) if path.is_file() else {}
    results["machine"] = {"cores": os.cpu_count(), "machine": platform.machine(), "load": round(os.getloadavg()[0], 1)}
    print(f"{len(mails)} mails, {sum(map(len, mails)) / len(mails):.0f} bytes on average", flush=True)
    for part in options.parts.split(","):
        results[part] = globals()[part](mails, options)
        print(part, json.dumps(results[part], indent=1, default=float), flush=True)
        path.write_text(json.dumps(results, indent=1, default=float) + "\n")


if __name__ == "__main__":
    main()
