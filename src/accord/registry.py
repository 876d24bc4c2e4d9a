"""The one table of what Accord is made of.

A class is entered here, in one line, and is then known everywhere: ``from accord import ...``, model files, the choices
and the help of the command line, and error messages that say what works with what. The table holds names, not classes,
so that reading it imports nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from accord.exceptions import InputError

# What structures may offer, and learners, or single parameters of them, may need.
CAPABILITIES = {
    "labels": "a label for every row",
    "classes": "one class for every input",
    "words": "sentences of words",
    "grammar": "trees of a grammar",
    "likelihood": "probabilities of outputs",
    "slack": "slacks that are rescaled, or squared",
    "frank-wolfe": "passes of Frank-Wolfe",
}
# Values of learners' parameters that need a structure which can do more.
ASKED = {
    ("solver", "frank-wolfe"): "frank-wolfe",
    ("rescaling", "slack"): "slack",
    ("norm", 2): "slack",
    ("balance", True): "labels",
}
# What learners may offer.
ABILITIES = {
    "unlabeled": "learns from unlabeled examples",
    "views": "learns several views",
    "stream": "learns batch by batch",
    "interrupt": "keeps what it has learned when it is interrupted",
    "marginals": "has probabilities of parts of outputs",
    "smooth": "minimises a smooth loss by its gradient",
    "part": "can be what another learner is made of",
    "numbers": "predicts numbers",
    "rules": "learns from rules beside labels",
}


@dataclass(frozen=True)
class Entry:
    """Where a class is, what it is called on the command line, what it offers and what it asks of a structure."""

    kind: str  # "structure", "view", "split", "learner", "model", "part" (of models) or "other" (not in model files)
    module: str
    command: str = ""
    can: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()
    base: str = ""  # command of the learner that this one is made of unless another one is given
    public: bool = True


def _entry(kind: str, module: str, command: str = "", can: str = "", needs: str = "", **more: Any) -> Entry:
    return Entry(kind, f"accord.{module}", command, frozenset(can.split()), frozenset(needs.split()), **more)


_CHAIN = "labels likelihood slack frank-wolfe"

TABLE = {
    # structures
    "Sequence": _entry("structure", "structures.chains.sequence", "sequence", f"words {_CHAIN}"),
    "MultiClass": _entry("structure", "structures.chains.multiclass", "multiclass", f"classes {_CHAIN}"),
    "Taxonomy": _entry("structure", "structures.chains.taxonomy", "taxonomy", f"classes {_CHAIN}"),
    "Tree": _entry("structure", "structures.trees.tree", "tree", "grammar likelihood slack"),
    "Matching": _entry("structure", "structures.matching"),
    "BaseStructure": _entry("other", "structures.base"),
    "Partition": _entry("model", "structures.partitions.partition"),
    # learners
    "StructuredPerceptron": _entry("learner", "learners.perceptron", "perceptron", "stream part"),
    "StructuredSVM": _entry("learner", "learners.svm", "svm", "part"),
    "CRF": _entry("learner", "learners.crf", "crf", "stream marginals part", needs="likelihood"),
    "HMM": _entry("learner", "learners.generative", "hmm", "unlabeled marginals", needs="labels"),
    "PCFG": _entry("learner", "learners.pcfg", "pcfg", "unlabeled marginals", needs="grammar"),
    "CoPerceptron": _entry("learner", "learners.consensus", "co-perceptron", "unlabeled views interrupt"),
    "CoSVM": _entry("learner", "learners.consensus", "co-svm", "unlabeled views interrupt"),
    "GradientSVM": _entry("learner", "learners.gradient", "gradient-svm", "smooth interrupt"),
    "TransductiveSVM": _entry("learner", "learners.transductive", "tsvm", "unlabeled smooth interrupt"),
    "GradientCoSVM": _entry("learner", "learners.gradient_co", "gradient-co-svm", "unlabeled views smooth interrupt"),
    "SumOfViews": _entry("learner", "learners.view_sum", "sum-of-views", "views", base="perceptron"),
    "TypeConsistency": _entry(
        "learner", "learners.type_consistency", "type-consistency", "unlabeled", needs="labels words", base="crf"
    ),
    "Classifier": _entry("learner", "learners.classifier", "classifier", "unlabeled marginals rules", needs="classes"),
    "Tagger": _entry("learner", "learners.tagger", "tagger", "unlabeled rules", needs="labels words"),
    "RLSR": _entry("learner", "learners.regression", "rlsr", "numbers"),
    "CoRLSR": _entry("learner", "learners.co_regression", "co-rlsr", "unlabeled views numbers"),
    "ClusteringSVM": _entry("model", "learners.clustering"),
    # views
    "TokenFeatures": _entry("view", "views.text", "tokens"),
    "TextFeatures": _entry("view", "views.documents", "texts"),
    "DictFeatures": _entry("view", "views.dicts", "dicts"),
    "ArrayFeatures": _entry("view", "views.dense", "numbers"),
    "KernelFeatures": _entry("view", "views.kernel", "kernel"),
    "GraphFeatures": _entry("view", "views.graph"),
    "DistributionalFeatures": _entry("view", "views.distributional", "distributional", "words"),
    "CanonicalFeatures": _entry("view", "views.canonical", "canonical", "words"),
    "Embeddings": _entry("view", "views.embeddings", "embeddings", "words"),
    "BrownClusters": _entry("view", "views.brown", "clusters", "words"),
    "WordLists": _entry("view", "views.word_lists", "word_lists", "words"),
    "ListLikeness": _entry("view", "views.list_likeness"),
    "EncoderFeatures": _entry("view", "views.encoded"),
    "LinkedFeatures": _entry("view", "views.linked"),
    "ConcatenatedViews": _entry("view", "views.compose"),
    "Select": _entry("view", "views.select"),
    "RandomSplit": _entry("split", "views.splits", "random"),
    "OddEvenSplit": _entry("split", "views.splits", "odd-even"),
    "FeatureGroups": _entry("split", "views.splits", "token-surface"),
    "IndependentSplit": _entry("split", "views.independence", "independent"),
    "CallablePairs": _entry("model", "views.pairs"),
    # applications
    "Deduplicator": _entry("model", "dedupe.deduplicator"),
    "RecordIndex": _entry("model", "dedupe.index"),
    "RecordPairs": _entry("model", "dedupe.pairs"),
    "StoredIndex": _entry("other", "dedupe.stored_index"),
    "BatchDetector": _entry("other", "mail.detector"),
    "MailPairs": _entry("model", "mail.features"),
    "CollectiveSpamFilter": _entry("model", "mail.spam"),
    "Rules": _entry("other", "learners.rules"),
    # functions and errors
    "load": _entry("other", "model_file"),
    "suggest": _entry("other", "labeling.suggest"),
    "Pool": _entry("other", "labeling.suggest"),
    "Suggestion": _entry("other", "labeling.suggest"),
    "shift_weights": _entry("other", "learners.shift"),
    "suspects": _entry("other", "learners.suspects"),
    "estimate_error": _entry("other", "learners.error_estimate"),
    "tokenize": _entry("other", "tokenizer"),
    "register": _entry("other", "registry"),
    "AccordError": _entry("other", "exceptions"),
    "InputError": _entry("other", "exceptions"),
    "FormatError": _entry("other", "exceptions"),
    "InfeasibleError": _entry("other", "exceptions"),
    "ModelFileError": _entry("other", "exceptions"),
    "NoParseWarning": _entry("other", "exceptions"),
    # what else fitted models are made of
    "TreebankGrammar": _entry("part", "structures.trees.grammar", public=False),
    "Lexicon": _entry("part", "structures.trees.lexicon", public=False),
    "Grammar": _entry("part", "kernels.trees.cky", public=False),
    "Symbol": _entry("part", "datasets.binarisation", public=False),
    "Weights": _entry("part", "packed.weights", public=False),
    "Loss": _entry("part", "kernels.chains.violator", public=False),
    "Kernel": _entry("part", "views.kernel_views", public=False),
    "KernelView": _entry("part", "views.kernel_views", public=False),
    "TypeOdds": _entry("part", "views.type_odds", public=False),
    "LabelScores": _entry("part", "views.label_scores", public=False),
    "ReadyPairs": _entry("part", "views.pairs", public=False),
}  # fmt: skip


def find(name: str) -> Any:
    """The object that the table names; its module is imported."""
    return getattr(import_module(TABLE[name].module), name)


def entry_of(cls: type) -> Entry:
    """The entry of a class, or of the nearest of its bases that has one."""
    known = (TABLE[c.__name__] for c in cls.__mro__ if c.__name__ in TABLE and TABLE[c.__name__].module == c.__module__)
    return next(known, Entry("other", cls.__module__))


def is_stored(name: str) -> bool:
    """Whether objects of this class may stand in model files."""
    return name in TABLE and TABLE[name].kind != "other"


def commands(kind: str, *, can: str = "", without: str = "") -> dict[str, str]:
    """Names on the command line of classes of one kind -> their names, of those that can (or cannot) do a thing."""
    return {
        e.command: name
        for name, e in TABLE.items()
        if e.kind == kind and e.command and set(can.split()) <= e.can and not set(without.split()) & e.can
    }


def register(cls: type) -> type:
    """Make a class of your own known to model files: a decorator.

    Examples
    --------
    >>> import accord
    >>> @accord.register
    ... class LineUp(accord.BaseStructure):
    ...     pass
    >>> accord.registry.is_stored("LineUp")
    True
    >>> entry = accord.registry.TABLE.pop("LineUp")  # forget it again
    """
    if (taken := TABLE.get(cls.__name__)) and taken.module.startswith("accord."):
        raise InputError(f"{cls.__name__} is the name of a class of Accord; give yours another one")
    TABLE[cls.__name__] = Entry("part", cls.__module__, public=False)
    return cls


def learners_for(capabilities: frozenset[str]) -> list[str]:
    """Classes of learners that work with a structure of these capabilities."""
    learners = {name: e for name, e in TABLE.items() if e.kind == "learner" and "numbers" not in e.can}
    return [name for name, e in learners.items() if e.needs <= capabilities]
