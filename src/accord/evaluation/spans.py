"""Span (chunk) precision, recall and F1, decoded as the CoNLL shared tasks' `conlleval` does.

Labels are ``O`` or a prefix, a hyphen and a type. Prefixes: ``B`` begin, ``I`` inside, ``E`` (or ``L``) end, ``S`` (or
``U``) single, so IOB1, IOB2, BIOES/IOBES and BILOU labels are all read by one rule: a span starts at ``B``, at
``S``, at any label after ``O``, ``E``, ``S`` or the sentence's start, and wherever the type changes; it lasts until the
next start or ``O``. Nothing is repaired or rejected: an ``I-`` after ``O`` starts a span. A predicted span is correct
if type, start and end are all right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from accord.evaluation.metrics import Counts, F1Scores, check_pair, f1_of_counts
from accord.exceptions import InputError

_OUTSIDE, _BEGIN, _INSIDE, _END, _SINGLE = range(5)
_KINDS = {"O": _OUTSIDE, "B": _BEGIN, "I": _INSIDE, "E": _END, "L": _END, "S": _SINGLE, "U": _SINGLE}


@dataclass(frozen=True)
class SpanScores(F1Scores):
    """`F1Scores` of spans per type, with the token accuracy and size that `conlleval` prints."""

    accuracy: float
    n_tokens: int

    def to_text(self) -> str:
        """The report in the layout of `conlleval` (percentages; the last column counts predicted spans)."""
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


def extract_spans(labels: Sequence[str]) -> list[tuple[str, int, int]]:
    """The spans of one label sequence as (type, start, end), end exclusive.

    >>> extract_spans(["I-PER", "I-PER", "O", "B-LOC", "B-LOC", "I-ORG"])
    [('PER', 0, 2), ('LOC', 3, 4), ('LOC', 4, 5), ('ORG', 5, 6)]
    """
    coded = _Coded([list(labels)], "labels[{j}]")
    starts, ends, types = coded.spans
    return [(coded.types[k], int(i), int(j)) for i, j, k in zip(starts, ends, types)]


def span_scores(y_true: Any, y_pred: Any) -> SpanScores:
    """Span counts, precision, recall and F1 overall and per type, as `conlleval` reports them.

    Parameters
    ----------
    y_true, y_pred : lists of label lists
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


def _match(y_true: Any, y_pred: Any) -> tuple[_Coded, _Coded, np.ndarray, np.ndarray]:
    """Both sides decoded; a mask over the true spans that were predicted; a mask over the right tokens."""
    true_lists, pred_lists, nested = check_pair(y_true, y_pred)
    if not nested:
        raise InputError("span scores need a list of label sequences, but y_true holds single labels")
    true, pred = _Coded(true_lists, "y_true[{i}][{j}]"), _Coded(pred_lists, "y_pred[{i}][{j}]")
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


class _Coded:
    """Label sequences as one array of label codes with sentence offsets; each distinct label is parsed once."""

    def __init__(self, sequences: list[list[str]], where: str) -> None:
        lengths = [len(s) for s in sequences]
        self.offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
        self.flat: list[str] = list(chain.from_iterable(sequences))
        code: dict[str, int] = {}
        try:
            self.ids = np.fromiter((code.setdefault(v, len(code)) for v in self.flat), np.int64, len(self.flat))
            parsed = [_parse(label) for label in code]
        except (ValueError, TypeError):
            self._complain(sequences, where)
            raise
        self.types = sorted({name for kind, name in parsed if kind != _OUTSIDE})
        number = {name: k for k, name in enumerate(self.types)}
        self._kind = np.array([kind for kind, _ in parsed], dtype=np.int64)
        self._type = np.array([number.get(name, -1) for _, name in parsed], dtype=np.int64)

    @cached_property
    def spans(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Start, end (exclusive) and type code of every span, in order."""
        kind, type_ = self._kind[self.ids], self._type[self.ids]
        before, type_before = np.roll(kind, 1), np.roll(type_, 1)
        first = self.offsets[:-1][np.diff(self.offsets) > 0]
        before[first] = _OUTSIDE  # a sentence starts as if after O
        inside = kind != _OUTSIDE
        fresh = (kind == _BEGIN) | (kind == _SINGLE) | (type_ != type_before)
        fresh |= (before == _OUTSIDE) | (before == _END) | (before == _SINGLE)
        start = inside & fresh
        stops = start | ~inside
        stops[first] = True
        stop_at = np.append(np.flatnonzero(stops), len(kind))
        starts = np.flatnonzero(start)
        return starts, stop_at[np.searchsorted(stop_at, starts, side="right")], type_[starts]

    @staticmethod
    def _complain(sequences: list[list[str]], where: str) -> None:
        for i, sequence in enumerate(sequences):
            for j, label in enumerate(sequence):
                try:
                    _parse(label)
                except (ValueError, TypeError):
                    raise InputError(
                        f"{where.format(i=i, j=j)} is {label!r}, but span scores need O or a label such as B-PER "
                        "(prefixes B, I, E, S, L, U); use token_error for other labels"
                    ) from None


def _parse(label: str) -> tuple[int, str]:
    """Kind and type of one label; ValueError if it is not a span label."""
    if not isinstance(label, str):
        raise TypeError(label)
    prefix, _, name = label.partition("-")
    if prefix not in _KINDS or (prefix == "O" and label != "O"):
        raise ValueError(label)
    return _KINDS[prefix], name
