"""Measure Accord against other tools: training time, tagging speed, memory and accuracy, on the same features.

Every run is a process of its own on one core; the contestants take turns, and the best of several runs counts. Tables
go to the screen and, with all numbers, to benchmarks/results. See README.md in this folder.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import report
from contestant import CONTESTANTS, ONLY_ON
from measure import THREAD_VARIABLES

HERE = Path(__file__).parent
SETS = ("conll2002_esp", "conll2000_chunking", "ud_english_ewt_pos", "ocr_letters", "conll2002_esp_untyped")
UNTYPED = ("accord-svm", "dlib", "accord-perceptron", "crfsuite-ap")


def contestants_of(name: str, wanted: list[str]) -> list[str]:
    """Who takes part on a set."""
    if name == "conll2002_esp_untyped":
        return [c for c in UNTYPED if c in wanted]
    return [c for c in CONTESTANTS if c in wanted and (c not in ONLY_ON or name in ONLY_ON[c][0])]


def child(script: str, arguments: list[str], work: Path, timeout: float) -> dict[str, Any]:
    """Run a script of this folder in a new process and read the last line it prints."""
    environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, "1")}
    if script == "contestant.py":  # a cache of their own, so that compilation can be measured
        environment["NUMBA_CACHE_DIR"] = str(work / "numba")
    command = [sys.executable, str(HERE / script), "--work", str(work), *arguments]
    start = time.perf_counter()
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return {"error": f"not finished after {timeout:.0f} s"}
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"]
        print(done.stderr, file=sys.stderr)
        return {"error": lines[-1][:200]}
    return {**json.loads(done.stdout.strip().splitlines()[-1]), "process_seconds": time.perf_counter() - start}


def race(name: str, args: argparse.Namespace, work: Path) -> dict[str, list[dict[str, Any]]]:
    """All runs on one set, by contestant; in every round each contestant runs once."""
    runs: dict[str, list[dict[str, Any]]] = {c: [] for c in contestants_of(name, args.peers)}
    for repetition in range(args.repeat):
        for contestant, done in runs.items():
            slow = any(run.get("process_seconds", 0) > args.slow for run in done)
            if any("error" in run for run in done) or (slow and len(done) >= 2):
                continue
            two = contestant == "accord-two-cores"
            cores = args.core if not two else ",".join(str(core) for core in sorted(os.sched_getaffinity(0))[:2])
            arguments = ["--name", contestant, "--set", name, "--cores", cores, "--seed", str(repetition)]
            arguments += ["--rounds", str(args.rounds)] + ["--check"] * (repetition == 0)
            print(f"{time.strftime('%H:%M:%S')} {name} {contestant} {repetition + 1}/{args.repeat}", file=sys.stderr)
            done.append(child("contestant.py", arguments, work, args.timeout))
    return runs


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("ACCORD_DATA"), help="data folder (default: ACCORD_DATA)")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--peers", nargs="+", choices=list(CONTESTANTS), default=list(CONTESTANTS), metavar="NAME",
                        help=f"contestants: {', '.join(CONTESTANTS)}")  # fmt: skip
    parser.add_argument("--repeat", type=int, default=3, help="runs of each contestant; the best counts")
    parser.add_argument("--rounds", type=int, default=5, help="how often each run tags the test text; the best counts")
    parser.add_argument("--slow", type=float, default=120, help="contestants that take longer run twice at most (s)")
    parser.add_argument("--timeout", type=float, default=3600, help="give up on a run after this many seconds")
    parser.add_argument("--quick", action="store_true", help="small parts of the sets, one run: does everything work?")
    parser.add_argument("--core", default=str(cores[-1]), help="the core to run on")
    parser.add_argument("--output", type=Path, default=HERE / "results", help="folder for latest.md and latest.json")
    parser.add_argument("--work", type=Path, help="folder for prepared data, models and kernels (default: temporary)")
    args = parser.parse_args(argv)
    if not args.data:
        parser.error("no data folder: set ACCORD_DATA or pass --data DIR")
    if args.quick:
        args.repeat, args.rounds = 1, min(args.rounds, 2)
    return args


def main() -> int:
    """Prepare, warm up, race, report."""
    args = parse()
    work = args.work or Path(tempfile.mkdtemp(prefix="accord-bench-"))
    results: dict[str, Any] = {"machine": report.machine(), "quick": args.quick, "repeat": args.repeat, "sets": {}}
    try:
        for name in args.sets:
            prepared = child("prepare.py", ["--set", name, "--data", args.data] + ["--quick"] * args.quick, work, 1800)
            if "error" in prepared:
                print(f"{name}: {prepared['error']}", file=sys.stderr)
                return 1
            warm = [child("contestant.py", ["--name", "warm-up", "--set", name], work, 1800) for _ in range(2)]
            results["sets"][name] = {"size": prepared, "warm_up": [w["seconds"] for w in warm]}
            results["sets"][name]["runs"] = race(name, args, work)
            args.output.mkdir(parents=True, exist_ok=True)  # after every set, so that a broken run loses little
            stem = args.output / ("quick" if args.quick else "latest")
            stem.with_suffix(".json").write_text(json.dumps(results) + "\n", encoding="utf-8")
            stem.with_suffix(".md").write_text(report.markdown(results), encoding="utf-8")
    finally:
        if args.work is None:
            shutil.rmtree(work, ignore_errors=True)
    print(report.markdown(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
