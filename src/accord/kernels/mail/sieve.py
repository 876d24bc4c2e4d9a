"""A first look at all mails of a window, which leaves a few of them: a bound of each similarity, from 160 bytes a mail.

What a mail can at most add to the sum of its batch is found from its words' bins, from one byte of each mark (`tags`)
and from its numbers in steps of 1/255; whatever else is compared counts as the best that it could be. Batches whose
bounds sum up below zero cannot be joined. Of those that are left, the shares of word triples are found exactly, and
batches are left out once more.

What is looked at is kept column by column: a loop over mails with one value of the new mail adds up sixteen or thirty-
two mails at a time, where a loop over the columns of one mail would spend its time on adding up a single register.
"""

from typing import NamedTuple

import numpy as np

from accord.kernels.compiling import ZERO, helper, kernel
from accord.kernels.mail.pairs import N_PADDED, N_TEXTS, above, equal_bins, without_zeros
from accord.kernels.mail.text import N_BINS

STEPS = 255  # of the scale of a number
ODD = N_PADDED - 1  # the column that tells numbers too large for steps; there are fewer numbers than columns
MARGIN = 1e-4  # rounding must not cost a batch that reaches zero exactly
BLOCK = 1024  # mails whose sums stay in the nearest cache
ROUNDING = 1e-6  # of the sum of weights, by which a bound in single precision may be too low
_SHIFT = 9  # a weight of 16 bits by steps, with its lowest bits cut off, has 16 bits again


class Columns(NamedTuple):
    """What the first look sees of a window, one column for each of its mails."""

    numbers: np.ndarray  # (32, n) int16, in steps
    tags: np.ndarray  # (32, n) uint8
    single: np.ndarray  # (64, n) uint8
    parts: np.ndarray  # (n,) float32, one by the number of bins that are filled


def columns_of(rows) -> Columns:
    """The columns of signatures."""
    n = len(rows.numbers)
    columns = Columns(
        np.empty((N_PADDED, n), np.int16),
        np.empty((N_PADDED, n), np.uint8),
        np.empty((N_BINS, n), np.uint8),
        np.empty(n, np.float32),
    )
    _put_all(rows, columns)
    return columns


@helper
def _in_steps(numbers, i, odd, out, k):
    """Write row ``i`` of ``numbers`` in steps to ``out[:, k]``; ``odd`` stands for numbers too large."""
    out[ODD, k] = 0
    for m in range(ODD):
        steps = np.rint(numbers[i, m] * STEPS)
        if 0 <= steps < 32768:  # neither too large, nor negative or no number, which only a damaged signature has
            out[m, k] = np.int16(steps)
        else:
            out[m, k] = 0
            out[ODD, k] = odd


@helper
def _put_column(rows, i, columns, k):
    _in_steps(rows.numbers, i, STEPS, columns.numbers, k)
    for m in range(N_PADDED):
        columns.tags[m, k] = rows.tags[i, m]
    for m in range(N_BINS):
        columns.single[m, k] = rows.single[i, m]
    columns.parts[k] = 1.0 / max(rows.lengths[i, 0], 1)


@kernel
def _put_all(rows, columns):
    for k in range(rows.numbers.shape[0]):
        _put_column(rows, k, columns, k)


@helper
def _copy(column, rows, k):
    for m in range(rows.shape[1]):
        rows[k, m] = column[0, m]


@kernel
def put_row(mail, rows, columns, k):
    """Copy the one row of ``mail`` to row ``k`` of a window, and to its columns."""
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
    _put_column(mail, ZERO, columns, k)


@helper
def most_of(weight, weight_above, threshold):
    """The most that a value c adds by ``w c + w' (c - t) / (1 - t)`` above ``t``: it is largest at 0, t or 1."""
    return max(0.0, weight * threshold, weight + weight_above)


@helper
def _number_weights(weights, out):
    """Fill the weights of differences of numbers; returns their unit, and the most by which a bound is too low."""
    size = np.abs(weights).sum()
    unit = max(size / 32767.0, 1e-300)
    out[:] = 0
    for m in range(weights.size):
        out[m] = np.int16(np.rint(weights[m] / unit))
    out[ODD] = -np.int16(size / unit)  # a number that is too large may be as near or as far as it likes
    return unit * (1 << _SHIFT) / STEPS, size / STEPS + N_PADDED * unit


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
def _add_apart(value, column, weight, apart):
    """Add the difference of a number, of at most one scale, by its weight."""
    for k in range(column.size):
        steps = np.int16(min(np.int16(abs(np.int16(value - column[k]))), np.int16(STEPS)))
        steps = np.int16(steps << np.int16(16 - _SHIFT))
        apart[k] = np.int16(apart[k] + np.int16((np.int32(steps) * np.int32(weight)) >> np.int32(16)))


@helper
def _add_equal(value, column, weight, equal):
    for k in range(column.size):
        equal[k] = np.uint8(equal[k] + (weight if column[k] == value else np.uint8(0)))


