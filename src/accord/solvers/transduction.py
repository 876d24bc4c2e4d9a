"""Smooth large-margin training in rounds: decode, grow the working sets, optimise [thesis Tables 7.1 and 7.2].

A *machine* is a weight vector with working sets: one of labeled examples, and others of unlabeled ones, whose targets
are what a teacher predicts: the machine itself (transduction, self-training) or the machine of another view
(consensus). A round finds targets and wrong outputs by decoding, adds those that matter and follows conjugate
gradients. ``C`` rises in barrier fashion while only labeled examples count; when their working sets have settled, the
weight of the unlabeled ones rises exponentially; then rounds go on until nothing changes. The worst outputs come first;
when they have settled, all others near the margin join them, so that the soft maxima are those over all outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from accord.packed.problem import WorkingSet
from accord.packed.spaces import PrimalSpace
from accord.solvers.co_perceptron import ramp
from accord.solvers.smooth import Objective, Point, Term, minimise, smax_raise

# C begins at C / 10^(BARRIER - 1) and is ten times larger in every round.
BARRIER = 3
# Rounds of labels alone at most before unlabeled examples join them.
FIRST_ROUNDS = 30
# While many outputs join or weights rise, decoding again is worth more than many steps on what is known so far.
STEPS = 20
MAX_STEPS = 1000
# Where entries differ from their targets at more of the rows than this, all rows take part in a step.
MOST = 0.7
# Entries that are beyond the margin, and would be with a loss three times as wide, for so many rounds are dropped.
PATIENCE = 10
WIDER = 3.0
# Working sets have settled once a round has added no more than this for each example: then steps are worth taking, and
# outputs near the margin are listed.
SETTLED = 0.05
# How often hidden labels inside outputs are guessed again.
MAX_GUESSES = 5


@dataclass
class Settings:
    """The objective and when to stop."""

    C: float
    unlabeled_weight: float  # relative to C
    epsilon: float
    tau: float
    rho: float
    regulariser: float  # factor of |w|^2
    unlabeled_loss: str  # "symmetric" or "huber"
    tol: float
    max_iter: int
    ramp: int
    rescaling: str = "margin"  # or "slack"
    max_outputs: int = 0  # so many are listed in all at most; 0: only the worst of each round


@dataclass
class Machine:
    """A weight vector and its working sets. ``sets[0]`` has the labeled examples."""

    space: PrimalSpace
    sets: list[WorkingSet]
    teachers: list[int | None]  # for each set, the machine that predicts its targets; None: labels
    constrained: bool
    bias: np.ndarray  # (n_columns,) constants added to the scores of each row
    given: np.ndarray | None = None  # label numbers of labeled examples, -1 where hidden; None: nothing is hidden
    weights: list[np.ndarray] = field(default_factory=lambda: [np.empty(0)])  # of each set's examples; empty: 1 each
    point: Point = field(init=False)

    def __post_init__(self) -> None:
        x = self.space.zeros()
        self.point = Point(x, self.space.forward(x))

    def scores(self) -> np.ndarray:
        """Label scores of all rows."""
        return self.space.label_scores(self.point.forward) + self.bias

    def chain(self) -> tuple:
        return self.space.structure.chain(self.space.transitions(self.point.forward), self.constrained)

    def term(self, k: int, settings: Settings, C: float, factor: float) -> Term:
        """Working set ``k`` in the objective."""
        s, unlabeled = self.sets[k], self.teachers[k] is not None
        loss = settings.unlabeled_loss if unlabeled else "huber"
        matrix = s.matrix(self.space.n_rows)
        shift = np.concatenate([np.tile(self.bias, self.space.n_rows), np.zeros(self.space.structure.n_transitions_)])
        segments, weights = s.segments(), self.weights[k]
        return Term(
            loss=loss,
            width=settings.tau if loss == "symmetric" else settings.epsilon,
            weight=C * settings.unlabeled_weight * factor if unlabeled else C,
            matrix=matrix,
            constant=matrix @ shift if np.any(self.bias) else np.zeros(s.size),
            delta=s.delta,
            segments=segments,
            rescaling=settings.rescaling,
            weights=weights[s.example[segments]] if weights.size else weights,
        )


@dataclass
class Training:
    """All that is needed to go on with a training that has been stopped."""

    machines: list[Machine]
    phase: str = "labels"  # then "ramp", then "all"
    phase_round: int = 0
    n_quiet: int = 0  # rounds in a row that have changed nothing
    n_guesses: int = 0
    listing: bool = False  # outputs near the margin are listed now: the worst of all rounds have settled
    history: list[dict[str, Any]] = field(default_factory=list)
    converged: bool = False
    interrupted: bool = False

    @property
    def objective(self) -> float:
        """Value of the objective over the working sets at the end."""
        return float(sum(m.point.value for m in self.machines))

    @property
    def n_constraints(self) -> int:
        return sum(s.size for m in self.machines for s in m.sets)

    @property
    def n_incomplete(self) -> int:
        """Examples that had wrong outputs near the margin in the last round which may have been left out."""
        return sum(s.n_incomplete for m in self.machines for s in m.sets)

    def uses_unlabeled(self, settings: Settings) -> bool:
        """Whether there are unlabeled examples and they count."""
        return settings.unlabeled_weight > 0.0 and any(t is not None for m in self.machines for t in m.teachers)


def train(training: Training, settings: Settings, on_round: Callable[[str], None] = lambda info: None) -> Training:
    """Go on for at most ``max_iter`` rounds; everything that is learned is in ``training``, also after Ctrl-C."""
    training.converged = training.interrupted = False
    try:
        for _ in range(settings.max_iter):
            entry = _round(training, settings)
            training.history.append(entry)
            on_round(
                f"objective {entry['objective']:.5g}, {entry['n_constraints']} outputs in use, {entry['added']} added, "
                f"{entry['label_changes']} targets changed"
            )
            if training.converged:
                break
    except KeyboardInterrupt:
        training.interrupted = True
    except SystemError as error:  # how compiled functions pass on what was raised while they ran
        if not isinstance(error.__cause__ or error.__context__, KeyboardInterrupt):
            raise
        training.interrupted = True
    return training


def _round(training: Training, settings: Settings) -> dict[str, Any]:
    """One round; moves on to the next phase when this one is over."""
    C, factor = _weights(training, settings)
    with_unlabeled = training.phase != "labels"
    changes = dropped = 0
    if with_unlabeled:
        changes, dropped = _retarget(training.machines)
    added = steps = 0
    wanted = _wanted(training, settings)
    for machine in training.machines:
        more = _grow(machine, settings, C, factor, with_unlabeled, wanted)
        terms = [machine.term(k, settings, C, factor) for k in range(len(machine.sets))]
        few = more > SETTLED * sum(s.n_examples for s in machine.sets) or _is_passing(training, settings)
        machine.point = _optimise(machine, terms, settings, STEPS if few else MAX_STEPS)
        added, steps = added + more, steps + machine.point.n_steps
        dropped += _shrink(machine, terms, max(PATIENCE, len(training.history) // 2))
    entry = {
        "round": len(training.history) + 1,
        "objective": training.objective,
        "C": C,
        "unlabeled_weight": settings.unlabeled_weight * factor,
        "n_constraints": training.n_constraints,
        "added": added,
        "dropped": dropped,
        "label_changes": changes,
        "cg_iterations": steps,
    }
    training.n_quiet = training.n_quiet + 1 if added == changes == 0 else 0
    _advance(training, settings)
    return entry


def _is_passing(training: Training, settings: Settings) -> bool:
    """Whether weights are yet to rise."""
    return training.phase == "ramp" or (training.phase == "labels" and training.uses_unlabeled(settings))


def _wanted(training: Training, settings: Settings) -> int:
    """How many outputs near the margin to list of each example: none before the worst have settled, which are soon
    others."""
    last = training.phase == "all" or (training.phase == "labels" and not training.uses_unlabeled(settings))
    n_examples = sum(s.n_examples for m in training.machines for s in m.sets)
    if last and training.phase_round >= (BARRIER if training.phase == "labels" else 1):
        training.listing |= training.history[-1]["added"] <= SETTLED * n_examples
    return settings.max_outputs // max(n_examples, 1) if training.listing else 0


def _optimise(machine: Machine, terms: list[Term], settings: Settings, max_steps: int) -> Point:
    """Conjugate gradients among the rows at which entries differ from their targets, if those are not most of all."""
    space, point = machine.space, machine.point
    n_rows, n_labels = space.n_rows, space.n_columns
    is_active = np.zeros(n_rows, np.bool_)
    for term in terms:
        if term.weight > 0.0:
            is_active[term.matrix.indices[term.matrix.indices < n_rows * n_labels] // n_labels] = True
    active = np.flatnonzero(is_active)
    if space.centre is not None or active.size > MOST * n_rows or not active.size:
        return minimise(space, Objective(terms, settings.regulariser, settings.rho), point, settings.tol, max_steps)
    small, kept = space.restricted(active)
    place = np.cumsum(is_active) - 1

    def moved(matrix: Any) -> Any:
        row, label = np.divmod(matrix.indices, n_labels)
        at_row = matrix.indices < n_rows * n_labels
        indices = np.where(at_row, place[np.minimum(row, n_rows - 1)] * n_labels + label, matrix.indices)
        indices[~at_row] -= (n_rows - active.size) * n_labels
        shape = (matrix.shape[0], matrix.shape[1] - (n_rows - active.size) * n_labels)
        return sp.csr_array((matrix.data, indices, matrix.indptr), shape)

    value = Objective(
        [replace(t, matrix=moved(t.matrix)) for t in terms if t.weight > 0.0], settings.regulariser, settings.rho
    )
    x = point.x[kept]
    found = minimise(small, value, Point(x, small.forward(x)), settings.tol, max_steps)
    full = np.zeros_like(point.x)
    full[kept] = found.x
    return replace(found, x=full, forward=space.forward(full))


def _weights(training: Training, settings: Settings) -> tuple[float, float]:
    """C, and the factor of the unlabeled weight, in this round."""
    if training.phase == "labels":
        return settings.C * 10.0 ** min(0, training.phase_round - BARRIER + 1), 0.0
    return settings.C, ramp(training.phase_round, settings.ramp) if training.phase == "ramp" else 1.0


def _advance(training: Training, settings: Settings) -> None:
    """The phase of the next round, or the end: two rounds in a row have changed nothing."""
    if training.phase == "labels" and training.phase_round < BARRIER - 1:
        training.n_quiet = 0  # C has not been what it is to be
    training.phase_round += 1
    use_unlabeled = training.uses_unlabeled(settings)
    settled = training.n_quiet >= 2
    if training.phase == "labels" and use_unlabeled:
        settled |= training.phase_round >= FIRST_ROUNDS
    if training.phase == "ramp":
        if training.phase_round >= settings.ramp:
            training.phase, training.phase_round, training.n_quiet = "all", 0, 0
        return
    if not settled or (training.phase == "labels" and training.phase_round < BARRIER):
        return
    if training.n_guesses < MAX_GUESSES and any(m.given is not None for m in training.machines):
        training.n_guesses += 1
        if _guess_again(training.machines):
            training.n_quiet = 0
            return
    if training.phase == "labels" and use_unlabeled:
        training.phase, training.phase_round, training.n_quiet = ("ramp" if settings.ramp > 0 else "all"), 0, 0
        return
    training.converged = True


def _retarget(machines: list[Machine]) -> tuple[int, int]:
    """Targets of unlabeled examples are what the teachers predict now: (targets changed, entries dropped)."""
    scores = [m.scores() for m in machines]
    predicted: dict[tuple[int, int, int], np.ndarray] = {}
    changes = dropped = 0
    for machine in machines:
        for s, teacher in zip(machine.sets, machine.teachers):
            if teacher is None:
                continue
            key = (teacher, s.rows.start, s.rows.stop)
            if key not in predicted:
                predicted[key] = s.predict(scores[teacher][s.rows], machines[teacher].chain())
            changed, gone = s.retarget(predicted[key])
            changes, dropped = changes + changed, dropped + gone
    return changes, dropped


def _guess_again(machines: list[Machine]) -> int:
    """Hidden labels of labeled examples are what fits the given ones best now: how many outputs changed."""
    changed = 0
    for m in machines:
        if m.given is not None:
            s = m.sets[0]
            changed += s.retarget(s.predict(m.scores()[s.rows], m.chain(), m.given))[0]
    return changed


def _grow(machine: Machine, settings: Settings, C: float, factor: float, with_unlabeled: bool, wanted: int) -> int:
    """Add outputs that together raise the slack of their example by more than ``tol``; returns how many."""
    scores, chain = machine.scores(), machine.chain()
    parts = machine.space.part_scores(machine.point.forward)
    added = 0
    for k, s in enumerate(machine.sets):
        if machine.teachers[k] is not None and not with_unlabeled:
            continue
        term = machine.term(k, settings, C, factor)
        slack = np.zeros(s.n_examples)
        if s.size:
            slack[s.example[term.segments]] = term.slacks(term.matrix @ parts + term.constant, settings.rho)[0]
        wrong = s.find(scores[s.rows], chain, settings.rescaling, term.width, wanted)
        value = term.values(wrong.margin, wrong.delta)
        segments = np.flatnonzero(np.diff(wrong.example, prepend=-1))
        together = replace(term, delta=wrong.delta, segments=segments).slacks(wrong.margin, settings.rho)[0]
        owner = wrong.example[segments]
        raised = smax_raise(slack[owner], together, settings.rho) > settings.tol
        if machine.weights[k].size:
            raised &= machine.weights[k][owner] > 0.0
        chosen = np.repeat(raised, np.diff(np.append(segments, wrong.example.size))) & (value > 0.0)
        added += s.add(wrong, chosen)
    return added


def _shrink(machine: Machine, terms: list[Term], patience: int) -> int:
    """Drop entries that have not counted for a while, and are not about to."""
    parts = machine.space.part_scores(machine.point.forward)
    dropped = 0
    for s, term in zip(machine.sets, terms):
        if s.size and term.weight > 0.0:
            near = replace(term, width=WIDER * term.width).values(term.matrix @ parts + term.constant, s.delta) > 0.0
            dropped += s.shrink(near, patience)
    return dropped
