"""The co-support vector machine [thesis 6.3, OP 6.5-6.7, Tables 6.1 and 6.2].

View v solves ``min |w_v|^2 / 2 + (C / r) (sum_labeled xi^r + C_u sum_unlabeled min(gamma_u, 1) xi^r)``, where the
target of an unlabeled example is the prediction of the peer view u and gamma_u the margin between u's best and
second-best output. Each pass visits the labeled examples of every view as the cutting-plane solver does, then every
unlabeled example, whose constraints are made anew, and the labeled ones again after each few hundred of those. ``C_u``
rises exponentially to its final value.

Targets and margins move with the weights, so these passes need not come to rest. Therefore they are followed by others,
in which targets and margins are *frozen* as they are by then: the objective of every view is then convex, constraints
are kept, and the passes end when each view's duality gap is at most the fraction ``tol`` of its objective.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from accord.packed.problem import ConsensusProblem, Problem
from accord.packed.weights import ViewWeights
from accord.solvers.balance import Balance, no_pseudo_outputs
from accord.solvers.co_perceptron import ramp
from accord.solvers.cutting_plane import SETTLED, CuttingPlane, primal_value

# Unlabeled examples at a time: in between the labeled ones are visited, and Ctrl-C is heard.
CHUNK = 256
# Passes with frozen targets at most, as a multiple of those before.
FROZEN = 2


@dataclass
class CoSVMResult:
    """Weights of the views and how the fit went."""

    weights: ViewWeights
    n_iter: int = 0  # passes in which targets move
    settled: bool = False  # whether these came to rest
    interrupted: bool = False
    history: list[dict[str, float]] = field(default_factory=list)
    n_frozen: int = 0  # passes in which targets are frozen
    gaps: list[float] = field(default_factory=list)  # of each view, as a fraction of its objective


class Schedule(NamedTuple):
    """How many passes there may be, and what happens in them."""

    max_iter: int
    max_repeats: int
    ramp: int
    balance: bool
    own: bool  # views that disagree are shown their own output, not the worst one
    freeze: bool
    certify: bool  # say how far each view is from its optimum


def train(
    problem: ConsensusProblem,
    labeled: list[Problem],
    C: float,
    unlabeled_weight: float,
    tol: float,
    schedule: Schedule,
    rng: np.random.Generator,
    on_epoch: Callable[[str], None] = lambda info: None,
) -> CoSVMResult:
    """``labeled[v]`` is the supervised problem of view ``v``: the labeled examples only."""
    machine = CoMachine(problem, labeled, C, unlabeled_weight, tol, schedule, rng)
    try:
        machine.move(on_epoch)
        if schedule.freeze and machine.unlabeled.size:
            machine.freeze(on_epoch)
        elif schedule.certify and machine.unlabeled.size:
            machine.certify()
    except KeyboardInterrupt:
        machine.result.interrupted = True
    return machine.result


class CoMachine:
    """Weights and constraints of all views."""

    def __init__(
        self, problem: ConsensusProblem, labeled: list[Problem], C: float, unlabeled_weight: float, tol: float,
        schedule: Schedule, rng: np.random.Generator,
    ) -> None:  # fmt: skip
        self.problem, self.C, self.unlabeled_weight, self.tol = problem, C, unlabeled_weight, tol
        self.schedule, self.rng = schedule, rng
        self.precision = tol  # largest violation that is overlooked
        self.weights = problem.zero_weights()
        self.solvers = [CuttingPlane(part, C, tol, self.weights.flat(v)) for v, part in enumerate(labeled)]
        self.blocks = problem.new_blocks(schedule.max_repeats)
        self.work = np.zeros_like(self.weights.stacked[0])
        self.unlabeled = problem.unlabeled if unlabeled_weight > 0 else problem.partly_labeled
        self.balanced = Balance(problem) if schedule.balance and self.unlabeled.size else None
        self.n_tokens = max(int(np.diff(problem.offsets)[self.unlabeled].sum()), 1)
        self.result = CoSVMResult(self.weights)

    def move(self, on_epoch: Callable[[str], None]) -> None:
        """Passes in which views learn what their peers predict at the time."""
        result, ramp_epochs = self.result, self.schedule.ramp
        while not result.settled and result.n_iter < self.schedule.max_iter:
            weight = self.unlabeled_weight * ramp(result.n_iter, ramp_epochs)
            before = self.weights.stacked.copy() if self.unlabeled.size else None
            entry, unsettled = self._pass(weight)
            result.settled = bool(entry["added"] == 0 and unsettled <= min(self.tol, SETTLED))
            if before is not None:
                moved, length = np.linalg.norm(self.weights.stacked - before), np.linalg.norm(self.weights.stacked)
                result.settled = bool(result.n_iter >= ramp_epochs and moved <= self.tol * length)
            result.n_iter += 1
            result.history.append(entry)
            on_epoch(
                f"{entry['added']} constraints added, views disagree on {100 * entry['token_disagreement']:.1f} % of "
                "tokens"
            )

    def freeze(self, on_epoch: Callable[[str], None]) -> None:
        """Passes in which views learn what their peers predicted before the first of them."""
        result, pseudo = self.result, self._taught()
        while result.n_frozen < FROZEN * self.schedule.max_iter:
            entry, _ = self._pass(self.unlabeled_weight, pseudo)
            primal, dual = self.objectives(pseudo)
            self._note_gaps(primal, dual)
            result.n_frozen += 1
            result.history.append({**entry, "gap": max(result.gaps)})
            on_epoch(f"targets are frozen, duality gap {100 * max(result.gaps):.2f} %")
            if max(result.gaps) <= self.tol:
                break
            self._sharpen(primal)

    def certify(self) -> None:
        """Bounds of the gaps for what the views teach each other in the end, from dual variables that come near."""
        pseudo, weights, blocks = self._taught(), *copy.deepcopy((self.weights, self.blocks))
        primal, _ = self.objectives(pseudo)
        options = self.C, self.unlabeled_weight, pseudo
        self.problem.visit_unlabeled(
            weights, blocks, self.unlabeled, *options, self.tol, self.schedule.max_repeats, self.work, True
        )
        _, dual = self.problem.objective_of_blocks(weights, blocks, self.unlabeled, *options, self.work)
        for v, solver in enumerate(self.solvers):
            w = weights.flat(v)
            dual[v] += solver.dual() + 0.5 * float(solver.w @ solver.w) - 0.5 * float(w @ w)
        self._note_gaps(primal, dual)

    def _taught(self) -> Any:
        """What the views teach each other with the present weights."""
        return self.balanced.pseudo_outputs(self.weights) if self.balanced else self.problem.predictions(self.weights)

    def _note_gaps(self, primal: np.ndarray, dual: np.ndarray) -> None:
        self.result.gaps = ((primal - dual) / np.maximum(primal, 1e-300)).tolist()

    def objectives(self, pseudo: Any) -> tuple[np.ndarray, np.ndarray]:
        """Primal and dual objective of every view for given targets."""
        primal, dual = self.problem.objective_of_blocks(
            self.weights, self.blocks, self.unlabeled, self.C, self.unlabeled_weight, pseudo, self.work
        )
        for v, solver in enumerate(self.solvers):
            primal[v] += primal_value(solver.problem, solver.weights, self.C, solver.slacks())
            dual[v] += solver.dual()
        return primal, dual

    def _sharpen(self, primal: np.ndarray) -> None:
        """Overlook only violations so small that together they leave half of the gap that is allowed."""
        each = max(1.0, self.unlabeled_weight) if self.problem.partly_labeled.size else self.unlabeled_weight
        mass = self.problem.labeled.size + each * self.unlabeled.size * max(1, self.problem.n_views - 1)
        self.precision = min(self.precision, 0.5 * self.tol * float(primal.min()) / (self.C * mass))
        for solver in self.solvers:
            solver.tol = self.precision

    def _pass(self, weight: float, frozen: Any = None) -> tuple[dict[str, float], float]:
        """One pass: what the history says about it, and how far labeled examples were from optimal before."""
        added, unsettled = _visit_labeled(self.solvers, self.rng, certify=not self.unlabeled.size)
        apart, tokens, steps = 0, 0, 0
        order = self.rng.permutation(self.unlabeled)
        pseudo = frozen or (self.balanced.pseudo_outputs(self.weights) if self.balanced else no_pseudo_outputs())
        chunk = max(CHUNK, 4 * self.problem.labeled.size)  # most visits go to unlabeled examples
        for first in range(0, order.size, chunk):
            found = self.problem.visit_unlabeled(
                self.weights, self.blocks, order[first : first + chunk], self.C, weight, pseudo, self.precision,
                self.schedule.max_repeats, self.work, frozen is not None, self.schedule.own and frozen is None,
            )  # fmt: skip
            apart, tokens, steps = apart + found[0], tokens + found[1], steps + found[2]
            # many unlabeled examples in a row may pull the same way, far from what the labels say
            for solver in self.solvers:
                solver.refresh()
            added += _visit_labeled(self.solvers, self.rng)[0]
        entry = {
            "unlabeled_weight": weight,
            "added": added,
            "steps": steps,
            "disagreement": apart / max(self.unlabeled.size, 1),
            "token_disagreement": tokens / self.n_tokens,
        }
        return entry, unsettled


def _visit_labeled(solvers: list[CuttingPlane], rng: np.random.Generator, certify: bool = False) -> tuple[int, float]:
    """One pass over the labeled examples in every view: (constraints added, largest relative distance to optimal).

    The distance is looked at only if nothing was added, because it takes a while; else it is infinite.
    """
    added, distances = 0, []
    for solver in solvers:
        visits = [solver.visit(int(i), optimise=True) for i in rng.permutation(len(solver.sets))]
        added += sum(v[0] for v in visits)
        distances.append(sum(v[1] for v in visits))
    if added or not certify:
        return added, np.inf
    return added, max(d / max(abs(solver.dual()), 1e-300) for d, solver in zip(distances, solvers))
