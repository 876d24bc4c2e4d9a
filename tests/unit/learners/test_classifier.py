"""The default for classes: its parts against plain versions, what it takes, and when it stays with the labels alone."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from row_tables import each_row
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import accord
from accord import ArrayFeatures, Classifier, InputError, MultiClass, Sequence, Taxonomy, TextFeatures
from accord.learners import classifier
from accord.learners.classifier import SEMI_SUPERVISED, SUPERVISED
from accord.solvers import soft_classes

TOPICS = [[f"{name}{k}" for k in range(30)] for name in ("ball", "moon", "bread")]
OTHER = [f"the{k}" for k in range(40)]


def texts(n, seed, told=True):
    """Texts of three topics; without ``told`` their words say nothing."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = [" ".join([*rng.choice(TOPICS[c] if told else OTHER, 4), *rng.choice(OTHER, 6)]) for c in y]
    return X, [f"topic{c}" for c in y]


def some_rows(n, d, seed):
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, d), density=0.2, rng=rng, format="csr")
    return sp.csr_array(X), np.eye(3)[rng.integers(0, 3, n)]


@pytest.mark.parametrize("shape", [(30, 80), (120, 20)], ids=["few rows", "many rows"])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_regression_is_that_of_scikit_learn(shape, C):
    X, labels = some_rows(*shape, 0)
    ours = soft_classes.regression(X, labels, C, tol=1e-12, max_iter=2000)
    peer = LogisticRegression(C=C, fit_intercept=False, tol=1e-10, max_iter=5000).fit(X, labels.argmax(axis=1))
    np.testing.assert_allclose(ours, peer.coef_.T, atol=2e-4)


def test_an_example_counts_as_often_as_it_is_important():
    X, labels = some_rows(40, 15, 1)
    times = np.arange(40) % 3
    twice = np.repeat(np.arange(40), times)
    ours = soft_classes.regression(X, labels, 1.0, times.astype(float), tol=1e-12, max_iter=2000)
    repeated = soft_classes.regression(X[twice], labels[twice], 1.0, tol=1e-12, max_iter=2000)
    np.testing.assert_allclose(ours, repeated, atol=1e-4)


def plain_naive_bayes(X, labels, hidden, guesses, frequencies):
    """One entry at a time."""
    X, hidden = (
        [[v / (math.sqrt(sum(u * u for u in row)) or 1.0) for v in row] for row in part] for part in (X, hidden)
    )
    n_dims, n_classes = len(X[0]), len(labels[0])
    entries = [v for row in X + hidden for v in row if v]
    pseudo = 0.1 * math.sqrt(sum(v * v for v in entries) / len(entries))
    for _ in range(6):
        counts = [[pseudo] * n_classes for _ in range(n_dims)]
        for rows, soft in ((X, labels), (hidden, guesses)):
            for row, distribution in zip(rows, soft):
                for f in range(n_dims):
                    for c in range(n_classes):
                        counts[f][c] += row[f] * distribution[c]
        weights = [[0.0] * n_classes for _ in range(n_dims)]
        for c in range(n_classes):
            own = sum(counts[f][c] for f in range(n_dims))
            rest = sum(sum(counts[f]) - counts[f][c] for f in range(n_dims))
            for f in range(n_dims):
                weights[f][c] = math.log(counts[f][c] / own) - math.log((sum(counts[f]) - counts[f][c]) / rest)
        scores = [[sum(row[f] * weights[f][c] for f in range(n_dims)) for c in range(n_classes)] for row in hidden]
        factors = list(frequencies)
        for step in range(6):
            guesses = []
            for row in scores:
                odds = [math.exp(s) * factor for s, factor in zip(row, factors)]
                guesses.append([o / sum(odds) for o in odds])
            if step < 5:
                means = [sum(g[c] for g in guesses) / len(guesses) for c in range(n_classes)]
                factors = [f * p / m for f, p, m in zip(factors, frequencies, means)]
    return weights, guesses


