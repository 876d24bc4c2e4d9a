"""Correlation clustering by linear programs [thesis 3.36-3.38 and LP decoding in 8.2].

``max sum z_jk sim_jk`` over ``0 <= z <= 1`` and all triangle inequalities ``z_jk + z_kl - z_jl <= 1``. There are
T (T - 1) (T - 2) / 2 of these, of which few matter: a program starts without any, and those that its solution breaks
most are added until none is broken. HiGHS solves it, each time from the basis it has. Its value is an upper bound of
the best partition's, and reached by a partition if z is whole.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from accord.exceptions import InputError
from accord.kernels.partitions import correlation as cc
from accord.kernels.partitions import moves

# Triangle inequalities broken by less than this count as kept (HiGHS itself is content with 1e-7).
BROKEN = 1e-6
# Inequalities added at a time, per object.
CUTS_PER_OBJECT = 20
# Rows of a program that is used again and again, per pair, before those that do not matter are dropped.
ROWS_PER_PAIR = 3
MAX_ROUNDS = 1000
# Where the simplex method takes more steps per object, an interior point is found sooner, and has better inequalities.
STEPS_PER_OBJECT = 20
# Exact search: sets above this size take too long to be useful, and a branch must promise this much (relative).
MAX_EXACT = 60
GAIN = 1e-9


class Clustering(NamedTuple):
    """A partition, the sum of similarities within its clusters, and an upper bound of this sum for any partition."""

    labels: np.ndarray
    value: float
    bound: float


class Relaxed(NamedTuple):
    """A relaxed partition (n_pairs,), and an upper bound of the value of any."""

    z: np.ndarray
    bound: float


class TriangleProgram:
    """The relaxation for sets of ``n`` objects, kept between similarities: inequalities and basis are used again."""

    def __init__(self, n: int) -> None:
        self.n, self.n_pairs = n, n * (n - 1) // 2
        self.simplex = True  # or interior points
        self.every = np.arange(self.n_pairs, dtype=np.int32)
        self.lower, self.upper = np.zeros(self.n_pairs), np.ones(self.n_pairs)
        self.rows = np.empty((0, 3), np.int32)  # the pairs (j, k), (k, l), (j, l) of every inequality
        import highspy  # takes a while to load, and most programs never need it

        self.api = highspy
        self.highs = highspy.Highs()
        for option, value in (("output_flag", False), ("threads", 1), ("presolve", "off"), ("run_crossover", "off")):
            self.highs.setOptionValue(option, value)
        none = np.empty(0, np.int32)
        self.highs.addCols(self.n_pairs, self.lower, self.lower, self.upper, 0, none, none, np.empty(0))
        self.highs.changeObjectiveSense(highspy.ObjSense.kMaximize)

    def set_bounds(self, lower: np.ndarray, upper: np.ndarray) -> None:
        """Limits of z, for branching."""
        self.lower, self.upper = lower, upper
        self.highs.changeColsBounds(self.n_pairs, self.every, lower, upper)

    def solve(self, values: np.ndarray, enough: float = -np.inf) -> Relaxed | None:
        """The best z; None if the bounds of z contradict each other.

        With ``enough`` some z will do as soon as the best value is known not to exceed this, or z exceeds it by half of
        what the best one could. It is then the closure of a solution that breaks inequalities.
        """
        if len(self.rows) > ROWS_PER_PAIR * self.n_pairs:
            self._drop_slack_rows()
        self.highs.changeColsCost(self.n_pairs, self.every, values)
        for _ in range(MAX_ROUNDS):
            status = self._run(self.simplex)
            if self.simplex and status == self.api.HighsModelStatus.kIterationLimit:
                self.simplex = False
                status = self._run(self.simplex)
            if status == self.api.HighsModelStatus.kInfeasible:
                return None
            if status != self.api.HighsModelStatus.kOptimal:  # numerical trouble with the old basis: from scratch
                self.highs.clearSolver()
                self._run(True, 10**9)
            solution = self.highs.getSolution()
            z = np.clip(np.array(solution.col_value), 0.0, 1.0)
            self.simplex = self.simplex or is_whole(z)  # such programs are easy
            bound = self._bound(values, np.abs(np.array(solution.row_dual)))
            if enough > -np.inf:
                whole = closed(z)
                if bound <= enough or values @ whole >= 0.5 * (enough + bound):
                    return Relaxed(whole, bound)
            if self._add_rows(z) == 0:
                break
        return Relaxed(z, bound)

    def _bound(self, values: np.ndarray, duals: np.ndarray) -> float:
        """The value of the dual program, an upper bound for any duals >= 0, however imprecise they are."""
        left = values - np.bincount(
            self.rows.ravel(), (duals[:, None] * np.array([1.0, 1.0, -1.0])).ravel(), self.n_pairs
        )
        return float(duals.sum() + np.maximum(left * self.lower, left * self.upper).sum())

    def _run(self, simplex: bool, steps: int | None = None) -> Any:
        self.highs.setOptionValue("solver", "simplex" if simplex else "ipm")
        self.highs.setOptionValue("simplex_iteration_limit", STEPS_PER_OBJECT * self.n if steps is None else steps)
        self.highs.run()
        return self.highs.getModelStatus()

    def _add_rows(self, z: np.ndarray) -> int:
        middle, broken = np.empty(self.n_pairs, np.int64), np.empty(self.n_pairs)
        _most_broken(cc.square(z), middle, broken)
        chosen = np.flatnonzero(broken > BROKEN)
        limit = CUTS_PER_OBJECT * self.n
        if chosen.size > limit:
            chosen = np.sort(chosen[np.argsort(-broken[chosen], kind="stable")[:limit]])
        if chosen.size:
            columns = np.empty((chosen.size, 3), np.int32)
            _columns(self.n, chosen, middle, columns)
            m = chosen.size
            coefficients = np.tile([1.0, 1.0, -1.0], m)
            starts = np.arange(0, 3 * m, 3, dtype=np.int32)
            low = np.full(m, -self.api.kHighsInf)
            self.highs.addRows(m, low, np.ones(m), 3 * m, starts, columns.ravel(), coefficients)
            self.rows = np.concatenate([self.rows, columns])
        return chosen.size

    def _drop_slack_rows(self) -> None:
        sums = np.array(self.highs.getSolution().row_value)
        if sums.size == len(self.rows):  # else inequalities were added since
            slack = np.flatnonzero(sums < 0.9).astype(np.int32)
            self.highs.deleteRows(slack.size, slack)
            self.rows = np.delete(self.rows, slack, axis=0)


def is_whole(z: np.ndarray) -> bool:
    """Whether every entry is 0 or 1."""
    return bool(np.all(np.minimum(z, 1.0 - z) < BROKEN))


def closed(z: np.ndarray) -> np.ndarray:
    """The least z' >= z that keeps all triangle inequalities: 1 - z' are the lengths of shortest paths in 1 - z."""
    distance = 1.0 - cc.square(z)
    _shortest_paths(distance)
    return 1.0 - distance[np.tril_indices(distance.shape[0], -1)]


def relaxed(similarities: np.ndarray) -> Relaxed:
    """The best z of the relaxation, in condensed order, and its value; component after component."""
    values = cc.condensed(similarities)
    z, bound = np.zeros(values.size), 0.0
    for pairs, here in _parts(values):
        if np.all(here >= 0.0):
            z[pairs], part = 1.0, float(here.sum())
        else:
            z[pairs], part = TriangleProgram(cc.n_objects(here.size)).solve(here)  # type: ignore[misc]
        bound += part
    return Relaxed(z, bound)


def lp(similarities: np.ndarray) -> Clustering:
    """The relaxation, rounded to a partition in several ways, each improved by moves; the best of them."""
    values = cc.condensed(similarities)
    z, bound = relaxed(values)
    return rounded(values, z, bound)


def rounded(values: np.ndarray, z: np.ndarray, bound: float) -> Clustering:
    """The best of several ways to make a partition of a relaxed one."""
    if is_whole(z):
        labels = moves.linked(z, 0.5)
        return Clustering(labels, cc.value_of(values, labels), bound)
    starts = [moves.linked(z, t) for t in (0.5, 0.75, 0.9)]
    starts += [moves.pivoted(z, t) for t in (0.3, 0.5)]
    starts += [cc.agglomerative(z - 0.5), cc.agglomerative(values)]
    best, found = -np.inf, starts[0]
    for start in starts:
        labels = moves.improved(values, start)
        value = cc.value_of(values, labels)
        if value > best:
            best, found = value, labels
    return Clustering(found, best, bound)


def exact(similarities: np.ndarray) -> Clustering:
    """A best partition, by branch and bound on the relaxation; for small sets."""
    values = cc.condensed(similarities)
    n = cc.n_objects(values.size)
    labels, value = cc.components(values), 0.0
    largest = int(np.bincount(labels).max(initial=0))
    if largest > MAX_EXACT:
        raise InputError(
            f'decoder="exact" would have to search {largest} objects linked by positive similarities, of a set '
            f'of {n}; it takes up to {MAX_EXACT}; use decoder="lp", which gives an upper bound as well'
        )
    for pairs, here in _parts(values):
        found = (
            _branch_and_bound(here)
            if np.any(here < 0.0)
            else Clustering(np.zeros(cc.n_objects(here.size), np.int64), float(here.sum()), 0.0)
        )
        members = _members(pairs)
        labels[members] = labels.max() + 1 + found.labels
        value += found.value
    return Clustering(cc.numbered(labels), value, value)


def _parts(values: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each component with several objects: its pairs (numbers), and their similarities."""
    labels = cc.components(values)
    out = []
    for c in np.flatnonzero(np.bincount(labels, minlength=1) > 1):
        members = np.flatnonzero(labels == c)
        j, k = np.tril_indices(members.size, -1)
        pairs = members[j] * (members[j] - 1) // 2 + members[k]
        out.append((pairs, values[pairs]))
    return out


