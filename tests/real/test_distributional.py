"""Word vectors and classes learned from Spanish newspapers, and what they are worth to a learner with few labels.

Needs a local data folder; set ACCORD_DATA.
"""

import numpy as np
import pytest

from accord import Sequence, StructuredPerceptron
from accord.datasets import available, load
from accord.views.base import View
from accord.views.compose import ConcatenatedViews
from accord.views.distributional import DistributionalFeatures
from accord.views.text import TokenFeatures

pytestmark = [pytest.mark.slow, pytest.mark.long]

DAYS = ["lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"]
CITIES = ["madrid", "barcelona", "sevilla", "valencia", "bilbao", "zaragoza"]
SAYS = ["dijo", "explicó", "indicó", "afirmó", "aseguró", "señaló"]


@pytest.fixture(scope="module")
def spanish(data_dir):
    if "conll2002_esp" not in available(data_dir):
        pytest.skip("the data folder has no conll2002_esp")
    return load("conll2002_esp", data_dir, part="train"), load("conll2002_esp", data_dir, part="testa")


@pytest.fixture(scope="module")
def view(spanish):
    return DistributionalFeatures().fit(spanish[0].X)


@pytest.mark.parametrize("group", [DAYS, CITIES, SAYS], ids=["days", "cities", "says"])
def test_words_used_alike_are_near(view, group):
    """Far nearer to each other than to other frequent words, and most of them in the same one of 128 classes."""
    place = {word: p for p, word in enumerate(view.words_)}
    own = view.vectors_[[place[word] for word in group]]
    others = view.vectors_[:1000]
    among = (own @ own.T)[~np.eye(len(group), dtype=bool)].mean()
    assert among > 0.4
    assert among > (own @ others.T).mean() + 0.3
    classes = [view.class_of(word)[128] for word in group]
    commonest = max(set(classes), key=classes.count)
    assert classes.count(commonest) > len(group) / 2
    assert (view.word_classes_[:, 1] == commonest).mean() < 0.03


def test_a_fit_can_be_repeated(spanish, view):
    again = DistributionalFeatures().fit(spanish[0].X[::-1])
    np.testing.assert_array_equal(again.vectors_, view.vectors_)
    np.testing.assert_array_equal(again.word_classes_, view.word_classes_)


class Fitted(View):
    """A view that was fitted before. Views see no labels, so one fit on all sentences serves every draw of labels."""

    def __init__(self, view):
        self.view = view

    def __sklearn_clone__(self):
        return self

    def fit_rows(self, X):
        return self.transform(X)

    def transform(self, X):
        return self.view.transform(X)


def test_few_labels_go_further(spanish):
    """100 labeled sentences, all others unlabeled: fewer wrong tokens than with token features alone."""
    train, test = spanish
    tokens = ConcatenatedViews([TokenFeatures(window=1)]).fit(train.X)
    both = ConcatenatedViews([TokenFeatures(window=1), DistributionalFeatures(window=1)]).fit(train.X)
    errors = np.empty((20, 2))
    for draw in range(20):
        labeled = np.random.default_rng(draw).choice(len(train.X), 100, replace=False)
        X, Y = [train.X[i] for i in labeled], [train.Y[i] for i in labeled]
        for k, view in enumerate((tokens, both)):
            model = StructuredPerceptron(Sequence(), view=Fitted(view), random_state=draw).fit(X, Y)
            errors[draw, k] = 1 - model.score(test.X, test.Y)
    assert errors[:5, 1].mean() < errors[:5, 0].mean(), errors
    assert errors[:, 1].mean() < 0.97 * errors[:, 0].mean(), errors
