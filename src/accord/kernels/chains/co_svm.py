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

from accord.kernels.chains.co_perceptron import differing_tokens, force, known_labels, transitions_of, weight_of
from accord.kernels.chains.margin import best_with_margin
from accord.kernels.chains.online import n_columns, path_score, refresh_chain, score_input, score_work
from accord.kernels.chains.subspace import add_difference, gram_row, maximise_subspace
from accord.kernels.chains.violator import SLACK, copy_labels, find_violator, loss_value, same
from accord.kernels.chains.viterbi import longest_chain
from accord.kernels.compiling import HELPER, ZERO, helper, kernel
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


class Budget(NamedTuple):
    """What a visit may spend; ``keep``: it goes on from the blocks there are instead of building them anew; ``own``:
    views that disagree learn to prefer the peer's output to their own, not to the worst one."""

    C: float
    unlabeled_weight: float
    tol: float
    max_repeats: int
    keep: bool
    own: bool


class Room(NamedTuple):
    """Work space of the visits, for the longest example."""

    unary: np.ndarray  # (n_views, n, n_columns) scores with the present weights
    free: np.ndarray  # (n, n_columns) the same with annotated labels forced
    scoring: np.ndarray
    decoding: np.ndarray
    predicted: np.ndarray  # (n_views, n) what each view teaches its peers
    margin: np.ndarray  # (n_views,) and by how much
    stale: np.ndarray  # (n_views,) bool: the weights have changed since
    found: np.ndarray  # (n,) most violating output
    gram: np.ndarray  # (P, K, K) products of the constraints of the present example
    linear: np.ndarray  # (K,)
    before: np.ndarray  # (K,)
    work: np.ndarray  # zero, as large as the weights of a view
    work_tw: np.ndarray


@helper
def new_room(views, model, blocks, order_of_examples, work):
    n_views = model.W.shape[0]
    n_pairs, n_kept = blocks.learner.size, blocks.output.shape[1]
    longest = 0
    for i in order_of_examples:
        longest = max(longest, views.offsets[i + 1] - views.offsets[i])
    width = n_columns(views.label_map, model.W[0])
    return Room(
        np.empty((n_views, longest, width)),
        np.empty((longest, width)),
        score_work(longest, views.window, model.W[0]),
        np.empty((longest, model.step.shape[1] * model.step.shape[2])),
        np.empty((n_views, longest), np.int32),
        np.empty(n_views),
        np.empty(n_views, np.bool_),
        np.empty(longest, np.int32),
        np.zeros((n_pairs, n_kept, n_kept)),
        np.empty(n_kept),
        np.empty(n_kept),
        work,
        np.zeros(views.n_transitions),
    )


@kernel
def visit_unlabeled(views, model, blocks, order_of_examples, budget, pseudo, pseudo_margin, work):
    """Visit the given examples, whose labels are partly or wholly unknown (-1), and rebuild their blocks.

    ``pseudo`` (n_views, n_rows) holds the outputs that views teach their peers, ``pseudo_margin`` (n_views, n_examples)
    their margins; if empty, it is what they predict at the time. ``work`` is a zero array like ``W[0]``. Returns
    (examples on which views disagree at the end of their visit, tokens of those, subspace steps, least gain of the
    dual in a step).
    """
    room = new_room(views, model, blocks, order_of_examples, work)
    disagreements, disagreeing_tokens, n_steps, least_gain = 0, 0, 0, np.inf
    for i in order_of_examples:
        n = views.offsets[i + 1] - views.offsets[i]
        if n == 0:
            continue
        for p in range(blocks.learner.size):
            if budget.keep:
                compare_constraints(views, model, blocks, i, p, room)
            else:
                forget_block(views, model, blocks, i, p)
        for v in range(room.stale.size):
            room.stale[v] = True
        feasible = True
        for _ in range(budget.max_repeats):
            feasible = predict_views(views, model, pseudo, pseudo_margin, i, room)
            if not feasible:  # no output is allowed, and there is nothing to learn
                break
            changed = False
            for p in range(blocks.learner.size):
                learned, gain = learn_from_peer(views, model, blocks, budget, i, p, room)
                changed = changed or learned
                if gain > NEG_INF:
                    n_steps += 1
                    least_gain = min(least_gain, gain)
            if not changed:
                break
        if feasible:
            apart = differing_tokens(room.predicted, n)
            disagreements += apart > 0
            disagreeing_tokens += apart
    return disagreements, disagreeing_tokens, n_steps, least_gain


