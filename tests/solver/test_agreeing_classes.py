"""Classifiers that agree with their guesses: each round against plain least squares, rows in few dimensions."""

import numpy as np
import pytest
import scipy.sparse as sp

from accord.solvers import agreeing_classes
from accord.solvers.agreeing_classes import agree, spanned


def plain_agree(tables, labels, guesses, frequencies, weights, hidden_weights, ridge, rounds):
    """Least squares by stacked equations with lstsq; guesses scaled to frequencies one step at a time."""
    n = len(labels)
    each = np.concatenate([0.1 * weights / weights.sum(), 0.9 * hidden_weights / hidden_weights.sum()])
    constants = np.log(frequencies)
    for _ in range(rounds):
        targets = np.vstack([labels, guesses]) - frequencies
        total, parts = 0.0, []
        for table in tables:
            z = table - (each[:, None] * table).sum(axis=0)
            variances = np.linalg.eigvalsh(z.T @ np.diag(each) @ z)
            norm = np.sqrt(ridge * (variances**2).sum() / variances.sum())
            root = np.sqrt(each)[:, None]
            stacked = np.vstack([root * z, norm * np.eye(z.shape[1])])
            W = np.linalg.lstsq(stacked, np.vstack([root * targets, np.zeros((z.shape[1], 3))]), rcond=None)[0]
            s = z @ W
            scale = np.sqrt(np.sum(hidden_weights * s[n:].var(axis=1)) / hidden_weights.sum())
            total = total + s / scale
            parts.append((W, scale))
        spread = np.sqrt(np.sum(hidden_weights * total[n:].var(axis=1)) / hidden_weights.sum())
        total *= 1.5 / spread
        for step in range(3):
            if step:
                constants = constants + np.log(frequencies / (hidden_weights @ guesses / hidden_weights.sum()))
            guesses = np.exp(total[n:] + constants)
            guesses /= guesses.sum(axis=1, keepdims=True)
        constants = constants - constants.mean()
    share = weights.sum() ** 2 / np.sum(weights**2)
    return total + constants * share / (share + 10)


@pytest.mark.parametrize("n_views", [1, 2])
def test_rounds_are_those_of_plain_least_squares(monkeypatch, n_views):
    rng = np.random.default_rng(n_views)
    tables = [rng.normal(size=(40, 4 + v)) for v in range(n_views)]
    labels = np.eye(3)[rng.integers(0, 3, 9)]
    guesses = rng.dirichlet(np.ones(3), 31)
    frequencies = np.array([0.2, 0.3, 0.5])
    weights, hidden_weights = rng.uniform(0.5, 2, 9), rng.uniform(0.5, 2, 31)
    monkeypatch.setattr(agreeing_classes, "ROUNDS", 5)
    monkeypatch.setattr(agreeing_classes, "SETTLED", 0.0)
    found, constants = agree(tables, labels, guesses, frequencies, weights, hidden_weights, 0.3)
    scores = sum(table @ part for table, part in zip(tables, found)) + constants
    expected = plain_agree(tables, labels, guesses, frequencies, weights, hidden_weights, 0.3, 5)
    np.testing.assert_allclose(scores, expected, atol=1e-9)


def test_few_dimensions_keep_inner_products(monkeypatch):
    rng = np.random.default_rng(0)
    rows = sp.csr_array(rng.normal(size=(15, 50)) * (rng.random((15, 50)) < 0.3))
    found = spanned(rows, rng, 20)
    assert found.table.shape == (15, 15)
    np.testing.assert_allclose(found.table @ found.table.T, (rows @ rows.T).toarray(), atol=1e-9)
    of_dimensions = rng.normal(size=(15, 2))
    np.testing.assert_allclose(rows @ found.weights(of_dimensions), found.table @ of_dimensions, atol=1e-9)
    monkeypatch.setattr(agreeing_classes, "BASIS", 8)
    some = spanned(rows, rng, 20)
    assert some.table.shape == (15, 8)
    np.testing.assert_allclose(rows @ some.weights(of_dimensions[:8]), some.table @ of_dimensions[:8], atol=1e-9)
    assert spanned(rows[:, :20], rng, 20).basis is None
    full = spanned(rows, rng, 10)  # of rows with few zeros the principal directions
    np.testing.assert_allclose(rows @ full.weights(of_dimensions[:10]), full.table @ of_dimensions[:10], atol=1e-9)
    singular = np.linalg.svd(rows.toarray(), compute_uv=False)
    np.testing.assert_allclose(np.sum(full.table**2), np.sum(singular[:10] ** 2), rtol=1e-3)
