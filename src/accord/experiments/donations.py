"""How much people give after a mailing: 100 labeled examples and more and more unlabeled ones.

[thesis 4.4.2, Figure 4.2 left (plotted only) and Table 4.2: KDD Cup 1998, 95,412 people]

With ``kdd98/cup98LRN.txt`` (the learning file of KDD Cup 1998) in the data folder this runs on that file. Otherwise it
runs on a public teaching sample of the same mailing, ``kdd98_proxy``: 9,686 people, half of them donors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from accord.datasets import available, data_home
from accord.evaluation import Published, Results, Task, draw
from accord.evaluation.protocol import take
from accord.experiments.base import DataFolder, Experiment, grid
from accord.experiments.ordering import Claim, change_note
from accord.experiments.regression_data import BY_RULES, FEATURES, SCALED_RMSE, Examples, load_examples, scaled_rmse
from accord.learners.regression import RLSR

RUNS = 25
N_LABELED, N_HOLDOUT = 100, 200
MAX_EXACT = 1000  # unlabeled examples
# As many values for all methods: of lambda, and of eta, as multiples of the rule, for the one that has no lambda. With
# raw features the rule's eta is tiny, about 1e-5, so the range is wide; `ends_note` tells where it was too narrow.
VALUES = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
ETAS = (1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6)


@dataclass
class TimesRule:
    """RLSR with a multiple of the eta that the papers' rule gives."""

    factor: float
    standardize: bool

    def fit(self, X: Any, y: Any) -> TimesRule:
        """Fit twice: the first time tells the rule's eta."""
        settings: dict[str, Any] = {"gamma": None, "standardize": self.standardize}
        by_rule = RLSR(eta=None, **settings).fit(X, y)
        self.model = RLSR(eta=self.factor * by_rule.eta_, **settings).fit(X, y)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predictions."""
        return self.model.predict(X)


@dataclass
class People:
    """All examples, and the values that were found to be best, by method, features and number of unlabeled ones."""

    examples: Examples
    n_tuning: int
    chosen: dict[tuple[str, str, int], float] = field(default_factory=dict)

    def error(self, method: str, value: float, features: str, m: int, seed: int, run: int) -> float:
        """Error on the holdout of one draw."""
        examples = self.examples
        parts = draw(range(len(examples)), N_LABELED, m, N_HOLDOUT, [seed, run], every_label=False)
        views, standardize = examples.halves(seed, run), FEATURES[features]
        rule = BY_RULES[method]
        learner = TimesRule(value, standardize) if method == "RLSR" else rule(views, value, standardize=standardize)
        learner.fit(*examples.hidden(parts.labeled, parts.unlabeled))
        return scaled_rmse(examples.y[parts.holdout], learner.predict(take(examples.X, parts.holdout)))

    def best(self, method: str, features: str, m: int, seed: int) -> float:
        """The value with the lowest mean error in draws of their own, which come after those of the experiment."""
        key = (method, features, m)
        if key not in self.chosen:
            values = ETAS if method == "RLSR" else VALUES if m else VALUES[:1]  # without m lambda does nothing
            runs = range(RUNS, RUNS + self.n_tuning)
            means = [np.mean([self.error(method, v, features, m, seed, run) for run in runs]) for v in values]
            self.chosen[key] = values[int(np.argmin(means))]
        return self.chosen[key]


class Donations(Experiment):
    """RLSR, exact and semi-parametric coRLSR against the number of unlabeled examples."""

    name = "donations"
    title = "Donations after a mailing: co-regression with more and more unlabeled examples"
    about = (
        "A teaching sample of the mailing of KDD Cup 1998 (9,686 people, of which half gave; 25 attributes), in place "
        "of the thesis' 95,412 people with 479 attributes, of which a twentieth gave: errors cannot be compared."
    )
    description = (
        f"{about} {N_LABELED} labeled examples, holdout {N_HOLDOUT}, {RUNS} runs with other draws and other random "
        "halves of the attributes. Nominal attributes are 0/1 columns, continuous ones have a column that says where "
        f"values are missing. Lambda ({len(VALUES)} values; for RLSR as many multiples of the rule's eta) has the "
        f"lowest mean error in {RUNS} other draws, as in the thesis; kernel width and eta by its rules. Error: rmse "
        f"over the largest target of the holdout. The exact mode stops at m = {MAX_EXACT}. Features as they are, and "
        "standardised together with the targets."
    )
    data_sets = ("kdd98_proxy",)
    methods = BY_RULES
    repetitions = RUNS
    settings = grid(features=list(FEATURES), n_unlabeled=(0, 200, 1000, 5000, 9386))  # the last: all
    quick_settings = grid(features=list(FEATURES), n_unlabeled=(0, 200))
    metrics = (SCALED_RMSE,)
    claims = (
        *(Claim(method, "RLSR", "the thesis: lower, the more m the more") for method in list(BY_RULES)[1:]),
        Claim("exact", "semi-parametric", "the thesis: lower"),
    )
    x = "n_unlabeled"
    baseline = "RLSR"

    def run(self, data: DataFolder = None, *args: Any, **settings: Any) -> list[Path]:
        """As for every experiment; on the whole data of KDD Cup 1998 if they are in the data folder."""
        if type(self) is Donations and FullDonations.data_sets[0] in available(data_home(data)):
            return FullDonations().run(data, *args, **settings)
        return super().run(data, *args, **settings)

    def left_out(self, task: Task) -> bool:
        return task.method == "exact" and task.setting["n_unlabeled"] > MAX_EXACT

    def load(self, data: DataFolder, quick: bool, seed: int) -> People:
        return People(load_examples(data, self.data_sets[0]), 2 if quick else RUNS)

    def run_task(self, task: Task, loaded: People) -> Mapping[str, float]:
        features, m, seed = task.setting["features"], task.setting["n_unlabeled"], task.root_seed
        value = loaded.best(task.method, features, m, seed)
        error = loaded.error(task.method, value, features, m, seed, task.repetition)
        return {SCALED_RMSE.name: error, "value": value}

    def notes(self, results: Results) -> list[str]:
        sentences = super().notes(results)
        for features in FEATURES:
            sizes = sorted(s["n_unlabeled"] for s in results.settings if s["features"] == features)
            first, last = ({"features": features, "n_unlabeled": m} for m in (sizes[0], sizes[-1]))
            what = f"{features}, from {sizes[0]} to {sizes[-1]} unlabeled examples"
            sentences += change_note(results, "semi-parametric", SCALED_RMSE.name, first, last, what)
        sentences += ends_note(results)
        table = "; ".join(f"{p.value:.4f} ± {p.error:g} at m = {p.setting['n_unlabeled']}" for p in TABLE_4_2)
        return [*sentences, f"Thesis, Table 4.2, semi-parametric, on the whole data of KDD Cup 1998: {table}."]


def ends_note(results: Results) -> list[str]:
    """Where the best value was the last one that was tried, so that others might be better still."""
    told = []
    for s in results.aggregate():
        values = ETAS if s.method == "RLSR" else VALUES
        if s.metric == "value" and s.setting["n_unlabeled"] and s.mean in (values[0], values[-1]):
            told.append(f"{s.method}, {s.setting['features']}, m = {s.setting['n_unlabeled']}: {s.mean:g}")
    return [f"Values chosen at an end of their range: {'; '.join(told)}."] if told else []


TABLE_4_2 = tuple(
    Published("semi-parametric", SCALED_RMSE.name, value, {"n_unlabeled": m}, error, "thesis, Table 4.2")
    for m, value, error in ((10_000, 0.1312, 0.006), (50_000, 0.1078, 0.004), (90_000, 0.1253, 0.006))
)


class FullDonations(Donations):
    """The same on the learning file of KDD Cup 1998."""

    about = "The mailing of KDD Cup 1998: 95,412 people, of which a twentieth gave."
    description = Donations.description.replace(Donations.about, about)
    data_sets = ("kdd98",)
    published = TABLE_4_2
    settings = grid(features=list(FEATURES), n_unlabeled=(0, 200, 1000, 10_000, 50_000, 90_000))
    version = 101  # results of the sample are never mixed with these
