"""Vectors of words in files of other tools: word2vec (text and binary), GloVe, fastText, NumPy and safetensors.

Large files are mapped into memory, and only the rows that are asked for are copied. Nothing in a file is executed:
arrays of objects are refused.
"""

from __future__ import annotations

import json
import mmap
import re
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from accord.datasets.formats.source import iter_lines, source_name
from accord.exceptions import FormatError, InputError

_SAFETENSORS = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": np.uint16}
_LONGEST_HEADER = 100_000_000  # bytes, the limit of the safetensors library
_LONGEST_WORD = 10_000  # bytes; a longer one means that a binary file is read at the wrong place


class Wanted(NamedTuple):
    """Which words to read: those of a set (None: all), and the first ones of the file, usually the most frequent."""

    words: frozenset[str] | None = None
    first: int = 0

    def has(self, word: str, place: int) -> bool:
        return self.words is None or place < self.first or word in self.words


def read_word_vectors(
    path: str | PathLike[str], wanted: Wanted, vocabulary: Any = None
) -> tuple[list[str], np.ndarray]:
    """The wanted words and their vectors (n_words, width), in the order of the file; the first of equal words counts.

    What a file is, its ending says: ``.bin`` is word2vec's binary form, ``.npy`` and ``.safetensors`` are matrices,
    whose rows a vocabulary names; anything else is text, perhaps compressed with gzip.
    """
    name = source_name(path)
    ending = Path(name).suffix.lower()
    if ending in (".npy", ".safetensors"):
        matrix = _npy(name) if ending == ".npy" else _safetensors(name)
        return _named_rows(matrix, _vocabulary(vocabulary, name), wanted, name)
    if vocabulary is not None:
        raise InputError(f"vocabulary is for .npy and .safetensors files; {name} has its words inside")
    pairs, width = _binary(name, wanted) if ending == ".bin" else _text(path, wanted)
    return list(pairs), np.array(list(pairs.values()), np.float64).reshape(len(pairs), width)


def _named_rows(matrix: np.ndarray, words: list[str], wanted: Wanted, name: str) -> tuple[list[str], np.ndarray]:
    if matrix.ndim != 2 or matrix.dtype.kind not in "fu":
        raise FormatError(
            f"an array of shape {matrix.shape} and type {matrix.dtype}; expected a matrix of floats", name
        )
    if len(words) != matrix.shape[0]:
        raise FormatError(f"{matrix.shape[0]} rows, but the vocabulary has {len(words)} words", name)
    places: dict[str, int] = {}
    for place, word in enumerate(words):
        if word not in places and wanted.has(word, place):
            places[word] = place
    rows = matrix[list(places.values())]
    if rows.dtype == np.uint16:  # bfloat16: the upper half of a float
        rows = (rows.astype(np.uint32) << 16).view(np.float32)
    rows = rows.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if bad.size:
        raise FormatError(f"the vector of {list(places)[bad[0]]!r} has a number that is not finite", name)
    return list(places), rows


def _vocabulary(vocabulary: Any, name: str) -> list[str]:
    """The word of each row: a list, a dict of rows, a file with a word on every line, or JSON of either form."""
    if vocabulary is None:
        raise InputError(f"{name} has no words; give vocabulary, a file with the word of each row, or a list of them")
    if isinstance(vocabulary, (str, PathLike)):
        path = source_name(vocabulary)
        if Path(path).suffix.lower() == ".json":
            try:
                vocabulary = json.loads(Path(path).read_text(encoding="utf-8"))
            except ValueError as error:
                raise FormatError(f"not JSON ({error})", path) from None
            if isinstance(vocabulary, dict) and isinstance(vocabulary.get("model"), dict):  # a tokenizer's
                vocabulary = vocabulary["model"].get("vocab")
        else:
            return list(iter_lines(vocabulary))
    if isinstance(vocabulary, Mapping):
        rows = list(vocabulary.values())
        if sorted(rows) != list(range(len(rows))):
            raise InputError("vocabulary is a dict, but not of every row's number, 0, 1, 2, ...")
        return sorted(vocabulary, key=vocabulary.__getitem__)
    words = list(vocabulary) if isinstance(vocabulary, Iterable) else [vocabulary]
    if not all(isinstance(word, str) for word in words):
        raise InputError("vocabulary is neither a list of words, nor a dict of rows, nor a file of either")
    return words


