"""The default for classes: its parts against plain versions, what it takes, and when it stays with the labels alone."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from row_tables import each_row
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

import accord
from accord import ArrayFeatures, Classifier, InputError, MultiClass, Sequence, Taxonomy, TextFeatures
from accord.learners import class_error, class_losses, class_race, class_ways, classifier
from accord.learners.class_race import Entry, Tried
from accord.learners.class_ways import LABELS, Examples, Way
from accord.solvers import agreeing_classes, soft_classes

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
    assert [entry["unlabeled_weight"] for entry in model.auto_report_ if entry["chosen"]] == [1.0]
    assert len(model.report_) == 4
    assert model.report_[2].startswith("expected error on new examples: about ")
    assert "282 unlabeled examples" in model.report_[0]
    assert model.transduction_ == model.predict(X[18:]).tolist()
    np.testing.assert_allclose(model.predict_marginals(new).sum(axis=1), 1.0)
    model.save(tmp_path / "m.accord")
    loaded = accord.load(tmp_path / "m.accord")
    np.testing.assert_array_equal(loaded.predict(new), model.predict(new))
    assert loaded.report_ == model.report_


def test_unlabeled_texts_that_say_nothing_do_no_harm():
    X, Y = texts(60, 2)
    noise, _ = texts(120, 3, told=False)
    new, truth = texts(150, 9)
    model = Classifier(C=1.0, random_state=0).fit(X + noise, Y + [None] * 120)
    alone = Classifier(C=1.0, random_state=0, learn_unlabeled="never").fit(X + noise, Y + [None] * 120)
    assert np.sum(model.predict(new) != truth) <= np.sum(alone.predict(new) != truth) + 1
    always = Classifier(C=1.0, random_state=0, learn_unlabeled="always").fit(X + noise, Y + [None] * 120)
    assert [entry["unlabeled_weight"] for entry in always.auto_report_ if entry["chosen"]] == [1.0]
    assert not np.array_equal(always.weights_.unary, alone.weights_.unary)


def test_any_kind_of_input(monkeypatch):
    monkeypatch.setattr(class_race, "MAX_ROUNDS", 1)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    numbers = rng.normal(size=(60, 3)) * [1.0, 1000.0, 0.01] + y[:, None] * [4.0, 0.0, 0.0]
    some = [int(c) if i < 20 else None for i, c in enumerate(y)]
    model = Classifier(random_state=0).fit(numbers, some)
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
    monkeypatch.setattr(class_race, "TRUST", 0.0)  # how much labels say together is another matter
    monkeypatch.setattr(agreeing_classes, "UNSURE", 0.0)
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


def test_the_expected_error_is_that_of_two_witnesses():
    rows = sp.csr_array((12, 1))
    guessed = np.eye(2)[[1] * 4 + [0] * 8]
    for weights, rate, n in (
        (np.ones(12), 1 / 3, 12.0),
        (np.full(12, 0.01), 1 / 3, 12.0),
        (np.r_[np.full(4, 2.0), np.ones(8)], 0.5, 256 / 24),
    ):
        examples = Examples(rows, np.eye(2)[[0] * 12], rows, weights, np.ones(12), np.empty(0, np.int64))
        entry = Entry(Way(LABELS, False, None), 0, examples, LABELS)
        one = Tried(entry, np.zeros((12, 2)), guessed, 0.1)
        assert one.rate == pytest.approx(rate)
        assert one.expected_error == pytest.approx((n * rate + 20 * 0.1) / (n + 20))
        doubted = one._replace(entry=entry._replace(way=Way("some", True, None, prior=0.05)))
        assert doubted.expected_error == pytest.approx((n * rate + 20 * 0.15) / (n + 20))


def test_losses_are_shares_of_wrong_labels_and_what_macro_f1_lacks():
    rng = np.random.default_rng(0)
    truth, found = rng.integers(0, 4, (2, 50))
    found[truth == 3], truth[truth == 3] = 0, 2  # one class is only found, and one does not occur
    weights = rng.integers(0, 3, (5, 50)).astype(float)
    tables = np.eye(5)[truth], np.eye(5)[found]
    errors = [np.average(truth != found, weights=each) for each in weights]
    lacking = [1.0 - f1_score(truth, found, average="macro", sample_weight=each) for each in weights]
    np.testing.assert_allclose(class_losses.loss("error", weights, *tables), errors)
    np.testing.assert_allclose(class_losses.loss("macro_f1", weights, *tables), lacking)
    # all of the rare class is missed: a tenth is wrong, and its F1 is 0, that of the other class 0.9 / 0.95
    expected, never = np.array([0.9, 0.1]), np.array([1.0, 0.0])
    assert class_losses.odd_loss("error", expected, never, np.zeros(2)) == pytest.approx(0.1)
    assert class_losses.odd_loss("macro_f1", expected, never, np.zeros(2)) == pytest.approx(1.0 - 0.9 / 0.95 / 2)
    assert class_losses.odd_loss("error", expected, never, np.full(2, 0.2)) == 0.0


def test_the_metric_decides():
    """With one class in eight, fewer errors are those of a way that hardly predicts it."""
    rng = np.random.default_rng(8)
    y = (np.arange(200) % 8 == 0).astype(int)
    X = rng.normal(size=(200, 6)) + np.where(y, 1.0, 0.0)[:, None]
    Y = [int(c) if i < 40 else None for i, c in enumerate(y)]
    by_error, by_f1 = (Classifier(metric=metric, random_state=0).fit(X, Y) for metric in ("error", "macro_f1"))
    scores = [f1_score(y[40:], model.transduction_, average="macro") for model in (by_error, by_f1)]
    assert scores[1] > scores[0] + 0.1
    assert "held-out labels wrong" in by_error.report_[1]
    assert "macro F1 of held-out labels" in by_f1.report_[1]
    for model in (by_error, by_f1):
        chosen = min(model.auto_report_, key=lambda entry: entry["expected_error"])
        assert chosen["chosen"]


def test_the_expected_error_is_not_that_of_the_luckiest():
    """Forty ways guess; the one that was right most often is right in half of new examples, like all of them."""
    rng = np.random.default_rng(0)
    rows, labels = sp.csr_array((100, 1)), np.eye(2)[[0, 1] * 50]
    examples = Examples(rows, labels, rows, np.ones(100), np.ones(100), np.empty(0, np.int64))
    entries = [Entry(Way(str(k), True, None), 0, examples, str(k)) for k in range(40)]
    tried = [Tried(one, np.zeros((100, 2)), np.eye(2)[rng.integers(2, size=100)], 0.5) for one in entries]
    chosen = class_race.best(tried)
    assert chosen.rate == min(one.rate for one in tried) < 0.42
    found = class_error.expected_error(tried, chosen, 1.0, rng)
    assert found["held_out_error"] == pytest.approx(chosen.rate)
    assert found["low"] < 0.44 < found["error"] < 0.5 < found["high"]
    alone = class_error.expected_error([chosen], chosen, 1.0, rng)  # nothing was chosen
    assert alone["error"] == pytest.approx((100 * chosen.rate + 10 * 0.2) / 110, abs=0.01)
    assert found["held_out_doubt"] == pytest.approx(0.5)


def test_links_are_preferred_unless_clearly_worse():
    rows, labels = sp.csr_array((20, 1)), np.eye(2)[[0] * 20]
    examples = Examples(rows, labels, rows, np.ones(20), np.ones(20), np.empty(0, np.int64))

    def tried(n_wrong, linked):
        way = Entry(Way("some", True, None), 0, examples, "some", linked)
        return Tried(way, np.zeros((20, 2)), np.eye(2)[[1] * n_wrong + [0] * (20 - n_wrong)], 0.0)

    ways = [tried(4, False), tried(6, True)]  # 0.1 and 0.15 are expected, the standard error of 0.15 is 0.056
    assert class_race.best(ways).entry.linked
    assert not class_race.best([ways[0], tried(14, True)]).entry.linked
    weights = np.stack([np.ones(20), np.r_[np.zeros(4), np.ones(16)]])
    np.testing.assert_array_equal(class_race.chosen_by([tried(4, False), tried(14, True)], weights, 20.0), [0, 0])


def test_labels_alone_win_ties_and_given_views_come_next():
    examples = Examples(
        sp.csr_array(np.eye(4)), np.eye(2)[[0, 1, 0, 1]], sp.csr_array(np.eye(4)), np.ones(4), np.ones(4),
        np.empty(0, np.int64),
    )  # fmt: skip
    one = class_ways.Spanned(np.eye(8))
    priors = {way.name: way.prior for way in class_ways.ways(1.0, examples, [[one], [one, one]])}
    assert priors[LABELS] == 0.0
    assert priors["views that agree, ridge 1"] == 0.02 < priors["clusters, ridge 1"] == 0.05


def test_pixels_are_neighbours_by_numbers_as_they_are():
    """Columns that hardly vary are noise; standardized, they drown the others."""
    rng = np.random.default_rng(0)
    angle, y = rng.uniform(0.0, 2 * np.pi, 150), np.arange(150) % 3
    rings = (3.0 + 3.0 * y)[:, None] * np.c_[np.cos(angle), np.sin(angle)] + 0.1 * rng.normal(size=(150, 2))
    X = np.hstack([rings, 0.01 * rng.normal(size=(150, 20))])
    Y = [int(c) if i < 30 else None for i, c in enumerate(y)]
    model = Classifier(C=100.0, random_state=0).fit(X, Y)
    chosen = next(entry["candidate"] for entry in model.auto_report_ if entry["chosen"])
    assert chosen.startswith("neighbours by numbers as they are")
    assert np.mean(np.asarray(model.predict(X)) != y) < 0.1


def test_doubt_is_what_changes_or_comes_too_often():
    """A way that always predicts one class never changes its mind, and is wrong about the other class's share."""
    rows, labels = sp.csr_array(np.ones((40, 1))), np.eye(2)[[0] * 20 + [1] * 20]
    examples = Examples(rows, labels, rows, np.ones(40), np.ones(40), np.empty(0, np.int64))
    folds = [np.arange(f, 40, 4) for f in range(4)]

    def attempt(*classes):
        """Learners that predict these classes one after another, first that of all labels."""
        answers = iter(classes)
        way = Way("some", True, lambda _: class_race.Linear(np.eye(2)[[next(answers)]], np.zeros(2)))
        return class_race.attempt(Entry(way, 0, examples, "some"), [folds], np.arange(40))

    chance = np.sqrt(0.25 / 40)
    assert attempt(0, 0, 0, 0, 0).doubt == pytest.approx(0.5 - chance)
    assert attempt(0, 1, 1, 1, 0).doubt == 0.75
    assert attempt(0, 1, 1, 1, 0).rate == 0.5


