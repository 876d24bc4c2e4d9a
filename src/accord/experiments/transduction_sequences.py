"""Ten labeled Spanish sentences: ∇SVM and ∇TSVM with 0/1 and Hamming loss, SVM and co-SVM [thesis 7.4.4 and 7.6].

Figures 7.6 and 7.7 are plotted only. The text: ∇SVM errs less than the SVM, ∇TSVM less than ∇SVM, Hamming loss slightly
less than 0/1 loss; without windows, ∇TSVM cannot make use of unlabeled sentences and the co-SVM can.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from accord.evaluation import Results, Task, token_error
from accord.experiments.base import DataFolder, Experiment, grid
from accord.experiments.ordering import Claim, change_note
from accord.experiments.sentences import DATA_SETS, SPANISH, Pool, chain_of, load_pools
from accord.experiments.training import Machine, machines, train_and_test
from accord.learners.base import StructuredLearner
from accord.learners.consensus import CoSVM
from accord.learners.gradient_co import GradientCoSVM
from accord.views.splits import RandomSplit

N_LABELED = 10
UNLABELED = (0, 25, 100, 400)
C = 1.0
WEIGHT = 0.01  # set beforehand, not tuned
CO_WEIGHT = 0.001  # of co-learning-sequences
LOSSES = {"0/1": "zero-one", "Hamming": "hamming"}
MACHINES = machines(C, WEIGHT)


def _co(learner: Callable[..., StructuredLearner], **settings: Any) -> Machine:
    return lambda structure, view, seed: learner(
        structure, RandomSplit(view), C=C / 2, unlabeled_weight=CO_WEIGHT, random_state=seed, **settings
    )


# Method → (loss, learner of a structure, features and a seed)
METHODS: dict[str, tuple[str, Machine]] = {
    **{f"{name} {loss}": (LOSSES[loss], MACHINES[name]) for name in ("SVM", "∇SVM", "∇TSVM") for loss in LOSSES},
    **{f"∇TSVM {loss}, auto": (LOSSES[loss], MACHINES["∇TSVM auto"]) for loss in ("Hamming", "0/1")},
    "coSVM Hamming": ("hamming", _co(CoSVM, ramp=15, max_iter=20)),
    "∇coSVM Hamming": ("hamming", _co(GradientCoSVM)),
}
SUPERVISED = tuple(name for name in METHODS if name.startswith(("SVM", "∇SVM")))


class TransductionSequences(Experiment):
    """Learning curves over unlabeled sentences."""

    name = "transduction-sequences"
    title = "Ten labeled Spanish sentences: ∇SVM, ∇TSVM and co-SVM"
    description = (
        "Token error on a holdout of 300 sentences after training on 10 labeled sentences, drawn anew in each "
        "repetition until every label occurs among them, and on unlabeled ones. Spanish sentences of 10 to 40 tokens "
        "of the CoNLL-2002 training set, 9 labels, tokens and surface clues in a window of three. 0/1 loss of "
        f"sentences or Hamming loss in tokens, C = {C:g} of ∇SVM and the same weight of slacks for the others, ε = "
        f"0.3, τ = 0.4. Unlabeled sentences count {WEIGHT:g} of a labeled one ({CO_WEIGHT:g} for the "
        "co-SVMs, whose views are random halves of the features), or what labeled folds say (auto)."
    )
    data_sets = DATA_SETS
    methods = METHODS
    supervised = SUPERVISED
    repetitions = 15
    settings = grid(n_unlabeled=UNLABELED)
    quick_settings = grid(n_unlabeled=(0, 10))
    metrics = ("token_error",)
    claims = (
        *(Claim(f"∇SVM {loss}", f"SVM {loss}", "the thesis: lower") for loss in ("Hamming", "0/1")),
        *(Claim(f"∇TSVM {loss}", f"∇SVM {loss}", "the thesis: lower") for loss in ("0/1", "Hamming")),
        Claim("∇TSVM Hamming", "∇TSVM 0/1", "the thesis: slightly lower"),
        *(Claim(f"∇TSVM {loss}, auto", f"∇SVM {loss}", "ours: no higher") for loss in ("0/1", "Hamming")),
        Claim("coSVM Hamming", "∇TSVM Hamming", "the thesis, without windows: lower"),
        Claim("∇coSVM Hamming", "coSVM Hamming", "the smooth criterion"),
    )
    x = "n_unlabeled"
    baseline = "SVM Hamming"

    def load(self, data: DataFolder, quick: bool, seed: int) -> Pool:
        return load_pools(data, seed)[SPANISH]

    def run_task(self, task: Task, loaded: Pool) -> Mapping[str, float]:
        loss, make = METHODS[task.method]
        parts = loaded.draw(N_LABELED, self.seen(task)["n_unlabeled"], task.repetition_seed)
        structure = chain_of(loaded.Y, loss=loss, normalize=False)
        learner = make(structure, loaded.features(), task.repetition_seed)
        with warnings.catch_warnings(action="ignore"):  # working sets of the non-convex machines may not settle
            return {"token_error": token_error(*train_and_test(learner, parts, loaded.X, loaded.Y))}

    def describe(self, setting: Mapping[str, Any]) -> str:
        return f"+{setting['n_unlabeled']}"

    def notes(self, results: Results) -> list[str]:
        sentences = super().notes(results)
        few, many = ({"n_unlabeled": UNLABELED[k]} for k in (0, -1))
        for method in METHODS:
            if method not in SUPERVISED:
                what = f"{UNLABELED[0]} → {UNLABELED[-1]} unlabeled sentences"
                sentences += change_note(results, method, "token_error", few, many, what)
        return sentences
