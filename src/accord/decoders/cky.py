"""CKY over binarised grammars: charts of best scores, best and second-best trees, and the best edges of a node.

Symbols ``0 .. n_leaves - 1`` are leaves (they cover one token, and only they do); the others cover two tokens or more.
A tree over ``T`` tokens splits at every inner token boundary exactly once, so it is kept as one row per token:

======  ===========================================================
column  of row ``t``
======  ===========================================================
0       leaf symbol of token ``t``
1       rule of the node that splits before token ``t``; -1 at ``t = 0``
2, 3    first token of that node, and the token after its last
======  ===========================================================

The score of an edge ``A -> B C`` over ``l, m, r`` is ``rule + first[l] + last[r - 1] + width[r - l] + split[m]``, the
last four in the column of the rule's anchor. Minus infinity is a legal score. Ties go to the smallest split, then to
the rule that comes first.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

NEG_INF = -np.inf
ANY_LABEL = -2


class Grammar(NamedTuple):
    """Rules and symbols as the kernels take them. Rules are sorted by left child, then right child, then parent."""

    parent: np.ndarray  # (n_rules,) int32
    left: np.ndarray
    right: np.ndarray
    by_left: np.ndarray  # (n_symbols + 1,) int32: rules of left child B are by_left[B]:by_left[B + 1]
    by_parent: np.ndarray  # (n_symbols + 1,) int32 into `of_parent`
    of_parent: np.ndarray  # (n_rules,) int32: rules sorted by parent
    rule_anchor: np.ndarray  # (n_rules,) int32
    leaf_anchor: np.ndarray  # (n_leaves,) int32
    label_ptr: np.ndarray  # (n_symbols + 1,) int32 into `labels`
    labels: np.ndarray  # constituents that a symbol stands for, top first
    skip_root: int  # 1: the topmost constituent of a tree does not count
    root_label: int  # the topmost constituent of a tree does not count if it has this label; -1: no such label


class TreeScores(NamedTuple):
    """Scores of the parts of one sentence. Arrays over anchors have no columns if there are no such features."""

    rule: np.ndarray  # (n_rules,)
    start: np.ndarray  # (n_symbols,)
    leaf: np.ndarray  # (n_tokens, n_leaves)
    first: np.ndarray  # (n_tokens, n_anchors)
    last: np.ndarray  # (n_tokens, n_anchors)
    split: np.ndarray  # (n_tokens, n_anchors)
    width: np.ndarray  # (n_widths, n_anchors)


class Brackets(NamedTuple):
    """What is known or wished about spans. ``gold`` and ``required`` are label numbers, -1 after the last."""

    gold: np.ndarray  # (n_cells, max_chain) int32: labels over each span
    per_match: float  # added for every constituent in gold
    per_label: float  # added for every constituent
    blocked: np.ndarray  # (n_cells,) bool: spans that no node may cover; empty: none
    required: np.ndarray  # (n_cells, max_chain) int32: labels that the node over a span must have; (0, 0): none;
    # ANY_LABEL in the first place: the node must not be one that binarisation put in


@njit(cache=True, nogil=True, inline="always")
def cell(left, right, n_tokens):
    """Number of the span of the tokens ``left .. right - 1``."""
    return left * n_tokens - left * (left - 1) // 2 + right - left - 1


@njit(cache=True, nogil=True)
def width_class(width):
    """Widths 1 to 5 by themselves, then 6-7, 8-10, 11-15, 16-20, 21-30, more."""
    if width <= 5:
        return width - 1
    if width <= 7:
        return 5
    if width <= 10:
        return 6
    if width <= 15:
        return 7
    if width <= 20:
        return 8
    return 9 if width <= 30 else 10


N_WIDTHS = 11


@njit(cache=True, nogil=True)
def first_label(grammar, symbol, is_root):
    """Where the labels of a symbol's constituents start that count: after the root's, at the top of a tree."""
    start = grammar.label_ptr[symbol]
    if is_root and start < grammar.label_ptr[symbol + 1]:
        return start + (grammar.skip_root == 1 or grammar.labels[start] == grammar.root_label)
    return start


@njit(cache=True, nogil=True)
def count_labels(grammar, symbol, gold, is_root):
    """How many constituents a symbol stands for, and how many of them are among the labels ``gold``."""
    start, end = first_label(grammar, symbol, is_root), grammar.label_ptr[symbol + 1]
    matched = 0
    for i in range(start, end):
        label, before, there = grammar.labels[i], 0, 0
        for j in range(start, i):
            before += grammar.labels[j] == label
        for j in range(gold.size):
            there += gold[j] == label
        matched += there > before
    return end - start, matched


@njit(cache=True, nogil=True)
def _has_labels(grammar, symbol, required):
    """Whether a symbol stands for all required labels (each as often as it is required)."""
    if required[0] == ANY_LABEL:
        return grammar.label_ptr[symbol] < grammar.label_ptr[symbol + 1]
    for j in range(required.size):
        if required[j] < 0:
            break
        need, have = 0, 0
        for i in range(required.size):
            need += required[i] == required[j]
        for i in range(grammar.label_ptr[symbol], grammar.label_ptr[symbol + 1]):
            have += grammar.labels[i] == required[j]
        if have < need:
            return False
    return True


@njit(cache=True, nogil=True)
def _finish_cell(grammar, brackets, row, at, is_root, low, high):
    """Add to the symbols ``low .. high - 1`` of a chart row what the brackets say about its span."""
    if brackets.blocked.size and brackets.blocked[at]:
        row[low:high] = NEG_INF
        return
    must = brackets.required.shape[0] > 0 and brackets.required[at, 0] != -1
    counts = brackets.per_label != 0.0 or brackets.per_match != 0.0
    if not (must or counts):
        return
    if must:
        for symbol in range(low, high):
            if row[symbol] > NEG_INF and not _has_labels(grammar, symbol, brackets.required[at]):
                row[symbol] = NEG_INF
    if not counts:
        return
    gold, per_label, per_match, label_ptr = brackets.gold[at], brackets.per_label, brackets.per_match, grammar.label_ptr
    simple = gold[0] < 0 and not is_root  # nothing to match: most spans
    for symbol in range(low, high):
        n = label_ptr[symbol + 1] - label_ptr[symbol]
        if n == 0 or row[symbol] == NEG_INF:
            continue
        if simple:
            row[symbol] += n * per_label
        else:
            n, matched = count_labels(grammar, symbol, gold, is_root)
            row[symbol] += n * per_label + matched * per_match


@njit(cache=True, nogil=True)
def span_scores(grammar, scores, left, right, out):
    """Write the scores of the rules over one span, without the split, into ``out``."""
    n_anchors = scores.first.shape[1]
    if n_anchors == 0:
        out[:] = scores.rule
        return
    first, last, width = scores.first[left], scores.last[right - 1], scores.width[width_class(right - left)]
    by_anchor = np.empty(n_anchors)
    for a in range(n_anchors):
        by_anchor[a] = first[a] + last[a] + width[a]
    for p in range(out.size):
        out[p] = scores.rule[p] + by_anchor[grammar.rule_anchor[p]]


@njit(cache=True, nogil=True)
def leaf_score(grammar, scores, t, leaf):
    """Score of a leaf symbol at a token, anchors and all."""
    s = scores.leaf[t, leaf]
    if scores.first.shape[1] and s > NEG_INF:
        a = grammar.leaf_anchor[leaf]
        s += scores.first[t, a] + scores.last[t, a] + scores.width[0, a]
    return s


@njit(cache=True, nogil=True)
def fill_leaves(grammar, scores, brackets, chart):
    """Fill the chart rows of single tokens."""
    n_tokens, n_leaves = scores.leaf.shape
    for t in range(n_tokens):
        at = cell(t, t + 1, n_tokens)
        row = chart[at]
        row[:] = NEG_INF
        leaf = scores.leaf[t]
        for j in range(n_leaves):
            if leaf[j] > NEG_INF:  # few are; a call passes all arrays, which costs more than what it computes
                row[j] = leaf_score(grammar, scores, t, j)
        _finish_cell(grammar, brackets, row, at, n_tokens == 1, 0, n_leaves)


@njit(cache=True, nogil=True)
def _combine(active, by_left, right_child, parent, terms, lefts, rights, row):
    """Raise the scores of a span's symbols to those of their best edges at one split.

    A function of its own: with the arrays as arguments the loop takes a third of the time.
    """
    for k in range(active.size):
        symbol = active[k]
        s = lefts[symbol]
        for p in range(by_left[symbol], by_left[symbol + 1]):
            v = s + rights[right_child[p]] + terms[p]
            a = parent[p]
            if v > row[a]:
                row[a] = v


@njit(cache=True, nogil=True)
def _combine_at_split(active, by_left, right_child, parent, terms, anchor, at_split, lefts, rights, row):
    """:func:`_combine` with the scores of the split token."""
    for k in range(active.size):
        symbol = active[k]
        s = lefts[symbol]
        for p in range(by_left[symbol], by_left[symbol + 1]):
            v = s + rights[right_child[p]] + terms[p] + at_split[anchor[p]]
            a = parent[p]
            if v > row[a]:
                row[a] = v


@njit(cache=True, nogil=True)
def _sum_edges(active, by_left, right_child, parent, terms, anchor, at_split, lefts, rights, best, total):
    """Add the exponentials of all edges at one split, less the best score of their parent, to ``total``."""
    for k in range(active.size):
        symbol = active[k]
        s = lefts[symbol]
        for p in range(by_left[symbol], by_left[symbol + 1]):
            v = s + rights[right_child[p]] + terms[p]
            if v > NEG_INF:
                if at_split.size:
                    v += at_split[anchor[p]]
                total[parent[p]] += np.exp(v - best[parent[p]])


@njit(cache=True, nogil=True)
def fill_chart(grammar, scores, brackets, sums, chart):
    """Fill ``chart`` (n_cells, n_symbols) with the best scores of all symbols over all spans.

    ``sums``: the logarithms of the summed exponentials of all their trees' scores instead (inside sums).
    """
    n_tokens, n_leaves = scores.leaf.shape
    n_symbols = chart.shape[1]
    has_anchors, has_split = scores.first.shape[1] > 0, scores.split.shape[1] > 0
    fill_leaves(grammar, scores, brackets, chart)
    # Of each cell the symbols that are possible there and can be left children, one after the other.
    active = np.empty(16 * n_tokens * n_tokens + n_symbols, np.int32)
    ends = np.zeros((chart.shape[0], 2), np.int64)
    n_active = 0
    for t in range(n_tokens):
        at = cell(t, t + 1, n_tokens)
        ends[at, 0] = n_active
        for j in range(n_leaves):
            if chart[at, j] > NEG_INF and grammar.by_left[j] < grammar.by_left[j + 1]:
                active[n_active] = j
                n_active += 1
        ends[at, 1] = n_active
        if n_active + n_symbols > active.size:
            active = np.concatenate((active, np.empty(active.size + n_symbols, np.int32)))
    terms, total, no_split = np.empty(grammar.parent.size), np.zeros(n_symbols), np.empty(0)
    parent, right_child, by_left, anchor = grammar.parent, grammar.right, grammar.by_left, grammar.rule_anchor
    for width in range(2, n_tokens + 1):
        for left in range(n_tokens - width + 1):
            right = left + width
            at = cell(left, right, n_tokens)
            row = chart[at]
            row[:] = NEG_INF
            ends[at, 0] = n_active
            ends[at, 1] = n_active
            if brackets.blocked.size and brackets.blocked[at]:
                continue
            use = scores.rule
            if has_anchors:
                span_scores(grammar, scores, left, right, terms)
                use = terms
            for m in range(left + 1, right):
                a, b = cell(left, m, n_tokens), cell(m, right, n_tokens)
                if ends[a, 0] == ends[a, 1]:
                    continue
                here = active[ends[a, 0] : ends[a, 1]]
                if has_split:
                    at_split = scores.split[m]
                    _combine_at_split(
                        here, by_left, right_child, parent, use, anchor, at_split, chart[a], chart[b], row
                    )
                else:
                    _combine(here, by_left, right_child, parent, use, chart[a], chart[b], row)
            if sums:
                total[:] = 0.0
                for m in range(left + 1, right):
                    a, b = cell(left, m, n_tokens), cell(m, right, n_tokens)
                    at_split = scores.split[m] if has_split else no_split
                    _sum_edges(
                        active[ends[a, 0] : ends[a, 1]], by_left, right_child, parent, use, anchor, at_split, chart[a],
                        chart[b], row, total,
                    )  # fmt: skip
                for symbol in range(n_leaves, n_symbols):
                    if total[symbol] > 0.0:
                        row[symbol] += np.log(total[symbol])
            _finish_cell(grammar, brackets, row, at, width == n_tokens, n_leaves, n_symbols)
            for symbol in range(n_leaves, n_symbols):
                if row[symbol] > NEG_INF and by_left[symbol] < by_left[symbol + 1]:
                    active[n_active] = symbol
                    n_active += 1
            ends[at, 1] = n_active
            if n_active + n_symbols > active.size:
                active = np.concatenate((active, np.empty(active.size + n_symbols, np.int32)))


@njit(cache=True, nogil=True)
def _node_terms(grammar, scores, left, right, rules, terms):
    """Scores of the given rules over one span, without the split."""
    for k in range(rules.size):
        terms[k] = scores.rule[rules[k]]
    if scores.first.shape[1]:
        first, last, width = scores.first[left], scores.last[right - 1], scores.width[width_class(right - left)]
        for k in range(rules.size):
            a = grammar.rule_anchor[rules[k]]
            terms[k] += first[a] + last[a] + width[a]


@njit(cache=True, nogil=True)
def _edges_at_split(rules, left_child, right_child, terms, anchor, at_split, lefts, rights, out):
    """Write the scores of a node's edges at one split, with the best trees below, into ``out``."""
    for k in range(rules.size):
        p = rules[k]
        v = lefts[left_child[p]] + rights[right_child[p]] + terms[k]
        out[k] = v + at_split[anchor[p]] if at_split.size else v


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def parse(grammar, scores, brackets, chart, tree):
    """The best tree: (score, margin to the second best). Minus infinity: there is none, and the tree is all -1."""
    n_tokens = scores.leaf.shape[0]
    tree[:] = -1
    if n_tokens == 0:
        return 0.0, np.inf
    fill_chart(grammar, scores, brackets, False, chart)
    symbol, best, second, _ = best_root(scores, chart, n_tokens)
    if best == NEG_INF:
        return NEG_INF, NEG_INF
    margin, _, _ = trace(grammar, scores, chart, 0, n_tokens, symbol, -1, -1, tree)
    return best, min(best - second, margin)


