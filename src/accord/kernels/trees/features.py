"""Joint features of trees: which weights the parts of a tree use, and how often.

Weights are flat: feature ``f`` at node column ``z`` is ``f * n_nodes + z``; then come rules, leaves, symbols at the top
and widths by anchor. Node columns are tags (``n_tag_nodes`` of them), then anchors at first, last and split token.
"""

from accord.kernels.compiling import kernel
from accord.kernels.trees.best_trees import root_symbol
from accord.kernels.trees.cky import width_class


@kernel
def tree_entries(grammar, leaf_tag, n_tag_nodes, n_anchors, tree, nodes, counts):
    """Write the node columns that a tree uses as (token, column) into ``nodes`` (at least 6 a token) and add to the
    ``counts`` (n_transitions,); returns the number of columns."""
    n_tokens, n_rules, n_leaves = tree.shape[0], grammar.parent.size, grammar.leaf_anchor.size
    if n_tokens == 0:
        return 0
    n_symbols = grammar.by_left.size - 1
    widths = n_rules + n_leaves + n_symbols
    used = 0
    for t in range(n_tokens):
        leaf = tree[t, 0]
        counts[n_rules + leaf] += 1.0
        if n_tag_nodes:
            nodes[used, 0], nodes[used, 1] = t, leaf_tag[leaf]
            used += 1
        if n_anchors:
            a = grammar.leaf_anchor[leaf]
            nodes[used, 0], nodes[used, 1] = t, n_tag_nodes + a
            nodes[used + 1, 0], nodes[used + 1, 1] = t, n_tag_nodes + n_anchors + a
            used += 2
            counts[widths + a] += 1.0
        if t == 0:
            continue
        p, left, right = tree[t, 1], tree[t, 2], tree[t, 3]
        counts[p] += 1.0
        if n_anchors:
            a = grammar.rule_anchor[p]
            nodes[used, 0], nodes[used, 1] = left, n_tag_nodes + a
            nodes[used + 1, 0], nodes[used + 1, 1] = right - 1, n_tag_nodes + n_anchors + a
            nodes[used + 2, 0], nodes[used + 2, 1] = t, n_tag_nodes + 2 * n_anchors + a
            used += 3
            counts[widths + width_class(right - left) * n_anchors + a] += 1.0
    counts[n_rules + n_leaves + root_symbol(grammar, tree)] += 1.0
    return used
