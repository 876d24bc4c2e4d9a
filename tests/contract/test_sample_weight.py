"""``sample_weight`` of every learner: containers, checks, scikit-learn's routing, examples that do not count."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from battery import LEARNERS, ONE_OF_EACH_CLASS, called, make, weights
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_validate

from accord import RLSR, CoRLSR, InputError, MultiClass, Select, StructuredPerceptron
from accord.settings import example_weights

each_learner = pytest.mark.parametrize("learner", ONE_OF_EACH_CLASS)


def case_of(learner):
    task = "token vectors" if learner == "hmm, gaussian" else "tokens"
    return make(learner, task, n=12)


@each_learner
def test_searches_route_weights_to_every_fit(learner):
    case = case_of(learner)
    each = np.random.default_rng(0).uniform(0.1, 3.0, len(case.X))
    with sklearn.config_context(enable_metadata_routing=True):
        model = clone(case.model).set_fit_request(sample_weight=True)
        name = called(case.model, "structure__loss")
        search = GridSearchCV(model, {name: ["hamming"]}, cv=KFold(2), error_score="raise")
        search.fit(case.X, case.Y, sample_weight=each)
    whole = clone(case.model).set_params(**{name: "hamming"}).fit(case.X, case.Y, sample_weight=each)
    np.testing.assert_allclose(weights(search.best_estimator_), weights(whole), atol=1e-9)


@pytest.mark.parametrize("learner", ONE_OF_EACH_CLASS[:3])  # folds are made by scikit-learn, in the same way for all
def test_every_fold_has_its_own_weights(learner):
    case = case_of(learner)
    each = np.random.default_rng(0).uniform(0.1, 3.0, len(case.X))
    with sklearn.config_context(enable_metadata_routing=True):
        found = cross_validate(
            clone(case.model).set_fit_request(sample_weight=True), case.X, case.Y, cv=KFold(2),
            params={"sample_weight": each}, error_score="raise", return_estimator=True,
        )  # fmt: skip
    train, _ = next(KFold(2).split(case.X))
    by_hand = clone(case.model).fit([case.X[i] for i in train], [case.Y[i] for i in train], sample_weight=each[train])
    np.testing.assert_allclose(weights(found["estimator"][0]), weights(by_hand), atol=1e-9)


@each_learner
def test_weights_of_one_are_no_weights_and_weights_are_not_changed(learner):
    case = case_of(learner)
    plain = weights(clone(case.model).fit(case.X, case.partly))
    ones = np.ones(len(case.X))
    containers = [ones, ones.astype(int), ones.tolist(), pd.Series(ones, index=range(7, 7 + len(ones)))]
    for given in containers if learner == ONE_OF_EACH_CLASS[0] else containers[:1]:
        np.testing.assert_array_equal(weights(clone(case.model).fit(case.X, case.partly, sample_weight=given)), plain)
    each = np.linspace(0.0, 2.0, len(case.X))
    before = each.copy()
    changed = weights(clone(case.model).fit(case.X, case.partly, sample_weight=each))
    np.testing.assert_array_equal(each, before)
    assert changed.shape == plain.shape
    assert np.abs(changed - plain).max() > 0


@each_learner
def test_an_example_of_weight_zero_has_no_say_about_labels(learner):
    case = case_of(learner)
    Y = [*case.Y[:-1], ["B-RARE"] * len(case.Y[-1])]
    each = np.r_[np.full(len(Y) - 1, 2.0), 0.0]
    model = clone(case.model).fit(case.X, Y, sample_weight=each)
    assert "B-RARE" not in model.structure_.labels_
    only_last = [None] * (len(Y) - 1) + [Y[-1]]
    with pytest.raises(InputError, match="sample_weight of 0"):
        clone(case.model).fit(case.X, only_last, sample_weight=each)


BAD = {
    "too few": ([1.0, 2.0], r"sample_weight has shape \(2,\); expected \(3,\)"),
    "a number": (2.0, r"sample_weight has shape \(\); expected \(3,\)"),
    "a matrix": (np.ones((3, 1)), r"sample_weight has shape \(3, 1\)"),
    "negative": ([1.0, 1.0, -0.5], r"sample_weight\[2\] is -0.5; expected a finite number, 0 or more"),
    "nan": ([1.0, np.nan, 1.0], r"sample_weight\[1\] is nan"),
    "infinite": ([np.inf, 1.0, 1.0], r"sample_weight\[0\] is inf"),
    "all zero": ([0, 0, 0], "all weights are zero"),
    "text": (["1", "2", "3"], "sample_weight is a list that does not hold numbers"),
    "missing": ([1.0, None, 2.0], r"sample_weight\[1\] is nan|does not hold numbers"),
    "complex": ([1j, 1.0, 1.0], "does not hold numbers"),
}


@pytest.mark.parametrize("bad", BAD)
def test_bad_weights_are_refused(bad):
    given, message = BAD[bad]
    with pytest.raises(InputError, match=message):
        example_weights(given, 3)
    for learner in LEARNERS:
        if learner in ONE_OF_EACH_CLASS[:2]:
            with pytest.raises(InputError, match=message):
                LEARNERS[learner](MultiClass()).fit([[0.0], [1.0], [1.0]], ["a", "b", "b"], sample_weight=given)
    for regressor in (RLSR(), CoRLSR([Select([0]), Select([1])])):
        with pytest.raises(InputError, match=message):
            regressor.fit(np.eye(3)[:, :2], [1.0, 2.0, 3.0], sample_weight=given)


def test_what_is_refused_leaves_the_model_as_it_was():
    model = StructuredPerceptron(MultiClass(), random_state=0).fit([[0.0], [1.0]], ["a", "b"])
    before = model.weights_.flat().copy()
    with pytest.raises(InputError, match="sample_weight"):
        model.partial_fit([[0.0]], ["a"], sample_weight=[-1.0])
    np.testing.assert_array_equal(model.weights_.flat(), before)
