"""Do rules replace labels? Ten words per class, with and without twenty labeled sentences."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from accord.datasets import load
from accord.evaluation import Metric, Results, Task, draw, span_f1, token_error
from accord.experiments.base import DataFolder, Experiment, grid, mean_of
from accord.learners.crf import CRF
from accord.learners.rules import Rules
from accord.learners.tagger import Tagger
from accord.structures.chains.sequence import Sequence

LABELS, RULES, BOTH, BAD = "CRF, labels", "Tagger, rules", "Tagger, labels and rules", "Tagger, rules and a bad one"
TAGGER = "Tagger, labels"
DROPPED = Metric("dropped", "rules that were dropped", None, None)


@dataclass(frozen=True)
class Corpus:
    """Sentences to learn from, the test text, and words of each class."""

    X: list[list[str]]
    Y: list[list[str]]
    X_test: list[list[str]]
    Y_test: list[list[str]]
    words: dict[str, list[str]]


def frequent_words(X: list[list[str]], Y: list[list[str]], n: int) -> dict[str, list[str]]:
    """The words that are most often in spans of each class, and more often there than elsewhere."""
    total = Counter(word for x in X for word in x)
    inside: dict[str, Counter[str]] = {}
    for x, y in zip(X, Y):
        for word, label in zip(x, y):
            if label != "O":
                inside.setdefault(label[2:], Counter())[word] += 1
    return {
        kind: [word for word, k in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])) if 2 * k > total[word]][
            :n
        ]
        for kind, counts in sorted(inside.items())
    }


class RulesExperiment(Experiment):
    """Word lists as rules, beside labels and instead of them."""

    name = "rules"
    title = "Ten words per class: do rules replace labeled sentences?"
    description = (
        "Span F1 and token error on CoNLL-2002 Spanish testb. Rules are one list per class: the ten words that are "
        "most often in its spans in the training corpus, and more often in these than elsewhere. 'Labels' are 20 "
        "sentences, drawn until every label occurs among them; 2,000 other training sentences are unlabeled (the CRF "
        "does not see them). The bad rule says that prepositions and articles (de, la, el, en) are places."
    )
    data_sets = ("conll2002_esp",)
    methods = (LABELS, RULES, TAGGER, BOTH, BAD)
    quick_methods = (LABELS, RULES, BAD)
    repetitions = 5
    settings = grid(n_labeled=[20], n_unlabeled=[2000])
    quick_settings = grid(n_labeled=[20], n_unlabeled=[300])
    metrics = ("span_f1", "token_error", DROPPED)
    baseline = LABELS

    def load(self, data: DataFolder, quick: bool, seed: int) -> Corpus:
        train, test = load("conll2002_esp", data), load("conll2002_esp", data, part="testb")
        pairs = [pair for pair in zip(train.X, train.Y) if pair[0]]
        X, Y = [x for x, _ in pairs], [y for _, y in pairs]
        size = 200 if quick else len(test.X)
        return Corpus(X, Y, test.X[:size], test.Y[:size], frequent_words(X, Y, 10))

    def run_task(self, task: Task, loaded: Corpus) -> Mapping[str, float]:
        few = draw(loaded.Y, task.setting["n_labeled"], rng=task.repetition_seed, max_tries=100_000).labeled
        others = np.setdiff1d(np.arange(len(loaded.X)), few)
        unlabeled = np.random.default_rng(task.repetition_seed).permutation(others)[: task.setting["n_unlabeled"]]
        labels = [loaded.Y[i] for i in few]
        model: Any = CRF(Sequence(constraints="iob2"))
        used, Y = [*few], list[Any](labels)
        if task.method != LABELS:
            lists: Any = [(words, kind) for kind, words in loaded.words.items()]
            if task.method == BAD:
                lists.append((re.compile("de|la|el|en"), "LOC"))
            rules = None if task.method == TAGGER else Rules(lists)
            model = Tagger(rules=rules, random_state=task.seed)
            used, Y = [*used, *unlabeled], [*labels, *[None] * len(unlabeled)]
            if task.method in (RULES, BAD):
                used, Y = used[len(few) :], Y[len(few) :]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit([loaded.X[i] for i in used], Y)
        found = model.predict(loaded.X_test)
        dropped = sum(not rule["used"] for rule in getattr(model, "rule_report_", None) or ())
        scores = {"span_f1": span_f1(loaded.Y_test, found), "token_error": token_error(loaded.Y_test, found)}
        return {**scores, "dropped": float(dropped)}

    def notes(self, results: Results) -> list[str]:
        f1 = {method: 100 * mean_of(results, method, "span_f1") for method in self.methods}
        return [
            f"Rules alone have {f1[RULES] - f1[LABELS]:+.1f} points of span F1 against the CRF with 20 sentences; "
            f"rules beside the 20 sentences {f1[BOTH] - f1[TAGGER]:+.1f} points against these alone."
        ]
