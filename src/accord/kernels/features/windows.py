"""Where a token stands: its neighbours in a window, and whether brackets or quotes enclose it (Table 5.4)."""

import numpy as np

from accord.kernels.compiling import kernel

# What a token does to a pair of marks. The role of a mark of pair m is 4 * m + OPENS, + CLOSES or + TOGGLES.
NOTHING, OPENS, CLOSES, TOGGLES = 0, 1, 2, 3


def window_slots(units, offsets, before, after, outside, slots, first_column):
    """Fill ``slots[:, first_column:]``: the unit at every position of a window, ``outside`` beyond the input."""
    lengths = np.diff(offsets)
    rows = np.arange(units.size)
    place, left = rows - np.repeat(offsets[:-1], lengths), np.repeat(offsets[1:], lengths) - rows
    n = units.size
    for shift in range(-before, after + 1):
        column = slots[:, first_column + before + shift]
        if shift < 0:
            column[-shift:] = units[: max(n + shift, 0)]
            column[place < -shift] = outside
        else:
            column[: max(n - shift, 0)] = units[shift:]
            column[left <= shift] = outside


@kernel
def _add_enclosed(units, offsets, roles, last_open, opened_before, change, slots):
    """Add 4 to ``slots[:, 0]`` where a token is enclosed.

    ``last_open`` is the innermost open mark of each pair, ``opened_before`` the open mark around an open mark,
    ``change`` that of the number of enclosing pairs.
    """
    for i in range(offsets.size - 1):
        start, n = offsets[i], offsets[i + 1] - offsets[i]
        for pair in range(last_open.size):
            last_open[pair] = -1
        for t in range(n):
            change[t] = 0
        for t in range(n):
            role = roles[units[start + t]]
            pair, act = role // 4, role % 4
            if act == OPENS or (act == TOGGLES and last_open[pair] < 0):
                opened_before[t] = last_open[pair]
                last_open[pair] = t
            elif act != NOTHING and last_open[pair] >= 0:
                change[last_open[pair] + 1] += 1
                change[t] -= 1
                last_open[pair] = opened_before[last_open[pair]]
        depth = 0
        for t in range(n):
            depth += change[t]
            slots[start + t, 0] += 4 * (depth > 0)


def position_units(units, offsets, roles, n_pairs, slots):
    """Fill ``slots[:, 0]`` with 1 (first of the input) + 2 (last) + 4 (enclosed); ``roles`` has one entry per unit.

    A token is enclosed if it stands between an opening mark and the closing mark that belongs to it: the next one of
    its pair that no later opening mark claims. Marks without a partner in the same input enclose nothing.
    """
    lengths = np.diff(offsets)
    slots[:, 0] = 0
    slots[offsets[:-1][lengths > 0], 0] += 1
    slots[offsets[1:][lengths > 0] - 1, 0] += 2
    if roles[units].any():
        longest = int(lengths.max())
        buffers = (np.empty(size, np.int64) for size in (n_pairs, longest, longest))
        _add_enclosed(units, offsets, roles, *buffers, slots)
