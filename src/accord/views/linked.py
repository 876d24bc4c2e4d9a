"""Features that spread along links: what a paper cites, and is cited by, says what it is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from accord import memory
from accord.exceptions import InputError
from accord.forms import TEXT, any_of, array, fitted, items, optional, sparse
from accord.packed.rows import Rows
from accord.packed.tables import Table
from accord.settings import FLAG, FRACTION, either, one_of, whole
from accord.views.base import View
from accord.views.compose import Views, new_view
from accord.views.documents import TextFeatures
from accord.views.links import Links, read_links, spread
from accord.views.nodes import NO_LINKS, Nodes, n_inputs, named_nodes, numbered_nodes

STEPS = 10
RESTARTS = (0.05, 0.3)  # of walks that go far and of walks that stay near, side by side
# What a learner that can choose tries beside them, as steps and restart.
CHOICES = {"no links": (0, 0.0), "two steps": (2, 0.0)}
_SPARSE = 0.1  # rows with a smaller share of values that are not zero count things, such as words


@dataclass(eq=False, repr=False)
class LinkedFeatures(View):
    """Features of nodes of a graph and of the nodes around them.

    Give a learner all nodes, those without a label as None. What an input's node is, can be said in three ways: with
    ``table``, ``X`` has numbers of its rows; with ``key``, every input says its node's name; with neither, ``X[i]`` is
    node ``i``, and ``X`` must be the whole graph each time.

    Parameters
    ----------
    edges : list of pairs, dict, square matrix or path, optional
        Links between nodes: pairs of nodes, perhaps with a weight; a dict of each node's neighbours; weights of all
        pairs; or a file with two nodes on every line. Directions do not matter.
    view : View, list or dict of views, optional
        Features of a node on its own; by default those that suit its look.
    steps : int or "auto"
        How often features are passed on to neighbours. "auto": 10 times; a learner that can choose (`Classifier`) takes
        what is best on held-out labels: 10, 2 or none at all, for links that mislead.
    restart : float or "auto"
        Share of a node's own features in every step; more of it keeps features close to where they come from. "auto":
        features that went far, with 0.05, beside others that stayed near, with 0.3.
    table : matrix, DataFrame or list, optional
        What is known of every node. ``X`` then consists of row numbers, which can be split and drawn from at will.
    key : str or int, optional
        The entry of an input, or column of a table, that holds the name of its node; the rest is what is known of it.
    links : str or int, optional
        The entry or column that holds the names of its neighbours: a list, or text with blanks or commas in between.
        New nodes can bring their links this way.
    weighting : "auto", "idf" or None
        Count features less that many nodes have, as is done for words; "auto": where nodes have few of all features.
    n_components : int, optional
        Take so many principal directions of the nodes' own features, for graphs that do not fit into memory.

    Attributes
    ----------
    names_ : list of str
        Names of the nodes.
    graph_ : CSR array of shape (n_nodes, n_nodes)
        Weights of the links.
    n_dims_ : int
        Number of features; the last is constant.

    Notes
    -----
    ``H = own; repeat: H = (1 - restart) S H + restart own`` with ``S = D^-1/2 (A + I) D^-1/2``; then rows are scaled to
    length 1. New nodes, of which ``fit`` knew nothing, are put into the graph for as long as they are predicted.

    Examples
    --------
    >>> from accord import Classifier, LinkedFeatures
    >>> texts = ["red wine", "wine and cheese", "fast train", "train or bus", "list", "plan"]
    >>> edges = [(0, 1), (0, 4), (1, 4), (2, 3), (2, 5), (3, 5)]
    >>> model = Classifier(view=LinkedFeatures(edges, table=texts, steps=2, restart=0.1), random_state=0)
    >>> model = model.fit([0, 1, 2, 3, 4, 5], ["food", "food", "travel", "travel", None, None])
    >>> model.predict([4, 5]).tolist()
    ['food', 'travel']
    """

    edges: Any = None
    view: Views | None = None
    _: KW_ONLY
    steps: Any = "auto"
    restart: Any = "auto"
    table: Any = None
    key: Any = None
    links: Any = None
    weighting: str | None = "auto"
    n_components: int | None = None

    expects: ClassVar = {
        "steps": either(whole(0), "auto"),
        "restart": either(FRACTION, "auto"),
        "weighting": one_of("auto", "idf", None),
        "n_components": either(whole(1), None),
    }
    stored: ClassVar = {
        "view_": fitted("view split"),
        "names_": items(TEXT, "n_nodes", distinct=True),
        "graph_": sparse("n_nodes", "n_nodes"),
        "own_": any_of(array("f8", "n_nodes", "n_own"), sparse("n_nodes", "n_own")),
        "idf_": optional(array("f8", "view.n_dims")),
        "components_": optional(array("f8", "view.n_dims", "n_own")),
        "numbered_": FLAG,
    }
    agrees: ClassVar = {
        "n_dims_ is the number of features, and one": lambda self: (
            self.n_dims_ == len(self._restarts()) * self.own_.shape[1] + 1
        ),
        "graph_ has weights of links": lambda self: bool(np.all(self.graph_.data > 0.0)),
    }

    def choices(self) -> dict[str, View]:
        """Views to choose from on held-out labels, by name; none, if steps are set."""
        if self.steps != "auto":
            return {}
        return {
            name: clone(self).set_params(steps=steps, restart=restart if self.restart == "auto" else self.restart)
            for name, (steps, restart) in CHOICES.items()
        }

    def __sklearn_clone__(self) -> LinkedFeatures:
        """Shares the table and the links."""
        copied = self.get_params(deep=False)
        return type(self)(**{**copied, "view": None if self.view is None else clone(self.view)})

    def _saved(self) -> dict[str, Any]:
        """What model files hold: the graph and the features of its nodes, not what they were made from."""
        return {**vars(self), "table": None, "edges": None}

    # -- fitting ----------------------------------------------------------------------------------------------------
    def fit_rows(self, X: Any) -> Rows:
        """Learn the graph and the nodes' features, and return the rows of ``X``."""
        self._check_params()
        for name in ("_cached", "graph_", "idf_", "components_"):  # of an old fit
            self.__dict__.pop(name, None)
        self.numbered_ = self.table is not None
        nodes, given = self._nodes(X), read_links(self.edges)
        everyone = nodes
        if self.table is not None:
            everyone = Nodes([str(row) for row in range(n_inputs(self.table))], self.table, NO_LINKS)
        if len(set(everyone.names)) != len(everyone.names):
            raise InputError(f"X has node {_twice(everyone.names)!r} twice; expected every node once")
        self._check_ends(everyone, given)
        self.view_ = new_view(self.view, everyone.own, self._default)
        rows = self.view_.fit_rows(everyone.own)
        if rows.n_rows != rows.n_inputs:
            raise InputError("a node has several rows of features; links join whole inputs, not tokens")
        places = _places([*everyone.names, *given.ends(), *everyone.links.ends()])
        self.names_, self.graph_ = list(places), given.joined(everyone.links).graph(places)
        own = self._weighted(sp.csr_array(rows.matrix()), fitting=True)
        self.own_ = _resized(own, len(self.names_))
        table = self._spread(self.graph_, self.own_)
        self.n_dims_ = table.shape[1] + 1
        self._cached = self._with_bias(table)
        units = np.array([places[name] for name in nodes.names], np.int64)
        return Rows.of_units(self._cached, units, np.arange(units.size + 1), shared=True)

    def _check_ends(self, nodes: Nodes, given: Links) -> None:
        """Links must be about some of the nodes, and where nodes are numbers of rows, lead nowhere else."""
        known = set(nodes.names)
        if not given.first or (self.key is not None and not known.isdisjoint(given.ends())):
            return
        if self.key is not None:
            raise InputError(
                f"edges has no node of X: it has {given.first[0]!r}, {given.second[0]!r} and others, X has "
                f"{', '.join(map(repr, nodes.names[:2]))} and others. Is {self.key!r} where the names are (key=)?"
            )
        unknown = next((name for name in given.ends() if name not in known), None)
        if unknown is not None:
            raise InputError(
                f"edges has node {unknown!r}, but nodes are 0 to {len(nodes.names) - 1}. Give all of them to fit, "
                "those without a label as None; or name them: key=, or table= and numbers as X"
            )

    def _weighted(self, matrix: sp.csr_array, fitting: bool = False) -> Table:
        """Own features: without constants, rare ones raised, of length 1, in fewer directions if that is asked for."""
        constant = self.view_.constant_features()
        if constant.size:
            kept = np.ones(matrix.shape[1])
            kept[constant] = 0.0
            matrix = matrix.multiply(kept).tocsr()
            matrix.eliminate_zeros()
        if fitting and self._counts(matrix):
            frequency = np.bincount(matrix.indices, minlength=matrix.shape[1])
            self.idf_ = np.log(matrix.shape[0] / np.maximum(frequency, 1.0)) + 1e-3
        if getattr(self, "idf_", None) is not None:
            matrix = matrix.multiply(self.idf_).tocsr()
        matrix = _unit_rows(matrix)
        if fitting and self.n_components is not None and self.n_components < min(matrix.shape):
            from sklearn.utils.extmath import randomized_svd

            self.components_ = randomized_svd(matrix, self.n_components, random_state=0)[2].T.copy()
        return matrix if getattr(self, "components_", None) is None else matrix @ self.components_

    def _counts(self, matrix: sp.csr_array) -> bool:
        if self.weighting != "auto":
            return self.weighting == "idf"
        few = matrix.nnz <= _SPARSE * matrix.shape[0] * matrix.shape[1]
        return few and matrix.data.min(initial=0.0) >= 0.0 and not isinstance(self.view_, TextFeatures)

    def _spread(self, graph: sp.csr_array, own: Table) -> Table:
        steps, restarts = STEPS if self.steps == "auto" else self.steps, self._restarts()
        if steps:
            needed = 8.0 * own.shape[0] * own.shape[1] * len(restarts)
            memory.check({"features of nodes": needed}, "Use n_components, or fewer steps")
        found = [_unit_rows(spread(graph, own, steps, restart)) for restart in restarts]
        if len(found) == 1:
            return found[0]
        beside = np.hstack(found) if isinstance(own, np.ndarray) else sp.hstack(found, "csr")
        return beside * len(found) ** -0.5

    def _restarts(self) -> tuple[float, ...]:
        return (0.0,) if self.steps == 0 else RESTARTS if self.restart == "auto" else (self.restart,)

    def _with_bias(self, table: Table) -> Table:
        constant = np.ones((table.shape[0], 1))  # as long as the row itself: scores are not drawn to zero by it
        return np.hstack([table, constant]) if isinstance(table, np.ndarray) else sp.hstack([table, constant], "csr")

    # -- using ------------------------------------------------------------------------------------------------------
    def add_links(self, edges: Any) -> LinkedFeatures:
        """Join further links to the fitted graph, also such of nodes to come; the view is changed and returned."""
        check_is_fitted(self, "graph_")
        given = read_links(edges)
        places = _places([*self.names_, *given.ends()])
        n_known = len(self.names_)
        if self.key is None and len(places) > n_known:
            new = list(places)[n_known]
            raise InputError(f"edges has node {new!r}; without key=, nodes are those of fit, 0 to {n_known - 1}")
        joined = sp.csr_array(_resized(self.graph_, len(places), square=True)).maximum(given.graph(places))
        self.names_, self.graph_, self.own_ = list(places), sp.csr_array(joined), _resized(self.own_, len(places))
        self.__dict__.pop("_cached", None)
        return self

    def transform(self, X: Any) -> Rows:
        """Rows of nodes; new ones are joined to the graph by the links that they bring."""
        check_is_fitted(self, "graph_")
        nodes = self._nodes(X)
        places = _places(self.names_)
        if nodes.own is None:
            unknown = next((name for name in nodes.names if name not in places), None)
            if unknown is not None:
                raise InputError(f"X has node {unknown!r}, which fit did not have; there are {len(places)} nodes")
            own = None
        else:
            own = self._weighted(sp.csr_array(self.view_.transform(nodes.own).matrix()))
        if own is None or self._is_known(nodes, own, places):
            units = np.array([places[name] for name in nodes.names], np.int64)
            return Rows.of_units(self._table(), units, np.arange(units.size + 1), shared=True)
        table, units = self._extended(nodes, own, places)
        return Rows.of_units(self._with_bias(table)[units], np.arange(units.size), np.arange(units.size + 1))

    def _is_known(self, nodes: Nodes, own: Table, places: Mapping[str, int]) -> bool:
        """Whether these nodes are as they were in ``fit``."""
        if nodes.links.first or any(name not in places for name in nodes.names):
            return False
        before = self.own_[[places[name] for name in nodes.names]]
        change = abs(own - before)
        return bool(change.max() <= 1e-12) if change.shape[0] else True

    def _extended(self, nodes: Nodes, own: Table, places: dict[str, int]) -> tuple[Table, np.ndarray]:
        """Features of all nodes with new ones among them, and where those that were asked for are."""
        n_known = len(places)
        places = _places([*places, *nodes.names, *nodes.links.ends()])
        more = nodes.links.graph(places)
        graph = sp.csr_array(_resized(self.graph_, len(places), square=True)).maximum(more)
        units = np.array([places[name] for name in nodes.names], np.int64)
        everyone = _resized(self.own_, len(places))
        if isinstance(everyone, np.ndarray):
            everyone = everyone.copy() if len(places) == n_known else everyone
            everyone[units] = own
        else:
            kept = np.ones(len(places))
            kept[units] = 0.0
            moved = sp.csr_array((np.ones(units.size), (units, np.arange(units.size))), (len(places), units.size))
            everyone = sp.csr_array(everyone.multiply(kept[:, None]) + moved @ own)
        return self._spread(graph, everyone), units

    def _table(self) -> Table:
        """Features of all nodes. They are made from the graph again when missing, so model files stay small."""
        if not hasattr(self, "_cached"):
            self._cached = self._with_bias(self._spread(self.graph_, self.own_))
        return self._cached

    def _extend(self, X: Any) -> Rows:
        return self.transform(X)

    def feature_names(self, features: Iterable[int]) -> list[str]:
        """Those of the nodes' own view, twice if they went far and stayed near."""
        check_is_fitted(self, "graph_")
        if getattr(self, "components_", None) is not None:
            names = [f"direction{k}" for k in range(self.components_.shape[1])]
        else:
            names = list(self.view_.feature_names(range(self.view_.n_dims_)))
        ways = [""] if len(self._restarts()) == 1 else ["far:", "near:"]
        names = [*(way + name for way in ways for name in names), "bias"]
        return [names[int(f)] for f in features]

    def constant_features(self) -> np.ndarray:
        """The last one."""
        return np.array([self.n_dims_ - 1])

    def _nodes(self, X: Any) -> Nodes:
        """The nodes of ``X``: numbers of rows of the table, inputs with names, or all nodes in their order."""
        if self.key is not None:
            return named_nodes(X, self.key, self.links)
        if self.table is not None or getattr(self, "numbered_", False):
            return numbered_nodes(X)
        n = n_inputs(X)
        if hasattr(self, "graph_") and n != len(self.names_):
            raise InputError(
                f"X has {n} inputs, and the graph {len(self.names_)} nodes. Without key or table X[i] is node i, and "
                "all nodes must be given; or give table= and numbers of nodes as X, or key="
            )
        return Nodes([str(i) for i in range(n)], X, NO_LINKS)


def _twice(names: list[str]) -> str:
    seen: set[str] = set()
    return next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]


def _places(names: Iterable[str]) -> dict[str, int]:
    return {name: place for place, name in enumerate(dict.fromkeys(names))}


def _resized(matrix: Table, n: int, square: bool = False) -> Table:
    """The matrix with as many rows (and columns) as there are nodes; nothing is known of those at the end."""
    if isinstance(matrix, np.ndarray):
        return np.vstack([matrix, np.zeros((n - matrix.shape[0], matrix.shape[1]))]) if n > matrix.shape[0] else matrix
    copied = sp.csr_array(matrix, copy=True)
    copied.resize(n, n if square else matrix.shape[1])
    return copied


def _unit_rows(matrix: Table) -> Table:
    if isinstance(matrix, np.ndarray):
        lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
        return np.divide(matrix, lengths, out=np.zeros_like(matrix), where=lengths > 0.0)
    lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0.0)
    return sp.csr_array(matrix.multiply(scale[:, None]))
