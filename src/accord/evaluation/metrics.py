"""How wrong predictions are: 0/1, Hamming, token error, F1 over labels, rmse.

These are the figures of merit of the papers' tables (and the losses of the structures, seen as metrics on a whole
test set). Outputs come as two lists of the same length. An output is either a single label or a sequence of labels
(a list, a tuple or an array; a string is a single label).

Almost every metric is a function of sums over examples (errors and tokens; chunks found, correct, existing), so each
is written once as per-example *statistics* and a *combine* step; the bootstrap reuses both (see
:mod:`accord.evaluation.bootstrap`). Span F1 lives in :mod:`accord.evaluation.spans`, the tree loss in
:mod:`accord.evaluation.tree_loss`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from itertools import chain
from operator import ne
from typing import Any

import numpy as np

from accord.exceptions import InputError

Label = Hashable
_NO_TOKENS = "y_true holds only empty sequences: there is no token to score"


# ---------------------------------------------------------------------------------------------- checking the input
def is_sequence(output: Any) -> bool:
    """Whether an output is a sequence of labels rather than one label (strings are labels)."""
    return isinstance(output, (list, tuple)) or getattr(output, "ndim", 0) >= 1


def as_list(outputs: Any) -> list[Any]:
    """A list of an array, a tuple or a list."""
    return outputs.tolist() if hasattr(outputs, "tolist") else list(outputs)


def _outputs(outputs: Any, name: str) -> tuple[list[Any], bool]:
    """One argument as a list of labels or of label lists, and whether it holds sequences."""
    if isinstance(outputs, (str, bytes)) or not hasattr(outputs, "__len__"):
        raise InputError(f"{name} must be a list of outputs, one per example, but it is {outputs!r}")
    items = as_list(outputs)
    if not items:
        raise InputError(f"{name} is empty: there is nothing to score; pass at least one output")
    first = is_sequence(items[0])
    for i, item in enumerate(items):
        if item is None:
            raise InputError(f"{name}[{i}] is None (unlabeled): score labeled examples only")
        if is_sequence(item) != first:
            kinds = ("a sequence of labels", "a single label")
            here, there = kinds if not first else kinds[::-1]
            raise InputError(f"{name}[{i}] is {here} but {name}[0] is {there}: do not mix the two")
    return ([as_list(item) for item in items] if first else items), first


def check_pair(y_true: Any, y_pred: Any) -> tuple[list[Any], list[Any], bool]:
    """True and predicted outputs as lists of equal shape, and whether they are sequences."""
    true, nested = _outputs(y_true, "y_true")
    pred, nested_pred = _outputs(y_pred, "y_pred")
    if len(true) != len(pred):
        raise InputError(f"y_pred has {len(pred)} outputs but y_true has {len(true)}: pass one per example")
    if nested != nested_pred:
        what = ("sequences of labels", "single labels")
        here, there = what if nested_pred else what[::-1]
        raise InputError(f"y_pred holds {here} but y_true holds {there}")
    if nested:
        for i, (t, p) in enumerate(zip(true, pred)):
            if len(t) != len(p):
                raise InputError(f"y_pred[{i}] has {len(p)} labels but y_true[{i}] has {len(t)}")
    return true, pred, nested


# ------------------------------------------------------------------------------- statistics per example, and ratios
def zero_one_statistics(y_true: Any, y_pred: Any) -> np.ndarray:
    """(n, 2): is the output wrong, 1."""
    true, pred, _ = check_pair(y_true, y_pred)
    wrong = np.fromiter(map(ne, true, pred), float, len(true))
    return np.column_stack([wrong, np.ones(len(true))])


def token_statistics(y_true: Any, y_pred: Any) -> np.ndarray:
    """(n, 2): wrong tokens, tokens (a single label is one token)."""
    true, pred, nested = check_pair(y_true, y_pred)
    if not nested:
        return zero_one_statistics(true, pred)
    return np.array([[sum(map(ne, t, p)), len(t)] for t, p in zip(true, pred)], dtype=float)


def hamming_statistics(y_true: Any, y_pred: Any) -> np.ndarray:
    """(n, 2): fraction of the example's tokens that are wrong (0 for an empty one), 1."""
    counts = token_statistics(y_true, y_pred)
    share = counts[:, 0] / np.maximum(counts[:, 1], 1)
    return np.column_stack([share, np.ones(len(counts))])


