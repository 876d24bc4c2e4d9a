"""The tree whose nodes are worth most, where every node has a worth of its own and rules only say what is allowed."""

import numpy as np

from accord.kernels.compiling import helper, kernel
from accord.kernels.trees.cky import cell

NEG_INF = -np.inf


@helper
def _raise_parents(grammar, rule, lefts, rights, best):
    """Raise the values of parents to those of their best edges at one split."""
    for symbol in range(lefts.size):
        if lefts[symbol] == NEG_INF:
            continue
        for p in range(grammar.by_left[symbol], grammar.by_left[symbol + 1]):
            v = lefts[symbol] + rights[grammar.right[p]]
            if v > best[grammar.parent[p]] and rule[p] > NEG_INF:
                best[grammar.parent[p]] = v


@helper
def _best_edge(grammar, rule, chart, left, right, symbol, n_tokens):
    """The split and the rule of a node's best edge; ties go to the smallest split, then to the first rule."""
    best, at, by = NEG_INF, -1, -1
    for m in range(left + 1, right):
        lefts, rights = chart[cell(left, m, n_tokens)], chart[cell(m, right, n_tokens)]
        for k in range(grammar.by_parent[symbol], grammar.by_parent[symbol + 1]):
            p = grammar.of_parent[k]
            v = lefts[grammar.left[p]] + rights[grammar.right[p]]
            if v > best and rule[p] > NEG_INF:
                best, at, by = v, m, p
    return at, by


@kernel
def worthiest_tree(grammar, rule, start, worth, chart, tree):
    """Write the tree with the largest sum of ``worth`` (n_cells, n_symbols) of its nodes into ``tree``; returns it.

    Nodes of minus infinity, and rules and symbols at the top whose scores are that, are not used. ``chart``, like
    ``worth``, is work space.
    """
    n_tokens, n_symbols = tree.shape[0], worth.shape[1]
    tree[:] = -1
    if n_tokens == 0:
        return 0.0
    best = np.empty(n_symbols)
    for width in range(1, n_tokens + 1):
        for left in range(n_tokens - width + 1):
            at = cell(left, left + width, n_tokens)
            best[:] = 0.0 if width == 1 else NEG_INF
            for m in range(left + 1, left + width):
                a, b = cell(left, m, n_tokens), cell(m, left + width, n_tokens)
                _raise_parents(grammar, rule, chart[a], chart[b], best)
            for symbol in range(n_symbols):
                chart[at, symbol] = worth[at, symbol] + best[symbol]
    top, node = NEG_INF, -1
    whole = chart[cell(0, n_tokens, n_tokens)]
    for symbol in range(n_symbols):
        if start[symbol] > NEG_INF and whole[symbol] > top:
            top, node = whole[symbol], symbol
    if node < 0:
        return NEG_INF
    stack = np.empty((n_tokens + 1, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, n_tokens, node
    size = 1
    while size > 0:
        size -= 1
        left, right, symbol = stack[size]
        if right - left == 1:
            tree[left, 0] = symbol
            continue
        m, p = _best_edge(grammar, rule, chart, left, right, symbol, n_tokens)
        tree[m, 1], tree[m, 2], tree[m, 3] = p, left, right
        stack[size, 0], stack[size, 1], stack[size, 2] = left, m, grammar.left[p]
        stack[size + 1, 0], stack[size + 1, 1], stack[size + 1, 2] = m, right, grammar.right[p]
        size += 2
    return top
