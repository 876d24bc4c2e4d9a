"""Which w? Estimators that put structures, views and solvers together."""

from accord.learners.clustering import ClusteringSVM
from accord.learners.co_regression import CoRLSR
from accord.learners.consensus import CoPerceptron, CoSVM
from accord.learners.crf import CRF
from accord.learners.deduplication import Deduplicator
from accord.learners.deduplication_index import RecordIndex
from accord.learners.generative import HMM
from accord.learners.gradient import GradientSVM
from accord.learners.gradient_co import GradientCoSVM
from accord.learners.model_file import load
from accord.learners.pcfg import PCFG
from accord.learners.perceptron import StructuredPerceptron
from accord.learners.regression import RLSR
from accord.learners.svm import StructuredSVM
from accord.learners.transductive import TransductiveSVM
from accord.learners.type_consistency import TypeConsistency
from accord.learners.view_sum import SumOfViews

__all__ = [
    "CRF",
    "HMM",
    "PCFG",
    "RLSR",
    "ClusteringSVM",
    "CoPerceptron",
    "CoRLSR",
    "CoSVM",
    "Deduplicator",
    "GradientCoSVM",
    "GradientSVM",
    "RecordIndex",
    "StructuredPerceptron",
    "StructuredSVM",
    "SumOfViews",
    "TransductiveSVM",
    "TypeConsistency",
    "load",
]
