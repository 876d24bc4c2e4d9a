"""A structure from outside of the package works with the learners that are there, and nobody had to touch them.

``Pairing`` is written as a user writes it: who of two lists goes with whom, by their scores alone. It is
:class:`accord.Matching` without partial matchings, for lists of the same length, and shares no code with it.
"""

from itertools import pairwise, permutations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import accord
from accord import (
    CRF,
    BaseStructure,
    CoPerceptron,
    CoSVM,
    GradientSVM,
    InputError,
    StructuredPerceptron,
    StructuredSVM,
    SumOfViews,
    register,
)
from accord.evaluation import check_structure


@register
class Pairing(BaseStructure):
    """x: features (n, n, d) of every pair; y: for each item of the first list the number of its partner."""

    def view_inputs(self, X):
        return [x.reshape(-1, x.shape[-1]) for x in X]

    def encode(self, Y, tokens=None, index=None):
        return np.concatenate([self._matrix(y).ravel() for y in Y])

    def outputs(self, y, offsets, tokens=None):
        return [self._square(y[lo:hi]).argmax(axis=1).tolist() for lo, hi in pairwise(offsets)]

    def part_scores(self, context, unary, transitions):
        return self._square(unary[:, 0])

    def k_best(self, parts, k):
        found = [linear_sum_assignment(parts, maximize=True)[1]] if k == 1 else permutations(range(len(parts)))
        ys = [self._matrix(y).ravel() for y in found]
        return sorted(((y, self.score(parts, y)) for y in ys), key=lambda one: -one[1])[:k]

    def score(self, parts, y):
        return float(parts.ravel() @ y)

    def count_parts(self, y, counts):
        rows = np.flatnonzero(y)
        return np.column_stack([rows, np.zeros_like(rows)])

    def loss_between(self, y, y_pred):
        return float(np.sum(y > y_pred))

    def augmented(self, parts, y):
        return parts - self._square(y)

    @staticmethod
    def _matrix(y):
        return np.eye(len(y), dtype=np.int32)[list(y)]

    @staticmethod
    def _square(values):
        n = round(len(values) ** 0.5)
        return np.asarray(values).reshape(n, n)


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
        StructuredSVM(Pairing(), C=2.0),
        GradientSVM(Pairing(), C=10.0),
        SumOfViews(StructuredPerceptron(Pairing(), random_state=0), n_views=2),
        CoPerceptron(Pairing(), unlabeled_weight=0.1, random_state=0),
        CoSVM(Pairing(), unlabeled_weight=0.1, C=2.0, max_iter=4, ramp=2, random_state=0),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_it_learns(learner, tmp_path):
    unlabeled = isinstance(learner, (CoPerceptron, CoSVM))
    model = learner.fit(*(X[:30], SOME) if unlabeled else (X[:15], Y[:15]))
    assert model.score(X[30:], Y[30:]) >= 0.5  # by chance about 1 in 12
    model.save(tmp_path / "model")
    assert accord.load(tmp_path / "model").predict(X[30:]) == model.predict(X[30:])


def test_what_it_cannot_do_is_refused():
    with pytest.raises(InputError, match="probabilities of outputs"):
        CRF(Pairing()).fit(X[:5], Y[:5])


@pytest.mark.parametrize(
    "learner", [StructuredSVM(Pairing(), tol=1e-4), GradientSVM(Pairing(), tol=1e-5)], ids=["svm", "smooth"]
)
def test_it_has_weights_of_examples(learner):
    """An example of weight 2 is the example twice, of weight 0 the example left out."""
    times = np.arange(9) % 4
    often = np.repeat(np.arange(9), times)
    twice = learner.fit([X[i] for i in often], [Y[i] for i in often]).objective_
    once = learner.fit(X[:9], Y[:9]).objective_
    assert learner.fit(X[:9], Y[:9], sample_weight=times).objective_ == pytest.approx(twice, rel=1e-3)
    assert abs(twice - once) > 0.05 * once


@pytest.mark.parametrize(
    "learner",
    [CoPerceptron(Pairing(), max_iter=3, random_state=0), CoSVM(Pairing(), C=10.0, max_iter=3, random_state=0)],
    ids=["co-perceptron", "co-svm"],
)
def test_it_has_weights_of_unlabeled_examples(learner):
    found = []
    for weight, unlabeled_weight in ((1.0, 0.5), (4.0, 0.125), (0.0, 0.5)):
        each = np.r_[np.ones(15), np.full(15, weight)]
        model = learner.set_params(unlabeled_weight=unlabeled_weight).fit(X[:30], SOME, sample_weight=each)
        found.append(model.weights_.flat().copy())
    np.testing.assert_allclose(found[0], found[1], atol=1e-9)
    assert np.abs(found[0] - found[2]).max() > 1e-6
