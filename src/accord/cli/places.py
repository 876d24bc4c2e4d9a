"""Where commands may write: a place that there is, and no file that they read."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import click

from accord.exceptions import InputError

_IN_PLACE = ("--json", "--csv", "--html", "--output")  # opened where they are, and written as results come


def check_outputs(targets: Mapping[str, str | Path | None], inputs: Iterable[str | None]) -> None:
    """Whether the files named by flags can be written, without harm to what is read: before all work, not after."""
    files = {flag: Path(target) for flag, target in targets.items() if target and (target != "-" or flag == "--state")}
    read = [name for name in inputs if name]
    for flag, path in files.items():
        shown = f"{flag} {click.format_filename(path)}"
        twin = next((other for other, file in files.items() if other != flag and _is_same(file, path)), None)
        if twin:
            raise InputError(f"{shown} is the file of {twin}, too; give it another name")
        if path.is_dir():
            raise InputError(f"{shown} is a folder; expected a file")
        if not path.parent.is_dir():
            raise InputError(f"{shown}: there is no folder {click.format_filename(path.parent)}; make it first")
        # what is written in one step takes the place of a file, so it is the folder that must let it
        if not os.access(path if path.exists() and flag in _IN_PLACE else path.resolve().parent, os.W_OK):
            raise InputError(f"{shown} cannot be written: permission denied")
        for name in read:
            if _is_same(name, path):
                raise InputError(f"{shown} would overwrite what is read; give it another name")
            if name != "-" and Path(name).is_dir() and path.resolve().is_relative_to(Path(name).resolve()):
                raise InputError(f"{shown} lies in {name}, whose files are read; put it elsewhere")


def _is_same(name: str | Path, path: Path) -> bool:
    """Whether both are one file; devices may be read and written at the same time."""
    if path.resolve() == Path(name).resolve() and not path.exists():
        return True
    try:
        read = os.fstat(sys.stdin.fileno()) if name == "-" else os.stat(name)
        written = os.stat(path)
    except (OSError, ValueError):  # not there, or no file, as in a test
        return False
    return os.path.samestat(read, written) and stat.S_ISREG(written.st_mode)
