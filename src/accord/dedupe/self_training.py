"""Unlabeled records of a table: learning from clusters that were found among them (self-training).

Labeled clusters are few. A table has many more pairs that are nearly alike, and its clusters tell something about them
that similarities alone do not: two records that are not much alike belong together if others between them are. So the
table is clustered with what labeled records taught, and weights are learned again, from labeled records and from what
was found about candidate pairs.

Where that does not pay is a matter of the data. It is tried first without each fold of the labeled clusters, whose
records are then as unlabeled as the others, and given up as soon as they get worse.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.sparse import coo_array

from accord.dedupe.blocking import candidate_pairs
from accord.dedupe.choosing import HeldOut, Similarity, Trial
from accord.dedupe.compared import ComparedPairs
from accord.dedupe.decoding import Rule
from accord.dedupe.labels import Labeled
from accord.dedupe.machines import Machines
from accord.dedupe.pairs import RecordTable
from accord.dedupe.values import Record, cell_text
from accord.learners.clustering import ClusteringSVM

METHODS = ("pairwise", "sequential")  # those that are quick with many sets of two records
SELF_TRAINED = "self-trained"
_MOST_RECORDS = 5000  # of a table
_MUCH = 0.02  # of the mean of F1 and B3
_FEW = 2  # folds, after which any loss is enough


class SelfTraining:
    """Weights learned again, with clusters of the table that the weights of before find by a rule.

    `compared` are pairs of a table that has the labeled records first. Guessed are no more pairs than are labeled, so
    that it does not take much longer than before; ``n_guessed`` is their number.
    """

    def __init__(
        self,
        machines: Machines,
        labeled: Labeled,
        compared: ComparedPairs,
        rule: Rule,
        threshold: float,
        rng: np.random.Generator,
    ) -> None:
        self.machines, self.labeled, self.compared, self.rule, self.threshold = (
            machines, labeled, compared, rule, threshold,
        )  # fmt: skip
        left, right = compared.candidates
        both = (left < labeled.truth.size) & (right < labeled.truth.size)
        most = sum(len(pairs) for pairs in labeled.pairs)
        # pairs of labeled records are guessed only where they are held out
        parts = [_some(np.flatnonzero(one), most, rng) for one in (~both, both)]
        pool, self.n_guessed = np.concatenate(parts), parts[0].size
        self.pool_left, self.pool_right = left[pool], right[pool]
        self.features = compared.features(self.pool_left, self.pool_right)

    def learn(self, weights: np.ndarray, bias: float, fold: int = -1) -> tuple[list[ClusteringSVM], np.ndarray, float]:
        """Learn again, without one of the folds if it is named; machines, weights and bias in logarithms of odds."""
        others = self.labeled.folds != fold
        known = np.zeros(len(self.compared.table), np.bool_)
        known[: others.size] = others
        found = self.compared.clusters(weights, bias - self.threshold, self.rule)
        guessed = ~(known[self.pool_left] & known[self.pool_right])
        left, right = self.pool_left[guessed], self.pool_right[guessed]
        sure, clusters = self.labeled.part(others)
        fitted = self.machines.fit(sure, clusters, self.features[guessed], found[left] == found[right])
        new, new_bias = self.machines.mean(fitted, weights.size)
        # The scale of before was calibrated on held-out records: labeled pairs keep the spread that they had.
        before, after = (np.std(np.concatenate([p @ w for p in sure])) for w in (weights, new))
        scale = float(before / after) if after > 0.0 else 1.0
        return fitted, new * scale, new_bias * scale

    def try_it(self, held_out: HeldOut, similarity: Similarity, trial: Trial) -> tuple[Similarity | None, np.ndarray]:
        """The similarities without each fold, None if held-out records get worse, and F1 of folds before and after."""
        without: list[tuple[np.ndarray, float] | None] = [None] * len(similarity.without)
        rows, gains = [], []
        for fold, model in enumerate(similarity.without):
            if model is None:
                continue
            without[fold] = self.learn(*model, fold)[1:]
            judged = []
            for models in (similarity.without, without):
                only = [one if k == fold else None for k, one in enumerate(models)]
                judged.append(
                    held_out.judge(similarity._replace(without=only), trial.linkage, trial.sizes, trial.threshold)
                )
            rows.append([one.f1 for one in judged])
            gains.append(judged[1].value - judged[0].value)
            if np.mean(gains) < (-_MUCH if len(gains) < _FEW else 0.0):
                return None, np.array(rows)
        again = Similarity(SELF_TRAINED, similarity.weights, similarity.bias, without)
        return again, np.array(rows)


def some_neighbourhoods(
    table: RecordTable, n_labeled: int, n_candidates: int, n_jobs: int | None, rng: np.random.Generator
) -> np.ndarray:
    """Records to learn from: all of a small table, of a large one some with all that are nearest to them.

    First the labeled ones, which the table begins with: they meet all that they could be confused with. Then others at
    random.
    """
    n = len(table)
    if n <= max(_MOST_RECORDS, n_labeled):
        return np.arange(n)
    left, right = candidate_pairs(table, n_candidates, n_jobs=n_jobs)
    near = coo_array((np.ones(left.size, np.bool_), (left, right)), shape=(n, n)).tocsr()
    near = (near + near.T).tocsr()
    chosen = np.zeros(n, np.bool_)
    chosen[:n_labeled] = True
    chosen[near.indices[: near.indptr[n_labeled]]] = True
    for record in rng.permutation(n):
        if np.count_nonzero(chosen) >= _MOST_RECORDS:
            break
        chosen[record] = True
        chosen[near.indices[near.indptr[record] : near.indptr[record + 1]]] = True
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


def _some(pairs: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    return pairs if pairs.size <= most else np.sort(rng.choice(pairs, most, replace=False))
