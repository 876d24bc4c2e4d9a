"""Training pass of the co-perceptron [thesis 5.3, Table 5.2]: every view learns from labels and from its peers.

View ``v`` of input ``i`` owns rows ``v * n_rows + offsets[i]`` onwards, so one packed array holds all views. The
weights of view ``v`` are ``W[v]``: one row per feature, and the transition weights in the rows after them. Labels of
-1 are not annotated: a view then takes the output of each peer, with the annotated labels forced, for the true one, and
every part of it that is not annotated counts ``unlabeled_weight``. Steps are multiplied by the weight of the example.
"""

from typing import NamedTuple

import numpy as np

from accord.kernels.chains.online import (
    LabelMap,
    clear,
    first_pair,
    n_columns,
    refresh_chain,
    score_input,
    score_work,
    to_nodes,
)
from accord.kernels.chains.pairs import add_columns, differ_at
from accord.kernels.chains.violator import Loss, copy_labels, same
from accord.kernels.chains.viterbi import longest_chain, viterbi
from accord.kernels.compiling import helper, kernel
from accord.kernels.features.sparse import Features, Window, add_row

NEG_INF = -np.inf


@helper
def force(unary, y, n_labels, out):
    """Copy scores, forbidding every label but the annotated one where there is one."""
    for t in range(y.size):
        for c in range(unary.shape[1]):
            out[t, c] = unary[t, c] if y[t] < 0 or y[t] == c or c >= n_labels else NEG_INF


@helper
def known_labels(y):
    """How many rows are annotated."""
    n = 0
    for t in range(y.size):
        n += y[t] >= 0
    return n


@helper
def has_labels(output, y):
    """Whether an output has all annotated labels."""
    missing = 0
    for t in range(y.size):
        missing += y[t] >= 0 and output[t] != y[t]
    return missing == 0


@helper
def transitions_of(weights, n_dims, n_transitions):
    """The transition weights at the end of one view's weights."""
    first = n_dims * weights.shape[1]
    return weights.reshape(-1)[first : first + n_transitions]


@helper
def count_weighted_transitions(labels, y, weight, scale, n_labels, order, counts):
    """Add the transitions of one output times ``scale``, and times ``weight`` unless all their rows are annotated."""
    n = labels.size
    if counts.size == 0 or n == 0:
        return
    first, square = first_pair(counts.size, n_labels, order), n_labels * n_labels
    if first > 0:
        counts[labels[0]] += scale * (1.0 if y[0] >= 0 else weight)
        counts[n_labels + labels[-1]] += scale * (1.0 if y[-1] >= 0 else weight)
    for t in range(1, n):
        pair = first + labels[t - 1] * n_labels + labels[t]
        known = y[t - 1] >= 0 and y[t] >= 0
        counts[pair] += scale * (1.0 if known else weight)
        if order == 2:
            before = labels[t - 2] if t > 1 else n_labels
            known = known and (t == 1 or y[t - 2] >= 0)
            counts[pair + square + before * square] += scale * (1.0 if known else weight)


class Views(NamedTuple):
    """Examples in all views, and what the structure says of their outputs."""

    features: Features
    window: Window
    outside: np.ndarray  # (n_views,) the window's outer unit in each view
    label_map: LabelMap
    offsets: np.ndarray
    y: np.ndarray  # (n_rows,) label numbers, -1: not annotated
    weights: np.ndarray  # (n_examples,) how much each counts; empty: 1
    order: int
    eta: float
    loss: Loss
    rescaling: int
    norm: int
    n_dims: int
    n_transitions: int


class Model(NamedTuple):
    """Weights of all views, and the decoders' arrays that are made of their transitions."""

    W: np.ndarray
    init: np.ndarray
    step: np.ndarray
    final: np.ndarray


@helper
def weight_of(views, i):
    """How much an example counts."""
    return views.weights[i] if views.weights.size > 0 else 1.0


@helper
def differing_tokens(outputs, n):
    """Of the first ``n`` tokens, how many do not have the same label in all views' outputs."""
    apart = 0
    for t in range(n):
        for v in range(1, outputs.shape[0]):
            if outputs[v, t] != outputs[0, t]:
                apart += 1
                break
    return apart


