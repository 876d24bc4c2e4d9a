"""Examples as they come out of files."""

from __future__ import annotations

from typing import Any, NamedTuple

Example = tuple[Any, Any, list[str]]  # input, output, words to print


class Batch(NamedTuple):
    """Some inputs, their outputs (None where unlabeled), of sentences the tokens to print, of tables the columns."""

    X: Any
    Y: list[Any]
    tokens: list[list[str]] | None = None
    columns: tuple[str, ...] | None = None


def is_hidden(y: Any) -> bool:
    """Whether an example has no label at all."""
    return y is None or (isinstance(y, list) and bool(y) and all(label is None for label in y))


def join(parts: list[Any]) -> Any:
    """Several X as one; sparse matrices are brought to one width."""
    import numpy as np
    import scipy.sparse as sp

    if parts and sp.issparse(parts[0]):
        width = max(part.shape[1] for part in parts)
        for part in parts:
            part.resize((part.shape[0], width))
        return sp.vstack(parts, format="csr")
    if parts and isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return [x for part in parts for x in part]
