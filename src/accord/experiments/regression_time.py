"""Training time of co-regression against the number of unlabeled examples.

[thesis 4.4.2, Figure 4.2 right, plotted only: the exact mode takes cubic time, the semi-parametric one linear time
that is comparable to that of RLSR]
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np

from accord.evaluation import Metric, Results, Task
from accord.evaluation.panels import Line, plot_lines
from accord.experiments.base import DataFolder, Figures, grid, mean_of
from accord.experiments.regression_data import BY_RULES, LAMBDA, Examples, load_sets
from accord.experiments.training_time import TrainingTime, exponent

SET = "fried"
N_LABELED = 100
LAST = 3  # sizes at the upper end that the degree is fitted to
MAX_EXACT = 8000
ENOUGH, CALLS = 0.3, 5  # short fits are repeated until they took so many seconds, or so often; the shortest counts
SECONDS = Metric("train_seconds", "CPU seconds", None, False)

EXPECTED = {"RLSR": "comparable to semi-parametric coRLSR", "exact": "3", "semi-parametric": "1"}


class RegressionTime(TrainingTime):
    """Seconds to train on labeled and unlabeled examples and to predict the latter."""

    name = "co-regression-time"
    title = "Time of co-regression against the number of unlabeled examples"
    description = (
        f"CPU seconds to train on {N_LABELED} labeled and m unlabeled examples of {SET} (10 attributes, two views of "
        "five) and to predict the unlabeled ones, which is all that RLSR does with them. Unlabeled examples are drawn "
        "with replacement, since there are 40,768 different ones. Width and eta by the papers' rules, lambda 0.1, one "
        f"thread; the shortest of up to {CALLS} fits. The exact mode stops at m = {MAX_EXACT}."
    )
    data_sets = ("regression",)
    methods = BY_RULES
    metrics = (SECONDS,)
    x = "n_unlabeled"
    settings = grid(n_unlabeled=(125, 250, 500, 1000, 2000, 4000, 8000, 16_000, 64_000, 256_000))
    quick_settings = grid(n_unlabeled=(100, 200, 400, 800))
    warm_up = 100

    def left_out(self, task: Task) -> bool:
        return task.method == "exact" and task.setting["n_unlabeled"] > MAX_EXACT

    def read(self, data: DataFolder) -> Examples:
        return load_sets(data, [SET])[SET]

    def run_task(self, task: Task, loaded: Examples) -> Mapping[str, float]:
        m = task.setting["n_unlabeled"]
        return {SECONDS.name: _seconds(task.method, loaded, m, task.root_seed, task.repetition)}

    def figures(self, results: Results) -> Figures:
        lines = {}
        for method in results.methods:
            sizes, seconds = _curve(results, method)
            lines[f"{method}, degree {exponent(sizes[-LAST:], seconds[-LAST:]):.2f}"] = Line(sizes, seconds)
        panels, label = {"": lines}, "unlabeled examples"
        return {SECONDS.name: lambda dark: plot_lines(panels, label, SECONDS.label, log_x=True, dark=dark)}

    def notes(self, results: Results) -> list[str]:
        sentences = []
        for method in results.methods:
            sizes, seconds = _curve(results, method)
            degree = exponent(sizes[-LAST:], seconds[-LAST:])
            sentences.append(
                f"{method}: time grows as m to the power of {degree:.2f} from m = {sizes[-LAST:][0]} on (least squares "
                f"of the logarithms); m = {sizes[-1]} takes {seconds[-1]:.3g} CPU seconds. The thesis: "
                f"{EXPECTED[method]}."
            )
        (sizes, alone), (_, both) = (_curve(results, method) for method in ("RLSR", "semi-parametric"))
        sentences.append(
            f"Semi-parametric coRLSR takes {both[-1] / alone[-1]:.1f} times as long as RLSR at m = {sizes[-1]}: two "
            "views, and products of their kernel values beside the values themselves."
        )
        return sentences


def _curve(results: Results, method: str) -> tuple[list[int], list[float]]:
    """Sizes in order, and mean seconds."""
    sizes = sorted(s["n_unlabeled"] for s in results.where(method=method).settings)
    return sizes, [mean_of(results, method, SECONDS.name, n_unlabeled=m) for m in sizes]


def _seconds(method: str, examples: Examples, n_unlabeled: int, seed: int, run: int) -> float:
    rng = np.random.default_rng([seed, run])
    order = rng.permutation(len(examples))
    labeled, rest = order[:N_LABELED], order[N_LABELED:]
    X, y = examples.hidden(labeled, rng.choice(rest, n_unlabeled))
    seconds: list[float] = []
    while len(seconds) < CALLS and sum(seconds) < ENOUGH:
        learner = BY_RULES[method](examples.halves(seed, run), LAMBDA)
        start = time.process_time()
        if method == "RLSR":
            learner.fit(X[:N_LABELED], y[:N_LABELED]).predict(X[N_LABELED:])
        else:
            learner.fit(X, y)
        seconds.append(time.process_time() - start)
    return min(seconds)
