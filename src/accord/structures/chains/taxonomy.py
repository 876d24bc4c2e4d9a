"""Classes in a tree or DAG: a class sums the weights of its ancestors; loss 0/1 or height of the common ancestor."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any, ClassVar, TypeAlias

import numpy as np
import scipy.sparse as sp

from accord import memory
from accord.exceptions import InputError
from accord.settings import NUMBER, Expected, check, one_of
from accord.structures.chains import losses
from accord.structures.chains.chain import ChainStructure
from accord.structures.chains.labels import UNLABELED, Label, sorted_labels

Betas: TypeAlias = dict[Label, Mapping[Label, float]]  # weights of nodes by class
BETAS = one_of("one", "normalized", None)


@dataclass(eq=False, repr=False)
class Taxonomy(ChainStructure):
    """One class per input; classes are nodes of a taxonomy. Phi = psi(x) (x) Lambda(y).

    Parameters
    ----------
    taxonomy : mapping of child to parent, or to a list of parents
        The tree or DAG. Roots need not be listed.
    loss : "tree" or "zero-one"
        Tree loss is the height of the lowest common ancestor of the true and the predicted class.
    predict : "leaves" or "all"
        Which nodes may be predicted.
    beta : "one", "normalized", mapping, function or None
        Weight of an ancestor in Lambda: 1, or 1 / sqrt(number of ancestors and self), which gives every class a Lambda
        of length one. Weights of your own are a mapping ``{class: {node: weight}}``, where nodes that are not listed
        weigh nothing, or a function of a class and a node that is the class or above it; models with a function cannot
        be saved. None: classes share nothing.
    unlabeled : label, optional
        A value of Y that means "unlabeled", as ``None`` does.

    Examples
    --------
    >>> t = Taxonomy({"cat": "animal", "dog": "animal", "car": "thing"}).fit(["cat", "car"])
    >>> t.labels_
    ['car', 'cat', 'dog']
    >>> t.loss_between([1], [2]), t.loss_between([1], [0])
    (1.0, 2.0)
    >>> own = Taxonomy({"cat": "animal", "dog": "animal"}, beta=lambda y, z: 1.0 if y == z else 0.5).fit([])
    >>> own.nodes_, own.node_map_.toarray().tolist()
    (['animal', 'cat', 'dog'], [[0.5, 1.0, 0.0], [0.5, 0.0, 1.0]])
    """

    taxonomy: Mapping[Label, Any]
    loss: str = "tree"
    predict: str = "leaves"
    beta: Any = "one"
    unlabeled: Label | None = None

    labels = None
    expects: ClassVar = {
        "loss": one_of("tree", "zero-one"),
        "predict": one_of("leaves", "all"),
        "beta": Expected(
            '"one", "normalized", a mapping {class: {node: weight}}, a function of a class and a node, or None',
            lambda value: isinstance(value, Mapping) or callable(value) or BETAS.accepts(value),
        ),
        "unlabeled": UNLABELED,
    }

    def is_declared(self) -> bool:
        return True

    def fit(self, Y: Iterable[Any]) -> Taxonomy:
        check(self)
        parents = check_taxonomy(self.taxonomy)
        inner = {p for ps in parents.values() for p in ps}
        self.labels_ = sorted_labels(n for n in parents if self.predict == "all" or n not in inner)
        known = set(self.labels_)
        for i, y in enumerate(Y):
            if y is not None and y not in known:
                why = "an inner node; use predict='all'" if y in parents else "not in the taxonomy"
                raise InputError(f"Y[{i}] is {y!r}, which is {why}")
        n = len(self.labels_)
        memory.check(
            {f"costs of {n:,} x {n:,} classes": 40.0 * n * n, f"nodes of {n:,} classes": 16.0 * n * len(parents)},
            "Use fewer classes, or MultiClass, whose classes share nothing",
        )
        above = {node: ancestors(node, parents) for node in parents}
        # A node above all classes adds the same to every score, unless its weight depends on the class.
        shared: set[Label] = set()
        if len(self.labels_) > 1 and self.beta == "one":
            shared = set.intersection(*(above[label] for label in self.labels_))
        betas = self._betas(above)
        self.nodes_ = sorted_labels({z for of in betas.values() for z, weight in of.items() if weight} - shared)
        self.node_map_ = None if self.beta is None else self._node_map(betas)
        self.loss_ = self._loss(parents, above)
        return self

    def without_ancestors(self) -> None:
        self.beta = self.node_map_ = None

    def _derive(self) -> None:
        if vars(self).get("node_map_", self) is None:  # how files of version 0.1 say it
            self.beta = None
        super()._derive()

    def _betas(self, above: dict[Label, set[Label]]) -> Betas:
        """beta(y, z) of every class y and nodes z that are y or above it."""
        if self.beta in ("one", None):
            return {y: dict.fromkeys(above[y], 1.0) for y in self.labels_}
        if self.beta == "normalized":
            return {y: dict.fromkeys(above[y], 1.0 / np.sqrt(len(above[y]))) for y in self.labels_}
        if isinstance(self.beta, Mapping):
            return checked_betas(self.beta, self.labels_, above)
        given = {y: {z: self.beta(y, z) for z in sorted_labels(above[y])} for y in self.labels_}
        return checked_betas(given, self.labels_, above)

    def _node_map(self, betas: Betas) -> sp.csr_array:
        number = {node: i for i, node in enumerate(self.nodes_)}
        dense = np.zeros((self.n_labels_, len(self.nodes_)))
        for i, label in enumerate(self.labels_):
            for node, weight in betas[label].items():
                if node in number:
                    dense[i, number[node]] = weight
        return sp.csr_array(dense)

    def _loss(self, parents: dict[Label, list[Label]], above: dict[Label, set[Label]]) -> losses.Loss:
        if self.loss == "zero-one":
            return losses.zero_one(self.n_labels_)
        height = heights(parents)
        top = max(height.values()) + 1  # classes without a common ancestor meet above all roots
        costs = np.zeros((self.n_labels_, self.n_labels_))
        for i, a in enumerate(self.labels_):
            for j, b in enumerate(self.labels_):
                if i != j:
                    costs[i, j] = min((height[z] for z in above[a] & above[b]), default=top)
        return losses.cost(costs, average=False, single=True)


def check_taxonomy(taxonomy: Mapping[Label, Any]) -> dict[Label, list[Label]]:
    """Parents of every node, roots included; refuses cycles."""
    if not isinstance(taxonomy, Mapping) or not taxonomy:
        raise InputError("taxonomy: expected a non-empty mapping of child to parent (or to a list of parents)")
    parents: dict[Label, list[Label]] = {}
    for child, parent in taxonomy.items():
        several = isinstance(parent, (list, tuple, set, frozenset))
        parents[child] = [p for p in (parent if several else [parent]) if p is not None]
        odd = [p for p in parents[child] if not isinstance(p, Hashable)]
        if odd:
            raise InputError(
                f"taxonomy[{child!r}] is a {type(odd[0]).__name__}; expected a parent or a list of parents"
            )
    for parent in [p for ps in parents.values() for p in ps]:
        parents.setdefault(parent, [])
    for node in parents:
        if any(node in ancestors(p, parents) for p in parents[node]):
            raise InputError(f"taxonomy: {node!r} is its own ancestor; remove the cycle")
    return parents


def checked_betas(betas: Mapping[Label, Any], labels: list[Label], above: dict[Label, set[Label]]) -> Betas:
    """Weights ``{class: {node: weight}}`` of all classes, of whose nodes they must be."""
    unknown = [y for y in betas if y not in above]
    if unknown:
        raise InputError(f"beta has weights for {unknown[0]!r}, which is not in the taxonomy; take them out")
    same: dict[frozenset, Label] = {}
    for y in labels:
        weights = betas.get(y)
        if not isinstance(weights, Mapping):
            raise InputError(f"beta[{y!r}] is {weights!r}; expected {{node: weight}} for every class that is predicted")
        for z, weight in weights.items():
            if z not in above[y]:
                raise InputError(
                    f"beta[{y!r}] has a weight for {z!r}, which is neither {y!r} nor above it; expected some of "
                    f"{sorted_labels(above[y])!r}"
                )
            NUMBER.check(f"beta[{y!r}][{z!r}]", weight)
        other = same.setdefault(frozenset((z, float(weight)) for z, weight in weights.items() if weight), y)
        if other is not y:
            raise InputError(
                f"beta gives {other!r} and {y!r} the same weights, so they would always score the same; give each "
                "class a weight of its own"
            )
    return {y: betas[y] for y in labels}


def ancestors(node: Label, parents: dict[Label, list[Label]]) -> set[Label]:
    """The node and everything above it."""
    seen: set[Label] = set()
    todo = [node]
    while todo:
        here = todo.pop()
        if here not in seen:
            seen.add(here)
            todo.extend(parents[here])
    return seen


def heights(parents: dict[Label, list[Label]]) -> dict[Label, int]:
    """Length of the longest path from each node down to a leaf."""
    height = dict.fromkeys(parents, 0)
    for child in reversed(list(TopologicalSorter(parents).static_order())):
        for parent in parents[child]:
            height[parent] = max(height[parent], height[child] + 1)
    return height
