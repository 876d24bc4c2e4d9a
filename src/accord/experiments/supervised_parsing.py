"""Supervised parsers of short sentences [svm_interdependent, Table 1.4; thesis 3.2.3]."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import norm

from accord.datasets import load
from accord.datasets.trees import Tree as Nested
from accord.evaluation import Metric, Published, Results, Task, bootstrap_metric, bracket_scores, tune
from accord.evaluation.protocol import take
from accord.exceptions import NoParseWarning
from accord.experiments.base import DataFolder, Experiment, divided_by_n, grid, published_notes
from accord.learners.base import StructuredLearner
from accord.learners.crf import CRF
from accord.learners.pcfg import PCFG
from accord.learners.perceptron import StructuredPerceptron
from accord.learners.svm import StructuredSVM
from accord.structures.trees.tree import Tree

N_FOLDS = 5
WSJ, CESS = "ptb_wsj_sample", "cess_esp"
QUICK_TREES = 60
SMOOTHING = (0.001, 0.01, 0.1, 1.0)  # pseudo-counts of the PCFG to choose from
TOLERANCE = 0.01
MAX_ITER = 60
OTHER_C = (0.1, 10, 100)  # beside the chapter's 1: what its order depends on; sentences of at most LONGEST words only
LONGEST = 10
EXACT = Metric("exact_match", "trees all right", None, True, True)


@dataclass
class Treebank:
    """Sentences as words with given tags, their trees, the document each is from, and what the PCFG predicted."""

    X: list[list[tuple[str, str]]]
    Y: list[Nested]
    documents: np.ndarray
    found: dict[tuple[int, int], list[Nested]] = field(default_factory=dict)

    def fold(self, number: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Training and test examples; sentences of one document stay together."""
        names = np.unique(self.documents)
        part = np.array_split(np.random.default_rng(seed).permutation(names), N_FOLDS)[number]
        test = np.isin(self.documents, part)
        return np.flatnonzero(~test), np.flatnonzero(test)

    def predict(self, method: str, fold: int, seed: int, task_seed: int) -> tuple[StructuredLearner, list[Nested], int]:
        """The fitted learner, its trees for the test part, and how many of those are pieces."""
        train, test = self.fold(fold, seed)
        X, Y = take(self.X, train), take(self.Y, train)
        learner = METHODS[method](len(X), task_seed)
        if isinstance(learner, PCFG):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NoParseWarning)
                best = tune(learner, {"smoothing": SMOOTHING}, X, Y, "bracket_f1", random_state=seed)
            learner.set_params(**best.best_params)
        learner.fit(X, Y)
        return learner, *parse(learner, take(self.X, test))

    def baseline(self, fold: int, seed: int) -> list[Nested]:
        """What the PCFG predicts for a test part, which all others are compared to."""
        if (fold, seed) not in self.found:
            self.found[fold, seed] = self.predict("PCFG", fold, seed, seed)[1]
        return self.found[fold, seed]


def rules_only(loss: str = "f1") -> Tree:
    """The features of the papers' supervised parsers: the rules of the training trees."""
    return Tree(loss, terminals="tags", span_features=None)


def with_spans(loss: str = "f1") -> Tree:
    """Rules, and the tags at the borders, the split and the width of each span."""
    return Tree(loss, terminals="tags", span_features="label")


def _svm(structure: Tree, rescaling: str, n: int, seed: int, C: float = 1.0) -> StructuredSVM:
    """The 2-norm machine with the chapter's C = 1, which it divides by the number of sentences, and ε = 0.01."""
    return StructuredSVM(
        structure, C=divided_by_n(C, n), norm=2, rescaling=rescaling, tol=TOLERANCE, max_iter=MAX_ITER,
        random_state=seed,
    )  # fmt: skip


def _margin_of(C: float) -> Callable[[int, int], StructuredSVM]:
    return lambda n, seed: _svm(rules_only(), "margin", n, seed, C)


# Method → (number of training sentences, seed) → learner
METHODS: dict[str, Callable[[int, int], StructuredLearner]] = {
    "PCFG": lambda n, seed: PCFG(rules_only(), decode="viterbi"),
    "perceptron": lambda n, seed: StructuredPerceptron(rules_only(), max_iter=10, random_state=seed),
    "SVM 0/1": lambda n, seed: _svm(rules_only("zero-one"), "margin", n, seed),
    "SVM slack": lambda n, seed: _svm(rules_only(), "slack", n, seed),
    "SVM margin": lambda n, seed: _svm(rules_only(), "margin", n, seed),
    "perceptron, spans": lambda n, seed: StructuredPerceptron(with_spans(), max_iter=10, random_state=seed),
    "CRF, spans": lambda n, seed: CRF(with_spans(), C=0.1, decode="viterbi"),
    "SVM 0/1, spans": lambda n, seed: _svm(with_spans("zero-one"), "margin", n, seed),
    "SVM slack, spans": lambda n, seed: _svm(with_spans(), "slack", n, seed),
    "SVM margin, spans": lambda n, seed: _svm(with_spans(), "margin", n, seed),
    **{f"SVM margin, C = {C}": _margin_of(C) for C in OTHER_C},
}


