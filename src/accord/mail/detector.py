"""Batches in a stream of mail: each mail joins the batch it is most similar to, or opens one, at once and for good.

The similarity of two mails is a weighted sum of features (`MailPairs`) whose weights a `ClusteringSVM` learned. A new
mail joins the batch with the largest sum of similarities to its members in the window if that sum is at least zero
[thesis, Table 8.2 and Decoding Strategy 8.1]; of equal sums the oldest batch's counts. The window bounds time and
memory.
"""

from __future__ import annotations

import math
import re
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from accord.exceptions import InputError, ModelFileError
from accord.forms import COUNT, FLAG, Unfit, prove
from accord.kernels.mail.batches import are_alike, best_batch
from accord.kernels.mail.pairs import HIGH, features_between
from accord.learners.clustering import ClusteringSVM
from accord.mail.config import MAX_WINDOW
from accord.mail.features import NAMES
from accord.mail.message import Message, parse
from accord.mail.model import SIMILARITY, Similarity, similarity_of
from accord.mail.signature import MARKS, Signature, checked, sign
from accord.mail.window import BatchStatistics, Window, WindowState
from accord.persistence import read_model, write_model
from accord.settings import Expected, is_real, whole

LITTLE_TEXT = 25  # words; mails with fewer need more than a frame in common
_CONTENT = np.array([MARKS.index(name) for name in ("body words", "attachment")])
_LINK = np.array([MARKS.index(name) for name in ("first link host", "first link path")])
_KIND = "BatchDetector"
_SETTINGS = ("max_age", "min_words", "keep_words", "prefix")
_WINDOW = whole(1, MAX_WINDOW)
_MAX_AGE = Expected("a positive number of seconds, or None", lambda s: s is None or (is_real(s) and s > 0))
_PREFIX = Expected(  # ids are written into headers of mail
    "a string of at most 40 printable ASCII characters without spaces",
    lambda text: isinstance(text, str) and re.fullmatch("[!-~]{0,40}", text) is not None,
)


@dataclass(frozen=True, slots=True)
class Assignment:
    """The decision about one mail."""

    batch: str  # ids are never used again
    size: int  # mails in the batch so far, this one and those that left the window included
    # sum over the members in the window; for a mail that opened a batch below zero, or -inf if nothing came near
    similarity: float
    is_new: bool  # it opened the batch
    short: bool  # it has too little text to be compared, so it has a batch of its own
    statistics: BatchStatistics = field(repr=False)  # of the batch, for `CollectiveSpamFilter`
    message: Message | None = field(default=None, repr=False)  # the mail, for the same; None if it came as a signature


@dataclass(frozen=True, slots=True)
class Explanation:
    """Which batch a mail would join, and why: ``contributions[name]`` is weight times feature, summed over members."""

    batch: str | None  # the best one, even if its similarity is too small; None: nothing to compare
    joins: bool
    similarity: float
    n_members: int
    short: bool
    contributions: dict[str, float]  # the largest in size first; they add up to the similarity