@helper
def forget_block(views, model, blocks, i, p):
    """Take the constraints of one block out of the weights; returns whether there were any."""
    lo, hi, v, n_labels = views.offsets[i], views.offsets[i + 1], blocks.learner[p], model.init.shape[1]
    first_row, tw = v * views.y.size + lo, transitions_of(model.W[v], views.n_dims, views.n_transitions)
    for k in range(blocks.size[i, p]):
        amount = -blocks.alpha[i, p, k] * blocks.scale[i, p, k]
        add_difference(
            views.features, views.label_map, first_row, blocks.target[p, lo:hi], blocks.output[p, k, lo:hi], amount,
            views.eta, views.order, n_labels, model.W[v], tw,
        )  # fmt: skip
        blocks.alpha[i, p, k] = 0.0
    had = blocks.size[i, p] > 0
    blocks.size[i, p] = 0
    if had:
        refresh_chain(tw, views.eta, n_labels, views.order, model.init[v], model.step[v], model.final[v])
    return had


@helper
def compare_constraints(views, model, blocks, i, p, room):
    """Products of the constraints that a block has."""
    lo, hi, first_row = views.offsets[i], views.offsets[i + 1], blocks.learner[p] * views.y.size + views.offsets[i]
    for k in range(blocks.size[i, p]):
        gram_row(
            views.features, views.label_map, first_row, blocks.target[p, lo:hi], blocks.output[p, :, lo:hi],
            blocks.scale[i, p], k, views.eta, views.order, model.init.shape[1], room.work, room.work_tw, room.gram[p],
        )  # fmt: skip


@helper
def score_view(views, model, i, v, room):
    """Label scores of an example in one view."""
    lo, n = views.offsets[i], views.offsets[i + 1] - views.offsets[i]
    here = Window(views.window.size, views.window.first, views.window.before, views.outside[v])
    row = v * views.y.size + lo
    score_input(views.features, here, views.label_map, row, model.W[v], room.scoring, room.unary[v, :n])


@helper
def predict_views(views, model, pseudo, pseudo_margin, i, room):
    """Bring scores, predictions and margins of all views up to date; returns whether all have an allowed output."""
    lo, hi = views.offsets[i], views.offsets[i + 1]
    n, feasible = hi - lo, True
    for v in range(room.stale.size):
        if room.stale[v]:
            score_view(views, model, i, v, room)
            if pseudo.size > 0:
                copy_labels(pseudo[v, lo:hi], room.predicted[v, :n])
                room.margin[v] = pseudo_margin[v, i]
            else:
                force(room.unary[v, :n], views.y[lo:hi], model.init.shape[1], room.free)
                room.margin[v] = best_with_margin(
                    room.free[:n], model.init[v], model.step[v], model.final[v], room.decoding, room.predicted[v, :n]
                )[1]
            feasible = feasible and room.margin[v] > NEG_INF
            room.stale[v] = False
    return feasible


@helper
def slack_weight(y, unlabeled_weight, margin):
    """Weight of the slack of a block: annotated labels (not -1) count in full."""
    annotated = known_labels(y) / y.size
    return annotated + (1.0 - annotated) * unlabeled_weight * min(margin, 1.0)