@helper
def _bound_block(shared, parts, part, equal, apart, most, w_shared, w_high, threshold, unit_tags, unit_steps, out):
    for k in range(out.size):
        share = np.float32(shared[k]) * (parts[k] if parts[k] < part else part)
        over = share - threshold
        bound = most + w_shared * share + w_high * (over if over > 0 else np.float32(0))
        out[k] = bound + unit_tags * np.float32(equal[k]) - unit_steps * np.float32(apart[k])


@helper
def _open_batches(n_rows, places, bounds, rows):
    """Fill ``rows`` with those of batches with a bound that is not below zero: no others can reach it. Their number."""
    is_open = np.zeros(places.size + 1, np.uint8)  # by place, and what takes no part, at place -1, first
    for k in range(n_rows):
        if bounds[k] >= -MARGIN:
            is_open[np.uint64(places[k] + 1)] = 1
    is_open[0] = 0
    kept = np.uint64(0)
    for k in range(n_rows):
        rows[kept] = k
        kept += np.uint64(is_open[np.uint64(places[k] + 1)])
    return np.int64(kept)


@helper
def drop_hopeless(rows, n_rows, places, scores, rest, sums):
    """Keep the rows of batches whose scores, with the ``rest`` that is added at most, sum up to zero. Their number."""
    for r in range(n_rows):
        sums[places[rows[r]]] = 0.0
    for r in range(n_rows):
        sums[places[rows[r]]] += scores[rows[r]] + rest
    kept = 0
    for r in range(n_rows):
        if sums[places[rows[r]]] >= -MARGIN:
            rows[kept] = rows[r]
            kept += 1
    return kept


@helper
def _fill_bounds(new, columns, n_rows, weights, high, most, bounds):
    """Fill ``bounds`` of all mails, in single precision; ``most`` is the most that the other features add."""
    n_marks, n_numbers = new.marks.shape[1], weights.size - new.marks.shape[1] - N_TEXTS - new.sets.shape[1] // 2 - 1
    w_numbers, w_texts = weights[n_marks : n_marks + n_numbers], weights[n_marks + n_numbers :]
    numbers, w_steps = np.empty((N_PADDED, 1), np.int16), np.empty(N_PADDED, np.int16)
    _in_steps(new.numbers, ZERO, -STEPS, numbers, ZERO)
    unit_steps, slack = _number_weights(w_numbers, w_steps)
    tags, w_tags = np.empty(N_PADDED, np.uint8), np.empty(N_PADDED, np.uint8)
    unit_tags = _tag_weights(new, weights[:n_marks], tags, w_tags)
    most += w_numbers.sum() + slack + ROUNDING * np.abs(weights).sum()
    most, unit_tags, unit_steps = np.float32(most), np.float32(unit_tags), np.float32(unit_steps)
    w_shared, w_high, threshold = np.float32(w_texts[4]), np.float32(w_texts[5] / (1.0 - high[2])), np.float32(high[2])
    part = np.float32(1.0 / max(new.lengths[0, 0], 1))
    apart, equal, shared = np.empty(BLOCK, np.int16), np.empty(BLOCK, np.uint8), np.empty(BLOCK, np.uint8)
    for start in range(0, n_rows, BLOCK):
        end = min(start + BLOCK, n_rows)
        a, e, s = apart[: end - start], equal[: end - start], shared[: end - start]
        a[:], e[:], s[:] = 0, 0, 0
        for m in range(N_PADDED):
            if w_steps[m] != 0:
                _add_apart(numbers[m, 0], columns.numbers[m, start:end], w_steps[m], a)
            if w_tags[m] != 0:
                _add_equal(tags[m], columns.tags[m, start:end], w_tags[m], e)
        for m in range(N_BINS):
            if new.single[0, m] != 0:
                _add_equal(new.single[0, m], columns.single[m, start:end], np.uint8(1), s)
        _bound_block(
            s, columns.parts[start:end], part, e, a, most, w_shared, w_high, threshold, unit_tags, unit_steps,
            bounds[start:end],
        )  # fmt: skip


@helper
def hopeful_rows(new, window, columns, n_rows, places, weights, bias, high, rest, rows, bounds, sums):
    """Fill ``rows`` with those of batches that may reach zero, and return their number.

    ``rest`` is the most that bigrams, sets and subjects add to a pair; for the others see `best_batch`.
    """
    w_texts = weights[weights.size - 1 - new.sets.shape[1] // 2 - N_TEXTS :]
    most_triples = most_of(w_texts[6], w_texts[7], high[3])
    most = bias + most_of(w_texts[0], w_texts[1], high[0]) + most_triples + rest
    _fill_bounds(new, columns, n_rows, weights, high, most, bounds)
    kept = _open_batches(n_rows, places, bounds, rows)
    kept = drop_hopeless(rows, kept, places, bounds, 0.0, sums)
    triples = without_zeros(new.triples, ZERO)
    for r in range(kept):
        k = rows[r]
        share = equal_bins(triples, window.triples, k, new.lengths[0, 1], window.lengths[k, 1])
        bounds[k] += w_texts[6] * share + w_texts[7] * above(share, high[3]) - most_triples
    return drop_hopeless(rows, kept, places, bounds, 0.0, sums)
