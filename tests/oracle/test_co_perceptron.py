"""The co-perceptron against its definition in plain Python: any number of views, unlabeled and partly labeled ones."""

from dataclasses import dataclass

import enumerate_losses as el
import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from plain_chain import weight_index
from plain_co_perceptron import Machine, train

from accord import ArrayFeatures, CoPerceptron, MultiClass, Select, Sequence, StructuredPerceptron, Taxonomy

TAGS = ["B-X", "I-X", "O"]
TREE = {"cat": "animal", "dog": "animal", "car": "thing", "animal": "all", "thing": "all"}
N_DIMS = 2  # of each view
PASSES = 3


@dataclass
class Task:
    """Data in both forms: ``examples`` are the labeled ones first, as the learner visits them."""

    structure: object
    X: list
    Y: list
    examples: list
    machine: Machine
    index: dict  # {part: position in Accord's flat weights}, for one view with all features
    n_views: int

    def view(self):
        plain = ArrayFeatures(bias=False)
        parts = [Select(slice(v * N_DIMS, (v + 1) * N_DIMS), plain) for v in range(self.n_views)]
        return parts if self.n_views > 1 else plain

    def expected(self, C_u, averaged, seed, passes=PASSES):
        """Flat weights of every view, and the number of passes."""
        rng = np.random.default_rng(seed)
        known = [i for i, (_, y) in enumerate(self.examples) if not y or any(c is not None for c in y)]
        visited = np.arange(len(self.examples)) if C_u > 0 else np.array(known)
        orders = [rng.permutation(visited).tolist() for _ in range(passes)]
        found, n_passes = train(self.machine, self.examples, C_u, orders, averaged)
        flat = []
        for v, w in enumerate(found):
            row = np.zeros(len(self.index))
            for part, value in w.items():
                own = ("emit", part[1] + v * N_DIMS, part[2]) if part[0] == "emit" else part
                if own in self.index:
                    row[self.index[own]] = value
                else:  # the root of a taxonomy, which Accord leaves out
                    assert abs(value) < 1e-9
            flat.append(row)
        return flat, n_passes

    def fit(self, C_u, averaged, seed, passes=PASSES):
        learner = CoPerceptron(
            self.structure, views=self.view(), unlabeled_weight=C_u, averaged=averaged, max_iter=passes,
            random_state=seed,
        )  # fmt: skip
        return learner.fit(self.X, self.Y)


def hide(rng, y, kind):
    """An output with all, some or none of its labels."""
    if kind == "unlabeled":
        return [None] * len(y)
    kept = rng.integers(len(y))  # by a partly labeled one, whatever happens
    return [None if kind == "partial" and t != kept and rng.random() < 0.6 else c for t, c in enumerate(y)]


def build(structure, labels, label_nodes, nodes, draw_output, order, eta, n_views, kinds, seed, **machine):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(len(labels), n_views * N_DIMS))
    X, Y, labeled, unlabeled = [], [], [], []
    for kind in kinds:
        y = draw_output(rng)
        rows = centres[y] + 0.7 * rng.normal(size=(len(y), n_views * N_DIMS))
        y = hide(rng, y, kind)
        X.append(rows)
        known = not y or any(c is not None for c in y)
        Y.append([None if c is None else labels[c] for c in y] if known else None)
        views = [rows[:, v * N_DIMS : (v + 1) * N_DIMS].tolist() for v in range(n_views)]
        (labeled if known else unlabeled).append((views, y))
    ends, observed = getattr(structure, "ends", True), getattr(structure, "observed_transitions", False)
    each = range(len(labels))
    nodes = [*nodes, *((b, c) for b in each for c in each if observed)]
    index = weight_index(n_views * N_DIMS, nodes, len(labels), order, ends)
    reference = Machine(n_views, len(labels), label_nodes, order, eta, ends=ends, observed=observed, **machine)
    return Task(structure, X, Y, labeled + unlabeled, reference, index, n_views)