def _npy(name: str) -> np.ndarray:
    try:
        return np.load(name, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise FormatError(f"not an array that NumPy saved ({error})", name) from None


def _safetensors(name: str) -> np.ndarray:
    """The one matrix of the file."""
    size = Path(name).stat().st_size
    with open(name, "rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if not 2 <= length <= min(_LONGEST_HEADER, size - 8):
            raise FormatError("no header of safetensors at its beginning", name)
        try:
            header = json.loads(stream.read(length))
            tensors = {key: entry for key, entry in header.items() if key != "__metadata__"}
            matrices = {key: entry for key, entry in tensors.items() if len(entry["shape"]) == 2}
            if len(matrices) != 1:
                some = ", ".join(list(matrices)[:5])
                raise FormatError(f"{len(matrices)} matrices ({some}); expected one, with a row for every word", name)
            ((_, entry),) = matrices.items()
            shape, (start, end) = tuple(map(int, entry["shape"])), map(int, entry["data_offsets"])
            dtype = np.dtype(_SAFETENSORS[entry["dtype"]]).newbyteorder("<")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise FormatError(f"a header of safetensors that cannot be understood ({error!r})", name) from None
    if (
        min(shape) < 0
        or not 0 <= start <= end <= size - 8 - length
        or end - start != dtype.itemsize * shape[0] * shape[1]
    ):
        raise FormatError(f"a matrix of shape {shape} that is not where its header says", name)
    return np.memmap(name, dtype, "r", offset=8 + length + start, shape=shape)


def _binary(name: str, wanted: Wanted) -> tuple[dict[str, np.ndarray], int]:
    with open(name, "rb") as stream:
        header = re.fullmatch(rb"(\d{1,12}) (\d{1,6})\s*", stream.readline(64))
        if not header or not int(header[2]):
            raise FormatError("the first line is not two numbers, of words and of dimensions, as word2vec writes", name)
        n_words, width = int(header[1]), int(header[2])
        found: dict[str, np.ndarray] = {}
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            for place, (word, at) in enumerate(_entries(data, stream.tell(), n_words, 4 * width, name)):
                if word not in found and wanted.has(word, place):
                    found[word] = np.frombuffer(data, "<f4", width, at).astype(np.float64)
                    if not np.isfinite(found[word]).all():
                        raise FormatError(f"the vector of {word!r} has a number that is not finite", name)
    return found, width


def _entries(data: mmap.mmap, at: int, n_words: int, n_bytes: int, name: str) -> Iterator[tuple[str, int]]:
    """Words and where their vectors begin. Some writers put a line end after each vector, some do not."""
    for place in range(n_words):
        end = data.find(b" ", at, at + _LONGEST_WORD)
        if end < 0 or end + 1 + n_bytes > len(data):
            raise FormatError(f"the file ends, or makes no sense, at word {place} of {n_words}", name)
        yield data[at:end].lstrip(b"\n").decode("utf-8", "replace"), end + 1
        at = end + 1 + n_bytes


def _text(path: str | PathLike[str], wanted: Wanted) -> tuple[dict[str, np.ndarray], int]:
    """Numbers are read for wanted words only. A word may hold blanks, so a line is cut from its end."""
    found: dict[str, np.ndarray] = {}
    width, place, name = 0, -1, source_name(path)
    beginnings = None if wanted.words is None else {word.partition(" ")[0] for word in wanted.words}
    for number, line in enumerate(iter_lines(path), start=1):
        line = line.replace("\t", " ").rstrip(" ")
        if number == 1 and re.fullmatch(r"\d+ \d+", line):  # a header: number of words and of dimensions
            width = int(line.split(" ")[1])
            continue
        if not line:
            continue
        place += 1
        n_numbers = line.count(" ")
        width = width or n_numbers
        if n_numbers < width or not width:
            expected = f"{width} numbers" if width else "numbers"
            raise FormatError(f"a word with {n_numbers} numbers; expected a word with {expected}", name, number)
        if beginnings is not None and place >= wanted.first and line.partition(" ")[0] not in beginnings:
            continue
        word, *numbers = line.rsplit(" ", width)
        if word not in found and wanted.has(word, place):  # the first of several, as other readers do
            found[word] = _numbers(numbers, word, name, number)
    if not width:
        raise FormatError("the file is empty; expected a word and its numbers on every line", name)
    return found, width


def _numbers(texts: list[str], word: str, name: str, line: int) -> np.ndarray:
    try:
        vector = np.array(list(map(float, texts)))
    except ValueError as error:
        raise FormatError(f"the vector of {word!r} is not made of numbers ({error})", name, line) from None
    if not np.isfinite(vector).all():
        raise FormatError(f"the vector of {word!r} has a number that is not finite", name, line)
    return vector
