"""Every learner with every structure it is defined for, and small data to fit them on."""

from dataclasses import dataclass

import numpy as np

from accord import (
    CRF,
    HMM,
    ArrayFeatures,
    ConcatenatedViews,
    CoPerceptron,
    CoSVM,
    DictFeatures,
    GradientCoSVM,
    GradientSVM,
    GraphFeatures,
    KernelFeatures,
    MultiClass,
    RandomSplit,
    Sequence,
    StructuredPerceptron,
    StructuredSVM,
    SumOfViews,
    Taxonomy,
    TokenFeatures,
    TransductiveSVM,
)

TREE = {"cat": "animal", "dog": "animal", "car": "thing", "bus": "thing", "animal": "all", "thing": "all"}
WORDS = {
    "B-PER": ["Ana", "Tom", "Eva"],
    "I-PER": ["Lee", "Ray"],
    "B-LOC": ["Rome", "Oslo"],
    "O": ["saw", "left", "in", "."],
}
NEXT = {"B-PER": ["I-PER", "O"], "I-PER": ["O"], "B-LOC": ["O"], "O": ["B-PER", "B-LOC", "O"]}


def tokens(n, seed=0):
    """Sentences of one to five words, with IOB2 tags."""
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for _ in range(n):
        y = [str(rng.choice(["B-PER", "O", "B-LOC"]))]
        while len(y) < 5 and rng.random() < 0.8:
            y.append(str(rng.choice(NEXT[y[-1]])))
        X.append([str(rng.choice(WORDS[label])) for label in y])
        Y.append(y)
    return X, Y


def token_dicts(n, seed=0):
    X, Y = tokens(n, seed)
    return [[{"word": w, "length": len(w) / 4, "upper": w[0].isupper()} for w in x] for x in X], Y


def token_vectors(n, seed=0):
    """Real-valued vectors whose mean depends on the tag."""
    _, Y = tokens(n, seed)
    rng = np.random.default_rng(seed + 100)
    center = {label: 1.5 * np.random.default_rng(k).normal(size=3) for k, label in enumerate(WORDS)}
    return [np.array([center[label] for label in y]) + 0.5 * rng.normal(size=(len(y), 3)) for y in Y], Y


def classes(n, seed=0, labels=("bus", "car", "cat", "dog")):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, len(labels), n)
    y[: len(labels)] = np.arange(len(labels))
    center = 2.0 * np.random.default_rng(7).normal(size=(len(labels), 3))
    return center[y] + rng.normal(size=(n, 3)), [labels[c] for c in y]


LEARNERS = {
    "perceptron": lambda s, **p: StructuredPerceptron(s, max_iter=4, random_state=0, **p),
    "plain perceptron": lambda s, **p: StructuredPerceptron(s, max_iter=4, averaged=False, random_state=0, **p),
    "svm": lambda s, **p: StructuredSVM(s, tol=0.1, random_state=0, **p),
    "svm, all, slack, 2-norm": lambda s, **p: StructuredSVM(
        s, tol=0.1, reoptimize="all", rescaling="slack", norm=2, random_state=0, **p
    ),
    "svm, frank-wolfe": lambda s, **p: StructuredSVM(s, tol=0.1, solver="frank-wolfe", random_state=0, **p),
    "crf": lambda s, **p: CRF(s, random_state=0, **p),
    "crf, sgd": lambda s, **p: CRF(s, solver="sgd", max_iter=4, random_state=0, **p),
    "hmm": lambda s, **p: HMM(s, unlabeled_weight=0.5, random_state=0, **p),
    "hmm, gaussian": lambda s, **p: HMM(s, emission="gaussian", random_state=0, **p),
    "co-perceptron": lambda s, view=None, **p: CoPerceptron(
        s, RandomSplit(view), unlabeled_weight=0.1, max_iter=4, random_state=0, **p
    ),
    "co-svm": lambda s, view=None, **p: CoSVM(
        s, RandomSplit(view), unlabeled_weight=0.1, tol=0.1, max_iter=4, ramp=2, random_state=0, **p
    ),
    "co-svm, slack, 2-norm": lambda s, view=None, **p: CoSVM(
        s,
        RandomSplit(view),
        C=0.1,
        unlabeled_weight=0.1,
        tol=0.1,
        max_iter=4,
        ramp=2,
        rescaling="slack",
        norm=2,
        random_state=0,
        **p,
    ),
    "gradient-svm": lambda s, **p: GradientSVM(s, random_state=0, **p),
    "gradient-svm, expansion": lambda s, **p: GradientSVM(s, solver="expansion", rho=1.0, random_state=0, **p),
    "tsvm": lambda s, **p: TransductiveSVM(s, unlabeled_weight=0.1, ramp=2, random_state=0, **p),
    "tsvm, balanced": lambda s, **p: TransductiveSVM(
        s, unlabeled_weight=0.1, ramp=0, balance=True, solver="primal", max_iter=200, random_state=0, **p
    ),
    "gradient-co-svm": lambda s, view=None, **p: GradientCoSVM(
        s, RandomSplit(view), unlabeled_weight=0.1, ramp=2, max_iter=20, random_state=0, **p
    ),
    "sum of views": lambda s, view=None, **p: SumOfViews(
        StructuredPerceptron(s, view=view, max_iter=4, random_state=0), n_views=3, **p
    ),
}
MULTI_VIEW = ("co-perceptron", "co-svm", "co-svm, slack, 2-norm", "gradient-co-svm", "sum of views")
TRANSDUCTIVE = ("tsvm", "tsvm, balanced")

