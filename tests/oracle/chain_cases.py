"""Random small inputs of every chain structure, once as Accord takes them and once as plain lists for enumeration.

Hypothesis draws sizes, options, the style of the scores and a seed; numpy draws the scores from the seed, because
drawing some fifty floats one by one would take longer than the test itself.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import enumerate_losses as el
import numpy as np
from enumerate_chain import NOTHING, Chain
from hypothesis import strategies as st

from accord import MultiClass, Sequence, Taxonomy
from accord.packed.weights import Parts

STYLES = ["real", "ties", "huge", "minus infinity", "wild"]


@dataclass
class Case:
    """One input and one structure, in both forms."""

    structure: object  # fitted
    parts: Parts
    chain: Chain
    loss: Callable  # loss(y, y_pred) of label numbers, by definition
    label_nodes: list = field(repr=False)  # Lambda of every label, as {node: weight}
    nodes: list = field(repr=False)  # the nodes in the order of the structure's weight columns
    order: int = 0
    eta: float = 1.0
    observed: bool = False
    rng: np.random.Generator = field(default=None, repr=False)


def draw_scores(rng, style, shape):
    """Real scores, small whole ones (so that there are ties), enormous ones, some minus infinity, or all of that."""
    if style == "ties":
        scores = rng.integers(-1, 2, shape).astype(float)
    elif style == "huge":
        scores = rng.choice([-1e3, 0.0, 1e3], shape) + rng.normal(size=shape)
    elif style == "wild":
        scores = rng.normal(size=shape) * rng.choice([0.0, 1.0, 40.0, 800.0], shape)
    else:
        scores = rng.normal(size=shape)
    if style in ("minus infinity", "wild"):
        scores[rng.random(shape) < 0.12] = -np.inf
    return scores


def generator(draw):
    return np.random.default_rng(draw(st.integers(0, 2**32 - 1)))


def single_row_case(draw, styles, structure, loss, label_nodes, nodes):
    rng = generator(draw)
    unary = draw_scores(rng, draw(st.sampled_from(styles)), (1, structure.n_labels_))
    chain = Chain(structure.n_labels_, unary.tolist())
    return Case(structure, structure.parts(unary), chain, loss, label_nodes, nodes, rng=rng)


@st.composite
def multiclass(draw, loss, styles=STYLES):
    """``loss`` "zero-one" or "cost" (a matrix of whole or real numbers)."""
    n = draw(st.sampled_from([3, 5, 4, 2, 1]))
    labels = list("edcba")[:n]  # not sorted: the declared order counts
    rng = generator(draw)
    if loss == "zero-one":
        structure, by_definition = MultiClass(labels=labels), el.zero_one
    else:
        matrix = rng.integers(0, 4, (n, n)) if draw(st.booleans()) else rng.uniform(0, 3, (n, n))
        np.fill_diagonal(matrix, 0)
        structure, by_definition = MultiClass(labels=labels, loss=matrix), partial(el.cost, matrix=matrix.tolist())
    structure.fit([])
    return single_row_case(draw, styles, structure, by_definition, [{i: 1.0} for i in range(n)], list(range(n)))


@st.composite
def parents_of_nodes(draw, shape):
    """{node: parents}: a forest ("tree") or a DAG; parents have lower numbers, so there are no cycles."""
    parents = {}
    for i in range(draw(st.sampled_from([4, 6, 5, 3, 2, 1]))):
        above = list(range(i))
        if not above:
            chosen = []
        elif shape == "tree":
            chosen = draw(st.lists(st.sampled_from(above), max_size=1))
        else:
            chosen = draw(st.lists(st.sampled_from(above), max_size=2, unique=True))
        parents[f"n{i}"] = [f"n{j}" for j in chosen]
    return parents


@st.composite
def taxonomy(draw, shape, predict, styles=STYLES):
    parents = draw(parents_of_nodes(shape))
    loss = draw(st.sampled_from(["tree", "zero-one"]))
    beta = draw(st.sampled_from(["one", "normalized", "mapping", "function"]))
    written = {node: above[0] if len(above) == 1 and draw(st.booleans()) else above for node, above in parents.items()}
    classes = sorted(parents if predict == "all" else el.leaves(parents))

    def own(y, z):
        return 1.0 + int(y[1:]) if y == z else 0.3 * int(z[1:])  # 0 of the first node

    mapping = {y: el.taxonomy_lambda(y, parents, False, own) for y in classes}
    given = {"mapping": mapping, "function": own}.get(beta, beta)
    structure = Taxonomy(written, loss=loss, predict=predict, beta=given).fit([])
    assert structure.labels_ == classes

    def tree_loss(y, y_pred):
        return el.tree_loss(classes[y[0]], classes[y_pred[0]], parents)

    by = own if given is not beta else None
    label_nodes = [el.taxonomy_lambda(label, parents, beta == "normalized", by) for label in classes]
    by_definition = tree_loss if loss == "tree" else el.zero_one
    return single_row_case(draw, styles, structure, by_definition, label_nodes, structure.nodes_)


# -- sequences --------------------------------------------------------------------------------------------------

SEQUENCE_LOSSES = [
    "zero-one", "hamming", "count", "weights with levels", "real weights", "zero weights", "f1", "f1 of some",
    "macro-f1", "macro-f1 of some",
]  # fmt: skip
CONSTRAINTS = ["free", "pairs", "iob2", "bioes"]
# Tags that have something to do with each other; a case takes some of one row.
TAGS = {
    "iob2": [["O", "B-X", "I-X"], ["B-X", "I-X", "B-Y", "I-Y"], ["B", "I", "O"], ["B", "I", "B-X", "I-X"]],
    "bioes": [
        ["O", "B-X", "I-X", "E-X"], ["S-X", "B-X", "I-X", "E-X"], ["B-X", "E-X", "B-Y", "E-Y"],
        ["O", "B", "I", "E"], ["S", "B", "E", "E-X"], ["S-X", "S-Y", "B-X", "E-X", "I-Y"],
    ],
}  # fmt: skip


def sequence_loss(name, labels, rng):
    """Constructor arguments of a loss and the loss itself, by definition."""
    n = len(labels)
    if name == "zero-one":
        return {"loss": "zero-one"}, el.zero_one
    if name == "hamming":
        return {"normalize": True}, el.hamming
    if name == "count":
        return {"normalize": False}, partial(el.hamming, normalize=False)
    if "weights" in name:
        choice = {"weights with levels": [0.3, 0.6, 2.1], "real weights": [0.7, 1.0, 1.9], "zero weights": [0.0, 1.0]}
        weights = rng.choice(choice[name], n).tolist()
        normalize = bool(rng.random() < 0.5)
        arguments = {"label_weights": dict(zip(labels, weights)), "normalize": normalize}
        return arguments, partial(el.hamming, normalize=normalize, weights=weights)
    arguments = {"loss": name.removesuffix(" of some")}
    relevant = [i for i, label in enumerate(labels) if label != "O"]
    if name.endswith("of some"):
        relevant = [i for i in range(n) if rng.random() < 0.6]
        arguments["relevant"] = [labels[i] for i in relevant]
    return arguments, partial(el.micro_f1 if arguments["loss"] == "f1" else el.macro_f1, relevant=relevant)


@st.composite
def constrained_labels(draw, constraints):
    """(labels, constructor argument, which outputs it allows)."""
    if constraints in TAGS:
        labels = draw(st.permutations(draw(st.sampled_from(TAGS[constraints]))))
        labels = labels[: draw(st.sampled_from([4, 3, 4, 2, 4, 1]))]
        return labels, constraints, lambda y: el.is_valid([labels[c] for c in y], constraints)
    labels = ["O", "b", "a"][: draw(st.sampled_from([2, 3, 3, 2, 1]))]
    if constraints == "free":
        return labels, None, lambda y: True
    end = st.sampled_from([*labels, None])
    pairs = draw(st.lists(st.tuples(end, end), max_size=3))
    return labels, pairs, lambda y: not el.has_forbidden_move([labels[c] for c in y], pairs)


@st.composite
def sequence(draw, order=None, constraints=None, loss=None, styles=STYLES, sizes=(2, 3, 4, 3, 4, 1, 0), observed=None):
    """What is not given is drawn; mostly inputs of several rows, which have many outputs."""
    order = order or draw(st.integers(1, 2))
    labels, constraint, allowed = draw(constrained_labels(constraints or draw(st.sampled_from(CONSTRAINTS))))
    loss = loss or draw(st.sampled_from(SEQUENCE_LOSSES))
    n_tokens = draw(st.sampled_from(sizes))
    row_style, move_style = draw(st.sampled_from(styles)), draw(st.sampled_from(styles))
    rng = generator(draw)
    arguments, by_definition = sequence_loss(loss, labels, rng)
    eta, ends = float(rng.choice([1.0, 0.5, 2.0])), bool(rng.random() < 0.7)
    observed = bool(rng.random() < 0.4) if observed is None else observed
    structure = Sequence(
        labels=labels, constraints=constraint, order=order, transition_weight=eta, ends=ends,
        observed_transitions=observed, **arguments,
    ).fit([])  # fmt: skip
    n = len(labels)
    unary = draw_scores(rng, row_style, (n_tokens, n))
    start, end, pair = (draw_scores(rng, move_style, shape) for shape in [n, n, (n, n)])
    given = [start, end] if ends else []
    start, end = given or np.zeros((2, n))
    triple = draw_scores(rng, move_style, (n + 1, n, n)) if order == 2 else np.empty(0)
    chain = Chain(n, unary.tolist(), start.tolist(), end.tolist(), pair.tolist(), None, eta, allowed=allowed)
    if observed:
        unary = with_pairs(chain, unary, draw_scores(rng, row_style, (n_tokens, n, n)))
    if order == 2:
        chain.triple = {
            (a if a < n else NOTHING, b, c): float(triple[a, b, c])
            for a in range(n + 1)
            for b in range(n)
            for c in range(n)
        }
    parts = structure.parts(unary, np.concatenate([*given, pair.ravel(), triple.ravel()]))
    label_nodes = [{c: 1.0} for c in range(n)]
    nodes = [*range(n), *((b, c) for b in range(n) for c in range(n) if observed)]
    return Case(structure, parts, chain, by_definition, label_nodes, nodes, order, eta, observed, rng)


def with_pairs(chain, unary, pairs):
    """Scores of rows with those of pairs of labels behind them, which the chain gets to know, too."""
    chain.observed = pairs.tolist()
    return np.hstack([unary, pairs.reshape(len(unary), chain.n_labels**2)])


def every_structure(styles=STYLES):
    """{name: strategy of cases}."""
    kinds = {f"multiclass, {loss}": multiclass(loss, styles) for loss in ("zero-one", "cost")}
    for shape in ("tree", "DAG"):
        for predict in ("leaves", "all"):
            kinds[f"taxonomy, {shape}, {predict}"] = taxonomy(shape, predict, styles)
    for order in (1, 2):
        for constraints in CONSTRAINTS:
            kinds[f"sequence, order {order}, {constraints}"] = sequence(order, constraints, styles=styles)
    return kinds


EVERY_STRUCTURE = every_structure()
