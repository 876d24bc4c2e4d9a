"""Evidence about kinds of words: counted by hand, added to scores, chosen on folds."""

import pickle

import numpy as np
import pytest

import accord
from accord import CRF, InputError, MultiClass, Sequence, StructuredPerceptron, TokenFeatures, TypeConsistency
from accord.datasets import embedded_ner
from accord.views.type_odds import TypeOdds

X, Y = embedded_ner(120, random_state=0)
X_NEW, Y_NEW = embedded_ner(60, random_state=1)
FEW = Y[:12] + [None] * 108


def crf():
    return CRF(Sequence(constraints="iob2"), view=TokenFeatures(window=1), C=10.0)


def test_log_odds_of_a_word_are_those_counted_by_hand():
    odds = TypeOdds(keys=("word",), smoothing=1.0).learn([["a", "b", "A"]], np.array([0, 1, 1]), 2)
    prior = np.array([1.001, 2.001]) / 3.002
    row = odds.transform([["a", "new"]]).matrix().toarray()
    np.testing.assert_allclose(row[0], np.log((np.array([1, 1]) + prior) / 3 / prior))
    np.testing.assert_array_equal(row[1], 0.0)


def test_kinds_add_up_and_endings_reach_new_words():
    both = TypeOdds(keys=("word", "suffix2")).learn([["baker", "runs"]], np.array([0, 1]), 2)
    each = [TypeOdds(keys=(key,)).learn([["baker", "runs"]], np.array([0, 1]), 2) for key in both.keys]
    parts = [view.transform([["baker"]]).matrix().toarray() for view in each]
    np.testing.assert_allclose(both.transform([["baker"]]).matrix().toarray(), sum(parts))
    assert np.any(both.transform([["maker"]]).matrix().toarray() != 0)
    with pytest.raises(InputError, match="keys has 'stem'"):
        TypeOdds(keys=("stem",)).learn([["a"]], np.array([0]), 1)


def test_strength_zero_is_the_learner_itself():
    plain = CRF(Sequence(constraints="iob2"), view=TokenFeatures(window=1), C=10.0).fit(X, FEW)
    model = TypeConsistency(crf(), strength=0, random_state=0).fit(X, FEW)
    assert model.predict(X_NEW) == plain.predict(X_NEW)


def test_scores_are_the_learners_plus_evidence():
    plain = crf().fit(X, FEW)
    model = TypeConsistency(crf(), strength=0.5, keys=("word",), student=False, random_state=0).fit(X, FEW)
    tagged = [y if y is not None else found for y, found in zip(FEW, plain.predict(X))]
    labels = plain.structure_.labels_
    numbers = np.array([labels.index(label) for y in tagged for label in y])
    odds = TypeOdds(keys=("word",)).learn(X, numbers, len(labels)).transform(X_NEW).matrix().toarray()
    expected = np.concatenate(plain.decision_function(X_NEW)) + 0.5 * odds
    np.testing.assert_allclose(np.concatenate(model.decision_function(X_NEW)), expected, atol=1e-8)


@pytest.mark.parametrize("learner", [crf(), StructuredPerceptron(Sequence(), view=TokenFeatures(), random_state=0)])
def test_model_repeats_itself_and_survives_saving(learner, tmp_path):
    model = TypeConsistency(learner, strength=0.4, random_state=3).fit(X, FEW)
    found = model.predict(X_NEW)
    assert len(model.transduction_) == 108
    assert TypeConsistency(learner, strength=0.4, random_state=3).fit(X, FEW).predict(X_NEW) == found
    assert pickle.loads(pickle.dumps(model)).predict(X_NEW) == found
    model.save(tmp_path / "model.accord")
    assert accord.load(tmp_path / "model.accord").predict(X_NEW) == found


def test_auto_reports_what_it_tried():
    model = TypeConsistency(crf(), random_state=0).fit(X, FEW)
    assert model.auto_report_[0]["candidate"] == "learner alone"
    assert sum(entry["chosen"] for entry in model.auto_report_) == 1
    chosen = next(entry for entry in model.auto_report_ if entry["chosen"])
    assert chosen["unlabeled_weight"] == model.strength_
    assert np.mean(chosen["fold_errors"]) <= np.mean(model.auto_report_[0]["fold_errors"]) + 1e-12


def test_what_makes_no_sense_is_refused():
    with pytest.raises(InputError, match="strength is -1"):
        TypeConsistency(crf(), strength=-1).fit(X, FEW)
    with pytest.raises(InputError, match="learner is"):
        TypeConsistency(accord.HMM(Sequence())).fit(X, FEW)
    with pytest.raises(InputError, match="sentences of words"):
        TypeConsistency(CRF(MultiClass()), strength=0.4).fit([{"a": 1}, {"b": 1}, {"a": 1}], ["x", "y", None])
    with pytest.warns(UserWarning, match="no unlabeled example"):
        TypeConsistency(crf()).fit(X[:12], Y[:12])
