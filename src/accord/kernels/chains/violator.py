"""Loss-augmented decoding of chains: the output that violates the margin most.

With margin rescaling the violation of an output is ``loss + score - true score``; with slack rescaling it is
``loss * (1 + score - true score)``. The 2-norm machine takes the root of the loss in both.

* 0/1 loss: the best output that is not the true one (2-best), exact.
* Additive costs, margin rescaling, 1-norm: Viterbi on augmented scores, exact.
* Additive costs otherwise, and micro F1: the best score per loss level, exact (the level is an integer: number of
  errors, or true positives and predicted positives).
* What has no such levels (real-valued costs, macro F1): the best of the outputs found by ``score + c * errors`` for a
  range of ``c``; not exact.
"""

from typing import NamedTuple

import numpy as np

from accord.kernels.chains.viterbi import best_per_level, k_best, trace_level, viterbi
from accord.kernels.compiling import ONE, TWO, ZERO, helper, kernel

ZERO_ONE, COST, MICRO_F1, MACRO_F1 = 0, 1, 2, 3
MARGIN, SLACK = ZERO, ONE
NEG_INF = -np.inf


class Loss(NamedTuple):
    """A structured loss as the kernels take it."""

    kind: int
    cost: np.ndarray  # (n_labels, n_labels) of predicting column for row, or (n_labels, 1): any other label
    level: np.ndarray  # like cost, int64: level of each cost, or (0, 0) when costs have no levels
    level_loss: np.ndarray  # loss of each level when an input has one row; empty: level times unit
    unit: float
    average: bool  # costs are divided by the number of rows
    relevant: np.ndarray  # (n_labels,) bool: labels that F1 counts


@helper
def copy_labels(source, target):
    """``target[:] = source``, as a loop: numba takes seconds to compile the slice."""
    for t in range(source.size):
        target[t] = source[t]


@helper
def same(a, b):
    """Whether two outputs are equal."""
    different = 0
    for t in range(a.size):
        different += a[t] != b[t]
    return different == 0


@helper
def add_costs(cost, scale, y, unary, out):
    """Write ``unary`` with the costs of predicting labels for ``y``, times ``scale``, into ``out``."""
    n_labels = cost.shape[0]
    for t in range(y.size):
        row = cost[y[t]]
        if row.size == n_labels:
            for c in range(row.size):
                out[t, c] = unary[t, c] + scale * row[c]
        else:
            extra = scale * row[0]
            for c in range(n_labels):
                out[t, c] = unary[t, c] + extra
        out[t, y[t]] = unary[t, y[t]] + 0.0
        for p in range(n_labels, unary.shape[1]):
            out[t, p] = unary[t, p]


@kernel
def loss_value(loss, y, y_pred):
    """Loss of predicting ``y_pred`` for ``y``."""
    n = y.size
    if loss.kind == ZERO_ONE:
        for t in range(n):
            if y[t] != y_pred[t]:
                return 1.0
        return 0.0
    if loss.kind == COST:
        total = 0.0
        for t in range(n):
            if y[t] != y_pred[t]:
                total += loss.cost[y[t], y_pred[t] if loss.cost.shape[1] > 1 else 0]
        return total / n if loss.average and n > 0 else total
    if loss.kind == MICRO_F1:
        hits, true, predicted = 0, 0, 0
        for t in range(n):
            true += loss.relevant[y[t]]
            predicted += loss.relevant[y_pred[t]]
            hits += loss.relevant[y[t]] and y[t] == y_pred[t]
        return 0.0 if true + predicted == 0 else 1.0 - 2.0 * hits / (true + predicted)
    n_labels = loss.relevant.size
    counts = np.zeros((n_labels, 2))  # hits, true + predicted
    for t in range(n):
        counts[y[t], 1] += 1
        counts[y_pred[t], 1] += 1
        if y[t] == y_pred[t]:
            counts[y[t], 0] += 1
    total, present = 0.0, 0
    for c in range(n_labels):
        if loss.relevant[c] and counts[c, 1] > 0:
            present += 1
            total += 2.0 * counts[c, 0] / counts[c, 1]
    return 0.0 if present == 0 else 1.0 - total / present


@helper
def violation(delta, gain, rescaling, norm):
    """Violation of an output with loss ``delta`` that scores ``gain`` more than the true one."""
    if norm == 2:
        delta = np.sqrt(delta)
    return delta + gain if rescaling == MARGIN else delta * (1.0 + gain)


