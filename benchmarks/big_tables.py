"""De-duplication of tables of ten thousand to ten million records: time, peak memory, F1; and an index of that size.

    python benchmarks/big_tables.py --output OUT --sizes 10000 100000 1000000

Tables are made up (`accord.datasets.many_people`): clusters of skewed sizes, spelling errors, missing cells. A model is
learned once, from all records of 300 people and 3,000 others. Every size is a program of its own, clustered from files
(`predict_chunks`); tables of up to --in-memory records also in memory, and the clusters must be the same.
`assign` of single records is timed in an index of the same table. Processor time is what is compared: other programs do
not change it much. What is done is kept in OUT/results.jsonl, and the same command goes on from there; a size that was
killed goes on where it was. Growth is plotted to OUT/growth.svg.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import accord
from accord.datasets.many_people import many_people

LABELED, OTHERS, SMALL = 300, 3000, 10_000
N_ASSIGNED = 1000


def learn(path: Path) -> None:
    """The model, from part of the smallest table."""
    records, people = next(many_people(SMALL, chunk=SMALL))
    known = [(r, p) for r, p in zip(records, people) if p < LABELED]
    others = [r for r, p in zip(records, people) if p >= LABELED][:OTHERS]
    model = accord.Deduplicator(self_training=False, random_state=0)
    model.fit([r for r, _ in known] + others, [p for _, p in known] + [None] * len(others)).save(path)


def pair_f1(truth: np.ndarray, found: np.ndarray) -> float:
    """F1 of pairs."""

    def n_pairs(labels: np.ndarray) -> int:
        return sum(n * (n - 1) // 2 for n in Counter(labels.tolist()).values())

    return 2 * n_pairs(truth * np.int64(truth.size) + found) / (n_pairs(truth) + n_pairs(found))


def chunks(n: int, people: list[int]) -> Iterator[list[Any]]:
    """Records of a table; `people` gets who they are."""
    for records, own in many_people(n):
        people += own
        yield records


def peak_memory() -> dict[str, float]:
    """In megabytes: the most that was resident, and the part of it now that is no file."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line)
    own = int(status["RssAnon"].split()[0]) / 1024
    return {"peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "own_mb": own}


def cluster(folder: Path, n: int, in_memory: bool) -> dict[str, Any]:
    """Cluster a table of n records."""
    model = accord.load(folder / "model.accord")
    model.verbose = 1
    people: list[int] = []
    started, cpu = time.time(), time.process_time()
    if in_memory:
        found = np.array(model.predict([record for chunk in chunks(n, people) for record in chunk]))
    else:
        found = model.predict_chunks(chunks(n, people), folder / f"work-{n}", str(n))
        if not people:  # read by a program that was killed
            people = [person for _, own in many_people(n) for person in own]
    out = {"seconds": time.time() - started, "cpu": time.process_time() - cpu, **peak_memory()}
    np.save(folder / f"found-{n}-{'memory' if in_memory else 'files'}.npy", found)
    other = folder / f"found-{n}-{'files' if in_memory else 'memory'}.npy"
    same = bool((np.load(other) == found).all()) if other.exists() else None
    return {**out, "f1": pair_f1(np.array(people), found), "same": same}


def assign(folder: Path, n: int) -> dict[str, Any]:
    """Make an index of n records and give ids to single ones, in milliseconds of processor time and of the clock."""
    path = folder / f"index-{n}"
    model = accord.load(folder / "model.accord")
    started = time.process_time()
    records: list[Any] = []
    people: list[int] = []
    for some, own in many_people(n + N_ASSIGNED):
        records += some
        people += own
    model.index(records[:n], people[:n], path=path).close()
    out: dict[str, Any] = {"build_cpu": time.process_time() - started, "bytes_per_record": path.stat().st_size / n}
    with accord.StoredIndex(path, flush=False) as index:
        for warm in records[:20]:
            index.find([warm])
        times, walls, given = [], [], []
        for record in records[n:]:
            cpu, wall = time.process_time(), time.perf_counter()
            given += index.assign([record])
            times.append(1e3 * (time.process_time() - cpu))
            walls.append(1e3 * (time.perf_counter() - wall))
    known = set(people[:n])
    right = sum(one == own if own in known else one not in known for one, own in zip(given, people[n:]))
    path.unlink()
    out["mean"], out["right"] = float(np.mean(times)), right / len(given)
    for before, measured in (("", times), ("clock_", walls)):
        for percent in (50, 95, 99):
            out[f"{before}p{percent}"] = float(np.percentile(measured, percent))
    return out


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    """Growth of time, memory and latency with the number of records, both axes logarithmic."""
    panels = [
        ("processor time, s", "files", "cpu"),
        ("peak memory, MB", "files", "peak_mb"),
        ("assign, p50 in ms", "assign", "p50"),
    ]
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" width="780" height="240" font-family="sans-serif" font-size="11">'
    ]
    for k, (title, what, name) in enumerate(panels):
        points = sorted((row["n"], row[name]) for row in rows if row["what"] == what)
        if not points:
            continue
        x0, y0 = 60 + 255 * k, 200
        low = np.floor(np.log10(min(v for _, v in points)))
        high = np.ceil(np.log10(max(v for _, v in points)) + 1e-9)
        first, last = np.log10(points[0][0]), max(np.log10(points[-1][0]), np.log10(points[0][0]) + 1)
        spots = [
            (x0 + 170 * (np.log10(n) - first) / (last - first), y0 - 160 * (np.log10(v) - low) / max(high - low, 1), v)
            for n, v in points
        ]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in spots)
        parts.append(f'<text x="{x0}" y="20">{title}</text>')
        parts.append(f'<polyline points="{line}" fill="none" stroke="#3366aa" stroke-width="2"/>')
        for (x, y, v), (n, _) in zip(spots, points):
            shown = f"{v:,.0f}" if v >= 100 else f"{v:.3g}"
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#3366aa"/>')
            parts.append(f'<text x="{x:.1f}" y="{y - 7:.1f}" text-anchor="middle">{shown}</text>')
            parts.append(f'<text x="{x:.1f}" y="220" text-anchor="middle">10^{np.log10(n):.0f}</text>')
    path.write_text("\n".join([*parts, "</svg>"]) + "\n", "utf-8")


def main() -> None:
    """Measure every size that is not measured yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**4, 10**5, 10**6])
    parser.add_argument("--in-memory", type=int, default=10**5)
    parser.add_argument("--one", nargs=2, metavar=("WHAT", "N"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    folder = given.output
    folder.mkdir(parents=True, exist_ok=True)
    if given.one:
        what, n = given.one[0], int(given.one[1])
        row = assign(folder, n) if what == "assign" else cluster(folder, n, what == "memory")
        with open(folder / "results.jsonl", "a", encoding="utf-8") as stream:
            stream.write(json.dumps({"what": what, "n": n, **row}) + "\n")
        return
    results = folder / "results.jsonl"
    if not (folder / "model.accord").exists():
        learn(folder / "model.accord")
    for n in given.sizes:
        for what in ("memory", "files", "assign"):
            rows = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
            if (what == "memory" and n > given.in_memory) or any(r["n"] == n and r["what"] == what for r in rows):
                continue
            command = [sys.executable, __file__, "--output", str(folder), "--one", what, str(n)]
            subprocess.run(command, check=True)
            rows = [json.loads(line) for line in results.read_text().splitlines()]
            print(rows[-1], flush=True)
            plot(rows, folder / "growth.svg")


if __name__ == "__main__":
    main()
