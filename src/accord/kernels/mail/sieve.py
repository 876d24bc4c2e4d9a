"""A first look at all mails of a window, which leaves a few of them: a bound of each similarity, from 160 bytes a mail.

What a mail can at most add to the sum of its batch is found from its words' bins, from one byte of each mark (`tags`)
and from its numbers in steps; whatever else is compared counts as the best that it could be. Batches whose bounds sum
up below zero cannot be joined. Of those that are left, the shares of equal bins and of word triples are found exactly,
and batches are left out once more.

What is looked at is kept column by column: a loop over mails with one value of the new mail adds up sixteen or thirty-
two mails at a time, where a loop over the columns of one mail would spend its time on adding up a single register.
There are no products in these loops. Numbers are kept times their weights instead, and shares are looked up: long rows
of products make a processor lower its clock for a while, which cost as much in the rest of the work as was won here.
"""

from typing import NamedTuple

import numpy as np

from accord.kernels.compiling import ZERO, helper, kernel
from accord.kernels.mail.pairs import N_PADDED, N_TEXTS, Signatures, above, equal_bins, n_equal, without_zeros
from accord.kernels.mail.text import N_BINS

ALL_STEPS = 16383  # of all weights together
ODD = N_PADDED - 1  # the column that tells numbers too large for steps; there are fewer numbers than columns
MARGIN = 1e-4  # rounding must not cost a batch that reaches zero exactly
BLOCK = 1024  # mails whose sums stay in the nearest cache


class Columns(NamedTuple):
    """What the first look sees of a window, block by block, in one column for each of its mails."""

    numbers: np.ndarray  # (blocks, 32, BLOCK) int16, in steps
    tags: np.ndarray  # (blocks, 32, BLOCK) uint8
    single: np.ndarray  # (blocks, 64, BLOCK) uint8
    weights: np.ndarray  # (32,) int16, of numbers, in steps: what a difference of one scale or more adds
    step: float  # what a step adds to a bound


