"""The interface of a view: a map from inputs to packed features, blind to labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from accord import settings
from accord.exceptions import InputError
from accord.forms import COUNT
from accord.packed.rows import Rows
from accord.views.channels import restrict


class View(BaseEstimator):
    """A feature map. Constructors only store; ``fit`` sees inputs, labeled and unlabeled alike, never labels.

    After ``fit`` a view has ``n_dims_`` (number of features) and ``transform`` gives :class:`Rows` of that width.

    A composition of views (a split, a list of views) is a view, too: of all their features together. ``channels`` takes
    its rows apart again, into one :class:`Rows` per view.
    """

    n_dims_: int
    stored: ClassVar[dict[str, Any]] = {"n_dims_": COUNT}

    _default: Callable[[Any], View] | None = None

    def __getstate__(self) -> dict[str, Any]:
        # names that start with an underscore are caches, which a view makes again when it needs them
        return {name: value for name, value in super().__getstate__().items() if not name.startswith("_")}

    def with_default(self, default: Callable[[Any], View] | None) -> View:
        """This view, in which views that are left open (None) become ``default`` of the inputs that they see.

        Learners say here what they know about inputs and their look does not tell; see ``views.default``.
        """
        self._default = default
        return self

    def fit(self, X: Any, y: Any = None) -> View:
        """Learn the feature space from inputs."""
        self.fit_rows(X)
        return self

    def fit_rows(self, X: Any) -> Rows:
        """Learn the feature space and return the rows of the same inputs (cheaper than ``fit`` then ``transform``)."""
        raise NotImplementedError

    def extend_rows(self, X: Any) -> Rows:
        """Add what is new in ``X`` to the feature space (old features keep their numbers) and return its rows.

        A view that was not fitted yet is fitted.
        """
        return self._extend(X) if hasattr(self, "n_dims_") else self.fit_rows(X)

    def transform(self, X: Any) -> Rows:
        """Rows of new inputs in the fitted feature space; unknown features are ignored."""
        raise NotImplementedError

    def feature_names(self, features: Iterable[int]) -> list[str]:
        """A readable name for each of the given feature numbers."""
        return [f"x{int(f)}" for f in features]

    def feature_groups(self) -> tuple[np.ndarray, list[str]]:
        """The group of every feature (n_dims,), as an index into the list of group names."""
        raise InputError(
            f"{type(self).__name__} knows no groups of features; give groups as a function of a feature's name"
        )

    def constant_features(self) -> np.ndarray:
        """Numbers of the features that are the same in every row, such as a bias. Splits leave them to every view."""
        return np.empty(0, np.int64)

    def column_weights(self, weights: np.ndarray) -> np.ndarray | None:
        """Weights (n_columns, n) of the columns of a table, from those of features (n_dims, n); None: features are not
        linear in columns."""
        return None

    def view_names(self) -> list[str]:
        """The name of each view, in the order of ``channels``."""
        return ["view"]

    def members(self, rows: Rows, rng: np.random.Generator, labels: np.ndarray | None = None) -> list[np.ndarray]:
        """For each view, which features (n_dims,) of the rows belong to it; arguments as in :meth:`channels`."""
        return [np.ones(rows.n_dims, np.bool_)]

    def channels(self, rows: Rows, rng: np.random.Generator, labels: np.ndarray | None = None) -> list[Rows]:
        """The rows as each view sees them: only its features, numbered as in the joint rows that are given.

        ``rows`` come from ``fit_rows``; random splits are drawn from ``rng``, afresh by every call. ``labels``
        (n_rows,) are numbers of labels, negative where a row's is not known; None: rows have no labels. They may say
        which view gets a feature, never what the feature is.
        """
        members = self.members(rows, rng, labels)
        if len(members) == 1 and members[0].all():
            return [rows]
        return [restrict(rows, member) for member in members]

    def _extend(self, X: Any) -> Rows:
        """``extend_rows`` of a fitted view."""
        raise NotImplementedError(f"{type(self).__name__} cannot grow; fit it on all inputs at once")

    def _check_params(self) -> None:
        """Refuse parameters that make no sense."""
        settings.check(self)
