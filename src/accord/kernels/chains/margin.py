"""The best output of a chain and its margin: how much its score exceeds that of the second best."""

import numpy as np

from accord.kernels.chains.pairs import set_moves
from accord.kernels.compiling import helper, kernel

NEG_INF = -np.inf


@kernel
def best_with_margin(unary, init, step, final, score, labels):
    """Write the best labels into ``labels``; returns (their score, margin).

    ``score`` (n_tokens at least, n_states) is work space. The second-best path leaves the best one once and for all
    when both are followed from the end, so it costs the best alternative on the way back: hardly more than Viterbi, and
    a tenth of a list of the two best outputs. With a single feasible output the margin is infinite. If none is
    feasible, score and margin are minus infinity and the labels all 0.
    """
    if unary.shape[1] > init.size:
        return _best_with_margin(unary, init, step, final, score, labels, np.empty_like(step))
    return _best_with_margin(unary, init, step, final, score, labels, None)


@helper
def _best_with_margin(unary, init, step, final, score, labels, room):
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
        score[0, n_states - n_labels + c] = init[c] + unary[0, c]
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
            for c in range(n_labels):
                best[c] += here[c]
        for k in range(B * n_labels, n_states):
            new[k] = NEG_INF
    top, second, state = NEG_INF, NEG_INF, 0
    for s in range(n_states):
        v = score[n_tokens - 1, s] + final[s % n_labels]
        if v > top:
            top, second, state = v, top, s
        elif v > second:
            second = v
    if top == NEG_INF:
        for t in range(n_tokens):
            labels[t] = 0
        return top, NEG_INF
    margin = top - second
    for t in range(n_tokens - 1, 0, -1):
        c = state % n_labels
        labels[t] = c
        b = 0 if B == 1 else state // n_labels
        first, second = NEG_INF, NEG_INF
        if room is not None:
            set_moves(unary, t, step, n_labels, room)
        for a in range(A):
            v = score[t - 1, a * B + b] + moves[a, b, c]
            if v > first:
                first, second, state = v, first, a * B + b
            elif v > second:
                second = v
        margin = min(margin, first - second)
    labels[0] = state % n_labels
    return top, margin
