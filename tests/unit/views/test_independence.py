"""IndependentSplit: the objective against its definition, local optima, and views that are known to be independent."""

import numpy as np
import pytest
import scipy.sparse as sp

import accord.views.independence as independence
from accord import ArrayFeatures, CoPerceptron, IndependentSplit, MultiClass, Sequence, TokenFeatures
from accord.views.channels import columns_of
from accord.views.independence import judge


def slow_objective(X, y, owner, signs):
    """Word by word what the module says; ``y`` has a label for every row."""
    n, d = X.shape
    labels = sorted(set(y))
    strength, within = np.zeros(d), np.zeros((n, d))
    for j in range(d):
        total = sum((x - X[:, j].mean()) ** 2 for x in X[:, j])
        for c in labels:
            own = y == c
            strength[j] += own.sum() * (X[own, j].mean() - X[:, j].mean()) ** 2
            within[own, j] = X[own, j] - X[own, j].mean()
        strength[j] = min(max(strength[j] / total if total > 1e-9 else 0.0, (len(labels) - 1) / (n - 1)), 1.0)
    if len(labels) == 1:
        strength[:] = 1.0
    between = in_all = 0.0
    for i in range(d):
        for j in range(d):
            norm = (within[:, i] @ within[:, i]) * (within[:, j] @ within[:, j])
            if owner[i] != owner[j] and norm > 1e-9 and np.any(X[:, i] * X[:, j]):
                term = strength[i] * strength[j] * (within[:, i] @ within[:, j]) ** 2 / norm
                in_all += term
                between += term * (signs[owner[i]] != signs[owner[j]])
    imbalance = 0.0
    for x in X:
        knows = [
            strength[j] * np.mean(X[X[:, j] != 0, j] ** 2) * (x[j] != 0) if np.any(X[:, j]) else 0.0 for j in range(d)
        ]
        if sum(knows) > 0:
            imbalance += (sum(signs[owner[j]] * b for j, b in enumerate(knows)) / sum(knows)) ** 2 / n
    return (between / in_all if in_all else 0.0) + imbalance


def cases():
    rng = np.random.default_rng(0)
    for n_labels, sparse in ((1, False), (2, False), (3, True), (2, True)):
        X = rng.normal(size=(14, 7)) @ rng.normal(size=(7, 7))
        if sparse:
            X = np.where(rng.random(X.shape) < 0.3, np.round(X), 0.0)
            X[3] = 0.0  # a row without features
        X[:, 5] = X[:, 2]
        y = np.append(np.arange(n_labels), rng.integers(n_labels, size=14 - n_labels))
        owner = np.array([0, 1, 2, 3, 4, 5, 1])  # two features of one column, as in a window
        yield X, y, owner, rng


def test_the_objective_is_what_the_definition_says():
    for X, y, owner, rng in cases():
        found = judge(sp.csr_array(X), y, owner)
        for _ in range(5):
            signs = np.where(rng.random(6) < 0.5, 1.0, -1.0)
            assert found.objective(signs) == pytest.approx(slow_objective(X, y, owner, signs), rel=1e-9)


def test_no_flip_of_a_column_improves_what_is_found():
    for X, y, owner, rng in cases():
        found = judge(sp.csr_array(X), y, owner)
        signs = found.best(rng)
        least = found.objective(signs)
        for j in range(signs.size):
            flipped = signs.copy()
            flipped[j] *= -1
            assert found.objective(flipped) >= least - 1e-9
        # and with seven columns no start is far from the best of all splits
        every = [np.array([1.0 if code >> j & 1 else -1.0 for j in range(6)]) for code in range(64)]
        assert least == pytest.approx(min(map(found.objective, every)), abs=1e-9)


