"""Linear classifiers of rows whose classes are given, or guessed in part: soft labels.

`regression` is multinomial logistic regression. `naive_bayes` is the expectation maximisation of naive Bayes [Nigam et
al. 2000] with log odds of a class against all others [Rennie et al. 2003], whose guesses are held to given frequencies
of the classes. Rows are sparse matrices (n, n_dims), labels distributions (n, n_classes), weights (n_dims, n_classes).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.special import log_softmax

from accord.solvers.gradient import minimise

ROUNDS = 6  # of expectation and maximisation; more change little
SCALINGS = 5  # of guesses in each, to the frequencies of classes
FEW = 400  # rows that are written in the dimensions which they span; with more of them that takes longer than it saves
SMOOTHING = 0.1  # pseudo-count of every feature, as a fraction of a typical value


def regression(
    X: sp.csr_array | np.ndarray, labels: np.ndarray, C: float, importance: np.ndarray | None = None,
    tol: float = 1e-3, max_iter: int = 60,
) -> np.ndarray:  # fmt: skip
    """Weights that minimise ``|W|^2 / 2 + C sum_i importance_i CE(labels_i, softmax(x_i W))``.

    Weights are combinations of rows, so few rows are first written in as many dimensions as they span.
    """
    used = np.arange(X.shape[1]) if isinstance(X, np.ndarray) else np.unique(X.indices)  # the others stay 0
    rows = X[:, used]
    back: np.ndarray | None = None
    if X.shape[0] < min(used.size, FEW):
        products = rows @ rows.T
        values, vectors = np.linalg.eigh(products if isinstance(products, np.ndarray) else products.toarray())
        spanned = values > 1e-10 * max(values[-1], 1e-300)
        roots = np.sqrt(values[spanned])
        rows, back = vectors[:, spanned] * roots, vectors[:, spanned] / roots
    columns = rows.T if isinstance(rows, np.ndarray) else sp.csr_array(rows.T)
    shape = (rows.shape[1], labels.shape[1])
    weight = np.full((X.shape[0], 1), C) if importance is None else C * importance[:, None]

    def evaluate(flat: np.ndarray) -> tuple[float, np.ndarray]:
        W = flat.reshape(shape)
        log_p = log_softmax(rows @ W, axis=1)
        g = columns @ (weight * (np.exp(log_p) - labels))
        g += W
        return 0.5 * float(flat @ flat) - float(np.sum(weight * labels * log_p)), g.ravel()

    found = minimise(evaluate, np.zeros(shape[0] * shape[1]), tol, max_iter)[0].reshape(shape)
    out = np.zeros((X.shape[1], labels.shape[1]))
    out[used] = found if back is None else X[:, used].T @ (back @ found)
    return out


def naive_bayes(
    X: sp.csr_array, labels: np.ndarray, hidden: sp.csr_array, guesses: np.ndarray, frequencies: np.ndarray,
    weights: np.ndarray, hidden_weights: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Log odds, constants of classes, and guesses, from labeled rows and hidden ones with first guesses of theirs.

    No feature may be negative; rows count for their weights, whatever their length.
    """
    X, hidden = unit_rows(X), unit_rows(hidden)
    columns = sp.csr_array(hidden.T)
    known = X.T @ (weights[:, None] * labels)
    both = [(X, weights), (hidden, hidden_weights)]
    n_entries = sum(float(each @ np.diff(rows.indptr)) for rows, each in both)
    squares = sum(float(each @ rows.multiply(rows).sum(axis=1)) for rows, each in both)
    pseudo = SMOOTHING * float(np.sqrt(squares / n_entries)) if n_entries else 1.0
    for _ in range(ROUNDS):
        counts = known + columns @ (hidden_weights[:, None] * guesses) + pseudo
        others = counts.sum(axis=1, keepdims=True) - counts if labels.shape[1] > 1 else np.ones_like(counts)
        odds = np.log(counts / counts.sum(axis=0)) - np.log(others / others.sum(axis=0))
        guesses, constants = held_to(hidden @ odds, frequencies, hidden_weights)
    return odds, constants, guesses


def held_to(
    scores: np.ndarray, frequencies: np.ndarray, weights: np.ndarray, constants: np.ndarray | None = None,
    scalings: int = SCALINGS,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Distributions of labels by scores and constants of classes, which make classes as frequent as they should be.

    ``constants`` of scores that were nearly the same are a good beginning, after which fewer ``scalings`` will do.
    """
    constants = np.log(frequencies) if constants is None else constants
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    guesses = _shares(odds, constants)
    share = weights / weights.sum()
    for _ in range(scalings):
        constants = constants + np.log(frequencies / np.maximum(share @ guesses, 1e-12))
        guesses = _shares(odds, constants)
    return guesses, constants - constants.mean()


def _shares(odds: np.ndarray, constants: np.ndarray) -> np.ndarray:
    found = odds * np.exp(constants - constants.max()) + 1e-300
    found /= found.sum(axis=1, keepdims=True)
    return found


def unit_rows(X: sp.csr_array) -> sp.csr_array:
    """Rows of length 1, but for those that are empty."""
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return sp.csr_array(sp.diags_array(1.0 / np.where(lengths > 0, lengths, 1.0)) @ X)


def sharpness(scores: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> float:
    """The factor of scores that makes the labels most likely, among powers of two."""
    counts, factors = weights[:, None] * labels, 2.0 ** np.arange(-6, 9)
    return float(max(factors, key=lambda factor: float(np.sum(counts * log_softmax(factor * scores, axis=1)))))