@kernel
def co_perceptron_epoch(views, model, order_of_examples, unlabeled_weight, pseudo, W_sum, clock):
    """One pass. ``W_sum`` is empty: do not average.

    ``pseudo`` (n_views, n_rows) holds the outputs that views teach their peers, or is empty: what they predict now.
    Examples without any label are skipped when ``unlabeled_weight`` is zero; ``clock`` (1,) counts the others. Returns
    (outputs of all views with a wrong annotated label, not fully labeled examples on which views disagree, tokens of
    those, updates).
    """
    n_views, n_labels = model.W.shape[0], model.init.shape[1]
    longest = longest_chain(views.offsets)
    width = n_columns(views.label_map, model.W[0])
    unary, forced = np.empty((longest, width)), np.empty((longest, width))
    scoring = score_work(longest, views.window, model.W[0])
    found, target = np.empty((n_views, longest), np.int32), np.empty((n_views, longest), np.int32)
    per_column, per_node = np.zeros(width), np.empty(model.W.shape[2])
    counts = np.zeros(views.n_transitions)
    wrong, disagreements, disagreeing_tokens, updates = 0, 0, 0, 0
    for i in order_of_examples:
        lo, hi = views.offsets[i], views.offsets[i + 1]
        n, truth = hi - lo, views.y[lo:hi]
        known = known_labels(truth)
        if known == 0 and unlabeled_weight == 0.0 and n > 0:
            continue
        predict_and_teach(views, model, pseudo, lo, truth, known, unary, forced, scoring, found, target)
        if known < n and n_views > 1:
            apart = differing_tokens(target, n)
            disagreements += apart > 0
            disagreeing_tokens += apart
        own = weight_of(views, i)
        for v in range(n_views):
            clear(counts)
            changed = False
            for u in range(n_views):
                if teaches(u, v, n_views, known == n) and not same(found[v, :n], target[u, :n]):
                    changed = True
                    for output, scale in ((target[u, :n], own * views.eta), (found[v, :n], -own * views.eta)):
                        count_weighted_transitions(
                            output, truth, unlabeled_weight, scale, n_labels, views.order, counts
                        )
            if changed:
                updates += 1
                wrong += not has_labels(found[v, :n], truth)
                move_view(
                    views, model, v, lo, truth, own, unlabeled_weight, found[v], target, counts, per_column, per_node,
                    W_sum, clock[0],
                )  # fmt: skip
        clock[0] += 1.0
    return wrong, disagreements, disagreeing_tokens, updates


@helper
def teaches(u, v, n_views, labeled):
    """Whether view ``v`` takes target ``u``: a labeled example has one target, the truth; a view without peers learns
    from itself."""
    return u == 0 if labeled else n_views == 1 or u != v


@helper
def predict_and_teach(views, model, pseudo, lo, truth, known, unary, forced, scoring, found, target):
    """What each view predicts for an example, and what it teaches: the truth, or what it predicts beside it."""
    n = truth.size
    for v in range(model.W.shape[0]):
        here = Window(views.window.size, views.window.first, views.window.before, views.outside[v])
        row = v * views.y.size + lo
        score_input(views.features, here, views.label_map, row, model.W[v], scoring, unary[:n])
        viterbi(unary[:n], model.init[v], model.step[v], model.final[v], found[v, :n])
        if known == n:
            copy_labels(truth, target[v, :n])
        elif pseudo.size > 0:
            copy_labels(pseudo[v, lo : lo + n], target[v, :n])
        elif known == 0:
            copy_labels(found[v, :n], target[v, :n])
        else:
            force(unary[:n], truth, model.init.shape[1], forced)
            viterbi(forced[:n], model.init[v], model.step[v], model.final[v], target[v, :n])


@helper
def move_view(
    views, model, v, lo, truth, own, unlabeled_weight, found, target, counts, per_column, per_node, W_sum, clock
):  # fmt: skip
    """Move the weights of one view towards its targets; ``counts`` are those of its transitions."""
    n, n_views, n_labels, width = truth.size, model.W.shape[0], model.init.shape[1], per_column.size
    labeled = known_labels(truth) == n
    for t in range(n):
        weight = own * (1.0 if truth[t] >= 0 else unlabeled_weight)
        pair_weight = own * (1.0 if t > 0 and truth[t] >= 0 and truth[t - 1] >= 0 else unlabeled_weight)
        differs = False
        for u in range(n_views):
            if teaches(u, v, n_views, labeled) and differ_at(target[u], found, t, width, n_labels):
                differs = True
                add_columns(target[u], t, weight, pair_weight, n_labels, per_column)
                add_columns(found, t, -weight, -pair_weight, n_labels, per_column)
        if differs:
            row = v * views.y.size + lo + t
            to_nodes(views.label_map, per_column, per_node)
            add_row(views.features, row, per_node, model.W[v])
            if W_sum.size > 0:
                for z in range(per_node.size):
                    per_node[z] *= clock
                add_row(views.features, row, per_node, W_sum[v])
            clear(per_column)
    tw = transitions_of(model.W[v], views.n_dims, views.n_transitions)
    for p in range(counts.size):
        tw[p] += counts[p]
    if W_sum.size > 0:
        tw_sum = transitions_of(W_sum[v], views.n_dims, views.n_transitions)
        for p in range(counts.size):
            tw_sum[p] += clock * counts[p]
    refresh_chain(tw, views.eta, model.init.shape[1], views.order, model.init[v], model.step[v], model.final[v])
