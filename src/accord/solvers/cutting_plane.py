"""Working-set cutting planes for the structural SVM [svm_interdependent.txt, Alg. 1.1].

``min |w|^2 / 2 + (C / r) sum_i c_i xi_i^r`` with ``xi_i >= b - <w, d>`` for every output, and with weights ``c_i`` of
examples, as a rule 1. A pass visits every example, finds its most violated constraint and, if that is violated by more
than ``tol`` beyond the current slack, adds it to the example's working set. The dual is re-optimised over

* ``reoptimize="example"``: that working set only (variant b); also when nothing was added but other examples moved the
  weights since, without which the loop could end far from the optimum, or
* ``reoptimize="all"``: all working sets (variant a), once at the end of a pass, over all constraints it added.

Variables that become zero are dropped. The loop ends when a pass adds nothing and the working sets are optimal to the
relative precision ``min(tol, SETTLED)``. The duality gap is then at most ``C * c_i * tol`` per example beyond that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from accord.packed.problem import Problem
from accord.packed.weights import Weights
from accord.solvers import qp

# Working sets count as optimal when their duality gaps sum to less than this fraction of the dual value.
SETTLED = 1e-3
# Up to so many constraints, products one by one are faster than a sparse matrix product.
FEW = 16


@dataclass
class Constraint:
    """One constraint of a working set: ``xi >= offset - <w, (indices, values)>``, its output and dual variable."""

    output: np.ndarray
    offset: float
    indices: np.ndarray
    values: np.ndarray
    alpha: float = 0.0


@dataclass
class SVMResult:
    """Weights and certificates of a large-margin fit."""

    weights: Weights
    primal: float
    dual: float
    n_iter: int
    n_constraints: int  # with non-zero dual variable
    n_added: int
    converged: bool
    working_sets: list[list[Constraint]] | None = None
    history: list[dict[str, float]] = field(default_factory=list)

    @property
    def gap(self) -> float:
        return self.primal - self.dual


def primal_value(problem: Problem, weights: Weights, C: float, known: np.ndarray | None = None) -> float:
    """Primal objective, from scratch; ``known`` are lower bounds of the slacks, for decoders that are not exact."""
    xi = problem.violations(weights)
    if known is not None:
        xi = np.maximum(xi, known)
    each = problem.rows.input_weights
    if each is None:
        slack = float(xi.sum()) if problem.norm == 1 else 0.5 * float(xi @ xi)
    else:
        slack = float(each @ (xi if problem.norm == 1 else 0.5 * xi**2))
    w = weights.flat()
    return 0.5 * float(w @ w) + C * slack


def train(
    problem: Problem,
    C: float,
    tol: float,
    max_iter: int,
    reoptimize: str = "example",
    rng: np.random.Generator | None = None,
    on_epoch: Callable[[str], None] = lambda info: None,
) -> SVMResult:
    """Solve to precision ``tol``."""
    return run(CuttingPlane(problem, C, tol), tol, max_iter, reoptimize, rng, on_epoch)


def run(
    solver: CuttingPlane,
    tol: float,
    max_iter: int,
    reoptimize: str,
    rng: np.random.Generator | None,
    on_epoch: Callable[[str], None],
) -> SVMResult:
    """Passes over all examples until none adds a constraint."""
    n_examples = solver.problem.n_examples
    converged, n_iter, n_added = False, 0, 0
    history: list[dict[str, float]] = []
    while not converged and n_iter < max_iter:
        order = np.arange(n_examples) if rng is None else rng.permutation(n_examples)
        visits = [solver.visit(int(i), optimise=reoptimize == "example") for i in order]
        added = sum(v[0] for v in visits)
        if reoptimize == "all" and added:
            solver.optimise([i for i, s in enumerate(solver.sets) if s])
        unsettled = sum(v[1] for v in visits) if reoptimize == "example" else 0.0
        converged = added == 0 and unsettled <= min(tol, SETTLED) * abs(solver.dual())
        n_iter += 1
        n_added += added
        history.append({"added": added, "constraints": solver.size, "dual": solver.dual()})
        on_epoch(f"{added} constraints added, {solver.size} in use, dual {history[-1]['dual']:.5g}")
    return SVMResult(
        weights=solver.weights,
        primal=solver.primal(converged),
        dual=solver.dual(),
        n_iter=n_iter,
        n_constraints=solver.size,
        n_added=n_added,
        converged=converged,
        working_sets=solver.sets,
        history=history,
    )


class CuttingPlane:
    """Dual variables, working sets and the weights they imply."""

    def __init__(self, problem: Problem, C: float, tol: float, w: np.ndarray | None = None) -> None:
        """``w``: where to keep the weights, all zero; others may add to them between visits."""
        self.problem, self.C, self.tol = problem, C, tol
        template = problem.zero_weights()
        self.w = template.flat() if w is None else w
        self.weights = type(template).from_flat(self.w, *template.unary.shape)
        self._dense = np.zeros_like(self.w)  # work space, always left at zero
        self.work = type(template).from_flat(self._dense, *template.unary.shape).unary
        self.sets: list[list[Constraint]] = [[] for _ in range(problem.n_examples)]
        self._grams = [np.empty((0, 0))] * problem.n_examples  # products of the first constraints of each set
        self.ridge = 0.0 if problem.norm == 1 else 1.0 / C  # of an example of weight 1, as is the budget
        self.budget = C if problem.norm == 1 else np.inf
        weights = problem.rows.input_weights
        self.each = np.ones(problem.n_examples) if weights is None else weights
        self._chain = problem.chain(self.weights)

    @property
    def size(self) -> int:
        return sum(len(s) for s in self.sets)

    def primal(self, converged: bool) -> float:
        """The objective of the weights, whether or not the solver has come to its end."""
        return primal_value(self.problem, self.weights, self.C, self.slacks())

    def dual(self) -> float:
        linear = sum(c.alpha * c.offset for s in self.sets for c in s)
        mass = sum(sum(c.alpha for c in s) ** 2 / each for s, each in zip(self.sets, self.each.tolist()))
        return linear - 0.5 * float(self.w @ self.w) - 0.5 * self.ridge * mass

    def violation(self, c: Constraint) -> float:
        return c.offset - float(c.values @ self.w[c.indices])

    def slacks(self) -> np.ndarray:
        """Slack of every example by its working set alone."""
        return np.array([max([0.0, *(self.violation(c) for c in here)]) for here in self.sets])

    def visit(self, i: int, optimise: bool) -> tuple[bool, float]:
        """Add the most violated constraint of example ``i`` if it is violated enough.

        Returns whether it was added, and how far the working set was from optimal before.
        """
        h, offset, found = self.problem.violator(i, self.weights, self._chain)
        here = self.sets[i]
        violations = [self.violation(c) for c in here]
        slack = max([0.0, *violations])
        gap = self._block_gap(here, violations, slack, float(self.each[i]))
        added = h > slack + self.tol and not any(np.array_equal(c.output, found) for c in here)
        if added:
            here.append(Constraint(found, offset, *self.problem.constraint(i, found, offset, self.work)))
            violations.append(self.violation(here[-1]))
        if optimise and (added or gap > 0.0):
            self._reoptimise([i], here, self._gram_of(i), np.array(violations))
        return added, gap

    def _block_gap(self, here: list[Constraint], violations: list[float], slack: float, weight: float) -> float:
        """How far the dual variables of one example are from optimal for its working set."""
        mass, C = sum(c.alpha for c in here), weight * self.C
        upper = C * slack if self.ridge == 0.0 else 0.5 * C * slack**2
        gap = upper - sum(c.alpha * v for c, v in zip(here, violations)) + 0.5 * self.ridge * mass**2 / weight
        # the rest is not worth a solver's while
        return gap if gap > min(0.01, self.tol) * upper + 1e-12 * C else 0.0

    def optimise(self, examples: list[int]) -> None:
        """Maximise the dual over the working sets of the given examples, all others fixed."""
        block = [c for i in examples for c in self.sets[i]]
        self._reoptimise(examples, block, self._gram(block), np.array([self.violation(c) for c in block]))

    def _reoptimise(
        self, examples: list[int], block: list[Constraint], gram: np.ndarray, violations: np.ndarray
    ) -> None:
        """Maximise over ``block``, the constraints of the examples one after the other."""
        old = np.array([c.alpha for c in block])
        groups = np.repeat(np.arange(len(examples)), [len(self.sets[i]) for i in examples])
        new = self._maximise(gram, violations + gram @ old, groups, examples)
        for c, a in zip(block, new.tolist()):
            if a != c.alpha:
                self.w[c.indices] += (a - c.alpha) * c.values
                c.alpha = a
        if not new.all():
            for i in examples:
                used = [k for k, c in enumerate(self.sets[i]) if c.alpha > 0.0]
                self.sets[i] = [self.sets[i][k] for k in used]
                known = [k for k in used if k < len(self._grams[i])]
                self._grams[i] = self._grams[i][np.ix_(known, known)]
        self.refresh()

    def _maximise(self, gram: np.ndarray, linear: np.ndarray, groups: np.ndarray, examples: list[int]) -> np.ndarray:
        """Dual variables that maximise ``linear'a - a'(gram + ridge)a / 2``, given whose each is (``groups``)."""
        each = self.each[examples]
        hessian = gram + self.ridge * ((groups[:, None] == groups) / each[groups]) if self.ridge else gram
        new = qp.solve(hessian, linear, groups, np.inf if self.ridge else self.budget * each)
        new[new < 1e-12 * max(self.C, 1.0)] = 0.0
        return new

    def refresh(self) -> None:
        """Take notice of weights that have changed."""
        self._chain = self.problem.chain(self.weights)

    def _gram_of(self, i: int) -> np.ndarray:
        """Products of the constraints of one example, of which most are known from the last visit."""
        here, known = self.sets[i], self._grams[i]
        if len(known) < len(here):
            gram = np.empty((len(here), len(here)))
            gram[: len(known), : len(known)] = known
            self._fill(gram, here, len(known))
            self._grams[i] = gram
        return self._grams[i]

    def _gram(self, block: list[Constraint]) -> np.ndarray:
        if len(block) > FEW:
            columns, indices = np.unique(np.concatenate([c.indices for c in block]), return_inverse=True)
            ends = np.cumsum([0, *(c.indices.size for c in block)])
            values = np.concatenate([c.values for c in block])
            rows = sp.csr_array((values, indices, ends), shape=(len(block), columns.size))
            return (rows @ rows.T).toarray()
        gram = np.empty((len(block), len(block)))
        self._fill(gram, block, 0)
        return gram

    def _fill(self, gram: np.ndarray, block: list[Constraint], first: int) -> None:
        """Write the rows and columns of ``gram`` from ``first`` on."""
        for r in range(first, len(block)):
            self._dense[block[r].indices] = block[r].values
            for s in range(r + 1):
                gram[r, s] = gram[s, r] = block[s].values @ self._dense[block[s].indices]
            self._dense[block[r].indices] = 0.0
