"""Cells that are vectors, such as encoders make of texts, and how alike two of them are."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from accord.dedupe.values import VECTOR


@lru_cache(maxsize=1 << 10)
def parse_vector(text: str) -> np.ndarray | None:
    """A vector of length 1 from numbers with blanks or commas between them; None if the text is none.

    >>> parse_vector("[3, 4.0]").tolist()
    [0.6000000238418579, 0.800000011920929]
    """
    if not VECTOR.fullmatch(text):
        return None
    numbers = np.array(text.strip("[()] ").replace(",", " ").split(), np.float64)
    length = np.sqrt(numbers @ numbers)
    if not 0.0 < length < np.inf:
        return None
    return (numbers / length).astype(np.float32)


def cosines(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Of vectors of length 1 in rows; 0 if it is negative."""
    return np.clip((x * y).sum(axis=-1, dtype=np.float64), 0.0, 1.0)
