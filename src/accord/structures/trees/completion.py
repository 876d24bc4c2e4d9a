"""Rules below all ancestors: what a grammar has when ancestors are features and forbid nothing."""

from __future__ import annotations

from collections import Counter
from typing import Any

from accord.datasets.trees import Symbol


def complete_rules(
    starts: Counter[tuple[Symbol, bool]], counts: Counter[tuple[Any, ...]], horizontal: int | None, vertical: int
) -> set[Symbol]:
    """Add, with a count of 0, all rules that are known below some ancestors, below all others; returns all leaves."""
    rules: dict[Symbol, set[Any]] = {}
    for parent, *children in counts:
        bare = [(child._replace(parents=()), is_leaf) for child, is_leaf in children]
        rules.setdefault(parent._replace(parents=()), set()).add(tuple(bare))
    leaves: set[Symbol] = set()
    waiting = [symbol for symbol, is_leaf in starts if not is_leaf]
    seen = set(waiting)
    while waiting:
        parent = waiting.pop()
        for children in rules[parent._replace(parents=())]:
            named = [
                (child._replace(parents=_ancestors(parent, child, horizontal, vertical)), is_leaf)
                for child, is_leaf in children
            ]
            counts[parent, *named] += 0
            for child, is_leaf in named:
                if is_leaf:
                    leaves.add(child)
                elif child not in seen:
                    seen.add(child)
                    waiting.append(child)
    return leaves


def _ancestors(parent: Symbol, child: Symbol, horizontal: int | None, vertical: int) -> tuple[str, ...]:
    """What a child knows of its ancestors, as `binarise` has it."""
    if child.siblings is None:
        return (*parent.labels[::-1], *parent.parents)[: vertical - 1]
    if horizontal is None or parent.siblings is not None:
        return parent.parents
    return (*parent.labels[-2::-1], *parent.parents)[: vertical - 1]
