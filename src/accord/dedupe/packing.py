"""Arrays that grow at their end, and strings packed into them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from accord.kernels.records import strings


class Growing:
    """An array that grows at its end."""

    def __init__(self, dtype: DTypeLike) -> None:
        self._room = np.empty(64, dtype)
        self.size = 0

    def append(self, items: ArrayLike) -> None:
        """Add items."""
        items = np.asarray(items, self._room.dtype)
        if self.size + items.size > self._room.size:
            room = np.empty(max(2 * self._room.size, self.size + items.size), self._room.dtype)
            room[: self.size] = self._room[: self.size]
            self._room = room
        self._room[self.size : self.size + items.size] = items
        self.size += items.size

    @property
    def array(self) -> np.ndarray:
        """What is there so far; not to be kept across `append`."""
        return self._room[: self.size]


class PackedStrings:
    """Strings as symbol numbers, one after another."""

    def __init__(self, symbols: dict[str, int]) -> None:
        self.symbols = symbols
        self.codes, self.starts = Growing(np.int32), Growing(np.int64)
        self.starts.append([0])
        self.longest = 0

    def append(self, texts: list[str]) -> None:
        """Pack more strings."""
        number = self.symbols
        self.codes.append([number.setdefault(c, len(number)) for text in texts for c in text])
        lengths = [len(text) for text in texts]
        self.starts.append(self.starts.array[-1] + np.cumsum(lengths, dtype=np.int64))
        self.longest = max([self.longest, *lengths])


class Trigrams:
    """Runs of three symbols of packed strings, as sorted keys."""

    def __init__(self) -> None:
        self.ptr, self.keys = Growing(np.int64), Growing(np.int64)
        self.ptr.append([0])

    def append(self, text: PackedStrings, first: int) -> None:
        """Add those of the strings from number `first` on."""
        starts = text.starts.array[first:]
        keys, ptr = np.empty(int(starts[-1] - starts[0]) + starts.size, np.int64), np.empty(starts.size, np.int64)
        n = strings.trigrams(text.codes.array, starts, np.int64(0), keys, ptr)
        self.ptr.append(self.ptr.array[-1] + ptr[1:])
        self.keys.append(keys[:n])
