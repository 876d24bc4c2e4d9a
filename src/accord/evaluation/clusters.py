"""How wrong partitions are: Rand and total loss, pairwise and B-cubed F1, adjusted Rand index [spec 1.5].

A partition is a list with the cluster of every object; clusters are numbers or names of which only equality counts. The
arguments are two lists of partitions, one for each set, or two partitions of a single set (lists of numbers or
strings). Everything follows from the sizes of clusters and of their intersections, so that time grows with the number
of objects (times its logarithm), not with that of pairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from accord.evaluation.metrics import Counts, is_sequence
from accord.exceptions import InputError
from accord.structures.partitions import losses
from accord.structures.partitions.partition import Partition


def _sets(y_true: Any, y_pred: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """Cluster numbers of every set, true and predicted."""
    for name, value in (("y_true", y_true), ("y_pred", y_pred)):
        if isinstance(value, (str, bytes, dict)) or not hasattr(value, "__len__"):
            raise InputError(f"{name} is a {type(value).__name__}; expected a list of partitions, or one partition")
    if not len(y_true):
        raise InputError("y_true is empty: there is nothing to score; pass at least one set")
    if not is_sequence(y_true[0]):
        y_true, y_pred = [y_true], [y_pred]
    if len(y_true) != len(y_pred):
        raise InputError(f"y_pred has {len(y_pred)} sets but y_true has {len(y_true)}: pass one partition per set")
    encode, out = Partition().encode, []
    for i, (true, pred) in enumerate(zip(y_true, y_pred)):
        one = encode(true, f"y_true[{i}]"), encode(pred, f"y_pred[{i}]")
        if one[0].size != one[1].size:
            raise InputError(f"y_pred[{i}] has {one[1].size} objects but y_true[{i}] has {one[0].size}")
        out.append(one)
    return out


def rand_loss(y_true: Any, y_pred: Any) -> float:
    """Fraction of pairs that are together in one partition only, mean over sets.

    >>> rand_loss(["a", "a", "b", "b"], [0, 0, 0, 1])
    0.5
    """
    return float(np.mean([losses.rand_loss(*one) for one in _sets(y_true, y_pred)]))


def total_loss(y_true: Any, y_pred: Any, per_object: bool = False) -> float:
    """The thesis' loss: sum over wrong pairs (j, k < j) of 1 / (size of k's true cluster without j), mean over sets.

    Parameters
    ----------
    per_object : divide by the number of objects (all losses by all objects), as the thesis' figures do

    Examples
    --------
    >>> total_loss([0, 0, 0, 1], [0, 0, 1, 1])  # the third object misses its cluster and joins a wrong one
    1.3333333333333333
    """
    sets = _sets(y_true, y_pred)
    found = [losses.total_loss(*one) for one in sets]
    return float(sum(found) / max(1, sum(one[0].size for one in sets)) if per_object else np.mean(found))


def total_loss_per_object(y_true: Any, y_pred: Any) -> float:
    """`total_loss` of all sets over the number of all objects.

    >>> total_loss_per_object([0, 0, 0, 1], [0, 0, 1, 1])
    0.3333
    """
    return total_loss(y_true, y_pred, per_object=True)


def pair_counts(y_true: Any, y_pred: Any) -> Counts:
    """Pairs that are together, that are said to be, and both, over all sets: precision, recall and F1 of pairs.

    >>> counts = pair_counts([0, 0, 0, 1], [0, 0, 1, 1])
    >>> counts.precision, round(counts.recall, 3), counts.f1
    (0.5, 0.333, 0.4)
    """
    found = np.array([losses.pair_counts(*one) for one in _sets(y_true, y_pred)]).sum(axis=0)
    return Counts(*found.tolist())


def pairwise_f1(y_true: Any, y_pred: Any) -> float:
    """F1 of the pairs that are together, over all sets (0 where there are none).

    >>> pairwise_f1([0, 0, 0, 1], [0, 0, 1, 1])
    0.4
    """
    return pair_counts(y_true, y_pred).f1


def b_cubed(y_true: Any, y_pred: Any) -> tuple[float, float, float]:
    """B-cubed precision, recall and F1: means over all objects of all sets (Bagga & Baldwin 1998).

    An object's precision is the share of its predicted cluster that is in its true one; recall the other way round.

    >>> b_cubed([0, 0, 1, 1], [0, 0, 0, 1])
    (0.6666666666666666, 0.75, 0.7058823529411765)
    """
    sets = _sets(y_true, y_pred)
    n_objects = sum(one[0].size for one in sets)
    if not n_objects:
        raise InputError("y_true holds only empty sets: there is no object to score")
    precision, recall = np.array([losses.b_cubed(*one) for one in sets]).sum(axis=0) / n_objects
    return float(precision), float(recall), float(2 * precision * recall / (precision + recall))


def b_cubed_f1(y_true: Any, y_pred: Any) -> float:
    """F1 of `b_cubed`.

    >>> b_cubed_f1([0, 0, 1, 1], [0, 0, 0, 1])
    0.7059
    """
    return b_cubed(y_true, y_pred)[2]


def adjusted_rand_index(y_true: Any, y_pred: Any) -> float:
    """Rand index corrected for chance (Hubert & Arabie 1985), mean over sets: 1 if all is right, about 0 by chance.

    >>> adjusted_rand_index([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    return float(np.mean([_adjusted_rand(*one) for one in _sets(y_true, y_pred)]))


def _adjusted_rand(y: np.ndarray, other: np.ndarray) -> float:
    true, pred, both = losses.pair_counts(y, other)
    if true == pred == both:  # also where chance could do no other
        return 1.0
    expected = true * pred / (y.size * (y.size - 1) // 2)
    return (both - expected) / ((true + pred) / 2 - expected)
