"""The co-perceptron [thesis 5.3, Table 5.2].

Labeled examples are learned as by the perceptron; on unlabeled ones on which the views disagree, each view moves
towards its peers' outputs with weight ``unlabeled_weight`` (the papers' C_u).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from accord.packed.problem import ConsensusProblem
from accord.packed.weights import ViewWeights
from accord.solvers.balance import Balance, no_pseudo_outputs


@dataclass
class CoPerceptronResult:
    """Weights of the views and how the passes went."""

    weights: ViewWeights
    interrupted: bool = False
    history: list[dict[str, float]] = field(default_factory=list)


def ramp(epoch: int, length: int) -> float:
    """Factor of the unlabeled weight in an epoch: rises exponentially from 0.001 and reaches 1 at epoch ``length``."""
    return 1.0 if epoch >= length else 10.0 ** (-3.0 * (1.0 - epoch / length))


def train(
    problem: ConsensusProblem,
    unlabeled_weight: float,
    max_iter: int,
    averaged: bool,
    ramp_epochs: int,
    balance: bool,
    rng: np.random.Generator,
    on_epoch: Callable[[str], None] = lambda info: None,
) -> CoPerceptronResult:
    """At most ``max_iter`` passes, until an interrupt; ``history`` has an entry for each that ended."""
    weights = problem.zero_weights()
    result = CoPerceptronResult(weights)
    sums = np.zeros_like(weights.stacked) if averaged else np.empty((0, *weights.stacked.shape[1:]))
    clock = np.ones(1)
    n_unlabeled = max(problem.unlabeled.size, 1)
    n_tokens = max(int(np.diff(problem.offsets)[problem.unlabeled].sum()), 1)
    balanced = Balance(problem) if balance and problem.unlabeled.size else None
    pseudo, _ = no_pseudo_outputs()
    visited = np.arange(problem.n_examples) if unlabeled_weight > 0 else problem.with_labels
    try:
        for epoch in range(max_iter):
            weight = unlabeled_weight * ramp(epoch, ramp_epochs)
            if balanced and weight > 0 and epoch > 0:  # in the first pass there is nothing to balance yet
                pseudo, _ = balanced.pseudo_outputs(weights)
            wrong, apart, tokens, updates = problem.co_perceptron_epoch(
                weights, sums, rng.permutation(visited), weight if epoch or not balanced else 0.0, pseudo, clock
            )
            result.history.append(
                {
                    "unlabeled_weight": weight,
                    "wrong_outputs": int(wrong),
                    "disagreement": apart / n_unlabeled,
                    "token_disagreement": tokens / n_tokens,
                }
            )
            on_epoch(f"{wrong} outputs wrong, views disagree on {100 * tokens / n_tokens:.1f} % of tokens")
            if updates == 0 and (epoch > 0 or not balanced):
                break
    except KeyboardInterrupt:
        result.interrupted = True
    if averaged:
        weights.stacked -= sums / clock[0]
    return result
