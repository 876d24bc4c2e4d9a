"""Views that agree by exchanging predictions only: what one view answers, and what to ask next (thesis 4.3).

Given the others' predictions for the unlabeled examples, the best predictions of view ``v`` are an affine function of
their sum, ``p_v = B_v o_v + c_v``. Agreement means ``o_v = sum_{u != v} p_u`` for all views. The thesis asks one view
after another (block coordinate descent, Table 4.1). That takes one message after another, and many of them.

:class:`Accelerated` asks all views at once, and lets none of their answers go to waste: because ``B_v`` is linear, what
a view would answer to any combination of former questions is known. So after each round the combinations, *one for
every view*, are chosen for which questions and answers fit together best (least squares), and these are asked next.
With one combination for all views this would be GMRES or Anderson's method; separate ones search a space that is as
many times larger as there are views, for the same number of messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import scipy.linalg

from accord.solvers.least_squares import Ridge, cholesky, noise_of


class AnsweringView(Protocol):
    """A view that can be asked."""

    def fit(self, others: np.ndarray, lambda_: float) -> np.ndarray:
        """Coefficients (n_expansion, n_outputs), given the predictions (n_others, m, n_outputs) of the others."""
        ...

    def answer(self, coefficients: np.ndarray) -> np.ndarray:
        """Predictions (m, n_outputs) for the unlabeled examples."""
        ...


class ExactView:
    """Expansion over labeled and unlabeled examples [Proposition 4.3].

    Parameters
    ----------
    kernel : ndarray of shape (n + m, n + m)
        Kernel values, labeled examples first.
    targets : ndarray of shape (n, n_outputs)
    eta : float
    """

    def __init__(self, kernel: np.ndarray, targets: np.ndarray, eta: float) -> None:
        self.kernel, self.targets, self.eta = kernel, targets, eta
        self._factors: dict[float, tuple[np.ndarray, bool]] = {}

    def fit(self, others: np.ndarray, lambda_: float) -> np.ndarray:
        n, m = len(self.targets), len(self.kernel) - len(self.targets)
        weight = 2.0 * lambda_ * len(others)
        if not weight or not m:
            alone = Ridge(self.kernel[:n, :n], self.targets).solve(self.eta).coefficients[0]
            return np.vstack([alone, np.zeros((m, alone.shape[1]))])
        if weight not in self._factors:
            system = self.kernel + np.diag(noise_of(n, m, self.eta, weight))
            self._factors = {weight: cholesky(system, "this site")}
        return scipy.linalg.cho_solve(self._factors[weight], np.vstack([self.targets, others.mean(axis=0)]))

    def answer(self, coefficients: np.ndarray) -> np.ndarray:
        return self.kernel[len(self.targets) :] @ coefficients


class SemiParametricView:
    """Expansion over labeled examples [Proposition 4.4].

    Parameters
    ----------
    gram : ndarray of shape (n, n)
        Kernel values among labeled examples.
    map_ : ndarray of shape (n, r)
        Their :func:`~accord.solvers.least_squares.feature_map`.
    targets : ndarray of shape (n, n_outputs)
    eta : float
    unlabeled : ndarray of shape (m, n)
        Kernel values between unlabeled and labeled examples.
    """

    def __init__(
        self, gram: np.ndarray, map_: np.ndarray, targets: np.ndarray, eta: float, unlabeled: np.ndarray
    ) -> None:
        self.map, self.eta = map_, eta
        self.gram, self.targets, self.unlabeled = gram, targets, unlabeled
        self.own, self.shared = gram @ map_, unlabeled @ map_
        self.products = self.shared.T @ self.shared
        self._factors: dict[float, tuple[np.ndarray, bool]] = {}

    def fit(self, others: np.ndarray, lambda_: float) -> np.ndarray:
        weight = 2.0 * lambda_ * len(others)
        if not weight or not len(self.unlabeled):
            return Ridge(self.gram, self.targets).solve(self.eta).coefficients[0]
        if weight not in self._factors:
            system = self.own.T @ self.own + weight * self.products + self.eta * np.eye(self.map.shape[1])
            self._factors = {weight: cholesky(system, "this site")}
        right = self.own.T @ self.targets + 2.0 * lambda_ * (self.shared.T @ others.sum(axis=0))
        return np.asarray(self.map @ scipy.linalg.cho_solve(self._factors[weight], right))

    def answer(self, coefficients: np.ndarray) -> np.ndarray:
        return self.unlabeled @ coefficients


class Accelerated:
    """Which predictions to suppose next, from all that was asked and answered so far.

    Views are known by their names. A view that did not answer keeps what it answered before; one that never did is not
    counted on.

    Parameters
    ----------
    shape : tuple of int
        Shape (m, n_outputs) of predictions.
    """

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape
        self.questions: dict[str, list[np.ndarray]] = {}  # sums of the others' predictions, as vectors
        self.answers: dict[str, list[np.ndarray]] = {}

    def add(self, view: str, others: np.ndarray, answer: np.ndarray) -> None:
        """Remember what a view answered to the predictions (n_others, m, n_outputs) of the others."""
        self.questions.setdefault(view, []).append(np.sum(others, axis=0).ravel())
        self.answers.setdefault(view, []).append(np.ravel(answer))

    def suppose(self, waiting: Sequence[str] = ()) -> dict[str, np.ndarray]:
        """Predictions (m, n_outputs) of every view that fit together best.

        Views in ``waiting`` are not there: their last answer stands, whatever the others say.
        """
        free = [view for view in self.answers if view not in waiting]
        fixed = [view for view in self.answers if view in waiting]
        bases = {view: _basis(self.questions[view], self.answers[view]) for view in free}
        start = {view: self.answers[view][-1] for view in self.answers}
        total = np.sum(list(start.values()), axis=0)
        # what is asked minus what is answered: o_v - sum_{u != v} p_u, for free views
        residual = np.concatenate([self.questions[v][-1] - (total - start[v]) for v in free] or [np.empty(0)])
        columns = []
        for v in free:
            asked, answered = bases[v]
            blocks = [asked if u == v else -answered for u in free]
            columns.append(np.vstack(blocks))
        if columns:
            solved = np.linalg.lstsq(np.hstack(columns), -residual, rcond=1e-14)[0]
            first = 0
            for v in free:
                width = bases[v][0].shape[1]
                start[v] = start[v] + bases[v][1] @ solved[first : first + width]
                first += width
        return {view: start[view].reshape(self.shape) for view in [*free, *fixed]}


def _basis(questions: Sequence[np.ndarray], answers: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Orthonormal directions in which a view was asked, seen from its last question, and how its answer changes."""
    asked = np.stack([q - questions[-1] for q in questions[:-1]] or [np.empty(0)], axis=1)
    if not asked.size:
        empty = np.empty((questions[-1].size, 0))
        return empty, empty
    answered = np.stack([a - answers[-1] for a in answers[:-1]], axis=1)
    # singular directions: those without length were asked before
    left, values, right = np.linalg.svd(asked, full_matrices=False)
    kept = values > 1e-13 * values[0] if values[0] else np.zeros(values.size, np.bool_)
    return left[:, kept], answered @ (right[kept].T / values[kept])


def others_of(view: str, predictions: Mapping[str, np.ndarray]) -> np.ndarray:
    """What is sent to a view: the predictions (n_others, m, n_outputs) of all others."""
    others = [p for key, p in predictions.items() if key != view]
    return np.stack(others) if others else np.empty((0, *next(iter(predictions.values())).shape))