@each_row("most", [1, 3], ids=["no weights", "weights"])
def test_naive_bayes_is_what_it_says(most):
    (X, labels), (hidden, guesses) = some_rows(8, 10, 2), some_rows(12, 10, 3)
    frequencies = np.array([0.5, 0.3, 0.2])
    times, times_hidden = 1 + np.arange(8) % most, 1 + np.arange(12) % most
    odds, constants, found = soft_classes.naive_bayes(
        X, labels, hidden, guesses, frequencies, times.astype(float), times_hidden.astype(float)
    )
    twice, twice_hidden = np.repeat(np.arange(8), times), np.repeat(np.arange(12), times_hidden)
    expected = plain_naive_bayes(
        X.toarray()[twice].tolist(), labels[twice].tolist(), hidden.toarray()[twice_hidden].tolist(),
        guesses[twice_hidden].tolist(), frequencies.tolist(),
    )  # fmt: skip
    np.testing.assert_allclose(odds, expected[0], rtol=1e-9)
    np.testing.assert_allclose(found[twice_hidden], expected[1], rtol=1e-9)
    assert constants.mean() == pytest.approx(0.0)


def test_guesses_are_held_to_frequencies():
    scores = np.random.default_rng(0).normal(size=(500, 3)) + [3.0, 0.0, -1.0]
    frequencies = np.array([0.2, 0.3, 0.5])
    guesses, constants = soft_classes.held_to(scores, frequencies, np.ones(500))
    np.testing.assert_allclose(guesses.mean(axis=0), frequencies, atol=0.02)
    odds = np.log(guesses[0]) - scores[0] - constants
    np.testing.assert_allclose(odds, odds[0])


def test_unlabeled_texts_help_and_it_says_so(tmp_path):
    X, Y = texts(300, 0)
    new, truth = texts(150, 1)
    hidden = [*Y[:18], *[None] * 282]
    model = Classifier(random_state=0).fit(X, hidden)
    alone = Classifier(random_state=0, learn_unlabeled="never").fit(X, hidden)
    wrong, wrong_alone = (np.sum(np.array(m.predict(new)) != truth) for m in (model, alone))
    assert wrong < wrong_alone
    assert [entry["chosen"] for entry in model.auto_report_] == [False, True]
    assert len(model.report_) == 3
    assert "282 unlabeled examples" in model.report_[0]
    assert model.transduction_ == model.predict(X[18:]).tolist()
    np.testing.assert_allclose(model.predict_marginals(new).sum(axis=1), 1.0)
    model.save(tmp_path / "m.accord")
    loaded = accord.load(tmp_path / "m.accord")
    np.testing.assert_array_equal(loaded.predict(new), model.predict(new))
    assert loaded.report_ == model.report_


def test_labels_alone_are_kept_when_the_rest_says_nothing():
    X, Y = texts(60, 2)
    noise, _ = texts(120, 3, told=False)
    model = Classifier(C=1.0, random_state=0).fit(X + noise, Y + [None] * 120)
    alone = Classifier(C=1.0, random_state=0, learn_unlabeled="never").fit(X + noise, Y + [None] * 120)
    assert [entry["candidate"] for entry in model.auto_report_ if entry["chosen"]] == [SUPERVISED]
    np.testing.assert_array_equal(model.weights_.unary, alone.weights_.unary)
    always = Classifier(C=1.0, random_state=0, learn_unlabeled="always").fit(X + noise, Y + [None] * 120)
    assert SEMI_SUPERVISED not in always.auto_report_[0]["candidate"]
    assert not np.array_equal(always.weights_.unary, alone.weights_.unary)


