"""What can be asked about a pool of unlabeled examples: the kinds of questions, and how much each is worth.

A kind is a class. It says what it ``offers`` to strategies, has a method for each that it can serve, with one score per
question, and says for people why a question is asked. Scores that are minus infinity mean: never ask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import entr, softmax

from accord.labeling import diversity
from accord.learners import inputs
from accord.packed.rows import Rows
from accord.structures.chains.multiclass import MultiClass
from accord.views import compose, default

Part = Any  # None, a span (start, end) of tokens, a bracket (label, start, end), a pair or a cluster of records


class Inputs:
    """A pool: inputs, and what was made of them for one model, kept for the next that has the same view."""

    def __init__(self, X: Any) -> None:
        self.X = inputs.as_inputs(X)
        self.n = inputs.count(self.X)
        self._kept: dict[str, tuple[Any, Any]] = {}

    def keep(self, name: str, owner: Any, make: Callable[[], Any]) -> Any:
        """What was made for this owner; made again for another one."""
        kept = self._kept.get(name)
        if kept is None or kept[0] is not owner:
            self._kept[name] = kept = (owner, make())
        return kept[1]

    def forget(self, name: str) -> None:
        """Make it again the next time."""
        self._kept.pop(name, None)


class Questions:
    """Questions about a pool, one for each example unless a subclass says otherwise."""

    offers: frozenset[str] = frozenset()
    # What "auto" takes, the first that can be had: what was measured best, see docs/labeling.md.
    preferred: tuple[str, ...] = ("entropy", "disagreement", "diversity")
    sketched = False  # whether it can be told which questions are alike

    def __init__(self, model: Any, pool: Inputs) -> None:
        self.model, self.pool = model, pool

    def __len__(self) -> int:
        return self.pool.n

    @property
    def who(self) -> str:
        """What messages call the model."""
        return f"a {type(self.model).__name__}"

    def about(self, number: int) -> tuple[int, Part]:
        """The example that a question is about, and the part of it."""
        return number, None

    def scores(self, strategy: str) -> np.ndarray:
        """How much each question is worth by a strategy that has scores."""
        return getattr(self, strategy)()

    def open(self, known: set[int], parts: Sequence[tuple[int, Part]], n: int) -> np.ndarray:
        """Which questions have no answer yet; ``n`` of them are wanted."""
        return np.array([i not in known for i in range(len(self))], np.bool_)

    def sketch(self) -> np.ndarray:
        """A short vector for each question; alike where questions are."""
        raise NotImplementedError

    def subjects(self, number: int) -> set[str]:
        """What a question is about; of those that share one, only one is asked at a time."""
        return set()

    def reason(self, strategy: str, number: int) -> str:
        """Why a question is asked, for people."""
        return strategy


class Unmodelled(Questions):
    """Examples for which there is no model yet."""

    offers = frozenset({"features"})
    sketched = True
    who = "no model"

    def sketch(self) -> np.ndarray:
        def make() -> np.ndarray:
            X = self.pool.X
            first = X[0] if isinstance(X, (list, tuple)) and len(X) else None
            rows_each = isinstance(first, (list, tuple)) and all(isinstance(token, str) for token in first)
            view = default.default_view(X) if rows_each else compose.new_view(None, X, _one_row)
            return diversity.sketch([view.fit_rows(X)])

        return self.pool.keep("sketch", None, make)

    def open(self, known: set[int], parts: Sequence[tuple[int, Part]], n: int) -> np.ndarray:
        empty = [isinstance(x, (str, list, tuple)) and not len(x) for x in self.pool.X]  # of a table: no row is
        return super().open(known, parts, n) & ~np.array(empty, np.bool_)


def _one_row(X: Any) -> Any:
    return inputs.default_view(MultiClass(), X)


class Classes(Questions):
    """Classes that any other estimator has probabilities, or a score, of."""

    offers = frozenset({"probabilities", "alternatives"})

    @cached_property
    def probabilities(self) -> np.ndarray:
        """Probabilities (n, n_classes); of a model that has scores alone, they are taken for logarithms of odds."""
        if hasattr(self.model, "predict_proba"):
            return np.asarray(self.model.predict_proba(self.pool.X), np.float64)
        scores = np.asarray(self.model.decision_function(self.pool.X), np.float64)
        return softmax(np.stack([np.zeros_like(scores), scores], axis=1) if scores.ndim == 1 else scores, axis=1)

    def entropy(self) -> np.ndarray:
        return relative_entropy(self.probabilities)

    def margin(self) -> np.ndarray:
        best = np.sort(self.probabilities, axis=1)
        return best[:, -2] / best[:, -1] if best.shape[1] > 1 else np.zeros(len(best))

    def reason(self, strategy: str, number: int) -> str:
        return unsure(self.probabilities[number], list(getattr(self.model, "classes_", (False, True))))


class Numbers(Questions):
    """Numbers, for which views have predictions."""

    sketched = True

    @property
    def offers(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset({"views", "features"} if len(self.model.views_) > 1 else {"features"})

    def disagreement(self) -> np.ndarray:
        """Variance between the views, summed over outputs, each in units of its variance in the training."""
        found = np.stack(self._predictions) / self.model.y_scale_
        return found.var(axis=0).sum(axis=1)

    def sketch(self) -> np.ndarray:
        def make() -> np.ndarray:
            rows = [sp.csr_array(view.matrix(self.pool.X)) for view in self.model.views_]
            return diversity.sketch([Rows.from_matrix(sp.csr_array(sp.hstack(rows)))])

        return self.pool.keep("sketch", None, make)

    def reason(self, strategy: str, number: int) -> str:
        found = [own[number] for own in self._predictions]
        names = [view.name for view in self.model.views_]
        said = ", ".join(f"{name}: {', '.join(f'{v:.4g}' for v in own)}" for name, own in zip(names, found))
        return f"the views predict {said}"

    @cached_property
    def _predictions(self) -> list[np.ndarray]:
        return self.model._all_views(self.pool.X)


# -- numbers that several kinds need --------------------------------------------------------------------
def relative_entropy(p: np.ndarray) -> np.ndarray:
    """Entropy of each row of probabilities, as a share of the largest possible one."""
    n = p.shape[-1]
    if n < 2:
        return np.zeros(p.shape[:-1])
    return entr(p).sum(axis=-1) / np.log(n)


def binary_entropy(p: np.ndarray) -> np.ndarray:
    """Entropy of events with these probabilities, from 0 to 1."""
    p = np.clip(p, 0.0, 1.0)
    return (entr(p) + entr(1.0 - p)) / np.log(2.0)


def unsure(p: np.ndarray, labels: Sequence[Any], about: str = "") -> str:
    """The two most probable labels."""
    order = np.argsort(-p, kind="stable")[:2]
    said = " or ".join(f"{labels[k]} ({100 * p[k]:.0f} %)" for k in order)
    return f"{about}: {said}" if about else said
