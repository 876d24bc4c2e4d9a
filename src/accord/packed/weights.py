"""Weights of linear models, and the part scores that they give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.linalg.blas import daxpy

from accord.forms import array

ROWS = 1024  # rows of weights that are worked on at a time


class Parts(NamedTuple):
    """Local scores of one input; every decoder maximises their sum. Minus infinity forbids a part.

    Views, losses and constraints all add to the same arrays, so one decoder serves every learner.
    """

    unary: np.ndarray  # (n_tokens, n_labels)
    init: np.ndarray  # (n_labels,)
    step: np.ndarray  # (A, B, n_labels), see accord.kernels
    final: np.ndarray  # (n_labels,)


@dataclass
class Weights:
    """Parameters of a linear model over a structure: one column per node, and the transition vector."""

    unary: np.ndarray  # (n_dims, n_nodes)
    transitions: np.ndarray  # (n_transitions,): start, end, pair[, triple]; empty without transitions

    stored: ClassVar = {
        "unary": array("f8", "n_dims", "n_nodes"),
        "transitions": array("f8", "n_transitions"),
    }

    @property
    def size(self) -> int:
        return self.unary.size + self.transitions.size

    def flat(self) -> np.ndarray:
        """All parameters in one vector, transitions last."""
        return np.concatenate([self.unary.ravel(), self.transitions])

    def add_to(self, vector: np.ndarray, factor: float) -> None:
        """Add all parameters, times a number, to a vector like :meth:`flat`'s, in place."""
        n = self.unary.size
        if n > 0:
            daxpy(self.unary.ravel(), vector[:n], a=factor)  # without a temporary array
        vector[n:] += factor * self.transitions

    def subtract(self, other: Weights, divisor: float) -> None:
        """Subtract other weights over a number, in place; some rows at a time, for there may be little memory left."""
        for mine, its in ((self.unary, other.unary), (self.transitions, other.transitions)):
            for first in range(0, len(mine), ROWS):
                mine[first : first + ROWS] -= its[first : first + ROWS] / divisor

    def copy(self) -> Weights:
        return Weights(self.unary.copy(), self.transitions.copy())

    @classmethod
    def from_flat(cls, w: np.ndarray, n_dims: int, n_nodes: int) -> Weights:
        """Views into a flat vector (no copy)."""
        n = n_dims * n_nodes
        return cls(w[:n].reshape(n_dims, n_nodes), w[n:])

    def grown(self, n_dims: int) -> Weights:
        """The same weights with zero rows added up to ``n_dims``."""
        missing = n_dims - self.unary.shape[0]
        if missing <= 0:
            return self
        return Weights(np.vstack([self.unary, np.zeros((missing, self.unary.shape[1]))]), self.transitions)


class ViewWeights:
    """The weights of several views in one array, so that kernels can choose a view.

    ``stacked`` has shape (n_views, n_dims + rows for the transitions, n_nodes).
    """

    def __init__(self, n_views: int, n_dims: int, n_nodes: int, n_transitions: int) -> None:
        self.n_dims, self.n_transitions = n_dims, n_transitions
        self.stacked = np.zeros((n_views, n_dims - (-n_transitions // n_nodes), n_nodes))

    def flat(self, v: int) -> np.ndarray:
        """All parameters of view ``v``, transitions last (no copy)."""
        n_nodes = self.stacked.shape[2]
        return self.stacked[v].reshape(-1)[: self.n_dims * n_nodes + self.n_transitions]

    def view(self, v: int) -> Weights:
        """The weights of view ``v`` (no copy)."""
        return Weights.from_flat(self.flat(v), self.n_dims, self.stacked.shape[2])

    def copies(self) -> list[Weights]:
        return [self.view(v).copy() for v in range(self.stacked.shape[0])]
