"""Chains, the common form of classes, taxonomies and label sequences: scores and decoders.

An output is one label per row; a class is a chain of one row without transitions. Joint features are
``sum_t psi(x_t) (x) Lambda(y_t)`` plus, for sequences, transition counts. ``Lambda`` maps a label to the nodes whose
weights it sums: the identity, except for taxonomies. If transitions are observed, ``psi(x_t) (x) e_{y_{t-1}} (x)
e_{y_t}`` is added: a row then has a score for every pair of labels, too (:mod:`accord.kernels.chains.pairs`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from accord.exceptions import InfeasibleError, InputError
from accord.kernels.chains import forward_backward as fb
from accord.kernels.chains import viterbi as vit
from accord.kernels.chains.online import LabelMap, path_score
from accord.kernels.chains.violator import Loss, find_violator, loss_value
from accord.packed.rescaling import RESCALINGS
from accord.packed.weights import Parts
from accord.settings import is_whole
from accord.structures.chains import losses
from accord.structures.chains.labels import LabelStructure


class ChainDecoders(LabelStructure):
    """What the structures whose outputs are chains of labels do with numbers.

    Subclasses set, in ``fit``: ``labels_``, ``loss_`` (a kernel loss), ``node_map_`` (n_labels, n_nodes) and, with
    transitions, ``order_``, ``eta_``, ``ends_``, ``observed_`` and ``forbidden_``.
    """

    single_row = True
    loss_: Loss
    order_: int = 1
    eta_: float = 1.0
    ends_: bool = True
    observed_: bool = False
    has_transitions = False

    # -- sizes ------------------------------------------------------------------------------------------------
    @property
    def n_nodes_(self) -> int:
        return self.node_map_.shape[1] if self.node_map_ is not None else self.n_columns_

    @property
    def n_columns_(self) -> int:
        """How many scores a row has: one of each label, and of each pair of labels if transitions are observed."""
        return self.n_labels_ * (1 + self.n_labels_ * self.observed_)

    @property
    def n_transitions_(self) -> int:
        if not self.has_transitions:
            return 0
        n = self.n_labels_
        return (2 * n if self.ends_ else 0) + n * n + ((n + 1) * n * n if self.order_ == 2 else 0)

    forbidden_: Any = ()  # pairs of labels, see Sequence
    node_map_: Any = None  # csr_array (n_labels, n_nodes), or None for the identity

    def without_ancestors(self) -> None:
        """Let classes share nothing."""

    def label_map(self) -> LabelMap:
        """Lambda as the kernels take it."""
        if self.node_map_ is None:
            return LabelMap(np.zeros(self.n_labels_ + 1, np.int64), np.empty(0, np.int64), np.empty(0))
        m = sp.csr_array(self.node_map_)
        return LabelMap(m.indptr.astype(np.int64), m.indices.astype(np.int64), m.data.astype(np.float64))

    # -- scores -----------------------------------------------------------------------------------------------
    def label_scores(self, node_scores: np.ndarray) -> np.ndarray:
        """Scores of labels (n_rows, n_labels) from scores of nodes (n_rows, n_nodes)."""
        if self.node_map_ is None:
            return node_scores
        return np.ascontiguousarray(node_scores @ sp.csr_array(self.node_map_).toarray().T)

    def node_coefficients(self, per_label: np.ndarray) -> np.ndarray:
        """Transpose of :meth:`label_scores`."""
        if self.node_map_ is None:
            return per_label
        return np.ascontiguousarray(per_label @ sp.csr_array(self.node_map_).toarray())

    def allowed(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Which (start, step, end) transitions the constraints allow, as 0 / minus infinity."""
        n = self.n_labels_
        return np.zeros(n), np.zeros(self._step_shape()), np.zeros(n)

    def _step_shape(self) -> tuple[int, int, int]:
        n = self.n_labels_
        if not self.has_transitions:  # chains of one row take no step
            return n, 1, 0
        return (n, 1, n) if self.order_ == 1 else (n + 1, n, n)

    def chain(self, transitions: np.ndarray, constrained: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The decoder's arrays (init, step, final) for a transition vector."""
        init, step, final = self.allowed()
        if not constrained:
            for array in (init, step, final):
                array[:] = 0.0
        if np.size(transitions):
            n = self.n_labels_
            ends, pairs, triples = np.split(
                np.asarray(transitions, np.float64), np.cumsum([2 * n if self.ends_ else 0, n * n])
            )
            moves = pairs + triples.reshape(-1, n * n) if self.order_ == 2 else pairs
            start, end = ends.reshape(2, -1) if self.ends_ else np.zeros((2, n))
            for array, scores in ((init, start), (step, moves), (final, end)):
                np.copyto(array, self.eta_ * scores.reshape(array.shape), where=array > -np.inf)
        return init, step, final

    def transition_counts(self, init: np.ndarray, step: np.ndarray, final: np.ndarray) -> np.ndarray:
        """Counts in the layout of a transition vector, given those of the decoder's arrays; transpose of `chain`."""
        pairs = [step.sum(axis=0)] if self.order_ == 2 else []
        ends = [init, final] if self.ends_ else []
        return self.eta_ * np.concatenate([np.ravel(array) for array in (*ends, *pairs, step)])

    def parts(self, unary: np.ndarray, transitions: np.ndarray | None = None) -> Parts:
        """Part scores from scores of rows (n_rows, n_columns) and a transition vector (default: zeros)."""
        unary = np.ascontiguousarray(unary, dtype=np.float64)
        if unary.ndim != 2 or unary.shape[1] != self.n_columns_:
            raise InputError(f"unary has shape {unary.shape}; expected (n_rows, {self.n_columns_})")
        if transitions is None:
            transitions = np.zeros(self.n_transitions_)
        if np.shape(transitions) != (self.n_transitions_,):
            raise InputError(f"transitions has shape {np.shape(transitions)}; expected ({self.n_transitions_},)")
        return Parts(unary, *self.chain(transitions))

    def _checked_parts(self, parts: Parts) -> Parts:
        """Parts in the types and sizes of the kernels, which trust them."""
        n = self.n_labels_
        if not isinstance(parts, tuple) or len(parts) != len(Parts._fields):
            raise InputError(f"parts is a {type(parts).__name__}; expected Parts, as structure.parts gives")
        arrays = [self._scores(name, array) for name, array in zip(Parts._fields, parts)]
        n_rows = min(len(arrays[0]), 1) if self.single_row else len(arrays[0])
        shapes = (n_rows, self.n_columns_), (n,), self._step_shape(), (n,)
        for name, array, shape in zip(Parts._fields, arrays, shapes):
            if array.shape != shape:
                raise InputError(f"parts.{name} has shape {array.shape}; expected {shape}, as structure.parts gives")
            if np.isnan(array).any():
                raise InputError(f"parts.{name} has nan; scores are numbers, or minus infinity for what is forbidden")
        return Parts(*arrays)

    @staticmethod
    def _scores(name: str, array: Any) -> np.ndarray:
        try:
            if np.ndim(array) and np.asarray(array).dtype.kind in "biufO":
                return np.require(array, np.float64, ["C", "W"])  # kernels are compiled for arrays they may write to
        except (TypeError, ValueError, OverflowError):
            pass
        raise InputError(f"parts.{name} is a {type(array).__name__}; expected an array of numbers")

    # -- decoders (label numbers) -----------------------------------------------------------------------------
    def best(self, parts: Parts) -> tuple[np.ndarray, float]:
        parts = self._checked_parts(parts)
        y = np.empty(parts.unary.shape[0], np.int32)
        return y, float(vit.viterbi(*parts, y))

    def k_best(self, parts: Parts, k: int) -> list[tuple[np.ndarray, float]]:
        """At most ``k`` best outputs, distinct, best first; fewer if fewer are allowed."""
        if not is_whole(k) or k < 1:
            raise InputError(f"k is {k}; expected at least 1")
        parts = self._checked_parts(parts)
        n_rows = parts.unary.shape[0]
        there_are = self.n_labels_**n_rows if n_rows < 64 else k  # long inputs have more than anybody asks for
        scores, outputs = vit.k_best(*parts, min(k, there_are))
        return [(y, float(s)) for y, s in zip(outputs, scores)]

    def oracle(self, parts: Parts, y: np.ndarray, rescaling: str = "margin", norm: int = 1) -> tuple[np.ndarray, float]:
        """The output that violates the margin of ``y`` most, and its violation (0: ``y`` itself)."""
        if rescaling not in RESCALINGS or norm not in (1, 2):
            raise InputError(f'rescaling is {rescaling!r}, norm is {norm!r}; expected "margin" or "slack", 1 or 2')
        parts = self._checked_parts(parts)
        y = self._numbers("y", y, parts.unary.shape[0])
        found = np.empty_like(y)
        true_score = path_score(*parts, y)
        h = find_violator(self.loss_, RESCALINGS[rescaling], norm, *parts, y, true_score, found)
        return (found, float(h)) if h > 0 else (y.copy(), 0.0)

    def score(self, parts: Parts, y: np.ndarray) -> float:
        """Score of an output."""
        parts = self._checked_parts(parts)
        return float(path_score(*parts, self._numbers("y", y, parts.unary.shape[0])))

    def loss_between(self, y: np.ndarray, y_pred: np.ndarray) -> float:
        """Loss of predicting ``y_pred`` for ``y``."""
        y = self._numbers("y", y, len(y))
        return float(loss_value(self.loss_, y, self._numbers("y_pred", y_pred, y.size)))

    def _numbers(self, name: str, y: np.ndarray, n_rows: int) -> np.ndarray:
        """Label numbers as the kernels take them, which do not check what they index with."""
        try:
            found = np.asarray(y)
            numbers = np.ascontiguousarray(found, dtype=np.int64)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"{name} is a {type(y).__name__}; expected label numbers, one per row") from None
        if found.size and found.dtype.kind not in "iu":
            raise InputError(f"{name} has items of type {found.dtype}; expected label numbers, whole ones")
        if numbers.shape != (n_rows,):
            raise InputError(f"{name} has shape {numbers.shape}; expected ({n_rows},), one label number per row")
        if numbers.size and not 0 <= numbers.min() <= numbers.max() < self.n_labels_:
            raise InputError(f"{name} holds {numbers.tolist()}; expected label numbers below {self.n_labels_}")
        return numbers.astype(np.int32)

    def exact(self, rescaling: str = "margin", norm: int = 1) -> bool:
        return losses.is_exact(self.loss_, rescaling, norm)

    def log_partition(self, parts: Parts) -> float:
        """Log of the summed exponentials of all outputs' scores."""
        return self._forward_backward(parts)[0]

    def marginals(self, parts: Parts) -> np.ndarray:
        """Probability (n_rows, n_labels) of each label at each row."""
        log_z, marginals = self._forward_backward(parts)
        if log_z == -np.inf:
            raise InfeasibleError("no output is allowed, so there are no marginals")
        return marginals

    def _forward_backward(self, parts: Parts) -> tuple[float, np.ndarray]:
        parts = self._checked_parts(parts)
        n = parts.unary.shape[0]
        log_z, marginals = np.zeros(1), np.zeros_like(parts.unary)
        counts = [np.zeros_like(a) for a in parts[1:]]
        fb.forward_backward_batch(np.array([0, n]), parts.unary, parts[1:], np.empty(0), marginals, log_z, counts)
        return float(log_z[0]), marginals[:, : self.n_labels_]

    def biased(self, unary: np.ndarray, bias: np.ndarray) -> np.ndarray:
        """Scores of rows with constants (n_labels,) added to those of labels."""
        return unary + np.pad(bias, (0, self.n_columns_ - bias.size))

    def count_labels(self, offsets: np.ndarray, unary: np.ndarray, chain: tuple, bias: np.ndarray) -> np.ndarray:
        """How often each label is predicted for packed inputs with constants (n_labels,) added to the scores."""
        y, scores = np.empty(unary.shape[0], np.int32), np.empty(offsets.size - 1)
        vit.viterbi_batch(offsets, self.biased(unary, bias), *chain, y, scores)
        return np.bincount(y, minlength=self.n_labels_).astype(float)
