"""SumOfViews: any linear learner on each view by itself, and the sum of their scores."""

import pickle

import numpy as np
import pytest
from consensus_cases import CLASSES, HALVES, POINTS, X_NEW, Y_ALL, Y_NEW, X, Y
from row_tables import each_row
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

import accord
from accord import (
    CRF,
    HMM,
    ArrayFeatures,
    CoPerceptron,
    InputError,
    MultiClass,
    RandomSplit,
    Select,
    Sequence,
    StructuredPerceptron,
    StructuredSVM,
    SumOfViews,
    Taxonomy,
    TokenFeatures,
)

LEARNERS = {
    "perceptron": lambda s, **p: StructuredPerceptron(s, max_iter=3, random_state=0, **p),
    "svm": lambda s, **p: StructuredSVM(s, C=0.1, tol=0.1, random_state=0, **p),
    "svm, frank-wolfe": lambda s, **p: StructuredSVM(s, C=0.1, tol=0.1, solver="frank-wolfe", random_state=0, **p),
    "crf": lambda s, **p: CRF(s, random_state=0, **p),
    "crf, sgd": lambda s, **p: CRF(s, solver="sgd", max_iter=3, random_state=0, **p),
}
each_learner = pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)
SMALL = {"n_views": 3, "share": 0.5}


def tagger(make, **options):
    return SumOfViews(make(Sequence(), view=TokenFeatures(window=1)), **{**SMALL, **options})


@each_learner
def test_the_weights_are_the_mean_of_the_views(make):
    model = tagger(make).fit(X, Y)
    assert (model.n_views_, model.view_names_) == (3, ["random1", "random2", "random3"])
    mean = np.mean([w.flat() for w in model.view_weights_], axis=0)
    np.testing.assert_allclose(model.weights_.flat(), mean, rtol=1e-12, atol=1e-15)
    assert not np.allclose(model.view_weights_[0].flat(), model.view_weights_[1].flat())
    # the mean predicts what the sum predicts
    s, matrix = model.structure_, model.view_.transform(X_NEW).matrix()
    unary = sum(matrix @ w.unary for w in model.view_weights_)
    transitions = sum(w.transitions for w in model.view_weights_)
    ends = np.cumsum([len(x) for x in X_NEW])[:-1]
    found = [[s.labels_[c] for c in s.decode(s.parts(part, transitions))[0]] for part in np.split(unary, ends)]
    assert found == model.predict(X_NEW)


@pytest.mark.parametrize("make", [LEARNERS["svm"], LEARNERS["crf"]], ids=["svm", "crf"])
def test_a_view_is_learned_as_if_it_were_alone(make):
    model = SumOfViews(make(MultiClass()), views=HALVES).fit(POINTS, CLASSES)
    assert model.view_names_ == ["view0", "view1"]
    for v, view in enumerate(HALVES):
        alone = make(MultiClass(), view=view).fit(POINTS, CLASSES)
        own = slice(3 * v, 3 * v + 3)  # two columns and a bias
        tolerance = 1e-4 if isinstance(alone, CRF) else 0.05
        np.testing.assert_allclose(model.view_weights_[v].unary[own], alone.weights_.unary, atol=tolerance)
        assert not np.delete(model.view_weights_[v].unary, range(3 * v, 3 * v + 3), axis=0).any()
        assert model.predict_views(POINTS)[v] == alone.predict(POINTS).tolist()


@each_learner
def test_views_see_a_share_of_the_features(make):
    for share in (0.2, 0.6):
        model = SumOfViews(make(Sequence(), view=TokenFeatures(window=0)), n_views=2, share=share).fit(X[:5], Y_ALL[:5])
        columns = model.view_.view_.n_dims_
        for w in model.view_weights_:
            assert 0.5 * share < np.count_nonzero(w.unary.any(axis=1)) / columns < 1.3 * share


@each_learner
def test_the_view_is_that_of_the_learner(make):
    inner = make(Sequence(), view=TokenFeatures(window=2, affixes=None))
    for views in (None, RandomSplit(n_views=3)):
        model = SumOfViews(inner, n_views=3, views=views).fit(X[:4], Y[:4])
        assert repr(model.view_.view_) == repr(inner.view)
        assert model.n_views_ == 3
    assert not [name for name in vars(inner) if name.endswith("_")], "the learner itself stays unfitted"
    default = SumOfViews(make(MultiClass()), n_views=2).fit(POINTS, CLASSES)
    assert isinstance(default.view_.view_, ArrayFeatures)


