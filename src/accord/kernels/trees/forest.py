"""All trees of one sentence, packed: nodes and edges that are part of some tree, to be searched again and again.

Of the edges that CKY tries, one in ten to one in twenty is part of a tree of the whole sentence. Whoever looks for best
trees of one sentence under changing bonuses fills a chart once, packs the forest, and then goes through its edges
only.
"""

from typing import NamedTuple

import numpy as np

from accord.kernels.compiling import helper, kernel
from accord.kernels.trees.cky import cell, count_labels, span_scores

NEG_INF = -np.inf
MAX_EDGES = 1 << 20  # 28 MB; a sentence of 40 words has some 100,000


class Forest(NamedTuple):
    """Nodes by span, wide spans first, so that children come after their parents; edges in the order CKY tries them."""

    span: np.ndarray  # (n_spans + 1, 4) int32: first token, token after the last, first node, first edge
    symbol: np.ndarray  # (n_nodes,) int32
    n_labels: np.ndarray  # (n_nodes,) int32: constituents that count
    n_matched: np.ndarray  # (n_nodes,) int32: those of them that the true tree has
    leaf_score: np.ndarray  # (n_nodes,) of nodes over one token
    edge: np.ndarray  # (n_edges, 5) int32: parent, left and right node, rule, split
    score: np.ndarray  # (n_edges,)
    value: np.ndarray  # (n_nodes,) scratch: best score
    back: np.ndarray  # (n_nodes,) int32 scratch: best edge


@helper
def _edges_of_split(lefts, by_left, right_child, parent, rule, anchor, at_span, at_split, rights, useful, found, value):
    """Write rules and scores of the edges at one split whose parents are useful; returns their number."""
    n = 0
    for k in range(lefts.size):
        symbol = lefts[k]
        for p in range(by_left[symbol], by_left[symbol + 1]):
            if useful[parent[p]] and rights[right_child[p]] > NEG_INF:
                v = rule[p]
                if at_span.size:
                    v += at_span[anchor[p]] + at_split[anchor[p]]
                if v > NEG_INF:
                    found[n], value[n] = p, v
                    n += 1
    return n


