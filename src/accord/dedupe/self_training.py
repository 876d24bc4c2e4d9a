"""Unlabeled records of a table: learning from clusters that were found among them (self-training).

Labeled clusters are few. A table has many more pairs that are nearly alike, and its clusters tell something about them
that similarities alone do not: two records that are not much alike belong together if others between them are. So the
table is clustered with what labeled records taught, and weights are learned again, from labeled records and from what
was found about candidate pairs.

Where that does not pay is a matter of the data. It is tried first without each fold of the labeled clusters, whose
records are then as unlabeled as the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array

from accord.dedupe.blocking import candidate_pairs
from accord.dedupe.decoding import cluster_table
from accord.dedupe.labels import Labeled
from accord.dedupe.machines import FoldModel, Machines
from accord.dedupe.pairs import RecordTable
from accord.dedupe.values import Record, cell_text
from accord.learners.clustering import ClusteringSVM
from accord.structures.partitions.losses import pair_counts

METHODS = ("pairwise", "sequential")  # those that are quick with many sets of two records
_MOST_RECORDS = 5000  # unlabeled ones
_MOST_PAIRS = 20_000  # about as many as 200 labeled records have
_MUCH = 0.05  # of F1


class Learned(NamedTuple):
    """Machines, their mean, and the scale that makes its similarities logarithms of odds."""

    machines: list[ClusteringSVM]
    weights: np.ndarray
    bias: float
    slope: float


class SelfTraining:
    """Weights learned again, with clusters of the table that the weights of before find.

    `table` has the labeled records first; `rarity` is what predictions take off similarities in a table of its size.
    ``n_guessed`` is the number of pairs that are not labeled.
    """

    def __init__(
        self,
        machines: Machines,
        labeled: Labeled,
        table: RecordTable,
        n_candidates: int,
        decoder: str,
        costs: np.ndarray,
        rarity: float,
        rng: np.random.Generator,
    ) -> None:
        self.machines, self.labeled, self.table = machines, labeled, table
        self.decoder, self.costs, self.rarity = decoder, costs, rarity
        self.candidates = left, right = candidate_pairs(table, n_candidates, n_jobs=machines.n_jobs)
        both = (left < labeled.truth.size) & (right < labeled.truth.size)
        # pairs of labeled records are guessed only where they are held out
        parts = [_some(np.flatnonzero(one), rng) for one in (~both, both)]
        pool, self.n_guessed = np.concatenate(parts), parts[0].size
        self.pool_left, self.pool_right = left[pool], right[pool]
        self.features = table.compare(self.pool_left, self.pool_right)

    def learn(self, weights: np.ndarray, bias: float, slope: float, fold: int = -1) -> Learned:
        """Learn again, without one of the folds if it is named."""
        others = self.labeled.folds != fold
        known = np.zeros(len(self.table), np.bool_)
        known[: others.size] = others
        # How rare matches are is taken into account when clusters are predicted, and once is enough.
        found = self._clusters(weights, bias, slope, 0.0)
        guessed = ~(known[self.pool_left] & known[self.pool_right])
        left, right = self.pool_left[guessed], self.pool_right[guessed]
        sure, clusters = self.labeled.part(others)
        fitted = self.machines.fit(sure, clusters, self.features[guessed], found[left] == found[right])
        new, new_bias = self.machines.mean(fitted, weights.size)
        # The scale of before was calibrated on held-out records: labeled pairs keep the spread that they had.
        before, after = (np.std(np.concatenate([p @ w for p in sure])) for w in (weights, new))
        return Learned(fitted, new, new_bias, float(slope * before / after) if after > 0.0 else slope)

    def f1(self, model: FoldModel | Learned, fold: int, slope: float) -> float:
        """F1 of pairs of the records of a fold, clustered as part of the table."""
        held_out = np.flatnonzero(self.labeled.folds == fold)
        found = self._clusters(model.weights, model.bias, slope, self.rarity)
        true, pred, both = pair_counts(self.labeled.truth[held_out], found[held_out])
        return 2.0 * both / (true + pred)

    def _clusters(self, weights: np.ndarray, bias: float, slope: float, rarity: float) -> np.ndarray:
        constant = bias * slope - rarity
        jobs = self.machines.n_jobs
        return cluster_table(self.table, self.candidates, weights * slope, constant, self.costs, self.decoder, jobs)

    def held_out(self, models: list[FoldModel], slope: float) -> np.ndarray:
        """F1 of pairs of each fold, (folds, 2): before and after learning again."""
        rows = []
        for model in models:
            again = self.learn(model.weights, model.bias, slope, model.fold)
            rows.append([self.f1(model, model.fold, slope), self.f1(again, model.fold, again.slope)])
        return np.array(rows)


def speaks_against(f1: np.ndarray) -> bool:
    """Whether F1 of folds (folds, 2) is lower in the second column: clearly, or by much.

    Clearly: by more than two standard errors of the mean. By much: by five points, which few folds may not tell apart.
    """
    gains = f1[:, 1] - f1[:, 0]
    error = np.std(gains, ddof=1) / np.sqrt(gains.size) if gains.size > 1 else 0.0
    return bool(gains.mean() < -min(2.0 * error, _MUCH))


def some_neighbourhoods(
    table: RecordTable, n_candidates: int, n_jobs: int | None, rng: np.random.Generator
) -> np.ndarray:
    """Records to learn from: all of a small table, of a large one some at random with all that are nearest to them."""
    n = len(table)
    if n <= _MOST_RECORDS:
        return np.arange(n)
    left, right = candidate_pairs(table, n_candidates, n_jobs=n_jobs)
    near = coo_array((np.ones(left.size, np.bool_), (left, right)), shape=(n, n)).tocsr()
    near = (near + near.T).tocsr()
    chosen = np.zeros(n, np.bool_)
    for record in rng.permutation(n):
        chosen[record] = True
        chosen[near.indices[near.indptr[record] : near.indptr[record + 1]]] = True
        if np.count_nonzero(chosen) >= _MOST_RECORDS:
            break
    return np.flatnonzero(chosen)


def no_copies(others: list[Record], records: list[Record], fields: Iterable[str]) -> list[Record]:
    """Records that differ from all of `records` in some field.

    Labeled records are often part of the table as well. A copy says nothing, and makes clusters look too large.
    """
    names = list(fields)

    def cells(record: Record) -> tuple[str | None, ...]:
        return tuple(cell_text(record.get(name), f"field {name!r}") for name in names)

    seen = {cells(record) for record in records}
    return [record for record in others if cells(record) not in seen]


def _some(pairs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return pairs if pairs.size <= _MOST_PAIRS else np.sort(rng.choice(pairs, _MOST_PAIRS, replace=False))
