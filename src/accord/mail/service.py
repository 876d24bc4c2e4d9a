"""The detector behind a bounded queue: what milter and HTTP service share.

One thread takes messages from the queue and asks the detector, another writes checkpoints; whoever has a message gets
a future. A full queue is an error at once, an exception of the detector is an error of that message alone, and no
state is ever half written: `BatchDetector.save` replaces its file in one step.
"""

from __future__ import annotations

import logging
import queue
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import asdict, is_dataclass, replace
from typing import Any, NamedTuple, TypeVar

from accord.exceptions import AccordError, InputError
from accord.mail.config import DetectorSettings, LimitSettings
from accord.mail.counters import Counters
from accord.mail.dashboard import Board
from accord.mail.detector import BatchDetector, Explanation
from accord.mail.message import Message
from accord.mail.signature import Signature
from accord.mail.spam import CollectiveSpamFilter
from accord.mail.state_file import ID_BLOCK, claim_state, jump_ids, release_state, restore_state
from accord.model_file import load

LOG = logging.getLogger("accord.mail")
T = TypeVar("T")


class Overloaded(AccordError):
    """The queue is full, or the service is stopping."""


class Verdict(NamedTuple):
    """What became of a message."""

    batch: str
    size: int  # messages of the batch so far, this one included
    similarity: float
    is_new: bool
    short: bool  # too little text to be compared
    score: float | None = None  # of the spam filter, if there is one


class _Job(NamedTuple):
    work: Callable[[], Any]
    answer: Future[Any]
    since: float


class MailService:
    """A detector that several connections use.

    Parameters
    ----------
    detector : BatchDetector
        Or anything with its ``assign_detailed``, ``explain`` and ``save``.
    spam_filter : CollectiveSpamFilter, optional
        Adds a score to every verdict.
    settings : DetectorSettings, optional
        Where and how often the state is written.
    limits : LimitSettings, optional
        Length of the queue and time until an answer is given up.
    """

    def __init__(
        self,
        detector: BatchDetector,
        spam_filter: CollectiveSpamFilter | None = None,
        settings: DetectorSettings | None = None,
        limits: LimitSettings | None = None,
    ) -> None:
        self.detector, self.spam_filter = detector, spam_filter
        self.settings, self.limits = settings or DetectorSettings(), limits or LimitSettings()
        self.counters, self.board = Counters(), Board()
        self.started = time.time()
        self._queue: queue.Queue[_Job | None] = queue.Queue(self.limits.queue)
        self._stopping = threading.Event()
        self._wake = threading.Event()  # the checkpointer has something to do
        self._deciding = threading.Lock()  # about one message at a time
        self._saving = threading.Lock()  # an older state must not replace a newer one
        # Numbers of messages: looked at so far, and when the state was written, or last tried to be.
        self._assigned = self._saved = self._tried = 0
        self._last_safe = ID_BLOCK  # number of the message after which ids might be given again after a crash
        self._threads = [
            threading.Thread(target=self._work, name="accord-mail-work", daemon=True),
            threading.Thread(target=self._keep, name="accord-mail-keep", daemon=True),
        ]

    # -- use ------------------------------------------------------------------------------------------------------
    def start(self) -> MailService:
        """Start the threads."""
        for thread in self._threads:
            thread.start()
        return self

    def assign(self, raw: bytes, received: float | None = None) -> Future[Verdict]:
        """Put a message into the queue; cancel the future if the answer is no longer wanted."""
        return self._submit(lambda: self._assign(raw, received))

    def decide(self, mail: Signature, message: Message, received: float, since: float) -> Verdict:
        """The verdict on a message that another process took apart and signed, which began at `since`."""
        if self._stopping.is_set():
            raise Overloaded("the service is stopping")
        found = self._assign(mail, received, message)
        self._took(since)
        return found

    def explain(self, raw: bytes) -> Future[Explanation]:
        """Ask why a message would join a batch; nothing is remembered of it."""
        return self._submit(lambda: self.detector.explain(raw))

    @property
    def waiting(self) -> int:
        """Messages in the queue."""
        return self._queue.qsize()

    @property
    def is_alive(self) -> bool:
        """Whether messages are still answered."""
        return self._threads[0].is_alive() and not self._stopping.is_set()

    def stop(self, seconds: float = 10.0) -> None:
        """Answer what is in the queue, write the state, and end."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        deadline = time.monotonic() + seconds
        try:
            self._queue.put(None, timeout=seconds)
        except queue.Full:
            LOG.warning("messages are still waiting after %.0f seconds; they go through without an answer", seconds)
        self._wake.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(0.0, deadline - time.monotonic()))
        if self._assigned != self._saved:
            self.checkpoint()
        release_state(self.settings.state)

    def checkpoint(self) -> bool:
        """Write the state now, if it is to be kept; True if it was written."""
        if not self.settings.state:
            return False
        with self._saving:
            # what is counted now is in the state; what comes in while it is written may be
            self._tried = assigned = self._assigned
            try:
                self.detector.save(self.settings.state)
            except Exception as error:  # a full disk must not stop the mail
                self.counters.checkpoint_errors += 1
                LOG.error("the state could not be written to %s: %s", self.settings.state, error)
                return False
            self._saved, self._last_safe = assigned, assigned + ID_BLOCK
        self.counters.checkpoints += 1
        self.counters.last_checkpoint = time.time()
        return True

    def reserve_ids(self) -> None:
        """Make the next `ID_BLOCK` ids safe: after a crash, none of them is given to another batch.

        A restart leaves out `ID_BLOCK` ids from the last state on, and every message takes one at most. So the ids of
        so many messages after a checkpoint are safe; without one, ids go on where a restart does not get.
        """
        if not self.checkpoint():
            jump_ids(self.detector)
            self._last_safe = self._assigned + ID_BLOCK

    # -- threads --------------------------------------------------------------------------------------------------
    def _submit(self, work: Callable[[], T]) -> Future[T]:
        if self._stopping.is_set():
            raise Overloaded("the service is stopping")
        answer: Future[T] = Future()
        try:
            self._queue.put_nowait(_Job(work, answer, time.perf_counter()))
        except queue.Full:
            raise Overloaded(f"{self.limits.queue} messages are waiting already") from None
        return answer

    def _assign(self, raw: bytes | Signature, received: float | None, message: Message | None = None) -> Verdict:
        with self._deciding:
            if self.settings.state and self._assigned >= self._last_safe:
                self.reserve_ids()
            try:
                found = self.detector.assign_detailed(raw, received)
            finally:  # a message that failed may have an id as well
                self._assigned += 1
            if self._assigned - self._tried >= self.settings.checkpoint_messages:
                self._wake.set()
        if message is not None:
            found = replace(found, message=message)
        score = None if self.spam_filter is None else float(self.spam_filter.decision(found))
        self.board.take(found, score)
        return Verdict(found.batch, found.size, found.similarity, found.is_new, found.short, score)

    def _took(self, since: float) -> None:
        with self._deciding:  # several threads may be done at a time
            self.counters.took(time.perf_counter() - since)

    def _work(self) -> None:
        while (job := self._queue.get()) is not None:
            if not job.answer.set_running_or_notify_cancel():
                continue  # nobody waits for it any more
            try:
                result = job.work()
            except Exception as error:
                LOG.exception("the detector failed")
                job.answer.set_exception(error)
            else:
                self._took(job.since)
                job.answer.set_result(result)

    def _keep(self) -> None:
        while not self._stopping.is_set():
            self._wake.wait(self.settings.checkpoint_seconds)
            self._wake.clear()
            if self._assigned != self._saved and not self._stopping.is_set():
                self.checkpoint()


def plain(value: Any) -> Any:
    """An answer as what JSON holds: named tuples and dataclasses as objects, NumPy's numbers as numbers."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return None
    return value.tolist() if hasattr(value, "tolist") else value


