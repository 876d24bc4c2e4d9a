"""Viterbi decoding of chains: best output, k best outputs, and best output per loss level."""

import numpy as np

from accord.kernels.chains.pairs import moves_of, set_moves
from accord.kernels.compiling import helper, kernel

NEG_INF = -np.inf


@helper
def longest_chain(offsets):
    """Rows of the longest of packed chains."""
    longest = 0
    for i in range(offsets.size - 1):
        longest = max(longest, offsets[i + 1] - offsets[i])
    return longest


@kernel
def viterbi(unary, init, step, final, labels):
    """Write the best labels of one chain into ``labels`` and return its score (minus infinity: infeasible)."""
    if unary.shape[1] > init.size:
        return _viterbi(unary, init, step, final, labels, np.empty_like(step))
    return _viterbi(unary, init, step, final, labels, None)


@helper
def _viterbi(unary, init, step, final, labels, room):
    """With ``room`` for the moves of one row, if rows have scores of pairs: compiled without them, it is faster."""
    n_tokens, n_labels = unary.shape[0], init.size
    if n_tokens == 0:
        return 0.0
    A, B = step.shape[0], step.shape[1]
    n_states = A * B
    moves = step
    if room is not None:
        moves = room
    score = np.empty((n_tokens, n_states))
    for k in range(n_states):
        score[0, k] = NEG_INF
    for c in range(n_labels):
        score[0, n_states - n_labels + c] = init[c] + unary[0, c]
    for t in range(1, n_tokens):
        old, new = score[t - 1], score[t]
        if room is not None:
            set_moves(unary, t, step, n_labels, room)
        for b in range(B):
            best, here = new[b * n_labels : (b + 1) * n_labels], unary[t]
            for c in range(n_labels):
                best[c] = NEG_INF
            a = 0
            while a + 4 <= A:  # four at a time: a third less time than one by one
                s0, s1, s2, s3 = old[a * B + b], old[(a + 1) * B + b], old[(a + 2) * B + b], old[(a + 3) * B + b]
                move0, move1, move2, move3 = moves[a, b], moves[a + 1, b], moves[a + 2, b], moves[a + 3, b]
                for c in range(n_labels):
                    v0, v1, v2, v3 = s0 + move0[c], s1 + move1[c], s2 + move2[c], s3 + move3[c]
                    v0 = v0 if v0 > v1 else v1
                    v2 = v2 if v2 > v3 else v3
                    v0 = v0 if v0 > v2 else v2
                    best[c] = v0 if v0 > best[c] else best[c]
                a += 4
            while a < A:
                s, move = old[a * B + b], moves[a, b]
                for c in range(n_labels):
                    v = s + move[c]
                    best[c] = v if v > best[c] else best[c]
                a += 1
            for c in range(n_labels):
                best[c] += here[c]
        for k in range(B * n_labels, n_states):
            new[k] = NEG_INF
    top = NEG_INF
    state = 0
    for s in range(n_states):
        v = score[n_tokens - 1, s] + final[s % n_labels]
        if v > top:
            top = v
            state = s
    # Back pointers are found again on the way back: one row per token instead of a choice per state and token.
    for t in range(n_tokens - 1, 0, -1):
        c = state % n_labels
        labels[t] = c
        b = 0 if B == 1 else state // n_labels
        if room is not None:
            set_moves(unary, t, step, n_labels, room)
        top_before = NEG_INF
        state = b
        for a in range(A):
            v = score[t - 1, a * B + b] + moves[a, b, c]
            if v > top_before:
                top_before = v
                state = a * B + b
    labels[0] = state % n_labels
    return top


def viterbi_batch(offsets, unary, init, *others):
    """Decode packed chains: rows ``offsets[i]:offsets[i+1]`` of ``unary`` belong to input ``i``."""
    # chosen here, because compiling both takes those who need one twice as long when they begin
    (_batch_with_pairs if unary.shape[1] > init.size else _batch)(offsets, unary, init, *others)


@kernel
def _batch(offsets, unary, init, step, final, labels, scores):
    for i in range(offsets.size - 1):
        lo, hi = offsets[i], offsets[i + 1]
        scores[i] = _viterbi(unary[lo:hi], init, step, final, labels[lo:hi], None)


@kernel
def _batch_with_pairs(offsets, unary, init, step, final, labels, scores):
    for i in range(offsets.size - 1):
        lo, hi = offsets[i], offsets[i + 1]
        scores[i] = viterbi(unary[lo:hi], init, step, final, labels[lo:hi])


@kernel
def force_labels(unary, given, n_labels):
    """Forbid, in place, every label but the given one of each row; -1 leaves a row free."""
    for t in range(given.size):
        if given[t] >= 0:
            for c in range(n_labels):
                if c != given[t]:
                    unary[t, c] = NEG_INF


