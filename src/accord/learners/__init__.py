"""Which w? Estimators that put structures, views and solvers together."""

from accord.learners.crf import CRF
from accord.learners.generative import HMM
from accord.learners.model_file import load
from accord.learners.perceptron import StructuredPerceptron
from accord.learners.svm import StructuredSVM

__all__ = ["CRF", "HMM", "StructuredPerceptron", "StructuredSVM", "load"]
