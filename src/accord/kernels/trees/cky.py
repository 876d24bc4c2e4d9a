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

from accord.kernels.compiling import KERNEL, ZERO, helper, kernel

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


@njit(**KERNEL, inline="always")
def cell(left, right, n_tokens):
    """Number of the span of the tokens ``left .. right - 1``."""
    return left * n_tokens - left * (left - 1) // 2 + right - left - 1


@helper
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


@kernel
def first_label(grammar, symbol, is_root):
    """Where the labels of a symbol's constituents start that count: after the root's, at the top of a tree."""
    start = grammar.label_ptr[symbol]
    if is_root and start < grammar.label_ptr[symbol + 1]:
        return start + (grammar.skip_root == 1 or grammar.labels[start] == grammar.root_label)
    return start


@helper
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


@helper
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


@helper
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


@helper
def span_scores(scores, left, right, out):
    """Write what one span adds to the rules of each anchor, without the split, into ``out`` (n_anchors,)."""
    first, last, width = scores.first[left], scores.last[right - 1], scores.width[width_class(right - left)]
    for a in range(out.size):
        out[a] = first[a] + last[a] + width[a]


@helper
def leaf_score(grammar, scores, t, leaf):
    """Score of a leaf symbol at a token, anchors and all."""
    s = scores.leaf[t, leaf]
    if scores.first.shape[1] and s > NEG_INF:
        a = grammar.leaf_anchor[leaf]
        s += scores.first[t, a] + scores.last[t, a] + scores.width[0, a]
    return s


@helper
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
        _finish_cell(grammar, brackets, row, at, n_tokens == 1, ZERO, n_leaves)


@helper
def _combine(active, by_left, right_child, parent, rule, lefts, rights, row):
    """Raise the scores of a span's symbols to those of their best edges at one split.

    A function of its own: with the arrays as arguments the loop takes a third of the time.
    """
    for k in range(active.size):
        symbol = active[k]
        s = lefts[symbol]
        for p in range(by_left[symbol], by_left[symbol + 1]):
            v = s + rights[right_child[p]] + rule[p]
            a = parent[p]
            if v > row[a]:
                row[a] = v


@helper
def _combine_anchored(active, by_left, right_child, parent, rule, anchor, at_span, at_split, lefts, rights, row):
    """:func:`_combine` with the scores of the span and of the split token."""
    for k in range(active.size):
        symbol = active[k]
        s = lefts[symbol]
        for p in range(by_left[symbol], by_left[symbol + 1]):
            v = s + rights[right_child[p]]
            if v > NEG_INF:  # few are
                v += rule[p] + at_span[anchor[p]] + at_split[anchor[p]]
                a = parent[p]
                if v > row[a]:
                    row[a] = v


@helper
def _sum_edges(active, by_left, right_child, parent, rule, anchor, at_span, at_split, lefts, rights, best, total):
    """Add the exponentials of all edges at one split, less the best score of their parent, to ``total``."""
    for k in range(active.size):
        symbol = active[k]
        s = lefts[symbol]
        for p in range(by_left[symbol], by_left[symbol + 1]):
            v = s + rights[right_child[p]] + rule[p]
            if at_span.size:
                v += at_span[anchor[p]] + at_split[anchor[p]]
            if v > NEG_INF:
                total[parent[p]] += np.exp(v - best[parent[p]])


@kernel
def fill_chart(grammar, scores, brackets, sums, chart):
    """Fill ``chart`` (n_cells, n_symbols) with the best scores of all symbols over all spans.

    ``sums``: the logarithms of the summed exponentials of all their trees' scores instead (inside sums). Kernels pass
    ``np.bool_``, because this is compiled once more for each literal.
    """
    n_tokens, n_leaves = scores.leaf.shape
    n_symbols = chart.shape[1]
    has_split = scores.split.shape[1] > 0
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
    n_anchors = scores.first.shape[1]
    at_span, total, no_split = np.empty(n_anchors), np.zeros(n_symbols), np.zeros(n_anchors)
    rule, parent, right_child, by_left = scores.rule, grammar.parent, grammar.right, grammar.by_left
    anchor = grammar.rule_anchor
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
            if n_anchors:
                span_scores(scores, left, right, at_span)
            for m in range(left + 1, right):
                a, b = cell(left, m, n_tokens), cell(m, right, n_tokens)
                if ends[a, 0] == ends[a, 1]:
                    continue
                here = active[ends[a, 0] : ends[a, 1]]
                if n_anchors:
                    at_split = scores.split[m] if has_split else no_split
                    _combine_anchored(
                        here, by_left, right_child, parent, rule, anchor, at_span, at_split, chart[a], chart[b], row
                    )
                else:
                    _combine(here, by_left, right_child, parent, rule, chart[a], chart[b], row)
            if sums:
                total[:] = 0.0
                for m in range(left + 1, right):
                    a, b = cell(left, m, n_tokens), cell(m, right, n_tokens)
                    at_split = scores.split[m] if has_split else no_split
                    _sum_edges(
                        active[ends[a, 0] : ends[a, 1]], by_left, right_child, parent, rule, anchor, at_span, at_split,
                        chart[a], chart[b], row, total,
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