def sequences(n_views, kinds, seed, order=1, eta=1.0, constraints=None, longest=3, ends=True, observed=False):
    def allowed(y):
        return constraints is None or el.is_valid([TAGS[c] for c in y], constraints)

    def draw_output(rng):
        while True:
            y = rng.integers(0, 3, rng.integers(1, longest + 1)).tolist()
            if allowed(y):
                return y

    structure = Sequence(
        labels=TAGS,
        order=order,
        transition_weight=eta,
        constraints=constraints,
        ends=ends,
        observed_transitions=observed,
    )
    nodes = [{c: 1.0} for c in range(3)]
    return build(
        structure, TAGS, nodes, range(3), draw_output, order, eta, n_views, kinds, seed, allowed=allowed
    )  # fmt: skip


def one_row(task):
    """Inputs of one row as a matrix, outputs of one label as labels."""
    task.X = np.concatenate(task.X)
    task.Y = [None if y is None else y[0] for y in task.Y]
    return task


def classes(n_views, kinds, seed):
    nodes = [{c: 1.0} for c in range(3)]
    structure = MultiClass(labels=["a", "b", "c"])
    return one_row(
        build(structure, "abc", nodes, range(3), lambda rng: [int(rng.integers(3))], 0, 1.0, n_views, kinds, seed)
    )


def taxonomy(n_views, kinds, seed):
    parents = {"all": []} | {child: [parent] for child, parent in TREE.items()}
    labels = sorted(el.leaves(parents))
    nodes = [el.taxonomy_lambda(label, parents, False) for label in labels]
    structure = Taxonomy(TREE)
    order_of_nodes = structure.fit(labels).nodes_
    draw = lambda rng: [int(rng.integers(len(labels)))]  # noqa: E731
    return one_row(build(structure, labels, nodes, order_of_nodes, draw, 0, 1.0, n_views, kinds, seed))


def agree(task, C_u, averaged, seed, **options):
    expected, passes = task.expected(C_u, averaged, seed, **options)
    if task.machine.near_ties:
        reject()
    model = task.fit(C_u, averaged, seed, **options)
    assert len(model.view_weights_) == len(expected)
    for found, w in zip(model.view_weights_, expected):
        np.testing.assert_allclose(found.flat(), w, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.weights_.flat(), sum(expected), rtol=1e-9, atol=1e-9)
    assert model.n_iter_ == len(model.history_) == passes
    return model


# The first example is complete, so that fit has something to start from.
def mixes(*kinds):
    return st.lists(st.sampled_from(kinds), min_size=1, max_size=5).map(lambda rest: ["complete", *rest])


COMMON = {
    "n_views": st.integers(1, 3),
    "C_u": st.sampled_from([0, 0.1, 1, 2.5]),
    "averaged": st.booleans(),
    "seed": st.integers(0, 10**6),
}


@settings(max_examples=30)
@given(
    kinds=mixes("unlabeled", "partial", "complete"),
    order=st.sampled_from([1, 2]),
    eta=st.sampled_from([1.0, 0.5]),
    constraints=st.sampled_from([None, "iob2"]),
    **COMMON,
)
@pytest.mark.filterwarnings("ignore:Y has no unlabeled example")
def test_sequences(n_views, kinds, C_u, averaged, seed, order, eta, constraints):
    options = {"ends": seed % 3 > 0, "observed": seed % 2 > 0}
    agree(sequences(n_views, kinds, seed, order, eta, constraints, **options), C_u, averaged, seed)


@settings(max_examples=30)
@given(kinds=mixes("unlabeled", "complete"), data=st.sampled_from([classes, taxonomy]), **COMMON)
@pytest.mark.filterwarnings("ignore:Y has no unlabeled example")
def test_classes_and_taxonomies(data, n_views, kinds, C_u, averaged, seed):
    agree(data(n_views, kinds, seed), C_u, averaged, seed)