def columns_of(rows: Signatures, weights: np.ndarray) -> Columns:
    """The columns of signatures; ``weights`` are those of all features."""
    n_blocks, n_marks = -(-len(rows.numbers) // BLOCK), rows.marks.shape[1]
    of_numbers = weights[n_marks : len(weights) - 1 - rows.sets.shape[1] // 2 - N_TEXTS]
    step = max(float(np.abs(weights).sum()), 1e-300) / ALL_STEPS
    in_steps = np.zeros(N_PADDED, np.int16)
    in_steps[: len(of_numbers)] = np.rint(of_numbers / step)
    in_steps[ODD] = -np.abs(in_steps).sum()  # a number that is too large may be as near or as far as it likes
    columns = Columns(
        np.empty((n_blocks, N_PADDED, BLOCK), np.int16),
        np.empty((n_blocks, N_PADDED, BLOCK), np.uint8),
        np.empty((n_blocks, N_BINS, BLOCK), np.uint8),
        in_steps,
        step,
    )
    _put_all(rows, columns)
    return columns


@helper
def _in_steps(numbers, i, weights, odd, out, k):
    """Write row ``i`` of ``numbers`` in steps to ``out[:, k]``; ``odd`` stands for numbers too large."""
    out[ODD, k] = ZERO
    for m in range(ODD):
        steps = np.rint(numbers[i, m] * abs(np.float64(weights[m])))
        if 0 <= steps < 32768:  # neither too large, nor negative or no number, which only a damaged signature has
            out[m, k] = np.int16(steps)
        else:
            out[m, k] = 0
            out[ODD, k] = odd


@helper
def _put_column(rows, i, columns, k):
    block, at = k // BLOCK, k % BLOCK
    _in_steps(rows.numbers, i, columns.weights, -columns.weights[ODD], columns.numbers[block], at)
    for m in range(N_PADDED):
        columns.tags[block, m, at] = rows.tags[i, m]
    for m in range(N_BINS):
        columns.single[block, m, at] = rows.single[i, m]


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
def _tag_weights(new, weights, step, out, most):
    """Fill the weights of the marks that the new mail has, in units, and the steps that so many units add at most."""
    unit = max(np.maximum(weights, 0.0).sum() / (255.0 - N_PADDED), 1e-300)  # all together are below 256
    out[:] = 0
    for m in range(weights.size):
        if new.marks[0, m] != 0:
            out[m] = np.uint8(np.ceil(max(weights[m], 0.0) / unit - 1e-9))
    for k in range(most.size):
        most[k] = np.int32(np.ceil(k * unit / step))


@helper
def _most_by_shared(n_new, weight, weight_above, threshold, step, most):
    """Fill the steps that so many equal bins add at most if the new mail has ``n_new``, and the other no more."""
    most[0] = 0
    for k in range(1, most.size):
        share = min(1.0, k / np.float64(max(n_new, 1)))
        more = weight * share + weight_above * above(share, threshold)
        most[k] = max(most[k - 1], np.int32(np.ceil(more / step)))  # with more bins the share would be smaller


@helper
def _add_apart(value, column, most, apart):
    """Add the difference of a number, at most ``most``."""
    for k in range(column.size):
        apart[k] = np.int16(apart[k] + np.int16(min(np.int16(abs(np.int16(value - column[k]))), most)))


@helper
def _take_apart(value, column, most, apart):
    """Take the difference of a number, at most ``most``."""
    for k in range(column.size):
        apart[k] = np.int16(apart[k] - np.int16(min(np.int16(abs(np.int16(value - column[k]))), most)))


@helper
def _add_equal(value, column, weight, equal):
    for k in range(column.size):
        equal[k] = np.uint8(equal[k] + (weight if column[k] == value else np.uint8(0)))


@helper
def _bound_block(most_by_shared, shared, most_by_equal, equal, apart, out):
    for k in range(out.size):
        out[k] = most_by_shared[shared[k]] + most_by_equal[equal[k]] - np.int32(apart[k])


@helper
def _open_batches(n_rows, places, bounds, least, rows):
    """Fill ``rows`` with those of batches with a bound of ``least`` or more: no others reach zero. Their number."""
    is_open = np.zeros(places.size + 1, np.uint8)  # by place, and what takes no part, at place -1, first
    for k in range(n_rows):
        if bounds[k] >= least:
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
def _fill_bounds(new, columns, n_rows, weights, most_by_shared, bounds):
    """Fill ``bounds`` of all mails, in steps: what tags, numbers and bins add at most to the sum of number weights."""
    n_marks, size = new.marks.shape[1], columns.weights
    numbers = np.empty((N_PADDED, 1), np.int16)
    _in_steps(new.numbers, ZERO, size, size[ODD], numbers, ZERO)
    w_tags, most_by_equal = np.empty(N_PADDED, np.uint8), np.empty(256, np.int32)
    _tag_weights(new, weights[:n_marks], columns.step, w_tags, most_by_equal)
    apart, equal, shared = np.empty(BLOCK, np.int16), np.empty(BLOCK, np.uint8), np.empty(BLOCK, np.uint8)
    for start in range(0, n_rows, BLOCK):
        end, block = min(start + BLOCK, n_rows), start // BLOCK
        n = end - start
        a, e, s = apart[:n], equal[:n], shared[:n]
        a[:], e[:], s[:] = 0, 0, 0
        for m in range(N_PADDED):
            if size[m] > 0:
                _add_apart(numbers[m, 0], columns.numbers[block, m, :n], size[m], a)
            elif size[m] < 0:
                _take_apart(numbers[m, 0], columns.numbers[block, m, :n], np.int16(-size[m]), a)
            if w_tags[m] != 0:
                _add_equal(new.tags[0, m], columns.tags[block, m, :n], w_tags[m], e)
        for m in range(N_BINS):
            if new.single[0, m] != 0:
                _add_equal(new.single[0, m], columns.single[block, m, :n], np.uint8(1), s)
        _bound_block(most_by_shared, s, most_by_equal, e, a, bounds[start:end])


@helper
def hopeful_rows(new, window, columns, n_rows, places, weights, bias, high, rest, rows, bounds, scores, sums):
    """Fill ``rows`` with those of batches that may reach zero, and return their number.

    ``rest`` is the most that bigrams, sets and subjects add to a pair; for the others see `best_batch`.
    """
    n_marks, at = new.marks.shape[1], weights.size - 1 - new.sets.shape[1] // 2 - N_TEXTS
    w_texts, step = weights[at:], columns.step
    most = bias + weights[n_marks:at].sum() + most_of(w_texts[0], w_texts[1], high[0]) + rest
    most += 2 * N_PADDED * step  # each number and its weight are rounded
    most_triples = most_of(w_texts[6], w_texts[7], high[3])
    most_by_shared = np.empty(N_BINS + 1, np.int32)
    _most_by_shared(new.lengths[0, 0], w_texts[4], w_texts[5], high[2], step, most_by_shared)
    _fill_bounds(new, columns, n_rows, weights, most_by_shared, bounds)
    kept = _open_batches(n_rows, places, bounds, (-MARGIN - most - most_triples) / step, rows)
    single, triples = without_zeros(new.single, ZERO), without_zeros(new.triples, ZERO)
    for r in range(kept):
        scores[rows[r]] = step * bounds[rows[r]] + most
    kept = drop_hopeless(rows, kept, places, scores, most_triples, sums)
    for r in range(kept):
        k = rows[r]
        n_shared = n_equal(single, window.single, k)
        share = n_shared / max(new.lengths[0, 0], window.lengths[k, 0], 1)
        scores[k] += w_texts[4] * share + w_texts[5] * above(share, high[2]) - step * most_by_shared[n_shared]
        share = equal_bins(triples, window.triples, k, new.lengths[0, 1], window.lengths[k, 1])
        scores[k] += w_texts[6] * share + w_texts[7] * above(share, high[3])
    return drop_hopeless(rows, kept, places, scores, 0.0, sums)
