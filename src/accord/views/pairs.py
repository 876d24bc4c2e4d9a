"""Views of pairs of objects: psi(x_j, x_k), from which similarities of supervised clustering are made [spec 8].

The pairs of a set come in condensed order, see :mod:`accord.kernels.partitions.condensed`. They are unordered: a view
should give the same numbers for (a, b) and (b, a).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from accord.exceptions import InputError
from accord.forms import TEXT, items
from accord.kernels.partitions.condensed import n_objects, n_pairs, pair_numbers

# Numbers held at a time when scores are computed for many pairs (32 MB).
BLOCK = 1 << 22


class PairFeatures(BaseEstimator):
    """A map from pairs of objects to d numbers. ``fit`` sees sets of objects, labeled and unlabeled alike, no clusters.

    A subclass has ``fit`` and ``between``, and ``pairs`` if there is a faster way than row after row.

    Examples
    --------
    >>> import numpy as np
    >>> from accord import ClusteringSVM
    >>> class Near(PairFeatures):
    ...     "How near two numbers are."
    ...
    ...     def fit(self, sets):
    ...         self.names_ = ["near"]
    ...         return self
    ...
    ...     def between(self, objects, others):
    ...         return np.exp(-np.abs(np.subtract.outer(objects, others)))[:, :, None]
    >>> model = ClusteringSVM(pair_features=Near(), C=10.0).fit([[1.0, 1.1, 5.0, 5.2]], [[1, 1, 2, 2]])
    >>> model.predict([[7.0, 3.0, 7.1]])
    [[0, 1, 0]]
    """

    names_: list[str]

    stored: ClassVar[dict[str, Any]] = {"names_": items(TEXT, "n_names")}

    def __getstate__(self) -> dict[str, Any]:
        # names that start with an underscore are caches, which a view makes again when it needs them
        return {name: value for name, value in super().__getstate__().items() if not name.startswith("_")}

    def fit(self, sets: Sequence[Sequence[Any]]) -> PairFeatures:
        """Learn what there is to learn from sets of objects; sets ``names_``."""
        raise NotImplementedError

    def between(self, objects: Sequence[Any], others: Sequence[Any]) -> np.ndarray:
        """Features (len(objects), len(others), d) of every pair of one of ``objects`` and one of ``others``."""
        raise NotImplementedError

    def pairs(self, objects: Sequence[Any]) -> np.ndarray:
        """Features (T * (T - 1) / 2, d) of the pairs of a set, in condensed order."""
        rows = [self.between([objects[j]], objects[:j])[0] for j in range(1, len(objects))]
        return np.concatenate([np.empty((0, len(self.names_))), *rows])

    def prepared(self, objects: Sequence[Any]) -> Sequence[Any]:
        """Objects in the form in which this view compares them, so that many calls do not make it many times."""
        return objects

    def scores(self, objects: Sequence[Any], weights: np.ndarray) -> np.ndarray:
        """Products (T * (T - 1) / 2,) of the pairs of a set with ``weights`` (d,), without all features in memory."""
        n = len(objects)
        if n_pairs(n) * max(len(weights), 1) <= BLOCK:
            return self.pairs(objects) @ weights
        objects = self.prepared(objects)
        rows = [self.scores_between([objects[j]], objects[:j], weights)[0] for j in range(1, n)]
        return np.concatenate([np.empty(0), *rows])

    def scores_between(self, objects: Sequence[Any], others: Sequence[Any], weights: np.ndarray) -> np.ndarray:
        """Products (len(objects), len(others)) with ``weights`` (d,)."""
        out = np.empty((len(objects), len(others)))
        size = max(1, BLOCK // max(1, len(others) * len(weights)))
        for first in range(0, len(objects), size):
            out[first : first + size] = self.between(objects[first : first + size], others) @ weights
        return out

    def count(self, objects: Any) -> int:
        """Number of objects in a set."""
        if isinstance(objects, (str, bytes, dict)) or not hasattr(objects, "__len__"):
            raise InputError(f"a set of objects is a {type(objects).__name__}; expected a list of objects")
        return len(objects)


class CallablePairs(PairFeatures):
    """Features of pairs by a function of your own.

    Parameters
    ----------
    function : callable
        ``function(a, b)`` gives the d features of two objects, as one number, a list or an array. Should be symmetric:
        it is called with a later object of a set first.
    names : list of str, optional
        Names of the features; default: x0, x1, ...

    Attributes
    ----------
    names_ : list of str

    Examples
    --------
    >>> from accord import CallablePairs
    >>> view = CallablePairs(lambda a, b: [abs(a - b), a == b], names=["distance", "equal"])
    >>> view.fit([[1, 5, 5]]).pairs([1, 5, 5]).tolist()
    [[4.0, 0.0], [4.0, 0.0], [0.0, 1.0]]
    """

    def __init__(self, function: Callable[[Any, Any], Any], names: Sequence[str] | None = None) -> None:
        self.function = function
        self.names = names

    def fit(self, sets: Sequence[Sequence[Any]]) -> CallablePairs:
        if not callable(self.function):
            raise InputError(f"function is {self.function!r}; expected a function of two objects")
        first = next((objects for objects in sets if self.count(objects) >= 2), None)
        if first is not None:
            n_dims = self._values(first[1], first[0]).size
        elif self.names is not None:
            n_dims = len(self.names)
        else:
            raise InputError("no set has two objects: there is no pair to learn the number of features from")
        if self.names is not None and len(self.names) != n_dims:
            raise InputError(f"names has {len(self.names)} names but function gives {n_dims} features")
        self.names_ = list(self.names) if self.names is not None else [f"x{i}" for i in range(n_dims)]
        return self

    def between(self, objects: Sequence[Any], others: Sequence[Any]) -> np.ndarray:
        out = np.empty((len(objects), len(others), len(self.names_)))
        for row, a in zip(out, objects):
            for cell, b in zip(row, others):
                values = self._values(a, b)
                if values.size != cell.size:
                    raise InputError(
                        f"function gave {values.size} features for a pair, but {cell.size} for the first pair of fit"
                    )
                cell[:] = values
        return out

    def _values(self, a: Any, b: Any) -> np.ndarray:
        try:
            values = np.asarray(self.function(a, b), dtype=np.float64)
        except TypeError as error:
            raise InputError(f"function must give numbers for two objects, but it failed: {error}") from error
        if values.ndim > 1:
            raise InputError(f"function gave an array of shape {values.shape}; expected a list of numbers")
        return values.reshape(-1)


class ReadyPairs(PairFeatures):
    """Features that are there already: a set is an array (T, T, d), or (T * (T - 1) / 2, d) in condensed order.

    An array (T, T, d) must be symmetric; its diagonal is not looked at.
    """

    def fit(self, sets: Sequence[Any]) -> ReadyPairs:
        arrays = [self._checked(one, i) for i, one in enumerate(sets)]
        widths = [a.shape[-1] for a in arrays]
        for i, width in enumerate(widths):
            if width != widths[0]:
                raise InputError(f"sets[{i}] has {width} features per pair but sets[0] has {widths[0]}")
        self.names_ = [f"x{i}" for i in range(widths[0] if widths else 0)]
        return self

    def count(self, objects: Any) -> int:
        array = self._checked(objects)
        return array.shape[0] if array.ndim == 3 else n_objects(array.shape[0])

    def pairs(self, objects: Any) -> np.ndarray:
        array = self._checked(objects)
        if array.shape[-1] != len(self.names_):
            raise InputError(f"a set has {array.shape[-1]} features per pair; fit saw {len(self.names_)}")
        return array if array.ndim == 2 else array[pair_numbers(array.shape[0])]

    def scores(self, objects: Any, weights: np.ndarray) -> np.ndarray:
        return self.pairs(objects) @ weights

    @staticmethod
    def _checked(objects: Any, number: int | None = None) -> np.ndarray:
        where = "a set" if number is None else f"sets[{number}]"
        try:
            array = np.asarray(objects, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(
                f"{where} holds objects, not numbers; name the features of a pair of objects with pair_features="
            ) from None
        if array.ndim == 3 and array.shape[0] == array.shape[1]:
            if not np.allclose(array, array.swapaxes(0, 1), rtol=1e-9, atol=1e-12, equal_nan=True):
                raise InputError(f"{where} is not symmetric; [j, k] and [k, j] must be the same features")
            return array
        if array.ndim == 2 and n_objects(array.shape[0]) >= 0:
            return array
        raise InputError(
            f"{where} has shape {array.shape}; without pair_features= a set is an array (T, T, d), or "
            "(T * (T - 1) / 2, d) with the pairs (1, 0), (2, 0), (2, 1), (3, 0), ..."
        )
