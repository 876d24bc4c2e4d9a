"""CoPerceptron and CoSVM when Ctrl-C is pressed, when there is too little of anything, and with wrong parameters."""

import itertools
import pickle
import warnings

import numpy as np
import pytest
from consensus_cases import (
    CLASSES,
    CLASSES_ALL,
    HALVES,
    MAKERS,
    POINTS,
    X_NEW,
    Y_ALL,
    Y_NEW,
    X,
    Y,
    classifier,
    each_learner,
    flat,
    tagger,
)
from row_tables import each_row
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, KFold

from accord import ArrayFeatures, CoPerceptron, InputError, MultiClass, RandomSplit, Select, Sequence
from accord.structures.chains.consensus import ChainConsensusProblem

# -- interrupts --------------------------------------------------------------------------------------------------------

EPOCH = {"co-perceptron": "co_perceptron_epoch", "co-SVM": "visit_unlabeled"}


@pytest.fixture
def interrupt(monkeypatch):
    """``interrupt(learner, k)``: Ctrl-C is pressed in the k-th call of the kernel and heard when it returns."""

    def install(name, k, before=False):
        original, calls = getattr(ChainConsensusProblem, EPOCH[name]), itertools.count(1)

        def call(self, *args):
            number = next(calls)
            if number == k and before:
                raise KeyboardInterrupt
            found = original(self, *args)
            if number == k:
                raise KeyboardInterrupt
            return found

        monkeypatch.setattr(ChainConsensusProblem, EPOCH[name], call)

    return install


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("name", MAKERS)
def test_ctrl_c_leaves_a_usable_model(name, k, interrupt):
    interrupt(name, k)
    model = tagger(MAKERS[name], ramp=0)
    with pytest.warns(UserWarning, match=f"^interrupted after {k - 1} passes: the model is what was learned so far$"):
        assert model.fit(X, Y) is model
    assert model.n_iter_ == len(model.history_) == k - 1
    assert len(model.predict(X_NEW)) == len(X_NEW)
    assert len(model.transduction_) == 12
    assert model.score(X_NEW, Y_NEW) > 0.5
    pickle.loads(pickle.dumps(model)).predict(X_NEW)


@pytest.mark.parametrize("averaged", [True, False])
def test_what_the_interrupted_pass_has_learned_counts(interrupt, averaged):
    """Ctrl-C is heard after a kernel is done, so the weights, also their average, are those after that pass."""
    expected = CoPerceptron(Sequence(), random_state=0, max_iter=2, unlabeled_weight=0.1, averaged=averaged).fit(X, Y)
    interrupt("co-perceptron", 2)
    model = CoPerceptron(Sequence(), random_state=0, max_iter=9, unlabeled_weight=0.1, averaged=averaged)
    with pytest.warns(UserWarning, match="interrupted"):
        model.fit(X, Y)
    np.testing.assert_allclose(flat(model), flat(expected), rtol=1e-12)


@pytest.mark.parametrize("name", MAKERS)
def test_ctrl_c_before_anything_is_learned(name, interrupt):
    interrupt(name, 1, before=True)
    with pytest.warns(UserWarning, match="interrupted after 0 passes"):
        model = tagger(MAKERS[name]).fit(X, Y)
    assert len(model.predict(X_NEW)) == len(X_NEW)


@pytest.mark.parametrize("name", MAKERS)
def test_ctrl_c_while_weights_are_compared_leaves_nothing_half_done(name, interrupt):
    model = tagger(MAKERS[name]).fit(X_NEW[:6], Y_NEW[:2] + [None] * 4)
    interrupt(name, 3)
    with pytest.raises(KeyboardInterrupt):
        model.set_params(unlabeled_weight="auto").fit(X[:6], Y[:6])
    with pytest.raises(NotFittedError):
        model.predict(X_NEW)


# -- too little, too much, and wrong parameters ------------------------------------------------------------------------


@each_learner
def test_unlabeled_examples_alone(make):
    with pytest.raises(InputError, match=r"^all 18 examples are unlabeled: fit needs at least one labeled example$"):
        tagger(make).fit(X, [None] * 18)


