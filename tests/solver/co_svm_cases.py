"""Small training sets in several views, once as the co-SVM takes them and once with all outputs listed."""

from dataclasses import dataclass
from functools import partial
from itertools import product

import enumerate_losses as el
import numpy as np
from plain_co_svm import Unlabeled
from solver_cases import COSTS, Data, multiclass, sequence, taxonomy

from accord import ArrayFeatures, Select
from accord.solvers.balance import no_pseudo_outputs
from accord.structures.chains.consensus import ChainConsensusProblem
from accord.views.compose import as_view

COLUMNS = {1: [[0, 1, 2]], 2: [[0, 1], [2]], 3: [[0], [1], [2]]}  # of each view

TASKS = {
    "classes": (multiclass, el.zero_one),
    "classes, costs": (partial(multiclass, "cost"), partial(el.cost, matrix=COSTS)),
    "taxonomy": (partial(taxonomy, "zero-one"), el.zero_one),
    "sequence, Hamming": (partial(sequence, n_dims=3), el.hamming),
    "sequence, count, iob2": (
        partial(sequence, "count", constraints="iob2", n_dims=3),
        partial(el.hamming, normalize=False),
    ),
    "sequence, 0/1, eta": (partial(sequence, "zero-one", eta=0.5, observed=True, n_dims=3), el.zero_one),
    "sequence, F1, second order": (
        partial(sequence, "f1", order=2, n=5, n_dims=3),
        partial(el.micro_f1, relevant=[0, 1]),
    ),
}


def views(n_views):
    """Views of the columns."""
    plain = ArrayFeatures(bias=False)
    return [Select(columns, plain) for columns in COLUMNS[n_views]]


@dataclass
class Case:
    """A data set in several views."""

    data: Data
    loss: object  # of label numbers, by definition
    n_views: int
    n_nodes: int

    def hidden(self, share, seed):
        """Label numbers of each example, None for hidden ones: all of an example, or that share of its labels."""
        rng = np.random.default_rng(seed)
        out = []
        for e in self.data.examples:
            y = e.outputs[e.true]
            out.append([None if share == 1 or rng.random() < share else c for c in y])
        return out

    def problem(self, given, **margin):
        """What the solver sees."""
        fitted = self.data.structure.fit(self.data.Y)
        view = as_view(views(self.n_views))
        rows = view.fit_rows(self.data.X)
        channels = view.channels(rows, np.random.default_rng(0))
        y = np.array([-1 if c is None else c for labels in given for c in labels], np.int32)
        return ChainConsensusProblem(fitted, channels, y, **margin)

    def mask(self, v):
        """Which of the listed weights view v has."""
        n_dims, n_weights = 3, self.data.examples[0].phi.shape[1]
        mask = np.ones(n_weights, bool)
        for d in range(n_dims):
            mask[d * self.n_nodes : (d + 1) * self.n_nodes] = d in COLUMNS[self.n_views][v]
        return mask

    def unlabeled(self, i, given):
        """Example i with all its outputs listed."""
        e = self.data.examples[i]
        phi = [e.phi * self.mask(v) for v in range(self.n_views)]
        pairs = [[self.loss(y, z) for z in e.outputs] for y in e.outputs]
        return Unlabeled(e.outputs, phi, np.array(pairs), given)


def make(name, n_views, seed=0):
    build, loss = TASKS[name]
    data = build(seed=seed)
    n_labels = len(data.structure.fit(data.Y).labels_)
    # listed weights are (dimension, node) pairs first; a taxonomy has more nodes than labels
    n_moves = (
        0
        if data.structure.single_row
        else 2 * n_labels + n_labels**2 * (1 + (n_labels + 1) * (data.structure.order == 2))
    )
    return Case(data, loss, n_views, (data.examples[0].phi.shape[1] - n_moves) // 3)


def visit(problem, weights, order, C, C_u, tol=0.01, max_repeats=10, blocks=None, own=False):
    """The solver's visit: (blocks, disagreements, tokens of those, steps, least gain)."""
    blocks = problem.new_blocks(max_repeats) if blocks is None else blocks
    work = np.zeros_like(weights.stacked[0])
    found = problem.visit_unlabeled(
        weights, blocks, np.asarray(order), C, C_u, no_pseudo_outputs(), tol, max_repeats, work, own=own
    )
    assert not work.any(), "work space must be left clean"
    return blocks, *found


EVERY = list(product(TASKS, COLUMNS))
