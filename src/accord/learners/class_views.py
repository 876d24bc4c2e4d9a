"""What classes may be learned from: the view that was given, others that see the same inputs, and views that agree."""

from __future__ import annotations

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
LEAST = 10  # inputs that have neighbours worth the name
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
) -> list[Seen]:  # fmt: skip
    """Further views of the same inputs: what a view leaves open, or kernels where rows of numbers come without a view.

    ``first`` is fitted and has the rows of ``examples``, which are the ``labeled`` inputs of ``X``, and those of the
    ``unlabeled`` ones that are ``kept``.
    """
    views: dict[str, View] = {}
    if isinstance(first, LinkedFeatures):
        views = first.choices()
    elif given is None and getattr(first, "standardize", False) and isinstance(first, (ArrayFeatures, DictFeatures)):
        views = _kernels(first, len(labeled) + len(unlabeled))
    found = []
    for name, view in views.items():
        rows = view.fit_rows(X)
        one, two = (sp.csr_array(rows.take(some).matrix()) for some in (labeled, unlabeled))
        changed = examples._replace(X=one, hidden=two[kept], constant=view.constant_features())
        found.append(Seen(name, view, changed, two, view.members(rows, rng)))
    return found


def _kernels(first: ArrayFeatures | DictFeatures, n: int) -> dict[str, View]:
    """Curved boundaries, and values that change little between near neighbours."""
    if n < LEAST:
        return {}
    rows = ArrayFeatures(bias=False, standardize=True) if isinstance(first, ArrayFeatures) else clone(first)
    exact = n <= EXACT
    curved = KernelFeatures(rows) if exact else KernelFeatures(
        rows, method="nystroem", n_components=DIMENSIONS, random_state=0
    )  # fmt: skip
    near = GraphFeatures(rows, n_landmarks=None if exact else DIMENSIONS, random_state=0)
    return {"kernel": curved, "neighbours": near}


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
