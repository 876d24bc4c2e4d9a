"""Accord's learners inside scikit-learn: searches, cross-validation, pipelines, DataFrames."""

import pickle
from itertools import cycle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from battery import LEARNERS, MULTI_VIEW, ONE_OF_EACH_CLASS, called, classes, is_defined, make, tokens
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, KFold, RandomizedSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import accord
from accord import (
    CRF,
    HMM,
    ArrayFeatures,
    DictFeatures,
    MultiClass,
    Sequence,
    StructuredPerceptron,
    StructuredSVM,
    TokenFeatures,
)

# What scikit-learn asks of a learner is written once per class, or once for all of them.
each_learner = pytest.mark.parametrize("learner", ONE_OF_EACH_CLASS)
OF_CLASSES = ["hmm, gaussian", *(learner for learner in ONE_OF_EACH_CLASS if is_defined(learner, "classes"))]
each_learner_of_classes = pytest.mark.parametrize("learner", OF_CLASSES)


def task_of(learner, sequences=True):
    if sequences:
        return "token vectors" if learner == "hmm, gaussian" else "tokens"
    return "classes"


def grid(learner):
    values = {"C": [0.1, 0.3], "smoothing": [0.1, 1.0], "n_views": [1, 3], "max_iter": [1, 3], "random_state": [0, 1]}
    name = next(name for name in values if name in LEARNERS[learner](MultiClass()).get_params(deep=False))
    return name, values[name]


@each_learner
def test_grid_search_over_the_main_parameter(learner):
    case = make(learner, task_of(learner), n=14)
    name, values = grid(learner)
    search = GridSearchCV(case.model, {name: values}, cv=2, error_score="raise").fit(case.X, case.Y)
    assert search.best_params_[name] in values
    assert search.best_score_ > 0.5
    assert list(search.predict(case.X_new)) == list(search.best_estimator_.predict(case.X_new))
    assert search.score(case.X_new, case.Y_new) == search.best_estimator_.score(case.X_new, case.Y_new)
    # the scores are those of fits by hand
    model = clone(case.model).set_params(**{name: values[0]})
    by_hand = []
    for train, test in KFold(2).split(case.X):
        model.fit([case.X[i] for i in train], [case.Y[i] for i in train])
        by_hand.append(model.score([case.X[i] for i in test], [case.Y[i] for i in test]))
    assert search.cv_results_["mean_test_score"][0] == pytest.approx(np.mean(by_hand))


def test_grid_search_over_parameters_of_the_parts():
    case = make("svm", "tokens", n=12)
    choices = {"structure__loss": ["hamming", "zero-one"], "view__window": [0, 1]}
    search = GridSearchCV(case.model, choices, cv=2, error_score="raise").fit(case.X, case.Y)
    assert search.best_estimator_.structure.loss == search.best_params_["structure__loss"]
    assert len(search.cv_results_["params"]) == 4
    assert case.model.view.window == 1, "the search changed the model it was given"


@each_learner
def test_cross_validation(learner):
    case = make(learner, task_of(learner), n=16)
    assert np.all(cross_val_score(case.model, case.X, case.Y, cv=2, error_score="raise") > 0.4)
    assert np.all(cross_val_score(case.model, case.X, case.partly, cv=2, error_score="raise") > 0.3), (
        "with unlabeled ones"
    )


@each_learner_of_classes
def test_cross_validated_predictions_of_classes(learner):
    case = make(learner, "classes")
    found = cross_val_predict(case.model, case.X, case.Y, cv=2)
    assert np.mean(found == np.array(case.Y)) > 0.4


@each_learner_of_classes
def test_pipeline_with_a_scaler(learner):
    X, Y = classes(30)
    X = X * [1.0, 1000.0, 0.01] + [0.0, 5.0, 3.0]
    model = LEARNERS[learner](MultiClass())
    pipeline = make_pipeline(StandardScaler(), model).fit(X, Y)
    assert pipeline.score(X, Y) > 0.6
    by_hand = clone(model).fit(StandardScaler().fit_transform(X), Y)
    assert list(pipeline.predict(X)) == list(by_hand.predict(StandardScaler().fit_transform(X)))
    assert list(pickle.loads(pickle.dumps(pipeline)).predict(X)) == list(pipeline.predict(X))


def test_search_over_a_pipeline():
    X, Y = classes(24)
    pipeline = make_pipeline(StandardScaler(), StructuredSVM(MultiClass(), random_state=0))
    search = GridSearchCV(pipeline, {"structuredsvm__C": [0.01, 1.0]}, cv=2, error_score="raise").fit(X, Y)
    assert set(search.best_params_) == {"structuredsvm__C"}
    random = RandomizedSearchCV(pipeline, {"structuredsvm__C": [0.01, 1.0]}, n_iter=1, cv=2, random_state=0).fit(X, Y)
    assert random.best_score_ > 0.5


