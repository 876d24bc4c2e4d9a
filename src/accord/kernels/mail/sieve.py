"""A first look at all mails of a window, which leaves a few of them: a bound of each similarity, from 160 bytes a mail.

What a mail can at most add to the sum of its batch is found from its words' bins, from one byte of each mark (`tags`)
and from its numbers in steps of 1/256 (`coarse`); whatever else is compared counts as the best that it could be.
Batches whose bounds sum up below zero cannot be joined. Of those that are left, the shares of word triples are found
exactly, and batches are left out once more. All loops over columns are a few vector instructions each.
"""

import numpy as np

from accord.kernels.compiling import ZERO, helper, kernel
from accord.kernels.mail.pairs import N_PADDED, N_TEXTS, above, equal_bins, n_equal, without_zeros
from accord.kernels.mail.text import N_BINS

STEPS = 256  # of the scale of a number
ODD = N_PADDED - 1  # the column that tells numbers too large for steps; there are fewer numbers than columns
MARGIN = 1e-4  # rounding must not cost a batch that reaches zero exactly


@helper
def _coarsen(numbers, i, coarse, k, odd):
    """Write row ``i`` of ``numbers`` in steps to row ``k`` of ``coarse``; ``odd`` stands for numbers too large."""
    coarse[k, ODD] = 0
    for m in range(ODD):
        steps = np.rint(numbers[i, m] * STEPS)
        if 0 <= steps < 32768:  # neither too large, nor negative or no number, which only a damaged signature has
            coarse[k, m] = np.int16(steps)
        else:
            coarse[k, m] = 0
            coarse[k, ODD] = odd


@kernel
def coarse_numbers(numbers, coarse):
    """All rows of ``numbers`` (n, 32) in steps."""
    for k in range(numbers.shape[0]):
        _coarsen(numbers, k, coarse, k, STEPS)


@helper
def _copy(column, rows, k):
    for m in range(rows.shape[1]):
        rows[k, m] = column[0, m]


@kernel
def put_row(mail, rows, coarse, k):
    """Copy the one row of ``mail`` to row ``k`` of a window, and its numbers in steps."""
    _copy(mail.marks, rows.marks, k)
    _copy(mail.tags, rows.tags, k)
    _copy(mail.numbers, rows.numbers, k)
    _copy(mail.words, rows.words, k)
    _copy(mail.bigrams, rows.bigrams, k)
    _copy(mail.single, rows.single, k)
    _copy(mail.triples, rows.triples, k)
    _copy(mail.sets, rows.sets, k)
    _copy(mail.subject, rows.subject, k)
    _copy(mail.lengths, rows.lengths, k)
    _coarsen(mail.numbers, ZERO, coarse, k, STEPS)


@helper
def most_of(weight, weight_above, threshold):
    """The most that a value c adds by ``w c + w' (c - t) / (1 - t)`` above ``t``: it is largest at 0, t or 1."""
    return max(0.0, weight * threshold, weight + weight_above)


@helper
def _steps_apart(a, coarse, k, weights):
    """Weighted sum of differences of numbers, each at most one scale, in steps and units of the weights."""
    total = np.int32(0)
    for m in range(N_PADDED):
        apart = np.int16(abs(np.int16(a[m] - coarse[k, m])))
        total = np.int32(total + np.int32(np.int32(min(apart, np.int16(STEPS))) * np.int32(weights[m])))
    return total


@helper
def _equal_tags(a, tags, k, weights):
    total = np.uint8(0)
    for m in range(tags.shape[1]):
        total = np.uint8(total + (weights[m] if a[m] == tags[k, m] else np.uint8(0)))
    return total


@helper
def _number_weights(weights, out):
    """Fill the weights of differences of numbers; returns their unit, and the most by which a bound is too low."""
    size = np.abs(weights).sum()
    unit = max(size / 32767.0, 1e-300)
    out[:] = 0
    for m in range(weights.size):
        out[m] = np.int16(np.rint(weights[m] / unit))
    out[ODD] = -np.int16(size / unit)  # a number that is too large may be as near or as far as it likes
    return unit / STEPS, size / STEPS + N_PADDED * unit


