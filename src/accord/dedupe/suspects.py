"""Records that are probably in the wrong cluster: what models that have not seen their cluster think of them.

Labeled clusters are held out in folds. A model of the others says how similar a record of a held-out cluster is to its
own one, and to others that have records like it. Both are logarithms of odds, so they are probabilities, too.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.base import clone

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
        for i in held_out.tolist():
            own = _similarity(table, i, members[truth[i]], weights, constant, nearer_half=True)
            others = {k: _similarity(table, i, members[k], weights, constant) for k in near[i] - {int(truth[i])}}
            best = max(others, key=lambda k: others[k], default=None)
            other = -np.inf if best is None else others[best]
            # what belongs to another cluster is wrong in any case: both may be about the same thing
            wrong = float(expit(max(other, max(other, 0.0) - own)))
            suggested = names[best] if best is not None and other > 0.0 else None
            found.append(Doubted(int(labeled[i]), names[int(truth[i])], suggested, wrong))
    return sorted(found)


def _near_clusters(table: Any, fitted: Any, truth: np.ndarray) -> list[set[int]]:
    """For each record the clusters of its candidates."""
    found: list[set[int]] = [set() for _ in range(truth.size)]
    for a, b in zip(*(side.tolist() for side in candidate_pairs(table, fitted.n_candidates, n_jobs=fitted.n_jobs))):
        found[a].add(int(truth[b]))
        found[b].add(int(truth[a]))
    return found


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