@kernel
def pack_forest(grammar, scores, gold, chart):
    """The forest of a sentence whose chart is filled, without brackets: (forest, whether it has all edges)."""
    n_tokens, n_symbols, n_rules = scores.leaf.shape[0], chart.shape[1], grammar.parent.size
    n_anchors, n_cells = scores.first.shape[1], chart.shape[0]
    has_split = scores.split.shape[1] > 0
    rule, parent, right_child, by_left = scores.rule, grammar.parent, grammar.right, grammar.by_left
    at_span, no_split = np.empty(n_anchors), np.zeros(n_anchors)
    live = np.empty((n_cells, n_symbols), np.int32)  # possible symbols of each cell that can be left children
    n_live = np.zeros(n_cells, np.int32)
    for at in range(n_cells):
        row = chart[at]
        for symbol in range(n_symbols):
            if row[symbol] > NEG_INF and by_left[symbol] < by_left[symbol + 1]:
                live[at, n_live[at]] = symbol
                n_live[at] += 1
    useful = np.zeros((n_cells, n_symbols), np.bool_)
    number = np.full((n_cells, n_symbols), -1, np.int32)
    top = cell(0, n_tokens, n_tokens)
    for symbol in range(n_symbols):
        useful[top, symbol] = chart[top, symbol] + scores.start[symbol] > NEG_INF
    span = np.empty((n_cells + 1, 4), np.int32)
    symbols, counts = np.empty(1024, np.int32), np.empty((1024, 2), np.int32)
    edge, score = np.empty((4096, 5), np.int32), np.empty(4096)
    rules, values = np.empty(n_rules, np.int32), np.empty(n_rules)
    n_spans, n_nodes, n_edges, complete = 0, 0, 0, True
    for width in range(n_tokens, 0, -1):
        for left in range(n_tokens - width + 1):
            right = left + width
            at = cell(left, right, n_tokens)
            before = n_nodes
            if symbols.size < n_nodes + n_symbols:
                symbols = np.concatenate((symbols, np.empty(symbols.size + n_symbols, np.int32)))
                counts = np.concatenate((counts, np.empty((counts.shape[0] + n_symbols, 2), np.int32)))
            for symbol in range(n_symbols):
                if useful[at, symbol]:
                    symbols[n_nodes], number[at, symbol] = symbol, n_nodes
                    counts[n_nodes] = count_labels(grammar, symbol, gold[at], width == n_tokens)
                    n_nodes += 1
            if n_nodes == before or not complete:
                continue
            span[n_spans, 0], span[n_spans, 1], span[n_spans, 2], span[n_spans, 3] = left, right, before, n_edges
            n_spans += 1
            if n_anchors and width > 1:
                span_scores(scores, left, right, at_span)
            for m in range(left + 1, right):
                a, b = cell(left, m, n_tokens), cell(m, right, n_tokens)
                n = _edges_of_split(
                    live[a, : n_live[a]], by_left, right_child, parent, rule, grammar.rule_anchor, at_span,
                    scores.split[m] if has_split else no_split, chart[b], useful[at], rules, values,
                )  # fmt: skip
                if n_edges + n > MAX_EDGES:
                    complete = False
                    break
                while n_edges + n > score.size:
                    edge = np.concatenate((edge, np.empty_like(edge)))
                    score = np.concatenate((score, np.empty_like(score)))
                for i in range(n):
                    p = rules[i]
                    useful[a, grammar.left[p]] = True
                    useful[b, right_child[p]] = True
                    edge[n_edges, 0], edge[n_edges, 3], edge[n_edges, 4] = number[at, parent[p]], p, m
                    score[n_edges] = values[i]
                    n_edges += 1
    span[n_spans, 2], span[n_spans, 3] = n_nodes, n_edges
    leaf = np.zeros(n_nodes)
    for k in range(n_spans):
        left, right = span[k, 0], span[k, 1]
        if right - left == 1:
            for i in range(span[k, 2], span[k + 1, 2]):
                leaf[i] = chart[cell(left, right, n_tokens), symbols[i]]
        for e in range(span[k, 3], span[k + 1, 3]):  # all nodes have their numbers now
            p, m = edge[e, 3], edge[e, 4]
            edge[e, 1] = number[cell(left, m, n_tokens), grammar.left[p]]
            edge[e, 2] = number[cell(m, right, n_tokens), right_child[p]]
    forest = Forest(
        span[: n_spans + 1], symbols[:n_nodes], counts[:n_nodes, 0].copy(), counts[:n_nodes, 1].copy(), leaf,
        edge[:n_edges], score[:n_edges], np.empty(n_nodes), np.empty(n_nodes, np.int32),
    )  # fmt: skip
    return forest, complete


@helper
def _raise_nodes(edge, score, low, high, value, back):
    """Raise the values of nodes to those of their best edges."""
    for e in range(low, high):
        v = value[edge[e, 1]] + value[edge[e, 2]] + score[e]
        node = edge[e, 0]
        if v > value[node]:
            value[node], back[node] = v, e


@kernel
def parse_forest(forest, start, per_match, per_label, tree):
    """Write the best tree, with bonuses for constituents, into ``tree``; returns its score.

    Ties are broken as in :mod:`accord.kernels.trees.cky`.
    """
    span, value, back = forest.span, forest.value, forest.back
    for i in range(value.size):
        value[i] = forest.leaf_score[i]
    for k in range(span.shape[0] - 2, -1, -1):
        if span[k, 1] - span[k, 0] > 1:
            for i in range(span[k, 2], span[k + 1, 2]):
                value[i] = NEG_INF
            _raise_nodes(forest.edge, forest.score, span[k, 3], span[k + 1, 3], value, back)
        for i in range(span[k, 2], span[k + 1, 2]):
            value[i] += forest.n_labels[i] * per_label + forest.n_matched[i] * per_match
    tree[:] = -1
    best, node = NEG_INF, -1
    for i in range(span[1, 2]):  # the nodes over the whole sentence
        v = value[i] + start[forest.symbol[i]]
        if v > best:
            best, node = v, i
    if node < 0:
        return NEG_INF
    stack = np.empty((tree.shape[0] + 1, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, tree.shape[0], node
    size = 1
    while size > 0:
        size -= 1
        left, right, node = stack[size]
        if right - left == 1:
            tree[left, 0] = forest.symbol[node]
            continue
        e = back[node]
        split = forest.edge[e, 4]
        tree[split, 1], tree[split, 2], tree[split, 3] = forest.edge[e, 3], left, right
        stack[size, 0], stack[size, 1], stack[size, 2] = left, split, forest.edge[e, 1]
        stack[size + 1, 0], stack[size + 1, 1], stack[size + 1, 2] = split, right, forest.edge[e, 2]
        size += 2
    return best
