"""Which tags a word may have: those seen with it; if it is rare or unknown, those of words that look alike."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from accord.forms import FLAG, TEXT, array, items
from accord.packed.tables import runs

ANY = "\t"  # the signature of all words


def signatures(word: str) -> list[str]:
    """What a word looks like, from the closest description to the coarsest.

    They start with a tab, which no word does.

    >>> [s.strip() for s in signatures("Unhappily")]
    ['Aa-ily', 'Aa-ly', 'Aa', '']
    """
    if any(c.isdigit() for c in word):
        shape = "0"
    elif not any(c.isalpha() for c in word):
        shape = "."
    elif word[0].isupper():
        shape = "AA" if len(word) > 1 and word.isupper() else "Aa"
    else:
        shape = "a"
    if "-" in word or "_" in word:
        shape += "_"
    lower = word.lower()
    close = [f"\t{shape}-{lower[-n:]}" for n in (3, 2) if len(lower) > n + 1]
    return [*close, f"\t{shape}", ANY]


@dataclass
class Lexicon:
    """Terminals (words, signatures or tags) and the tags of each with their counts, packed by terminal."""

    terminals: list[str]
    ptr: np.ndarray  # (n_terminals + 1,) int64
    tag: np.ndarray  # int32
    count: np.ndarray
    by_look: bool  # unknown words have the tags of words that look alike

    stored: ClassVar = {
        "terminals": items(TEXT, "n_terminals", distinct=True),
        "ptr": array("i8", "n_terminals+1", pointers="n_entries"),
        "tag": array("i4", "n_entries", least=0, below="n_tags"),
        "count": array("f8", "n_entries", least=0),
        "by_look": FLAG,
    }
    agrees: ClassVar = {"every terminal has a tag": lambda self: bool(np.all(np.diff(self.ptr) > 0))}
    derived: ClassVar = ("is_look", "shares")

    def _derive(self) -> None:
        for name in self.derived:  # made when they are needed
            self.__dict__.pop(name, None)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {t: i for i, t in enumerate(self.terminals)}

    @classmethod
    def of_tags(cls, tags: list[str]) -> Lexicon:
        """Tokens are tags: each has itself."""
        n = len(tags)
        return cls(list(tags), np.arange(n + 1), np.arange(n, dtype=np.int32), np.ones(n), False)

    @classmethod
    def of_words(cls, tagged: Iterable[tuple[str, int]], rare: int) -> Lexicon:
        """From words with tag numbers; words seen at most ``rare`` times also count for what they look like, and may
        have any tag of their kind."""
        words: dict[str, Counter[int]] = defaultdict(Counter)
        for word, tag in tagged:
            words[word][tag] += 1
        looks: dict[str, Counter[int]] = defaultdict(Counter)
        for word, tags in words.items():
            if sum(tags.values()) <= rare:
                for look in signatures(word):
                    looks[look].update(tags)
        if ANY not in looks:  # no rare words: then unknown words may be anything
            for tags in words.values():
                looks[ANY].update(tags)
        known = {word: tags for word, tags in words.items() if sum(tags.values()) > rare}
        entries = {**known, **looks}
        names = sorted(entries)
        rows = [sorted(entries[name].items()) for name in names]
        return cls(
            names,
            np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64),
            np.array([tag for row in rows for tag, _ in row], np.int32),
            np.array([float(count) for row in rows for _, count in row]),
            True,
        )

    def numbers(self, tokens: Iterable[str]) -> np.ndarray:
        """The terminal of each token; -1 for one that has no tags at all."""
        tokens = list(tokens)
        found = [self._numbers.get(token, -1) for token in tokens]
        if self.by_look and -1 in found:
            found = [n if n >= 0 else self._by_look(token) for n, token in zip(found, tokens)]
        return np.array(found, np.int64)

    def _by_look(self, word: str) -> int:
        return next(iter(self.looks(word)), -1)

    def looks(self, word: str) -> list[int]:
        """The terminals of all that is known of what a word looks like, from the closest to the coarsest."""
        return [self._numbers[look] for look in signatures(word) if look in self._numbers]

    @cached_property
    def is_look(self) -> np.ndarray:
        """Which terminals are signatures (n_terminals,)."""
        return np.array([self.by_look and name.startswith(ANY) for name in self.terminals], np.bool_)

    @cached_property
    def shares(self) -> np.ndarray:
        """How pseudo-counts are shared out among the tags of a terminal, 1 on average (n_entries,).

        The same for all tags of a word; those of a signature as often as rare words have them. Else a look that was
        never seen would favour the tags that are seldom.
        """
        lengths = np.diff(self.ptr)
        means = np.add.reduceat(self.count, self.ptr[:-1]) / lengths if lengths.size else lengths
        return np.where(np.repeat(self.is_look, lengths), self.count / np.repeat(means, lengths), 1.0)

    def entries(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which entries (tags with counts) the terminals of tokens have: places among the tokens, and the entries."""
        known = np.flatnonzero(numbers >= 0)
        first, last = self.ptr[numbers[known]], self.ptr[numbers[known] + 1]
        return np.repeat(known, last - first), runs(first, last - first)
