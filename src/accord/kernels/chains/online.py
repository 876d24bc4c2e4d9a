"""Training loops that visit one example after another: the loop, the decoder and the update in one kernel.

Weights are ``W`` (n_dims, n_nodes) and the transition vector ``tw``, laid out as start (L), end (L), pair (L, L) and,
in second order, triple (L + 1, L, L); start and end may be missing (:func:`first_pair`), and it is empty for structures
without transitions. ``init, step, final`` are the decoder's arrays made from ``tw`` (see the package docstring) and are
kept in step with it; entries of minus infinity stay as they are. ``LabelMap`` says which output columns a label sums (a
class of a taxonomy sums its ancestors'). Label numbers ``y`` of -1 are hidden: the output is known to have the other
labels, and these are any that fit.
"""

from typing import NamedTuple

import numpy as np

from accord.kernels.chains.forward_backward import forward_backward_one, shifted_exp
from accord.kernels.chains.pairs import add_columns, differ_at, pair_score
from accord.kernels.chains.viterbi import force_labels, longest_chain, viterbi
from accord.kernels.compiling import helper, kernel
from accord.kernels.features.sparse import add_row, score_rows

NEG_INF = -np.inf


class LabelMap(NamedTuple):
    """Sparse matrix (n_labels, n_nodes); ``nodes`` is empty for the identity."""

    indptr: np.ndarray
    nodes: np.ndarray
    weights: np.ndarray


@helper
def clear(vector):
    """``vector[:] = 0``, as a loop: numba takes seconds to compile slices."""
    for i in range(vector.size):
        vector[i] = 0.0


@helper
def sum_nodes(label_map, node_scores, out):
    """Scores of labels from scores of nodes."""
    for c in range(out.size):
        total = 0.0
        for p in range(label_map.indptr[c], label_map.indptr[c + 1]):
            total += label_map.weights[p] * node_scores[label_map.nodes[p]]
        out[c] = total


@helper
def n_columns(label_map, W):
    """How many scores a row has: of labels and, if there are weights for them, of pairs of labels."""
    return W.shape[1] if label_map.nodes.size == 0 else label_map.indptr.size - 1


@helper
def score_input(features, window, label_map, first_row, W, work, out):
    """Write the scores (n_rows, n_columns) of one input into ``out``; ``work`` is made by :func:`score_work`."""
    wide, nodes = work
    if label_map.nodes.size == 0:
        score_rows(features, window, first_row, W, wide, out)
        return
    score_rows(features, window, first_row, W, wide, nodes[: out.shape[0]])
    for t in range(out.shape[0]):
        sum_nodes(label_map, nodes[t], out[t])


@helper
def score_work(longest, window, W):
    """Buffers for scoring inputs of up to ``longest`` rows."""
    return np.empty((longest + 1, window.size * W.shape[1])), np.empty((longest, W.shape[1]))


@helper
def to_nodes(label_map, per_label, per_node):
    """Coefficients of nodes from coefficients of labels."""
    if label_map.nodes.size == 0:
        for c in range(per_label.size):
            per_node[c] = per_label[c]
        return
    clear(per_node)
    for c in range(per_label.size):
        if per_label[c] != 0.0:
            for p in range(label_map.indptr[c], label_map.indptr[c + 1]):
                per_node[label_map.nodes[p]] += label_map.weights[p] * per_label[c]


@helper
def first_pair(n_transitions, n_labels, order):
    """Where the pairs begin in a transition vector: behind start and end, if it has them."""
    square = n_labels * n_labels
    return n_transitions - (square if order == 1 else (n_labels + 2) * square)


@kernel
def count_transitions(labels, sign, n_labels, order, counts):
    """Add ``sign`` times the transition features of one output to ``counts`` (laid out like ``tw``)."""
    if counts.size == 0 or labels.size == 0:
        return
    first, square = first_pair(counts.size, n_labels, order), n_labels * n_labels
    if first > 0:
        counts[labels[0]] += sign
        counts[n_labels + labels[-1]] += sign
    for t in range(1, labels.size):
        pair = first + labels[t - 1] * n_labels + labels[t]
        counts[pair] += sign
        if order == 2:
            before = labels[t - 2] if t > 1 else n_labels
            counts[pair + square + before * square] += sign


