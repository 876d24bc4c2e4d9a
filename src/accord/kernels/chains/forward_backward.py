"""Partition functions, marginals and expected transition counts of chains."""

import numpy as np
from numba import njit

from accord.kernels.chains.viterbi import longest_chain

NEG_INF = -np.inf
# Finite scores within SPREAD of each other and probabilities above TINY cannot underflow in one step:
# exp(-SPREAD) ** 2 * TINY is still a normal number. Anything wilder goes through log space.
SPREAD = 100.0
TINY = 1e-200


@njit(cache=True, nogil=True)
def _log_add(a, b):
    if a == NEG_INF:
        return b
    if b == NEG_INF:
        return a
    if a > b:
        return a + np.log1p(np.exp(b - a))
    return b + np.log1p(np.exp(a - b))


@njit(cache=True, nogil=True)
def _forward_backward_log(unary, init, step, final, marginals, d_init, d_step, d_final):
    """The same as :func:`forward_backward`, in log space: slower, never under- or overflows."""
    n_tokens, n_labels = unary.shape
    A, B = step.shape[0], step.shape[1]
    n_states = A * B
    first = n_states - n_labels
    alpha = np.full((n_tokens, n_states), NEG_INF)
    beta = np.full((n_tokens, n_states), NEG_INF)
    for c in range(n_labels):
        alpha[0, first + c] = init[c] + unary[0, c]
    for t in range(1, n_tokens):
        for a in range(A):
            for b in range(B):
                s = alpha[t - 1, a * B + b]
                if s == NEG_INF:
                    continue
                for c in range(n_labels):
                    target = b * n_labels + c
                    alpha[t, target] = _log_add(alpha[t, target], s + step[a, b, c] + unary[t, c])
    log_z = NEG_INF
    for s in range(n_states):
        beta[n_tokens - 1, s] = final[s % n_labels]
        log_z = _log_add(log_z, alpha[n_tokens - 1, s] + final[s % n_labels])
    if log_z == NEG_INF:
        return log_z
    for t in range(n_tokens - 1, 0, -1):
        for a in range(A):
            for b in range(B):
                total = NEG_INF
                for c in range(n_labels):
                    edge = step[a, b, c] + unary[t, c] + beta[t, b * n_labels + c]
                    total = _log_add(total, edge)
                    here = alpha[t - 1, a * B + b] + edge - log_z
                    if here > NEG_INF:
                        d_step[a, b, c] += np.exp(here)
                beta[t - 1, a * B + b] = total
    for t in range(n_tokens):
        for c in range(n_labels):
            marginals[t, c] = 0.0
        for s in range(n_states):
            here = alpha[t, s] + beta[t, s] - log_z
            if here > NEG_INF:
                marginals[t, s % n_labels] += np.exp(here)
    for c in range(n_labels):
        d_init[c] += marginals[0, c]
        d_final[c] += marginals[n_tokens - 1, c]
    return log_z


