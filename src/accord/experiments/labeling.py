"""Which examples to label next: how many labels do strategies save, against random choice?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer

from accord.datasets import load
from accord.evaluation import Metric, Results, Task
from accord.evaluation.plots import plot_results
from accord.experiments.annotators import RANDOM, SPANS, Annotator, Curve, Goal, OfOutputs, OfRecords
from accord.experiments.base import DataFolder, Experiment, Figures, grid, mean_of
from accord.experiments.sentences import GENES, SPANISH, chain_of
from accord.labeling.suggest import Pool
from accord.structures.chains.multiclass import MultiClass
from accord.views.dense import ArrayFeatures
from accord.views.packed_once import PackedOnce
from accord.views.text import TokenFeatures

NEWS, CORA, RESTAURANTS = "20 newsgroups", "Cora", "restaurants"
TESTS = {SPANISH: ("conll2002_esp", "testb"), GENES: ("bc2gm", "test")}
TABLES = {CORA: "cora_1295", RESTAURANTS: "restaurant_fodors_zagat"}
METHODS = (RANDOM, "entropy", "margin", "change", "diversity", "balance", SPANS)
OF_SENTENCES = (RANDOM, "entropy", "margin", "diversity", SPANS)
OF_CLASSES = (RANDOM, "entropy", "margin", "change", "diversity", "balance")
OF_RECORDS = (RANDOM, "entropy")
NEEDED = Metric("needed", "labels needed for the error of random ones", None, False, True)
SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
AT = tuple(
    Metric(f"error_{100 * share:.0f}", f"error at {100 * share:.0f} % of the labels", None, False, True)
    for share in SHARES
)

ERROR = Metric("error", "error", None, False, True)
SHARE = "labels, in % of those of the goal"

Make = Callable[[int], Annotator]


def figures_of(curve: Curve, goal: Goal) -> dict[str, float]:
    """Which share of the cost reaches the goal (1: none below does), and the error at some shares."""
    reached = [cost / goal.cost for cost, error in curve if error <= goal.error]
    found = {NEEDED.name: min([1.0, *reached])}
    for share, metric in zip(SHARES, AT):
        found[metric.name] = [error for cost, error in curve if cost <= share * goal.cost or cost == curve[0][0]][-1]
    return found


def curves(results: Results) -> Results:
    """Errors at shares of the labels as learning curves, the data sets as experiments: each has a scale of its own."""
    shares = {metric.name: round(100 * share) for share, metric in zip(SHARES, AT)}
    return Results(
        {"experiment": row["data"], **{k: row[k] for k in ("method", "repetition", "value", "seconds")},
         "metric": ERROR.name, SHARE: shares[row["metric"]]}
        for row in results.rows if row["metric"] in shares
    )  # fmt: skip


class Labeling(Experiment):
    """Simulated annotators on sentences, texts and records."""

    name = "labeling"
    title = "Which examples to label next: strategies against random choice"
    description = (
        "A simulated annotator answers what a strategy asks, a few questions at a time, and a model learns after each "
        "few. Spanish and genes: the token error that a CRF reaches with 100 random sentences, and which share of "
        "their tokens has to be labeled for it; ten random sentences come first. 20 newsgroups: accuracy of 200 random "
        "labels; all but random choice begin with a cover of 20 posts. Cora and restaurants: F1 of pairs of the "
        "default with the labels of 200 random records; a question is a pair of records, asked and "
        "learned from, one after the other, by the model of the labeling page, and 100 questions are 100 %. "
        "A strategy that needs 100 % has not reached the error with fewer labels."
    )
    data_sets = ("conll2002_esp", "bc2gm", "newsgroups20", "dedupe")
    methods = METHODS
    quick_methods = (RANDOM, "entropy", SPANS)
    repetitions = 10
    settings = grid(data=[SPANISH, GENES, NEWS, CORA, RESTAURANTS])
    quick_settings = grid(data=[GENES])
    metrics = (NEEDED, *AT)
    baseline = RANDOM

    def left_out(self, task: Task) -> bool:
        data = task.setting["data"]
        able = OF_SENTENCES if data in TESTS else OF_RECORDS if data in TABLES else OF_CLASSES
        return task.method not in able

    def load(self, data: DataFolder, quick: bool, seed: int) -> dict[str, Any]:
        makers: dict[str, Make] = {}
        for name in self.values("data", quick):
            make = _sentences if name in TESTS else _records if name in TABLES else _news
            makers[name] = make(name, data, quick)
        return {"makers": makers, "goals": {}}

    def run_task(self, task: Task, loaded: dict[str, Any]) -> Mapping[str, float]:
        key = task.setting["data"], task.repetition
        annotator = loaded["makers"][key[0]](int(task.repetition_seed) % 2**31)
        if key not in loaded["goals"]:
            loaded["goals"][key] = annotator.goal()
        goal: Goal = loaded["goals"][key]
        return figures_of(annotator.curve(task.method, goal.cost), goal)

    def figures(self, results: Results) -> Figures:
        found = curves(results)
        return {AT[-1].name: lambda dark: plot_results(found, ERROR, SHARE, dark=dark)}

    def notes(self, results: Results) -> list[str]:
        sentences = []
        for setting in results.settings:
            means = {m: mean_of(results, m, NEEDED.name, **setting) for m in results.methods}
            found = [f"{m} {100 * value:.0f} %" for m, value in means.items() if np.isfinite(value)]
            sentences.append(f"{setting['data']}, labels needed: {'; '.join(found)}.")
        return sentences


def _sentences(name: str, data: DataFolder, quick: bool) -> Make:
    key, part = TESTS[name]
    train, test = load(key, data), load(key, data, part=part)
    kept = [i for i, x in enumerate(train.X) if x][: 300 if quick else None]
    X, Y = [train.X[i] for i in kept], [train.Y[i] for i in kept]
    shown = [i for i, x in enumerate(test.X) if x][: 100 if quick else 1000]
    tested = [test.X[i] for i in shown], [test.Y[i] for i in shown]
    view = PackedOnce(TokenFeatures()).pack(X)
    sizes = {"first": 10, "step": 10, "random": 30 if quick else 100}
    return lambda seed: OfOutputs(
        seed, X, Y, tested, chain_of(train.Y, constraints="iob2"), view, sizes, tol=1e-4, max_iter=100
    )


def _news(name: str, data: DataFolder, quick: bool) -> Make:
    train, test = (load("newsgroups20", data, part=part, extra=True) for part in ("train", "test"))
    counts = [sp.csr_array(sp.hstack([posts.X, posts.extra["subject"]])) for posts in (train, test)]
    weigh = TfidfTransformer(sublinear_tf=True).fit(counts[0])
    X, X_test = (sp.csr_array(weigh.transform(rows)) for rows in counts)
    structure = MultiClass(labels=sorted(set(train.Y)))
    sizes = {"first": 20, "step": 10, "random": 200}
    pool = Pool(X)  # what is alike does not depend on the draw
    return lambda seed: OfOutputs(
        seed, X, train.Y, (X_test, test.Y), structure, ArrayFeatures(), sizes, pool, C=100.0, tol=1e-4, max_iter=100
    )


def _records(name: str, data: DataFolder, quick: bool) -> Make:
    table = load("dedupe", data, part=TABLES[name])
    clusters = np.unique(np.array(table.Y), return_inverse=True)[1]
    return lambda seed: OfRecords(seed, table.X, clusters)
