"""CoPerceptron and CoSVM as users see them: repetition, copies, views and what they predict, what is learned."""

import itertools
import pickle

import numpy as np
import pytest
from consensus_cases import CLASSES, HALVES, POINTS, X_NEW, Y_ALL, Y_NEW, X, Y, classifier, each_learner, flat, tagger
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import accord
from accord import (
    ArrayFeatures,
    CoPerceptron,
    FeatureGroups,
    InputError,
    MultiClass,
    OddEvenSplit,
    RandomSplit,
    Sequence,
    TokenFeatures,
)

# -- the same again --------------------------------------------------------------------------------------------------


@each_learner
@pytest.mark.parametrize("weight", [0.1, pytest.param("auto", marks=pytest.mark.slow)])
def test_the_seed_repeats_everything_bit_for_bit(make, weight):
    one, again, other = (tagger(make, unlabeled_weight=weight, random_state=s).fit(X[:9], Y[:9]) for s in (3, 3, 4))
    assert np.array_equal(flat(one), flat(again))
    assert one.transduction_ == again.transduction_
    assert one.history_ == again.history_
    assert one.auto_report_ == again.auto_report_
    assert not np.array_equal(flat(one), flat(other)), "views and order are drawn"


@each_learner
def test_generators_as_seeds(make):
    generators = (
        np.random.default_rng(3),
        np.random.default_rng(3),
        np.random.RandomState(3),
        np.random.RandomState(3),
    )
    found = [flat(tagger(make, unlabeled_weight=0.1, random_state=g).fit(X[:6], Y[:6])) for g in generators]
    assert np.array_equal(found[0], flat(tagger(make, unlabeled_weight=0.1, random_state=3).fit(X[:6], Y[:6])))
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[2], found[3])


@each_learner
def test_a_second_fit_is_a_fresh_one(make):
    model = tagger(make).fit(X_NEW[:6], Y_NEW[:2] + [None] * 4)
    assert np.array_equal(flat(model.fit(X[:9], Y[:9])), flat(tagger(make).fit(X[:9], Y[:9])))


@each_learner
def test_where_unlabeled_examples_stand_does_not_matter(make):
    """Their order among themselves kept, labeled and unlabeled ones may be mixed in any way."""
    labeled, unlabeled = np.flatnonzero([y is not None for y in CLASSES]), np.flatnonzero([y is None for y in CLASSES])
    fits = []
    for order in (np.r_[labeled, unlabeled], np.r_[unlabeled, labeled]):
        model = classifier(make).fit(POINTS[order], [CLASSES[i] for i in order])
        fits.append((flat(model), model.transduction_))
    np.testing.assert_allclose(fits[0][0], fits[1][0], rtol=1e-12)
    assert fits[0][1] == fits[1][1] == classifier(make).fit(POINTS, CLASSES).transduction_


@each_learner
def test_copies(make, tmp_path):
    few = X[:9], Y[:9]
    model = tagger(make).fit(*few)
    model.save(tmp_path / "model")
    for copy in (pickle.loads(pickle.dumps(model)), accord.load(tmp_path / "model")):
        assert np.array_equal(flat(copy), flat(model))
        assert list(copy.predict(X_NEW)) == list(model.predict(X_NEW))
        assert copy.predict_views(X_NEW) == model.predict_views(X_NEW)
        assert copy.disagreement(X_NEW) == model.disagreement(X_NEW)
        assert copy.view_names_ == model.view_names_ == ["random1", "random2"]
        assert copy.transduction_ == model.transduction_
        assert copy.history_ == model.history_
        assert np.array_equal(flat(clone(copy).fit(*few)), flat(model))
    assert not hasattr(clone(model), "weights_")


# -- views and what they predict -------------------------------------------------------------------------------------


@each_learner
def test_the_sum_of_the_views_predicts(make):
    model = classifier(make).fit(POINTS, CLASSES)
    assert (model.n_views_, model.view_names_) == (2, ["view0", "view1"])
    matrix = model.view_.transform(POINTS).matrix().toarray()
    scores = [matrix @ w.unary for w in model.view_weights_]
    np.testing.assert_allclose(model.decision_function(POINTS), sum(scores))
    labels = np.array(model.structure_.labels_)
    assert list(model.predict(POINTS)) == labels[sum(scores).argmax(axis=1)].tolist()
    assert model.predict_views(POINTS) == [labels[s.argmax(axis=1)].tolist() for s in scores]
    # a view sees its own columns only: two features and a bias
    assert [np.count_nonzero(w.unary.any(axis=1)) for w in model.view_weights_] == [3, 3]
    assert not np.any((model.view_weights_[0].unary != 0) & (model.view_weights_[1].unary != 0))


@each_learner
@pytest.mark.parametrize("n_views", [2, 3])
def test_disagreement_counts_tokens_and_pairs_of_views(make, n_views, monkeypatch):
    model = tagger(make, views=RandomSplit(TokenFeatures(window=0), n_views)).fit(X, Y)
    by_view = model.predict_views(X_NEW)
    pairs = list(itertools.combinations([[label for y in outputs for label in y] for outputs in by_view], 2))
    expected = np.mean([[a != b for a, b in zip(one, two)] for one, two in pairs])
    assert 0 < expected < 1
    assert model.disagreement(X_NEW) == pytest.approx(expected)
    monkeypatch.setattr("accord.learners.base.CHUNK", 3)
    assert model.disagreement(X_NEW) == pytest.approx(expected)
    assert model.predict_views(X_NEW) == by_view


