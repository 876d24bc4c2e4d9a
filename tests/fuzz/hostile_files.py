"""Paths that are no model files, and places where none can be written."""

from __future__ import annotations

import os
import socket
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from hostile import Table

import accord
from accord import CRF, BatchDetector, MultiClass, RecordIndex

TABLE = Table()
PLACE = Path(tempfile.mkdtemp())
MODEL = CRF(MultiClass()).fit([[0.0], [1.0]], ["a", "b"])
MODEL.save(PLACE / "model")
WHOLE = (PLACE / "model").read_bytes()


def file(name: str, content: bytes) -> Path:
    (PLACE / name).write_bytes(content)
    return PLACE / name


def fifo() -> Path:
    path = PLACE / "fifo"
    if not path.exists():
        os.mkfifo(path)
    return path


def unix_socket() -> Path:
    path = PLACE / "socket"
    if not path.exists():
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(str(path))
    return path


def sparse(head: bytes) -> Path:
    """A file of 64 GB that takes no room."""
    path = file(f"sparse{len(head)}", head)
    os.truncate(path, 64 << 30)
    return path


def link(name: str, target: str) -> Path:
    path = PLACE / name
    if not path.is_symlink():
        path.symlink_to(target)
    return path


def zipped(name: str, *entries: tuple[str, bytes], **options: Any) -> Path:
    with zipfile.ZipFile(PLACE / name, "w", **options) as container:
        for entry, content in entries:
            container.writestr(entry, content)
    return PLACE / name


NO_FILE = "is not a file, so it cannot be an Accord model"
INDEX = b'{"magic": "accord-model", "format_version": 1, "metadata": %s, "arrays": %s}'
PATHS = {
    "a FIFO": (fifo, NO_FILE),
    "a folder": (lambda: PLACE, NO_FILE),
    "/dev/zero": (lambda: "/dev/zero", NO_FILE),
    "/dev/null": (lambda: "/dev/null", NO_FILE),
    "/dev/full": (lambda: "/dev/full", NO_FILE),
    "/dev/tty or nothing": (lambda: "/dev/random", NO_FILE),
    "an empty file": (lambda: file("empty", b""), "is empty, not an Accord model file"),
    "one byte": (lambda: file("one", b"P"), "is not an Accord model file"),
    "the beginning of a zip": (lambda: file("four", b"PK\x03\x04"), "truncated or damaged"),
    "64 GB of zeros": (lambda: sparse(b""), "is not an Accord model file"),
    "64 GB that begin like a zip": (lambda: sparse(b"PK\x03\x04"), "truncated or damaged"),
    "64 GB that begin like a model": (lambda: sparse(WHOLE), "damaged"),
    "text": (lambda: file("text", b"hello\n" * 99), "is not an Accord model file"),
    "a pickle": (lambda: file("pickle", b"\x80\x04cos\nsystem\n(S'true'\ntR."), "is not an Accord model file"),
    "an array of NumPy": (lambda: file("npy", b"\x93NUMPY\x01\x00"), "is not an Accord model file"),
    "a program": (lambda: "/bin/sh", "is not an Accord model file"),
    "half a model": (lambda: file("half", WHOLE[: len(WHOLE) // 2]), "truncated or damaged"),
    "a model without its last byte": (lambda: file("last", WHOLE[:-1]), "truncated or damaged"),
    "a zip of nothing": (lambda: zipped("nothing"), "is not an Accord model file"),
    "a zip of something": (lambda: zipped("something", ("a.txt", b"a")), "it has no accord.json"),
    "a zip with a way out": (lambda: zipped("way", ("../../etc/passwd", b"a")), "it has no accord.json"),
    "a zip that grows": (
        lambda: zipped("bomb", ("accord.json", b" " * 10**7), compression=zipfile.ZIP_DEFLATED),
        "compressed entries",
    ),
    "an index that is no JSON": (lambda: zipped("json", ("accord.json", b"{")), "accord.json is not JSON"),
    "an index of 100,000 brackets": (lambda: zipped("deep", ("accord.json", b"[" * 10**5)), "accord.json is not JSON"),
    "an index that is a list": (lambda: zipped("list", ("accord.json", b"[]")), "lacks its magic word"),
    "an index without a model": (lambda: zipped("none", ("accord.json", INDEX % (b"{}", b"{}"))), "damaged"),
    "a model that is no class": (
        lambda: zipped("class", ("accord.json", INDEX % (b'{"model": {"class": "os.system"}}', b"{}"))),
        "damaged",
    ),
    "an array that is missing": (
        lambda: zipped("missing", ("accord.json", INDEX % (b"{}", b'{"w": ["<f8", [3]]}'))),
        "is missing",
    ),
    "a link to /dev/zero": (lambda: link("zero", "/dev/zero"), NO_FILE),
}
for name, (path, part) in PATHS.items():
    TABLE.refused(f"load: {name}", part, lambda path=path: accord.load(path()), "ModelFileError")
for name in (
    "a FIFO",
    "a folder",
    "/dev/zero",
    "an empty file",
    "text",
    "64 GB that begin like a model",
    "half a model",
):
    for what, load in (("BatchDetector.restore", BatchDetector.restore), ("RecordIndex.load", RecordIndex.load)):
        TABLE.refused(
            f"{what}: {name}", PATHS[name][1], lambda load=load, path=PATHS[name][0]: load(path()), "ModelFileError"
        )
for what, load in (("BatchDetector.restore", BatchDetector.restore), ("RecordIndex.load", RecordIndex.load)):
    TABLE.refused(
        f"{what}: another model",
        "model",
        lambda load=load: load(PLACE / "model"),
        "InputError" if what.startswith("Record") else "ModelFileError",
    )
TABLE.refused("load: a socket", "No such device", lambda: accord.load(unix_socket()), "OSError")
TABLE.refused("load: nothing there", "No such file", lambda: accord.load(PLACE / "nowhere"), "FileNotFoundError")
TABLE.refused("load: a link in a circle", "symbolic links", lambda: accord.load(link("circle", "circle")), "OSError")
TABLE.answered("load: after other bytes", ["a"], lambda: accord.load(file("two", WHOLE + WHOLE)).predict([[0.0]]))
TABLE.answered("load: through a link", ["a"], lambda: accord.load(link("good", "model")).predict([[0.0]]))
for name, path in {"None": None, "a list": ["a"], "a float": 1.5, "an open file": 0}.items():
    TABLE.refused(f"load: path is {name}", "path", lambda path=path: accord.load(path))
    TABLE.refused(f"save: path is {name}", "path", lambda path=path: MODEL.save(path))
TABLE.refused("load: a name with a NUL", "path", lambda: accord.load("a\0b"))
TABLE.refused("save: a name with a NUL", "path", lambda: MODEL.save("a\0b"))
SAVED = "cannot save the model"
TABLE.refused("save: a folder", SAVED, lambda: MODEL.save(PLACE), "ModelFileError")
TABLE.refused("save: in a folder that there is not", SAVED, lambda: MODEL.save(PLACE / "no" / "m"), "ModelFileError")
TABLE.refused("save: below a file", SAVED, lambda: MODEL.save(PLACE / "model" / "m"), "ModelFileError")
TABLE.refused("save: a name of 300 letters", SAVED, lambda: MODEL.save(PLACE / ("m" * 300)), "ModelFileError")
TABLE.refused("save: nothing as a name", SAVED, lambda: MODEL.save(""), "ModelFileError")
TABLE.answered("save: nothing of that stays", [], lambda: [n for n in os.listdir(PLACE) if n.endswith("-tmp")])