# -- making one -----------------------------------------------------------------------------------------------------
def open_service(settings: DetectorSettings, limits: LimitSettings | None = None) -> MailService:
    """A service with the model, the spam filter and the kept state that the settings name; not started yet.

    Until it is stopped, no other process can use the state.
    """
    spam_filter = open_filter(settings)  # first: if it cannot be used, the state stays as it is
    detector, is_restored = _opened(settings, None)
    service = MailService(detector, spam_filter, settings, limits)
    if is_restored:  # otherwise two crashes in a row would go back to the same ids
        service.reserve_ids()
    return service


def open_detector(settings: DetectorSettings, prefix: str | None = None) -> BatchDetector:
    """The detector that the settings describe, with the window of its state file if that is there and fits.

    `prefix` begins the batches' ids. By default it is drawn, so that no id is used twice, neither after a start without
    a state nor by two servers. No other process can use the state until this one ends.
    """
    return _opened(settings, prefix)[0]


def _opened(settings: DetectorSettings, prefix: str | None) -> tuple[BatchDetector, bool]:
    """The detector, and whether its window comes from the state."""
    if settings.state:
        claim_state(settings.state)
    model = load(settings.model) if settings.model else None
    drawn = f"{secrets.token_hex(3)}-" if prefix is None else prefix
    options: dict[str, Any] = {"max_age": settings.max_age or None, "min_words": settings.min_words}
    fresh = BatchDetector(model, settings.window, prefix=drawn, **options)
    kept = restore_state(settings.state, fresh) if settings.state else None
    if kept is None:
        return fresh, False
    kept.max_age, kept.min_words = fresh.max_age, fresh.min_words
    if kept.prefix != prefix:
        # The state of a service, which may have crashed. Who chose the ids' prefix begins with the same ids every time
        # there is no state, and goes on counting where there is one.
        kept.skip_ids(ID_BLOCK)
    LOG.info("%d messages restored from %s", len(kept), settings.state)
    return kept, True


def open_filter(settings: DetectorSettings) -> CollectiveSpamFilter | None:
    """The spam filter that the settings name, or None."""
    if not settings.spam_filter:
        return None
    found = load(settings.spam_filter)
    if not isinstance(found, CollectiveSpamFilter):
        raise InputError(
            f"detector.spam_filter is {settings.spam_filter!r}, which holds a {type(found).__name__}; expected a "
            "CollectiveSpamFilter, as `accord mail train --spam-filter FILE` writes it"
        )
    return found


def warm_up(detector: BatchDetector) -> None:
    """Compile what the detector needs before the first mail comes; the detector itself is not changed."""
    other = BatchDetector(detector.similarity, window=2)
    text = b"From: a@example.org\nSubject: a\n\nWords that are enough to be compared with each other.\n"
    for raw in (text, text.replace(b"\n\n", b"\nContent-Type: text/html\n\n<p>"), text):
        other.assign(raw)
        other.explain(raw)
