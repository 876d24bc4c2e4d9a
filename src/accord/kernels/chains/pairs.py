"""Rows that have scores of pairs of labels, beside those of labels: transitions then depend on the input.

A row of scores has a column for each of ``L`` labels and, only if asked for, behind them ``L * L`` more: column
``L + b * L + c`` is added to the score of moving from label ``b`` to label ``c`` at this row. Those of a first row,
which nothing comes before, do not count. What chains know about such columns is in this file: whoever scores outputs
has :func:`set_moves` write the scores of the moves into each row, where rows have such columns, and whoever adds up
features asks :func:`add_columns` for the columns of an output. Forward-backward alone multiplies probabilities itself.
"""

import numpy as np

from accord.kernels.compiling import helper


@helper
def moves_of(unary, step, n_labels):
    """The scores (A, B, L) of moves: ``step``, or room for those of one row after the other (:func:`set_moves`)."""
    return np.empty_like(step) if unary.shape[1] > n_labels else step


@helper
def set_moves(unary, t, step, n_labels, moves):
    """Write the scores of moving into row ``t``, which has scores of pairs, into ``moves``."""
    pairs = unary[t]
    for a in range(step.shape[0]):
        for b in range(step.shape[1]):
            before = n_labels * (1 + (a if step.shape[0] == n_labels else b))
            for c in range(n_labels):
                moves[a, b, c] = step[a, b, c] + pairs[before + c]


@helper
def pair_score(unary, t, labels, n_labels):
    """What row ``t`` adds to the score of an output for its pair of labels."""
    if unary.shape[1] == n_labels or t == 0:
        return 0.0
    return unary[t, n_labels * (1 + labels[t - 1]) + labels[t]]


@helper
def add_columns(labels, t, amount, pair_amount, n_labels, per_column):
    """Add to the columns that an output has at row ``t``: that of its label and, if there is one, that of its pair."""
    per_column[labels[t]] += amount
    if per_column.size > n_labels and t > 0:
        per_column[n_labels * (1 + labels[t - 1]) + labels[t]] += pair_amount


@helper
def differ_at(one, other, t, n_columns, n_labels):
    """Whether two outputs have different columns at row ``t``."""
    return one[t] != other[t] or (n_columns > n_labels and t > 0 and one[t - 1] != other[t - 1])
