"""Training time of co-regression against the number of unlabeled examples.

[thesis 4.4.2, Figure 4.2 right, plotted only: the exact mode takes cubic time, the semi-parametric one linear time
that is comparable to that of RLSR]
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from accord.evaluation import Metric, Results, Task, make_tasks
from accord.evaluation.panels import Line, plot_lines
from accord.experiments.base import DataFolder, Experiment, mean_of
from accord.experiments.consensus_time import exponent
from accord.experiments.regression_data import Examples, load_sets
from accord.learners.co_regression import CoRLSR
from accord.learners.regression import RLSR
from accord.views.base import View

REPETITIONS = 3
SET = "fried"
N_LABELED = 100
SIZES = (125, 250, 500, 1000, 2000, 4000, 8000, 16_000, 64_000, 256_000)
QUICK_SIZES = (100, 200, 400, 800)
LAST = 3  # sizes at the upper end that the degree is fitted to
MAX_EXACT = 8000
ENOUGH, CALLS = 0.3, 5  # short fits are repeated until they took so many seconds, or so often; the shortest counts
RULES: dict[str, Any] = {"eta": None, "gamma": None}
SECONDS = Metric("train_seconds", "CPU seconds", None, False)

# Method → views → learner
METHODS: dict[str, Callable[[View], Any]] = {
    "RLSR": lambda views: RLSR(**RULES),
    "exact": lambda views: CoRLSR(views, mode="exact", disagreement_weight=0.1, **RULES),
    "semi-parametric": lambda views: CoRLSR(views, disagreement_weight=0.1, **RULES),
}
EXPECTED = {"RLSR": "comparable to semi-parametric coRLSR", "exact": "3", "semi-parametric": "1"}


class RegressionTime(Experiment):
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
    metrics = (SECONDS,)
    x = "n_unlabeled"

    def tasks(self, quick: bool, seed: int) -> list[Task]:
        sizes, repetitions = (QUICK_SIZES, 2) if quick else (SIZES, REPETITIONS)
        tasks = make_tasks(self.name, list(METHODS), {"n_unlabeled": sizes}, repetitions=repetitions, seed=seed)
        return [task for task in tasks if task.method != "exact" or task.setting["n_unlabeled"] <= MAX_EXACT]

    def load(self, data: DataFolder, quick: bool, seed: int) -> Examples:
        examples = load_sets(data, [SET])[SET]
        for method in METHODS:  # imports and first calls are not measured
            _seconds(method, examples, 100, seed, 0)
        return examples

    def run_task(self, task: Task, loaded: Examples) -> Mapping[str, float]:
        m = task.setting["n_unlabeled"]
        return {SECONDS.name: _seconds(task.method, loaded, m, task.root_seed, task.repetition)}

    def figures(self, results: Results) -> Mapping[str, Callable[[bool], Any]]:
        lines = {}
        for method in results.methods:
            sizes, seconds = _curve(results, method)
            lines[f"{method}, degree {exponent(sizes[-LAST:], seconds[-LAST:]):.2f}"] = Line(sizes, seconds)
        return {SECONDS.name: partial(_draw, lines)}

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


def _draw(lines: Mapping[str, Line], dark: bool) -> Any:
    return plot_lines({"": lines}, "unlabeled examples", SECONDS.label, log_x=True, dark=dark)


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
        learner = METHODS[method](examples.halves(seed, run))
        start = time.process_time()
        if method == "RLSR":
            learner.fit(X[:N_LABELED], y[:N_LABELED]).predict(X[N_LABELED:])
        else:
            learner.fit(X, y)
        seconds.append(time.process_time() - start)
    return min(seconds)
