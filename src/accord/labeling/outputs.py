"""Questions about structured outputs: whole examples, uncertain spans of sentences, brackets of trees.

Probabilities are those of the structure, given the model's scores. Learners that have scores and no probabilities
(perceptrons, support vector machines) are asked as if their scores were logarithms of odds; the order of questions
hardly depends on the scale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, islice, pairwise
from typing import Any

import numpy as np

from accord.labeling import diversity
from accord.labeling.questions import Part, Questions, binary_entropy, relative_entropy, unsure
from accord.learners import inputs
from accord.learners.multiview import MultiViewLearner
from accord.packed.rows import Rows
from accord.packed.tables import sums_by_input

MORE = 200  # spans that are looked for beyond those that are wanted, as many of which may be nearly alike
KEPT = 1000  # inputs of a pool whose probabilities are kept for the reasons, if there are no more
# Neighbours of the most uncertain token join its span if their entropy is this share of its own. Chosen on the
# development part of the genes, see docs/labeling.md.
LEAST = 0.8


class Outputs(Questions):
    """Whole outputs of the learners of structures."""

    sketched = True

    @property
    def offers(self) -> frozenset[str]:  # type: ignore[override]
        can = self.structure.capabilities
        found = {"alternatives", "features"}
        if "likelihood" in can:
            found |= {"probabilities"} | ({"gradients"} if "classes" in can else set())
        if self._n_views > 1:
            found.add("views")
        return frozenset(found)

    @property
    def preferred(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("balance",) if self.structure.single_row else ("entropy", "margin")

    @property
    def who(self) -> str:
        return f"a {type(self.model).__name__} of {type(self.structure).__name__}"

    @property
    def structure(self) -> Any:
        return self.model.structure_

    @property
    def _n_views(self) -> int:
        return self.model.n_views_ if isinstance(self.model, MultiViewLearner) else 1

    def scores(self, strategy: str) -> np.ndarray:
        return self.kept(strategy, getattr(self, strategy))

    def kept(self, name: str, make: Callable[[], Any]) -> Any:
        """What the model says of the pool, kept until it is fitted again, as products with its weights are."""
        return self.pool.keep(name, self.model._keep_products(), make)

    # -- what strategies ask ------------------------------------------------------------------------------------------
    def entropy(self) -> np.ndarray:
        """Mean entropy of the tokens of each input, of trees that of constituents, per token."""
        found = np.concatenate([np.zeros(0), *(_mean_entropy(self.structure, *one) for one in self._marginals())])
        # what the grammar cannot parse teaches most
        return np.where(np.isnan(found), 1.0 + np.nanmax(found, initial=0.0), found)

    def margin(self) -> np.ndarray:
        """How probable the second-best output is, compared with the best."""
        found = [np.zeros(0)]
        for rows in self.rows():
            unary = self.model._label_scores(rows)
            found.append(self.structure.margins_of(rows, unary, self.model.weights_.transitions))
        margins = np.concatenate(found)
        return np.where(margins == -np.inf, 1.0, np.exp(-np.maximum(margins, 0.0)))  # without any output: ask

    def disagreement(self) -> np.ndarray:
        """Share of the parts of each output that two views have different, a mean over pairs of views."""
        found = [np.zeros(0)]
        for first, rows in zip(self._firsts, self.rows()):
            views = [self.model._decode_view(rows, weights, first) for weights in self.model.view_weights_]
            pairs = [_differences(self.structure, a, b, rows.offsets) for a, b in combinations(views, 2)]
            found.append(np.mean(pairs, axis=0))
        return np.concatenate(found)

    def change(self) -> np.ndarray:
        """Expected length of the gradient of the log-likelihood of an answer: |x| E |nodes of y - E nodes|."""
        nodes = self.structure.label_scores(np.eye(self.structure.n_nodes_)).T  # (n_labels, n_nodes)
        found = [np.zeros(0)]
        for rows, marginals in self._marginals():
            p = np.concatenate(marginals)
            mean = p @ nodes
            steps = np.stack([np.linalg.norm(node - mean, axis=1) for node in nodes], axis=1)
            lengths = np.sqrt(np.asarray(rows.matrix().power(2).sum(axis=1)).ravel())
            found.append(lengths * (p * steps).sum(axis=1))
        return np.concatenate(found)

    def open(self, known: set[int], parts: Sequence[tuple[int, Part]], n: int) -> np.ndarray:
        lengths = np.concatenate([np.zeros(0), *(np.diff(rows.offsets) for rows in self.rows())])
        return super().open(known, parts, n) & (lengths > 0)

    # -- what is made of the pool, and kept ---------------------------------------------------------------------------
    def rows(self) -> list[Rows]:
        """The pool's features, in chunks."""

        def make() -> list[Rows]:
            return [self.model._rows(chunk) for _, chunk in inputs.chunks(self.pool.X, self.model._chunk())]

        found = self.pool.keep("rows", self.model.view_, make)
        if found and found[0].n_dims != self.model.weights_.unary.shape[0]:  # the view has seen more since then
            self.pool.forget("rows")
            found = self.pool.keep("rows", self.model.view_, make)
        return found

    @property
    def _firsts(self) -> list[int]:
        return np.cumsum([0] + [rows.n_inputs for rows in self.rows()])[:-1].tolist()

    def _marginals(self) -> Iterator[tuple[Rows, list[Any]]]:
        found = ((rows, self._marginals_of(rows, first)) for first, rows in zip(self._firsts, self.rows()))
        yield from self.kept("marginals", lambda: list(found)) if self.pool.n <= KEPT else found

    def _marginals_of_one(self, number: int) -> Any:
        if self.pool.n > KEPT:
            return self._marginals_of(self.one(number), number)[0]
        return next(islice((one for _, some in self._marginals() for one in some), number, None))

    def _marginals_of(self, rows: Rows, first: int = 0) -> list[Any]:
        scores = self.model._label_scores(rows)
        return self.structure.marginals_of(rows, scores, self.model.weights_.transitions, first)

    def one(self, number: int) -> Rows:
        """The rows of one input."""
        for first, rows in zip(self._firsts, self.rows()):
            if number < first + rows.n_inputs:
                return rows.take(np.array([number - first]))
        raise IndexError(number)

    def sketch(self) -> np.ndarray:
        return self.pool.keep("sketch", None, lambda: diversity.sketch(self.rows()))

    def words(self, number: int) -> list[str]:
        """The tokens of an input, as they are shown."""
        seen = self.structure.view_inputs(inputs.take(self.pool.X, [number]))
        return [str(token) for token in seen[0]]

    # -- why ----------------------------------------------------------------------------------------------------------
    def reason(self, strategy: str, number: int) -> str:
        if strategy == "disagreement":
            share = float(self.scores_of(number))
            if self.structure.single_row:
                return self._said_by_views(number)
            return f"views disagree about {100 * share:.0f} % of it"
        if "likelihood" not in self.structure.capabilities:
            return "its second-best output is nearly as good as the best"
        marginals = self._marginals_of_one(number)
        if isinstance(marginals, dict):
            return _about_trees(marginals, self.words(number))
        if self.structure.single_row:
            return unsure(marginals[0], self.structure.labels_)
        t = int(np.argmax(relative_entropy(marginals)))
        return unsure(marginals[t], self.structure.labels_, repr(self.words(number)[t]))

    def scores_of(self, number: int) -> float:
        """Disagreement about one input."""
        rows = self.one(number)
        views = [self.model._decode_view(rows, weights, number) for weights in self.model.view_weights_]
        return float(np.mean([_differences(self.structure, a, b, rows.offsets) for a, b in combinations(views, 2)]))

    def _said_by_views(self, number: int) -> str:
        rows = self.one(number)
        s = self.structure
        said = [s.outputs(self.model._decode_view(rows, w, number), rows.offsets)[0] for w in self.model.view_weights_]
        counts = {label: said.count(label) for label in dict.fromkeys(said)}
        return "views say " + ", ".join(f"{label} ({n} of {len(said)})" for label, n in counts.items())