# -- DataFrames and other containers ----------------------------------------------------------------------------------


@each_learner_of_classes
def test_data_frames(learner):
    case = make(learner, "classes")
    model = clone(case.model).set_params(**{called(case.model, "view"): None})
    frame = pd.DataFrame(case.X, columns=["u", "v", "w"], index=range(100, 100 + len(case.X)))
    series = pd.Series(case.Y, index=frame.index)
    expected = clone(model).fit(case.X, case.Y).predict(case.X_new)
    assert list(model.fit(frame, series).predict(pd.DataFrame(case.X_new, columns=frame.columns))) == list(expected)
    assert model.score(frame, series) == model.score(case.X, case.Y)
    assert np.mean(cross_val_score(model, frame, series, cv=2, error_score="raise")) > 0.4


def test_missing_labels_of_a_frame_mean_unlabeled():
    case = make("svm", "classes")
    frame = pd.DataFrame(case.X)
    expected = clone(case.model).fit(case.X, case.partly)
    for missing in (None, np.nan, pd.NA):
        series = pd.Series(
            [missing if y is None else y for y in case.partly], dtype=object, index=range(50, 50 + len(frame))
        )
        model = clone(case.model).fit(frame, series)
        assert list(model.predict(case.X)) == list(expected.predict(case.X))
        assert model.support_outputs() == expected.support_outputs()
        assert model.score(frame, series) == expected.score(case.X, case.partly)


@pytest.mark.parametrize(
    "container",
    [np.asarray, list, np.ndarray.tolist, tuple, sp.csr_matrix, sp.coo_array],
    ids=["array", "list", "lists", "tuple", "csr", "coo"],
)
def test_containers_of_rows(container):
    X, Y = classes(20)
    expected = CRF(MultiClass()).fit(X, Y).predict(X)
    model = CRF(MultiClass()).fit(container(X), tuple(Y))
    assert list(model.predict(container(X))) == list(expected)
    assert list(model.predict(X)) == list(expected)
    assert list(model.fit(X, np.array(Y)).predict(X)) == list(expected)
    assert list(model.fit(X, np.array(Y, dtype=object)).predict(X)) == list(expected)


def test_containers_of_sentences():
    X, Y = tokens(12)
    expected = StructuredPerceptron(Sequence(), random_state=0).fit(X, Y).predict(X)
    as_objects = np.empty(12, object)
    as_objects[:] = X
    for given in (as_objects, pd.Series(X, index=range(5, 17)), tuple(map(tuple, X))):
        model = StructuredPerceptron(Sequence(), random_state=0).fit(given, [np.array(y) for y in Y])
        assert list(model.predict(given)) == list(expected)
        assert model.score(given, Y) == 1.0


@pytest.mark.parametrize(
    ("X", "structure", "view"),
    [
        ([["Ana", "left"], ["Tom"]], Sequence(), TokenFeatures),
        ([[], ["Ana", "left"]], Sequence(), TokenFeatures),
        ([[{"w": "Ana"}, {"w": "left"}], [{"w": "Tom"}]], Sequence(), DictFeatures),
        ([[["w=Ana"], ["w=left"]], [["w=Tom"]]], Sequence(), DictFeatures),
        ([np.eye(2), np.eye(2)[:1]], Sequence(), ArrayFeatures),
        ([[[0.0, 1.0], [1.0, 0.0]], [[0.0, 2.0]]], Sequence(), ArrayFeatures),
        ([[np.zeros(2), np.ones(2)], [np.ones(2)]], Sequence(), ArrayFeatures),
        (np.eye(2), MultiClass(), ArrayFeatures),
        ([[0.0, 1.0], [1.0, 0.0]], MultiClass(), ArrayFeatures),
        ([{"length": 3}, {"length": 4}], MultiClass(), DictFeatures),
        ([["short", "word"], ["long", "word"]], MultiClass(), DictFeatures),
        ([{"short"}, {"long", "word"}], MultiClass(), DictFeatures),
        (pd.DataFrame({"u": [0.0, 1.0]}), MultiClass(), ArrayFeatures),
    ],
    ids=lambda value: None,
)
def test_without_a_view_the_look_of_the_inputs_decides(X, structure, view):
    Y = ["a", "b"] if structure.single_row else [["P", "O", "O"][: len(x)] for x in X]
    model = StructuredPerceptron(structure).fit(X, Y)
    assert type(model.view_) is view
    expected = StructuredPerceptron(structure, view=view(), random_state=0).fit(X, Y)
    assert list(StructuredPerceptron(structure, random_state=0).fit(X, Y).predict(X)) == list(expected.predict(X))


