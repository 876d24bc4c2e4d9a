"""What a linear model says of every label, as features for another model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from accord.forms import array, fitted
from accord.packed.rows import Rows
from accord.settings import POSITIVE
from accord.views.base import View


@dataclass(eq=False, repr=False)
class LabelScores(View):
    """Scores of the labels by another model, less their mean: one feature per label of that model.

    How far the other model is right the labels teach, so it may know other labels, or have learned from other text.

    Parameters
    ----------
    scale : float
        Factor of the scores.
    """

    scale: float = 0.25

    expects: ClassVar = {"scale": POSITIVE}
    stored: ClassVar = {"view_": fitted("view split"), "weights_": array("f8", "n_features", "n_dims")}
    agrees: ClassVar = {
        "weights_ has a row for every feature of view_": lambda self: self.weights_.shape[0] == self.view_.n_dims_,
    }

    def __sklearn_clone__(self) -> LabelScores:
        """Itself: what it has learned does not depend on inputs."""
        return self

    def learn(self, view: View, weights: np.ndarray) -> LabelScores:
        """Take over a fitted view and the weights (n_features, n_labels) of its features."""
        self._check_params()
        self.view_, self.weights_, self.n_dims_ = view, weights, weights.shape[1]
        return self

    def fit_rows(self, X: Any) -> Rows:
        """Rows of ``X``; what there is to know comes from ``learn``."""
        return self.transform(X)

    def transform(self, X: Any) -> Rows:
        """One row of scores per token."""
        check_is_fitted(self, "weights_")
        rows = self.view_.transform(X)
        scores = rows.scores(self.weights_)
        return Rows.from_matrix(self.scale * (scores - scores.mean(axis=1, keepdims=True)), rows.offsets)

    def feature_names(self, features: Iterable[int]) -> list[str]:
        """Names such as ``score:3``: that of label number 3."""
        return [f"score:{int(f)}" for f in features]
