"""The tree that violates a margin most, for losses that count constituents.

With ``g`` constituents in the true tree, ``p`` in another one and ``t`` in both, the losses are ``1 - 2 t / (g + p)``
(F1) and ``g + p - 2 t`` (Hamming). Hamming with margin rescaling and the 1-norm is a sum over nodes: one CKY pass,
exact. Everything else is approached by its tangents: the objective is linear in the score and smooth in ``(t, p)``; a
pass maximises the tangent at the last tree found, until nothing new is found, from several starts. The best tree by the
true objective is kept, so the violation is never overstated; it may be understated, unless the best tree of every level
``(t, p)`` is looked at afterwards. All passes but the first go through the packed forest of the sentence, unless that
is too large.
"""

import numpy as np

from accord.kernels.chains.violator import MARGIN
from accord.kernels.compiling import helper, kernel
from accord.kernels.trees.best_trees import compare_constituents, parse, parse_other, tree_score
from accord.kernels.trees.cky import Brackets
from accord.kernels.trees.forest import pack_forest, parse_forest
from accord.kernels.trees.levels import fill_levels, keep_edges, new_levels, write_level

ZERO_ONE, BRACKET_HAMMING, BRACKET_F1 = 0, 1, 2
MAX_STEPS = 5


@kernel
def bracket_loss(kind, unit, n_gold, n_found, n_both):
    """Loss of a tree with ``n_found`` constituents, ``n_both`` of them right; ``unit`` scales the Hamming loss."""
    if kind == BRACKET_F1:
        return 1.0 - 2.0 * n_both / (n_gold + n_found) if n_gold + n_found else 0.0
    return unit * (n_gold + n_found - 2.0 * n_both)


@helper
def _tangent(kind, unit, n_gold, n_found, n_both, rescaling, norm, gain):
    """What a match and a constituent add to the tangent of the objective: (per match, per constituent)."""
    loss = bracket_loss(kind, unit, n_gold, n_found, n_both)
    if kind == BRACKET_F1:
        total = max(n_gold + n_found, 1.0)
        by_match, by_label = -2.0 / total, 2.0 * n_both / (total * total)
    else:
        by_match, by_label = -2.0 * unit, unit
    if norm == 2:  # the square root of the loss counts
        root = np.sqrt(max(loss, 1e-3))
        by_match, by_label, loss = by_match / (2.0 * root), by_label / (2.0 * root), root
    if rescaling != MARGIN:
        factor = max(gain, 0.0) / max(loss, 1e-3)
        by_match, by_label = by_match * factor, by_label * factor
    return by_match, by_label


@helper
def violation(rescaling, loss, gain):
    """Violation by a tree whose (rooted) loss and margin deficit ``1 - (true score - score)`` are given."""
    return loss + gain - 1.0 if rescaling == MARGIN else loss * gain


@helper
def _judge(kind, unit, rescaling, norm, grammar, scores, trial, gold, n_gold, true_score):
    """Of a tree: (violation, rooted loss, margin deficit, constituents, those of them in ``gold``)."""
    n_found, n_both = compare_constituents(grammar, trial, gold)
    gain = 1.0 + tree_score(grammar, scores, trial) - true_score
    loss = bracket_loss(kind, unit, n_gold, float(n_found), float(n_both))
    if norm == 2:
        loss = np.sqrt(loss)
    return violation(rescaling, loss, gain), loss, gain, float(n_found), float(n_both)


@helper
def _copy_tree(source, target):
    for t in range(source.shape[0]):
        for k in range(4):
            target[t, k] = source[t, k]


