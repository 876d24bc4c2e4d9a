"""The default for label sequences: what it finds out by itself, what it takes, and what it says about it."""

import pickle

import numpy as np
import pytest
from row_tables import each_row

import accord
from accord import (
    CRF,
    BrownClusters,
    Embeddings,
    EncoderFeatures,
    InputError,
    MultiClass,
    Sequence,
    Tagger,
    TokenFeatures,
)
from accord.datasets import embedded_ner
from accord.evaluation import span_f1, token_error
from accord.learners import safety
from accord.learners.tag_schemes import LOSSES, counts, metric_of
from accord.learners.tagger import Way, natural_structure
from accord.views import encoders

X, Y = embedded_ner(40, random_state=0)
X_NEW, Y_NEW = embedded_ner(30, random_state=1)


@pytest.fixture(scope="module")
def fitted():
    return Tagger(random_state=0).fit(X[:20], Y[:5] + [None] * 15)


@pytest.fixture(scope="module")
def supervised():
    return Tagger(random_state=0).fit(X[1:5], Y[1:5])


# -- the structure ----------------------------------------------------------------------------------------------------


@each_row(
    ("outputs", "constraints"),
    [
        ([["B-PER", "I-PER", "O"], None], "iob2"),
        ([["O", "B-X"], ["B-X", None, "I-X"]], "iob2"),
        ([["O", "I-X"]], None),
        ([["B-X", "I-Y"]], None),
        ([["S-X", "O", "B-X", "I-X", "E-X"]], "bioes"),
        ([["S-X", "O", "B-X", "O"]], None),
        ([["O", "O"]], None),
        ([["PER", "O"]], None),
        ([["B-", "O"]], None),
        ([[0, 1]], None),
        ([3, "O", [["B-X"]]], None),
    ],
)
def test_constraints_are_those_that_the_labels_look_like_and_obey(outputs, constraints):
    assert natural_structure(outputs).constraints == constraints


def test_a_structure_that_is_given_is_taken_as_it_is():
    model = Tagger(Sequence(labels=["O", *sorted({t for y in Y for t in y if t != "O"}), "B-NEW"]), random_state=0)
    model.fit(X[:3], Y[:3])
    assert "B-NEW" in model.structure_.labels_
    assert model.structure_.constraints is None
    with pytest.raises(InputError, match="Tagger needs"):
        Tagger(MultiClass()).fit([[1.0], [2.0]], ["a", "b"])


# -- what is learned --------------------------------------------------------------------------------------------------


def test_unlabeled_sentences_are_used_and_compared(fitted):
    names = [entry["candidate"] for entry in fitted.auto_report_]
    assert names == ["type consistency", "CRF with word vectors", "SVM", "CRF"]
    assert sum(entry["chosen"] for entry in fitted.auto_report_) == 1
    assert fitted.structure_.constraints == "iob2"
    assert len(fitted.transduction_) == 15
    assert fitted.transduction_ == fitted.predict(X[5:20])
    assert fitted.score(X_NEW, Y_NEW) >= CRF(Sequence(constraints="iob2")).fit(X[:5], Y[:5]).score(X_NEW, Y_NEW) - 0.01


def test_three_lines_say_what_was_done(fitted):
    used, brought, advice = fitted.report_
    chosen = next(entry for entry in fitted.auto_report_ if entry["chosen"])
    assert used.startswith(f"used: {chosen['candidate']}, 5 labeled")
    assert "F1 of held-out spans is" in brought
    assert advice.startswith("next: ")


def test_without_unlabeled_sentences_it_is_supervised(supervised):
    assert supervised.report_[1] == "unlabeled sentences: none were given"
    assert supervised.transduction_ == []
    assert [entry["candidate"] for entry in supervised.auto_report_] == ["SVM", "CRF"]
    assert all(entry["unlabeled_weight"] == 0 for entry in supervised.auto_report_)


def test_tokens_that_are_no_words():
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=(len(x), 3)) + [[label != "O"] * 3 for label in y] for x, y in zip(X[:12], Y[:12])]
    model = Tagger(random_state=0).fit(rows, Y[:4] + [None] * 8)
    assert "no words" in model.report_[1]
    assert len(model.transduction_) == 8
    assert [len(y) for y in model.predict(rows[:3])] == [len(y) for y in Y[:3]]


