"""Labels that are parts of spans: which scheme they obey, and how well spans, or tokens, are found."""

from __future__ import annotations

from collections.abc import Callable, Set
from collections.abc import Sequence as Seq
from typing import Any

import numpy as np

from accord.datasets.label_spans import extract_spans
from accord.exceptions import InputError
from accord.learners import inputs
from accord.structures.chains.sequence import SCHEMES, Sequence

# Labels of a scheme begin with these letters.
PREFIXES = {"iob2": "BI", "bioes": "BIES"}
# From sums of what :func:`counts` gives to a share of errors.
LOSSES: dict[str, Callable[[np.ndarray], float]] = {
    "tokens": lambda sums: float(sums[0] / (sums[1] or 1.0)),
    "spans": lambda sums: float(1.0 - 2.0 * sums[2] / (sums[0] + sums[1] or 1.0)) if sums[:2].any() else 0.0,
}


def natural_structure(outputs: Seq[Any]) -> Sequence:
    """A sequence of these labels, with the constraints that they look like and obey."""
    try:
        moves = {move for y in outputs if isinstance(y, inputs.LISTS) for move in _moves(list(y))}
        labels = {label for move in moves for label in move if label is not None} - {"O"}
    except TypeError:  # refused later, by a message that says where
        return Sequence()
    for scheme, prefixes in PREFIXES.items():
        if are_tags(labels, prefixes) and all(SCHEMES[scheme](*move) for move in moves):
            return Sequence(constraints=scheme)
    return Sequence()


def _moves(y: list[Any]) -> list[tuple[Any, Any]]:
    """Pairs of neighbouring labels, None for the start and the end; a token without a label has no neighbours."""
    pairs = enumerate(zip([None, *y], [*y, None]))
    return [(a, b) for i, (a, b) in pairs if (a is not None or i == 0) and (b is not None or i == len(y))]


def are_tags(labels: Set[Any], prefixes: str = "BIES") -> bool:
    """Whether labels, but for O, say which part of what they are: the look of spans, whatever follows what."""
    parts = labels - {"O"}
    return bool(parts) and all(_is_tag(label, prefixes) for label in parts)


def _is_tag(label: Any, prefixes: str) -> bool:
    return isinstance(label, str) and label[:1] in [*prefixes] and label[1:2] == "-" and len(label) > 2


def metric_of(asked: str, outputs: Seq[Any]) -> str:
    """What to judge predictions by; "auto": spans, if labels are of that kind, and none is missing."""
    whole = all(label is not None for y in outputs for label in y)
    of_spans = whole and natural_structure(outputs).constraints is not None
    if asked == "spans" and outputs and not of_spans:
        raise InputError("metric is 'spans', but the labels in Y are not all of the kind B-type, I-type and O")
    return ("spans" if of_spans else "tokens") if asked == "auto" else asked


def counts(metric: str, truth: Seq[Any], found: Seq[Any]) -> np.ndarray:
    """Of each sentence, wrong tokens and all that have labels; or true spans, found ones, and those that are both."""
    if metric == "tokens":
        pairs = [[a != b for a, b in zip(y, z) if a is not None] for y, z in zip(truth, found)]
        return np.array([[sum(wrong), len(wrong)] for wrong in pairs], float).reshape(-1, 2)
    spans = [[set(extract_spans(list(labels))) for labels in pair] for pair in zip(truth, found)]
    return np.array([[len(a), len(b), len(a & b)] for a, b in spans], float).reshape(-1, 3)
