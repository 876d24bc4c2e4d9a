"""The k best trees of a sentence by lazy enumeration (Huang and Chiang 2005, Algorithm 3).

The list of a node's best trees grows only as far as it is asked for. A tree of a node is an edge and the ranks of the
trees below it on either side; its neighbours are the next one on the right and, from rank 0 on the right, the next one
on the left, so that no tree is met twice.

All whole numbers are int64: functions that get other types, or literals, are compiled once more for them.
"""

from typing import NamedTuple

import numpy as np

from accord.kernels.compiling import ZERO, helper, kernel
from accord.kernels.trees.best_trees import best_edges
from accord.kernels.trees.cky import NEG_INF, cell

RULE, SPLIT, LEFT_RANK, RIGHT_RANK = 0, 1, 2, 3


class Nodes(NamedTuple):
    """What is known about the nodes that were asked for. An entry is a rule, a split, and two ranks."""

    keys: np.ndarray  # (2^b,) int64: a hash table from nodes to their numbers; -1: free
    numbers: np.ndarray  # (2^b,) int32
    n_nodes: np.ndarray  # (1,) int64
    n_best: np.ndarray  # (size,) int64: trees in order so far
    followed: np.ndarray  # (size,) bool: whether the neighbours of the last of them are waiting
    best: np.ndarray  # (size, k) scores
    best_entry: np.ndarray  # (size, k, 4) int64
    n_waiting: np.ndarray  # (size,) int64
    waiting: np.ndarray  # (size, 3 k) scores; a heap, the largest first
    waiting_entry: np.ndarray  # (size, 3 k, 4) int64
    edges: np.ndarray  # (k, 3) room for the best edges of a node


def new_nodes(size: int, k: int) -> Nodes:
    """Room for ``size`` nodes."""
    n_slots = 1 << max(4, (4 * size - 1).bit_length())
    return Nodes(
        np.full(n_slots, -1, np.int64), np.empty(n_slots, np.int32), np.zeros(1, np.int64),
        np.zeros(size, np.int64), np.zeros(size, np.bool_), np.empty((size, k)), np.empty((size, k, 4), np.int64),
        np.zeros(size, np.int64), np.empty((size, 3 * k)), np.empty((size, 3 * k, 4), np.int64), np.empty((k, 3)),
    )  # fmt: skip


@helper
def _slot(keys, key):
    """Where a node is, or would be, in the hash table."""
    mask = keys.size - 1
    at = (key * 0x9E3779B1 >> 7) & mask
    while keys[at] >= 0 and keys[at] != key:
        at = (at + 1) & mask
    return at


@helper
def _before(scores, entries, a, b):
    """Whether heap place ``a`` comes before ``b``: a larger score, then a smaller split, rule, rank."""
    if scores[a] != scores[b]:
        return scores[a] > scores[b]
    for c in (SPLIT, RULE, LEFT_RANK, RIGHT_RANK):
        if entries[a, c] != entries[b, c]:
            return entries[a, c] < entries[b, c]
    return False


@helper
def _swap(scores, entries, a, b):
    scores[a], scores[b] = scores[b], scores[a]
    for c in range(4):
        entries[a, c], entries[b, c] = entries[b, c], entries[a, c]


