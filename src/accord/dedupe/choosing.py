"""How a table is clustered, chosen by what becomes of labeled clusters that were held out, in the midst of the table.

A choice is a similarity, a linkage, whether clusters of improbable sizes need more similarity, and a threshold.
Clusters of a fold are found by what the other folds taught, among all records of the table, labeled or not, so a choice
is judged by what it will be used for: a record has as many others to be confused with as it will have.

Whoever labels whole clusters says of every other record that it does not belong to them. Whoever labels some records of
a table does not, and then only labeled records are counted. Which it is shows: in the second case, as many
unlabeled records join labeled ones for each that is there as labeled ones of the same cluster do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from accord.dedupe.compared import ComparedPairs
from accord.dedupe.decoding import Rule, cluster_pairs
from accord.dedupe.labels import size_costs

_WIDE = 2.0  # between thresholds that are tried first, in logarithms of odds; there are
_MOST_STEPS = 4  # of them in each direction, until one is
_HOPELESS = 0.15  # worse than the best one in the mean of F1 and B3; then
_FINER = (1.0, 0.5)  # steps to either side of the best one
_LOST = 0.05  # what a rule may be behind the best one so far at the threshold of that; its own is then not looked for
_BETTER = 0.004  # what a later rule has to be better by, and
_FEW = 0.3  # divided by the number of labeled clusters: few tell little apart
_UNUSUAL = 0.002  # what a threshold other than 0 has to be better by, for each 1 that it is off
_MANY = 100  # pairs of unlabeled records, to tell what share of them is similar
RULES = (("average", False), ("average", True), ("correlation", False), ("correlation", True), ("components", True))


class Similarity(NamedTuple):
    """A way to say how similar two records are, in logarithms of odds: learned from all labels, and without each fold.

    ``without[f]`` are weights and bias of what the folds but f taught, None if nothing can be learned from them.
    """

    name: str
    weights: np.ndarray
    bias: float
    without: list[tuple[np.ndarray, float] | None]


class Trial(NamedTuple):
    """What a choice does to held-out clusters: precision, recall and F1 of pairs, and F1 of B³."""

    similarity: str
    linkage: str
    sizes: bool
    threshold: float
    precision: float
    recall: float
    f1: float
    b_cubed: float

    @property
    def value(self) -> float:
        """By what choices are compared."""
        return (self.f1 + self.b_cubed) / 2.0


class _Counts(NamedTuple):
    """Sums over held-out records: others of its cluster that are with it, that should be, and all that are."""

    right: float
    true: float
    found: float
    precision: float  # of B³
    recall: float
    n: int


class HeldOut:
    """Judges choices by the labeled clusters of a table whose first records are the labeled ones."""

    def __init__(self, compared: ComparedPairs, truth: np.ndarray, folds: np.ndarray, decoder: str) -> None:
        self.compared, self.truth, self.folds, self.decoder = compared, truth, folds, decoder
        self.n = len(compared.table)
        self.costs = [size_costs(truth[folds != fold]) for fold in range(int(folds.max()) + 1)]
        self.sizes = np.bincount(truth)[truth]  # of the cluster of every labeled record
        self._scored: dict[tuple[int, int], np.ndarray] = {}
        self.complete: bool | None = None

    def clusters(self, similarity: Similarity, fold: int, linkage: str, sizes: bool, threshold: float) -> np.ndarray:
        """Clusters of the table by what other folds taught; those with no record of the fold are not looked at."""
        model = similarity.without[fold]
        assert model is not None
        weights, bias = model
        candidates = self.compared.candidates
        name = (id(weights), fold)
        if name not in self._scored:
            self._scored[name] = self.compared.scores(*candidates, weights)
        constant = bias - threshold
        wanted = np.zeros(self.n, np.bool_)
        wanted[: self.folds.size] = self.folds == fold
        rule = Rule(linkage, self.decoder, self.costs[fold] if sizes else np.zeros(1))
        return cluster_pairs(
            self.n, candidates, self._scored[name] + constant,
            lambda left, right: self.compared.scores(left, right, weights) + constant,
            lambda: self.compared.closeness, rule, wanted,
        )  # fmt: skip

    def judge(self, similarity: Similarity, linkage: str, sizes: bool, threshold: float) -> Trial:
        """What becomes of the labeled clusters, each held out once."""
        found = {
            fold: self.clusters(similarity, fold, linkage, sizes, threshold)
            for fold, model in enumerate(similarity.without)
            if model is not None
        }
        if self.complete is None:
            self.complete = self._labels_are_complete(found)
        counts = [self._count(fold, labels) for fold, labels in found.items()]
        right, true, joined, precision, recall, n = (sum(column) for column in zip(*counts))
        b_cubed = 2.0 * precision * recall / ((precision + recall) * n)
        shares = (right / joined if joined else 1.0, right / true if true else 1.0)
        f1 = 2.0 * right / (true + joined) if true + joined else 1.0
        return Trial(similarity.name, linkage, sizes, threshold, *shares, f1, b_cubed)

    def as_strict(self, similarity: Similarity, threshold: float) -> float:
        """At which threshold all labels find as many similar pairs as the labels without each fold do at the given one.

        Who has learned from more clusters has seen more records that are alike and different, and is stricter at the
        same threshold; what is the same is what share of the table is similar.
        """
        left, right = self.compared.candidates
        unlabeled = (left >= self.folds.size) & (right >= self.folds.size)
        left, right = left[unlabeled], right[unlabeled]
        if left.size < _MANY:
            return threshold
        final = np.sort(self.compared.scores(left, right, similarity.weights)) + similarity.bias
        found = []
        for weights, bias in (model for model in similarity.without if model is not None):
            if weights is similarity.weights:  # nothing was learned
                return threshold
            n_less = np.count_nonzero(self.compared.scores(left, right, weights) + bias <= threshold)
            found.append(final[max(n_less - 1, 0) : n_less + 1].mean())
        return float(np.median(found))

    def _count(self, fold: int, labels: np.ndarray) -> _Counts:
        held_out = np.flatnonzero(self.folds == fold)
        judged = self.n if self.complete else self.folds.size
        joined = np.bincount(labels[:judged], minlength=int(labels.max()) + 1)[labels[held_out]]
        both = self._together(held_out, labels)
        sizes = self.sizes[held_out]
        return _Counts(
            float((both - 1).sum()), float((sizes - 1).sum()), float((joined - 1).sum()),
            float((both / joined).sum()), float((both / sizes).sum()), held_out.size,
        )  # fmt: skip

    def _together(self, records: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Of each labeled record how many of its true cluster are with it, itself included."""
        pairs = self.truth[records] * np.int64(self.n) + labels[records]
        _, place, counts = np.unique(pairs, return_inverse=True, return_counts=True)
        return counts[place]

    def _labels_are_complete(self, found: dict[int, np.ndarray]) -> bool:
        """Whether unlabeled records join labeled clusters no more often than wrong labeled ones lead to expect.

        Clusters are counted, not pairs: two large clusters that are joined are one mistake.
        """
        n_labeled = self.folds.size
        times = (self.n - n_labeled) / n_labeled
        right = wrong = unlabeled = 0.0
        for fold, labels in found.items():
            held_out = np.flatnonzero(self.folds == fold)
            has_unlabeled = np.bincount(labels[n_labeled:], minlength=self.n) > 0
            clusters = np.unique(np.column_stack([labels[:n_labeled], self.truth]), axis=0)[:, 0]
            n_true = np.bincount(clusters, minlength=self.n)  # labeled clusters that have records in a found one
            here = np.unique(np.column_stack([self.truth[held_out], labels[held_out]]), axis=0)[:, 1]
            unlabeled += np.count_nonzero(has_unlabeled[here])
            wrong += (n_true[here] - 1).sum()
            right += np.unique(self.truth[held_out][self._together(held_out, labels) > 1]).size
        return bool(unlabeled <= times * np.sqrt((wrong + 1.0) * (wrong + right + 1.0)))


