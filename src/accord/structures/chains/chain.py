"""Chains: the common form of classes, taxonomies and label sequences.

An output is one label per row; a class is a chain of one row without transitions. Joint features are
``sum_t psi(x_t) (x) Lambda(y_t)`` plus, for sequences, transition counts. ``Lambda`` maps a label to the nodes whose
weights it sums: the identity, except for taxonomies.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from accord.exceptions import InfeasibleError, InputError
from accord.kernels.chains import forward_backward as fb
from accord.kernels.chains import viterbi as vit
from accord.kernels.chains.online import LabelMap, count_transitions, path_score, refresh_chain
from accord.kernels.chains.violator import Loss, find_violator, loss_value
from accord.packed.weights import Parts, Weights
from accord.structures.base import Structure
from accord.structures.chains import losses
from accord.structures.rescaling import RESCALINGS


class ChainStructure(Structure):
    """Base of the structures whose outputs are chains of labels.

    Subclasses set, in ``fit``: ``labels_``, ``loss_`` (a kernel loss), ``node_map_`` (n_labels, n_nodes) and, with
    transitions, ``order_``, ``eta_`` and the ``allowed_*`` masks.
    """

    single_row = True  # an input is one row and an output is one label
    loss_: Loss
    order_: int = 1
    eta_: float = 1.0
    has_transitions = False

    # -- sizes ------------------------------------------------------------------------------------------------
    @property
    def n_nodes_(self) -> int:
        return self.node_map_.shape[1] if self.node_map_ is not None else self.n_labels_

    @property
    def n_columns_(self) -> int:
        """How many scores a row has."""
        return self.n_labels_

    @property
    def n_transitions_(self) -> int:
        if not self.has_transitions:
            return 0
        n = self.n_labels_
        return 2 * n + n * n + ((n + 1) * n * n if self.order_ == 2 else 0)

    node_map_: Any = None  # csr_array (n_labels, n_nodes), or None for the identity

    def label_map(self) -> LabelMap:
        """Lambda as the kernels take it."""
        if self.node_map_ is None:
            return LabelMap(np.zeros(self.n_labels_ + 1, np.int64), np.empty(0, np.int64), np.empty(0))
        m = sp.csr_array(self.node_map_)
        return LabelMap(m.indptr.astype(np.int64), m.indices.astype(np.int64), m.data.astype(np.float64))

    def zero_weights(self, n_dims: int) -> Weights:
        return Weights(np.zeros((n_dims, self.n_nodes_)), np.zeros(self.n_transitions_))

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
        shape = (n, 1, n) if self.order_ == 1 else (n + 1, n, n)
        return np.zeros(n), np.zeros(shape), np.zeros(n)

    def chain(self, transitions: np.ndarray, constrained: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The decoder's arrays (init, step, final) for a transition vector."""
        init, step, final = self.allowed()
        if not constrained:
            init, step, final = np.zeros_like(init), np.zeros_like(step), np.zeros_like(final)
        refresh_chain(np.asarray(transitions, np.float64), self.eta_, self.n_labels_, self.order_, init, step, final)
        return init, step, final

    def parts(self, unary: np.ndarray, transitions: np.ndarray | None = None) -> Parts:
        """Part scores from label scores (n_rows, n_labels) and a transition vector (default: zeros)."""
        unary = np.ascontiguousarray(unary, dtype=np.float64)
        if unary.ndim != 2 or unary.shape[1] != self.n_labels_:
            raise InputError(f"unary has shape {unary.shape}; expected (n_rows, {self.n_labels_})")
        if transitions is None:
            transitions = np.zeros(self.n_transitions_)
        if np.shape(transitions) != (self.n_transitions_,):
            raise InputError(f"transitions has shape {np.shape(transitions)}; expected ({self.n_transitions_},)")
        return Parts(unary, *self.chain(transitions))

    def force(self, parts: Parts, given: Sequence[Any]) -> Parts:
        """Forbid everything but the given labels; ``None`` leaves a row free."""
        if len(given) != parts.unary.shape[0]:
            raise InputError(f"given has {len(given)} entries but the input has {parts.unary.shape[0]} rows")
        return parts._replace(unary=self.forced_unary(parts.unary, given))

    def forced_unary(self, unary: np.ndarray, given: Sequence[Any], where: str = "given") -> np.ndarray:
        """Label scores in which rows with a given label keep only that label's; ``where`` names them in errors."""
        numbers = self.label_numbers()
        unary = unary.copy()
        for t, label in enumerate(given):
            if label is None:
                continue
            if label not in numbers:
                spot = where if self.single_row else f"{where}[{t}]"
                raise InputError(f"{spot} is {label!r}, which is not one of the labels {self.labels_!r}")
            keep = unary[t, numbers[label]]
            unary[t] = -np.inf
            unary[t, numbers[label]] = keep
        return unary

    # -- decoders (label numbers) -----------------------------------------------------------------------------
    def decode(self, parts: Parts) -> tuple[np.ndarray, float]:
        """Best output and its score."""
        y = np.empty(parts.unary.shape[0], np.int32)
        score = vit.viterbi(*parts, y)
        if score == -np.inf:
            raise InfeasibleError("no output is allowed: the constraints and minus-infinite scores exclude all of them")
        return y, float(score)

    def k_best(self, parts: Parts, k: int) -> list[tuple[np.ndarray, float]]:
        """At most ``k`` best outputs, distinct, best first; fewer if fewer are allowed."""
        if k < 1:
            raise InputError(f"k is {k}; expected at least 1")
        scores, outputs = vit.k_best(*parts, k)
        return [(y, float(s)) for y, s in zip(outputs, scores)]

    def oracle(self, parts: Parts, y: np.ndarray, rescaling: str = "margin", norm: int = 1) -> tuple[np.ndarray, float]:
        """The output that violates the margin of ``y`` most, and its violation (0: ``y`` itself)."""
        if rescaling not in RESCALINGS or norm not in (1, 2):
            raise InputError(f'rescaling is {rescaling!r}, norm is {norm!r}; expected "margin" or "slack", 1 or 2')
        y = self._numbers("y", y, parts.unary.shape[0])
        found = np.empty_like(y)
        true_score = path_score(*parts, y)
        h = find_violator(self.loss_, RESCALINGS[rescaling], norm, *parts, y, true_score, found)
        return (found, float(h)) if h > 0 else (y.copy(), 0.0)

    def score(self, parts: Parts, y: np.ndarray) -> float:
        """Score of an output."""
        return float(path_score(*parts, self._numbers("y", y, parts.unary.shape[0])))

    def loss_between(self, y: np.ndarray, y_pred: np.ndarray) -> float:
        """Loss of predicting ``y_pred`` for ``y``."""
        y = self._numbers("y", y, len(y))
        return float(loss_value(self.loss_, y, self._numbers("y_pred", y_pred, y.size)))

    def _numbers(self, name: str, y: np.ndarray, n_rows: int) -> np.ndarray:
        """Label numbers as the kernels take them, which do not check what they index with."""
        numbers = np.ascontiguousarray(y, dtype=np.int32)
        if numbers.shape != (n_rows,):
            raise InputError(f"{name} has shape {numbers.shape}; expected ({n_rows},), one label number per row")
        if numbers.size and not 0 <= numbers.min() <= numbers.max() < self.n_labels_:
            raise InputError(f"{name} holds {numbers.tolist()}; expected label numbers below {self.n_labels_}")
        return numbers

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
        n = parts.unary.shape[0]
        log_z, marginals = np.zeros(1), np.zeros_like(parts.unary)
        counts = [np.zeros_like(a) for a in parts[1:]]
        fb.forward_backward_batch(np.array([0, n]), *parts, marginals, log_z, *counts)
        return float(log_z[0]), marginals

    def joint_feature(self, features: np.ndarray, y: np.ndarray) -> Weights:
        """Phi(x, y) for dense row features (n_rows, n_dims), in the layout of the weights."""
        y = np.asarray(y, np.int32)
        per_label = np.zeros((y.size, self.n_labels_))
        per_label[np.arange(y.size), y] = 1.0
        counts = np.zeros(self.n_transitions_)
        count_transitions(y, self.eta_, self.n_labels_, self.order_, counts)
        return Weights(np.asarray(features).T @ self.node_coefficients(per_label), counts)

    def count_labels(self, offsets: np.ndarray, unary: np.ndarray, chain: tuple, bias: np.ndarray) -> np.ndarray:
        """How often each label is predicted for packed inputs with constants (n_labels,) added to the scores."""
        y, scores = np.empty(unary.shape[0], np.int32), np.empty(offsets.size - 1)
        vit.viterbi_batch(offsets, unary + bias, *chain, y, scores)
        return np.bincount(y, minlength=self.n_labels_).astype(float)

    # -- what learners do with packed inputs ------------------------------------------------------------------------
    def best_outputs(
        self, rows: Any, unary: np.ndarray, transitions: np.ndarray, given: Sequence[Any] | None = None,
        first: Any = 0, failures: Any = None,
    ) -> np.ndarray:  # fmt: skip
        """Label numbers of the best outputs of packed inputs, from their label scores (which are changed).

        ``given`` labels are kept; ``first`` is the number of the first input in error messages, or the numbers of all.
        ``failures`` stays empty: labels that cannot be had are an error.
        """
        number = input_numbers(first, rows.n_inputs)
        for i, labels in enumerate(given or ()):
            if labels is not None:
                here = slice(rows.offsets[i], rows.offsets[i + 1])
                labels = [labels] if self.single_row else labels
                if len(labels) != here.stop - here.start:
                    raise InputError(
                        f"given[{number[i]}] has {len(labels)} labels but X[{number[i]}] has "
                        f"{here.stop - here.start} tokens"
                    )
                unary[here] = self.forced_unary(unary[here], labels, f"given[{number[i]}]")
        y, scores = np.empty(rows.n_rows, np.int32), np.empty(rows.n_inputs)
        vit.viterbi_batch(rows.offsets, unary, *self.chain(transitions), y, scores)
        raise_infeasible(scores, first)
        return y

    def parts_of(self, rows: Any, unary: np.ndarray, transitions: np.ndarray) -> Iterator[Parts]:
        """Part scores of each packed input."""
        chain = self.chain(transitions)
        for lo, hi in pairwise(rows.offsets.tolist()):
            yield Parts(unary[lo:hi], *chain)

    def marginals_of(self, rows: Any, unary: np.ndarray, transitions: np.ndarray, first: int = 0) -> list[np.ndarray]:
        """Label probabilities (n_rows, n_labels) of each packed input."""
        chain = self.chain(transitions)
        marginals, log_z = np.zeros_like(unary), np.zeros(rows.n_inputs)
        fb.forward_backward_batch(rows.offsets, unary, *chain, marginals, log_z, *(np.zeros_like(a) for a in chain))
        raise_infeasible(log_z, first)
        return [marginals[lo:hi] for lo, hi in pairwise(rows.offsets.tolist())]

    def hidden(self, n_rows: int) -> np.ndarray:
        """Label numbers of rows without labels."""
        return np.full(n_rows, -1, np.int32)

    def is_hidden(self, y: np.ndarray) -> np.ndarray:
        """Which rows have no label."""
        return y < 0

    def label_counts(self, y: np.ndarray) -> np.ndarray:
        """How often each label is annotated."""
        return np.bincount(y[y >= 0], minlength=self.n_labels_)

    def count_errors(self, y: np.ndarray, found: np.ndarray, offsets: np.ndarray) -> tuple[int, int]:
        """How many annotated labels were predicted wrong, and how many there are."""
        return int(np.sum((found != y) & (y >= 0))), int(np.sum(y >= 0))

    # -- outputs and label numbers ----------------------------------------------------------------------------
    def encode(self, Y: Sequence[Any], offsets: np.ndarray, index: Any = None) -> np.ndarray:
        """Label numbers of packed outputs, -1 for ``None`` inside a sequence (a token that is not annotated).

        ``index[i]`` is the position that error messages give for ``Y[i]``.
        """
        numbers = self.label_numbers() if self.single_row else {None: -1, **self.label_numbers()}
        flat = list(Y) if self.single_row else [label for y in Y for label in y]
        try:
            return np.fromiter(map(numbers.__getitem__, flat), np.int32, len(flat))
        except (KeyError, TypeError):
            self._raise_unknown(Y, numbers, index)
            raise

    def _raise_unknown(self, Y: Sequence[Any], numbers: dict, index: Any) -> None:
        for i, y in enumerate(Y):
            where = f"Y[{i if index is None else index[i]}]"
            for t, label in enumerate([y] if self.single_row else y):
                spot = where if self.single_row else f"{where}[{t}]"
                try:
                    known = label in numbers
                except TypeError:
                    raise InputError(f"{spot} is a {type(label).__name__}; expected a label") from None
                if not known:
                    raise InputError(
                        f"{spot} is {label!r}, which is not one of the labels {self.labels_!r}; fix Y, or declare all "
                        "labels when training starts"
                    )

    def outputs(self, y: np.ndarray, offsets: np.ndarray, tokens: Any = None) -> list[Any]:
        """Outputs as users write them, from packed label numbers."""
        names = np.empty(self.n_labels_, object)
        names[:] = self.labels_
        named = names[y]
        if self.single_row:
            return named.tolist()
        with no_collection():
            # a list per input at once, not one long list and then its parts: half the time under Python's lock
            return [named[lo:hi].tolist() for lo, hi in pairwise(offsets.tolist())]


def input_numbers(first: Any, n: int) -> Sequence[int]:
    """Numbers of ``n`` inputs, of which the first, or all, are given."""
    return range(first, first + n) if isinstance(first, (int, np.integer)) else first


def raise_infeasible(scores: np.ndarray, first: Any) -> None:
    """Name the first input for which no output is allowed."""
    bad = np.flatnonzero(scores == -np.inf)
    if bad.size:
        where = input_numbers(first, scores.size)[bad[0]]
        raise InfeasibleError(
            f"X[{where}]: no output satisfies the constraints and the given labels; relax one of them"
        )


@contextmanager
def no_collection() -> Iterator[None]:
    """Thousands of new lists would make Python search the whole heap for cycles, which lists of labels cannot form."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
