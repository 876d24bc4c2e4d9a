"""The file an experiment grows while it runs: JSON lines, one per finished task, safe against a kill at any moment.

Line 1 is a header with the experiment's configuration and its fingerprint. Every further line is written by one
`write` and forced to disk before the next task counts as done, so a kill can only cut the last line, and opening the
file again removes such a rest. An operating system lock keeps two runs from writing the same file; it goes with the
process that holds it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from accord.exceptions import FormatError, InputError

_FORMAT = 1


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal settings give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def fingerprint(config: Mapping[str, Any]) -> str:
    """A short digest of a configuration."""
    return hashlib.sha256(canonical(config).encode()).hexdigest()[:16]


class Journal:
    """An append-only results file; use it as a context manager.

    Parameters
    ----------
    path : the file; made with its folder if it does not exist
    config : everything the results depend on besides a task's own key; must be JSON
    overwrite : start afresh if the file belongs to another configuration, instead of raising an error

    Attributes
    ----------
    records : dict of key → record of the tasks that were finished when the file was opened
    """

    def __init__(self, path: str | Path, config: Mapping[str, Any], overwrite: bool = False) -> None:
        self.path = Path(path)
        # through JSON, so that it compares equal to what a file gives back
        self.config: dict[str, Any] = json.loads(canonical(config))
        self.overwrite = overwrite
        self.records: dict[str, dict[str, Any]] = {}
        self._fd = -1

    def __enter__(self) -> Journal:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            self._lock()
            self._resume()
        except BaseException:
            os.close(self._fd)
            raise
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self._fd)

    def append(self, key: str, record: Mapping[str, Any]) -> None:
        """Add one finished task; it is on disk when this returns."""
        self._write({"key": key, **record})
        self.records[key] = dict(record)

    def _write(self, entry: Mapping[str, Any]) -> None:
        line = (json.dumps(entry, ensure_ascii=False, allow_nan=False) + "\n").encode()
        while line:  # a full disk can accept part of a line; the rest then raises OSError
            line = line[os.write(self._fd, line) :]
        os.fsync(self._fd)

    def _lock(self) -> None:
        try:
            import fcntl
        except ImportError:  # no such locks on this system
            return
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as cause:
            message = f"{self.path} is being written by another run: wait for it or choose another file"
            raise InputError(message) from cause

    def _resume(self) -> None:
        header, records, size = read_journal(self.path)
        if header is not None and header["fingerprint"] != fingerprint(self.config):
            if not self.overwrite:
                raise InputError(f"{self.path} {_changes(header['config'], self.config)}")
            header, records, size = None, {}, 0
        os.ftruncate(self._fd, size)
        if header is None:
            self._write({"accord": _FORMAT, "fingerprint": fingerprint(self.config), "config": self.config})
        self.records = records


def read_journal(path: str | Path) -> tuple[dict[str, Any] | None, dict[str, dict[str, Any]], int]:
    """Header (None if the file is empty), records by key, and the number of bytes in whole lines."""
    data = Path(path).read_bytes()
    lines = data.split(b"\n")
    rest = lines.pop()  # b"" unless the last line was cut
    header: dict[str, Any] | None = None
    records: dict[str, dict[str, Any]] = {}
    size = len(data) - len(rest)
    for number, line in enumerate(lines, start=1):
        try:
            entry = json.loads(line)
            if number == 1:
                header = _checked_header(entry)
            else:
                records[entry.pop("key")] = entry
        except (ValueError, KeyError, TypeError, AttributeError) as cause:
            # a crash of the whole machine can leave a last line of the right length but without its content
            if number > 1 and number == len(lines) and not rest:
                return header, records, size - len(line) - 1
            message = "is no results file of an experiment, or it is damaged; move it away to start afresh"
            raise FormatError(message, str(path), number) from cause
    if header is None and rest and not rest.startswith(b'{"accord"'[: len(rest)]):
        raise FormatError("is no results file of an experiment; choose another path", str(path), 1)
    return header, records, size


def _checked_header(entry: dict[str, Any]) -> dict[str, Any]:
    if entry["accord"] > _FORMAT:
        raise ValueError("newer format")
    if not isinstance(entry["config"], dict) or not isinstance(entry["fingerprint"], str):
        raise TypeError("header")
    return entry


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """What differs between two configurations, as the end of an error message."""
    parts = []
    for name in sorted({*old, *new}):
        before, after = (json.dumps(config[name]) if name in config else "(absent)" for config in (old, new))
        if before != after:
            parts.append(f"{name} was {before}, is {after}")
    return (
        f"holds results of another configuration ({'; '.join(parts)}): "
        "choose another file, restore the configuration, or pass overwrite=True to start afresh"
    )
