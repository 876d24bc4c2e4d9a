"""Choosing parameters by inner resampling on the labeled part only, as the papers tune C and C_u."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from accord.evaluation.protocol import Fold, LabeledFolds, Seed
from accord.evaluation.registry import Metric, get_metric
from accord.exceptions import InputError
from accord.learners.inputs import take


@dataclass(frozen=True)
class TuneResult:
    """The best parameters, their score, and every candidate's ``{"params", "score", "standard_error"}`` in grid order.

    The standard error is that of the mean over repeats, and NaN for a single one.

    Examples
    --------
    >>> from accord import RLSR
    >>> found = tune(RLSR(), {"eta": [0.01, 100.0]}, [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0], "rmse")
    >>> found.best_params, found.best_score == found.table[0]["score"], len(found.table)
    ({'eta': 0.01}, True, 2)
    """

    best_params: dict[str, Any]
    best_score: float
    table: list[dict[str, Any]]


def expand_grid(grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Settings in order: the product of a dict of lists (the last key runs fastest), or a list of dicts as it is.

    >>> expand_grid({"C": [1, 10], "norm": [1, 2]})[:2]
    [{'C': 1, 'norm': 1}, {'C': 1, 'norm': 2}]
    """
    if not isinstance(grid, Mapping):
        return [dict(setting) for setting in grid]
    for name, values in grid.items():
        if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
            raise InputError(f"grid[{name!r}] must be a list of values, but it is {values!r}")
    return [dict(zip(grid, values)) for values in itertools.product(*grid.values())]


def tune(
    estimator: Any,
    grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]],
    X: Any,
    Y: Sequence[Any],
    metric: str | Metric | Callable[[Any, Any], float] = "token_error",
    n_splits: int = 3,
    n_repeats: int = 1,
    random_state: Seed = 0,
    n_jobs: int | None = None,
    stratify: bool = True,
) -> TuneResult:
    """Find the parameters that predict held-out labeled examples best; ties go to the first in the grid.

    The labeled examples are cut into `n_splits` folds (`LabeledFolds`), `n_repeats` times anew. Each fold is held out
    once: the estimator is fitted on the other labeled examples and *all* unlabeled ones, and predicts the fold. A
    repeat's predictions are pooled over its folds and scored once, because folds of a few sentences give no usable F1.
    Every candidate sees the same folds.

    Parameters
    ----------
    estimator : anything with `fit(X, Y)` and `predict(X)` that `sklearn.base.clone` can copy; it is not changed
    grid : dict of lists, or list of dicts, of constructor parameters
    X, Y : examples; ``Y[i] is None`` (or NaN) means unlabeled
    metric : name, `Metric` with a direction, or a function with an attribute `greater_is_better`
    n_splits, n_repeats : folds, and how often to draw them
    random_state : seed or numpy Generator for the folds
    n_jobs : parallel fits through joblib (None: as set by `joblib.parallel_config`, else 1)
    stratify : whether every fold gets about as many examples of each class

    Examples
    --------
    >>> from accord import CRF, Sequence
    >>> from accord.datasets import embedded_ner
    >>> X, Y = embedded_ner(12, random_state=0)
    >>> found = tune(CRF(Sequence()), {"C": [0.01, 1.0]}, X, Y[:9] + [None] * 3)
    >>> found.best_params, found.best_score
    ({'C': 1.0}, 0.2283)
    """
    chosen = get_metric(metric)
    if chosen.function is None or chosen.greater_is_better is None:
        raise InputError(f"metric {chosen.name!r} has no function or no direction; pass a Metric that has both")
    candidates = expand_grid(grid)
    if not candidates:
        raise InputError("grid is empty: pass at least one setting")
    if n_repeats < 1:
        raise InputError(f"n_repeats must be at least 1, but it is {n_repeats}")
    cut = LabeledFolds(n_splits, stratify=stratify, random_state=np.random.default_rng(random_state))
    splits = [list(cut.split(X, Y)) for _ in range(n_repeats)]
    order = [np.concatenate([fold.test for fold in repeat]) for repeat in splits]

    from joblib import Parallel, delayed

    jobs = [(params, fold) for params in candidates for repeat in splits for fold in repeat]
    predictions = Parallel(n_jobs=n_jobs)(delayed(_fit_predict)(estimator, params, X, Y, fold) for params, fold in jobs)
    scores = np.empty((len(candidates), n_repeats))
    step = iter(predictions)
    for row in scores:
        for r in range(n_repeats):
            pooled = [y for _ in range(n_splits) for y in next(step)]
            row[r] = chosen.function([Y[i] for i in order[r]], pooled)
    means = scores.mean(axis=1)
    if np.isnan(means).any():
        raise InputError(f"metric {chosen.name!r} gave NaN for {candidates[int(np.isnan(means).argmax())]}")
    best = int(np.argmax(means) if chosen.greater_is_better else np.argmin(means))
    spread = scores.std(axis=1, ddof=1) / np.sqrt(n_repeats) if n_repeats > 1 else np.full(len(scores), np.nan)
    table = [
        {"params": params, "score": float(mean), "standard_error": float(error)}
        for params, mean, error in zip(candidates, means, spread)
    ]
    return TuneResult(candidates[best], float(means[best]), table)


def _fit_predict(estimator: Any, params: Mapping[str, Any], X: Any, Y: Sequence[Any], fold: Fold) -> list[Any]:
    from sklearn.base import clone

    model = clone(estimator).set_params(**params)
    model.fit(take(X, fold.train), [Y[i] for i in fold.train])
    return list(model.predict(take(X, fold.test)))
