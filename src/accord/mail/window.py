"""The window of the detector: a ring of signatures, and the batches that have members in it.

Memory is bounded: a batch is forgotten, size and sums included, when its last member has left the window.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from accord.forms import ANY, COUNT, Unfit, array, prove
from accord.kernels.mail.pairs import Signatures
from accord.kernels.mail.sieve import columns_of, put_row
from accord.kernels.mail.text import merge_counts
from accord.mail.config import MAX_WINDOW
from accord.mail.signature import MARKS, ROWS, Signature, are_sound, empty_signatures
from accord.settings import whole

MAX_WORDS = 1024  # distinct words that are summed up per batch
_LARGEST = 1 << 62  # that numbers which go on growing may have reached
_SENDER, _SUBJECT = MARKS.index("sender"), MARKS.index("subject")
_NO_WORDS = (np.empty(0, np.uint32), np.empty(0, np.int64))
_NUMBERS = ("size", "first", "n_rows", "next_serial")
_ARRAYS = (
    "places", "compared", "received", "serials", "sizes", "members", "subjects", "senders",
    "same_subject", "same_sender",
)  # fmt: skip
_WORDS = ("lengths", "words", "counts")
STATE_ARRAYS = {
    *_ARRAYS,
    "free",
    *(f"rows.{name}" for name in Signatures._fields),
    *(f"words.{name}" for name in _WORDS),
}


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
        self.rows = empty_signatures(size if n_rows is None else n_rows)
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

    def ready(self, weights: np.ndarray) -> Window:
        """Prepare for `add`, and for comparing with these weights of features."""
        self.weights = weights
        self.columns = columns_of(self.rows, weights)
        return self

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
        put_row(mail.row, self.rows, self.columns, row)
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
            before, new = self.words[place], (mail.words, mail.counts)  # lists that nobody changes
            is_first = before[0].size == 0 and mail.words.size <= MAX_WORDS
            self.words[place] = new if is_first else merge_counts(*before, *new, MAX_WORDS)

    def statistics(self, place: int) -> BatchStatistics:
        same = bool(self.same_subject[place]), bool(self.same_sender[place])
        return BatchStatistics(int(self.sizes[place]), *same, *self.words[place])

    # -- state ----------------------------------------------------------------------------------------------------
    def state(self) -> WindowState:
        """Copies of everything."""
        return self.copied().joined()

    def copied(self) -> WindowState:
        """The same, but for words, which `WindowState.joined` puts together: it takes longest, and needs no window."""
        kept = {name: getattr(self, name) for name in _NUMBERS}
        kept |= {name: getattr(self, name).copy() for name in _ARRAYS}
        rows = Signatures(*(column.copy() for column in self.rows))
        return WindowState(rows=rows, lists=list(self.words), free=np.array(self.free, np.int64), **kept)

    @classmethod
    def from_state(cls, state: WindowState) -> Window:
        """A window as it was when ``state`` was called; the state, which has been proved, is its own from now on."""
        window = cls.__new__(cls)
        for name in (*_NUMBERS, *_ARRAYS):
            setattr(window, name, getattr(state, name))
        window.rows = state.rows
        window.free = state.free.tolist()
        ends = np.cumsum(state.lengths)[:-1]
        window.words = list(zip(np.split(state.words, ends), np.split(state.counts, ends)))
        return window


class WindowState(SimpleNamespace):
    """A window as it is kept: numbers and arrays, with the words of all batches one after the other."""

    stored: ClassVar = {
        "size": whole(1, MAX_WINDOW),
        "first": COUNT,
        "n_rows": COUNT,
        "next_serial": whole(1, _LARGEST),
        "rows": ROWS,
        "places": array("i8", "size", least=-1, below="size"),
        "compared": array("i8", "size", least=-1, below="size"),
        "received": array("f8", "size"),
        "serials": array("i8", "size", least=0, below="next_serial"),
        "sizes": array("i8", "size", least=0, below=_LARGEST),
        "members": array("i8", "size", least=0),
        "subjects": array("u4", "size"),
        "senders": array("u4", "size"),
        "same_subject": array("b1", "size"),
        "same_sender": array("b1", "size"),
        "free": array("i8", ANY, least=0, below="size"),
        "lengths": array("i8", "size", least=0, below=MAX_WORDS + 1),
        "words": array("u4", "n_words"),
        "counts": array("i8", "n_words", least=1, below=_LARGEST),
    }
    agrees: ClassVar = {
        "the rows are signatures": lambda self: are_sound(self.rows),
        "mails stand in the rows in use": lambda self: self._is_ring(),
        "what is compared with is in the window": lambda self: bool(
            ((self.compared == self.places) | (self.compared == -1)).all()
        ),
        "every place is free, or that of one batch": lambda self: np.array_equal(
            np.sort(np.concatenate([self.free, self._taken])), np.arange(self.size)
        ),
        "batches know their members": lambda self: self._is_counted(),
        "batches have numbers of their own": lambda self: bool(
            (np.diff(np.sort(self.serials[self._taken]), prepend=0) > 0).all()
        ),
        "batches have lists of words": lambda self: self._is_listed(),
    }

    def joined(self) -> WindowState:
        """This state with all words one after the other; lists of words are never changed, only replaced."""
        lists = vars(self).pop("lists")
        self.lengths = np.array([words.size for words, _ in lists], np.int64)
        self.words = np.concatenate([words for words, _ in lists])
        self.counts = np.concatenate([counts for _, counts in lists])
        return self

    @property
    def _taken(self) -> np.ndarray:
        """The places of batches."""
        return np.unique(self.places[self.places >= 0])

    def _is_ring(self) -> bool:
        if not (self.first < self.size and self.n_rows <= self.size):
            return False
        used = (self.first + np.arange(self.n_rows)) % self.size
        is_mail = self.places >= 0
        begins = bool(is_mail[self.first]) if self.n_rows else self.first == 0
        return begins and np.count_nonzero(is_mail) == np.count_nonzero(is_mail[used])

    def _is_counted(self) -> bool:
        members = np.bincount(self.places[self.places >= 0], minlength=self.size)
        taken = self._taken
        return bool((members[taken] == self.members[taken]).all() and (members[taken] <= self.sizes[taken]).all())

    def _is_listed(self) -> bool:
        """Whether every batch has a list of distinct words in order, and no other place has one."""
        if self.lengths.sum() != self.words.size or self.lengths[self.free].any():
            return False
        owners = np.repeat(np.arange(self.size), self.lengths)
        rises = np.diff(self.words.astype(np.int64)) > 0
        return bool((rises | (np.diff(owners) > 0)).all())

    # -- files ----------------------------------------------------------------------------------------------------
    def packed(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Numbers and arrays by the names that they have in a file."""
        arrays = {name: getattr(self, name) for name in (*_ARRAYS, "free")}
        arrays |= {f"rows.{name}": column for name, column in self.rows._asdict().items()}
        arrays |= {f"words.{name}": getattr(self, name) for name in _WORDS}
        return {name: getattr(self, name) for name in _NUMBERS}, arrays

    @classmethod
    def unpacked(cls, numbers: Any, arrays: Mapping[str, np.ndarray]) -> WindowState:
        """The opposite of `packed`; raises :class:`Unfit` unless everything is there and fits together."""
        if not isinstance(numbers, dict):
            raise Unfit("there are no numbers of a window")
        try:
            state = cls(
                rows=Signatures(*(arrays[f"rows.{name}"] for name in Signatures._fields)),
                **{name: numbers[name] for name in _NUMBERS},
                **{name: arrays[name] for name in (*_ARRAYS, "free")},
                **{name: arrays[f"words.{name}"] for name in _WORDS},
            )
        except KeyError as missing:
            raise Unfit(f"there is no {missing}") from missing
        prove(state, "window")
        return state
