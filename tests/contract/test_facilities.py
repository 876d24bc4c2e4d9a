"""docs/scikit-learn.md is true: every cell of its tables of learners and tools happens, or does not."""

import inspect
import pickle
import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import accord
from accord import (
    ClusteringSVM,
    MultiClass,
    Sequence,
    StructuredPerceptron,
    TokenFeatures,
    Tree,
)
from accord.evaluation import LabeledFolds, scorer
from accord.registry import learners_for

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scikit-learn.md"
QUICK = {"max_iter": 3, "random_state": 0}
ABOUT_UNLABELED = {"unlabeled_weight": 0.1, "freeze": False}


def tables():
    """The tables of the page that begin with a column of learners: [{column: cell}, ...] of each."""
    found = []
    for block in re.findall(r"(?:^\|.*\n)+", PAGE.read_text("utf-8"), re.MULTILINE):
        head, _, *rows = [[cell.strip(" `") for cell in line.strip("| \n").split("|")] for line in block.splitlines()]
        if head[0] == "learner":
            found.append([dict(zip(head, row, strict=True)) for row in rows])
    return found


FLAT, OTHERS = tables()


def learner(name, structure):
    """A quick learner of the class."""
    cls = getattr(accord, name)
    if name in ("Classifier", "Tagger"):  # as they are meant to be used
        return cls(random_state=0)
    if name in ("RLSR", "CoRLSR"):
        return cls()
    if name == "SumOfViews":
        return cls(StructuredPerceptron(structure, **QUICK))
    if name == "TypeConsistency":
        return cls(StructuredPerceptron(structure, **QUICK), random_state=0)
    quick = {
        key: value for key, value in (QUICK | ABOUT_UNLABELED).items() if key in cls(structure).get_params(deep=False)
    }
    more = {"emission": "gaussian"} if name == "HMM" and structure.single_row else {}
    return cls(structure, **quick, **more)


def table(name):
    rng = np.random.default_rng(0)
    y = np.arange(24) % 3
    X = 3.0 * np.eye(3)[y][:, [0, 1, 2, 0]] + rng.normal(size=(24, 4))
    return X, X.sum(axis=1) if name in ("RLSR", "CoRLSR") else np.array(["x", "y", "z"])[y]


def grid(model):
    """Two values of some parameter."""
    options = {"max_iter": [2, 3], "C": [0.5, 1.0], "n_views": [2, 3], "smoothing": [0.1, 1.0], "eta": [0.1, 1.0]}
    options |= {"strength": [0.2, 0.4], "view": [TokenFeatures(window=0), TokenFeatures(window=1)]}
    name = next(name for name in options if name in model.get_params(deep=False))
    return {name: options[name]}


def search(model, X, y, cv, scoring=None):
    found = GridSearchCV(model, grid(model), cv=cv, scoring=scoring, error_score="raise").fit(X, y)
    assert np.isfinite(found.best_score_)
    assert len(found.predict(X)) == len(X)


def with_none(y):
    """Every third output unlabeled."""
    return [None if i % 3 == 2 else label for i, label in enumerate(y)]


def copied(model, X, y):
    assert clone(clone(model).fit(X, y)).get_params().keys() == model.get_params().keys()
    assert not hasattr(clone(clone(model).fit(X, y)), "n_features_in_")


def pickled(model, X, y):
    model = clone(model).fit(X, y)
    assert list(pickle.loads(pickle.dumps(model)).predict(X)) == list(model.predict(X))


def piped(model, X, y):
    assert make_pipeline(StandardScaler(), model).fit(X, y).score(X, y) > 0.5


def validated(model, X, y):
    assert np.all(cross_val_score(model, X, y, cv=2, error_score="raise") > 0.4)


def calibrated(model, X, y):
    found = CalibratedClassifierCV(model, cv=2).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert np.mean(found.argmax(axis=1) == np.unique(y, return_inverse=True)[1]) > 0.5


def probable(model, X, y):
    model = clone(model).fit(X, y)
    found = model.predict_proba(X)
    assert (model.classes_[found.argmax(axis=1)] == model.predict(X)).all()
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), found)


