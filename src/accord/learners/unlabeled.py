"""Unlabeled examples in blocks: some rows of an array, and whatever else gives rows, one block at a time."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from accord.exceptions import InputError
from accord.learners import inputs
from accord.learners.inputs import take
from accord.packed.tables import as_csr
from accord.views.inputs import describe

BLOCK = 1024  # rows at a time: their kernel values stay in the cache
SAMPLE = 20_000  # inputs that say how columns are scaled, at most


class UnlabeledBlocks:
    """Blocks of unlabeled examples.

    Parameters
    ----------
    X : inputs
        All inputs of ``fit``; set ``rows`` to the numbers of the unlabeled ones, and ``weights`` to how much these
        count, if not all of them count once.
    extra : inputs, or iterable of blocks of inputs, optional
        More unlabeled examples. An iterator can be read once only, so blocks are not kept.
    """

    def __init__(self, X: Any, extra: Any = None) -> None:
        self.X = X
        self.extra = extra
        self.rows = np.empty(0, np.int64)
        self.weights: np.ndarray | None = None
        self._sampled: list[str] = []  # what the rows of the sample are called
        self._source: Iterator[Any] | None = None
        if extra is not None and not _is_table(extra):
            if isinstance(extra, (str, bytes)) or not hasattr(extra, "__iter__"):
                raise InputError(f"unlabeled is {describe(extra)}; expected rows of inputs, or an iterable of blocks")
            self._source = iter(extra)

    def __bool__(self) -> bool:
        return self.rows.size > 0 or self.extra is not None

    @property
    def n_blocks(self) -> int | None:
        """None if it is not known beforehand."""
        if self._source is not None:
            return None
        n_extra = 0 if self.extra is None else inputs.count(self.extra)
        return -(-self.rows.size // BLOCK) + -(-n_extra // BLOCK)

    def sample(self) -> Any:
        """Inputs that views are fitted to: those of ``X``, and the first block of the others."""
        X, rows = _spread(self.X)
        self._sampled = [f"X[{row}" for row in rows]
        first = self.extra
        if self._source is not None:
            first = next(self._source, None)
            if first is not None:
                self._source = itertools.chain([first], self._source)
                _check_block(first)
        if first is None or not inputs.count(first):
            return X
        first, rows = _spread(first)
        self._sampled += [f"unlabeled[{row}" for row in rows]
        return _joined(X, first)

    def of_X(self) -> Iterator[Any]:
        """Those that are rows of ``X``."""
        for start in range(0, self.rows.size, BLOCK):
            yield take(self.X, self.rows[start : start + BLOCK])

    def __iter__(self) -> Iterator[Any]:
        yield from self.of_X()
        tables = [] if self.extra is None else [self.extra] if self._source is None else self._source
        for table in tables:
            _check_block(table)
            for _, chunk in inputs.chunks(table, BLOCK):
                yield chunk

    def weighted(self) -> Iterator[tuple[Any, np.ndarray | None]]:
        """Blocks, and how much their rows count; None: each once."""
        first = 0
        for block in self:
            last = first + inputs.count(block)
            # blocks are of rows of X, or of others, which come after them
            yield block, None if self.weights is None or last > self.weights.size else self.weights[first:last]
            first = last

    def all_weights(self, n_rows: int) -> np.ndarray | None:
        """How much each row of all blocks, ``n_rows`` together, counts; None: each once."""
        if self.weights is None:
            return None
        return np.concatenate([self.weights, np.ones(n_rows - self.weights.size)])

    def name_rows(self, message: str) -> str:
        """An error about the inputs of ``sample``, in which rows are called what the user calls them."""
        return re.sub(r"\bX\[(\d+)", lambda found: self._sampled[int(found[1])], message)


def _check_block(block: Any) -> None:
    if isinstance(block, (str, bytes)) or not hasattr(block, "__len__"):
        raise InputError(f"unlabeled has a block that is {describe(block)}; expected rows of inputs")


def _is_table(X: Any) -> bool:
    """Whether these are inputs, not blocks of inputs."""
    if hasattr(X, "shape") or hasattr(X, "iloc"):
        return True
    return isinstance(X, (list, tuple)) and not any(len(getattr(x, "shape", ())) == 2 for x in X[:1])


def _spread(X: Any) -> tuple[Any, np.ndarray]:
    """Inputs, or as many of them as a sample may have, from all places; and their numbers."""
    n = inputs.count(X)
    rows = np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.int64)
    return (X if n <= SAMPLE else take(X, rows)), rows


def _joined(X: Any, more: Any) -> Any:
    """Inputs and more of them."""
    if hasattr(X, "iloc") and hasattr(more, "iloc"):
        import pandas as pd

        return pd.concat([X, more])
    if sp.issparse(X) or sp.issparse(more):
        return sp.vstack([as_csr(sp.csr_array(X)), as_csr(sp.csr_array(more))], format="csr")
    if isinstance(X, np.ndarray) and isinstance(more, np.ndarray) and X.shape[1:] == more.shape[1:]:
        return np.vstack([X, more])
    return [*getattr(X, "to_numpy", lambda: X)(), *getattr(more, "to_numpy", lambda: more)()]
