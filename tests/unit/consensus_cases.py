"""Small data and the two consensus learners, for the tests of both."""

import numpy as np
import pytest

from accord import ArrayFeatures, CoPerceptron, CoSVM, MultiClass, RandomSplit, Select, Sequence, TokenFeatures
from accord.datasets import embedded_ner, gaussian_classes

MAKERS = {
    "co-perceptron": lambda s, **p: CoPerceptron(s, **{"random_state": 0, "max_iter": 4, **p}),
    "co-SVM": lambda s, **p: CoSVM(s, **{"random_state": 0, "max_iter": 4, "ramp": 2, **p}),
}
each_learner = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
# a constant that does not depend on which rows there are, so that fits on some of them can be compared
HALVES = [Select(columns, ArrayFeatures(bias="one")) for columns in ([0, 1], [2, 3])]
X, Y_ALL = embedded_ner(18, random_state=0)
Y = [y if i % 3 == 0 else None for i, y in enumerate(Y_ALL)]
X_NEW, Y_NEW = embedded_ner(12, random_state=1)
POINTS, CLASSES_ALL = gaussian_classes(60, n_classes=3, n_features=4, separation=2.0, random_state=0)
CLASSES = [label if i < 12 else None for i, label in enumerate(CLASSES_ALL)]


def flat(model):
    return np.concatenate([w.flat() for w in model.view_weights_])


def tagger(make, structure=None, **options):
    defaults = {"views": RandomSplit(TokenFeatures(window=1)), "unlabeled_weight": 0.1}
    return make(structure or Sequence(), **{**defaults, **options})


def classifier(make, **options):
    return make(MultiClass(), **{"views": HALVES, "unlabeled_weight": 0.1, **options})
