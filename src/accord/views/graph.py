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

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from accord.exceptions import InputError
from accord.packed.rows import Rows, as_table
from accord.views.base import View
from accord.views.dense import ArrayFeatures
from accord.views.gram import check_memory, distinct_rows
from accord.views.kernel import KernelFeatures
from accord.views.neighbours import component_sizes, inverse_features, laplacian_product, neighbour_graph

_KERNELS = ("linear", "poly", "rbf")
_METHODS = ("regularised", "transductive")
_N_NEIGHBORS = {"regularised": 5, "transductive": 10}
_WEIGHTS = {"regularised": "heat", "transductive": "unit"}
_BLOCK = 4096  # rows of a table solved for at a time


class GraphFeatures(View):
    """Features whose inner products are a graph kernel of all inputs of ``fit``, labeled and unlabeled.

    Parameters
    ----------
    base : View, optional
        The view whose rows are the nodes of the graph; by default ``ArrayFeatures(bias=False)``. Equal rows are one
        node.
    kernel : {"rbf", "linear", "poly"} or callable, default="rbf"
        The base kernel of the regularised kernel, as for :class:`KernelFeatures`.
    method : {"regularised", "transductive"}, default="regularised"
        The regularised kernel extends to new inputs. The transductive kernel ``scale (L + shift I)^{-1}`` does not:
        all inputs that are ever to be predicted must be given to ``fit``, unlabeled.
    gamma, degree, coef0 : numbers
        Parameters of the base kernel.
    n_neighbors : int, optional
        Neighbours of a node, 5 (regularised) or 10 (transductive) by default; all other nodes if there are fewer. Nodes
        are joined if one is a neighbour of the other.
    weights : {"heat", "unit"}, optional
        Weights of the edges: ``exp(-distance^2 / width)``, the default of the regularised kernel, or 1, that of the
        transductive one.
    width : float, optional
        Of the heat weights. By default the mean squared distance of neighbours.
    ambient, intrinsic : float, default=0.1 and 0.9
        How much the norm of the base kernel and the smoothness on the graph count in the regularised kernel.
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

    Features of the transductive kernel differ in size: the constant on a connected component of ``c`` nodes has the
    value ``sqrt(scale / (shift c))``, 100 for 1000 nodes, and 3162 for a node without neighbours, where transitions and
    other features are about 1. One label therefore decides for a component without others. If the graph is connected,
    this constant is of no use, and perceptrons and the working-set solvers of support vector machines do not converge
    with it; give them ``shift=0.01``.

    Examples
    --------
    >>> import numpy as np
    >>> from accord.views import GraphFeatures
    >>> view = GraphFeatures(kernel="linear", n_neighbors=1, width=1.0)
    >>> phi = view.fit_rows([[0.0], [1.0], [3.0]]).matrix().toarray()
    >>> np.round(phi @ phi.T, 4)
    array([[ 0.    ,  0.    ,  0.    ],
           [ 0.    ,  2.012 ,  6.0359],
           [ 0.    ,  6.0359, 18.1076]])
    """

    def __init__(
        self,
        base: View | None = None,
        kernel: str | Callable[[Any, Any], np.ndarray] = "rbf",
        *,
        method: str = "regularised",
        gamma: float | None = None,
        degree: float = 2,
        coef0: float = 1.0,
        n_neighbors: int | None = None,
        weights: str | None = None,
        width: float | None = None,
        ambient: float = 0.1,
        intrinsic: float = 0.9,
        shift: float = 1e-6,
        scale: float = 10.0,
        n_landmarks: int | None = None,
        tol: float = 1e-10,
        random_state: Any = None,
    ) -> None:
        self.base = base
        self.kernel = kernel
        self.method = method
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.width = width
        self.ambient = ambient
        self.intrinsic = intrinsic
        self.shift = shift
        self.scale = scale
        self.n_landmarks = n_landmarks
        self.tol = tol
        self.random_state = random_state

    def fit_rows(self, X: Any) -> Rows:
        """Build the graph of the rows of ``X`` and return their features."""
        self._check_parameters()
        for name in ("map_", "factor_", "gamma_", "units_", "_table", "_places"):  # of another method, or an old fit
            self.__dict__.pop(name, None)
        self.base_: View = clone(self.base) if self.base is not None else ArrayFeatures(bias=False)
        rows = self.base_.fit_rows(X)
        units, inverse = distinct_rows(rows)
        if inverse.size == 0:
            raise InputError("X has no rows; a graph needs rows to join")
        heat = (self.weights or _WEIGHTS[self.method]) == "heat"
        n_neighbors = self.n_neighbors or _N_NEIGHBORS[self.method]
        self.graph_, self.width_ = neighbour_graph(units, n_neighbors, heat, self.width)
        table = self._fit_regularised(units) if self.method == "regularised" else self._fit_transductive(units)
        self.n_dims_ = table.shape[1]
        return _rows(table, inverse, rows.offsets, self.method == "transductive")

    def transform(self, X: Any) -> Rows:
        """Features of inputs; the transductive kernel knows those of ``fit`` only and refuses others."""
        check_is_fitted(self, "graph_")
        rows = self.base_.transform(X)
        units, inverse = distinct_rows(rows)
        if self.method == "regularised":
            return _rows(self._solved(_table(self.map_.transform(units))), inverse, rows.offsets)
        nodes = self._nodes(units)[inverse]
        unknown = np.flatnonzero(nodes < 0)
        if unknown.size:
            i = int(np.searchsorted(rows.offsets, unknown[0], side="right")) - 1
            raise InputError(
                f"X[{i}] has a row (number {unknown[0] - rows.offsets[i]}) that was not in fit; the transductive graph "
                "kernel is defined on the inputs of fit only. Use method='regularised', which extends to new inputs, "
                "or give all inputs to fit, those without output as unlabeled (None)"
            )
        return _rows(self._node_features(), nodes, rows.offsets, shared=True)

    def feature_names(self, features: Any) -> list[str]:
        """Features of a kernel have no meaning of their own: they are only numbered."""
        return [f"phi{int(f)}" for f in features]

    def _fit_regularised(self, units: Any) -> np.ndarray:
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
            block[...] = scipy.linalg.solve_triangular(self.factor_, block.T, lower=True).T
        return table

    def _fit_transductive(self, units: Any) -> Any:
        largest = int(component_sizes(self.graph_)[1].max())
        advice = "Use method='regularised' with n_landmarks, or fewer rows"
        check_memory(units.shape[0], largest, advice)
        self.units_ = units
        return self._node_features()

    def _node_features(self) -> Any:
        """The features of all nodes. They are made from the graph again when missing, so model files stay small."""
        if not hasattr(self, "_table"):
            self._table = as_table(inverse_features(self.graph_, self.shift, self.scale))
        return self._table

    def _nodes(self, units: Any) -> np.ndarray:
        """The node that each row is; -1 for none."""
        if not hasattr(self, "_places"):
            self._places = {key: node for node, key in enumerate(_contents(self.units_))}
        return np.array([self._places.get(key, -1) for key in _contents(units)], np.int64)

    def _check_parameters(self) -> None:
        if self.method not in _METHODS:
            raise InputError(f"method is {self.method!r}; expected 'regularised' or 'transductive'")
        if not callable(self.kernel) and self.kernel not in _KERNELS:
            raise InputError(
                f"kernel is {self.kernel!r}; expected one of {', '.join(_KERNELS)}, or a function: a graph needs "
                "rows to find neighbours of"
            )
        if self.weights not in (None, "heat", "unit"):
            raise InputError(f"weights is {self.weights!r}; expected 'heat', 'unit' or None")
        for name in ("n_neighbors", "n_landmarks"):
            value = getattr(self, name)
            whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
            if value is not None and not (whole and value >= 1):
                raise InputError(f"{name} is {value!r}; expected a whole number, 1 or more, or None")
        if self.n_landmarks is not None and self.method == "transductive":
            raise InputError("n_landmarks is for method='regularised'; the transductive kernel has no landmarks")
        for name in ("ambient", "shift", "scale", *(["width"] if self.width is not None else [])):
            if not _is_number(value := getattr(self, name)) or not value > 0:
                raise InputError(f"{name} is {value!r}; expected a positive number")
        if not _is_number(self.intrinsic) or self.intrinsic < 0:
            raise InputError(f"intrinsic is {self.intrinsic!r}; expected a number, 0 or more")


