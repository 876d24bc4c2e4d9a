"""Answers that no honest site gives. They are refused, so that no site can ruin what the others learn.

A site is asked with the others' predictions, of mean ``q``, and answers with the ``p`` that minimises a convex loss of
its own plus a multiple of ``|p - q|^2``. Such answers are firmly nonexpansive: any two of them satisfy
``|p - p'|^2 <= <p - p', q - q'>``, whatever the site's data are. So only its first answer is a site's own choice, and
that one can be compared with the first answers of the others: all predict the same quantity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

BOUND = 1000.0  # times as large as what others predict; honest sites may differ by much
SLACK = 0.01  # of predictions, for rounding: the systems that sites solve may be badly conditioned
LARGEST = 1e100  # squares of larger numbers, and sums of them, may not be finite
TWO = 2  # others that a site is compared with; of two sites nobody can tell which one is wrong


def size(values: np.ndarray) -> float:
    """Root mean square; it is finite if the values are."""
    largest = float(np.abs(values).max(initial=0.0))
    return largest * float(np.sqrt(np.mean((values / largest) ** 2))) if largest else 0.0


def too_large(name: str, answers: Mapping[str, np.ndarray], bound: float) -> str | None:
    """What is wrong with the answer of a site, compared with those of others; None if nothing is.

    Sites that know little may predict next to nothing, so it is compared with the largest of the others; but not with
    what a minority of liars could say together.
    """
    others = sorted((size(answer) for other, answer in answers.items() if other != name), reverse=True)
    usual = others[len(others) // 2 - 1] if len(others) >= TWO else 0.0
    times = size(answers[name]) / usual if usual else 0.0
    if times <= bound:
        return None
    return (
        f"answered with predictions {times:.3g} times as large as those of the other sites; "
        f"expected at most bound={bound:g} times; leave the site out, or raise bound if it is right"
    )


def farthest(predictions: Mapping[str, np.ndarray]) -> tuple[str, float]:
    """The site that stands out, and how many times as far from the median of all it is as the others usually are.

    Of fewer than three sites none stands out.
    """
    if len(predictions) <= TWO:
        return "", 0.0
    middle = np.median(np.stack(list(predictions.values())), axis=0)
    distances = {name: size(own - middle) for name, own in predictions.items()}
    name = max(distances, key=lambda one: distances[one])
    usual = float(np.median([distance for other, distance in distances.items() if other != name]))
    return (name, distances[name] / usual) if usual else ("", 0.0)


def trimmed_mean(predictions: Sequence[np.ndarray], trim: int) -> np.ndarray:
    """The mean for every example without the ``trim`` lowest and the ``trim`` highest predictions."""
    if not trim:
        return np.asarray(np.mean(predictions, axis=0))
    return np.asarray(np.sort(np.stack(predictions), axis=0)[trim : len(predictions) - trim].mean(axis=0))


@dataclass
class Said:
    """What a site was asked first and last, while there was a certain number of others, and what it answered."""

    n_others: int = 0
    asked: list[np.ndarray] = field(default_factory=list)  # means of the others' predictions
    answers: list[np.ndarray] = field(default_factory=list)

    def add(self, others: np.ndarray, answer: np.ndarray) -> None:
        """Remember an answer."""
        if self.n_others != len(others):
            self.asked, self.answers = [], []
        self.n_others = len(others)
        self.asked = [*self.asked[:1], _mean(others)]
        self.answers = [*self.answers[:1], answer]

    def contradiction(self, others: np.ndarray, answer: np.ndarray) -> str | None:
        """What is wrong with another answer; None if nothing is."""
        if self.n_others != len(others):
            return None
        question = _mean(others)
        for asked, answered in zip(self.asked, self.answers):
            step, moved = question - asked, answer - answered
            slack = SLACK * max(size(answered), size(question), size(asked))
            if size(moved - step / 2) > size(step) / 2 + slack:  # the same inequality
                return (
                    f"answered with predictions that moved by {size(moved):.3g} from earlier ones, against or beyond "
                    f"those of the others, which moved by {size(step):.3g}; no site that heeds them does; leave the "
                    "site out, or start a new run if its data have changed"
                )
        return None


def _mean(others: np.ndarray) -> np.ndarray:
    return np.asarray(others.mean(axis=0)) if len(others) else np.zeros(others.shape[1:])
