"""What the regression experiments share: the sets, inverse folds, random halves of attributes, the papers' error.

[thesis 4.4.1: ten folds, one of them labeled and the others unlabeled and holdout; attributes split anew in each run]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from accord.datasets import load
from accord.evaluation import Metric, Results, folds, wilcoxon_critical_value, wilcoxon_signed_ranks
from accord.evaluation.panels import plot_pairs
from accord.evaluation.protocol import Fold, take
from accord.evaluation.significance import format_p
from accord.exceptions import InputError
from accord.experiments.base import DataFolder, Experiment, Figures
from accord.learners.co_regression import CoRLSR
from accord.learners.regression import RLSR
from accord.views.splits import FeatureGroups

N_FOLDS = 10
RUNS = 2 * N_FOLDS
LEVEL = 0.05
SCALED_RMSE = Metric("scaled_rmse", "rmse / max y", None, False, False)
# Sets and their rows; all have 50 rows and 4 attributes at least, which is the papers' rule
_SIZES = """
sleep 58, auto93 93, baskball 96, concreteslump 103, fruitfly 125, echoMonths 130, fishcatch 158, autoPrice 159, servo
167, autoHorse 203, cpu 209, machine_cpu 209, breastTumor 286, hungarian 294, cholesterol 303, cleveland 303, yacht
308, autoMpg 398, pbc 418, housing 506, forest 517, meta 528, sensory 576, stock 950, solar 1066, airfoil 1503, wine
1599, gas 2565, skillcraft 3338, sml 4137, abalone 4177, delta_ailerons 7129, cpu_act 8192, cpu_small 8192,
delta_elevators 9517, ailerons 13750, pol 15000, elevators 16599, cal_housing 20640, house_8L 22784, 2dplanes 40768,
fried 40768, mv 40768
"""
SETS = {name: int(n) for name, n in (entry.split() for entry in _SIZES.split(","))}
FEATURES = {"raw": False, "standardised": True}
RULES: dict[str, Any] = {"eta": None, "gamma": None}  # the papers'
LAMBDA = 0.1
# Method of the papers → (views, lambda, further settings) → learner
BY_RULES: dict[str, Callable[..., Any]] = {
    "RLSR": lambda views, weight, **settings: RLSR(**RULES, **settings),
    "exact": lambda views, weight, **more: CoRLSR(views, mode="exact", disagreement_weight=weight, **RULES, **more),
    "semi-parametric": lambda views, weight, **more: CoRLSR(views, disagreement_weight=weight, **RULES, **more),
}
RELATED = (("autoHorse", "autoPrice"), ("cpu", "machine_cpu"), ("cholesterol", "cleveland"), ("cpu_act", "cpu_small"))


@dataclass(frozen=True)
class Examples:
    """A set: inputs, targets, and the attribute that each column belongs to."""

    X: Any
    y: np.ndarray
    attribute: np.ndarray

    def __len__(self) -> int:
        return len(self.y)

    def halves(self, seed: int, run: int) -> FeatureGroups:
        """Two views that share out the attributes at random; the columns of an attribute stay together."""
        n = int(self.attribute.max()) + 1
        second = np.random.default_rng([seed, run, 2]).permutation(n) < n // 2
        return FeatureGroups(None, np.where(second, "second", "first")[self.attribute].tolist())

    def hidden(self, labeled: np.ndarray, rows: np.ndarray) -> tuple[Any, np.ndarray]:
        """Labeled examples and those of `rows` without their targets, as learners take them."""
        y = np.concatenate([self.y[labeled], np.full(len(rows), np.nan)])
        return take(self.X, np.concatenate([labeled, rows])), y


def load_examples(data: DataFolder, name: str, part: str = "train") -> Examples:
    """A data set of numbers with its attributes."""
    found = load(name, data, part=part, extra=True)
    return Examples(found.X, found.Y, found.extra["attribute"])


def load_sets(data: DataFolder, names: Sequence[str]) -> dict[str, Examples]:
    """Some regression sets, by name; an error if one is not of the expected size."""
    sets = {name: load_examples(data, "regression", name) for name in names}
    for name, examples in sets.items():
        if len(examples) != SETS[name]:
            raise InputError(
                f"the regression set {name!r} has {len(examples)} rows instead of {SETS[name]}; this experiment is "
                "for the published one"
            )
    return sets


class OverSets(Experiment):
    """Methods on many regression sets, of which the labeled part is a tenth.

    Attributes
    ----------
    pairs : what is plotted against each other, (the better, the worse)
    rows : a setting that has one row of plots for each of its values, or None
    """

    data_sets = ("regression",)
    repetitions = RUNS
    metrics = (SCALED_RMSE,)
    baseline = "RLSR"
    pairs: Sequence[tuple[str, str]]
    rows: str | None = None

    def load(self, data: DataFolder, quick: bool, seed: int) -> dict[str, Examples]:
        return load_sets(data, self.values("data", quick))

    def figures(self, results: Results) -> Figures:
        axes = [(worse, better) for better, worse in self.pairs]
        return {SCALED_RMSE.name: partial(plot_pairs, results, SCALED_RMSE, axes, self.rows)}


def inverse_fold(n: int, run: int, seed: int) -> Fold:
    """The labeled fold of a run, and all others; every ten runs are one cross-validation."""
    rng = np.random.default_rng([seed, run // N_FOLDS, 0])
    return folds(n, N_FOLDS, rng, inverse=True)[run % N_FOLDS]


def scaled_rmse(y: np.ndarray, predicted: np.ndarray) -> float:
    """Root mean squared error over the largest target [thesis 4.4], in size if none is positive."""
    largest = float(y.max()) if y.max() > 0 else float(np.abs(y).max())
    return float(np.sqrt(np.mean((y - predicted) ** 2))) / largest


# -- over data sets ---------------------------------------------------------------------------------------------------
def means_by_set(results: Results, method: str, metric: str, **setting: Any) -> dict[str, float]:
    """A method's mean in each data set, of one setting of everything else."""
    return {s.setting["data"]: s.mean for s in results.where(method=method, metric=metric, **setting).aggregate()}


