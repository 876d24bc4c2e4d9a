"""Which unit a token is: a dict, with a hash table beside it for many tokens at a time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, repeat
from typing import Any

import numpy as np

from accord.kernels.features import hashing
from accord.views.characters import code_points

_MANY = 256  # tokens from which on a kernel looks them up, which leaves the interpreter to other threads


class TokenIndex(dict[str, int]):
    """The units of distinct tokens: consecutive numbers in their order."""

    def __init__(self, tokens: Sequence[str], first: int) -> None:
        super().__init__()
        self.add(tokens, first)

    def add(self, tokens: Sequence[str], first: int) -> None:
        """Number more tokens, from ``first`` on."""
        self.update(zip(tokens, range(first, first + len(tokens))))
        self._table: tuple[np.ndarray, np.ndarray] | None = None

    def units_of(self, sentences: Sequence[Any], n_tokens: int) -> np.ndarray:
        """The unit of every token, -1 for an unknown one, or one that is no string."""
        table = self._hash_table() if n_tokens >= _MANY else None
        if table is not None:
            units, keys = np.empty(n_tokens, np.int32), np.empty(n_tokens, np.uint64)
            try:
                codes = code_points("\n".join(map("\n".join, filter(None, sentences))))
            except TypeError:  # a token that is no string
                codes = np.empty(0, np.uint32)
            if hashing.word_keys(codes, keys) == n_tokens:  # otherwise a token has a newline in it
                hashing.look_up(keys, *table, next(iter(self.values()), 0), units)
                return units
        try:
            tokens = chain.from_iterable(sentences)
            return np.fromiter(map(self.get, tokens, repeat(-1)), np.int32, n_tokens)
        except TypeError:  # an unhashable token
            return np.full(n_tokens, -1, np.int32)

    def _hash_table(self) -> tuple[np.ndarray, np.ndarray] | None:
        """That of the tokens' keys; None if one of them has a newline in it, or two have one key."""
        if self._table is None:
            keys = np.empty(len(self), np.uint64)
            if hashing.word_keys(code_points("\n".join(self)), keys) == len(self):
                table = hashing.hash_table(keys)
                self._table = table if table[1].max() == len(self) - 1 else None
        return self._table
