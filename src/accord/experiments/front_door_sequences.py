"""Is the default for label sequences as good as what one would set by hand? Ten to a hundred labeled sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from accord.evaluation import Results, Task, draw, span_f1, token_error
from accord.experiments.base import DataFolder, Experiment, grid, mean_of
from accord.experiments.sentences import DATA_SETS
from accord.experiments.strong_sequences import SETS, Corpus, load_corpora
from accord.learners.base import StructuredLearner
from accord.learners.crf import CRF
from accord.learners.svm import StructuredSVM
from accord.learners.tagger import Tagger
from accord.learners.type_consistency import TypeConsistency
from accord.structures.chains.sequence import Sequence
from accord.views.base import View
from accord.views.compose import ConcatenatedViews
from accord.views.packed_once import PackedOnce


class _Pooled(Tagger):
    """A tagger of sentences whose views are fitted: they are the same in every repetition."""

    _corpus: Corpus

    @classmethod
    def of(cls, corpus: Corpus, seed: int) -> Tagger:
        tagger = cls(random_state=seed)
        tagger._corpus = corpus
        return tagger

    def _packed(self, view: View, X: list[Any]) -> PackedOnce:
        return self._corpus.learned if isinstance(view, ConcatenatedViews) else self._corpus.text


def _names() -> Sequence:
    return Sequence(constraints="iob2")


def _crf(corpus: Corpus) -> CRF:
    return CRF(_names(), corpus.rich, C=30.0, tol=1e-4, max_iter=100)


METHODS: dict[str, Callable[[Corpus, int], StructuredLearner]] = {
    "CRF": lambda corpus, seed: CRF(_names(), corpus.text),
    "SVM": lambda corpus, seed: StructuredSVM(_names(), corpus.text, C=0.1, random_state=seed),
    "CRF with word vectors": lambda corpus, seed: _crf(corpus),
    "type consistency": lambda corpus, seed: TypeConsistency(
        _crf(corpus), strength=0.4, student_view=corpus.text, random_state=seed
    ),
    "Tagger": _Pooled.of,
}
SUPERVISED = ("CRF", "SVM")
SIZES = 2000, 1000  # sentences to learn from, and to test on: half a minute of processor time for a method
BY_HAND = tuple(name for name in METHODS if name != "Tagger")


class FrontDoorSequences(Experiment):
    """The default tagger against settings chosen by hand."""

    name = "front-door-sequences"
    title = "The default tagger against recipes set by hand"
    description = (
        "Token error and span F1 on 1,000 random sentences of the corpus' own test part (Spanish: CoNLL-2002 testb; "
        "genes: BC2GM test) after training on few labeled sentences, drawn anew in each repetition until every label "
        "occurs among them, of 2,000 random training sentences; the others are unlabeled. 'CRF' is the learner with "
        "its defaults. 'Tagger' has no settings; the others are what one would set by hand. Views are fitted once, on "
        "all 2,000 sentences."
    )
    data_sets = DATA_SETS
    methods = METHODS
    quick_methods = ("CRF", "Tagger")
    repetitions = 5
    version = 2  # 1 had all sentences of the corpora
    settings = grid(data=list(SETS)[:2], n_labeled=[10, 20, 50, 100])
    quick_settings = grid(data=list(SETS)[:1], n_labeled=[20])
    metrics = ("token_error", "span_f1")
    baseline = "CRF"

    def load(self, data: DataFolder, quick: bool, seed: int) -> dict[str, Corpus]:
        return load_corpora(self.values("data", quick), data, quick, SIZES, seed)

    def run_task(self, task: Task, loaded: dict[str, Corpus]) -> Mapping[str, float]:
        corpus = loaded[task.setting["data"]]
        parts = draw(corpus.Y, task.setting["n_labeled"], rng=task.repetition_seed, max_tries=100_000)
        learner = METHODS[task.method](corpus, task.seed)
        if task.method in SUPERVISED:
            learner.fit([corpus.X[i] for i in parts.labeled], [corpus.Y[i] for i in parts.labeled])
        else:
            few = set(parts.labeled)
            learner.fit(corpus.X, [y if i in few else None for i, y in enumerate(corpus.Y)])
        predicted = learner.predict(corpus.X_test)
        return {"token_error": token_error(corpus.Y_test, predicted), "span_f1": span_f1(corpus.Y_test, predicted)}

    def notes(self, results: Results) -> list[str]:
        sentences = []
        for setting in results.settings:
            f1 = {m: mean_of(results, m, "span_f1", **setting) for m in results.methods}
            best = max((m for m in f1 if m in BY_HAND), key=f1.__getitem__)
            sentences.append(
                f"{self.describe(setting)}: the tagger has a span F1 of {100 * f1['Tagger']:.1f}, the best by hand "
                f"({best}) {100 * f1[best]:.1f}, the CRF {100 * f1['CRF']:.1f}."
            )
        return sentences
