"""Co-SVM and co-perceptron on trees: few labeled trees, more and more sentences [thesis 6.5.3, Figure 6.4]."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from accord.evaluation import Results, Task, bracket_scores, draw
from accord.experiments.base import DataFolder, Experiment, grid
from accord.experiments.ordering import Claim, change_note
from accord.experiments.supervised_parsing import CESS, QUICK_TREES, WSJ, Treebank, load_treebank, parse
from accord.experiments.training import Method
from accord.learners.consensus import CoPerceptron, CoSVM
from accord.learners.pcfg import PCFG
from accord.learners.perceptron import StructuredPerceptron
from accord.learners.svm import StructuredSVM
from accord.learners.view_sum import SumOfViews
from accord.structures.trees.tree import Tree
from accord.views.splits import RandomSplit

LABELED = (4, 40)
UNLABELED = (0, 25, 100)
HOLDOUT = 100
LONGEST = 15  # words
WEIGHT = 0.1  # of unlabeled sentences; not tuned, as nothing else here is
C, MAX_ITER, RAMP, REPEATS = 1.0, 12, 8, 3
SETTINGS: dict[str, Any] = {"C": C, "norm": 2, "rescaling": "margin"}


def _co_svm(weight: float | str) -> Callable[[Tree, int], CoSVM]:
    return lambda tree, seed: CoSVM(
        tree, RandomSplit(), unlabeled_weight=weight, max_iter=MAX_ITER, ramp=RAMP, max_repeats=REPEATS,
        freeze=False, random_state=seed, **SETTINGS,
    )  # fmt: skip


METHODS: dict[str, Method] = {
    "PCFG": Method(lambda tree, seed: PCFG(tree, decode="viterbi")),
    "inside-outside": Method(lambda tree, seed: PCFG(tree, unlabeled_weight=0.1, decode="viterbi"), unlabeled=True),
    "perceptron": Method(lambda tree, seed: StructuredPerceptron(tree, max_iter=10, random_state=seed)),
    "co-perceptron": Method(
        lambda tree, seed: CoPerceptron(tree, RandomSplit(), unlabeled_weight=0.1, random_state=seed), unlabeled=True
    ),
    "SVM": Method(lambda tree, seed: StructuredSVM(tree, max_iter=60, random_state=seed, **SETTINGS)),
    "two SVMs": Method(
        lambda tree, seed: SumOfViews(
            StructuredSVM(tree, max_iter=60, random_state=seed, **SETTINGS), views=RandomSplit()
        )
    ),
    "coSVM": Method(_co_svm(WEIGHT), unlabeled=True),
    "coSVM, auto": Method(_co_svm("auto"), unlabeled=True),
}


class ConsensusParsing(Experiment):
    """F1 against the number of unlabeled sentences."""

    name = "co-learning-parsing"
    title = "Few labeled trees and some unlabeled sentences: co-SVM and co-perceptron"
    description = (
        "Labelled F1 (root and tags left out) on 100 sentences after training on 4 or 40 trees and m unlabeled "
        "sentences of at most 15 words, from given tags: the Penn Treebank sample, and CESS in place of the thesis' "
        "Negra. The rules of all trees of the treebank may be used, as in the thesis; their weights are learned. "
        "Features: rules, tags at the borders and the split of spans and next to them, widths. Views are random halves "
        "of the tag features, drawn in each repetition; each has all rules and widths. SVMs have 2-norm slacks, the "
        f"loss 1 - F1, margin-rescaled, C = {C:g}. Co-SVMs: weight {WEIGHT:g} of the unlabeled sentences (reached in "
        f"pass {RAMP} of {MAX_ITER}), or chosen on the labeled trees ('auto'). 'two SVMs' is the sum of two views that "
        "never saw an unlabeled sentence."
    )
    data_sets = (WSJ, CESS)
    methods = METHODS
    supervised = tuple(name for name, method in METHODS.items() if not method.unlabeled)
    repetitions = 30  # the thesis has 100
    settings = grid(treebank=data_sets, n_labeled=LABELED, n_unlabeled=UNLABELED)
    quick_settings = grid(treebank=[WSJ], n_labeled=LABELED[:1], n_unlabeled=(0, 5))
    metrics = ("bracket_f1",)
    claims = (
        Claim("two SVMs", "SVM", "the thesis: higher"),
        Claim("coSVM", "SVM", "the thesis: higher, the more m the more"),
        Claim("coSVM", "two SVMs", "what the unlabeled sentences add to the sum of two views"),
        Claim("coSVM, auto", "SVM", "ours: no lower"),
        Claim("co-perceptron", "perceptron", "no figure in the thesis"),
        Claim("inside-outside", "PCFG", "no figure in the thesis"),
    )
    x = "n_unlabeled"
    baseline = "SVM"

    def load(self, data: DataFolder, quick: bool, seed: int) -> dict[str, Treebank]:
        length, n_trees = (6, QUICK_TREES) if quick else (LONGEST, None)
        return {name: load_treebank(name, length, data, n_trees) for name in self.values("treebank", quick)}

    def run_task(self, task: Task, loaded: dict[str, Treebank]) -> Mapping[str, float]:
        treebank, n_labeled, n_unlabeled = self.seen(task).values()
        pool, seed = loaded[treebank], task.repetition_seed
        n_holdout = min(HOLDOUT, len(pool.Y) // 3)  # the quick version has few trees
        parts = draw(pool.Y, n_labeled, n_unlabeled, n_holdout, seed, every_label=False)
        learner = METHODS[task.method].make(Tree(terminals="tags", grammar=pool.Y), seed)
        if not n_unlabeled and isinstance(getattr(learner, "unlabeled_weight", "auto"), float):
            learner.set_params(unlabeled_weight=0.0)  # nothing to weigh
        X_test, Y_test = parts.test(pool.X, pool.Y)
        scores = bracket_scores(Y_test, parse(learner.fit(*parts.training(pool.X, pool.Y)), X_test)[0])
        return {"bracket_f1": scores.f1, "exact_match": scores.exact}

    def notes(self, results: Results) -> list[str]:
        sentences = super().notes(results)
        for treebank in self.data_sets:
            for n in LABELED:
                few, many = ({"treebank": treebank, "n_labeled": n, "n_unlabeled": UNLABELED[k]} for k in (0, -1))
                what = f"{treebank}, {n} labeled trees, {UNLABELED[0]} → {UNLABELED[-1]} sentences (the thesis: rises)"
                sentences += change_note(results, "coSVM", "bracket_f1", few, many, what)
        return sentences
