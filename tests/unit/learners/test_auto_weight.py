"""unlabeled_weight="auto": how it chooses, that it falls back, that it takes what helps, and what it reports."""

import itertools

import numpy as np
import pytest
from consensus_cases import CLASSES, MAKERS, POINTS, Y_ALL, X, Y, classifier, each_learner, tagger
from row_tables import each_row

from accord import ArrayFeatures, CoPerceptron, MultiClass, Select, Sequence, StructuredSVM
from accord.datasets import gaussian_classes
from accord.learners import consensus, safety
from accord.learners.safety import Candidate, choose, labeled_folds, most_trusted
from accord.learners.tag_schemes import LOSSES

SUPERVISED, HALF, FULL = (
    Candidate(name, w, []) for name, w in [("one view", 0.0), ("two views", 0.5), ("two views", 1.0)]
)


def chosen(errors, n_labeled=8, n_inputs=8, **options):
    """The choice among candidates whose errors on each fold are given."""
    candidates = [SUPERVISED, HALF, FULL][: len(errors)]
    folds = {id(c): iter(e) for c, e in zip(candidates, errors)}
    rng = np.random.default_rng(0)
    return choose(candidates, lambda c, used, out: (next(folds[id(c)]), 10), n_labeled, n_inputs, None, rng, **options)


# -- the rule ---------------------------------------------------------------------------------------------------------


@each_row(
    ("errors", "expected"),
    [
        ([[2, 2, 2, 2], [2, 2, 2, 2], [2, 2, 2, 2]], SUPERVISED),
        ([[2, 2, 2, 2], [2, 2, 1, 2], [2, 2, 2, 2]], HALF),
        ([[2, 2, 2, 2], [2, 2, 1, 2], [1, 2, 1, 2]], FULL),
        ([[2, 2, 2, 2], [2, 2, 1, 2], [2, 1, 2, 2]], HALF),
        ([[2, 2, 2, 2], [0, 0, 0, 3], [3, 3, 3, 3]], SUPERVISED),
        ([[2, 2, 2, 2], [0, 0, 0, 3], [1, 2, 2, 2]], FULL),
        ([[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]], SUPERVISED),
    ],
)
def test_unlabeled_examples_must_pay_and_do_no_harm_in_any_fold(errors, expected):
    found, report = chosen(errors)
    assert found is expected
    assert [entry["chosen"] for entry in report] == [c is expected for c in (SUPERVISED, HALF, FULL)]
    assert [entry["unlabeled_weight"] for entry in report] == [0.0, 0.5, 1.0]
    assert [entry["candidate"] for entry in report] == ["one view", "two views", "two views"]
    for entry, own in zip(report, errors):
        tried = next((f + 1 for f in range(4) if own[f] > errors[0][f]), 4)
        np.testing.assert_allclose(entry["fold_errors"], np.array(own[:tried]) / 10)


def test_who_errs_more_in_one_fold_is_not_tried_in_others():
    calls = []

    def errors(candidate, used, held_out):
        calls.append(candidate)
        return (3 if candidate is HALF and len(calls) > 3 else 2), 10

    options = (8, 8, None, np.random.default_rng(0))
    assert choose([SUPERVISED, HALF, FULL], errors, *options)[0] is SUPERVISED
    assert calls == [SUPERVISED, HALF, FULL, SUPERVISED, HALF, FULL, SUPERVISED, FULL, SUPERVISED, FULL]
    calls.clear()
    choose([SUPERVISED, HALF, FULL], errors, *options, strict=False)
    assert calls == [SUPERVISED, HALF, FULL] * 4, "the total decides, so all folds are needed"


def test_the_report_says_why():
    _, report = chosen([[2, 2, 2, 2], [0, 0, 3, 3], [2, 2, 2, 2]])
    assert report[0]["why"].startswith("supervised: nothing else helped")
    assert report[1]["why"] == "worse than supervised in 1 of 3 folds"
    _, report = chosen([[2, 2, 2, 2], [1, 2, 2, 2]])
    assert report[1]["why"].startswith("fewest errors")