def _is_number(value: Any) -> bool:
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    return number and bool(np.isfinite(value))


def _table(rows: Rows) -> np.ndarray:
    """Features of units that were given one by one, and are distinct: the table, in their order."""
    table, slots = rows.table, rows.slots[:, 0]
    return table if np.array_equal(slots, np.arange(table.shape[0])) else table[slots]


def _contents(units: Any) -> list[bytes]:
    """What each row holds; equal for equal rows, dense or sparse."""
    matrix = sp.csr_array(units, copy=True)
    matrix.sort_indices()
    matrix.eliminate_zeros()
    indices = matrix.indices.astype(np.int32)
    return [indices[a:b].tobytes() + matrix.data[a:b].tobytes() for a, b in zip(matrix.indptr[:-1], matrix.indptr[1:])]


def _rows(table: Any, inverse: np.ndarray, offsets: np.ndarray, shared: bool = False) -> Rows:
    return Rows(
        table=table if shared else as_table(table),
        slots=inverse.astype(np.int32)[:, None],
        base=np.zeros(1, np.int64),
        stride=np.ones(1, np.int64),
        bounds=np.array([[0, table.shape[0]]], np.int64),
        offsets=np.asarray(offsets, np.int64),
        n_dims=table.shape[1],
        shared=shared,
    )
