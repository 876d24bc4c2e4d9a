"""How a table is clustered, chosen by what becomes of labeled clusters that were held out, in the midst of the table.

A choice is a similarity, a linkage, whether clusters of improbable sizes need more similarity, and a threshold.
Clusters of a fold are found by what the other folds taught, among all records of the table, labeled or not, so a choice
is judged by what it will be used for: a record has as many others to be confused with as it will have.

Few clusters say little, and a large one that is torn apart may change everything. So what is usual stays unless another
choice is clearly better: by three standard errors of the difference (by the jackknife over labeled clusters).

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
_SURE = 3.0  # standard errors that another choice has to be better by: a hundred are tried
_MANY = 100  # pairs of unlabeled records, to tell what share of them is similar
RULES = [(linkage, sizes) for linkage in ("average", "correlation", "components") for sizes in (True, False)]


class Similarity(NamedTuple):
    """A way to say how similar two records are, in logarithms of odds: learned from all labels, and without each fold.

    ``without[f]`` are weights and bias of what the folds but f taught, None if nothing can be learned from them.
    """

    name: str
    weights: np.ndarray
    bias: float
    without: list[tuple[np.ndarray, float] | None]


class Trial(NamedTuple):
    """What a choice does to held-out clusters: precision, recall and F1 of pairs, F1 of B³, and what they are made of.

    ``counts`` has a row for each labeled cluster, with sums over its records: others of the cluster that are with it,
    that should be, and all that are; B³'s precision and recall; and how many records were held out.
    """

    similarity: str
    linkage: str
    sizes: bool
    threshold: float
    precision: float
    recall: float
    f1: float
    b_cubed: float
    counts: np.ndarray

    @property
    def value(self) -> float:
        """By what choices are compared."""
        return (self.f1 + self.b_cubed) / 2.0

    def gain(self, other: Trial) -> tuple[float, float]:
        """By how much it is better than another one, and the standard error of that, by clusters held out in both."""
        both = (self.counts[:, -1] > 0) & (other.counts[:, -1] > 0)
        n = np.count_nonzero(both)
        if n < 2:
            return 0.0, 0.0
        with_all, without = [], []  # the mean of F1 and B³, also without each cluster
        for counts in (self.counts[both], other.counts[both]):
            with_all.append(np.mean(_f1_and_b_cubed(counts.sum(axis=0))))
            without.append(np.mean(_f1_and_b_cubed(counts.sum(axis=0) - counts), axis=0))
        return float(with_all[0] - with_all[1]), float(np.sqrt(n - 1) * np.std(without[0] - without[1]))

    def can_be_beaten(self) -> bool:
        """Whether another choice could be clearly better: only clusters that are not found as they should be can gain.

        The standard error is least if those m of n gain the same each: that times the root of m (1 - m / n).
        """
        counts = self.counts[self.counts[:, -1] > 0]
        right, true, joined = counts[:, :3].T
        m, n = np.count_nonzero((right < true) | (right < joined)), len(counts)
        return bool(m * n > _SURE**2 * (n - m))  # m > 3 sqrt(m (1 - m / n))


def _f1_and_b_cubed(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """F1 of pairs and of B³ from sums of counts, of one choice or many."""
    right, true, found, precision, recall, n = np.moveaxis(np.asarray(counts, np.float64), -1, 0)
    both = true + found
    f1 = np.where(both > 0, 2.0 * right / np.where(both > 0, both, 1.0), 1.0)
    return f1, 2.0 * precision * recall / np.maximum((precision + recall) * n, 1e-9)


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
        counts = sum(self._count(fold, labels) for fold, labels in found.items())
        assert isinstance(counts, np.ndarray)
        right, true, joined = counts[:, :3].sum(axis=0).tolist()
        shares = (right / joined if joined else 1.0, right / true if true else 1.0)
        f1, b_cubed = (float(one) for one in _f1_and_b_cubed(counts.sum(axis=0)))
        return Trial(similarity.name, linkage, sizes, threshold, *shares, f1, b_cubed, counts)

    def rules(self, similarity: Similarity, linkage: str) -> list[tuple[str, bool]]:
        """Rules to try, of one linkage or ("auto") all; sizes of clusters are known only if they are labeled whole."""
        self.judge(similarity, "average" if linkage == "auto" else linkage, False, 0.0)  # shows whether they are
        return [(name, sizes) for name, sizes in RULES if linkage in ("auto", name) and (self.complete or not sizes)]

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

    def _count(self, fold: int, labels: np.ndarray) -> np.ndarray:
        held_out = np.flatnonzero(self.folds == fold)
        judged = self.n if self.complete else self.folds.size
        joined = np.bincount(labels[:judged], minlength=int(labels.max()) + 1)[labels[held_out]]
        both = self._together(held_out, labels)
        sizes = self.sizes[held_out]
        each = (both - 1, sizes - 1, joined - 1, both / joined, both / sizes, np.ones(held_out.size))
        own, n_clusters = self.truth[held_out], int(self.truth.max()) + 1
        return np.column_stack([np.bincount(own, column, n_clusters) for column in each])

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
    return any(not trial.can_be_beaten() for row in rows for trial in row)


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


def choose(trials: list[list[Trial]]) -> Trial:
    """The usual trial, which is the first rule at even odds, or the best one of those that are clearly better."""
    usual = min(trials[0], key=lambda trial: abs(trial.threshold))
    better = [trial for row in trials for trial in row if clearly_better(trial, usual)]
    return max(better, key=lambda trial: trial.value, default=usual)


def clearly_better(trial: Trial, usual: Trial) -> bool:
    """Whether a trial is better than the usual one, almost certainly."""
    better, error = trial.gain(usual)
    return better > max(_SURE * error, 0.0)


def report(trials: list[list[Trial]], chosen: Trial) -> list[dict[str, Any]]:
    """The best of each row of trials, and the one that was chosen, as plain values."""
    rows = []
    for row in trials:
        shown = next((trial for trial in row if trial is chosen), max(row, key=lambda trial: trial.value))
        rows.append({**shown._asdict(), "chosen": shown is chosen})
        del rows[-1]["counts"]
    return rows
