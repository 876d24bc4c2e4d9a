"""Parse trees by enumeration, from the definitions: every tree is listed, scored and compared.

Imports nothing of Accord. A binary tree is a `Node`; its score is the sum of the scores of its parts, which `parts`
lists one by one. What a tree looks like to people is a nested list, ``["S", ["NP", ["N", "dogs"]], ["V", "bark"]]``,
and its constituents are counted there. Slow and obvious on purpose.
"""

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any, NamedTuple

# class of a width: the number of the first entry that is not below it, or the number of entries
LAST_OF_WIDTH_CLASS = [1, 2, 3, 4, 5, 7, 10, 15, 20, 30]


@dataclass
class Plain:
    """A grammar as plain data. A symbol is (labels of a chain, siblings or None, ancestors); leaves come first."""

    symbols: list
    n_leaves: int
    rules: list  # (parent, left, right), numbers of symbols
    starts: set  # symbols that may be at the top
    root: str | None  # is put on top of trees that do not have it
    rule_anchor: list | None = None  # None: no span features
    leaf_anchor: list | None = None


class Node(NamedTuple):
    """A node over the tokens left .. right - 1; a leaf has neither rule nor split nor children."""

    symbol: int
    left: int
    right: int
    rule: int | None = None
    split: int | None = None
    one: Any = None
    two: Any = None


class TooMany(Exception):
    """More trees than a test wants to look at."""


def all_trees(grammar, options, limit=10**9):
    """Every tree over tokens whose leaf symbols may be ``options[t]``, whatever its score."""
    n = len(options)
    rules_of = defaultdict(list)
    for p, (_, one, two) in enumerate(grammar.rules):
        rules_of[one, two].append(p)
    over = {(t, t + 1): [Node(symbol, t, t + 1) for symbol in options[t]] for t in range(n)}
    for width in range(2, n + 1):
        for left in range(n - width + 1):
            right = left + width
            found = []
            for split in range(left + 1, right):
                for one in over[left, split]:
                    for two in over[split, right]:
                        for p in rules_of[one.symbol, two.symbol]:
                            found.append(Node(grammar.rules[p][0], left, right, p, split, one, two))
                if len(found) > limit:
                    raise TooMany
            over[left, right] = found
    return [tree for tree in over[0, n] if tree.symbol in grammar.starts] if n else []


def nodes_of(tree):
    return [tree] if tree.rule is None else [tree, *nodes_of(tree.one), *nodes_of(tree.two)]


def width_class(width):
    return sum(width > last for last in LAST_OF_WIDTH_CLASS)


def parts(grammar, tree):
    """All parts of a tree, as often as they occur: ("rule", p), ("leaf", token, symbol), ("first", token, anchor).."""
    keys = [("start", tree.symbol)]
    for node in nodes_of(tree):
        if node.rule is None:
            keys.append(("leaf", node.left, node.symbol))
            anchors = grammar.leaf_anchor
            which = node.symbol
        else:
            keys.append(("rule", node.rule))
            anchors = grammar.rule_anchor
            which = node.rule
        if anchors is not None:
            anchor = anchors[which]
            keys.append(("first", node.left, anchor))
            keys.append(("last", node.right - 1, anchor))
            keys.append(("width", width_class(node.right - node.left), anchor))
            if node.rule is not None:
                keys.append(("split", node.split, anchor))
    return keys


def look_up(scores, key):
    """``scores["first"][t][a]`` for the key ("first", t, a)."""
    value = scores
    for step in key:
        value = value[step]
    return value


def score(grammar, scores, tree):
    return sum(look_up(scores, key) for key in parts(grammar, tree))


def ranked(grammar, scores, trees):
    """[(score, tree)] of the trees that are not excluded by a score of minus infinity, best first."""
    scored = [(score(grammar, scores, tree), tree) for tree in trees]
    return sorted((pair for pair in scored if pair[0] > -math.inf), key=lambda pair: -pair[0])


def log_sum(ranking):
    """Log of the summed exponentials of the scores; minus infinity if there are none."""
    if not ranking:
        return -math.inf
    top = ranking[0][0]
    return top + math.log(math.fsum(math.exp(s - top) for s, _ in ranking))


def expected_parts(grammar, ranking):
    """{part: expected count}."""
    log_z, expected = log_sum(ranking), Counter()
    for s, tree in ranking:
        for key in parts(grammar, tree):
            expected[key] += math.exp(s - log_z)
    return expected


def as_rows(tree):
    """One row per token: leaf symbol, then rule, first token and end of the node that splits before it."""
    rows = [[None, -1, -1, -1] for _ in range(tree.right)]
    for node in nodes_of(tree):
        if node.rule is None:
            rows[node.left][0] = node.symbol
        else:
            rows[node.split][1:] = [node.rule, node.left, node.right]
    return rows


