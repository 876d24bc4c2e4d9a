"""Questions about structured outputs: whole examples, uncertain spans of sentences, brackets of trees.

Probabilities are those of the structure, given the model's scores. Learners that have scores and no probabilities
(perceptrons, support vector machines) are asked as if their scores were logarithms of odds; the order of questions
hardly depends on the scale.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from accord.labeling import diversity
from accord.labeling.questions import Part, Questions, binary_entropy, relative_entropy, unsure
from accord.learners import inputs
from accord.learners.multiview import MultiViewLearner
from accord.packed.rows import Rows
from accord.packed.tables import sums_by_input

LEAST = 0.5  # neighbours of the most uncertain token join its span if their entropy is this share of its own


class Outputs(Questions):
    """Whole outputs of the learners of structures."""

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
    def who(self) -> str:
        return f"a {type(self.model).__name__} of {type(self.structure).__name__}"

    @property
    def structure(self) -> Any:
        return self.model.structure_

    @property
    def _n_views(self) -> int:
        return self.model.n_views_ if isinstance(self.model, MultiViewLearner) else 1

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

    def open(self, known: set[int], parts: Sequence[tuple[int, Part]]) -> np.ndarray:
        lengths = np.concatenate([np.zeros(0), *(np.diff(rows.offsets) for rows in self.rows())])
        return super().open(known, parts) & (lengths > 0)

    # -- what is made of the pool, and kept ---------------------------------------------------------------------------
    def rows(self) -> list[Rows]:
        """The pool's features, in chunks."""

        def make() -> list[Rows]:
            return [self.model._rows(chunk) for _, chunk in inputs.chunks(self.pool.X, self.model._chunk())]

        return self.pool.keep("rows", self.model.view_, make)

    @property
    def _firsts(self) -> list[int]:
        return np.cumsum([0] + [rows.n_inputs for rows in self.rows()])[:-1].tolist()

    def _marginals(self) -> Iterator[tuple[Rows, list[Any]]]:
        for first, rows in zip(self._firsts, self.rows()):
            yield rows, self._marginals_of(rows, first)

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
        marginals = self._marginals_of(self.one(number), number)[0]
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
    as well (at least half of its entropy); the score is the mean entropy of the tokens."""

    @property
    def offers(self) -> frozenset[str]:  # type: ignore[override]
        return super().offers & {"probabilities"}

    @cached_property
    def _entropies(self) -> np.ndarray:
        found = [relative_entropy(np.concatenate(marginals)) for _, marginals in self._marginals() if marginals]
        return np.concatenate([np.zeros(0), *found])

    @cached_property
    def _offsets(self) -> np.ndarray:
        lengths = [np.diff(rows.offsets) for rows in self.rows()]
        return np.concatenate([[0], np.cumsum(np.concatenate([np.zeros(0, np.int64), *lengths]))]).astype(np.int64)

    def open(self, known: set[int], parts: Sequence[tuple[int, Part]]) -> np.ndarray:
        asked = np.zeros(self._entropies.size, np.bool_)
        for i in known:
            asked[self._offsets[i] : self._offsets[i + 1]] = True
        for i, part in parts:
            if part is not None:
                asked[self._offsets[i] + part[0] : self._offsets[i] + part[1]] = True
        self._spans = uncertain_spans(np.where(asked, -1.0, self._entropies), self._offsets)
        return np.ones(len(self._spans), np.bool_)

    def __len__(self) -> int:
        return len(self._spans)

    def about(self, number: int) -> tuple[int, Part]:
        i, start, end = self._spans[number]
        return int(i), (int(start), int(end))

    def entropy(self) -> np.ndarray:
        sums = np.append(0.0, np.cumsum(self._entropies))
        i, start, end = self._spans.T
        first = self._offsets[i]
        return (sums[first + end] - sums[first + start]) / (end - start)

    def sketch(self) -> np.ndarray:
        return super().sketch()[self._spans[:, 0]]

    def reason(self, strategy: str, number: int) -> str:
        i, (start, end) = self.about(number)
        marginals = self._marginals_of(self.one(i), i)[0]
        t = start + int(np.argmax(relative_entropy(marginals[start:end])))
        return unsure(marginals[t], self.structure.labels_, repr(self.words(i)[t]))


def uncertain_spans(entropies: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Spans (input, start, end) around the most uncertain tokens, none overlapping; below 0: not to be asked.

    A token is a peak if no neighbour is more uncertain; from every peak, the span goes on to both sides as long as
    entropies do not rise again and are at least ``LEAST`` of the peak's.
    """
    found = []
    for i, (lo, hi) in enumerate(pairwise(offsets.tolist())):
        here = entropies[lo:hi].tolist()
        free = [h >= 0.0 for h in here]
        for t in sorted(range(hi - lo), key=lambda t: (-here[t], t)):
            if not free[t] or here[t] <= 0.0:
                continue
            start, end = t, t + 1
            while start > 0 and free[start - 1] and here[start - 1] >= LEAST * here[t]:
                start -= 1
            while end < hi - lo and free[end] and here[end] >= LEAST * here[t]:
                end += 1
            free[start:end] = [False] * (end - start)
            found.append((i, start, end))
    return np.array(found, np.int64).reshape(-1, 3)


class Brackets(Outputs):
    """Single constituents of trees, (label, start, end): those that are in a tree with probability one half."""

    @property
    def offers(self) -> frozenset[str]:  # type: ignore[override]
        return super().offers & {"probabilities"}

    def open(self, known: set[int], parts: Sequence[tuple[int, Part]]) -> np.ndarray:
        asked = {(i, tuple(part)) for i, part in parts if part is not None}
        self._brackets: list[tuple[int, Any]] = []
        self._p: list[float] = []
        for i, marginals in enumerate(one for _, some in self._marginals() for one in some):
            for bracket, p in sorted(marginals.items()):
                self._brackets.append((i, bracket))
                self._p.append(min(p, 1.0))
        return np.array([i not in known and (i, b) not in asked for i, b in self._brackets], np.bool_)

    def __len__(self) -> int:
        return len(self._brackets)

    def about(self, number: int) -> tuple[int, Part]:
        return self._brackets[number]

    def entropy(self) -> np.ndarray:
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
