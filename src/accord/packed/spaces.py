"""Parameters of the smooth large-margin learners: what they say about the parts of outputs [thesis 7.1].

A space turns parameters into scores of parts, and coefficients of parts into coefficients of parameters; see
:class:`accord.packed.problem.WorkingSet`.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from accord.packed.rows import Rows
from accord.packed.structure import Structure
from accord.packed.weights import Weights


class PrimalSpace:
    """Parameters that are weights of features, and of transitions; in one flat vector.

    ``centre`` (first, last row): feature vectors are taken relative to the mean of these rows.
    """

    def __init__(self, structure: Structure, rows: Rows, centre: tuple[int, int] | None = None) -> None:
        self.structure, self.rows, self.centre = structure, rows, centre
        self.n_rows, self.n_own = rows.n_rows, rows.n_dims * structure.n_nodes_
        self.n_columns = structure.n_columns_

    def zeros(self) -> np.ndarray:
        return np.zeros(self.n_own + self.structure.n_transitions_)

    def forward(self, x: np.ndarray) -> np.ndarray:
        """Scores of nodes at rows, and of transitions, flat."""
        scores = self.rows.scores(x[: self.n_own].reshape(self.rows.n_dims, self.structure.n_nodes_))
        if self.centre is not None:
            scores -= scores[slice(*self.centre)].mean(axis=0)
        return np.concatenate([scores.ravel(), x[self.n_own :]])

    def coefficients(self, parts: np.ndarray) -> np.ndarray:
        """Transpose of :meth:`forward` after :meth:`part_scores`, in the metric of this space."""
        per_node, transitions = self._per_node(parts)
        return np.concatenate([self.rows.transpose_scores(self._uncentred(per_node)).ravel(), transitions])

    def inner(self, a: np.ndarray, b: np.ndarray, forward_b: np.ndarray) -> float:
        """Inner product of the weights that two vectors stand for."""
        return float(a @ b)

    def part_scores(self, forward: np.ndarray) -> np.ndarray:
        """Scores of labels at rows, and of transitions, flat."""
        if self.structure.node_map_ is None:
            return forward
        return np.concatenate([self.label_scores(forward).ravel(), self.transitions(forward)])

    def label_scores(self, forward: np.ndarray) -> np.ndarray:
        n_nodes = self.structure.n_nodes_
        return self.structure.label_scores(forward[: self.n_rows * n_nodes].reshape(self.n_rows, n_nodes))

    def transitions(self, forward: np.ndarray) -> np.ndarray:
        return forward[self.n_rows * self.structure.n_nodes_ :]

    def weights(self, x: np.ndarray) -> Weights:
        """The weights of features and transitions that the parameters stand for."""
        return Weights(
            x[: self.n_own].reshape(self.rows.n_dims, self.structure.n_nodes_).copy(), x[self.n_own :].copy()
        )

    # -- a part of the rows -----------------------------------------------------------------------------------------
    def restricted(self, active: np.ndarray) -> tuple[PrimalSpace, np.ndarray]:
        """The space of some rows, and which of the parameters it has.

        The optimum for working sets that compare outputs at these rows only has no other parameters.
        """
        if isinstance(self.rows.table, np.ndarray):
            every = np.arange(self.rows.n_dims)
            return PrimalSpace(self.structure, self.rows.take_rows(active)), self._own_and_transitions(every)
        features = self._matrix[active]
        occurs = np.zeros(self.rows.n_dims, np.bool_)
        occurs[features.indices] = True
        used = np.flatnonzero(occurs)
        place = np.cumsum(occurs) - 1
        features = sp.csr_array((features.data, place[features.indices], features.indptr), (active.size, used.size))
        return PrimalSpace(self.structure, type(self.rows).from_matrix(features)), self._own_and_transitions(used)

    def _own_and_transitions(self, used: np.ndarray) -> np.ndarray:
        """Positions of the parameters of some features or rows, and of all transitions."""
        n_nodes = self.structure.n_nodes_
        own = (used[:, None] * n_nodes + np.arange(n_nodes)).ravel()
        return np.concatenate([own, np.arange(self.n_own, self.n_own + self.structure.n_transitions_)])

    @cached_property
    def _matrix(self) -> sp.csr_array:
        return self.rows.matrix()

    def _per_node(self, parts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        n_parts = self.n_rows * self.n_columns
        per_label = parts[:n_parts].reshape(self.n_rows, self.n_columns)
        return self.structure.node_coefficients(per_label), parts[n_parts:]

    def _uncentred(self, per_row: np.ndarray) -> np.ndarray:
        """Coefficients of the rows from those of the centred rows."""
        if self.centre is None:
            return per_row
        first, last = self.centre
        out = per_row.copy()
        out[first:last] -= per_row.sum(axis=0) / (last - first)
        return out


class ExpansionSpace(PrimalSpace):
    """Parameters that are coefficients of training rows, and weights of transitions [representer theorem, Eq. 7.5].

    ``gram`` (n_rows, n_rows) are the inner products of the rows. The metric is that of the weights, which is to
    precondition with the kernel matrix: gradients are then coefficients of rows, and no product is needed for them.
    """

    def __init__(
        self, structure: Structure, rows: Rows, gram: np.ndarray, centre: tuple[int, int] | None = None
    ) -> None:
        super().__init__(structure, rows, centre)
        self.n_own = rows.n_rows * structure.n_nodes_
        if centre is not None:
            gram = gram - gram[slice(*centre)].mean(axis=0)
            gram -= gram[:, slice(*centre)].mean(axis=1)[:, None]
        self.gram = gram

    def forward(self, x: np.ndarray) -> np.ndarray:
        own = x[: self.n_own].reshape(self.n_rows, self.structure.n_nodes_)
        return np.concatenate([(self.gram @ own).ravel(), x[self.n_own :]])

    def coefficients(self, parts: np.ndarray) -> np.ndarray:
        per_node, transitions = self._per_node(parts)
        return np.concatenate([per_node.ravel(), transitions])

    def restricted(self, active: np.ndarray) -> tuple[PrimalSpace, np.ndarray]:
        rows = type(self.rows).from_matrix(np.zeros((active.size, 0)))  # products are all it needs
        small = ExpansionSpace(self.structure, rows, self.gram[np.ix_(active, active)])
        return small, self._own_and_transitions(active)

    def inner(self, a: np.ndarray, b: np.ndarray, forward_b: np.ndarray) -> float:
        return float(a @ forward_b)

    def weights(self, x: np.ndarray) -> Weights:
        per_row = np.ascontiguousarray(self._uncentred(x[: self.n_own].reshape(self.n_rows, self.structure.n_nodes_)))
        return Weights(self.rows.transpose_scores(per_row), x[self.n_own :].copy())