# sums may be reordered (so that they run in vector registers); infinities and nan keep their meaning
@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def forward_backward(unary, init, step, final, exps, work, marginals, d_init, d_step, d_final):
    """Log partition function of one chain; writes token marginals and adds expected transition counts.

    Works with scaled probabilities (``exps`` come from :func:`exponentials`, ``work`` from :func:`workspace`) and
    falls back to log space wherever a probability could underflow.
    """
    alpha, beta, e_unary, scale, counts, ahead = work
    e_init, e_step, e_final, shifts, safe = exps
    n_tokens, n_labels = unary.shape
    if n_tokens == 0:
        return 0.0
    A, B = step.shape[0], step.shape[1]
    n_states = A * B
    first = n_states - n_labels
    if not safe:
        return _forward_backward_log(unary, init, step, final, marginals, d_init, d_step, d_final)
    log_z = shifts[0] + shifts[1] * (n_tokens - 1) + shifts[2]
    for t in range(n_tokens):
        top = NEG_INF
        for c in range(n_labels):
            top = max(top, unary[t, c])
        if top == NEG_INF:
            return NEG_INF
        log_z += top
        for c in range(n_labels):
            if NEG_INF < unary[t, c] < top - SPREAD:
                safe = False
            e_unary[t, c] = np.exp(unary[t, c] - top)
        for s in range(n_states):
            alpha[t, s] = 0.0
        if t == 0:
            for c in range(n_labels):
                alpha[0, first + c] = e_init[c] * e_unary[0, c]
        else:
            for b in range(B):
                for a in range(A):
                    p, move = alpha[t - 1, a * B + b], e_step[a, b]
                    here = alpha[t, b * n_labels : (b + 1) * n_labels]
                    if p > 0.0:
                        for c in range(n_labels):
                            here[c] += p * move[c]
                for c in range(n_labels):
                    alpha[t, b * n_labels + c] *= e_unary[t, c]
        total = 0.0
        for s in range(n_states):
            total += alpha[t, s]
        if not safe:  # before looking at the total, which may have underflowed
            return _forward_backward_log(unary, init, step, final, marginals, d_init, d_step, d_final)
        if total == 0.0:
            return NEG_INF
        scale[t] = 1.0 / total
        log_z += np.log(total)
        for s in range(n_states):
            alpha[t, s] *= scale[t]
            if 0.0 < alpha[t, s] < TINY:
                safe = False
    last = n_tokens - 1
    end = 0.0
    for s in range(n_states):
        end += alpha[last, s] * e_final[s % n_labels]
    if end == 0.0 and safe:
        return NEG_INF
    if not safe:
        return _forward_backward_log(unary, init, step, final, marginals, d_init, d_step, d_final)
    log_z += np.log(end)
    for s in range(n_states):
        beta[last, s] = e_final[s % n_labels] / end
    for a in range(A if n_tokens > 1 else 0):
        for b in range(B):
            for c in range(n_labels):
                counts[a, b, c] = 0.0
    finite = end < np.inf
    for t in range(last, 0, -1):
        for b in range(B):
            # what a move into (b, c) is worth, whatever came before
            for c in range(n_labels):
                ahead[c] = beta[t, b * n_labels + c] * e_unary[t, c] * scale[t]
            for a in range(A):
                p, move, count = alpha[t - 1, a * B + b], e_step[a, b], counts[a, b]
                total = 0.0
                for c in range(n_labels):
                    total += move[c] * ahead[c]
                    count[c] += p * ahead[c]  # times e_step, once, at the end
                finite &= total < np.inf  # false for nan too
                beta[t - 1, a * B + b] = total
    if not finite:
        return _forward_backward_log(unary, init, step, final, marginals, d_init, d_step, d_final)
    for a in range(A if n_tokens > 1 else 0):
        for b in range(B):
            for c in range(n_labels):
                if e_step[a, b, c] > 0.0:
                    d_step[a, b, c] += counts[a, b, c] * e_step[a, b, c]
    for t in range(n_tokens):
        for c in range(n_labels):
            marginals[t, c] = 0.0
        for s in range(n_states):
            if alpha[t, s] > 0.0:
                marginals[t, s % n_labels] += alpha[t, s] * beta[t, s]
    for c in range(n_labels):
        d_init[c] += marginals[0, c]
        d_final[c] += marginals[last, c]
    return log_z


@njit(cache=True, nogil=True)
def _shifted_exp(scores, out):
    """Write exp(scores - max) and return the maximum and whether all finite scores lie within SPREAD of it."""
    top = NEG_INF
    for i in range(scores.size):
        top = max(top, scores[i])
    safe = True
    if top == NEG_INF:
        top = 0.0
    for i in range(scores.size):
        safe &= scores[i] == NEG_INF or scores[i] >= top - SPREAD
        out[i] = np.exp(scores[i] - top)
    return top, safe


