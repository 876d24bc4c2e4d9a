"""Which model is for which kind of items."""

from __future__ import annotations

from typing import Any

import numpy as np

from accord.labeling.live.base import Live, Question, first_questions
from accord.labeling.live.classes import LiveClasses
from accord.labeling.live.numbers import LiveNumbers
from accord.labeling.live.pairs import LivePairs
from accord.labeling.live.tokens import LiveTokens, first_tokens
from accord.labeling.live.trees import LiveTrees
from accord.labeling.project import Project

_KINDS: dict[str, Any] = {
    "tokens": LiveTokens,
    "classes": LiveClasses,
    "numbers": LiveNumbers,
    "trees": LiveTrees,
    "pairs": LivePairs,
}


def live_model(project: Project) -> Live:
    """What learns from answers about the items of a project."""
    return _KINDS[project.kind](project)


def first(live: Live, keys: list[str], n: int, rng: np.random.Generator) -> list[Question]:
    """Questions while there is no model."""
    if isinstance(live, LiveTokens):
        return first_tokens(live, keys, n, rng)
    if isinstance(live, LiveTrees):
        short = sorted(keys, key=lambda key: len(live.project.items[live.project.place(key)]["places"]))
        keys = short[: max(len(short) // 3, 20)]
    return first_questions(keys, n, rng, "the first ones are drawn at random")
