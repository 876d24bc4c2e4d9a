"""Training time of smooth and of constrained machines [thesis 7.4.1, Figure 7.3, plotted only]."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from accord.datasets import Dataset
from accord.evaluation import Metric, Results, Task, draw
from accord.experiments.base import grid, mean_of
from accord.experiments.sentences import chain_of, spanish_features
from accord.experiments.training_time import SECONDS, TrainingTime, cpu_seconds, exponent
from accord.learners.base import StructuredLearner
from accord.learners.gradient import GradientSVM
from accord.learners.svm import StructuredSVM
from accord.learners.transductive import TransductiveSVM
from accord.structures.chains.problem import ChainProblem
from accord.structures.chains.sequence import Sequence

UNLABELED_PER_LABELED = 5
C = 1.0  # of the smooth machines
QP, QP_STEPS, SMOOTH, TRANSDUCTIVE = "SVM, QP", "SVM, QP per sentence", "∇SVM", "∇TSVM, 5 unlabeled each"

# Method → (structure, seed) → learner
METHODS: dict[str, Callable[[Sequence, int], StructuredLearner]] = {
    QP: lambda s, seed: StructuredSVM(s, spanish_features(), C=C / 2, reoptimize="all", tol=0.1, random_state=seed),
    QP_STEPS: lambda s, seed: StructuredSVM(s, spanish_features(), C=C / 2, tol=0.1, random_state=seed),
    SMOOTH: lambda s, seed: GradientSVM(s, spanish_features(), C=C, epsilon=0.1, random_state=seed),
    TRANSDUCTIVE: lambda s, seed: TransductiveSVM(
        s, spanish_features(), C=C, unlabeled_weight=0.01, ramp=5, random_state=seed
    ),
}


class TransductionTime(TrainingTime):
    """Seconds to train, and how good the optimum is."""

    name = "transduction-time"
    title = "Training time: conjugate gradients against quadratic programs"
    description = (
        "CPU seconds of training (features included) on labeled sentences of the Spanish CoNLL-2002 training set, of "
        "any length, Hamming loss in tokens: a structural SVM by cutting planes, with one quadratic program over all "
        "constraints after each pass, or one for each sentence in turn; ∇SVM with ε = 0.1; ∇TSVM with five times as "
        "many unlabeled sentences. The objective of the SVM, recomputed from the weights, shows that they end at the "
        "same place. CPU time of one process; code is compiled before."
    )
    methods = METHODS
    metrics = (SECONDS, Metric("objective", "objective of the SVM", None, False))
    x = "n_labeled"
    settings = grid(n_labeled=(25, 50, 100, 200, 400))
    quick_settings = grid(n_labeled=(10, 20))
    warm_up = 5

    def run_task(self, task: Task, loaded: Dataset) -> Mapping[str, float]:
        """CPU seconds of a fit, and what its weights are worth as those of an SVM."""
        n_labeled, seed = task.setting["n_labeled"], task.repetition_seed
        n_unlabeled = UNLABELED_PER_LABELED * n_labeled if task.method == TRANSDUCTIVE else 0
        parts = draw(loaded.Y, n_labeled, n_unlabeled, 0, seed, every_label=False)
        X, Y = parts.training(loaded.X, loaded.Y)
        learner = METHODS[task.method](chain_of(loaded.Y, normalize=False), seed)
        seconds = cpu_seconds(learner, X, Y)
        return {"train_seconds": seconds, "objective": svm_objective(learner, X[:n_labeled], Y[:n_labeled])}

    def notes(self, results: Results) -> list[str]:
        sizes = sorted({setting["n_labeled"] for setting in results.settings})
        seconds = {m: [mean_of(results, m, "train_seconds", n_labeled=n) for n in sizes] for m in METHODS}
        sentences = [
            f"{method}: time grows as n to the power of {exponent(sizes, values):.2f}; {values[-1]:.2f} CPU seconds "
            f"for {sizes[-1]} sentences."
            for method, values in seconds.items()
        ]
        for method in (QP, QP_STEPS):
            ratios = ", ".join(f"{a / b:.1f} ({n})" for a, b, n in zip(seconds[method], seconds[SMOOTH], sizes))
            sentences.append(f"{method} takes so many times as long as {SMOOTH}: {ratios} sentences.")
        ends = ", ".join(
            f"{mean_of(results, SMOOTH, 'objective', n_labeled=n) / mean_of(results, QP, 'objective', n_labeled=n):.4f}"
            for n in sizes
        )
        return [*sentences, f"Objective of the SVM at the end of {SMOOTH} over that of {QP}: {ends}."]


def svm_objective(learner: StructuredLearner, X: Any, Y: Any) -> float:
    """``|w|² / 2 + C/2 Σ ξ`` of the learner's weights, with the slacks of the hinge."""
    s, rows = learner.structure_, learner.view_.transform(X)
    problem = ChainProblem(s, rows, s.encode(Y, rows.offsets))
    w = learner.weights_.flat()
    return 0.5 * float(w @ w) + 0.5 * C * float(problem.violations(learner.weights_).sum())