def squared_error_statistics(y_true: Any, y_pred: Any) -> np.ndarray:
    """(n, 2): squared error, 1."""
    true, pred, nested = check_pair(y_true, y_pred)
    if nested:
        raise InputError("rmse needs one number per example, but y_true holds sequences")
    try:
        error = np.asarray(true, dtype=float) - np.asarray(pred, dtype=float)
    except (TypeError, ValueError) as cause:
        raise InputError("rmse needs numbers in y_true and y_pred") from cause
    for i in np.flatnonzero(~np.isfinite(error))[:1]:
        raise InputError(f"y_true[{i}] is {true[i]} and y_pred[{i}] is {pred[i]}: rmse needs finite numbers")
    return np.column_stack([error**2, np.ones(len(error))])


def ratio(totals: np.ndarray) -> np.ndarray:
    """First total over second; totals (..., 2)."""
    return totals[..., 0] / totals[..., 1]


def root_ratio(totals: np.ndarray) -> np.ndarray:
    """Square root of first total over second; totals (..., 2)."""
    return np.sqrt(ratio(totals))


def f1_of_counts(totals: np.ndarray, of_none: float = 0.0) -> np.ndarray:
    """F1 = 2 correct / (true + predicted), `of_none` where both are 0; totals (..., 3) = true, predicted, correct."""
    size = totals[..., 0] + totals[..., 1]
    return np.where(size > 0, 2 * totals[..., 2] / np.where(size > 0, size, 1), of_none)


# -------------------------------------------------------------------------------------------------------- metrics
def zero_one_loss(y_true: Any, y_pred: Any) -> float:
    """Fraction of outputs that are not exactly right (a sequence with one wrong token is wrong).

    >>> zero_one_loss([["a", "b"], ["a"]], [["a", "a"], ["a"]])
    0.5
    """
    return float(ratio(zero_one_statistics(y_true, y_pred).sum(axis=0)))


def _token_totals(y_true: Any, y_pred: Any) -> tuple[float, float]:
    wrong, total = token_statistics(y_true, y_pred).sum(axis=0).tolist()
    if not total:
        raise InputError(_NO_TOKENS)
    return wrong, total


def token_error(y_true: Any, y_pred: Any) -> float:
    """Wrong tokens over all tokens, pooled over the sequences: the "token error" of the papers' tables.

    >>> token_error([["a", "b", "b"], ["a"]], [["a", "a", "b"], ["a"]])
    0.25
    """
    wrong, total = _token_totals(y_true, y_pred)
    return wrong / total


def hamming_loss(y_true: Any, y_pred: Any) -> float:
    """Mean over sequences of the fraction of wrong tokens: the mean of the structural Hamming loss.

    Long and short sequences weigh the same, unlike in `token_error`.

    >>> hamming_loss([["a", "b"], ["a"]], [["a", "a"], ["a"]])
    0.25
    """
    return float(ratio(hamming_statistics(y_true, y_pred).sum(axis=0)))


def accuracy(y_true: Any, y_pred: Any) -> float:
    """Fraction of right labels, pooled over tokens for sequences (1 − `token_error`).

    >>> accuracy([["a", "b", "b"], ["a"]], [["a", "a", "b"], ["a"]])
    0.75
    """
    wrong, total = _token_totals(y_true, y_pred)
    return (total - wrong) / total


def rmse(y_true: Any, y_pred: Any) -> float:
    """Root of the mean squared error.

    >>> rmse([1.0, 2.0, 3.0], [1.0, 2.0, 5.0])
    1.1547
    """
    return float(root_ratio(squared_error_statistics(y_true, y_pred).sum(axis=0)))


