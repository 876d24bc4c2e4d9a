"""Accord: structured prediction from few labeled and many unlabeled examples.

Names are imported on first use, so that ``import accord`` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "MultiClass": "accord.structures",
    "Taxonomy": "accord.structures",
    "Sequence": "accord.structures",
    "Tree": "accord.structures",
    "Partition": "accord.structures",
    "TokenFeatures": "accord.views",
    "DictFeatures": "accord.views",
    "ArrayFeatures": "accord.views",
    "KernelFeatures": "accord.views",
    "GraphFeatures": "accord.views",
    "ConcatenatedViews": "accord.views",
    "RandomSplit": "accord.views",
    "CanonicalFeatures": "accord.views",
    "DistributionalFeatures": "accord.views",
    "Embeddings": "accord.views",
    "OddEvenSplit": "accord.views",
    "FeatureGroups": "accord.views",
    "Select": "accord.views",
    "CallablePairs": "accord.views",
    "StructuredPerceptron": "accord.learners",
    "StructuredSVM": "accord.learners",
    "CoPerceptron": "accord.learners",
    "CoSVM": "accord.learners",
    "ClusteringSVM": "accord.learners",
    "Deduplicator": "accord.learners",
    "RecordIndex": "accord.learners",
    "RecordPairs": "accord.views",
    "GradientSVM": "accord.learners",
    "TransductiveSVM": "accord.learners",
    "GradientCoSVM": "accord.learners",
    "SumOfViews": "accord.learners",
    "TypeConsistency": "accord.learners",
    "CRF": "accord.learners",
    "CoRLSR": "accord.learners",
    "RLSR": "accord.learners",
    "HMM": "accord.learners",
    "PCFG": "accord.learners",
    "BatchDetector": "accord.mail",
    "MailPairs": "accord.mail",
    "CollectiveSpamFilter": "accord.mail",
    "load": "accord.learners",
    "AccordError": "accord.exceptions",
    "InputError": "accord.exceptions",
    "FormatError": "accord.exceptions",
    "InfeasibleError": "accord.exceptions",
    "ModelFileError": "accord.exceptions",
    "NoParseWarning": "accord.exceptions",
}

__all__ = [*sorted(_HOME), "__version__"]

if TYPE_CHECKING:
    from accord.exceptions import (
        AccordError,
        FormatError,
        InfeasibleError,
        InputError,
        ModelFileError,
        NoParseWarning,
    )
    from accord.learners import (
        CRF,
        HMM,
        PCFG,
        RLSR,
        ClusteringSVM,
        CoPerceptron,
        CoRLSR,
        CoSVM,
        Deduplicator,
        GradientCoSVM,
        GradientSVM,
        RecordIndex,
        StructuredPerceptron,
        StructuredSVM,
        SumOfViews,
        TransductiveSVM,
        TypeConsistency,
        load,
    )
    from accord.mail import BatchDetector, CollectiveSpamFilter, MailPairs
    from accord.structures import MultiClass, Partition, Sequence, Taxonomy, Tree
    from accord.views import (
        ArrayFeatures,
        CallablePairs,
        CanonicalFeatures,
        ConcatenatedViews,
        DictFeatures,
        DistributionalFeatures,
        Embeddings,
        FeatureGroups,
        GraphFeatures,
        KernelFeatures,
        OddEvenSplit,
        RandomSplit,
        RecordPairs,
        Select,
        TokenFeatures,
    )


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'accord' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
