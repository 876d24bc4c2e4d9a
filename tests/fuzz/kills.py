"""Kill programs at random moments: nothing acknowledged may be lost, nothing be corrupt, no rubbish stay.

    python tests/fuzz/kills.py --kills 200

Every case starts a command in a process of its own and kills it by SIGKILL, half of them at a time drawn from that of
an undisturbed run, half at one of its steps that others can see on the disk: before a file is opened, flushed, renamed
or removed, and after it is renamed. Then it looks at what is there, runs the same command to its end, and looks again.
Processes are forked from this one, which has loaded and compiled everything, so that a case costs no more than what the
command does. Cases are drawn from their numbers: ``--first N --kills 1`` does one again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from killed import KINDS, Kind
from killing import Child, must, steps_done

SLACK = 1.1  # kills are drawn from a little more than the time of an undisturbed run


class Bench:
    """One kind, prepared, with what an undisturbed run takes and leaves."""

    def __init__(self, kind: Kind, place: Path) -> None:
        self.kind, self.place = kind, place
        self.base = place / "base"
        self.base.mkdir(parents=True)
        kind.prepare(self.base)
        for _ in range(2):  # the first one compiles
            folder = self._copy("undisturbed")
            start = time.monotonic()
            child = Child(kind.run, folder)
            kind.use(folder, child)
            lines, code = child.end()
            self.seconds = time.monotonic() - start
            must(code == 0, f"{kind.name} failed without being killed: {lines[-3:]}")
        self.steps = steps_done()
        self.files = _files(folder)
        if hasattr(kind, "reference"):
            kind.reference(folder)

    def _copy(self, name: str) -> Path:
        folder = self.place / name
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.base, folder)
        return folder

    def case(self, number: int) -> dict[str, Any]:
        """Kill once, and look; a program that was faster than usual is started again."""
        for attempt in range(20):
            found = self._attempt(number, random.Random(f"{number} {attempt}"))
            if found.get("killed") or "wrong" in found:
                break
        return {"attempts": attempt + 1, **found}

    def _attempt(self, number: int, rng: random.Random) -> dict[str, Any]:
        step = rng.randint(1, self.steps) if rng.random() < 0.5 else 0
        seconds = rng.uniform(0, SLACK * self.seconds)
        self.kind.to_file = rng.random() < 0.5  # type: ignore[attr-defined]  # for the kind that may print instead
        folder = self._copy("case")
        found: dict[str, Any] = {"number": number, "moment": f"step {step}" if step else f"{seconds:.3f} s"}
        try:
            child = Child(self.kind.run, folder, step)
            if not step:
                child.kill_after(seconds)
            seen = self.kind.use(folder, child)
            lines, code = child.end()
            found["killed"] = code == -signal.SIGKILL
            if code == 0:
                return found
            must(code == -signal.SIGKILL, f"it ended with {code}: {lines[-3:]}")
            found["rubbish"] = len([name for name in _files(folder) if name.endswith("-tmp")])
            found["there"] = self.kind.look(folder, lines, seen, code)
            child = Child(self.kind.again, folder)
            self.kind.use_again(folder, child, seen)
            lines, code = child.end()
            must(code == 0, f"the next run ended with {code}: {lines[-3:]}")
            self.kind.look_again(folder, lines, seen)
            more = _files(folder) - self.files - set(self.kind.leftovers)
            must(not more, f"rubbish stays: {sorted(more)}")
        except Exception as error:
            found["wrong"] = f"{type(error).__name__}: {error}"
        return found


def _files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def run(n_kills: int, first: int = 0, names: str = "") -> tuple[list[dict[str, Any]], list[str]]:
    """All cases, and a table with a line per kind."""
    kinds = [kind() for kind in KINDS if any(name in kind.name for name in names.split(","))]
    cases: list[dict[str, Any]] = []
    table = ["| program | undisturbed | kills at a time | at a step | too late, again | left temporary files "
             "| what was there | wrong |", "|---|---|---|---|---|---|---|---|"]  # fmt: skip
    with tempfile.TemporaryDirectory() as place:
        for k, kind in enumerate(kinds):
            bench = Bench(kind, Path(place).resolve() / str(k))
            found = [bench.case(number) for number in range(first + k, first + n_kills, len(kinds))]
            late = sum(case["attempts"] - 1 for case in found)
            steps = sum(case["moment"].startswith("step") for case in found)
            there = Counter(case.get("there", "?") for case in found)
            table.append(
                f"| {kind.name} | {bench.seconds:.2f} s, {bench.steps} steps | {len(found) - steps} | {steps} "
                f"| {late} | {sum(case.get('rubbish', 0) > 0 for case in found)} "
                f"| {', '.join(f'{name} {n}' for name, n in sorted(there.items()))} "
                f"| {sum('wrong' in case for case in found)} |"
            )
            cases += [{"program": kind.name, **case} for case in found]
    return cases, table


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", default="", help="parts of the names of programs, with commas between them")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    cases, table = run(options.kills, options.first, options.only)
    wrong = [case for case in cases if "wrong" in case]
    for case in wrong:
        print(json.dumps(case))
    print("\n".join(table))
    killed = sum(bool(case.get("killed")) for case in cases)
    used = sum(os.times()[:4])
    print(f"{len(cases)} cases, {killed} killed, {len(wrong)} wrong; {used:.0f} s of processor time")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
