"""Phrases of a list, found in sentences: from left to right, the longest first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from os import PathLike

from accord.datasets.formats.source import iter_lines, source_name
from accord.exceptions import FormatError
from accord.tokenizer import tokenize

_MARKS = re.compile(r"\w+|[^\w\s]")  # every mark is a token
_PLAIN = re.compile("[A-Za-z\u00c0-\u024f]+(?: [A-Za-z\u00c0-\u024f]+)*")  # both ways to cut are the same


class PhraseIndex:
    """Phrases by their tokens: a token costs as many look-ups as the longest phrase that begins with it has tokens."""

    def __init__(self, phrases: Iterable[tuple[str, ...]]) -> None:
        self.known: set[str | tuple[str, ...]] = set()  # a phrase of one token is that token
        self.longest: dict[str, int] = {}  # tokens of the longest phrase that begins with a token
        for tokens in phrases:
            self.known.add(_key(tokens))
            if len(tokens) > self.longest.get(tokens[0], 0):
                self.longest[tokens[0]] = len(tokens)

    @classmethod
    def of_both(cls, phrases: Iterable[str]) -> tuple[PhraseIndex, PhraseIndex]:
        """Phrases as they are written, and in small letters."""
        tokens = [cut for phrase in phrases for cut in cuts(phrase)]
        return cls(tokens), cls(tuple(map(str.lower, cut)) for cut in tokens)

    def has(self, tokens: Sequence[str]) -> bool:
        """Whether these tokens are a phrase."""
        return _key(tokens) in self.known

    def find(
        self, tokens: Sequence[str], allowed: Callable[[int, int], bool] = lambda start, end: True
    ) -> Iterator[tuple[int, int]]:
        """Where phrases begin and end (exclusive), of those places that are allowed; they do not overlap."""
        start = 0
        while start < len(tokens):
            end = min(start + self.longest.get(tokens[start], 0), len(tokens))
            while end > start and not (self.has(tokens[start:end]) and allowed(start, end)):
                end -= 1
            if end > start:
                yield start, end
            start = max(end, start + 1)


def cuts(phrase: str) -> set[tuple[str, ...]]:
    """The tokens of a phrase, cut at blanks, as texts are cut, and at all marks: in one of these ways sentences are."""
    blanks = tuple(phrase.split())
    if _PLAIN.fullmatch(phrase):
        return {blanks}
    return {cut for cut in (blanks, tuple(tokenize(phrase)), tuple(_MARKS.findall(phrase))) if cut}


def read_phrases(path: str | PathLike[str]) -> list[str]:
    """The lines of a file that are not empty."""
    phrases = [line for line in map(str.strip, iter_lines(path)) if line]
    if not phrases:
        raise FormatError("the file has no words; expected a word or a phrase on every line", source_name(path))
    return phrases


def _key(tokens: Sequence[str]) -> str | tuple[str, ...]:
    return tokens[0] if len(tokens) == 1 else tuple(tokens)
