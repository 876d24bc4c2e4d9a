"""What a tagger says that has learned from lists of names alone, as features beside labels.

Lists miss most names, and 20 labeled sentences have few. But what is entries of lists in much text teaches a CRF what
names look like and where they end, also those that no list has. Its scores of all labels are features for a learner
that has labels, which teach what they are worth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from accord import CRF
from accord.experiments.sentences import chain_of
from accord.packed.rows import Rows
from accord.views.base import View
from accord.views.inputs import flatten_tokens
from accord.views.label_scores import LabelScores
from accord.views.phrases import PhraseIndex

# Chosen on the development part of BC2GM: C for so many sentences, and the standard deviation of the features.
C, SENTENCES, SPREAD = 0.3, 2000, 4.0


class ListScores(View):
    """Scores of labels by a CRF that learns what is in lists, kind by kind, and what is in none.

    Parameters
    ----------
    kinds : dict from kinds of spans to words and phrases
    common : words that are not names by themselves, in small letters, besides those that text mostly writes so
    view : View, of which the CRF learns
    """

    def __init__(self, kinds: Mapping[str, Sequence[str]], common: Collection[str], view: View) -> None:
        self.kinds, self.common, self.view = kinds, common, view

    def fit_rows(self, X: Any) -> Rows:
        """Learn from the entries in these sentences and return their rows."""
        Y = listed(X, self.kinds, set(self.common) | mostly_small(X))
        structure = chain_of(Y, constraints="iob2", normalize=True)
        crf = CRF(structure, self.view, C=C * SENTENCES / len(X), tol=1e-3, max_iter=60).fit(X, Y)
        plain = LabelScores(scale=1.0).learn(crf.view_, crf.weights_.unary)
        rows = plain.transform(X)
        factor = SPREAD / float(rows.matrix().toarray().std())
        self.scores_ = LabelScores(scale=factor).learn(plain.view_, plain.weights_)
        self.n_dims_ = self.scores_.n_dims_
        return replace(rows, table=rows.table * factor)

    def transform(self, X: Any) -> Rows:
        """Rows of new sentences."""
        return self.scores_.transform(X)


def mostly_small(X: Any) -> set[str]:
    """Words that this text mostly writes in small letters."""
    n = Counter(flatten_tokens(X)[0])
    capital: Counter[str] = Counter()
    for token, count in n.items():
        if token != token.lower():
            capital[token.lower()] += count
    return {word for word, count in n.items() if count > capital[word]}


def listed(X: Sequence[Sequence[str]], kinds: Mapping[str, Sequence[str]], common: Collection[str]) -> list[list[str]]:
    """Labels of all sentences: entries are spans of their kinds, the longest first, and all else is outside.

    A word of an entry may be written with other capital letters than there, but not without any. One token is not an
    entry if it is a common word, has one character or no letter.
    """
    indices = {kind: PhraseIndex.of_both(entry for entry in kinds[kind] if len(entry) > 1) for kind in kinds}

    def entries(tokens: Sequence[str], kind: str) -> Iterator[tuple[int, int]]:
        return _entries(tokens, *indices[kind], common)

    out = []
    for tokens in X:
        found = [(start - end, start, end, kind) for kind in kinds for start, end in entries(tokens, kind)]
        y = ["O"] * len(tokens)
        for _, start, end, kind in sorted(found, key=lambda entry: entry[0]):  # of equal ones, the first kind
            if all(label == "O" for label in y[start:end]):
                y[start:end] = [f"B-{kind}", *[f"I-{kind}"] * (end - start - 1)]
        out.append(y)
    return out


def _entries(
    tokens: Sequence[str], exact: PhraseIndex, folded: PhraseIndex, common: Collection[str]
) -> Iterator[tuple[int, int]]:
    small = [token.lower() for token in tokens]

    def is_entry(start: int, end: int) -> bool:
        if end == start + 1:
            word = tokens[start]
            if small[start] in common or len(word) < 2 or not any(map(str.isalpha, word)):
                return False
        return tokens[start:end] != small[start:end] or exact.has(tokens[start:end])

    return folded.find(small, is_entry)