def routed(model, X, y, scoring=None):
    """Weights reach every fit of a search."""
    each = np.linspace(0.2, 2.0, len(X))
    with sklearn.config_context(enable_metadata_routing=True):
        asking = clone(model).set_fit_request(sample_weight=True)
        if "sample_weight" in inspect.signature(asking.score).parameters:  # of regressors
            asking.set_score_request(sample_weight=True)
        search = GridSearchCV(asking, grid(model), cv=2, scoring=scoring, error_score="raise")
        found = search.fit(X, y, sample_weight=each).best_estimator_
    expected = clone(found).fit(X, y, sample_weight=each)
    assert list(found.predict(X)) == list(expected.predict(X))


def linear(model, X, y):
    for labels in (y, np.where(y == "x", "y", y)):
        model = clone(model).fit(X, labels)
        found = X @ model.coef_.T + model.intercept_
        expected = model.decision_function(X)
        np.testing.assert_allclose(found[:, 0] if expected.ndim == 1 else found, expected, atol=1e-9)


TOOLS = {
    "clone": copied,
    "pickle": pickled,
    "Pipeline": piped,
    "GridSearchCV": lambda model, X, y: search(model, X, y, 2),
    "cross_val_score": validated,
    "CalibratedClassifierCV": calibrated,
    "predict_proba": probable,
    "coef_": linear,
    "sample_weight": routed,
    "None in y": lambda model, X, y: search(model, X, with_none(y), LabeledFolds(2)),
}


def named(part):
    return part if isinstance(part, str) else part["learner"]


def test_the_tables_have_all_learners():
    of_classes = set(learners_for(accord.registry.TABLE["MultiClass"].can))
    assert {row["learner"] for row in FLAT} == of_classes | {"RLSR", "CoRLSR"}
    of_sequences = set(learners_for(accord.registry.TABLE["Sequence"].can))
    assert {row["learner"] for row in OTHERS} == of_sequences | {"PCFG", "ClusteringSVM"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("row", "tool"), list(product(FLAT, TOOLS)), ids=named)
def test_tools_for_classes_and_numbers(row, tool):
    X, y = table(row["learner"])
    model = learner(row["learner"], MultiClass())
    if row[tool] == "yes":
        TOOLS[tool](model, X, y)
    else:
        with pytest.raises((AttributeError, ValueError)):
            TOOLS[tool](model, X, y)


def outputs(structure):
    """Inputs and outputs of a structure, and the metric of a search."""
    if structure == "Sequence":
        X = [["Ana", "left"], ["Tom", "saw", "Eva"], ["Rome", "slept"]] * 2
        return X, [["B-PER", "O"], ["B-PER", "O", "B-PER"], ["B-LOC", "O"]] * 2, "span_f1"
    if structure == "Tree":
        X = [["the", "dog", "barks"], ["dogs", "bark"], ["the", "cats", "sleep"]] * 2
        Y = ["(S (NP (D the) (N dog)) (V barks))", "(S (NP (N dogs)) (V bark))", "(S (NP (D the) (N cats)) (V sleep))"]
        return X, Y * 2, "bracket_f1"
    rng = np.random.default_rng(0)
    Y = [[0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 1], [0, 1, 2, 2], [0, 1, 1, 0], [0, 0, 1, 2]]
    alike = [np.equal.outer(y, y)[..., None] + 0.3 * rng.normal(size=(4, 4, 2)) for y in map(np.array, Y)]
    return [s + s.swapaxes(0, 1) for s in alike], Y, "pairwise_f1"


def scored(model, X, y, metric):
    found = cross_val_score(model, X, y, cv=2, scoring=scorer(metric), error_score="raise")
    assert np.all(np.isfinite(found))


STRUCTURED = {
    "clone": lambda model, X, y, metric: copied(model, X, y),
    "pickle": lambda model, X, y, metric: pickled(model, X, y),
    "GridSearchCV": lambda model, X, y, metric: search(model, X, y, 2, scorer(metric)),
    "cross_val_score": scored,
    "sample_weight": lambda model, X, y, metric: routed(model, X, y, scorer(metric)),
    "None in y": lambda model, X, y, metric: search(model, X, with_none(y), LabeledFolds(2), scorer(metric)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("row", "tool"), list(product(OTHERS, STRUCTURED)), ids=named)
def test_tools_for_other_outputs(row, tool):
    assert row[tool] == "yes"
    X, y, metric = outputs(row["structure"])
    if row["structure"] == "Partition":
        model = ClusteringSVM()
    else:
        model = learner(row["learner"], Tree() if row["structure"] == "Tree" else Sequence())
    STRUCTURED[tool](model, X, y, metric)
