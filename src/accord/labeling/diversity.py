"""Questions that are unlike each other: short vectors of examples, near-duplicates, and covers of a pool.

A sketch of an example is made of its mean feature row. Where examples are single rows (texts, tables), it has the
coordinates in the directions in which the pool differs most (principal components, found by random projections and two
power iterations): texts about one subject are then alike even if they share few words. Where examples have many rows
(sentences) it is a random projection, which is as quick as a few more labels and tells near-duplicates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from accord.packed.rows import Rows
from accord.packed.tables import sums_by_input

WIDTH = 32  # numbers in a sketch of a sentence
COMPONENTS = 64  # in a sketch of a text
ALIKE = 0.95  # cosine from which on two examples are near-duplicates
MOST = 2000  # candidates of a cover, and examples to be covered, at most
# Of covers by what examples are worth: cosines to this power, so that only what is near counts, and worths to that one.
# Chosen on three splits of the training posts of 20 newsgroups, see docs/labeling.md.
NEAR, WORTH = 3, 1.5
_POWERS = 2
_SEED = 20  # of the projections: the same features give the same sketch


def sketch(chunks: Sequence[Rows]) -> np.ndarray:
    """Sketches (n_inputs, some) of inputs: centred, of length one."""
    if not chunks:
        return np.zeros((0, WIDTH))
    single = all(rows.n_rows == rows.n_inputs for rows in chunks)
    n_dims = chunks[0].n_dims
    found = _means(chunks, _kept_directions(n_dims, min(COMPONENTS, n_dims)) if single else _directions(n_dims, WIDTH))
    for _ in range(_POWERS if single else 0):
        found = _means(chunks, np.linalg.qr(_transposed(chunks, np.linalg.qr(found)[0]))[0])
    return _normed(found)


def _directions(n_dims: int, width: int) -> np.ndarray:
    return np.random.default_rng(_SEED).standard_normal((n_dims, width))


# The same again and again while somebody labels texts. Features of sentences grow with every answer: what is kept of
# them would hardly ever be asked for again.
_kept_directions = lru_cache(maxsize=1)(_directions)


def _means(chunks: Sequence[Rows], directions: np.ndarray) -> np.ndarray:
    """Mean rows times directions."""
    found = []
    for rows in chunks:
        lengths = np.maximum(np.diff(rows.offsets), 1)[:, None]
        products = rows.scores(directions)
        found.append(np.stack([sums_by_input(column, rows.offsets) for column in products.T], axis=1) / lengths)
    return np.concatenate(found)


def _transposed(chunks: Sequence[Rows], values: np.ndarray) -> np.ndarray:
    """The transpose of that, where an input is a row."""
    total = np.zeros((chunks[0].n_dims, values.shape[1]))
    first = 0
    for rows in chunks:
        rows.transpose_scores(np.ascontiguousarray(values[first : first + rows.n_inputs]), total)
        first += rows.n_inputs
    return total


def _normed(found: np.ndarray) -> np.ndarray:
    if len(found) > 1:
        found = found - found.mean(axis=0)
    return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)


def best_unlike(
    order: np.ndarray, n: int, sketches: np.ndarray, subjects: Callable[[int], set[str]] = lambda number: set()
) -> np.ndarray:
    """The first ``n`` of some questions, without those that are nearly like one before, or about one of the same
    subjects; filled up with these."""
    taken: list[int] = []
    left: list[int] = []
    known: set[str] = set()
    for number in order.tolist():
        if len(taken) == n:
            break
        own = subjects(number)
        alike = taken and float((sketches[taken] @ sketches[number]).max()) >= ALIKE
        (left if alike or known & own else taken).append(number)
        known |= own
    return np.array((taken + left)[:n], np.int64)


def cover(
    candidates: np.ndarray,
    n: int,
    sketches: np.ndarray,
    done: np.ndarray,
    rng: np.random.Generator,
    worth: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """At most ``n`` candidates that together with those ``done`` are like as many of the pool as possible, and gains.

    What is maximised is the mean, over the pool (a sample of it, if it is large), of the cosine with the nearest chosen
    example. Taking what gains most, again and again, comes within 1 - 1/e of the best choice. Where examples differ in
    what they are ``worth``, gains are multiplied by ``worth ** WORTH``, and cosines are taken to the power ``NEAR``.
    """
    pool = sketches[_sample(np.arange(len(sketches)), rng)]
    some = _sample(candidates, rng)
    weights = np.ones(some.size) if worth is None else worth[some] ** WORTH
    near = 1 if worth is None else NEAR
    cosines = np.maximum(sketches[some] @ pool.T, 0.0) ** near
    covered = (sketches[_sample(done, rng)] @ pool.T).max(axis=0, initial=0.0) ** near
    taken: list[int] = []
    gains: list[float] = []
    free = np.ones(some.size, np.bool_)
    for _ in range(min(n, some.size)):
        gain = weights * np.maximum(cosines - covered, 0.0).mean(axis=1)
        best = int(np.argmax(np.where(free, gain, -1.0)))
        free[best] = False
        taken.append(int(some[best]))
        gains.append(float(gain[best]))
        covered = np.maximum(covered, cosines[best])
    return np.array(taken, np.int64), np.array(gains)


def _sample(numbers: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return numbers if numbers.size <= MOST else np.sort(rng.choice(numbers, MOST, replace=False))
