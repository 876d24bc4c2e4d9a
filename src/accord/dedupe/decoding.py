"""Clusters of a large table: candidate pairs, components of those that are similar, correlation clustering in each."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from accord.dedupe.pairs import RecordTable
from accord.kernels.partitions.condensed import n_pairs, pair_numbers
from accord.kernels.partitions.correlation import numbered
from accord.progress import Progress
from accord.structures.partitions.partition import Partition

MAX_COMPONENT = 3000  # records; 4.5 million pairs
_BATCH = 1 << 20  # pairs scored at a time, of as many components as that takes


def cluster_table(
    table: RecordTable,
    candidates: tuple[np.ndarray, np.ndarray],
    weights: np.ndarray,
    constant: float,
    costs: np.ndarray,
    decoder: str,
    n_jobs: int | None = 1,
    verbose: bool = False,
) -> np.ndarray:
    """Cluster numbers by first appearance, where similarity is the product of features and weights plus a constant.

    `candidates` are pairs of :func:`accord.dedupe.blocking.candidate_pairs`, `costs` those of
    :func:`large_clusters_apart`.
    """
    similar = table.scores(*candidates, weights, n_jobs) + constant
    parts = small_parts(len(table), *candidates, similar, MAX_COMPONENT)
    labels = np.arange(len(table))
    structure = Partition()
    with Progress(sum(part.size for part in parts), "clustering", verbose) as progress:
        for batch in _batches(parts):
            pairs = [pair_numbers(part.size) for part in batch]
            a = np.concatenate([part[j] for part, (j, _) in zip(batch, pairs)])
            b = np.concatenate([part[k] for part, (_, k) in zip(batch, pairs)])
            scores = np.split(
                table.scores(a, b, weights, n_jobs) + constant, np.cumsum([j.size for j, _ in pairs])[:-1]
            )
            for part, score in zip(batch, scores):
                found = large_clusters_apart(score, structure.decode(score, decoder), costs, decoder)
                first = np.unique(found, return_index=True)[1]
                labels[part] = part[first][found]  # a cluster is named by its first record
                progress.advance(part.size)
    return numbered(labels)


def cost_of_size(costs: np.ndarray, n_records: int) -> float:
    """What pairs of a cluster of so many records have to be similar by; the last cost is for all larger clusters."""
    return float(costs[min(n_records, costs.size - 1)])


def large_clusters_apart(scores: np.ndarray, found: np.ndarray, costs: np.ndarray, decoder: str) -> np.ndarray:
    """Clusters again, each by similarities less the cost of its size, until no cluster comes apart.

    A cost is taken off every pair, because every pair counts as evidence of its own, however much they say the same.
    `costs` are by number of records, see :func:`cost_of_size`, and 0 up to 2 records.
    """
    if not costs.any():
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
                parts = Partition().decode(own - cost_of_size(costs, int(sizes[cluster])), decoder)
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
        order = np.argsort(component, kind="stable")
        parts = np.split(order, np.cumsum(sizes)[:-1])
        done += [part for part in parts if 2 <= part.size <= limit]
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