@helper
def refresh_chain(tw, eta, n_labels, order, init, step, final):
    """Recompute the decoder's arrays from the transition weights, keeping what is forbidden."""
    if tw.size == 0:
        return
    first, square = first_pair(tw.size, n_labels, order), n_labels * n_labels
    for c in range(n_labels if first > 0 else 0):
        if init[c] > NEG_INF:
            init[c] = eta * tw[c]
        if final[c] > NEG_INF:
            final[c] = eta * tw[n_labels + c]
    for a in range(step.shape[0]):
        for b in range(step.shape[1]):
            for c in range(n_labels):
                if step[a, b, c] > NEG_INF:
                    if order == 1:
                        step[a, b, c] = eta * tw[first + a * n_labels + c]
                    else:
                        pair = first + b * n_labels + c
                        step[a, b, c] = eta * (tw[pair] + tw[pair + square + a * square])


@kernel
def path_score(unary, init, step, final, labels):
    """Score of one output."""
    total = 0.0
    n_labels = init.size
    for t in range(labels.size):
        c = labels[t]
        total += unary[t, c] + pair_score(unary, t, labels, n_labels)
        if t == 0:
            total += init[c]
        elif step.shape[0] == n_labels:
            total += step[labels[t - 1], 0, c]
        else:
            total += step[labels[t - 2] if t > 1 else n_labels, labels[t - 1], c]
    if labels.size > 0:
        total += final[labels[-1]]
    return total


@kernel
def perceptron_epoch(
    features, window, label_map, offsets, y, weights, order_of_examples, order, eta, W, tw, init, step, final,
    W_sum, tw_sum, clock,
):  # fmt: skip
    """One pass of the perceptron. ``W_sum`` (empty: do not average) collects updates times ``clock``.

    A step on example ``i`` is ``weights[i]`` times as long (empty: all are 1). The average after ``clock`` examples is
    ``W - W_sum / clock``. Where labels are hidden, the target is the best
    output that has the others. Returns (clock, wrong outputs, wrong tokens).
    """
    n_labels, width = init.size, n_columns(label_map, W)
    longest = longest_chain(offsets)
    unary = np.empty((longest, width))
    scoring = score_work(longest, window, W)
    found, target = np.empty(longest, np.int32), np.empty(longest, np.int32)
    per_column = np.zeros(width)
    per_node = np.empty(W.shape[1])
    counts = np.zeros(tw.size)
    wrong, wrong_tokens = 0, 0
    for i in order_of_examples:
        lo, hi = offsets[i], offsets[i + 1]
        n = hi - lo
        score_input(features, window, label_map, lo, W, scoring, unary[:n])
        viterbi(unary[:n], init, step, final, found[:n])
        errors = 0
        hidden = False
        for t in range(n):
            target[t] = y[lo + t]
            if target[t] < 0:
                hidden = True
            elif found[t] != target[t]:
                errors += 1
        if errors > 0:
            wrong += 1
            wrong_tokens += errors
            weight = weights[i] if weights.size > 0 else 1.0
            if hidden:  # an output that has all given labels is its own target: only the others are decoded again
                force_labels(unary[:n], y[lo:hi], n_labels)
                viterbi(unary[:n], init, step, final, target[:n])
            for t in range(n):
                if not differ_at(found, target, t, width, n_labels):
                    continue
                add_columns(target, t, weight, weight, n_labels, per_column)
                add_columns(found, t, -weight, -weight, n_labels, per_column)
                to_nodes(label_map, per_column, per_node)
                add_row(features, lo + t, per_node, W)
                if W_sum.size > 0:
                    for z in range(per_node.size):
                        per_node[z] *= clock
                    add_row(features, lo + t, per_node, W_sum)
                add_columns(target, t, -weight, -weight, n_labels, per_column)
                add_columns(found, t, weight, weight, n_labels, per_column)
            if tw.size > 0:
                clear(counts)
                count_transitions(target[:n], weight * eta, n_labels, order, counts)
                count_transitions(found[:n], -weight * eta, n_labels, order, counts)
                for p in range(tw.size):
                    tw[p] += counts[p]
                    if W_sum.size > 0:
                        tw_sum[p] += clock * counts[p]
                refresh_chain(tw, eta, n_labels, order, init, step, final)
        clock += 1.0
    return clock, wrong, wrong_tokens


