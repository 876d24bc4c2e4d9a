"""Structured losses as the decoders take them."""

from __future__ import annotations

import numpy as np

from accord.kernels.chains.violator import COST, MACRO_F1, MICRO_F1, ZERO_ONE, Loss

# More loss levels than this per token make exact decoding by level too slow to be useful.
MAX_LEVELS_PER_TOKEN = 32


def zero_one(n_labels: int) -> Loss:
    """1 unless the whole output is right."""
    return Loss(ZERO_ONE, *_no_cost(), 0.0, False, np.ones(n_labels, np.bool_))


def f1(n_labels: int, relevant: np.ndarray, macro: bool) -> Loss:
    """1 - F1 over the relevant labels: of all counts together (micro), or averaged over labels that occur (macro)."""
    return Loss(MACRO_F1 if macro else MICRO_F1, *_no_cost(), 0.0, False, np.asarray(relevant, np.bool_))


def cost(matrix: np.ndarray, average: bool, single: bool) -> Loss:
    """Costs ``matrix[true, predicted]`` added up over rows (or averaged). ``single``: inputs have one row.

    A matrix of one column has the costs of predicting any other label: nothing is as large as labels squared then.
    """
    matrix = np.ascontiguousarray(matrix, dtype=np.float64)
    level, level_loss, unit = np.zeros((0, 0), np.int64), np.empty(0), 0.0
    if single:
        level_loss, inverse = np.unique(matrix, return_inverse=True)
        level = np.ascontiguousarray(inverse.reshape(matrix.shape).astype(np.int64))
    else:
        positive = matrix[matrix > 0]
        unit = float(positive.min()) if positive.size else 1.0
        multiples = np.round(matrix / unit)
        if np.allclose(matrix, multiples * unit, rtol=1e-12, atol=0.0) and multiples.max() <= MAX_LEVELS_PER_TOKEN:
            level = multiples.astype(np.int64)
    return Loss(COST, matrix, level, level_loss, unit, average, np.ones(matrix.shape[0], np.bool_))


def is_exact(loss: Loss, rescaling: str, norm: int) -> bool:
    """Whether loss-augmented decoding with this loss is exact (see :mod:`accord.kernels.chains.violator`)."""
    if loss.kind in (ZERO_ONE, MICRO_F1):
        return True
    if loss.kind == MACRO_F1:
        return False
    return (rescaling == "margin" and norm == 1) or loss.level.size > 0


def _no_cost() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.zeros((0, 0)), np.zeros((0, 0), np.int64), np.empty(0)