@dataclass(frozen=True)
class Counts:
    """How many there are, how many were predicted, how many of those are right.

    Examples
    --------
    >>> counts = Counts(n_true=4, n_pred=5, n_correct=3)
    >>> counts.precision, counts.recall, counts.f1
    (0.6, 0.75, 0.6667)
    """

    n_true: int
    n_pred: int
    n_correct: int

    @property
    def precision(self) -> float:
        """Correct over *predicted* (0 if none was predicted)."""
        return self.n_correct / self.n_pred if self.n_pred else 0.0

    @property
    def recall(self) -> float:
        """Correct over existing (0 if none exists)."""
        return self.n_correct / self.n_true if self.n_true else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall (0 where undefined)."""
        return float(f1_of_counts(np.array([self.n_true, self.n_pred, self.n_correct])))


@dataclass(frozen=True)
class F1Scores:
    """Precision, recall and F1, overall (pooled, "micro") and for each label or span type.

    Examples
    --------
    >>> scores = label_scores([["A", "O", "B"]], [["A", "A", "B"]])
    >>> scores.per_label["A"].f1, scores.per_label["B"].f1, scores.macro_f1
    (0.6667, 1.0, 0.8333)
    """

    overall: Counts
    per_label: dict[Any, Counts]

    @property
    def macro_f1(self) -> float:
        """Unweighted mean of the labels' F1 (0 without labels)."""
        return sum(c.f1 for c in self.per_label.values()) / max(len(self.per_label), 1)


def label_scores(
    y_true: Any, y_pred: Any, labels: Iterable[Label] | None = None, exclude: Iterable[Label] = ("O",)
) -> F1Scores:
    """Precision, recall and F1 of each relevant label, and pooled over them.

    Parameters
    ----------
    y_true, y_pred : lists of labels or of label lists
    labels : labels to count; by default every label that occurs in either argument
    exclude : labels that are not relevant, such as the "outside" label; ignored when `labels` is given

    Examples
    --------
    >>> scores = label_scores([["A", "O", "B"]], [["A", "A", "O"]])
    >>> scores.overall
    Counts(n_true=2, n_pred=2, n_correct=1)
    >>> sorted(scores.per_label)
    ['A', 'B']
    """
    true, pred, nested = check_pair(y_true, y_pred)
    if nested:
        true, pred = list(chain.from_iterable(true)), list(chain.from_iterable(pred))
    if not true:
        raise InputError(_NO_TOKENS)
    n_true, n_pred = Counter(true), Counter(pred)
    n_correct = Counter(t for t, p in zip(true, pred) if t == p)
    if labels is None:
        labels = sorted((n_true.keys() | n_pred.keys()) - set(exclude), key=lambda v: (str(type(v)), v))
    table = {label: Counts(n_true[label], n_pred[label], n_correct[label]) for label in labels}
    totals = [sum(getattr(c, name) for c in table.values()) for name in ("n_true", "n_pred", "n_correct")]
    return F1Scores(Counts(*totals), table)


def micro_f1(
    y_true: Any, y_pred: Any, labels: Iterable[Label] | None = None, exclude: Iterable[Label] = ("O",)
) -> float:
    """F1 over the pooled counts of all relevant labels; arguments as in `label_scores`.

    >>> micro_f1([["A", "O", "B"]], [["A", "A", "O"]])
    0.5
    """
    return label_scores(y_true, y_pred, labels, exclude).overall.f1


def macro_f1(
    y_true: Any, y_pred: Any, labels: Iterable[Label] | None = None, exclude: Iterable[Label] = ("O",)
) -> float:
    """Mean of the relevant labels' F1; arguments as in `label_scores`.

    >>> macro_f1([["A", "O", "B"]], [["A", "A", "O"]])
    0.3333
    """
    return label_scores(y_true, y_pred, labels, exclude).macro_f1
