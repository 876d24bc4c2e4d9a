"""Hostile input for the public interface, in tables: every row is refused with a clear error or answered rightly.

    python tests/fuzz/hostile.py [part of a name]

Rows run in a child process with limits of memory and processor time, so that one that crashes or hangs is named.
The tables are in ``hostile_*.py``; ``tests/contract/bad_*.py`` have those that ``docs/bad-input.md`` explains.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

SUBJECTS = ("matrices", "arrays", "tokens", "labels", "trees", "settings", "applications", "files")
MEMORY = 2 << 30  # bytes that the rows of a child may take
SECONDS = 120  # of processor time for a row; the first ones compile kernels


class Row(NamedTuple):
    """A call, and what is to come of it: an error of this class whose text has this part, or this answer."""

    call: Callable[[], Any]
    error: str = ""
    part: str = ""
    answer: Any = None


Rows = dict[str, Row]


class Table:
    """Rows of a subject."""

    def __init__(self) -> None:
        self.rows: Rows = {}

    def refused(self, name: str, part: str, call: Callable[[], Any], error: str = "InputError") -> None:
        """A row that ends with an error, whose text has this part."""
        self._add(name, Row(call, error, part))

    def answered(self, name: str, answer: Any, call: Callable[[], Any]) -> None:
        """A row that gives this answer; a function as answer is called."""
        self._add(name, Row(call, answer=answer))

    def _add(self, name: str, row: Row) -> None:
        assert name not in self.rows, name
        self.rows[name] = row


def outcome(row: Row) -> str:
    """What is wrong with what came of a row; nothing if all is well."""
    try:
        found = row.call()
    except Exception as error:
        kind, text = type(error).__name__, str(error)
        if kind == row.error and row.part in text and len(text) < 1500:
            return ""
        return f"expected {row.error or 'an answer'} {row.part!r}, but it raised {kind}: {text[:600]}"
    if row.error:
        return f"expected {row.error} {row.part!r}, but it answered {found!r:.200}"
    answer = row.answer() if callable(row.answer) else row.answer
    return "" if _equal(found, answer) else f"expected {answer!r:.300}, but it answered {found!r:.300}"


def _equal(found: Any, answer: Any) -> bool:
    if isinstance(found, np.ndarray) and isinstance(answer, list):  # classes
        return found.tolist() == answer
    if isinstance(answer, np.ndarray) and answer.dtype.kind != "f":
        return np.array_equal(found, answer)
    if isinstance(answer, (float, np.ndarray)):
        return np.shape(found) == np.shape(answer) and bool(np.allclose(found, answer))
    return type(found) is type(answer) and found == answer


# -- children ---------------------------------------------------------------------------------------------------------
def use_rows(subjects: str, part: str, step: int, skip: int) -> None:
    """Run rows; a line before and after each."""
    rows = rows_of(subjects.split(), part, step)
    warnings.simplefilter("ignore")
    status = Path("/proc/self/status").read_text() if os.path.exists("/proc/self/status") else ""
    size = next((int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmSize")), 0)
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
    for name, row in list(rows.items())[skip:]:
        print(json.dumps({"start": name}), flush=True)
        spent = int(time.process_time()) + SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (spent, resource.RLIM_INFINITY))
        with np.errstate(all="ignore"):
            wrong = outcome(row)
        print(json.dumps({"end": name, "wrong": wrong}), flush=True)


def rows_of(subjects: Iterable[str], part: str = "", step: int = 1) -> Rows:
    """The tables, or of their rows with this part in their names every so many."""
    tables = {subject: import_module(f"hostile_{subject}").TABLE.rows for subject in subjects}
    rows = {f"{subject}: {name}": row for subject, table in tables.items() for name, row in table.items()}
    return dict([item for item in rows.items() if part in item[0]][::step])


def run(subjects: Iterable[str], part: str = "", step: int = 1) -> dict[str, str]:
    """What is wrong with each of these rows, nothing for most; a child that dies is followed by another."""
    found: dict[str, str] = {}
    while True:
        command = [sys.executable, __file__, "--child", " ".join(subjects), part, str(step), str(len(found))]
        done = subprocess.run(command, capture_output=True, text=True)
        told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        found |= {line["end"]: line["wrong"] for line in told if "end" in line}
        if done.returncode == 0:
            return found
        begun = [line["start"] for line in told if "start" in line]
        if not begun or begun[-1] in found:
            raise RuntimeError(f"it ended with {done.returncode}: {done.stderr[-2000:]}")
        found[begun[-1]] = f"it ended the process with {done.returncode}: {done.stderr[-300:]}"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        use_rows(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
    else:
        for subject in SUBJECTS:
            results = run([subject], "".join(sys.argv[1:2]))
            for name, wrong in results.items():
                if wrong:
                    print(f"{name}: {wrong}")
            print(f"{subject}: {len(results)} rows, {sum(map(bool, results.values()))} wrong", flush=True)
