"""Bipartite matchings: which item of one list belongs to which of another [thesis, ch. 9 names alignment].

The score of a matching is the sum of the scores of its pairs, ``sum_(i, j) <w, psi(x_i, x_j)>``, so that to find the
best one is an assignment problem. The Hamming loss is a sum over pairs, too, and is added to their scores. The next
best ones are found by Murty's method: all others are shared out among smaller assignment problems, each of which
keeps some pairs of the best one and forbids one.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import linear_sum_assignment

from accord.exceptions import InputError
from accord.settings import FLAG, FUNCTION
from accord.structures.base import BaseStructure

Pair = tuple[int, int]


@dataclass(eq=False, repr=False)
class Matching(BaseStructure):
    """A one-to-one matching of the items of two lists: words of two languages, rows of two tables, players and places.

    An input is a pair of lists, or an array (n_left, n_right, n_features) with the features of each pair of items. An
    output is a list of pairs ``(i, j)``: item ``i`` of the first list goes with item ``j`` of the second.

    Parameters
    ----------
    partial : bool
        Items may stay alone: a pair is matched only where that raises the score. Else as many pairs are matched as the
        shorter list has items.
    features : callable, optional
        ``features(a, b)`` are those of a pair of items: a dict, a list of names, or a row of numbers. Default: the pair
        itself, what the texts of the two have in common, and how far apart they stand in their lists.

    Examples
    --------
    >>> from accord import Matching, StructuredPerceptron
    >>> X = [(["red", "house"], ["casa", "roja"]), (["white", "house"], ["casa", "blanca"])]
    >>> Y = [[(0, 1), (1, 0)], [(0, 1), (1, 0)]]
    >>> model = StructuredPerceptron(Matching(), random_state=0).fit(X, Y)
    >>> model.predict([(["house", "red", "white"], ["roja", "blanca", "casa"])])
    [[(0, 2), (1, 0), (2, 1)]]
    """

    partial: bool = False
    features: Callable[[Any, Any], Any] | None = None
    expects: ClassVar = {"partial": FLAG, "features": FUNCTION}

    # -- inputs: a row for each pair of items -------------------------------------------------------------------------
    def view_inputs(self, X: Any) -> list[Any]:
        """The features of all pairs of each input."""
        return [self._pair_features(x, i) for i, x in enumerate(X)]

    def _pair_features(self, x: Any, i: int) -> Any:
        n, m = self._sizes(x, i)
        if isinstance(x, np.ndarray):
            return x.reshape(n * m, x.shape[2])
        if self.features is not None:
            return [self.features(a, b) for a in x[0] for b in x[1]]
        return [common(str(a), str(b), p / n - q / m) for p, a in enumerate(x[0]) for q, b in enumerate(x[1])]

    def _sizes(self, x: Any, i: int) -> Pair:
        """How many items the two lists of an input have."""
        if isinstance(x, np.ndarray) and x.ndim == 3:
            return x.shape[:2]
        if isinstance(x, (tuple, list)) and len(x) == 2 and not any(isinstance(items, str) for items in x):
            return len(x[0]), len(x[1])
        raise InputError(
            f"X[{i}] is a {type(x).__name__}; Matching expects two lists, or an array (n_left, n_right, n_features)"
        )

    def tokens_of(self, X: Any) -> list[list[Pair]]:
        """The numbers of the two items of each row."""
        sizes = [self._sizes(x, i) for i, x in enumerate(X)]
        return [[(p, q) for p in range(n) for q in range(m)] for n, m in sizes]

    def context(self, tokens: Sequence[Pair]) -> Pair:
        """How many items the two lists have."""
        return (tokens[-1][0] + 1, tokens[-1][1] + 1) if len(tokens) else (0, 0)

    # -- outputs: 1 for the rows of matched pairs ---------------------------------------------------------------------
    def check_outputs(self, Y: Sequence[Any]) -> list[list[Pair] | None]:
        return [None if y is None else self._pairs(y, f"Y[{i}]") for i, y in enumerate(Y)]

    def _pairs(self, y: Any, where: str) -> list[Pair]:
        try:
            pairs = sorted((int(p), int(q)) for p, q in y)
        except (TypeError, ValueError):
            raise InputError(f"{where} is {y!r}; Matching expects a list of pairs (i, j) of numbers of items") from None
        for side, name in enumerate(("first", "second")):
            items = [pair[side] for pair in pairs]
            twice = next((a for k, a in enumerate(items) if a in items[:k]), None)
            if twice is not None:
                raise InputError(f"{where} matches item {twice} of the {name} list twice; expected once at most")
        return pairs

    def check_inputs(self, X: Any, Y: Sequence[Any]) -> None:
        """Pairs are of items that are there, and not too few."""
        for i, (x, y) in enumerate(zip(X, Y)):
            n, m = self._sizes(x, i)
            for p, q in y or ():
                if not (0 <= p < n and 0 <= q < m):
                    raise InputError(f"Y[{i}] has the pair {(p, q)}, but the lists of X[{i}] have {n} and {m} items")
            if y is not None and not self.partial and len(y) != min(n, m):
                raise InputError(
                    f"Y[{i}] has {len(y)} pairs, but {min(n, m)} can be made; use Matching(partial=True) if items may "
                    "stay alone"
                )

    def encode(self, Y: Sequence[Any], tokens: Any = None, index: Any = None) -> np.ndarray:
        return np.array([pair in y for y, pairs in zip(map(set, Y), tokens) for pair in pairs], np.int32)

    def outputs(self, y: np.ndarray, offsets: np.ndarray, tokens: Any = None) -> list[list[Pair]]:
        return [[tuple(tokens[t]) for t in range(lo, hi) if y[t] > 0] for lo, hi in pairwise(offsets)]

    # -- decoding: parts are a matrix of scores -----------------------------------------------------------------------
    def part_scores(self, context: Pair, unary: np.ndarray, transitions: np.ndarray) -> np.ndarray:
        return unary[:, 0].reshape(context)

    def k_best(self, parts: np.ndarray, k: int) -> list[tuple[np.ndarray, float]]:
        n, m = parts.shape
        alone = np.where(np.eye(n, dtype=bool), 0.0, -np.inf) if self.partial else np.empty((n, 0))
        padded = np.hstack([parts, alone])  # with a place of its own for each item that stays alone
        swap = padded.shape[0] > padded.shape[1]
        found = []
        for score, columns in ranked_assignments(padded.T if swap else padded, k):
            y = np.zeros((n, m), np.int32)
            rows = np.arange(columns.size)
            matched = columns < m
            y[(columns, rows) if swap else (rows[matched], columns[matched])] = 1
            found.append((y.ravel(), score))
        return found

    def score(self, parts: np.ndarray, y: np.ndarray) -> float:
        return float(parts.ravel()[y > 0].sum())

    def count_parts(self, y: np.ndarray, counts: np.ndarray) -> np.ndarray:
        rows = np.flatnonzero(y > 0)
        return np.column_stack([rows, np.zeros_like(rows)])

    def loss_between(self, y: np.ndarray, y_pred: np.ndarray) -> float:
        """Half the number of pairs that only one of the two has: the wrong pairs, if both have as many."""
        return 0.5 * float(np.sum(y != y_pred))

    def augmented(self, parts: np.ndarray, y: np.ndarray) -> np.ndarray:
        return parts + 0.5 - y.reshape(parts.shape)

    # -- comparing ----------------------------------------------------------------------------------------------------
    def count_errors(self, y: np.ndarray, found: np.ndarray, offsets: np.ndarray) -> tuple[int, int]:
        """How many pairs only one of the two has, and how many there are in both."""
        known = y >= 0
        return int(np.sum((y != found) & known)), int(np.sum(y[known] > 0) + np.sum(found[known] > 0))

    def score_outputs(self, X: Any, Y: Sequence[Any], found: Sequence[Iterable[Pair]]) -> float:
        """F1 of pairs: the fraction of right ones, if all items are matched."""
        both = [(set(y), set(y_pred)) for y, y_pred in zip(self.check_outputs(Y), found) if y is not None]
        if not both:
            raise InputError("Y has no labels to score against")
        total = sum(len(a) + len(b) for a, b in both)
        return 2 * sum(len(a & b) for a, b in both) / total if total else 1.0


def common(a: str, b: str, distance: float) -> dict[str, float]:
    """Features of a pair of texts that stand ``distance`` apart in their lists, from 0 to 1."""
    pairs = [{text[t : t + 2] for t in range(max(len(text) - 1, 1))} for text in (a.lower(), b.lower())]
    shared = 2 * len(pairs[0] & pairs[1]) / (len(pairs[0]) + len(pairs[1]))
    return {f"{a} ~ {b}": 1.0, "same": float(a == b), "letters in common": shared, "apart": abs(distance)}


def ranked_assignments(scores: np.ndarray, k: int) -> list[tuple[float, np.ndarray]]:
    """The ``k`` best ways to give every row a column of its own, with their scores, best first [Murty 1968]."""
    found: list[tuple[float, np.ndarray]] = []
    waiting: list[tuple[float, int, np.ndarray, np.ndarray]] = []  # the best of some ways, and what those may have
    _offer(waiting, scores, 0)
    while waiting and len(found) < k:
        negative, _, columns, allowed = heapq.heappop(waiting)
        found.append((-negative, columns))
        for row, column in enumerate(columns) if len(found) < k else ():
            without = allowed.copy()
            without[row, column] = -np.inf
            _offer(waiting, without, len(found) * len(columns) + row)
            kept = allowed[row, column]
            allowed[row, :], allowed[:, column], allowed[row, column] = -np.inf, -np.inf, kept
    return found


def _offer(waiting: list[Any], allowed: np.ndarray, number: int) -> None:
    try:
        rows, columns = linear_sum_assignment(allowed, maximize=True)
    except ValueError:  # none
        return
    heapq.heappush(waiting, (-float(allowed[rows, columns].sum()), number, columns, allowed.copy()))
