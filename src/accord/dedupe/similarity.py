"""How similar two records are, once weights are learned, and the clusters of a table that follow from it.

``similarity(a, b) = s (<w, psi(a, b)> + bias) - log(n / n0) / 2 - threshold``. In a table of n records a record meets
n / n0 times as many others that are different, n0 being the size of the table that the model was chosen for, and no
more that are the same, so its odds are lower by that factor; half of its logarithm is taken, which trials on public
tables suggest. Nothing is added for smaller tables. Once similar pairs have made components, a record meets no more
than a few others, however large the table: within them no more than 2 is taken off, which is half the logarithm up to
55 times the records. Otherwise average linkage takes clusters of large tables apart, records with many mistakes first.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from accord.dedupe.big_tables import BigTable
from accord.dedupe.blocking import candidate_pairs
from accord.dedupe.decoding import Rule, cluster_table
from accord.dedupe.pairs import RecordPairs, RecordTable
from accord.dedupe.values import Record

_RARITY = 0.5  # how much of log(n / n0) is taken off similarities
_SAMPLED = 2.0  # times as many records as in the table of `fit`: then that was a sample, with parts of clusters
_MOST_WITHIN = 2.0  # that is taken off among records that similar pairs connect


def rarity(n_records: int, n_before: float) -> float:
    """What is taken off similarities because a table has so many records instead of fewer."""
    return float(_RARITY * max(np.log(max(n_records, 1) / n_before), 0.0))


class Contribution(NamedTuple):
    """What one comparison adds to a similarity."""

    name: str
    value: float
    weight: float
    contribution: float


class RecordSimilarity:
    """What a fitted :class:`Deduplicator` is used for; its attributes are described there."""

    decoder: str
    threshold: float
    n_candidates: int
    n_jobs: int | None
    verbose: int
    view_: RecordPairs
    weights_: np.ndarray
    bias_: float
    slope_: float
    n_calibration_: float | None
    size_costs_: np.ndarray
    machines_: list[Any]
    linkage_: str = "correlation"  # what files of earlier versions mean
    report_: list[dict[str, Any]] | None
    held_out_f1_: np.ndarray | None

    def predict(self, records: Any) -> list[int]:
        """Cluster numbers of the records of a table, in order of first appearance."""
        return self.predict_table(self._table(records)).tolist()

    def predict_table(self, table: RecordTable) -> np.ndarray:
        """The same of packed records."""
        candidates = candidate_pairs(table, self.n_candidates, n_jobs=self.n_jobs)
        n, verbose = len(table), bool(self.verbose)
        return cluster_table(
            table, candidates, self.pair_weights(), self.constant(n), self.rule(n), self.n_jobs, verbose
        )

    def predict_chunks(
        self, chunks: Iterable[Any], folder: str | Path, name: str = "", keep: bool = False
    ) -> np.ndarray:
        """Cluster numbers of the records of a table that comes in chunks and does not fit into memory.

        They are those of :meth:`predict`. What does not fit is in files of `folder`, a few kilobytes for each record,
        which are removed in the end unless `keep`. A program that was killed goes on where it was if it is started
        again with the same folder; `name` tells tables apart, and chunks are read again only if they had not been read
        to the end.

        Examples
        --------
        >>> import tempfile
        >>> from accord import Deduplicator, datasets
        >>> records, ids = datasets.people(20, random_state=0)
        >>> model = Deduplicator(calibrate=False).fit(records, ids)
        >>> found = model.predict_chunks([records[:9], records[9:]], tempfile.mkdtemp())
        >>> found.tolist() == model.predict(records)
        True
        """
        check_is_fitted(self, "weights_")
        settings = [self.n_candidates, self.threshold, self.decoder, self.linkage_, self.bias_, self.slope_]
        mark = blake2b(repr([settings, self.pair_weights().tolist(), self.size_costs_.tolist()]).encode())
        big = BigTable(Path(folder), self.view_, f"{name} {mark.hexdigest()[:16]}", self.n_jobs, bool(self.verbose))
        found = big.cluster(chunks, self.n_candidates, self.pair_weights(), self.constant, self.rule)
        if not keep:
            big.remove()
        return found

    def similarity(self, a: Record, b: Record, n_records: int = 2) -> float:
        """Similarity of two records, of a table of `n_records`: together if it is positive."""
        return float(self._comparisons(a, b) @ self.weights_ * self.slope_) + self.constant(n_records)

    def explain(self, a: Record, b: Record) -> list[Contribution]:
        """What every comparison that is not 0 adds to the similarity of two records, the largest first.

        >>> from accord import Deduplicator
        >>> records = [{"name": n} for n in ("Ann Lee", "Lee, Ann", "Bob Kay", "Bob Kaye", "Cy Orr", "Di Roe")]
        >>> model = Deduplicator({"name": "text"}, calibrate=False).fit(records, [0, 0, 1, 1, 2, 3])
        >>> model.similarity(records[0], records[1]) > 0 > model.similarity(records[0], records[2])
        True
        >>> max(model.explain(records[0], records[1]), key=lambda one: one.contribution).name
        'name: words aligned'
        """
        found = [
            Contribution(name, float(value), float(weight), float(value * weight))
            for name, value, weight in zip(self.view_.names_, self._comparisons(a, b), self.pair_weights())
            if value != 0.0
        ]
        found.append(Contribution("bias", 1.0, self.constant(2), self.constant(2)))
        return sorted(found, key=lambda one: -abs(one.contribution))

    def pair_weights(self) -> np.ndarray:
        """What comparisons are multiplied with."""
        return self.weights_ * self.slope_

    def constant(self, n_records: int) -> float:
        """What is added to the products of comparisons and weights in a table of so many records."""
        return self.slope_ * self.bias_ - self.rarity(n_records) - float(self.threshold)

    def rule(self, n_records: int) -> Rule:
        """How a table of so many records is clustered."""
        costs = self.size_costs_
        if not self.machines_ and n_records > _SAMPLED * (self.n_calibration_ or 1.0):  # sizes were guessed
            costs = np.zeros(1)
        return Rule(self.linkage_, self.decoder, costs, max(self.rarity(n_records) - _MOST_WITHIN, 0.0))

    def rarity(self, n_records: int) -> float:
        """What is taken off similarities because matches are rare among so many records."""
        if self.n_calibration_ is None:
            return 0.0
        return rarity(n_records, self.n_calibration_)

    def _comparisons(self, a: Record, b: Record) -> np.ndarray:
        return self._table([a, b]).compare(np.array([1]), np.array([0]))[0]

    def _table(self, records: Any) -> RecordTable:
        check_is_fitted(self, "weights_")
        return self.view_.table(records)
