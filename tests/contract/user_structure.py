"""A structure as a user writes it, outside of the package: who of two lists goes with whom, by their scores alone.

It is :class:`accord.Matching` without partial matchings, for lists of the same length, and shares no code with it.
"""

from itertools import pairwise, permutations

import numpy as np
from scipy.optimize import linear_sum_assignment

from accord import BaseStructure, register


@register
class Pairing(BaseStructure):
    """x: features (n, n, d) of every pair; y: for each item of the first list the number of its partner."""

    def view_inputs(self, X):
        return [x.reshape(-1, x.shape[-1]) for x in X]

    def encode(self, Y, tokens=None, index=None):
        return np.concatenate([self._matrix(y).ravel() for y in Y])

    def outputs(self, y, offsets, tokens=None):
        return [self._square(y[lo:hi]).argmax(axis=1).tolist() for lo, hi in pairwise(offsets)]

    def part_scores(self, context, unary, transitions):
        return self._square(unary[:, 0])

    def k_best(self, parts, k):
        found = [linear_sum_assignment(parts, maximize=True)[1]] if k == 1 else permutations(range(len(parts)))
        ys = [self._matrix(y).ravel() for y in found]
        return sorted(((y, self.score(parts, y)) for y in ys), key=lambda one: -one[1])[:k]

    def score(self, parts, y):
        return float(parts.ravel() @ y)

    def count_parts(self, y, counts):
        rows = np.flatnonzero(y)
        return np.column_stack([rows, np.zeros_like(rows)])

    def loss_between(self, y, y_pred):
        return float(np.sum(y > y_pred))

    def augmented(self, parts, y):
        return parts - self._square(y)

    @staticmethod
    def _matrix(y):
        return np.eye(len(y), dtype=np.int32)[list(y)]

    @staticmethod
    def _square(values):
        n = round(len(values) ** 0.5)
        return np.asarray(values).reshape(n, n)
