"""The k best trees of a sentence."""

from __future__ import annotations

import heapq
import sys
from collections.abc import Iterator

import numpy as np

from accord.decoders import cky, cky_trees

Node = tuple[int, int, int]  # left, right, symbol
Entry = tuple[float, int, int, int, int]  # score, rule, split, ranks of the trees below on the left and on the right


class KBest:
    """The k best trees by lazy enumeration: the lists of a node's best trees grow only as far as they are asked for
    (Huang and Chiang 2005, Algorithm 3)."""

    def __init__(
        self, grammar: cky.Grammar, parts: cky.TreeScores, brackets: cky.Brackets, chart: np.ndarray, k: int
    ) -> None:
        self.g, self.parts, self.k, self.chart = grammar, parts, k, chart
        self.n = parts.leaf.shape[0]
        if self.n:
            cky.fill_chart(self.g, parts, brackets, False, self.chart)
        # of each node the best trees so far, the next candidates (scores negated: a heap), and all it has had
        self.best: dict[Node, list[Entry]] = {}
        self.waiting: dict[Node, list[Entry]] = {}
        self.seen: dict[Node, set[tuple[int, ...]]] = {}

    def trees(self) -> list[tuple[np.ndarray, float]]:
        """The trees, best first."""
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(limit + 4 * self.n)  # two calls for each level of a tree
        try:
            return list(self._trees())
        finally:
            sys.setrecursionlimit(limit)

    def _trees(self) -> Iterator[tuple[np.ndarray, float]]:
        n = self.n
        if n == 0:
            yield np.empty((0, 4), np.int32), 0.0
            return
        tops = self.chart[cky.cell(0, n, n)] + self.parts.start
        heap = [(-float(tops[s]), int(s), 0) for s in np.flatnonzero(tops > -np.inf)]
        heapq.heapify(heap)
        for _ in range(self.k):
            if not heap:
                return
            score, symbol, rank = heapq.heappop(heap)
            tree = np.full((n, 4), -1, np.int32)
            self._write((0, n, symbol), rank, tree)
            yield tree, -score
            following = self._tree((0, n, symbol), rank + 1)
            if following is not None:
                heapq.heappush(heap, (-(following + float(self.parts.start[symbol])), symbol, rank + 1))

    def _tree(self, node: Node, rank: int) -> float | None:
        """Score of the tree of that rank below a node."""
        left, right, symbol = node
        at = float(self.chart[cky.cell(left, right, self.n), symbol])
        if right - left == 1:
            return at if rank == 0 else None
        if node not in self.best:
            self._start(node, at)
        best, waiting = self.best[node], self.waiting[node]
        while len(best) <= rank:
            if best:
                self._follow(node, best[-1])
            if not waiting:
                return None
            score, rule, split, a, b = heapq.heappop(waiting)
            best.append((-score, rule, split, a, b))
        return best[rank][0]

    def _start(self, node: Node, at: float) -> None:
        left, right, symbol = node
        edges = np.empty((self.k, 3))
        size = cky_trees.best_edges(self.g, self.parts, self.chart, left, right, symbol, self.k, edges)
        # what brackets add to the node is in the chart, not in its edges
        bonus = at - edges[0, 0] if size else 0.0
        self.waiting[node] = [(-(s + bonus), int(rule), int(split), 0, 0) for s, rule, split in edges[:size].tolist()]
        heapq.heapify(self.waiting[node])
        self.best[node] = []
        self.seen[node] = {entry[1:] for entry in self.waiting[node]}

    def _follow(self, node: Node, entry: Entry) -> None:
        """Put the neighbours of a tree that was taken into the heap: the next one on the left, or on the right."""
        score, rule, split, a, b = entry
        children = (node[0], split, int(self.g.left[rule])), (split, node[1], int(self.g.right[rule]))
        for ranks in ((a + 1, b), (a, b + 1)):
            if (rule, split, *ranks) in self.seen[node]:
                continue
            new = [self._tree(child, rank) for child, rank in zip(children, ranks)]
            old = [self._tree(child, rank) for child, rank in zip(children, (a, b))]
            if new[0] is None or new[1] is None or old[0] is None or old[1] is None:
                continue
            self.seen[node].add((rule, split, *ranks))
            value = score + (new[0] - old[0]) + (new[1] - old[1])
            heapq.heappush(self.waiting[node], (-value, rule, split, *ranks))

    def _write(self, node: Node, rank: int, tree: np.ndarray) -> None:
        stack = [(node, rank)]
        while stack:
            (left, right, symbol), rank = stack.pop()
            if right - left == 1:
                tree[left, 0] = symbol
                continue
            self._tree((left, right, symbol), rank)
            _, rule, split, a, b = self.best[left, right, symbol][rank]
            tree[split, 1:] = rule, left, right
            stack.append(((left, split, int(self.g.left[rule])), a))
            stack.append(((split, right, int(self.g.right[rule])), b))
