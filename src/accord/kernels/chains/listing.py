"""All outputs of a chain that come near the margin, one by one.

The soft maximum of Huber losses is no sum-product: a loss vanishes beyond the margin and bends within it, so that what
an output adds is no product over its parts, and no forward-backward pass sums it. But most outputs are beyond the
margin and add nothing, and the others can be listed: the best completion of every beginning is known from one backward
pass, so that no beginning is followed that leads nowhere.
"""

import numpy as np

from accord.kernels.chains.online import path_score
from accord.kernels.chains.pairs import moves_of, pair_score, set_moves
from accord.kernels.chains.violator import COST, MARGIN, add_costs, copy_labels, loss_value, same
from accord.kernels.chains.viterbi import longest_chain
from accord.kernels.compiling import helper, kernel

NEG_INF = -np.inf
# Where more outputs are near the margin than are wanted, the bound is raised by halves, until enough are left.
HALVINGS = 12
ENOUGH = 0.5


@helper
def _completions(unary, init, step, final, rest):
    """Best score of what comes after each state of each token; returns the best score of all."""
    n_tokens, n_labels = unary.shape[0], init.size
    A, B = step.shape[0], step.shape[1]
    with_pairs, moves = unary.shape[1] > n_labels, moves_of(unary, step, n_labels)
    for s in range(A * B):
        rest[n_tokens - 1, s] = final[s % n_labels]
    for t in range(n_tokens - 1, 0, -1):
        if with_pairs:
            set_moves(unary, t, step, n_labels, moves)
        for a in range(A):
            for b in range(B):
                best, move = NEG_INF, moves[a, b]
                for c in range(n_labels):
                    v = move[c] + unary[t, c] + rest[t, b * n_labels + c]
                    best = v if v > best else best
                rest[t - 1, a * B + b] = best
    top = NEG_INF
    for c in range(n_labels):
        top = max(top, init[c] + unary[0, c] + rest[0, A * B - n_labels + c])
    return top


