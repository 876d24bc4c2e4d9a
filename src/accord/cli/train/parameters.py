"""The options of ``accord train``: one entry per constructor parameter, with the classes that have it.

Defaults are written down here for the help text only (importing the classes takes a second); what is not given on the
command line is left to the constructors. A test compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from accord.cli.help import GroupedCommand
from accord.cli.option_types import (
    COUNT_OR_NONE,
    LENGTHS,
    NAMES,
    NONE,
    NUMBER_OR_AUTO,
    NUMBER_OR_RULE,
    NUMBERS_OR_RULE,
    SPAN_FEATURES,
    WEIGHTS,
    WINDOW,
    Choice,
)
from accord.cli.train.parameter import Parameter, same
from accord.registry import commands

# Name on the command line -> name of the class in `accord`.
LEARNERS, STRUCTURES, COMPOSITIONS = commands("learner"), commands("structure"), commands("split")
VIEWS, WORD_VIEWS = commands("view", without="words"), commands("view", can="words")
CLASSES = {**LEARNERS, **STRUCTURES, **VIEWS, **COMPOSITIONS}
SECTIONS = {"Learner": LEARNERS, "Structure": STRUCTURES, "Features": VIEWS, "Several views": COMPOSITIONS}
# Options that choose one of the classes, or add one, stand with its parameters.
CHOOSING = {"base_learner": "Learner", "views": "Several views", **dict.fromkeys(WORD_VIEWS, "Features")}
REGRESSORS = commands("learner", can="numbers")
SMOOTH = commands("learner", can="smooth")


PARAMETERS = [
    # learners
    Parameter(
        "C", {**same(1.0, "svm", "co-svm", *SMOOTH), "crf": 10.0, "classifier": "auto"},
        "Weight of the data against the regulariser; auto (classifier): by held-out labels.", NUMBER_OR_AUTO,
    ),
    Parameter(
        "learn_unlabeled", same("auto", "classifier"),
        "Whether to learn from unlabeled examples; auto: if held-out labels say that they help.",
        Choice(["auto", "always", "never"]),
    ),
    Parameter(
        "time_budget", same(None, "classifier", "tagger"), "Seconds after which nothing else is tried.", float
    ),
    Parameter(
        "metric", {"tagger": "auto", "classifier": "error"},
        "What held-out labels are to say: wrong tokens, or F1 of spans; wrong classes (error), or macro F1.",
        Choice(["auto", "tokens", "spans", "error", "macro_f1"]),
    ),
    Parameter("norm", same(1, "svm", "co-svm"), "Power of the slacks.", Choice(["1", "2"])),
    Parameter(
        "rescaling", same("margin", "svm", "co-svm", *SMOOTH), "What the loss scales.", Choice(["margin", "slack"])
    ),
    Parameter(
        "solver",
        {"svm": "cutting-plane", "crf": "lbfgs", **same("auto", *SMOOTH)},
        "How the optimum is sought.",
        Choice(["cutting-plane", "frank-wolfe", "lbfgs", "sgd", "auto", "primal", "expansion"]),
    ),
    Parameter(
        "decode", same("auto", "crf", "hmm", "pcfg"),
        "Predict the most probable output, or that of the most probable parts (auto: as the loss asks for).",
        Choice(["auto", "viterbi", "marginal"]),
    ),
    Parameter(
        "reoptimize", same("example", "svm"), "Cutting planes: one working set at a time, or all.",
        Choice(["example", "all"]),
    ),
    Parameter(
        "tol", {"svm": 0.01, "crf": 1e-5, "hmm": 1e-4, "pcfg": 1e-4, "co-svm": 0.01, **same(1e-3, *SMOOTH)},
        "When to stop.", float,
    ),
    Parameter("epsilon", same(0.3, *SMOOTH), "Half the width of the rounded part of the hinge.", float),
    Parameter("tau", same(0.4, "tsvm"), "Half the width of the falling part of the unlabeled loss.", float),
    Parameter(
        "max_outputs", same(12_000, *SMOOTH), "Wrong sequences near the margin that are listed at most.", int
    ),
    Parameter("rho", same(10.0, *SMOOTH), "From 0 (sum over wrong outputs) to inf (the worst one).", float),
    Parameter(
        "max_iter",
        {
            "perceptron": 20, "svm": 1000, "crf": 200, "hmm": 20, "pcfg": 20, "co-perceptron": 10,
            "co-svm": 20, "gradient-svm": 1000, "tsvm": 1000, "gradient-co-svm": 100,
        },
        "Passes over the data at most.",
        click.IntRange(min=1),
    ),
    Parameter("freeze", same(True, "co-svm"), "End with passes in which views learn what they predicted before these."),
    Parameter(
        "averaged", same(True, "perceptron", "co-perceptron"), "Take the mean of all weight vectors, not the last one."
    ),
    Parameter("shuffle", same(True, "perceptron"), "A new random order in each pass."),
    Parameter("learning_rate", same("auto", "crf"), "First step size of --solver sgd.", NUMBER_OR_AUTO),
    Parameter("emission", same("bernoulli", "hmm"), "What features are.", Choice(["bernoulli", "gaussian"])),
    Parameter(
        "smoothing", {"hmm": 0.1, "pcfg": 0.01, "type-consistency": 1.0}, "Pseudo-count added to every event.", float
    ),
    Parameter(
        "unlabeled_weight", same("auto", "hmm", "pcfg", "co-perceptron", "co-svm", "tsvm", "gradient-co-svm"),
        "How much an unlabeled example counts (0: nothing, 1: as a labeled one); auto finds out on held-out labels.",
        NUMBER_OR_AUTO,
    ),
    Parameter(
        "ramp", {"co-perceptron": 0, **same(10, "co-svm", "tsvm", "gradient-co-svm")},
        "The unlabeled weight rises until this pass.",
        click.IntRange(min=0),
    ),
    Parameter(
        "balance", same(False, "co-perceptron", "co-svm", "tsvm"),
        "Labels as frequent in unlabeled as in labeled examples.",
    ),
    Parameter(
        "against", same("violator", "co-svm"), "What a view learns to score below what its peer predicts.",
        Choice(["violator", "prediction"]),
    ),
    Parameter(
        "max_repeats", same(10, "co-svm"), "Decoding steps at most in a visit to an unlabeled example.",
        click.IntRange(min=1),
    ),
    Parameter(
        "strength", same("auto", "type-consistency"),
        "Factor of what unlabeled sentences tell about kinds of words; auto finds out on held-out labels.",
        NUMBER_OR_AUTO,
    ),
    Parameter(
        "keys", same(("word", "suffix4", "class"), "type-consistency"), "Kinds of words: word, suffix2-4, class.", NAMES
    ),
    Parameter("student", same(True, "type-consistency"), "Let a perceptron learn what was found."),
    Parameter(
        "max_student", same(8000, "type-consistency"), "Unlabeled sentences at most that it learns from.",
        click.IntRange(min=1),
    ),
    Parameter(
        "rounds", same(1, "type-consistency"), "How often it is looked at what is predicted everywhere.",
        click.IntRange(min=1),
    ),
    Parameter("recall", same(0.0, "type-consistency"), "What the label O loses, as log odds: more spans.", float),
    Parameter(
        "mode", same("semiparametric", "co-rlsr"),
        "Expand views over labeled examples, or over all (exact: cubic time).", Choice(["semiparametric", "exact"]),
    ),
    Parameter(
        "disagreement_weight", same("auto", "co-rlsr"),
        "Weight of the disagreement of views on unlabeled examples; auto compares several, and a single view, by "
        "leave-one-out.",
        NUMBER_OR_AUTO,
        alias="--lambda",
    ),
    Parameter(
        "eta", same("auto", *REGRESSORS),
        "Weight of the norm (co-rlsr: may be a list, one for each view); auto: by leave-one-out; none: 1 / mean length "
        "of the labeled rows.",
        NUMBERS_OR_RULE,
    ),
    # structures
    Parameter(
        "loss",
        {"sequence": "hamming", "multiclass": "zero-one", "taxonomy": "tree", "tree": "f1"},
        "What training minimises.",
        Choice(["hamming", "zero-one", "f1", "macro-f1", "tree"]),
    ),
    Parameter(
        "constraints", same(None, "sequence"), "Label scheme that no prediction may break.", Choice(["iob2", "bioes"])
    ),
    Parameter("order", same(1, "sequence"), "How many previous labels a label depends on.", Choice(["1", "2"])),
    Parameter(
        "labels", same(None, "sequence", "multiclass"), "All labels.", NAMES,
        "sequence, multiclass; default: those in the data",
    ),
    Parameter("normalize", same(False, "sequence"), "Hamming loss as a fraction, not as a count."),
    Parameter(
        "label_weights", same(None, "sequence"), "Cost of a wrong token of each label.", WEIGHTS, "sequence; default: 1"
    ),
    Parameter(
        "relevant", same(None, "sequence"), "Labels that F1 counts.", NAMES, "sequence; default: all but --outside"
    ),
    Parameter("outside", same("O", "sequence"), "Label of tokens that belong to nothing.", str),
    Parameter("ends", same(True, "sequence"), "Weights of starting and of ending with a label."),
    Parameter(
        "observed_transitions", same(False, "sequence"),
        "Features of a token count with its label and the one before, too.",
    ),
    Parameter("transition_weight", same(1.0, "sequence"), "Scale of the transition features.", float),
    Parameter("predict", same("leaves", "taxonomy"), "Nodes that may be predicted.", Choice(["leaves", "all"])),
    Parameter("beta", same("one", "taxonomy"), "Weight of an ancestor.", Choice(["one", "normalized"])),
    Parameter(
        "terminals", same("words", "tree"), "What is known of tokens: words, or words with their tags.",
        Choice(["words", "tags"]),
    ),
    Parameter("horizontal", same(0, "tree"), "Siblings that a binarised node remembers; none: all.", COUNT_OR_NONE),
    Parameter("vertical", same(1, "tree"), "Labels upwards that a node knows, its own first.", click.IntRange(min=1)),
    Parameter(
        "span_features", same("label", "tree"), "What features of spans are combined with; none: rules alone.",
        SPAN_FEATURES,
    ),
    Parameter("rare", same(1, "tree"), "Words seen up to so often count as unknown.", click.IntRange(min=0)),
    Parameter("subtrees", same(False, "tree"), "Weigh rules without some of the ancestors that --vertical gives, too."),
    Parameter(
        "exact_length", same(30, "tree"), "Tokens up to which the most violating tree is found exactly.",
        click.IntRange(min=0),
    ),
    # views
    Parameter("words", same(1, "texts"), "Free text: words (1), and pairs of them (2).", Choice(["0", "1", "2"])),
    Parameter("sublinear", same(True, "texts"), "Free text: a word that occurs c times counts 1 + log c."),
    Parameter("idf", same(True, "texts"), "Free text: rare words weigh more."),
    Parameter("norm_rows", same(True, "texts"), "Free text: rows of length 1."),
    Parameter("window", {"tokens": 1, "dicts": 0}, "Neighbours on either side whose features count, too.", WINDOW),
    Parameter("token", same(True, "tokens"), "The token as it is."),
    Parameter("lower", same(True, "tokens", "texts"), "The token in lower case."),
    Parameter("affixes", same((1, 2, 3, 4), "tokens"), "Lengths of prefixes and suffixes.", LENGTHS),
    Parameter("ngrams", same(None, "tokens", "texts"), "Lengths of letter n-grams.", LENGTHS),
    Parameter("shape", same(True, "tokens"), "Pattern of capitals, small letters and digits."),
    Parameter("clues", same(True, "tokens"), "Surface clues: case, digits, symbols, length."),
    Parameter("case_positions", same(4, "tokens"), "Characters that the case clues look at.", int),
    Parameter("position", same(True, "tokens"), "First, last, or between brackets or quotes."),
    Parameter(
        "min_count", {"tokens": 1, "texts": 2}, "Leave out features of fewer tokens, or texts.", click.IntRange(min=1)
    ),
    Parameter("bias", same(True, "tokens", "texts", "numbers"), "A feature that is the same everywhere."),
    Parameter(
        "standardize", {**same(False, "numbers", "dicts"), **same(True, *REGRESSORS)},
        "Columns, and targets of (co-)rlsr, with mean 0 and deviation 1.",
    ),
    Parameter(
        "kernel", same("rbf", "kernel", *REGRESSORS), "Compare inputs by a kernel.",
        Choice(["rbf", "linear", "poly"]), "default: none, features are linear; rbf (rlsr, co-rlsr)",
    ),
    Parameter("degree", same(2, "kernel", *REGRESSORS), "Degree of the polynomial kernel.", int),
    Parameter(
        "gamma", {"kernel": None, **same("auto", *REGRESSORS)},
        "Scale of the kernel; auto ((co-)rlsr): by leave-one-out; none: 1 / mean squared distance (rbf), 1 (poly).",
        NUMBER_OR_RULE,
    ),
    Parameter("coef0", same(1.0, "kernel", *REGRESSORS), "Constant of the polynomial kernel.", float),
    Parameter("method", same("cholesky", "kernel"), "Exact or approximate.", Choice(["cholesky", "nystroem"])),
    Parameter("n_components", same(None, "kernel"), "Kernel features at most.", click.IntRange(min=1)),
    # several views
    Parameter("n_views", {"random": 2, "sum-of-views": 8}, "Number of random views.", click.IntRange(min=1)),
    Parameter(
        "share", {"random": None, "sum-of-views": 0.6},
        "Fraction of the features that each random view has; none: every feature is in one view.", float,
    ),
]  # fmt: skip
_WHOLE = ("norm", "order", "words")  # choices that are numbers


class TrainCommand(GroupedCommand):
    """A command whose help lists the constructor parameters in sections."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += [parameter.option() for parameter in PARAMETERS]
        place = dict(CHOOSING)
        for title, owners in SECTIONS.items():
            place |= {p.name: title for p in PARAMETERS if set(p.defaults) & set(owners)}
        self.titles = {name: f"{title} ({', '.join(SECTIONS[title])})" for name, title in place.items()} | self.titles


def given_parameters(options: dict[str, Any]) -> dict[str, Any]:
    """Take the constructor parameters that were given out of the options of the command."""
    given = {p.name: options.pop(p.name) for p in PARAMETERS}
    given = {name: value for name, value in given.items() if value is not None}
    return {name: int(value) if name in _WHOLE else value for name, value in given.items()}


def parameters_of(owner: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the given parameters that the class has."""
    own = {p.name: given[p.name] for p in PARAMETERS if p.name in given and owner in p.defaults}
    return {name: None if value is NONE else value for name, value in own.items()}


def refuse_foreign(given: Mapping[str, Any], owners: Sequence[str]) -> None:
    """Complain about an option that none of the classes in use has."""
    for p in PARAMETERS:
        if p.name in given and not set(p.defaults) & set(owners):
            raise click.UsageError(
                f"{p.flag} belongs to {' and '.join(p.defaults)}, but this model has {', '.join(owners)}"
            )
