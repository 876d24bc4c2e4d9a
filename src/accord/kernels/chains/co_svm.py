"""The co-support vector machine's visits to unlabeled examples [thesis 6.3, OP 6.5-6.7, Table 6.2].

An unlabeled example makes one *block* of constraints per ordered pair of views (v, u): view v has to separate the
output that view u predicts from all others, with a weight that grows with the margin by which u predicts it. A visit
forgets the example's former blocks and builds them again, one violated constraint at a time, maximising the dual over
the block's variables with all others fixed. Rows, views and weights are laid out as in
:mod:`accord.kernels.chains.co_perceptron`.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from accord.kernels.chains.co_perceptron import force, known_labels, same, transitions_of
from accord.kernels.chains.margin import best_with_margin
from accord.kernels.chains.online import path_score, refresh_chain, score_input, score_work
from accord.kernels.chains.subspace import add_difference, gram_row, maximise_subspace
from accord.kernels.chains.violator import SLACK, copy_labels, find_violator, loss_value
from accord.kernels.features.sparse import Window

NEG_INF = -np.inf


class Blocks(NamedTuple):
    """Dual variables of the unlabeled examples: P ordered pairs of views, at most K constraints each."""

    learner: np.ndarray  # (P,) int64: the view that learns
    peer: np.ndarray  # (P,) int64: the view whose prediction it learns
    size: np.ndarray  # (n_examples, P) int64
    target: np.ndarray  # (P, n_rows) int32
    output: np.ndarray  # (P, K, n_rows) int32
    scale: np.ndarray  # (n_examples, P, K): factor of the joint-feature difference
    offset: np.ndarray  # (n_examples, P, K): xi >= offset - scale * <w, difference>
    alpha: np.ndarray  # (n_examples, P, K)


@njit(cache=True, nogil=True)
def forget_block(features, label_map, first_row, lo, n, blocks, i, p, eta, order, n_labels, weights, tw):
    """Take the constraints of one block out of the weights; returns whether there were any."""
    for k in range(blocks.size[i, p]):
        amount = -blocks.alpha[i, p, k] * blocks.scale[i, p, k]
        target, output = blocks.target[p, lo : lo + n], blocks.output[p, k, lo : lo + n]
        add_difference(features, label_map, first_row, target, output, amount, eta, order, n_labels, weights, tw)
        blocks.alpha[i, p, k] = 0.0
    had = blocks.size[i, p] > 0
    blocks.size[i, p] = 0
    return had


@njit(cache=True, nogil=True)
def visit_unlabeled(
    features,
    window,
    outside,
    label_map,
    offsets,
    y,
    order_of_examples,
    order,
    eta,
    loss,
    rescaling,
    norm,
    C,
    unlabeled_weight,
    pseudo,
    pseudo_margin,
    tol,
    max_repeats,
    n_dims,
    n_transitions,
    W,
    init,
    step,
    final,
    blocks,
    work,
):
    """Visit the given examples, whose labels are partly or wholly unknown (-1), and rebuild their blocks.

    ``pseudo`` (n_views, n_rows) holds the outputs that views teach their peers, ``pseudo_margin`` (n_views, n_examples)
    their margins; if empty, it is what they predict at the time. ``work`` is a zero array like ``W[0]``. Returns
    (examples on which views disagree at the end of their visit, tokens of those, subspace steps, least gain of the
    dual in a step).
    """
    n_views, n_labels, n_rows = W.shape[0], init.shape[1], y.size
    n_pairs, n_kept = blocks.learner.size, blocks.output.shape[1]
    longest = 0
    for i in order_of_examples:
        longest = max(longest, offsets[i + 1] - offsets[i])
    unary = np.empty((n_views, longest, n_labels))
    free = np.empty((longest, n_labels))
    scoring = score_work(longest, window, W[0])
    decoding = np.empty((longest, step.shape[1] * step.shape[2]))
    predicted = np.empty((n_views, longest), np.int32)
    margin = np.empty(n_views)
    found = np.empty(longest, np.int32)
    gram = np.zeros((n_pairs, n_kept, n_kept))
    linear = np.empty(n_kept)
    before = np.empty(n_kept)
    stale = np.empty(n_views, np.bool_)
    work_tw = np.zeros(n_transitions)
    disagreements, disagreeing_tokens, n_steps, least_gain = 0, 0, 0, np.inf
    for i in order_of_examples:
        lo, n = offsets[i], offsets[i + 1] - offsets[i]
        if n == 0:
            continue
        truth = y[lo : lo + n]
        annotated = known_labels(truth) / n
        for p in range(n_pairs):
            v = blocks.learner[p]
            tw = transitions_of(W[v], n_dims, n_transitions)
            if forget_block(features, label_map, v * n_rows + lo, lo, n, blocks, i, p, eta, order, n_labels, W[v], tw):
                refresh_chain(tw, eta, n_labels, order, init[v], step[v], final[v])
        stale[:] = True
        feasible = True  # else no output is allowed, and there is nothing to learn
        for _ in range(max_repeats):
            for v in range(n_views):
                if not stale[v]:
                    continue
                here = Window(window.size, window.first, window.before, outside[v])
                score_input(features, here, label_map, v * n_rows + lo, W[v], scoring, unary[v, :n])
                if pseudo.size > 0:
                    copy_labels(pseudo[v, lo : lo + n], predicted[v, :n])
                    margin[v] = pseudo_margin[v, i]
                else:
                    force(unary[v, :n], truth, free)
                    margin[v] = best_with_margin(free[:n], init[v], step[v], final[v], decoding, predicted[v, :n])[1]
                feasible = feasible and margin[v] > NEG_INF
                stale[v] = False
            if not feasible:
                break
            changed = False
            for p in range(n_pairs):
                v, u = blocks.learner[p], blocks.peer[p]
                row = v * n_rows + lo
                tw = transitions_of(W[v], n_dims, n_transitions)
                weight = annotated + (1.0 - annotated) * unlabeled_weight * min(margin[u], 1.0)
                target = blocks.target[p, lo : lo + n]
                if weight <= 1e-12 or not same(target, predicted[u, :n]):
                    if forget_block(features, label_map, row, lo, n, blocks, i, p, eta, order, n_labels, W[v], tw):
                        refresh_chain(tw, eta, n_labels, order, init[v], step[v], final[v])
                        stale[v], changed = True, True
                    copy_labels(predicted[u, :n], target)
                if weight <= 1e-12:
                    continue
                if stale[v]:
                    here = Window(window.size, window.first, window.before, outside[v])
                    score_input(features, here, label_map, row, W[v], scoring, unary[v, :n])
                chain_score = path_score(unary[v, :n], init[v], step[v], final[v], target)
                h = find_violator(
                    loss, rescaling, norm, unary[v, :n], init[v], step[v], final[v], target, chain_score, found[:n]
                )
                size = blocks.size[i, p]
                slack, listed, mass, paid = 0.0, False, 0.0, 0.0
                for k in range(size):
                    output = blocks.output[p, k, lo : lo + n]
                    score = path_score(unary[v, :n], init[v], step[v], final[v], output)
                    linear[k] = blocks.offset[i, p, k] - blocks.scale[i, p, k] * (chain_score - score)
                    slack = max(slack, linear[k])
                    listed = listed or same(output, found[:n])
                    mass += blocks.alpha[i, p, k]
                    paid += blocks.alpha[i, p, k] * linear[k]
                budget = C * weight if norm == 1 else np.inf
                ridge = 0.0 if norm == 1 else 1.0 / (C * weight)
                # how far the block is from optimal: its peer's margin and its view's weights may have changed since
                most = C * weight * (slack if norm == 1 else 0.5 * slack * slack)
                gap = most - paid + 0.5 * ridge * mass * mass
                if h > slack + tol and not listed and size < n_kept:
                    delta = loss_value(loss, target, found[:n])
                    root = np.sqrt(delta) if norm == 2 else delta
                    copy_labels(found[:n], blocks.output[p, size, lo : lo + n])
                    blocks.offset[i, p, size] = root
                    blocks.scale[i, p, size] = root if rescaling == SLACK else 1.0
                    blocks.alpha[i, p, size] = 0.0
                    linear[size] = h
                    gram_row(
                        features, label_map, row, target, blocks.output[p, :, lo : lo + n], blocks.scale[i, p], size,
                        eta, order, n_labels, work, work_tw, gram[p],
                    )  # fmt: skip
                    size += 1
                elif mass <= budget * (1.0 + 1e-9) and gap <= min(0.01, tol) * most + 1e-9 * C * weight:
                    continue
                alpha = blocks.alpha[i, p]
                shrink = min(1.0, budget / mass) if mass > 0.0 else 1.0
                for k in range(size):
                    before[k] = alpha[k]
                    for b in range(size):
                        linear[k] += gram[p, k, b] * alpha[b]
                for k in range(size):
                    alpha[k] *= shrink
                gain = maximise_subspace(gram[p], linear, size, ridge, budget, alpha)
                n_steps += 1
                least_gain = min(least_gain, gain)
                kept = 0
                for k in range(size):
                    output = blocks.output[p, k, lo : lo + n]
                    amount = (alpha[k] - before[k]) * blocks.scale[i, p, k]
                    if amount != 0.0:
                        add_difference(features, label_map, row, target, output, amount, eta, order, n_labels, W[v], tw)
                        stale[v], changed = True, True
                    if alpha[k] > 0.0:
                        if kept < k:
                            keep_constraint(blocks, gram[p], i, p, lo, n, k, kept, size)
                        kept += 1
                for k in range(kept, size):
                    alpha[k] = 0.0
                blocks.size[i, p] = kept
                if stale[v]:
                    refresh_chain(tw, eta, n_labels, order, init[v], step[v], final[v])
            if not changed:
                break
        if not feasible:
            continue
        apart = 0
        for t in range(n):
            for v in range(1, n_views):
                if predicted[v, t] != predicted[0, t]:
                    apart += 1
                    break
        disagreements += apart > 0
        disagreeing_tokens += apart
    return disagreements, disagreeing_tokens, n_steps, least_gain


@njit(cache=True, nogil=True)
def keep_constraint(blocks, gram, i, p, lo, n, source, place, size):
    """Move a constraint of a block to an earlier place, over one that is dropped."""
    copy_labels(blocks.output[p, source, lo : lo + n], blocks.output[p, place, lo : lo + n])
    blocks.offset[i, p, place] = blocks.offset[i, p, source]
    blocks.scale[i, p, place] = blocks.scale[i, p, source]
    blocks.alpha[i, p, place] = blocks.alpha[i, p, source]
    for b in range(size):
        gram[place, b] = gram[source, b]
    for b in range(size):
        gram[b, place] = gram[b, source]


@njit(cache=True, nogil=True)
def predict_with_margin(offsets, unary, init, step, final, labels, margins):
    """Best output of every packed chain and the score by which it beats the second best (infinite: there is none)."""
    longest = 0
    for i in range(offsets.size - 1):
        longest = max(longest, offsets[i + 1] - offsets[i])
    decoding = np.empty((longest, step.shape[0] * step.shape[1]))
    for i in range(offsets.size - 1):
        lo, hi = offsets[i], offsets[i + 1]
        margins[i] = np.inf
        if hi > lo:
            margins[i] = best_with_margin(unary[lo:hi], init, step, final, decoding, labels[lo:hi])[1]
