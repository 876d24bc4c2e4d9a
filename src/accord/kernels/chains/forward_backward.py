"""Partition functions, marginals and expected transition counts of chains."""

import numpy as np
from numba import njit

from accord.kernels.chains.pairs import moves_of, set_moves
from accord.kernels.compiling import KERNEL, helper, kernel

NEG_INF = -np.inf
# Finite scores within SPREAD of each other and probabilities above TINY cannot underflow in one step:
# exp(-SPREAD) ** 2 * exp(-PAIR_SPREAD) * TINY is still a normal number. Anything wilder goes through log space.
SPREAD = 100.0
PAIR_SPREAD = 40.0  # of the scores of pairs that a row has, if it has any
TINY = 1e-200


@helper
def _log_add(a, b):
    if a == NEG_INF:
        return b
    if b == NEG_INF:
        return a
    if a > b:
        return a + np.log1p(np.exp(b - a))
    return b + np.log1p(np.exp(a - b))


@helper
def forward_backward_log(unary, init, step, final, weight, marginals, d_init, d_step, d_final):
    """Log partition function of one chain, as :func:`forward_backward` counts, in log space: slower, never under- or
    overflows."""
    n_tokens, n_labels = unary.shape[0], init.size
    A, B = step.shape[0], step.shape[1]
    n_states = A * B
    with_pairs, moves = unary.shape[1] > n_labels, moves_of(unary, step, n_labels)
    first = n_states - n_labels
    alpha = np.full((n_tokens, n_states), NEG_INF)
    beta = np.full((n_tokens, n_states), NEG_INF)
    for c in range(n_labels):
        alpha[0, first + c] = init[c] + unary[0, c]
    for t in range(1, n_tokens):
        if with_pairs:
            set_moves(unary, t, step, n_labels, moves)
        for a in range(A):
            for b in range(B):
                s = alpha[t - 1, a * B + b]
                if s == NEG_INF:
                    continue
                for c in range(n_labels):
                    target = b * n_labels + c
                    alpha[t, target] = _log_add(alpha[t, target], s + moves[a, b, c] + unary[t, c])
    log_z = NEG_INF
    for s in range(n_states):
        beta[n_tokens - 1, s] = final[s % n_labels]
        log_z = _log_add(log_z, alpha[n_tokens - 1, s] + final[s % n_labels])
    if log_z == NEG_INF:
        return log_z
    for t in range(n_tokens):
        for c in range(marginals.shape[1]):
            marginals[t, c] = 0.0
    for t in range(n_tokens - 1, 0, -1):
        if with_pairs:
            set_moves(unary, t, step, n_labels, moves)
        for a in range(A):
            for b in range(B):
                total = NEG_INF
                before = n_labels * (1 + (a if A == n_labels else b))
                for c in range(n_labels):
                    edge = moves[a, b, c] + unary[t, c] + beta[t, b * n_labels + c]
                    total = _log_add(total, edge)
                    here = alpha[t - 1, a * B + b] + edge - log_z
                    if here > NEG_INF:
                        d_step[a, b, c] += weight * np.exp(here)
                        if marginals.shape[1] > n_labels:
                            marginals[t, before + c] += np.exp(here)
                beta[t - 1, a * B + b] = total
    for t in range(n_tokens):
        for s in range(n_states):
            here = alpha[t, s] + beta[t, s] - log_z
            if here > NEG_INF:
                marginals[t, s % n_labels] += np.exp(here)
    for c in range(n_labels):
        d_init[c] += weight * marginals[0, c]
        d_final[c] += weight * marginals[n_tokens - 1, c]
    return log_z


@kernel
def _log_batch(chosen, offsets, unary, init, step, final, weights, marginals, log_z, d_init, d_step, d_final):
    for i in chosen:
        lo, hi = offsets[i], offsets[i + 1]
        log_z[i] = forward_backward_log(
            unary[lo:hi], init, step, final, weights[i], marginals[lo:hi], d_init, d_step, d_final
        )


@helper
def shifted_exp(scores, out):
    """Write exp(scores - max) and return the maximum, or nan unless all finite scores lie within SPREAD of it."""
    top = NEG_INF
    for i in range(scores.size):
        top = max(top, scores[i])
    if top == NEG_INF:
        top = 0.0
    safe = True
    for i in range(scores.size):
        safe &= scores[i] == NEG_INF or scores[i] >= top - SPREAD
        out[i] = np.exp(scores[i] - top)
    return top if safe else np.nan


def workspace(longest, width, init, step):
    """Buffers of :func:`forward_backward` for chains of up to ``longest`` rows of ``width`` scores: alpha, beta,
    exp(unary), scales, counts of steps (all zero), one row."""
    n_states, n_labels = step.shape[0] * step.shape[1], init.size
    return (
        np.empty((longest, n_states)),
        np.empty((longest, n_states)),
        np.empty((longest, width)),
        np.empty(longest),
        np.zeros(step.shape),
        np.empty(n_labels),
    )


