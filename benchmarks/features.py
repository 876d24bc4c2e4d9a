"""The features of ``TokenFeatures(window=1)`` as a user of CRFsuite would write them: plain Python, token by token.

They carry the names that Accord gives them. ``prepare.py`` checks on the benchmark's own data that both sides make the
same features of the same tokens, so that all contestants learn from the same attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

_GREEK = """
alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu
nu xi omicron pi rho sigma tau upsilon phi chi psi omega
"""
_GREEK_NAMES = set(_GREEK.split())
_BRACKETS = [("(", ")"), ("[", "]"), ("{", "}"), ("-LRB-", "-RRB-"), ("«", "»"), ("“", "”"), ("‘", "’")]
_OPENS = {opening: opening for opening, _ in _BRACKETS} | {"``": "``"}
_CLOSES = {closing: opening for opening, closing in _BRACKETS}
_TOGGLES = {'"': '"', "'": "'", "''": "``"}


def _symbol(c: str) -> str:
    return "X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else "c" if c.isalpha() else c


def _is_greek(token: str) -> bool:
    if any(("\u0370" <= c <= "\u03ff" or "\u1f00" <= c <= "\u1fff") and c.isalpha() for c in token):
        return True
    runs = ("".join(run) for letters, run in groupby(token.lower(), str.isalpha) if letters)
    return any(run in _GREEK_NAMES for run in runs)


def own_features(token: str) -> list[str]:
    """What a token tells by itself."""
    n = len(token)
    features = [f"token={token}", f"lower={token.lower()}", f"length={n}" if n < 10 else "length=10+"]
    for size in range(1, min(4, n) + 1):
        features.append(f"prefix{size}={token[:size]}")
        features.append(f"suffix{size}={token[-size:]}")
    shape = "".join([_symbol(c) for c in token])
    features.append(f"shape={shape}")
    features.append("short-shape=" + "".join([symbol for symbol, _ in groupby(shape)]))
    for i in range(1, min(4, n)):
        if token[i].isupper():
            features.append(f"upper-at={i + 1}")
        elif token[i].islower():
            features.append(f"lower-at={i + 1}")
    has_lower = any(c.islower() for c in token)
    if token[:1].isupper():
        features.append("initial-upper")
    elif token[:1].islower():
        features.append("initial-lower")
    if not has_lower and any(c.isupper() for c in token):
        features.append("all-upper")
    if has_lower and any(c.isupper() for c in token[1:]):
        features.append("mixed-case")
    if any(c.isdigit() for c in token):
        features.append("digit")
        if token.isdigit():
            features.append("number")
        if any(token[i] == "." and token[i - 1].isdigit() and token[i + 1].isdigit() for i in range(1, n - 1)):
            features.append("digit-dot-digit")
    if any(not c.isalnum() for c in token):
        features.append("symbol")
        if not any(c.isalnum() for c in token):
            features.append("punctuation")
    if _is_greek(token):
        features.append("greek")
    return features


def _enclosed(tokens: Sequence[str]) -> list[bool]:
    """Which tokens stand between an opening mark and the closing mark that belongs to it."""
    inside = [False] * len(tokens)
    open_at: dict[str, list[int]] = {}
    for t, token in enumerate(tokens):
        if token in _OPENS:
            open_at.setdefault(_OPENS[token], []).append(t)
            continue
        pair = _CLOSES.get(token) or _TOGGLES.get(token)
        if pair is None:
            continue
        opened = open_at.setdefault(pair, [])
        if opened:
            start = opened.pop()
            inside[start + 1 : t] = [True] * (t - start - 1)
        elif token in _TOGGLES:
            opened.append(t)
    return inside


def sentence_features(tokens: Sequence[str]) -> list[list[str]]:
    """Features of every token: its own, those of its two neighbours, and its place in the sentence."""
    own = [own_features(token) for token in tokens]
    enclosed = _enclosed(tokens)
    last = len(tokens) - 1
    rows = []
    for t, features in enumerate(own):
        row = ["bias"]
        row += ["0:" + f for f in features]
        row += ["-1:" + f for f in own[t - 1]] if t > 0 else ["-1:boundary"]
        row += ["+1:" + f for f in own[t + 1]] if t < last else ["+1:boundary"]
        if t == 0:
            row.append("initial")
        if t == last:
            row.append("last")
        if enclosed[t]:
            row.append("enclosed")
        rows.append(row)
    return rows


def image_features(images: Sequence[bytes]) -> list[list[str]]:
    """Features of handwritten letters: the black pixels."""
    return [["bias", *[f"x{k}" for k, pixel in enumerate(image) if pixel]] for image in images]