def _members(pairs: np.ndarray) -> np.ndarray:
    """The objects of a component from the numbers of its pairs: the pairs (1, 0), (2, 0), (3, 0), ... name them."""
    later = (1 + np.sqrt(1.0 + 8.0 * pairs).astype(np.int64)) // 2
    later -= later * (later - 1) // 2 > pairs
    first = pairs[0] - later[0] * (later[0] - 1) // 2
    return np.concatenate([[first], np.unique(later)])


def _branch_and_bound(values: np.ndarray) -> Clustering:
    """Depth first, on the pair whose z is nearest to one half; both branches share the program and its inequalities."""
    program = TriangleProgram(cc.n_objects(values.size))
    scale = max(float(np.abs(values).sum()), 1e-300)
    best = Clustering(np.zeros(program.n, np.int64), -np.inf, np.inf)
    waiting = [(np.inf, np.zeros(values.size), np.ones(values.size))]
    while waiting:
        promise, lower, upper = waiting.pop()
        if promise <= best.value + GAIN * scale:
            continue
        program.set_bounds(lower, upper)
        solved = program.solve(values)
        if solved is None or solved.bound <= best.value + GAIN * scale:
            continue
        z, bound = solved
        found = rounded(values, z, bound)
        if found.value > best.value:
            best = found
        distance = np.abs(z - 0.5)
        pair = int(np.argmin(distance))
        if distance[pair] > 0.5 - BROKEN:
            continue
        for whole in (0.0, 1.0) if z[pair] >= 0.5 else (1.0, 0.0):  # the last is looked at first
            low, high = lower.copy(), upper.copy()
            low[pair] = high[pair] = whole
            waiting.append((bound, low, high))
    return best


