"""The tree of a packed forest that violates a margin most, exactly, for losses that count constituents.

The best score of every node is kept for each number of constituents below it, and of right ones among these: a *level*.
The loss is the same for all trees of a level, so the best level at the top is the most violating tree. Two nodes are
joined level by level, which takes as many steps as both have levels, multiplied. Therefore edges that cannot be part of
a tree better than the best one known are left out first: whatever its loss, such a tree would need a higher score.
"""

import numpy as np

from accord.kernels.compiling import helper

NEG_INF = -np.inf
ROUNDING = 1e-10  # sums in another order may differ by that


@helper
def keep_edges(forest, start, least, keep):
    """Mark the edges that are part of some tree with a score above ``least``; ``forest.value`` are the best scores."""
    span, edge, score, value = forest.span, forest.edge, forest.score, forest.value
    least -= ROUNDING * max(1.0, abs(least))
    outside = np.full(value.size, NEG_INF)
    for i in range(span[1, 2]):
        outside[i] = start[forest.symbol[i]]
    for k in range(span.shape[0] - 1):
        for e in range(span[k, 3], span[k + 1, 3]):
            left, right, here = edge[e, 1], edge[e, 2], outside[edge[e, 0]] + score[e]
            keep[e] = here + value[left] + value[right] > least
            if keep[e]:
                outside[left] = max(outside[left], here + value[right])
                outside[right] = max(outside[right], here + value[left])


@helper
def _limits(forest, keep, low, high):
    """Fewest and most constituents, and right ones, below every node (n_nodes, 2).

    A node without edges has -1 at most, and so has, for rounding, sometimes a node below an edge that is kept: then it
    is kept no longer.
    """
    span, edge = forest.span, forest.edge
    for k in range(span.shape[0] - 2, -1, -1):
        is_leaf = span[k, 1] - span[k, 0] == 1
        for i in range(span[k, 2], span[k + 1, 2]):
            for c in range(2):
                low[i, c], high[i, c] = (0, 0) if is_leaf else (1 << 30, -1)
        for e in range(span[k, 3], span[k + 1, 3]):
            node, left, right = edge[e, 0], edge[e, 1], edge[e, 2]
            keep[e] &= high[left, 0] >= 0 and high[right, 0] >= 0
            if keep[e]:
                for c in range(2):
                    low[node, c] = min(low[node, c], low[left, c] + low[right, c])
                    high[node, c] = max(high[node, c], high[left, c] + high[right, c])
        for i in range(span[k, 2], span[k + 1, 2]):
            if high[i, 0] >= 0:
                low[i, 0] += forest.n_labels[i]
                high[i, 0] += forest.n_labels[i]
                low[i, 1] += forest.n_matched[i]
                high[i, 1] += forest.n_matched[i]


@helper
def _join(lefts, rights, score, n_left, n_right, n_own, shift, own):
    """Raise the levels of a node to those of the trees of one edge; levels are rows of ``n`` numbers of right ones."""
    for a in range(lefts.size // n_left):
        for b in range(n_left):
            v = lefts[a * n_left + b]
            if v == NEG_INF:
                continue
            for c in range(rights.size // n_right):
                to = (a + c) * n_own + b + shift
                for d in range(n_right):
                    s = v + rights[c * n_right + d] + score
                    if s > own[to + d]:
                        own[to + d] = s


@helper
def _shift(forest, low, node, left, right):
    """Where the first levels of two nodes lead to, among those of the node above them: (constituents, right ones)."""
    found = low[left, 0] + low[right, 0] + forest.n_labels[node] - low[node, 0]
    return found, low[left, 1] + low[right, 1] + forest.n_matched[node] - low[node, 1]


@helper
def write_level(forest, keep, low, high, first, table, node, level, tree):
    """Write the tree of a level of a node over the whole sentence: the way down finds the best edges again."""
    span, edge = forest.span, forest.edge
    span_of = np.empty(low.shape[0], np.int64)
    for k in range(span.shape[0] - 1):
        for i in range(span[k, 2], span[k + 1, 2]):
            span_of[i] = k
    stack = np.empty((tree.shape[0] + 1, 2), np.int64)
    stack[0, 0], stack[0, 1] = node, level
    size = 1
    while size > 0:
        size -= 1
        node, level = stack[size]
        k = span_of[node]
        if span[k, 1] - span[k, 0] == 1:
            tree[span[k, 0], 0] = forest.symbol[node]
            continue
        n_own, wanted, found = high[node, 1] - low[node, 1] + 1, table[first[node] + level], False
        for e in range(span[k, 3], span[k + 1, 3]):
            if found or not keep[e] or edge[e, 0] != node:
                continue
            left, right = edge[e, 1], edge[e, 2]
            n_left, n_right = high[left, 1] - low[left, 1] + 1, high[right, 1] - low[right, 1] + 1
            more_found, more_both = _shift(forest, low, node, left, right)
            for i in range(first[left + 1] - first[left]):
                # the level that the right child must have
                a, b = level // n_own - more_found - i // n_left, level % n_own - more_both - i % n_left
                if found or not (0 <= a <= high[right, 0] - low[right, 0] and 0 <= b < n_right):
                    continue
                j = a * n_right + b
                if table[first[left] + i] + table[first[right] + j] + forest.score[e] == wanted:
                    found = True
                    tree[edge[e, 4], 1], tree[edge[e, 4], 2], tree[edge[e, 4], 3] = edge[e, 3], span[k, 0], span[k, 1]
                    stack[size, 0], stack[size, 1] = left, i
                    stack[size + 1, 0], stack[size + 1, 1] = right, j
            size += 2 * found


@helper
def fill_levels(forest, keep, low, high, first, table):
    """The best score of every level of every node: node ``i`` has those from ``first[i]`` on."""
    span, edge = forest.span, forest.edge
    for i in range(table.size):
        table[i] = NEG_INF
    for k in range(span.shape[0] - 2, -1, -1):
        if span[k, 1] - span[k, 0] == 1:
            for i in range(span[k, 2], span[k + 1, 2]):
                table[first[i]] = forest.leaf_score[i]
        for e in range(span[k, 3], span[k + 1, 3]):
            if keep[e]:
                node, left, right = edge[e, 0], edge[e, 1], edge[e, 2]
                n_own = high[node, 1] - low[node, 1] + 1
                more_found, more_both = _shift(forest, low, node, left, right)
                _join(
                    table[first[left] : first[left + 1]], table[first[right] : first[right + 1]], forest.score[e],
                    high[left, 1] - low[left, 1] + 1, high[right, 1] - low[right, 1] + 1, n_own,
                    more_found * n_own + more_both, table[first[node] : first[node + 1]],
                )  # fmt: skip


@helper
def new_levels(forest, keep):
    """(fewest and most constituents and right ones below every node, where its levels begin)."""
    n_nodes = forest.symbol.size
    low, high = np.empty((n_nodes, 2), np.int64), np.empty((n_nodes, 2), np.int64)
    _limits(forest, keep, low, high)
    first = np.zeros(n_nodes + 1, np.int64)
    for i in range(n_nodes):
        size = 0 if high[i, 0] < 0 else (high[i, 0] - low[i, 0] + 1) * (high[i, 1] - low[i, 1] + 1)
        first[i + 1] = first[i] + size
    return low, high, first
