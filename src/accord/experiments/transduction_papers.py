"""Papers of Cora: ∇TSVM, SVM and co-SVM as unlabeled papers are added [thesis 7.4.2, 7.6; Figures 7.4, 7.7].

The thesis plots its figures; its text says that unlabeled papers change little, and that the co-SVM errs about 4 %
points less than ∇TSVM.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from accord.evaluation import Results, Task, draw, make_tasks, zero_one_loss
from accord.experiments.base import DataFolder, Experiment
from accord.experiments.consensus_classes import PASSES, Pool, load_pool
from accord.experiments.ordering import Claim, change_note, claim_notes
from accord.learners.consensus import CoSVM
from accord.learners.gradient import GradientSVM
from accord.learners.gradient_co import GradientCoSVM
from accord.learners.svm import StructuredSVM
from accord.learners.transductive import TransductiveSVM
from accord.structures.chains.multiclass import MultiClass
from accord.views.dense import ArrayFeatures

REPETITIONS = 30
LABELED = (200, 400)
UNLABELED = (0, 200, 800)
QUICK_UNLABELED = (0, 100)
N_HOLDOUT = 500
C, WEIGHT = 1.0, 0.1


def _plain() -> ArrayFeatures:
    return ArrayFeatures(bias=False)


# Method → (pool, seed) → learner
METHODS: dict[str, Callable[[Pool, int], Any]] = {
    "SVM": lambda pool, seed: StructuredSVM(MultiClass(), _plain(), C=C / 2, random_state=seed),
    "∇SVM": lambda pool, seed: GradientSVM(MultiClass(), _plain(), C=C, random_state=seed),
    "∇TSVM": lambda pool, seed: TransductiveSVM(
        MultiClass(), _plain(), C=C, unlabeled_weight=WEIGHT, random_state=seed
    ),
    "∇TSVM auto": lambda pool, seed: TransductiveSVM(MultiClass(), _plain(), C=C, random_state=seed),
    "coSVM": lambda pool, seed: CoSVM(
        MultiClass(), pool.views(), C=C / 2, unlabeled_weight=WEIGHT, random_state=seed, **PASSES
    ),
    "∇coSVM": lambda pool, seed: GradientCoSVM(
        MultiClass(), pool.views(), C=C / 2, unlabeled_weight=WEIGHT, random_state=seed
    ),
}
SUPERVISED = ("SVM", "∇SVM")

CLAIMS = (
    Claim("∇TSVM", "∇SVM", "the thesis: about the same"),
    Claim("∇TSVM auto", "∇SVM", "ours: no higher"),
    Claim("coSVM", "∇TSVM", "the thesis: lower by about 4"),
    Claim("∇coSVM", "coSVM", "the smooth criterion"),
    Claim("∇SVM", "SVM", "the same machine, smoothed"),
)


class TransductionPapers(Experiment):
    """Transductive and multi-view machines on titles and citations of papers."""

    name = "transduction-papers"
    title = "Papers of Cora: ∇TSVM and co-SVM"
    description = (
        f"Error on {N_HOLDOUT} papers of cora_big (10 areas; the thesis has 8 classes of a smaller selection), after "
        "training on 200 or 400 labeled papers and up to 800 unlabeled ones. Words of titles and citations, each "
        "log(1 + count) and scaled to length 1, side by side or as two views; no bias. 0/1 loss, the same weight of "
        f"slacks for all (C = {C:g} of ∇SVM); unlabeled papers count {WEIGHT:g} of a labeled one, or what labeled "
        "folds say (auto)."
    )
    data_sets = ("cora_big",)
    metrics = ("zero_one_loss",)
    x = "n_unlabeled"
    baseline = "∇SVM"

    def tasks(self, quick: bool, seed: int) -> list[Task]:
        labeled, unlabeled = (LABELED[:1], QUICK_UNLABELED) if quick else (LABELED, UNLABELED)
        settings = {"n_labeled": list(labeled), "n_unlabeled": list(unlabeled)}
        tasks = make_tasks(self.name, list(METHODS), settings, repetitions=2 if quick else REPETITIONS, seed=seed)
        return sorted(tasks, key=lambda task: task.repetition)

    def load(self, data: DataFolder, quick: bool, seed: int) -> Pool:
        return load_pool("cora_big", data)

    def run_task(self, task: Task, loaded: Pool) -> Mapping[str, float]:
        n, m, seed = task.setting["n_labeled"], task.setting["n_unlabeled"], task.repetition_seed
        parts = draw(loaded.Y, n, max(UNLABELED), N_HOLDOUT, seed)  # fewer unlabeled papers are the first of more
        parts = replace(parts, unlabeled=parts.unlabeled[: 0 if task.method in SUPERVISED else m])
        X, Y = parts.training(loaded.X, loaded.Y)
        X_test, Y_test = parts.test(loaded.X, loaded.Y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a view may know nothing of a paper
            learner = METHODS[task.method](loaded, seed).fit(X, Y)
        return {"zero_one_loss": zero_one_loss(Y_test, learner.predict(X_test))}

    def notes(self, results: Results) -> list[str]:
        sentences = claim_notes(
            results, CLAIMS, "zero_one_loss", lambda setting: f"{setting['n_labeled']}+{setting['n_unlabeled']}"
        )
        for n in LABELED:
            few, many = ({"n_labeled": n, "n_unlabeled": UNLABELED[k]} for k in (0, -1))
            for method in ("∇TSVM", "coSVM", "∇coSVM"):
                what = f"{n} labeled papers, {UNLABELED[0]} → {UNLABELED[-1]} unlabeled"
                sentences += change_note(results, method, "zero_one_loss", few, many, what)
        return sentences