def tie_order(tree):
    """Of two trees with the same score the one with the smaller value is returned: symbol at the top, then for every
    node from the top split and rule."""

    def below(node):
        return () if node.rule is None else (node.split, node.rule, below(node.one), below(node.two))

    return tree.symbol, below(tree)


# -- what people see --------------------------------------------------------------------------------------------
def nested(grammar, tree, words):
    """The tree as nested lists, with its root."""
    (made,) = _expanded(grammar, tree, words)
    return made if grammar.root is None or made[0] == grammar.root else [grammar.root, made]


def _expanded(grammar, node, words):
    """The children that a node stands for: itself, or those below it if binarisation put it in."""
    labels, siblings, _ = grammar.symbols[node.symbol]
    if node.rule is None:
        below = [words[node.left]]
    else:
        below = _expanded(grammar, node.one, words) + _expanded(grammar, node.two, words)
        if siblings is not None:
            return below
    for label in reversed(labels):
        below = [[label, *below]]
    return below


def is_tag(tree):
    return len(tree) == 2 and isinstance(tree[1], str)


def brackets(tree, left=0):
    """(label, left, right) of every node of a nested tree, tags too, in the order of their opening brackets."""
    if is_tag(tree):
        return [(tree[0], left, left + 1)]
    found, right = [], left
    for child in tree[1:]:
        inner = brackets(child, right)
        found += inner
        right = inner[0][2]
    return [(tree[0], left, right), *found]


def phrases(tree, left=0):
    """(label, left, right) of the nodes of a nested tree that are no tags, in the order of their opening brackets."""
    if is_tag(tree):
        return []
    found, right = [], left
    for child in tree[1:]:
        found += phrases(child, right)
        right += brackets(child)[0][2]
    return [(tree[0], left, right), *found]


def counted(tree):
    """The constituents that losses compare: neither the root nor tags."""
    return phrases(tree)[1:]


def losses(true, other):
    """{"zero-one": .., "hamming": .., "f1": ..} of two nested trees over the same words."""
    a, b = Counter(counted(true)), Counter(counted(other))
    g, p, t = a.total(), b.total(), (a & b).total()
    n_tokens = brackets(true)[0][2]
    f1_loss = 1.0 - 2.0 * t / (g + p) if g + p else 0.0
    return {"zero-one": float(true != other), "hamming": (g + p - 2.0 * t) / n_tokens, "f1": f1_loss}


def has_brackets(tree, spans):
    """Whether a nested tree has all spans: (label, left, right) as often as asked for, (left, right) as any node."""
    wanted = Counter(span for span in spans if len(span) == 3)
    there = {(left, right) for _, left, right in brackets(tree)}
    return not wanted - Counter(phrases(tree)) and all(span in there for span in spans if len(span) == 2)


# -- grammars of treebanks --------------------------------------------------------------------------------------
def common_root(trees):
    """The label that all trees have at the top if more than half of them have one node below it."""
    single = [tree for tree in trees if len(tree) == 2 and not is_tag(tree)]
    return trees[0][0] if len({tree[0] for tree in trees}) == 1 and 2 * len(single) > len(trees) else None


def read_off(trees, horizontal, vertical):
    """(root, Counter of leaf symbols, of rules, of symbols at the top); symbols in rules and at the top come with
    whether they are leaves."""
    root = common_root(trees)
    leaves, rules, tops = Counter(), Counter(), Counter()
    for tree in trees:
        # a second node with the label of the root cannot be told from the root itself, so that the root stays
        if root is not None and len(tree) == 2 and not is_tag(tree) and tree[1][0] != root:
            tree = tree[1]
        tops[_read(tree, horizontal, vertical, [], leaves, rules)] += 1
    return root, leaves, rules, tops


def _read(tree, horizontal, vertical, ancestors, leaves, rules):
    chain = [tree[0]]
    while len(tree) == 2 and not is_tag(tree):
        tree = tree[1]
        chain.append(tree[0])
    known = tuple(ancestors[: vertical - 1])
    symbol = tuple(chain), None, known
    if is_tag(tree):
        leaves[symbol] += 1
        return symbol, True
    children = [_read(child, horizontal, vertical, chain[::-1] + ancestors, leaves, rules) for child in tree[1:]]
    names = [child[0] for child in tree[1:]]
    whole = ["\t".join(labels) + "\t" * is_leaf for (labels, _, _), is_leaf in children]
    above = (chain[::-1] + ancestors)[1:]  # of the last label of the chain, which the children are below
    right = children[-1]
    for k in range(len(children) - 2, -1, -1):
        if k == 0:
            parent = symbol
        elif horizontal is None:
            parent = tuple(chain), tuple(whole[:k]), known
        else:
            parent = (chain[-1],), tuple(names[:k][max(k - horizontal, 0) :]), tuple(above[: vertical - 1])
        rules[parent, children[k], right] += 1
        right = parent, False
    return right
