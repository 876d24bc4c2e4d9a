"""Graph kernels as explicit features: functions that change little between neighbours have a small norm.

Both kernels stand on the Laplacian ``L`` of a nearest-neighbour graph of the parts (rows) of labeled and unlabeled
inputs. *Regularised* [Altun, McAllester & Belkin 2006, eqs. 8-15]: ``k~(x, z) = k_x' Q^{-1} k_z`` with
``Q = a K + b K L K``, where ``k_x`` has the base kernel between ``x`` and all parts. With features ``F`` of the base
kernel, ``K = F F'``, this is ``phi(x)' (a I + b F' L F)^{-1} phi(z)``: no inverse of ``K``, and with the factor
``R R' = a I + b F' L F`` the new features are ``R^{-1} phi(x)``, also of inputs that were not there in ``fit``.
*Transductive* [Lafferty, Zhu & Liu 2004; thesis, Section 7.4.3]: ``s (L + r I)^{-1}``, defined on the parts of the
graph and nowhere else.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from accord.exceptions import InputError
from accord.forms import any_of, array, fitted, optional, sparse
from accord.packed.rows import Rows
from accord.packed.tables import Table, as_table
from accord.settings import FRACTION, NOT_NEGATIVE, POSITIVE, Expected, either, one_of, renamed, whole
from accord.views.gram import Units, check_memory, contents, distinct_rows
from accord.views.kernel import ComparedRows, KernelFeatures, check_finite
from accord.views.links import Links, read_links
from accord.views.neighbours import component_sizes, inverse_features, laplacian_product, neighbour_graph

_KERNELS = ("linear", "poly", "rbf")
_METHODS = ("regularised", "transductive")
_N_NEIGHBORS = {"regularised": 5, "transductive": 10}
_EDGES = {"regularised": "mutual", "transductive": "either"}
_WEIGHTS = {"regularised": "heat", "transductive": "unit"}
_JOINED = ("mutual", "either")
_BLOCK = 4096  # rows of a table solved for at a time


@renamed(base="view", base_="view_")
@dataclass(eq=False, repr=False)
class GraphFeatures(ComparedRows):
    """Features whose inner products are a graph kernel of all inputs of ``fit``, labeled and unlabeled.

    Parameters
    ----------
    view : View, list or dict of views, optional
        The view whose rows are the nodes of the graph; by default the one that suits the inputs, for numbers
        ``ArrayFeatures(bias=False)``. Equal rows are one node. Up to version 0.1 it was called ``base``.
    kernel : {"rbf", "linear", "poly"} or callable, default="rbf"
        The base kernel of the regularised kernel, as for :class:`KernelFeatures`.
    method : {"regularised", "transductive"}, default="regularised"
        The regularised kernel extends to new inputs. The transductive kernel ``scale (L + shift I)^{-1}`` does not:
        all inputs that are ever to be predicted must be given to ``fit``, unlabeled.
    gamma, degree, coef0 : numbers
        Parameters of the base kernel.
    n_neighbors : int, optional
        Neighbours of a node, 5 (regularised) or 10 (transductive) by default; all other nodes if there are fewer.
    edges : {"mutual", "either"}, or links, optional
        Join two nodes if each is a neighbour of the other, as the paper does and the default of the regularised kernel;
        or if one is, the default of the transductive one. Model files that do not say it have ``"either"``.
        Or join those that are known to belong together: pairs of rows of ``X`` in ``fit`` by number (tokens of
        sequences are rows, counted through), perhaps with a weight, or what else `LinkedFeatures` takes. Then
        `n_neighbors`, `weights` and `width` have nothing to say.
    weights : {"heat", "unit"}, optional
        Weights of the edges: ``exp(-distance^2 / width)``, the default of the regularised kernel, or 1, that of the
        transductive one.
    width : float, optional
        Of the heat weights. By default the mean squared distance of neighbours.
    ambient, intrinsic : float, default=0.1 and 0.9
        How much the norm of the base kernel and the smoothness on the graph count in the regularised kernel. They are
        for these features alone: transitions and other features of a structure keep their norm, see Notes.
    shift, scale : float, default=1e-6 and 10
        Of the transductive kernel.
    n_landmarks : int, optional
        Take base features from this many nodes drawn at random (Nyström): memory and time then grow linearly with the
        number of nodes. The graph still has all of them. By default the regularised kernel is exact.
    tol : float, default=1e-10
        Directions whose share of the base kernel's largest value is below this are left out.
    random_state : int, RandomState or None
        Draws the landmarks.

    Attributes
    ----------
    graph_ : CSR array of shape (n_nodes, n_nodes)
        Weights of the edges. Nodes are numbered by first occurrence.
    width_, gamma_ : float
        In use; ``gamma_`` for the regularised kernel only.
    n_dims_ : int
        Number of features.

    Notes
    -----
    Equal rows are one node however often they occur, as in the paper, whose parts are a set. As nodes of their own,
    copies would be each other's nearest neighbours, and a frequent word would be cut off from all others.

    Mutual edges leave out those from a point far from a dense region to the nearest points there, so that more of them
    join equal classes. The price is nodes without any edge. In the regularised kernel nothing smooths a function there:
    they have the base kernel, divided by ``ambient``, and are predicted from what is similar to them. The transductive
    kernel is zero between such a node and all others, so that nothing is known of it but what neighbours in the output
    say. Its default therefore joins every node with something.

    The paper's ``Q`` is over all parts, pairs of labels among them. Read literally, its ``ambient`` also divides the
    kernel of transitions, which have no graph. That machine is ``Sequence(transition_weight=ambient**-0.5)``.

    Features of the transductive kernel differ in size: the constant on a connected component of ``c`` nodes has the
    value ``sqrt(scale / (shift c))``, 100 for 1000 nodes, and 3162 for a node without neighbours, where transitions and
    other features are about 1. One label therefore decides for a component without others. If the graph is connected,
    this constant is of no use, and perceptrons and the working-set solvers of support vector machines do not converge
    with it; give them ``shift=0.01``.

    Examples
    --------
    >>> import numpy as np
    >>> from accord import GraphFeatures
    >>> view = GraphFeatures(kernel="linear", n_neighbors=1, width=1.0)
    >>> phi = view.fit_rows([[0.0], [1.0], [3.0]]).matrix().toarray()
    >>> np.round(phi @ phi.T, 4)
    array([[ 0.    ,  0.    ,  0.    ],
           [ 0.    ,  2.3197,  6.9591],
           [ 0.    ,  6.9591, 20.8772]])
    """

    _: KW_ONLY
    method: str = "regularised"
    n_neighbors: int | None = None
    edges: Any = None
    weights: str | None = None
    width: float | None = None
    ambient: float = 0.1
    intrinsic: float = 0.9
    shift: float = 1e-6
    scale: float = 10.0
    n_landmarks: int | None = None

    expects: ClassVar = {
        "method": one_of(*_METHODS),
        "edges": Expected(
            '"mutual", "either", None, or links: pairs of rows, a square matrix or a file',
            lambda value: not isinstance(value, str) or value in _JOINED or Path(value).is_file(),
        ),
        "weights": one_of("heat", "unit", None),
        "gamma": either(POSITIVE, None),
        "n_neighbors": either(whole(1), None),
        "n_landmarks": either(whole(1), None),
        "width": either(POSITIVE, None),
        "ambient": POSITIVE,
        "shift": POSITIVE,
        "intrinsic": NOT_NEGATIVE,
        "tol": FRACTION,
    }
    former: ClassVar = {"edges": "either"}  # what files of earlier versions, which do not say it, mean
    stored: ClassVar = {
        "view_": fitted("view split"),
        "graph_": sparse("n_nodes", "n_nodes"),
        "width_": NOT_NEGATIVE,
        "map_": optional(fitted("KernelFeatures")),
        "factor_": optional(array("f8", "n_dims", "n_dims")),
        "units_": optional(any_of(array("f8", "n_nodes", "view.n_dims"), sparse("n_nodes", "view.n_dims"))),
    }
    agrees: ClassVar = {
        "map_ and factor_ are there, or units_": lambda self: (
            hasattr(self, "map_") and hasattr(self, "factor_") and self.map_.n_dims_ == self.n_dims_
            if self.method == "regularised"
            else hasattr(self, "units_") and self._node_features().shape[1] == self.n_dims_
        ),
        "factor_ has a positive diagonal": lambda self: (
            getattr(self, "factor_", None) is None or bool(np.all(np.diagonal(self.factor_) > 0.0))
        ),
    }

    def fit_rows(self, X: Any) -> Rows:
        """Build the graph of the rows of ``X`` and return their features."""
        self._check_params()
        for name in ("map_", "factor_", "gamma_", "units_", "_table", "_places"):  # of another method, or an old fit
            self.__dict__.pop(name, None)
        units = self._fit_units(X)
        if units.numbers.size == 0:
            raise InputError("X has no rows; a graph needs rows to join")
        self.graph_, self.width_ = self._graph(units)
        fit = self._fit_regularised if self.method == "regularised" else self._fit_transductive
        table = fit(units.matrix)
        self.n_dims_ = table.shape[1]
        return units.rows(table, self.method == "transductive")

    def _graph(self, units: Units) -> tuple[sp.csr_array, float]:
        """Weights of the edges between distinct rows, given or found, and the width of the heat."""
        edges = _EDGES[self.method] if self.edges is None else self.edges
        if isinstance(edges, str) and edges in _JOINED:
            heat = (self.weights or _WEIGHTS[self.method]) == "heat"
            n_neighbors = self.n_neighbors or _N_NEIGHBORS[self.method]
            return neighbour_graph(units.matrix, n_neighbors, edges == "mutual", heat, self.width)
        given, n_rows = read_links(edges), units.numbers.size
        rows = {str(row): str(unit) for row, unit in enumerate(units.numbers)}
        unknown = next((name for name in given.ends() if name not in rows), None)
        if unknown is not None:
            raise InputError(f"edges has node {unknown!r}; expected numbers of rows of X, 0 to {n_rows - 1}")
        renamed = Links([rows[name] for name in given.first], [rows[name] for name in given.second], given.weights)
        return renamed.graph({str(unit): unit for unit in range(units.matrix.shape[0])}), 0.0

    def _saved(self) -> dict[str, Any]:
        """What model files hold: the graph, not the links that it was made from."""
        return {**vars(self), "edges": self.edges if isinstance(self.edges, str) and self.edges in _JOINED else None}

    def transform(self, X: Any) -> Rows:
        """Features of inputs; the transductive kernel knows those of ``fit`` only and refuses others."""
        check_is_fitted(self, "graph_")
        units = distinct_rows(self.view_.transform(X))
        if self.method == "regularised":
            return units.rows(self._solved(_table(self.map_.transform(units.matrix))))
        units = units._replace(numbers=self._nodes(units.matrix)[units.numbers])
        unknown = np.flatnonzero(units.numbers < 0)
        if unknown.size:
            i = int(np.searchsorted(units.offsets, unknown[0], side="right")) - 1
            raise InputError(
                f"X[{i}] has a row (number {unknown[0] - units.offsets[i]}) that was not in fit; the transductive "
                "graph kernel is defined on the inputs of fit only. Use method='regularised', which extends to new "
                "inputs, or give all inputs to fit, those without output as unlabeled (None)"
            )
        return units.rows(self._node_features(), shared=True)

    def _fit_regularised(self, units: Table) -> np.ndarray:
        n, m = units.shape[0], self.n_landmarks
        if m is None:
            check_memory(n, n, "Use n_landmarks, or fewer rows", copies=5)
        else:
            check_memory(n, min(n, m), "Use a smaller n_landmarks, or fewer rows")
        self.map_ = KernelFeatures(
            kernel=self.kernel,
            degree=self.degree,
            gamma=self.gamma,
            coef0=self.coef0,
            method="cholesky" if m is None else "nystroem",
            n_components=m,
            tol=self.tol,
            random_state=self.random_state,
        )
        table = _table(self.map_.fit_rows(units))
        self.gamma_ = self.map_.gamma_
        norm = self.intrinsic * laplacian_product(self.graph_, table)
        norm[np.diag_indices_from(norm)] += self.ambient
        self.factor_ = scipy.linalg.cholesky(norm, lower=True, overwrite_a=True)
        return self._solved(table)

    def _solved(self, table: np.ndarray) -> np.ndarray:
        """The features of the graph kernel from those of the base kernel, in the same place."""
        for start in range(0, table.shape[0], _BLOCK):
            block = table[start : start + _BLOCK]
            block[...] = scipy.linalg.solve_triangular(self.factor_, check_finite(block).T, lower=True).T
        return table

    def _fit_transductive(self, units: Table) -> Table:
        largest = int(component_sizes(self.graph_)[1].max())
        advice = "Use method='regularised' with n_landmarks, or fewer rows"
        check_memory(units.shape[0], largest, advice)
        self.units_ = units
        return self._node_features()

    def _node_features(self) -> Table:
        """The features of all nodes. They are made from the graph again when missing, so model files stay small."""
        if not hasattr(self, "_table"):
            self._table = as_table(inverse_features(self.graph_, self.shift, self.scale))
        return self._table

    def _nodes(self, units: Table) -> np.ndarray:
        """The node that each row is; -1 for none."""
        if not hasattr(self, "_places"):
            self._places = {key: node for node, key in enumerate(contents(sp.csr_array(self.units_, copy=True)))}
        found = [self._places.get(key, -1) for key in contents(sp.csr_array(units, copy=True))]
        return np.array(found, np.int64)

    def _check_params(self) -> None:
        super()._check_params()
        if not callable(self.kernel) and self.kernel not in _KERNELS:
            raise InputError(
                f"kernel is {self.kernel!r}; expected one of {', '.join(_KERNELS)}, or a function: a graph needs "
                "rows to find neighbours of"
            )
        if self.n_landmarks is not None and self.method == "transductive":
            raise InputError("n_landmarks is for method='regularised'; the transductive kernel has no landmarks")


def _table(rows: Rows) -> np.ndarray:
    """Features of units that were given one by one, and are distinct: the table, in their order."""
    table, slots = rows.table, rows.slots[:, 0]
    return table if np.array_equal(slots, np.arange(table.shape[0])) else table[slots]
