"""By what ways to learn classes are compared: the share of labels that are wrong, or what macro F1 lacks to 1.

Both follow from how often each class is true or found, together, and from how often it is only one of these, apart.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

ERROR, MACRO_F1 = "error", "macro_f1"


def _error(apart: np.ndarray, together: np.ndarray) -> np.ndarray:
    return np.asarray(apart.sum(axis=-1) / together.sum(axis=-1))


def _macro_f1(apart: np.ndarray, together: np.ndarray) -> np.ndarray:
    """Classes that are neither true nor found have none."""
    occurs = together > 0.0
    lost = np.where(occurs, apart / np.where(occurs, together, 1.0), 0.0)
    return np.asarray(lost.sum(axis=-1) / occurs.sum(axis=-1))


LOSSES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {ERROR: _error, MACRO_F1: _macro_f1}


def loss(metric: str, weights: np.ndarray, truth: np.ndarray, guessed: np.ndarray) -> np.ndarray:
    """The loss of predictions, one for each of the vectors of weights (…, n).

    Truth and predictions are tables (n, n_labels) of shares of classes.
    """
    together = weights @ (truth + guessed)
    return LOSSES[metric](together - 2.0 * (weights @ (truth * guessed)), together)


def odd_loss(metric: str, expected: np.ndarray, found: np.ndarray, chance: np.ndarray) -> float:
    """What predictions lose at least if classes are as frequent as expected, beyond chance."""
    return max(0.0, float(LOSSES[metric](np.abs(found - expected) - chance, expected + found)))
