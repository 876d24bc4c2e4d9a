"""Pairs of a table that were compared: features are found once, whoever asks for them again."""

from __future__ import annotations

import numpy as np

from accord.dedupe.blocking import Closeness, candidate_pairs
from accord.dedupe.decoding import Rule, cluster_pairs
from accord.dedupe.packing import distinct
from accord.dedupe.pairs import CHUNK, RecordTable
from accord.threads import map_threads


class ComparedPairs:
    """Features of pairs of a table, compared when they are asked for and kept, and its candidates."""

    def __init__(self, table: RecordTable, n_candidates: int, n_jobs: int | None = 1) -> None:
        self.table, self.n_candidates, self.n_jobs = table, n_candidates, n_jobs
        self.candidates = candidate_pairs(table, n_candidates, n_jobs=n_jobs)
        self._closeness: Closeness | None = None
        self._keys, self._places = np.empty(0, np.int64), np.empty(0, np.int64)  # of pairs, sorted
        self._features = np.empty((1024, len(table.view.names_)), np.float64)
        self._size = 0

    @property
    def closeness(self) -> Closeness:
        """What records share."""
        if self._closeness is None:
            self._closeness = Closeness(self.table)
        return self._closeness

    def features(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Features of pairs of records."""
        keys = np.maximum(left, right) * np.int64(len(self.table)) + np.minimum(left, right)
        place = np.searchsorted(self._keys, keys)
        known = np.zeros(keys.size, np.bool_)
        if self._size:
            known = self._keys[np.minimum(place, self._size - 1)] == keys
        if not known.all():
            self._compare(distinct(keys[~known]))
            place = np.searchsorted(self._keys, keys)
        return self._features[self._places[place]]

    def scores(self, left: np.ndarray, right: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Products of features and weights."""
        return self.features(left, right) @ weights

    def clusters(self, weights: np.ndarray, constant: float, rule: Rule) -> np.ndarray:
        """Cluster numbers of the table by first appearance."""

        def scores(left: np.ndarray, right: np.ndarray) -> np.ndarray:
            return self.scores(left, right, weights) + constant

        similar = scores(*self.candidates)
        return cluster_pairs(len(self.table), self.candidates, similar, scores, lambda: self.closeness, rule)

    def _compare(self, keys: np.ndarray) -> None:
        last, n = self._size + keys.size, len(self.table)
        if last > len(self._features):
            room = np.empty((max(last, 2 * len(self._features)), self._features.shape[1]), np.float64)
            room[: self._size] = self._features[: self._size]
            self._features = room

        def fill(first: int) -> None:
            some = keys[first : first + CHUNK]
            begin = self._size + first
            self._features[begin : begin + some.size] = self.table.compare(some // n, some % n)

        map_threads(fill, ((first,) for first in range(0, keys.size, CHUNK)), self.n_jobs)
        places = np.concatenate([self._places, np.arange(self._size, last)])
        merged = np.concatenate([self._keys, keys])
        order = np.argsort(merged, kind="stable")
        self._keys, self._places, self._size = merged[order], places[order], last
