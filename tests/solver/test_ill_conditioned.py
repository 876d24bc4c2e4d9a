"""Co-regression of raw columns of very different sizes, against the solution with sixty digits.

The columns that are large decide alone about distances, so kernel matrices of labeled examples are singular to the
last digit. What is small at labeled examples need not be small at unlabeled ones, so no direction that rounding hides
may be left out.
"""

import decimal
from decimal import Decimal

import numpy as np
import pytest

from accord import CoRLSR, Select

N, M, LAMBDA = 10, 24, 0.1
numbers = np.vectorize(lambda x: Decimal(float(x)), otypes=[object])
exponential = np.vectorize(lambda x: x.exp(), otypes=[object])


@pytest.fixture(autouse=True)
def sixty_digits():
    with decimal.localcontext() as context:
        context.prec = 60
        yield


def gauss(A, b):
    """Solve ``A x = b`` by elimination."""
    A, b = A.copy(), b.copy()
    for k in range(len(A)):
        p = k + max(range(len(A) - k), key=lambda i: abs(A[k + i, k]))
        A[[k, p]], b[[k, p]] = A[[p, k]], b[[p, k]]
        share = A[k + 1 :, k] / A[k, k]
        A[k + 1 :] -= share[:, None] * A[k]
        b[k + 1 :] -= share * b[k]
    for k in reversed(range(len(A))):
        b[k] = (b[k] - A[k, k + 1 :] @ b[k + 1 :]) / A[k, k]
    return b


def objective(kernels, y, etas, alphas):
    """That of Optimization Problem 4.2."""
    own = sum(
        np.sum((y - K[:N] @ a) ** 2) + eta * (a @ (K[:N] @ a)) for K, eta, a in zip(kernels, etas, alphas, strict=True)
    )
    told = [K[N:] @ a for K, a in zip(kernels, alphas)]
    return own + Decimal(LAMBDA) * sum(np.sum((p - q) ** 2) for p in told for q in told)


def optimum(kernels, y, etas):
    """The system of Proposition 4.2."""
    n_views, weight = len(kernels), 2 * Decimal(LAMBDA)
    rows = [
        [
            K[:N].T @ K[:N] + eta * K[:N] + weight * (n_views - 1) * K[N:].T @ K[N:]
            if u == v
            else -weight * K[N:].T @ other[N:]
            for v, other in enumerate(kernels)
        ]
        for u, (K, eta) in enumerate(zip(kernels, etas))
    ]
    return np.split(gauss(np.block(rows), np.concatenate([K[:N].T @ y for K in kernels])), n_views)


@pytest.mark.parametrize(
    ("scales", "seed", "most"),
    [([1, 1, 1, 1, 1, 1], 0, 1e-15), ([1, 1e6, 1e2, 1e4, 1, 1e6], 0, 1e-10), ([1, 1e7, 1, 1e7, 1, 1e7], 0, 1e-6)],
)
def test_the_objective_is_that_of_the_exact_optimum(scales, seed, most):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N + M, 6))
    y = np.sin(X @ rng.normal(size=6)) + 0.1 * rng.normal(size=N + M)
    X = X * scales
    model = CoRLSR(
        [Select([0, 1]), Select([2, 3]), Select([4, 5])], gamma=None, eta=None, standardize=False,
        disagreement_weight=LAMBDA,
    ).fit(X, np.where(np.arange(N + M) < N, y, np.nan))  # fmt: skip
    kernels = []
    for v, gamma in enumerate(model.gammas_):
        own = numbers(X[:, 2 * v : 2 * v + 2])
        squares = ((own[:, None] - own[None, :N]) ** 2).sum(axis=2)
        kernels.append(exponential(-Decimal(gamma) * squares))
    targets = (numbers(y[:N]) - Decimal(float(model.y_mean_[0]))) / Decimal(float(model.y_scale_[0]))
    etas = [Decimal(float(eta)) for eta in model.etas_]
    least = objective(kernels, targets, etas, optimum(kernels, targets, etas))
    found = objective(kernels, targets, etas, [numbers(a[:, 0]) for a in model.coefficients_])
    assert 0 <= (found - least) / least <= most