@kernel
def crf_epoch(
    features, window, label_map, offsets, y, weights, order_of_examples, order, eta, decay, rate, W, tw,
    init, step, final, work, clock,
):  # fmt: skip
    """One pass of stochastic gradient descent on ``decay/2 |w|^2 + mean negative log likelihood``.

    The likelihood of example ``i`` counts ``weights[i]`` times (empty: once). The step size after ``clock`` examples is
    ``rate / (1 + rate * decay * clock)``. Where labels are hidden, the
    likelihood is that of all outputs that have the others. ``work`` are buffers of ``forward_backward``. Returns
    (clock, summed loss).
    """
    n_labels, width = init.size, n_columns(label_map, W)
    longest = longest_chain(offsets)
    unary = np.empty((longest, width))
    scoring = score_work(longest, window, W)
    marginals, agreeing = np.empty((longest, width)), np.empty((longest, width))
    per_node = np.empty(W.shape[1])
    d_init, d_step, d_final = np.empty_like(init), np.empty_like(step), np.empty_like(final)
    e_init, e_step, e_final = np.empty_like(init), np.empty_like(step), np.empty_like(final)
    shifts, log_z, once, ends = np.empty(3), np.empty(1), np.ones(1), np.zeros(2, np.int64)
    counts = np.zeros(tw.size)
    scale = 1.0  # the weights are scale * W, so that shrinking them costs nothing
    total = 0.0
    for i in order_of_examples:
        lo, hi = offsets[i], offsets[i + 1]
        n = hi - lo
        step_size = rate / (1.0 + rate * decay * clock)
        clock += 1.0
        if n == 0:
            continue
        score_input(features, window, label_map, lo, W, scoring, unary[:n])
        for t in range(n):
            for c in range(width):
                unary[t, c] *= scale
        refresh_chain(tw, eta, n_labels, order, init, step, final)
        clear(d_init)
        clear(d_step.reshape(-1))
        clear(d_final)
        shifts[0] = shifted_exp(init, e_init)
        shifts[1] = shifted_exp(step.reshape(-1), e_step.reshape(-1))
        shifts[2] = shifted_exp(final, e_final)
        ends[1] = n
        loss = forward_backward_one(
            ends, unary[:n], init, step, final, shifts, e_init, e_step, e_final, work, once, marginals[:n], log_z,
            d_init, d_step, d_final,
        )  # fmt: skip
        hidden = False
        for t in range(n):
            hidden |= y[lo + t] < 0
        clear(counts)
        if hidden:
            subtract_expected(d_init, d_step, d_final, eta, order, counts)
            clear(d_init)
            clear(d_step.reshape(-1))
            clear(d_final)
            force_labels(unary[:n], y[lo:hi], n_labels)
            loss -= forward_backward_one(
                ends, unary[:n], init, step, final, shifts, e_init, e_step, e_final, work, once, agreeing[:n], log_z,
                d_init, d_step, d_final,
            )  # fmt: skip
            subtract_expected(d_init, d_step, d_final, -eta, order, counts)
        else:
            loss -= path_score(unary[:n], init, step, final, y[lo:hi])
            count_transitions(y[lo:hi], eta, n_labels, order, counts)
            subtract_expected(d_init, d_step, d_final, eta, order, counts)
        weight = weights[i] if weights.size > 0 else 1.0
        total += weight * loss
        shrink = max(1.0 - step_size * decay, 0.0)
        step_size *= weight
        scale *= shrink
        if scale < 1e-6:
            W *= scale
            scale = 1.0
        for t in range(n):
            for c in range(width):
                marginals[t, c] = -marginals[t, c] * step_size / scale
            if hidden:
                for c in range(width):
                    marginals[t, c] += agreeing[t, c] * step_size / scale
            else:
                add_columns(y[lo:hi], t, step_size / scale, step_size / scale, n_labels, marginals[t])
            to_nodes(label_map, marginals[t], per_node)
            add_row(features, lo + t, per_node, W)
        if tw.size > 0:
            for p in range(tw.size):
                tw[p] = shrink * tw[p] + step_size * counts[p]
    W *= scale
    refresh_chain(tw, eta, n_labels, order, init, step, final)
    return clock, total


@helper
def subtract_expected(d_init, d_step, d_final, eta, order, counts):
    """Subtract expected transition features, given expected uses of the decoder's arrays."""
    if counts.size == 0:
        return
    n_labels = d_init.size
    first, square = first_pair(counts.size, n_labels, order), n_labels * n_labels
    for c in range(n_labels if first > 0 else 0):
        counts[c] -= eta * d_init[c]
        counts[n_labels + c] -= eta * d_final[c]
    for a in range(d_step.shape[0]):
        for b in range(d_step.shape[1]):
            for c in range(n_labels):
                v = eta * d_step[a, b, c]
                if order == 1:
                    counts[first + a * n_labels + c] -= v
                else:
                    counts[first + b * n_labels + c] -= v
                    counts[first + square + a * square + b * n_labels + c] -= v