def test_if_not_strict_the_total_decides():
    errors = [[2, 2, 2, 2], [0, 0, 0, 3], [3, 3, 3, 3]]
    assert chosen(errors, strict=False)[0] is HALF
    assert chosen([[2, 2], [2, 2]], n_labeled=2, strict=False)[0] is SUPERVISED, "a tie is no reason"


@each_row(
    ("errors", "expected"),
    [
        ([[1, 1, 1, 1], [1, 1, 1, 1]], SUPERVISED),
        ([[2, 0, 2, 1], [0, 2, 1, 1]], SUPERVISED),  # one error more, but differences of 2, -2, 1 and 0
        ([[2, 2, 2, 2], [1, 1, 1, 1]], HALF),  # the same difference in every example: no doubt at all
        ([[9, 9, 9, 8], [1, 0, 1, 1], [0, 1, 0, 0]], HALF),  # the third is best, the second not clearly worse
    ],
)
def test_trust_decides_among_those_that_are_not_clearly_worse(errors, expected):
    candidates = [SUPERVISED, HALF, FULL][: len(errors)]

    def wrong(candidate, used, held_out):
        return np.array([[e, 10] for e in errors[candidates.index(candidate)]])[held_out]

    found, report = most_trusted(candidates, wrong, LOSSES["tokens"], 4, 4, np.random.default_rng(0))
    assert found is expected
    assert [entry["chosen"] for entry in report] == [c is expected for c in candidates]
    for entry, own in zip(report, errors):
        assert sorted(entry["fold_errors"]) == sorted(e / 10 for e in own)


def test_one_fold_says_enough_about_many_examples(monkeypatch):
    monkeypatch.setattr(safety, "MANY", 11)
    held = []

    def wrong(candidate, used, held_out):
        held.append(held_out)
        return np.zeros((held_out.size, 2))

    most_trusted([SUPERVISED, HALF], wrong, LOSSES["tokens"], 12, 30, np.random.default_rng(0))
    assert [h.size for h in held] == [3, 3]
    held.clear()
    assert most_trusted([HALF, SUPERVISED], wrong, LOSSES["tokens"], 1, 30, np.random.default_rng(0))[0] is HALF
    assert not held


@pytest.mark.parametrize(
    ("seconds", "supervised", "half"), [(0.5, 1, 0), (2.5, 1, 1), (4.5, 2, 2), (6.5, 3, 3), (None, 4, 4)]
)
def test_nothing_begins_after_the_time_is_over(monkeypatch, seconds, supervised, half):
    """Every fit takes a second; supervised ones come first, and folds that were begun do not count."""
    clock = [0.0]
    monkeypatch.setattr(safety.time, "monotonic", lambda: clock[0])

    def wrong(candidate, used, held_out):
        clock[0] += 1.0
        return np.array([[candidate is SUPERVISED, 1.0]] * held_out.size)

    found, report = most_trusted([SUPERVISED, HALF], wrong, LOSSES["tokens"], 4, 4, np.random.default_rng(0), seconds)
    assert found is (HALF if half else SUPERVISED)
    assert [len(entry["fold_errors"]) for entry in report] == [supervised, half]
    assert (report[1]["why"] == "not tried: the time was over") == (half == 0)


def test_nothing_to_compare():
    calls = []
    for n_labeled, candidates, why in [
        (1, [SUPERVISED, HALF], "too few labeled examples to compare on"),
        (9, [SUPERVISED], "nothing to choose from"),
    ]:
        found, report = choose(
            candidates, lambda *args: calls.append(args), n_labeled, 50, None, np.random.default_rng(0)
        )  # fmt: skip
        assert found is SUPERVISED
        assert (report[0]["why"], report[0]["chosen"], report[0]["fold_errors"]) == (why, True, [])
    assert not calls