def test_few_labels_are_drawn_into_folds_again(monkeypatch):
    X, Y = texts(60, 3)
    asked = []
    original = classifier.labeled_folds
    monkeypatch.setattr(classifier, "labeled_folds", lambda *args: asked.append(1) or original(*args))
    for n, rounds in ((8, 3), (12, 2), (24, 1)):
        asked.clear()
        Classifier(C=1.0, random_state=0).fit(X, [*Y[:n], *[None] * (60 - n)])
        assert len(asked) == rounds


def test_nothing_is_tried_after_the_time_budget():
    X, Y = texts(60, 3)
    Y = [*Y[:24], *[None] * 36]
    model = Classifier(C=1.0, random_state=0, time_budget=1e-9).fit(X, Y)
    assert [entry["candidate"] for entry in model.auto_report_] == [LABELS]
    assert len(Classifier(C=1.0, random_state=0).fit(X, Y).auto_report_) > 2


def test_the_time_budget_is_also_that_of_views(monkeypatch):
    clouds, _, y = clusters()
    Y = [*map(str, y[:20]), *[None] * 180]
    monkeypatch.setattr(classifier, "other_views", None)  # must not be asked
    model = Classifier(random_state=0, time_budget=1e-9).fit(clouds, Y)
    assert [entry["candidate"] for entry in model.auto_report_] == [LABELS]