def test_one_labeled_sentence_is_enough():
    model = Tagger(random_state=0).fit(X[:30], Y[:1] + [None] * 29)
    assert len(model.transduction_) == 29
    assert len(model.report_) == 3


def test_single_tokens_without_labels_and_any_order_of_examples():
    partly = [[label if t % 2 else None for t, label in enumerate(y)] for y in Y[:2]]
    outputs = [None] * 6 + partly + Y[2:4]
    model = Tagger(random_state=0).fit(X[20:26] + X[:4], outputs)
    assert model.transduction_ == model.predict(X[20:26])


def test_a_view_of_your_own():
    model = Tagger(view=TokenFeatures(window=0), random_state=0).fit(X[:8], Y[:3] + [None] * 5)
    assert model.view_.views_[-1].get_params() == TokenFeatures(window=0).get_params()
    own = TokenFeatures(window=0).fit(X[:8])
    assert model.view_.views_[-1].feature_names(range(own.n_dims_)) == own.feature_names(range(own.n_dims_))


def elsewhere():
    """What is known about words from elsewhere: paths, vectors, and an encoder."""
    words = sorted({word for x in X + X_NEW for word in x})
    paths = {word: "01" * (1 + len(word) % 4) for word in words}
    vectors = {word: [len(word), ord(word[0])] for word in words}
    return [BrownClusters(paths, prefixes=(2, 4)), Embeddings(vectors), EncoderFeatures(encode, name="looks")]


def encode(batch):
    return [np.array([[len(token), token.istitle()] for token in x], float).reshape(-1, 2) for x in batch]


def test_vectors_from_elsewhere_race_with_and_without_them(tmp_path):
    given = elsewhere()
    model = Tagger(vectors=given, random_state=0).fit(X[:20], Y[:5] + [None] * 15)
    names = [entry["candidate"] for entry in model.auto_report_]
    assert names == [
        "type consistency", "CRF with word vectors", "type consistency, no vectors",
        "SVM", "CRF", "SVM, no vectors", "CRF, no vectors",
    ]  # fmt: skip
    assert not any(hasattr(view, "n_dims_") for view in given)  # views of the constructor stay as they are
    assert model.transduction_ == model.predict(X[5:20])
    model.save(tmp_path / "m.accord")
    loaded = encoders.attach(accord.load(tmp_path / "m.accord"), encode)
    assert loaded.predict(X_NEW) == model.predict(X_NEW)
    assert pickle.loads(pickle.dumps(model)).predict(X_NEW) == model.predict(X_NEW)


def test_vectors_are_for_supervised_learners_too_and_come_as_a_view_or_by_name():
    brown = elsewhere()[0]
    fits = [Tagger(vectors=v, random_state=0).fit(X[:5], Y[:5]) for v in (brown, {"clusters": brown})]
    assert [entry["candidate"] for entry in fits[0].auto_report_] == [
        "SVM",
        "CRF",
        "SVM, no vectors",
        "CRF, no vectors",
    ]
    assert fits[0].predict(X_NEW) == fits[1].predict(X_NEW)
    with pytest.raises(InputError, match="expected a view"):
        Tagger(vectors="glove.txt").fit(X[:3], Y[:3])


def test_mistakes_are_named_where_they_are():
    with pytest.raises(InputError, match=r"Y\[3\] has 1 labels but X\[3\] has"):
        Tagger().fit(X[:6], [None, *Y[1:3], ["O"], None, None])
    with pytest.raises(InputError, match="all 3 examples are unlabeled"):
        Tagger().fit(X[:3], [None] * 3)
    with pytest.raises(InputError, match="X is empty"):
        Tagger().fit([], [])


# -- what decides -----------------------------------------------------------------------------------------------------


def test_losses_are_those_of_the_evaluation():
    truth, found = Y[:20], [["O"] * len(y) if i % 3 == 0 else y[:-1] + ["B-PER"] for i, y in enumerate(Y[:20])]
    assert LOSSES["spans"](counts("spans", truth, found).sum(axis=0)) == pytest.approx(1 - span_f1(truth, found))
    assert LOSSES["tokens"](counts("tokens", truth, found).sum(axis=0)) == pytest.approx(token_error(truth, found))
    hidden = [[None, *y[1:]] for y in truth]
    assert counts("tokens", hidden, truth)[:, 1].tolist() == [len(y) - 1 for y in truth]
    assert LOSSES["spans"](np.zeros(3)) == 0.0


