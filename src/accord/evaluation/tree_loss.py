"""Tree loss: how far from each other two classes of a taxonomy are (hierarchical classification).

Figures in svm_interdependent Table 1.1 are means of this loss.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from accord.evaluation.metrics import Label, check_pair
from accord.exceptions import InputError


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
        self._parents = {node: _parents(value) for node, value in taxonomy.items()}
        for parents in list(self._parents.values()):
            for parent in parents:
                self._parents.setdefault(parent, ())
        self._heights = _heights(self._parents)
        self._ancestors: dict[Label, frozenset[Label]] = {}

    def pair(self, y: Label, y_hat: Label) -> int:
        """The loss of predicting `y_hat` where `y` is right."""
        if y == y_hat:
            return 0
        common = self._ancestors_of(y) & self._ancestors_of(y_hat)
        return min((self._heights[z] for z in common), default=max(self._heights.values()) + 1)

    def __call__(self, y_true: Any, y_pred: Any) -> float:
        """Mean loss of a list of predicted classes."""
        true, pred, nested = check_pair(y_true, y_pred)
        if nested:
            raise InputError("tree loss needs one class per example, but y_true holds sequences")
        for name, classes in (("y_true", true), ("y_pred", pred)):
            for i, label in enumerate(classes):
                if label not in self._parents:
                    raise InputError(f"{name}[{i}] is {label!r}, which is no node of the taxonomy")
        return sum(map(self.pair, true, pred)) / len(true)

    def _ancestors_of(self, node: Label) -> frozenset[Label]:
        """The node and everything above it."""
        if node not in self._ancestors:
            above = (self._ancestors_of(parent) for parent in self._parents[node])
            self._ancestors[node] = frozenset({node}).union(*above)
        return self._ancestors[node]


def _parents(value: Any) -> tuple[Label, ...]:
    if value is None:
        return ()
    return tuple(value) if isinstance(value, (list, tuple, set, frozenset)) else (value,)


def _heights(parents: Mapping[Label, Sequence[Label]]) -> dict[Label, int]:
    """Longest way down from each node; leaves first, so that a node's children are done before it."""
    waiting = Counter(parent for above in parents.values() for parent in above)
    heights = {node: 0 for node in parents if not waiting[node]}
    ready = list(heights)
    while ready:
        node = ready.pop()
        for parent in parents[node]:
            heights[parent] = max(heights.get(parent, 0), heights[node] + 1)
            waiting[parent] -= 1
            if not waiting[parent]:
                ready.append(parent)
    for node in parents:
        if waiting[node]:
            raise InputError(f"taxonomy has a cycle through {node!r}: a class cannot be its own ancestor")
    return heights
