"""Training time against the number of examples."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from accord.datasets import load
from accord.evaluation import Metric, Task
from accord.experiments.base import DataFolder, Experiment

SECONDS = Metric("train_seconds", "CPU seconds of training", None, False)


class TrainingTime(Experiment):
    """CPU seconds of training by the setting `x`; by default on Spanish sentences.

    Attributes
    ----------
    warm_up : number of examples to compile with, before anything is measured
    """

    x: str
    data_sets: tuple[str, ...] = ("conll2002_esp",)
    repetitions = 3
    warm_up: int

    def load(self, data: DataFolder, quick: bool, seed: int) -> Any:
        loaded = self.read(data)
        for method in self.methods:
            self.run_task(Task(self.name, method, {self.x: self.warm_up}, 0, seed), loaded)
        return loaded

    def read(self, data: DataFolder) -> Any:
        """The examples."""
        return load(self.data_sets[0], data)


def cpu_seconds(learner: Any, X: Any, Y: Any) -> float:
    """CPU seconds of a fit, without its warnings: passes may be few on purpose."""
    with warnings.catch_warnings(action="ignore"):
        start = time.process_time()
        learner.fit(X, Y)
        return time.process_time() - start


def exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """Slope of log seconds over log sizes."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
