"""Which features should be a view? Tokens against surface clues, a random half, odd against even numbers.

[multiview_sequential, Figure 3; thesis 5.4.4, Figure 5.3 right; plotted only]
"""

from __future__ import annotations

from collections.abc import Mapping

from accord.evaluation import Results, Task, make_tasks
from accord.experiments.base import DataFolder, Experiment
from accord.experiments.consensus_sequences import (
    MAX_ITER,
    N_UNLABELED,
    PERCEPTRON_WEIGHT,
    QUICK_SIZES,
    RAMP,
    RANDOM,
    REPETITIONS,
    SPLITS,
    SVM_WEIGHT,
    TOKEN,
    Method,
    Sentences,
    co_perceptron,
    co_svm,
    load_sentences,
    perceptron,
    svm,
    two_svms,
)
from accord.experiments.hmm_few_labels import GENES, SPANISH
from accord.experiments.ordering import Claim, claim_notes

SIZES = (5, 10, 20)  # the three cases of the thesis
SINGLE = {"perceptron": perceptron(), "SVM": svm()}
PAIRS = {  # without unlabeled sentences, and with them
    "two perceptrons": lambda split: Method(co_perceptron(split, 0.0)),
    "co-perceptron": lambda split: Method(co_perceptron(split, PERCEPTRON_WEIGHT), unlabeled=True),
    "two SVMs": lambda split: Method(two_svms(split)),
    "coSVM": lambda split: Method(co_svm(split, SVM_WEIGHT), unlabeled=True),
}
METHODS: dict[str, Method] = {name: Method(make) for name, make in SINGLE.items()} | {
    f"{name}, {split}": pair(split) for name, pair in PAIRS.items() for split in SPLITS
}


def _claims(name: str, single: str, two: str) -> list[Claim]:
    rest = [split for split in SPLITS if split != TOKEN]
    return [
        *(Claim(f"{name}, {split}", single, "the papers: lower") for split in SPLITS),
        *(Claim(f"{name}, {split}", f"{name}, {TOKEN}", "the papers: lower") for split in rest),
        Claim(f"{name}, odd/even", f"{name}, {RANDOM}", "multiview_sequential: lower"),
        *(Claim(f"{name}, {split}", f"{two}, {split}", "what unlabeled sentences add") for split in SPLITS),
    ]


CLAIMS = (
    *_claims("co-perceptron", "perceptron", "two perceptrons"),
    *_claims("coSVM", "SVM", "two SVMs"),
)


class ConsensusSplits(Experiment):
    """Three ways to split the features into two views."""

    name = "co-learning-splits"
    title = "Three ways to split the features into two views"
    description = (
        f"Token error with 5, 10 or 20 labeled and {N_UNLABELED} unlabeled Spanish sentences, drawn and tested as in "
        "co-learning-sequences. The views are tokens against surface clues, two random halves of the features, drawn "
        "anew in each repetition, or the odd- and the even-numbered features (in the order in which they occur). "
        "'Two perceptrons' and 'two SVMs' add up two views that never saw an unlabeled sentence; 'perceptron' and "
        f"'SVM' have one view with all features. Weights of the unlabeled sentences: {PERCEPTRON_WEIGHT} for the "
        f"co-perceptron, {SVM_WEIGHT} for the co-SVM, reached in pass {RAMP} of at most {MAX_ITER}."
    )
    data_sets = ("conll2002_esp", "bc2gm")
    metrics = ("token_error",)
    x = "n_labeled"
    baseline = "perceptron"

    def tasks(self, quick: bool, seed: int) -> list[Task]:
        settings = {"data": [GENES], "n_labeled": QUICK_SIZES} if quick else {"data": [SPANISH], "n_labeled": SIZES}
        return make_tasks(self.name, list(METHODS), settings, repetitions=2 if quick else REPETITIONS, seed=seed)

    def load(self, data: DataFolder, quick: bool, seed: int) -> Sentences:
        return load_sentences(data, quick, seed)

    def run_task(self, task: Task, loaded: Sentences) -> Mapping[str, float]:
        method, seed = METHODS[task.method], task.repetition_seed
        sizes = (task.setting["n_labeled"], N_UNLABELED)
        return loaded.figures(task.method, method, task.setting["data"], *sizes, seed)

    def notes(self, results: Results) -> list[str]:
        return claim_notes(results, CLAIMS, "token_error", lambda setting: f"{setting['n_labeled']} labeled")
