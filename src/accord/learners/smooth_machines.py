"""What the smooth large-margin learners are made of: parameters, spaces and machines."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from accord import memory
from accord.exceptions import InputError
from accord.learners.svm import first_guess
from accord.packed.rows import Rows
from accord.packed.spaces import ExpansionSpace, PrimalSpace
from accord.packed.structure import Structure
from accord.settings import one_of
from accord.solvers.transduction import Machine, Settings, Training
from accord.views.gram import check_memory, products
from accord.views.tied import Tied, tie

SOLVER = one_of("auto", "primal", "expansion")
# A product with a dense matrix takes so much less time for each number than one with sparse features.
DENSE = 8


def one_blas_thread() -> Any:
    """BLAS rounds sums in another way for each number of threads that it shares them out to; fits must not."""
    return threadpool_limits(1, user_api="blas")


def merged_features(rows: Rows) -> Tied:
    """Rows without features that nothing tells apart, and without units that do not occur."""
    return Tied(rows.without_idle_units()) if isinstance(rows.table, np.ndarray) else tie(rows)


def make_space(structure: Structure, rows: Rows, solver: str, centre: tuple[int, int] | None = None) -> PrimalSpace:
    """Weights of features, or coefficients of rows; ``"auto"``: whichever is faster."""
    if solver == "expansion":
        check_memory(rows.n_rows, rows.n_rows, 'Use solver="primal"')
    elif solver == "primal" or not _expansion_pays(rows):
        return PrimalSpace(structure, rows, centre)
    matrix: Any
    if not isinstance(rows.table, np.ndarray):
        matrix = rows.matrix()
    elif rows.slots.shape[1] == 1:
        matrix = rows.table[rows.slots[:, 0]]  # not by way of a sparse matrix, which is larger
    else:
        matrix = rows.matrix().toarray()
    return ExpansionSpace(structure, rows, products(matrix, matrix), centre)


def _expansion_pays(rows: Rows) -> bool:
    """Whether a step over coefficients of rows takes less time, and the kernel matrix fits into memory."""
    available = memory.available_bytes()
    if available is not None and 3 * 8 * rows.n_rows**2 > available / 2:
        return False
    first, last = rows.bounds.T
    if isinstance(rows.table, np.ndarray):
        stored = int(np.sum(last - first)) * rows.table.shape[1] / DENSE
    else:
        stored = int(np.sum(rows.table.indptr[last] - rows.table.indptr[first]))
    vectors = 6  # so many passes over vectors of parameters
    return rows.n_rows**2 / DENSE + vectors * rows.n_rows < 2 * stored + vectors * rows.n_dims


def checksum(rows: Rows) -> int:
    """A number that tells whether rows are the same."""
    found = 0
    for part in rows.features():
        found = zlib.crc32(part.tobytes(), found)
    return found


def _foresee(learner: Any, space: PrimalSpace, n_dims: int) -> None:
    """Refuse a machine that does not fit into memory."""
    s, scores = space.structure, f"of {space.n_rows:,} rows x {space.n_columns:,} labels"
    tables = {
        f"weights of all {n_dims:,} features x {space.n_columns:,} labels": 8.0 * n_dims * s.n_nodes_,
        f"9 vectors of {space.n_own:,} weights": 72.0 * space.n_own,
        f"9 vectors of {s.n_transitions_:,} transitions": 72.0 * s.n_transitions_,
        f"8 vectors of scores {scores}": 64.0 * space.n_rows * space.n_columns,
    }
    if s.single_row:
        tables[f"all wrong outputs {scores}"] = 48.0 * space.n_rows * space.n_columns
    learner._foresee(tables, "a StructuredSVM")


def new_machine(
    learner: Any, rows: Rows, merged: Rows, y: np.ndarray, n_labeled: int, rng: np.random.Generator,
    centre: tuple[int, int] | None = None, bias: np.ndarray | None = None,
) -> Machine:  # fmt: skip
    """A machine in the space of the ``merged`` rows, with the first ``n_labeled`` of ``rows`` as labeled examples.

    Where their label numbers ``y`` are hidden (-1) they are guessed.
    """
    problem = learner._problem(rows.take(np.arange(n_labeled)), y)
    partial = problem.partial.any()
    targets = first_guess(problem, rng) if partial else y
    space = make_space(learner.structure_, merged, learner.solver, centre)
    _foresee(learner, space, rows.n_dims)
    labeled = space.structure.working_set(merged, rows.offsets[: n_labeled + 1], targets, learner.n_jobs or 1)
    bias = np.zeros(space.n_columns) if bias is None else bias
    weights = rows.kernel_weights[:n_labeled]
    return Machine(space, [labeled], [None], problem.constrained, bias, y if partial else None, [weights])


def add_unlabeled(machine: Machine, rows: Rows, n_labeled: int, teacher: int, n_jobs: int | None) -> None:
    """Give a machine the examples after the labeled ones, whose targets another one, or itself, predicts."""
    offsets = rows.offsets[n_labeled:]
    targets = machine.space.structure.hidden(int(offsets[-1] - offsets[0]))
    space = machine.space
    machine.weights.append(rows.kernel_weights[n_labeled:])
    machine.sets.append(space.structure.working_set(space.rows, offsets, targets, n_jobs or 1))
    machine.teachers.append(teacher)


def settings_of(learner: Any, weight: float, regulariser: float, unlabeled_loss: str) -> Settings:
    """What a learner's parameters mean to the solver; as floats, for compiled code is made anew for other types."""
    C, epsilon, tau, rho, tol = (float(getattr(learner, name, 0.0)) for name in ("C", "epsilon", "tau", "rho", "tol"))
    return Settings(
        C, weight, epsilon, tau, rho, regulariser, unlabeled_loss, tol,
        learner.max_iter, learner.ramp, learner.rescaling, learner.max_outputs,
    )  # fmt: skip


def keep_outcome(learner: Any, training: Training) -> None:
    """Set the attributes that tell how a training went."""
    learner.objective_, learner.n_constraints_ = training.objective, training.n_constraints
    learner.n_incomplete_ = training.n_incomplete
    learner.n_iter_, learner.history_ = len(training.history), training.history
    learner.converged_, learner.interrupted_ = training.converged, training.interrupted


def last_training(learner: Any, task: dict[str, Any], settings: Settings) -> Training | None:
    """What the last fit of a learner has left, if it was of the same ``task``: values by the names of arguments."""
    last = learner.__dict__.get("_training")
    if last is None:
        return None
    before, former, training = last
    different = [name for name, value in task.items() if before[name] != value]
    if different:
        raise InputError(
            f"warm_start=True goes on with the last fit, but {different[0]} is not that of that fit; set "
            "warm_start=False to start anew"
        )
    if replace(former, max_iter=settings.max_iter) != settings:
        training.n_quiet = 0  # working sets have settled for another objective
    return training


@contextmanager
def as_before_if_refused(learner: Any) -> Iterator[None]:
    """Input that is refused leaves the last fit as it was."""
    before = learner.__dict__.copy()
    try:
        yield
    except InputError:
        learner.__dict__.clear()
        learner.__dict__.update(before)
        raise


def warn_of_end(training: Training, max_iter: int, stacklevel: int) -> None:
    """Tell that a fit was interrupted, or has not converged."""
    n = len(training.history)
    if training.interrupted:
        warnings.warn(f"interrupted after {n} rounds: the model is what was learned so far", stacklevel=stacklevel)
    elif not training.converged:
        warnings.warn(
            f"stopped after max_iter={max_iter} rounds before the working sets settled; raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )
