"""Training time against the number of unlabeled sentences.

[thesis 5.4.3 and 6.5.4, Figures 5.3 left and 6.5; multiview_sequential, Figure 2 right; plotted only. The thesis says:
between linear and quadratic, for both learners; multiview_sequential: linear for the co-perceptron, quadratic for
the co-SVM.]
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from accord.datasets import Dataset, load
from accord.evaluation import Metric, Results, Task, draw, make_tasks
from accord.experiments.base import DataFolder, Experiment, mean_of
from accord.experiments.features import spanish_features
from accord.learners.consensus import CoPerceptron, CoSVM
from accord.learners.perceptron import StructuredPerceptron
from accord.structures.chains.sequence import Sequence
from accord.views.splits import RandomSplit

REPETITIONS = 3
N_LABELED = 20
UNLABELED = (125, 250, 500, 1000, 2000, 4000, 8000)
QUICK_UNLABELED = (50, 100, 200)
PASSES = {  # at most
    "perceptron, all labeled": 10,
    "co-perceptron": 10,
    "coSVM": 20,
}

# Method → (structure, seed) → learner
METHODS: dict[str, Callable[[Sequence, int], Any]] = {
    "perceptron, all labeled": lambda structure, seed: StructuredPerceptron(
        structure, spanish_features(), max_iter=PASSES["perceptron, all labeled"], averaged=False, random_state=seed
    ),
    "co-perceptron": lambda structure, seed: CoPerceptron(
        structure,
        RandomSplit(spanish_features()),
        0.01,
        max_iter=PASSES["co-perceptron"],
        averaged=False,
        random_state=seed,
    ),
    # it does not stop before the unlabeled weight has risen to its end, so it makes all its passes
    "coSVM": lambda structure, seed: CoSVM(
        structure,
        RandomSplit(spanish_features()),
        unlabeled_weight=0.001,
        ramp=PASSES["coSVM"],
        max_iter=PASSES["coSVM"],
        random_state=seed,
    ),
}


class ConsensusTime(Experiment):
    """Seconds of training, at a fixed number of passes."""

    name = "co-learning-time"
    title = "Training time against the number of unlabeled sentences"
    description = (
        f"CPU seconds of training (features included) on {N_LABELED} labeled and m unlabeled sentences of the Spanish "
        "CoNLL-2002 training set, of any length, with the features of the thesis split at random into two views: "
        f"co-perceptron with {PASSES['co-perceptron']} passes, co-SVM with {PASSES['coSVM']}. Beside them a perceptron "
        f"with one view and {PASSES['perceptron, all labeled']} passes to which the labels of all sentences are given. "
        "CPU time of one process, so that other programs do not count; code is compiled before."
    )
    data_sets = ("conll2002_esp",)
    metrics = (
        Metric("pass_seconds", "CPU seconds per pass", None, False),
        Metric("train_seconds", "CPU seconds of training", None, False),
    )
    x = "n_unlabeled"

    def tasks(self, quick: bool, seed: int) -> list[Task]:
        sizes, repetitions = (QUICK_UNLABELED, 2) if quick else (UNLABELED, REPETITIONS)
        return make_tasks(self.name, list(METHODS), {"n_unlabeled": sizes}, repetitions=repetitions, seed=seed)

    def load(self, data: DataFolder, quick: bool, seed: int) -> Dataset:
        corpus = load("conll2002_esp", data)
        for method in METHODS:  # compiles
            _train(method, corpus, 20, seed)
        return corpus

    def run_task(self, task: Task, loaded: Dataset) -> Mapping[str, float]:
        seconds, passes = _train(task.method, loaded, task.setting["n_unlabeled"], task.repetition_seed)
        return {"pass_seconds": seconds / passes, "train_seconds": seconds, "passes": passes}

    def notes(self, results: Results) -> list[str]:
        sizes = sorted({setting["n_unlabeled"] for setting in results.settings})
        sentences = []
        for method in METHODS:
            seconds = [mean_of(results, method, "pass_seconds", n_unlabeled=m) for m in sizes]
            passes = mean_of(results, method, "passes", n_unlabeled=sizes[-1])
            exponents = [exponent(sizes[k:], seconds[k:]) for k in (0, len(sizes) // 2)]
            sentences.append(
                f"{method}: the time of a pass grows as m to the power of {exponents[0]:.2f} ({exponents[1]:.2f} from "
                f"m = {sizes[len(sizes) // 2]} on; least squares of the logarithms). m = {sizes[-1]} takes "
                f"{seconds[-1] * passes:.1f} CPU seconds, {passes:.0f} passes. The thesis: between 1 and 2."
            )
        return sentences


def exponent(sizes: Any, seconds: Any) -> float:
    """Slope of log seconds over log sizes."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def _train(method: str, corpus: Dataset, n_unlabeled: int, seed: int) -> tuple[float, int]:
    """CPU seconds of a fit and its passes: a perceptron stops when there is nothing to correct."""
    parts = draw(corpus.Y, N_LABELED, n_unlabeled, 0, seed)
    X, Y = parts.training(corpus.X, corpus.Y)
    if method not in ("co-perceptron", "coSVM"):
        Y = [corpus.Y[i] for i in [*parts.labeled, *parts.unlabeled]]
    structure = Sequence(labels=sorted({label for y in corpus.Y for label in y}), normalize=False)
    learner = METHODS[method](structure, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # passes are few on purpose
        start = time.process_time()
        learner.fit(X, Y)
        return time.process_time() - start, len(learner.history_)
