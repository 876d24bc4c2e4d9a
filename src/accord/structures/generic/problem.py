"""Training sets of any structure: what solvers see, one example at a time.

For structures whose decoders take much longer than the interpreter's share, so that loops over examples need no kernel
of their own. Changes of weights are sparse and flat: features times nodes, then transitions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from accord.kernels.features.expand import expand_nodes
from accord.kernels.features.sparse import add_row, score_rows
from accord.packed.problem import Sparse
from accord.packed.rescaling import RESCALINGS
from accord.packed.rows import Rows
from accord.packed.weights import Weights
from accord.threads import map_threads


class Examples:
    """Inputs in one view: scores of their parts for given weights, and joint features of their outputs."""

    def __init__(self, structure: Any, rows: Rows) -> None:
        self.structure, self.rows = structure, rows.merged()
        self.features, self.window, self.offsets = self.rows.features(), self.rows.window(), self.rows.offsets
        self._contexts: list[Any] = [None] * len(self)

    def __len__(self) -> int:
        return self.offsets.size - 1

    def span(self, i: int) -> slice:
        """The rows of example ``i``."""
        return slice(self.offsets[i], self.offsets[i + 1])

    def parts(self, i: int, weights: Weights) -> Any:
        """Scores of all parts of example ``i``."""
        s, n = self.structure, int(self.offsets[i + 1] - self.offsets[i])
        if self._contexts[i] is None:  # the same for all weights
            self._contexts[i] = s.context(None if self.rows.tokens is None else self.rows.tokens[self.span(i)])
        nodes = np.empty((n, s.n_nodes_))
        wide = np.empty((n + 1, max(self.window.size, 1) * s.n_nodes_))
        score_rows(self.features, self.window, self.offsets[i], weights.unary, wide, nodes)
        return s.part_scores(self._contexts[i], nodes, weights.transitions)

    def difference(self, i: int, plus: np.ndarray, minus: np.ndarray) -> Sparse:
        """Joint features of one output minus those of another."""
        return self.joint(i, ((plus, 1.0), (minus, -1.0)))

    def joint(self, i: int, outputs: Iterable[tuple[np.ndarray, float]]) -> Sparse:
        """Sum of the joint features of outputs times factors."""
        s = self.structure
        counts = np.zeros(s.n_transitions_)
        nodes, signs = [], []
        for y, factor in outputs:
            own = np.zeros(s.n_transitions_)
            nodes.append(s.count_parts(y, own))
            counts += factor * own
            signs.append(np.full(len(nodes[-1]), factor))
        indices, values = expand_nodes(
            self.features, self.offsets[i], np.concatenate(nodes), np.concatenate(signs), s.n_nodes_
        )
        indices, inverse = np.unique(indices, return_inverse=True)
        values = np.bincount(inverse, values, indices.size)
        used, here = np.flatnonzero(counts), np.abs(values) > 0
        first = self.rows.n_dims * s.n_nodes_
        return np.concatenate([indices[here], first + used]), np.concatenate([values[here], counts[used]])


class ExampleProblem:
    """Labeled examples; see :class:`accord.packed.problem.Problem`."""

    def __init__(
        self, structure: Any, rows: Rows, y: np.ndarray, rescaling: str = "margin", norm: int = 1, n_jobs: int = 1
    ) -> None:
        self.structure, self.rows, self.y = structure, rows, y
        self.examples = Examples(structure, rows)
        self.offsets = self.examples.offsets
        self.rescaling, self.norm, self.n_jobs = RESCALINGS[rescaling], norm, n_jobs
        self.constrained = True

    @property
    def n_examples(self) -> int:
        return len(self.examples)

    @property
    def partial(self) -> np.ndarray:
        """Outputs are known as a whole, or not at all."""
        return np.zeros(self.n_examples, np.bool_)

    def truth(self, i: int) -> np.ndarray:
        """The true output of example ``i``."""
        return self.y[self.examples.span(i)]

    def weight(self, i: int) -> float:
        """How much example ``i`` counts."""
        return 1.0 if self.rows.input_weights is None else float(self.rows.input_weights[i])

    def zero_weights(self) -> Weights:
        return self.structure.zero_weights(self.rows.n_dims)

    def chain(self, weights: Weights) -> None:
        """Nothing has to be made ready before examples are visited."""

    def impute(self, weights: Weights) -> np.ndarray:
        return self.y

    def relabeled(self, y: np.ndarray) -> ExampleProblem:
        rescaling = next(name for name, number in RESCALINGS.items() if number == self.rescaling)
        return type(self)(self.structure, self.rows, y, rescaling, self.norm, self.n_jobs)

    # -- perceptron and stochastic gradient -------------------------------------------------------------------------
    def perceptron_epoch(
        self, weights: Weights, sums: Weights, order: np.ndarray, clock: float
    ) -> tuple[float, int, int]:
        wrong = tokens = 0
        for i in order:
            true = self.truth(i)
            found, score = self.structure.best(self.examples.parts(i, weights))
            if score > -np.inf and not np.array_equal(found, true):
                wrong, tokens = wrong + 1, tokens + len(true)
                change = self.examples.difference(i, true, found)
                step = self.weight(i)
                add_sparse(weights, change, step)
                if sums.transitions.size or sums.unary.size:
                    add_sparse(sums, change, step * clock)
            clock += 1.0
        return clock, wrong, tokens

    def crf_epoch(
        self, weights: Weights, order: np.ndarray, decay: float, rate: float, clock: float
    ) -> tuple[float, float]:
        total = 0.0
        for i in order:
            step = rate / (1.0 + rate * decay * clock)
            clock += 1.0
            loss, coefficients, counts = self._likelihood(i, weights)
            total -= loss
            shrink = max(1.0 - step * decay, 0.0)
            weights.unary *= shrink
            weights.transitions *= shrink
            for t, row in enumerate(coefficients):
                add_row(self.examples.features, self.offsets[i] + t, step * row, weights.unary)
            weights.transitions += step * counts
        return clock, total

    # -- likelihood -------------------------------------------------------------------------------------------------
    def log_likelihood(self, weights: Weights) -> tuple[float, Weights]:
        done = map_threads(self._likelihood, [(i, weights) for i in range(self.n_examples)], self.n_jobs)
        total = float(sum(d[0] for d in done))
        coefficients = np.concatenate([d[1] for d in done]) if done else np.zeros((0, self.structure.n_nodes_))
        counts = np.sum([d[2] for d in done], axis=0) if done else np.zeros(self.structure.n_transitions_)
        return total, Weights(self.rows.transpose_scores(coefficients), counts)

    def _likelihood(self, i: int, weights: Weights) -> tuple[float, np.ndarray, np.ndarray]:
        """Log likelihood of one output times its weight: (value, gradient by nodes of its rows, by transitions)."""
        s, true = self.structure, self.truth(i)
        if len(true) == 0:
            return 0.0, np.zeros((0, s.n_nodes_)), np.zeros(s.n_transitions_)
        parts = self.examples.parts(i, weights)
        log_z, coefficients, counts = s.expectations(parts)
        coefficients, counts = -coefficients, -counts
        entries = s.count_parts(true, counts)
        np.add.at(coefficients, (entries[:, 0], entries[:, 1]), 1.0)
        if self.rows.input_weights is not None:
            coefficients, counts = self.weight(i) * coefficients, self.weight(i) * counts
        return self.weight(i) * (s.score(parts, true) - log_z), coefficients, counts

    # -- margins ----------------------------------------------------------------------------------------------------
    def violations(self, weights: Weights) -> np.ndarray:
        calls = [(i, weights, None) for i in range(self.n_examples)]
        return np.array([max(found[0], 0.0) for found in map_threads(self.violator, calls, self.n_jobs)])

    def violator(self, i: int, weights: Weights, chain: None) -> tuple[float, float, np.ndarray]:
        return self.structure.find_violator(self.examples.parts(i, weights), self.truth(i), self.rescaling, self.norm)

    def constraint(self, i: int, found: np.ndarray, offset: float, work: np.ndarray) -> Sparse:
        indices, values = self.examples.difference(i, self.truth(i), found)
        return indices, (values if self.rescaling == RESCALINGS["margin"] else values * offset)

    def frank_wolfe_epoch(self, weights: Weights, dual: Any, order: np.ndarray, C: float) -> None:
        raise NotImplementedError("a structure without the capability frank-wolfe")


def add_sparse(weights: Weights, change: Sparse, factor: float) -> None:
    """Add a flat sparse vector to weights."""
    n = weights.unary.size
    indices, values = change
    here = indices < n
    weights.unary.reshape(-1)[indices[here]] += factor * values[here]
    weights.transitions[indices[~here] - n] += factor * values[~here]
