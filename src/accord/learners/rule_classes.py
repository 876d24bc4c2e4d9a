"""Classes of some inputs, from rules: how often each rule is right, and how probable classes are where rules speak.

Every rule is right with a probability of its own and else gives one of the other classes at random. These
probabilities and the classes are estimated in turns [Dawid and Skene 1979], from inputs with a label or with several
rules; what a rule says alone tells nothing of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from accord.exceptions import InputError
from accord.learners.rule_labels import BELIEF, BELIEVED, LEAST_PRECISION, Judged
from accord.learners.rules import Rules

ROUNDS = 20


class RuleClasses(NamedTuple):
    """Probabilities (n, n_classes) of classes, rows of zeros where no trusted rule speaks; the rules as judged."""

    classes: list[Any]
    probabilities: np.ndarray
    judged: list[Judged]


def classes_by_rules(
    rules: Rules, X: Sequence[Any], outputs: Sequence[Any], classes: Sequence[Any] | None
) -> RuleClasses:
    """What rules say of inputs, of which some have labels; ``classes`` are all there are, None: those of the rules."""
    said = [rules.classes(x) for x in X]
    numbers = {} if classes is None else {label: i for i, label in enumerate(classes)}
    votes = np.full((len(rules), len(said)), -1, np.int64)
    for i, row in enumerate(said):
        for r, label in enumerate(row):
            if label is None:
                continue
            if classes is not None and label not in numbers:
                name = rules.rules_[r].name
                raise InputError(f"rules: {name} gives the class {label!r}, which no labeled example has; label one")
            votes[r, i] = numbers.setdefault(label, len(numbers))
    known = np.array([-1 if y is None else numbers.get(y, -1) for y in outputs], np.int64)
    probabilities, precision, checked = agreement(votes, known, max(len(numbers), 1))
    judged = []
    for rule, given, p, n in zip(rules.rules_, votes, precision, checked):
        n_matches = int(np.sum(given >= 0))
        judged.append(Judged(rule.name, n_matches, int(n), float(p), bool(n_matches) and p >= LEAST_PRECISION))
    used = np.array([rule.used for rule in judged])
    if not used.all():
        probabilities = _expected(votes[used], np.full(known.size, -1), precision[used], probabilities.shape[1])
    silent = ~np.any(votes[used] >= 0, axis=0)
    return RuleClasses(list(numbers), np.where(silent[:, None], 0.0, probabilities), judged)


def agreement(votes: np.ndarray, known: np.ndarray, n_classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Probabilities of classes, precision of rules, and how many labeled matches each has.

    ``votes`` (n_rules, n) and ``known`` (n,) are numbers of classes, -1 for none.
    """
    spoken = votes >= 0
    telling = (known >= 0) | (spoken.sum(axis=0) > 1)  # inputs that say something of rules
    precision = np.full(len(votes), BELIEVED)
    for _ in range(ROUNDS):
        expected = _expected(votes, known, precision, n_classes)
        for r, row in enumerate(votes):
            at = np.flatnonzero(spoken[r] & telling)
            precision[r] = (BELIEF * BELIEVED + expected[at, row[at]].sum()) / (BELIEF + at.size)
    return _expected(votes, known, precision, n_classes), precision, np.sum(spoken & (known >= 0), axis=1)


def _expected(votes: np.ndarray, known: np.ndarray, precision: np.ndarray, n_classes: int) -> np.ndarray:
    """Probabilities (n, n_classes) of classes; known ones are certain."""
    scores = np.zeros((votes.shape[1], n_classes))
    for row, p in zip(votes, np.clip(precision, 1e-3, 1.0 - 1e-3)):
        at = np.flatnonzero(row >= 0)
        scores[at, row[at]] += np.log(p) - np.log((1.0 - p) / max(n_classes - 1, 1))
    scores = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-np.inf))
    out = np.asarray(scores / scores.sum(axis=1, keepdims=True))
    out[known >= 0] = np.eye(n_classes)[known[known >= 0]]
    return out