# Sums may be reordered (so that they run in vector registers); infinities and nan keep their meaning.
@njit(**KERNEL, fastmath={"reassoc", "contract"})
def forward_backward(
    offsets, unary, shifts, e_init, e_step, e_final, alpha, beta, e_unary, scale, counts, ahead,
    weights, marginals, log_z, d_init, d_step, d_final,
):  # fmt: skip
    """Log partition functions and marginals of packed chains; expected transition counts are added up.

    Works with scaled probabilities: the exponentials of the decoder's arrays come from :func:`shifted_exp`, buffers
    from :func:`workspace`. Where a probability could underflow, ``log_z`` is nan and the chain is not counted.
    """
    n_labels = e_init.size
    with_pairs = unary.shape[1] > n_labels
    A, B = e_step.shape[0], e_step.shape[1]
    n_states = A * B
    for i in range(offsets.size - 1):
        lo, n = offsets[i], offsets[i + 1] - offsets[i]
        log_z[i] = 0.0
        if n == 0:
            continue
        z = shifts[0] + shifts[1] * (n - 1) + shifts[2]
        safe = True
        for t in range(n):
            score, e, here = unary[lo + t], e_unary[t], alpha[t]
            top = NEG_INF
            for c in range(n_labels):
                top = max(top, score[c])
            if top == NEG_INF:
                z = NEG_INF
                break
            z += top
            for c in range(n_labels):
                safe &= (score[c] >= top - SPREAD) | (score[c] == NEG_INF)
                e[c] = np.exp(score[c] - top)
            if with_pairs and t > 0:
                pair_top = exp_pairs(score, e, n_labels)
                safe &= not np.isnan(pair_top)
                z += pair_top
                if pair_top == NEG_INF:
                    break
            for s in range(n_states):
                here[s] = 0.0
            total = 0.0
            for b in range(B if t > 0 else 0):
                new = here[b * n_labels : (b + 1) * n_labels]
                for a in range(A):
                    p, move = alpha[t - 1, a * B + b], e_step[a, b]
                    if p > 0.0 and with_pairs:
                        before = n_labels * (1 + (a if A == n_labels else b))
                        for c in range(n_labels):
                            new[c] += p * move[c] * e[before + c]
                    elif p > 0.0:
                        for c in range(n_labels):
                            new[c] += p * move[c]
                for c in range(n_labels):
                    new[c] *= e[c]
                    total += new[c]
            for c in range(n_labels if t == 0 else 0):
                here[n_states - n_labels + c] = e_init[c] * e[c]
                total += e_init[c] * e[c]
            if not safe:  # before looking at the total, which may have underflowed
                break
            if total == 0.0:
                z = NEG_INF
                break
            scale[t] = 1.0 / total
            z += np.log(total)
            for s in range(n_states):
                here[s] *= scale[t]
                safe &= (here[s] >= TINY) | (here[s] == 0.0)
        end = 0.0
        for s in range(n_states if z > NEG_INF else 0):
            end += alpha[n - 1, s] * e_final[s % n_labels]
            beta[n - 1, s] = e_final[s % n_labels]
        log_z[i] = np.nan
        if not safe:
            continue
        if end == 0.0:
            log_z[i] = NEG_INF
            continue
        for s in range(n_states):
            beta[n - 1, s] /= end
        finite = end < np.inf
        for t in range(n - 1, 0, -1):
            for b in range(B):
                # what a move into (b, c) is worth, whatever came before
                for c in range(n_labels):
                    ahead[c] = beta[t, b * n_labels + c] * e_unary[t, c] * scale[t]
                for a in range(A):
                    p, move, count = alpha[t - 1, a * B + b], e_step[a, b], counts[a, b]
                    total = 0.0
                    if with_pairs:
                        before = n_labels * (1 + (a if A == n_labels else b))
                        pair, e = marginals[lo + t, before : before + n_labels], e_unary[t, before : before + n_labels]
                        for c in range(n_labels):
                            worth = e[c] * ahead[c]
                            total += move[c] * worth
                            count[c] += p * worth
                            pair[c] = p * move[c] * worth + (0.0 if a == 0 or A == n_labels else pair[c])
                    else:
                        for c in range(n_labels):
                            total += move[c] * ahead[c]
                            count[c] += p * ahead[c]  # times e_step, once, at the end
                    finite &= total < np.inf  # false for nan too
                    beta[t - 1, a * B + b] = total
        weight = weights[i]
        for a in range(A if n > 1 else 0):
            for b in range(B):
                for c in range(n_labels):
                    if finite and e_step[a, b, c] > 0.0:
                        d_step[a, b, c] += weight * (counts[a, b, c] * e_step[a, b, c])
                    counts[a, b, c] = 0.0
        if not finite:
            continue
        log_z[i] = z + np.log(end)
        for t in range(n):
            for c in range(n_labels):
                total = 0.0
                for s in range(c, n_states, n_labels):
                    total += alpha[t, s] * beta[t, s]
                marginals[lo + t, c] = total
        for p in range(n_labels, marginals.shape[1]):
            marginals[lo, p] = 0.0  # nothing comes before the first row
        for c in range(n_labels):
            d_init[c] += weight * marginals[lo, c]
            d_final[c] += weight * marginals[lo + n - 1, c]


