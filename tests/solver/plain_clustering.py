"""The programs of supervised clustering written out in full, for a general solver. Imports nothing from Accord."""

from itertools import product

import enumerate_partitions as oracle
import numpy as np
import piqp
import scipy.sparse as sp
from scipy.optimize import linprog


def solve_qp(P, c, G, h, lower):
    """min x'Px/2 + c'x with Gx <= h and x >= lower, by piqp."""
    solver = piqp.SparseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-10
    solver.settings.max_iter = 1000
    n = c.size
    solver.setup(
        sp.csc_matrix(P), c, None, None, sp.csc_matrix(G), np.full(h.size, -np.inf), h, lower, np.full(n, np.inf)
    )
    status = solver.solve()
    assert status == piqp.PIQP_SOLVED, status
    x = np.asarray(solver.result.x)
    return x, float(0.5 * x @ (P @ x) + c @ x)


def loss_terms(y, loss):
    """zeta and kappa of the thesis: the loss of z is kappa - <zeta, z>."""
    n = len(y)
    zeta, kappa = [], 0.0
    for j, k in oracle.pairs(n):
        if loss == "rand":
            weight = 2.0 / (n * (n - 1))
        else:
            weight = 1.0 / sum(1 for m in range(n) if m != j and y[m] == y[k])
        same = y[j] == y[k]
        zeta.append(weight * (2 * same - 1))
        kappa += weight * same
    return np.array(zeta), kappa


def triangle_matrix(n):
    """A of the thesis, transposed: a row for each triangle inequality."""
    number = {frozenset(pair): p for p, pair in enumerate(oracle.pairs(n))}
    rows = np.zeros((len(oracle.triangles(n)), len(number)))
    for row, (j, k, l) in zip(rows, oracle.triangles(n)):
        row[number[frozenset((j, k))]] += 1
        row[number[frozenset((k, l))]] += 1
        row[number[frozenset((j, l))]] -= 1
    return rows


def dual_of_loss_augmented(sim, y, loss):
    """min kappa + sum lambda + sum mu with sim - zeta <= A'lambda + mu, by SciPy."""
    zeta, kappa = loss_terms(y, loss)
    A = triangle_matrix(len(y))
    n_lambda, n_pairs = A.shape
    constraints = -np.hstack([A.T, np.eye(n_pairs)])
    found = linprog(np.ones(n_lambda + n_pairs), A_ub=constraints, b_ub=-(sim - zeta), bounds=(0, None))
    assert found.status == 0
    return kappa + found.fun


def compact(sets, Y, C, loss):
    """Optimisation problem 8.1 with all its variables: (objective, w)."""
    d, n_sets = sets[0].shape[1], len(sets)
    sizes = [(triangle_matrix(len(y)).shape[0], len(oracle.pairs(len(y)))) for y in Y]
    n = d + n_sets + sum(a + b for a, b in sizes)
    P = np.zeros((n, n))
    P[:d, :d] = np.eye(d)
    c = np.zeros(n)
    c[d : d + n_sets] = C
    rows, h, first = [], [], d + n_sets
    for i, (pairs, y, (n_lambda, n_pairs)) in enumerate(zip(sets, Y, sizes)):
        zeta, kappa = loss_terms(y, loss)
        true = np.array([float(y[j] == y[k]) for j, k in oracle.pairs(len(y))])
        here = slice(first, first + n_lambda + n_pairs)
        row = np.zeros(n)  # kappa + sum lambda + sum mu - <w, Phi> - xi <= 0
        row[:d], row[d + i], row[here] = -(pairs.T @ true), -1.0, 1.0
        rows.append(row[None])
        h.append([-kappa])
        block = np.zeros((n_pairs, n))  # Sw - zeta - A'lambda - mu <= 0
        block[:, :d] = pairs
        block[:, here] = -np.hstack([triangle_matrix(len(y)).T, np.eye(n_pairs)])
        rows.append(block)
        h.append(zeta)
        first += n_lambda + n_pairs
    lower = np.concatenate([np.full(d, -np.inf), np.zeros(n - d)])
    lower[d : d + n_sets] = -np.inf  # the program does not ask for xi >= 0: the true output gives it
    x, value = solve_qp(P, c, np.concatenate(rows), np.concatenate(h), lower)
    return value, x[:d]


def sequential(sets, Y, C, loss):
    """Optimisation problem 8.2: every object moved to the end of its set, all partitions that agree on the others."""
    constraints, slacks = [], 0
    for pairs, y in zip(sets, Y):
        n = len(y)
        feature = {}
        for row, (j, k) in zip(pairs, oracle.pairs(n)):
            feature[j, k] = feature[k, j] = row
        for j in range(n):
            order = [m for m in range(n) if m != j] + [j]
            truth = [y[m] for m in order]
            for other in oracle.partitions(n):
                before = list(product(range(n - 1), repeat=2))
                if any((truth[a] == truth[b]) != (other[a] == other[b]) for a, b in before):
                    continue
                delta = sum(
                    ((truth[a] == truth[b]) - (other[a] == other[b])) * feature[order[a], order[b]]
                    for a, b in oracle.pairs(n)
                ) + np.zeros(pairs.shape[1])
                constraints.append((slacks, delta, float(oracle.LOSSES[loss](truth, other))))
            slacks += 1
    return with_slacks(constraints, slacks, sets[0].shape[1], C)


def pairwise(sets, Y, C):
    """A linear SVM on pairs."""
    constraints, slacks = [], 0
    for pairs, y in zip(sets, Y):
        for row, (j, k) in zip(pairs, oracle.pairs(len(y))):
            constraints.append((slacks, row if y[j] == y[k] else -row, 1.0))
            slacks += 1
    return with_slacks(constraints, slacks, sets[0].shape[1], C)


def iterative(sets, Y, C, loss):
    """One slack per set and a constraint for every partition of it."""
    constraints = []
    for i, (pairs, y) in enumerate(zip(sets, Y)):
        for other in oracle.partitions(len(y)):
            delta = sum(
                ((y[j] == y[k]) - (other[j] == other[k])) * row for row, (j, k) in zip(pairs, oracle.pairs(len(y)))
            )
            constraints.append((i, delta + np.zeros(pairs.shape[1]), float(oracle.LOSSES[loss](y, other))))
    return with_slacks(constraints, len(sets), sets[0].shape[1], C)


def with_slacks(constraints, n_slacks, d, C):
    """min |w|^2 / 2 + C sum xi with <w, delta> + xi >= b, xi >= 0: (objective, w)."""
    P = np.zeros((d + n_slacks, d + n_slacks))
    P[:d, :d] = np.eye(d)
    c = np.concatenate([np.zeros(d), np.full(n_slacks, C)])
    G = np.zeros((len(constraints), d + n_slacks))
    for row, (slack, delta, _) in zip(G, constraints):
        row[:d], row[d + slack] = -delta, -1.0
    h = -np.array([b for *_, b in constraints])
    x, value = solve_qp(P, c, G, h, np.concatenate([np.full(d, -np.inf), np.zeros(n_slacks)]))
    return value, x[:d]
