"""Partitions of sets: Phi(x, y) is the sum of psi(x_j, x_k) over pairs within clusters [thesis 3.2.4, spec 1.5]."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from accord.exceptions import InputError
from accord.forms import REPORT, optional
from accord.kernels.partitions import correlation, lp, moves
from accord.kernels.partitions.condensed import pair_numbers
from accord.kernels.partitions.triangles import TriangleProgram
from accord.settings import check, one_of
from accord.structures.partitions import losses

DECODERS = ("sequential", "agglomerative", "lp", "exact")


class Violator(NamedTuple):
    """A (relaxed) output: what it says of every pair (1: together), its loss, and loss plus score."""

    z: np.ndarray
    loss: float
    value: float


class Partition(BaseEstimator):
    """Which objects of a set belong together; clusters have no names and there may be any number of them.

    Unlike other structures it has no labels: an output is a list of cluster numbers, of which only equality counts.
    Its part scores are similarities of pairs, and its decoders do correlation clustering: they look for the partition
    with the largest sum of similarities within clusters.

    Parameters
    ----------
    loss : "total", "rand" or "zero-one"
        "total": sum over wrong pairs (j, k < j) of 1 / (size of k's true cluster without j), so that an object in a
        wrong cluster costs about 1 (2 if it misses its own cluster), however large clusters are. "rand": fraction of
        wrong pairs. "zero-one": 1 unless everything is right, which is no sum over pairs and therefore has no
        loss-augmented decoder.

    Examples
    --------
    >>> from accord import Partition
    >>> partition = Partition().fit([])
    >>> partition.decode([1.0, -3.0, 2.0], "exact").tolist()  # pairs (1, 0), (2, 0), (2, 1)
    [0, 1, 1]
    >>> partition.loss_between(["a", "a", "b"], ["a", "b", "b"])
    1.5
    """

    expects: ClassVar = {"loss": one_of(*losses.LOSSES)}
    stored: ClassVar = {"labels_": optional(REPORT)}

    def __init__(self, loss: str = "total") -> None:
        self.loss = loss

    def fit(self, Y: Iterable[Any]) -> Partition:
        """Check the loss; there is nothing to learn from outputs."""
        check(self)
        return self

    def exact(self, rescaling: str = "margin", norm: int = 1, decoder: str = "exact") -> bool:
        """Whether the most violating partition is found: by the exact decoder, for losses that are sums over pairs.

        The relaxation of "lp" finds what violates most among relaxed partitions, which bounds all partitions.
        """
        return self.loss != "zero-one" and rescaling == "margin" and norm == 1 and decoder == "exact"

    def encode(self, y: Any, where: str = "y") -> np.ndarray:
        """Cluster numbers in order of first appearance, from any hashable names of clusters."""
        if isinstance(y, (str, bytes, dict)) or not hasattr(y, "__len__"):
            raise InputError(f"{where} is a {type(y).__name__}; expected a list with the cluster of every object")
        names = y.tolist() if isinstance(y, np.ndarray) else list(y)
        numbers: dict[Any, int] = {}
        out = np.empty(len(names), np.int64)
        for j, name in enumerate(names):
            if name is None or name != name:  # a missing number is not equal to itself
                raise InputError(
                    f"{where}[{j}] is {name!r}: a set has clusters for all of its objects, or None in place of the list"
                )
            try:
                out[j] = numbers.setdefault(name, len(numbers))
            except TypeError:
                raise InputError(
                    f"{where}[{j}] is a {type(name).__name__}; expected the number or name of a cluster"
                ) from None
        return out

    def decode(self, similarities: Any, decoder: str = "sequential") -> np.ndarray:
        """Cluster numbers for similarities of pairs, in condensed order or as a matrix."""
        if np.shape(similarities) == (0, 0):
            return np.empty(0, np.int64)
        if decoder == "sequential":
            return correlation.sequential(similarities)
        if decoder == "agglomerative":
            return correlation.agglomerative(similarities)
        if decoder == "lp":
            return lp.lp(similarities).labels
        if decoder == "exact":
            return lp.exact(similarities).labels
        raise InputError(f"decoder is {decoder!r}; expected one of {DECODERS}")

    def loss_between(self, y: Any, other: Any) -> float:
        """The loss of a partition ``other`` where ``y`` is right."""
        true, predicted = self.encode(y), self.encode(other, "other")
        if true.size != predicted.size:
            raise InputError(f"other has {predicted.size} objects but y has {true.size}")
        return losses.loss(self.loss, true, predicted)

    def loss_augmented(self, similarities: np.ndarray, y: np.ndarray, decoder: str = "lp") -> Violator:
        """The partition that maximises loss plus score, as far as the decoder finds it.

        Besides the decoders, "moves" improves the agglomerative one by moving objects.
        """
        same, weights = self.pair_weights(y)
        augmented, base = augment(np.asarray(similarities, dtype=np.float64), same, weights)
        labels = self.decode(augmented, "agglomerative" if decoder == "moves" else decoder)
        if decoder == "moves":
            labels = moves.improved(augmented, labels)
        j, k = pair_numbers(labels.size)
        return violator((labels[j] == labels[k]).astype(np.float64), augmented, base, same, weights)

    def relaxed_loss_augmented(
        self, similarities: np.ndarray, y: np.ndarray, program: TriangleProgram | None = None, enough: float = -np.inf
    ) -> Violator:
        """The relaxed partition that maximises loss plus score [thesis 8.2]; ``program`` may be used again.

        With a program and ``enough`` some relaxed partition will do (see ``TriangleProgram.solve``); the value is then
        an upper bound of that of any.
        """
        same, weights = self.pair_weights(y)
        augmented, base = augment(np.asarray(similarities, dtype=np.float64), same, weights)
        solved = None if program is None else program.solve(augmented, enough - base)
        if solved is None:
            solved = lp.relaxed(augmented)
        return violator(solved.z, augmented, base, same, weights)._replace(value=base + solved.bound)

    def pair_weights(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Whether each pair is together in ``y``, and what it costs to have it wrong."""
        if self.loss == "zero-one":
            raise InputError(
                'loss="zero-one" is no sum over pairs, so loss-augmented clustering cannot be done; use loss="total" '
                'or "rand", or method="sequential"'
            )
        return losses.pair_weights(self.loss, y)


def augment(similarities: np.ndarray, same: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Similarities minus zeta, and kappa: loss plus score of z is ``kappa + <z, sim - zeta>`` [thesis 8.2]."""
    return similarities - np.where(same, weights, -weights), float(weights[same].sum())


def violator(z: np.ndarray, augmented: np.ndarray, base: float, same: np.ndarray, weights: np.ndarray) -> Violator:
    return Violator(z, float(weights @ np.abs(same - z)), base + float(augmented @ z))