@helper
def exp_pairs(score, out, n_labels):
    """Exponentials of a row's scores of pairs, relative to the largest, which is returned; nan: they differ too much,
    minus infinity: all are forbidden."""
    top = NEG_INF
    for p in range(n_labels, score.size):
        top = max(top, score[p])
    safe = True
    for p in range(n_labels, score.size):
        safe &= (score[p] >= top - PAIR_SPREAD) | (score[p] == NEG_INF)
        out[p] = np.exp(score[p] - top)
    return top if safe else np.nan


@helper
def forward_backward_one(
    ends, unary, init, step, final, shifts, e_init, e_step, e_final, work, weights, marginals, log_z,
    d_init, d_step, d_final,
):  # fmt: skip
    """The same for one chain, whose rows are ``ends = (0, n_rows)``, in log space if need be; returns log Z."""
    alpha, beta, e_unary, scale, counts, ahead = work
    log_z[0] = shifts[0] + shifts[1] + shifts[2]
    if not np.isnan(log_z[0]):
        forward_backward(
            ends, unary, shifts, e_init, e_step, e_final, alpha, beta, e_unary, scale, counts, ahead,
            weights, marginals, log_z, d_init, d_step, d_final,
        )  # fmt: skip
    if np.isnan(log_z[0]):
        log_z[0] = forward_backward_log(unary, init, step, final, weights[0], marginals, d_init, d_step, d_final)
    return log_z[0]


def forward_backward_batch(offsets, unary, chain, weights, marginals, log_z, counts):
    """Log partition functions and marginals of packed chains; expected transition counts are added up.

    ``chain`` and ``counts`` are arrays (init, step, final). Chain ``i`` is counted ``weights[i]`` times (empty: once).
    """
    lengths = np.diff(offsets)
    weights = weights if weights.size else np.ones(lengths.size)
    tops = [array.max(initial=NEG_INF) for array in chain]
    shifts = np.array([top if top > NEG_INF else 0.0 for top in tops])
    counts = tuple(counts)
    log_z[:] = np.where(lengths > 0, np.nan, 0.0)
    if all(np.all((a >= top - SPREAD) | (a == NEG_INF)) for a, top in zip(chain, shifts)):
        exps = (np.exp(array - top) for array, top in zip(chain, shifts))
        work = workspace(int(lengths.max(initial=0)), unary.shape[1], *chain[:2])
        forward_backward(offsets, unary, shifts, *exps, *work, weights, marginals, log_z, *counts)
    wild = np.flatnonzero(np.isnan(log_z))
    if wild.size:
        _log_batch(wild, offsets, unary, *chain, weights, marginals, log_z, *counts)


@kernel
def path_scores(offsets, labels, unary, init, step, final, out):
    """Score of the given labels for every packed chain."""
    A, n_labels = step.shape[0], init.size
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
                if unary.shape[1] > n_labels:
                    total += unary[r, n_labels * (1 + b) + c]
                if A == n_labels:
                    total += step[b, 0, c]
                else:
                    total += step[labels[r - 2] if r > lo + 1 else A - 1, b, c]
        out[i] = total


def path_counts(offsets, labels, weights, d_init, d_step, d_final):
    """Add the transitions used by the given labels, those of chain ``i`` times ``weights[i]`` (empty: once each).

    Those with a hidden label (-1) are unknown.
    """
    A, _, n_labels = d_step.shape
    lengths = np.diff(offsets)
    weights = np.repeat(weights if weights.size else np.ones(lengths.size), lengths)
    place = np.arange(labels.size) - np.repeat(offsets[:-1], lengths)  # in its chain
    for out, rows in ((d_init, offsets[:-1][lengths > 0]), (d_final, offsets[1:][lengths > 0] - 1)):
        rows = rows[labels[rows] >= 0]
        np.add.at(out, labels[rows], weights[rows])
    rows = np.flatnonzero(place > 0)
    rows = rows[(labels[rows] >= 0) & (labels[rows - 1] >= 0)]
    before, between = labels[rows - 1], 0
    if A != n_labels:
        known = (place[rows] == 1) | (labels[rows - 2] >= 0)
        rows = rows[known]
        before, between = np.where(place[rows] == 1, A - 1, labels[rows - 2]), labels[rows - 1]
    np.add.at(d_step, (before, between, labels[rows]), weights[rows])
