"""Wrong outputs that training compares targets with: finding the best one, and what tells two outputs apart.

A working set holds, for each packed example, wrong outputs beside the target that they are compared with.
"""

import numpy as np

from accord.kernels.chains.online import first_pair, path_score
from accord.kernels.chains.pairs import differ_at, set_moves
from accord.kernels.chains.violator import COST, MARGIN, ZERO_ONE, add_costs, find_violator, loss_value, same
from accord.kernels.chains.viterbi import longest_chain
from accord.kernels.compiling import ONE, helper, kernel

NEG_INF = -np.inf


@kernel
def best_other(unary, init, step, final, y, score, on, labels):
    """Write the best output that is not ``y`` into ``labels``; returns its score (minus infinity: there is none).

    An output other than ``y`` agrees with it up to some token and leaves it there, so Viterbi runs over the outputs
    that have left (``score``, work space of n_tokens and n_states) next to the one that has not (``on``, n_tokens).
    """
    if unary.shape[1] > init.size:
        return _best_other(unary, init, step, final, y, score, on, labels, np.empty_like(step))
    return _best_other(unary, init, step, final, y, score, on, labels, None)


@helper
def _best_other(unary, init, step, final, y, score, on, labels, room):
    """With ``room`` for the moves of one row, if rows have scores of pairs: compiled without them, it is faster."""
    n_tokens, n_labels = unary.shape[0], init.size
    A, B = step.shape[0], step.shape[1]
    n_states = A * B
    moves = step
    if room is not None:
        moves = room
    for k in range(n_states):
        score[0, k] = NEG_INF
    for c in range(n_labels):
        if c != y[0]:
            score[0, n_states - n_labels + c] = init[c] + unary[0, c]
    on[0] = init[y[0]] + unary[0, y[0]]
    for t in range(1, n_tokens):
        old, new, here = score[t - 1], score[t], unary[t]
        if room is not None:
            set_moves(unary, t, step, n_labels, room)
        for b in range(B):
            best, move = new[b * n_labels : (b + 1) * n_labels], moves[0, b]
            for c in range(n_labels):
                best[c] = old[b] + move[c]
            for a in range(1, A):
                s, move = old[a * B + b], moves[a, b]
                for c in range(n_labels):
                    v = s + move[c]
                    best[c] = v if v > best[c] else best[c]
        for k in range(B * n_labels, n_states):
            new[k] = NEG_INF
        a, b = y[t - 1], 0
        if B > 1:
            a, b = y[t - 2] if t > 1 else n_labels, y[t - 1]
        for c in range(n_labels):
            v = on[t - 1] + moves[a, b, c]
            if c != y[t] and v > new[b * n_labels + c]:
                new[b * n_labels + c] = v
        on[t] = on[t - 1] + moves[a, b, y[t]] + here[y[t]]
        for b in range(B):
            for c in range(n_labels):
                new[b * n_labels + c] += here[c]
    top, state = NEG_INF, 0
    for s in range(n_states):
        v = score[n_tokens - 1, s] + final[s % n_labels]
        if v > top:
            top, state = v, s
    if top == NEG_INF:
        return top
    for t in range(n_tokens - 1, 0, -1):
        c = state % n_labels
        labels[t] = c
        b = 0 if B == 1 else state // n_labels
        best = NEG_INF
        state = b
        if room is not None:
            set_moves(unary, t, step, n_labels, room)
        for a in range(A):
            v = score[t - 1, a * B + b] + moves[a, b, c]
            if v > best:
                best = v
                state = a * B + b
        here, before = 0, y[t - 1]
        if B > 1:
            here, before = y[t - 1], y[t - 2] if t > 1 else n_labels
        if b == here and c != y[t] and on[t - 1] + moves[before, b, c] > best:
            for s in range(t):
                labels[s] = y[s]
            return top
    labels[0] = state % n_labels
    return top


