"""Tree loss: how far from each other two classes of a taxonomy are (hierarchical classification).

Figures in svm_interdependent Table 1.1 are means of this loss.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from accord.evaluation.metrics import Label, check_pair
from accord.exceptions import InputError
from accord.structures.chains.taxonomy import ancestors, check_taxonomy, heights


class TreeLoss:
    """Height of the lowest common ancestor of true and predicted class in a taxonomy.

    0 for the right class, 1 for a sibling leaf, and so on up to the height of the root. A node's height is the length
    of its longest way down to a leaf. In a DAG the lowest of all common ancestors counts; classes without any common
    ancestor count as if one more root stood above all. [svm_interdependent 1.6.1]

    Parameters
    ----------
    taxonomy : mapping of each node to its parent, or to a list, tuple or set of parents; roots map to None or are
        absent

    Examples
    --------
    >>> loss = TreeLoss({"cat": "animal", "dog": "animal", "oak": "plant", "animal": "all", "plant": "all"})
    >>> loss(["cat", "cat", "cat"], ["cat", "dog", "oak"])
    1.0
    """

    greater_is_better = False

    def __init__(self, taxonomy: Mapping[Label, Any]) -> None:
        self.taxonomy = taxonomy
        parents = check_taxonomy(taxonomy)
        self._heights = heights(parents)
        self._ancestors = {node: ancestors(node, parents) for node in parents}

    def pair(self, y: Label, y_hat: Label) -> int:
        """The loss of predicting `y_hat` where `y` is right."""
        if y == y_hat:
            return 0
        common = self._ancestors[y] & self._ancestors[y_hat]
        return min((self._heights[z] for z in common), default=max(self._heights.values()) + 1)

    def __call__(self, y_true: Any, y_pred: Any) -> float:
        """Mean loss of a list of predicted classes."""
        true, pred, nested = check_pair(y_true, y_pred)
        if nested:
            raise InputError("tree loss needs one class per example, but y_true holds sequences")
        for name, classes in (("y_true", true), ("y_pred", pred)):
            for i, label in enumerate(classes):
                if label not in self._heights:
                    raise InputError(f"{name}[{i}] is {label!r}, which is no node of the taxonomy")
        return sum(map(self.pair, true, pred)) / len(true)
