"""Every learner with every kind of structure it is defined for, and small data to fit them on."""

import inspect
import zlib
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest

from accord import (
    ArrayFeatures,
    ConcatenatedViews,
    DictFeatures,
    GraphFeatures,
    KernelFeatures,
    MultiClass,
    RandomSplit,
    Sequence,
    StructuredPerceptron,
    Taxonomy,
    TokenFeatures,
)
from accord.registry import TABLE, find, learners_for

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


# Name in tests: class, settings. A class of accord.registry that is missing here takes part with its own defaults.
SETTINGS = {
    "perceptron": ("StructuredPerceptron", {"max_iter": 4}),
    "plain perceptron": ("StructuredPerceptron", {"max_iter": 4, "averaged": False}),
    "svm": ("StructuredSVM", {"C": 0.3, "tol": 0.5}),
    "svm, all, slack, 2-norm": ("StructuredSVM", {"tol": 0.1, "reoptimize": "all", "rescaling": "slack", "norm": 2}),
    "svm, frank-wolfe": ("StructuredSVM", {"tol": 0.1, "solver": "frank-wolfe"}),
    "crf": ("CRF", {}),
    "crf, sgd": ("CRF", {"solver": "sgd", "max_iter": 4}),
    "hmm": ("HMM", {"unlabeled_weight": 0.5}),
    "hmm, gaussian": ("HMM", {"emission": "gaussian"}),
    "co-perceptron": ("CoPerceptron", {"unlabeled_weight": 0.1, "max_iter": 4}),
    "co-svm": ("CoSVM", {"unlabeled_weight": 0.1, "tol": 0.1, "max_iter": 4, "ramp": 2}),
    "co-svm, slack, 2-norm": (
        "CoSVM",
        {"C": 0.1, "unlabeled_weight": 0.1, "tol": 0.1, "max_iter": 4, "ramp": 2, "rescaling": "slack", "norm": 2},
    ),
    "gradient-svm": ("GradientSVM", {}),
    "gradient-svm, expansion": ("GradientSVM", {"solver": "expansion", "rho": 1.0}),
    "tsvm": ("TransductiveSVM", {"unlabeled_weight": 0.1, "ramp": 2, "max_iter": 8}),
    "tsvm, balanced": (
        "TransductiveSVM",
        {"unlabeled_weight": 0.1, "ramp": 0, "balance": True, "solver": "primal", "max_iter": 20},
    ),
    "gradient-co-svm": ("GradientCoSVM", {"unlabeled_weight": 0.1, "ramp": 2, "max_iter": 8}),
    "sum of views": ("SumOfViews", {"n_views": 3}),
    "type consistency": ("TypeConsistency", {"strength": 0.4}),
}
SETTINGS |= {
    TABLE[name].command: (name, {})
    for name in learners_for(TABLE["Sequence"].can)
    if name not in {entered for entered, _ in SETTINGS.values()}
}


def builder(name, settings):
    """A function from a structure, and perhaps a view, to a learner."""
    cls = find(name)
    asks = inspect.signature(cls).parameters

    def build(structure, view=None, **more):
        if "learner" in asks:
            parts = {"learner": StructuredPerceptron(structure, view=view, max_iter=4, random_state=0)}
        else:
            parts = {"structure": structure, **({"views": RandomSplit(view)} if "views" in asks else {"view": view})}
        seed = {"random_state": 0} if "random_state" in asks else {}
        return cls(**parts, **seed, **settings, **more)

    return build


LEARNERS = {learner: builder(*entry) for learner, entry in SETTINGS.items()}
MULTI_VIEW = [learner for learner, (name, _) in SETTINGS.items() if "views" in TABLE[name].can]
SEMI_SUPERVISED = [learner for learner, (name, _) in SETTINGS.items() if "unlabeled" in TABLE[name].can]
ONE_OF_EACH_CLASS = list({name: learner for learner, (name, _) in reversed(SETTINGS.items())}.values())[::-1]

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


def make(learner, task, n=18):
    structure, options, data = TASKS[task]
    X, Y = data(n)
    X_new, Y_new = data(10, seed=1)
    return Case(LEARNERS[learner](structure(), **options), X, Y, X_new, Y_new)


def is_defined(learner, task):
    name, settings = SETTINGS[learner]
    structure, _, data = TASKS[task]
    if not TABLE[name].needs <= TABLE[type(structure()).__name__].can:
        return False
    if name == "HMM":
        return task != "token vectors, order 2" if "emission" in settings else task in TRUTH_VALUES
    return name != "TypeConsistency" or data is tokens


def cover(candidates, shows):
    """Few of the candidates that show all that they all show: the one that adds most, of parts that were met least."""
    missing, met, found = set().union(*map(shows, candidates)), Counter(), []
    while missing:
        best = max(candidates, key=lambda c: (len(shows(c) & missing), -sum(met[part] for part in c)))
        missing -= shows(best)
        met.update(best)
        found.append(best)
    return found


def case_shows(case):
    """Every learner has to meet every kind of structure, and every task every family of learners."""
    learner, task = case
    family = "views" if learner in MULTI_VIEW else "unlabeled" if learner in SEMI_SUPERVISED else "labeled"
    return {(learner, type(TASKS[task][0]()).__name__), (family, task)}


CASES = cover([(learner, task) for learner in LEARNERS for task in TASKS if is_defined(learner, task)], case_shows)
all_cases = pytest.mark.parametrize(("learner", "task"), CASES)


def each_case(function):
    """Try a function with every learner and with every task, in cases that differ from function to function."""
    start = zlib.crc32(function.__name__.encode()) % len(CASES)
    return pytest.mark.parametrize(("learner", "task"), cover(CASES[start:] + CASES[:start], set))(function)


def weights(model):
    """All numbers a fitted model predicts with."""
    return np.concatenate([model.weights_.flat(), getattr(model, "bias_", np.empty(0))])


def called(model, name):
    """What a parameter of most learners is called in this one."""
    if hasattr(model, "learner"):
        return f"learner__{name}"
    return "views" if name == "view" and hasattr(model, "views") else name
