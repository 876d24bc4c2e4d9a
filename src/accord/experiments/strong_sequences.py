"""Do unlabeled sentences pay against strong baselines? Twenty labeled sentences, all others unlabeled.

Every method has the best text features we know and a tuning budget on the labeled sentences; the test text is the
corpus' own test part, which nothing is chosen on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Sequence as Seq
from dataclasses import dataclass
from typing import Any

import numpy as np

from accord.datasets import load
from accord.evaluation import Results, Task, draw, span_f1, token_error, tune
from accord.experiments.base import DataFolder, Experiment, grid, mean_of
from accord.experiments.sentences import DATA_SETS, chain_of
from accord.learners.base import StructuredLearner
from accord.learners.consensus import CoPerceptron
from accord.learners.crf import CRF
from accord.learners.perceptron import StructuredPerceptron
from accord.learners.svm import StructuredSVM
from accord.learners.tagger import word_vectors
from accord.learners.type_consistency import TypeConsistency
from accord.learners.view_sum import SumOfViews
from accord.structures.chains.sequence import Sequence
from accord.views.base import View
from accord.views.compose import ConcatenatedViews
from accord.views.packed_once import PackedOnce
from accord.views.splits import RandomSplit
from accord.views.text import TokenFeatures

SETS = {
    "Spanish": ("conll2002_esp", "testb"),
    "genes": ("bc2gm", "test"),
    # text that was not looked at when the recipe was made
    "Spanish, fresh text": ("conll2002_esp", "testa"),
    "genes, fresh text": ("bc2gm", "devel"),
}
FRESH = ("perceptron", "CRF", "SVM", "sum of 8 views (perceptrons)", "sum of 8 views (CRFs)", "type consistency")
CRF_GRID = {"C": [1.0, 10.0, 100.0, 1000.0]}
SVM_GRID = {"C": [0.1, 1.0, 10.0]}
SUPERVISED = ("perceptron", "CRF", "SVM", "sum of 8 views (perceptrons)", "sum of 8 views (CRFs)")


@dataclass(frozen=True)
class Corpus:
    """Training sentences with their features, and the test text."""

    X: list[list[str]]
    Y: list[list[str]]
    X_test: list[list[str]]
    Y_test: list[list[str]]
    text: PackedOnce
    learned: PackedOnce  # word vectors
    rich: PackedOnce  # both

    @property
    def structure(self) -> Sequence:
        return chain_of(self.Y, constraints="iob2", normalize=True)


def load_corpora(
    names: list[str], data: DataFolder, quick: bool, most: tuple[int | None, int | None] = (None, None), seed: int = 0
) -> dict[str, Corpus]:
    """The corpora, with their views fitted on all training sentences; or on so many random ones, with so many to test
    on."""
    out = {}
    for name in names:
        key, part = SETS[name]
        train, test = load(key, data), load(key, data, part=part)
        n_train, n_test = (1500, 200) if quick else most
        rng = np.random.default_rng(seed)
        kept = _some([i for i, x in enumerate(train.X) if x], n_train, rng)
        X, Y = [train.X[i] for i in kept], [train.Y[i] for i in kept]
        tested = _some(range(len(test.X)), n_test, rng)
        text = PackedOnce(TokenFeatures(window=1)).pack(X)
        learned = PackedOnce(ConcatenatedViews(word_vectors())).pack(X)
        rich = PackedOnce.joined([text, learned])
        out[name] = Corpus(X, Y, [test.X[i] for i in tested], [test.Y[i] for i in tested], text, learned, rich)
    return out


def _some(places: Seq[int], n: int | None, rng: np.random.Generator) -> Seq[int]:
    """So many of them, or all."""
    return places if n is None or n >= len(places) else sorted(rng.choice(places, n, replace=False).tolist())


def _crf(corpus: Corpus, view: View, C: float) -> CRF:
    return CRF(corpus.structure, view, C=C, tol=1e-4, max_iter=100, decode="viterbi")


Make = Callable[[Corpus, float, int], StructuredLearner]  # of a corpus, C of the tuned CRF and a seed


def _type_consistency(rich: bool, **settings: Any) -> Make:
    return lambda c, C, seed: TypeConsistency(
        _crf(c, c.rich, 30.0) if rich else _crf(c, c.text, C), student_view=c.text, random_state=seed, **settings
    )


METHODS: dict[str, Make] = {
    "perceptron": lambda c, C, seed: StructuredPerceptron(c.structure, c.text, max_iter=10, random_state=seed),
    "CRF": lambda c, C, seed: _crf(c, c.text, C),
    "SVM": lambda c, C, seed: StructuredSVM(c.structure, c.text, tol=0.05, random_state=seed),
    "sum of 8 views (perceptrons)": lambda c, C, seed: SumOfViews(
        StructuredPerceptron(c.structure, c.text, max_iter=10, random_state=seed)
    ),
    "sum of 8 views (CRFs)": lambda c, C, seed: SumOfViews(_crf(c, c.text, C).set_params(random_state=seed)),
    "self-training": _type_consistency(False, strength=1e-9, keys=("word",)),
    "co-perceptron (auto)": lambda c, C, seed: CoPerceptron(c.structure, RandomSplit(c.text), random_state=seed),
    "CRF with word vectors": lambda c, C, seed: _crf(c, c.rich, 30.0),
    "type consistency, text only": _type_consistency(False, strength=0.4),
    "type consistency": _type_consistency(True, strength=0.4),
    "type consistency, two rounds": _type_consistency(True, strength=0.4, rounds=2, recall=1.0),
    "type consistency (auto)": _type_consistency(True),
}


class StrongSequences(Experiment):
    """Semi-supervised taggers against tuned supervised ones."""

    name = "strong-sequences"
    title = "Twenty labeled sentences: do unlabeled sentences pay against strong baselines?"
    description = (
        "Token error and span F1 on the corpus' own test part (Spanish: CoNLL-2002 testb; genes: BC2GM test) after "
        "training on 20 labeled sentences, drawn anew in each repetition until every label occurs among them; all "
        "other training sentences are unlabeled. Supervised methods have token features with a window of 1; C of the "
        "CRF (1 to 1000) and of the SVM (0.1 to 10) is chosen by 3-fold cross-validation on the labeled sentences. "
        "'Word vectors' adds canonical and distributional vectors of all training text (C = 30, fixed); 'type "
        "consistency' adds evidence about kinds of words and a student, 'two rounds' does so twice and asks for more "
        "spans; '(auto)' decides on labeled folds how far to "
        "go. 'Self-training' is a student of the tuned CRF. The recipe was found on other draws of labeled sentences; "
        "its constants were chosen with that test text in view. 'Fresh text' (CoNLL-2002 testa, BC2GM devel) was not "
        "looked at before; it is for the supervised methods and the best semi-supervised one."
    )
    data_sets = DATA_SETS
    methods = METHODS
    quick_methods = ("perceptron", "CRF", "type consistency")
    repetitions = 30
    settings = grid(data=list(SETS), n_labeled=[20])
    quick_settings = grid(data=list(SETS)[:1], n_labeled=[20])
    metrics = ("token_error", "span_f1")
    baseline = "CRF"

    def left_out(self, task: Task) -> bool:
        return "fresh" in task.setting["data"] and task.method not in FRESH

    def load(self, data: DataFolder, quick: bool, seed: int) -> dict[str, Corpus]:
        return load_corpora(self.values("data", quick), data, quick)

    def run_task(self, task: Task, loaded: dict[str, Corpus]) -> Mapping[str, float]:
        corpus = loaded[task.setting["data"]]
        parts = draw(corpus.Y, task.setting["n_labeled"], rng=task.repetition_seed, max_tries=100_000)
        X_few, Y_few = [corpus.X[i] for i in parts.labeled], [corpus.Y[i] for i in parts.labeled]
        C = 0.0
        if "CRF" in task.method or "training" in task.method or "text only" in task.method:
            grid = tune(_crf(corpus, corpus.text, 1.0), CRF_GRID, X_few, Y_few, random_state=task.repetition_seed)
            C = grid.best_params["C"]
        learner = METHODS[task.method](corpus, C, task.seed)
        if task.method == "SVM":
            learner.set_params(**tune(learner, SVM_GRID, X_few, Y_few, random_state=task.repetition_seed).best_params)
        if task.method in SUPERVISED:
            learner.fit(X_few, Y_few)
        else:
            few = set(parts.labeled)
            learner.fit(corpus.X, [y if i in few else None for i, y in enumerate(corpus.Y)])
        predicted = learner.predict(corpus.X_test)
        return {"token_error": token_error(corpus.Y_test, predicted), "span_f1": span_f1(corpus.Y_test, predicted)}

    def notes(self, results: Results) -> list[str]:
        sentences = []
        for setting in results.settings:
            here = FRESH if "fresh" in setting["data"] else METHODS
            errors = {m: mean_of(results, m, "token_error", **setting) for m in here}
            single = min(errors[m] for m in SUPERVISED[:3])
            gains = [f"{m} {100 * (errors[m] / single - 1):+.1f} %" for m in here if m not in SUPERVISED]
            sentences.append(
                f"{setting['data']}: token error relative to the best single supervised learner "
                f"({100 * single:.2f} %): {'; '.join(gains)}."
            )
        return sentences
