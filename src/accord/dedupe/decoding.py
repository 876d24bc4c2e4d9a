"""Clusters of a large table: candidate pairs, components of those that are similar, and each of these clustered.

Three ways to cluster (``LINKAGES``): "correlation" looks for the largest sum of similarities within clusters, "average"
joins two clusters while the mean similarity between them is positive, "components" joins whatever is similar.

All pairs of a small component are compared. Of a large one, candidates and some others are, and what the rest would
give is guessed from the keys that they share: the rising curve that is nearest to the pairs that were compared.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import squareform
from sklearn.isotonic import IsotonicRegression

from accord.dedupe.blocking import Closeness
from accord.dedupe.lookup_keys import mixed
from accord.dedupe.pairs import RecordTable
from accord.kernels.partitions import correlation
from accord.kernels.partitions.condensed import n_objects, n_pairs, pair_numbers, square
from accord.kernels.partitions.correlation import numbered
from accord.progress import Progress
from accord.structures.partitions.partition import Partition

LINKAGES = ("correlation", "average", "components")
MAX_COMPONENT = 3000  # records; 4.5 million pairs
MOST_ALL_PAIRS = 300  # records of a component all of whose pairs are compared
_BATCH = 1 << 20  # pairs scored at a time, of as many components as that takes

Scores = Callable[[np.ndarray, np.ndarray], np.ndarray]  # similarities of pairs of records


class Rule(NamedTuple):
    """How clusters are found from similarities; `costs` are those of :func:`large_clusters_apart`.

    `lenience` is added to similarities within components: what connects two components has to be more similar.
    """

    linkage: str
    decoder: str
    costs: np.ndarray
    lenience: float = 0.0

    def decode(self, scores: np.ndarray) -> np.ndarray:
        """Cluster numbers of a set by similarities of its pairs in condensed order."""
        if scores.size and scores.min() >= 0.0:  # one cluster, whatever the linkage
            return np.zeros(n_objects(scores.size), np.int64)
        if self.linkage == "average":
            found = average(scores)
        elif self.linkage == "components":
            found = correlation.components(scores)
        else:
            found = Partition().decode(scores, self.decoder)
        return np.asarray(found)


def average(scores: np.ndarray) -> np.ndarray:
    """Cluster numbers: the two clusters with the largest mean similarity between them are joined while it is >= 0."""
    if scores.size == 0:
        return np.zeros(1, np.int64)
    highest = max(float(scores.max()), 0.0)
    tree = linkage(squareform(square(highest - scores), checks=False), "average")
    return numbered(fcluster(tree, highest, "distance"))


def cluster_table(
    table: RecordTable,
    candidates: tuple[np.ndarray, np.ndarray],
    weights: np.ndarray,
    constant: float,
    rule: Rule,
    n_jobs: int | None = 1,
    verbose: bool = False,
) -> np.ndarray:
    """Cluster numbers by first appearance, where similarity is the product of features and weights plus a constant.

    `candidates` are pairs of :func:`accord.dedupe.blocking.candidate_pairs`.
    """

    def scores(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return table.scores(left, right, weights, n_jobs) + constant

    similar, closeness = table.similarities(*candidates, weights, constant, n_jobs), cache(lambda: Closeness(table))
    return cluster_pairs(len(table), candidates, similar, scores, closeness, rule, verbose=verbose)


def cluster_pairs(
    n: int,
    candidates: tuple[np.ndarray, np.ndarray],
    similar: np.ndarray,
    scores: Scores,
    closeness: Callable[[], Closeness],
    rule: Rule,
    wanted: np.ndarray | None = None,
    verbose: bool = False,
) -> np.ndarray:
    """Cluster numbers of n records by first appearance, `similar` being the scores of the candidates.

    Where these are not above 0 it does not matter what they are. Others are asked for where they matter. Components
    with none of the records that are `wanted`, if that is said, are left alone.
    """

    def lenient(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return scores(left, right) + rule.lenience

    parts = small_parts(n, *candidates, similar, MAX_COMPONENT)
    if wanted is not None:
        parts = [part for part in parts if wanted[part].any()]
    labels = np.arange(n)
    with Progress(sum(part.size for part in parts), "clustering", verbose) as progress:
        for part in (part for part in parts if part.size == 2):  # they are similar
            labels[part] = part[0]
        for batch in _batches([part for part in parts if 2 < part.size <= MOST_ALL_PAIRS]):
            pairs = [pair_numbers(part.size) for part in batch]
            a = np.concatenate([part[j] for part, (j, _) in zip(batch, pairs)])
            b = np.concatenate([part[k] for part, (_, k) in zip(batch, pairs)])
            ends = np.cumsum([j.size for j, _ in pairs])[:-1]
            for part, score in zip(batch, np.split(lenient(a, b), ends)):
                _name_clusters(labels, part, score, rule)
                progress.advance(part.size)
        for part in (part for part in parts if part.size > MOST_ALL_PAIRS):
            _name_clusters(labels, part, guessed_scores(part, n, candidates, lenient, closeness()), rule)
            progress.advance(part.size)
    return numbered(labels)


def _name_clusters(labels: np.ndarray, part: np.ndarray, scores: np.ndarray, rule: Rule) -> None:
    """Cluster a component; a cluster is named by its first record."""
    found = large_clusters_apart(scores, rule.decode(scores), rule)
    first = np.unique(found, return_index=True)[1]
    labels[part] = part[first][found]


def guessed_scores(
    part: np.ndarray, n: int, candidates: tuple[np.ndarray, np.ndarray], scores: Scores, closeness: Closeness
) -> np.ndarray:
    """Similarities of all pairs of a large component, some compared, the others guessed from the keys they share.

    Candidates are compared, and as many others as chance picks: candidates are the most alike, and what they say of
    pairs that are not would let large clusters of different things look alike.
    """
    close = closeness.within(part)
    place = np.full(n, -1)
    place[part] = np.arange(part.size)
    left, right = (place[side] for side in candidates)  # those of other components may be missing
    inside = (left >= 0) & (right >= 0)
    later, earlier = np.maximum(left[inside], right[inside]), np.minimum(left[inside], right[inside])
    j, k = pair_numbers(part.size)
    # the same pairs, as far as possible, in whatever component they are: what was compared once is known
    luck = mixed(np.maximum(part[j], part[k]) * np.int64(n) + np.minimum(part[j], part[k]), 0) / 2.0**64
    compared = luck < MOST_ALL_PAIRS * (MOST_ALL_PAIRS - 1) / (2 * j.size)
    compared[later * (later - 1) // 2 + earlier] = True
    some = np.flatnonzero(compared)
    known = scores(part[j[some]], part[k[some]])
    shared = close[j, k]
    curve = IsotonicRegression().fit(shared[some], known)
    out = np.interp(shared, curve.X_thresholds_, curve.y_thresholds_)
    out[some] = known
    return out


def cost_of_size(costs: np.ndarray, n_records: int) -> float:
    """What pairs of a cluster of so many records have to be similar by; the last cost is for all larger clusters."""
    return float(costs[min(n_records, costs.size - 1)])


def large_clusters_apart(scores: np.ndarray, found: np.ndarray, rule: Rule) -> np.ndarray:
    """Clusters again, each by similarities less the cost of its size, until no cluster comes apart.

    A cost is taken off every pair, because every pair counts as evidence of its own, however much they say the same.
    The costs are by number of records, see :func:`cost_of_size`, and 0 up to 2 records.
    """
    costs = rule.costs
    if cost_of_size(costs, int(np.bincount(found).max())) == 0.0:
        return found
    j, k = pair_numbers(found.size)
    found, settled = found.copy(), 0  # clusters of numbers below `settled` stay
    while True:
        sizes = np.bincount(found)
        inside = np.flatnonzero((found[j] == found[k]) & (found[j] >= settled))
        inside = inside[np.argsort(found[j[inside]], kind="stable")]  # cluster by cluster, each in condensed order
        first, fresh = 0, int(sizes.size)
        for cluster in range(settled, sizes.size):
            own = scores[inside[first : first + n_pairs(int(sizes[cluster]))]]
            first += own.size
            if sizes[cluster] > 2:
                parts = rule.decode(own - cost_of_size(costs, int(sizes[cluster])))
                if parts.max() > 0:
                    found[found == cluster] = fresh + parts
                    fresh += int(parts.max()) + 1
        if fresh == sizes.size:
            return numbered(found)
        settled = int(sizes.size)


def small_parts(n: int, left: np.ndarray, right: np.ndarray, similar: np.ndarray, limit: int) -> list[np.ndarray]:
    """Components of two or more records of the pairs that are similar (> 0), sorted.

    Correlation clustering never gains by a cluster that spans two of them. Where a component has more than `limit`
    records, the less similar half of its pairs is left out, until no component has.
    """
    kept = similar > 0
    left, right, similar = left[kept], right[kept], similar[kept]
    done: list[np.ndarray] = []
    while left.size:
        graph = coo_array((np.ones(left.size), (left, right)), shape=(n, n))
        component = connected_components(graph, directed=False)[1]
        sizes = np.bincount(component)
        of_some = np.flatnonzero((sizes >= 2)[component] & (sizes <= limit)[component])
        order = of_some[np.argsort(component[of_some], kind="stable")]
        ends = np.flatnonzero(np.diff(component[order])) + 1
        done += np.split(order, ends) if order.size else []
        large = sizes[component[left]] > limit
        left, right, similar, where = left[large], right[large], similar[large], component[left[large]]
        if not left.size:
            break
        median = np.full(sizes.size, np.inf)
        for part in np.unique(where):
            median[part] = np.median(similar[where == part])
        kept = similar > median[where]
        left, right, similar = left[kept], right[kept], similar[kept]
    return sorted(done, key=lambda part: int(part[0]))


def _batches(parts: list[np.ndarray]) -> list[list[np.ndarray]]:
    out: list[list[np.ndarray]] = []
    room = 0
    for part in parts:
        if n_pairs(part.size) > room or not out:
            out.append([])
            room = _BATCH
        out[-1].append(part)
        room -= n_pairs(part.size)
    return out