def two_views(rng, n=300, width=6):
    """Columns of two views that are independent given the class, mixed; the view of each column."""
    truth = rng.integers(2, size=n)
    common = rng.normal(size=(n, 2))  # what the columns of a view share beside the class
    X = np.hstack([2.0 * truth[:, None] + common[:, [v]] + 0.7 * rng.normal(size=(n, width)) for v in (0, 1)])
    order = rng.permutation(2 * width)
    return X[:, order], truth, order < width


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_independent_views_are_found_again(make):
    for seed in range(3):
        X, truth, first = two_views(np.random.default_rng(seed))
        labels = np.where(np.arange(truth.size) < 20, truth, -1)
        view = IndependentSplit(ArrayFeatures())
        rows = view.fit_rows(make(X))
        own = view.members(rows, np.random.default_rng(seed), labels)[0][:-1]
        assert np.array_equal(own, first) or np.array_equal(own, ~first)


def test_given_the_label_and_not_otherwise():
    """The class makes all columns alike; within classes, 0 goes with 1 and 2 with 3."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=400)
    X = 4.0 * truth[:, None] * [1, -1, 1, 1] + np.repeat(rng.normal(size=(400, 2)), 2, axis=1)
    y = np.where(np.arange(400) < 10, truth, -1)  # the others' labels are predicted
    signs = judge(sp.csr_array(X), y, np.arange(4)).best(rng)
    assert signs[0] == signs[1] != signs[2] == signs[3]


def test_only_the_strongest_are_compared_if_pairs_are_many(monkeypatch):
    X, y, *_ = next(cases())
    monkeypatch.setattr(independence, "MOST_PAIRS", 14 * 9)  # three of a dense row
    strongest = np.argsort(-independence.strengths(sp.csr_array(X), y), kind="stable")[:3]
    found = judge(sp.csr_array(X), y, np.arange(7)).dependence.toarray()
    assert set(np.flatnonzero(found.any(axis=0))) == set(strongest)


def test_rows_are_sampled_labeled_ones_first(monkeypatch):
    monkeypatch.setattr(independence, "MOST_ROWS", 10)
    rng = np.random.default_rng(0)
    for n_labeled, n_others, expected in ((3, 20, 3), (8, 20, 5), (20, 2, 8), (4, 4, 4)):
        labels = rng.permutation(np.repeat([1, -1], [n_labeled, n_others]))
        chosen = independence._sample(labels, rng)
        assert np.unique(chosen).size == chosen.size == min(10, n_labeled + n_others)
        assert np.sum(labels[chosen] >= 0) == expected


def test_columns_keep_all_positions_of_a_window():
    X = [["Ana", "lives", "in", "Rome"], ["Tom", "left"], ["Rome", "left"]]
    view = IndependentSplit(TokenFeatures(window=1))
    rows = view.fit_rows(X)
    columns = columns_of(rows, view.constant_features())
    one, two = view.members(rows, np.random.default_rng(0), np.array([0, 1, 1, 2, 0, 1, -1, -1]))
    constant = columns.features(columns.constant)
    assert np.array_equal(one & two, constant)
    for k in np.flatnonzero(~columns.constant):
        own = columns.features(np.arange(columns.number.size) == k)
        assert one[own].all() != two[own].all()


@pytest.mark.parametrize("structure", [MultiClass(), Sequence()])
def test_learners_hand_their_labels_on(structure, monkeypatch):
    seen = []
    monkeypatch.setattr(
        IndependentSplit,
        "_share_out",
        lambda self, columns, rng, labels: seen.append(labels) or [columns.features(~columns.constant)],
    )
    X = np.random.default_rng(0).normal(size=(4, 2))
    Y, expected = ["a", "b", None, "a"], [0, 1, 0, -1]
    if not structure.single_row:
        X, Y, expected = [X[:2], X[2:]], [["b", "a"], None], [1, 0, -1, -1]
    CoPerceptron(structure, IndependentSplit(), unlabeled_weight=0.1, random_state=0).fit(X, Y)
    assert seen[0].tolist() == expected
