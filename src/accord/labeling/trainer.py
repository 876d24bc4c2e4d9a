"""Training in the background: the page never waits for it.

One thread looks whether there are answers that the model has not seen, learns them and chooses the next questions.
What takes long is left to another one: learning all answers again, where the last ones came on top, and the panel.
What is published is complete: the page reads one attribute.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from accord.labeling.live.base import Live, Model, Question
from accord.labeling.live.kinds import first
from accord.labeling.panel import Panel, steps
from accord.labeling.store import Store

LOG = logging.getLogger("accord.labeling")
QUESTIONS = 16  # that are ready to be asked
_QUIET = 1.0  # seconds without an answer after which there is time
_OFTEN = 25  # answers
_PATIENCE = 0.5  # seconds between looks at the store: other programs may write to it


@dataclass(frozen=True)
class Published:
    """What the page shows; made anew, never changed."""

    revision: int = 0
    version: int = -1  # of the store, whose answers the model has seen
    model: Model | None = None
    questions: list[Question] = field(default_factory=list)
    panel: Panel | None = None
    seconds: float = 0.0  # that training took
    trouble: str = ""


class Trainer:
    """Two threads with a model."""

    def __init__(self, live: Live, store: Store, seed: int = 0) -> None:
        self.live, self.store, self.now = live, store, Published()
        self._rng, self._seed = np.random.default_rng(seed), seed
        self._wake, self._ended, self._lock = threading.Event(), threading.Event(), threading.Lock()
        self._work: Iterator[Panel | None] | None = None
        self._came, self._whole = 0.0, -1  # when answers came last; version of the store that was learned as a whole
        self._measured = -1  # version of the store that the panel is of
        self._fitted: Model | None = None  # learned from all answers at once, and not published yet
        works = {"accord-labeling": (self.learn, self._wake), "accord-panel": (self.improve, self._ended)}
        self._threads = [
            threading.Thread(target=self._run, args=work, name=name, daemon=True) for name, work in works.items()
        ]

    def start(self) -> Trainer:
        """Begin."""
        for thread in self._threads:
            thread.start()
        return self

    def stop(self) -> None:
        """End after the step that is done now."""
        self._ended.set()
        self._wake.set()
        for thread in self._threads:
            thread.join(30)

    def wake(self) -> None:
        """There are new answers."""
        self._wake.set()

    def wait(self, version: int, seconds: float = 120.0) -> Published:
        """Until the model has seen the answers up to this version of the store; for terminals and tests."""
        end = time.monotonic() + seconds
        while self.now.version < version and time.monotonic() < end:
            time.sleep(0.005)
        return self.now

    def _run(self, work: Callable[[], bool], wakes: threading.Event) -> None:
        with threadpool_limits(limits=1, user_api="blas"):  # two threads that wait for each other would take longer
            while not self._ended.is_set():
                if wakes is self._wake:
                    wakes.clear()
                try:
                    busy = work()
                except Exception as error:
                    LOG.exception("training failed")
                    self._work, self._measured, busy = None, self.now.version, False
                    tried = {"version": self.store.version} if work == self.learn else {}
                    self._publish(**tried, trouble=f"the model could not be trained: {error}")
                if not busy:
                    wakes.wait(_PATIENCE)

    def step(self) -> bool:
        """Do what is most urgent, where no threads are; whether there was anything."""
        return self.learn() or self.improve()

    # -- what is urgent ---------------------------------------------------------------------------------------------
    def learn(self) -> bool:
        """Learn answers that are new, and choose the next questions."""
        version, fitted = self.store.version, self._fitted
        if version == self.now.version and fitted is None:
            return False
        began = time.monotonic()
        if version != self.now.version:
            self._came = began
        self._fitted = None
        truth = self.store.truth()
        model = self.live.learn(truth, fitted or self.now.model)
        left = [key for key in self.live.candidates() if key not in truth]
        if model is None:
            self._publish(version=version, model=None, questions=first(self.live, left, QUESTIONS, self._rng))
            return True
        questions = model.rank(left, QUESTIONS, self._rng)
        if getattr(model, "is_whole", True):
            self._whole = version
        self._publish(version=version, model=model, questions=questions, trouble="", seconds=time.monotonic() - began)
        return True

    # -- what has time ------------------------------------------------------------------------------------------------
    def improve(self) -> bool:
        """Learn all answers again if the last ones came on top, or do a step of work at the panel."""
        now, quiet = self.now, self._is_quiet()
        if now.version < 0:
            return False
        if not getattr(now.model, "is_whole", True) and (quiet or now.version - self._whole > _OFTEN):
            self._fitted = self.live.learn(self.store.truth())
            self._whole = now.version
            self._wake.set()
            return True
        behind = now.version - self._measured
        if self._work is None and behind and (quiet or behind > _OFTEN):
            self._work = steps(self.live, self.store.truth(), now.model, self._seed)
            self._measured = now.version
        if self._work is None:
            return False
        panel = next(self._work, None)
        if panel is not None:
            self._work = None
            self._publish(panel=panel)
        return True

    def _is_quiet(self) -> bool:
        return time.monotonic() - self._came > _QUIET or not self._threads[0].is_alive()

    def _publish(self, **changes: Any) -> None:
        with self._lock:
            before = {name: getattr(self.now, name) for name in self.now.__dataclass_fields__}
            self.now = Published(**{**before, **changes, "revision": self.now.revision + 1})