@helper
def _best_level(kind, unit, rescaling, norm, forest, start, gold, n_gold, true_score, least, trial):
    """Write the most violating tree into ``trial``, if one violates by more than ``least``: whether there is one."""
    parse_forest(forest, start, 0.0, 0.0, trial)  # for the best scores of the nodes
    trial[:] = -1
    # no tree has more constituents than nodes with the longest chain each
    most = 1.0 if kind == BRACKET_F1 else unit * (n_gold + 2.0 * trial.shape[0] * gold.shape[1])
    most = np.sqrt(most) if norm == 2 else most
    keep = np.empty(forest.score.size, np.bool_)
    keep_edges(forest, start, true_score + (least - most if rescaling == MARGIN else least / most - 1.0), keep)
    low, high, first = new_levels(forest, keep)
    table = np.empty(first[-1])
    fill_levels(forest, keep, low, high, first, table)
    node, level = -1, -1
    for i in range(forest.span[1, 2]):
        n_own, top = high[i, 1] - low[i, 1] + 1, start[forest.symbol[i]] - true_score
        for k in range(first[i + 1] - first[i]):
            v = table[first[i] + k] + top
            if v > -np.inf:
                loss = bracket_loss(kind, unit, n_gold, float(low[i, 0] + k // n_own), float(low[i, 1] + k % n_own))
                v = violation(rescaling, np.sqrt(loss) if norm == 2 else loss, 1.0 + v)
                if v > least:
                    least, node, level = v, i, k
    if node >= 0:
        write_level(forest, keep, low, high, first, table, node, level, trial)
    return node >= 0


@kernel
def find_tree_violator(
    kind, unit, rescaling, norm, by_level, grammar, scores, tree, gold, n_gold, true_score, chart, found
):
    """Write the most violating tree into ``found``: (violation, its rooted loss). 0: the true tree itself.

    ``by_level``: look for it among the best trees of all levels, too.
    """
    no_blocks, no_labels = np.empty(0, np.bool_), np.empty((0, 0), np.int32)
    _copy_tree(tree, found)
    trial = np.empty_like(tree)
    if tree.shape[0] == 0:
        return 0.0, 0.0
    linear = kind == BRACKET_HAMMING and rescaling == MARGIN and norm == 1
    if linear:
        by_match, by_label = _tangent(kind, unit, n_gold, float(n_gold), float(n_gold), rescaling, norm, 1.0)
        top, _ = parse(grammar, scores, Brackets(gold, by_match, by_label, no_blocks, no_labels), chart, trial)
    else:  # the runner-up, if the true tree is the best
        top = parse_other(grammar, scores, Brackets(gold, 0.0, 0.0, no_blocks, no_labels), chart, tree, trial)
    if top == -np.inf:
        return 0.0, 0.0
    if kind == ZERO_ONE:
        best, best_loss = 1.0 + top - true_score, 1.0
    else:
        best, best_loss, gain, n_found, n_both = _judge(
            kind, unit, rescaling, norm, grammar, scores, trial, gold, n_gold, true_score
        )
    if best > 0.0:
        _copy_tree(trial, found)
    else:
        best, best_loss = 0.0, 0.0
    if linear or kind == ZERO_ONE:
        return best, best_loss
    forest, packed = pack_forest(grammar, scores, gold, chart)
    seen = np.empty((4 * MAX_STEPS, 2))
    seen[0, 0], seen[0, 1] = n_found, n_both
    n_seen = 1
    for start in range(4):  # tangents at: the best tree; a tree half right; a tree all wrong; the true tree
        if start > 0:
            n_found, gain = float(n_gold), 1.0
            n_both = 0.5 * n_gold if start == 1 else (0.0 if start == 2 else float(n_gold))
        for _ in range(MAX_STEPS - (start == 0)):
            by_match, by_label = _tangent(kind, unit, n_gold, n_found, n_both, rescaling, norm, gain)
            if packed:
                parse_forest(forest, scores.start, by_match, by_label, trial)
            else:
                parse(grammar, scores, Brackets(gold, by_match, by_label, no_blocks, no_labels), chart, trial)
            v, loss, gain, n_found, n_both = _judge(
                kind, unit, rescaling, norm, grammar, scores, trial, gold, n_gold, true_score
            )
            if v > best:
                best, best_loss = v, loss
                _copy_tree(trial, found)
            known = False
            for i in range(n_seen):
                known |= seen[i, 0] == n_found and seen[i, 1] == n_both
            if known:
                break
            seen[n_seen, 0], seen[n_seen, 1] = n_found, n_both
            n_seen += 1
    if by_level and packed and _best_level(
        kind, unit, rescaling, norm, forest, scores.start, gold, n_gold, true_score, best, trial
    ):  # fmt: skip
        v, loss, _, _, _ = _judge(kind, unit, rescaling, norm, grammar, scores, trial, gold, n_gold, true_score)
        if v > best:
            best, best_loss = v, loss
            _copy_tree(trial, found)
    return best, best_loss
