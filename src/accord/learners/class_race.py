"""Which way to learn classes: held-out labels, and what unlabeled examples say of each way.

With ten labels, errors on held-out ones are a poor judge: half of the ways err once more or less by chance. A second
witness needs no labels. A way whose predictions for unlabeled examples change when a few labels are left out cannot be
right about all of them, before or after; where classes are clusters, or follow links, they hardly change. Nor can it be
right if it predicts classes more often or less often than they are. So the expected error of a way is

    (errors on held-out labels + TRUST * (doubt + prior)) / (number of labels + TRUST)

with the larger one of these shares of unlabeled examples as doubt. The prior is held against every way that assumes
something of unlabeled examples: predictions that hardly change can be wrong all the same, where classes are no
clusters, or not as frequent as among labels. With many labels the first witness decides alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

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
    """How an entry did: held-out scores (n_labeled, n_labels), wrong (n_labeled,) on average, and doubt."""

    entry: Entry
    scores: np.ndarray
    wrong: np.ndarray
    doubt: float

    @property
    def rate(self) -> float:
        return self.entry.examples.rate(self.wrong)

    @property
    def expected_error(self) -> float:
        n = self.entry.examples.n_labeled
        return (n * self.rate + TRUST * (self.doubt + self.entry.way.prior)) / (n + TRUST)


def n_rounds(n_labeled: int) -> int:
    """How often labels are drawn into folds."""
    return int(np.clip(-(-ENOUGH // max(n_labeled, 1)), 1, MAX_ROUNDS))


def race(
    entries: Sequence[Entry], rounds: Sequence[list[np.ndarray]], some: np.ndarray, seconds: float,
    advance: Callable[[], None],
) -> list[Tried]:  # fmt: skip
    """All entries on held-out labels, with ``some`` of the unlabeled examples, as far as ``seconds`` suffice.

    None begins that would end too late if it took as long as the longest before. The first is always made.
    """
    began, longest = time.monotonic(), 0.0
    tried: dict[int, Tried] = {}
    for number in sorted(range(len(entries)), key=lambda number: entries[number].waits):
        start = time.monotonic() - began
        if tried and start + longest > seconds:
            break
        tried[number] = attempt(entries[number], rounds, some)
        longest = max(longest, time.monotonic() - began - start)
        advance()
    return [tried[number] for number in sorted(tried)]


def attempt(entry: Entry, rounds: Sequence[list[np.ndarray]], some: np.ndarray) -> Tried:
    """Scores of every labeled example by what was learned without it, and what changes among unlabeled ones."""
    examples, learn = entry.examples.only(some), entry.way.learn
    hidden, each = examples.hidden, examples.hidden_weights
    whole = predicted(learn(examples), hidden) if some.size else np.empty(0, np.int64)
    odd = _odd_frequencies(whole, each, examples) if some.size else 0.0
    wrong, changes, first = np.zeros(len(examples.labels)), [], np.zeros(examples.labels.shape)
    for r, folds in enumerate(rounds):
        scores = np.zeros(examples.labels.shape)
        for held_out in folds:
            found = learn(examples.without(held_out))
            scores[held_out] = found.scores(examples.X[held_out])
            if some.size:
                changes.append(float(np.average(predicted(found, hidden) != whole, weights=each)))
        wrong += is_wrong(scores, examples) / len(rounds)
        first = first if r else scores
    return Tried(entry, first, wrong, max(odd, float(np.mean(changes))) if changes else 0.0)


def _odd_frequencies(found: np.ndarray, weights: np.ndarray, examples: Examples) -> float:
    """The share of examples whose class must be wrong if classes are as frequent as among labels, beyond chance."""
    expected = examples.frequencies()
    counts = np.bincount(found, weights, minlength=expected.size)
    chance = np.sqrt(expected * (1.0 - expected) / examples.n_labeled).sum()
    return max(0.0, 0.5 * float(np.abs(counts / counts.sum() - expected).sum() - chance))


def predicted(found: Linear, rows: Any) -> np.ndarray:
    return np.asarray(found.scores(rows).argmax(axis=1))


def is_wrong(scores: np.ndarray, examples: Examples) -> np.ndarray:
    return np.asarray(scores.argmax(axis=1) != examples.labels.argmax(axis=1))


def best(tried: Sequence[Tried]) -> Tried:
    """The one with the lowest expected error, the first of equals.

    Links were given on purpose: ways without them must be better by a standard error.
    """
    first = min(tried, key=lambda one: one.expected_error)
    linked = min((one for one in tried if one.entry.linked), key=lambda one: one.expected_error, default=first)
    error = linked.expected_error
    chance = np.sqrt(error * (1.0 - error) / (linked.entry.examples.n_labeled + TRUST))
    return first if first.expected_error < error - chance else linked


def report(tried: Sequence[Tried], chosen: Tried, folds: list[np.ndarray]) -> list[dict[str, Any]]:
    """What was tried, one entry each."""
    return [
        {
            "candidate": one.entry.name,
            "unlabeled_weight": float(one.entry.way.unlabeled),
            "fold_errors": [one.entry.examples.rate(one.wrong, fold) for fold in folds],
            "doubt": one.doubt,
            "expected_error": one.expected_error,
            "chosen": one is chosen,
            "why": "lowest expected error" if one is chosen else "",
        }
        for one in tried
    ]
