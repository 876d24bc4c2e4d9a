"""Classes on which views agree, or that are clusters: least-squares classifiers of labels and of their own guesses.

Guesses for unlabeled rows and classifiers are found in turn. The classifier of each view is the regularised
least-squares fit to labels and guesses. The scores of all views, each of deviation 1, add up to new guesses, which are
held to the frequencies of the classes. With one view this finds classes that are clusters; with several, classes on
which they agree [co-regularised least squares, Sindhwani et al. 2005, with guesses in place of pairwise differences].
Tables do not change between rounds, so one factorisation of each does for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd

from accord.solvers.soft_classes import held_to

DIMENSIONS = 300  # in which rows are written, if they have more features
FULL = 0.05  # share of values that are not zero in rows that are better multiplied with their zeros
BASIS = 2000  # rows at most that say which dimensions these are
SHARE = 0.9  # of unlabeled rows in the squared error
SHARPNESS = 1.5  # scores of this deviation become guesses
ROUNDS = 40
SCALINGS = 2  # of guesses in each, to the frequencies of classes
SETTLED = 0.002  # mean change of a guess
UNSURE = 10.0  # as many labels say as much about the frequencies of classes as nothing does


class Spanned(NamedTuple):
    """Rows in few dimensions: ``rows @ vectors``, or ``rows @ basis.T @ vectors``; without both the rows themselves."""

    table: np.ndarray
    basis: sp.csr_array | None = None
    vectors: np.ndarray | None = None

    def weights(self, of_dimensions: np.ndarray) -> np.ndarray:
        """Weights of features from those of dimensions."""
        found = of_dimensions if self.vectors is None else self.vectors @ of_dimensions
        return found if self.basis is None else self.basis.T @ found


def spanned(rows: sp.csr_array, random: np.random.Generator, dimensions: int = DIMENSIONS) -> Spanned:
    """The rows in the dimensions in which they differ most."""
    if rows.shape[1] <= dimensions:
        return Spanned(rows.toarray())
    n = rows.shape[0]
    if n > dimensions and rows.nnz > FULL * n * rows.shape[1]:
        full = rows.toarray()
        directions = randomized_svd(full, dimensions, n_iter=2, random_state=int(random.integers(2**31)))[2].T
        return Spanned(full @ directions, None, directions)
    basis = rows if n <= BASIS else rows[np.sort(random.choice(n, BASIS, replace=False))]
    products = (basis @ basis.T).toarray()
    last = (max(0, len(products) - dimensions), len(products) - 1)
    values, vectors = scipy.linalg.eigh(products, subset_by_index=last)
    kept = values > 1e-10 * max(values[-1], 1e-300)
    vectors = vectors[:, kept] / np.sqrt(values[kept])
    blocks = [(rows[i : i + BASIS] @ basis.T) @ vectors for i in range(0, n, BASIS)]
    return Spanned(np.vstack(blocks), basis, vectors)


def agree(
    tables: Sequence[np.ndarray], labels: np.ndarray, guesses: np.ndarray, frequencies: np.ndarray,
    weights: np.ndarray, hidden_weights: np.ndarray, ridge: float,
) -> tuple[list[np.ndarray], np.ndarray]:  # fmt: skip
    """Weights (n_dims, n_classes) for each table, and constants (n_classes,) of their summed scores.

    Guesses are held to the frequencies; what is predicted in the end is so only as far as labels are many.

    Rows of tables are labeled ones first, then unlabeled ones with first ``guesses``. ``ridge`` is the weight of the
    norm, in units of the variance in a typical direction of the rows.
    """
    n = len(labels)
    each = np.concatenate([(1.0 - SHARE) * weights / weights.sum(), SHARE * hidden_weights / hidden_weights.sum()])
    means = [each @ table for table in tables]
    centred = [table - mean for table, mean in zip(tables, means)]
    factors = [_factor(table, each, ridge) for table in centred]
    scaled = [each[:, None] * table for table in centred]
    constants = np.log(frequencies)
    for _ in range(ROUNDS):
        targets = np.vstack([labels, guesses]) - frequencies
        parts = [scipy.linalg.cho_solve(factor, z.T @ targets) for factor, z in zip(factors, scaled)]
        scores = [table[n:] @ part for table, part in zip(centred, parts)]
        scales = [1.0 / deviation(s, hidden_weights) for s in scores]
        total = np.sum([scale * s for scale, s in zip(scales, scores)], axis=0)
        sharp = SHARPNESS / deviation(total, hidden_weights)
        before = guesses
        guesses, constants = held_to(sharp * total, frequencies, hidden_weights, constants, SCALINGS)
        if np.average(np.abs(guesses - before).sum(axis=1), weights=hidden_weights) < SETTLED:
            break
    found = [sharp * scale * part for scale, part in zip(scales, parts)]
    n_labels = float(weights.sum() ** 2 / np.sum(weights**2))
    constants *= n_labels / (n_labels + UNSURE)  # frequencies of few labels are seldom those of the classes
    return found, constants - np.sum([mean @ part for mean, part in zip(means, found)], axis=0)


def _factor(table: np.ndarray, weights: np.ndarray, ridge: float) -> tuple[np.ndarray, bool]:
    """Of the covariance, with the ridge on its diagonal."""
    covariance = table.T @ (weights[:, None] * table)
    total = float(np.trace(covariance))
    typical = float(np.sum(covariance**2)) / total if total > 0.0 else 1.0  # mean variance, seen from the rows
    covariance[np.diag_indices_from(covariance)] += ridge * typical
    return scipy.linalg.cho_factor(covariance, overwrite_a=True)


def deviation(scores: np.ndarray, weights: np.ndarray) -> float:
    """Standard deviation of the scores of a row from their mean."""
    return max(float(np.sqrt(np.average(scores.var(axis=1), weights=weights))), 1e-12)
