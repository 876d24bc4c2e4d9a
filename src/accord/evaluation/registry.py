"""The metrics by name: what to call them in tables, which way is better, and how to bootstrap them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from accord.evaluation import clusters as c
from accord.evaluation import metrics as m
from accord.evaluation.brackets import bracket_f1_of_counts, bracket_statistics, corpus_bracket_f1
from accord.evaluation.spans import span_f1, span_statistics
from accord.exceptions import InputError


@dataclass(frozen=True)
class Metric:
    """A named figure of merit.

    Parameters
    ----------
    name : column value in the results file
    label : how tables and plots call it
    function : (y_true, y_pred) → float; None for a figure that comes ready, such as seconds
    greater_is_better : True, False, or None if neither is better
    percent : show as a percentage
    statistics, combine : the metric as a function of sums over examples, if it is one:
        ``function(t, p) == combine(statistics(t, p).sum(axis=0))``; makes the bootstrap fast

    Examples
    --------
    >>> wrong = Metric("n_wrong", "wrong outputs", lambda true, pred: sum(a != b for a, b in zip(true, pred)), False)
    >>> wrong.function(["a", "b", "b"], ["a", "a", "b"])
    1
    """

    name: str
    label: str
    function: Callable[[Any, Any], float] | None = None
    greater_is_better: bool | None = None
    percent: bool = False
    statistics: Callable[[Any, Any], np.ndarray] | None = None
    combine: Callable[[np.ndarray], np.ndarray] | None = None


def _accuracy_of_counts(totals: np.ndarray) -> np.ndarray:
    return (totals[..., 1] - totals[..., 0]) / totals[..., 1]


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("zero_one_loss", "0/1 loss", m.zero_one_loss, False, True, m.zero_one_statistics, m.ratio),
        Metric("token_error", "token error", m.token_error, False, True, m.token_statistics, m.ratio),
        Metric("hamming_loss", "Hamming loss", m.hamming_loss, False, True, m.hamming_statistics, m.ratio),
        Metric("accuracy", "accuracy", m.accuracy, True, True, m.token_statistics, _accuracy_of_counts),
        Metric("span_f1", "span F1", span_f1, True, True, span_statistics, m.f1_of_counts),
        Metric("bracket_f1", "bracket F1", corpus_bracket_f1, True, True, bracket_statistics, bracket_f1_of_counts),
        Metric("micro_f1", "micro F1", m.micro_f1, True, True),
        Metric("macro_f1", "macro F1", m.macro_f1, True, True),
        Metric("rmse", "rmse", m.rmse, False, False, m.squared_error_statistics, m.root_ratio),
        Metric("rand_loss", "Rand loss", c.rand_loss, False, True),
        Metric("total_loss_per_object", "loss per object", c.total_loss_per_object, False, False),
        Metric("pairwise_f1", "pairwise F1", c.pairwise_f1, True, True),
        Metric("b_cubed_f1", "B³ F1", c.b_cubed_f1, True, True),
        Metric("adjusted_rand_index", "adjusted Rand index", c.adjusted_rand_index, True, False),
        Metric("tree_loss", "tree loss", None, False, False),
        Metric("seconds", "seconds", None, False, False),
    )
}


def get_metric(metric: str | Metric | Callable[[Any, Any], float]) -> Metric:
    """A `Metric` from its name, itself or a plain function (y_true, y_pred) → float.

    A plain function has a preferred direction only if it carries an attribute ``greater_is_better`` (as `TreeLoss`
    does); otherwise wrap it in `Metric` to give it one.

    Examples
    --------
    >>> get_metric("span_f1").label, get_metric("span_f1").greater_is_better
    ('span F1', True)
    >>> get_metric(lambda true, pred: 0.0).greater_is_better is None  # nobody said which way is better
    True
    """
    if isinstance(metric, Metric):
        return metric
    if isinstance(metric, str):
        if metric not in METRICS:
            raise InputError(f"metric {metric!r} is unknown; choose from {', '.join(METRICS)} or pass a function")
        return METRICS[metric]
    if callable(metric):
        name = getattr(metric, "__name__", type(metric).__name__)
        plain = Metric(name, name, metric, getattr(metric, "greater_is_better", None))
        return next((known for known in METRICS.values() if known.function is metric), plain)
    raise InputError(f"metric must be a name, a Metric or a function, but it is {metric!r}")


def describe_metric(metric: str | Metric) -> Metric:
    """As `get_metric`, but any other name is a figure that comes ready (for tables and plots)."""
    if isinstance(metric, str) and metric not in METRICS:
        return Metric(metric, metric.replace("_", " "))
    return get_metric(metric)
