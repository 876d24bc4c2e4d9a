"""Block-coordinate Frank-Wolfe for the structural SVM, and the features of one constraint.

In scaled form every machine reads ``min |w|^2 / 2 + (C / r) sum_i xi_i^r``, ``xi_i >= b - <w, d>`` for every output,
where (b, d) is (loss, difference) for margin rescaling and loss * (1, difference) for slack rescaling, the loss being
replaced by its root for r = 2. So rescaling concerns only how a constraint is made.
"""

import numpy as np

from accord.kernels.chains.online import clear, n_columns, path_score, refresh_chain, score_input, score_work, to_nodes
from accord.kernels.chains.pairs import add_columns, differ_at, pair_score
from accord.kernels.chains.subspace import add_difference, clear_row
from accord.kernels.chains.violator import MARGIN, find_violator, loss_value
from accord.kernels.chains.viterbi import longest_chain
from accord.kernels.compiling import kernel
from accord.kernels.features.sparse import add_row


@kernel
def best_mix(gain_old, gain_new, norm_old, cross, norm_new, mass_old, mass_new, ridge, budget):
    """Maximise ``a gain_old + g gain_new - quadratic / 2`` over ``a, g >= 0`` and ``a + g <= budget`` (if finite).

    The quadratic is ``a^2 norm_old + 2 a g cross + g^2 norm_new + ridge (a mass_old + g mass_new)^2``.
    """
    qaa = norm_old + ridge * mass_old * mass_old
    qag = cross + ridge * mass_old * mass_new
    qgg = norm_new + ridge * mass_new * mass_new
    det = qaa * qgg - qag * qag
    if det > 1e-12 * max(qaa * qgg, 1e-300):
        a = (gain_old * qgg - gain_new * qag) / det
        g = (gain_new * qaa - gain_old * qag) / det
        if a >= 0.0 and g >= 0.0 and a + g <= budget:
            return a, g
    best, best_a, best_g = 0.0, 0.0, 0.0
    for edge in range(3):
        if edge == 0:  # g = 0
            x = min(gain_old / qaa, budget) if qaa > 0.0 else 0.0
            a, g = max(x, 0.0), 0.0
        elif edge == 1:  # a = 0
            x = min(gain_new / qgg, budget) if qgg > 0.0 else (budget if gain_new > 0.0 and budget < np.inf else 0.0)
            a, g = 0.0, max(x, 0.0)
        else:  # a + g = budget
            if budget == np.inf:
                continue
            curve = qaa - 2.0 * qag + qgg
            slope = gain_new - gain_old + budget * (qaa - qag)
            x = slope / curve if curve > 0.0 else (budget if slope > 0.0 else 0.0)
            g = min(max(x, 0.0), budget)
            a = budget - g
        value = a * gain_old + g * gain_new - 0.5 * (a * a * qaa + 2.0 * a * g * qag + g * g * qgg)
        if value > best:
            best, best_a, best_g = value, a, g
    return best_a, best_g


