"""Questions that are unlike each other: short vectors of examples, near-duplicates, and covers of a pool.

A sketch of an example is a random projection of its mean feature row. Lengths and angles survive that well enough to
tell near-duplicates and to see what stands for what, at the price of a few more labels in a table of scores.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from accord.packed.rows import Rows
from accord.packed.tables import sums_by_input

WIDTH = 32  # numbers in a sketch
ALIKE = 0.95  # cosine from which on two examples are near-duplicates
MOST = 2000  # candidates of a cover, and examples to be covered, at most
_SEED = 20  # of the projection: the same features give the same sketch


def sketch(chunks: Sequence[Rows]) -> np.ndarray:
    """Sketches (n_inputs, WIDTH) of inputs: mean rows, centred, of length one."""
    if not chunks:
        return np.zeros((0, WIDTH))
    directions = _directions(chunks[0].n_dims)
    return _normed(np.concatenate([_means(rows, rows.scores(directions)) for rows in chunks]))


def sketch_matrix(matrix: sp.csr_array | np.ndarray) -> np.ndarray:
    """The same of a matrix with a row for each input."""
    return _normed(matrix @ _directions(matrix.shape[1]))


def _directions(n_dims: int) -> np.ndarray:
    return np.random.default_rng(_SEED).standard_normal((n_dims, WIDTH))


def _means(rows: Rows, found: np.ndarray) -> np.ndarray:
    lengths = np.maximum(np.diff(rows.offsets), 1)[:, None]
    return np.stack([sums_by_input(column, rows.offsets) for column in found.T], axis=1) / lengths


def _normed(found: np.ndarray) -> np.ndarray:
    if len(found) > 1:
        found = found - found.mean(axis=0)
    return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)


def best_unlike(order: np.ndarray, n: int, sketches: np.ndarray) -> np.ndarray:
    """The first ``n`` of some questions, without those that are nearly like one before; filled up with these."""
    taken: list[int] = []
    left: list[int] = []
    for number in order.tolist():
        if len(taken) == n:
            break
        alike = taken and float((sketches[taken] @ sketches[number]).max()) >= ALIKE
        (left if alike else taken).append(number)
    return np.array((taken + left)[:n], np.int64)


def cover(candidates: np.ndarray, n: int, sketches: np.ndarray, done: np.ndarray, rng: np.random.Generator) -> tuple:
    """At most ``n`` candidates that together with those ``done`` are like as many of the pool as possible, and gains.

    What is maximised is the mean, over the pool (a sample of it, if it is large), of the cosine with the nearest chosen
    example. Taking what gains most, again and again, comes within 1 - 1/e of the best choice.
    """
    pool = sketches[_sample(np.arange(len(sketches)), rng)]
    some = _sample(candidates, rng)
    cosines = sketches[some] @ pool.T
    covered = np.zeros(len(pool)) if not done.size else (sketches[_sample(done, rng)] @ pool.T).max(axis=0, initial=0.0)
    taken: list[int] = []
    gains: list[float] = []
    free = np.ones(some.size, np.bool_)
    for _ in range(min(n, some.size)):
        gain = np.maximum(cosines - covered, 0.0).mean(axis=1)
        best = int(np.argmax(np.where(free, gain, -1.0)))
        free[best] = False
        taken.append(int(some[best]))
        gains.append(float(gain[best]))
        covered = np.maximum(covered, cosines[best])
    return np.array(taken, np.int64), np.array(gains)


def _sample(numbers: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return numbers if numbers.size <= MOST else np.sort(rng.choice(numbers, MOST, replace=False))
