"""Weights of linear models, and the part scores that they give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


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

    @property
    def size(self) -> int:
        return self.unary.size + self.transitions.size

    def flat(self) -> np.ndarray:
        """All parameters in one vector, transitions last."""
        return np.concatenate([self.unary.ravel(), self.transitions])

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