@njit(cache=True, nogil=True)
def parse_other(grammar, scores, brackets, chart, avoid, tree):
    """Like :func:`parse`, but the best tree that is not ``avoid``."""
    best, margin = parse(grammar, scores, brackets, chart, tree)
    if best == NEG_INF or not np.array_equal(tree, avoid):
        return best
    if margin == np.inf:
        tree[:] = -1
        return NEG_INF
    n_tokens = tree.shape[0]
    symbol, top, second, other = best_root(scores, chart, n_tokens)
    below, left, right = trace(grammar, scores, chart, 0, n_tokens, symbol, -1, -1, tree)
    if top - second <= below:
        trace(grammar, scores, chart, 0, n_tokens, other, -1, -1, tree)
    else:
        trace(grammar, scores, chart, 0, n_tokens, symbol, left, right, tree)
    return best - margin


@njit(cache=True, nogil=True)
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
            trace(grammar, scores, chart, left, right, by[right], -1, -1, tree)
        right = left


@njit(cache=True, nogil=True)
def tree_score(grammar, scores, tree):
    """Score of a tree, without brackets."""
    n_tokens = tree.shape[0]
    total = 0.0
    for t in range(n_tokens):
        total += leaf_score(grammar, scores, t, tree[t, 0])
        if t > 0:
            p, left, right = tree[t, 1], tree[t, 2], tree[t, 3]
            total += scores.rule[p]
            if scores.first.shape[1]:
                a = grammar.rule_anchor[p]
                total += scores.first[left, a] + scores.last[right - 1, a] + scores.width[width_class(right - left), a]
                if scores.split.shape[1]:
                    total += scores.split[t, a]
    return total + (scores.start[root_symbol(grammar, tree)] if n_tokens else 0.0)


@njit(cache=True, nogil=True)
def root_symbol(grammar, tree):
    """The symbol over the whole sentence."""
    n_tokens = tree.shape[0]
    if n_tokens == 1:
        return tree[0, 0]
    for t in range(1, n_tokens):
        if tree[t, 2] == 0 and tree[t, 3] == n_tokens:
            return grammar.parent[tree[t, 1]]
    return -1


@njit(cache=True, nogil=True)
def node_of(parent, tree, t):
    """Span and symbol of a tree's node: leaves are the first ones. -1: none, between the pieces of a sentence."""
    n_tokens = tree.shape[0]
    if t < n_tokens:
        return t, t + 1, tree[t, 0]
    split = t - n_tokens + 1
    rule = tree[split, 1]
    return tree[split, 2], tree[split, 3], parent[rule] if rule >= 0 else np.int32(-1)


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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
                out[j] = out[j - 1]
                j -= 1
            out[j, 0], out[j, 1], out[j, 2] = v, rules[i], m
            size = min(size + 1, k)
    return size