def test_a_list_of_views_counts_as_one():
    X, Y = tokens(12)
    views = [TokenFeatures(window=0), TokenFeatures(window=1, affixes=None)]
    model = CRF(Sequence(), view=views).fit(X, Y)
    assert model.view_.n_dims_ == sum(view.fit_rows(X).n_dims for view in views)
    assert model.score(X, Y) > 0.9
    assert list(clone(model).fit(X, Y).predict(X)) == list(model.predict(X))


# -- labels -----------------------------------------------------------------------------------------------------------


@each_learner
def test_a_label_that_occurs_in_no_training_fold_is_no_error(learner):
    case = make(learner, task_of(learner), n=12)
    Y = [list(y) for y in case.Y]
    Y[0][0] = "B-RARE"
    assert np.all(np.isfinite(cross_val_score(case.model, case.X, Y, cv=2, error_score="raise")))
    model = clone(case.model).fit(case.X[1:], Y[1:])
    assert 0.0 <= model.score(case.X[:1], Y[:1]) < 1.0, "the unknown label counts as wrong"


@each_learner_of_classes
@pytest.mark.parametrize("declared", [False, True])
def test_a_class_that_occurs_in_no_training_fold_is_no_error(learner, declared):
    case = make(learner, "classes")
    Y = [*case.Y[:-1], "zebra"]
    if declared:
        case.model.set_params(**{called(case.model, "structure__labels"): ["bus", "car", "cat", "dog", "zebra"]})
    assert np.all(np.isfinite(cross_val_score(case.model, case.X, Y, cv=2, error_score="raise")))
    model = case.model.fit(case.X[:-1], Y[:-1])
    assert ("zebra" in model.structure_.labels_) == declared
    assert set(model.predict(case.X)) <= set(model.structure_.labels_)
    assert model.decision_function(case.X).shape[1] == 4 + declared


LABELS = [[3, 1, 2, 0], [True, False, "yes", "no"], [0.5, 1.5, 2.5, 3.5]]


@pytest.mark.parametrize(("learner", "labels"), zip(OF_CLASSES, cycle(LABELS)), ids=str)
def test_labels_may_be_anything_hashable(learner, labels, tmp_path):
    X, Y = classes(24, labels=labels)
    model = LEARNERS[learner](MultiClass()).fit(X, Y)
    found = model.predict(X).tolist()
    assert set(found) <= set(labels)
    assert all(any(y is label or (y == label and type(y) is type(label)) for label in labels) for y in found)
    model.save(tmp_path / "model")
    again = accord.load(tmp_path / "model").predict(X).tolist()
    assert [(y, type(y)) for y in again] == [(y, type(y)) for y in found]


@pytest.mark.parametrize("learner", [name for name in OF_CLASSES if name not in MULTI_VIEW])
def test_real_valued_features_are_more_than_truth_values(learner):
    """Only the size of the one feature tells the classes apart."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 30)
    tokens_of_size = (1.0 + 2.0 * y + 0.2 * rng.normal(size=30))[:, None]
    model = LEARNERS[learner](MultiClass(), view=ArrayFeatures(standardize=True)).fit(tokens_of_size, y.tolist())
    assert model.score(tokens_of_size, y.tolist()) > 0.95
    as_dicts = [[{"size": float(x)}, {"size": float(-x)}] for x in tokens_of_size[:, 0] - 2.0]
    pairs = [["big", "small"] if c else ["small", "big"] for c in y]
    model = LEARNERS[learner](Sequence(), view=DictFeatures()).fit(as_dicts, pairs)
    assert model.score(as_dicts, pairs) > 0.95


def test_hidden_markov_models_take_features_between_truth_values():
    model = HMM(MultiClass(), view=ArrayFeatures(bias=False), smoothing=1.0).fit([[0.9, 0.0], [0.2, 1.0]], ["a", "b"])
    # on = (x + 1) / 3, off = (1 - x + 1) / 3
    np.testing.assert_allclose(model.weights_.unary, np.log([[1.9 / 1.1, 1.2 / 1.8], [1.0 / 2.0, 2.0 / 1.0]]))


def test_cross_validation_of_classes_is_stratified():
    X, y = load_iris(return_X_y=True)  # sorted by class: unstratified folds would each lack one
    assert is_classifier(CRF(MultiClass()))
    assert not is_classifier(CRF(Sequence()))
    assert cross_val_score(CRF(MultiClass()), X, y, cv=3).min() > 0.9
    y_some = [None if i % 5 == 0 else int(label) for i, label in enumerate(y)]
    assert len(cross_val_score(CRF(MultiClass()), X, y_some, cv=KFold(3, shuffle=True, random_state=0))) == 3