def test_every_labeled_example_is_held_out_once_and_unlabeled_ones_are_always_there(monkeypatch):
    monkeypatch.setattr(safety, "MAX_UNLABELED", 20)
    for n_inputs in (30, 500):
        seen = []

        def errors(candidate, used, held_out, seen=seen):
            seen.append((used.tolist(), held_out.tolist()))
            return 0, 1

        choose([SUPERVISED, HALF], errors, 10, n_inputs, None, np.random.default_rng(0))
        assert seen[::2] == seen[1::2], "all candidates see the same folds"
        assert sorted(i for _, held_out in seen[::2] for i in held_out) == list(range(10))
        unlabeled = {tuple(i for i in used if i >= 10) for used, _ in seen}
        assert len(unlabeled) == 1
        assert len(set(*unlabeled)) == 20
        for used, held_out in seen:
            assert sorted([*held_out, *(i for i in used if i < 10)]) == list(range(10))


def test_folds_have_as_many_of_each_class():
    classes = np.array([0] * 8 + [1] * 4 + [2] * 2)
    for seed in range(5):
        folds = labeled_folds(14, classes, np.random.default_rng(seed))
        assert len(folds) == 4
        for c in range(3):
            counts = [np.sum(classes[fold] == c) for fold in folds]
            assert max(counts) - min(counts) <= 1
    assert [len(f) for f in labeled_folds(3, None, np.random.default_rng(0))] == [1, 1, 1]
    assert labeled_folds(1, None, np.random.default_rng(0)) == []


# -- learners ---------------------------------------------------------------------------------------------------------


def harmful(seed):
    """Four columns tell the classes apart; the other view has nothing but loud noise, and teaches it."""
    X, y = gaussian_classes(300, n_classes=2, n_features=4, separation=2.0, random_state=seed)
    noise = 5.0 * np.random.default_rng(seed).normal(size=(300, 4))
    return np.hstack([X, noise]), y


# of co-SVMs with make test-all: the rule and what they fall back to have tests of their own
@pytest.mark.slow
@pytest.mark.parametrize(
    "make", [MAKERS["co-perceptron"], pytest.param(MAKERS["co-SVM"], marks=pytest.mark.long)], ids=MAKERS
)
def test_auto_falls_back_when_unlabeled_examples_do_harm(make):
    views = [Select(slice(a, a + 4), ArrayFeatures(bias="one")) for a in (0, 4)]
    data, y = harmful(0)
    labels = [label if i < 16 else None for i, label in enumerate(y[:40])]
    model = classifier(make, views=views, unlabeled_weight="auto").fit(data[:40], labels)
    assert model.unlabeled_weight_ == 0.0
    assert (model.n_views_, model.view_names_) == (1, ["view"])
    first, *others = model.auto_report_
    assert first["chosen"]
    assert first["why"].startswith("supervised: nothing else helped")
    assert [entry["unlabeled_weight"] for entry in others] == [0.0, 0.1, 1.0]
    assert any("worse than supervised in" in entry["why"] for entry in others)
    alone = classifier(make, views=ArrayFeatures(bias="one"), unlabeled_weight=0).fit(data[:40], labels)
    taught = classifier(make, views=views, unlabeled_weight=1.0).fit(data[:40], labels)
    scores = [m.score(data[120:], y[120:]) for m in (model, alone, taught)]
    assert scores[0] == pytest.approx(scores[1], abs=0.1), "the fallback is the supervised learner"
    assert scores[2] < scores[1], "the data are not harmful"


def test_the_fallback_of_the_co_svm_is_the_structured_svm(monkeypatch):
    monkeypatch.setattr(consensus, "choose", lambda candidates, *_, **__: (candidates[0], []))
    data, y = harmful(0)
    data, y = data[:30], y[:30]
    labels = [label if i < 16 else None for i, label in enumerate(y)]
    views = [Select(slice(a, a + 4), ArrayFeatures(bias="one")) for a in (0, 4)]
    model = MAKERS["co-SVM"](MultiClass(), views=views, tol=1e-4).fit(data, labels)
    assert model.n_views_ == 1, "it did not fall back"
    svm = StructuredSVM(MultiClass(), view=model.view_, tol=1e-4, random_state=0).fit(data, labels)
    np.testing.assert_allclose(model.weights_.unary, svm.weights_.unary, atol=1e-2)


