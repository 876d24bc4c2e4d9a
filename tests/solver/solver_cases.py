"""Small training sets of every structure, once as Accord takes them and once with all outputs listed."""

from dataclasses import dataclass
from functools import partial

import enumerate_losses as el
import numpy as np
import plain_chain

from accord import ArrayFeatures, MultiClass, Sequence, Taxonomy
from accord.structures.chains.problem import ChainProblem

TREE = {
    "cat": "animal",
    "dog": "animal",
    "ant": "insect",
    "insect": "animal",
    "car": "thing",
    "animal": "all",
    "thing": "all",
}
# Machines (rescaling, norm), two and two of which have nothing in common.
PAIRS = [[("margin", 1), ("slack", 2)], [("slack", 1), ("margin", 2)]]


def with_machines(cases):
    """Each case (a value, or a tuple of several) with two machines, the next one with the other two."""
    as_tuples = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [(*case, *machine) for k, case in enumerate(as_tuples) for machine in PAIRS[k % 2]]


def with_one_machine(cases):
    """Each case with one machine; of four cases in a row each has another."""
    return [pair[k // 2 % 2] for k, pair in enumerate(in_pairs(with_machines(cases)))]


def in_pairs(rows):
    """Two and two of them."""
    return zip(rows[::2], rows[1::2])


COSTS = [[0.0, 1.0, 2.5], [0.5, 0.0, 1.0], [2.0, 1.5, 0.0]]


@dataclass
class Data:
    """A training set: ``structure`` is not fitted, ``examples`` are the same data with all outputs listed."""

    structure: object
    X: object
    Y: list
    examples: list
    positions: np.ndarray  # where Accord's flat weights lie in the listed ones

    view = ArrayFeatures(bias=False)

    def listed(self, weights):
        """Accord's weights as the listed form has them."""
        w = np.zeros(self.examples[0].phi.shape[1])
        w[self.positions] = weights.flat()
        return w

    def problem(self, **margin):
        """What Accord's solvers see."""
        fitted = self.structure.fit(self.Y)
        rows = self.view.fit_rows(self.X)
        return ChainProblem(fitted, rows, fitted.encode(self.Y), **margin)


def single(structure, labels, label_nodes, nodes, loss, seed, n=9, n_dims=3):
    """One row per input. ``labels`` in the order of their numbers."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, len(labels), n)
    y[: len(labels)] = np.arange(len(labels))
    X = rng.normal(size=(n, n_dims)) + 0.7 * rng.normal(size=(len(labels), n_dims))[y]
    index = plain_chain.weight_index(n_dims, nodes, len(labels), 0)
    examples = [
        plain_chain.list_example([x], [c], label_nodes, index, 0, 1.0, lambda z: True, loss)
        for x, c in zip(X.tolist(), y.tolist())
    ]
    return structure, X, [labels[c] for c in y], examples, index


def multiclass(loss="zero-one", seed=1):
    labels = ["a", "b", "c"]
    structure = MultiClass(labels=labels, loss=COSTS if loss == "cost" else loss)
    by_definition = partial(el.cost, matrix=COSTS) if loss == "cost" else el.zero_one
    parts = single(structure, labels, [{c: 1.0} for c in range(3)], range(3), by_definition, seed)
    return Data(*parts[:4], np.arange(len(parts[4])))


def taxonomy(loss="tree", predict="leaves", beta="one", seed=2):
    parents = {"all": []} | {child: [parent] for child, parent in TREE.items()}
    labels = sorted(parents if predict == "all" else el.leaves(parents))
    label_nodes = [el.taxonomy_lambda(label, parents, beta == "normalized") for label in labels]
    structure = Taxonomy(TREE, loss=loss, predict=predict, beta=beta)

    def by_definition(y, z):
        return el.tree_loss(labels[y[0]], labels[z[0]], parents) if loss == "tree" else el.zero_one(y, z)

    parts = single(structure, labels, label_nodes, sorted(parents), by_definition, seed)
    nodes = structure.fit(parts[2]).nodes_
    return Data(*parts[:4], np.array([parts[4]["emit", d, node] for d in range(3) for node in nodes]))


def sequence(
    loss="hamming", order=1, constraints=None, eta=1.0, ends=True, observed=False, seed=3, n=7, n_dims=2, longest=3
):
    labels = ["B-X", "I-X", "O"]
    arguments, by_definition = {
        "hamming": ({"loss": "hamming", "normalize": True}, el.hamming),
        "count": ({"loss": "hamming", "normalize": False}, partial(el.hamming, normalize=False)),
        "weighted": ({"label_weights": {"O": 2.0}, "normalize": True}, partial(el.hamming, weights=[1.0, 1.0, 2.0])),
        "zero-one": ({"loss": "zero-one"}, el.zero_one),
        "f1": ({"loss": "f1"}, partial(el.micro_f1, relevant=[0, 1])),
        "macro-f1": ({"loss": "macro-f1"}, partial(el.macro_f1, relevant=[0, 1])),
    }[loss]
    structure = Sequence(
        labels=labels, order=order, constraints=constraints, transition_weight=eta, ends=ends,
        observed_transitions=observed, **arguments,
    )  # fmt: skip

    def allowed(z):
        return constraints is None or el.is_valid([labels[c] for c in z], constraints)

    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(3, n_dims))
    nodes = [*range(3), *((b, c) for b in range(3) for c in range(3) if observed)]
    index = plain_chain.weight_index(n_dims, nodes, 3, order, ends)
    X, Y, examples = [], [], []
    while len(X) < n:
        y = rng.integers(0, 3, rng.integers(1, longest + 1)).tolist()
        if not allowed(y):
            continue
        rows = centres[y] + 0.8 * rng.normal(size=(len(y), n_dims))
        label_nodes = [{c: 1.0} for c in range(3)]
        examples.append(
            plain_chain.list_example(rows.tolist(), y, label_nodes, index, order, eta, allowed, by_definition, observed)
        )
        X.append(rows)
        Y.append([labels[c] for c in y])
    return Data(structure, X, Y, examples, np.arange(len(index)))


EVERY_DATA = {
    "classes, 0/1": multiclass,
    "classes, costs": partial(multiclass, "cost"),
    "taxonomy, tree loss": taxonomy,
    "taxonomy, 0/1, all nodes, normalized": partial(taxonomy, "zero-one", "all", "normalized"),
    "sequence, Hamming": sequence,
    "sequence, count, iob2": partial(sequence, "count", constraints="iob2"),
    "sequence, 0/1, eta 0.5, observed": partial(sequence, "zero-one", eta=0.5, observed=True),
    "sequence, F1, without ends": partial(sequence, "f1", ends=False),
    "sequence, weighted, second order, observed": partial(sequence, "weighted", order=2, observed=True, n=5),
    "sequence, F1, second order, iob2, without ends": partial(
        sequence, "f1", order=2, constraints="iob2", eta=2.0, ends=False, n=5
    ),
}
