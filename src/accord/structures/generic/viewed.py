"""What training sets in several views share, whatever the structure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from accord.packed.rescaling import RESCALINGS
from accord.packed.rows import Rows
from accord.packed.weights import ViewWeights


class ViewedProblem:
    """Examples in several views; see :class:`accord.packed.problem.ConsensusProblem`."""

    is_labeled: np.ndarray  # (n_examples,) fully
    labeled: np.ndarray  # their numbers

    def __init__(self, structure: Any, channels: Sequence[Rows], y: np.ndarray, rescaling: str, norm: int) -> None:
        self.structure, self.y = structure, y
        self.channels = [c.merged() for c in channels]
        self.n_views, self.n_dims, self.offsets = len(channels), channels[0].n_dims, channels[0].offsets
        self.rescaling, self.norm = RESCALINGS[rescaling], norm
        # views that learn, and the views whose predictions they learn
        views = range(self.n_views)
        self.pairs = [(v, u) for v in views for u in views if u != v or self.n_views == 1]

    @property
    def n_examples(self) -> int:
        return self.offsets.size - 1

    def weight(self, i: int) -> float:
        """How much example ``i`` counts."""
        weights = self.channels[0].input_weights
        return 1.0 if weights is None else float(weights[i])

    def zero_weights(self) -> ViewWeights:
        s = self.structure
        return ViewWeights(self.n_views, self.n_dims, s.n_nodes_, s.n_transitions_)

    def labeled_part(self, v: int) -> tuple[Rows, np.ndarray]:
        """The fully labeled examples in view ``v`` and their outputs as numbers."""
        return self.channels[v].take(self.labeled), self.y[np.repeat(self.is_labeled, np.diff(self.offsets))]