@njit(cache=True, nogil=True)
def _most_broken(z, middle, broken):
    """For each pair (j, l) the k whose inequality ``z_jk + z_kl - z_jl <= 1`` is broken most, and by how much."""
    n, pair = z.shape[0], 0
    for j in range(1, n):
        for l in range(j):
            best, at = 0.0, -1
            for k in range(n):
                if k != j and k != l and z[j, k] + z[l, k] > best:
                    best, at = z[j, k] + z[l, k], k
            middle[pair] = at
            broken[pair] = best - z[j, l] - 1.0
            pair += 1


@njit(cache=True, nogil=True)
def _shortest_paths(distance):
    n = distance.shape[0]
    for k in range(n):
        for j in range(n):
            way = distance[j, k]
            if j != k and way < 1.0:
                for l in range(n):
                    if l != j and way + distance[k, l] < distance[j, l]:
                        distance[j, l] = way + distance[k, l]


@njit(cache=True, nogil=True)
def _pair(a, b):
    return a * (a - 1) // 2 + b if a > b else b * (b - 1) // 2 + a


@njit(cache=True, nogil=True)
def _columns(n, chosen, middle, columns):
    """The pairs (j, k), (k, l), (j, l) of the chosen inequalities."""
    row, pair = 0, 0
    for j in range(1, n):
        for l in range(j):
            if row < chosen.size and chosen[row] == pair:
                columns[row, 0] = _pair(j, middle[pair])
                columns[row, 1] = _pair(middle[pair], l)
                columns[row, 2] = pair
                row += 1
            pair += 1
