"""Joint features as sparse vectors: the features of rows, at the nodes that an output has there."""

import numpy as np

from accord.kernels.compiling import kernel


@kernel
def expand_nodes(features, first_row, nodes, signs, n_nodes):
    """Flat indices and values of (row, node) pairs times their signs; a weight may be listed several times."""
    size = 0
    dense = features.indptr.size == 0
    for e in range(nodes.shape[0]):
        for k in range(features.slots.shape[1]):
            unit = features.slots[first_row + nodes[e, 0], k]
            size += features.dense.shape[1] if dense else features.indptr[unit + 1] - features.indptr[unit]
    indices, values = np.empty(size, np.int64), np.empty(size)
    used = 0
    for e in range(nodes.shape[0]):
        for k in range(features.slots.shape[1]):
            unit = features.slots[first_row + nodes[e, 0], k]
            base, stride = features.base[k], features.stride[k]
            first = 0 if dense else features.indptr[unit]
            last = features.dense.shape[1] if dense else features.indptr[unit + 1]
            for p in range(first, last):
                x = features.dense[unit, p] if dense else features.data[p]
                f = base + (p if dense else features.indices[p]) * stride
                indices[used], values[used] = f * n_nodes + nodes[e, 1], signs[e] * x
                used += 1
    return indices, values