@helper
def _levels(loss, y):
    """Level of every token and label, and the loss of every level (nan: a level that no output has)."""
    n_tokens, n_labels = y.size, loss.relevant.size
    level = np.zeros((n_tokens, n_labels), np.int64)
    if loss.kind == COST:
        top = 0
        for t in range(n_tokens):
            row_top = 0
            for c in range(n_labels):
                if c != y[t]:
                    level[t, c] = loss.level[y[t], c if loss.level.shape[1] > 1 else 0]
                row_top = max(row_top, level[t, c])
            top += row_top
        if loss.level_loss.size > 0:
            return level, loss.level_loss
        values = np.arange(top + 1) * loss.unit
        return level, (values / n_tokens if loss.average else values)
    true = 0
    for t in range(n_tokens):
        true += loss.relevant[y[t]]
    width = n_tokens + 1  # level = hits * width + predicted
    for t in range(n_tokens):
        for c in range(n_labels):
            if loss.relevant[c]:
                level[t, c] = 1 + (width if y[t] == c else 0)
    values = np.empty((true + 1) * width)
    for hits in range(true + 1):
        for predicted in range(width):
            total = true + predicted
            values[hits * width + predicted] = 0.0 if total == 0 else 1.0 - 2.0 * hits / total
    return level, values


@helper
def _by_level(loss, rescaling, norm, unary, init, step, final, y, true_score, labels):
    level, values = _levels(loss, y)
    scores, back = best_per_level(unary, init, step, final, level, values.size)
    top, top_level, top_state = NEG_INF, 0, -1
    for d in range(values.size):
        for s in range(scores.shape[1]):
            if scores[d, s] > NEG_INF:
                h = violation(values[d], scores[d, s] - true_score, rescaling, norm)
                if h > top:
                    top, top_level, top_state = h, d, s
    if top_state < 0:
        copy_labels(y, labels)
        return 0.0
    trace_level(back, level, top_level, top_state, init.size, labels)
    return top


@helper
def _by_sweep(loss, rescaling, norm, unary, init, step, final, y, true_score, labels):
    """Best output among those that maximise score + c * (Hamming or cost) for c = 0, 2^-6, ..., 2^6."""
    n_tokens, n_labels = unary.shape[0], init.size
    copy_labels(y, labels)
    top = 0.0
    found = np.empty(n_tokens, np.int32)
    augmented = np.empty_like(unary)
    cost = loss.cost if loss.kind == COST else np.ones((n_labels, 1))
    for power in range(-7, 7):
        c = 0.0 if power == -7 else 2.0**power
        add_costs(cost, c, y, unary, augmented)
        best = viterbi(augmented, init, step, final, found)
        if best == NEG_INF:
            break
        gain = best - true_score
        for t in range(n_tokens):
            gain += unary[t, found[t]] - augmented[t, found[t]]
        h = violation(loss_value(loss, y, found), gain, rescaling, norm)
        if h > top:
            top = h
            copy_labels(found, labels)
    return top


@kernel
def find_violator(loss, rescaling, norm, unary, init, step, final, y, true_score, labels):
    """Write the most violating output into ``labels`` and return its violation (0 for the true output itself)."""
    n_tokens = unary.shape[0]
    if n_tokens == 0:
        return 0.0
    if loss.kind == ZERO_ONE:
        scores, outputs = k_best(unary, init, step, final, TWO)
        for j in range(scores.size):
            for t in range(n_tokens):
                if outputs[j, t] != y[t]:
                    copy_labels(outputs[j], labels)
                    return violation(1.0, scores[j] - true_score, rescaling, norm)
        copy_labels(y, labels)
        return 0.0
    if loss.kind == COST and rescaling == MARGIN and norm == 1:
        augmented = np.empty_like(unary)
        add_costs(loss.cost, 1.0 / n_tokens if loss.average else 1.0, y, unary, augmented)
        return viterbi(augmented, init, step, final, labels) - true_score
    if loss.kind == MICRO_F1 or (loss.kind == COST and loss.level.size > 0):
        return _by_level(loss, rescaling, norm, unary, init, step, final, y, true_score, labels)
    return _by_sweep(loss, rescaling, norm, unary, init, step, final, y, true_score, labels)


@kernel
def find_violators(loss, rescaling, norm, offsets, unary, init, step, final, y, true_scores, labels, violations):
    """:func:`find_violator` for packed chains."""
    for i in range(offsets.size - 1):
        lo, hi = offsets[i], offsets[i + 1]
        violations[i] = find_violator(
            loss, rescaling, norm, unary[lo:hi], init, step, final, y[lo:hi], true_scores[i], labels[lo:hi]
        )
