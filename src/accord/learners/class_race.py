"""Which way to learn classes: held-out labels, and what unlabeled examples say of each way.

With ten labels, errors on held-out ones are a poor judge: half of the ways err once more or less by chance. A second
witness needs no labels. A way whose predictions for unlabeled examples change when a few labels are left out cannot be
right about all of them, before or after; where classes are clusters, or follow links, they hardly change. Nor can it be
right if it predicts classes more often or less often than they are. So the expected error of a way is

    (errors on held-out labels + TRUST * (doubt + prior)) / (number of labels + TRUST)

with the larger one of these shares of unlabeled examples as doubt. The prior is held against every way that assumes
something of unlabeled examples: predictions that hardly change can be wrong all the same, where classes are no
clusters, or not as frequent as among labels. With many labels the first witness decides
alone. Where macro F1 is asked for, what it lacks to 1 takes the place of all of these shares.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from accord.learners.class_losses import ERROR, loss, odd_loss
from accord.learners.class_ways import Examples, Linear, Way

TRUST = 20.0  # labels that the second witness is worth
ENOUGH = 20  # held-out labels, counted over rounds of folds; fewer labels are drawn into folds again
MAX_ROUNDS = 3


class Entry(NamedTuple):
    """A way to learn, the view whose rows it learns from, by number, and these; whether it uses links."""

    way: Way
    seen: int
    examples: Examples
    name: str
    linked: bool = False

    @property
    def waits(self) -> bool:
        """Whether others are tried first: labels alone, which take the least time, and links, given on purpose."""
        return self.way.unlabeled and not self.linked


class Tried(NamedTuple):
    """How an entry did: held-out scores (n_labeled, n_labels), how often each label was predicted, and doubt.

    Predictions are shares (n_labeled, n_labels) of the rounds of folds. ``metric`` is what all of it is judged by, and
    ``learned`` what was learned from all examples, if that was done.
    """

    entry: Entry
    scores: np.ndarray
    guessed: np.ndarray
    doubt: float
    metric: str = ERROR
    learned: Linear | None = None

    def losses(self, weights: np.ndarray) -> np.ndarray:
        """Of the held-out labels, for each vector of weights (…, n_labeled)."""
        return loss(self.metric, weights, self.entry.examples.labels, self.guessed)

    @property
    def rate(self) -> float:
        return float(self.losses(self.entry.examples.weights))

    @property
    def expected_error(self) -> float:
        weights = self.entry.examples.weights
        return float(self.expected(weights, float(n_equal(weights))))

    def expected(self, weights: np.ndarray, n: float) -> np.ndarray:
        """The loss that is expected if n labels count for these weights, of which there may be several vectors."""
        return np.asarray((n * self.losses(weights) + TRUST * (self.doubt + self.entry.way.prior)) / (n + TRUST))


def n_rounds(n_labeled: int) -> int:
    """How often labels are drawn into folds."""
    return int(np.clip(-(-ENOUGH // max(n_labeled, 1)), 1, MAX_ROUNDS))


def race(
    entries: Sequence[Entry], rounds: Sequence[list[np.ndarray]], some: np.ndarray, seconds: float,
    advance: Callable[[], None], metric: str = ERROR,
) -> list[Tried]:  # fmt: skip
    """All entries on held-out labels, with ``some`` of the unlabeled examples, as far as ``seconds`` suffice.

    The first is always made.
    """
    began = time.monotonic()
    tried: dict[int, Tried] = {}
    for number in sorted(range(len(entries)), key=lambda number: entries[number].waits):
        left = seconds - (time.monotonic() - began) if tried else np.inf
        found = attempt(entries[number], rounds, some, metric, left) if left > 0.0 else None
        if found is None:
            break
        tried[number] = found
        advance()
    return [tried[number] for number in sorted(tried)]


def attempt(
    entry: Entry, rounds: Sequence[list[np.ndarray]], some: np.ndarray, metric: str = ERROR, seconds: float = np.inf
) -> Tried | None:
    """Scores of every labeled example by what was learned without it, and what changes among unlabeled ones.

    None, if learning once shows that doing it for all folds would take longer than ``seconds``.
    """
    began = time.monotonic()
    examples, learn = entry.examples.only(some), entry.way.learn
    hidden, each, classes = examples.hidden, examples.hidden_weights, np.eye(examples.labels.shape[1])
    learned, odd, changes = None, 0.0, []
    if some.size:
        learned = learn(examples)
        whole = classes[predicted(learned, hidden)]
        odd = _odd_frequencies(whole, each, examples, metric)
        if (time.monotonic() - began) * (1 + sum(map(len, rounds))) > seconds:
            return None
    guessed, first = np.zeros(examples.labels.shape), np.zeros(examples.labels.shape)
    for r, folds in enumerate(rounds):
        scores = np.zeros(examples.labels.shape)
        for held_out in folds:
            found = learn(examples.without(held_out))
            scores[held_out] = found.scores(examples.X[held_out])
            if some.size:
                changes.append(float(loss(metric, each, whole, classes[predicted(found, hidden)])))
        guessed += classes[scores.argmax(axis=1)] / len(rounds)
        first = first if r else scores
    doubt = max(odd, float(np.mean(changes))) if changes else 0.0
    return Tried(entry, first, guessed, doubt, metric, learned if examples is entry.examples else None)


def _odd_frequencies(whole: np.ndarray, weights: np.ndarray, examples: Examples, metric: str) -> float:
    """What must be wrong if classes are as frequent as among labels, beyond chance."""
    expected = examples.frequencies()
    chance = np.sqrt(expected * (1.0 - expected) / n_equal(examples.weights))
    return odd_loss(metric, expected, weights @ whole / weights.sum(), chance)


def predicted(found: Linear, rows: Any) -> np.ndarray:
    return np.asarray(found.scores(rows).argmax(axis=1))


def best(tried: Sequence[Tried]) -> Tried:
    """The one with the lowest expected error, the first of equals."""
    weights = tried[0].entry.examples.weights
    return tried[int(chosen_by(tried, weights, float(n_equal(weights))))]


def chosen_by(tried: Sequence[Tried], weights: np.ndarray, n: float) -> np.ndarray:
    """Numbers of those with the lowest expected error if n labels count for these weights, one for each vector.

    Links were given on purpose: ways without them must be better by a standard error.
    """
    expected = np.stack([one.expected(weights, n) for one in tried])
    linked = np.flatnonzero([one.entry.linked for one in tried])
    first = expected.argmin(axis=0)
    if not linked.size:
        return np.asarray(first)
    preferred = linked[expected[linked].argmin(axis=0)]
    error = expected[linked].min(axis=0)
    chance = np.sqrt(error * (1.0 - error) / (n + TRUST))
    return np.where(expected.min(axis=0) < error - chance, first, preferred)


def n_equal(weights: np.ndarray) -> np.ndarray:
    """How many labeled examples of equal weight say as much, for each vector of weights."""
    return np.asarray(weights.sum(axis=-1) ** 2 / np.sum(weights**2, axis=-1))