@pytest.mark.parametrize("C_u", [0.1, 1, 2.5])
def test_the_views_teach_each_other(C_u):
    """Unlabeled and partly labeled examples do make a difference here, so the comparisons above are about something."""
    kinds = ["complete", "complete", "partial", "unlabeled", "unlabeled", "unlabeled"]
    taught = agree(sequences(2, kinds, 5), C_u, True, 5)
    alone = agree(sequences(2, kinds, 5), 0, True, 5)
    assert taught.history_[0]["disagreement"] > 0
    assert not np.allclose(taught.weights_.flat(), alone.weights_.flat())


def test_one_pass_by_hand():
    """Two views of one feature, classes a and b; a tie goes to a.

    The labeled ([1, 1], b): both views find a (tie) and learn b: w = (-1, +1). The unlabeled ([1, -2]): the first view
    finds b (+1 > -1), the second a (2 > -2), so the first moves by 1/2 towards a, its feature being 1: (-1/2, +1/2),
    and the second towards b, its feature being -2: (-1 + 1, 1 - 1) = (0, 0). If the unlabeled one comes first, both
    find a (tie) and learn nothing.
    """
    X, Y = np.array([[1.0, 1.0], [1.0, -2.0]]), ["b", None]
    plain = ArrayFeatures(bias=False)
    found = {}
    for seed in range(10):
        learner = CoPerceptron(
            MultiClass(labels=["a", "b"]), views=[Select([0], plain), Select([1], plain)], unlabeled_weight=0.5,
            max_iter=1, averaged=False, random_state=seed,
        )  # fmt: skip
        first = np.random.default_rng(seed).permutation(2)[0]
        found[int(first)] = [w.unary.tolist() for w in learner.fit(X, Y).view_weights_]
    assert found[0] == [[[-0.5, 0.5], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]]
    assert found[1] == [[[-1.0, 1.0], [0.0, 0.0]], [[0.0, 0.0], [-1.0, 1.0]]]


@settings(max_examples=20)
@given(
    order=st.sampled_from([1, 2]),
    averaged=st.booleans(),
    seed=st.integers(0, 10**6),
    partial=st.booleans(),
)
@pytest.mark.filterwarnings("ignore:Y has no unlabeled example")
def test_one_view_is_the_perceptron(order, averaged, seed, partial):
    """Without hidden labels for any C_u; with them for C_u = 1, where a view learns all of what it teaches itself."""
    kinds = ["complete"] + ["partial" if partial else "complete"] * 5
    task = sequences(1, kinds, seed, order=order)
    options = {"view": ArrayFeatures(bias=False), "max_iter": PASSES, "averaged": averaged, "random_state": seed}
    perceptron = StructuredPerceptron(task.structure, **options).fit(task.X, task.Y)
    for C_u in [1.0] if partial else [0, 0.1, 1.0]:
        model = task.fit(C_u, averaged, seed)
        np.testing.assert_allclose(model.weights_.flat(), perceptron.weights_.flat(), rtol=0, atol=1e-12)
        assert [e["wrong_outputs"] for e in model.history_] == [e["wrong_outputs"] for e in perceptron.history_]


@pytest.mark.parametrize("n_views", [1, 2, 3])
def test_examples_that_are_only_partly_labeled_are_learned_until_their_labels_are_right(n_views):
    """No example is complete: the passes must not end because none of the complete ones is wrong."""
    rng = np.random.default_rng(0)
    labels = [rng.integers(0, 3, 3).tolist() for _ in range(12)]
    X = [np.tile(np.eye(3)[y], n_views) + 0.2 * rng.normal(size=(3, 3 * n_views)) for y in labels]
    Y = [[None, *(TAGS[c] for c in y[1:])] for y in labels]
    views = [Select(slice(3 * v, 3 * v + 3), ArrayFeatures(bias=False)) for v in range(n_views)]
    model = CoPerceptron(Sequence(), views, unlabeled_weight=0.1, max_iter=20, random_state=0).fit(X, Y)
    assert model.n_iter_ >= 2
    assert model.history_[0]["wrong_outputs"] > 0
    assert model.history_[-1]["wrong_outputs"] == 0
    assert model.score(X, Y) == 1.0
