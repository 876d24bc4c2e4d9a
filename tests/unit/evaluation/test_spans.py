"""Span scores against a plain transcription of conlleval's rules, hand-made cases and a speed limit."""

import numpy as np
import pytest
from row_tables import each_row

from accord.evaluation import extract_spans, span_f1, span_scores
from accord.evaluation.spans import span_statistics
from accord.exceptions import InputError


def oracle_spans(labels):
    """Walk over the tags as conlleval does, testing chunk end and chunk start at every step."""
    spans, open_at = [], None
    before, type_before = "O", ""
    for i, label in enumerate([*labels, "O"]):
        tag, _, kind = label.partition("-")
        ends = (
            before in ("E", "S")
            or (before in ("B", "I") and tag in ("B", "S", "O"))
            or (before != "O" and type_before != kind)
        )
        starts = (
            tag in ("B", "S")
            or (before in ("E", "S", "O") and tag in ("E", "I"))
            or (tag != "O" and type_before != kind)
        )
        if ends and open_at is not None:
            spans.append((type_before, open_at, i))
            open_at = None
        if starts:
            open_at = i
        before, type_before = tag, kind
    return spans


@each_row(
    ("labels", "spans"),
    [
        ([], []),
        (["O", "O"], []),
        (["B-PER", "I-PER", "O"], [("PER", 0, 2)]),
        (["O", "I-PER", "I-PER"], [("PER", 1, 3)]),  # IOB1: I- after O starts a chunk
        (["I-PER", "B-PER", "I-PER"], [("PER", 0, 1), ("PER", 1, 3)]),  # IOB1: B- only between neighbours
        (["B-PER", "I-LOC"], [("PER", 0, 1), ("LOC", 1, 2)]),  # a change of type starts a chunk
        (["B-PER", "B-PER"], [("PER", 0, 1), ("PER", 1, 2)]),
        (["S-PER", "B-LOC", "I-LOC", "E-LOC"], [("PER", 0, 1), ("LOC", 1, 4)]),  # BIOES
        (["U-PER", "B-LOC", "I-LOC", "L-LOC"], [("PER", 0, 1), ("LOC", 1, 4)]),  # BILOU
        (["E-PER", "E-PER"], [("PER", 0, 1), ("PER", 1, 2)]),
        (["S-PER", "I-PER"], [("PER", 0, 1), ("PER", 1, 2)]),
        (["B-A-B", "I-A-B"], [("A-B", 0, 2)]),  # only the first hyphen separates
    ],
)
def test_decoding_by_hand(labels, spans):
    assert extract_spans(labels) == spans
    if labels and labels[0][0] != "U":
        assert oracle_spans(labels) == spans


def test_agrees_with_conlleval_rules_on_random_labels():
    rng = np.random.default_rng(0)
    alphabet = ["O"] + [f"{prefix}-{kind}" for prefix in "BIES" for kind in ("X", "Y")]
    for _ in range(400):
        lengths = rng.integers(0, 8, size=rng.integers(1, 5))
        true = [[alphabet[i] for i in rng.integers(9, size=n)] for n in lengths]
        pred = [[t if rng.random() < 0.6 else alphabet[rng.integers(9)] for t in s] for s in true]
        scores = span_scores(true, pred)
        expected = np.zeros((len(true), 3))
        per_type = {}
        for row, t, p in zip(expected, true, pred):
            assert extract_spans(t) == oracle_spans(t)
            a, b = set(oracle_spans(t)), set(oracle_spans(p))
            row[:] = len(a), len(b), len(a & b)
            for k, group in enumerate((a, b, a & b)):
                for kind, _, _ in group:
                    per_type.setdefault(kind, [0, 0, 0])[k] += 1
        counts = scores.overall
        assert (counts.n_true, counts.n_pred, counts.n_correct) == tuple(expected.sum(axis=0))
        found = {kind: [c.n_true, c.n_pred, c.n_correct] for kind, c in scores.per_label.items()}
        assert found == per_type
        np.testing.assert_array_equal(span_statistics(true, pred), expected)


def test_spans_do_not_cross_sentences():
    assert span_scores([["B-X"], ["I-X"]], [["B-X"], ["I-X"]]).overall.n_true == 2


def test_precision_recall_f1_and_text():
    true = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-ORG"]]
    pred = [["B-PER", "I-PER", "O", "B-ORG"], ["B-LOC", "O"]]
    scores = span_scores(true, pred)
    assert scores.overall.precision == scores.overall.recall == pytest.approx(1 / 3)
    assert scores.per_label["PER"].f1 == 1.0
    assert scores.per_label["LOC"].f1 == 0.0
    assert scores.macro_f1 == pytest.approx(1 / 3)
    assert scores.accuracy == pytest.approx(3 / 6)
    lines = scores.to_text().splitlines()
    assert lines[0] == "processed 6 tokens with 3 phrases; found: 3 phrases; correct: 1."
    assert lines[1] == "accuracy:  50.00%; precision:  33.33%; recall:  33.33%; FB1:  33.33"
    assert lines[-1] == "              PER: precision: 100.00%; recall: 100.00%; FB1: 100.00  1"


def test_type_only_predicted_and_nothing_at_all():
    assert list(span_scores([["O"]], [["B-X"]]).per_label) == ["X"]
    assert span_f1([["O", "O"]], [["O", "O"]]) == 0.0
    assert span_f1([[]], [[]]) == 0.0


@each_row(
    ("true", "pred", "message"),
    [
        ([["O"], ["O", "NOUN"]], [["O"], ["O", "O"]], r"y_true\[1\]\[1\] is 'NOUN', but span scores need"),
        ([["O"]], [["X-PER"]], r"y_pred\[0\]\[0\] is 'X-PER'"),
        ([["O"]], [[3]], r"y_pred\[0\]\[0\] is 3"),
        ([["O"]], [[["O"]]], r"y_pred\[0\]\[0\] is \['O'\]"),
        (["O"], ["O"], "need a list of label sequences"),
        ([["O"], ["O"]], [["O"], ["O", "O"]], r"y_pred\[1\] has 2 labels but y_true\[1\] has 1"),
    ],
)
def test_bad_labels_are_named(true, pred, message):
    with pytest.raises(InputError, match=message):
        span_f1(true, pred)
