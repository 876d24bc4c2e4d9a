"""What every measured process shares: one core, clocks, peak memory, and the task it works on."""

from __future__ import annotations

import os
import pickle
import resource
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
Times: TypeAlias = dict[str, dict[str, float]]  # {"wall": {name: seconds}, "cpu": ...}
SPAN_SETS = ("conll2002_esp", "conll2000_chunking", "conll2002_esp_untyped")


def use_cores(cores: Sequence[int]) -> None:
    """Run on these cores only, without threads of numerical libraries. Call before those are imported."""
    for variable in THREAD_VARIABLES:
        os.environ[variable] = "1"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, set(cores))


@dataclass
class Task:
    """A data set as every contestant gets it: tokens (or images as bytes) and labels."""

    name: str
    folder: Path  # where prepare.py put the data, and where contestants may put their files
    X_train: list[Any]
    Y_train: list[list[str]]
    X_test: list[Any]
    Y_test: list[list[str]]

    @property
    def is_text(self) -> bool:
        return self.name != "ocr_letters"

    @property
    def n_test_tokens(self) -> int:
        return sum(map(len, self.X_test))


def load_task(folder: Path, name: str) -> Task:
    """Read what ``prepare.py`` wrote. Imports nothing, so that it costs no contestant any memory."""
    with open(folder / name / "data.pkl", "rb") as file:
        return Task(name, folder / name, *pickle.load(file))


class Clock:
    """Seconds by name: ``with clock("train"): ...`` adds to ``clock.wall["train"]`` and ``clock.cpu["train"]``."""

    def __init__(self) -> None:
        self.wall: dict[str, float] = {}
        self.cpu: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.cpu[name] = self.cpu.get(name, 0.0) + time.process_time() - cpu
        self.wall[name] = self.wall.get(name, 0.0) + time.perf_counter() - wall

    def sums(self, **parts: Sequence[str]) -> Times:
        """Everything measured, and the given sums of it."""
        return {
            kind: {**seconds, **{name: sum(seconds[p] for p in names) for name, names in parts.items()}}
            for kind, seconds in (("wall", self.wall), ("cpu", self.cpu))
        }


def best(rounds: Sequence[Times]) -> Times:
    """The smallest of each number over several rounds."""
    return {kind: {name: min(r[kind][name] for r in rounds) for name in rounds[0][kind]} for kind in rounds[0]}


def peak_memory_mb() -> float:
    """Largest resident memory of this process so far.

    On Linux from ``VmHWM``: ``ru_maxrss`` also remembers the parent's memory at the moment it started this process.
    """
    try:
        with open("/proc/self/status") as file:
            line = next(line for line in file if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def accuracy_of(task: Task, predicted: list[list[str]]) -> dict[str, float]:
    """Span F1 where labels are spans, and token accuracy. Call after reading the peak memory."""
    from accord.evaluation.metrics import accuracy
    from accord.evaluation.spans import span_f1

    scores = {"accuracy": accuracy(task.Y_test, predicted)}
    if task.name in SPAN_SETS:
        scores["span_f1"] = span_f1(task.Y_test, predicted)
    return scores
