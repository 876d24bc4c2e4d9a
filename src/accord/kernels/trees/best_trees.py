"""Trees from CKY charts: the best, the runner-up, pieces, the best edges of a node; scores and constituents of trees.

Back pointers are not kept: the way back finds the best edge of each node again. Trees are arrays, see
:mod:`accord.kernels.trees.cky`.
"""

import numpy as np

from accord.kernels.compiling import NONE, ZERO, helper, kernel
from accord.kernels.trees.cky import cell, count_labels, fill_chart, first_label, leaf_score, width_class

NEG_INF = -np.inf


@helper
def _node_terms(grammar, scores, left, right, rules, terms):
    """Scores of the given rules over one span, without the split."""
    for k in range(rules.size):
        terms[k] = scores.rule[rules[k]]
    if scores.first.shape[1]:
        first, last, width = scores.first[left], scores.last[right - 1], scores.width[width_class(right - left)]
        for k in range(rules.size):
            a = grammar.rule_anchor[rules[k]]
            terms[k] += first[a] + last[a] + width[a]


@helper
def _edges_at_split(rules, left_child, right_child, terms, anchor, at_split, lefts, rights, out):
    """Write the scores of a node's edges at one split, with the best trees below, into ``out``."""
    for k in range(rules.size):
        p = rules[k]
        v = lefts[left_child[p]] + rights[right_child[p]] + terms[k]
        out[k] = v + at_split[anchor[p]] if at_split.size else v


@helper
def best_root(scores, chart, n_tokens):
    """The two best symbols over the whole sentence: (symbol, score, score of the second, the second)."""
    top = cell(0, n_tokens, n_tokens)
    best, symbol, second, other = NEG_INF, -1, NEG_INF, -1
    for a in range(chart.shape[1]):
        v = chart[top, a] + scores.start[a]
        if v > best:
            best, symbol, second, other = v, a, best, symbol
        elif v > second:
            second, other = v, a
    return symbol, best, second, other