@kernel
def wrong_outputs(loss, rescaling, offsets, unary, init, step, final, y, labels, delta, margin):
    """For every packed chain the output other than ``y`` with the largest loss plus score.

    ``delta`` receives its loss and ``margin`` how much better ``y`` scores; where there is none, ``delta`` is -1. Exact
    for 0/1 loss and, with margin rescaling, losses that add over tokens. For the others the most violating output
    counts, which may be ``y`` itself: then ``delta`` is -1, too.
    """
    longest = longest_chain(offsets)
    augmented = np.empty((longest, unary.shape[1]))
    score, on = np.empty((longest, step.shape[0] * step.shape[1])), np.empty(longest)
    for i in range(offsets.size - 1):
        lo, hi = offsets[i], offsets[i + 1]
        n = hi - lo
        delta[i], margin[i] = -1.0, 0.0
        if n == 0:
            continue
        here, target, found = unary[lo:hi], y[lo:hi], labels[lo:hi]
        true_score = path_score(here, init, step, final, target)
        if loss.kind == ZERO_ONE or (loss.kind == COST and rescaling == MARGIN):
            if loss.kind == COST:
                add_costs(loss.cost, 1.0 / n if loss.average else 1.0, target, here, augmented)
            else:
                for t in range(n):
                    for c in range(unary.shape[1]):
                        augmented[t, c] = here[t, c]
            if best_other(augmented[:n], init, step, final, target, score, on, found) == NEG_INF:
                continue
        else:
            find_violator(loss, rescaling, ONE, here, init, step, final, target, true_score, found)
            if same(found, target):
                continue
        delta[i] = loss_value(loss, target, found)
        margin[i] = true_score - path_score(here, init, step, final, found)


@helper
def _step_parts(y, t, n_labels, n_transitions, order, parts):
    """Numbers of the transitions that end at token ``t`` (laid out like the weights); returns how many there are."""
    first, square = first_pair(n_transitions, n_labels, order), n_labels * n_labels
    if t == 0:
        parts[0] = y[0]
        return 1 if first > 0 else 0
    parts[0] = first + y[t - 1] * n_labels + y[t]
    if order == 1:
        return 1
    before = y[t - 2] if t > 1 else n_labels
    parts[1] = parts[0] + square + before * square
    return 2


@kernel
def differences(
    rows, lengths, target_starts, targets, starts, listed, n_labels, n_columns, n_label_parts, order, eta, n_transitions
):
    """Parts in which targets and wrong outputs differ: a sparse matrix (n_entries, n_parts) as CSR arrays.

    Part ``r * n_columns + c`` is column ``c`` at row ``r``; transitions follow from ``n_label_parts`` on. Entry ``k``
    begins at row ``rows[k]``. Its product with the parts' scores is how much better the target scores.
    """
    n = rows.size
    mine, other = np.empty(2, np.int64), np.empty(2, np.int64)
    indptr = np.zeros(n + 1, np.int64)
    for counting in (True, False):
        if not counting:
            for k in range(n):
                indptr[k + 1] += indptr[k]
        size = 0 if counting else indptr[n]
        indices, values = np.empty(size, np.int64), np.empty(size)
        used = 0
        for k in range(n):
            length = lengths[k]
            y, z = targets[target_starts[k] : target_starts[k] + length], listed[starts[k] : starts[k] + length]
            before = used
            for t in range(length):
                at = (rows[k] + t) * n_columns
                if y[t] != z[t]:
                    if not counting:
                        indices[used], values[used] = at + y[t], 1.0
                        indices[used + 1], values[used + 1] = at + z[t], -1.0
                    used += 2
                if t > 0 and n_columns > n_labels and differ_at(y, z, t, n_columns, n_labels):
                    if not counting:
                        indices[used], values[used] = at + n_labels * (1 + y[t - 1]) + y[t], 1.0
                        indices[used + 1], values[used + 1] = at + n_labels * (1 + z[t - 1]) + z[t], -1.0
                    used += 2
                if n_transitions > 0:
                    m = _step_parts(y, t, n_labels, n_transitions, order, mine)
                    _step_parts(z, t, n_labels, n_transitions, order, other)
                    for p in range(m):
                        if mine[p] != other[p]:
                            if not counting:
                                indices[used], values[used] = n_label_parts + mine[p], eta
                                indices[used + 1], values[used + 1] = n_label_parts + other[p], -eta
                            used += 2
            ends = n_transitions > 0 and first_pair(n_transitions, n_labels, order) > 0
            if ends and length > 0 and y[length - 1] != z[length - 1]:
                if not counting:
                    at = n_label_parts + n_labels
                    indices[used], values[used] = at + y[length - 1], eta
                    indices[used + 1], values[used + 1] = at + z[length - 1], -eta
                used += 2
            if counting:
                indptr[k + 1] = used - before
    return indptr, indices, values