class Spans(Outputs):
    """Uncertain spans of sentences: a token that the model is unsure about, and its neighbours that it is unsure about
    as well; the score is the entropy of the token."""

    @property
    def offers(self) -> frozenset[str]:  # type: ignore[override]
        return super().offers & {"probabilities"}

    def open(self, known: set[int], parts: Sequence[tuple[int, Part]], n: int) -> np.ndarray:
        entropies = self.kept("entropies", self._entropies).copy()
        lengths = [np.diff(rows.offsets) for rows in self.rows()]
        offsets = np.concatenate([[0], np.cumsum(np.concatenate([np.zeros(0, np.int64), *lengths]))]).astype(np.int64)
        for i in known:
            entropies[offsets[i] : offsets[i + 1]] = 0.0
        for i, (start, end) in parts:
            entropies[offsets[i] + start : offsets[i] + end] = 0.0
        self._spans = uncertain_spans(entropies, offsets, 4 * n + MORE)
        return np.ones(len(self._spans), np.bool_)

    def _entropies(self) -> np.ndarray:
        found = [relative_entropy(np.concatenate(marginals)) for _, marginals in self._marginals() if marginals]
        return np.concatenate([np.zeros(0), *found])

    def scores(self, strategy: str) -> np.ndarray:
        return np.array([entropy for *_, entropy in self._spans])

    def __len__(self) -> int:
        return len(self._spans)

    def about(self, number: int) -> tuple[int, Part]:
        i, start, end, _ = self._spans[number]
        return i, (start, end)

    def sketch(self) -> np.ndarray:
        return super().sketch()[[i for i, *_ in self._spans]]

    def subjects(self, number: int) -> set[str]:
        """Its words: an answer about a word says much about the others like it."""
        i, (start, end) = self.about(number)
        return {word.lower() for word in self.words(i)[start:end]}

    def reason(self, strategy: str, number: int) -> str:
        i, (start, end) = self.about(number)
        marginals = self._marginals_of_one(i)
        t = start + int(np.argmax(relative_entropy(marginals[start:end])))
        return unsure(marginals[t], self.structure.labels_, repr(self.words(i)[t]))


