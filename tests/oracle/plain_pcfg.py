"""A probabilistic grammar of n-ary rules, from the definition: no binarisation, no logarithms until the end.

Imports nothing of Accord. Symbols are (chain of labels, whether a word stands below): chains of single children are one
symbol, as everywhere. A tree has the probability of its right-hand sides, each given its symbol, and of its words given
their tags. `best_and_sum` goes over all spans with a tree of right-hand sides, whose prefixes it matches word by word.
"""

import math
from collections import Counter, defaultdict


def collapsed(tree):
    """(symbol, children or word) of a nested list, its chains collapsed."""
    chain = [tree[0]]
    while len(tree) == 2 and not isinstance(tree[1], str):
        tree = tree[1]
        chain.append(tree[0])
    if len(tree) == 2:
        return (tuple(chain), True), tree[1]
    return (tuple(chain), False), [collapsed(child) for child in tree[1:]]


def without_root(tree, root):
    """The phrase below a root that all trees share; a second node with its label could not be told from it."""
    single = root is not None and tree[0] == root and len(tree) == 2 and not isinstance(tree[1], str)
    return tree[1] if single and tree[1][0] != root else tree


class PlainPCFG:
    """Relative counts of a treebank; ``root`` is taken off trees that have a single child below it."""

    def __init__(self, trees, root=None, words=True):
        self.root, self.words = root, words
        self.starts, self.rules, self.emissions = Counter(), defaultdict(Counter), defaultdict(Counter)
        for tree in trees:
            top = collapsed(without_root(tree, root))
            self.starts[top[0]] += 1
            for symbol, below in nodes(top):
                if isinstance(below, str):
                    self.emissions[symbol[0][-1]][below] += 1
                    self.rules[symbol]  # a leaf of the grammar, even if it is at the top only
                else:
                    self.rules[symbol][tuple(child for child, _ in below)] += 1
        self.prefixes = [({}, [])]  # of right-hand sides: what may come next, and whose right-hand side this is
        for symbol, sides in self.rules.items():
            for side in sides:
                at = 0
                for part in side:
                    if part not in self.prefixes[at][0]:
                        self.prefixes[at][0][part] = len(self.prefixes)
                        self.prefixes.append(({}, []))
                    at = self.prefixes[at][0][part]
                self.prefixes[at][1].append((symbol, self.share(self.rules[symbol], side)))
        self.leaves_of = defaultdict(list)
        for symbol in self.rules:
            if symbol[1]:
                self.leaves_of[symbol[0][-1]].append(symbol)

    @staticmethod
    def share(counts, key):
        return counts[key] / counts.total() if counts[key] else 0.0

    def log_tree(self, tree):
        """Log probability of a tree, of which all rules are known."""
        top = collapsed(without_root(tree, self.root))
        shares = [self.share(self.starts, top[0])]
        for symbol, below in nodes(top):
            if not isinstance(below, str):
                shares.append(self.share(self.rules[symbol], tuple(child for child, _ in below)))
            elif self.words:
                shares.append(self.share(self.emissions[symbol[0][-1]], below))
        return math.fsum(math.log(p) for p in shares)

    def tags_of(self, token):
        if not self.words:
            return {token: 1.0}
        found = {tag: self.share(counts, token) for tag, counts in self.emissions.items()}
        return {tag: p for tag, p in found.items() if p > 0}

    def best_and_sum(self, tokens):
        """Log probability of the best tree, and of all trees together; minus infinity without one."""
        n, done, part = len(tokens), {}, {}
        for width in range(1, n + 1):
            for left in range(n - width + 1):
                right = left + width
                whole, begun = {}, {}
                if width == 1:
                    for tag, p in self.tags_of(tokens[left]).items():
                        whole.update(dict.fromkeys(self.leaves_of[tag], (p, p)))
                for split in range(left + 1, right):
                    for prefix, (best, total) in part[left, split].items():
                        for symbol, (b, t) in done[split, right].items():
                            after = self.prefixes[prefix][0].get(symbol)
                            if after is not None:
                                have = begun.get(after, (0.0, 0.0))
                                begun[after] = max(have[0], best * b), have[1] + total * t
                for prefix, (best, total) in begun.items():
                    for symbol, p in self.prefixes[prefix][1]:
                        have = whole.get(symbol, (0.0, 0.0))
                        whole[symbol] = max(have[0], best * p), have[1] + total * p
                for symbol, pair in whole.items():  # every prefix begins with a whole child
                    if symbol in self.prefixes[0][0]:
                        begun[self.prefixes[0][0][symbol]] = pair
                done[left, right], part[left, right] = whole, begun
        tops = [
            (self.share(self.starts, symbol) * b, self.share(self.starts, symbol) * t)
            for symbol, (b, t) in (done[0, n] if n else {}).items()
        ]
        best, total = max((b for b, _ in tops), default=0.0), math.fsum(t for _, t in tops)
        return (math.log(best), math.log(total)) if best else (-math.inf, -math.inf)


def nodes(node):
    """(symbol, children or word) of a collapsed tree and all below."""
    found, waiting = [], [node]
    while waiting:
        found.append(waiting.pop())
        if not isinstance(found[-1][1], str):
            waiting += found[-1][1]
    return found
