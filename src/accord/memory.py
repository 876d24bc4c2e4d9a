"""How much memory can be had: tables that would not fit are refused before they are made."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Mapping
from pathlib import Path

from accord.exceptions import InputError

LIMIT = "ACCORD_MEMORY"  # environment variable: so many bytes are available, whatever the system says
# Scores made at a time, as numbers, where there are very many. Fixed, so that results do not depend on the machine.
SCORES = 2**24
_M_TRIM_THRESHOLD, _M_ARENA_MAX = -1, -8  # of malloc.h


def check(tables: Mapping[str, float], advice: str) -> None:
    """Refuse tables (what they are: bytes) that do not fit into memory together."""
    needed, available = sum(tables.values()), available_bytes()
    if available is not None and needed > available:
        largest = sorted(tables.items(), key=lambda table: -table[1])
        listed = "; ".join(f"{what} {_size(n)}" for what, n in largest if n > 0.01 * needed)
        raise InputError(
            f"this needs about {_size(needed)} of memory, but {_size(available)} are available ({listed}). {advice}, "
            f"or set {LIMIT} to the bytes that may be used"
        )


def fits(tables: Mapping[str, float]) -> bool:
    """Whether tables fit into memory together."""
    available = available_bytes()
    return available is None or sum(tables.values()) <= available


def available_bytes() -> int | None:
    """Memory that can be had without swapping; None where the system does not tell."""
    told = os.environ.get(LIMIT)
    if told:
        if not told.isdecimal():
            raise InputError(f"{LIMIT} is {told!r}; expected a number of bytes, such as 2000000000")
        return int(told)
    found = [n for n in (_of_machine(), _of_group()) if n is not None]
    return min(found) if found else None


def give_back_early() -> None:
    """Have the C library give memory back to the system as soon as arrays are freed; for programs that run for hours.

    By itself glibc learns from every large array that is freed to keep the next one of its size, and a program whose
    models grow holds ever more that nobody uses. Also, each thread that is started after this call would have a heap of
    its own, with holes of its own. Other C libraries know no such settings.
    """
    with contextlib.suppress(OSError, AttributeError, TypeError):
        library = ctypes.CDLL(None)
        library.mallopt(_M_TRIM_THRESHOLD, 2**20)
        library.mallopt(_M_ARENA_MAX, 1)


def _of_machine() -> int | None:
    try:
        return 1024 * _entries("/proc/meminfo")["MemAvailable:"]
    except (OSError, KeyError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _of_group(root: str = "/sys/fs/cgroup") -> int | None:
    """What the limit of a container leaves; what it keeps of files can be had, too."""
    for limit, used, of_files in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "total_inactive_file"),
    ):
        try:
            most, now = (int(Path(root, name).read_text("ascii")) for name in (limit, used))
            return max(0, most - now + _entries(Path(root, limit).with_name("memory.stat")).get(of_files, 0))
        except (OSError, ValueError):  # no such group, or its limit is "max"
            continue
    return None


def _entries(path: str | Path) -> dict[str, int]:
    """Names and numbers, one to a line."""
    lines = (line.split() for line in Path(path).read_text("ascii").splitlines())
    return {name: int(number) for name, number, *_ in lines}


def _size(n: float) -> str:
    """A number of bytes for people."""
    return f"{n / 2**30:,.1f} GiB" if n >= 2**29 else f"{n / 2**20:,.1f} MiB"
