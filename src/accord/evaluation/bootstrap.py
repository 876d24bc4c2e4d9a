"""Bootstrap intervals: of a mean difference over repetitions, and of a metric over the examples of a test set.

Percentile intervals. Corpus metrics such as span F1 are no means over examples, so whole examples (sentences) are
resampled and the metric is computed anew; where it is a function of sums (see `Metric.statistics`) that costs one
matrix product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from accord.evaluation.metrics import check_pair
from accord.evaluation.protocol import Seed
from accord.evaluation.registry import Metric, get_metric
from accord.evaluation.significance import paired_differences
from accord.exceptions import InputError


@dataclass(frozen=True)
class BootstrapInterval:
    """A percentile bootstrap interval of `what`.

    Examples
    --------
    >>> interval = bootstrap_metric(["a", "b", "a", "b"], ["a", "b", "b", "b"], "accuracy")
    >>> interval.low, interval.estimate, interval.high
    (0.25, 0.75, 1.0)
    """

    what: str
    estimate: float
    low: float
    high: float
    level: float
    n_resamples: int
    standard_error: float

    @property
    def summary(self) -> str:
        """One sentence saying what was found."""
        return (
            f"{self.what} is {self.estimate:.4g}, {100 * self.level:g} % bootstrap interval "
            f"[{self.low:.4g}, {self.high:.4g}] ({self.n_resamples} resamples)."
        )


def bootstrap_difference(
    a: Any,
    b: Any,
    level: float = 0.95,
    n_resamples: int = 10_000,
    random_state: Seed = 0,
    names: tuple[str, str] = ("a", "b"),
) -> BootstrapInterval:
    """Percentile interval of the mean of a − b, resampling pairs.

    >>> print(bootstrap_difference([0.31, 0.28, 0.25, 0.30], [0.35, 0.30, 0.31, 0.33], names=("new", "old")).summary)
    mean difference new − old is -0.0375, 95 % bootstrap interval [-0.0525, -0.025] (10000 resamples).
    """
    d = paired_differences(a, b, 2)
    means = _resampled_sums(d[:, None], n_resamples, random_state)[:, 0] / len(d)
    return _interval(f"mean difference {names[0]} − {names[1]}", float(d.mean()), means, level)


def bootstrap_metric(
    y_true: Any,
    y_pred: Any,
    metric: str | Metric | Callable[[Any, Any], float] = "token_error",
    y_other: Any = None,
    level: float = 0.95,
    n_resamples: int = 1000,
    random_state: Seed = 0,
) -> BootstrapInterval:
    """Percentile interval of a metric on a test set, resampling whole examples (sentences).

    Parameters
    ----------
    y_true, y_pred : outputs of the test set
    metric : name, `Metric` or function (y_true, y_pred) → float
    y_other : another method's predictions; then the interval is of metric(y_pred) − metric(y_other), both computed on
        the same resamples
    level : coverage
    n_resamples : number of bootstrap samples
    random_state : seed or numpy Generator

    Examples
    --------
    >>> true = [["B-PER", "O"], ["O", "B-LOC"], ["O", "O"], ["B-PER", "O"]]
    >>> found = [["B-PER", "O"], ["O", "O"], ["O", "O"], ["B-PER", "O"]]
    >>> print(bootstrap_metric(true, found, "span_f1").summary)
    span F1 is 0.8, 95 % bootstrap interval [0, 1] (1000 resamples).
    """
    chosen = get_metric(metric)
    if chosen.function is None:
        raise InputError(f"metric {chosen.name!r} has no function of (y_true, y_pred); pass a function")
    predictions = [y_pred] if y_other is None else [y_pred, y_other]
    values = [float(chosen.function(y_true, p)) for p in predictions]
    if chosen.statistics is not None and chosen.combine is not None:
        tables = [chosen.statistics(y_true, p) for p in predictions]
        sums = _resampled_sums(np.hstack(tables), n_resamples, random_state)
        samples = [chosen.combine(s) for s in np.split(sums, len(tables), axis=1)]
    else:
        samples = _resampled_values(chosen.function, y_true, predictions, n_resamples, random_state)
    if y_other is None:
        return _interval(chosen.label, values[0], samples[0], level)
    return _interval(f"difference in {chosen.label}", values[0] - values[1], samples[0] - samples[1], level)


def _resampled_sums(table: np.ndarray, n_resamples: int, random_state: Seed) -> np.ndarray:
    """Column sums of `n_resamples` samples of the rows with replacement, (n_resamples, columns)."""
    _check_resamples(n_resamples)
    rng = np.random.default_rng(random_state)
    n = len(table)
    block = max(1, 4_000_000 // n)  # bounds the memory of the weights
    sums = []
    for start in range(0, n_resamples, block):
        weights = rng.multinomial(n, np.full(n, 1 / n), size=min(block, n_resamples - start))
        sums.append(weights @ table)
    return np.concatenate(sums)


def _resampled_values(
    function: Callable[[Any, Any], float], y_true: Any, predictions: list[Any], n_resamples: int, seed: Seed
) -> list[np.ndarray]:
    """The metric recomputed on each resample, for metrics that are no function of sums."""
    _check_resamples(n_resamples)
    rng = np.random.default_rng(seed)
    pairs = [check_pair(y_true, p)[:2] for p in predictions]
    draws = [rng.integers(len(pairs[0][0]), size=len(pairs[0][0])) for _ in range(n_resamples)]
    return [
        np.array([function([true[i] for i in draw], [pred[i] for i in draw]) for draw in draws]) for true, pred in pairs
    ]


def _interval(what: str, estimate: float, samples: np.ndarray, level: float) -> BootstrapInterval:
    if not 0 < level < 1:
        raise InputError(f"level must lie between 0 and 1, but it is {level}")
    low, high = np.quantile(samples, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return BootstrapInterval(what, estimate, low, high, level, len(samples), float(samples.std(ddof=1)))


def _check_resamples(n_resamples: int) -> None:
    if n_resamples < 2:
        raise InputError(f"n_resamples must be at least 2, but it is {n_resamples}")
