"""Which features should be a view? Tokens against surface clues, a random half, odd against even numbers.

And, not of the papers but their future work: two views that are as independent as can be, given the labels.
[multiview_sequential, Figure 3; thesis 5.4.4, Figure 5.3 right; plotted only]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from accord.experiments import consensus_sequences as shared
from accord.experiments.base import grid
from accord.experiments.consensus_sequences import (
    INDEPENDENT,
    N_UNLABELED,
    PERCEPTRON_WEIGHT,
    RANDOM,
    SPLITS,
    SVM_WEIGHT,
    TOKEN,
)
from accord.experiments.ordering import Claim
from accord.experiments.sentences import GENES, SPANISH
from accord.experiments.training import Method

SIZES = (5, 10, 20)  # the three cases of the thesis
PAIRS = {  # without unlabeled sentences, and with them
    "two perceptrons": lambda split: Method(shared.co_perceptron(split, 0.0)),
    "co-perceptron": lambda split: Method(shared.co_perceptron(split, PERCEPTRON_WEIGHT), unlabeled=True),
    "two SVMs": lambda split: Method(shared.two_svms(split)),
    "coSVM": lambda split: Method(shared.co_svm(split, SVM_WEIGHT), unlabeled=True),
}
METHODS: dict[str, Method] = {
    "perceptron": Method(shared.perceptron()),
    "SVM": Method(shared.svm()),
    **{f"{name}, {split}": pair(split) for name, pair in PAIRS.items() for split in SPLITS},
}


def _claims(name: str, single: str, two: str) -> list[Claim]:
    rest = [split for split in SPLITS if split not in (TOKEN, INDEPENDENT)]
    return [
        *(Claim(f"{name}, {split}", single, "the papers: lower") for split in (TOKEN, *rest)),
        *(Claim(f"{name}, {split}", f"{name}, {TOKEN}", "the papers: lower") for split in rest),
        Claim(f"{name}, odd/even", f"{name}, {RANDOM}", "multiview_sequential: lower"),
        *(Claim(f"{name}, {INDEPENDENT}", f"{name}, {split}", "our own question") for split in (TOKEN, *rest)),
        Claim(f"{name}, {INDEPENDENT}", single, "our own question"),
        *(Claim(f"{name}, {split}", f"{two}, {split}", "what unlabeled sentences add") for split in SPLITS),
    ]


class ConsensusSplits(shared.CoLearning):
    """Ways to split the features into two views."""

    name = "co-learning-splits"
    title = "Four ways to split the features into two views"
    description = (
        f"Token error with 5, 10 or 20 labeled and {N_UNLABELED} unlabeled Spanish sentences, drawn and tested as in "
        "co-learning-sequences. The views are tokens against surface clues, two random halves of the features, drawn "
        "anew in each repetition, or the odd- and the even-numbered features (in the order in which they occur), or "
        "(not of the papers) as independent as can be given the labels, and equally strong. "
        "'Two perceptrons' and 'two SVMs' add up two views that never saw an unlabeled sentence; 'perceptron' and "
        f"'SVM' have one view with all features. Weights of the unlabeled sentences: {PERCEPTRON_WEIGHT} for the "
        f"co-perceptron, {SVM_WEIGHT} for the co-SVM, reached in pass {shared.RAMP} of at most {shared.MAX_ITER}."
    )
    methods = METHODS
    settings = grid(data=[SPANISH], n_labeled=SIZES)
    quick_settings = grid(data=[GENES], n_labeled=shared.QUICK_SIZES)
    metrics = ("token_error",)
    claims = _claims("co-perceptron", "perceptron", "two perceptrons") + _claims("coSVM", "SVM", "two SVMs")
    x = "n_labeled"

    def sizes(self, setting: Mapping[str, Any]) -> tuple[int, int]:
        return setting["n_labeled"], N_UNLABELED

    def describe(self, setting: Mapping[str, Any]) -> str:
        return f"{setting['n_labeled']} labeled"
