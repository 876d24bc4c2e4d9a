"""What learners with several views share: one feature space, weights per view, and how far the views agree."""

from __future__ import annotations

from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from accord.exceptions import InputError
from accord.forms import TEXT, items
from accord.learners import inputs
from accord.learners.base import WEIGHTS, StructuredLearner
from accord.packed.rows import Rows
from accord.packed.weights import Weights
from accord.views.base import View
from accord.views.splits import RandomSplit, Split, check_channels


class MultiViewLearner(StructuredLearner):
    """A learner whose decision function is the sum of several views', decoded once [thesis Prop. B.2].

    All views number their features in one space, so the sum is a linear model of its own: ``weights_``.
    """

    views: Any
    view_weights_: list[Weights]

    stored: ClassVar = {"view_weights_": items(WEIGHTS), "view_names_": items(TEXT)}

    def _new_view(self, structure: Any, X: Any) -> View:
        view = inputs.new_view(self._default_split() if self.views is None else self.views, structure, X)
        if isinstance(view, Split) and view.view is None:
            view.view = self._whole_view(structure, X)
        return view

    def _default_split(self) -> View:
        """Two random halves of the features."""
        return RandomSplit()

    def _whole_view(self, structure: Any, X: Any) -> View:
        """What is split if the split does not say."""
        return inputs.default_view(structure, X)

    def _channels(self, rows: Rows, y: np.ndarray, rng: np.random.Generator) -> list[Rows]:
        labels = y if "labels" in self.structure_.capabilities else None
        channels = self.view_.channels(rows, rng, labels)
        self.view_names_ = self.view_.view_names()
        check_channels(channels, self.view_names_)
        return channels

    def _keep(self, weights: list[Weights]) -> None:
        """Keep the views' weights and their sum."""
        self.view_weights_ = weights
        self.weights_ = sum_weights(weights)
        self._forget_products()

    @property
    def n_views_(self) -> int:
        """Number of views of the fitted model."""
        return len(self.view_weights_)

    def predict_views(self, X: Any) -> list[list[Any]]:
        """What each view alone predicts: one list of outputs per view.

        >>> from accord import CoSVM, MultiClass
        >>> model = CoSVM(MultiClass(), unlabeled_weight=0.5, random_state=0)
        >>> model = model.fit([[0.0, 1.0], [1.0, 0.0], [0.0, 2.0]], ["a", "b", None])
        >>> model.predict_views([[1.0, 1.0], [0.0, 1.0]])
        [['b', 'a'], ['a', 'a']]
        >>> model.disagreement([[1.0, 1.0], [0.0, 1.0]])
        0.5
        """
        check_is_fitted(self, "weights_")
        out: list[list[Any]] = [[] for _ in self.view_weights_]
        for first, chunk in inputs.chunks(X, self._chunk()):
            rows = self._rows(chunk)
            for v, weights in enumerate(self.view_weights_):
                found = self._decode_view(rows, weights, first)
                out[v] += self.structure_.outputs(found, rows.offsets, rows.tokens)
        return out

    def disagreement(self, X: Any) -> float:
        """How often two views predict different labels, over tokens and pairs of views; needs no labels.

        If the views' errors were independent given the truth, neither view could err more often than this [Dasgupta
        et al. 2001]. In practice it is an error *estimate*: see the calibration in the documentation.
        """
        check_is_fitted(self, "weights_")
        if self.n_views_ < 2:
            raise InputError("disagreement needs at least two views; this model has one")
        different = total = 0
        for first, chunk in inputs.chunks(X, self._chunk()):
            rows = self._rows(chunk)
            labels = [self._decode_view(rows, weights, first) for weights in self.view_weights_]
            for a, b in combinations(labels, 2):
                errors = self.structure_.count_errors(a, b, rows.offsets)
                different, total = different + errors[0], total + errors[1]
        if total == 0:
            raise InputError("X has no tokens to compare the views on")
        return different / total

    def _decode_view(self, rows: Rows, weights: Weights, first: Any) -> np.ndarray:
        s = self.structure_
        return s.best_outputs(rows, s.label_scores(rows.scores(weights.unary)), weights.transitions, None, first)


def sum_weights(weights: list[Weights]) -> Weights:
    """The weights of the summed decision functions."""
    return Weights(np.sum([w.unary for w in weights], axis=0), np.sum([w.transitions for w in weights], axis=0))
