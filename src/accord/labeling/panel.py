"""How good the model is, told from the labels so far: a learning curve on held-out folds, and what follows from it.

The work comes in small steps, so that a new answer is learned between two of them. Labels that were asked for because
the model was unsure are harder than others: the curve is that of such labels, and errors elsewhere are rather lower.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from accord.labeling.live.base import Answers, Judged, Live, Model, some
from accord.learners.error_estimate import ErrorEstimate, calibrated_error
from accord.learners.suspects import suspects as library_suspects

_FOLDS = 4
_SHARES = (0.125, 0.25, 0.5, 1.0)  # of the labels outside of a fold
_FEWEST = 8  # answers
_UNLABELED = 300
_ESTIMATED = 200  # items without answers
_MOST = 240  # answers in the curve: with more, a random part of them
_SURE = 1.96


class Doubted(NamedTuple):
    """A label that is probably wrong, its tokens if it has some, and what is more probable."""

    key: str
    start: int | None
    end: int | None
    given: Any
    proposed: Any
    probability: float  # of being wrong


@dataclass
class Panel:
    """What the side panel shows."""

    n_answers: int
    measure: str
    is_share: bool
    curve: list[dict[str, float]] = field(default_factory=list)  # n, error, low, high
    halve: int | None = None  # labels more that would probably halve the error
    with_unlabeled: dict[str, float] | None = None
    suspects: list[Doubted] = field(default_factory=list)
    expected: ErrorEstimate | None = None  # among items without answers


def steps(live: Live, truth: Answers, model: Model | None, seed: int = 0) -> Iterator[Panel | None]:
    """Work at a panel, step after step; the last one is the panel, all before are None."""
    rng = np.random.default_rng(seed)
    keys = some(list(truth), _MOST, rng)
    panel = Panel(len(truth), live.measure, live.is_share)
    if len(keys) < _FEWEST:
        yield panel
        return
    order = rng.permutation(len(keys))
    folds = [[keys[int(i)] for i in order[k::_FOLDS]] for k in range(_FOLDS)]
    judged: dict[float, list[tuple[int, list[Judged]]]] = {share: [] for share in _SHARES}
    for held_out in folds:
        left = [key for fold in folds if fold is not held_out for key in fold]
        for share in _SHARES:
            n = max(round(share * len(left)), 2)
            part = live.learn({key: truth[key] for key in left[:n]}) if n >= 2 else None
            if part is not None:
                judged[share].append((n, part.judge({key: truth[key] for key in held_out})))
            yield None
    panel.curve = [point for share in _SHARES if (point := _point(judged[share], live.is_share)) is not None]
    panel.halve = labels_to_halve(panel.curve)
    yield None
    panel.suspects = suspects(live, {key: truth[key] for key in keys}, seed)
    yield None
    left = [key for key in live.candidates() if key not in truth]
    panel.expected = expected_error([one for _, found in judged[1.0] for one in found], model, left, rng)
    yield None
    yield from _with_unlabeled(live, truth, folds, panel, rng)
    yield panel


def _with_unlabeled(
    live: Live, truth: Answers, folds: list[list[str]], panel: Panel, rng: np.random.Generator
) -> Iterator[None]:
    """Compare, on two folds, with a model that learns from unlabeled items, too."""
    hidden = [key for key in some(live.candidates(), 2 * _UNLABELED, rng) if key not in truth][:_UNLABELED]
    alone, more = [], []
    for held_out in folds[:2]:
        known = {key: truth[key] for fold in folds if fold is not held_out for key in fold}
        test = {key: truth[key] for key in held_out}
        better = live.learn_more(known, hidden) if hidden else None
        yield None
        plain = live.learn(known) if better is not None else None
        if better is None or plain is None:
            return
        more += better.judge(test)
        alone += plain.judge(test)
        yield None
    panel.with_unlabeled = {
        "without": error_of(alone, live.is_share)[0],
        "with": error_of(more, live.is_share)[0],
        "n": float(len(hidden)),
    }


def _point(found: list[tuple[int, list[Judged]]], is_share: bool) -> dict[str, float] | None:
    judged = [one for _, fold in found for one in fold]
    if not sum(one.total for one in judged):
        return None
    error, low, high = error_of(judged, is_share)
    return {"n": float(np.mean([n for n, _ in found])), "error": error, "low": low, "high": high}


def error_of(judged: list[Judged], is_share: bool) -> tuple[float, float, float]:
    """Errors among all, with an interval that holds it in 95 of 100 cases; items count as drawn independently.

    For the interval there is one item more, half of it wrong: no errors among twenty items do not mean none at all.
    """
    wrong, total = np.array([one.wrong for one in judged]), np.array([one.total for one in judged])
    rate = wrong.sum() / total.sum()
    half = 0.5 * total.mean() if is_share else wrong.mean()
    more, of = np.append(wrong, half), np.append(total, total.mean())
    spread = _SURE * np.sqrt(((more - more.sum() / of.sum() * of) ** 2).sum()) / of.sum()
    low, high = max(rate - spread, 0.0), rate + spread
    if is_share:
        return float(rate), float(low), float(min(high, 1.0))
    return float(np.sqrt(rate)), float(np.sqrt(low)), float(np.sqrt(high))


def labels_to_halve(curve: list[dict[str, float]]) -> int | None:
    """How many labels more would probably halve the error, if it goes on falling as a power of their number.

    >>> labels_to_halve([{"n": n, "error": n ** -0.5} for n in (5, 10, 20)])
    60
    """
    points = [(p["n"], p["error"]) for p in curve if p["error"] > 0]
    if len({n for n, _ in points}) < 3:
        return None
    n, error = np.log(np.array(points)).T
    slope = -np.polyfit(n, error, 1, w=np.sqrt(np.exp(n)))[0]
    if slope < 0.08:  # at this pace it takes thousands of times as many
        return None
    return round(float(np.exp(n.max())) * (2.0 ** (1.0 / slope) - 1.0))


def suspects(live: Live, truth: Answers, seed: int, most: int = 20) -> list[Doubted]:
    """Labels that are probably wrong (:func:`accord.suspects`), the most suspicious one first."""
    examples = live.examples(truth)
    if examples is None or len(examples.keys) < _FOLDS:
        return []
    found = library_suspects(examples.X, examples.Y, examples.learner, _FOLDS, random_state=seed)
    return [Doubted(examples.keys[i], start, end, given, said, p) for i, start, end, given, said, p in found[:most]]


def expected_error(
    judged: list[Judged], model: Model | None, left: list[str], rng: np.random.Generator
) -> ErrorEstimate | None:
    """The error among items without answers, from how sure the model is of them and how far it was right where it was
    as sure of held-out answers (as :func:`accord.estimate_error` has it, with the folds that there are)."""
    held_out = [(k, *label) for k, one in enumerate(judged) for label in one.labels]
    asked = model.confidences(some(left, _ESTIMATED, rng)) if model is not None and left and held_out else np.zeros(0)
    if not asked.size:
        return None
    groups, sure, wrong = (np.array(column) for column in zip(*held_out))
    return calibrated_error(groups, sure, wrong.astype(float), asked)
