"""Sets, partitions and features of pairs, checked, with errors that say where and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from accord.exceptions import InputError
from accord.structures.partitions.partition import Partition
from accord.views.pairs import PairFeatures


def read_partitions(sets: Any, partitions: Any, structure: Partition) -> tuple[list[int], list[np.ndarray]]:
    """Numbers of the labeled sets and their cluster numbers."""
    for name, value in (("sets", sets), ("partitions", partitions)):
        if value is None or isinstance(value, (str, bytes, dict)) or not hasattr(value, "__len__"):
            raise InputError(f"{name} is a {type(value).__name__}; expected a list with one entry per set")
    if len(sets) != len(partitions):
        raise InputError(f"sets has {len(sets)} sets but partitions has {len(partitions)}; they must pair up")
    labeled = [i for i, one in enumerate(partitions) if one is not None]
    if not labeled:
        raise InputError(f"none of {len(sets)} sets has a partition: fit needs at least one")
    return labeled, [structure.encode(partitions[i], f"partitions[{i}]") for i in labeled]


def check_sizes(view: PairFeatures, sets: Sequence[Any], labeled: Sequence[int], y: Sequence[np.ndarray]) -> None:
    """Every object of a labeled set has a cluster."""
    for i, truth in zip(labeled, y):
        if view.count(sets[i]) != truth.size:
            raise InputError(
                f"partitions[{i}] has {truth.size} objects but sets[{i}] has {view.count(sets[i])}; give the cluster "
                "of every object"
            )


def pair_matrix(view: PairFeatures, objects: Any, number: int, bias: bool) -> np.ndarray:
    """Features of the pairs of a labeled set, with a column of ones for the bias."""
    pairs = np.asarray(view.pairs(objects), dtype=np.float64)
    if not np.all(np.isfinite(pairs)):
        pair, feature = np.argwhere(~np.isfinite(pairs))[0]
        j = int((1 + np.sqrt(1 + 8 * pair)) // 2)
        raise InputError(
            f"sets[{number}]: feature {view.names_[feature]!r} of the objects {j} and {pair - j * (j - 1) // 2} is "
            f"{pairs[pair, feature]}; expected finite numbers"
        )
    return np.hstack([pairs, np.ones((len(pairs), 1))]) if bias else pairs


def read_single(view: PairFeatures, pairs: Any, together: Any, bias: bool) -> tuple[np.ndarray, np.ndarray]:
    """Features of single pairs, with a column of ones for the bias, and whether each belongs together."""
    width = len(view.names_)
    if pairs is None and together is None:
        return np.empty((0, width + bias)), np.empty(0, np.bool_)
    try:
        features, same = np.asarray(pairs, dtype=np.float64), np.asarray(together)
    except (TypeError, ValueError):
        raise InputError("pairs does not hold numbers; expected a row of features for each pair") from None
    same = same.astype(np.bool_) if not same.size else same  # of an empty list numpy says that it holds numbers
    if features.ndim != 2 or features.shape[1] != width:
        raise InputError(f"pairs has shape {features.shape}; expected (number of pairs, {width}): a row for each pair")
    if same.shape != (len(features),) or same.dtype != np.bool_:
        raise InputError(
            f"together has shape {same.shape} and type {same.dtype}; expected True or False for each of "
            f"{len(features)} pairs"
        )
    if not np.all(np.isfinite(features)):
        pair, feature = np.argwhere(~np.isfinite(features))[0]
        raise InputError(
            f"pairs[{pair}]: feature {view.names_[feature]!r} is {features[pair, feature]}; expected finite numbers"
        )
    return np.hstack([features, np.ones((len(features), 1))]) if bias else features, same


def scale_of(pairs: Sequence[np.ndarray], weights: Sequence[float]) -> np.ndarray:
    """The root mean square of the non-zero values of each feature, where sets have weights; 1 if there are none."""
    squares, counts = np.zeros(pairs[0].shape[1]), np.zeros(pairs[0].shape[1])
    for one, weight in zip(pairs, weights):
        squares += weight * (one**2).sum(axis=0)
        counts += weight * np.count_nonzero(one, axis=0)
    scale = np.sqrt(squares / np.where(counts > 0.0, counts, 1.0))
    return np.where(scale > 0.0, scale, 1.0)
