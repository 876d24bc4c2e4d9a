"""Views: maps from inputs to packed features, fitted on labeled and unlabeled inputs alike, blind to labels."""

from accord.views.base import View
from accord.views.canonical import CanonicalFeatures
from accord.views.compose import ConcatenatedViews, as_view
from accord.views.dense import ArrayFeatures
from accord.views.dicts import DictFeatures
from accord.views.distributional import DistributionalFeatures
from accord.views.embeddings import Embeddings
from accord.views.graph import GraphFeatures
from accord.views.kernel import KernelFeatures
from accord.views.pairs import CallablePairs, PairFeatures
from accord.views.records import RecordPairs
from accord.views.rows import Rows
from accord.views.select import Select
from accord.views.splits import FeatureGroups, OddEvenSplit, RandomSplit, check_channels
from accord.views.text import TokenFeatures

__all__ = [
    "ArrayFeatures",
    "CallablePairs",
    "CanonicalFeatures",
    "ConcatenatedViews",
    "DictFeatures",
    "DistributionalFeatures",
    "Embeddings",
    "FeatureGroups",
    "GraphFeatures",
    "KernelFeatures",
    "OddEvenSplit",
    "PairFeatures",
    "RandomSplit",
    "RecordPairs",
    "Rows",
    "Select",
    "TokenFeatures",
    "View",
    "as_view",
    "check_channels",
]
