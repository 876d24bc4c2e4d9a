"""The linear program of relaxed partitions: ``max sum z_jk sim_jk`` over ``0 <= z <= 1`` and triangle inequalities.

There are T (T - 1) (T - 2) / 2 inequalities ``z_jk + z_kl - z_jl <= 1``, of which few matter: a program starts without
any, and those that its solution breaks most are added until none is broken. HiGHS solves it, each time from the basis
it has. Its value is an upper bound of the best partition's, and reached by a partition if z is whole.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from accord.kernels.compiling import kernel
from accord.kernels.partitions.condensed import n_pairs, pair_numbers, square

# Triangle inequalities broken by less than this count as kept (HiGHS itself is content with 1e-7).
BROKEN = 1e-6
# Inequalities added at a time, per object.
CUTS_PER_OBJECT = 20
# Rows of a program that is used again and again, per pair, before those that do not matter are dropped.
ROWS_PER_PAIR = 3
MAX_ROUNDS = 1000
# Where the simplex method takes more steps per object, an interior point is found sooner, and has better inequalities.
STEPS_PER_OBJECT = 20


class Relaxed(NamedTuple):
    """A relaxed partition (n_pairs,), and an upper bound of the value of any."""

    z: np.ndarray
    bound: float


class TriangleProgram:
    """The relaxation for sets of ``n`` objects, kept between similarities: inequalities and basis are used again."""

    def __init__(self, n: int) -> None:
        self.n, self.n_pairs = n, n_pairs(n)
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
        _most_broken(square(z), middle, broken)
        chosen = np.flatnonzero(broken > BROKEN)
        limit = CUTS_PER_OBJECT * self.n
        if chosen.size > limit:
            chosen = np.sort(chosen[np.argsort(-broken[chosen], kind="stable")[:limit]])
        if chosen.size:
            m, k = chosen.size, middle[chosen]
            j, l = (objects[chosen] for objects in pair_numbers(self.n))
            columns = np.stack([_pair(j, k), _pair(k, l), chosen], axis=1).astype(np.int32)
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
    distance = 1.0 - square(z)
    _shortest_paths(distance)
    return 1.0 - distance[pair_numbers(distance.shape[0])]


@kernel
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


@kernel
def _shortest_paths(distance):
    n = distance.shape[0]
    for k in range(n):
        for j in range(n):
            way = distance[j, k]
            if j != k and way < 1.0:
                for l in range(n):
                    if l != j and way + distance[k, l] < distance[j, l]:
                        distance[j, l] = way + distance[k, l]


def _pair(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Numbers of pairs of objects."""
    later = np.maximum(a, b)
    return later * (later - 1) // 2 + np.minimum(a, b)