@each_learner
def test_disagreement_of_nothing(make):
    model = tagger(make).fit(X[:6], Y[:6])
    with pytest.raises(InputError, match=r"^X has no tokens to compare the views on$"):
        model.disagreement([[], []])
    one = tagger(make, views=TokenFeatures()).fit(X[:6], Y[:6])
    with pytest.raises(InputError, match=r"^disagreement needs at least two views; this model has one$"):
        one.disagreement(X_NEW)
    for call in ("disagreement", "predict_views", "predict"):
        with pytest.raises(NotFittedError):
            getattr(tagger(make), call)(X_NEW)


@each_learner
def test_transduction_is_what_is_predicted_for_the_unlabeled(make):
    model = tagger(make).fit([*X, []], [*Y, None])
    unlabeled = [x for x, y in zip(X, Y) if y is None]
    assert len(unlabeled) == 12
    assert model.transduction_ == [*model.predict(unlabeled), []]
    with pytest.warns(UserWarning, match="no unlabeled example"):
        assert tagger(make).fit(X[:2], Y_ALL[:2]).transduction_ == []


@each_learner
@pytest.mark.parametrize("split", [RandomSplit(), OddEvenSplit(), None], ids=["random", "odd/even", "default"])
def test_splits_take_the_view_that_suits_the_inputs(make, split):
    model = tagger(make, views=split).fit(X[:6], Y[:6])
    assert isinstance(model.view_.view_, TokenFeatures)
    assert model.n_views_ == 2
    assert isinstance(classifier(make, views=split).fit(POINTS, CLASSES).view_.view_, ArrayFeatures)
    assert split is None or split.view is None, "the parameter itself stays as it is"


@each_learner
def test_named_groups(make):
    model = tagger(make, views=FeatureGroups(TokenFeatures(window=0))).fit(X, Y)
    assert model.view_names_ == ["token", "surface"]
    assert 0 <= model.history_[-1]["token_disagreement"] <= model.history_[-1]["disagreement"] <= 1


# -- what is learned ---------------------------------------------------------------------------------------------------


@each_learner
def test_unlabeled_examples_make_a_difference_and_the_ramp_grows(make):
    few = X[:9], Y[:9]
    plain = tagger(make, unlabeled_weight=0, ramp=0).fit(*few)
    taught = tagger(make, unlabeled_weight=0.2, ramp=3).fit(*few)
    at_once = tagger(make, unlabeled_weight=0.2, ramp=0).fit(*few)
    assert not np.allclose(flat(plain), flat(taught))
    assert not np.allclose(flat(at_once), flat(taught))
    weights = [entry["unlabeled_weight"] for entry in taught.history_[: taught.n_iter_]]
    np.testing.assert_allclose(weights, [0.2 * 10 ** (-3 * (1 - k / 3)) for k in range(3)] + [0.2], rtol=1e-12)
    assert {entry["unlabeled_weight"] for entry in at_once.history_} == {0.2}
    assert taught.unlabeled_weight_ == 0.2


@each_learner
def test_weight_zero_learns_from_labels_alone(make):
    some = [i for i, y in enumerate(CLASSES) if y is not None]
    with_them = classifier(make, unlabeled_weight=0).fit(POINTS, CLASSES)
    without = classifier(make, unlabeled_weight=0).fit(POINTS[some], [CLASSES[i] for i in some])
    np.testing.assert_allclose(flat(with_them), flat(without), atol=1e-9)
    assert len(with_them.transduction_) == 48


@each_learner
def test_annotated_tokens_are_kept_when_targets_are_chosen(make):
    """A sentence labeled in part teaches its labels, and more than one without labels does."""
    hidden = [y if i < 3 else [label if t % 4 else None for t, label in enumerate(y)] for i, y in enumerate(Y_ALL)]
    unlabeled = [y if i < 3 else None for i, y in enumerate(Y_ALL)]
    all_none = [y if i < 3 else [None] * len(y) for i, y in enumerate(Y_ALL)]
    without, some, nothing = (tagger(make).fit(X, labels) for labels in (unlabeled, hidden, all_none))
    assert some.score(X_NEW, Y_NEW) > without.score(X_NEW, Y_NEW) + 0.05
    assert np.array_equal(flat(nothing), flat(without))


@each_learner
def test_constraints_that_labels_break_do_not_bind_training(make):
    broken = [["O", "I-P"], ["B-P", "I-P"], None]
    sentences = [["saw", "Lee"], ["Ana", "Lee"], ["Tom", "Lee"]]
    with pytest.warns(UserWarning, match="1 of 2 labeled outputs break the constraints"):
        model = tagger(make, structure=Sequence(constraints="iob2")).fit(sentences, broken)
    assert all(y[0] != "I-P" for y in model.predict(sentences))


def test_without_unlabeled_examples_the_co_perceptron_learns_until_nothing_is_wrong():
    model = CoPerceptron(MultiClass(), HALVES, unlabeled_weight=0, max_iter=500, random_state=0)
    model.fit(POINTS[:12], CLASSES[:12])
    assert model.n_iter_ == len(model.history_)
    wrong = [entry["wrong_outputs"] for entry in model.history_]
    assert 0 not in wrong[:-1]
    assert wrong[-1] == 0 or model.n_iter_ == 500
