"""What training sets in several views share, whatever the structure."""

from __future__ import annotations

from typing import Any

import numpy as np

from accord.packed.rows import Rows
from accord.packed.weights import ViewWeights


class ViewedProblem:
    """Examples in several views; see :class:`accord.packed.problem.ConsensusProblem`."""

    structure: Any
    channels: list[Rows]
    n_views: int
    n_dims: int
    offsets: np.ndarray
    y: np.ndarray
    is_labeled: np.ndarray  # (n_examples,) fully
    labeled: np.ndarray  # their numbers

    @property
    def n_examples(self) -> int:
        return self.offsets.size - 1

    def zero_weights(self) -> ViewWeights:
        s = self.structure
        return ViewWeights(self.n_views, self.n_dims, s.n_nodes_, s.n_transitions_)

    def labeled_part(self, v: int) -> tuple[Rows, np.ndarray]:
        """The fully labeled examples in view ``v`` and their outputs as numbers."""
        return self.channels[v].take(self.labeled), self.y[np.repeat(self.is_labeled, np.diff(self.offsets))]
