"""What encoders get and give: lists of tokens or texts, and as many finite vectors as these ask for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from accord.exceptions import InputError
from accord.views.inputs import as_list, as_strings, describe, distinct_tokens, offsets_of, token_lists


def tokens_or_texts(X: Any) -> list[Any]:
    """``X`` as a list of strings, or of lists of strings."""
    inputs = as_strings(as_list(X, "a text, or a list of tokens"))
    texts = [isinstance(x, str) for x in inputs]
    if all(texts):
        return inputs
    if any(texts):
        at = texts.index(not texts[0])
        raise InputError(
            f"X[{at}] is {describe(inputs[at])}, but X[0] is {describe(inputs[0])}; expected texts only, or lists of "
            "tokens only"
        )
    inputs = [list(x) for x in token_lists(inputs)]
    distinct_tokens(list(chain.from_iterable(inputs)), offsets_of(inputs))  # says which token is no string
    return inputs


def checked_vectors(
    result: Any, batch: Sequence[Any], places: Sequence[int], width: int | None = None
) -> list[np.ndarray]:
    """What an encoder gave for a batch as a matrix of float32 for each input, with one row per token or one for a text.

    ``places`` are the numbers of the inputs in ``X``; ``width`` is the number of columns that is expected.
    """
    given = _plain(result)
    try:
        given = list(given)
    except TypeError:
        raise InputError(
            f"encode gave {describe(result)} for {len(batch)} inputs; expected a list of arrays, one for each"
        ) from None
    if len(given) != len(batch):
        raise InputError(
            f"encode gave {len(given)} results for a batch of {len(batch)} inputs that begins with X[{places[0]}]; "
            "expected one for each"
        )
    found = []
    for one, x, i in zip(given, batch, places):
        matrix = _numbers(one, i)
        if isinstance(x, str) and matrix.ndim == 1:
            matrix = matrix[None]
        check_shape(matrix, x, i, width)
        if not np.isfinite(matrix).all():
            row, column = np.argwhere(~np.isfinite(matrix))[0]
            where = f"X[{i}]" if isinstance(x, str) else f"X[{i}][{row}]"
            value = matrix[row, column]
            raise InputError(
                f"encode gave {value} in column {column} of the vector of {where}; expected finite numbers"
            )
        width = matrix.shape[1]
        found.append(matrix)
    return found


def check_shape(matrix: np.ndarray, x: Any, i: int, width: int | None) -> None:
    """One row per token, or one for a text, and as many columns as others have."""
    n = 1 if isinstance(x, str) else len(x)
    what = "a text" if isinstance(x, str) else f"a list of {n} token{'s' * (n != 1)}"
    if matrix.ndim != 2 or matrix.shape[0] != n or not matrix.shape[1]:
        expected = "one vector" if isinstance(x, str) else f"shape ({n}, {width or 'any width'}), a row for each"
        hint = "" if isinstance(x, str) or matrix.ndim != 1 else ". For one vector per text give texts, not tokens"
        raise InputError(f"encode gave an array of shape {matrix.shape} for X[{i}], {what}; expected {expected}{hint}")
    if width is not None and matrix.shape[1] != width:
        raise InputError(
            f"encode gave vectors of {matrix.shape[1]} numbers for X[{i}], {what}; expected {width}, as for "
            "others. Is it another encoder than that of fit, or than the one of this name in cache=?"
        )


def _numbers(value: Any, i: int) -> np.ndarray:
    try:
        array = np.asarray(_plain(value))
    except ValueError:  # ragged
        array = np.empty(0, object)
    if array.dtype.kind not in "biuf":
        raise InputError(f"encode gave {describe(value)} for X[{i}]; expected an array of numbers")
    with np.errstate(over="ignore"):  # what float32 cannot hold is refused as infinite
        return array.astype(np.float32)


def _plain(value: Any) -> Any:
    """Tensors of PyTorch may be on another device, and know how they were made."""
    return value.detach().cpu().float().numpy() if hasattr(value, "detach") and hasattr(value, "cpu") else value
