"""The co-support vector machine [thesis 6.3, OP 6.5-6.7, Tables 6.1 and 6.2].

View v solves ``min |w_v|^2 / 2 + (C / r) (sum_labeled xi^r + C_u sum_unlabeled min(gamma_u, 1) xi^r)``, where the
target of an unlabeled example is the prediction of the peer view u and gamma_u the margin between u's best and
second-best output. Each pass visits the labeled examples of every view as the cutting-plane solver does, then every
unlabeled example, whose constraints are made anew, and the labeled ones again after each few hundred of those. ``C_u``
rises exponentially to its final value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from accord.packed.problem import ConsensusProblem, Problem
from accord.packed.weights import ViewWeights
from accord.solvers.balance import Balance, no_pseudo_outputs
from accord.solvers.co_perceptron import ramp
from accord.solvers.cutting_plane import SETTLED, CuttingPlane

# Unlabeled examples at a time: in between the labeled ones are visited, and Ctrl-C is heard.
CHUNK = 256


@dataclass
class CoSVMResult:
    """Weights of the views and how the fit went."""

    weights: ViewWeights
    n_iter: int
    converged: bool
    interrupted: bool = False
    history: list[dict[str, float]] = field(default_factory=list)


def train(
    problem: ConsensusProblem,
    labeled: list[Problem],
    C: float,
    unlabeled_weight: float,
    tol: float,
    max_iter: int,
    max_repeats: int,
    ramp_epochs: int,
    balance: bool,
    rng: np.random.Generator,
    on_epoch: Callable[[str], None] = lambda info: None,
) -> CoSVMResult:
    """``labeled[v]`` is the supervised problem of view ``v``: the labeled examples only."""
    weights = problem.zero_weights()
    solvers = [CuttingPlane(part, C, tol, weights.flat(v)) for v, part in enumerate(labeled)]
    blocks = problem.new_blocks(max_repeats)
    work = np.zeros_like(weights.stacked[0])
    unlabeled = problem.unlabeled if unlabeled_weight > 0 else problem.partly_labeled
    chunk = max(CHUNK, 4 * problem.labeled.size)  # most visits go to unlabeled examples
    balanced = Balance(problem) if balance and unlabeled.size else None
    pseudo = no_pseudo_outputs()
    result = CoSVMResult(weights, 0, False)
    n_unlabeled = max(unlabeled.size, 1)
    n_tokens = max(int(np.diff(problem.offsets)[unlabeled].sum()), 1)
    try:
        while not result.converged and result.n_iter < max_iter:
            weight = unlabeled_weight * ramp(result.n_iter, ramp_epochs)
            before = weights.stacked.copy() if unlabeled.size else None
            added, unsettled = _visit_labeled(solvers, rng)
            apart, tokens, steps = 0, 0, 0
            order = rng.permutation(unlabeled)
            if balanced:
                pseudo = balanced.pseudo_outputs(weights)
            for first in range(0, order.size, chunk):
                found = problem.visit_unlabeled(
                    weights, blocks, order[first : first + chunk], C, weight, pseudo, tol, max_repeats, work
                )
                apart, tokens, steps = apart + found[0], tokens + found[1], steps + found[2]
                # many unlabeled examples in a row may pull the same way, far from what the labels say
                for solver in solvers:
                    solver.refresh()
                added += _visit_labeled(solvers, rng)[0]
            settled = added == 0 and unsettled <= min(tol, SETTLED)
            if before is not None:
                moved = np.linalg.norm(weights.stacked - before)
                settled = result.n_iter >= ramp_epochs and moved <= tol * np.linalg.norm(weights.stacked)
            result.converged = bool(settled)
            result.n_iter += 1
            result.history.append(
                {
                    "unlabeled_weight": weight,
                    "added": added,
                    "steps": steps,
                    "disagreement": apart / n_unlabeled,
                    "token_disagreement": tokens / n_tokens,
                }
            )
            on_epoch(f"{added} constraints added, views disagree on {100 * tokens / n_tokens:.1f} % of tokens")
    except KeyboardInterrupt:
        result.interrupted = True
    return result


def _visit_labeled(solvers: list[CuttingPlane], rng: np.random.Generator) -> tuple[int, float]:
    """One pass over the labeled examples in every view: (constraints added, largest relative distance to optimal)."""
    added, unsettled = 0, 0.0
    for solver in solvers:
        visits = [solver.visit(int(i), optimise=True) for i in rng.permutation(len(solver.sets))]
        added += sum(v[0] for v in visits)
        unsettled = max(unsettled, sum(v[1] for v in visits) / max(abs(solver.dual()), 1e-300))
    return added, unsettled
