"""What the models of all kinds offer to the page.

A :class:`Live` knows the items and makes models from answers. A :class:`Model` never changes once it is made, so that
the page may use it while the next one is trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from accord.labeling.project import Project

Answers = dict[str, Any]
POOL = 400  # items that are looked at for the next questions, where looking at all would take too long


class Question(NamedTuple):
    """An item to ask about, and why."""

    key: str
    score: float
    reason: str
    part: Any = None


@dataclass
class Judged:
    """How far a model is wrong on an item whose answer it has not seen."""

    key: str
    wrong: float
    total: float
    labels: Sequence[tuple[float, bool]] = ()  # how sure it is of each, and whether it is wrong; none if it cannot tell


class Examples(NamedTuple):
    """Answers as functions of the library take them: ``accord.suspects(X, Y, learner)``."""

    keys: list[str]
    X: Any
    Y: list[Any]
    learner: Any


class Model(Protocol):
    """What answers have taught."""

    name: str  # what it is, for people
    n_answers: int

    def propose(self, key: str) -> dict[str, Any]:
        """What the model thinks of an item, as the page shows it."""

    def rank(self, keys: list[str], n: int, rng: np.random.Generator) -> list[Question]:
        """The questions to ask next, the best one first."""

    def judge(self, truth: Answers) -> list[Judged]:
        """Compare with answers that the model has not learned from."""

    def confidences(self, keys: list[str]) -> np.ndarray:
        """How sure the model is of each label that it predicts for items; none if it cannot tell."""


class Live(Protocol):
    """Items of one kind."""

    project: Project
    measure: str  # what errors are counted in, for people
    is_share: bool  # whether errors are shares; otherwise they have the unit of the numbers

    def candidates(self) -> list[str]:
        """Keys of all that can be asked about."""

    def learn(self, truth: Answers, previous: Model | None = None) -> Model | None:
        """A model of these answers; None if they are too few. `previous` may be gone on from."""

    def examples(self, truth: Answers) -> Examples | None:
        """What can be doubted of these answers, as the library takes it; None where nothing can."""

    def learn_more(self, truth: Answers, unlabeled: list[str]) -> Model | None:
        """A model that learns from unlabeled items, too, however long it takes; None where there is none."""


def of_items(project: Project, truth: Answers) -> Answers:
    """Answers about items that there are, in an order that does not depend on when they were given, so that a file of
    labels teaches the same."""
    known = {key: value for key, value in truth.items() if project.item(key) is not None}
    return {key: known[key] for key in sorted(known, key=lambda key: (project.place(key), key))}


def first_questions(keys: list[str], n: int, rng: np.random.Generator, reason: str) -> list[Question]:
    """Any of them, while there is no model."""
    chosen = rng.permutation(len(keys))[:n]
    return [Question(keys[int(i)], 0.0, reason) for i in chosen]


def some(keys: list[str], n: int, rng: np.random.Generator) -> list[str]:
    """At most `n` of them, drawn at random."""
    return keys if len(keys) <= n else [keys[int(i)] for i in np.sort(rng.choice(len(keys), n, replace=False))]
