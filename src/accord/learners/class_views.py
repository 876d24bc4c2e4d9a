"""What classes may be learned from: the view that was given, others that see the same inputs, and views that agree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from accord.learners.class_ways import Examples
from accord.solvers.agreeing_classes import DIMENSIONS, Spanned, spanned
from accord.views.base import View
from accord.views.dense import ArrayFeatures
from accord.views.dicts import DictFeatures
from accord.views.graph import GraphFeatures
from accord.views.kernel import KernelFeatures
from accord.views.linked import LinkedFeatures

LINKED = 2 * DIMENSIONS  # dimensions of features along links, of which there are two kinds
EXACT = 600  # inputs whose kernel is computed in full; of more, as many landmarks as there are dimensions
EXACT_GRAPH = 2000  # the same for graphs of neighbours, which lose more by it
LEAST = 10  # inputs that have neighbours worth the name
NEIGHBOURS, RAW_NEIGHBOURS = "neighbours", "neighbours by numbers as they are"
MANY_ROWS = 5000  # with many features, which are not written in few dimensions any more


class Seen(NamedTuple):
    """A view by name, its rows of the examples, those of all unlabeled inputs, and which features its parts have."""

    name: str
    view: View
    examples: Examples
    unlabeled: sp.csr_array
    members: list[np.ndarray]

    @property
    def linked(self) -> bool:
        """Whether rows have features of neighbours."""
        return isinstance(self.view, LinkedFeatures) and self.view.steps != 0


def other_views(
    given: Any, first: View, X: Any, examples: Examples, labeled: np.ndarray, unlabeled: np.ndarray, kept: np.ndarray,
    rng: np.random.Generator,
) -> Iterator[Seen]:  # fmt: skip
    """Further views of the same inputs: what a view leaves open, or kernels where rows of numbers come without a view.

    ``first`` is fitted and has the rows of ``examples``, which are the ``labeled`` inputs of ``X``, and those of the
    ``unlabeled`` ones that are ``kept``. Each is prepared when it is asked for.
    """
    views: dict[str, View] = {}
    if isinstance(first, LinkedFeatures):
        views = first.choices()
    elif given is None and getattr(first, "standardize", False) and isinstance(first, (ArrayFeatures, DictFeatures)):
        views = _kernels(first, len(labeled) + len(unlabeled))
    for name, view in views.items():
        rows = view.fit_rows(X)
        one, two = (sp.csr_array(rows.take(some).matrix()) for some in (labeled, unlabeled))
        changed = examples._replace(X=one, hidden=two[kept], constant=view.constant_features())
        yield Seen(name, view, changed, two, view.members(rows, rng))


def _kernels(first: ArrayFeatures | DictFeatures, n: int) -> dict[str, View]:
    """Curved boundaries, and values that change little between near neighbours.

    What is near depends on units. If all columns have the same, as pixels do, standardizing them makes the empty ones
    as loud as the others; so there is a graph of the numbers as they are, too. On such data it was better to rely on
    the graph more than the default of `GraphFeatures` does.
    """
    if n < LEAST:
        return {}
    array = isinstance(first, ArrayFeatures)
    rows = ArrayFeatures(bias=False, standardize=True) if array else clone(first)
    curved = KernelFeatures(rows) if n <= EXACT else KernelFeatures(
        rows, method="nystroem", n_components=DIMENSIONS, random_state=0
    )  # fmt: skip
    landmarks = None if n <= EXACT_GRAPH else DIMENSIONS
    found: dict[str, View] = {"kernel": curved}
    found[NEIGHBOURS] = GraphFeatures(rows, n_landmarks=landmarks, random_state=0)
    if array:
        found[RAW_NEIGHBOURS] = GraphFeatures(
            ArrayFeatures(bias=False), ambient=0.01, intrinsic=0.99, n_landmarks=landmarks, random_state=0
        )
    return found


def groups_of_views(seen: Seen, rng: np.random.Generator) -> list[list[Spanned]]:
    """Views to agree, in few dimensions: all features as one view, and the parts of a view that has several."""
    examples = seen.examples
    rows = sp.csr_array(sp.vstack([examples.X, examples.hidden]))
    if rows.shape[1] > DIMENSIONS and rows.shape[0] > MANY_ROWS and not seen.linked:
        return []
    varying = np.ones(rows.shape[1])
    varying[examples.constant] = 0.0
    rows = sp.csr_array(rows.multiply(varying[None, :]))
    groups = [[spanned(rows, rng, LINKED if seen.linked else DIMENSIONS)]]
    if len(seen.members) > 1:
        groups.append([spanned(sp.csr_array(rows.multiply(member[None, :])), rng) for member in seen.members])
    return groups
