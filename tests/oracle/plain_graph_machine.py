"""The graph-regularised machine of sequences as it is printed [maxmargin_semisup, eqs. 3-4, 9-16 and 19].

A part is a label with an observation, a pair of labels, or a label at an end of a sequence. Everything is written down:
the kernel matrix over all parts, the Laplacian, ``Q``, all outputs, and the dual quadratic program.
"""

from itertools import pairwise, product

import numpy as np
from scipy.optimize import minimize


def parts_of(nodes, labels):
    observed = [("observation", s, u) for s in labels for u in range(nodes)]
    return (
        observed
        + [("pair", s, z) for s in labels for z in labels]
        + [(end, s, 0) for end in ("<", ">") for s in labels]
    )


def similarity(points, k, width):
    """Heat weights between points that are among the k nearest of each other, eq. 19."""
    distance = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    near = [set(np.argsort(np.where(np.arange(len(row)) == i, np.inf, row))[:k]) for i, row in enumerate(distance)]
    both = np.array([[i in near[j] and j in near[i] for j in range(len(points))] for i in range(len(points))])
    return np.where(both, np.exp(-distance / width), 0.0)


def regularised_kernel(points, parts, gamma, k, width, ambient, intrinsic, everywhere):
    """K~ over all parts; ``everywhere``: lambda_1 counts for parts of every type, not of observations only."""
    weights = similarity(points, k, width)
    base = np.exp(-gamma * ((points[:, None] - points[None]) ** 2).sum(axis=2))
    K, W = np.zeros((2, len(parts), len(parts)))
    for i, (kind, s, u) in enumerate(parts):
        for j, (other, z, v) in enumerate(parts):
            if kind == other == "observation":
                K[i, j], W[i, j] = (s == z) * base[u, v], (s == z) * weights[u, v]
            else:
                K[i, j] = float(parts[i] == parts[j])
    lambdas = np.array([ambient if everywhere or kind == "observation" else 1.0 for kind, _, _ in parts])
    laplacian = np.diag(W.sum(axis=1)) - W
    return K @ np.linalg.solve(np.diag(lambdas) @ K + intrinsic * K @ laplacian @ K, K)


def counts(parts, nodes, y):
    out = np.zeros(len(parts))
    for u, s in zip(nodes, y):
        out[parts.index(("observation", s, u))] += 1
    for s, z in pairwise(y):
        out[parts.index(("pair", s, z))] += 1
    out[parts.index(("<", y[0], 0))] += 1
    out[parts.index((">", y[-1], 0))] += 1
    return out


def trained(kernel, parts, words, Y, labels, C):
    """Weights beta of parts: the dual (16) over all outputs, Hamming loss, for norm / 2 + C times the slacks."""
    columns, losses, owner = [], [], []
    for i, (nodes, y) in enumerate(zip(words, Y)):
        for z in product(labels, repeat=len(y)):
            columns.append(counts(parts, nodes, y) - counts(parts, nodes, z))
            losses.append(sum(a != b for a, b in zip(y, z)))
            owner.append(i)
    columns, losses, owner = np.array(columns).T, np.array(losses, float), np.array(owner)
    gram = columns.T @ kernel @ columns
    found = minimize(
        lambda t: (t @ gram @ t / 2 - losses @ t, gram @ t - losses),
        C / np.bincount(owner)[owner],
        jac=True,
        bounds=[(0, C)] * owner.size,
        constraints=[
            {"type": "eq", "fun": lambda t, i=i: t[owner == i].sum() - C, "jac": lambda t, i=i: 1.0 * (owner == i)}
            for i in range(len(Y))
        ],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return columns @ found.x