def test_the_metric_fits_the_labels():
    assert metric_of("auto", Y[:5]) == "spans"
    assert metric_of("auto", [[None, *Y[0][1:]]]) == metric_of("auto", [["PER", "O"]]) == "tokens"
    assert metric_of("tokens", Y[:5]) == "tokens"
    with pytest.raises(InputError, match="metric is 'spans', but the labels in Y are not all"):
        Tagger(metric="spans").fit([["Ana", "left"], ["Tom", "is"]], [["PER", "O"], ["PER", "O"]])
    with pytest.raises(InputError, match="metric is 'f1'; expected"):
        Tagger(metric="f1").fit(X[:2], Y[:2])


def test_a_short_time_leaves_the_strongest_supervised_learner():
    model = Tagger(time_budget=1e-9, random_state=0).fit(X[:8], Y[:4] + [None] * 4)
    tried = {entry["candidate"]: bool(entry["fold_errors"]) for entry in model.auto_report_}
    assert tried == {"type consistency": False, "CRF with word vectors": False, "SVM": True, "CRF": False}
    assert "used: SVM" in model.report_[0]


# -- weights ----------------------------------------------------------------------------------------------------------


def test_weights_of_sentences_are_how_often_they_count(monkeypatch):
    """Where every candidate is a convex optimum, and copies of a sentence are held out together."""
    times = np.array([2, 1, 0, 3, 1, 1, 0, 2, 1, 1, 2, 1])
    often = np.repeat(np.arange(12), times)
    kept = np.flatnonzero(times)
    labels = sorted({label for y in Y[:12] for label in y})
    options = {"tol": 1e-9, "max_iter": 2000}

    def ways(self, structure, text, *_):
        return [Way(f"C = {C}", 0.0, CRF(structure, text, C=C, **options)) for C in (1e-4, 1.0)]

    monkeypatch.setattr(Tagger, "_ways", ways)
    fits = []
    for chosen, weights in ((kept, times), (often, None), (np.arange(12), np.ones(12))):
        monkeypatch.setattr(
            safety, "labeled_folds", lambda *_, c=chosen: [np.flatnonzero(c % 3 == f) for f in range(3)]
        )
        rows = np.arange(12) if weights is not None else often
        model = Tagger(Sequence(labels=labels), metric="tokens")
        fits.append(model.fit([X[i] for i in rows], [Y[i] for i in rows], sample_weight=weights))
    weighted, repeated, plain = fits
    for one, other in zip(weighted.auto_report_, repeated.auto_report_, strict=True):
        np.testing.assert_allclose(one["fold_errors"], other["fold_errors"])
        assert one["chosen"] == other["chosen"]
    for one, other in zip(weighted.decision_function(X), repeated.decision_function(X), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-3)
    assert plain.auto_report_[0]["fold_errors"] != weighted.auto_report_[0]["fold_errors"]


def test_labeled_sentences_of_weight_zero_are_left_out(supervised):
    some = Tagger(random_state=0).fit(X[:5], Y[:5], sample_weight=[0] + [1] * 4)
    for one, other in zip(some.decision_function(X[1:5]), supervised.decision_function(X[1:5])):
        np.testing.assert_allclose(one, other, atol=1e-2)
    assert "4 labeled" in some.report_[0]


# -- copies -----------------------------------------------------------------------------------------------------------


def test_it_repeats_itself_and_survives_saving(fitted, tmp_path):
    again = Tagger(random_state=0).fit(X[:20], Y[:5] + [None] * 15)
    np.testing.assert_array_equal(again.weights_.unary, fitted.weights_.unary)
    fitted.save(tmp_path / "m.accord")
    for copy in (accord.load(tmp_path / "m.accord"), pickle.loads(pickle.dumps(fitted))):
        assert copy.predict(X_NEW) == fitted.predict(X_NEW)
        assert copy.report_ == fitted.report_
