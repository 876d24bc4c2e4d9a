"""Dual learners that see only kernel values, with the outputs listed. Imports nothing of Accord.

The joint kernel of two labelled inputs decomposes: <Phi(x, y), Phi(x', y')> sums k(x_s, x'_t) over the pairs of
tokens that have the same label, plus the number of pairs of equal transitions (start and end among them).
"""

import itertools
from dataclasses import dataclass

import numpy as np
import piqp
import scipy.sparse as sp
from enumerate_chain import transition_counts


@dataclass
class Labelled:
    """All inputs with all their outputs, and the joint kernel between them."""

    owner: np.ndarray  # (n_outputs,) the input of each output
    outputs: list  # label numbers of each
    gram: np.ndarray  # (n_outputs, n_outputs) joint kernel

    def of(self, i):
        return np.flatnonzero(self.owner == i)

    def find(self, i, y):
        return next(k for k in self.of(i) if self.outputs[k] == tuple(y))


def joint_kernel(K, tokens, y, other_tokens, other_y, transitions):
    """The formula, pair by pair. ``tokens`` are the positions in ``K`` of an input's tokens."""
    pairs = itertools.product(zip(tokens, y), zip(other_tokens, other_y))
    total = sum(K[s, t] for (s, a), (t, b) in pairs if a == b)
    if transitions:
        mine, others = transition_counts(y), transition_counts(other_y)
        total += sum(n * others.get(key, 0) for key, n in mine.items() if key[0] != "triple")
    return total


def list_outputs(K, inputs, n_labels, transitions):
    """List all outputs of all inputs (lists of positions in ``K``); the joint kernel as a sum of matrix products."""
    owner, outputs = [], []
    for i, tokens in enumerate(inputs):
        for y in itertools.product(range(n_labels), repeat=len(tokens)):
            owner.append(i)
            outputs.append(y)
    has = np.zeros((n_labels, len(outputs), K.shape[0]))  # has[c, k, s]: output k gives token s the label c
    keys = {}
    counts = np.zeros((len(outputs), n_labels * (n_labels + 2)))
    for k, (i, y) in enumerate(zip(owner, outputs)):
        has[list(y), k, inputs[i]] = 1.0
        for key, n in transition_counts(y).items():
            if key[0] != "triple" and transitions:
                counts[k, keys.setdefault(key, len(keys))] = n
    gram = sum(h @ K @ h.T for h in has) + counts @ counts.T
    return Labelled(np.array(owner), outputs, gram)


def perceptron(listed, true, max_iter, averaged):
    """Dual perceptron [thesis, Table 5.1]: alpha counts how often an output was to score higher (or lower).

    ``true[i]`` is the number of the right output of training input i. Ties go to the output listed first.
    """
    alpha = np.zeros(len(listed.outputs))
    total = np.zeros_like(alpha)  # sum of alpha after every example
    for _ in range(max_iter):
        mistakes = 0
        for i, right in enumerate(true):
            here = listed.of(i)
            best = here[np.argmax(listed.gram[here] @ alpha)]
            if best != right:
                mistakes += 1
                alpha[right] += 1
                alpha[best] -= 1
            total += alpha
        if mistakes == 0:
            break
    return total if averaged else alpha


def svm_dual(listed, true, loss, C, rescaling, norm):
    """The dual with one variable for every wrong output [OP 6.1-6.4]: (value, alpha as a signed expansion).

    Margin rescaling: max sum alpha Delta - |w|^2 / 2 with sum_y alpha <= C. Slack rescaling: max sum alpha - |w|^2 / 2
    with sum_y alpha / Delta <= C. The 2-norm machine has no bound; it takes the root of Delta and adds to the kernel,
    within an example, 1 / C (margin) or 1 / (C sqrt(Delta Delta')) (slack).
    """
    wrong = [(i, k) for i, right in enumerate(true) for k in listed.of(i) if k != right]
    own = np.array([i for i, _ in wrong])
    right, other = np.array(true)[own], np.array([k for _, k in wrong])
    G = listed.gram
    H = G[np.ix_(right, right)] - G[np.ix_(right, other)] - G[np.ix_(other, right)] + G[np.ix_(other, other)]
    delta = np.array([loss(listed.outputs[true[i]], listed.outputs[k]) for i, k in wrong])
    linear = np.ones(own.size) if rescaling == "slack" else delta ** (1.0 / norm)
    bounds = [None, None]
    if norm == 1:
        share = 1.0 / delta if rescaling == "slack" else np.ones(own.size)
        bounds = [sp.csc_matrix((share, (own, np.arange(own.size)))), np.full(len(true), C)]
    else:
        root = np.sqrt(delta) if rescaling == "slack" else np.ones(own.size)
        H = H + (own[:, None] == own[None, :]) / (C * root[:, None] * root[None, :])
    solver = piqp.SparseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-10
    solver.setup(sp.csc_matrix(H), -linear, None, None, bounds[0], None, bounds[1], np.zeros(own.size), None)
    status = solver.solve()
    if status != piqp.PIQP_SOLVED:
        raise RuntimeError(f"the quadratic program was not solved: {status}")
    alpha = np.asarray(solver.result.x)
    expansion = np.zeros(len(listed.outputs))
    np.add.at(expansion, right, alpha)
    np.add.at(expansion, other, -alpha)
    return linear @ alpha - 0.5 * alpha @ H @ alpha, expansion
