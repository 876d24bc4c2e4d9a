"""Arrays that grow at their end, and strings packed into them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from accord.kernels.records import numbering, strings

_MANY = 1 << 14  # characters, above which a table of all of them is quicker than to sort them
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


class FileGrowing(Growing):
    """The same in a file, for more than fits into memory; what is there already is kept."""

    def __init__(self, path: Path, begins: np.ndarray) -> None:
        self._path, self._dtype = path, begins.dtype
        if not path.exists():
            begins.tofile(path)
        self.size = path.stat().st_size // self._dtype.itemsize
        self._mapped = np.empty(0, self._dtype)

    def append(self, items: ArrayLike) -> None:
        items = np.asarray(items, self._dtype)
        with open(self._path, "ab") as stream:
            stream.write(items.tobytes())
        self.size += items.size

    @property
    def array(self) -> np.ndarray:
        if self._mapped.size != self.size:  # a mapping of nothing is an error
            self._mapped = np.asarray(np.memmap(self._path, self._dtype, "r+", shape=(self.size,)))
        return self._mapped


def to_files(owner: object, folder: Path, name: str) -> None:
    """Let all arrays of an object, and of the objects that it has, grow in files of a folder."""
    for attribute, value in vars(owner).items():
        if isinstance(value, Growing):
            setattr(owner, attribute, FileGrowing(folder / f"{name}.{attribute}", value.array))
        elif isinstance(value, list) and value and isinstance(value[0], Growing):
            files = [FileGrowing(folder / f"{name}.{attribute}.{k}", one.array) for k, one in enumerate(value)]
            setattr(owner, attribute, files)
        elif isinstance(value, (PackedStrings, Trigrams)):
            to_files(value, folder, f"{name}.{attribute}")


class Numbers:
    """Numbers of texts by first appearance."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def __call__(self, texts: Iterable[str | None]) -> tuple[ArrayLike, list[str]]:
        """The number of each, -1 for None, and those texts that are new."""
        known, before = self._known, len(self._known)
        numbers = [-1 if text is None else known.setdefault(text, len(known)) for text in texts]
        return numbers, list(islice(reversed(known), len(known) - before))[::-1]

    def texts(self) -> list[str]:
        """The texts in the order of their numbers."""
        return list(self._known)


class KeyNumbers:
    """Numbers of keys of 64 bits by first appearance, in a hash table that takes 32 to 64 bytes for each."""

    def __init__(self) -> None:
        self.size = 0
        self._known, self._numbers = np.empty(0, np.int64), np.empty(0, np.int64)

    def __call__(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The number of each, and the places of those that are new."""
        if 2 * (self.size + keys.size) > self._known.size:
            self._grow(4 * (self.size + keys.size))
        numbers, fresh = np.empty((2, keys.size), np.int64)
        n_fresh = numbering.number(keys, self._known, self._numbers, self.size, numbers, fresh)
        self.size += n_fresh
        return numbers, fresh[:n_fresh]

    def _grow(self, room: int) -> None:
        there = self._numbers >= 0
        keys = np.empty(self.size, np.int64)
        keys[self._numbers[there]] = self._known[there]
        size = 1 << room.bit_length()
        self._known, self._numbers = np.empty(size, np.int64), np.full(size, -1)
        numbering.number(keys, self._known, self._numbers, 0, *np.empty((2, keys.size), np.int64))


class HashedNumbers(Numbers):
    """The same for very many texts: kept are hashes of 64 bits."""

    def __init__(self) -> None:
        self._numbers_of = KeyNumbers()

    def __call__(self, texts: Iterable[str | None]) -> tuple[np.ndarray, list[str]]:
        every = list(texts)
        there = [text for text in every if text is not None]
        found, fresh = self._numbers_of(np.fromiter(map(hash, there), np.int64, len(there)))
        numbers = found
        if len(there) < len(every):
            numbers = np.full(len(every), -1)
            numbers[[text is not None for text in every]] = found
        return numbers, [there[k] for k in fresh.tolist()]


class AllNew(Numbers):
    """A number of its own for every text, be it the same as another or not."""

    def __init__(self, n: int = 0) -> None:
        self._n = n

    def __call__(self, texts: Iterable[str | None]) -> tuple[list[int], list[str]]:
        numbers: list[int] = []
        fresh: list[str] = []
        for text in texts:
            numbers.append(-1 if text is None else self._n + len(fresh))
            fresh += [] if text is None else [text]
        self._n += len(fresh)
        return numbers, fresh


def distinct(numbers: np.ndarray) -> np.ndarray:
    """Whole numbers, sorted, each once; of very many several times quicker than what NumPy has for it."""
    numbers = np.sort(numbers)
    return numbers[np.concatenate([[True], numbers[1:] != numbers[:-1]])] if numbers.size else numbers


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
    """Runs of three symbols of packed strings: sorted numbers for every string, and the key of each number."""

    def __init__(self) -> None:
        self.ptr, self.ids, self.keys = Growing(np.int64), Growing(np.int32), Growing(np.int64)
        self.ptr.append([0])
        self._numbers_of = KeyNumbers()

    def append(self, text: PackedStrings, first: int) -> None:
        """Add those of the strings from number `first` on."""
        starts = text.starts.array[first:]
        keys, ptr = np.empty(int(starts[-1] - starts[0]) + starts.size, np.int64), np.empty(starts.size, np.int64)
        strings.trigrams(text.codes.array, starts, np.int64(0), keys, ptr)
        ids, fresh = self._numbers_of(keys[: ptr[-1]])
        self.keys.append(keys[fresh])
        n = strings.sort_rows(ids, np.empty((0, ids.size), np.int64), ptr)
        self.ptr.append(self.ptr.array[-1] + ptr[1:])
        self.ids.append(ids[:n])

    def counts(self, symbols: dict[str, int], n_records: np.ndarray) -> dict[str, int]:
        """In how many records each trigram occurs that several have, `n_records` having each of the strings."""
        occurrences = np.repeat(n_records, np.diff(self.ptr.array))
        found = np.bincount(self.ids.array, occurrences, self.keys.size).astype(np.int64)
        order = np.argsort(self.keys.array)
        order = order[found[order] > 1]
        keys, counts = self.keys.array[order], found[order]
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
