"""Grammars read off treebanks: symbols, rules and a lexicon, as numbers.

A tree becomes an array of one row per token (see ``kernels.trees.cky``) and comes back from it. All trees of a
treebank may have the same root with a single child (``TOP``): such a root is no symbol of the grammar, it is taken off
and put back, so that what is below it shares its rules with the same phrases elsewhere.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from accord.datasets.trees import Symbol, Tree, binarise, debinarise
from accord.exceptions import InputError
from accord.forms import COUNT, TEXT, array, items, optional, record
from accord.kernels.trees import cky
from accord.settings import whole
from accord.structures.trees.completion import complete_rules

ANCHORS = ("label", "symbol", "rule")


@dataclass
class TreebankGrammar:
    """What a treebank says about the form of its trees."""

    horizontal: int | None
    vertical: int
    root: str | None  # taken off all trees
    symbols: list[Symbol]  # leaves first
    n_leaves: int
    labels: list[str]  # of constituents
    tags: list[str]  # of tokens
    leaf_tag: np.ndarray  # (n_leaves,) tag of each leaf symbol
    rules: np.ndarray  # (n_rules, 3) int32: parent, left, right; sorted by left, right, parent
    rule_counts: np.ndarray  # 0: the rule must not be used, unless sub-trees are features
    start_counts: np.ndarray  # (n_symbols,) 0: must not be at the top

    stored: ClassVar = {
        "horizontal": optional(COUNT),
        "vertical": whole(1),
        "root": optional(TEXT),
        "symbols": items(
            record("Symbol", labels=items(TEXT), siblings=optional(items(TEXT)), parents=items(TEXT)), distinct=True
        ),
        "n_leaves": COUNT,
        "labels": items(TEXT, distinct=True),
        "tags": items(TEXT, "n_tags", distinct=True),
        "leaf_tag": array("i4", "n_leaves", least=0, below="n_tags"),
        "rules": array("i4", "n_rules", 3, least=0, below="n_symbols"),
        "rule_counts": array("f8", "n_rules", least=0),
        "start_counts": array("f8", "n_symbols", least=0),
    }
    agrees: ClassVar = {
        "leaves are among the symbols": lambda self: self.n_leaves <= self.n_symbols,
        "symbols have labels, leaves tags, and phrases are made of symbols": lambda self: self._is_of_symbols(),
        "rules are those of phrases, each once, sorted by their children": lambda self: (
            bool(np.all(self.rules[:, 0] >= self.n_leaves))
            and np.array_equal(self.rules[:, [1, 2, 0]], np.unique(self.rules[:, [1, 2, 0]], axis=0))
        ),
    }

    @cached_property
    def _leaf_numbers(self) -> dict[Symbol, int]:
        return {s: i for i, s in enumerate(self.symbols[: self.n_leaves])}

    @cached_property
    def _phrase_numbers(self) -> dict[Symbol, int]:
        return {s: i for i, s in enumerate(self.symbols) if i >= self.n_leaves}

    @cached_property
    def _rule_numbers(self) -> dict[tuple[int, int, int], int]:
        return {(p, a, b): i for i, (p, a, b) in enumerate(self.rules.tolist())}

    @cached_property
    def _remembered(self) -> int | None:
        """The siblings that `binarise` is to remember.

        Grammars of older model files remember the labels of all siblings, but no chains. One that could be of either
        kind has no rule that tells the two apart.
        """
        between = [s for s in self.symbols if s.siblings is not None]
        is_older = all(len(s.labels) == 1 and not any("\t" in name for name in s.siblings or ()) for s in between)
        return sys.maxsize if self.horizontal is None and is_older else self.horizontal

    @property
    def n_symbols(self) -> int:
        return len(self.symbols)

    @classmethod
    def from_trees(
        cls, trees: Iterable[Tree], horizontal: int | None, vertical: int, complete: bool = False
    ) -> TreebankGrammar:
        """Count symbols and rules; ``complete``: rules are there below all ancestors, not only those seen with them."""
        trees = list(trees)
        if not trees:
            raise InputError("Y has no trees: give at least one labeled example, or a treebank: grammar=[...]")
        root = _common_root(trees)
        leaves: set[Symbol] = set()
        starts: Counter[tuple[Symbol, bool]] = Counter()
        counts: Counter[tuple[Any, ...]] = Counter()
        for tree in trees:
            binary = binarise(_without_root(tree, root), horizontal, vertical)
            starts[binary[0], len(binary) == 2] += 1
            waiting = [binary]
            while waiting:
                node = waiting.pop()
                if len(node) == 2:
                    leaves.add(node[0])
                    continue
                left, right = node[1], node[2]
                counts[node[0], (left[0], len(left) == 2), (right[0], len(right) == 2)] += 1
                waiting += (left, right)
        if complete:
            leaves |= complete_rules(starts, counts, horizontal, vertical)
        return cls._numbered(leaves, starts, counts, root, horizontal, vertical)

    @classmethod
    def _numbered(cls, leaves, starts, counts, root, horizontal, vertical) -> TreebankGrammar:
        leaf_list = sorted(leaves, key=_order)
        phrases = sorted({parent for parent, _, _ in counts}, key=_order)
        numbers = {(s, True): i for i, s in enumerate(leaf_list)}
        numbers |= {(s, False): len(leaf_list) + i for i, s in enumerate(phrases)}
        rules = sorted((numbers[a], numbers[b], numbers[p, False], count) for (p, a, b), count in counts.items())
        array = np.array([(p, a, b) for a, b, p, _ in rules], np.int32).reshape(-1, 3)
        start_counts = np.zeros(len(numbers))
        for symbol, count in starts.items():
            start_counts[numbers[symbol]] = count
        tags = sorted({s.labels[-1] for s in leaf_list})
        chains = [s.labels[:-1] for s in leaf_list] + [s.labels for s in phrases if s.siblings is None]
        return cls(
            horizontal,
            vertical,
            root,
            leaf_list + phrases,
            len(leaf_list),
            sorted({label for chain in chains for label in chain}),
            tags,
            np.array([tags.index(s.labels[-1]) for s in leaf_list], np.int32),
            array,
            np.array([float(count) for *_, count in rules]),
            start_counts,
        )

    def _is_of_symbols(self) -> bool:
        known = set(self.labels)
        if not all(symbol.labels for symbol in self.symbols):
            return False
        tags = [symbol.labels[-1] for symbol in self.symbols[: self.n_leaves]]
        return tags == [self.tags[tag] for tag in self.leaf_tag.tolist()] and all(
            known.issuperset(self.constituents_of(s)) for s in range(self.n_symbols)
        )

    def constituents_of(self, symbol: int) -> tuple[str, ...]:
        """Labels of the constituents that a symbol stands for, top first."""
        s = self.symbols[symbol]
        if symbol < self.n_leaves:
            return s.labels[:-1]
        return s.labels if s.siblings is None else ()

    def arrays(self, anchors: str | None) -> tuple[cky.Grammar, list[str]]:
        """What the kernels take, and the names of the anchors of span features."""
        n, n_symbols = self.n_leaves, self.n_symbols
        parent, left, right = (np.ascontiguousarray(column) for column in self.rules.T)
        numbers = {label: i for i, label in enumerate(self.labels)}
        chains = [[numbers[label] for label in self.constituents_of(s)] for s in range(n_symbols)]
        names, of_symbol = self._symbol_anchors(anchors)
        rule_anchor, leaf_anchor = of_symbol[parent], of_symbol[:n]
        if anchors == "rule":
            rule_anchor = np.arange(parent.size, dtype=np.int32)
            leaf_anchor = np.arange(parent.size, parent.size + n, dtype=np.int32)
            names = [self.rule_name(p) for p in range(parent.size)] + [str(s) for s in self.symbols[:n]]
        return cky.Grammar(
            parent,
            left,
            right,
            np.searchsorted(left, np.arange(n_symbols + 1)).astype(np.int32),
            np.concatenate([[0], np.cumsum(np.bincount(parent, minlength=n_symbols))]).astype(np.int32),
            np.argsort(parent, kind="stable").astype(np.int32),
            rule_anchor.astype(np.int32),
            leaf_anchor.astype(np.int32),
            np.concatenate([[0], np.cumsum([len(c) for c in chains])]).astype(np.int32),
            np.array([label for chain in chains for label in chain], np.int32),
            int(self.root is None),
            -1 if self.root is None else numbers.get(self.root, -1),
        ), names

    def _symbol_anchors(self, anchors: str | None) -> tuple[list[str], np.ndarray]:
        """Names of anchors and the anchor of each symbol: its own, or one for all symbols with the same top label."""
        if anchors == "symbol":
            return [str(s) for s in self.symbols], np.arange(self.n_symbols, dtype=np.int32)
        if anchors != "label":
            return [], np.zeros(self.n_symbols, np.int32)
        of = [f"@{s.labels[-1]}" if s.siblings is not None else s.labels[0] for s in self.symbols]
        names = sorted(set(of))
        return names, np.array([names.index(name) for name in of], np.int32)

    def shallower_rules(self) -> tuple[list[str], np.ndarray]:
        """The rules as they are with fewer ancestors: names, and those of each rule (n_rules, most ancestors)."""
        numbers: dict[tuple[Any, ...], int] = {}
        most = max(len(s.parents) for s in self.symbols)
        found = np.empty((len(self.rules), most), np.int64)
        for depth in range(1, most + 1):
            known = [s._replace(parents=s.parents[: depth - 1]) for s in self.symbols]
            for p, rule in enumerate(self.rules.tolist()):
                key = depth, *((known[s], s < self.n_leaves) for s in rule)
                found[p, depth - 1] = numbers.setdefault(key, len(numbers))
        return [f"{parent} -> {left} {right}" for _, (parent, _), (left, _), (right, _) in numbers], found

    def rule_name(self, rule: int) -> str:
        """A rule as people write it."""
        parent, left, right = (str(self.symbols[s]) for s in self.rules[rule])
        return f"{parent} -> {left} {right}"

    # -- trees and arrays -------------------------------------------------------------------------------------------
    def encode(self, tree: Tree, where: str = "tree") -> np.ndarray:
        """The array of a tree; a clear error if the grammar cannot make it."""
        binary = binarise(_without_root(tree, self.root), self._remembered, self.vertical)
        rows: list[list[int]] = []
        nodes: list[tuple[int, int, int, int]] = []  # split, rule, left, right
        # nodes in post-order: a node's symbol and span are known after both children
        waiting: list[tuple[Any, bool]] = [(binary, False)]
        done: list[tuple[int, int, int]] = []  # symbol, left, right
        while waiting:
            node, ready = waiting.pop()
            if len(node) == 2:
                if node[0] not in self._leaf_numbers:
                    raise InputError(f"{where} has the leaf {node[0]}, which no tree of the grammar has; {_ADD}")
                done.append((self._leaf_numbers[node[0]], len(rows), len(rows) + 1))
                rows.append([done[-1][0], -1, -1, -1])
            elif not ready:
                waiting += ((node, True), (node[2], False), (node[1], False))
            else:
                right, left = done.pop(), done.pop()
                parent = self._phrase_numbers.get(node[0], -1)
                rule = self._rule_numbers.get((parent, left[0], right[0]))
                if rule is None:
                    names = node[0], self.symbols[left[0]], self.symbols[right[0]]
                    raise InputError(f"{where} uses the rule {names[0]} -> {names[1]} {names[2]}, which no tree of "
                                     f"the grammar has; {_ADD}")  # fmt: skip
                nodes.append((right[1], rule, left[1], right[2]))
                done.append((parent, left[1], right[2]))
        if self.start_counts[done[0][0]] == 0:
            raise InputError(
                f"{where} has {self.symbols[done[0][0]]} at the top, as no tree of the grammar has; {_ADD}"
            )
        array = np.array(rows, np.int32)
        for split, rule, first, last in nodes:
            array[split, 1:] = rule, first, last
        return array

    def decode(self, array: np.ndarray, words: Sequence[str], spare_tags: Sequence[str] = ()) -> Tree:
        """The tree of an array over the given words; pieces are joined below the root.

        ``spare_tags`` are the tags of tokens whose leaf is -1.
        """
        made: dict[int, Tree] = {}  # by first token: the largest tree so far that begins there
        for t, leaf in enumerate(array[:, 0].tolist()):
            made[t] = [self.symbols[leaf] if leaf >= 0 else Symbol((spare_tags[t],)), words[t]]
        nodes = [(last - first, split, rule, first) for split, (_, rule, first, last) in enumerate(array.tolist())]
        for _, split, rule, first in sorted(node for node in nodes if node[2] >= 0):
            made[first] = [self.symbols[self.rules[rule, 0]], made[first], made.pop(split)]
        trees = [debinarise(made[first]) for first in sorted(made)]
        if len(trees) > 1:
            if self.root is None:
                return [self.symbols[int(np.argmax(self.start_counts))].labels[0], *trees]
            return [self.root, *trees]
        return trees[0] if self.root is None or trees[0][0] == self.root else [self.root, trees[0]]


_ADD = "add it to the treebank in grammar=[...]"


def _order(symbol: Symbol) -> tuple[Any, ...]:
    return symbol.siblings is not None, symbol.labels, symbol.siblings or (), symbol.parents


def _common_root(trees: Sequence[Tree]) -> str | None:
    """The label of the root if all trees have the same and most have a single phrase below it."""
    labels = {tree[0] for tree in trees}
    if len(labels) != 1:
        return None
    single = sum(len(tree) == 2 and not isinstance(tree[1], str) for tree in trees)
    return labels.pop() if 2 * single > len(trees) else None


def _without_root(tree: Tree, root: str | None) -> Tree:
    if root is not None and tree[0] == root and len(tree) == 2 and not isinstance(tree[1], str):
        # if the same label came next, it would be taken for the root when the tree is put together again
        return tree[1] if tree[1][0] != root else tree
    return tree
