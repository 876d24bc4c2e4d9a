"""What generative learners ask of feature values: squares, means and variances, and whether they are truth values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from accord.exceptions import InputError
from accord.packed.rows import Rows, as_table


def squared(rows: Rows) -> Rows:
    """The same rows with every feature squared (slots never share a feature, so squaring the table is enough)."""
    rows = rows.merged()  # one table, also if they come from several views
    if isinstance(rows.table, np.ndarray):
        return replace(rows, table=rows.table**2, shared=False)
    table = rows.table.copy()
    table.sum_duplicates()  # a feature that is listed twice in a row counts as the sum
    return replace(rows, table=as_table(table.power(2)), shared=False)


def moments(parts: list[Rows]) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance (n_dims,) of every feature over all rows, each as much as its input counts."""
    each = [rows.row_weights()[:, None] for rows in parts]
    n = float(sum(weights.sum() for weights in each)) or 1.0
    mean = sum(rows.transpose_scores(weights)[:, 0] for rows, weights in zip(parts, each)) / n
    square = sum(squared(rows).transpose_scores(weights)[:, 0] for rows, weights in zip(parts, each)) / n
    return np.asarray(mean), np.maximum(np.asarray(square - mean**2), 0.0)


def check_bernoulli(rows: Rows) -> None:
    """Refuse features that are no truth values or probabilities."""
    values = rows.table if isinstance(rows.table, np.ndarray) else rows.table.data
    if values.size and (values.min() < 0 or values.max() > 1):
        odd = float(values.max() if values.max() > 1 else values.min())
        raise InputError(
            f'X has a feature with the value {odd:g}, but emission="bernoulli" takes features between 0 and 1; '
            'use emission="gaussian" for real-valued features'
        )
