"""Labels that are probably wrong, and errors without labels."""

import numpy as np
import pytest
import scipy.sparse as sp

from accord import (
    CRF,
    Classifier,
    InputError,
    MultiClass,
    Sequence,
    StructuredPerceptron,
    Tree,
    estimate_error,
    suspects,
)
from accord.datasets import embedded_ner
from accord.datasets.label_spans import extract_spans
from accord.learners.error_estimate import calibrated_error
from accord.learners.span_suspects import _called


def blobs(n, seed, spread=1.0, apart=3.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    return rng.normal(size=(n, 2)) * spread + apart * y[:, None], y


def test_classes_that_were_changed_are_found():
    X, y = blobs(120, 0, apart=6.0)
    wrong = {3, 40, 77, 100}
    given = [str(1 - k if i in wrong else k) for i, k in enumerate(y)]
    for model in (None, StructuredPerceptron(MultiClass(), random_state=0)):
        found = suspects(X, given, model, random_state=0)
        assert {one.example for one in found[:4]} == wrong
        assert all(one.given != one.suggested and one.probability > 0.5 for one in found)
        assert [one.probability for one in found] == sorted((one.probability for one in found), reverse=True)


def test_spans_that_were_changed_are_found():
    X, Y = embedded_ner(150, random_state=0)
    Y = [list(y) for y in Y]
    spans = [(i, *span) for i, y in enumerate(Y) for span in extract_spans(y)]
    rng = np.random.default_rng(0)
    changed = set()
    for k in rng.permutation(len(spans))[: len(spans) // 20]:
        i, kind, start, end = spans[k]
        other = next(name for name in ("PER", "LOC", "ORG") if name != kind)
        Y[i][start:end] = [label[:2] + other for label in Y[i][start:end]]
        changed.add((i, start, end))
    found = suspects(X, [None, *Y[1:]], random_state=0)
    assert all(one.example > 0 for one in found)  # the first one is unlabeled
    top = [(one.example, one.start, one.end) in changed for one in found[: len(changed)]]
    assert np.mean(top) > 3 * len(changed) / len(spans)


def test_one_span_without_a_beginning_does_not_turn_spans_into_tokens():
    X = [["Ana", "lives", "in", "Old", "Rome"]] * 11 + [["Old", "Rome"]]
    Y = [["B-PER", "O", "O", "B-LOC", "I-LOC"]] * 10 + [["B-PER", "O", "O", "B-PER", "I-PER"], ["I-LOC", "I-LOC"]]
    found = suspects(X, Y, n_splits=6, random_state=0)
    assert (found[0].example, found[0].start, found[0].end, found[0].given) == (10, 3, 5, "PER")


def test_clues_leave_out_the_span_itself():
    clue = sp.csr_array(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 2.0], [0.0, 0.0]]))
    given, weights = np.array([0, 0, 1, 1]), np.array([1.0, 1.0, 1.0, 0.0])
    usual = np.array([3.0, 2.0]) / 5  # of spans that count, and one of each kind more
    same, other = np.log((np.array([1.0, 0.0]) / usual + 1) / 2), np.log((np.array([0.0, 2.0]) / usual + 1) / 3)
    alone = np.log((np.array([1.0, 0.0]) / usual + 1) / 2)
    expected = [same, (same + other) / 2, alone, np.zeros(2)]
    np.testing.assert_allclose(_called(clue, given, weights, 2), expected)


def test_single_tokens_without_spans():
    X = [["a", "b"]] * 12
    Y = [["A", "B"]] * 11 + [["A", "A"]]
    found = suspects(X, Y, n_splits=12, random_state=0)
    assert [(one.example, one.start, one.given, one.suggested) for one in found] == [(11, 1, "A", "B")]


def test_constituents_that_were_changed_are_found():
    X = [["the", "dog", "barks"], ["the", "cat", "sleeps"], ["a", "dog", "sleeps"]] * 4
    Y = [f"(S (NP (D {x[0]}) (N {x[1]})) (VP (V {x[2]})))" for x in X]
    Y[5] = Y[5].replace("NP", "VP", 1)
    found = suspects(X, Y, CRF(Tree()), n_splits=4, random_state=0)
    assert (found[0].example, found[0].start, found[0].end, found[0].given) == (5, 0, 2, "VP")


def test_too_few_labels_are_refused():
    with pytest.raises(InputError, match="2 labeled examples"):
        suspects(["a", "b"], ["x", "y"])
    with pytest.raises(InputError, match="n_splits is 1"):
        suspects(["a", "b"], ["x", "y"], n_splits=1)


