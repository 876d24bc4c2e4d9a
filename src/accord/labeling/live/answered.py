"""Clusters of a table in which answers hold, whatever the model thinks of these pairs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from accord.dedupe.decoding import average
from accord.kernels.partitions.condensed import pair_numbers
from accord.kernels.partitions.correlation import numbered

_SURE = 1e6  # a similarity that no mean of others outweighs


def hold_answers(
    found: np.ndarray,
    same: np.ndarray,
    different: np.ndarray,
    scores: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> np.ndarray:
    """Cluster numbers by first appearance. Only clusters that answers speak against are made anew.

    `found` has the model's clusters; `same` a number for each record, equal where answers say that they are the same;
    `different` rows of two such numbers that are not. Clusters that share such a number are taken together; these, and
    clusters with records that are different, are clustered again by average linkage of the `scores`.
    """
    n = np.int64(found.size)

    def key(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return np.minimum(one, other) * n + np.maximum(one, other)

    apart = key(*different.T)
    records = np.arange(n)
    links = np.append(records, records), np.append(n + found, 2 * n + same)  # to its cluster, and to its number
    part = connected_components(coo_array((np.ones(2 * n), links), shape=(3 * n, 3 * n)), directed=False)[1][:n]
    order = np.argsort(part, kind="stable")
    out = found.copy()
    for own in np.split(order, np.flatnonzero(np.diff(part[order])) + 1):
        later, earlier = pair_numbers(own.size)
        left, right = own[later], own[earlier]
        equal = same[left] == same[right]  # if they are said to be different as well, this counts
        unequal = ~equal & np.isin(key(same[left], same[right]), apart)
        together = found[left] == found[right]
        if np.any(equal & ~together) or np.any(unequal & together):
            similar = np.where(equal, _SURE, np.where(unequal, -_SURE, scores(left, right)))
            out[own] = n + own[average(similar)]
    return numbered(out)