@helper
def trace(grammar, scores, chart, start, end, symbol, turn_left, turn_right, tree):
    """Write the best tree of ``symbol`` over the tokens ``start .. end - 1`` into ``tree``: (by how much the best other
    tree is worse, the span of the node where the two part).

    The second-best tree takes the second-best edge at one node of the best tree, and best trees everywhere else. So it
    is written, too: the node over ``turn_left .. turn_right - 1`` takes its second-best edge (-1: none does).
    """
    n_tokens = scores.leaf.shape[0]
    stack = np.empty((n_tokens + 1, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = start, end, symbol
    size, margin, part_left, part_right = 1, np.inf, -1, -1
    of_parent, left_child, right_child, anchor = grammar.of_parent, grammar.left, grammar.right, grammar.rule_anchor
    terms, edges = np.empty(of_parent.size), np.empty(of_parent.size)
    while size > 0:
        size -= 1
        left, right, node = stack[size]
        if right - left == 1:
            tree[left, 0] = node
            continue
        rules = of_parent[grammar.by_parent[node] : grammar.by_parent[node + 1]]
        _node_terms(grammar, scores, left, right, rules, terms)
        best, second, rule, split, other_rule, other_split = NEG_INF, NEG_INF, -1, -1, -1, -1
        for m in range(left + 1, right):
            _edges_at_split(
                rules, left_child, right_child, terms, anchor, scores.split[m],
                chart[cell(left, m, n_tokens)], chart[cell(m, right, n_tokens)], edges,
            )  # fmt: skip
            for k in range(rules.size):
                v = edges[k]
                if v > best:
                    second, other_rule, other_split = best, rule, split
                    best, rule, split = v, rules[k], m
                elif v > second:
                    second, other_rule, other_split = v, rules[k], m
        if best - second < margin:
            margin, part_left, part_right = best - second, left, right
        if left == turn_left and right == turn_right:
            rule, split = other_rule, other_split
        tree[split, 1], tree[split, 2], tree[split, 3] = rule, left, right
        stack[size, 0], stack[size, 1], stack[size, 2] = left, split, grammar.left[rule]
        stack[size + 1, 0], stack[size + 1, 1], stack[size + 1, 2] = split, right, grammar.right[rule]
        size += 2
    return margin, part_left, part_right


@kernel
def parse(grammar, scores, brackets, chart, tree):
    """The best tree: (score, margin to the second best). Minus infinity: there is none, and the tree is all -1."""
    n_tokens = scores.leaf.shape[0]
    tree[:] = -1
    if n_tokens == 0:
        return 0.0, np.inf
    fill_chart(grammar, scores, brackets, np.bool_(False), chart)
    symbol, best, second, _ = best_root(scores, chart, n_tokens)
    if best == NEG_INF:
        return NEG_INF, NEG_INF
    margin, _, _ = trace(grammar, scores, chart, ZERO, n_tokens, symbol, NONE, NONE, tree)
    return best, min(best - second, margin)


@helper
def _same_tree(a, b):
    same = True
    for t in range(a.shape[0]):
        for k in range(4):
            same &= a[t, k] == b[t, k]
    return same


@kernel
def parse_other(grammar, scores, brackets, chart, avoid, tree):
    """Like :func:`parse`, but the best tree that is not ``avoid``."""
    best, margin = parse(grammar, scores, brackets, chart, tree)
    if best == NEG_INF or not _same_tree(tree, avoid):
        return best
    if margin == np.inf:
        tree[:] = -1
        return NEG_INF
    n_tokens = tree.shape[0]
    symbol, top, second, other = best_root(scores, chart, n_tokens)
    below, left, right = trace(grammar, scores, chart, ZERO, n_tokens, symbol, NONE, NONE, tree)
    if top - second <= below:
        trace(grammar, scores, chart, ZERO, n_tokens, other, NONE, NONE, tree)
    else:
        trace(grammar, scores, chart, ZERO, n_tokens, symbol, left, right, tree)
    return best - margin


@kernel
def parse_pieces(grammar, scores, chart, whole, tree):
    """Cover a sentence that has no parse by as few trees as possible, and among those by the best; the chart is filled.

    ``whole`` (n_symbols,) are the symbols that may be at the top of a piece. A token that can be no leaf is a piece of
    its own, with the leaf -1. Rows between pieces have the rule -1.
    """
    n_tokens = scores.leaf.shape[0]
    count, best = np.full(n_tokens + 1, n_tokens + 1), np.full(n_tokens + 1, NEG_INF)
    came, by = np.zeros(n_tokens + 1, np.int64), np.full(n_tokens + 1, -1)
    count[0], best[0] = 0, 0.0
    for right in range(1, n_tokens + 1):
        for left in range(right):
            top, symbol = NEG_INF, -1
            row = chart[cell(left, right, n_tokens)]
            for a in range(row.size):
                if whole[a] and row[a] > top:
                    top, symbol = row[a], a
            if symbol < 0:
                if right - left > 1:
                    continue
                top = 0.0
            n = count[left] + 1
            if n < count[right] or (n == count[right] and best[left] + top > best[right]):
                count[right], best[right], came[right], by[right] = n, best[left] + top, left, symbol
    tree[:] = -1
    right = n_tokens
    while right > 0:
        left = came[right]
        if by[right] >= 0:
            trace(grammar, scores, chart, left, right, by[right], NONE, NONE, tree)
        right = left


@kernel
def tree_score(grammar, scores, tree):
    """Score of a tree, without brackets."""
    n_tokens = tree.shape[0]
    total = 0.0
    for t in range(n_tokens):
        total += leaf_score(grammar, scores, t, np.int64(tree[t, 0]))
        if t > 0:
            p, left, right = tree[t, 1], tree[t, 2], tree[t, 3]
            total += scores.rule[p]
            if scores.first.shape[1]:
                a = grammar.rule_anchor[p]
                total += scores.first[left, a] + scores.last[right - 1, a] + scores.width[width_class(right - left), a]
                if scores.split.shape[1]:
                    total += scores.split[t, a]
    return total + (scores.start[root_symbol(grammar, tree)] if n_tokens else 0.0)


@kernel
def root_symbol(grammar, tree):
    """The symbol over the whole sentence."""
    n_tokens = tree.shape[0]
    if n_tokens == 1:
        return tree[0, 0]
    for t in range(1, n_tokens):
        if tree[t, 2] == 0 and tree[t, 3] == n_tokens:
            return grammar.parent[tree[t, 1]]
    return -1


@helper
def node_of(parent, tree, t):
    """Span and symbol of a tree's node: leaves are the first ones. -1: none, between the pieces of a sentence."""
    n_tokens = tree.shape[0]
    if t < n_tokens:
        return t, t + 1, np.int64(tree[t, 0])
    split = t - n_tokens + 1
    rule = tree[split, 1]
    return tree[split, 2], tree[split, 3], np.int64(parent[rule]) if rule >= 0 else NONE


@kernel
def mark_constituents(grammar, tree, gold):
    """Write the labels over each span of a tree into ``gold`` (n_cells, max_chain); returns their number."""
    n_tokens = tree.shape[0]
    gold[:] = -1
    total = 0
    for t in range(2 * n_tokens - 1):
        left, right, symbol = node_of(grammar.parent, tree, t)
        if symbol < 0:
            continue
        start = first_label(grammar, symbol, right - left == n_tokens)
        at = cell(left, right, n_tokens)
        for i in range(start, grammar.label_ptr[symbol + 1]):
            gold[at, i - start] = grammar.labels[i]
            total += 1
    return total


@kernel
def compare_constituents(grammar, tree, gold):
    """How many constituents a tree has, and how many of them are in ``gold``."""
    n_tokens = tree.shape[0]
    total, matched = 0, 0
    for t in range(2 * n_tokens - 1):
        left, right, symbol = node_of(grammar.parent, tree, t)
        if symbol < 0:
            continue
        n, m = count_labels(grammar, symbol, gold[cell(left, right, n_tokens)], right - left == n_tokens)
        total += n
        matched += m
    return total, matched


@helper
def best_edges(grammar, scores, chart, left, right, symbol, k, out):
    """The ``k`` best edges of a node by the best trees below them: their number; ``out`` (k, 3) gets score, rule and
    split, best first."""
    n_tokens = scores.leaf.shape[0]
    rules = grammar.of_parent[grammar.by_parent[symbol] : grammar.by_parent[symbol + 1]]
    terms, edges = np.empty(rules.size), np.empty(rules.size)
    _node_terms(grammar, scores, left, right, rules, terms)
    size = 0
    for m in range(left + 1, right):
        _edges_at_split(
            rules, grammar.left, grammar.right, terms, grammar.rule_anchor, scores.split[m],
            chart[cell(left, m, n_tokens)], chart[cell(m, right, n_tokens)], edges,
        )  # fmt: skip
        for i in range(rules.size):
            v = edges[i]
            if v == NEG_INF or (size == k and v <= out[k - 1, 0]):
                continue
            j = min(size, k - 1)
            while j > 0 and out[j - 1, 0] < v:
                out[j, 0], out[j, 1], out[j, 2] = out[j - 1, 0], out[j - 1, 1], out[j - 1, 2]
                j -= 1
            out[j, 0], out[j, 1], out[j, 2] = v, rules[i], m
            size = min(size + 1, k)
    return size
