"""Strings as arrays: code points, their Unicode classes, and the tokens that open or close brackets and quotes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from accord.kernels.features import text, windows
from accord.views.inputs import offsets_of

# fmt: off
GREEK_NAMES = [
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu",
    "nu", "xi", "omicron", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega",
]
# fmt: on

# Pairs of marks. The second of "``" and "''" opens as well if nothing is open: many corpora use it on both sides.
_BRACKETS = (("(", ")"), ("[", "]"), ("{", "}"), ("-LRB-", "-RRB-"), ("«", "»"), ("“", "”"), ("‘", "’"))
_QUOTES = (('"', '"'), ("'", "'"), ("``", "''"))
N_PAIRS = len(_BRACKETS) + len(_QUOTES)

_classes = np.zeros(0x110000, np.uint8)  # of each code point met so far, 0 elsewhere


def pack(strings: Sequence[str]) -> text.Text:
    """The strings as one array of code points with their classes."""
    starts = offsets_of(strings)
    codes = code_points("".join(strings))
    return text.Text(codes, _classes_of(codes), starts)


def code_points(string: str) -> np.ndarray:
    return np.frombuffer(string.encode("utf-32-le", "surrogatepass"), np.uint32)


def _classes_of(codes: np.ndarray) -> np.ndarray:
    out = _classes.take(codes)  # twice as fast as by an index
    if not out.all():
        for code in np.unique(codes[out == 0]):
            _classes[code] = _class_of(chr(code))
        out = _classes.take(codes)
    return out


def _class_of(character: str) -> int:
    greek = "\u0370" <= character <= "\u03ff" or "\u1f00" <= character <= "\u1fff"
    return (
        text.KNOWN
        | text.UPPER * character.isupper()
        | text.LOWER * character.islower()
        | text.DIGIT * character.isdigit()
        | text.LETTER * character.isalpha()
        | text.SYMBOL * (not character.isalnum())
        | text.GREEK * (greek and character.isalpha())
        | text.SPACE * character.isspace()
    )


def mark_roles(*indices: Mapping[str, int], n_units: int) -> np.ndarray:
    """What each unit does to brackets and quotes (see ``kernels.features.windows``), from maps of tokens to units."""
    roles = np.zeros(n_units, np.uint8)
    for pair, (opening, closing) in enumerate(_BRACKETS + _QUOTES):
        quote = pair >= len(_BRACKETS)
        for index in indices:
            if opening in index:
                roles[index[opening]] = 4 * pair + windows.OPENS
            if closing in index:
                roles[index[closing]] = 4 * pair + (windows.TOGGLES if quote else windows.CLOSES)
    return roles
