"""Whether unlabeled examples pay: held-out labeled folds decide, and the supervised learner wins all doubts."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from accord.packed.rows import Rows, ragged_rows
from accord.progress import Progress
from accord.settings import generator

FOLDS = 4
# Unlabeled examples used while candidates are compared; the chosen one is trained on all of them.
MAX_UNLABELED = 1000
# With more labeled examples than this, one fold says enough.
MANY = 400
# Standard errors by which a candidate must be worse than another one to lose the trust that is put in it.
DOUBT = 2.0
# What "auto" tries for unlabeled_weight of generative learners; 0 is supervised maximum likelihood.
UNLABELED_WEIGHTS = (0.0, 0.1, 1.0)


class Candidate(NamedTuple):
    """A way to learn: a name, a weight of the unlabeled examples, and the views."""

    name: str
    weight: float
    channels: list[Any]


Errors = Callable[[Any, np.ndarray, np.ndarray], tuple[int, int]]


def choose(
    candidates: Sequence[Any],
    errors: Errors,
    n_labeled: int,
    n_inputs: int,
    classes: np.ndarray | None,
    rng: np.random.Generator,
    strict: bool = True,
    progress: Callable[[int, str], Progress] | None = None,
) -> tuple[Any, list[dict[str, Any]]]:
    """The best candidate, and what was seen.

    The first candidate is the supervised learner. Another one is taken only if it errs more than that in no fold and
    less in total: folds of few examples are noisy, so unlabeled examples have to pay everywhere, and a candidate that
    errs more in one fold is not tried in others. Without ``strict`` the
    total decides alone, for candidates that seldom do harm. ``errors(candidate,
    used inputs, held-out inputs)`` gives (errors, labels compared); inputs from ``n_labeled`` on are unlabeled.
    ``progress(fits, description)`` shows how many of all fits are done.
    """
    folds = labeled_folds(n_labeled, classes, rng)
    if len(folds) < 2 or len(candidates) == 1:
        why = "too few labeled examples to compare on" if len(candidates) > 1 else "nothing to choose from"
        return candidates[0], [_entry(c, [], i == 0, why if i == 0 else "") for i, c in enumerate(candidates)]
    unlabeled = _some(np.arange(n_labeled, n_inputs), rng)
    counts = np.zeros((len(candidates), len(folds)), np.int64)
    total = np.zeros(len(folds), np.int64)
    n_tried = np.zeros(len(candidates), np.int64)  # folds
    with (progress or _silent)(len(folds) * len(candidates), "held-out folds") as fits:
        for f, held_out in enumerate(folds):
            used = np.concatenate([np.setdiff1d(np.arange(n_labeled), held_out), unlabeled])
            for c, candidate in enumerate(candidates):
                if strict and np.any(counts[c, :f] > counts[0, :f]):
                    fits.advance(info=f"fold {f + 1}: left out")
                    continue  # out of the race: no other fold can make up for it
                counts[c, f], total[f] = errors(candidate, used, held_out)
                n_tried[c] += 1
                fits.advance(info=f"fold {f + 1}: {counts[c, f]} errors")
    pays = np.all(counts <= counts[0], axis=1) if strict else counts.sum(axis=1) <= counts[0].sum()
    best = int(np.argmin(np.where(pays, counts.sum(axis=1), counts[0].sum())))
    report = []
    for c, candidate in enumerate(candidates):
        why = ""
        if c == best:
            why = "supervised: nothing else helped" if c == 0 else "fewest errors"
        elif not pays[c]:
            worse = int(np.sum(counts[c, : n_tried[c]] > counts[0, : n_tried[c]]))
            why = f"worse than supervised in {worse} of {n_tried[c]} folds"
        rates = (counts[c] / np.maximum(total, 1))[: n_tried[c]]
        report.append(_entry(candidate, rates.tolist(), c == best, why))
    return candidates[best], report


def most_trusted(
    candidates: Sequence[Any],
    counts: Callable[[Any, np.ndarray, np.ndarray], np.ndarray],
    loss: Callable[[np.ndarray], float],
    n_labeled: int,
    n_inputs: int,
    rng: np.random.Generator,
    seconds: float | None = None,
) -> tuple[Any, list[dict[str, Any]]]:
    """The first candidate that is not clearly worse than the best one, and what was seen.

    For candidates whose order says what to expect of them, because it was measured on other data: folds of few examples
    are too noisy to find the best one, but they notice what fails. Clearly worse is by more than ``DOUBT`` standard
    errors of the difference, by the jackknife over held-out examples. ``counts`` has a row for each held-out input, and
    ``loss`` is that of a sum of rows. Supervised candidates, which take the least time, are tried first;
    after ``seconds`` no other fit begins, and folds that are not finished do not count, unless it is the first one.
    """
    folds = labeled_folds(n_labeled, None, rng)[: FOLDS if n_labeled <= MANY else 1]
    if n_labeled < 2 or len(candidates) == 1:
        why = "nothing to choose from" if len(candidates) == 1 else "too few labeled examples to compare on"
        return candidates[0], [_entry(c, [], i == 0, why if i == 0 else "") for i, c in enumerate(candidates)]
    unlabeled = _some(np.arange(n_labeled, n_inputs), rng)
    seen = _seen_in_time(candidates, counts, folds, n_labeled, unlabeled, seconds)
    tried = {c: np.concatenate(found) for c, found in seen.items()}
    losses = {c: loss(found.sum(axis=0)) for c, found in tried.items()}
    best = min(sorted(tried), key=losses.__getitem__)
    chosen = next(c for c in sorted(tried) if losses[c] - losses[best] <= _doubt(tried[c], tried[best], loss))
    report = []
    for c, candidate in enumerate(candidates):
        why = "clearly worse than the best" if c < chosen else ""
        if c not in tried:
            why = "not tried: the time was over"
        elif c == chosen:
            why = "fewest errors" if losses[c] == losses[best] else "first that is not clearly worse than the best"
        rates = [loss(found.sum(axis=0)) for found in seen.get(c, ())]
        report.append(_entry(candidate, rates, c == chosen, why))
    return candidates[chosen], report


def _seen_in_time(
    candidates: Sequence[Any], counts: Callable[[Any, np.ndarray, np.ndarray], np.ndarray], folds: list[np.ndarray],
    n_labeled: int, unlabeled: np.ndarray, seconds: float | None,
) -> dict[int, list[np.ndarray]]:  # fmt: skip
    """Counts of candidates, by fold, the same folds for all of them."""
    began = time.monotonic()
    seen: dict[int, list[np.ndarray]] = {}
    for f, held_out in enumerate(folds):
        used = np.concatenate([np.setdiff1d(np.arange(n_labeled), held_out), unlabeled])
        found: dict[int, np.ndarray] = {}
        for c in sorted(range(len(candidates)), key=lambda c: candidates[c].weight):
            if f and c not in seen:
                continue
            if seconds is not None and (f or found) and time.monotonic() - began > seconds:
                return seen or {c: [rows] for c, rows in found.items()}
            found[c] = counts(candidates[c], used, held_out)
        for c, rows in found.items():
            seen.setdefault(c, []).append(rows)
    return seen


def _doubt(one: np.ndarray, other: np.ndarray, loss: Callable[[np.ndarray], float]) -> float:
    """``DOUBT`` standard errors of the difference of losses [Efron 1979: the jackknife]."""
    n, sums = len(one), [rows.sum(axis=0) for rows in (one, other)]
    left = np.array([loss(sums[0] - a) - loss(sums[1] - b) for a, b in zip(one, other)])
    return DOUBT * float(np.sqrt((n - 1) / n * ((left - left.mean()) ** 2).sum()))


def _some(unlabeled: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """As many unlabeled examples as are used while candidates are compared."""
    if unlabeled.size > MAX_UNLABELED:
        return np.sort(rng.choice(unlabeled, MAX_UNLABELED, replace=False))
    return unlabeled


def choose_weight(
    learner: Any, labeled: Rows, y: np.ndarray, unlabeled: Rows, names: tuple[str, str],
    train: Callable[[Rows, np.ndarray, Rows, float], None], decode: Callable[[Rows], np.ndarray],
) -> float:  # fmt: skip
    """The weight of unlabeled examples that pays for a generative learner, or 0; ``names`` are those of 0 and others.

    ``train(labeled, y, unlabeled, weight)`` learns, ``decode(rows)`` predicts. Sets ``auto_report_``.
    """
    n = labeled.n_inputs

    def errors(candidate: Candidate, used: np.ndarray, held_out: np.ndarray) -> tuple[int, int]:
        rest, hidden = used[used < n], used[used >= n] - n
        train(labeled.take(rest), y[ragged_rows(labeled.offsets, rest)], unlabeled.take(hidden), candidate.weight)
        kept = labeled.take(held_out)
        return learner.structure_.count_errors(y[ragged_rows(labeled.offsets, held_out)], decode(kept), kept.offsets)

    candidates = [Candidate(names[weight > 0], weight, []) for weight in UNLABELED_WEIGHTS]
    classes, rng = learner.structure_.strata(y), generator(learner.random_state)
    n_all = n + unlabeled.n_inputs
    chosen, learner.auto_report_ = choose(candidates, errors, n, n_all, classes, rng, progress=learner._progress)
    return float(chosen.weight)


def _silent(*_: Any) -> Progress:
    return Progress(enabled=False)


def _entry(candidate: Any, rates: list[float], chosen: bool, why: str) -> dict[str, Any]:
    return {
        "candidate": candidate.name,
        "unlabeled_weight": candidate.weight,
        "fold_errors": rates,
        "chosen": chosen,
        "why": why,
    }


def labeled_folds(
    n_labeled: int, classes: np.ndarray | None, rng: np.random.Generator, n_folds: int = FOLDS
) -> list[np.ndarray]:
    """Random parts of the labeled inputs, with about as many of each class in every part."""
    n_folds = min(n_folds, n_labeled)
    order = rng.permutation(n_labeled)
    if classes is not None:
        order = order[np.argsort(classes[order], kind="stable")]
    return [np.sort(order[f::n_folds]) for f in range(n_folds)] if n_folds > 1 else []