class BatchDetector:
    """Finds batches in a stream of mail.

    Parameters
    ----------
    model : ClusteringSVM, optional
        Fitted with ``pair_features=MailPairs()``; default: the model that comes with Accord, learned on generated mail.
    window : int, default 5000
        Number of recent mails that a new one is compared with; at most 10 million.
    max_age : float, optional
        Mails leave the window after so many seconds, too.
    min_words : int, default 5
        A mail with fewer words of text, no link and no attachment is *short*: it gets a batch of its own, and no other
        mail is compared with it. Two mails that say "Thanks!" have nothing to do with each other.
    keep_words : bool, default True
        Sum up the words of each batch, which `CollectiveSpamFilter` needs (at most 1024 words per batch).
    prefix : str, default "b"
        Batch ids are this and a number; at most 40 letters, digits and signs of ASCII, no spaces.

    Examples
    --------
    >>> from accord import BatchDetector
    >>> detector = BatchDetector(window=1000)
    >>> offer = b"From: %s\\nSubject: offer\\n\\nWe are accepting your mortgage application, fill out http://x.example/%d"
    >>> detector.assign(offer % (b"ann@a.example", 1)), detector.assign(offer % (b"bob@b.example", 2))
    ('b1', 'b1')
    >>> detector.assign(b"From: eve@c.example\\n\\nShall we have lunch on Thursday after the meeting?")
    'b2'
    """

    stored: ClassVar = {
        "similarity": SIMILARITY,
        "window": whole(1),
        "max_age": _MAX_AGE,
        "min_words": COUNT,
        "keep_words": FLAG,
        "prefix": _PREFIX,
    }

    def __init__(
        self,
        model: ClusteringSVM | Similarity | None = None,
        window: int = 5000,
        max_age: float | None = None,
        min_words: int = 5,
        keep_words: bool = True,
        prefix: str = "b",
    ) -> None:
        _WINDOW.check("window", window)
        _MAX_AGE.check("max_age", max_age)
        whole(0).check("min_words", min_words)
        _PREFIX.check("prefix", prefix)
        self.similarity: Similarity = similarity_of(model)
        self.window, self.max_age, self.min_words = int(window), max_age, int(min_words)
        self.keep_words, self.prefix = bool(keep_words), prefix
        self._start(Window(self.window))

    def _start(self, window: Window) -> None:
        self._window = window.ready(self.similarity.weights)
        self._lock = threading.Lock()
        self._prune = True
        n = window.size
        self._room = np.empty(n, np.int64), np.empty(n), np.empty(n, np.int32), np.empty(n)

    def __len__(self) -> int:
        """Number of mails in the window."""
        return self._window.n_mails

    @property
    def n_batches(self) -> int:
        """Number of batches with members in the window."""
        return self._window.n_batches

    @property
    def last_received(self) -> float | None:
        """When the last mail came (seconds since 1970); None if the window is empty."""
        return self._window.latest

    def sign(self, raw: bytes | Message) -> Signature:
        """The signature of a mail, which `assign` takes as well: to compute it elsewhere, in another process."""
        return sign(raw, self.similarity.idf)

    def assign(self, raw: bytes | Message | Signature, received: float | None = None) -> str:
        """The batch of a mail; see `assign_detailed`."""
        return self.assign_detailed(raw, received).batch

    def assign_detailed(self, raw: bytes | Message | Signature, received: float | None = None) -> Assignment:
        """Decide about a mail and take it into the window. May be called from several threads.

        Parameters
        ----------
        raw : bytes
            The mail as it came; malformed mail is no error. Or what `sign` makes of it.
        received : float, optional
            When it came (seconds since 1970); default: now. Only `max_age` looks at it: mails that came longer before
            leave the window.
        """
        message = None if isinstance(raw, Signature) else raw if isinstance(raw, Message) else parse(raw)
        mail = checked(raw, "raw") if isinstance(raw, Signature) else self.sign(message or raw)
        now = _seconds(received)
        with self._lock:
            window = self._window
            if self.max_age is not None:
                window.expire(now - self.max_age)
            short = self._is_short(mail)
            place, similarity = (-1, -np.inf) if short else self._best(mail, window.compared)
            is_new = place < 0
            place = window.add(mail, None if is_new else place, now, self.keep_words, short)
            statistics = window.statistics(place)
            return Assignment(self._name(place), statistics.size, similarity, is_new, short, statistics, message)

    def explain(self, raw: bytes | Message | Signature, received: float | None = None) -> Explanation:
        """Which batch a mail would join if it came now, or at the time `received`, and the part of each feature in it.

        Changes nothing.

        Examples
        --------
        >>> detector = BatchDetector()
        >>> offer = b"From: %s\\n\\nWe are accepting your mortgage application, fill out http://x.example/%d"
        >>> found = detector.assign(offer % (b"ann@a.example", 1)), detector.explain(offer % (b"bob@b.example", 2))
        >>> found[0], found[1].joins, found[1].batch
        ('b1', True, 'b1')
        """
        mail = checked(raw, "raw") if isinstance(raw, Signature) else self.sign(raw)
        now = _seconds(received)
        with self._lock:
            window = self._window
            compared = window.compared_since(None if self.max_age is None else now - self.max_age)
            sums = self._all_sums(mail, compared)
            if self._is_short(mail) or not sums:
                return Explanation(None, False, -np.inf, 0, self._is_short(mail), {})
            alike = self._alike(mail, compared, np.flatnonzero(compared[: window.n_used] >= 0)) & sums.keys()
            place = min(alike or sums, key=lambda p: (-sums[p], window.serials[p]))
            values = self._features(mail, np.flatnonzero(compared[: window.n_used] == place))
            parts = dict(zip(NAMES, values.sum(axis=0) * self.similarity.weights))
            parts["bias"] = self.similarity.bias * len(values)
            ordered = {k: float(v) for k, v in sorted(parts.items(), key=lambda item: -abs(item[1])) if v}
            total = float(sum(parts.values()))
            joins = place in alike and sums[place] >= 0
            return Explanation(self._name(place), joins, total, len(values), False, ordered)

    def skip_ids(self, n: int) -> None:
        """Leave out the next ``n`` ids: some may have been given to mails that a restored state knows nothing of."""
        with self._lock:
            self._window.next_serial += int(n)

    def statistics(self) -> dict[str, BatchStatistics]:
        """What is known about each batch with members in the window, the oldest batch first."""
        with self._lock:
            window = self._window
            places = np.unique(window.places[window.places >= 0])
            ordered = sorted(places.tolist(), key=lambda p: window.serials[p])
            return {self._name(p): window.statistics(p) for p in ordered}

    # -- state ----------------------------------------------------------------------------------------------------
    def save(self, path: str | Path) -> None:
        """Write everything to a file, in one step: a crash leaves the file that was there before.

        Only its owner may read it (mode 0600): words and addresses of mail can be guessed from signatures. Other
        threads can go on assigning while the file is written.
        """
        with self._lock:
            state = self._window.copied()
        state.joined()
        try:
            prove(self, _KIND)
            prove(state, "window")
        except Unfit as error:
            raise InputError(f"this detector cannot be saved: {error}") from error
        numbers, arrays = state.packed()
        settings = {name: getattr(self, name) for name in _SETTINGS}
        metadata = {"kind": _KIND, "settings": settings, "window": numbers, "features": NAMES}
        arrays |= {"weights": np.append(self.similarity.weights, self.similarity.bias), "idf": self.similarity.idf}
        write_model(path, metadata, arrays, private=True)

    checkpoint = save

    @classmethod
    def restore(cls, path: str | Path) -> BatchDetector:
        """A detector as it was when it was saved: it decides about further mail like the one that went on.

        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "state")
        >>> detector, offer = BatchDetector(), b"From: a@b.example\\n\\nFill out this form at http://x.example today"
        >>> batch = detector.assign(offer)
        >>> detector.save(path)
        >>> BatchDetector.restore(path).assign(offer) == batch
        True
        """
        metadata, arrays = read_model(path)
        if metadata.get("kind") != _KIND:
            raise ModelFileError(f"{path} is an Accord file, but not the state of a BatchDetector")
        if metadata.get("features") != NAMES:
            raise ModelFileError(f"{path} was made with other features of mails; start with an empty window")
        try:
            return cls._unpacked(metadata, arrays)
        except Unfit as error:
            raise ModelFileError(f"{path}: the state of the detector is damaged: {error}") from error

    @classmethod
    def _unpacked(cls, metadata: dict[str, Any], arrays: dict[str, np.ndarray]) -> BatchDetector:
        """A detector from the content of a file, of which nothing is used before it is proved."""
        window = WindowState.unpacked(metadata.get("window"), arrays)
        settings, weights = metadata.get("settings"), arrays.get("weights", np.empty(0))
        if not isinstance(settings, dict) or set(settings) != set(_SETTINGS):
            raise Unfit(f"the settings are not {', '.join(_SETTINGS)}")
        if weights.shape != (len(NAMES) + 1,):
            raise Unfit(f"weights have the shape {weights.shape}; expected {len(NAMES)} numbers and a bias")
        detector = cls.__new__(cls)
        detector.similarity = Similarity(weights[:-1].copy(), weights[-1].item(), arrays.get("idf", np.empty(0)))
        detector.window = window.size
        vars(detector).update(settings)
        prove(detector, _KIND)
        detector._start(Window.from_state(window))
        return detector

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_lock", "_room")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._start(self._window)

    # -- decisions ------------------------------------------------------------------------------------------------
    def _is_short(self, mail: Signature) -> bool:
        return mail.n_words < self.min_words and not mail.has_other_evidence

    def _best(self, mail: Signature, compared: np.ndarray) -> tuple[int, float]:
        """The place of the batch to join (-1: none), and its sum."""
        place, similarity, n = self._compare(mail, compared, self._prune)
        if place < 0 or mail.n_words >= LITTLE_TEXT:
            return place, similarity
        rows, sums = self._room[0][:n], self._room[3]
        alike = self._alike(mail, compared, rows)
        if place in alike:
            return place, similarity
        place = max(alike, key=lambda p: (sums[p], -self._window.serials[p]), default=-1)
        similarity = float(sums[place]) if place >= 0 else -np.inf
        return (place if similarity >= 0 else -1), similarity

    def _alike(self, mail: Signature, compared: np.ndarray, rows: np.ndarray) -> set[int]:
        """The batches in some rows that a mail has more than a frame in common with.

        Items of feeds, receipts and the like have a sentence of their own in a frame of the same words, links and
        headers, so their similarity only says that the frame is the same. With so little text, some member must have
        the same words, attachment or link, or a subject like this one.
        """
        if mail.n_words < LITTLE_TEXT:
            alike = np.empty(rows.size, np.bool_)
            are_alike(mail.row, self._window.rows, rows, _CONTENT, _LINK, 0.5, alike)
            rows = rows[alike]
        return set(compared[rows].tolist())

    def _features(self, mail: Signature, rows: np.ndarray) -> np.ndarray:
        """The features of a mail with each of some rows."""
        values = np.empty((1, len(rows), len(NAMES)))
        members = type(self._window.rows)(*(array[rows] for array in self._window.rows))
        features_between(mail.row, members, HIGH, values)
        return values[0]

    def _name(self, place: int) -> str:
        return f"{self.prefix}{self._window.serials[place]}"

    def _compare(self, mail: Signature, compared: np.ndarray, prune: bool) -> tuple[int, float, int]:
        """The place of the batch to join (-1: none), its sum, and how many rows were looked at (in ``_room[0]``)."""
        window, similarity = self._window, self.similarity
        if window.weights is not similarity.weights:  # somebody has given this detector another model
            window.ready(similarity.weights)
        return best_batch(
            mail.row, window.rows, window.columns, window.n_used, compared, window.serials, similarity.weights,
            similarity.bias, HIGH, prune, *self._room,
        )  # fmt: skip

    def _all_sums(self, mail: Signature, compared: np.ndarray) -> dict[int, float]:
        """The sum of similarities of every batch, computed without short cuts."""
        n = self._compare(mail, compared, prune=False)[2]
        rows, sums = self._room[0][:n], self._room[3]
        return {place: float(sums[place]) for place in np.unique(compared[rows]).tolist()}


def _seconds(received: float | None) -> float:
    if received is None:
        return time.time()
    try:
        seconds = float(received) if not isinstance(received, (str, bytes)) else math.nan
    except (TypeError, ValueError, OverflowError):
        seconds = math.nan
    if not math.isfinite(seconds):
        raise InputError(
            f"received={received!r} must be a finite number, seconds since 1970 (see datetime.timestamp), or None"
        )
    return seconds