# into its only caller: alone it would be compiled once more, which takes four seconds
@njit(**HELPER, inline="always")
def learn_from_peer(views, model, blocks, budget, i, p, room):
    """One constraint more for pair ``p``, or a better dual solution: (weights changed, gain or -inf: no step)."""
    lo, hi = views.offsets[i], views.offsets[i + 1]
    n, v, u = hi - lo, blocks.learner[p], blocks.peer[p]
    weight = weight_of(views, i) * slack_weight(views.y[lo:hi], budget.unlabeled_weight, room.margin[u])
    target, changed = blocks.target[p, lo:hi], False
    if weight <= 1e-12 or not same(target, room.predicted[u, :n]):
        changed = forget_block(views, model, blocks, i, p)
        room.stale[v] = room.stale[v] or changed
        copy_labels(room.predicted[u, :n], target)
    if weight <= 1e-12:
        return changed, NEG_INF
    if room.stale[v]:
        score_view(views, model, i, v, room)
    unary, init, step, final = room.unary[v, :n], model.init[v], model.step[v], model.final[v]
    target_score = path_score(unary, init, step, final, target)
    h = find_violator(
        views.loss, views.rescaling, views.norm, unary, init, step, final, target, target_score, room.found[:n]
    )
    if budget.own and not same(target, room.predicted[v, :n]):
        copy_labels(room.predicted[v, :n], room.found[:n])
        offset, scale = offset_and_scale(views, target, room.found[:n])
        h = offset - scale * (target_score - path_score(unary, init, step, final, room.found[:n]))
    size = blocks.size[i, p]
    slack, listed, mass, paid = 0.0, False, 0.0, 0.0
    for k in range(size):
        output = blocks.output[p, k, lo:hi]
        score = path_score(unary, init, step, final, output)
        room.linear[k] = blocks.offset[i, p, k] - blocks.scale[i, p, k] * (target_score - score)
        slack = max(slack, room.linear[k])
        listed = listed or same(output, room.found[:n])
        mass += blocks.alpha[i, p, k]
        paid += blocks.alpha[i, p, k] * room.linear[k]
    mass_limit = budget.C * weight if views.norm == 1 else np.inf
    ridge = 0.0 if views.norm == 1 else 1.0 / (budget.C * weight)
    # how far the block is from optimal: its peer's margin and its view's weights may have changed since
    most = budget.C * weight * (slack if views.norm == 1 else 0.5 * slack * slack)
    gap = most - paid + 0.5 * ridge * mass * mass
    if h > slack + budget.tol and not listed and size < blocks.output.shape[1]:
        add_constraint(views, model, blocks, i, p, room, h)
        size += 1
    elif mass <= mass_limit * (1.0 + 1e-9) and gap <= min(0.01, budget.tol) * most + 1e-9 * budget.C * weight:
        return changed, NEG_INF
    moved, gain = optimise_block(views, model, blocks, i, p, room, size, mass, mass_limit, ridge)
    if room.stale[v]:
        tw = transitions_of(model.W[v], views.n_dims, views.n_transitions)
        refresh_chain(tw, views.eta, model.init.shape[1], views.order, init, step, final)
    return changed or moved, gain


@helper
def offset_and_scale(views, target, found):
    """How a constraint ``xi >= offset - scale * <w, difference>`` counts an output."""
    delta = loss_value(views.loss, target, found)
    root = np.sqrt(delta) if views.norm == 2 else delta
    return root, root if views.rescaling == SLACK else 1.0


@helper
def add_constraint(views, model, blocks, i, p, room, h):
    """Write the output that was found into the block, behind those it has."""
    lo, hi, v, size = views.offsets[i], views.offsets[i + 1], blocks.learner[p], blocks.size[i, p]
    target, found = blocks.target[p, lo:hi], room.found[: hi - lo]
    copy_labels(found, blocks.output[p, size, lo:hi])
    blocks.offset[i, p, size], blocks.scale[i, p, size] = offset_and_scale(views, target, found)
    blocks.alpha[i, p, size] = 0.0
    room.linear[size] = h
    gram_row(
        views.features, views.label_map, v * views.y.size + lo, target, blocks.output[p, :, lo:hi], blocks.scale[i, p],
        size, views.eta, views.order, model.init.shape[1], room.work, room.work_tw, room.gram[p],
    )  # fmt: skip


