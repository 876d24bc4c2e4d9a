"""The linear machines of a spam filter: logistic regression, judged and calibrated on labels that it has not seen."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

N_FOLDS = 5
MOST_HELD_OUT = 2000  # mails that choices are made on; more of them would only take longer
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)  # of what the batch says
STEP = 10.0  # of a correction: large enough to turn most wrong scores round
FEWEST_BATCHES = 5  # held out that the weight is chosen on


class Machine(NamedTuple):
    """A linear machine whose scores are log-odds."""

    coef: np.ndarray
    intercept: float


def fitted(rows: sp.csr_array, y: np.ndarray, C: float, seed: int | None) -> Machine:
    """Logistic regression in which both classes count alike, however many mails they have."""
    machine = LogisticRegression(
        C=C, class_weight="balanced", solver="liblinear", dual=True, intercept_scaling=1.0, max_iter=1000,
        random_state=seed,
    )  # fmt: skip
    machine.fit(rows, y)
    return Machine(machine.coef_[0].copy(), float(machine.intercept_[0]))


def scores(machine: Machine, rows: sp.csr_array) -> np.ndarray:
    """Log-odds of rows."""
    return rows @ machine.coef + machine.intercept


def calibrated(machine: Machine, slope: float, offset: float) -> Machine:
    """The same machine with scores such that their logistic function is a probability; see `platt`."""
    return Machine(slope * machine.coef, slope * machine.intercept + offset)


def moved(machine: Machine, rows: sp.csr_array, y: np.ndarray, step: float = STEP) -> Machine:
    """The machine after corrections, one after the other.

    Each finds the weights with the smallest sum of half the squared change and `step` times the logistic loss of the
    correction. They differ from those before by a multiple of its row, which bisection finds.
    """
    coef, intercept = machine.coef.copy(), machine.intercept
    for k, is_spam in enumerate(y):
        part = slice(rows.indptr[k], rows.indptr[k + 1])
        columns, values = rows.indices[part], rows.data[part]
        sign = 1.0 if is_spam else -1.0
        margin, length = sign * float(values @ coef[columns] + intercept), float(values @ values) + 1.0
        low, high = 0.0, 1.0
        for _ in range(60):
            share = 0.5 * (low + high)
            low, high = (share, high) if expit(-margin - step * length * share) > share else (low, share)
        change = sign * step * low
        coef[columns] += change * values
        intercept += change
    return Machine(coef, intercept)


def platt(held_out: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Slope and offset of Platt's sigmoid, with his targets that never are 0 or 1, by Newton's method.

    Examples
    --------
    >>> slope, offset = platt(np.array([-2.0, -1.0, 1.0, 2.0] * 9), np.array([False, True, False, True] * 9))
    >>> bool(0 < slope < 1), bool(abs(offset) < 1e-6)
    (True, True)
    """
    n_spam, n_ham = y.sum(), (~y).sum()
    target = np.where(y, (n_spam + 1) / (n_spam + 2), 1 / (n_ham + 2))
    design = np.stack([held_out, np.ones(y.size)], axis=1)
    ridge = 1e-6 * np.eye(2)

    def loss(at: np.ndarray) -> float:
        margins = design @ at
        return float(np.logaddexp(0, margins).sum() - target @ margins + 0.5e-6 * at @ at)

    found = np.zeros(2)
    for _ in range(100):
        shares = expit(design @ found)
        gradient = design.T @ (shares - target) + ridge @ found
        step = np.linalg.solve((design.T * (shares * (1 - shares))) @ design + ridge, gradient)
        size = 1.0
        while size > 1e-6 and loss(found - size * step) > loss(found):
            size /= 2
        found = found - size * step
        if np.abs(gradient).max() < 1e-8 * y.size:
            break
    return max(float(found[0]), 1e-3), float(found[1])  # a score that says nothing must not turn round


def log_losses(log_odds: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Minus the logarithm of the probability of each label."""
    return np.logaddexp(0, np.where(y, -log_odds, log_odds))


def folds(y: np.ndarray, batches: Sequence[Hashable], seed: int | None) -> list[np.ndarray]:
    """Mails to be held out together: parts of about the same size, with both classes, no batch in two of them.

    Empty if a class has too few batches.
    """
    rng = np.random.default_rng(seed)
    numbers: dict[Hashable, int] = {}
    batch = np.array([numbers.setdefault(name, len(numbers)) for name in batches], np.int64)
    is_spam = np.bincount(batch, weights=y) * 2 > np.bincount(batch)
    n_folds = min(N_FOLDS, int(is_spam.sum()), int((~is_spam).sum()))
    if n_folds < 2:
        return []
    fold = np.empty(len(numbers), np.int64)
    for kind in (True, False):
        order = rng.permutation(np.flatnonzero(is_spam == kind))
        fold[order] = np.arange(order.size) % n_folds
    kept = np.zeros(y.size, bool)
    kept[rng.permutation(y.size)[:MOST_HELD_OUT]] = True
    found = [np.flatnonzero((fold[batch] == k) & kept) for k in range(n_folds)]
    return found if all(0 < y[part].sum() < part.size for part in found) else []


def held_out_scores(parts: list[np.ndarray], score: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
    """Scores of all held-out mails, part by part: ``score(seen, left)`` learns from all others of them."""
    rows = np.concatenate(parts)
    return np.concatenate([score(np.setdiff1d(rows, part), part) for part in parts], axis=-1)


def chosen_weight(alone: np.ndarray, together: np.ndarray, y: np.ndarray, batches: Sequence[Any]) -> float:
    """How much the batch counts beside the mail, of `WEIGHTS`, by log-odds of mails of held-out batches.

    Every batch counts once. A weight other than 0 must be better by more than its standard error, so that evidence of
    batches is used only where it was seen to help.
    """
    numbers: dict[Any, int] = {}
    batch = np.array([numbers.setdefault(name, len(numbers)) for name in batches], np.int64)
    if len(numbers) < FEWEST_BATCHES:
        return 0.0
    sizes = np.bincount(batch)

    def by_batch(weight: float) -> np.ndarray:
        return np.bincount(batch, weights=log_losses((1 - weight) * alone + weight * together, y)) / sizes

    gains = {weight: by_batch(0.0) - by_batch(weight) for weight in WEIGHTS}
    best = max(gains, key=lambda weight: gains[weight].mean())
    error = gains[best].std(ddof=1) / np.sqrt(len(numbers))
    return best if gains[best].mean() > error else 0.0