def uncertain_spans(entropies: np.ndarray, offsets: np.ndarray, limit: int) -> list[tuple[int, int, int, float]]:
    """The ``limit`` most uncertain spans (input, start, end, entropy), without tokens of entropy 0, none overlapping.

    From the most uncertain token that is in no span yet, a span goes on to both sides over tokens that are in none, as
    long as their entropy is at least ``LEAST`` of its own.
    """
    found: list[tuple[int, int, int, float]] = []
    free = entropies > 0.0
    for peak in _descending(entropies, 20 * limit):
        if len(found) == limit or entropies[peak] <= 0.0:
            break
        if not free[peak]:
            continue
        i = int(np.searchsorted(offsets, peak, side="right")) - 1
        start, end = peak, peak + 1
        while start > offsets[i] and free[start - 1] and entropies[start - 1] >= LEAST * entropies[peak]:
            start -= 1
        while end < offsets[i + 1] and free[end] and entropies[end] >= LEAST * entropies[peak]:
            end += 1
        free[start:end] = False
        first = int(offsets[i])
        found.append((i, int(start) - first, int(end) - first, float(entropies[peak])))
    return found


def _descending(values: np.ndarray, n: int) -> Iterator[int]:
    """Places of values from the largest down, of equals the first; all are sorted only if more than ``n`` are asked."""
    if values.size > n:
        least = np.partition(values, -n)[-n]
        largest = np.flatnonzero(values > least)
        yield from largest[np.argsort(-values[largest], kind="stable")].tolist()
        values = np.where(values > least, -np.inf, values)
    rest = np.argsort(-values, kind="stable")
    yield from rest[values[rest] > -np.inf].tolist()


class Brackets(Outputs):
    """Single constituents of trees, (label, start, end): those that are in a tree with probability one half."""

    @property
    def offers(self) -> frozenset[str]:  # type: ignore[override]
        return super().offers & {"probabilities"}

    def open(self, known: set[int], parts: Sequence[tuple[int, Part]], n: int) -> np.ndarray:
        asked = {(i, tuple(part)) for i, part in parts if part is not None}
        found = self.kept("brackets", lambda: [one for _, some in self._marginals() for one in some])
        self._brackets = [(i, bracket) for i, one in enumerate(found) for bracket in sorted(one)]
        self._p = [found[i][bracket] for i, bracket in self._brackets]
        return np.array([i not in known and (i, b) not in asked for i, b in self._brackets], np.bool_)

    def __len__(self) -> int:
        return len(self._brackets)

    def about(self, number: int) -> tuple[int, Part]:
        return self._brackets[number]

    def scores(self, strategy: str) -> np.ndarray:
        return binary_entropy(np.array(self._p))

    def sketch(self) -> np.ndarray:
        return super().sketch()[[i for i, _ in self._brackets]]

    def reason(self, strategy: str, number: int) -> str:
        i, bracket = self._brackets[number]
        return _about_bracket(bracket, self._p[number], self.words(i))


# -- helpers --------------------------------------------------------------------------------------------
def _mean_entropy(structure: Any, rows: Rows, marginals: list[Any]) -> np.ndarray:
    lengths = np.diff(rows.offsets)
    if marginals and isinstance(marginals[0], dict):
        sums = np.array([binary_entropy(np.array([*one.values()])).sum() if one else np.nan for one in marginals])
    else:
        p = np.concatenate(marginals) if marginals else np.zeros((0, 2))
        each = relative_entropy(p) if "labels" in structure.capabilities else binary_entropy(p).sum(axis=1)
        sums = sums_by_input(each, rows.offsets)
    return sums / np.maximum(lengths, 1)


def _differences(structure: Any, a: np.ndarray, b: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """The share of the parts of each input that are different."""
    if a.ndim == 1:
        return sums_by_input((a != b).astype(np.float64), offsets) / np.maximum(np.diff(offsets), 1)
    pairs = (
        structure.count_errors(a[lo:hi], b[lo:hi], np.array([0, hi - lo])) for lo, hi in pairwise(offsets.tolist())
    )
    return np.array([wrong / max(total, 1) for wrong, total in pairs])


def _about_trees(marginals: dict[Any, float], words: list[str]) -> str:
    if not marginals:
        return "the grammar has no tree for it"
    bracket, p = max(marginals.items(), key=lambda item: (-abs(item[1] - 0.5), item[0]))
    return _about_bracket(bracket, p, words)


def _about_bracket(bracket: tuple[str, int, int], p: float, words: list[str]) -> str:
    label, start, end = bracket
    return f"is {' '.join(words[start:end])!r} {label}? ({100 * p:.0f} %)"
