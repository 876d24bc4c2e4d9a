"""Checks and packing of inputs that are lists of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from accord.exceptions import InputError


def as_list(X: Any, expected: str) -> Sequence[Any]:
    """``X`` as a list or tuple of inputs; ``expected`` says in the error what an input should be."""
    if isinstance(X, (list, tuple)):
        return X
    if X is None or isinstance(X, (str, bytes, dict, int, float)) or not hasattr(X, "__iter__"):
        raise InputError(f"X is {describe(X)}; expected a list of inputs, where an input is {expected}")
    return list(X)


def describe(x: Any) -> str:
    """A short description of a value for an error message."""
    try:
        shown = repr(x)
    except Exception:  # of lists that are nested too deep, or of objects that cannot show themselves
        shown = "something"
    return f"{shown if len(shown) <= 30 else shown[:27] + '...'} of type {type(x).__name__}"


def offsets_of(inputs: Sequence[Any]) -> np.ndarray:
    """Offsets (n_inputs + 1,) of the concatenation of the inputs."""
    offsets = np.zeros(len(inputs) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, inputs), np.int64, len(inputs)), out=offsets[1:])
    return offsets


def token_lists(X: Any) -> list[Any]:
    """The inputs as lists or tuples; that tokens are strings is checked by :func:`distinct_tokens`."""
    inputs = as_list(X, "a list of tokens, for example ['Tom', 'comes', '.']")
    if not set(map(type, inputs)) <= {list, tuple}:
        for i, x in enumerate(inputs):
            if isinstance(x, (str, bytes)):
                raise InputError(
                    f"X[{i}] is {describe(x)}; expected a list of tokens. "
                    "Split the text into tokens first, or wrap a single sentence as [tokens]"
                )
            if x is None or isinstance(x, dict) or not hasattr(x, "__iter__"):
                raise InputError(f"X[{i}] is {describe(x)}; expected a list of tokens (strings)")
        inputs = [x if isinstance(x, (list, tuple)) else as_strings(x) for x in inputs]
    return inputs if isinstance(inputs, list) else list(inputs)


def as_strings(x: Any) -> list[Any]:
    """An iterable as a list; what NumPy holds as text becomes Python's."""
    return x.tolist() if isinstance(x, np.ndarray) and x.ndim == 1 else list(x)


def has_text(x: Any) -> bool:
    """Whether this is an array of text, not of numbers."""
    if not isinstance(x, np.ndarray) or not x.size:
        return False
    return x.dtype.kind in "UT" or (x.dtype.kind == "O" and isinstance(x.flat[0], str))


def flatten_tokens(X: Any) -> tuple[list[Any], np.ndarray]:
    """All tokens, and the offsets of the inputs."""
    inputs = token_lists(X)
    return list(chain.from_iterable(inputs)), offsets_of(inputs)


def distinct_tokens(tokens: list[Any], offsets: np.ndarray) -> list[str]:
    """The distinct tokens in order of first occurrence; an error names the first token that is not a string."""
    try:
        distinct = list(dict.fromkeys(tokens))
    except TypeError:  # an unhashable token
        distinct = tokens
    if set(map(type, distinct)) - {str} and not all(isinstance(token, str) for token in distinct):
        at = next(p for p, token in enumerate(tokens) if not isinstance(token, str))
        i = int(np.searchsorted(offsets, at, side="right")) - 1
        raise InputError(
            f"X[{i}][{at - offsets[i]}] is {describe(tokens[at])}; expected a token, which is a string. "
            "For features given as dicts or lists of strings use DictFeatures, for vectors ArrayFeatures"
        )
    return distinct


def token_numbers(tokens: list[str], distinct: list[str]) -> np.ndarray:
    """The place of every token among the distinct ones."""
    number = dict(zip(distinct, range(len(distinct))))
    return np.fromiter(map(number.__getitem__, tokens), np.int64, len(tokens))
