"""How far annotators agree: Cohen's kappa over labels, F1 over spans, constituents or pairs, and where they differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

from accord.datasets.label_spans import extract_spans
from accord.datasets.trees import as_tree, constituents


def kappa(a: Sequence[Any], b: Sequence[Any]) -> float:
    """Cohen's kappa of two lists of labels: 1 is perfect agreement, 0 that of chance.

    >>> round(kappa(["x", "x", "y", "y"], ["x", "x", "y", "x"]), 2)
    0.5
    """
    n = len(a)
    if not n:
        return float("nan")
    same = sum(x == y for x, y in zip(a, b)) / n
    first, second = Counter(a), Counter(b)
    chance = sum(first[label] * second[label] for label in first) / n**2
    return 1.0 if chance == 1.0 else (same - chance) / (1.0 - chance)


def f1(a: Iterable[Any], b: Iterable[Any]) -> float:
    """F1 of two sets, neither of which is the right one; 1 if both are empty."""
    first, second = set(a), set(b)
    return 2 * len(first & second) / (len(first) + len(second)) if first or second else 1.0


def agreements(kind: str, answers: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """For every two annotators: on how many items both have answered, kappa, and F1 where parts can be counted."""
    names = sorted({name for given in answers.values() for name in given})
    found = []
    for one, other in combinations(names, 2):
        both = [(item, given[one], given[other]) for item, given in answers.items() if one in given and other in given]
        if both:
            labels = [pair for _, a, b in both for pair in zip(*_labels(kind, a, b))]
            parts = [[(item, *part) for item, *values in both for part in _parts(kind, values[k])] for k in (0, 1)]
            found.append(
                {
                    "annotators": [one, other],
                    "items": len(both),
                    "same": sum(a == b for _, a, b in both),
                    "kappa": None if kind in ("numbers", "trees") else kappa(*map(list, zip(*labels))),
                    "f1": f1(*parts) if kind in ("tokens", "trees", "pairs") else None,
                }
            )
    return found


def conflicts(answers: dict[str, dict[str, Any]], decided: dict[str, Any]) -> list[str]:
    """Items on which annotators differ and nobody has decided; an answer that is unsure contradicts no other."""
    return [
        item
        for item, given in answers.items()
        if item not in decided and any(_differ(a, b) for a, b in combinations(given.values(), 2))
    ]


def _differ(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) != len(b) or any(x != y for x, y in zip(a, b) if x is not None and y is not None)
    return a != b and "unsure" not in (a, b)


def _labels(kind: str, a: Any, b: Any) -> tuple[list[Any], list[Any]]:
    """Labels that are compared: those of tokens that both are sure of, or the answers themselves."""
    if kind != "tokens":
        return [a], [b]
    sure = [(x, y) for x, y in zip(a, b) if x is not None and y is not None]
    return [x for x, _ in sure], [y for _, y in sure]


def _parts(kind: str, value: Any) -> list[tuple[Any, ...]]:
    if kind == "tokens":
        try:
            return list(extract_spans([label or "O" for label in value]))
        except ValueError:  # labels that are no spans, such as parts of speech
            return [(label, place) for place, label in enumerate(value) if label is not None]
    if kind == "trees":
        return [tuple(part) for part in constituents(as_tree(value))]
    return [(value,)] if value == "same" else []
