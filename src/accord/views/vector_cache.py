"""Vectors of inputs by content: those used last in memory, all of them in a folder if there is one.

The folder has one SQLite database, which a kill or a full disk leaves as it was after the last batch. Several programs
may use it at once. A key is a hash of what the encoder is called and of the input, so one folder does for all encoders.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from hashlib import blake2b
from os import PathLike, fspath
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from accord.exceptions import InputError

FILE = "vectors.sqlite"
IN_MEMORY = 2**28  # bytes
_AT_ONCE = 500  # keys in a query
_WAIT = 60.0  # seconds, for another program that writes
_TABLE = "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, width INTEGER NOT NULL, numbers BLOB NOT NULL)"


def content_key(name: str, x: str | Sequence[str]) -> bytes:
    """The key of an input, a text or a list of tokens."""
    parts = [name, "text", x] if isinstance(x, str) else [name, "tokens", *x]
    found = blake2b(digest_size=20)
    for part in parts:
        coded = part.encode("utf-8", "surrogatepass")
        found.update(len(coded).to_bytes(8, "little") + coded)  # ["ab"] and ["a", "b"] are not the same
    return found.digest()


class VectorCache:
    """Matrices (n_rows, width) of float32 by key, made by one encoder.

    Parameters
    ----------
    encode : callable
        What makes the vectors; of another one's, those in memory are of no use.
    name : str
        What the encoder is called in the folder.
    folder : path, optional
    """

    def __init__(
        self, encode: Callable[..., Any] | None, name: str = "", folder: str | PathLike[str] | None = None
    ) -> None:
        self.encode, self.name, self.folder = encode, name, folder
        self._kept: dict[bytes, np.ndarray] = {}  # the one used last comes last
        self._bytes = 0
        self._lock = Lock()

    def is_for(self, encode: Any, name: str, folder: Any) -> bool:
        """Whether vectors of this encoder are kept here."""
        return self.encode is encode and self.name == name and self.folder == folder

    def find(self, keys: Iterable[bytes]) -> dict[bytes, np.ndarray]:
        """The matrices that there are."""
        found, missing = {}, []
        for key in keys:
            with self._lock:
                matrix = self._kept.pop(key, None)
                if matrix is not None:
                    self._kept[key] = found[key] = matrix
            if matrix is None:
                missing.append(key)
        if missing and self.folder is not None:
            read = self._read(missing)
            self._keep(read)
            found |= read
        return found

    def add(self, made: Mapping[bytes, np.ndarray]) -> None:
        """Keep new matrices."""
        if self.folder is not None and made:
            rows = [(key, matrix.shape[1], _little(matrix).tobytes()) for key, matrix in made.items()]
            with self._database() as database, database:
                database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)
        self._keep(made)

    def _keep(self, made: Mapping[bytes, np.ndarray]) -> None:
        with self._lock:
            for key, matrix in made.items():
                before = self._kept.pop(key, None)
                self._kept[key] = matrix
                self._bytes += matrix.nbytes - (0 if before is None else before.nbytes)
            while self._bytes > IN_MEMORY:
                self._bytes -= self._kept.pop(next(iter(self._kept))).nbytes

    # -- the folder -------------------------------------------------------------------------------------------------
    def _read(self, keys: list[bytes]) -> dict[bytes, np.ndarray]:
        found = {}
        with self._database() as database:
            for start in range(0, len(keys), _AT_ONCE):
                some = keys[start : start + _AT_ONCE]
                marks = ",".join("?" * len(some))
                asked = database.execute(f"SELECT key, width, numbers FROM vectors WHERE key IN ({marks})", some)
                for key, width, numbers in asked:
                    if width > 0 and len(numbers) % (4 * width) == 0:
                        matrix = np.frombuffer(numbers, "<f4").reshape(-1, width).astype(np.float32)
                        if np.isfinite(matrix).all():  # what is not whole is made again
                            found[key] = matrix
        return found

    @contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        """Opened for every batch: a connection belongs to one thread of one process."""
        assert self.folder is not None
        path = Path(self.folder, FILE)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(path, timeout=_WAIT)) as database:
                database.execute(_TABLE)
                yield database
        except (sqlite3.Error, OSError) as error:
            raise InputError(
                f"cache is {fspath(self.folder)!r}, where {FILE} cannot be used ({error}); give a folder that can be "
                "written to, and remove the file if it is damaged: vectors are made again"
            ) from error


def _little(matrix: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(matrix, "<f4")