@each_learner
def test_every_structure(make):
    tree = {"c0": "left", "c1": "left", "c2": "right", "left": "all", "right": "all"}
    for structure in (MultiClass(), Taxonomy(tree)):
        model = SumOfViews(make(structure), **SMALL).fit(POINTS, CLASSES)
        assert model.score(POINTS[:12], CLASSES[:12]) > 0.6
    few, outputs = X[:5], Y_ALL[:5]
    model = tagger(make).fit(few, outputs)
    assert model.score(few, outputs) > 0.9
    assert 0 < model.disagreement(X_NEW) < 1
    second = SumOfViews(make(Sequence(order=2, constraints="iob2")), **SMALL).fit(few, outputs)
    assert second.score(few, outputs) > 0.8


@each_learner
def test_hidden_labels_and_unlabeled_examples(make):
    hidden = [[label if t % 3 else None for t, label in enumerate(y)] for y in Y_ALL]
    assert tagger(make).fit(X[:9], [*Y_ALL[:4], *hidden[4:9]]).score(X_NEW, Y_NEW) > 0.65
    some = [i for i, y in enumerate(CLASSES) if y is not None]
    both = SumOfViews(make(MultiClass()), views=HALVES).fit(POINTS, CLASSES)
    alone = SumOfViews(make(MultiClass()), views=HALVES).fit(POINTS[some], [CLASSES[i] for i in some])
    np.testing.assert_allclose(both.weights_.flat(), alone.weights_.flat(), atol=1e-6)


@each_learner
def test_copies_and_repetitions(make, tmp_path):
    few = X[:6], Y[:6]
    model = tagger(make).fit(*few)
    again = clone(model).fit(*few)
    assert np.array_equal(model.weights_.flat(), again.weights_.flat())
    other = clone(model).set_params(learner__random_state=1).fit(*few)
    assert not np.array_equal(model.weights_.flat(), other.weights_.flat())
    model.save(tmp_path / "model")
    for copy in (pickle.loads(pickle.dumps(model)), accord.load(tmp_path / "model")):
        assert list(copy.predict(X_NEW)) == list(model.predict(X_NEW))
        assert copy.predict_views(X_NEW) == model.predict_views(X_NEW)
        assert np.array_equal(clone(copy).fit(*few).weights_.flat(), model.weights_.flat())


def test_parameters():
    learner = StructuredSVM(Sequence(), C=0.5)
    model = SumOfViews(learner, n_views=4)
    assert model.structure is learner.structure
    assert model.get_params()["learner__C"] == 0.5
    assert model.set_params(learner__C=2.0, learner__structure__loss="zero-one").learner.C == 2.0
    assert model.structure.loss == "zero-one"
    with pytest.raises(NotFittedError):
        model.predict(X_NEW)
    search = GridSearchCV(
        SumOfViews(LEARNERS["svm"](MultiClass()), n_views=2), {"n_views": [1, 2], "learner__C": [0.01, 1.0]}, cv=2,
        error_score="raise",
    ).fit(POINTS[:12], CLASSES[:12])  # fmt: skip
    assert search.best_estimator_.n_views == search.best_params_["n_views"]


@each_row(
    "learner",
    [
        HMM(Sequence()),
        CoPerceptron(Sequence()),
        SumOfViews(StructuredPerceptron(Sequence())),
        Sequence(),
        StructuredPerceptron,
        None,
    ],
    ids=["HMM", "CoPerceptron", "SumOfViews", "a structure", "a class", "None"],
)
def test_learners_whose_scores_do_not_add_up(learner):
    with pytest.raises(InputError, match=r"^learner is .*; expected a StructuredPerceptron, StructuredSVM or CRF"):
        SumOfViews(learner).fit(X, Y)


def test_wrong_parameters():
    make = LEARNERS["perceptron"]
    with pytest.raises(InputError, match=r"^max_iter is 0; expected a whole number, 1 or more$"):
        SumOfViews(StructuredPerceptron(Sequence(), max_iter=0)).fit(X, Y)
    with pytest.raises(InputError, match=r"^n_views is 0; expected a whole number, 1 or more$"):
        tagger(make, n_views=0).fit(X, Y)
    with pytest.raises(InputError, match=r"^share is 1\.5; expected a number above 0"):
        tagger(make, share=1.5).fit(X, Y)
    with pytest.raises(InputError, match="all 18 examples are unlabeled"):
        tagger(make).fit(X, [None] * 18)
    with pytest.raises(InputError, match="has no features"):
        SumOfViews(make(MultiClass(), view=Select([0])), n_views=2, share=0.01).fit(POINTS, CLASSES)
