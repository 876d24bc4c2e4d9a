"""The options of ``accord train``: one entry per constructor parameter, with the classes that have it.

Defaults are written down here for the help text only (importing the classes takes a second); what is not given on the
command line is left to the constructors. A test compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import click

from accord.cli.option_types import (
    LENGTHS,
    NAMES,
    NONE,
    NUMBER_OR_AUTO,
    NUMBER_OR_RULE,
    NUMBERS_OR_RULE,
    WEIGHTS,
    WINDOW,
)

Choice = click.Choice
# Name on the command line -> name of the class in `accord`.
LEARNERS = {
    "perceptron": "StructuredPerceptron",
    "svm": "StructuredSVM",
    "crf": "CRF",
    "hmm": "HMM",
    "co-perceptron": "CoPerceptron",
    "co-svm": "CoSVM",
    "gradient-svm": "GradientSVM",
    "tsvm": "TransductiveSVM",
    "gradient-co-svm": "GradientCoSVM",
    "sum-of-views": "SumOfViews",
    "type-consistency": "TypeConsistency",
    "rlsr": "RLSR",
    "co-rlsr": "CoRLSR",
}
REGRESSORS = ("rlsr", "co-rlsr")  # they predict numbers; all others, what a structure says
SEVERAL_VIEWS = ("co-perceptron", "co-svm", "gradient-co-svm", "sum-of-views")
SMOOTH = ("gradient-svm", "tsvm", "gradient-co-svm")
BASES = ("perceptron", "svm", "crf")  # what learners that are made of others can be made of
DEFAULT_BASE = {"sum-of-views": "perceptron", "type-consistency": "crf"}
WORD_VIEWS = {
    "distributional": "DistributionalFeatures",
    "canonical": "CanonicalFeatures",
    "embeddings": "Embeddings",
}
STRUCTURES = {"sequence": "Sequence", "multiclass": "MultiClass", "taxonomy": "Taxonomy"}
VIEWS = {"tokens": "TokenFeatures", "dicts": "DictFeatures", "numbers": "ArrayFeatures", "kernel": "KernelFeatures"}
COMPOSITIONS = {"random": "RandomSplit", "odd-even": "OddEvenSplit", "token-surface": "FeatureGroups"}
CLASSES = {**LEARNERS, **STRUCTURES, **VIEWS, **COMPOSITIONS}
SECTIONS = {"Learner": LEARNERS, "Structure": STRUCTURES, "Features": VIEWS, "Several views": COMPOSITIONS}
# Options that choose one of the classes, or add one, stand with its parameters.
CHOOSING = {"base_learner": "Learner", "views": "Several views", **dict.fromkeys(WORD_VIEWS, "Features")}


@dataclass(frozen=True)
class Parameter:
    """A constructor parameter, the classes that have it with their defaults, and its text for ``--help``."""

    name: str
    defaults: Mapping[str, Any]
    help: str
    type: Any = None  # None: a switch
    shown: str | None = None  # instead of the default

    @property
    def flag(self) -> str:
        """The option on the command line."""
        return "--" + self.name.rstrip("_").replace("_", "-")

    def option(self) -> click.Option:
        """The click option; it is None unless given."""
        flag = self.flag if self.type is not None else f"{self.flag}/--no-{self.flag[2:]}"
        return click.Option([self.name, flag], default=None, type=self.type, help=f"{self.help} {self._default()}")

    def _default(self) -> str:
        if self.shown is not None:
            return f"[{self.shown}]"
        shown = {owner: _show(value) for owner, value in self.defaults.items()}
        texts = set(shown.values())
        if len(texts) == 1:
            only = "" if len(shown) > 3 else ", ".join(shown) + "; "
            return f"[{only}default: {texts.pop()}]"
        return f"[default: {', '.join(f'{value} ({owner})' for owner, value in shown.items())}]"


def _show(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _all(value: Any, *owners: str) -> dict[str, Any]:
    return dict.fromkeys(owners, value)


PARAMETERS = [
    # learners
    Parameter("C", _all(1.0, "svm", "crf", "co-svm", *SMOOTH), "Weight of the data against the regulariser.", float),
    Parameter("norm", _all(1, "svm", "co-svm"), "Power of the slacks.", Choice(["1", "2"])),
    Parameter(
        "rescaling", _all("margin", "svm", "co-svm"), "What the loss scales.", Choice(["margin", "slack"])
    ),
    Parameter(
        "solver",
        {"svm": "cutting-plane", "crf": "lbfgs", **_all("auto", *SMOOTH)},
        "How the optimum is sought.",
        Choice(["cutting-plane", "frank-wolfe", "lbfgs", "sgd", "auto", "primal", "expansion"]),
    ),
    Parameter(
        "reoptimize", _all("example", "svm"), "Cutting planes: one working set at a time, or all.",
        Choice(["example", "all"]),
    ),
    Parameter(
        "tol", {"svm": 0.01, "crf": 1e-5, "hmm": 1e-4, "co-svm": 0.01, **_all(1e-3, *SMOOTH)}, "When to stop.", float
    ),
    Parameter("epsilon", _all(0.3, *SMOOTH), "Half the width of the rounded part of the hinge.", float),
    Parameter("tau", _all(0.4, "tsvm"), "Half the width of the falling part of the unlabeled loss.", float),
    Parameter("rho", _all(10.0, *SMOOTH), "From 0 (sum over wrong outputs) to inf (the worst one).", float),
    Parameter(
        "max_iter",
        {
            "perceptron": 10, "svm": 1000, "crf": 200, "hmm": 20, "co-perceptron": 10, "co-svm": 60,
            "gradient-svm": 1000, "tsvm": 1000, "gradient-co-svm": 100,
        },
        "Passes over the data at most.",
        click.IntRange(min=1),
    ),
    Parameter(
        "averaged", _all(True, "perceptron", "co-perceptron"), "Take the mean of all weight vectors, not the last one."
    ),
    Parameter("shuffle", _all(True, "perceptron"), "A new random order in each pass."),
    Parameter("learning_rate", _all("auto", "crf"), "First step size of --solver sgd.", NUMBER_OR_AUTO),
    Parameter("emission", _all("bernoulli", "hmm"), "What features are.", Choice(["bernoulli", "gaussian"])),
    Parameter("smoothing", {"hmm": 0.1, "type-consistency": 1.0}, "Pseudo-count added to every event.", float),
    Parameter(
        "unlabeled_weight", _all("auto", "hmm", "co-perceptron", "co-svm", "tsvm", "gradient-co-svm"),
        "How much an unlabeled example counts (0: nothing, 1: as a labeled one); auto finds out on held-out labels.",
        NUMBER_OR_AUTO,
    ),
    Parameter(
        "ramp", {"co-perceptron": 0, "co-svm": 30, **_all(10, "tsvm", "gradient-co-svm")},
        "The unlabeled weight rises until this pass.",
        click.IntRange(min=0),
    ),
    Parameter(
        "balance", _all(False, "co-perceptron", "co-svm", "tsvm"),
        "Labels as frequent in unlabeled as in labeled examples.",
    ),
    Parameter(
        "max_repeats", _all(10, "co-svm"), "Decoding steps at most in a visit to an unlabeled example.",
        click.IntRange(min=1),
    ),
    Parameter(
        "strength", _all("auto", "type-consistency"),
        "Factor of what unlabeled sentences tell about kinds of words; auto finds out on held-out labels.",
        NUMBER_OR_AUTO,
    ),
    Parameter(
        "keys", _all(("word", "suffix4", "class"), "type-consistency"), "Kinds of words: word, suffix2-4, class.", NAMES
    ),
    Parameter("student", _all(True, "type-consistency"), "Let a perceptron learn what was found."),
    Parameter(
        "max_student", _all(8000, "type-consistency"), "Unlabeled sentences at most that it learns from.",
        click.IntRange(min=1),
    ),
    Parameter(
        "mode", _all("semiparametric", "co-rlsr"),
        "Expand views over labeled examples, or over all (exact: cubic time).", Choice(["semiparametric", "exact"]),
    ),
    Parameter(
        "lambda_", _all("auto", "co-rlsr"),
        "Weight of the disagreement of views on unlabeled examples; auto compares several, and a single view, by "
        "leave-one-out. In Python: lambda_.",
        NUMBER_OR_AUTO,
    ),
    Parameter(
        "eta", _all("auto", *REGRESSORS),
        "Weight of the norm (co-rlsr: may be a list, one for each view); auto: by leave-one-out; none: 1 / mean length "
        "of the labeled rows.",
        NUMBERS_OR_RULE,
    ),
    # structures
    Parameter(
        "loss",
        {"sequence": "hamming", "multiclass": "zero-one", "taxonomy": "tree"},
        "What training minimises.",
        Choice(["hamming", "zero-one", "f1", "macro-f1", "tree"]),
    ),
    Parameter(
        "constraints", _all(None, "sequence"), "Label scheme that no prediction may break.", Choice(["iob2", "bioes"])
    ),
    Parameter("order", _all(1, "sequence"), "How many previous labels a label depends on.", Choice(["1", "2"])),
    Parameter(
        "labels", _all(None, "sequence", "multiclass"), "All labels.", NAMES,
        "sequence, multiclass; default: those in the data",
    ),
    Parameter("normalize", _all(True, "sequence"), "Hamming loss as a fraction, not as a count."),
    Parameter(
        "label_weights", _all(None, "sequence"), "Cost of a wrong token of each label.", WEIGHTS, "sequence; default: 1"
    ),
    Parameter(
        "relevant", _all(None, "sequence"), "Labels that F1 counts.", NAMES, "sequence; default: all but --outside"
    ),
    Parameter("outside", _all("O", "sequence"), "Label of tokens that belong to nothing.", str),
    Parameter("transition_weight", _all(1.0, "sequence"), "Scale of the transition features.", float),
    Parameter("predict", _all("leaves", "taxonomy"), "Nodes that may be predicted.", Choice(["leaves", "all"])),
    Parameter("beta", _all("one", "taxonomy"), "Weight of an ancestor.", Choice(["one", "normalized"])),
    # views
    Parameter("window", {"tokens": 1, "dicts": 0}, "Neighbours on either side whose features count, too.", WINDOW),
    Parameter("token", _all(True, "tokens"), "The token as it is."),
    Parameter("lower", _all(True, "tokens"), "The token in lower case."),
    Parameter("affixes", _all((1, 2, 3, 4), "tokens"), "Lengths of prefixes and suffixes.", LENGTHS),
    Parameter("ngrams", _all(None, "tokens"), "Lengths of letter n-grams.", LENGTHS),
    Parameter("shape", _all(True, "tokens"), "Pattern of capitals, small letters and digits."),
    Parameter("clues", _all(True, "tokens"), "Surface clues: case, digits, symbols, length."),
    Parameter("case_positions", _all(4, "tokens"), "Characters that the case clues look at.", int),
    Parameter("position", _all(True, "tokens"), "First, last, or between brackets or quotes."),
    Parameter("min_count", _all(1, "tokens"), "Leave out features of fewer tokens.", click.IntRange(min=1)),
    Parameter("bias", _all(True, "tokens", "numbers"), "A feature that is always 1."),
    Parameter(
        "standardize", {"numbers": False, **_all(True, *REGRESSORS)},
        "Columns, and targets of (co-)rlsr, with mean 0 and deviation 1.",
    ),
    Parameter(
        "kernel", _all("rbf", "kernel", *REGRESSORS), "Compare inputs by a kernel.",
        Choice(["rbf", "linear", "poly"]), "default: none, features are linear; rbf (rlsr, co-rlsr)",
    ),
    Parameter("degree", _all(2, "kernel", *REGRESSORS), "Degree of the polynomial kernel.", int),
    Parameter(
        "gamma", {"kernel": None, **_all("auto", *REGRESSORS)},
        "Scale of the kernel; auto ((co-)rlsr): by leave-one-out; none: 1 / mean squared distance (rbf), 1 (poly).",
        NUMBER_OR_RULE,
    ),
    Parameter("coef0", _all(1.0, "kernel", *REGRESSORS), "Constant of the polynomial kernel.", float),
    Parameter("method", _all("cholesky", "kernel"), "Exact or approximate.", Choice(["cholesky", "nystroem"])),
    Parameter("n_components", _all(None, "kernel"), "Kernel features at most.", click.IntRange(min=1)),
    # several views
    Parameter("n_views", {"random": 2, "sum-of-views": 8}, "Number of random views.", click.IntRange(min=1)),
    Parameter(
        "share", {"random": None, "sum-of-views": 0.6},
        "Fraction of the features that each random view has; none: every feature is in one view.", float,
    ),
]  # fmt: skip
_WHOLE = ("norm", "order")  # choices that are numbers


class TrainCommand(click.Command):
    """A command whose help lists the constructor parameters in sections."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += [parameter.option() for parameter in PARAMETERS]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, the parameters of each kind of class under a heading of their own."""
        place = dict(CHOOSING)
        for title, owners in SECTIONS.items():
            place |= {p.name: title for p in PARAMETERS if set(p.defaults) & set(owners)}
        titles = ["Options", *(f"{title} ({', '.join(owners)})" for title, owners in SECTIONS.items())]
        records: dict[str, list[tuple[str, str]]] = {title: [] for title in titles}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                title = place.get(param.name or "", "Options")
                records[next(t for t in titles if t.split(" (")[0] == title)].append(record)
        for title, entries in records.items():
            with formatter.section(title):
                formatter.write_dl(entries)


def given_parameters(options: dict[str, Any]) -> dict[str, Any]:
    """Take the constructor parameters that were given out of the options of the command."""
    given = {p.name: options.pop(p.name) for p in PARAMETERS}
    given = {name: value for name, value in given.items() if value is not None}
    return {name: int(value) if name in _WHOLE else value for name, value in given.items()}


def parameters_of(owner: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the given parameters that the class has."""
    own = {p.name: given[p.name] for p in PARAMETERS if p.name in given and owner in p.defaults}
    return {name: None if value is NONE else value for name, value in own.items()}


def refuse_foreign(given: Mapping[str, Any], owners: tuple[str, ...]) -> None:
    """Complain about an option that none of the classes in use has."""
    for p in PARAMETERS:
        if p.name in given and not set(p.defaults) & set(owners):
            raise click.UsageError(
                f"{p.flag} belongs to {' and '.join(p.defaults)}, but this model has {', '.join(owners)}"
            )