def test_views_are_not_prepared_any_more_when_the_time_is_over(monkeypatch):
    clouds, _, y = clusters()
    clock, chosen = [0.0], []

    def choose_C(self, seen, rounds):
        clock[0] += 1.0
        chosen.append(seen.name)
        return 1.0

    monkeypatch.setattr(Classifier, "_choose_C", choose_C)
    monkeypatch.setattr(classifier, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    Y = [*map(str, y[:20]), *[None] * 180]
    assert Classifier(random_state=0, time_budget=2.5).fit(clouds, Y).auto_report_
    assert chosen == ["", "kernel"]


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(100.0, [0, 1, 2, 3, 4, 5]), (8.5, [0, 1, 2, 3, 5]), (6.5, [0, 2, 3, 5]), (2.5, [2, 3]), (1.5, [2]), (0.0, [2])],
)
def test_what_takes_the_least_time_is_tried_first_and_nothing_that_would_end_too_late(monkeypatch, seconds, expected):
    clock = [0.0]

    def attempt(entry, rounds, some, metric, left):
        cost = 2.5 if entry.waits else 1.0
        clock[0] += min(cost, left)
        return int(entry.name) if cost <= left else None

    monkeypatch.setattr(class_race, "attempt", attempt)
    monkeypatch.setattr(class_race, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    # the third and fourth need no unlabeled examples, the last one has links
    unlabeled, linked = [True, True, False, False, True, True], [False] * 5 + [True]
    entries = [
        Entry(Way(LABELS, own, None), 0, None, str(k), link) for k, (own, link) in enumerate(zip(unlabeled, linked))
    ]
    assert class_race.race(entries, [], np.arange(3), seconds, lambda: None) == expected


def test_what_would_take_too_long_is_given_up_and_nothing_is_learned_twice(monkeypatch):
    clock, calls = [0.0], []

    def learn(examples):
        clock[0] += 1.0
        calls.append(examples.X.shape[0])
        return class_race.Linear(np.ones((1, 2)), np.zeros(2))

    monkeypatch.setattr(class_race, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    rows, labels = sp.csr_array(np.ones((8, 1))), np.eye(2)[[0, 1] * 4]
    examples = Examples(rows, labels, rows, np.ones(8), np.ones(8), np.empty(0, np.int64))
    entry, folds = Entry(Way("some", True, learn), 0, examples, "some"), [np.arange(f, 8, 4) for f in range(4)]
    assert class_race.attempt(entry, [folds, folds], np.arange(8), seconds=8.9) is None
    assert calls == [8]  # nine would be needed
    assert class_race.attempt(entry, [folds, folds], np.arange(8), seconds=9.0).learned is not None
    assert calls == [8, 8] + [6] * 8
    assert class_race.attempt(entry, [folds], np.arange(4)).learned is None  # some is not all


def clusters(seed=0):
    """Two clouds of 100 points in 20 dimensions, of which five labels say little; and a spiral for each class."""
    rng = np.random.default_rng(seed)
    y = np.arange(200) % 2
    clouds = rng.normal(size=(200, 20)) + np.where(y, 0.4, -0.4)[:, None]
    angle = rng.uniform(0.5, 3.0, 200) * np.pi
    spirals = (angle[:, None] * np.c_[np.cos(angle + np.pi * y), np.sin(angle + np.pi * y)]) + 0.05 * rng.normal(
        size=(200, 2)
    )
    return clouds, spirals, y


@pytest.mark.parametrize("shape", ["clouds", "spirals"])
def test_rows_of_numbers_in_clusters_or_on_curves(tmp_path, shape):
    clouds, spirals, y = clusters()
    X = clouds if shape == "clouds" else spirals
    n = 10 if shape == "clouds" else 30
    Y = [int(c) if i < n else None for i, c in enumerate(y)]
    model = Classifier(random_state=0).fit(X, Y)
    alone = Classifier(view=ArrayFeatures(standardize=True), random_state=0, learn_unlabeled="never").fit(X, Y)
    wrong, wrong_alone = (np.mean(np.asarray(m.predict(X)) != y) for m in (model, alone))
    assert wrong < 0.6 * wrong_alone
    model.save(tmp_path / "m")
    np.testing.assert_allclose(accord.load(tmp_path / "m").predict_proba(X), model.predict_proba(X))


def test_given_views_that_agree():
    rng = np.random.default_rng(1)
    y = np.arange(300) % 2
    X = rng.normal(size=(300, 60)) + np.where(y, 0.35, -0.35)[:, None]
    views = [accord.Select(slice(0, 30)), accord.Select(slice(30, 60))]
    Y = [int(c) if i < 12 else None for i, c in enumerate(y)]
    model = Classifier(view=views, random_state=0).fit(X, Y)
    names = [entry["candidate"] for entry in model.auto_report_]
    assert any(name.startswith("views that agree") for name in names)
    assert np.mean(np.asarray(model.predict(X)) != y) < 0.1


def test_examples_of_weight_zero_are_not_there(monkeypatch):
    monkeypatch.setattr(class_race, "MAX_ROUNDS", 1)
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
    with pytest.raises(InputError, match="metric is 'f1'"):
        Classifier(metric="f1").fit(["a text", "b text"], ["x", "y"])
    with pytest.raises(InputError, match="C is 0"):
        Classifier(C=0).fit(["a text", "b text"], ["x", "y"])


def test_the_surest_of_all_and_of_every_class():
    guesses = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4], [0.45, 0.55], [0.48, 0.52]])
    # overall half of them reach 0.7, of the classes 0.8 and 0.55: the limits are 0.75 and 0.625
    np.testing.assert_array_equal(class_ways.sure_ones(guesses, np.ones(6)), [0, 1])
    weights = np.array([1.0, 1, 1, 1, 8, 1])  # overall 0.55; of the classes 0.8 and 0.55
    np.testing.assert_array_equal(class_ways.sure_ones(guesses, weights), [0, 1, 2, 4])
    often = np.repeat(np.arange(6), weights.astype(int))
    repeated = class_ways.sure_ones(guesses[often], np.ones(often.size))
    np.testing.assert_array_equal(np.unique(often[repeated]), [0, 1, 2, 4])


