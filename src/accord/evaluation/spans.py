"""Span (chunk) precision, recall and F1, decoded as the CoNLL shared tasks' `conlleval` does.

What a span is says :mod:`accord.datasets.label_spans`. A predicted span is correct
if type, start and end are all right.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from accord.datasets.label_spans import CodedLabels
from accord.evaluation.metrics import Counts, F1Scores, check_pair, f1_of_counts
from accord.exceptions import InputError


@dataclass(frozen=True)
class SpanScores(F1Scores):
    """`F1Scores` of spans per type, with the token accuracy and size that `conlleval` prints.

    Examples
    --------
    >>> scores = span_scores([["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "I-PER", "O", "B-ORG"]])
    >>> scores.accuracy, scores.per_label["PER"].f1
    (0.75, 1.0)
    """

    accuracy: float
    n_tokens: int

    def to_text(self) -> str:
        """The report in the layout of `conlleval` (percentages; the last column counts predicted spans).

        >>> print(span_scores([["B-PER", "O", "B-LOC"]], [["B-PER", "O", "O"]]).to_text())
        processed 3 tokens with 2 phrases; found: 1 phrases; correct: 1.
        accuracy:  66.67%; precision: 100.00%; recall:  50.00%; FB1:  66.67
                      LOC: precision:   0.00%; recall:   0.00%; FB1:   0.00  0
                      PER: precision: 100.00%; recall: 100.00%; FB1: 100.00  1
        """
        all_ = self.overall
        lines = [
            f"processed {self.n_tokens} tokens with {all_.n_true} phrases; found: {all_.n_pred} phrases; "
            f"correct: {all_.n_correct}.",
            f"accuracy: {100 * self.accuracy:6.2f}%; {_percentages(all_)}",
        ]
        for name, counts in self.per_label.items():
            lines.append(f"{name:>17}: {_percentages(counts)}  {counts.n_pred}")
        return "\n".join(lines)


def _percentages(c: Counts) -> str:
    values = (("precision", c.precision), ("recall", c.recall), ("FB1", c.f1))
    return "; ".join(f"{name}: {100 * value:6.2f}{'' if name == 'FB1' else '%'}" for name, value in values)


def span_scores(y_true: Any, y_pred: Any) -> SpanScores:
    """Span counts, precision, recall and F1 overall and per type, as `conlleval` reports them.

    Parameters
    ----------
    y_true, y_pred : lists of label lists

    Examples
    --------
    >>> scores = span_scores([["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "I-PER", "O", "O"]])
    >>> scores.overall.precision, scores.overall.recall, list(scores.per_label)
    (1.0, 0.5, ['LOC', 'PER'])
    """
    true, pred, hits, same = _match(y_true, y_pred)
    found = ((true, true.spans[2]), (pred, pred.spans[2]), (true, true.spans[2][hits]))
    n_true, n_pred, n_correct = (Counter(coded.types[k] for k in types) for coded, types in found)
    per_type = {name: Counts(n_true[name], n_pred[name], n_correct[name]) for name in sorted({*n_true, *n_pred})}
    overall = Counts(n_true.total(), n_pred.total(), n_correct.total())
    return SpanScores(overall, per_type, float(same.mean()) if len(same) else 0.0, len(same))


def span_f1(y_true: Any, y_pred: Any) -> float:
    """F1 over all spans (0 if there are none in either argument).

    >>> span_f1([["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "I-PER", "O", "B-ORG"]])
    0.5
    """
    return float(f1_of_counts(span_statistics(y_true, y_pred).sum(axis=0)))


def span_statistics(y_true: Any, y_pred: Any) -> np.ndarray:
    """(n, 3): true, predicted and correct spans of each sentence (for the bootstrap)."""
    true, pred, hits, _ = _match(y_true, y_pred)
    n = len(true.offsets) - 1
    starts = (true.spans[0], pred.spans[0], true.spans[0][hits])
    sentence = [np.searchsorted(true.offsets, s, side="right") - 1 for s in starts]
    return np.column_stack([np.bincount(s, minlength=n) for s in sentence]).astype(float)


def _match(y_true: Any, y_pred: Any) -> tuple[CodedLabels, CodedLabels, np.ndarray, np.ndarray]:
    """Both sides decoded; a mask over the true spans that were predicted; a mask over the right tokens."""
    true_lists, pred_lists, nested = check_pair(y_true, y_pred)
    if not nested:
        raise InputError("span scores need a list of label sequences, but y_true holds single labels")
    true, pred = CodedLabels(true_lists, "y_true[{i}][{j}]"), CodedLabels(pred_lists, "y_pred[{i}][{j}]")
    starts, ends, types = true.spans
    p_starts, p_ends, p_types = pred.spans
    # end and type of the predicted span that starts at a token; -1: none starts there
    end_at, type_at = np.full((2, len(true.ids)), -1)
    in_true = {name: k for k, name in enumerate(true.types)}
    recode = np.array([in_true.get(name, -2) for name in pred.types], dtype=np.int64)
    end_at[p_starts], type_at[p_starts] = p_ends, recode[p_types]
    hits = (end_at[starts] == ends) & (type_at[starts] == types)
    same = np.fromiter(map(str.__eq__, true.flat, pred.flat), bool, len(true.flat))
    return true, pred, hits, same