def try_all(
    held_out: HeldOut, similarity: Similarity, rules: Sequence[tuple[str, bool]], start: float = 0.0
) -> list[list[Trial]]:
    """Trials of rules (linkage, and whether sizes count), each with thresholds around what was best before it.

    None are tried after one that no other could be better than by enough.
    """
    rows: list[list[Trial]] = []
    best: Trial | None = None
    for linkage, sizes in rules:
        if cannot_be_better(rows):
            break
        first = held_out.judge(similarity, linkage, sizes, start)
        if cannot_be_better([[first]]) or (best is not None and first.value < best.value - _LOST):
            rows.append([first])
            continue
        rows.append(_around(held_out, similarity, first, best is None))
        best = max((trial for row in rows for trial in row), key=lambda trial: trial.value)
        start = best.threshold
    return rows


def cannot_be_better(rows: list[list[Trial]]) -> bool:
    """Whether a trial is so good that none could be better by enough."""
    return any(_smooth(row).max() >= 1.0 - _BETTER for row in rows)


def _around(held_out: HeldOut, similarity: Similarity, first: Trial, wide: bool) -> list[Trial]:
    """Thresholds around that of a trial, all if none are known to be good, and ever nearer to the best; all trials."""

    def judge(threshold: float) -> Trial:
        return held_out.judge(similarity, first.linkage, first.sizes, threshold)

    tried = {first.threshold: first}
    for step in (_WIDE, -_WIDE) if wide else ():
        for k in range(1, _MOST_STEPS + 1):
            threshold = first.threshold + k * step
            tried[threshold] = judge(threshold)
            if tried[threshold].value < max(trial.value for trial in tried.values()) - _HOPELESS:
                break
    for step in _FINER:
        best = max(tried, key=lambda threshold: tried[threshold].value)
        tried |= {threshold: judge(threshold) for threshold in (best - step, best + step) if threshold not in tried}
    return [tried[threshold] for threshold in sorted(tried)]


def _smooth(row: list[Trial]) -> np.ndarray:
    """By what trials of a rule are compared: their values, neighbours included, less what is unusual about them."""
    values = np.array([trial.value for trial in row])
    around = np.pad(values, 1, mode="edge")
    unusual = np.abs([trial.threshold for trial in row])
    return (around[:-2] + 2.0 * values + around[2:]) / 4.0 - _UNUSUAL * unusual


def choose(trials: list[list[Trial]], n_clusters: int) -> Trial:
    """The best trial.

    Neighbouring thresholds have a say, since a single one may be lucky. Of thresholds that do the same for the few
    held-out records, of so many clusters, that nearest to even odds is taken.
    """
    best, highest = trials[0][0], -np.inf
    for row in trials:
        smooth = _smooth(row)
        if smooth.max() > highest + max(_BETTER, _FEW / n_clusters):
            best, highest = row[int(smooth.argmax())], float(smooth.max())
    return best


def report(trials: list[list[Trial]], chosen: Trial) -> list[dict[str, Any]]:
    """The best of each row of trials, and the one that was chosen, as plain values."""
    rows = [chosen if chosen in row else max(row, key=lambda trial: trial.value) for row in trials]
    return [{**row._asdict(), "chosen": row == chosen} for row in rows]
