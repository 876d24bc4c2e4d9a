"""Ten labeled Spanish sentences: ∇SVM and ∇TSVM with 0/1 and Hamming loss, SVM and co-SVM [thesis 7.4.4 and 7.6].

Figures 7.6 and 7.7 are plotted only. The text: ∇SVM errs less than the SVM, ∇TSVM less than ∇SVM, Hamming loss slightly
less than 0/1 loss; without windows, ∇TSVM cannot make use of unlabeled sentences and the co-SVM can.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from accord.evaluation import Results, Task, draw, make_tasks, token_error
from accord.experiments.base import DataFolder, Experiment
from accord.experiments.hmm_few_labels import SPANISH, FewLabels
from accord.experiments.hmm_few_labels import Pool as Sentences
from accord.experiments.ordering import Claim, change_note, claim_notes
from accord.learners.consensus import CoSVM
from accord.learners.gradient import GradientSVM
from accord.learners.gradient_co import GradientCoSVM
from accord.learners.svm import StructuredSVM
from accord.learners.transductive import TransductiveSVM
from accord.structures.chains.sequence import Sequence
from accord.views.splits import RandomSplit

REPETITIONS = 15
N_LABELED, N_HOLDOUT = 10, 300
UNLABELED = (0, 25, 100, 400)
QUICK_UNLABELED = (0, 10)
C = 1.0
WEIGHTS = {"zero-one": 0.01, "hamming": 0.01}  # set beforehand, not tuned
CO_WEIGHT = 0.001  # of co-learning-sequences


@dataclass(frozen=True)
class Case:
    """What a learner is made for."""

    sentences: Sentences
    seed: int

    def structure(self, loss: str) -> Sequence:
        return Sequence(labels=self.sentences.structure.labels, loss=loss, normalize=False)


def _gradient(loss: str) -> Callable[[Case], Any]:
    return lambda case: GradientSVM(case.structure(loss), case.sentences.features(), C=C, random_state=case.seed)


def _transductive(loss: str, weight: Any) -> Callable[[Case], Any]:
    return lambda case: TransductiveSVM(
        case.structure(loss), case.sentences.features(), C=C, unlabeled_weight=weight, random_state=case.seed
    )


def _svm(loss: str) -> Callable[[Case], Any]:
    return lambda case: StructuredSVM(case.structure(loss), case.sentences.features(), C=C / 2, random_state=case.seed)


METHODS: dict[str, Callable[[Case], Any]] = {
    "SVM 0/1": _svm("zero-one"),
    "SVM Hamming": _svm("hamming"),
    "∇SVM 0/1": _gradient("zero-one"),
    "∇SVM Hamming": _gradient("hamming"),
    "∇TSVM 0/1": _transductive("zero-one", WEIGHTS["zero-one"]),
    "∇TSVM Hamming": _transductive("hamming", WEIGHTS["hamming"]),
    "∇TSVM Hamming, auto": _transductive("hamming", "auto"),
    "∇TSVM 0/1, auto": _transductive("zero-one", "auto"),
    "coSVM Hamming": lambda case: CoSVM(
        case.structure("hamming"), RandomSplit(case.sentences.features()), C=C / 2, unlabeled_weight=CO_WEIGHT,
        ramp=15, max_iter=20, random_state=case.seed,
    ),
    "∇coSVM Hamming": lambda case: GradientCoSVM(
        case.structure("hamming"), RandomSplit(case.sentences.features()), C=C / 2, unlabeled_weight=CO_WEIGHT,
        random_state=case.seed,
    ),
}  # fmt: skip
SUPERVISED = tuple(name for name in METHODS if name.startswith(("SVM", "∇SVM")))

CLAIMS = (
    Claim("∇SVM Hamming", "SVM Hamming", "the thesis: lower"),
    Claim("∇SVM 0/1", "SVM 0/1", "the thesis: lower"),
    Claim("∇TSVM 0/1", "∇SVM 0/1", "the thesis: lower"),
    Claim("∇TSVM Hamming", "∇SVM Hamming", "the thesis: lower"),
    Claim("∇TSVM Hamming", "∇TSVM 0/1", "the thesis: slightly lower"),
    Claim("∇TSVM 0/1, auto", "∇SVM 0/1", "ours: no higher"),
    Claim("∇TSVM Hamming, auto", "∇SVM Hamming", "ours: no higher"),
    Claim("coSVM Hamming", "∇TSVM Hamming", "the thesis, without windows: lower"),
    Claim("∇coSVM Hamming", "coSVM Hamming", "the smooth criterion"),
)


class TransductionSequences(Experiment):
    """Learning curves over unlabeled sentences."""

    name = "transduction-sequences"
    title = "Ten labeled Spanish sentences: ∇SVM, ∇TSVM and co-SVM"
    description = (
        "Token error on a holdout of 300 sentences after training on 10 labeled sentences, drawn anew in each "
        "repetition until every label occurs among them, and on unlabeled ones. Spanish sentences of 10 to 40 tokens "
        "of the CoNLL-2002 training set, 9 labels, tokens and surface clues in a window of three. 0/1 loss of "
        f"sentences or Hamming loss in tokens, C = {C:g} of ∇SVM and the same weight of slacks for the others, ε = "
        f"0.3, τ = 0.4. Unlabeled sentences count {WEIGHTS['hamming']:g} of a labeled one ({CO_WEIGHT:g} for the "
        "co-SVMs, whose views are random halves of the features), or what labeled folds say (auto)."
    )
    data_sets = ("conll2002_esp", "bc2gm")
    metrics = ("token_error",)
    x = "n_unlabeled"
    baseline = "SVM Hamming"

    def tasks(self, quick: bool, seed: int) -> list[Task]:
        sizes, repetitions = (QUICK_UNLABELED, 2) if quick else (UNLABELED, REPETITIONS)
        tasks = make_tasks(self.name, list(METHODS), {"n_unlabeled": sizes}, repetitions=repetitions, seed=seed)
        return sorted(tasks, key=lambda task: task.repetition)

    def load(self, data: DataFolder, quick: bool, seed: int) -> tuple[Sentences, dict[Any, float]]:
        return FewLabels().load(data, quick, seed)[SPANISH], {}

    def run_task(self, task: Task, loaded: tuple[Sentences, dict[Any, float]]) -> Mapping[str, float]:
        sentences, known = loaded
        seed = task.repetition_seed
        m = 0 if task.method in SUPERVISED else task.setting["n_unlabeled"]
        if (task.method, m, seed) not in known:
            parts = draw(sentences.Y, N_LABELED, max(UNLABELED), N_HOLDOUT, seed, max_tries=100_000)
            parts = replace(parts, unlabeled=parts.unlabeled[:m])
            X, Y = parts.training(sentences.X, sentences.Y)
            X_test, Y_test = parts.test(sentences.X, sentences.Y)
            learner = METHODS[task.method](Case(sentences, seed))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # working sets of the non-convex machines may not settle
                known[task.method, m, seed] = token_error(Y_test, learner.fit(X, Y).predict(X_test))
        return {"token_error": known[task.method, m, seed]}

    def notes(self, results: Results) -> list[str]:
        sentences = claim_notes(results, CLAIMS, "token_error", lambda setting: f"+{setting['n_unlabeled']}")
        few, many = ({"n_unlabeled": UNLABELED[k]} for k in (0, -1))
        for method in METHODS:
            if method not in SUPERVISED:
                what = f"{UNLABELED[0]} → {UNLABELED[-1]} unlabeled sentences"
                sentences += change_note(results, method, "token_error", few, many, what)
        return sentences
