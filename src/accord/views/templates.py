"""The token templates: what they are called, how they are grouped, and how to compute them for distinct tokens.

A column is described by its origin (kind, type, begin, length), the place where it was first seen; see
``kernels.features.text`` for the meaning of begin and length of each kind. Names are made only when someone
asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from accord.exceptions import InputError
from accord.kernels.features import text as kernels
from accord.settings import whole
from accord.views.characters import GREEK_NAMES, pack
from accord.views.inputs import describe

GROUPS = ["bias", "position", "token", "affix", "ngram", "shape", "clue"]
_GROUP_NAME_OF_KIND: dict[Any, str] = {
    kernels.BOUNDARY: "position",
    kernels.TOKEN: "token",
    kernels.LOWERED: "token",
    kernels.PREFIX: "affix",
    kernels.SUFFIX: "affix",
    kernels.NGRAM: "ngram",
    kernels.SHAPE: "shape",
    kernels.SHORT_SHAPE: "shape",
    kernels.CLUE: "clue",
    kernels.LENGTH: "clue",
    kernels.UPPER_AT: "clue",
    kernels.LOWER_AT: "clue",
}
GROUP_OF_KIND = np.array([GROUPS.index(_GROUP_NAME_OF_KIND[kind]) for kind in range(len(_GROUP_NAME_OF_KIND))])
_GREEK_HASHES = kernels.hashes_of(GREEK_NAMES)

LONGEST = 1000  # part of a word: no word is longer, and a table has an entry for every length


def length_mask(lengths: Any, argument: str) -> np.ndarray:
    """Whether each length (longest + 1,) is among the lengths."""
    lengths = () if lengths is None else lengths
    if not isinstance(lengths, (tuple, list, range, np.ndarray)) or not all(map(whole(1, LONGEST).accepts, lengths)):
        raise InputError(
            f"{argument} is {describe(lengths)}; expected lengths from 1 to {LONGEST:,}, such as (2, 3), or None"
        )
    mask = np.zeros(max(lengths, default=0) + 1, np.bool_)
    mask[list(lengths)] = True
    return mask


def emit(types: Sequence[str], templates: kernels.Wanted) -> tuple[kernels.Emitted, np.ndarray]:
    """The features of each type; type ``t`` owns the range ``indptr[t]:indptr[t + 1]`` of them."""
    packed = pack(types)
    lowered = pack([token.lower() for token in types] if templates.lower or templates.clues else [""] * len(types))
    n_affixes, n_grams = 2 * int(templates.affixes.sum()), int(templates.ngrams.sum())
    most = n_affixes + templates.token + templates.lower + 2 * templates.shape
    most += templates.clues * (len(kernels.CLUES) + 1 + templates.case_positions)
    room = most * len(types) + n_grams * packed.codes.size
    out = kernels.Emitted(np.empty(room, np.uint64), np.empty(room, np.int64))
    indptr = np.zeros(len(types) + 1, np.int64)
    described = kernels.shapes_of(packed), kernels.clues_of(packed)
    n = kernels.emit(packed, lowered, *described, _GREEK_HASHES, templates, indptr, out)
    return kernels.Emitted(*(array[:n] for array in out)), indptr


def origins_at(emitted: kernels.Emitted, indptr: np.ndarray, at: np.ndarray, type_numbers: np.ndarray) -> np.ndarray:
    """Origins (n, 4) of the emitted features at the given places; ``type_numbers`` are those of the emitting types."""
    owners = type_numbers[np.searchsorted(indptr, at, side="right") - 1]
    return np.insert(kernels.unpacked(emitted.origins[at]), 1, owners, axis=1).astype(np.int32)


def name_of(origin: np.ndarray, types: Sequence[str]) -> str:
    """The readable name of a column, without its place in the window."""
    kind, owner, begin, length = (int(number) for number in origin)
    if kind == kernels.BOUNDARY:
        return "boundary"
    if kind == kernels.CLUE:
        return kernels.CLUES[begin]
    if kind == kernels.LENGTH:
        return f"length={begin}" + "+" * (begin == kernels.MAX_LENGTH)
    if kind in (kernels.UPPER_AT, kernels.LOWER_AT):
        return f"{'upper' if kind == kernels.UPPER_AT else 'lower'}-at={begin + 1}"
    token = types[owner]
    if kind == kernels.TOKEN:
        return f"token={token}"
    if kind == kernels.LOWERED:
        return f"lower={token.lower()}"
    if kind == kernels.SHAPE:
        return f"shape={_shape(token)}"
    if kind == kernels.SHORT_SHAPE:
        return "short-shape=" + "".join(symbol for symbol, _ in groupby(_shape(token)))
    template = "prefix" if kind == kernels.PREFIX else "suffix" if kind == kernels.SUFFIX else "ngram"
    return f"{template}{length}={token[begin : begin + length]}"


def _shape(token: str) -> str:
    return "".join(
        "X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else "c" if c.isalpha() else c for c in token
    )
