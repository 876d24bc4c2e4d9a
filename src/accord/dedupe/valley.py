"""Where "the same" begins, by how a table falls into clusters: between merges of two kinds there is a valley.

Average linkage joins all records of a table, the most similar first. Clusters of records that belong together are
joined at high similarities, clusters of different things at low ones, and few in between. So the density of merges
along the similarity has two modes, and the cut lies where, between them, merges are rarest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse import coo_array
from scipy.spatial.distance import squareform

from accord.dedupe.compared import ComparedPairs
from accord.dedupe.decoding import guessed_scores
from accord.kernels.partitions.condensed import square

MOST_RECORDS = 3000  # whose merges are looked at; 4.5 million pairs
_STEPS = 400  # of the similarity
_SILVERMAN = 0.9  # his width of a kernel, by the spread of what is smoothed
_TOP, _BOTTOM = 0.01, 0.1  # share of merges at either end that is assumed, so that a table without one kind has a cut
_NONE = 1e-6  # density that counts as none


class Merges(NamedTuple):
    """Density of merges on a grid of similarities."""

    grid: np.ndarray
    density: np.ndarray

    def depth(self) -> np.ndarray:
        """By which factor, in logarithms, merges are rarer than on either side, at every similarity of the grid."""
        before = np.maximum.accumulate(self.density)
        after = np.maximum.accumulate(self.density[::-1])[::-1]
        return np.log(np.minimum(before, after) / self.density)

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


def merges(similarities: np.ndarray, ends: tuple[float, float] | None = None) -> Merges:
    """Their density. With `ends`, the lowest and highest similarity there can be, some merges are assumed at both."""
    low, high = float(similarities.min()), float(similarities.max())
    if ends is not None:
        low, high = min(low, ends[0]), max(high, ends[1])
    if high <= low:
        return Merges(np.array([low]), np.ones(1))
    grid = np.linspace(low, high, _STEPS)
    spread = float(np.subtract(*np.quantile(similarities, [0.75, 0.25]))) / 1.34
    spread = min(float(np.std(similarities)), spread) or float(np.std(similarities))
    width = max(_SILVERMAN * spread * similarities.size**-0.2, (high - low) / 100)

    def kernel(at: np.ndarray) -> np.ndarray:
        return np.asarray(np.exp(-0.5 * ((grid[None] - at[:, None]) / width) ** 2) / width)

    nearest = np.rint((similarities - low) / (grid[1] - grid[0])).astype(np.int64)
    density = np.bincount(nearest, minlength=_STEPS) @ kernel(grid) / similarities.size
    density += _TOP * kernel(np.array([high]))[0] + (0.0 if ends is None else _BOTTOM * kernel(np.array([low]))[0])
    return Merges(grid, density + _NONE)


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
