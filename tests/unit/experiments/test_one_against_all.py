"""The baseline of one transductive machine per class."""

import numpy as np
import pytest
from sklearn.svm import SVC

from accord.experiments.one_against_all import FIRST, OneAgainstAllTSVM, switched, transductive


def two_clouds(seed=0, n=60):
    """Points of two clouds, of which the labels of the first eight are known."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return rng.normal(size=(n, 2)) * [0.5, 3.0] + np.outer(y, [1.5, 0.0]), y


def objective(machine, gram, labels, C):
    """|w|^2 / 2 + C sum of slacks."""
    alpha = machine.dual_coef_[0]
    own = gram[np.ix_(machine.support_, machine.support_)]
    slack = np.maximum(0.0, 1.0 - labels * machine.decision_function(gram))
    return 0.5 * alpha @ own @ alpha + C * slack.sum()


def test_without_unlabeled_points_it_is_one_svm_per_class():
    X, y = two_clouds()
    ours = OneAgainstAllTSVM(C=0.7).fit(X, list(y))
    peer = SVC(C=0.7, kernel="linear").fit(X, y)
    assert ours.predict(X) == peer.predict(X).tolist()


def test_it_finds_the_gap_between_clouds_and_a_better_objective_than_the_first_guess():
    X, y = two_clouds()
    known = 8
    hidden = [label if i < known else None for i, label in enumerate(y.tolist())]
    assert np.mean(np.array(OneAgainstAllTSVM().fit(X, hidden).predict(X)) == y) > 0.95
    gram = X @ X.T
    machine = transductive(gram, y[:known], 1.0)
    labels = np.concatenate([y[:known], np.where(machine.decision_function(gram[known:]) > 0, 1.0, -1.0)])
    first = SVC(kernel="linear").fit(X[:known], y[:known]).decision_function(X[known:])
    guess = np.full(first.size, -1.0)
    guess[np.argsort(-first)[: first.size // 2]] = 1.0
    start = np.concatenate([y[:known], guess])
    plain = SVC(kernel="precomputed").fit(gram, start)
    assert objective(machine, gram, labels, 1.0) <= objective(plain, gram, start, 1.0) + 1e-6


def test_pairs_are_switched_that_fit_better_the_other_way_round():
    guess, slack = np.array([1.0, 1.0, -1.0, -1.0]), np.array([1.9, 0.5, 1.2, 0.1])
    assert switched(guess, slack)
    assert guess.tolist() == [-1.0, 1.0, 1.0, -1.0]  # 1.9 + 1.2 > 2, but not 0.5 + 0.1
    assert not switched(guess, np.array([0.9, 0.5, 1.0, 0.0]))


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_share_of_positive_points_is_kept(kernel):
    X, y = two_clouds(1)
    machine = OneAgainstAllTSVM(kernel=kernel).fit(X, [*y[:8].tolist(), *[None] * 52])
    assert FIRST < 1e-4
    assert abs(np.mean(np.array(machine.predict(X[8:])) == 1.0) - 0.5) < 0.1
