"""The quadratic program over one block of constraints of the co-support vector machine, and what it is made of."""

import numpy as np

from accord.kernels.chains.online import clear, count_transitions, n_columns, to_nodes
from accord.kernels.chains.pairs import add_columns, differ_at
from accord.kernels.compiling import helper, kernel
from accord.kernels.features.sparse import add_row

PRECISION = 1e-10  # of slopes, relative to the largest violation


@kernel
def maximise_subspace(gram, linear, size, ridge, budget, alpha):
    """Maximise ``linear'a - a'(gram + ridge)a / 2`` over ``a >= 0`` and ``sum a <= budget``; returns the gain.

    Starts from ``alpha``, which is feasible. What is left of the budget is a variable of its own with slope zero. Each
    step moves mass from the variable with the lowest slope to that with the highest, up to the maximum on that line, so
    the value never falls.
    """
    slope = np.zeros(size + 1)  # gradient; the last is what is left of the budget
    left, top = budget, 0.0
    for a in range(size):
        left -= alpha[a]
        top = max(top, abs(linear[a]))
    left = max(left, 0.0)
    for a in range(size):
        slope[a] = linear[a]
        for b in range(size):
            slope[a] -= (gram[a, b] + ridge) * alpha[b]
    gain = 0.0
    for _ in range(20_000 * size):
        up, down = size, size if left > 0.0 else -1
        for a in range(size):
            if slope[a] > slope[up]:
                up = a
            if alpha[a] > 0.0 and (down < 0 or slope[a] < slope[down]):
                down = a
        if down < 0 or slope[up] - slope[down] <= PRECISION * top:
            break
        curve = 0.0
        if up < size:
            curve += gram[up, up] + ridge
        if down < size:
            curve += gram[down, down] + ridge
        if up < size and down < size:
            curve -= 2.0 * (gram[up, down] + ridge)
        move = left if down == size else alpha[down]
        rise = slope[up] - slope[down]
        if curve * move > rise:
            move = rise / curve
        if move == np.inf:  # a direction without length and no budget: the program has no maximum
            break
        gain += move * rise - 0.5 * move * move * curve
        for v, signed in ((up, move), (down, -move)):
            if v == size:
                left = max(left + signed, 0.0)
                continue
            alpha[v] = max(alpha[v] + signed, 0.0)
            for a in range(size):
                slope[a] -= signed * (gram[a, v] + ridge)
    return gain


@helper
def add_difference(features, label_map, first_row, target, output, amount, eta, order, n_labels, weights, tw):
    """Add ``amount`` times the difference of the joint features of ``target`` and ``output``."""
    width = n_columns(label_map, weights)
    per_column, per_node = np.zeros(width), np.empty(weights.shape[1])
    for t in range(target.size):
        if differ_at(target, output, t, width, n_labels):
            add_columns(target, t, amount, amount, n_labels, per_column)
            add_columns(output, t, -amount, -amount, n_labels, per_column)
            to_nodes(label_map, per_column, per_node)
            add_row(features, first_row + t, per_node, weights)
            clear(per_column)
    count_transitions(target, amount * eta, n_labels, order, tw)
    count_transitions(output, -amount * eta, n_labels, order, tw)


@helper
def dot_difference(features, label_map, first_row, target, output, eta, order, n_labels, weights, tw):
    """Inner product of a joint-feature difference with ``weights``."""
    width = n_columns(label_map, weights)
    per_column, per_node = np.zeros(width), np.empty(weights.shape[1])
    total = 0.0
    for t in range(target.size):
        if not differ_at(target, output, t, width, n_labels):
            continue
        add_columns(target, t, 1.0, 1.0, n_labels, per_column)
        add_columns(output, t, -1.0, -1.0, n_labels, per_column)
        to_nodes(label_map, per_column, per_node)
        clear(per_column)
        for k in range(features.slots.shape[1]):
            unit = features.slots[first_row + t, k]
            base, stride = features.base[k], features.stride[k]
            sparse = features.indptr.size > 0
            first = features.indptr[unit] if sparse else 0
            last = features.indptr[unit + 1] if sparse else features.dense.shape[1]
            for p in range(first, last):
                w = weights[base + (features.indices[p] if sparse else p) * stride]
                x = features.data[p] if sparse else features.dense[unit, p]
                for z in range(per_node.size):
                    total += x * per_node[z] * w[z]
    counts = np.zeros(tw.size)
    count_transitions(target, eta, n_labels, order, counts)
    count_transitions(output, -eta, n_labels, order, counts)
    for p in range(tw.size):
        total += counts[p] * tw[p]
    return total


@helper
def clear_row(features, row, weights):
    """Set the weights of one row's features to zero."""
    for k in range(features.slots.shape[1]):
        unit = features.slots[row, k]
        base, stride = features.base[k], features.stride[k]
        if features.indptr.size == 0:
            for j in range(features.dense.shape[1]):
                clear(weights[base + j * stride])
        else:
            for p in range(features.indptr[unit], features.indptr[unit + 1]):
                clear(weights[base + features.indices[p] * stride])


@helper
def gram_row(features, label_map, first_row, target, outputs, scale, row, eta, order, n_labels, work, work_tw, gram):
    """Fill row and column ``row`` of the Gram matrix of one block's constraints. ``work`` is zero before and after."""
    add_difference(
        features, label_map, first_row, target, outputs[row], scale[row], eta, order, n_labels, work, work_tw
    )
    for b in range(row + 1):
        product = scale[b] * dot_difference(
            features, label_map, first_row, target, outputs[b], eta, order, n_labels, work, work_tw
        )
        gram[row, b] = product
        gram[b, row] = product
    for t in range(target.size):
        if differ_at(target, outputs[row], t, n_columns(label_map, work), n_labels):
            clear_row(features, first_row + t, work)
    clear(work_tw)
