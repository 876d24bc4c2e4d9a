"""Folds of labeled examples, and scorers that ignore unlabeled ones."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from row_tables import each_row
from sklearn.model_selection import GridSearchCV, cross_val_score

from accord import CRF, RLSR, CoPerceptron, MultiClass, Sequence, StructuredPerceptron
from accord.evaluation import LabeledFolds, folds, scorer, token_error
from accord.exceptions import InputError


@given(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=4, max_size=40), st.integers(2, 5), st.integers(0, 9))
def test_every_labeled_example_is_tested_once_and_unlabeled_ones_are_always_trained_on(y, n_splits, seed):
    labeled = [i for i, label in enumerate(y) if label is not None]
    if len(labeled) < n_splits:
        with pytest.raises(InputError, match="the number of labeled examples"):
            list(LabeledFolds(n_splits).split(y, y))
        return
    found = list(LabeledFolds(n_splits, random_state=seed).split(y, y))
    assert len(found) == LabeledFolds(n_splits).get_n_splits() == n_splits
    assert sorted(i for _, test in found for i in test) == labeled
    for train, test in found:
        assert sorted([*train, *test]) == list(range(len(y)))
        assert all(y[i] is not None for i in test)
        assert len(test) in (len(labeled) // n_splits, -(-len(labeled) // n_splits))
    counts = Counter(y[i] for i in labeled)
    if 2 * len(counts) <= len(labeled):
        for label, n in counts.items():
            per_fold = [sum(y[i] == label for i in test) for _, test in found]
            assert max(per_fold) <= -(-n // n_splits)
            assert min(per_fold) >= n // n_splits


def test_folds_are_drawn_by_the_seed():
    y = ["a", "b"] * 20
    one, again, other = (list(LabeledFolds(4, random_state=seed).split(y, y)) for seed in (1, 1, 2))
    assert all(np.array_equal(a.test, b.test) for a, b in zip(one, again))
    assert any(not np.array_equal(a.test, b.test) for a, b in zip(one, other))


def test_sequences_and_measurements_are_cut_at_random():
    measured = np.arange(30.0) + 0.5
    expected = [fold.test for fold in folds(30, 3, 7)]
    for y in (measured, [["a", "b"]] * 30, [{"left": 0}] * 30):
        found = [fold.test for fold in LabeledFolds(3, random_state=7).split(y, y)]
        assert all(np.array_equal(a, b) for a, b in zip(found, expected))


@each_row(
    ("y", "unlabeled"),
    [
        (np.array([0, -1, 1, 1, -1, 0]), -1),
        (pd.Series(["a", None, "b", "b", None, "a"]), None),
        (np.array([1.5, np.nan, 2.5, 3.5, np.nan, 9.5]), None),
        ([["a"], None, ["b"], ["a"], [None], ["b"]], None),
        (["a", "?", "b", "b", "?", "a"], "?"),
    ],
)
def test_what_means_unlabeled(y, unlabeled):
    found = list(LabeledFolds(2, unlabeled=unlabeled).split(np.zeros((6, 1)), y))
    assert sorted(i for _, test in found for i in test) == [0, 2, 3, 5]
    assert all({1, 4} <= set(train) for train, _ in found)


# -- inside scikit-learn ----------------------------------------------------------------------------------------------
RNG = np.random.default_rng(0)
CLASS = np.arange(60) % 3
ROWS = 2.5 * np.eye(3)[CLASS] + RNG.normal(size=(60, 3))
SOME = [None if i % 4 == 0 else "xyz"[c] for i, c in enumerate(CLASS)]


@pytest.mark.parametrize("scoring", [None, "accuracy", "f1_macro", scorer("accuracy"), scorer("token_error")])
def test_search_with_unlabeled_classes(scoring):
    model = CoPerceptron(MultiClass(), unlabeled_weight=0.1, random_state=0)
    search = GridSearchCV(model, {"max_iter": [2, 5]}, scoring=scoring, cv=LabeledFolds(3), error_score="raise")
    best = search.fit(ROWS, SOME).best_score_
    assert -0.3 < best <= 0 if repr(scoring) == "scorer('token_error')" else 0.7 < best <= 1


@pytest.mark.parametrize("scoring", ["roc_auc_ovr", "neg_log_loss", "f1_macro", "accuracy"])
def test_scorers_of_scikit_learn(scoring):
    for y, cv in ((np.array(list("xyz"))[CLASS], 3), (SOME, LabeledFolds(3))):
        found = cross_val_score(CRF(MultiClass()), ROWS, y, scoring=scoring, cv=cv, error_score="raise")
        assert np.all(found > (-0.7 if scoring == "neg_log_loss" else 0.7))


def test_scores_are_those_of_predictions_for_labeled_examples():
    X = [["Ana", "left"], ["Tom", "saw", "Eva"], ["Rome"], ["Ana"]]
    Y = [["P", "O"], ["P", "O", "P"], None, [None]]
    model = StructuredPerceptron(Sequence(), max_iter=1, random_state=0).fit(X[:1], Y[:1])
    assert scorer("token_error")(model, X, Y) == -token_error(Y[:2], model.predict(X[:2])) != 0.0
    assert scorer(token_error)(model, X, Y) == scorer("token_error")(model, X, Y)
    with pytest.raises(InputError, match="none of 2 examples is labeled"):
        scorer("accuracy")(model, X[2:], Y[2:])
    with pytest.raises(InputError, match="has no function or no direction"):
        scorer("seconds")


def test_regression_with_missing_targets():
    y = np.where(np.arange(60) % 4 == 0, np.nan, ROWS.sum(axis=1))
    search = GridSearchCV(RLSR(kernel="linear"), {"eta": [0.1, 100.0]}, cv=LabeledFolds(3), error_score="raise")
    assert search.fit(ROWS, y).best_params_ == {"eta": 0.1}
    found = GridSearchCV(RLSR(), {"eta": [0.1, 1.0]}, scoring=scorer("rmse"), cv=LabeledFolds(3)).fit(ROWS, y)
    assert found.best_score_ < 0