def test_the_error_is_estimated_also_where_inputs_are_harder():
    X, y = blobs(400, 0)
    model = CRF(MultiClass()).fit(X, y)
    for spread in (1.0, 2.0):
        X_new, y_new = blobs(2000, 1, spread)
        true = float(np.mean(model.predict(X_new) != y_new))
        found = estimate_error(model, X_new, X, y, random_state=0)
        assert found.low <= found.error <= found.high
        if spread == 1.0:
            assert found.low - 0.01 <= true <= found.high + 0.01
        else:
            assert found.error > found.held_out_error


def test_the_error_of_sequences_and_of_learners_without_probabilities():
    X, Y = embedded_ner(90, random_state=0)
    for model in (CRF(Sequence()), StructuredPerceptron(Sequence(), random_state=0)):
        found = estimate_error(model, X[60:], X[:60], Y[:60], n_splits=3, random_state=0)
        true = 1.0 - model.fit(X[:60], Y[:60]).score(X[60:], Y[60:])
        assert abs(found.error - true) < 0.03
    with pytest.raises(InputError, match="X_new is empty"):
        estimate_error(CRF(Sequence()), [], X[:60], Y[:60], n_splits=3)
    with pytest.raises(InputError, match="0 labeled examples"):
        estimate_error(CRF(Sequence()), X, X, [None] * 90)


def test_a_classifier_knows_what_it_will_err():
    X, y = blobs(300, 0, apart=1.5)
    Y = [label if i < 40 else None for i, label in enumerate(y)]
    model = Classifier(random_state=0).fit(X, Y)
    same, y_same = blobs(2000, 1, apart=1.5)
    found = estimate_error(model, same, X, Y)
    assert found == estimate_error(Classifier(random_state=0), same, X, Y)
    assert found.low < float(np.mean(model.predict(same) != y_same)) < found.high
    assert abs(found.error - model.expected_error_["error"]) < 0.05
    harder = estimate_error(model, 0.75 + 0.2 * (same - 0.75), X, Y)  # near the middle, where it is unsure
    assert harder.error > found.error + 0.03
    assert harder.high > found.high
    assert harder.held_out_error == found.held_out_error == model.expected_error_["held_out_error"]
    learned = estimate_error(model, X[40:], X, Y)  # it is surer of these, and not more often right
    assert learned.error >= model.expected_error_["error"] - 1e-12
    few = Classifier(random_state=0).fit(X[:4], y[:4])
    assert few.expected_error_ is None
    with pytest.raises(InputError, match="too few labels"):
        estimate_error(few, same, X[:4], y[:4])


def test_few_held_out_labels_without_errors_do_not_mean_that_there_are_none():
    sure = np.full(10, 0.8)
    found = calibrated_error(np.arange(10), sure, np.zeros(10), np.full(50, 0.8))
    assert found.held_out_error == 0.0
    assert 0.02 < found.error < 0.3
    assert found.low < found.error < found.high < 0.7
    more = calibrated_error(np.arange(1000), np.full(1000, 0.8), np.zeros(1000), np.full(50, 0.8))
    assert more.error < 0.3 * found.error


def test_labels_of_an_example_that_are_wrong_together_say_less():
    rng = np.random.default_rng(0)
    sure, asked = rng.uniform(0.5, 1.0, 400), rng.uniform(0.5, 1.0, 400)
    together = np.repeat(rng.random(40) < 0.3, 10).astype(float)
    apart = rng.permutation(together)
    groups = np.repeat(np.arange(40), 10)
    one, two = (calibrated_error(groups, sure, wrong, asked) for wrong in (together, apart))
    assert one.high - one.low > 1.5 * (two.high - two.low)


def test_the_interval_holds_the_error_of_predictions_that_are_less_often_right_than_probable():
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(100):
        p = rng.uniform(0.5, 0.99, 2050)
        wrong = (rng.random(2050) < (1.0 - p) ** 0.7).astype(float)
        found = calibrated_error(np.arange(50), p[:50], wrong[:50], p[50:])
        hits += found.low <= wrong[50:].mean() <= found.high
    assert hits >= 85


def test_margins_have_no_scale():
    rng = np.random.default_rng(0)
    margins, asked, wrong = rng.exponential(size=100), rng.exponential(size=300), (rng.random(100) < 0.2).astype(float)
    one, two = (
        calibrated_error(np.arange(100), scale * margins, wrong, scale * asked, probable=False) for scale in (1.0, 50.0)
    )
    assert one == pytest.approx(two)
    same = calibrated_error(np.arange(100), np.ones(100), wrong, np.ones(3), probable=False)  # of one class, say
    assert abs(same.error - wrong.mean()) < 0.1
