"""A structure from outside of the package works with the learners that are there, and nobody had to touch them."""

from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from user_structure import Pairing

import accord
from accord import CRF, CoPerceptron, CoSVM, GradientSVM, InputError, StructuredPerceptron, StructuredSVM, SumOfViews
from accord.evaluation import check_structure

RNG = np.random.default_rng(0)
SKILL = RNG.normal(size=5)
X = [RNG.normal(size=(n, n, 5)) for n in RNG.integers(3, 5, size=40)]
Y = [linear_sum_assignment(x @ SKILL, maximize=True)[1].tolist() for x in X]
SOME = [*Y[:15], *([None] * 15)]


def test_it_keeps_the_contract():
    small = [i for i, y in enumerate(Y) if len(y) == 3][:3]
    every = lambda x: [list(p) for p in permutations(range(len(x)))]  # noqa: E731
    check_structure(Pairing(), [X[i] for i in small], [Y[i] for i in small], every)


@pytest.mark.parametrize(
    "learner",
    [
        StructuredPerceptron(Pairing(), random_state=0),
        StructuredSVM(Pairing(), C=10.0),
        GradientSVM(Pairing(), C=10.0),
        SumOfViews(StructuredPerceptron(Pairing(), random_state=0), n_views=2),
        CoPerceptron(Pairing(), unlabeled_weight=0.1, random_state=0),
        CoSVM(Pairing(), unlabeled_weight=0.1, C=10.0, random_state=0),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_it_learns(learner, tmp_path):
    unlabeled = isinstance(learner, (CoPerceptron, CoSVM))
    model = learner.fit(X[:30], SOME if unlabeled else Y[:30])
    assert model.score(X[30:], Y[30:]) >= 0.5  # by chance about 1 in 12
    model.save(tmp_path / "model")
    assert accord.load(tmp_path / "model").predict(X[30:]) == model.predict(X[30:])


def test_what_it_cannot_do_is_refused():
    with pytest.raises(InputError, match="probabilities of outputs"):
        CRF(Pairing()).fit(X[:5], Y[:5])
