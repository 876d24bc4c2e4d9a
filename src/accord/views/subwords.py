"""Networks that read sub-words: long inputs are taken apart, and vectors of sub-words become those of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from accord.exceptions import InputError
from accord.settings import whole


class Pieces(NamedTuple):
    """The sub-words of an input: their numbers, the token that each is of (None: of none, or of a text), and which are
    marks such as [CLS]."""

    ids: Sequence[int]
    words: Sequence[int | None] | None
    marks: Sequence[int]


class SubwordEncoder:
    """Base of encoders that cut text into sub-words. Subclasses say how, and what the network makes of these."""

    pad: int  # the number of what fills up shorter inputs

    def __init__(self, max_length: int, name: str | None) -> None:
        whole(8).check("max_length", max_length)
        self.max_length, self.name = max_length, name

    def __call__(self, batch: list[Any]) -> list[np.ndarray]:
        """One matrix per list of tokens, or one vector per text."""
        found = self.pieces(batch)
        if isinstance(batch[0], str):
            states = self._run([self._cut(one) for one in found])
            return [state if state.ndim == 1 else state.mean(axis=0) for state in states]
        # a list of tokens that is too long becomes several, each as long as it may be
        parts = [self._parts(tokens, one) for tokens, one in zip(batch, found)]
        flat = [part for some in parts for part in some]
        again = iter(self.pieces(flat) if len(flat) > len(batch) else found)
        pieces = [self._cut(next(again)) for _ in flat]
        matrices = iter([_of_tokens(s, one, len(part)) for s, one, part in zip(self._run(pieces), pieces, flat)])
        return [np.concatenate([next(matrices) for _ in some]) for some in parts]

    def pieces(self, batch: list[Any]) -> list[Pieces]:
        """Sub-words of texts, or of token lists."""
        raise NotImplementedError

    def states(self, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """What the network says: (n, length, width) for every sub-word, or (n, width) for every input."""
        raise NotImplementedError

    def _parts(self, tokens: list[str], found: Pieces) -> list[list[str]]:
        """The tokens in runs of so few sub-words that each has its own part of the network's attention."""
        if len(found.ids) <= self.max_length or len(tokens) < 2:
            return [tokens]
        assert found.words is not None
        sizes = np.bincount([word for word in found.words if word is not None], minlength=len(tokens))
        room = self.max_length - sum(map(bool, found.marks))
        parts: list[list[str]] = [[]]
        used = 0
        for token, size in zip(tokens, sizes.tolist()):
            if parts[-1] and used + size > room:
                parts.append([])
                used = 0
            parts[-1].append(token)
            used += size
        return parts

    def _cut(self, found: Pieces) -> Pieces:
        """At most so many sub-words; a mark at the end stays there."""
        if len(found.ids) <= self.max_length:
            return found
        last = bool(found.marks[-1])
        kept = [*range(self.max_length - last), *([len(found.ids) - 1] * last)]
        words = None if found.words is None else [found.words[k] for k in kept]
        return Pieces([found.ids[k] for k in kept], words, [found.marks[k] for k in kept])

    def _run(self, found: list[Pieces]) -> list[np.ndarray]:
        """States of the sub-words of each input, without what fills it up."""
        longest = max(1, *(len(one.ids) for one in found))
        ids = np.full((len(found), longest), self.pad, np.int64)
        mask = np.zeros((len(found), longest), np.int64)
        for row, one in enumerate(found):
            ids[row, : len(one.ids)] = one.ids
            mask[row, : len(one.ids)] = 1
        states = self.states(ids, mask)
        if states.ndim == 2 and found[0].words is None:
            return list(states)
        if states.ndim != 3:
            raise InputError(
                f"the encoder gives an array of shape {states.shape}, one vector for each input, so it can encode "
                "texts only; give strings, or a network that gives a vector for every sub-word (last_hidden_state)"
            )
        return [state[: len(one.ids)] for state, one in zip(states, found)]


def _of_tokens(states: np.ndarray, found: Pieces, n_tokens: int) -> np.ndarray:
    """The mean over the sub-words of each token; a token without any, such as a blank, has that of all."""
    assert found.words is not None
    of = np.array([-1 if word is None else word for word in found.words], np.int64)
    sums = np.zeros((n_tokens, states.shape[1]))
    np.add.at(sums, of[of >= 0], states[of >= 0])
    counts = np.bincount(of[of >= 0], minlength=n_tokens)
    sums[counts == 0] = states.mean(axis=0)
    return (sums / np.maximum(counts, 1)[:, None]).astype(np.float32)