def test_links_help_and_links_that_mislead_do_no_harm():
    rng = np.random.default_rng(0)
    y = np.arange(150) % 3
    own = rng.normal(size=(150, 30)) + 1.5 * np.eye(30)[y]
    right = [(i, j) for i in range(150) for j in rng.choice(np.flatnonzero(y == y[i]), 3)]
    wrong = rng.integers(0, 150, (450, 2))
    Y = [int(c) if i < 30 else None for i, c in enumerate(y)]
    errors = {}
    for name, edges in (("right", right), ("wrong", wrong)):
        model = Classifier(C=1.0, view=accord.LinkedFeatures(edges, table=own), random_state=0).fit(range(150), Y)
        errors[name] = np.mean(np.asarray(model.predict(range(30, 150))) != y[30:])
        chosen = next(entry["candidate"] for entry in model.auto_report_ if entry["chosen"])
        assert chosen.startswith("no links") == (name == "wrong")
    alone = Classifier(C=1.0, view=ArrayFeatures(), random_state=0, learn_unlabeled="never").fit(own, Y)
    wrong_alone = np.mean(np.asarray(alone.predict(own[30:])) != y[30:])
    assert errors["right"] < 0.5 * wrong_alone
    assert errors["wrong"] < 1.2 * wrong_alone
