"""How good the model is, told from the labels so far: a learning curve on held-out folds, and what follows from it.

The work comes in small steps, so that a new answer is learned between two of them. Labels that were asked for because
the model was unsure are harder than others: the curve is that of such labels, and errors elsewhere are rather lower.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from accord.labeling.live.base import Answers, Doubt, Judged, Live, Model, some

_FOLDS = 4
_SHARES = (0.125, 0.25, 0.5, 1.0)  # of the labels outside of a fold
_FEWEST = 8  # answers
_UNLABELED = 300
_MOST = 240  # answers in the curve: with more, a random part of them
_SURE = 1.96


@dataclass
class Panel:
    """What the side panel shows."""

    n_answers: int
    measure: str
    is_share: bool
    curve: list[dict[str, float]] = field(default_factory=list)  # n, error, low, high
    halve: int | None = None  # labels more that would probably halve the error
    with_unlabeled: dict[str, float] | None = None
    suspects: list[Doubt] = field(default_factory=list)


def steps(live: Live, truth: Answers, seed: int = 0) -> Iterator[Panel | None]:
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
            model = live.learn({key: truth[key] for key in left[:n]}) if n >= 2 else None
            if model is not None:
                judged[share].append((n, model.judge({key: truth[key] for key in held_out})))
            yield None
    panel.curve = [point for share in _SHARES if (point := _point(judged[share], live.is_share)) is not None]
    panel.halve = labels_to_halve(panel.curve)
    panel.suspects = suspects([one for _, found in judged[1.0] for one in found])
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


def suspects(judged: list[Judged], most: int = 20) -> list[Doubt]:
    """Labels that models which have not seen them find improbable, the most improbable one first."""
    return sorted((doubt for one in judged for doubt in one.doubts), key=lambda one: one.probability)[:most]


def estimated_error(model: Model, keys: list[str]) -> float | None:
    """The error among items without labels, as the model's own probabilities have it."""
    return model.expected_error(keys)
