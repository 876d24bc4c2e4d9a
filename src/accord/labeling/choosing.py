"""Which of some items to ask about next, by the strategies of :func:`accord.labeling.suggest.suggest`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Suggestion(NamedTuple):
    """An example to label, why, and the part of it that is in doubt."""

    index: int
    score: float
    reason: str
    part: Any = None


def choose(model: Any, X: Any, n: int, *, labeled: Any = None, random_state: Any = None) -> list[Suggestion]:
    """The `n` inputs that the model is least sure of."""
    found = model.predict_marginals(X)
    if isinstance(found, np.ndarray):
        doubt = np.array([_entropy(p) for p in found])
        why = "the model is not sure which label it has"
    else:
        doubt = np.array([np.mean([_entropy(row) for row in p]) if len(p) else 0.0 for p in found])
        why = "the model is unsure about it"
    return [Suggestion(int(i), float(doubt[i]), why) for i in np.argsort(-doubt, kind="stable")[:n]]


def _entropy(p: np.ndarray) -> float:
    positive = p[p > 0]
    return float(-(positive * np.log(positive)).sum())
