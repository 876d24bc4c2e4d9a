"""Similarities without labels: candidate pairs are a mixture of pairs that belong together and pairs that do not.

Fields that are more alike than chance agree with each other about it, and that shows which pairs are which (Fellegi and
Sunter's model): in pairs that belong together, each field is at a level of likeness with some probability, in the
others with another one, and the fields are independent of each other given which it is. Probabilities are fitted by the
EM algorithm; pairs whose clusters are known are what they are. Then a logistic regression says the same by the
comparisons that everything else is learned from.

A table of a single long text has no fields that could agree, and clusters of many records leave few candidates that are
different. So there is a second guess: how alike records are as a whole, and the same begins at the valley of
:mod:`accord.dedupe.valley`. Of the two guesses the one is taken that cuts where the valley is deeper. Where there is no
valley it is the first one, unless there is a single text only, of enough records.
"""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression

from accord.dedupe.choosing import Similarity
from accord.dedupe.compared import ComparedPairs
from accord.dedupe.pairs import RecordPairs, RecordTable
from accord.dedupe.valley import MergeTree, cut_by_chance, merges

UNLABELED = "mixture"
_LIKENESS = {
    "text": ("rare trigrams", "words aligned"),
    "number": ("close", "edits"),
    "date": ("close", "edits"),
    "category": ("equal",),
    "vector": ("close",),
}  # comparisons whose mean says how alike two values are
_NUMBERS = ("numbers", "numbers differ")  # of a text: how many are shared, and whether both have some and share none
_LEVELS = np.array([0.2, 0.35, 0.5, 0.65, 0.8, 0.95])  # of likeness, where the next level begins
_LOOSE = 10.0  # C of the regression
_ROUNDS, _CLOSE_ENOUGH = 500, 1e-7
_MOST_PAIRS = 20_000  # that the regression learns from
_ALIKE, _PER_RECORD = 0.6, 0.05  # first guess: pairs that are so much alike, or at least so many for each record
# What likeness of a field is usual in pairs that belong together, by level, and how much that counts beside what is
# seen: without it, pairs that have a frequent value in common, such as a city, may be taken for the same.
_USUAL = np.array([0.04, 0.04, 0.06, 0.1, 0.16, 0.2, 0.4])
_BELIEF = 0.5
_SELDOM = 0.5  # as often as chance has it, pairs of the same source belong together
_NO_ACCIDENT = 3.0  # standard deviations of what may be chance: the depth of a valley, a share
_ENOUGH = 30  # records of a single text, whose words dealt out at random tell how alike chance makes them
_STEEP = 10.0  # logarithms of odds, at least, from records that are nothing alike to those that are the same


def mixture(view: RecordPairs, compared: ComparedPairs, truth: np.ndarray, rng: np.random.Generator) -> Similarity:
    """Similarity in logarithms of odds; `truth` are clusters of the first records of the table, as far as known."""
    left, right = compared.candidates
    known = np.full(len(compared.table), -1)
    known[: truth.size] = truth
    labeled = (known[left] >= 0) & (known[right] >= 0)
    sure = np.where(labeled, (known[left] == known[right]).astype(np.float64), np.nan)
    return Similarity(UNLABELED, *best_guess(view, compared, sure, rng), [])


