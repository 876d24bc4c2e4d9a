"""Label proportions of unlabeled examples held to those of the labeled ones.

With few labels the predictions on unlabeled examples drift to the frequent labels, and learners that learn from their
own predictions drift with them. A constant per label, added to the scores when pseudo-outputs are chosen, keeps the
predicted frequencies where the labeled examples put them (softly: a fixed number of damped steps).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from accord.packed.problem import ConsensusProblem
from accord.packed.weights import ViewWeights

STEPS = 25


def balancing_bias(
    predict: Callable[[np.ndarray], np.ndarray], frequency: np.ndarray, scale: float, start: np.ndarray
) -> np.ndarray:
    """Constants (n_labels,) that make the predicted labels about as frequent as ``frequency`` says.

    ``predict(bias)`` counts the labels predicted with the constants; ``scale`` is the size of typical differences
    between scores. The step is halved when it leads away from the goal; the best constants seen are returned.
    """
    best, best_error, distance, step = start, np.zeros_like(frequency), np.inf, 0.5 * scale
    bias = start
    for _ in range(STEPS):
        counts = predict(bias) + 0.5
        error = np.log(frequency) - np.log(counts / counts.sum())
        off = float(np.sum(frequency * np.abs(error)))
        if off < distance:
            best, best_error, distance = bias, np.clip(error, -2.0, 2.0), off
        else:
            step *= 0.5
        if distance < 0.02 or step < 1e-3 * scale:
            break
        bias = best + step * best_error
        bias = bias - bias.mean()
    return best


class Balance:
    """The pseudo-outputs that views teach each other in a pass: chosen before it, with balanced labels."""

    def __init__(self, problem: ConsensusProblem) -> None:
        self.problem = problem
        self.frequency = problem.label_frequency()
        self.bias = np.zeros((problem.n_views, self.frequency.size))

    def pseudo_outputs(self, weights: ViewWeights) -> tuple[np.ndarray, np.ndarray]:
        """Labels (n_views, n_rows) and margins (n_views, n_examples) for the next pass."""
        for v in range(self.bias.shape[0]):
            offsets, unary, chain = self.problem.unlabeled_scores(weights, v)
            counts = partial(self.problem.structure.count_labels, offsets, unary, chain)
            finite = unary[np.isfinite(unary).all(axis=1)]
            scale = float(np.median(np.ptp(finite, axis=1))) if finite.size else 0.0
            self.bias[v] = balancing_bias(counts, self.frequency, scale or 1.0, self.bias[v])
        return self.problem.pseudo_outputs(weights, self.bias)


def no_pseudo_outputs() -> tuple[np.ndarray, np.ndarray]:
    """What kernels read as "whatever the views predict at the time"."""
    return np.empty((0, 0), np.int32), np.empty((0, 0))
