"""How far answers lead away from a guess: logistic regression that is drawn towards it, and how strongly, learned.

Changes of the guess are small where little is known of them: they are normally distributed around 0, with one scale for
each group of them. Scales for which the answers are most probable are found by Laplace's approximation: the logarithm
of the probability of the answers, over all changes, is that at the best change, log p(answers | change) - |change|²/2,
less half the logarithm of the determinant of the curvature there (changes measured in their scales).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

_ROUNDS, _CLOSE_ENOUGH = 50, 1e-8


class Fitted(NamedTuple):
    """The best change, and the logarithm of the probability of the answers."""

    change: np.ndarray
    log_evidence: float


def objective(change: np.ndarray, design: np.ndarray, signs: np.ndarray, start: np.ndarray) -> tuple[float, np.ndarray]:
    """Log losses and half of the squared change, and the gradient; signs are 1 and -1."""
    margins = signs * (start + design @ change)
    wrong = 0.5 * (1.0 - np.tanh(margins / 2.0))  # the probability of the other answer
    value = np.logaddexp(0.0, -margins).sum() + 0.5 * change @ change
    return float(value), change - design.T @ (signs * wrong)


def fit(design: np.ndarray, signs: np.ndarray, start: np.ndarray) -> Fitted:
    """Newton's method; steps are halved until they do not lead up."""
    change = np.zeros(design.shape[1])
    value, gradient = objective(change, design, signs, start)
    for _ in range(_ROUNDS):
        step = cho_solve(cho_factor(curvature(change, design, start)), gradient)
        decrease = float(gradient @ step)
        if decrease < _CLOSE_ENOUGH:
            break
        size, (new, slope) = 1.0, objective(change - step, design, signs, start)
        while new > value - 0.25 * size * decrease and size > 1e-6:
            size /= 2.0
            new, slope = objective(change - size * step, design, signs, start)
        change, value, gradient = change - size * step, new, slope
    triangle, _ = cho_factor(curvature(change, design, start))
    return Fitted(change, -value - float(np.log(np.diag(triangle)).sum()))


def curvature(change: np.ndarray, design: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Second derivatives of the objective."""
    spread = 0.25 / np.cosh(np.clip((start + design @ change) / 2.0, -300, 300)) ** 2
    return (design.T * spread) @ design + np.eye(design.shape[1])


def most_probable(
    design: np.ndarray, signs: np.ndarray, start: np.ndarray, groups: np.ndarray, choices: Iterable[tuple[float, ...]]
) -> tuple[np.ndarray, tuple[float, ...]]:
    """The best change, in the units of the design, and the scales of its groups that make the answers most probable.

    `groups` are numbers, one for each column; of choices that are as good the first is taken.
    """
    best: tuple[float, np.ndarray, tuple[float, ...]] | None = None
    for scales in choices:
        of_columns = np.array(scales)[groups]
        found = fit(design * of_columns, signs, start)
        if best is None or found.log_evidence > best[0] + 1e-9:
            best = found.log_evidence, found.change * of_columns, scales
    assert best is not None
    return best[1:]
