"""Flat metrics against hand-made cases and scikit-learn."""

import numpy as np
import pytest
from row_tables import each_row
from sklearn import metrics as reference

from accord.evaluation import (
    METRICS,
    Metric,
    TreeLoss,
    accuracy,
    get_metric,
    hamming_loss,
    label_scores,
    macro_f1,
    micro_f1,
    rmse,
    token_error,
    zero_one_loss,
)
from accord.exceptions import InputError

TRUE = [["a", "b", "b", "a"], ["c"], ["a", "a"]]
PRED = [["a", "b", "c", "a"], ["a"], ["a", "a"]]


def test_sequence_losses_by_hand():
    assert zero_one_loss(TRUE, PRED) == pytest.approx(2 / 3)
    assert token_error(TRUE, PRED) == pytest.approx(2 / 7)
    assert hamming_loss(TRUE, PRED) == pytest.approx((1 / 4 + 1 + 0) / 3)
    assert accuracy(TRUE, PRED) == pytest.approx(5 / 7)


def test_flat_labels_agree_with_each_other():
    true, pred = [1, 2, 3, 3], [1, 2, 2, 3]
    assert zero_one_loss(true, pred) == token_error(true, pred) == hamming_loss(true, pred) == 0.25
    assert accuracy(np.array(true), np.array(pred)) == 0.75


def test_strings_are_labels_not_sequences():
    assert token_error(["abc", "xyz"], ["abd", "xyz"]) == 0.5


def test_arrays_and_tuples_are_sequences():
    assert token_error([np.array([1, 2]), (3,)], [[1, 1], [3]]) == pytest.approx(1 / 3)
    assert zero_one_loss([(1, 2)], [np.array([1, 2])]) == 0.0
    assert token_error(np.array([[1, 2], [3, 4]]), np.array([[1, 2], [3, 0]])) == 0.25


def test_empty_sequences_count_as_right_outputs_without_tokens():
    assert hamming_loss([[], ["a"]], [[], ["b"]]) == 0.5
    assert token_error([[], ["a"]], [[], ["b"]]) == 1.0
    with pytest.raises(InputError, match="only empty sequences"):
        token_error([[]], [[]])


@each_row("average", ["micro", "macro"])
def test_f1_agrees_with_scikit_learn(average):
    rng = np.random.default_rng(0)
    labels = ["O", "A", "B", "C"]
    true = [labels[i] for i in rng.integers(4, size=200)]
    pred = [t if rng.random() < 0.6 else labels[rng.integers(4)] for t in true]
    ours = {"micro": micro_f1, "macro": macro_f1}[average]
    expected = reference.f1_score(true, pred, labels=["A", "B", "C"], average=average)
    assert ours(true, pred) == pytest.approx(expected)
    assert ours([true[:90], true[90:]], [pred[:90], pred[90:]]) == pytest.approx(expected)
    everything = reference.f1_score(true, pred, average=average)
    assert ours(true, pred, exclude=()) == pytest.approx(everything)


def test_precision_divides_by_the_number_predicted():
    counts = label_scores(["A", "A", "A", "O"], ["A", "O", "O", "A"]).per_label["A"]
    assert (counts.n_true, counts.n_pred, counts.n_correct) == (3, 2, 1)
    assert counts.precision == 1 / 2
    assert counts.recall == 1 / 3
    assert counts.f1 == pytest.approx(2 / 5)


def test_f1_without_any_relevant_label_is_zero():
    assert micro_f1(["O"], ["O"]) == 0.0
    assert macro_f1(["O"], ["O"]) == 0.0


def test_given_labels_all_count_for_macro_f1():
    assert macro_f1(["A", "O"], ["A", "O"], labels=["A", "B"]) == 0.5


def test_rmse():
    assert rmse([1.0, 2.0], np.array([1.0, 4.0])) == pytest.approx(np.sqrt(2))
    with pytest.raises(InputError, match=r"y_pred\[1\] is nan"):
        rmse([1.0, 2.0], [1.0, float("nan")])
    with pytest.raises(InputError, match="needs numbers"):
        rmse(["a"], ["b"])


@each_row(
    ("true", "pred", "message"),
    [
        ([["a", "b"], ["a"]], [["a", "b"], ["a", "b"]], r"y_pred\[1\] has 2 labels but y_true\[1\] has 1"),
        (["a", "b"], ["a"], "y_pred has 1 outputs but y_true has 2"),
        ([["a"], "a"], [["a"], ["a"]], r"y_true\[1\] is a single label but y_true\[0\] is a sequence"),
        (["a"], [["a"]], "y_pred holds sequences of labels but y_true holds single labels"),
        (["a", None], ["a", "a"], r"y_true\[1\] is None \(unlabeled\)"),
        ([], [], "y_true is empty"),
        ("ab", "ab", "must be a list of outputs"),
    ],
)
def test_bad_input_is_named(true, pred, message):
    for metric in (zero_one_loss, token_error, hamming_loss, micro_f1):
        with pytest.raises(InputError, match=message):
            metric(true, pred)


@each_row("name", [name for name, m in METRICS.items() if m.statistics is not None])
def test_metrics_equal_their_combined_statistics(name):
    metric = METRICS[name]
    rng = np.random.default_rng(1)
    if name == "rmse":
        true, pred = rng.normal(size=20).tolist(), rng.normal(size=20).tolist()
    elif name == "bracket_f1":
        true = ["(S (A (B b) (C c)) (D d))", "(S (A (B b)) (C c))", "(S (A (B b) (C c)))", "(A a)"]
        pred = ["(S (B b) (A (C c) (D d)))", "(S (A (B b)) (C c))", "(S (X (A (B b)) (C c)))", "(A a)"]
    else:
        tags = ["O", "B-X", "I-X", "B-Y"]
        true = [[tags[i] for i in rng.integers(4, size=n)] for n in (5, 0, 1, 8)]
        pred = [[t if rng.random() < 0.7 else "B-X" for t in sequence] for sequence in true]
    table = metric.statistics(true, pred)
    assert len(table) == len(true)
    assert float(metric.combine(table.sum(axis=0))) == pytest.approx(metric.function(true, pred))


def test_get_metric():
    assert get_metric("token_error").function is token_error
    assert get_metric(token_error).name == "token_error"
    assert get_metric(TreeLoss({"a": "r"})).greater_is_better is False
    own = Metric("own", "own", max, True)
    assert get_metric(own) is own
    with pytest.raises(InputError, match="'f2' is unknown; choose from zero_one_loss"):
        get_metric("f2")
    with pytest.raises(InputError, match="must be a name"):
        get_metric(3)