def best_guess(
    view: RecordPairs, compared: ComparedPairs, sure: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    """Weights of comparisons and bias; `sure` is 1 or 0 for candidates that are known to be the same or not, or nan."""
    features = compared.features(*compared.candidates)
    found = guess(compared.table, *compared.candidates, features, sure, rng)
    found = as_a_whole(view, compared, features, sure, found, rng) or found
    return without_sources(compared.table, features, sure, *found) if len(features) else found


def without_sources(
    table: RecordTable, features: np.ndarray, sure: np.ndarray, weights: np.ndarray, bias: float
) -> tuple[np.ndarray, float]:
    """The same, with weights against pairs of the same source, if a table was put together from others without copies.

    A source is a category that pairs which belong together, as the rest of them says, share much less often than any
    two records do. Of such pairs only those are left that nothing is surer than, which may be copies after all.
    """
    view, changed = table.view, weights.copy()
    two = np.random.default_rng(0).integers(0, len(table), (2, _MOST_PAIRS))
    left, right = two[:, two[0] != two[1]]
    odds = features @ weights + bias
    for field in (name for name, kind in view.fields_.items() if kind == "category"):
        k = view.names_.index(f"{field}: equal")
        chance = float(table.columns[field].compare(left, right)[:, 0].mean())
        share, n = _share_together(features[:, k], odds - weights[k] * features[:, k], sure)
        error = np.sqrt(chance * (1.0 - chance) / max(n, 1.0))
        if share < _SELDOM * chance and share < chance - _NO_ACCIDENT * error:
            changed[k] = -max(float(odds.max()), 0.0)
    return changed, bias


def _share_together(equal: np.ndarray, odds: np.ndarray, sure: np.ndarray) -> tuple[float, float]:
    """What share of the pairs that belong together is equal in one more way, by the EM algorithm; and their number.

    `odds` are those by everything else.
    """
    value = 0.0
    for _ in range(_ROUNDS):
        together = np.where(np.isnan(sure), 1.0 / (1.0 + np.exp(-np.clip(odds + value * equal, -500, 500))), sure)
        shares = [(some @ equal + 0.5) / (some.sum() + 1.0) for some in (together, 1.0 - together)]
        before, value = value, float(np.log(shares[0] / shares[1]))
        if abs(value - before) < _CLOSE_ENOUGH:
            break
    return float(shares[0]), float(together.sum())


def as_a_whole(
    view: RecordPairs,
    compared: ComparedPairs,
    features: np.ndarray,
    sure: np.ndarray,
    other: tuple[np.ndarray, float],
    rng: np.random.Generator,
) -> tuple[np.ndarray, float] | None:
    """Weights and bias by how alike records are as a whole, None if the other guess is better."""
    alone = view.alone()
    if not alone.size or not len(features):
        return None
    weights = np.zeros(features.shape[1])
    weights[alone] = 1.0 / alone.size
    tree = MergeTree(compared, weights, rng)
    cut, depth = merges(tree.similarities).valley()
    if depth < _NO_ACCIDENT:
        if tree.records.size < _ENOUGH or (len(view.fields_) > 1 and other[0].any()):
            return None
        cut = cut_by_chance(compared, tree.records, weights, rng)
    elif other[0].any() and merges(MergeTree(compared, other[0], rng).similarities).depth_at(-other[1]) > depth:
        return None
    clusters = tree.clusters(cut)
    left, right = (clusters[side] for side in compared.candidates)
    together = np.where(np.isnan(sure), left == right, sure)[(left >= 0) & (right >= 0)]
    alike = (features @ weights)[(left >= 0) & (right >= 0)]
    slope = 0.0
    if np.unique(together).size == 2:
        slope = float(LogisticRegression(C=_LOOSE).fit(alike[:, None], together).coef_[0, 0])
    slope = max(slope, _STEEP)
    return slope * weights, -slope * cut


def guess(
    table: RecordTable,
    left: np.ndarray,
    right: np.ndarray,
    features: np.ndarray,
    sure: np.ndarray,
    rng: np.random.Generator,
) -> tuple[np.ndarray, float]:
    """Weights of comparisons and bias, from features of candidate pairs; `sure` is 1 or 0 where it is known, or nan."""
    view, n = table.view, len(table)
    if not left.size:  # nothing is like anything else
        return np.zeros(features.shape[1]), -1.0
    order = features[:, view.alone()].mean(axis=1) if view.alone().size else features.mean(axis=1)
    n_first = min(max(int((order > _ALIKE).sum()), int(_PER_RECORD * n), 1), order.size)
    first = np.zeros(order.size)
    first[np.argsort(-order, kind="stable")[:n_first]] = 1.0
    together = fit_mixture(levels(view, features), first, sure)
    far = np.sort(rng.integers(0, n, (2, min(_MOST_PAIRS // 4, n))), axis=0)[::-1]
    # what is no candidate is different
    far = far[:, (far[0] != far[1]) & ~np.isin(far[0] * np.int64(n) + far[1], left * np.int64(n) + right)]
    chosen = np.arange(left.size)
    if chosen.size > _MOST_PAIRS:
        chosen = np.sort(rng.choice(chosen, _MOST_PAIRS, replace=False))
    rows = np.concatenate([features[chosen], table.compare(*far)])
    return _regression(rows, np.concatenate([together[chosen], np.zeros(far.shape[1])]))


def levels(view: RecordPairs, features: np.ndarray) -> np.ndarray:
    """How alike each field of each pair is, as the number of a level, -1 where a cell is missing.

    A single text has its comparisons in place of fields, and that of the numbers in it where both have some: what looks
    alike as a whole may differ in its numbers alone.
    """
    columns: dict[str, list[int]] = {}
    missing: dict[str, list[int]] = {}
    single = len(view.fields_) == 1
    for k, name in enumerate(view.names_):
        field, _, comparison = name.rpartition(": ")
        if field in view.fields_ and comparison in _LIKENESS[view.fields_[field]]:
            columns.setdefault(name if single else field, []).append(k)
        elif field in view.fields_ and comparison.endswith("missing"):
            missing.setdefault(field, []).append(k)
    out = []
    for name, chosen in columns.items():
        gone = features[:, missing[next(iter(view.fields_)) if single else name]].any(axis=1)
        out.append(np.where(gone, -1, np.searchsorted(_LEVELS, features[:, chosen].mean(axis=1))))
    if single and f"{next(iter(view.fields_))}: numbers" in view.names_:
        shared, differ = (features[:, view.names_.index(f"{next(iter(view.fields_))}: {one}")] for one in _NUMBERS)
        out.append(np.where((shared > 0) | (differ > 0), np.searchsorted(_LEVELS, shared), -1))
    return np.column_stack(out)


def fit_mixture(seen: np.ndarray, first: np.ndarray, sure: np.ndarray) -> np.ndarray:
    """Of each pair the probability that it belongs together, from levels of its fields (pairs, fields).

    `first` are probabilities to begin with, `sure` those that are known, nan elsewhere. Every level has a count of one
    more than was seen, shared out among the levels.
    """
    n_levels = _LEVELS.size + 1
    known = ~np.isnan(sure)
    together = np.where(known, sure, first)
    for _ in range(_ROUNDS):
        odds = np.full(len(seen), np.log(together.mean() + 1e-9) - np.log1p(1e-9 - together.mean()))
        for column in seen.T:
            here = column >= 0
            shares = []
            for weight in (together, 1.0 - together):
                counts = np.bincount(column[here], weight[here], n_levels) + 1.0 / n_levels
                shares.append(counts / counts.sum())
            usual = _BELIEF * _USUAL + (1.0 - _BELIEF) * shares[0]
            odds[here] += np.log(usual / shares[1])[column[here]]
        before, together = together, np.where(known, sure, 1.0 / (1.0 + np.exp(-np.clip(odds, -500, 500))))
        if np.abs(together - before).max() < _CLOSE_ENOUGH:
            break
    return together


def _regression(rows: np.ndarray, together: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights and bias of the comparisons that fit probabilities best."""
    both = np.repeat([1, 0], len(rows))
    share = np.concatenate([together, 1.0 - together])
    kept = share > 1e-6
    if np.unique(both[kept]).size < 2:
        return np.zeros(rows.shape[1]), -1.0 if not both[kept].any() else 1.0
    line = LogisticRegression(C=_LOOSE, max_iter=300).fit(np.vstack([rows, rows])[kept], both[kept], share[kept])
    return line.coef_[0], float(line.intercept_[0])
