"""Twenty labeled sentences and lists of names: what lists bring, and what unlabeled text brings beside them.

``python benchmarks/few_names.py LISTS --data DIR --clusters DIR`` measures the methods below on the test parts of
`accord reproduce strong-sequences`, with the same draws of labeled sentences. LISTS is what `word_lists.py` makes;
``--clusters`` is the folder of `spacy-lookups-data` with ``es_lexeme_cluster.json.gz`` and ``en_…``. A run that was
killed goes on. ``--fewer`` learns from 2,000 random training sentences and tests on 1,000. ``--development`` tests on
other text and draws other sentences: what is to be chosen is chosen there.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from list_scores import ListScores

from accord import CRF, BrownClusters, ListLikeness, TokenFeatures, TypeConsistency, WordLists
from accord.datasets import load
from accord.evaluation import Task, draw, span_f1, token_error, tune
from accord.experiments.base import DataFolder, Experiment, grid
from accord.experiments.sentences import chain_of
from accord.experiments.strong_sequences import CRF_GRID
from accord.learners.base import StructuredLearner
from accord.learners.tagger import word_vectors
from accord.views.compose import ConcatenatedViews
from accord.views.packed_once import PackedOnce
from accord.views.phrases import read_phrases

# Name → data set, its test part, its development part, language of the clusters.
CORPORA = {"Spanish": ("conll2002_esp", "testb", "testa", "es"), "genes": ("bc2gm", "test", "devel", "en")}
LISTS = {
    "Spanish": ("first-names", "surnames", "people", "places", "cities", "other-names", "common-words"),
    "genes": ("gene-symbols", "gene-names", "proteins", "chemicals", "diseases", "processes", "common-words"),
}
# Lists of one kind.
KINDS = {
    "Spanish": {"people": ("first-names", "surnames", "people"), "places": ("places",), "others": ("other-names",)},
    "genes": {
        "genes": ("gene-symbols", "gene-names", "proteins"),
        "chemicals": ("chemicals",),
        "diseases": ("diseases",),
        "processes": ("processes",),
    },
}
BIAS = {"Spanish": 0.0, "genes": 1.0}  # against O, chosen on the development parts
FEWER = 2000, 1000  # sentences to learn from and to test on


@dataclass(frozen=True)
class Corpus:
    """Training sentences and their features by name, and the text to test on."""

    X: list[list[str]]
    Y: list[list[str]]
    X_test: list[list[str]]
    Y_test: list[list[str]]
    views: dict[str, PackedOnce]

    def features(self, *names: str) -> PackedOnce:
        """Some of the features, side by side."""
        return PackedOnce.joined([self.views[name] for name in names])

    def crf(self, C: float, *names: str) -> CRF:
        structure = chain_of(self.Y, constraints="iob2", normalize=True)
        return CRF(structure, self.features(*names), C=C, tol=1e-4, max_iter=100, decode="viterbi")


@dataclass(frozen=True)
class Method:
    """Features of a CRF whose C is tuned, or with which type consistency begins; for which corpora; and then, its C and
    its bias against O, where it is not that of the corpus."""

    features: tuple[str, ...]
    semi_supervised: bool = False
    corpora: tuple[str, ...] = tuple(CORPORA)
    C: float = 30.0
    bias: float | None = None

    def learner(self, corpus: Corpus, bias: float, seed: int, X: list[Any], Y: list[Any]) -> StructuredLearner:
        if not self.semi_supervised:
            best = tune(corpus.crf(1.0, *self.features), CRF_GRID, X, Y, random_state=seed).best_params["C"]
            return corpus.crf(best, *self.features)
        first = corpus.crf(self.C, "learned", *self.features)
        view = corpus.features(*self.features)
        recall = bias if self.bias is None else self.bias
        return TypeConsistency(first, strength=0.4, rounds=2, recall=recall, student_view=view, random_state=seed)


WITH_LISTS = ("text", "clusters", "lists")
METHODS = {
    "CRF": Method(("text",)),
    "CRF, lists": Method(WITH_LISTS),
    "CRF, lists and scores": Method((*WITH_LISTS, "scores"), corpora=("genes",)),
    "CRF, lists and likeness": Method((*WITH_LISTS, "likeness"), corpora=("Spanish",)),
    "type consistency": Method(("text", "clusters"), True),
    "type consistency, lists": Method(WITH_LISTS, True, corpora=("genes",)),
    "type consistency, lists and scores": Method((*WITH_LISTS, "scores"), True, ("genes",), C=1.0, bias=0.25),
    "type consistency, lists and likeness": Method((*WITH_LISTS, "likeness"), True, corpora=("Spanish",)),
}


class FewNames(Experiment):
    """What lists bring with twenty labeled sentences."""

    name = "strong-sequences"  # whose draws these are
    title = "Twenty labeled sentences and lists of names"
    description = (
        "Token error and span F1 on the corpus' own test part after training on 20 labeled sentences; all other "
        "training sentences are unlabeled. C of the CRFs is tuned on the labeled sentences. Type consistency is in two "
        "rounds, on genes with a bias of 1, and of 0.25 with scores."
    )
    data_sets = ("conll2002_esp", "bc2gm")
    methods = METHODS
    metrics = ("token_error", "span_f1")
    baseline = "CRF"

    def __init__(self, said: argparse.Namespace) -> None:
        self.settings = grid(data=said.corpora, n_labeled=[20])
        self.methods, self.baseline = {name: METHODS[name] for name in said.methods}, said.methods[0]
        self.lists, self.clusters, self.repetitions = said.lists, said.clusters, said.repetitions
        self.development, self.fewer = said.development, said.fewer
        if self.development:
            self.name = "few-names"

    def left_out(self, task: Task) -> bool:
        return task.setting["data"] not in METHODS[task.method].corpora

    def load(self, data: DataFolder, quick: bool, seed: int) -> dict[str, Corpus]:
        return {name: self._corpus(name, data) for name in self.values("data", quick)}

    def _corpus(self, name: str, data: DataFolder) -> Corpus:
        key, part, other_part, language = CORPORA[name]
        train, test = load(key, data), load(key, data, part=other_part if self.development else part)
        kept, tested = [i for i, x in enumerate(train.X) if x], list(range(len(test.X)))
        if self.fewer:
            rng = np.random.default_rng(7)
            kept, tested = [sorted(rng.choice(some, n, replace=False)) for some, n in zip((kept, tested), FEWER)]
        X, Y = [train.X[i] for i in kept], [train.Y[i] for i in kept]
        methods = [method for method in self.methods.values() if name in method.corpora]
        used = {"learned", *(view for method in methods for view in method.features)}
        made = {view: PackedOnce(of(name, language)).pack(X) for view, of in self._views().items() if view in used}
        return Corpus(X, Y, [test.X[i] for i in tested], [test.Y[i] for i in tested], made)

    def _views(self) -> dict[str, Callable[[str, str], Any]]:
        def clusters(language: str, window: int) -> BrownClusters:
            return BrownClusters(self.clusters / f"{language}_lexeme_cluster.json.gz", window=window)

        def likeness(name: str, language: str) -> ListLikeness:
            return ListLikeness(self._kinds(name), [TokenFeatures(window=2), clusters(language, 2)])

        def scores(name: str, language: str) -> ListScores:
            view = ConcatenatedViews([TokenFeatures(window=2), clusters(language, 1)])
            return ListScores(self._kinds(name), self._entries(name, "common-words"), view)

        return {
            "text": lambda name, language: TokenFeatures(window=1),
            "learned": lambda name, language: ConcatenatedViews(word_vectors()),
            "clusters": lambda name, language: clusters(language, 1),
            "lists": lambda name, language: WordLists({file: self._entries(name, file) for file in LISTS[name]}),
            "likeness": likeness,
            "scores": scores,
        }

    def _kinds(self, name: str) -> dict[str, list[str]]:
        return {
            kind: [entry for file in files for entry in self._entries(name, file)]
            for kind, files in KINDS[name].items()
        }

    def _entries(self, name: str, file: str) -> list[str]:
        return read_phrases(self.lists / name.lower() / f"{file}.txt")

    def run_task(self, task: Task, loaded: dict[str, Corpus]) -> Mapping[str, float]:
        corpus = loaded[task.setting["data"]]
        parts = draw(corpus.Y, task.setting["n_labeled"], rng=task.repetition_seed, max_tries=100_000)
        few = set(parts.labeled)
        X, Y = [corpus.X[i] for i in parts.labeled], [corpus.Y[i] for i in parts.labeled]
        method = METHODS[task.method]
        learner = method.learner(corpus, BIAS[task.setting["data"]], task.repetition_seed, X, Y)
        if method.semi_supervised:
            X, Y = corpus.X, [y if i in few else None for i, y in enumerate(corpus.Y)]
        predicted = learner.fit(X, Y).predict(corpus.X_test)
        return {"token_error": token_error(corpus.Y_test, predicted), "span_f1": span_f1(corpus.Y_test, predicted)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", type=Path, help="what word_lists.py has made")
    parser.add_argument("--data", help="the local data folder; by default what ACCORD_DATA names")
    parser.add_argument("--clusters", type=Path, required=True, help="the data folder of spacy-lookups-data")
    parser.add_argument("--corpora", nargs="+", choices=list(CORPORA), default=list(CORPORA))
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--fewer", action="store_true", help="fewer sentences to learn from and to test on")
    parser.add_argument("--development", action="store_true", help="other text to test on, other draws")
    parser.add_argument("--output", default="few-names", help="folder for results and report")
    said = parser.parse_args()
    print(*FewNames(said).run(said.data, said.output), sep="\n")


if __name__ == "__main__":
    main()
