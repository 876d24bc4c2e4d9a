"""The leaderboard's kinds of data: how each is read, what is drawn, and which methods there are.

Data, draws and tuned learners are those of the experiments on each of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np

from accord.datasets import Dataset, load
from accord.evaluation import Task, span_f1, token_error, tune
from accord.evaluation import draw as draw_sentences
from accord.experiments import chooser, deduplication, links, strong_classes, strong_sequences, text_classes
from accord.experiments import front_door_sequences as front_door
from accord.experiments import leaderboard_peers as peers
from accord.experiments.base import DataFolder
from accord.experiments.leaderboard_peers import Given
from accord.experiments.training import draw_per_class, train_and_test
from accord.experiments.transduction_classes import learner_of
from accord.learners.base import StructuredLearner
from accord.learners.classifier import Classifier

DEFAULT, BEST, TUNED = "Accord's default", "Accord, set by hand", "supervised, tuned"
GRAPH, BALANCED, ALONE = "∇SVM, graph", "∇TSVM, balanced, C = 100", "∇SVM, C = 100"
# Pictures lie on manifolds, words and g241c in clusters; the clusters of g241n mislead
BY_HAND = {"COIL": GRAPH, "COIL2": GRAPH, "USPS": GRAPH, "g241c": BALANCED, "g241n": ALONE, "Text": BALANCED}
COURSE = {"12": {"course": 3, "other": 9}, "100": {"course": 25, "other": 75}}  # pages of each class
QUICK_SENTENCES = 300, 100
QUICK_CLUSTERS = 10  # every tenth
STEPS = 2  # along links, for learners that know no links
Figures = Mapping[str, float]


class Field(ABC):
    """One kind of data."""

    methods: tuple[str, ...]

    @abstractmethod
    def load(self, name: str, data: DataFolder, quick: bool, seed: int) -> Any:
        """What all tasks on a data set share."""

    @abstractmethod
    def run(self, loaded: Any, method: str, task: Task, quick: bool) -> Figures:
        """What a method makes of a draw."""


def _error(found: Any, truth: Any) -> Figures:
    return {"zero_one_loss": float(np.mean(np.asarray(found) != np.asarray(truth)))}


class Benchmark(Field):
    """The semi-supervised benchmark with its splits: all that is not labeled is tested, and may be looked at."""

    def __init__(self, others: Iterable[str]) -> None:
        self.methods = (DEFAULT, BEST, TUNED, *others)

    def load(self, name: str, data: DataFolder, quick: bool, seed: int) -> chooser.Pool:
        return chooser.pool_of(name, data)

    def run(self, loaded: chooser.Pool, method: str, task: Task, quick: bool) -> Figures:
        size = chooser.QUICK if quick else loaded.y.size
        n, seed = int(task.setting["labels"]), task.repetition_seed
        labeled, others = loaded.draw(n, task.repetition, seed, size)
        given = Given(loaded.X, loaded.y, labeled, others, others)
        return _error(self._found(given, method, task.setting["data"], seed % 2**31), loaded.y[others])

    def _found(self, given: Given, method: str, name: str, seed: int) -> Any:
        X, y, labeled, others, _ = given
        if method == TUNED:
            return chooser.supervised(X[labeled], y[labeled], X[others], seed)
        if method in peers.OF_ROWS:
            return peers.OF_ROWS[method](given, seed)
        both, labels = X[np.append(labeled, others)], [*y[labeled], *[None] * others.size]
        if method == DEFAULT:
            return Classifier(random_state=seed).fit(both, labels).transduction_
        return learner_of(BY_HAND[name], X, seed).fit(both, labels).predict(X[others])


class Pages(Field):
    """Pages of WebKB in two views, the text of the page and of the links to it; a quarter is tested."""

    methods = (DEFAULT, BEST, TUNED, *peers.OF_WORDS)

    def load(self, name: str, data: DataFolder, quick: bool, seed: int) -> strong_classes.Pool:
        return strong_classes.load_pool("webkb_course", data)

    def run(self, loaded: strong_classes.Pool, method: str, task: Task, quick: bool) -> Figures:
        X, y, seed = loaded.X, np.array(loaded.Y), task.repetition_seed
        held_out = int(strong_classes.HOLDOUT * y.size)
        parts = draw_per_class(loaded.Y, COURSE[task.setting["labels"]], held_out, seed)
        if method in (DEFAULT, BEST):
            learner: StructuredLearner = Classifier(view=dict(loaded.views), random_state=seed % 2**31)
            if method == BEST:
                learner = strong_classes.METHODS["coSVM, balanced"](loaded, task.seed)
            truth, predicted = train_and_test(learner, parts, X, loaded.Y)
            return _error(predicted, truth)
        given = Given(X, y, np.asarray(parts.labeled), np.asarray(parts.unlabeled), np.asarray(parts.holdout))
        if method == TUNED:
            found = chooser.supervised(X[given.labeled], y[given.labeled], X[given.test], seed % 2**31)
        else:
            found = peers.OF_ROWS[method](given, seed % 2**31)
        return _error(found, y[given.test])


class Posts(Field):
    """20 newsgroups, tested on the posts that are later by date."""

    of: ClassVar[dict[str, str]] = {
        DEFAULT: text_classes.DEFAULT,
        TUNED: "LinearSVC",
        peers.SELF_TRAINING: "SelfTrainingClassifier, naive Bayes",
        peers.SPREADING: "LabelSpreading",
    }
    methods = tuple(of)

    def load(self, name: str, data: DataFolder, quick: bool, seed: int) -> text_classes.Pool:
        return text_classes.TextClasses().load(data, quick, seed)

    def run(self, loaded: text_classes.Pool, method: str, task: Task, quick: bool) -> Figures:
        labeled = loaded.draw(int(task.setting["labels"].split()[0]), task.repetition_seed)
        found = text_classes.METHODS[self.of[method]](loaded, labeled, task.repetition_seed % 2**31)
        return _error(found, loaded.test_y)


class LinkedPapers(Field):
    """Papers with citations, the usual split, or few random ones of each class."""

    of: ClassVar[dict[str, str]] = {
        DEFAULT: links.DEFAULT,
        TUNED: "logistic regression, steps",
        peers.SPREADING: "LabelSpreading, links",
    }
    methods = (*of, peers.SELF_TRAINING)

    def load(self, name: str, data: DataFolder, quick: bool, seed: int) -> links.Papers:
        return links.load_papers({"Cora": "citation_cora", "CiteSeer": "citation_citeseer"}[name], data)

    def run(self, loaded: links.Papers, method: str, task: Task, quick: bool) -> Figures:
        papers = loaded if task.setting["labels"] == links.SPLIT else loaded.drawn(task.repetition_seed)
        if method in self.of:
            found = links.METHODS[self.of[method]](papers, task.repetition_seed % 2**31)
        else:
            known = np.flatnonzero(papers.y >= 0)  # peers count classes
            unlabeled = np.setdiff1d(known, papers.train)
            given = Given(papers.steps(STEPS), papers.y, papers.train, unlabeled, papers.test)
            found = peers.OF_ROWS[method](given, task.repetition_seed % 2**31)
        return _error(found, papers.y[papers.test])


class Sentences(Field):
    """Tokens of sentences: 2,000 to learn from, few of them labeled, and 1,000 to test on."""

    methods = (DEFAULT, BEST, TUNED, peers.CRFSUITE)

    def load(self, name: str, data: DataFolder, quick: bool, seed: int) -> strong_sequences.Corpus:
        sizes = QUICK_SENTENCES if quick else front_door.SIZES
        return strong_sequences.load_corpora([name], data, False, sizes, seed)[name]

    def run(self, loaded: strong_sequences.Corpus, method: str, task: Task, quick: bool) -> Figures:
        n = int(task.setting["labels"].split()[0])
        labeled = draw_sentences(loaded.Y, n, rng=task.repetition_seed, max_tries=100_000).labeled
        X, Y = loaded.X, loaded.Y
        if method in (DEFAULT, BEST):
            name = "Tagger" if method == DEFAULT else "type consistency"
            few = set(np.asarray(labeled).tolist())
            learner = front_door.METHODS[name](loaded, task.seed)
            learner.fit(X, [y if i in few else None for i, y in enumerate(Y)])
        else:
            crf = strong_sequences.METHODS["CRF"](loaded, 1.0, task.seed)
            made = peers.CRFsuite(loaded.text) if method == peers.CRFSUITE else crf
            X, Y = [X[i] for i in labeled], [Y[i] for i in labeled]
            found = tune(made, strong_sequences.CRF_GRID, X, Y, random_state=task.repetition_seed)
            learner = made.set_params(**found.best_params).fit(X, Y)
        predicted = learner.predict(loaded.X_test)
        return {"token_error": token_error(loaded.Y_test, predicted), "span_f1": span_f1(loaded.Y_test, predicted)}


class Tables(Field):
    """Records of two libraries that are to be told apart; half of the clusters are tested."""

    of: ClassVar[dict[str, str]] = {
        DEFAULT: deduplication.SELF_TRAINING,
        BEST: deduplication.PAIRWISE,
        TUNED: deduplication.TUNED,
    }
    methods = tuple(of)

    def load(self, name: str, data: DataFolder, quick: bool, seed: int) -> Dataset:
        return load("dedupe", data, part="dblp_acm")

    def run(self, loaded: Dataset, method: str, task: Task, quick: bool) -> Figures:
        clusters = np.unique(np.array(loaded.Y), return_inverse=True)[1]
        n_labeled = int(task.setting["labels"].split()[0])
        labeled, test = deduplication.draw(clusters, n_labeled, np.random.default_rng(task.repetition_seed))
        if quick:
            test = test[np.isin(clusters[test], np.unique(clusters[test])[::QUICK_CLUSTERS])]
        records = [loaded.X[i] for i in (*labeled, *test)]
        found, _ = deduplication.clustered(self.of[method], records, clusters[labeled], task.repetition)
        return {"pair_f1": deduplication.scores(clusters[test], found)["pair_f1"]}
