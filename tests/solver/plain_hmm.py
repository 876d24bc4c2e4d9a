"""Hidden Markov models with every hidden sequence listed. Imports nothing of Accord.

A model is a dict: "start" [c], "end" [c], "pair" [b][c], and "emit", a function of (row of features, label).
"""

import itertools
import math

import numpy as np


def log_joint(model, rows, y):
    """log p(rows, y)."""
    total = math.log(model["start"][y[0]]) + math.log(model["end"][y[-1]])
    total += sum(math.log(model["pair"][b][c]) for b, c in itertools.pairwise(y))
    return total + sum(model["emit"](row, c) for row, c in zip(rows, y))


def bernoulli(p):
    """Log probability of truth values whose probabilities are p[feature][label]."""

    def emit(row, c):
        return sum(x * math.log(p[f][c]) + (1 - x) * math.log(1 - p[f][c]) for f, x in enumerate(row))

    return emit


def gaussian(mean, variance):
    """Log density of real values."""

    def emit(row, c):
        return sum(
            -0.5 * math.log(2 * math.pi * variance[f][c]) - (x - mean[f][c]) ** 2 / (2 * variance[f][c])
            for f, x in enumerate(row)
        )

    return emit


def posterior(model, rows, n_labels, allowed):
    """(log p(rows and an allowed output), [(probability, output)])."""
    outputs = [y for y in itertools.product(range(n_labels), repeat=len(rows)) if allowed(y)]
    scores = [log_joint(model, rows, y) for y in outputs]
    top = max(scores)
    log_p = top + math.log(sum(math.exp(s - top) for s in scores))
    return log_p, [(math.exp(s - log_p), y) for s, y in zip(scores, outputs)]


def estimate(weighted, n_labels, smoothing, emission, everything):
    """Model from [(weight, rows, y)] with pseudo-counts; ``everything`` are the rows that virtual rows are like."""
    start, end = np.full(n_labels, smoothing), np.full(n_labels, smoothing)
    pair = np.full((n_labels, n_labels), smoothing)
    rows_of = [[] for _ in range(n_labels)]  # (weight, row) of every label
    for weight, rows, y in weighted:
        start[y[0]] += weight
        end[y[-1]] += weight
        for b, c in itertools.pairwise(y):
            pair[b][c] += weight
        for row, c in zip(rows, y):
            rows_of[c].append((weight, np.asarray(row)))
    out = pair.sum(axis=1) + end
    model = {"start": start / start.sum(), "end": end / out, "pair": pair / out[:, None]}
    totals = [sum((w for w, _ in own), 0.0) for own in rows_of]
    nothing = np.zeros(len(weighted[0][1][0]))
    sums = [sum((w * row for w, row in own), nothing) for own in rows_of]
    if emission == "bernoulli":
        p = [(s + smoothing) / (n + 2 * smoothing) for s, n in zip(sums, totals)]
        model |= {"p": np.array(p).T, "emit": bernoulli(np.array(p).T)}
    else:
        center, spread = everything.mean(axis=0), everything.var(axis=0)
        means, variances = [], []
        for own, s, n in zip(rows_of, sums, totals):
            m = (s + smoothing * center) / (n + smoothing)
            v = sum(w * (row - m) ** 2 for w, row in own) + smoothing * (spread + (center - m) ** 2)
            means.append(m)
            variances.append(v / (n + smoothing))
        means, variances = np.array(means).T, np.array(variances).T
        model |= {"mean": means, "variance": variances, "emit": gaussian(means, variances)}
    return model


def baum_welch(labeled, unlabeled, weight, n_labels, smoothing, emission, n_steps, allowed=lambda y: True):
    """(model after n_steps, log likelihood without any prior before each step)."""
    everything = np.vstack([rows for rows, _ in labeled] + list(unlabeled))
    known = [(1.0, rows, y) for rows, y in labeled]
    model = estimate(known, n_labels, smoothing, emission, everything)
    values = []
    for _ in range(n_steps):
        guessed, value = [], sum(log_joint(model, rows, y) for rows, y in labeled)
        for rows in unlabeled:
            log_p, outputs = posterior(model, rows, n_labels, allowed)
            value += weight * log_p
            guessed += [(weight * p, rows, y) for p, y in outputs]
        values.append(value)
        model = estimate(known + guessed, n_labels, smoothing, emission, everything)
    return model, values
