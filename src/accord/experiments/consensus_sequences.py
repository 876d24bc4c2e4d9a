"""Co-perceptron and co-SVM with few labeled sentences: the papers' learning curves, their features and constants.

[multiview_sequential, Figures 1 and 2; thesis 5.4 (Figures 5.1 and 5.2) and 6.5.2 (Figures 6.2 and 6.3). The text gives
numbers for the HMM only.]
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from accord.evaluation import Metric, Results, Task, token_error
from accord.experiments.base import DataFolder, Experiment, grid, published_notes
from accord.experiments.ordering import Claim, change_note
from accord.experiments.sentences import DATA_SETS, GENES, SPANISH, Pool, best_smoothing, hmm_figures, load_pools
from accord.experiments.training import Method, train_and_test
from accord.learners.base import StructuredLearner
from accord.learners.consensus import CoPerceptron, CoSVM
from accord.learners.generative import HMM
from accord.learners.perceptron import StructuredPerceptron
from accord.learners.svm import StructuredSVM
from accord.learners.view_sum import SumOfViews
from accord.structures.chains.sequence import Sequence
from accord.views.base import View
from accord.views.independence import IndependentSplit
from accord.views.splits import FeatureGroups, OddEvenSplit, RandomSplit

SIZES = (5, 10, 20, 40)  # labeled sentences; the papers stop at 20
N_UNLABELED = 100  # beside them
ALL_OTHERS = 2790  # of the 3100 Spanish sentences
UNLABELED = {SPANISH: (0, 25, 100, 400, ALL_OTHERS), GENES: (0, 25, 100, 400)}
CO_SVM_REPETITIONS = 10  # of co-SVMs with all others, which take a minute each
N_LABELED = 10  # beside those
LABELED_CURVE, UNLABELED_CURVE = f"labeled, with {N_UNLABELED} unlabeled", f"unlabeled, with {N_LABELED} labeled"

# "We first optimize parameter C_u using resampling; we then fix C_u": ours were chosen from 0.001, 0.003, 0.01, 0.03,
# 0.1, 0.3 and 1 on a few other draws of 10 labeled and 100 unlabeled Spanish sentences.
PERCEPTRON_WEIGHT, SVM_WEIGHT = 0.01, 0.001
C, RAMP = 1.0, 30  # as in the papers, which do not divide C by the number of sentences
MAX_ITER = 40  # passes of the co-SVM; the papers do not tell theirs
QUICK_SIZES, QUICK_TOKENS = (5, N_LABELED), range(5, 15)  # the quick version: sizes, and the lengths of its sentences
QUICK_RAMP, QUICK_MAX_ITER = 5, 10

SPLITS: dict[str, Callable[[View], View]] = {
    "token/surface": FeatureGroups,
    "random": RandomSplit,
    "odd/even": OddEvenSplit,
    "independent": IndependentSplit,
}
TOKEN, RANDOM, INDEPENDENT = "token/surface", "random", "independent"
DISAGREEMENT = Metric("disagreement", "disagreement of the views", None, None, True)


@dataclass(frozen=True)
class Case:
    """What a learner is made for."""

    structure: Sequence
    view: View
    seed: int
    quick: bool = False


Maker = Callable[[Case], StructuredLearner]


# -- learners: Case → learner
def perceptron(averaged: bool = False) -> Maker:
    """One view; plain (the last weights, as Table 5.1 has it) or averaged."""
    return lambda case: StructuredPerceptron(
        case.structure, case.view, max_iter=10, averaged=averaged, random_state=case.seed
    )


def co_perceptron(split: str, weight: float | str) -> Maker:
    """Two plain ones; a weight of 0 sums the views without looking at unlabeled sentences."""
    return lambda case: CoPerceptron(
        case.structure, SPLITS[split](case.view), weight, averaged=False, random_state=case.seed
    )


def svm(**settings: Any) -> Maker:
    """One view."""
    return lambda case: StructuredSVM(case.structure, case.view, C=C, random_state=case.seed, **settings)


def two_svms(split: str) -> Maker:
    """The sum of two views that never saw an unlabeled sentence: what co-SVM with weight 0 solves, in less time."""
    return lambda case: SumOfViews(
        StructuredSVM(case.structure, C=C, random_state=case.seed), views=SPLITS[split](case.view)
    )


def co_svm(split: str, weight: float | str, **settings: Any) -> Maker:
    """Two views that learn from unlabeled sentences."""

    def make(case: Case) -> CoSVM:
        ramp, max_iter = (QUICK_RAMP, QUICK_MAX_ITER) if case.quick else (RAMP, MAX_ITER)
        passes: dict[str, Any] = {"ramp": ramp, "max_iter": max_iter, "freeze": False, **settings}
        views = SPLITS[split](case.view)
        return CoSVM(case.structure, views, C=C, unlabeled_weight=weight, random_state=case.seed, **passes)

    return make


METHODS: dict[str, Method] = {
    "HMM": Method(lambda case: HMM(case.structure, case.view, decode="viterbi")),
    "perceptron": Method(perceptron()),
    "perceptron, averaged": Method(perceptron(averaged=True)),
    "two perceptrons": Method(co_perceptron(TOKEN, 0.0)),
    "co-perceptron": Method(co_perceptron(TOKEN, PERCEPTRON_WEIGHT), unlabeled=True),
    "co-perceptron, 0.1": Method(co_perceptron(TOKEN, 0.1), unlabeled=True),
    "co-perceptron, auto": Method(co_perceptron(TOKEN, "auto"), unlabeled=True),
    "co-perceptron, random split": Method(co_perceptron(RANDOM, PERCEPTRON_WEIGHT), unlabeled=True),
    "SVM": Method(svm()),
    "two SVMs": Method(two_svms(TOKEN)),
    "coSVM": Method(co_svm(TOKEN, SVM_WEIGHT), unlabeled=True),
    "coSVM, random split": Method(co_svm(RANDOM, SVM_WEIGHT), unlabeled=True),
    "coSVM, auto": Method(co_svm(TOKEN, "auto"), unlabeled=True),
    "coSVM, own output": Method(co_svm(TOKEN, SVM_WEIGHT, against="prediction"), unlabeled=True),
    "SVM, slack": Method(svm(rescaling="slack", norm=2)),
    "coSVM, slack": Method(co_svm(TOKEN, SVM_WEIGHT, rescaling="slack", norm=2), unlabeled=True),
}
# run at 10 labeled and 100 unlabeled sentences only
SLOW = ("coSVM, auto", "coSVM, own output", "SVM, slack", "coSVM, slack")


@dataclass(frozen=True)
class Sentences:
    """Pools of sentences to draw from."""

    pools: dict[str, Pool]
    quick: bool

    def figures(self, method: Method, data: str, n_labeled: int, n_unlabeled: int, seed: int) -> dict[str, float]:
        """Train on sentences of a pool, test on its holdout; views also tell how often they disagree."""
        pool = self.pools[data]
        parts = pool.draw(n_labeled, n_unlabeled, seed)
        learner: Any = method.make(Case(pool.structure, pool.features(), seed, self.quick))
        if isinstance(learner, HMM):
            learner.set_params(smoothing=best_smoothing(learner, *parts.training(pool.X, pool.Y), seed))
        if not n_unlabeled and getattr(learner, "unlabeled_weight", "auto") != "auto":
            learner.set_params(unlabeled_weight=0.0)  # nothing to weigh
        found = {"token_error": token_error(*train_and_test(learner, parts, pool.X, pool.Y))}
        if getattr(learner, "n_views_", 1) > 1:
            found["disagreement"] = learner.disagreement(parts.test(pool.X, pool.Y)[0])
        return found


class CoLearning(Experiment):
    """Learners on few labeled and some unlabeled sentences; methods of one repetition differ in nothing but themselves.

    Attributes
    ----------
    methods : dict of Method
    """

    methods: dict[str, Method]
    data_sets = DATA_SETS
    repetitions = 30  # the papers have 100
    baseline = "perceptron"

    @abstractmethod
    def sizes(self, setting: Mapping[str, Any]) -> tuple[int, int]:
        """Numbers of labeled and unlabeled sentences."""

    def load(self, data: DataFolder, quick: bool, seed: int) -> Sentences:
        """The pools of the papers; the quick version has short sentences of one of them."""
        pools = load_pools(data, seed)
        if not quick:
            return Sentences(pools, quick)
        genes = pools[GENES]
        short = [i for i, x in enumerate(genes.X) if len(x) in QUICK_TOKENS]
        X, Y = [genes.X[i] for i in short], [genes.Y[i] for i in short]
        return Sentences({GENES: Pool(X, Y, genes.features, 100)}, quick)

    def seen(self, task: Task) -> dict[str, Any]:
        n_labeled, n_unlabeled = self.sizes(task.setting)
        n_seen = n_unlabeled if self.methods[task.method].unlabeled else 0
        return {"data": task.setting["data"], "n_labeled": n_labeled, "n_unlabeled": n_seen}

    def run_task(self, task: Task, loaded: Sentences) -> Mapping[str, float]:
        return loaded.figures(self.methods[task.method], **self.seen(task), seed=task.repetition_seed)


class ConsensusSequences(CoLearning):
    """Learning curves over labeled and over unlabeled sentences."""

    name = "co-learning-sequences"
    title = "Few labeled and some unlabeled sentences: co-perceptron and co-SVM, as in the papers"
    description = (
        "Token error on a holdout, after training on a few labeled sentences, drawn anew in each repetition until "
        "every label occurs among them, and on unlabeled ones. Spanish: 3100 sentences of 10 to 40 tokens of the "
        "CoNLL-2002 training set, 9 labels, holdout 300. Genes: 7500 BioCreative sentences, tokens of gene names "
        "against all others, holdout 500. Features are those of the thesis' Tables 5.3 and 5.4; the views are tokens "
        "(and letter n-grams) and surface clues, or a random split drawn in each repetition. HMM, perceptron and SVM "
        "have all features in one view; 'two perceptrons' and 'two SVMs' add up two views that never saw an unlabeled "
        "sentence. Perceptrons are plain (the last weights), as in the papers, unless they are called averaged. SVMs "
        "minimise the Hamming distance in tokens, margin-rescaled, with 1-norm slacks and C = 1; 'slack' is the "
        "slack-rescaled variant with 2-norm slacks. The papers do not tell which of these they used for sentences. "
        "'Own output' reads the thesis' Table 6.2 as printed: a view that disagrees learns to score its own output "
        "below its peer's, not the most violating one. "
        f"Weight of the unlabeled sentences: {PERCEPTRON_WEIGHT} for the co-perceptron, {SVM_WEIGHT} for the co-SVM, "
        f"reached in pass {RAMP} of at most {MAX_ITER}; 'auto' chooses it on the labeled sentences. Co-SVMs learn from "
        f"all {ALL_OTHERS} other sentences in {CO_SVM_REPETITIONS} repetitions only."
    )
    methods = METHODS
    settings = (
        *grid(data=[SPANISH], curve=[LABELED_CURVE], sentences=SIZES),
        *grid(data=[SPANISH], curve=[UNLABELED_CURVE], sentences=UNLABELED[SPANISH]),
        *grid(data=[GENES], curve=[LABELED_CURVE], sentences=SIZES),
        *grid(data=[GENES], curve=[UNLABELED_CURVE], sentences=UNLABELED[GENES]),
    )
    quick_settings = grid(data=[GENES], curve=[LABELED_CURVE], sentences=QUICK_SIZES)
    metrics = ("token_error", DISAGREEMENT)
    claims = (
        Claim("perceptron", "HMM", "the papers: lower"),
        Claim("co-perceptron", "perceptron", "the papers: lower"),
        Claim("co-perceptron, auto", "perceptron", "ours: no higher"),
        Claim("co-perceptron", "two perceptrons", "what the unlabeled sentences add to the sum of two views"),
        Claim("SVM", "perceptron", "the thesis: lower"),
        Claim("coSVM", "SVM", "the papers: lower"),
        Claim("coSVM, random split", "SVM", "the thesis: lower; it splits at random here"),
        Claim("coSVM, auto", "SVM", "ours: no higher"),
        Claim("coSVM", "two SVMs", "what the unlabeled sentences add to the sum of two views"),
        Claim("coSVM", "co-perceptron", "the papers: lower"),
    )
    x = "sentences"
    published = hmm_figures(lambda n: {"curve": LABELED_CURVE, "sentences": n})

    def tasks(self, quick: bool, seed: int) -> list[Task]:
        """Method by method within a repetition, so that the report has them in this order."""
        return sorted(super().tasks(quick, seed), key=lambda task: (task.repetition, list(METHODS).index(task.method)))

    def left_out(self, task: Task) -> bool:
        if task.method in SLOW:
            return (task.setting["curve"], task.setting["sentences"]) != (LABELED_CURVE, N_LABELED)
        all_others = task.method.startswith("coSVM") and task.setting["sentences"] == ALL_OTHERS
        return all_others and task.repetition >= CO_SVM_REPETITIONS

    def sizes(self, setting: Mapping[str, Any]) -> tuple[int, int]:
        size = setting["sentences"]
        return (size, N_UNLABELED) if setting["curve"] == LABELED_CURVE else (N_LABELED, size)

    def describe(self, setting: Mapping[str, Any]) -> str:
        n_labeled, n_unlabeled = self.sizes(setting)
        return f"{setting['data']} {n_labeled}+{n_unlabeled}"

    def notes(self, results: Results) -> list[str]:
        sentences = []
        for data in UNLABELED:
            sentences += published_notes(results, self.published, "token_error", {"data": data, "curve": LABELED_CURVE})
        sentences += super().notes(results)
        for data, sizes in UNLABELED.items():
            few, many = ({"data": data, "curve": UNLABELED_CURVE, "sentences": sizes[k]} for k in (0, -1))
            what = f"{data}, {N_LABELED} labeled sentences, {sizes[0]} → {sizes[-1]} unlabeled (the papers: falls)"
            for method in ("co-perceptron", "co-perceptron, random split", "coSVM", "coSVM, random split"):
                sentences += change_note(results, method, "token_error", few, many, what)
        return sentences + calibration_notes(results)


def calibration_notes(results: Results) -> list[str]:
    """How well the disagreement of two views tells the error of their sum, over all settings and repetitions."""
    fits: dict[str, dict[Any, dict[str, float]]] = {}
    for row in results.rows:
        fit = (*results.setting_of(row).values(), row["repetition"])
        fits.setdefault(row["method"], {}).setdefault(fit, {})[row["metric"]] = row["value"]
    sentences = []
    for method, found in fits.items():
        pairs = [(one["disagreement"], one["token_error"]) for one in found.values() if "disagreement" in one]
        if len(pairs) < 10:
            continue
        told, true = np.array(pairs).T
        ratio, order = np.median(true / np.maximum(told, 1e-9)), spearmanr(told, true).statistic
        sentences.append(
            f"Disagreement of {method}: {100 * told.mean():.1f} % on average where the error is "
            f"{100 * true.mean():.1f} %; ratio of error to disagreement {ratio:.2f} (median), rank correlation "
            f"{order:.2f}; lower than the error in {100 * np.mean(told < true):.0f} % of {len(pairs)} fits."
        )
    return sentences
