"""Decoders of parse trees over weighted grammars: what :class:`accord.Tree` does with numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from accord.exceptions import InfeasibleError, InputError
from accord.kernels.trees import best_trees as cky_trees
from accord.kernels.trees import cky, inside_outside
from accord.kernels.trees import violator as tree_violator
from accord.kernels.trees.cky import Brackets, TreeScores
from accord.kernels.trees.features import tree_entries
from accord.structures.base import BaseStructure
from accord.structures.trees.grammar import TreebankGrammar
from accord.structures.trees.k_best import k_best
from accord.structures.trees.lexicon import Lexicon

LOSSES = {
    "zero-one": tree_violator.ZERO_ONE,
    "hamming": tree_violator.BRACKET_HAMMING,
    "f1": tree_violator.BRACKET_F1,
}


class TreeDecoders(BaseStructure):
    """A fitted grammar at work. Trees are arrays as :mod:`accord.kernels.trees.cky` describes them."""

    loss: str
    terminals: str
    exact_length: int
    _longest: float = math.inf  # tokens of the trees that this was fitted to, if it is known
    grammar_: TreebankGrammar
    lexicon_: Lexicon
    arrays_: cky.Grammar
    anchors_: list[str]
    subtrees_: list[str]
    subtrees_of_: np.ndarray  # (n_rules, depths)

    @property
    def labels_(self) -> list[str]:  # type: ignore[override]
        """Labels of constituents."""
        return self.grammar_.labels

    @property
    def n_labels_(self) -> int:
        return len(self.labels_)

    # -- sizes and weights ------------------------------------------------------------------------------------------
    @property
    def n_nodes_(self) -> int:
        """Columns of the weights of token features: tags (of words), then anchors at first, last and split token."""
        return self.n_tag_nodes_ + 3 * len(self.anchors_)

    @property
    def n_tag_nodes_(self) -> int:
        """Columns for tags: words have features that tell their tags, given tags need none."""
        return len(self.grammar_.tags) if self.terminals == "words" else 0

    @property
    def n_transitions_(self) -> int:
        """Weights without token features: rules, leaves, symbols at the top, widths by anchor, shallower sub-trees."""
        g = self.grammar_
        return len(g.rules) + g.n_leaves + g.n_symbols + cky.N_WIDTHS * len(self.anchors_) + len(self.subtrees_)

    def split_transitions(self, transitions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Views of (rule, leaf, start, width) in a transition vector."""
        g = self.grammar_
        leaves = len(g.rules)
        starts = leaves + g.n_leaves
        widths = starts + g.n_symbols
        width = transitions[widths : transitions.size - len(self.subtrees_)].reshape(cky.N_WIDTHS, -1)
        return transitions[:leaves], transitions[leaves:starts], transitions[starts:widths], width

    # -- scores -----------------------------------------------------------------------------------------------------
    def context(self, tokens: Sequence[Any]) -> np.ndarray:
        """0 where a token may be a leaf symbol, else minus infinity (n_tokens, n_leaves)."""
        numbers = self.lexicon_.numbers(self.terminal(token) for token in tokens)
        allowed = np.zeros((numbers.size, len(self.grammar_.tags)), np.bool_)
        places, entries = self.lexicon_.entries(numbers)
        allowed[places, self.lexicon_.tag[entries]] = True
        return np.where(allowed.take(self.grammar_.leaf_tag, axis=1), 0.0, -np.inf)

    def terminal(self, token: Any) -> str:
        """What the lexicon knows a token by."""
        return token if isinstance(token, str) else token[self.terminals == "tags"]

    def part_scores(self, allowed: np.ndarray, nodes: np.ndarray, transitions: np.ndarray) -> TreeScores:  # type: ignore[override]
        """Scores of all parts of a sentence, from what its tokens may be, their scores of nodes, and transitions."""
        g, n = self.grammar_, self.n_tag_nodes_
        rule, leaf, start, width = self.split_transitions(transitions)
        if self.subtrees_:
            rule = rule + transitions[-len(self.subtrees_) :][self.subtrees_of_].sum(axis=1)
        elif not g.rule_counts.all():
            rule = np.where(g.rule_counts > 0, rule, -np.inf)
        leaf = allowed + leaf
        if n:
            leaf += nodes[:, g.leaf_tag]
        k = len(self.anchors_)
        first, last, split = (np.ascontiguousarray(nodes[:, n + i * k : n + (i + 1) * k]) for i in range(3))
        starts = np.where(g.start_counts > 0, start, -np.inf)
        return TreeScores(np.ascontiguousarray(rule), starts, leaf, first, last, split, np.ascontiguousarray(width))

    def parts(
        self, tokens: Sequence[Any], nodes: np.ndarray | None = None, transitions: np.ndarray | None = None
    ) -> TreeScores:
        """Part scores of one sentence (default: all zero)."""
        if nodes is None:
            nodes = np.zeros((len(tokens), self.n_nodes_))
        if transitions is None:
            transitions = np.zeros(self.n_transitions_)
        if np.shape(nodes) != (len(tokens), self.n_nodes_):
            raise InputError(f"nodes has shape {np.shape(nodes)}; expected ({len(tokens)}, {self.n_nodes_})")
        if np.shape(transitions) != (self.n_transitions_,):
            raise InputError(f"transitions has shape {np.shape(transitions)}; expected ({self.n_transitions_},)")
        return self.part_scores(self.context(tokens), np.asarray(nodes, float), np.asarray(transitions, float))

    def _checked_parts(self, parts: TreeScores, y: np.ndarray | None = None) -> TreeScores:
        """Parts, and a tree, in the sizes of the kernels, which trust them."""
        g, k, n = self.grammar_, len(self.anchors_), len(parts.leaf)
        shapes = (len(g.rules),), (g.n_symbols,), (n, g.n_leaves), (n, k), (n, k), (n, k), (cky.N_WIDTHS, k)
        for name, array, shape in zip(TreeScores._fields, parts, shapes):
            if np.shape(array) != shape:
                raise InputError(
                    f"parts.{name} has shape {np.shape(array)}; expected {shape}, as structure.parts gives"
                )
            if np.isnan(array).any():
                raise InputError(f"parts.{name} has nan; scores are numbers, or minus infinity for what is forbidden")
        if y is not None:
            self._check_tree(y, n)
        return parts

    def _check_tree(self, y: np.ndarray, n_tokens: int) -> None:
        limits = np.array([self.grammar_.n_leaves, len(self.grammar_.rules), n_tokens, n_tokens + 1])
        if np.shape(y) != (n_tokens, 4) or np.any(y < -1) or np.any(y >= limits):
            raise InputError(f"y is no tree of {n_tokens} tokens: expected an array as structure.encode gives")

    def new_chart(self, n_tokens: int) -> np.ndarray:
        """Work space of the decoders."""
        return np.empty((n_tokens * (n_tokens + 1) // 2, self.grammar_.n_symbols))

    # -- decoders ---------------------------------------------------------------------------------------------------
    def parse(self, parts: TreeScores, brackets: Brackets | None = None) -> tuple[np.ndarray, float, float]:
        """Best tree, its score, and its margin over the second best. Minus infinity: no parse, the tree is all -1."""
        n = self._checked_parts(parts).leaf.shape[0]
        tree = np.empty((n, 4), np.int32)
        score, margin = cky_trees.parse(self.arrays_, parts, brackets or no_brackets(), self.new_chart(n), tree)
        return tree, float(score), float(margin)

    def best(self, parts: TreeScores) -> tuple[np.ndarray, float]:
        return self.parse(parts)[:2]

    def best_with_margin(self, parts: TreeScores, k: int = 2) -> tuple[np.ndarray, float, float]:
        return self.parse(parts)

    def decode(self, parts: TreeScores, brackets: Brackets | None = None) -> tuple[np.ndarray, float]:
        """Best tree and its score."""
        tree, score, _ = self.parse(parts, brackets)
        if score == -np.inf:
            raise InfeasibleError("no parse: the grammar has no tree for this sentence that the brackets allow")
        return tree, score

    def pieces(self, parts: TreeScores, brackets: Brackets | None = None) -> np.ndarray:
        """What to do without a parse: as few trees as cover the sentence; see :func:`cky_trees.parse_pieces`."""
        n = parts.leaf.shape[0]
        tree, chart = np.empty((n, 4), np.int32), self.new_chart(n)
        whole = np.array([s.siblings is None for s in self.grammar_.symbols])
        cky.fill_chart(self.arrays_, parts, brackets or no_brackets(), False, chart)
        cky_trees.parse_pieces(self.arrays_, parts, chart, whole, tree)
        return tree

    def given(self, n_tokens: int, spans: Iterable[Any], where: str = "given") -> Brackets:
        """Brackets that a tree must have: triples (label, left, right), or pairs (left, right) for any label."""
        lefts, lasts = np.triu_indices(n_tokens)  # the spans in the order of their cells
        rights = lasts + 1
        blocked = np.zeros(lefts.size, np.bool_)
        numbers = {label: i for i, label in enumerate(self.labels_)}
        chains: dict[int, list[int]] = {}
        if isinstance(spans, str) or not hasattr(spans, "__iter__"):
            raise InputError(f"{where} is {spans!r}; expected a list of brackets (label, left, right) or (left, right)")
        spans = list(spans)
        found = [_bracket(span, f"{where}[{k}]") for k, span in enumerate(spans)]
        for k, (span, (label, left, right)) in enumerate(zip(spans, found)):
            for j, (_, a, b) in enumerate(found[:k]):
                if a < left < b < right or left < a < right < b:
                    raise InputError(
                        f"{where}[{j}] and {where}[{k}] cross: no tree has brackets over {a}-{b} and {left}-{right}"
                    )
            if not 0 <= left < right <= n_tokens:
                raise InputError(f"{where}[{k}] is {span!r}; expected 0 <= left < right <= {n_tokens}")
            if label == self.grammar_.root and right - left == n_tokens:
                continue  # all trees have it
            if label is not None and label not in numbers:
                raise InputError(f"{where}[{k}] has the label {label!r}; expected one of {self.labels_!r}")
            at = cky.cell(left, right, n_tokens)
            if label is not None:
                chains.setdefault(at, []).append(numbers[label])
            elif right - left > 1:
                chains.setdefault(at, [])
            blocked |= (lefts < left) & (left < rights) & (rights < right)
            blocked |= (left < lefts) & (lefts < right) & (right < rights)
        required = np.full((lefts.size, max([1, *map(len, chains.values())])), -1, np.int32)
        for at, chain in chains.items():
            required[at, : max(len(chain), 1)] = chain or cky.ANY_LABEL
        return no_brackets()._replace(blocked=blocked, required=required)

    def k_best(self, parts: TreeScores, k: int, brackets: Brackets | None = None) -> list[tuple[np.ndarray, float]]:
        """At most ``k`` best trees, distinct, best first; fewer if the grammar has fewer."""
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
            raise InputError(f"k is {k!r}; expected a whole number, at least 1")
        chart = self.new_chart(self._checked_parts(parts).leaf.shape[0])
        return k_best(self.arrays_, parts, brackets or no_brackets(), chart, k)

    def find_violator(
        self, parts: TreeScores, y: np.ndarray, rescaling: int, norm: int
    ) -> tuple[float, float, np.ndarray]:
        """Most violating tree: (violation, root of its loss for the 2-norm, its loss for the 1-norm, the tree)."""
        found = np.empty_like(y)
        gold, n_gold = self.mark(y)
        parts = self._checked_parts(parts, y)
        h, loss = tree_violator.find_tree_violator(
            LOSSES[self.loss], self._unit(y), rescaling, norm, len(y) <= self.exact_length, self.arrays_, parts, y,
            gold, n_gold,
            cky_trees.tree_score(self.arrays_, parts, y), self.new_chart(len(y)), found,
        )  # fmt: skip
        return float(h), float(loss), found

    def exact(self, rescaling: str = "margin", norm: int = 1) -> bool:
        """As in the contract; by level if the trees that the structure was fitted to are short enough."""
        adds_up = self.loss == "hamming" and rescaling == "margin" and norm == 1
        return self.loss == "zero-one" or adds_up or self._longest <= self.exact_length

    def score(self, parts: TreeScores, y: np.ndarray) -> float:
        """Score of a tree."""
        return float(cky_trees.tree_score(self.arrays_, self._checked_parts(parts, y), y))

    def root(self, y: np.ndarray) -> int:
        """Symbol at the top of a tree."""
        return int(cky_trees.root_symbol(self.arrays_, y))

    def mark(self, y: np.ndarray) -> tuple[np.ndarray, int]:
        """The labels over each span of a tree (n_cells, longest chain), and their number."""
        self._check_tree(y, len(y))
        longest = int(np.diff(self.arrays_.label_ptr).max(initial=1))
        gold = np.empty((len(y) * (len(y) + 1) // 2, max(longest, 1)), np.int32)
        return gold, int(cky_trees.mark_constituents(self.arrays_, y, gold))

    def _unit(self, y: np.ndarray) -> float:
        return 1.0 / max(len(y), 1)

    def loss_between(self, y: np.ndarray, y_pred: np.ndarray) -> float:
        """Loss of predicting ``y_pred``, which may be pieces, for ``y``."""
        if self.loss == "zero-one":
            return float(not np.array_equal(y, y_pred))
        counts = self.compare(y, y_pred)
        return float(tree_violator.bracket_loss(LOSSES[self.loss], self._unit(y), *counts))

    def compare(self, y: np.ndarray, y_pred: np.ndarray) -> tuple[int, int, int]:
        """Constituents of a tree, of a prediction, and of both."""
        gold, n_gold = self.mark(y)
        self._check_tree(y_pred, len(y))
        total, matched = cky_trees.compare_constituents(self.arrays_, y_pred, gold)
        return n_gold, int(total), int(matched)

    def count_parts(self, y: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """The (token, node) pairs that a tree has; its transitions are added to ``counts``."""
        room = np.empty((6 * len(y) + 1, 2), np.int64)
        n = tree_entries(self.arrays_, self.grammar_.leaf_tag, self.n_tag_nodes_, len(self.anchors_), y, room, counts)
        if self.subtrees_:
            np.add.at(counts[-len(self.subtrees_) :], self.subtrees_of_[y[1:, 1]], 1.0)
        return room[:n]

    def expectations(self, parts: TreeScores) -> tuple[float, np.ndarray, np.ndarray]:
        """Log partition function, and how often nodes at tokens and transitions are to be expected."""
        log_z, chart = self.inside(parts)
        expected = self.zero_expected(parts.leaf.shape[0])
        inside_outside.outside(self.arrays_, parts, chart, log_z, 1.0, expected)
        return log_z, *self.collect(expected)

    def log_partition(self, parts: TreeScores) -> float:
        """Log of the summed exponentials of all trees' scores."""
        return self.inside(parts)[0]

    def marginals(self, parts: TreeScores) -> dict[tuple[str, int, int], float]:
        """Expected number of every constituent (label, left, right): its probability, unless chains repeat it."""
        log_z, chart = self.inside(parts)
        if log_z == -np.inf:
            raise InfeasibleError("no parse: the grammar has no tree for this sentence, so there are no marginals")
        n = parts.leaf.shape[0]
        posterior = inside_outside.outside(self.arrays_, parts, chart, log_z, 1.0, self.zero_expected(n))
        names = [self.grammar_.constituents_of(s) for s in range(self.grammar_.n_symbols)]
        found: dict[tuple[str, int, int], float] = {}
        for left in range(n):
            for right in range(left + 1, n + 1):
                row = posterior[cky.cell(left, right, n)]
                for symbol in np.flatnonzero(row > 0):
                    hidden = cky.first_label(self.arrays_, symbol, right - left == n) - self.arrays_.label_ptr[symbol]
                    for label in names[symbol][hidden:]:
                        key = label, left, right
                        found[key] = found.get(key, 0.0) + float(row[symbol])
        return found

    def inside(self, parts: TreeScores, brackets: Brackets | None = None) -> tuple[float, np.ndarray]:
        """(log partition function, inside sums)."""
        chart = self.new_chart(self._checked_parts(parts).leaf.shape[0])
        return float(inside_outside.inside(self.arrays_, parts, brackets or no_brackets(), chart)), chart

    def zero_expected(self, n_tokens: int) -> inside_outside.Expected:
        """Counts of all parts of a sentence, all zero."""
        g, k = self.grammar_, len(self.anchors_)
        return inside_outside.Expected(
            rule=np.zeros(len(g.rules)),
            start=np.zeros(g.n_symbols),
            leaf=np.zeros((n_tokens, g.n_leaves)),
            first=np.zeros((n_tokens, k)),
            last=np.zeros((n_tokens, k)),
            split=np.zeros((n_tokens, k)),
            width=np.zeros((cky.N_WIDTHS, k)),
        )

    def collect(self, expected: inside_outside.Expected) -> tuple[np.ndarray, np.ndarray]:
        """Counts of parts in the layout of the weights: by node columns of the tokens, and by transitions."""
        g = self.grammar_
        tag = np.zeros((expected.leaf.shape[0], self.n_tag_nodes_))
        if self.n_tag_nodes_:
            np.add.at(tag.T, g.leaf_tag, expected.leaf.T)
        nodes = np.concatenate([tag, expected.first, expected.last, expected.split], axis=1)
        by_leaf = expected.leaf.sum(axis=0)
        depths = np.repeat(expected.rule, self.subtrees_of_.shape[1])
        by_subtree = np.bincount(self.subtrees_of_.ravel(), depths, len(self.subtrees_))
        return nodes, np.concatenate([expected.rule, by_leaf, expected.start, expected.width.ravel(), by_subtree])


def _bracket(span: Any, where: str) -> tuple[str | None, int, int]:
    """Label (None: any) and ends of a bracket."""
    if isinstance(span, (tuple, list)) and len(span) in (2, 3):
        label, *ends = (None, *span) if len(span) == 2 else span
        whole = all(isinstance(end, (int, np.integer)) and not isinstance(end, bool) for end in ends)
        if whole and (label is None or isinstance(label, str)):
            return label, int(ends[0]), int(ends[1])
    raise InputError(f"{where} is {span!r}; expected a bracket (label, left, right) or (left, right) of token numbers")


def no_brackets() -> Brackets:
    """Nothing known or wished."""
    nothing = np.full((1, 1), -1, np.int32)
    return Brackets(nothing, 0.0, 0.0, np.empty(0, np.bool_), np.empty((0, 0), np.int32))
