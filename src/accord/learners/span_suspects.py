"""Kinds of spans that are probably wrong, given where spans begin and end.

A model of the spans of other folds says how probable a kind is. It sees two things. What a span looks like: its words
have features, and vectors from all sentences, of which only the directions in which spans differ most are looked at,
because what a single span has says nothing about others, and can be learned by heart. And what other spans are called:
those of the same name, with the same words, after or before the same words, next to others of some kind, each but for
the span itself. A second round learns without the most suspicious spans of the first.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.utils.extmath import randomized_svd

from accord.datasets.label_spans import extract_spans
from accord.learners import inputs
from accord.learners.safety import labeled_folds
from accord.learners.tag_schemes import natural_structure
from accord.learners.tagger import are_words, word_vectors
from accord.solvers import soft_classes

C = 0.03  # of the model of spans
DIRECTIONS = 600  # of features of spans, which leave out what only a few of them have
LEFT_OUT = 0.05  # of the spans in the second round
BETWEEN = 2  # words between neighbouring spans that are looked at


class Span(NamedTuple):
    """A labeled span: the number of its example, its kind, and its tokens."""

    example: int
    kind: str
    start: int
    end: int


class Doubted(NamedTuple):
    """A span, the kind that is the most probable other one, and how probable that is beside the given one."""

    span: Span
    suggested: str
    probability: float


def spans_of(outputs: Sequence[Any], labeled: np.ndarray) -> list[Span]:
    """The labeled spans of examples."""
    return [Span(int(i), *span) for i in labeled for span in extract_spans(list(outputs[i]))]


def doubted(
    learner: Any, X: Any, n_examples: int, spans: Sequence[Span], n_splits: int, rng: np.random.Generator
) -> list[Doubted]:
    """What is to be said of each span."""
    kinds = sorted({span.kind for span in spans})
    given = np.array([kinds.index(span.kind) for span in spans])
    structure = inputs.new_structure(learner.structure or natural_structure([]), learner)
    seen = structure.view_inputs([x for _, chunk in inputs.chunks(X, max(1, n_examples)) for x in chunk])
    looks = _looks(inputs.new_view(getattr(learner, "view", None), structure, seen), seen, spans)
    clues = [_occurrences(ids) for ids in _clues(seen, spans)]
    weights = np.ones(len(spans))
    for _ in range(2):
        rows = np.hstack([looks, *(_called(clue, given, weights, len(kinds)) for clue in clues)])
        probable = _crossed(rows, given, weights, len(kinds), labeled_folds(len(spans), given, rng, n_splits))
        right = probable[np.arange(len(spans)), given]
        others = np.where(np.eye(len(kinds), dtype=bool)[given], -1.0, probable)
        best, odds = others.argmax(axis=1), others.max(axis=1) / np.maximum(others.max(axis=1) + right, 1e-300)
        weights = np.where(odds > max(np.quantile(odds, 1.0 - LEFT_OUT), 0.5), 0.0, 1.0)
    return [Doubted(span, kinds[k], float(p)) for span, k, p in zip(spans, best, odds)]


def _crossed(
    rows: np.ndarray, given: np.ndarray, weights: np.ndarray, n_kinds: int, folds: Sequence[np.ndarray]
) -> np.ndarray:
    """Probabilities (n_spans, n_kinds) of kinds, of each span by a model of the spans of other folds."""
    out = np.empty((given.size, n_kinds))
    for held_out in folds:
        used = np.setdiff1d(np.arange(given.size), held_out)
        found = soft_classes.regression(rows[used], np.eye(n_kinds)[given[used]], C, weights[used])
        out[held_out] = softmax(rows[held_out] @ found, axis=1)
    return out


# -- what spans look like ---------------------------------------------------------------------------------------------
def _looks(view: Any, seen: Sequence[Any], spans: Sequence[Span]) -> np.ndarray:
    """Features of spans: the mean of their tokens', those of the first and the last one, the words themselves, and the
    mean of their vectors; in few directions."""
    rows = view.fit_rows(seen)
    first = np.array([rows.offsets[span.example] + span.start for span in spans])
    length = np.array([span.end - span.start for span in spans])
    tokens = np.repeat(first, length) + np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
    mean = sp.csr_array(
        (np.repeat(1.0 / length, length), tokens, np.append(0, np.cumsum(length))), shape=(len(spans), rows.n_rows)
    )
    matrix = sp.csr_array(rows.matrix())
    parts = [mean @ matrix, matrix[first], matrix[first + length - 1]]
    parts.append(2.0 * _occurrences([[_name(seen, span)] for span in spans]))
    if are_words(seen):
        parts += [mean @ sp.csr_array(vectors.fit_rows(seen).matrix()) for vectors in word_vectors()]
    return _directions(sp.csr_array(sp.hstack(parts)))


def _directions(rows: sp.csr_array) -> np.ndarray:
    shared = np.flatnonzero(np.bincount(rows.indices, minlength=rows.shape[1]) > 1)
    rows = sp.csr_array(sp.csc_array(rows)[:, shared])
    left, sizes, _ = randomized_svd(rows, min(DIRECTIONS, *rows.shape), n_iter=3, random_state=0)
    return np.asarray(left * sizes)


def _name(seen: Sequence[Any], span: Span) -> str:
    return repr(seen[span.example][span.start : span.end])


# -- what others are called -------------------------------------------------------------------------------------------
def _clues(seen: Sequence[Any], spans: Sequence[Span]) -> list[list[list[Hashable]]]:
    """Of every kind of clue, and of each span, what it has in common with others."""
    names: list[list[Hashable]] = [[_name(seen, span)] for span in spans]
    found = [names, *_neighbours(seen, spans)]
    if not are_words(seen):
        return found
    found.append([list(seen[span.example][span.start : span.end]) for span in spans])
    for n in (1, 2):
        padded = [["", ""] + [token.lower() for token in seen[span.example]] + ["", ""] for span in spans]
        found.append([[tuple(x[span.start + 2 - n : span.start + 2])] for x, span in zip(padded, spans)])
        found.append([[tuple(x[span.end + 2 : span.end + 2 + n])] for x, span in zip(padded, spans)])
    return found


def _neighbours(seen: Sequence[Any], spans: Sequence[Span]) -> list[list[list[Hashable]]]:
    """Kinds of the spans before and after a span, with what is between, and those of all others in its example."""
    before: list[list[Hashable]] = [[] for _ in spans]
    after: list[list[Hashable]] = [[] for _ in spans]
    beside: list[list[Hashable]] = [[] for _ in spans]
    numbers: dict[int, list[int]] = {}
    for k, span in enumerate(spans):
        numbers.setdefault(span.example, []).append(k)
    for together in numbers.values():
        for k, m in pairwise(together):
            between = seen[spans[k].example][spans[k].end : spans[m].start]
            gap = repr(between) if len(between) <= BETWEEN else ""
            before[m].append((spans[k].kind, gap))
            after[k].append((spans[m].kind, gap))
        for k in together:
            beside[k] += [spans[m].kind for m in together if m != k]
    return [before, after, beside]


def _occurrences(ids: Sequence[Sequence[Hashable]]) -> sp.csr_array:
    """How often a span has what; a column for each."""
    number: dict[Hashable, int] = {}
    columns = [number.setdefault(one, len(number)) for of_span in ids for one in of_span]
    rows = np.repeat(np.arange(len(ids)), [len(of_span) for of_span in ids])
    shape = len(ids), max(1, len(number))
    return sp.csr_array(sp.coo_array((np.ones(len(columns)), (rows, columns)), shape=shape))


def _called(clue: sp.csr_array, given: np.ndarray, weights: np.ndarray, n_kinds: int) -> np.ndarray:
    """Log odds (n_spans, n_kinds) of kinds among the other spans that have the same, against those of all spans."""
    labels = weights[:, None] * np.eye(n_kinds)[given]
    usual = (labels.sum(axis=0) + 1.0) / (labels.sum() + n_kinds)
    span, times = np.repeat(np.arange(given.size), np.diff(clue.indptr)), clue.data
    counts = (clue.T @ labels)[clue.indices] - times[:, None] * labels[span]
    odds = np.log((counts / usual + 1.0) / (counts.sum(axis=1, keepdims=True) + 1.0))
    mean = sp.csr_array((times, np.arange(span.size), clue.indptr), shape=(given.size, span.size))
    return np.asarray(mean @ odds) / np.maximum(clue.sum(axis=1), 1.0)[:, None]