def parse(learner: StructuredLearner, X: list[list[tuple[str, str]]]) -> tuple[list[Nested], int]:
    """Trees, and the number of sentences that have no parse."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = learner.predict(X)
    return found, sum(len(w.message.indices) for w in caught if isinstance(w.message, NoParseWarning))


def load_treebank(name: str, longest: int, data: DataFolder, n_trees: int | None) -> Treebank:
    """Sentences of 2 words or more, up to the longest; the first so many, or all."""
    bank = load(name, data, extra=True)
    chosen = np.array([i for i, words in enumerate(bank.X) if 2 <= len(words) <= longest][:n_trees])
    X = [list(zip(bank.X[i], bank.extra["tags"][i])) for i in chosen]
    return Treebank(X, take(bank.Y, chosen), np.asarray(bank.extra["documents"])[chosen])


class SupervisedParsing(Experiment):
    """PCFG, perceptron, CRF and SVM with three losses, five-fold cross-validation over documents."""

    name = "supervised-parsing"
    title = "Supervised parsers of short sentences"
    description = (
        "Labelled F1 (root and tags left out) and whole trees, from given tags, on the Penn Treebank sample of 199 "
        "documents and on the Spanish CESS, by the longest sentence; five folds of whole documents. Grammars are read "
        "off the training trees and binarised without memory of siblings; a sentence without a parse gets pieces of "
        "trees. Rules alone as in the chapter, or with the tags at the borders, the split and the width of each span. "
        "SVM: 2-norm slacks, C = 1 as the chapter counts it (divided by the number of sentences), with rules alone and "
        "at most 10 words also 0.1, 10 and 100, tolerance 0.01; losses are 0/1, and 1 - F1 slack- and "
        "margin-rescaled. The PCFG's pseudo-count is chosen on the training part; nothing else is tuned. The chapter "
        "trained on 4,098 sentences of at most 10 words of the whole Penn Treebank, of which the sample has a tenth."
    )
    data_sets = (WSJ, CESS)
    methods = METHODS
    repetitions = N_FOLDS
    settings = grid(treebank=data_sets, words=(10, 15, 20))
    quick_settings = grid(treebank=data_sets, words=[8])
    metrics = (
        "bracket_f1",
        EXACT,
        Metric("no_parse", "sentences without a parse", None, False, True),
        Metric("constraints_added", "constraints added to the working sets"),
    )
    baseline = "PCFG"
    published = tuple(
        Published(method, metric, value, {"treebank": WSJ, "words": 10}, source="svm_interdependent, Table 1.4")
        for method, f1, exact, constraints in (
            ("PCFG", 0.860, 0.552, None),
            ("SVM 0/1", 0.862, 0.589, 7494),
            ("SVM slack", 0.885, 0.589, 8043),
            ("SVM margin", 0.884, 0.583, 7117),
        )
        for metric, value in (("bracket_f1", f1), ("exact_match", exact), ("constraints_added", constraints))
        if value is not None
    )

    def tasks(self, quick: bool, seed: int) -> list[Task]:
        return sorted(super().tasks(quick, seed), key=lambda task: task.setting["words"])  # the short ones first

    def left_out(self, task: Task) -> bool:
        """Other values of C, for long sentences: a large C takes several times as long."""
        return ", C = " in task.method and task.setting["words"] > LONGEST

    def load(self, data: DataFolder, quick: bool, seed: int) -> dict[tuple[str, int], Treebank]:
        keys = [(name, n) for name in self.data_sets for n in self.values("words", quick)]
        return {key: load_treebank(*key, data, QUICK_TREES if quick else None) for key in keys}

    def run_task(self, task: Task, loaded: dict[tuple[str, int], Treebank]) -> Mapping[str, float]:
        bank = loaded[task.setting["treebank"], task.setting["words"]]
        fold, seed = task.repetition, task.experiment_seed
        learner, found, failed = bank.predict(task.method, fold, seed, task.seed)
        truth = take(bank.Y, bank.fold(fold, seed)[1])
        scores = bracket_scores(truth, found)
        values = {"bracket_f1": scores.f1, "exact_match": scores.exact, "no_parse": failed / len(truth)}
        if isinstance(learner, StructuredSVM):
            values["constraints_added"] = learner.n_constraints_added_
        if task.method != "PCFG":
            gain = bootstrap_metric(truth, found, "bracket_f1", bank.baseline(fold, seed), random_state=task.seed)
            values |= {"gain": gain.estimate, "gain_error": gain.standard_error}
        return values

    def notes(self, results: Results) -> list[str]:
        sentences = [*published_notes(results, self.published, "bracket_f1", {"treebank": WSJ, "words": 10})]
        for method in list(METHODS)[1:]:
            parts = []
            for setting in results.settings:
                gains = list(results.values(method, "gain", setting).values())
                spreads = list(results.values(method, "gain_error", setting).values())
                if gains:
                    mean, sd = float(np.mean(gains)), math.sqrt(float(np.sum(np.square(spreads)))) / len(spreads)
                    p = 2 * norm.sf(abs(mean) / sd) if sd else 1.0
                    p_text = "p < 0.0001" if p < 1e-4 else f"p = {p:.2g}"
                    parts.append(f"{setting['treebank']} {setting['words']}: {100 * mean:+.2f} ({p_text})")
            what = f"{method} minus PCFG, points of F1, paired bootstrap over the sentences of each fold"
            sentences.append(f"{what}: {'; '.join(parts)}.")
        return sentences
