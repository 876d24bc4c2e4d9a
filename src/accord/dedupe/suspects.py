"""Records that are probably in the wrong cluster: what models that have not seen their cluster think of them.

Labeled clusters are held out in folds. A model of the others says how similar a record of a held-out cluster is to its
own one, and to others that have records like it; labels of the held-out records make probabilities of that.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from accord.dedupe.blocking import candidate_pairs
from accord.dedupe.labels import check_ids, folds_of_clusters
from accord.dedupe.pairs import as_records

MOST_MEMBERS = 100  # of a cluster that a record is compared with


class Doubted(NamedTuple):
    """A record, its cluster, one that it is more probably in (None: one of its own), and how probably it is wrong."""

    record: int
    given: Hashable
    suggested: Hashable | None
    probability: float


def doubted_records(
    model: Any, records: Any, ids: Sequence[Hashable | None], n_splits: int, rng: np.random.Generator
) -> list[Doubted]:
    """All labeled records, by number; `model` is a `Deduplicator`, of which copies are fitted."""
    records = as_records(records, "records")
    clusters = check_ids(ids, len(records))
    labeled = np.flatnonzero(clusters >= 0)
    truth = clusters[labeled]
    names = {int(number): ids[i] for i, number in zip(labeled[::-1], truth[::-1])}
    members = [np.flatnonzero(truth == number) for number in range(truth.max(initial=-1) + 1)]
    found = []
    folds = folds_of_clusters(truth, n_splits, rng)
    for fold in range(n_splits):
        held_out = np.flatnonzero(folds == fold)
        if not held_out.size:
            continue
        hidden = set(labeled[held_out].tolist())
        fitted = clone(model).set_params(self_training=False, verbose=0)
        fitted.fit(records, [None if i in hidden else one for i, one in enumerate(ids)])
        table = fitted.view_.table([records[i] for i in labeled])
        near = _near_clusters(table, fitted, truth)
        constant, weights = fitted.constant(len(records)), fitted.pair_weights()
        own = np.array([_similarity(table, i, members[truth[i]], weights, constant, True) for i in held_out.tolist()])
        best, other = _nearest(table, held_out, truth, members, near, weights, constant)
        own, other = _as_labels_have_it(own, other)
        for k, i in enumerate(held_out.tolist()):
            # what belongs to another cluster is wrong in any case: both may be about the same thing
            wrong = float(expit(max(other[k], max(other[k], 0.0) - (own[k] if members[truth[i]].size > 1 else 0.0))))
            suggested = names[int(best[k])] if other[k] > 0.0 else None
            found.append(Doubted(int(labeled[i]), names[int(truth[i])], suggested, wrong))
    return sorted(found)


def _near_clusters(table: Any, fitted: Any, truth: np.ndarray) -> list[set[int]]:
    """For each record the clusters of its candidates."""
    found: list[set[int]] = [set() for _ in range(truth.size)]
    for a, b in zip(*(side.tolist() for side in candidate_pairs(table, fitted.n_candidates, n_jobs=fitted.n_jobs))):
        found[a].add(int(truth[b]))
        found[b].add(int(truth[a]))
    return found


def _nearest(
    table: Any, records: np.ndarray, truth: np.ndarray, members: list[np.ndarray], near: list[set[int]],
    weights: np.ndarray, constant: float,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The other cluster that is most similar to each of some records, and how similar it is; -1 if there is none."""
    best, similar = np.full(records.size, -1), np.full(records.size, -np.inf)
    for k, i in enumerate(records.tolist()):
        for cluster in near[i] - {int(truth[i])}:
            found = _similarity(table, i, members[cluster], weights, constant)
            if found > similar[k]:
                best[k], similar[k] = cluster, found
    return best, similar


def _as_labels_have_it(own: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Logarithms of the odds that records belong to their own and to another cluster.

    Mistakes among labels move where similar begins, so that is asked of the labels of the held-out records again.
    """
    some = np.isfinite(other)
    scores = np.concatenate([own[own != 0.0], other[some]])
    same = np.arange(scores.size) < np.count_nonzero(own)
    if same.all() or not same.any():
        return own, other
    line = LogisticRegression(class_weight="balanced").fit(scores[:, None], same)
    slope, start = max(float(line.coef_[0, 0]), 0.0), float(line.intercept_[0])
    return np.where(own != 0.0, slope * own + start, 0.0), np.where(some, slope * other + start, -np.inf)


def _similarity(
    table: Any, i: int, members: np.ndarray, weights: np.ndarray, constant: float, nearer_half: bool = False
) -> float:
    """The mean similarity to the others of a cluster, 0 if there are none.

    The nearer half is enough for its own cluster, some of which may be wrong; to suggest another, all count.
    """
    others = members[members != i][:MOST_MEMBERS]
    if not others.size:
        return 0.0
    scores = np.sort(table.compare(np.maximum(i, others), np.minimum(i, others)) @ weights)
    return float(scores[scores.size // 2 if nearer_half else 0 :].mean()) + constant
