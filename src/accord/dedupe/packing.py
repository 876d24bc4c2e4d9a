"""Arrays that grow at their end, and strings packed into them."""

from __future__ import annotations

from itertools import islice

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from accord.kernels.records import strings

_MANY = 1 << 14  # characters, above which a table of all of them is quicker than to sort them
_LONG = 100  # keys, above which they are not sorted by insertion
_SYMBOL = (1 << 21) - 1  # the bits of a symbol in the key of a trigram


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


def newest(index: dict[str, int], n: int) -> list[str]:
    """The last `n` keys of a dict, in order."""
    return list(islice(reversed(index), n))[::-1]


def rows_of(ptr: np.ndarray, items: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Row pointers and items of some rows, one after another."""
    sizes = ptr[rows + 1] - ptr[rows]
    out = np.concatenate([[0], np.cumsum(sizes)])
    return out, items[np.arange(out[-1]) + np.repeat(ptr[rows] - out[:-1], sizes)]


class PackedStrings:
    """Strings as symbol numbers, one after another."""

    def __init__(self, symbols: dict[str, int]) -> None:
        self.symbols = symbols
        self.codes, self.starts = Growing(np.int32), Growing(np.int64)
        self.starts.append([0])
        self.longest = 0
        self._points = np.empty(0, np.int64)

    def lasting(self, grams: np.ndarray) -> np.ndarray:
        """Trigrams by what their letters are everywhere, not by the numbers that they have here."""
        if self._points.size < len(self.symbols):
            self._points = np.array([ord(c) for c in self.symbols], np.int64)
        points = self._points
        return points[grams >> 42] << 42 | points[grams >> 21 & _SYMBOL] << 21 | points[grams & _SYMBOL]

    def append(self, texts: list[str]) -> None:
        """Pack more strings."""
        number = self.symbols
        points = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
        different = np.unique(points) if points.size < _MANY else np.flatnonzero(np.bincount(points))
        fresh = [point for point in different.tolist() if chr(point) not in number]
        # by first appearance, so that it does not matter what is packed at once
        for point in sorted(fresh, key=lambda point: int(np.argmax(points == point))):
            number[chr(point)] = len(number)
        numbers = np.array([number[chr(point)] for point in different.tolist()], np.int32)
        if points.size < _MANY:
            self.codes.append(numbers[np.searchsorted(different, points)])
        else:
            table = np.zeros(int(different[-1]) + 1, np.int32)
            table[different] = numbers
            self.codes.append(table[points])
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
        strings.trigrams(text.codes.array, starts, np.int64(0), keys, ptr)
        for row in np.flatnonzero(np.diff(ptr) > _LONG):
            keys[ptr[row] : ptr[row + 1]].sort()
        n = strings.sort_rows(keys, ptr)
        self.ptr.append(self.ptr.array[-1] + ptr[1:])
        self.keys.append(keys[:n])

    def counts(self, symbols: dict[str, int], n_records: np.ndarray) -> dict[str, int]:
        """In how many records each trigram occurs that several have, `n_records` having each of the strings."""
        keys, place = np.unique(self.keys.array, return_inverse=True)
        counts = np.bincount(place, np.repeat(n_records, np.diff(self.ptr.array)), keys.size).astype(np.int64)
        keys, counts = keys[counts > 1], counts[counts > 1]
        letters = np.array(list(symbols))
        parts = [letters[keys >> shift & _SYMBOL].tolist() for shift in (42, 21, 0)]
        return {"".join(three): n for three, n in zip(zip(*parts), counts.tolist())}


class RareTrigrams:
    """Weights of trigrams by how rare they are: what :meth:`Trigrams.counts` does not name counts as occurring once."""

    def __init__(self, counts: dict[str, int], symbols: dict[str, int], n_records: int) -> None:
        codes = [[symbols.setdefault(c, len(symbols)) for c in three] for three in counts]
        keys = np.array([(a << 42) | (b << 21) | c for a, b, c in codes], np.int64)
        order = np.argsort(keys)
        self.keys, self.counts = keys[order], np.array(list(counts.values()), np.int64)[order]
        self.n_records = n_records

    def squares(self, keys: np.ndarray) -> np.ndarray:
        """Squared weights of trigrams, so that sums of those that are shared make cosines."""
        counts = np.ones(keys.size)
        if self.keys.size:
            place = np.minimum(np.searchsorted(self.keys, keys), self.keys.size - 1)
            counts = np.where(self.keys[place] == keys, self.counts[place], 1)
        return (np.log((1.0 + self.n_records) / (1.0 + np.minimum(counts, self.n_records))) + 1.0) ** 2
