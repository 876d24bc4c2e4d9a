"""Training time against the number of unlabeled sentences.

[thesis 5.4.3 and 6.5.4, Figures 5.3 left and 6.5; multiview_sequential, Figure 2 right; plotted only. The thesis says:
between linear and quadratic, for both learners; multiview_sequential: linear for the co-perceptron, quadratic for
the co-SVM.]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from accord.datasets import Dataset
from accord.evaluation import Metric, Results, Task, draw
from accord.experiments.base import grid, mean_of
from accord.experiments.sentences import chain_of, spanish_features
from accord.experiments.training_time import SECONDS, TrainingTime, cpu_seconds, exponent
from accord.learners.base import StructuredLearner
from accord.learners.consensus import CoPerceptron, CoSVM
from accord.learners.perceptron import StructuredPerceptron
from accord.structures.chains.sequence import Sequence
from accord.views.splits import RandomSplit

N_LABELED = 20
ALL_LABELED = "perceptron, all labeled"
PASSES = {ALL_LABELED: 10, "co-perceptron": 10, "coSVM": 20}  # at most


def _halves() -> RandomSplit:
    return RandomSplit(spanish_features())


# Method → (structure, seed) → learner
METHODS: dict[str, Callable[[Sequence, int], StructuredLearner]] = {
    ALL_LABELED: lambda structure, seed: StructuredPerceptron(
        structure, spanish_features(), max_iter=PASSES[ALL_LABELED], averaged=False, random_state=seed
    ),
    "co-perceptron": lambda structure, seed: CoPerceptron(
        structure, _halves(), 0.01, max_iter=PASSES["co-perceptron"], averaged=False, random_state=seed
    ),
    # it does not stop before the unlabeled weight has risen to its end, so it makes all its passes
    "coSVM": lambda structure, seed: CoSVM(
        structure,
        _halves(),
        unlabeled_weight=0.001,
        ramp=PASSES["coSVM"],
        max_iter=PASSES["coSVM"],
        freeze=False,
        random_state=seed,
    ),
}


class ConsensusTime(TrainingTime):
    """Seconds of training, at a fixed number of passes."""

    name = "co-learning-time"
    title = "Training time against the number of unlabeled sentences"
    description = (
        f"CPU seconds of training (features included) on {N_LABELED} labeled and m unlabeled sentences of the Spanish "
        "CoNLL-2002 training set, of any length, with the features of the thesis split at random into two views: "
        f"co-perceptron with {PASSES['co-perceptron']} passes, co-SVM with {PASSES['coSVM']}. Beside them a perceptron "
        f"with one view and {PASSES[ALL_LABELED]} passes to which the labels of all sentences are given. "
        "CPU time of one process, so that other programs do not count; code is compiled before."
    )
    methods = METHODS
    metrics = (Metric("pass_seconds", "CPU seconds per pass", None, False), SECONDS)
    x = "n_unlabeled"
    settings = grid(n_unlabeled=(125, 250, 500, 1000, 2000, 4000, 8000))
    quick_settings = grid(n_unlabeled=(50, 100, 200))
    warm_up = 20

    def run_task(self, task: Task, loaded: Dataset) -> Mapping[str, float]:
        """A perceptron stops when there is nothing to correct, so passes are counted."""
        parts = draw(loaded.Y, N_LABELED, task.setting["n_unlabeled"], 0, task.repetition_seed)
        X, Y = parts.training(loaded.X, loaded.Y)
        if task.method == ALL_LABELED:
            Y = [loaded.Y[i] for i in [*parts.labeled, *parts.unlabeled]]
        learner = METHODS[task.method](chain_of(loaded.Y, normalize=False), task.repetition_seed)
        seconds = cpu_seconds(learner, X, Y)
        passes = len(learner.history_)
        return {"pass_seconds": seconds / passes, "train_seconds": seconds, "passes": passes}

    def notes(self, results: Results) -> list[str]:
        sizes = sorted({setting["n_unlabeled"] for setting in results.settings})
        sentences = []
        for method in METHODS:
            seconds = [mean_of(results, method, "pass_seconds", n_unlabeled=m) for m in sizes]
            passes = mean_of(results, method, "passes", n_unlabeled=sizes[-1])
            exponents = [exponent(sizes[k:], seconds[k:]) for k in (0, len(sizes) // 2)]
            sentences.append(
                f"{method}: the time of a pass grows as m to the power of {exponents[0]:.2f} ({exponents[1]:.2f} from "
                f"m = {sizes[len(sizes) // 2]} on; least squares of the logarithms). m = {sizes[-1]} takes "
                f"{seconds[-1] * passes:.1f} CPU seconds, {passes:.0f} passes. The thesis: between 1 and 2."
            )
        return sentences
