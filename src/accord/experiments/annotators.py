"""Simulated annotators: questions that a strategy chooses are answered from the labels of a data set."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from accord.dedupe.blocking import candidate_pairs
from accord.dedupe.deduplicator import Deduplicator
from accord.dedupe.pairs import RecordPairs
from accord.evaluation.clusters import pair_counts
from accord.experiments.deduplication import draw as draw_records
from accord.labeling.suggest import Pool, suggest
from accord.learners.base import StructuredLearner
from accord.learners.crf import CRF
from accord.packed.structure import Structure
from accord.views.base import View

RANDOM = "random"
SPANS = "entropy, spans"
Curve = list[tuple[float, float]]  # what the labels cost so far, and the error with them


class Goal(NamedTuple):
    """The error that random labels reach, and what they cost."""

    cost: float
    error: float


class Annotator(ABC):
    """Answers questions about a pool until the labels have cost ``most``."""

    def __init__(self, seed: int) -> None:
        self.seed, self.rng = seed, np.random.default_rng(seed)

    @abstractmethod
    def goal(self) -> Goal:
        """What random labels reach."""

    @abstractmethod
    def first(self, strategy: str) -> None:
        """Answer the first questions, for which there is no model."""

    @abstractmethod
    def fit(self) -> Any:
        """A model of all answers."""

    @abstractmethod
    def ask(self, model: Any, strategy: str) -> None:
        """Answer the next questions."""

    @property
    @abstractmethod
    def cost(self) -> float:
        """What the answers cost so far."""

    @abstractmethod
    def error(self, model: Any) -> float:
        """Of a model, on test data."""

    def curve(self, strategy: str, most: float) -> Curve:
        """Answer questions until they have cost so much."""
        self.rng = np.random.default_rng(self.seed)
        self.first(strategy)
        found: Curve = []
        while True:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = self.fit()
            found.append((self.cost, self.error(model)))
            if self.cost >= most:
                return found
            self.ask(model, strategy)


class OfOutputs(Annotator):
    """Labels whole examples, or spans of sentences; a token or a class costs one."""

    def __init__(
        self, seed: int, X: Any, Y: Sequence[Any], test: tuple[Any, Sequence[Any]], structure: Structure, view: View,
        sizes: Mapping[str, int], pool: Pool | None = None, **learner: Any,
    ) -> None:  # fmt: skip
        super().__init__(seed)
        self.X, self.Y, self.test, self.sizes = X, Y, test, sizes
        self.learner: StructuredLearner = CRF(structure, view, **learner)
        self.pool = pool or Pool(X)
        self.single = bool(structure.single_row)
        self.lengths = np.ones(len(Y)) if self.single else np.array([len(y) for y in Y], float)

    def goal(self) -> Goal:
        return Goal(*self.curve_of_random()[-1])

    def curve_of_random(self) -> Curve:
        """The learning curve of random examples."""
        order = np.random.default_rng(self.seed).permutation(len(self.Y))
        return self.curve(RANDOM, float(self.lengths[order[: self.sizes["random"]]].sum()))

    def first(self, strategy: str) -> None:
        n = self.sizes["first"]
        self.known: list[int] = self.rng.permutation(len(self.Y))[:n].tolist()
        self.parts: dict[int, list[Any]] = {}
        if self.single and strategy != RANDOM:  # of sentences, random ones were no worse
            self.known = [one.index for one in suggest(None, self.pool, n, random_state=self.seed)]

    def fit(self) -> StructuredLearner:
        chosen = [*self.known, *self.parts]
        X = self.X[chosen] if hasattr(self.X, "shape") else [self.X[i] for i in chosen]
        return self.learner.fit(X, [*(self.Y[i] for i in self.known), *self.parts.values()])  # type: ignore[attr-defined]

    def ask(self, model: Any, strategy: str) -> None:
        if strategy == RANDOM:
            order = np.random.default_rng(self.seed).permutation(len(self.Y))
            self.known = order[: len(self.known) + self.sizes["step"]].tolist()
        elif strategy == SPANS:
            self._ask_spans(model)
        else:
            found = self.pool.suggest(
                model, self.sizes["step"], strategy=strategy, labeled=self.known, random_state=self.seed
            )
            self.known += [one.index for one in found]

    def _ask_spans(self, model: Any) -> None:
        parts = [(i, (t, t + 1)) for i, y in self.parts.items() for t, label in enumerate(y) if label is not None]
        for one in self.pool.suggest(model, 5 * self.sizes["step"], unit="part", labeled=[*self.known, *parts]):
            y = self.parts.setdefault(one.index, [None] * len(self.Y[one.index]))
            y[slice(*one.part)] = self.Y[one.index][slice(*one.part)]

    @property
    def cost(self) -> float:
        return float(self.lengths[self.known].sum()) + sum(
            label is not None for y in self.parts.values() for label in y
        )

    def error(self, model: Any) -> float:
        X, Y = self.test
        return 1.0 - model.score(X, Y)


class OfRecords(Annotator):
    """Says of pairs of records whether they are the same; a pair costs one."""

    FIRST, STEP, RECORDS, PAIRS = 10, 10, 200, 100

    def __init__(self, seed: int, records: Sequence[Any], clusters: np.ndarray) -> None:
        super().__init__(seed)
        self.labeled, test = draw_records(clusters, self.RECORDS, np.random.default_rng(seed))
        half = np.setdiff1d(np.arange(clusters.size), test)
        self.all_records, self.all_clusters = records, clusters
        self.records, self.clusters = [records[i] for i in half], clusters[half]
        self.test, self.truth = [records[i] for i in test], clusters[test]
        self.pool = Pool(self.records)
        table = RecordPairs().fit([self.records + self.test]).table(self.records)
        later, earlier = candidate_pairs(table, Deduplicator().n_candidates)
        order = np.argsort(-table.compare(later, earlier).mean(axis=1), kind="stable")
        self.candidates = np.stack([earlier, later], axis=1)[order]  # from alike to unlike

    def goal(self) -> Goal:
        """F1 with labels of 200 random records costs as much as 100 pairs: what is asked for."""
        records = [*(self.all_records[i] for i in self.labeled), *self.test]
        model = Deduplicator(random_state=0)
        model.fit(records, [*self.all_clusters[self.labeled].tolist(), *[None] * len(self.test)])
        return Goal(self.PAIRS, self.error(model))

    def first(self, strategy: str) -> None:
        """Pairs from the most alike to the least, the former closer together; more until there are both answers."""
        places = np.unique(np.geomspace(1, len(self.candidates), self.FIRST).astype(int) - 1)
        self.asked = [(int(a), int(b)) for a, b in self.candidates[places]]
        while len(set(self._answers())) < 2:
            self._ask_any(1)

    def fit(self) -> Deduplicator:
        answers = self._answers()
        same = [pair for pair, yes in zip(self.asked, answers) if yes]
        different = [pair for pair, yes in zip(self.asked, answers) if not yes]
        return Deduplicator(random_state=0).fit_pairs(self.records + self.test, same, different)

    def ask(self, model: Any, strategy: str) -> None:
        if strategy == RANDOM:
            self._ask_any(self.STEP)
            return
        known = [(a, (a, b)) for a, b in self.asked]
        found = self.pool.suggest(model, self.STEP, strategy=strategy, labeled=known, random_state=self.seed)
        self.asked += [one.part for one in found]

    def _ask_any(self, n: int) -> None:
        left = [pair for pair in map(tuple, self.candidates.tolist()) if pair not in set(self.asked)]
        self.asked += [left[k] for k in self.rng.permutation(len(left))[:n]]

    def _answers(self) -> list[bool]:
        return [bool(self.clusters[a] == self.clusters[b]) for a, b in self.asked]

    @property
    def cost(self) -> float:
        return len(self.asked)

    def error(self, model: Any) -> float:
        return 1.0 - pair_counts(self.truth, np.array(model.predict(self.test))).f1
