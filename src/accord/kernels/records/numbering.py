"""Numbers for keys by first appearance, kept in a hash table of arrays."""

import numpy as np

from accord.kernels.compiling import kernel

_GOLDEN, _32 = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)


@kernel
def number(keys, known, numbers, n_known, out, fresh):
    """The number of every key to ``out``, and the places of those that are new to ``fresh``; returns how many are.

    ``numbers`` has -1 in free places of the table, of which there have to be more than keys; its size is a power of 2.
    """
    last, n_fresh = known.size - 1, 0
    for k in range(keys.size):
        place = np.int64(np.uint64(keys[k]) * _GOLDEN >> _32) & last
        while numbers[place] >= 0 and known[place] != keys[k]:
            place = (place + 1) & last
        if numbers[place] < 0:
            known[place], numbers[place] = keys[k], n_known + n_fresh
            fresh[n_fresh] = k
            n_fresh += 1
        out[k] = numbers[place]
    return n_fresh
