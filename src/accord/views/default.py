"""The default view: which features are meant if nobody says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from accord.exceptions import InputError
from accord.tokenizer import is_document
from accord.views.base import View
from accord.views.dense import ArrayFeatures
from accord.views.dicts import DictFeatures
from accord.views.documents import TextFeatures
from accord.views.frames import is_frame
from accord.views.inputs import as_list, has_text
from accord.views.text import TokenFeatures

_FEATURES = (Mapping, set, frozenset)


def default_view(X: Any, one_row: bool = False, symbols: bool = False) -> View:
    """The view that suits the look of inputs: texts, words, features by name, or numbers.

    Parameters
    ----------
    X : inputs
    one_row : bool
        An input is one row and gets one output, as for classes. A string then is a text, and a list of words a list
        of features.
    symbols : bool
        Tokens are names, such as tags of parts of speech: what they look like means nothing.
    """
    if symbols:
        return names_only(1)
    several = "a list of tokens, of dicts or of rows of numbers"
    one = "a text, a dict or list of features, or a row of numbers"
    need = one if one_row else several
    if one_row and is_frame(X) and any(getattr(dtype, "kind", "O") not in "biuf" for dtype in X.dtypes):
        return DictFeatures()
    if len(getattr(X, "shape", ())) > 1 and not has_text(X):
        return ArrayFeatures()
    found = next(((i, x) for i, x in enumerate(as_list(X, need)) if not _is_empty(x)), None)
    if found is None:
        raise InputError("X has only empty inputs: there is nothing to learn from")
    i, x = found
    kind = type(x).__name__
    if one_row and (isinstance(x, str) or is_document(type(x))):
        return TextFeatures()
    if has_text(x):
        x = x.tolist()
    if len(getattr(x, "shape", ())):
        return ArrayFeatures()
    if isinstance(x, _FEATURES):
        return DictFeatures()
    if isinstance(x, (list, tuple)):
        token = x[0]
        if isinstance(token, str):
            return DictFeatures() if one_row else TokenFeatures()
        value = token[0] if isinstance(token, (list, tuple)) and token else token
        if _is_number(value) or hasattr(token, "shape"):
            return ArrayFeatures()
        if isinstance(token, (list, tuple, *_FEATURES)):
            return DictFeatures()
        kind = f"{kind} that starts with a {type(token).__name__}"
    raise InputError(
        f"X[{i}] is a {kind}: cannot tell which features are meant. Give {need} per input, or pass "
        "view=TokenFeatures(), TextFeatures(), DictFeatures() or ArrayFeatures()"
    )


def names_only(window: int) -> TokenFeatures:
    """Tokens by name, whatever they look like. No bias: what is the same for all spans is a weight of its own."""
    return TokenFeatures(
        window, lower=False, affixes=None, shape=False, clues=False, case_positions=0, position=False, bias=False
    )


def _is_empty(x: Any) -> bool:
    if hasattr(x, "shape"):
        return x.shape[:1] == (0,)
    return hasattr(x, "__len__") and len(x) == 0


def _is_number(value: Any) -> bool:
    return bool(np.isscalar(value)) and not isinstance(value, (str, bytes))
