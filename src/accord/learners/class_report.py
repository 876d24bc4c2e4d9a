"""What the default for classes says of a fit: a table of what was tried, and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from accord.learners.class_losses import ERROR
from accord.learners.class_race import Entry, Tried


def table(tried: Sequence[Tried], chosen: Tried, folds: list[np.ndarray]) -> list[dict[str, Any]]:
    """What was tried, one entry each."""
    return [
        {
            "candidate": one.entry.name,
            "unlabeled_weight": float(one.entry.way.unlabeled),
            "fold_errors": [float(one.losses(_only(one.entry.examples.weights, fold))) for fold in folds],
            "doubt": one.doubt,
            "expected_error": one.expected_error,
            "chosen": one is chosen,
            "why": "lowest expected error" if one is chosen else "",
        }
        for one in tried
    ]


def _only(weights: np.ndarray, fold: np.ndarray) -> np.ndarray:
    return np.asarray(weights * np.isin(np.arange(weights.size), fold))


def sentences(entry: Entry, tried: Sequence[Tried], chosen: Tried | None, C: float) -> list[str]:
    """What was used, what the unlabeled examples brought, and what to try next."""
    n, n_unlabeled = entry.examples.X.shape[0], entry.examples.hidden.shape[0]
    used = f"{n:,} labeled and {n_unlabeled:,} unlabeled examples; used: {entry.name}"
    if not entry.way.unlabeled:
        used += f" (logistic regression, C = {C:g})"
    brought = f"{n} label{'s are' if n > 1 else ' is'} too few to hold some out and compare"
    if chosen is not None:
        alone = min((one for one in tried if not one.entry.way.unlabeled), key=lambda one: one.rate, default=chosen)
        what = "held-out labels wrong" if chosen.metric == ERROR else "macro F1 of held-out labels"
        brought = f"{what}, of {n:,}: {_said(alone)} by {alone.entry.name}"
        if chosen is not alone:
            brought += f", {_said(chosen)} by what is used"
        if len(tried) > 1:
            brought += f"; {len(tried)} ways were tried"
    if not n_unlabeled:
        following = "next: unlabeled examples often help; leave their labels empty (None)"
    elif entry.way.unlabeled:
        following = "next: labels for the examples it is least sure of (predict_marginals) help most"
    else:
        following = "next: a few more labels, or other features (pairs of words, links between examples, word vectors)"
    return [used, brought, following]


def _said(one: Tried) -> str:
    """Its loss on held-out labels as people speak of it."""
    return f"{100.0 * one.rate:.1f} %" if one.metric == ERROR else f"{100.0 * (1.0 - one.rate):.1f}"