def test_any_kind_of_input(monkeypatch):
    monkeypatch.setattr(classifier, "MAX_ROUNDS", 1)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    numbers = rng.normal(size=(60, 3)) * [1.0, 1000.0, 0.01] + y[:, None] * [4.0, 0.0, 0.0]
    some = [int(c) if i < 20 else None for i, c in enumerate(y)]
    model = Classifier(random_state=0).fit(numbers, some)
    assert model.view_.standardize
    assert np.mean(np.array(model.predict(numbers)) == y) > 0.9
    counts = sp.csr_array(rng.poisson(1.0, (60, 4)) + np.outer(y, [5, 0, 0, 0]))
    assert np.mean(np.array(Classifier(C=1.0, random_state=0).fit(counts, some).predict(counts)) == y) > 0.9
    dicts = [{"a": int(c), "b": 1.0} for c in y]
    assert np.mean(np.array(Classifier(C=1.0, random_state=0).fit(dicts, some).predict(dicts)) == y) == 1.0


def test_a_taxonomy_and_a_view_may_be_given():
    X, Y = texts(60, 4)
    tree = {"topic0": "a", "topic1": "a", "a": "top", "topic2": "top"}
    model = Classifier(Taxonomy(tree), TextFeatures(min_count=1), random_state=0).fit(X, Y)
    flat = Classifier(MultiClass(), TextFeatures(min_count=1), random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), flat.predict(X))
    np.testing.assert_allclose(model.decision_function(X), flat.decision_function(X), atol=1e-8)


@each_row("n_labels", [1, 2, 3])
def test_very_few_labels(n_labels):
    X, Y = texts(30, 5)
    model = Classifier(random_state=0).fit(X, [*Y[:n_labels], *[None] * (30 - n_labels)])
    assert model.auto_report_ == []
    assert "too few" in model.report_[1]
    assert set(model.predict(X)) <= set(Y[:n_labels])


def weighted_and_repeated(monkeypatch, learn_unlabeled):
    """A fit with weights, and one of examples that are repeated instead, on the same folds."""
    rng = np.random.default_rng(6)
    X, y = rng.poisson(1.0, (60, 4)) + 0.5, np.arange(60) % 3
    X[:, :3] += 1.2 * np.eye(3)[y]
    Y = [f"class {c}" if i < 30 else None for i, c in enumerate(y)]
    times = rng.integers(0, 4, 60)
    often = np.repeat(np.arange(60), times)
    labeled = np.flatnonzero(times[:30])
    folds = [labeled[f::4] for f in range(4)]  # by number of the example
    fits = []
    for chosen in (labeled, often[often < 30]):
        monkeypatch.setattr(
            classifier, "labeled_folds", lambda *_, c=chosen: [np.flatnonzero(np.isin(c, fold)) for fold in folds]
        )
        model = Classifier(view=ArrayFeatures(bias="one"), learn_unlabeled=learn_unlabeled, random_state=0)
        if chosen is labeled:
            fits.append(model.fit(X, Y, sample_weight=times))
        else:
            fits.append(model.fit(X[often], [Y[i] for i in often]))
    monkeypatch.undo()
    return X, *fits


@pytest.mark.parametrize("learn_unlabeled", ["never", "always"])
def test_weights_of_examples_are_how_often_they_count(monkeypatch, learn_unlabeled):
    X, weighted, repeated = weighted_and_repeated(monkeypatch, learn_unlabeled)
    assert weighted.C_ == repeated.C_
    np.testing.assert_allclose(weighted.auto_report_[0]["fold_errors"], repeated.auto_report_[0]["fold_errors"])
    assert len(set(weighted.auto_report_[0]["fold_errors"])) > 1
    expected = repeated.decision_function(X)
    np.testing.assert_allclose(weighted.decision_function(X), expected, atol=1e-2 * np.abs(expected).max())
    plain = Classifier(view=ArrayFeatures(bias="one"), learn_unlabeled=learn_unlabeled, random_state=0)
    plain.fit(X, [f"class {i % 3}" if i < 30 else None for i in range(60)])
    assert np.abs(plain.decision_function(X) - expected).max() > 0.05 * np.abs(expected).max()