@each_learner
def test_a_view_without_features(make):
    sparse = POINTS.copy()
    sparse[:, 2:] = 0.0
    views = [Select([0, 1], ArrayFeatures(bias=False)), Select([2, 3], ArrayFeatures(bias=False))]
    with pytest.raises(
        InputError, match=r"^view 'view1' has no features in X, so it cannot learn anything; leave it out$"
    ):
        classifier(make, views=views).fit(sparse, CLASSES)
    with pytest.raises(InputError, match="'random3' of RandomSplit has no features"):
        classifier(make, views=RandomSplit(Select([0, 1]), 3)).fit(POINTS, CLASSES)


@each_learner
def test_identical_views(make):
    with pytest.warns(
        UserWarning, match=r"^views 'view0' and 'view1' have the same features, so they agree on everything"
    ):
        model = classifier(make, views=[ArrayFeatures(), ArrayFeatures()]).fit(POINTS, CLASSES)
    assert len(model.predict(POINTS)) == 60


@each_learner
def test_no_unlabeled_examples(make):
    message = r"^Y has no unlabeled example \(None\): the views learn from labels alone$"
    with pytest.warns(UserWarning, match=message) as seen:
        classifier(make).fit(POINTS[:8], CLASSES_ALL[:8])
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier(make, unlabeled_weight=0).fit(POINTS[:8], CLASSES_ALL[:8])
        classifier(make, unlabeled_weight="auto").fit(POINTS[:8], CLASSES_ALL[:8])
        warnings.simplefilter("ignore", ConvergenceWarning)  # of few passes
        tagger(make).fit(X[:3], [[*y[:-1], None] for y in Y_ALL[:3]])


@each_learner
def test_a_declared_label_that_never_occurs(make):
    model = make(MultiClass(labels=["c0", "c1", "c2", "zebra"]), views=HALVES, unlabeled_weight=0.1)
    model.fit(POINTS, CLASSES)
    assert model.decision_function(POINTS).shape == (60, 4)
    assert "zebra" not in model.predict(POINTS)
    tags = [*sorted({label for y in Y_ALL for label in y}), "B-RARE"]
    assert tagger(make, structure=Sequence(labels=tags)).fit(X, Y).score(X_NEW, Y_NEW) > 0.5


@each_learner
def test_one_class_is_enough_to_fit(make):
    with pytest.warns(UserWarning, match="only one label"):
        model = classifier(make).fit(POINTS, ["a" if i < 3 else None for i in range(60)])
    assert set(model.predict(POINTS)) == {"a"}


BAD = [
    ({"unlabeled_weight": -0.1}, 'unlabeled_weight is -0.1; expected a number, 0 or more, or "auto"'),
    ({"unlabeled_weight": float("nan")}, "unlabeled_weight is nan"),
    ({"unlabeled_weight": "some"}, "unlabeled_weight is 'some'"),
    ({"unlabeled_weight": None}, "unlabeled_weight is None"),
    ({"unlabeled_weight": True}, "unlabeled_weight is True"),
    ({"max_iter": 0}, "max_iter is 0; expected a whole number, 1 or more"),
    ({"ramp": -1}, "ramp is -1; expected a whole number, 0 or more"),
    ({"views": "tokens"}, "view is 'tokens'"),
    ({"views": []}, "views is"),
    ({"random_state": "today"}, "random_state is 'today'"),
]
BAD_MARGINS = [
    ({"C": 0}, "C is 0; expected a positive number"),
    ({"norm": 3}, "norm is 3"),
    ({"rescaling": "both"}, "rescaling is 'both'"),
    ({"tol": 0}, "tol is 0"),
    ({"max_repeats": 0}, "max_repeats is 0; expected a whole number, 1 or more"),
]


@each_row(
    ("make", "options", "message"),
    [(make, *bad) for make in MAKERS.values() for bad in BAD] + [(MAKERS["co-SVM"], *bad) for bad in BAD_MARGINS],
)
def test_parameters_that_make_no_sense(make, options, message):
    with pytest.raises(InputError) as error:
        classifier(make, **options).fit(POINTS, CLASSES)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("name", MAKERS)
def test_grid_search_over_the_unlabeled_weight(name):
    model = classifier(MAKERS[name])
    folds = KFold(2, shuffle=True, random_state=0)
    values = {"unlabeled_weight": [0, 0.1, 1.0]}
    search = GridSearchCV(model, values, cv=folds, error_score="raise").fit(POINTS, CLASSES)
    assert search.best_estimator_.unlabeled_weight_ == search.best_params_["unlabeled_weight"]
    assert search.best_score_ > 0.6
