"""Between labels of tokens and spans of characters; tokens that one is not sure of belong to no span."""

from __future__ import annotations

from typing import Any, NamedTuple

from accord.labeling.project import OUTSIDE, Project


class Span(NamedTuple):
    """Characters and tokens from a beginning to before an end."""

    start: int
    end: int
    first: int
    last: int  # inclusive, as other programs count
    label: str


def spans_of(item: dict[str, Any], labels: list[str | None], as_spans: bool) -> list[Span]:
    """Spans of B- and I- labels; where labels are of single tokens, one for each."""
    found: list[Span] = []
    begun: tuple[int, str] | None = None
    for t, label in enumerate([*labels, OUTSIDE]):
        goes_on = as_spans and begun is not None and label == f"I-{begun[1]}"
        if begun is not None and not goes_on:
            first, kind = begun
            found.append(Span(item["places"][first][0], item["places"][t - 1][1], first, t - 1, kind))
            begun = None
        if label is not None and not goes_on and t < len(labels) and not (as_spans and label == OUTSIDE):
            begun = (t, label[2:] if as_spans else label)
    return found


def labels_of(
    project: Project, item: dict[str, Any], spans: list[tuple[int, int, str]], unsure: list[int]
) -> list[str | None]:
    """Labels of tokens from spans of characters."""
    labels: list[str | None] = [OUTSIDE if project.spans else None] * len(item["places"])
    for start, end, kind in spans:
        inside = [t for t, (a, b) in enumerate(item["places"]) if a < end and b > start]
        for t in inside:
            labels[t] = f"{'B' if t == inside[0] else 'I'}-{kind}" if project.spans else kind
    for t in unsure:
        if 0 <= t < len(labels):
            labels[t] = None
    return labels
