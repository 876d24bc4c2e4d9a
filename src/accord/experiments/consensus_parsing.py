"""Co-SVM and co-perceptron on trees: few labeled trees, more and more sentences [thesis 6.5.3, Figure 6.4]."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from accord.datasets.trees import Tree as Nested
from accord.evaluation import Results, Task, bracket_scores, draw, make_tasks
from accord.experiments.base import DataFolder, Experiment
from accord.experiments.ordering import Claim, change_note, claim_notes
from accord.experiments.supervised_parsing import CESS, QUICK_TREES, WSJ, load_treebank, parse
from accord.learners.consensus import CoPerceptron, CoSVM
from accord.learners.pcfg import PCFG
from accord.learners.perceptron import StructuredPerceptron
from accord.learners.svm import StructuredSVM
from accord.learners.view_sum import SumOfViews
from accord.structures.trees.tree import Tree
from accord.views.splits import RandomSplit

REPETITIONS = 8  # the thesis has 100
LABELED = (4, 40)
UNLABELED = (0, 25, 100)
HOLDOUT = 100
LONGEST = {WSJ: 15, CESS: 15}
QUICK_LENGTH = 6
WEIGHT = 0.1  # of unlabeled sentences; not tuned, as nothing else here is
C, MAX_ITER, RAMP, REPEATS = 1.0, 12, 8, 3
SETTINGS: dict[str, Any] = {"C": C, "norm": 2, "rescaling": "margin"}


@dataclass(frozen=True)
class Method:
    """How to make a learner, and whether it learns from unlabeled sentences."""

    make: Callable[[Tree, int], Any]
    unlabeled: bool = False


def _co_svm(weight: Any) -> Callable[[Tree, int], CoSVM]:
    return lambda tree, seed: CoSVM(
        tree, RandomSplit(), unlabeled_weight=weight, max_iter=MAX_ITER, ramp=RAMP, max_repeats=REPEATS,
        random_state=seed, **SETTINGS,
    )  # fmt: skip


METHODS: dict[str, Method] = {
    "PCFG": Method(lambda tree, seed: PCFG(tree)),
    "inside-outside": Method(lambda tree, seed: PCFG(tree, unlabeled_weight=0.1), unlabeled=True),
    "perceptron": Method(lambda tree, seed: StructuredPerceptron(tree, random_state=seed)),
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
CLAIMS = (
    Claim("two SVMs", "SVM", "the thesis: higher"),
    Claim("coSVM", "SVM", "the thesis: higher, the more m the more"),
    Claim("coSVM", "two SVMs", "what the unlabeled sentences add to the sum of two views"),
    Claim("coSVM, auto", "SVM", "ours: no lower"),
    Claim("co-perceptron", "perceptron", "no figure in the thesis"),
    Claim("inside-outside", "PCFG", "no figure in the thesis"),
)


@dataclass
class Pool:
    """A treebank; its rules may be used, its trees are hidden but for a few."""

    X: list[list[tuple[str, str]]]
    Y: list[Nested]
    n_holdout: int
    found: dict[Any, dict[str, float]] = field(default_factory=dict)

    def figures(self, name: str, n_labeled: int, n_unlabeled: int, seed: int) -> dict[str, float]:
        """Metric → value on the holdout; once for all numbers of unlabeled sentences if they do not matter."""
        method = METHODS[name]
        n_unlabeled = n_unlabeled if method.unlabeled else 0
        key = (name, n_labeled, n_unlabeled, seed)
        if key not in self.found:
            parts = draw(self.Y, n_labeled, n_unlabeled, self.n_holdout, seed, every_label=False)
            learner = method.make(Tree(terminals="tags", grammar=self.Y), seed)
            if not n_unlabeled and isinstance(getattr(learner, "unlabeled_weight", "auto"), float):
                learner.set_params(unlabeled_weight=0.0)  # nothing to weigh
            learner.fit(*parts.training(self.X, self.Y))
            X_test, Y_test = parts.test(self.X, self.Y)
            scores = bracket_scores(Y_test, parse(learner, X_test)[0])
            self.found[key] = {"bracket_f1": scores.f1, "exact_match": scores.exact}
        return self.found[key]


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
    metrics = ("bracket_f1",)
    x = "n_unlabeled"
    baseline = "SVM"

    def tasks(self, quick: bool, seed: int) -> list[Task]:
        settings = {
            "treebank": [WSJ] if quick else list(LONGEST),
            "n_labeled": LABELED[:1] if quick else LABELED,
            "n_unlabeled": (0, 5) if quick else UNLABELED,
        }
        tasks = make_tasks(self.name, list(METHODS), settings, repetitions=2 if quick else REPETITIONS, seed=seed)
        return sorted(tasks, key=lambda task: task.repetition)  # an interrupted run has some of everything

    def load(self, data: DataFolder, quick: bool, seed: int) -> dict[str, Pool]:
        pools = {}
        for name, longest in LONGEST.items():
            bank = load_treebank(name, data, QUICK_LENGTH if quick else longest)
            n = QUICK_TREES if quick else len(bank.Y)
            pools[name] = Pool(bank.X[:n], bank.Y[:n], 20 if quick else HOLDOUT)
        return pools

    def run_task(self, task: Task, loaded: dict[str, Pool]) -> Mapping[str, float]:
        setting = task.setting
        pool = loaded[setting["treebank"]]
        return pool.figures(task.method, setting["n_labeled"], setting["n_unlabeled"], task.repetition_seed)

    def notes(self, results: Results) -> list[str]:
        sentences = claim_notes(results, CLAIMS, "bracket_f1")
        for treebank in LONGEST:
            for n in LABELED:
                few, many = ({"treebank": treebank, "n_labeled": n, "n_unlabeled": UNLABELED[k]} for k in (0, -1))
                what = f"{treebank}, {n} labeled trees, {UNLABELED[0]} → {UNLABELED[-1]} sentences (the thesis: rises)"
                sentences += change_note(results, "coSVM", "bracket_f1", few, many, what)
        return sentences
