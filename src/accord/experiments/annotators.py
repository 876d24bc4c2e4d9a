"""Simulated annotators: questions that a strategy chooses are answered from the labels of a data set."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from accord.dedupe.deduplicator import Deduplicator
from accord.evaluation.clusters import pair_counts
from accord.experiments.deduplication import draw as draw_records
from accord.labeling.live.answered import hold_answers
from accord.labeling.live.pairs import LivePairs, PairModel
from accord.labeling.project import BETWEEN, Project
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
    """Says of pairs of records whether they are the same, as people do on the labeling page; a pair costs one.

    What counts is the table that is asked about, clustered as the page does it: answers hold, and so do the labels that
    set the goal.
    """

    STEP, RECORDS, PAIRS = 10, 200, 100

    def __init__(self, seed: int, records: Sequence[Any], clusters: np.ndarray) -> None:
        super().__init__(seed)
        self.records, self.clusters = list(records), clusters
        project = Project("pairs")
        for record in self.records:
            project.add({"fields": record})
        self.live = LivePairs(project)
        self.cluster_of = dict(zip(project.keys, clusters.tolist()))

    def goal(self) -> Goal:
        """F1 with labels of 200 random records costs as much as 100 pairs: what is asked for."""
        labeled = draw_records(self.clusters, self.RECORDS, np.random.default_rng(self.seed))[0]
        labels: list[Any] = [None] * len(self.records)
        for i in labeled:
            labels[i] = int(self.clusters[i])
        model = Deduplicator(random_state=0).fit(self.records, labels)
        found = np.array(model.predict(self.records))
        known = np.full(found.size, -1)
        known[labeled] = self.clusters[labeled]
        same = np.where(known >= 0, found.size + known, np.arange(found.size))
        numbers = np.unique(same, return_inverse=True)[1]
        firsts = np.unique(numbers[labeled])
        one, other = np.triu_indices(firsts.size, 1)
        apart = np.column_stack([firsts[one], firsts[other]])
        weights, constant = model.pair_weights(), model.constant(len(self.records))
        table = model.view_.table(self.records)
        held = hold_answers(found, numbers, apart, lambda left, right: table.scores(left, right, weights) + constant)
        return Goal(self.PAIRS, pair_error(self.clusters, held))

    def first(self, strategy: str) -> None:
        self.asked: dict[str, str] = {}

    def fit(self) -> PairModel:
        model = self.live.learn(self.asked)
        assert model is not None
        return model

    def ask(self, model: PairModel, strategy: str) -> None:
        """Ten questions; a strategy chooses each of them by a model of all answers before."""
        for _ in range(self.STEP):
            left = [key for key in self.live.keys if key not in self.asked]
            found = [] if strategy == RANDOM else model.rank(left, 1, self.rng)
            key = found[0].key if found else left[int(self.rng.integers(len(left)))]
            one, other = key.split(BETWEEN)
            self.asked[key] = "same" if self.cluster_of[one] == self.cluster_of[other] else "different"
            model = model if strategy == RANDOM else self.fit()

    @property
    def cost(self) -> float:
        return len(self.asked)

    def error(self, model: PairModel) -> float:
        return pair_error(self.clusters, model.clusters())


def pair_error(truth: np.ndarray, found: Any) -> float:
    """1 - F1 of the pairs that are together."""
    return 1.0 - pair_counts(truth, np.array(found)).f1
