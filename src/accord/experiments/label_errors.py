"""Are spans that were relabeled at random among the first suspects?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from accord.datasets import load
from accord.datasets.label_spans import extract_spans
from accord.evaluation import Metric, Results, Task
from accord.experiments.base import DataFolder, Experiment, grid, mean_of
from accord.learners.crf import CRF
from accord.learners.safety import labeled_folds
from accord.learners.suspects import suspects
from accord.structures.chains.sequence import Sequence

SUSPECTS, CONFIDENT = "suspects", "CRF, confident learning"
FOLDS = 5
PRECISION = Metric("precision", "precision at half recall", None, True, True)
FOUND = Metric("found", "relabeled spans among all suspects", None, True, True)

Place = tuple[int, int, int]  # a span: the number of its sentence, its first token and the one after its last


@dataclass(frozen=True)
class Sentences:
    """Labeled sentences."""

    X: list[list[str]]
    Y: list[list[str]]


def relabeled(Y: list[list[str]], share: float, rng: np.random.Generator) -> tuple[list[list[str]], set[Place]]:
    """Copies of IOB2 label sequences in which this share of the spans has another kind, and where these are."""
    spans = [(i, *span) for i, y in enumerate(Y) for span in extract_spans(y)]
    kinds = sorted({kind for _, kind, _, _ in spans})
    changed, places = [list(y) for y in Y], set()
    for k in rng.permutation(len(spans))[: round(share * len(spans))]:
        i, kind, start, end = spans[k]
        other = [one for one in kinds if one != kind][rng.integers(len(kinds) - 1)]
        changed[i][start:end] = [f"B-{other}", *[f"I-{other}"] * (end - start - 1)]
        places.add((i, start, end))
    return changed, places


def precision_at(ranked: list[Place], wrong: set[Place], recall: float = 0.5) -> float:
    """Which share of the first ones is wrong, as many as hold this share of all wrong ones; 0 if all of them do not."""
    hits = np.cumsum([place in wrong for place in ranked])
    reached = np.flatnonzero(hits >= recall * len(wrong))
    return float(hits[reached[0]] / (reached[0] + 1)) if reached.size else 0.0


def _suspects(X: list[list[str]], Y: list[list[str]], seed: int) -> list[Place]:
    found = suspects(X, Y, random_state=seed)
    return [(one.example, one.start, one.end) for one in found if one.start is not None and one.end is not None]


def _confident(X: list[list[str]], Y: list[list[str]], seed: int) -> list[Place]:
    """Spans by how improbable their labels are on average, by a CRF of the other folds [Northcutt et al. 2021]."""
    doubts: dict[Place, float] = {}
    for held_out in labeled_folds(len(X), None, np.random.default_rng(seed), FOLDS):
        rest = np.setdiff1d(np.arange(len(X)), held_out)
        model = CRF(Sequence(constraints="iob2"), C=1.0).fit([X[i] for i in rest], [Y[i] for i in rest])
        number = {label: k for k, label in enumerate(model.structure_.labels_)}
        for i, marginals in zip(held_out.tolist(), model.predict_marginals([X[i] for i in held_out])):
            right = np.array([row[number[label]] if label in number else 0.0 for row, label in zip(marginals, Y[i])])
            for _, start, end in extract_spans(Y[i]):
                doubts[i, start, end] = 1.0 - float(right[start:end].mean())
    return sorted((place for place in doubts if doubts[place] > 0.5), key=lambda place: -doubts[place])


METHODS: dict[str, Callable[[list[list[str]], list[list[str]], int], list[Place]]] = {
    SUSPECTS: _suspects,
    CONFIDENT: _confident,
}


class LabelErrors(Experiment):
    """Kinds of spans that are wrong on purpose."""

    name = "label-errors"
    title = "Label errors: are relabeled spans among the first suspects?"
    description = (
        "The first sentences of the training part of CoNLL-2002 Spanish, of whose spans so many got another kind at "
        "random. Precision at half recall: of the first suspects that hold half of these spans, how many are such "
        "spans; errors of the corpus itself count as wrong alarms. 'suspects' has its defaults; confident learning "
        f"ranks spans by the mean probability of their labels, by a CRF of the other {FOLDS - 1} of {FOLDS} folds."
    )
    data_sets = ("conll2002_esp",)
    methods = METHODS
    repetitions = 5
    settings = grid(sentences=[2000], share=[0.05])
    quick_settings = grid(sentences=[300], share=[0.05])
    metrics = (PRECISION, FOUND)
    baseline = CONFIDENT

    def load(self, data: DataFolder, quick: bool, seed: int) -> Sentences:
        corpus = load("conll2002_esp", data)
        pairs = [(x, y) for x, y in zip(corpus.X, corpus.Y) if len(x)][: max(self.values("sentences", quick))]
        return Sentences([list(x) for x, _ in pairs], [list(y) for _, y in pairs])

    def run_task(self, task: Task, loaded: Sentences) -> Mapping[str, float]:
        n = task.setting["sentences"]
        Y, wrong = relabeled(loaded.Y[:n], task.setting["share"], np.random.default_rng(task.repetition_seed))
        ranked = METHODS[task.method](loaded.X[:n], Y, task.repetition_seed)
        return {"precision": precision_at(ranked, wrong), "found": len(wrong & set(ranked)) / len(wrong)}

    def notes(self, results: Results) -> list[str]:
        return [
            f"{setting['sentences']:,} sentences: precision at half recall {100 * precision[SUSPECTS]:.1f} %, "
            f"by confident learning {100 * precision[CONFIDENT]:.1f} %."
            for setting in results.settings
            for precision in [{method: mean_of(results, method, "precision", **setting) for method in METHODS}]
        ]
