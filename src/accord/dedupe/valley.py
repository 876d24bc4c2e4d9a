"""Where "the same" begins, by how a table falls into clusters.

Average linkage joins all records of a table, the most similar first. Clusters of records that belong together are
joined at high similarities, clusters of different things at low ones, and few in between. So the number of merges
along the similarity has two modes, and the cut lies where, between them, merges are rarest. There must be enough of
them for such a valley to be no accident. If there is none, words say where: dealt out to the records at random, they
make records that are as alike as chance makes them, and records that are more alike than that belong together.
"""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse import coo_array
from scipy.spatial.distance import squareform

from accord.dedupe.compared import ComparedPairs
from accord.dedupe.decoding import guessed_scores
from accord.dedupe.pairs import RecordTable
from accord.kernels.partitions.condensed import square

MOST_RECORDS = 3000  # whose merges are looked at; 4.5 million pairs
_STEPS = 400  # of the similarity
_SILVERMAN = 0.9  # his width of a kernel, by the spread of what is smoothed
_COPIES = 0.02  # share of the similarities that are those of copies
_BY_CHANCE = 0.05  # share of merges of records of random words that may lie above the cut


class Merges(NamedTuple):
    """How many merges there are around each similarity of a grid."""

    grid: np.ndarray
    counts: np.ndarray

    def depth(self) -> np.ndarray:
        """By how many standard deviations merges are rarer than on either side: counts of Poisson, square roots of
        which have the same deviation everywhere."""
        before = np.maximum.accumulate(self.counts)
        after = np.maximum.accumulate(self.counts[::-1])[::-1]
        return np.sqrt(2.0) * (np.sqrt(np.minimum(before, after)) - np.sqrt(self.counts))

    def valley(self) -> tuple[float, float]:
        """Similarity where the valley is deepest, in the middle of all that are, and its depth."""
        depth = self.depth()
        deepest = np.flatnonzero(depth >= depth.max() - 1e-3)
        return float(self.grid[deepest[deepest.size // 2]]), float(depth.max())

    def depth_at(self, similarity: float) -> float:
        """How deep the valley is at some similarity."""
        return float(np.interp(similarity, self.grid, self.depth()))


class MergeTree:
    """Average linkage of all records by similarities with these weights; of a large table, of some neighbourhoods."""

    def __init__(self, compared: ComparedPairs, weights: np.ndarray, rng: np.random.Generator) -> None:
        def scores(left: np.ndarray, right: np.ndarray) -> np.ndarray:
            return compared.scores(left, right, weights)

        self.n, self.records = len(compared.table), _some(compared, rng)
        similar = guessed_scores(self.records, self.n, compared.candidates, scores, compared.closeness)
        self.highest = float(similar.max())
        self.tree = linkage(squareform(square(self.highest - similar), checks=False), "average")
        self.similarities = np.asarray(self.highest - self.tree[:, 2])  # of clusters that are joined

    def clusters(self, cut: float) -> np.ndarray:
        """Cluster numbers of all records, -1 of those that are not in the tree."""
        found = np.full(self.n, -1)
        found[self.records] = fcluster(self.tree, max(self.highest - cut, 0.0), "distance")
        return found


def merges(similarities: np.ndarray) -> Merges:
    """How many there are where, smoothed by a kernel. Copies are left out: they would be a mode of their own."""
    low, high = float(similarities.min()), float(similarities.max())
    similarities = similarities[similarities <= high - _COPIES * (high - low)]
    high = float(similarities.max(initial=low))
    if high <= low:
        return Merges(np.array([low]), np.ones(1))
    grid = np.linspace(low, high, _STEPS)
    spread = float(np.subtract(*np.quantile(similarities, [0.75, 0.25]))) / 1.34
    spread = min(float(np.std(similarities)), spread) or float(np.std(similarities))
    width = max(_SILVERMAN * spread * similarities.size**-0.2, (high - low) / 100)
    kernel = np.exp(-0.5 * ((grid[None] - grid[:, None]) / width) ** 2)
    nearest = np.rint((similarities - low) / (grid[1] - grid[0])).astype(np.int64)
    # a sum of such weights varies as a count of so many does
    return Merges(grid, np.sqrt(2.0) * (np.bincount(nearest, minlength=_STEPS) @ kernel))


def cut_by_chance(compared: ComparedPairs, records: np.ndarray, weights: np.ndarray, rng: np.random.Generator) -> float:
    """Similarity above which records are more alike than if their words were dealt out to them at random."""
    table = RecordTable(compared.table.view)
    table.append_plain(
        list(zip(*(dealt_out(column.texts(records), rng) for column in compared.table.columns.values())))
    )
    tree = MergeTree(ComparedPairs(table, compared.n_candidates, compared.n_jobs), weights, rng)
    return float(np.quantile(tree.similarities, 1.0 - _BY_CHANCE))


def dealt_out(cells: list[str | None], rng: np.random.Generator) -> list[str | None]:
    """Cells of as many words, which are those of all cells at random."""
    words = [word for cell in cells if cell is not None for word in cell.split()]
    dealt = (words[k] for k in rng.permutation(len(words)))
    return [None if cell is None else " ".join(islice(dealt, len(cell.split()))) for cell in cells]


def _some(compared: ComparedPairs, rng: np.random.Generator) -> np.ndarray:
    """All records, or some of very many with their candidates."""
    n = len(compared.table)
    if n <= MOST_RECORDS:
        return np.arange(n)
    left, right = compared.candidates
    near = coo_array((np.ones(left.size, np.bool_), (left, right)), shape=(n, n)).tocsr()
    near = (near + near.T).tocsr()
    chosen = np.zeros(n, np.bool_)
    for record in rng.permutation(n):
        if np.count_nonzero(chosen) >= MOST_RECORDS:
            break
        chosen[record] = True
        chosen[near.indices[near.indptr[record] : near.indptr[record + 1]]] = True
    return np.flatnonzero(chosen)
