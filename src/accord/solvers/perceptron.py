"""The structured perceptron [thesis 5.2, Table 5.1]: w += Phi(x, y) - Phi(x, y_pred) after every mistake.

The averaged perceptron returns the mean of the weights after every example. It is kept as ``w`` and the sum of
updates times the number of examples seen before them, so an update costs twice as much and an example nothing more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from accord.packed.problem import Problem
from accord.packed.weights import Weights


@dataclass
class PerceptronState:
    """Everything needed to go on training."""

    weights: Weights
    sums: Weights
    clock: float = 1.0
    history: list[dict[str, float]] = field(default_factory=list)

    def average(self, last: bool = False) -> Weights:
        """Mean of the weights over all examples seen; ``last``: nothing else will be asked, so they need no copy."""
        out = self.weights if last else self.weights.copy()
        out.subtract(self.sums, self.clock)
        return out


def start(weights: Weights, averaged: bool) -> PerceptronState:
    """From the given weights. Without averaging the sums are empty, which the kernel reads as "do not average"."""
    sums = Weights(np.empty((0, weights.unary.shape[1])), np.empty(0))
    if averaged:
        sums = Weights(np.zeros_like(weights.unary), np.zeros_like(weights.transitions))
    return PerceptronState(weights, sums)


def train(
    problem: Problem,
    state: PerceptronState,
    max_iter: int,
    shuffle: bool,
    rng: np.random.Generator,
    on_epoch: Callable[[str], None] = lambda info: None,
) -> PerceptronState:
    """Run up to ``max_iter`` passes; stop early after one without a mistake."""
    for _ in range(max_iter):
        order = rng.permutation(problem.n_examples) if shuffle else np.arange(problem.n_examples)
        state.clock, wrong, tokens = problem.perceptron_epoch(state.weights, state.sums, order, state.clock)
        state.history.append({"wrong_outputs": int(wrong), "wrong_tokens": int(tokens)})
        on_epoch(f"{wrong} outputs wrong")
        if wrong == 0:
            break
    return state
