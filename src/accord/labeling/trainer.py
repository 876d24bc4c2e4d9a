"""Training in the background: the page never waits for it.

One thread looks whether there are answers that the model has not seen, learns them, chooses the next questions, and
works at the panel while there is nothing else to do. What it publishes is complete: the page reads one attribute.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from accord.labeling.live.base import Live, Model, Question
from accord.labeling.live.kinds import first
from accord.labeling.panel import Panel, steps
from accord.labeling.store import Store

LOG = logging.getLogger("accord.labeling")
QUESTIONS = 32  # that are ready to be asked
_QUIET = 3.0  # seconds without an answer after which there is time
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
    """A thread with a model."""

    def __init__(self, live: Live, store: Store, seed: int = 0) -> None:
        self.live, self.store, self.now = live, store, Published()
        self._rng, self._seed = np.random.default_rng(seed), seed
        self._wake, self._ended = threading.Event(), threading.Event()
        self._work: Iterator[Panel | None] | None = None
        self._came, self._whole = 0.0, -1  # when answers came last; version of the store that was learned as a whole
        self._measured = -1  # version of the store that the panel is of
        self._thread = threading.Thread(target=self._run, name="accord-labeling", daemon=True)

    def start(self) -> Trainer:
        """Begin."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """End after the step that is done now."""
        self._ended.set()
        self._wake.set()
        self._thread.join(30)

    def wake(self) -> None:
        """There are new answers."""
        self._wake.set()

    def wait(self, version: int, seconds: float = 30.0) -> Published:
        """Until the model has seen the answers up to this version of the store; for terminals and tests."""
        end = time.monotonic() + seconds
        while self.now.version < version and time.monotonic() < end:
            time.sleep(0.005)
        return self.now

    def _run(self) -> None:
        with threadpool_limits(limits=1, user_api="blas"):  # two threads that wait for each other would take longer
            while not self._ended.is_set():
                self._wake.clear()
                try:
                    busy = self.step()
                except Exception as error:
                    LOG.exception("training failed")
                    self._work = None
                    self._publish(version=self.store.version, trouble=f"the model could not be trained: {error}")
                    self._measured, busy = self.now.version, False
                if not busy:
                    self._wake.wait(_PATIENCE)

    def step(self) -> bool:
        """Do what is most urgent; whether there was anything."""
        version = self.store.version
        if version != self.now.version:
            self._learn(version)
            return True
        if not getattr(self.now.model, "is_whole", True) and self._has_time():
            self._learn(version, whole=True)
            return True
        if self._work is None and self._measured != version:
            self._work, self._measured = steps(self.live, self.store.truth(), self.now.model, self._seed), version
        if self._work is None:
            return False
        panel = next(self._work, None)
        if panel is not None:
            self._work = None
            self._publish(panel=panel)
        return True

    def _has_time(self) -> bool:
        """Whether to learn all answers again, where the last ones came on top: nobody answers, or they are many."""
        return time.monotonic() - self._came > _QUIET or self.now.version - self._whole > _OFTEN

    def _learn(self, version: int, whole: bool = False) -> None:
        began = time.monotonic()
        self._came = self._came if whole else began
        truth = self.store.truth()
        model = self.live.learn(truth, None if whole else self.now.model)
        seen = set(truth)
        left = [key for key in self.live.candidates() if key not in seen]
        if model is None:
            self._publish(version=version, model=None, questions=first(self.live, left, QUESTIONS, self._rng))
            return
        questions = model.rank(left, QUESTIONS, self._rng)
        if getattr(model, "is_whole", True):
            self._whole = version
        self._publish(version=version, model=model, questions=questions, trouble="", seconds=time.monotonic() - began)

    def _publish(self, **changes: Any) -> None:
        before = {name: getattr(self.now, name) for name in self.now.__dataclass_fields__}
        self.now = Published(**{**before, **changes, "revision": self.now.revision + 1})
