"""Twenty labeled sentences and lists of names: what lists bring, and what unlabeled text brings beside them.

``python benchmarks/few_names.py LISTS --data DIR --clusters DIR`` measures the methods below on the test parts of
`accord reproduce strong-sequences`, with the same draws of labeled sentences. LISTS is what `word_lists.py` makes;
``--clusters`` is the folder of `spacy-lookups-data` with ``es_lexeme_cluster.json.gz`` and ``en_…``. A run that was
killed goes on. ``--development`` tests on other text, from other draws and fewer sentences: what is to be chosen is
chosen there.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

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
# Lists, and which of them are of one kind for ListLikeness; in small letters, too, or names with capital letters only.
FEATURES = {
    "Spanish": ("first-names", "surnames", "people", "places", "cities", "other-names", "common-words"),
    "genes": ("gene-symbols", "gene-names", "proteins", "chemicals", "diseases", "processes", "common-words"),
}
KINDS = {
    "Spanish": {"people": ("first-names", "surnames", "people"), "places": ("places",), "others": ("other-names",)},
    "genes": {
        "genes": ("gene-symbols", "gene-names", "proteins"),
        "chemicals": ("chemicals",),
        "diseases": ("diseases",),
        "processes": ("processes",),
        "common words": ("common-words",),
    },
}
FOLDERS = {"Spanish": "spanish", "genes": "genes"}
SCALE = 2.0
FEWER = 2000, 1000  # sentences to learn from and to test on, for development


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
    """Features of a CRF, and how type consistency goes on from there; None: not at all, and C is tuned."""

    features: tuple[str, ...]
    further: Mapping[str, Any] | None = None

    def learner(self, corpus: Corpus, seed: int, X: list[Any], Y: list[Any]) -> StructuredLearner:
        if self.further is None:
            best = tune(corpus.crf(1.0, *self.features), CRF_GRID, X, Y, random_state=seed).best_params["C"]
            return corpus.crf(best, *self.features)
        view = corpus.features(*(name for name in self.features if name != "learned"))
        return TypeConsistency(
            corpus.crf(30.0, *self.features), strength=0.4, student_view=view, random_state=seed, **self.further
        )


TWICE = {"rounds": 2}
METHODS = {
    "CRF": Method(("text",)),
    "CRF, lists": Method(("text", "lists", "clusters")),
    "CRF, lists and likeness": Method(("text", "lists", "clusters", "likeness")),
    "type consistency": Method(("text", "learned", "clusters"), TWICE),
    "type consistency, lists and likeness": Method(("text", "learned", "clusters", "lists", "likeness"), TWICE),
}


class FewNames(Experiment):
    """What lists bring with twenty labeled sentences."""

    name = "strong-sequences"  # whose draws these are
    title = "Twenty labeled sentences and lists of names"
    description = (
        "Token error and span F1 on the corpus' own test part after training on 20 labeled sentences; all other "
        "training sentences are unlabeled. C of the CRFs is tuned on the labeled sentences."
    )
    data_sets = ("conll2002_esp", "bc2gm")
    methods = METHODS
    metrics = ("token_error", "span_f1")
    baseline = "CRF"

    def __init__(self, names: list[str], lists: Path, clusters: Path, repetitions: int, development: bool) -> None:
        self.settings = grid(data=names, n_labeled=[20])
        self.lists, self.clusters, self.repetitions, self.development = lists, clusters, repetitions, development
        if development:
            self.name = "few-names"

    def load(self, data: DataFolder, quick: bool, seed: int) -> dict[str, Corpus]:
        return {name: self._corpus(name, data) for name in self.values("data", quick)}

    def _corpus(self, name: str, data: DataFolder) -> Corpus:
        key, part, other_part, language = CORPORA[name]
        train, test = load(key, data), load(key, data, part=other_part if self.development else part)
        kept, tested = [i for i, x in enumerate(train.X) if x], list(range(len(test.X)))
        if self.development:
            rng = np.random.default_rng(7)
            kept, tested = [sorted(rng.choice(some, n, replace=False)) for some, n in zip((kept, tested), FEWER)]
        X, Y = [train.X[i] for i in kept], [train.Y[i] for i in kept]
        made = {view: PackedOnce(of(name, language)).pack(X) for view, of in self._views().items()}
        return Corpus(X, Y, [test.X[i] for i in tested], [test.Y[i] for i in tested], made)

    def _views(self) -> dict[str, Callable[[str, str], Any]]:
        def clusters(language: str, window: int) -> BrownClusters:
            return BrownClusters(self.clusters / f"{language}_lexeme_cluster.json.gz", window=window)

        def likeness(name: str, language: str) -> ListLikeness:
            kinds = {kind: [x for n in files for x in self._entries(name, n)] for kind, files in KINDS[name].items()}
            judge = [TokenFeatures(window=2), clusters(language, 2)]
            return ListLikeness(kinds, judge, names=name == "Spanish")

        return {
            "text": lambda name, language: TokenFeatures(window=1),
            "learned": lambda name, language: ConcatenatedViews(word_vectors()),
            "clusters": lambda name, language: clusters(language, 1),
            "lists": lambda name, language: WordLists(
                {file: self._entries(name, file) for file in FEATURES[name]}, scale=SCALE
            ),
            "likeness": likeness,
        }

    def _entries(self, name: str, file: str) -> list[str]:
        return read_phrases(self.lists / FOLDERS[name] / f"{file}.txt")

    def run_task(self, task: Task, loaded: dict[str, Corpus]) -> Mapping[str, float]:
        corpus = loaded[task.setting["data"]]
        parts = draw(corpus.Y, task.setting["n_labeled"], rng=task.repetition_seed, max_tries=100_000)
        few = set(parts.labeled)
        X, Y = [corpus.X[i] for i in parts.labeled], [corpus.Y[i] for i in parts.labeled]
        method = METHODS[task.method]
        learner = method.learner(corpus, task.repetition_seed, X, Y)
        if method.further is not None:
            X, Y = corpus.X, [y if i in few else None for i, y in enumerate(corpus.Y)]
        predicted = learner.fit(X, Y).predict(corpus.X_test)
        return {"token_error": token_error(corpus.Y_test, predicted), "span_f1": span_f1(corpus.Y_test, predicted)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", type=Path, help="what word_lists.py has made")
    parser.add_argument("--data", help="the local data folder; by default what ACCORD_DATA names")
    parser.add_argument("--clusters", type=Path, required=True, help="the data folder of spacy-lookups-data")
    parser.add_argument("--corpora", nargs="+", choices=list(CORPORA), default=list(CORPORA))
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--development", action="store_true", help="other text, other draws, fewer sentences")
    parser.add_argument("--output", default="few-names", help="folder for results and report")
    said = parser.parse_args()
    experiment = FewNames(said.corpora, said.lists, said.clusters, said.repetitions, said.development)
    print(*experiment.run(said.data, said.output, overwrite=False), sep="\n")


if __name__ == "__main__":
    main()
