"""Views that are compared by kernels: some columns of the inputs, and a kernel between them.

Regression needs kernel values themselves, between any rows and the few that a model is expanded over. So a view is not
turned into features with the kernel's inner products here, as :class:`KernelFeatures` does for other learners; of a
``KernelFeatures`` only the kernel and the view below it are used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from accord.exceptions import InputError
from accord.forms import NUMBER, TEXT, array, fitted, items, optional, record, together
from accord.packed.rows import Rows
from accord.packed.tables import Table, as_dense
from accord.settings import SHARED, one_of
from accord.views.base import View
from accord.views.compose import ConcatenatedViews, Views, WrappingView, as_view, new_view
from accord.views.default import default_view
from accord.views.dense import ArrayFeatures
from accord.views.gram import KernelFunction, default_gamma, kernel_values, squared_norms
from accord.views.inputs import describe
from accord.views.kernel import KERNELS, KernelFeatures, check_kernel_name

Matrix: TypeAlias = Table  # one row per input


class Kernel(NamedTuple):
    """A kernel and its parameters, which mean what they mean for :class:`KernelFeatures`."""

    kernel: str | KernelFunction = "rbf"
    degree: float = 2
    coef0: float = 1.0
    gamma: float | str | None = None


@dataclass(frozen=True)
class KernelView:
    """What one view compares, and how.

    Parameters
    ----------
    name : str
    parts : list of (View, int array or None)
        Fitted views, and which of their features belong to this one (None: all).
    kernel : Kernel
    """

    name: str
    parts: list[tuple[View, np.ndarray | None]]
    kernel: Kernel

    stored: ClassVar = {
        "name": TEXT,
        "parts": items(together(fitted("view split"), optional(array("i8", "*", least=0)))),
        "kernel": record("Kernel", kernel=one_of(*KERNELS), degree=NUMBER, coef0=NUMBER, gamma=optional(NUMBER)),
    }
    agrees: ClassVar = {
        "there are parts": lambda self: len(self.parts) > 0,
        "columns of parts are features of their views": lambda self: all(
            columns is None or bool(np.all(columns < view.n_dims_)) for view, columns in self.parts
        ),
    }

    @property
    def width(self) -> int:
        """How many columns are compared."""
        return sum(view.n_dims_ if columns is None else columns.size for view, columns in self.parts)

    @property
    def rank(self) -> int | None:
        """How many directions images of rows can span at most; None if there is no bound."""
        if self.kernel.kernel == "linear":
            return self.width
        if self.kernel.kernel == "poly" and self.kernel.degree in range(1, 10):
            return math.comb(self.width + int(self.kernel.degree), int(self.kernel.degree))
        return None

    def matrix(self, X: Any) -> Matrix:
        """The compared columns, one row per input; kernel values, if they are precomputed."""
        return matrices([self], X)[0]

    def values(self, rows: Matrix, base: Matrix) -> np.ndarray:
        """Kernel values (n_rows, n_base)."""
        return Comparison(self.kernel, base)(rows).T

    def scaled(self, gamma: float) -> KernelView:
        """The same view with another gamma."""
        return replace(self, kernel=self.kernel._replace(gamma=gamma))

    def default_gamma(self, base: Matrix) -> float:
        """1 / (mean squared distance of the labeled rows) for "rbf" [thesis 4.4], 1 for others."""
        return default_gamma(self.kernel.kernel, base)

    def default_eta(self, base: Matrix, gram: np.ndarray) -> float:
        """1 / (mean length of the labeled rows) [thesis 4.4]; of their images, if values are precomputed."""
        squares = np.diagonal(gram) if self.kernel.kernel == "precomputed" else squared_norms(base)
        length = float(np.mean(np.sqrt(np.maximum(squares, 0.0))))
        return 1.0 / length if length > 0 else 1.0


class Comparison:
    """Kernel values between any rows and a fixed base, one row of values for each of the base.

    For distances of dense rows, ``-gamma |x - z|^2`` is one matrix product of rows that carry their squared lengths in
    two more columns.
    """

    def __init__(self, kernel: Kernel, base: Matrix) -> None:
        self.kernel, self.base = kernel, base
        self.gamma = float(kernel.gamma or 1.0)
        self.n_base = base.shape[0]
        self.by_distance = kernel.kernel == "rbf" and not sp.issparse(base)
        if self.by_distance:
            self.center = base.mean(axis=0)  # distances do not change, and squares of large numbers do not cancel
            centered = base - self.center
            squares = -self.gamma * squared_norms(centered)
            self._extended = np.column_stack([2.0 * self.gamma * centered, np.ones(self.n_base), squares])

    def __call__(self, rows: Matrix, out: np.ndarray | None = None) -> np.ndarray:
        """Values (n_base, n_rows), written to ``out`` if it is given."""
        if self.by_distance and not sp.issparse(rows):
            n_rows, width = rows.shape
            extended = np.empty((n_rows, width + 2))
            np.subtract(rows, self.center, out=extended[:, :width])
            values = np.empty((self.n_base, n_rows)) if out is None else out
            self.compare_extended(extended, values)
            return values
        values = self._other_values(rows)
        if out is None:
            return values
        out[:] = values
        return out

    def compare_extended(self, extended: np.ndarray, out: np.ndarray) -> bool:
        """Values of rows that are centred, with two more columns to write to; whether the rows are finite."""
        squares = squared_norms(extended[:, :-2])
        extended[:, -2] = -self.gamma * squares
        extended[:, -1] = 1.0
        np.matmul(self._extended, extended.T, out=out)
        np.exp(out, out=out)
        return bool(np.isfinite(squares).all())

    def _other_values(self, rows: Matrix) -> np.ndarray:
        if self.kernel.kernel == "precomputed":
            return np.asarray(as_dense(rows[:, self.base]), dtype=float).T
        kind, degree, coef0, _ = self.kernel
        return kernel_values(kind, rows, self.base, degree, self.gamma, coef0).T


def matrices(views: Sequence[KernelView], X: Any) -> list[Matrix]:
    """:meth:`KernelView.matrix` of every view; views that share a fitted view look at the inputs once."""
    seen: dict[int, Matrix] = {}
    out = []
    for view in views:
        found = []
        for own, columns in view.parts:
            if id(own) not in seen:
                rows = own.transform(X)
                if rows.n_rows != rows.n_inputs:
                    raise InputError(
                        f"view {view.name!r} has {rows.n_rows} rows for {rows.n_inputs} inputs; expected one row of "
                        "numbers for each input"
                    )
                seen[id(own)] = _matrix(rows)
            matrix = seen[id(own)]
            found.append(matrix if columns is None else _columns(matrix, columns))
        if len(found) > 1:
            found = [sp.csr_array(sp.hstack(found)) if any(map(sp.issparse, found)) else np.hstack(found)]
        out += found
    return out


def kernel_views(
    views: Any, kernel: Kernel, standardize: bool, X: Any, rng: np.random.Generator | None = None
) -> list[KernelView]:
    """Fit views to inputs; those without a kernel of their own get ``kernel``.

    ``views`` is a view, a split, or a list or dict of them. A view that is not told otherwise takes numbers,
    standardised or not, with a bias if the kernel is linear.
    """
    rng = rng or np.random.default_rng(0)
    if not isinstance(views, (list, tuple, Mapping)):
        return _resolve(None, views, kernel, standardize, X, rng)
    if not views:
        raise InputError("views is empty; expected at least one view")
    named = views if isinstance(views, Mapping) else {f"view{v}": view for v, view in enumerate(views)}
    for name in named:
        if not isinstance(name, str):
            raise InputError(f"views has the key {describe(name)}; expected a name, which is a string")
    return [found for name, view in named.items() for found in _resolve(name, view, kernel, standardize, X, rng)]


def joined(views: Sequence[KernelView]) -> KernelView | None:
    """One view of everything that the views see; None if they do not compare it in the same way."""
    first = views[0]
    if len(views) == 1:
        return first
    if any(view.kernel != first.kernel for view in views) or first.kernel.kernel == "precomputed":
        return None
    parts: list[tuple[View, np.ndarray | None]] = []
    for own, columns in (part for view in views for part in view.parts):
        k = next((k for k, (other, _) in enumerate(parts) if other is own), None)
        if k is None:
            parts.append((own, columns))
        else:
            known = parts[k][1]
            parts[k] = (own, None if columns is None or known is None else np.union1d(known, columns))
    return KernelView("all", parts, first.kernel)


def _resolve(
    name: str | None, view: Any, kernel: Kernel, standardize: bool, X: Any, rng: np.random.Generator
) -> list[KernelView]:
    """The views of one entry: several, if it is a split."""
    if not isinstance(view, View) and not (isinstance(view, (list, tuple, Mapping)) and view):
        where = "views" if name is None else f"views[{name!r}]"
        raise InputError(f"{where} is {describe(view)}; expected a view such as RandomSplit() or Select([0, 1])")
    below, kernel = _without_kernel(clone(as_view(view)), kernel)
    check_kernel(kernel)
    # sums of products have no constant of their own; kernels of distances do not need one
    numbers = ArrayFeatures(
        bias="one" if kernel.kernel == "linear" else False, standardize=standardize and kernel.kernel != "precomputed"
    )

    def default(X: Any) -> View:
        found = default_view(X, one_row=True)
        return clone(numbers) if isinstance(found, ArrayFeatures) else found

    view = new_view(below, X, default)
    rows = view.fit_rows(X)
    members, names = view.members(rows, rng), view.view_names()
    if len(members) == 1:
        return [KernelView(name or names[0], [(view, None)], kernel)]
    own = names if name is None else [f"{name}/{part}" for part in names]
    return [KernelView(n, [(view, np.flatnonzero(member))], kernel) for n, member in zip(own, members)]


def _without_kernel(view: View, kernel: Kernel) -> tuple[Views | None, Kernel]:
    """Take a ``KernelFeatures`` out of the view: what is below it, and its kernel."""
    if isinstance(view, KernelFeatures):
        return view.view, Kernel(view.kernel, view.degree, view.coef0, view.gamma)
    if isinstance(view, WrappingView) and isinstance(view.view, View):
        view.view, kernel = _without_kernel(view.view, kernel)
    for part in _listed(view):
        if _without_kernel(clone(part), kernel)[1] is not kernel:
            raise InputError(
                "views has a list of views inside, of which one has a kernel of its own; a kernel compares all that "
                "is inside, so put it around the list, or the views of the list into views"
            )
    return view, kernel


def _listed(view: View) -> list[View]:
    """The parts of a list or dict of views."""
    views = view.views if isinstance(view, ConcatenatedViews) else view.view if isinstance(view, WrappingView) else None
    if isinstance(views, Mapping):
        return [part for part in views.values() if isinstance(part, View)]
    return [part for part in views if isinstance(part, View)] if isinstance(views, (list, tuple)) else []


def check_kernel(kernel: Kernel) -> None:
    """Refuse a kernel that does not exist."""
    check_kernel_name(kernel.kernel)
    for name in ("gamma", "degree", "coef0"):
        SHARED[name].check(name, getattr(kernel, name))


def stack_matrices(parts: Sequence[Matrix]) -> Matrix:
    """The rows of all parts, one after another."""
    return sp.csr_array(sp.vstack(parts)) if any(map(sp.issparse, parts)) else np.vstack(parts)


def _columns(matrix: Matrix, columns: np.ndarray) -> Matrix:
    return matrix[:, columns] if sp.issparse(matrix) else np.take(matrix, columns, axis=1)


def _matrix(rows: Rows) -> Matrix:
    """The rows as a matrix, dense if their table is."""
    plain = rows.extra is None and rows.slots.shape[1] == 1 and rows.base[0] == 0 and rows.stride[0] == 1
    if plain and isinstance(rows.table, np.ndarray):
        in_order = rows.table.shape[0] == rows.n_rows and np.array_equal(rows.slots[:, 0], np.arange(rows.n_rows))
        return rows.table if in_order else rows.table[rows.slots[:, 0]]
    return sp.csr_array(rows.matrix())