@helper
def _insert(values, source, rank, size, k, v, a, r):
    """Insert ``v`` into the sorted list of the ``k`` largest; equal values keep their order of arrival."""
    if size == k:
        if v <= values[k - 1]:
            return size
        size -= 1
    p = size
    while p > 0 and values[p - 1] < v:
        values[p] = values[p - 1]
        source[p] = source[p - 1]
        rank[p] = rank[p - 1]
        p -= 1
    values[p] = v
    source[p] = a
    rank[p] = r
    return size + 1


@kernel
def k_best(unary, init, step, final, k):
    """Return ``(scores, labels)`` of the at most ``k`` best feasible outputs, best first, all distinct."""
    n_tokens, n_labels = unary.shape[0], init.size
    if n_tokens == 0:
        return np.zeros(1), np.empty((1, 0), np.int32)
    A, B = step.shape[0], step.shape[1]
    n_states = A * B
    with_pairs, moves = unary.shape[1] > n_labels, moves_of(unary, step, n_labels)
    values = np.full((n_tokens, n_states, k), NEG_INF)
    source = np.zeros((n_tokens, n_states, k), np.int32)
    rank = np.zeros((n_tokens, n_states, k), np.int32)
    for c in range(n_labels):
        values[0, n_states - n_labels + c, 0] = init[c] + unary[0, c]
    for t in range(1, n_tokens):
        if with_pairs:
            set_moves(unary, t, step, n_labels, moves)
        for b in range(B):
            for c in range(n_labels):
                if unary[t, c] == NEG_INF:
                    continue
                state = b * n_labels + c
                size = 0
                for a in range(A):
                    edge = moves[a, b, c] + unary[t, c]
                    if edge == NEG_INF:
                        continue
                    for r in range(k):
                        v = values[t - 1, a * B + b, r] + edge
                        if v == NEG_INF or (size == k and v <= values[t, state, k - 1]):
                            break
                        size = _insert(values[t, state], source[t, state], rank[t, state], size, k, v, a * B + b, r)
    top = np.full(k, NEG_INF)
    top_state = np.zeros(k, np.int32)
    top_rank = np.zeros(k, np.int32)
    found = 0
    for s in range(n_states):
        for r in range(k):
            v = values[n_tokens - 1, s, r] + final[s % n_labels]
            if v == NEG_INF:
                break
            found = _insert(top, top_state, top_rank, found, k, v, s, r)
    labels = np.empty((found, n_tokens), np.int32)
    for j in range(found):
        s, r = top_state[j], top_rank[j]
        for t in range(n_tokens - 1, -1, -1):
            labels[j, t] = s % n_labels
            s, r = source[t, s, r], rank[t, s, r]
    return top[:found], labels


@helper
def best_per_level(unary, init, step, final, level, n_levels):
    """Best score for every value of an integer loss level that adds up over tokens.

    ``level[t, c]`` is what label ``c`` at token ``t`` adds. Returns the final scores (n_levels, n_states) and the
    back pointers (n_tokens, n_levels, n_states) that :func:`trace_level` follows.
    """
    n_tokens, n_labels = unary.shape[0], init.size
    A, B = step.shape[0], step.shape[1]
    n_states = A * B
    with_pairs, moves = unary.shape[1] > n_labels, moves_of(unary, step, n_labels)
    score = np.full((n_levels, n_states), NEG_INF)
    back = np.zeros((n_tokens, n_levels, n_states), np.int32)
    for c in range(n_labels):
        score[level[0, c], n_states - n_labels + c] = init[c] + unary[0, c]
    for t in range(1, n_tokens):
        new = np.full((n_levels, n_states), NEG_INF)
        if with_pairs:
            set_moves(unary, t, step, n_labels, moves)
        for d in range(n_levels):
            for b in range(B):
                for a in range(A):
                    s = score[d, a * B + b]
                    if s == NEG_INF:
                        continue
                    for c in range(n_labels):
                        v = s + moves[a, b, c] + unary[t, c]
                        target = d + level[t, c]
                        if v > new[target, b * n_labels + c]:
                            new[target, b * n_labels + c] = v
                            back[t, target, b * n_labels + c] = a * B + b
        score = new
    for s in range(n_states):
        for d in range(n_levels):
            score[d, s] += final[s % n_labels]
    return score, back


@helper
def trace_level(back, level, d, state, n_labels, labels):
    """Follow back pointers from the end in ``state`` at total level ``d``."""
    for t in range(labels.size - 1, -1, -1):
        labels[t] = state % n_labels
        previous = back[t, d, state]
        d -= level[t, state % n_labels]
        state = previous
