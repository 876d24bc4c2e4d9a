"""Evidence about kinds of words: counted by hand, added to scores, chosen on folds."""

import math
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


def evidence_by_hand(X, tagged, labels, words):
    """Log odds of the labels of words, counted one by one."""
    flat = [(word.lower(), label) for x, y in zip(X, tagged) for word, label in zip(x, y)]
    total = {label: sum(found == label for _, found in flat) + 1e-3 for label in labels}
    prior = {label: total[label] / sum(total.values()) for label in labels}
    rows = []
    for word in words:
        own = [label for other, label in flat if other == word.lower()]
        odds = [math.log((own.count(a) + prior[a]) / (len(own) + 1) / prior[a]) for a in labels]
        rows.append(odds if own else [0.0] * len(labels))
    return np.array(rows)


def test_a_second_round_gathers_evidence_from_the_outcome_of_the_first():
    plain = crf().fit(X, FEW)
    once = TypeConsistency(crf(), strength=0.5, keys=("word",), random_state=0).fit(X, FEW)
    twice = TypeConsistency(crf(), strength=0.5, keys=("word",), random_state=0, rounds=2, student=False)
    last = TypeConsistency(crf(), strength=0.5, keys=("word",), random_state=0, student=False).fit(X, FEW)
    twice.fit(X, FEW)
    tagged = [y if y is not None else found for y, found in zip(FEW, last.predict(X))]
    words, labels = [word for x in X_NEW for word in x], plain.structure_.labels_
    expected = np.concatenate(plain.decision_function(X_NEW)) + 0.5 * evidence_by_hand(X, tagged, labels, words)
    np.testing.assert_allclose(np.concatenate(twice.decision_function(X_NEW)), expected, atol=1e-8)
    again = TypeConsistency(crf(), strength=0.5, keys=("word",), random_state=0, rounds=2).fit(X, FEW)
    assert any(np.any(a != b) for a, b in zip(again.decision_function(X_NEW), once.decision_function(X_NEW)))


def test_recall_is_what_outside_loses():
    settings = {"strength": 0.5, "keys": ("word",), "student": False, "random_state": 0}
    before = TypeConsistency(crf(), **settings).fit(X, FEW)
    after = TypeConsistency(crf(), recall=1.5, **settings).fit(X, FEW)
    lost = 1.5 * (np.array(before.structure_.labels_) == "O")
    for one, other in zip(before.decision_function(X_NEW), after.decision_function(X_NEW), strict=True):
        np.testing.assert_allclose(other, one - lost, atol=1e-8)
    counts = [sum(label != "O" for y in model.predict(X_NEW) for label in y) for model in (before, after)]
    assert counts[0] < counts[1]
    with pytest.raises(InputError, match="recall is"):
        TypeConsistency(crf(), recall="high").fit(X, FEW)


def test_labels_without_an_outside_lose_nothing():
    kinds = [[label[2:] or "none" for label in y] if y else None for y in FEW]
    first = [TypeConsistency(CRF(Sequence()), strength=0.4, recall=r, random_state=0).fit(X, kinds) for r in (0.0, 1.0)]
    assert first[0].predict(X_NEW) == first[1].predict(X_NEW)


@pytest.mark.parametrize("learner", [crf(), StructuredPerceptron(Sequence(), view=TokenFeatures(), random_state=0)])
def test_model_repeats_itself_and_survives_saving(learner, tmp_path):
    model = TypeConsistency(learner, strength=0.4, rounds=2, recall=1.0, random_state=3).fit(X, FEW)
    found = model.predict(X_NEW)
    assert len(model.transduction_) == 108
    again = TypeConsistency(learner, strength=0.4, rounds=2, recall=1.0, random_state=3)
    assert again.fit(X, FEW).predict(X_NEW) == found
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
