"""How labels are written: CoNLL columns, text, JSON lines. A class or a number takes one line in each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from accord.cli.outputs.results import Prediction, Tokens
from accord.exceptions import InputError
from accord.tokenizer import Tokens as TokensOfText


def conll(tokens: Tokens, p: Prediction, labels: Sequence[str]) -> str:
    """Token, label and probabilities in columns; each of several outputs follows a line ``# rank score``."""
    if tokens is None:
        return _class_line(p, labels)
    if p.k_best is not None:
        ranked = enumerate(p.k_best, 1)
        return "".join(f"# {rank} {score:.6g}\n{_columns(tokens, ys)}" for rank, (ys, score) in ranked)
    if p.marginals is None:
        return _columns(tokens, p.y)
    return _columns(tokens, [f"{y}\t{_probabilities(m, labels)}" for y, m in zip(p.y, p.marginals)])


def text(tokens: Tokens, p: Prediction, labels: Sequence[str]) -> str:
    """``token/label`` (with its probability after a colon); each of several outputs is a line ``score<TAB>...``."""
    if tokens is None:
        return _class_line(p, labels)
    if p.k_best is not None:
        return "".join(f"{score:.6g}\t{_slashed(tokens, ys)}\n" for ys, score in p.k_best)
    if p.marginals is None:
        return _slashed(tokens, p.y) + "\n"
    column = {label: k for k, label in enumerate(labels)}
    return _slashed(tokens, [f"{y}:{m[column[str(y)]]:.4f}" for y, m in zip(p.y, p.marginals)]) + "\n"


def json_line(tokens: Tokens, p: Prediction, labels: Sequence[str]) -> str:
    """One object per input."""
    name = "label" if tokens is None else "labels"
    out: dict[str, Any] = {} if tokens is None else {"tokens": list(tokens)}
    if p.k_best is not None:
        out["k_best"] = [{name: y, "score": score} for y, score in p.k_best]
    else:
        out[name] = p.y
        if isinstance(tokens, TokensOfText):
            out |= _spans(tokens, p.y)
    if p.marginals is not None:
        named = [dict(zip(labels, row)) for row in p.marginals.round(6).reshape(-1, len(labels)).tolist()]
        out["marginals"] = named[0] if tokens is None else named
    return json.dumps(out, ensure_ascii=False) + "\n"


def _spans(tokens: TokensOfText, y: Sequence[Any]) -> dict[str, Any]:
    """The text, and the characters that each span takes; labels such as parts of speech have no spans."""
    from accord.datasets.label_spans import extract_spans

    try:
        found = extract_spans(y)
    except InputError:
        return {"text": tokens.text}
    return {"text": tokens.text, "spans": [[*tokens.span(i, j), kind] for kind, i, j in found]}


def _class_line(p: Prediction, labels: Sequence[str]) -> str:
    if p.k_best is not None:
        return "\t".join(f"{y}:{score:.6g}" for y, score in p.k_best) + "\n"
    if isinstance(p.y, list):  # several numbers
        return "\t".join(map(str, p.y)) + "\n"
    return f"{p.y}\n" if p.marginals is None else f"{p.y}\t{_probabilities(p.marginals, labels)}\n"


def _probabilities(row: Any, labels: Sequence[str]) -> str:
    return "\t".join(f"{label}:{p:.6f}" for label, p in zip(labels, row.tolist()))


def _columns(tokens: Sequence[str], labels: Sequence[Any]) -> str:
    return "".join([f"{t}\t{y}\n" for t, y in zip(tokens, labels)]) + "\n"


def _slashed(tokens: Sequence[str], labels: Sequence[Any]) -> str:
    return " ".join([f"{t}/{y}" for t, y in zip(tokens, labels)])