TASKS = {
    "classes": (lambda: MultiClass(), {"view": ArrayFeatures()}, classes),
    "classes, costs": (lambda: MultiClass(loss=1.0 - np.eye(4)), {"view": ArrayFeatures(standardize=True)}, classes),
    "classes, kernel": (lambda: MultiClass(), {"view": KernelFeatures(kernel="rbf", gamma=0.3)}, classes),
    "taxonomy": (lambda: Taxonomy(TREE), {"view": ArrayFeatures()}, classes),
    "tokens": (lambda: Sequence(), {"view": TokenFeatures(window=1, affixes=(1,))}, tokens),
    "tokens, iob2": (lambda: Sequence(constraints="iob2", loss="f1"), {"view": TokenFeatures(window=0)}, tokens),
    "tokens, kernel": (
        lambda: Sequence(),
        {"view": KernelFeatures(TokenFeatures(window=1, affixes=None), kernel="poly", gamma=0.1)},
        tokens,
    ),
    "tokens, two views": (
        lambda: Sequence(),
        {"view": ConcatenatedViews([TokenFeatures(window=0), TokenFeatures(window=(1, 0), affixes=None, clues=False)])},
        tokens,
    ),
    "token dicts": (lambda: Sequence(loss="zero-one"), {"view": DictFeatures(window=1)}, token_dicts),
    "token vectors": (lambda: Sequence(), {"view": ArrayFeatures(window=1)}, token_vectors),
    "token vectors, graph": (lambda: Sequence(), {"view": GraphFeatures(n_neighbors=3, gamma=0.3)}, token_vectors),
    "token vectors, order 2": (lambda: Sequence(order=2), {"view": ArrayFeatures()}, token_vectors),
}
TRUTH_VALUES = (
    "tokens",
    "tokens, iob2",
    "tokens, two views",
)  # tasks whose features are truth values, which Bernoulli emissions take


@dataclass
class Case:
    """An unfitted model, training data with and without unlabeled examples, and new inputs."""

    model: object
    X: object
    Y: list
    X_new: object
    Y_new: list

    @property
    def partly(self):
        """Every third example unlabeled, but every label kept."""
        kept = set(range(0, len(self.Y), 3)) - {0, 3}
        return [None if i in kept else y for i, y in enumerate(self.Y)]


def make(learner, task, n=24):
    structure, options, data = TASKS[task]
    X, Y = data(n)
    X_new, Y_new = data(10, seed=1)
    return Case(LEARNERS[learner](structure(), **options), X, Y, X_new, Y_new)


def is_defined(learner, task):
    if learner == "hmm":
        return task in TRUTH_VALUES
    return not (learner == "hmm, gaussian" and task == "token vectors, order 2")


CASES = [(learner, task) for learner in LEARNERS for task in TASKS if is_defined(learner, task)]


def weights(model):
    """All numbers a fitted model predicts with."""
    return np.concatenate([model.weights_.flat(), getattr(model, "bias_", np.empty(0))])


def called(model, name):
    """What a parameter of most learners is called in this one."""
    if isinstance(model, SumOfViews):
        return f"learner__{name}"
    return "views" if name == "view" and isinstance(model, (CoPerceptron, CoSVM, GradientCoSVM)) else name
