"""The window of the detector: a ring of signatures, and the batches that have members in it.

Memory is bounded: a batch is forgotten, size and sums included, when its last member has left the window.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from accord.exceptions import ModelFileError
from accord.kernels.mail.pairs import Signatures
from accord.kernels.mail.text import merge_counts
from accord.mail.signature import MARKS, Signature, empty_signatures

MAX_WORDS = 1024  # distinct words that are summed up per batch
_SENDER, _SUBJECT = MARKS.index("sender"), MARKS.index("subject")
_NO_WORDS = (np.empty(0, np.uint32), np.empty(0, np.int64))
ARRAYS = (
    "places", "compared", "received", "serials", "sizes", "members", "subjects", "senders",
    "same_subject", "same_sender",
)  # fmt: skip


class BatchStatistics(NamedTuple):
    """What a batch has had so far, members that left the window included."""

    size: int
    same_subject: bool
    same_sender: bool
    words: np.ndarray  # hashes of words, sorted, uint32; at most 1024
    counts: np.ndarray  # how often they occurred in all members


class Window:
    """So many recent mails. Batches live at *places*, which are used again; their *serials* are never."""

    def __init__(self, size: int, n_rows: int | None = None) -> None:
        self.size = size
        self.rows: Signatures = empty_signatures(size if n_rows is None else n_rows)
        self.places = np.full(size, -1, np.int64)  # of the batch of each row, -1: the row is empty
        self.compared = self.places.copy()  # the same, with -1 for short mails, too
        self.received = np.zeros(size)
        self.first, self.n_rows = 0, 0  # oldest row, rows from it to the newest; some between may be empty
        self.serials = np.zeros(size, np.int64)
        self.sizes = np.zeros(size, np.int64)
        self.members = np.zeros(size, np.int64)  # in the window
        self.subjects, self.senders = np.zeros(size, np.uint32), np.zeros(size, np.uint32)
        self.same_subject, self.same_sender = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
        self.words: list[tuple[np.ndarray, np.ndarray]] = [_NO_WORDS] * size
        self.free = list(range(size - 1, -1, -1))
        self.next_serial = 1

    @property
    def n_batches(self) -> int:
        return self.size - len(self.free)

    @property
    def n_mails(self) -> int:
        return int(np.count_nonzero(self.places >= 0))

    @property
    def n_used(self) -> int:
        """Rows from the start of the arrays that may be in use."""
        return self.n_rows if self.first == 0 else self.size

    @property
    def latest(self) -> float | None:
        """When the last mail came; None if there is none."""
        return float(self.received[(self.first + self.n_rows - 1) % self.size]) if self.n_rows else None

    def compared_since(self, time: float | None) -> np.ndarray:
        """``compared`` without mails that came before that time."""
        return self.compared if time is None else np.where(self.received < time, -1, self.compared)

    def expire(self, before: float) -> None:
        """Drop mails that came before that time. All are looked at, since one from the future may be the oldest row."""
        for row in np.flatnonzero((self.places >= 0) & (self.received < before)).tolist():
            self._drop(row)

    def _drop(self, row: int) -> None:
        place = int(self.places[row])
        self.places[row] = self.compared[row] = -1
        while self.n_rows and self.places[self.first] < 0:
            self.first = (self.first + 1) % self.size
            self.n_rows -= 1
        if self.n_rows == 0:
            self.first = 0
        self.members[place] -= 1
        if self.members[place] == 0:
            self.words[place] = _NO_WORDS
            self.free.append(place)

    def open_batch(self) -> int:
        """A place for a new batch."""
        place = self.free.pop()
        self.serials[place] = self.next_serial
        self.next_serial += 1
        self.sizes[place] = self.members[place] = 0
        return place

    def add(self, mail: Signature, place: int | None, received: float, keep_words: bool, short: bool) -> int:
        """Put a mail into the window, as a member of the batch at ``place`` (None: a new one), which is returned.

        The oldest leaves if the window is full. Short mails are never compared.
        """
        if place is not None:
            self.members[place] += 1  # first: the mail that leaves may be the only other member
        if self.n_rows == self.size:
            self._drop(self.first)
        if place is None:
            place = self.open_batch()
            self.members[place] = 1
        row = (self.first + self.n_rows) % self.size
        for column, value in zip(self.rows, mail.row):
            column[row] = value[0]
        self.places[row], self.received[row] = place, received
        self.compared[row] = -1 if short else place
        self.n_rows += 1
        self.count(mail, place, keep_words)
        return place

    def count(self, mail: Signature, place: int, keep_words: bool) -> None:
        """Take a mail into the sums of the batch at ``place``."""
        subject, sender = mail.row.marks[0, _SUBJECT], mail.row.marks[0, _SENDER]
        if self.sizes[place] == 0:
            self.subjects[place], self.senders[place] = subject, sender
            self.same_subject[place] = self.same_sender[place] = True
        else:
            self.same_subject[place] &= self.subjects[place] == subject
            self.same_sender[place] &= self.senders[place] == sender
        self.sizes[place] += 1
        if keep_words:
            before = self.words[place]
            self.words[place] = merge_counts(*before, mail.words, mail.counts, MAX_WORDS)

    def statistics(self, place: int) -> BatchStatistics:
        same = bool(self.same_subject[place]), bool(self.same_sender[place])
        return BatchStatistics(int(self.sizes[place]), *same, *self.words[place])

    # -- state ----------------------------------------------------------------------------------------------------
    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Numbers and copies of all arrays."""
        arrays = {name: getattr(self, name).copy() for name in ARRAYS}
        arrays |= {f"rows.{name}": array.copy() for name, array in zip(self.rows._fields, self.rows)}
        lengths = [words.size for words, _ in self.words]
        arrays["words.lengths"] = np.array(lengths, np.int64)
        arrays["words.words"] = np.concatenate([words for words, _ in self.words])
        arrays["words.counts"] = np.concatenate([counts for _, counts in self.words])
        arrays["free"] = np.array(self.free, np.int64)
        numbers = {name: getattr(self, name) for name in ("size", "first", "n_rows", "next_serial")}
        return numbers, arrays

    @classmethod
    def from_state(cls, numbers: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Window:
        """A window as it was when ``state`` was called; compiled code trusts its numbers, so they are checked."""
        window = cls(int(numbers["size"]))
        window.first, window.n_rows = int(numbers["first"]), int(numbers["n_rows"])
        window.next_serial = int(numbers["next_serial"])
        for name in ARRAYS:
            _copy(arrays[name], getattr(window, name), name)
        for name, target in zip(window.rows._fields, window.rows):
            _copy(arrays[f"rows.{name}"], target, name)
        window.free = [int(place) for place in arrays["free"]]
        ends = np.cumsum(arrays["words.lengths"])
        words = np.split(arrays["words.words"].astype(np.uint32), ends[:-1])
        counts = np.split(arrays["words.counts"].astype(np.int64), ends[:-1])
        window.words = list(zip(words, counts))
        used = (window.first + np.arange(window.n_rows)) % window.size
        taken = window.places[used]
        taken = taken[taken >= 0]
        sound = (
            0 <= window.first < window.size
            and 0 <= window.n_rows <= window.size
            and len(window.words) == window.size
            and np.array_equal(np.sort(np.concatenate([window.free, np.unique(taken)])), np.arange(window.size))
            and np.array_equal(np.bincount(taken, minlength=window.size)[taken], window.members[taken])
            and window.n_mails == len(taken)
            and (window.n_rows == 0 or window.places[window.first] >= 0)
            and bool(np.isfinite(window.received).all())
            and bool(((window.compared == window.places) | (window.compared == -1)).all())
            and bool((window.rows.lengths <= window.rows.subject.shape[1] + 16).all())
            and bool((window.rows.lengths[:, 2] <= window.rows.subject.shape[1]).all())
        )
        if not sound:
            raise ModelFileError("the state of the detector is inconsistent; start with an empty window")
        return window


def _copy(source: np.ndarray, target: np.ndarray, name: str) -> None:
    if source.shape != target.shape or source.dtype != target.dtype:
        raise ModelFileError(
            f"the state's array {name!r} has shape {source.shape} of {source.dtype}, expected {target.shape} of "
            f"{target.dtype}; it was made by another version, start with an empty window"
        )
    target[...] = source
