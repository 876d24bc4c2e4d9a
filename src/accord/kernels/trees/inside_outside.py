"""Sums over all trees of a sentence: partition function and expected parts.

Everything stays in logarithms but the differences to the best edge of a node, and to a node's own sum: exponentials of
numbers that are never above zero, so that no weights are too large.
"""

from typing import NamedTuple

import numpy as np

from accord.kernels.compiling import helper, kernel
from accord.kernels.trees.cky import cell, fill_chart, span_scores, width_class

NEG_INF = -np.inf


class Expected(NamedTuple):
    """Expected counts of the parts of one sentence, in the layout of their scores."""

    rule: np.ndarray
    start: np.ndarray
    leaf: np.ndarray
    first: np.ndarray
    last: np.ndarray
    split: np.ndarray
    width: np.ndarray


@kernel
def inside(grammar, scores, brackets, chart):
    """Fill ``chart`` with the inside sums (logarithms); returns the log of the sum over all trees.

    ``brackets`` may block spans and require labels, but not add scores.
    """
    n_tokens = scores.leaf.shape[0]
    if n_tokens == 0:
        return 0.0
    fill_chart(grammar, scores, brackets, np.bool_(True), chart)
    values = chart[cell(0, n_tokens, n_tokens)] + scores.start
    top = np.max(values)
    return top + np.log(np.sum(np.exp(values - top))) if top > NEG_INF else NEG_INF


@helper
def _share_out(by_left, right_child, parent, rule, anchor, at_span, at_split, lefts, rights, own, shares, to_left,
               to_right, of_rule, weight, split_counts):  # fmt: skip
    """Hand the probabilities of a node's symbols down to the two nodes of one split, and count the edges."""
    for symbol in range(lefts.size):
        s = lefts[symbol]
        if s == NEG_INF:
            continue
        for p in range(by_left[symbol], by_left[symbol + 1]):
            a = parent[p]
            v = s + rights[right_child[p]] + rule[p]
            if shares[a] == 0.0 or v == NEG_INF:
                continue
            if at_span.size:
                v += at_span[anchor[p]] + at_split[anchor[p]]
            share = shares[a] * np.exp(v - own[a])
            to_left[symbol] += share
            to_right[right_child[p]] += share
            of_rule[p] += share
            if split_counts.size:
                split_counts[anchor[p]] += weight * share


@kernel
def outside(grammar, scores, chart, log_z, weight, expected):
    """Add ``weight`` times the expected counts of all parts to ``expected``, after :func:`inside`.

    Returns the probability of every symbol over every span (n_cells, n_symbols).
    """
    n_tokens, n_leaves = scores.leaf.shape
    n_symbols, n_rules = chart.shape[1], grammar.parent.size
    found = np.zeros_like(chart)
    if n_tokens == 0:
        return found
    has_split = scores.split.shape[1] > 0
    top = cell(0, n_tokens, n_tokens)
    for symbol in range(n_symbols):
        v = chart[top, symbol] + scores.start[symbol]
        if v > NEG_INF:
            found[top, symbol] = np.exp(v - log_z)
            expected.start[symbol] += weight * found[top, symbol]
    n_anchors = scores.first.shape[1]
    at_span, of_rule, no_split = np.empty(n_anchors), np.empty(n_rules), np.zeros(n_anchors)
    by_left, right_child, parent, anchor = grammar.by_left, grammar.right, grammar.parent, grammar.rule_anchor
    for width in range(n_tokens, 1, -1):
        for left in range(n_tokens - width + 1):
            right = left + width
            at = cell(left, right, n_tokens)
            if not np.any(found[at] > 0.0):
                continue
            if n_anchors:
                span_scores(scores, left, right, at_span)
            of_rule[:] = 0.0
            for m in range(left + 1, right):
                a, b = cell(left, m, n_tokens), cell(m, right, n_tokens)
                at_split = scores.split[m] if has_split else no_split
                _share_out(
                    by_left, right_child, parent, scores.rule, anchor, at_span, at_split, chart[a], chart[b], chart[at],
                    found[at], found[a], found[b], of_rule, weight, expected.split[m],
                )  # fmt: skip
            for p in range(n_rules):
                if of_rule[p] > 0.0:
                    v = weight * of_rule[p]
                    expected.rule[p] += v
                    if n_anchors:
                        a = anchor[p]
                        expected.first[left, a] += v
                        expected.last[right - 1, a] += v
                        expected.width[width_class(right - left), a] += v
    for t in range(n_tokens):
        shares = found[cell(t, t + 1, n_tokens)]
        for j in range(n_leaves):
            v = weight * shares[j]
            if v != 0.0:
                expected.leaf[t, j] += v
                if n_anchors:
                    a = grammar.leaf_anchor[j]
                    expected.first[t, a] += v
                    expected.last[t, a] += v
                    expected.width[0, a] += v
    return found
