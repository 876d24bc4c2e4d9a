"""The smooth large-margin objectives by their definitions, with every output listed. Imports nothing of Accord."""

import math

import numpy as np
from scipy.optimize import minimize


def huber(t, delta, epsilon):
    if t <= delta - epsilon:
        return delta - t
    return (delta + epsilon - t) ** 2 / (4 * epsilon) if t <= delta + epsilon else 0.0


def symmetric(t, delta, tau):
    tau, t = min(tau, delta), abs(t)
    if t <= delta - tau:
        return 1.0
    if t <= delta:
        return 1 - (t - delta + tau) ** 2 / (2 * tau**2)
    return (t - delta - tau) ** 2 / (2 * tau**2) if t <= delta + tau else 0.0


def smax(losses, rho):
    if rho == math.inf:
        return max(losses, default=0.0)
    if rho == 0:
        return math.fsum(losses)
    return math.log(1 + math.fsum(math.exp(rho * s) - 1 for s in losses)) / rho


def wrong_outputs(example):
    return [k for k in range(len(example.outputs)) if k != example.true]


def slack(example, w, loss, rho, outputs=None):
    """Slack of an example (its loss being a function of margin and Delta) over all wrong outputs, or the given ones."""
    outputs = wrong_outputs(example) if outputs is None else outputs
    margins = (example.phi[example.true] - example.phi) @ w
    return smax([loss(margins[k], example.loss[k]) for k in outputs], rho)


def objective(examples, w, C, epsilon, rho, regulariser=1.0):
    """regulariser |w|^2 + C sum_i smax huber."""
    slacks = [slack(e, w, lambda t, d: huber(t, d, epsilon), rho) for e in examples]
    return regulariser * w @ w + C * math.fsum(slacks)


def solve(examples, C, epsilon, rho):
    """Minimise :func:`objective` with SciPy: (value, w). Vectorised, with a gradient of its own."""
    blocks = [(e.phi[e.true] - e.phi[wrong_outputs(e)], e.loss[wrong_outputs(e)]) for e in examples]

    def evaluate(w):
        value, gradient = w @ w, 2 * w
        for D, delta in blocks:
            gap = delta - D @ w
            inside = np.clip((gap + epsilon) / (2 * epsilon), 0, 1)
            s = np.where(gap >= epsilon, gap, epsilon * inside**2)
            top = s.max(initial=0.0)
            total = np.exp(-rho * top) + np.sum(np.exp(rho * (s - top)) - np.exp(-rho * top))
            value += C * (top + np.log(total) / rho)
            gradient -= C * (np.exp(rho * (s - top)) / total * inside) @ D
        return value, gradient

    found = minimize(
        evaluate, np.zeros(examples[0].phi.shape[1]), jac=True, method="L-BFGS-B",
        options={"maxiter": 20000, "maxfun": 40000, "ftol": 1e-15, "gtol": 1e-9},
    )  # fmt: skip
    return found.fun, found.x