@kernel
def frank_wolfe_epoch(
    features, window, label_map, offsets, y, weights, order_of_examples, order, eta, loss, rescaling, norm, C,
    W, tw, init, step, final, dual_rows, dual_tw, dual_linear, dual_mass, dual_norm, direction, gaps, with_pairs,
):  # fmt: skip
    """One pass of block-coordinate Frank-Wolfe on the dual of the structural SVM.

    The dual variables of example ``i`` are kept as coefficients of its parts: ``dual_rows`` (n_rows, n_columns) and
    ``dual_tw[i]``, so that its share of ``w`` is their product with its features. ``dual_linear[i]`` is its linear
    term, ``dual_mass[i]`` the sum of its variables and ``dual_norm[i]`` the squared norm of its share. A visit
    replaces the share by the best non-negative mix of itself and the most violated constraint's. ``direction`` is a
    zero array like ``W`` (work space). ``gaps[i]`` receives the block's duality gap. The slack of example ``i`` costs
    ``C * weights[i]`` (empty: C). ``with_pairs`` is None where rows have no scores of pairs of labels: compiled for
    this, a pass takes a tenth less time.
    """
    n_labels = init.size
    width = n_labels
    if with_pairs is not None:
        width = n_columns(label_map, W)
    longest = longest_chain(offsets)
    unary = np.empty((longest, width))
    turned = np.empty((longest, width))
    scoring = score_work(longest, window, W)
    found = np.empty(longest, np.int32)
    per_column = np.zeros(width)
    per_node = np.empty(W.shape[1])
    counts = np.zeros(tw.size)
    budget = 1.0 if norm == 1 else np.inf
    for i in order_of_examples:
        lo, hi = offsets[i], offsets[i + 1]
        n = hi - lo
        if n == 0:
            gaps[i] = 0.0
            continue
        cost = C * weights[i] if weights.size > 0 else C
        ridge = 0.0 if norm == 1 else 1.0 / cost
        mass_new = cost if norm == 1 else 1.0
        score_input(features, window, label_map, lo, W, scoring, unary[:n])
        true_score = path_score(unary[:n], init, step, final, y[lo:hi])
        h = find_violator(loss, rescaling, norm, unary[:n], init, step, final, y[lo:hi], true_score, found[:n])
        delta = loss_value(loss, y[lo:hi], found[:n])
        if norm == 2:
            delta = np.sqrt(delta)
        scale = mass_new * (1.0 if rescaling == MARGIN else delta)
        linear_new = mass_new * delta
        # <w, share of i>, from the scores at hand
        inner_old = 0.0
        for t in range(n):
            for c in range(width):
                inner_old += dual_rows[lo + t, c] * unary[t, c]
        for p in range(tw.size):
            inner_old += dual_tw[i, p] * tw[p]
        xi = max(h, 0.0)
        upper = cost * xi if norm == 1 else 0.5 * cost * xi * xi
        gaps[i] = upper + inner_old - dual_linear[i] + 0.5 * ridge * dual_mass[i] * dual_mass[i]
        if h <= 0.0 and dual_mass[i] == 0.0:
            continue
        # direction = features of the new constraint; its norm and its product with the old share
        norm_new = 0.0
        cross = 0.0
        clear(counts)
        if h > 0.0:
            add_difference(features, label_map, lo, y[lo:hi], found[:n], scale, eta, order, n_labels, direction, counts)
            score_input(features, window, label_map, lo, direction, scoring, turned[:n])
            for t in range(n):
                for c in range(width):
                    cross += dual_rows[lo + t, c] * turned[t, c]
                if differ_at(y[lo:hi], found, t, width, n_labels):
                    true = turned[t, y[lo + t]] + pair_score(turned, t, y[lo:hi], n_labels)
                    norm_new += scale * (true - turned[t, found[t]] - pair_score(turned, t, found, n_labels))
            for p in range(tw.size):
                cross += dual_tw[i, p] * counts[p]
                norm_new += counts[p] * counts[p]
        inner_new = linear_new - mass_new * h if h > 0.0 else 0.0
        gain_old = dual_linear[i] - (inner_old - dual_norm[i])
        gain_new = linear_new - (inner_new - cross) if h > 0.0 else 0.0
        a, g = best_mix(
            gain_old, gain_new, dual_norm[i], cross, norm_new, dual_mass[i], mass_new if h > 0.0 else 0.0, ridge, budget
        )
        if h <= 0.0:
            g = 0.0
        # w += (a - 1) old share + g new share
        for t in range(n):
            changed = False
            for c in range(width):
                per_column[c] = (a - 1.0) * dual_rows[lo + t, c]
            if g != 0.0 and differ_at(y[lo:hi], found, t, width, n_labels):
                add_columns(y[lo:hi], t, g * scale, g * scale, n_labels, per_column)
                add_columns(found, t, -g * scale, -g * scale, n_labels, per_column)
            for c in range(width):
                changed |= per_column[c] != 0.0
                dual_rows[lo + t, c] += per_column[c]
            if changed:
                to_nodes(label_map, per_column, per_node)
                add_row(features, lo + t, per_node, W)
            clear(per_column)
        if tw.size > 0:
            for p in range(tw.size):
                change = (a - 1.0) * dual_tw[i, p] + g * counts[p]
                dual_tw[i, p] += change
                tw[p] += change
            refresh_chain(tw, eta, n_labels, order, init, step, final)
        if h > 0.0:  # take the direction back to zero
            for t in range(n):
                if differ_at(y[lo:hi], found, t, width, n_labels):
                    clear_row(features, lo + t, direction)
        dual_norm[i] = max(a * a * dual_norm[i] + 2.0 * a * g * cross + g * g * norm_new, 0.0)
        dual_linear[i] = a * dual_linear[i] + g * linear_new
        dual_mass[i] = a * dual_mass[i] + g * mass_new


@kernel
def joint_difference(features, label_map, first_row, y, found, order, eta, n_transitions, direction):
    """Sparse difference of the joint features of ``y`` and ``found``: (flat indices, values), transitions last.

    ``direction`` is a zero array like ``W`` (work space).
    """
    n_labels, n_nodes, width = label_map.indptr.size - 1, direction.shape[1], n_columns(label_map, direction)
    counts = np.zeros(n_transitions)
    add_difference(features, label_map, first_row, y, found, 1.0, eta, order, n_labels, direction, counts)
    size = 0
    for t in range(y.size):
        if differ_at(y, found, t, width, n_labels):
            for k in range(features.slots.shape[1]):
                unit = features.slots[first_row + t, k]
                if features.indptr.size == 0:
                    size += features.dense.shape[1]
                else:
                    size += features.indptr[unit + 1] - features.indptr[unit]
    indices = np.empty(size * n_nodes + n_transitions, np.int64)
    values = np.empty(size * n_nodes + n_transitions)
    used = 0
    for t in range(y.size):
        if not differ_at(y, found, t, width, n_labels):
            continue
        for k in range(features.slots.shape[1]):
            unit = features.slots[first_row + t, k]
            base, stride = features.base[k], features.stride[k]
            sparse = features.indptr.size > 0
            first = features.indptr[unit] if sparse else 0
            last = features.indptr[unit + 1] if sparse else features.dense.shape[1]
            for p in range(first, last):
                f = base + (features.indices[p] if sparse else p) * stride
                for z in range(n_nodes):
                    if direction[f, z] != 0.0:
                        indices[used] = f * n_nodes + z
                        values[used] = direction[f, z]
                        used += 1
                        direction[f, z] = 0.0
    for p in range(n_transitions):
        if counts[p] != 0.0:
            indices[used] = direction.size + p
            values[used] = counts[p]
            used += 1
    return indices[:used].copy(), values[:used].copy()


@kernel
def example_violator(features, window, label_map, first_row, y, loss, rescaling, norm, W, init, step, final, found):
    """Most violating output of one example, written into ``found``: (violation, loss or its root)."""
    unary = np.empty((y.size, n_columns(label_map, W)))
    score_input(features, window, label_map, first_row, W, score_work(y.size, window, W), unary)
    true_score = path_score(unary, init, step, final, y)
    h = find_violator(loss, rescaling, norm, unary, init, step, final, y, true_score, found)
    delta = loss_value(loss, y, found)
    return h, (np.sqrt(delta) if norm == 2 else delta)
