"""Training sets of trees: what the solvers see of them.

One sentence at a time: parsing it takes so much longer than the interpreter's share that loops over sentences need no
kernel of their own. Weights are flat here, as in :mod:`accord.kernels.trees.features`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from accord.exceptions import InputError
from accord.kernels.features.sparse import add_row, score_rows
from accord.kernels.trees import cky, inside_outside
from accord.kernels.trees.features import expand_nodes, tree_entries
from accord.packed.weights import Weights
from accord.structures.rescaling import RESCALINGS
from accord.structures.trees.tree import Tree
from accord.threads import map_threads

Sparse = tuple[np.ndarray, np.ndarray]  # flat indices and values


class Sentences:
    """Sentences in one view: scores of their parts for given weights, and joint features of their trees."""

    def __init__(self, structure: Tree, rows: Any) -> None:
        self.structure, self.rows = structure, rows.merged()
        self.features, self.window, self.offsets = self.rows.features(), self.rows.window(), self.rows.offsets
        self._allowed: list[np.ndarray | None] = [None] * (self.offsets.size - 1)

    def __len__(self) -> int:
        return self.offsets.size - 1

    def span(self, i: int) -> slice:
        return slice(self.offsets[i], self.offsets[i + 1])

    def allowed(self, i: int) -> np.ndarray:
        """Which leaf symbols the tokens may be; the same for all weights."""
        found = self._allowed[i]
        if found is None:
            found = self._allowed[i] = self.structure.leaf_allowed(self.rows.tokens[self.span(i)])
        return found

    def scores(self, i: int, weights: Weights) -> cky.TreeScores:
        """Scores of all parts of sentence ``i``."""
        s, n = self.structure, int(self.offsets[i + 1] - self.offsets[i])
        nodes = np.empty((n, s.n_nodes_))
        wide = np.empty((n + 1, max(self.window.size, 1) * s.n_nodes_))
        score_rows(self.features, self.window, self.offsets[i], weights.unary, wide, nodes)
        return s.scores(self.allowed(i), nodes, weights.transitions)

    def difference(self, i: int, plus: np.ndarray, minus: np.ndarray) -> Sparse:
        """Joint features of one tree minus those of another."""
        return self.joint(i, ((plus, 1.0), (minus, -1.0)))

    def joint(self, i: int, trees: Any) -> Sparse:
        """Sum of the joint features of trees times factors."""
        s, g = self.structure, self.structure.grammar_
        counts = np.zeros(s.n_transitions_)
        nodes, signs = [], []
        for tree, factor in trees:
            own, room = np.zeros(s.n_transitions_), np.empty((6 * len(tree) + 1, 2), np.int64)
            n = tree_entries(s.arrays_, g.leaf_tag, s.n_tag_nodes_, len(s.anchors_), tree, room, own)
            counts += factor * own
            nodes.append(room[:n])
            signs.append(np.full(n, factor))
        indices, values = expand_nodes(
            self.features, self.offsets[i], np.concatenate(nodes), np.concatenate(signs), s.n_nodes_
        )
        indices, inverse = np.unique(indices, return_inverse=True)
        values = np.bincount(inverse, values, indices.size)
        used, here = np.flatnonzero(counts), np.abs(values) > 0
        first = self.rows.n_dims * s.n_nodes_
        return np.concatenate([indices[here], first + used]), np.concatenate([values[here], counts[used]])

    def parse(self, i: int, weights: Weights) -> tuple[np.ndarray, float, float]:
        """Best tree of sentence ``i``, its score and margin."""
        return self.structure.parse(self.scores(i, weights))


class TreeProblem:
    """Labeled sentences with their trees; see ``structures.chains.problem`` for what solvers ask."""

    def __init__(self, structure: Tree, rows: Any, y: np.ndarray, rescaling="margin", norm=1, n_jobs=1) -> None:
        self.structure, self.rows, self.y = structure, rows, y
        self.sentences = Sentences(structure, rows)
        self.offsets = self.sentences.offsets
        self.rescaling, self.norm, self.n_jobs = RESCALINGS[rescaling], norm, n_jobs
        self.partial = np.zeros(self.n_examples, np.bool_)
        self.constrained = True  # by the grammar

    @property
    def n_examples(self) -> int:
        return len(self.sentences)

    def tree(self, i: int) -> np.ndarray:
        """The true tree of sentence ``i``."""
        return self.y[self.sentences.span(i)]

    def zero_weights(self) -> Weights:
        return self.structure.zero_weights(self.rows.n_dims)

    def chain(self, weights: Weights) -> None:
        """Nothing has to be made ready before sentences are visited."""

    # -- perceptron and stochastic gradient -------------------------------------------------------------------------
    def perceptron_epoch(self, weights: Weights, sums: Weights, order: np.ndarray, clock: float):
        """One pass in the given order; updates ``weights`` and ``sums``: (clock, wrong trees, their tokens)."""
        wrong = tokens = 0
        for i in order:
            true = self.tree(i)
            found, score, _ = self.sentences.parse(i, weights)
            if score > -np.inf and not np.array_equal(found, true):
                wrong, tokens = wrong + 1, tokens + len(true)
                change = self.sentences.difference(i, true, found)
                add_sparse(weights, change, 1.0)
                if sums.transitions.size:
                    add_sparse(sums, change, clock)
            clock += 1.0
        return clock, wrong, tokens

    def crf_epoch(self, weights: Weights, order: np.ndarray, decay: float, rate: float, clock: float):
        """One pass of stochastic gradient descent in the given order: (clock, summed loss)."""
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
                add_row(self.sentences.features, self.offsets[i] + t, step * row, weights.unary)
            weights.transitions += step * counts
        return clock, total

    # -- likelihood -------------------------------------------------------------------------------------------------
    def log_likelihood(self, weights: Weights, want_gradient: bool = True) -> tuple[float, Weights | None]:
        """Summed log likelihood of the trees and its gradient."""
        done = map_threads(self._likelihood, [(i, weights) for i in range(self.n_examples)], self.n_jobs)
        total = float(sum(d[0] for d in done))
        if not want_gradient:
            return total, None
        coefficients = np.concatenate([d[1] for d in done]) if done else np.zeros((0, self.structure.n_nodes_))
        counts = np.sum([d[2] for d in done], axis=0) if done else np.zeros(self.structure.n_transitions_)
        return total, Weights(self.rows.transpose_scores(coefficients), counts)

    def _likelihood(self, i: int, weights: Weights) -> tuple[float, np.ndarray, np.ndarray]:
        """Log likelihood of one tree: (value, gradient by node columns of its tokens, gradient by transitions)."""
        s, true = self.structure, self.tree(i)
        n = len(true)
        if n == 0:
            return 0.0, np.zeros((0, s.n_nodes_)), np.zeros(s.n_transitions_)
        parts = self.sentences.scores(i, weights)
        log_z, chart = s.inside(parts)
        score = s.score(parts, true)
        expected = s.zero_expected(n)
        inside_outside.outside(s.arrays_, parts, chart, log_z, -1.0, expected)
        coefficients, counts = s.collect(expected)
        room = np.empty((6 * n + 1, 2), np.int64)
        used = tree_entries(s.arrays_, s.grammar_.leaf_tag, s.n_tag_nodes_, len(s.anchors_), true, room, counts)
        np.add.at(coefficients, (room[:used, 0], room[:used, 1]), 1.0)
        return score - log_z, coefficients, counts

    # -- margins ----------------------------------------------------------------------------------------------------
    def violations(self, weights: Weights) -> np.ndarray:
        """Slack of every sentence: the violation of its most violating tree (0 at least)."""
        calls = [(i, weights, None) for i in range(self.n_examples)]
        return np.array([max(found[0], 0.0) for found in map_threads(self.violator, calls, self.n_jobs)])

    def violator(self, i: int, weights: Weights, chain: None) -> tuple[float, float, np.ndarray]:
        """Most violating tree of sentence ``i``: (violation, offset of its constraint, tree)."""
        true = self.tree(i)
        found = np.empty_like(true)
        h, loss = self.structure.find_violator(
            self.sentences.scores(i, weights), true, self.rescaling, self.norm, found
        )
        return h, loss, found

    def constraint(self, i: int, found: np.ndarray, offset: float, work: np.ndarray) -> Sparse:
        """Scaled joint-feature difference of the true tree and ``found``: (flat indices, values)."""
        indices, values = self.sentences.difference(i, self.tree(i), found)
        return indices, (values if self.rescaling == RESCALINGS["margin"] else values * offset)

    def frank_wolfe_epoch(self, *_: Any) -> None:
        raise InputError('solver is "frank-wolfe", which is for classes and sequences; use solver="cutting-plane"')


def add_sparse(weights: Weights, change: Sparse, factor: float) -> None:
    """Add a flat sparse vector to weights."""
    n = weights.unary.size
    indices, values = change
    here = indices < n
    weights.unary.reshape(-1)[indices[here]] += factor * values[here]
    weights.transitions[indices[~here] - n] += factor * values[~here]
