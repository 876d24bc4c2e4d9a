"""What scikit-learn expects of estimators: columns of X, classes, coefficients, tags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags

from accord.exceptions import InputError
from accord.forms import COUNT, TEXT, items, optional


class Estimator(BaseEstimator):
    """An estimator that knows how many columns it was fitted to, and their names, if its inputs were a table.

    Attributes
    ----------
    n_features_in_ : int
        Only if X was a table: an array, a sparse matrix, a DataFrame or rows of numbers.
    feature_names_in_ : array of str
        Only if X was a DataFrame whose columns all have names.
    """

    n_features_in_: int
    column_names_: list[str]

    stored: ClassVar[dict[str, Any]] = {"n_features_in_": optional(COUNT), "column_names_": optional(items(TEXT))}

    def _note_columns(self, X: Any) -> None:
        """Keep what ``X`` is, once it has been accepted."""
        for name in ("n_features_in_", "column_names_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        width = n_columns(X)
        if width is not None:
            self.n_features_in_ = width
        names = list(getattr(X, "columns", ()))
        if names and all(isinstance(name, str) for name in names):
            self.column_names_ = names

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the columns that ``fit`` saw."""
        return np.array(self._of_fit("column_names_", "feature_names_in_"), dtype=object)

    def _of_fit(self, field: str, name: str) -> Any:
        """A field that ``fit`` sets, perhaps; without it, there is no attribute of this name."""
        if field not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no {name}: it is not fitted, or not to such data")
        return self.__dict__[field]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


class OutputEstimator(Estimator):
    """An estimator of outputs of a structure; if that has one label per input, a classifier.

    Attributes
    ----------
    classes_ : array
        Only for one label per input: the labels, in the order of columns of scores and probabilities.
    coef_, intercept_ : array of shape (n_classes, n_features), array of shape (n_classes,)
        Only if scores of classes are linear in the columns of X; of two classes, those of the second, as one row.
    """

    structure: Any
    structure_: Any
    view_: Any
    weights_: Any

    @property
    def classes_(self) -> np.ndarray:
        """The labels in the order of columns of scores, if every input has one label."""
        structure = self._of_fit("structure_", "classes_")
        if not has_classes(structure):
            raise AttributeError(f"{type(structure).__name__} has no classes_: its outputs are no single labels")
        return label_array(structure.labels_)

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the columns of X, if scores of classes are linear in them."""
        return self._linear()[0]

    @property
    def intercept_(self) -> np.ndarray:
        """Scores of classes where all columns of X are 0, if scores are linear in them."""
        return self._linear()[1]

    def _linear(self) -> tuple[np.ndarray, np.ndarray]:
        weights = self._of_fit("weights_", "coef_")
        own = None
        if has_classes(self.structure_) and getattr(self, "square_weights_", None) is None:
            own = self.view_.column_weights(self.structure_.label_scores(weights.unary))
        if own is None:
            raise AttributeError("coef_ exists where scores of classes are linear in columns of X, which they are not")
        constant = self._label_scores(self.view_.transform(np.zeros((1, own.shape[0]))))
        return as_decision(own).reshape(own.shape[0], -1).T, as_decision(constant).reshape(-1)

    def _label_scores(self, rows: Any) -> np.ndarray:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        """One label per input makes a classifier, so that scikit-learn's cross-validation stratifies."""
        tags = super().__sklearn_tags__()
        if getattr(self.structure, "single_row", False):
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags()
            tags.target_tags.one_d_labels = True
        else:
            tags.input_tags.two_d_array = False
        return tags


def of_classes(learner: Any) -> bool:
    """Whether a learner predicts one label per input, and so has what only classifiers have."""
    return bool(learner.__sklearn_tags__().estimator_type == "classifier")


def has_classes(structure: Any) -> bool:
    """Whether a fitted structure has one label per input, from a list."""
    return structure.single_row and "labels" in structure.capabilities


def as_decision(scores: np.ndarray) -> np.ndarray:
    """Scores (n, n_classes) as scikit-learn wants them: of two classes, by how much the second is ahead (n,)."""
    return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


def label_array(labels: Sequence[Any]) -> np.ndarray:
    """Labels as an array of text or numbers, or of objects, if they are of several types or nothing else holds them."""
    plain = [label.item() if isinstance(label, np.generic) else label for label in labels]
    if len({type(label) for label in plain}) == 1 and isinstance(plain[0], (str, bool, int, float)):
        array = np.array(plain)
        if array.tolist() == plain:
            return array
    return np.fromiter(plain, object, len(plain))


def check_columns(X: Any) -> None:
    """Refuse a table without columns."""
    if n_columns(X) == 0:
        raise InputError(f"X has 0 feature(s) (shape={tuple(X.shape)}) while a minimum of 1 is required.")


def n_columns(X: Any) -> int | None:
    """Columns of a table: an array, a sparse matrix, a DataFrame, or rows of numbers; None: X is none."""
    shape = getattr(X, "shape", None)
    if shape is not None:
        return int(shape[1]) if len(shape) == 2 else None
    first = X[0] if isinstance(X, (list, tuple)) and X else None
    if isinstance(first, np.ndarray):
        return int(first.size) if first.ndim == 1 else None
    if isinstance(first, (list, tuple)) and first and all(isinstance(x, (int, float, np.number)) for x in first):
        return len(first)
    return None