@helper
def _walk(unary, init, step, rest, y, least, limit, path, states, sums, found):
    """How many outputs other than ``y`` score more than ``least``: at most ``limit + 1`` are counted.

    They are written one after another into ``found``, unless that has no room.
    """
    n_tokens, n_labels = unary.shape[0], init.size
    B = step.shape[1]
    first = step.shape[0] * B - n_labels
    n_found, t = 0, 0
    path[0] = -1
    while t >= 0:
        path[t] += 1
        c = path[t]
        if c == n_labels:
            t -= 1
            continue
        if t == 0:
            state, score = first + c, init[c] + unary[0, c]
        else:
            before = states[t - 1]
            move = step[before // B, before % B, c] + pair_score(unary, t, path, n_labels)
            state, score = (before % B) * n_labels + c, sums[t - 1] + move + unary[t, c]
        if not score + rest[t, state] > least:
            continue
        if t + 1 < n_tokens:
            states[t], sums[t] = state, score
            t += 1
            path[t] = -1
        elif not same(path[:n_tokens], y):
            if n_found < limit and found.size > 0:
                copy_labels(path[:n_tokens], found[n_found * n_tokens :])
            n_found += 1
            if n_found > limit:
                return n_found
    return n_found


@helper
def _scores_to_beat(loss, rescaling, unary, y, augmented):
    """Scores that tell how near to the margin an output is, and the most that its loss adds to them.

    Only costs that add over tokens can be a part of scores; other losses are 1 at most.
    """
    if loss.kind == COST and rescaling == MARGIN:
        add_costs(loss.cost, 1.0 / y.size if loss.average else 1.0, y, unary, augmented)
        return 0.0
    for t in range(y.size):
        for c in range(unary.shape[1]):
            augmented[t, c] = unary[t, c]
    return 1.0


@kernel
def count_outputs(loss, rescaling, offsets, unary, init, step, final, y, reach, wanted, bounds, counts, complete):
    """How many outputs of each packed chain are within ``reach`` of the margin, the target ``y`` not counted.

    If there are more than ``wanted[i]``, so many at most that are nearest to it; then ``complete[i]`` is False.
    ``bounds[i]`` is what :func:`list_outputs` has to know to list them.
    """
    longest = longest_chain(offsets)
    augmented, rest = np.empty((longest, unary.shape[1])), np.empty((longest, step.shape[0] * step.shape[1]))
    path, states, sums = np.empty(longest, np.int32), np.empty(longest, np.int64), np.empty(longest)
    nothing = np.empty(0, np.int32)
    for i in range(offsets.size - 1):
        lo, hi = offsets[i], offsets[i + 1]
        counts[i], complete[i] = 0, hi == lo
        if hi == lo or wanted[i] == 0:
            continue
        scores, target = augmented[: hi - lo], y[lo:hi]
        most = _scores_to_beat(loss, rescaling, unary[lo:hi], target, scores)
        high = _completions(scores, init, step, final, rest)
        low = path_score(unary[lo:hi], init, step, final, target) - most - reach
        n = _walk(scores, init, step, rest, target, low, wanted[i], path, states, sums, nothing)
        if n <= wanted[i]:
            bounds[i], counts[i], complete[i] = low, n, True
            continue
        bounds[i] = high
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            n = _walk(scores, init, step, rest, target, middle, wanted[i], path, states, sums, nothing)
            if n > wanted[i]:
                low = middle
                continue
            high = middle
            bounds[i], counts[i] = middle, n
            if n >= ENOUGH * wanted[i]:
                break


@kernel
def list_outputs(loss, rescaling, offsets, unary, init, step, final, y, bounds, counts, labels, delta, margin):
    """Write what :func:`count_outputs` has counted, one output after another, with losses and margins."""
    longest = longest_chain(offsets)
    augmented, rest = np.empty((longest, unary.shape[1])), np.empty((longest, step.shape[0] * step.shape[1]))
    path, states, sums = np.empty(longest, np.int32), np.empty(longest, np.int64), np.empty(longest)
    at, k = 0, 0
    for i in range(offsets.size - 1):
        if counts[i] == 0:
            continue
        lo, hi = offsets[i], offsets[i + 1]
        n, here, target = hi - lo, unary[lo:hi], y[lo:hi]
        scores = augmented[:n]
        _scores_to_beat(loss, rescaling, here, target, scores)
        _completions(scores, init, step, final, rest)
        _walk(scores, init, step, rest, target, bounds[i], counts[i], path, states, sums, labels[at:])
        true_score = path_score(here, init, step, final, target)
        for _ in range(counts[i]):
            found = labels[at : at + n]
            delta[k] = loss_value(loss, target, found)
            margin[k] = true_score - path_score(here, init, step, final, found)
            at, k = at + n, k + 1


@helper
def _key(output):
    """A number that different outputs hardly share."""
    key = np.int64(1469598103934665603)
    for t in range(output.size):
        key = (key ^ np.int64(output[t] + 1)) * np.int64(1099511628211)
    return key


@kernel
def is_listed(example, lengths, starts, outputs, first, entry_starts, entries, out):
    """Whether each output is among the entries of its example.

    Output ``k`` begins at ``outputs[starts[k]]``; example ``i`` has the entries from ``first[i]`` to ``first[i + 1]``,
    of which entry ``j`` begins at ``entries[entry_starts[j]]``. Outputs are sorted by example.
    """
    keys = np.empty(entry_starts.size, np.int64)
    for k in range(example.size):
        i = example[k]
        n = lengths[i]
        if k == 0 or example[k - 1] != i:
            for j in range(first[i], first[i + 1]):
                keys[j] = _key(entries[entry_starts[j] : entry_starts[j] + n])
        output = outputs[starts[k] : starts[k] + n]
        key = _key(output)
        out[k] = False
        for j in range(first[i], first[i + 1]):
            if keys[j] == key and same(output, entries[entry_starts[j] :]):
                out[k] = True
                break