@njit(cache=True, nogil=True)
def exponentials(init, step, final):
    """Exponentials of the transition scores, each array shifted by its maximum: (init, step, final, shifts, safe)."""
    e_init, e_step, e_final = np.empty_like(init), np.empty_like(step), np.empty_like(final)
    shifts = np.empty(3)
    shifts[0], safe_init = _shifted_exp(init, e_init)
    shifts[1], safe_step = _shifted_exp(step.ravel(), e_step.reshape(-1))
    shifts[2], safe_final = _shifted_exp(final, e_final)
    return e_init, e_step, e_final, shifts, safe_init and safe_step and safe_final


@njit(cache=True, nogil=True)
def workspace(n_tokens, n_labels, step):
    """Buffers for chains of up to ``n_tokens``: alpha, beta, exp(unary), scales, transition counts, one row."""
    n_states = step.shape[0] * step.shape[1]
    return (
        np.empty((n_tokens, n_states)),
        np.empty((n_tokens, n_states)),
        np.empty((n_tokens, n_labels)),
        np.empty(n_tokens),
        np.empty_like(step),
        np.empty(n_labels),
    )


@njit(cache=True, nogil=True)
def forward_backward_batch(offsets, unary, init, step, final, weights, marginals, log_z, d_init, d_step, d_final):
    """Log partition functions and marginals of packed chains; expected transition counts are added up.

    Those of chain ``i`` are counted ``weights[i]`` times (empty: once).
    """
    longest = longest_chain(offsets)
    work = workspace(longest, unary.shape[1], step)
    exps = exponentials(init, step, final)
    own_init, own_step, own_final = np.empty_like(init), np.empty_like(step), np.empty_like(final)
    for i in range(offsets.size - 1):
        lo, hi = offsets[i], offsets[i + 1]
        if weights.size == 0:
            log_z[i] = forward_backward(
                unary[lo:hi], init, step, final, exps, work, marginals[lo:hi], d_init, d_step, d_final
            )
            continue
        for own in (own_init, own_step.reshape(-1), own_final):
            for p in range(own.size):
                own[p] = 0.0
        log_z[i] = forward_backward(
            unary[lo:hi], init, step, final, exps, work, marginals[lo:hi], own_init, own_step, own_final
        )
        for own, total in ((own_init, d_init), (own_step.reshape(-1), d_step.reshape(-1)), (own_final, d_final)):
            for p in range(own.size):
                total[p] += weights[i] * own[p]


@njit(cache=True, nogil=True)
def path_scores(offsets, labels, unary, init, step, final, out):
    """Score of the given labels for every packed chain."""
    A = step.shape[0]
    for i in range(offsets.size - 1):
        lo, hi = offsets[i], offsets[i + 1]
        total = 0.0
        if hi > lo:
            total = init[labels[lo]] + final[labels[hi - 1]]
        for r in range(lo, hi):
            c = labels[r]
            total += unary[r, c]
            if r > lo:
                b = labels[r - 1]
                if A == unary.shape[1]:
                    total += step[b, 0, c]
                else:
                    total += step[labels[r - 2] if r > lo + 1 else A - 1, b, c]
        out[i] = total


@njit(cache=True, nogil=True)
def path_counts(offsets, labels, weights, d_init, d_step, d_final):
    """Add the transitions used by the given labels, those of chain ``i`` times ``weights[i]`` (empty: once each).

    Those with a hidden label (-1) are unknown.
    """
    A, _, n_labels = d_step.shape
    for i in range(offsets.size - 1):
        lo, hi = offsets[i], offsets[i + 1]
        if hi == lo:
            continue
        weight = weights[i] if weights.size > 0 else 1.0
        if labels[lo] >= 0:
            d_init[labels[lo]] += weight
        if labels[hi - 1] >= 0:
            d_final[labels[hi - 1]] += weight
        for r in range(lo + 1, hi):
            b = labels[r - 1]
            a = labels[r - 2] if r > lo + 1 else A - 1
            if labels[r] >= 0 and b >= 0:
                if A == n_labels:
                    d_step[b, 0, labels[r]] += weight
                elif a >= 0:
                    d_step[a, b, labels[r]] += weight
