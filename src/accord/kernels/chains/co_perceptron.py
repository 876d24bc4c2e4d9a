"""Training pass of the co-perceptron [thesis 5.3, Table 5.2]: every view learns from labels and from its peers.

View ``v`` of input ``i`` owns rows ``v * n_rows + offsets[i]`` onwards, so one packed array holds all views. The
weights of view ``v`` are ``W[v]``: one row per feature, and the transition weights in the rows after them. Labels of
-1 are not annotated: a view then takes the output of each peer, with the annotated labels forced, for the true one, and
every part of it that is not annotated counts ``unlabeled_weight``.
"""

import numpy as np
from numba import njit

from accord.kernels.chains.online import clear, refresh_chain, score_input, score_work, to_nodes
from accord.kernels.chains.viterbi import viterbi
from accord.kernels.features.sparse import Window, add_row

NEG_INF = -np.inf


@njit(cache=True, nogil=True)
def force(unary, y, out):
    """Copy label scores, forbidding everything but the annotated label where there is one."""
    for t in range(y.size):
        for c in range(unary.shape[1]):
            out[t, c] = unary[t, c] if y[t] < 0 or y[t] == c else NEG_INF


@njit(cache=True, nogil=True)
def known_labels(y):
    """How many rows are annotated."""
    n = 0
    for t in range(y.size):
        n += y[t] >= 0
    return n


@njit(cache=True, nogil=True)
def same(a, b):
    """Whether two outputs are equal."""
    different = 0
    for t in range(a.size):
        different += a[t] != b[t]
    return different == 0


@njit(cache=True, nogil=True)
def has_labels(output, y):
    """Whether an output has all annotated labels."""
    missing = 0
    for t in range(y.size):
        missing += y[t] >= 0 and output[t] != y[t]
    return missing == 0


@njit(cache=True, nogil=True)
def transitions_of(weights, n_dims, n_transitions):
    """The transition weights at the end of one view's weights."""
    first = n_dims * weights.shape[1]
    return weights.reshape(-1)[first : first + n_transitions]


@njit(cache=True, nogil=True)
def count_weighted_transitions(labels, y, weight, scale, n_labels, order, counts):
    """Add the transitions of one output times ``scale``, and times ``weight`` unless all their rows are annotated."""
    n = labels.size
    if counts.size == 0 or n == 0:
        return
    counts[labels[0]] += scale * (1.0 if y[0] >= 0 else weight)
    counts[n_labels + labels[-1]] += scale * (1.0 if y[-1] >= 0 else weight)
    for t in range(1, n):
        pair = labels[t - 1] * n_labels + labels[t]
        known = y[t - 1] >= 0 and y[t] >= 0
        counts[2 * n_labels + pair] += scale * (1.0 if known else weight)
        if order == 2:
            before = labels[t - 2] if t > 1 else n_labels
            known = known and (t == 1 or y[t - 2] >= 0)
            triple = 2 * n_labels + n_labels * n_labels + before * n_labels * n_labels + pair
            counts[triple] += scale * (1.0 if known else weight)


@njit(cache=True, nogil=True)
def co_perceptron_epoch(
    features,
    window,
    outside,
    label_map,
    offsets,
    y,
    order_of_examples,
    order,
    eta,
    unlabeled_weight,
    pseudo,
    n_dims,
    n_transitions,
    W,
    init,
    step,
    final,
    W_sum,
    clock,
):
    """One pass. ``outside`` (n_views,) is the window's outer unit in each view; ``W_sum`` is empty: do not average.

    ``pseudo`` (n_views, n_rows) holds the outputs that views teach their peers, or is empty: what they predict now.
    Examples without any label are skipped when ``unlabeled_weight`` is zero; ``clock`` (1,) counts the others. Returns
    (outputs of all views with a wrong annotated label, not fully labeled examples on which views disagree, tokens of
    those, updates).
    """
    n_views, n_labels, n_rows = W.shape[0], init.shape[1], y.size
    longest = 0
    for i in range(offsets.size - 1):
        longest = max(longest, offsets[i + 1] - offsets[i])
    unary = np.empty((longest, n_labels))
    forced = np.empty((longest, n_labels))
    scoring = score_work(longest, window, W[0])
    found = np.empty((n_views, longest), np.int32)
    target = np.empty((n_views, longest), np.int32)
    per_label, per_node = np.zeros(n_labels), np.empty(W.shape[2])
    counts = np.zeros(n_transitions)
    wrong, disagreements, disagreeing_tokens, updates = 0, 0, 0, 0
    for i in order_of_examples:
        lo, n = offsets[i], offsets[i + 1] - offsets[i]
        truth = y[lo : lo + n]
        known = known_labels(truth)
        if known == 0 and unlabeled_weight == 0.0 and n > 0:
            continue
        for v in range(n_views):
            here = Window(window.size, window.first, window.before, outside[v])
            score_input(features, here, label_map, v * n_rows + lo, W[v], scoring, unary[:n])
            viterbi(unary[:n], init[v], step[v], final[v], found[v, :n])
            if known == n:
                for t in range(n):
                    target[v, t] = truth[t]
            elif pseudo.size > 0:
                for t in range(n):
                    target[v, t] = pseudo[v, lo + t]
            elif known == 0:
                for t in range(n):
                    target[v, t] = found[v, t]
            else:
                force(unary[:n], truth, forced)
                viterbi(forced[:n], init[v], step[v], final[v], target[v, :n])
        if known < n and n_views > 1:
            apart = 0
            for t in range(n):
                for v in range(1, n_views):
                    if target[v, t] != target[0, t]:
                        apart += 1
                        break
            disagreements += apart > 0
            disagreeing_tokens += apart
        for v in range(n_views):
            clear(counts)
            changed = False
            for u in range(n_views):
                # a labeled example has one target, the truth; a view without peers learns from itself
                if (known == n and u > 0) or (known < n and n_views > 1 and u == v):
                    continue
                if not same(found[v, :n], target[u, :n]):
                    changed = True
                    count_weighted_transitions(target[u, :n], truth, unlabeled_weight, eta, n_labels, order, counts)
                    count_weighted_transitions(found[v, :n], truth, unlabeled_weight, -eta, n_labels, order, counts)
            if not changed:
                continue
            updates += 1
            wrong += not has_labels(found[v, :n], truth)
            for t in range(n):
                weight = 1.0 if truth[t] >= 0 else unlabeled_weight
                differs = False
                for u in range(n_views):
                    if (known == n and u > 0) or (known < n and n_views > 1 and u == v):
                        continue
                    if target[u, t] != found[v, t]:
                        differs = True
                        per_label[target[u, t]] += weight
                        per_label[found[v, t]] -= weight
                if differs:
                    to_nodes(label_map, per_label, per_node)
                    add_row(features, v * n_rows + lo + t, per_node, W[v])
                    if W_sum.size > 0:
                        for z in range(per_node.size):
                            per_node[z] *= clock[0]
                        add_row(features, v * n_rows + lo + t, per_node, W_sum[v])
                    clear(per_label)
            tw = transitions_of(W[v], n_dims, n_transitions)
            for p in range(n_transitions):
                tw[p] += counts[p]
            if W_sum.size > 0:
                tw_sum = transitions_of(W_sum[v], n_dims, n_transitions)
                for p in range(n_transitions):
                    tw_sum[p] += clock[0] * counts[p]
            refresh_chain(tw, eta, n_labels, order, init[v], step[v], final[v])
        clock[0] += 1.0
    return wrong, disagreements, disagreeing_tokens, updates
