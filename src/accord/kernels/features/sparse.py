"""Products of packed features with weights.

A row's features are the union over slots ``k`` of the table row ``slots[row, k]``, whose column ``j`` becomes feature
``base[k] + j * stride[k]``. A slot is one position of a window, or one part of a composed view. Tables are CSR arrays,
or a dense array (then ``indptr`` is empty).
"""

from typing import NamedTuple

import numpy as np

from accord.kernels.compiling import helper, inlined_helper, kernel


class Features(NamedTuple):
    """Packed features as the kernels take them."""

    indptr: np.ndarray  # (n_units + 1,) int64, empty when the table is dense
    indices: np.ndarray  # (nnz,) int32
    data: np.ndarray  # (nnz,) float64
    dense: np.ndarray  # (n_units, n_columns) float64, or (0, 0)
    slots: np.ndarray  # (n_rows, n_slots) int32: table row of each slot
    base: np.ndarray  # (n_slots,) int64
    stride: np.ndarray  # (n_slots,) int64


class Window(NamedTuple):
    """Slots ``[first, first + size)`` that are a window over neighbouring rows.

    Slot ``first + i`` of a row holds the unit that row ``row + i - before`` has in its own middle, or ``outside``. The
    features are neighbours, too: ``base[first + i] = base[first] + i`` and the stride is ``size``.
    """

    size: int  # 0: there is no window
    first: int
    before: int
    outside: int


@inlined_helper
def _add(x, values, total, size):
    """Add ``x`` times ``values`` to ``total``."""
    for z in range(size):
        total[z] += x * values[z]


@kernel
def score_rows(features, window, first_row, weights, wide, out):
    """Write the scores (n_rows, n_outputs) of one input's rows into ``out``.

    The weights of a feature at all positions of a window lie side by side, so a unit is multiplied once for all its
    places in windows (into ``wide``, (n_rows + 1, window.size * n_outputs)) and its share is added to its neighbours.
    """
    slots, indptr, indices, data = features.slots, features.indptr, features.indices, features.data
    n_out = out.shape[1]
    out[:] = 0.0
    for t in range(out.shape[0]):
        total = out[t]
        for k in range(slots.shape[1]):
            if not window.first <= k < window.first + window.size:
                # Written out: a function for this would pass all arrays of ``features`` once per token, which costs
                # more than the products themselves.
                unit = slots[first_row + t, k]
                slot_base, stride = features.base[k], features.stride[k]
                if indptr.size == 0:
                    for j in range(features.dense.shape[1]):
                        x = features.dense[unit, j]
                        if x != 0.0:
                            _add(x, weights[slot_base + j * stride], total, n_out)
                else:
                    for p in range(indptr[unit], indptr[unit + 1]):
                        _add(data[p], weights[slot_base + indices[p] * stride], total, n_out)
    if window.size > 0:
        _add_windows(features, window, first_row, weights, wide, out)


@helper
def _add_windows(features, window, first_row, weights, wide, out):
    """Add the scores of the slots that are a window; see :func:`score_rows`."""
    n_rows, n_out = out.shape
    slots, indptr, indices, data = features.slots, features.indptr, features.indices, features.data
    flat = weights.reshape(-1)
    width = window.size * n_out
    base = features.base[window.first]
    for t in range(n_rows + 1):
        unit = slots[first_row + t, window.first + window.before] if t < n_rows else window.outside
        total = wide[t]
        for z in range(width):
            total[z] = 0.0
        p, end = indptr[unit], indptr[unit + 1]
        if (end - p) % 2 == 1:  # two features at a time halve the traffic to and from the sums
            x = data[p]
            start = (base + indices[p] * window.size) * n_out
            w = flat[start : start + width]
            for z in range(width):
                total[z] = x * w[z]
            p += 1
        while p < end:
            x, x_next = data[p], data[p + 1]
            start = (base + indices[p] * window.size) * n_out
            w = flat[start : start + width]
            start = (base + indices[p + 1] * window.size) * n_out
            w_next = flat[start : start + width]
            for z in range(width):
                total[z] += x * w[z] + x_next * w_next[z]
            p += 2
    for t in range(n_rows):
        total = out[t]
        for i in range(window.size):
            there = t + i - window.before
            if there < 0 or there >= n_rows:
                there = n_rows
            share, first = wide[there], i * n_out
            for z in range(n_out):
                total[z] += share[first + z]


@kernel
def add_row(features, row, coefficients, weights):
    """Add the outer product of one row's features and ``coefficients`` (n_outputs,) to ``weights``."""
    n_out = weights.shape[1]
    for k in range(features.slots.shape[1]):
        unit = features.slots[row, k]
        base, stride = features.base[k], features.stride[k]
        if features.indptr.size == 0:
            for j in range(features.dense.shape[1]):
                x = features.dense[unit, j]
                if x != 0.0:
                    _add(x, coefficients, weights[base + j * stride], n_out)
        else:
            for p in range(features.indptr[unit], features.indptr[unit + 1]):
                _add(features.data[p], coefficients, weights[base + features.indices[p] * stride], n_out)


@kernel
def score_units(indptr, indices, data, first, base, stride, weights, out):
    """Add scores (n_units, n_outputs) of table rows ``first`` onwards, as they count in one slot, to ``out``."""
    n_out = weights.shape[1]
    for u in range(out.shape[0]):
        total = out[u]
        for p in range(indptr[first + u], indptr[first + u + 1]):
            _add(data[p], weights[base + indices[p] * stride], total, n_out)


@kernel
def add_units(indptr, indices, data, first, base, stride, coefficients, weights):
    """Transpose of :func:`score_units`: add table rows times ``coefficients`` (n_units, n_outputs) to ``weights``."""
    n_out = weights.shape[1]
    for u in range(coefficients.shape[0]):
        share = coefficients[u]
        for p in range(indptr[first + u], indptr[first + u + 1]):
            _add(data[p], share, weights[base + indices[p] * stride], n_out)


@kernel
def gather(slots, known, known_shift, extra, extra_shift, n_known, out):
    """Add the scores of its units to every row of ``out``.

    Unit ``u`` of slot ``k`` has those of ``known[u + known_shift[k]]``, or from ``n_known`` on of
    ``extra[u + extra_shift[k]]``.
    """
    for r in range(out.shape[0]):
        total = out[r]
        for k in range(slots.shape[1]):
            unit = slots[r, k]
            share = known[unit + known_shift[k]] if unit < n_known else extra[unit + extra_shift[k]]
            for z in range(total.size):
                total[z] += share[z]


@kernel
def scatter(slots, k, first, rows, out):
    """Transpose of :func:`gather` for slot ``k``: add every row (n_rows, n_outputs) to its unit."""
    for r in range(rows.shape[0]):
        total, share = out[slots[r, k] - first], rows[r]
        for z in range(rows.shape[1]):
            total[z] += share[z]
