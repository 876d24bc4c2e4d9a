"""JSON lines: one object per line. Rows of a table (`named_rows`), or sentences.

A sentence is ``{"tokens": [...], "labels": [...]}``, or ``{"text": "...", "spans": [[start, end, "PER"], ...]}`` with
the places of characters, which become IOB2 labels of the tokens that they touch. Without labels or spans, or with
``null`` for them, a sentence is unlabeled.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from accord.datasets.formats.source import Source, iter_lines, source_name
from accord.exceptions import FormatError, InputError
from accord.tokenizer import Tokenizer, Tokens, labels_of_spans

_EXPECTED = 'expected {"tokens": [...], "labels": [...]} or {"text": "...", "spans": [[start, end, label], ...]}'


def iter_json_lines(
    source: Source, encoding: str = "utf-8", expected: str = _EXPECTED
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file, each with the number of its line; blank lines are skipped."""
    for number, line in enumerate(iter_lines(source, encoding), 1):
        if not line.strip():
            continue
        if line.lstrip()[0] == "[" and number == 1:  # whether it ends on this line or not
            expected = "the file is a JSON array; put every object of it on a line of its own, as jq -c '.[]' does"
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            why = getattr(error, "msg", error)
            message = f"no JSON object on a line of its own ({why}); {expected}"
            raise FormatError(message, source_name(source), number) from None
        if not isinstance(found, dict):
            raise FormatError(f"a {type(found).__name__}; {expected}", source_name(source), number)
        yield number, found


def iter_json_sentences(
    source: Source, encoding: str = "utf-8", tokenizer: Tokenizer = None
) -> Iterator[tuple[list[str], Any]]:
    """Tokens and labels (None: unlabeled) of every sentence."""
    for number, found in iter_json_lines(source, encoding):
        try:
            yield _sentence(found, tokenizer)
        except InputError as error:
            raise FormatError(str(error), source_name(source), number) from None


def holds_sentences(source: Source, encoding: str = "utf-8", n_lines: int = 100) -> bool:
    """Whether the first lines of a file look like sentences with labels, rather than rows of a table."""
    expected = f'expected {{"text": "...", "label": "..."}}, a row of a table; or, of a sentence, {_EXPECTED[9:]}'
    first = islice(iter_json_lines(source, encoding, expected), n_lines)
    return any(found.keys() & {"tokens", "spans"} or isinstance(found.get("labels"), list) for _, found in first)


def _sentence(found: dict[str, Any], tokenizer: Tokenizer) -> tuple[list[str], Any]:
    labels, spans = found.get("labels"), found.get("spans")
    if isinstance(found.get("text"), str) and "tokens" not in found:
        tokens = Tokens(found["text"], tokenizer)
        if spans is not None:
            return tokens, labels_of_spans([_span(span, k) for k, span in enumerate(spans)], tokens.places)
        if labels is not None and len(labels) != len(tokens):
            raise InputError(f"{len(labels)} labels but the text has {len(tokens)} tokens; give its tokens, or spans")
        return tokens, labels
    given = found.get("tokens")
    if not isinstance(given, list) or not all(isinstance(token, str) for token in given):
        raise InputError(f"no text and no list of tokens; {_EXPECTED}")
    if labels is not None and (not isinstance(labels, list) or len(labels) != len(given)):
        raise InputError(f"labels is no list of {len(given)}, one for each token")
    return given, labels


def _span(span: Any, number: int) -> tuple[int, int, str]:
    if isinstance(span, dict):
        span = [span.get(name) for name in ("start", "end", "label")]
    if not isinstance(span, list) or len(span) != 3 or not all(isinstance(v, int) for v in span[:2]):
        raise InputError(f"spans[{number}] is {span!r}; expected [start, end, label]")
    return span[0], span[1], str(span[2])