@helper
def _tag_weights(new, weights, tags, out):
    """Fill the tags of the new mail and the weights of those that count, rounded up; returns their unit."""
    unit = max(np.maximum(weights, 0.0).sum() / (255.0 - N_PADDED), 1e-300)  # all together are below 256
    for m in range(N_PADDED):
        tags[m], out[m] = 0, 0
        if m < weights.size and new.marks[0, m] != 0:
            tags[m] = new.tags[0, m]
            out[m] = np.uint8(np.ceil(max(weights[m], 0.0) / unit - 1e-9))
    return unit


@helper
def drop_hopeless(rows, n_rows, places, bounds, sums):
    """Keep the rows of batches whose bounds sum up to zero. Returns their number."""
    for r in range(n_rows):
        sums[places[rows[r]]] = 0.0
    for r in range(n_rows):
        sums[places[rows[r]]] += bounds[rows[r]]
    kept = 0
    for r in range(n_rows):
        if sums[places[rows[r]]] >= -MARGIN:
            rows[kept] = rows[r]
            kept += 1
    return kept


@helper
def _compare_all(numbers, steps, coarse, tags, w_tags, others, single, bins, n_rows, apart, equal, shared):
    """Fill what is found by whole numbers of each row. One loop each: all in one would not be vector instructions."""
    for k in range(n_rows):
        apart[k] = _steps_apart(numbers, coarse, k, steps)
    for k in range(n_rows):
        equal[k] = _equal_tags(tags, others, k, w_tags)
    for k in range(n_rows):
        shared[k] = n_equal(single, bins, k)


@helper
def hopeful_rows(new, window, coarse, n_rows, places, weights, bias, high, rest, rows, bounds, sums):
    """Fill ``rows`` with those of batches that may reach zero, and return their number.

    ``rest`` is the most that bigrams, sets and subjects add to a pair; for the others see `best_batch`.
    """
    n_marks, n_numbers = new.marks.shape[1], weights.size - new.marks.shape[1] - N_TEXTS - new.sets.shape[1] // 2 - 1
    w_numbers, w_texts = weights[n_marks : n_marks + n_numbers], weights[n_marks + n_numbers :]
    coarse_new, steps = np.empty((1, N_PADDED), np.int16), np.empty(N_PADDED, np.int16)
    _coarsen(new.numbers, ZERO, coarse_new, ZERO, -STEPS)
    unit_steps, slack = _number_weights(w_numbers, steps)
    tags, w_tags = np.empty(N_PADDED, np.uint8), np.empty(N_PADDED, np.uint8)
    unit_tags = _tag_weights(new, weights[:n_marks], tags, w_tags)
    single, triples = without_zeros(new.single, ZERO), without_zeros(new.triples, ZERO)
    most_triples = most_of(w_texts[6], w_texts[7], high[3])
    most = bias + w_numbers.sum() + slack + most_of(w_texts[0], w_texts[1], high[0]) + most_triples + rest
    parts = 1.0 / np.maximum(np.arange(N_BINS + 1), 1)
    w_high, n_single = w_texts[5] / (1.0 - high[2]), new.lengths[0, 0]
    apart, equal, shared = np.empty(n_rows, np.int32), np.empty(n_rows, np.uint8), np.empty(n_rows, np.uint8)
    _compare_all(
        coarse_new[0], steps, coarse, tags, w_tags, window.tags, single, window.single, n_rows, apart, equal, shared
    )
    w_shared, threshold = w_texts[4], high[2]
    for k in range(n_rows):
        share = shared[k] * parts[max(n_single, window.lengths[k, 0])]
        bound = most + w_shared * share + w_high * max(0.0, share - threshold)
        bounds[k] = bound + unit_tags * equal[k] - unit_steps * apart[k]
    sums[:] = 0.0
    for k in range(n_rows):
        if places[k] >= 0:
            sums[places[k]] += bounds[k]
    kept = ZERO
    for k in range(n_rows):
        rows[kept] = k
        kept += places[k] >= 0 and sums[places[k]] >= -MARGIN
    for r in range(kept):
        k = rows[r]
        share = equal_bins(triples, window.triples, k, new.lengths[0, 1], window.lengths[k, 1])
        bounds[k] += w_texts[6] * share + w_texts[7] * above(share, high[3]) - most_triples
    return drop_hopeless(rows, kept, places, bounds, sums)