@helper
def _push(scores, entries, size, score, rule, split, left_rank, right_rank):
    """Add to a heap of ``size`` entries."""
    scores[size] = score
    entries[size, RULE], entries[size, SPLIT] = rule, split
    entries[size, LEFT_RANK], entries[size, RIGHT_RANK] = left_rank, right_rank
    at = size
    while at > 0 and _before(scores, entries, at, (at - 1) // 2):
        _swap(scores, entries, at, (at - 1) // 2)
        at = (at - 1) // 2


@helper
def _drop_first(scores, entries, size):
    """Take the first out of a heap of ``size`` entries; it is then behind the others."""
    _swap(scores, entries, ZERO, size - 1)
    at = ZERO
    while True:
        child = 2 * at + 1
        if child >= size - 1:
            return
        if child + 1 < size - 1 and _before(scores, entries, child + 1, child):
            child += 1
        if not _before(scores, entries, child, at):
            return
        _swap(scores, entries, child, at)
        at = child


@helper
def _find(nodes, grammar, scores, chart, left, right, symbol):
    """Number of a node, which is made when first asked for; -1: no room."""
    n_tokens, n_symbols = scores.leaf.shape[0], chart.shape[1]
    at = cell(left, right, n_tokens)
    key = np.int64(at) * n_symbols + symbol
    slot = _slot(nodes.keys, key)
    if nodes.keys[slot] >= 0:
        return nodes.numbers[slot]
    node = nodes.n_nodes[0]
    if node == nodes.n_best.size:
        return -1
    nodes.n_nodes[0] += 1
    nodes.keys[slot], nodes.numbers[slot] = key, node
    k = nodes.best.shape[1]
    size = best_edges(grammar, scores, chart, left, right, symbol, k, nodes.edges)
    # what brackets add to the node is in the chart, not in its edges
    bonus = chart[at, symbol] - nodes.edges[0, 0] if size else 0.0
    nodes.n_best[node], nodes.n_waiting[node], nodes.followed[node] = 0, size, True
    for i in range(size):
        score, rule, split = nodes.edges[i, 0] + bonus, int(nodes.edges[i, 1]), int(nodes.edges[i, 2])
        _push(nodes.waiting[node], nodes.waiting_entry[node], i, score, rule, split, ZERO, ZERO)
    return node


@helper
def _known(nodes, grammar, scores, chart, left, right, symbol, rank):
    """Score of the tree of a rank below a node: -inf if there is none, nan if it has not been found yet.

    Positive infinity: no room for the node.
    """
    if right - left == 1:
        return chart[cell(left, right, scores.leaf.shape[0]), symbol] if rank == 0 else NEG_INF
    node = _find(nodes, grammar, scores, chart, left, right, symbol)
    if node < 0:
        return np.inf
    if rank < nodes.n_best[node]:
        return nodes.best[node, rank]
    if rank >= nodes.best.shape[1] or (nodes.n_waiting[node] == 0 and nodes.followed[node]):
        return NEG_INF
    return np.nan


@helper
def _put(row, left, right, symbol, rank):
    row[0], row[1], row[2], row[3] = left, right, symbol, rank


@helper
def _tree(nodes, grammar, scores, chart, left, right, symbol, rank, stack):
    """Score of the tree of a rank below a node, -inf if there is none, inf if there is no room to find out.

    Each node on the stack waits for the one above it, whose span lies within its own.
    """
    _put(stack[0], left, right, symbol, rank)
    depth, score = 1, 0.0
    while depth > 0:
        left, right, symbol, rank = stack[depth - 1]
        score = _known(nodes, grammar, scores, chart, left, right, symbol, rank)
        if score == np.inf:
            return np.inf
        if not np.isnan(score):
            depth -= 1
            continue
        node = _find(nodes, grammar, scores, chart, left, right, symbol)
        waiting, waiting_entry = nodes.waiting[node], nodes.waiting_entry[node]
        if not nodes.followed[node]:
            last = nodes.n_best[node] - 1
            rule, split, a, b = nodes.best_entry[node, last]
            one, two = np.int64(grammar.left[rule]), np.int64(grammar.right[rule])
            more_right = _known(nodes, grammar, scores, chart, split, right, two, b + 1)
            if np.isnan(more_right):
                _put(stack[depth], split, right, two, b + 1)
                depth += 1
                continue
            more_left = NEG_INF
            if b == 0:
                more_left = _known(nodes, grammar, scores, chart, left, split, one, a + 1)
            if np.isnan(more_left):
                _put(stack[depth], left, split, one, a + 1)
                depth += 1
                continue
            if more_right == np.inf or more_left == np.inf:
                return np.inf
            best = nodes.best[node, last]
            if more_right > NEG_INF:
                gain = more_right - _known(nodes, grammar, scores, chart, split, right, two, b)
                _push(waiting, waiting_entry, nodes.n_waiting[node], best + gain, rule, split, a, b + 1)
                nodes.n_waiting[node] += 1
            if more_left > NEG_INF:
                gain = more_left - _known(nodes, grammar, scores, chart, left, split, one, a)
                _push(waiting, waiting_entry, nodes.n_waiting[node], best + gain, rule, split, a + 1, b)
                nodes.n_waiting[node] += 1
            nodes.followed[node] = True
        size = nodes.n_waiting[node]
        if size == 0:
            continue  # there are no more trees, which is known now
        _drop_first(waiting, waiting_entry, size)
        place = nodes.n_best[node]
        nodes.best[node, place] = waiting[size - 1]
        for c in range(4):
            nodes.best_entry[node, place, c] = waiting_entry[size - 1, c]
        nodes.n_best[node], nodes.n_waiting[node], nodes.followed[node] = place + 1, size - 1, False
    return score


@helper
def _write(nodes, grammar, scores, chart, symbol, rank, stack, todo, tree):
    """Write the tree of a rank of the whole sentence; False: no room."""
    _put(todo[0], ZERO, tree.shape[0], symbol, rank)
    size = 1
    while size > 0:
        size -= 1
        left, right, symbol, rank = todo[size]
        if right - left == 1:
            tree[left, 0] = symbol
            continue
        if _tree(nodes, grammar, scores, chart, left, right, symbol, rank, stack) == np.inf:
            return False
        node = _find(nodes, grammar, scores, chart, left, right, symbol)
        rule, split, a, b = nodes.best_entry[node, rank]
        tree[split, 1], tree[split, 2], tree[split, 3] = rule, left, right
        _put(todo[size], left, split, grammar.left[rule], a)
        _put(todo[size + 1], split, right, grammar.right[rule], b)
        size += 2
    return True


@kernel
def k_best_trees(nodes, grammar, scores, chart, trees, values):
    """Write the best trees, in order, into ``trees`` (k, n_tokens, 4), which is -1 everywhere: how many; -1: no room.

    ``chart`` has the best scores.
    """
    k, n_tokens = trees.shape[0], trees.shape[1]
    n_symbols = chart.shape[1]
    top = cell(0, n_tokens, n_tokens)
    rank, score = np.zeros(n_symbols, np.int64), np.empty(n_symbols)
    for symbol in range(n_symbols):
        score[symbol] = chart[top, symbol] + scores.start[symbol]
    stack, todo = np.empty((n_tokens + 2, 4), np.int64), np.empty((n_tokens + 2, 4), np.int64)
    for i in range(k):
        symbol = int(np.argmax(score))
        if score[symbol] == NEG_INF:
            return i
        values[i] = score[symbol]
        if not _write(nodes, grammar, scores, chart, symbol, rank[symbol], stack, todo, trees[i]):
            return -1
        rank[symbol] += 1
        following = _tree(nodes, grammar, scores, chart, np.int64(0), n_tokens, symbol, rank[symbol], stack)
        if following == np.inf:
            return -1
        score[symbol] = following + scores.start[symbol] if following > NEG_INF else NEG_INF
    return k