def test_whether_unlabeled_examples_help_is_counted_in_weights_whatever_their_scale(monkeypatch):
    y = np.eye(2)[[0] * 12]
    before, after = np.tile([0.0, 1.0], (12, 1)), np.tile([1.0, 0.0], (12, 1))
    before[:4], after[:4] = [1.0, 0.0], [0.0, 1.0]  # of twelve, eight are mended and four broken
    held, rows = {SUPERVISED: before, SEMI_SUPERVISED: after}, sp.csr_array((12, 1))
    monkeypatch.setattr(classifier, "MAX_ROUNDS", 1)
    for weights, chosen in (
        (np.ones(12), SEMI_SUPERVISED),
        (np.full(12, 0.01), SEMI_SUPERVISED),
        (np.r_[np.full(4, 2.0), np.ones(8)], SUPERVISED),
        (np.r_[np.ones(11), 50.0], SEMI_SUPERVISED),
        (np.r_[50.0, np.ones(11)], SUPERVISED),
    ):
        examples = classifier.Examples(rows, y, rows, weights, np.ones(12))
        gain = Classifier()._gain(held, examples, np.arange(12), list)
        assert Classifier()._chosen(gain, examples) == chosen


def test_other_folds_are_asked_while_in_doubt(monkeypatch):
    """Whether a decision hangs on the draw of the folds: the more rounds, the less."""
    X, Y = texts(60, 3)
    Y = [*Y[:24], *[None] * 36]
    asked = []
    original = classifier.labeled_folds
    monkeypatch.setattr(classifier, "labeled_folds", lambda *args: asked.append(1) or original(*args))
    monkeypatch.setattr(classifier, "DOUBT", np.inf)
    monkeypatch.setattr(classifier, "MAX_ROUNDS", 3)
    Classifier(C=1.0, random_state=0).fit(X, Y)
    assert len(asked) == 3
    asked.clear()
    monkeypatch.setattr(classifier, "DOUBT", -1.0)
    Classifier(C=1.0, random_state=0).fit(X, Y)
    assert len(asked) == 1


def test_examples_of_weight_zero_are_not_there(monkeypatch):
    monkeypatch.setattr(classifier, "MAX_ROUNDS", 1)
    X, Y = texts(40, 7)
    Y = [*Y[:20], *[None] * 20]
    kept = np.r_[3:20, 25:40]
    view = TextFeatures(min_count=1, idf=False)
    zero = Classifier(view=view, random_state=0).fit(X, Y, sample_weight=np.isin(np.arange(40), kept))
    absent = Classifier(view=view, random_state=0).fit([X[i] for i in kept], [Y[i] for i in kept])
    here = [X[i] for i in kept]
    np.testing.assert_allclose(zero.decision_function(here), absent.decision_function(here), rtol=1e-3, atol=1e-2)
    assert zero.report_ == absent.report_
    assert len(zero.transduction_) == 20
    none = Classifier(C=1.0, view=view, random_state=0).fit(X, Y, sample_weight=[1.0] * 20 + [0.0] * 20)
    alone = Classifier(C=1.0, view=view, random_state=0).fit(X[:20], Y[:20])
    assert none.report_ == alone.report_


def test_probabilities_need_no_structure_to_be_named():
    X, Y = texts(30, 8)
    model = Classifier(random_state=0).fit(X, Y)
    found = model.predict_proba(X)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), found)


def test_it_is_a_classifier_of_classes():
    assert clone(Classifier(C=3.0)).get_params()["C"] == 3.0
    with pytest.raises(InputError, match="one class for every input"):
        Classifier(Sequence()).fit([["a"]], [["x"]])
    with pytest.raises(InputError, match="learn_unlabeled is 'no'"):
        Classifier(learn_unlabeled="no").fit(["a text", "b text"], ["x", "y"])
    with pytest.raises(InputError, match="C is 0"):
        Classifier(C=0).fit(["a text", "b text"], ["x", "y"])
