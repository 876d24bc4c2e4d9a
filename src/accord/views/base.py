"""The interface of a view: a map from inputs to packed features, blind to labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from accord.views.rows import Rows


class View(BaseEstimator):
    """A feature map. Constructors only store; ``fit`` sees inputs, labeled and unlabeled alike, never labels.

    After ``fit`` a view has ``n_dims_`` (number of features) and ``transform`` gives :class:`Rows` of that width.
    """

    n_dims_: int

    def __getstate__(self) -> dict[str, Any]:
        # names that start with an underscore are caches, which a view makes again when it needs them
        return {name: value for name, value in super().__getstate__().items() if not name.startswith("_")}

    def fit(self, X: Any, y: Any = None) -> View:
        """Learn the feature space from inputs."""
        self.fit_rows(X)
        return self

    def fit_rows(self, X: Any) -> Rows:
        """Learn the feature space and return the rows of the same inputs (cheaper than ``fit`` then ``transform``)."""
        raise NotImplementedError

    def extend_rows(self, X: Any) -> Rows:
        """Add what is new in ``X`` to the feature space (old features keep their numbers) and return its rows."""
        raise NotImplementedError(f"{type(self).__name__} cannot grow; fit it on all inputs at once")

    def transform(self, X: Any) -> Rows:
        """Rows of new inputs in the fitted feature space; unknown features are ignored."""
        raise NotImplementedError

    def feature_names(self, features: np.ndarray) -> list[str]:
        """A readable name for each of the given feature numbers."""
        return [f"x{int(f)}" for f in features]
