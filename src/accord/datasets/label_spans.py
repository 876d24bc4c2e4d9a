"""Spans of labels, decoded as the CoNLL shared tasks' `conlleval` does.

Labels are ``O`` or a prefix, a hyphen and a type. Prefixes: ``B`` begin, ``I`` inside, ``E`` (or ``L``) end, ``S`` (or
``U``) single, so IOB1, IOB2, BIOES/IOBES and BILOU labels are all read by one rule: a span starts at ``B``, at
``S``, at any label after ``O``, ``E``, ``S`` or the sentence's start, and wherever the type changes; it lasts until the
next start or ``O``. Nothing is repaired or rejected: an ``I-`` after ``O`` starts a span.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import chain

import numpy as np

from accord.exceptions import InputError

_OUTSIDE, _BEGIN, _INSIDE, _END, _SINGLE = range(5)
_KINDS = {"O": _OUTSIDE, "B": _BEGIN, "I": _INSIDE, "E": _END, "L": _END, "S": _SINGLE, "U": _SINGLE}


def extract_spans(labels: Sequence[str]) -> list[tuple[str, int, int]]:
    """The spans of one label sequence as (type, start, end), end exclusive.

    >>> extract_spans(["I-PER", "I-PER", "O", "B-LOC", "B-LOC", "I-ORG"])
    [('PER', 0, 2), ('LOC', 3, 4), ('LOC', 4, 5), ('ORG', 5, 6)]
    """
    coded = CodedLabels([list(labels)], "labels[{j}]")
    starts, ends, types = coded.spans
    return [(coded.types[k], int(i), int(j)) for i, j, k in zip(starts, ends, types)]


class CodedLabels:
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