@helper
def optimise_block(views, model, blocks, i, p, room, size, mass, mass_limit, ridge):
    """Maximise the dual over the block's variables and drop constraints without any: (weights changed, gain)."""
    lo, hi, v = views.offsets[i], views.offsets[i + 1], blocks.learner[p]
    alpha, gram, target = blocks.alpha[i, p], room.gram[p], blocks.target[p, lo:hi]
    tw = transitions_of(model.W[v], views.n_dims, views.n_transitions)
    shrink = min(1.0, mass_limit / mass) if mass > 0.0 else 1.0
    for k in range(size):
        room.before[k] = alpha[k]
        for b in range(size):
            room.linear[k] += gram[k, b] * alpha[b]
    for k in range(size):
        alpha[k] *= shrink
    gain = maximise_subspace(gram, room.linear, size, ridge, mass_limit, alpha)
    kept, moved = ZERO, False
    for k in range(size):
        amount = (alpha[k] - room.before[k]) * blocks.scale[i, p, k]
        if amount != 0.0:
            add_difference(
                views.features, views.label_map, v * views.y.size + lo, target, blocks.output[p, k, lo:hi], amount,
                views.eta, views.order, model.init.shape[1], model.W[v], tw,
            )  # fmt: skip
            moved = True
        if alpha[k] > 0.0:
            if kept < k:
                keep_constraint(blocks, gram, i, p, lo, hi - lo, k, kept, size)
            kept += 1
    for k in range(kept, size):
        alpha[k] = 0.0
    blocks.size[i, p] = kept
    room.stale[v] = room.stale[v] or moved
    return moved, gain


@helper
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


@kernel
def objective_of_blocks(views, model, blocks, order_of_examples, budget, pseudo, pseudo_margin, work, primal, dual):
    """What the given examples add to the primal and the dual objective of every view, for targets that stay.

    Adds ``(C / r) weight xi^r`` to ``primal`` (n_views,), and ``sum alpha b - ridge (sum alpha)^2 / 2`` to ``dual``.
    """
    room = new_room(views, model, blocks, order_of_examples, work)
    for i in order_of_examples:
        lo, hi = views.offsets[i], views.offsets[i + 1]
        n = hi - lo
        for v in range(room.stale.size if n > 0 else 0):
            score_view(views, model, i, v, room)
        for p in range(blocks.learner.size if n > 0 else 0):
            v, u = blocks.learner[p], blocks.peer[p]
            weight = weight_of(views, i) * slack_weight(views.y[lo:hi], budget.unlabeled_weight, pseudo_margin[u, i])
            if pseudo_margin[u, i] == NEG_INF or weight <= 1e-12:
                continue
            unary, init, step, final = room.unary[v, :n], model.init[v], model.step[v], model.final[v]
            target = pseudo[u, lo:hi]
            score = path_score(unary, init, step, final, target)
            slack = max(0.0, find_violator(
                views.loss, views.rescaling, views.norm, unary, init, step, final, target, score, room.found[:n]
            ))  # fmt: skip
            mass = 0.0
            for k in range(blocks.size[i, p]):
                other = path_score(unary, init, step, final, blocks.output[p, k, lo:hi])
                slack = max(slack, blocks.offset[i, p, k] - blocks.scale[i, p, k] * (score - other))
                mass += blocks.alpha[i, p, k]
                dual[v] += blocks.alpha[i, p, k] * blocks.offset[i, p, k]
            if views.norm == 1:
                primal[v] += budget.C * weight * slack
            else:
                primal[v] += 0.5 * budget.C * weight * slack * slack
                dual[v] -= 0.5 * mass * mass / (budget.C * weight)


@kernel
def predict_with_margin(offsets, unary, init, step, final, labels, margins):
    """Best output of every packed chain and the score by which it beats the second best (infinite: there is none)."""
    decoding = np.empty((longest_chain(offsets), step.shape[0] * step.shape[1]))
    for i in range(offsets.size - 1):
        lo, hi = offsets[i], offsets[i + 1]
        margins[i] = np.inf
        if hi > lo:
            margins[i] = best_with_margin(unary[lo:hi], init, step, final, decoding, labels[lo:hi])[1]
