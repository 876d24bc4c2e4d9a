"""Questions about pairs: do these two records, objects of a set, or mails belong together? And about whole clusters.

A similarity is taken for the logarithm of the odds that two belong together. That is what it is for a calibrated
:class:`~accord.Deduplicator`; for others it has the right sign and order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import expit

from accord.dedupe.blocking import candidate_pairs
from accord.kernels.partitions.condensed import pair_numbers
from accord.labeling.questions import Part, Questions, binary_entropy
from accord.mail.features import MailPairs


class Pairs(Questions):
    """Pairs: subclasses have ``pairs``, numbers (example, first, second), and ``similarities``."""

    offers = frozenset({"probabilities", "alternatives"})
    pairs: np.ndarray
    similarities: np.ndarray

    def __len__(self) -> int:
        return len(self.pairs)

    def about(self, number: int) -> tuple[int, Part]:
        example, i, j = self.pairs[number].tolist()
        return example, (min(i, j), max(i, j))

    def entropy(self) -> np.ndarray:
        return binary_entropy(expit(self.similarities))

    def margin(self) -> np.ndarray:
        return np.exp(-np.abs(self.similarities))

    def open(self, known: set[int], parts: Sequence[tuple[int, Part]], n: int) -> np.ndarray:
        asked = {(i, *sorted(part)) for i, part in parts if part is not None and len(part) == 2}
        low, high = self.pairs[:, 1:].min(axis=1), self.pairs[:, 1:].max(axis=1)
        keys = zip(self.pairs[:, 0].tolist(), low.tolist(), high.tolist())
        return np.array([key not in asked and not self._is_known(known, key) for key in keys], np.bool_)

    def _is_known(self, known: set[int], key: tuple[int, int, int]) -> bool:
        return key[0] in known

    def reason(self, strategy: str, number: int) -> str:
        return f"the same with probability {100 * float(expit(self.similarities[number])):.0f} %"


class SetPairs(Pairs):
    """Pairs of objects of the same set (:class:`~accord.ClusteringSVM`)."""

    @cached_property
    def _found(self) -> tuple[np.ndarray, np.ndarray]:
        pairs, scores = [np.empty((0, 3), np.int64)], [np.empty(0)]
        for s, objects in enumerate(self.pool.X):
            own = self._scores(objects)
            i, j = pair_numbers(int((1 + np.sqrt(1 + 8 * own.size)) // 2))
            pairs.append(np.stack([np.full(i.size, s), i, j], axis=1))
            scores.append(own)
        return np.concatenate(pairs), np.concatenate(scores)

    def _scores(self, objects: Any) -> np.ndarray:
        return self.model._scores(objects)

    @property
    def pairs(self) -> np.ndarray:  # type: ignore[override]
        return self._found[0]

    @property
    def similarities(self) -> np.ndarray:  # type: ignore[override]
        return self._found[1]


class Sets(SetPairs):
    """Whole sets, by the mean over their pairs."""

    def __len__(self) -> int:
        return self.pool.n

    def about(self, number: int) -> tuple[int, Part]:
        return number, None

    def open(self, known: set[int], parts: Sequence[tuple[int, Part]], n: int) -> np.ndarray:
        return Questions.open(self, known, parts, n)

    def entropy(self) -> np.ndarray:
        return self._means(super().entropy())

    def margin(self) -> np.ndarray:
        return self._means(super().margin())

    def _means(self, values: np.ndarray) -> np.ndarray:
        counts = np.bincount(self.pairs[:, 0], minlength=len(self))
        sums = np.bincount(self.pairs[:, 0], values, len(self))
        return np.where(counts > 0, sums / np.maximum(counts, 1), -np.inf)

    def reason(self, strategy: str, number: int) -> str:
        own = np.abs(self.similarities[self.pairs[:, 0] == number])
        return f"{int(np.sum(own < 1.0))} of its {own.size} pairs are in doubt"


class MailBatches(SetPairs):
    """Pairs of mails of one window (:class:`~accord.BatchDetector`): the examples are mails."""

    @cached_property
    def _found(self) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[override]
        view = MailPairs()
        view.fit([[]])
        view.idf_ = self.model.similarity.idf
        scores = view.scores(self.pool.X, self.model.similarity.weights) + self.model.similarity.bias
        i, j = pair_numbers(self.pool.n)
        return np.stack([np.minimum(i, j), i, j], axis=1), scores

    def _is_known(self, known: set[int], key: tuple[int, int, int]) -> bool:
        return key[1] in known and key[2] in known


class RecordPairs(Pairs):
    """Candidate pairs of the records of a table (:class:`~accord.Deduplicator`).

    Views that disagree are its machines, one for each way to compare texts.
    """

    offers = frozenset({"probabilities", "alternatives", "views"})

    @cached_property
    def pairs(self) -> np.ndarray:  # type: ignore[override]
        later, earlier = self.pool.keep("candidates", None, self._candidates)
        return np.stack([earlier, earlier, later], axis=1)

    def _candidates(self) -> tuple[np.ndarray, np.ndarray]:
        return candidate_pairs(self._table(), self.model.n_candidates, n_jobs=self.model.n_jobs)

    def _table(self) -> Any:
        return self.pool.keep("table", self.model.view_, lambda: self.model.view_.table(self.pool.X))

    @cached_property
    def _features(self) -> np.ndarray:
        def make() -> np.ndarray:
            return self._table().compare(self.pairs[:, 2], self.pairs[:, 1])

        return self.pool.keep("comparisons", self.model.view_, make)

    @cached_property
    def similarities(self) -> np.ndarray:  # type: ignore[override]
        return self._features @ self.model.pair_weights() + self.model.constant(self.pool.n)

    def disagreement(self) -> np.ndarray:
        """Variance of the machines' votes: 1 if half of them say that two are the same. Of equals, what is nearer to
        doubt comes first."""
        ways = self.model.view_.ways()
        votes = np.zeros(len(self))
        for way, machine in zip(ways, self.model.machines_):
            weights = machine._feature_weights()
            votes += self._features[:, way] @ weights + machine._bias() > self.model.rarity(self.pool.n)
        share = votes / len(ways)
        return 4.0 * share * (1.0 - share) + 1e-6 * self.margin()

    def _is_known(self, known: set[int], key: tuple[int, int, int]) -> bool:
        return key[1] in known and key[2] in known


class Clusters(RecordPairs):
    """Groups of records that may be one cluster: what to merge, and what to split.

    A group is what candidate pairs link that are the same with probability ``LINKED`` or more; its score is the mean
    entropy of its pairs. Groups of more than ``MOST`` records are left out: nobody looks through them.
    """

    offers = frozenset({"probabilities"})
    LINKED, MOST = 0.1, 30

    @cached_property
    def _groups(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Records, and numbers of pairs, of each group."""
        linked = np.flatnonzero(expit(self.similarities) >= self.LINKED)
        i, j = self.pairs[linked, 1:].T
        graph = coo_array((np.ones(linked.size), (i, j)), shape=(self.pool.n, self.pool.n))
        group = connected_components(graph, directed=False)[1]
        inside = group[self.pairs[:, 1]] == group[self.pairs[:, 2]]
        found = []
        for number in np.unique(group[i]):
            records = np.flatnonzero(group == number)
            if records.size <= self.MOST:
                found.append((records, np.flatnonzero(inside & (group[self.pairs[:, 1]] == number))))
        return found

    def __len__(self) -> int:
        return len(self._groups)

    def about(self, number: int) -> tuple[int, Part]:
        records = self._groups[number][0].tolist()
        return records[0], tuple(records)

    def open(self, known: set[int], parts: Sequence[tuple[int, Part]], n: int) -> np.ndarray:
        asked = {tuple(sorted(part)) for _, part in parts}
        groups = [tuple(records.tolist()) for records, _ in self._groups]
        return np.array([group not in asked and not known.issuperset(group) for group in groups], np.bool_)

    def entropy(self) -> np.ndarray:
        each = super().entropy()
        return np.array([each[pairs].mean() for _, pairs in self._groups])

    def reason(self, strategy: str, number: int) -> str:
        records, pairs = self._groups[number]
        p = expit(self.similarities[pairs])
        doubtful = int(np.sum(np.abs(p - 0.5) < 0.4))
        return f"{records.size} records, {doubtful} of {pairs.size} pairs in doubt"
