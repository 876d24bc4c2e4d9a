"""Chains by enumeration, from the definitions: every output is listed, scored and compared. Imports nothing of Accord.

A chain is one label (a number) per row. A class is a chain of one row without transitions. Slow and obvious on purpose.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field

NOTHING = -1  # stands before the first label in a triple


@dataclass
class Chain:
    """Scores of the parts of one input. A score of minus infinity, or ``allowed``, excludes outputs."""

    n_labels: int
    unary: list  # [row][label]
    start: list | None = None  # [label]; None: no transitions
    end: list | None = None  # [label]
    pair: list | None = None  # [label before][label]
    triple: dict | None = None  # {(label two before, label before, label): score}; second order only
    eta: float = 1.0
    observed: list | None = None  # [row][label before][label], what the row says of its pair of labels
    allowed: Callable = field(default=lambda y: True)  # what the constraints say about a whole output
    given: dict = field(default_factory=dict)  # {row: the only label it may have}


def all_outputs(chain):
    """Every label sequence of the right length, allowed or not; the empty input has one (empty) output."""
    return list(itertools.product(range(chain.n_labels), repeat=len(chain.unary)))


def score(chain, y):
    """Sum of the parts of y, minus infinity if it is excluded."""
    if len(y) == 0:
        return 0.0
    if not chain.allowed(y) or any(y[t] != label for t, label in chain.given.items()):
        return -math.inf
    total = sum(chain.unary[t][y[t]] for t in range(len(y)))
    if chain.start is not None:
        total += chain.eta * chain.start[y[0]]
        total += chain.eta * chain.end[y[-1]]
        for t in range(1, len(y)):
            total += chain.eta * chain.pair[y[t - 1]][y[t]]
            if chain.observed is not None:
                total += chain.observed[t][y[t - 1]][y[t]]
            if chain.triple is not None:
                two_before = y[t - 2] if t >= 2 else NOTHING
                total += chain.eta * chain.triple[two_before, y[t - 1], y[t]]
    return total


def feasible(chain):
    """[(score, output)] of all outputs that are not excluded."""
    return [(s, y) for y in all_outputs(chain) if (s := score(chain, y)) > -math.inf]


def ranked(chain):
    """The feasible outputs, best first: the k-best list is its first k entries, decoding its first."""
    return sorted(feasible(chain), key=lambda pair: -pair[0])


def log_partition(chain):
    """log sum_y exp(score), minus infinity if nothing is feasible."""
    scores = [s for s, _ in feasible(chain)]
    if not scores:
        return -math.inf
    top = max(scores)
    return top + math.log(math.fsum(math.exp(s - top) for s in scores))


def probabilities(chain):
    """[(probability, output)] of the feasible outputs."""
    log_z = log_partition(chain)
    return [(math.exp(s - log_z), y) for s, y in feasible(chain)]


def marginals(chain):
    """[row][label] probability of a label at a row."""
    table = [[0.0] * chain.n_labels for _ in chain.unary]
    for p, y in probabilities(chain):
        for t, label in enumerate(y):
            table[t][label] += p
    return table


def expected_transitions(chain):
    """Expected number of each transition, {("start", c): .., ("end", c): .., ("pair", b, c): .., ..}."""
    expected = {}
    for p, y in probabilities(chain):
        for key, count in transition_counts(y).items():
            expected[key] = expected.get(key, 0.0) + p * count
    return expected


def pair_marginals(chain):
    """[row][label before][label] probability of a pair of labels; zero at the first row."""
    n = chain.n_labels
    table = [[[0.0] * n for _ in range(n)] for _ in chain.unary]
    for p, y in probabilities(chain):
        for t in range(1, len(y)):
            table[t][y[t - 1]][y[t]] += p
    return table


def transition_counts(y):
    """How often y starts with, ends with, and moves between labels."""
    counts = {}
    keys = []
    if len(y) > 0:
        keys += [("start", y[0]), ("end", y[-1])]
    for t in range(1, len(y)):
        keys += [("pair", y[t - 1], y[t]), ("triple", y[t - 2] if t >= 2 else NOTHING, y[t - 1], y[t])]
    for key in keys:
        counts[key] = counts.get(key, 0) + 1
    return counts


def joint_feature(rows, label_nodes, y, order=0, eta=1.0, observed=False):
    """Phi(x, y) as {part: value}: ("emit", dimension, node), ("start", c), ("end", c), ("pair", b, c), ("triple", ..).

    ``rows`` are feature vectors, ``label_nodes[label]`` is Lambda(label) as {node: weight}; order 0 has no transitions.
    If transitions are ``observed``, pairs (b, c) are nodes, too.
    """
    phi = {}
    for t, label in enumerate(y):
        for d, x in enumerate(rows[t]):
            for node, weight in label_nodes[label].items():
                phi["emit", d, node] = phi.get(("emit", d, node), 0.0) + x * weight
        for d, x in enumerate(rows[t] if observed and t > 0 else []):
            pair = ("emit", d, (y[t - 1], label))
            phi[pair] = phi.get(pair, 0.0) + x
    for key, count in transition_counts(y).items():
        if order == 2 or (order == 1 and key[0] != "triple"):
            phi[key] = eta * count
    return phi


def violation(delta, gain, rescaling, norm):
    """How much an output with loss delta, scoring ``gain`` more than the true one, violates its margin."""
    if norm == 2:
        delta = math.sqrt(delta)
    if rescaling == "margin":
        return delta + gain
    return delta * (1.0 + gain)


def violations(chain, y, loss, rescaling, norm):
    """[(violation, output)] of every feasible output; that of y itself is 0. ``loss(y, y_pred)``."""
    true_score = score(chain, y)
    return [(violation(loss(y, z), s - true_score, rescaling, norm), z) for s, z in feasible(chain)]
