"""Linear models over chains by listing every output: objectives by definition. Imports nothing of Accord.

Weights are one vector: (dimension, node) pairs row by row, then start, end, pair and (second order) triple weights.
"""

from dataclasses import dataclass

import numpy as np
import piqp
import scipy.sparse as sp
from enumerate_chain import NOTHING, Chain, all_outputs, joint_feature


@dataclass
class Listed:
    """One example with all its allowed outputs."""

    outputs: list  # tuples of label numbers
    phi: np.ndarray  # (n_outputs, n_weights) joint features
    loss: np.ndarray  # (n_outputs,) loss of predicting each output
    true: int  # which output is the true one


def weight_index(n_dims, nodes, n_labels, order, ends=True):
    """{part: position in the weight vector}."""
    keys = [("emit", d, node) for d in range(n_dims) for node in nodes]
    if order > 0:
        labels = range(n_labels)
        keys += [(end, c) for end in ("start", "end") for c in labels if ends]
        keys += [("pair", b, c) for b in labels for c in labels]
    if order == 2:
        keys += [("triple", a, b, c) for a in [*labels, NOTHING] for b in labels for c in labels]
    return {key: position for position, key in enumerate(keys)}


def list_example(rows, y, label_nodes, index, order, eta, allowed, loss, observed=False):
    """Enumerate the allowed outputs of one input."""
    chain = Chain(len(label_nodes), [[0.0]] * len(rows))
    outputs = [z for z in all_outputs(chain) if allowed(z)]
    phi = np.zeros((len(outputs), len(index)))
    for row, z in zip(phi, outputs):
        for key, value in joint_feature(rows, label_nodes, z, order, eta, observed).items():
            if key in index:
                row[index[key]] = value
    return Listed(outputs, phi, np.array([loss(y, z) for z in outputs]), outputs.index(tuple(y)))


# -- conditional random fields ------------------------------------------------------------------------------------


def crf_objective(examples, w, C):
    """|w|^2 / 2 - C sum log p(y | x), and its gradient."""
    value, gradient = 0.5 * w @ w, w.copy()
    for e in examples:
        scores = e.phi @ w
        top = scores.max()
        p = np.exp(scores - top)
        value += C * (top + np.log(p.sum()) - scores[e.true])
        gradient += C * (p / p.sum() @ e.phi - e.phi[e.true])
    return value, gradient


# -- structural support vector machines ---------------------------------------------------------------------------


def constraints(example, rescaling, norm):
    """(b, D) such that the slack must be at least b - D w, one row per wrong output."""
    wrong = [k for k in range(len(example.outputs)) if k != example.true]
    delta = example.loss[wrong] ** (1.0 / norm)
    difference = example.phi[example.true] - example.phi[wrong]
    if rescaling == "margin":
        return delta, difference
    return delta, delta[:, None] * difference


def slacks(examples, w, rescaling, norm):
    """The smallest slack that each example allows."""
    found = []
    for e in examples:
        b, D = constraints(e, rescaling, norm)
        found.append(max(0.0, (b - D @ w).max(initial=0.0)))
    return np.array(found)


def svm_primal(examples, w, C, rescaling, norm):
    """|w|^2 / 2 + (C / norm) sum xi^norm."""
    return 0.5 * w @ w + C / norm * (slacks(examples, w, rescaling, norm) ** norm).sum()


def svm_solve(examples, C, rescaling, norm):
    """Minimise the primal with all constraints of all examples written out: (value, w)."""
    n, n_weights = len(examples), examples[0].phi.shape[1]
    blocks = [constraints(e, rescaling, norm) for e in examples]
    b = np.concatenate([block[0] for block in blocks])
    owner = np.repeat(np.arange(n), [len(block[0]) for block in blocks])
    pick = sp.csc_matrix((np.ones(b.size), (np.arange(b.size), owner)), shape=(b.size, n))
    # variables (w, xi); minus G (w, xi) <= minus b
    G = -sp.hstack([sp.csc_matrix(np.vstack([block[1] for block in blocks])), pick], format="csc")
    quadratic = np.concatenate([np.ones(n_weights), np.full(n, C if norm == 2 else 0.0)])
    linear = np.concatenate([np.zeros(n_weights), np.full(n, C if norm == 1 else 0.0)])
    lower = np.concatenate([np.full(n_weights, -np.inf), np.zeros(n)])
    for precision in (1e-10, 1e-8):  # on some processors, rounding keeps the solver from the former
        solver = piqp.SparseSolver()
        solver.settings.eps_abs = solver.settings.eps_rel = precision
        solver.setup(sp.diags(quadratic, format="csc"), linear, None, None, G, None, -b, lower, None)
        status = solver.solve()
        if status == piqp.PIQP_SOLVED:
            break
    else:
        raise RuntimeError(f"the quadratic program was not solved: {status}")
    w = np.asarray(solver.result.x)[:n_weights]
    return svm_primal(examples, w, C, rescaling, norm), w


def svm_hard(examples, rescaling, norm):
    """Minimise |w|^2 / 2 with all constraints of all examples written out and no slack: (value, w)."""
    b, D = (np.concatenate(parts) for parts in zip(*(constraints(e, rescaling, norm) for e in examples)))
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-10
    n = D.shape[1]
    solver.setup(np.eye(n), np.zeros(n), None, None, D, b, None, None, None)
    if solver.solve() != piqp.PIQP_SOLVED:
        raise RuntimeError("the quadratic program was not solved")
    w = np.asarray(solver.result.x)
    return 0.5 * w @ w, w