def test_auto_takes_unlabeled_examples_when_they_help():
    data, y = gaussian_classes(700, n_classes=3, n_features=10, separation=1.0, random_state=0)
    labels = [label if i < 15 else None for i, label in enumerate(y[:300])]
    views = [Select(slice(0, 5)), Select(slice(5, 10))]
    model = CoPerceptron(MultiClass(), views, random_state=0).fit(data[:300], labels)
    alone = CoPerceptron(MultiClass(), ArrayFeatures(), unlabeled_weight=0, random_state=0).fit(data[:300], labels)
    assert model.unlabeled_weight_ == 0.1
    assert model.n_views_ == 2
    report = model.auto_report_
    best = next(entry for entry in report if entry["chosen"])
    assert best["why"].startswith("fewest errors")
    assert sum(best["fold_errors"]) < sum(report[0]["fold_errors"])
    assert all(a <= b for a, b in zip(best["fold_errors"], report[0]["fold_errors"]))
    assert model.score(data[300:], y[300:]) > alone.score(data[300:], y[300:]) + 0.02


@each_learner
def test_one_labeled_example(make):
    model = tagger(make, unlabeled_weight="auto").fit(X, [Y_ALL[0]] + [None] * 17)
    assert model.unlabeled_weight_ == 0.0
    assert model.auto_report_[0]["why"] == "too few labeled examples to compare on"
    assert [entry["fold_errors"] for entry in model.auto_report_] == [[]] * 4
    assert len(model.transduction_) == 17


@each_learner
def test_two_labeled_examples_of_different_classes(make):
    labels = [None] * 60
    first, other = 0, next(i for i, y in enumerate(CLASSES) if y != CLASSES[0])
    labels[first], labels[other] = CLASSES[first], CLASSES[other]
    model = classifier(make, unlabeled_weight="auto").fit(POINTS, labels)
    assert model.unlabeled_weight_ == 0.0, "a held-out class is not seen in training, so nothing can pay"
    assert len(model.auto_report_[0]["fold_errors"]) == 2


@pytest.mark.slow
@each_learner
def test_what_auto_tries(make):
    few, partly = X[:10], Y[:10]
    with_hidden = tagger(make, unlabeled_weight="auto").fit(few, partly).auto_report_
    assert [(e["candidate"], e["unlabeled_weight"]) for e in with_hidden] == [
        ("one view", 0.0), ("2 views", 0.0), ("2 views", 0.1), ("2 views", 1.0)
    ]  # fmt: skip
    assert len(with_hidden[0]["fold_errors"]) == 4
    assert all(1 <= len(e["fold_errors"]) <= 4 for e in with_hidden[1:]), "those that do worse are not tried any more"
    complete = tagger(make, unlabeled_weight="auto").fit(few[:4], Y_ALL[:4]).auto_report_
    assert [(e["candidate"], e["unlabeled_weight"]) for e in complete] == [("one view", 0.0), ("2 views", 0.0)]
    single = classifier(make, views=ArrayFeatures(), unlabeled_weight="auto").fit(POINTS[:24], CLASSES[:24])
    assert [(e["candidate"], e["unlabeled_weight"]) for e in single.auto_report_] == [
        ("one view", 0.0), ("one view", 0.1), ("one view", 1.0)
    ]  # fmt: skip
    assert tagger(make, unlabeled_weight=0.5).fit(few, partly).auto_report_ is None


@each_learner
def test_held_out_tokens_without_labels_do_not_count(make):
    """Partly labeled sentences are held out, too; a fold counts the labels that there are."""
    hidden = [[label if t == i % len(y) else None for t, label in enumerate(y)] for i, y in enumerate(Y_ALL[:8])]
    model = tagger(make, structure=Sequence(), unlabeled_weight="auto").fit(X, [*hidden, *[None] * 10])
    rates = itertools.chain.from_iterable(entry["fold_errors"] for entry in model.auto_report_)
    assert {round(2 * rate, 9) for rate in rates} <= {0.0, 1.0, 2.0}, "two labels in each fold"