def signed_ranks_note(
    results: Results, better: str, worse: str, metric: str, published: float | None = None, **setting: Any
) -> str:
    """One sentence: does `better` err less than `worse` over data sets? One-sided signed ranks, as in the thesis."""
    one, other = (means_by_set(results, m, metric, **setting) for m in (better, worse))
    names = [name for name in one if name in other]
    test = wilcoxon_signed_ranks([one[n] for n in names], [other[n] for n in names], "less", names=(better, worse))
    wins = sum(one[n] < other[n] for n in names)
    critical = wilcoxon_critical_value(len(names), 0.005)
    limit = f" ({critical} is critical at 0.5 %)" if critical >= 0 else ""
    where = f", {', '.join(map(str, setting.values()))}" if setting else ""
    paper = "" if published is None else f" The thesis: {published:g} on 32 sets, where 128 is critical."
    return (
        f"{better} against {worse}{where}: lower on {wins} of {len(names)} sets, rank sum {test.statistic:g}{limit}, "
        f"one-sided {format_p(test.p_value)}.{paper}"
    )


def related_note(results: Results) -> list[str]:
    """Sets that have rows in common are no independent witnesses."""
    present = {setting["data"] for setting in results.settings}
    pairs = [f"{one} and {other}" for one, other in RELATED if {one, other} <= present]
    return [f"Some sets have rows in common, so they are not independent: {', '.join(pairs)}."] if pairs else []


def set_by_set_note(results: Results, method: str, baseline: str, metric: str, **setting: Any) -> str:
    """One sentence: in which data sets a method is significantly better or worse than the baseline, and by how much."""
    part = results.where(metric=metric, **setting)
    comparisons = part.compare(baseline, metric, methods=[method])
    base = means_by_set(part, baseline, metric)
    groups: Mapping[str, list[str]] = {"lower": [], "higher": []}
    for c in comparisons:
        if c.p_adjusted < LEVEL:
            name = c.setting["data"]
            change = 100 * c.test.difference / base[name]
            groups["lower" if change < 0 else "higher"].append(f"{name} {change:+.1f} %")
    told = [f"{side} in {len(sets)}" + (f" ({', '.join(sets)})" if sets else "") for side, sets in groups.items()]
    where = f", {', '.join(map(str, setting.values()))}" if setting else ""
    return (
        f"{method} against {baseline}{where}, {len(comparisons)} sets: significantly {', '.join(told)} "
        "(paired t tests at 5 %, two-sided, Holm's correction over the sets)."
    )
