"""Links between nodes: how users give them, and features that spread along them."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from accord.datasets.formats.source import iter_lines, source_name
from accord.exceptions import FormatError, InputError
from accord.packed.tables import Table
from accord.views.inputs import describe

_EXPECTED = (
    "expected pairs of nodes, perhaps with a weight, a dict of each node's neighbours, a square matrix, or a file with "
    "two nodes on every line"
)


class Links(NamedTuple):
    """Pairs of nodes, by name, and their weights."""

    first: list[str]
    second: list[str]
    weights: np.ndarray

    def ends(self) -> list[str]:
        """The nodes, as often as they have links."""
        return [*self.first, *self.second]

    def joined(self, others: Links) -> Links:
        """These and others."""
        weights = np.concatenate([self.weights, others.weights])
        return Links(self.first + others.first, self.second + others.second, weights)

    def graph(self, places: Mapping[str, int]) -> sp.csr_array:
        """Weights (n_nodes, n_nodes) of the links in both directions; the larger one counts for both."""
        n = len(places)
        ends = [np.fromiter(map(places.__getitem__, side), np.int64, len(side)) for side in (self.first, self.second)]
        kept = (ends[0] != ends[1]) & (self.weights > 0.0)
        pairs = sp.csr_array((self.weights[kept], (ends[0][kept], ends[1][kept])), shape=(n, n))
        return sp.csr_array(pairs.maximum(pairs.T))


def read_links(edges: Any) -> Links:
    """Links from whatever holds them."""
    if edges is None:
        return Links([], [], np.empty(0))
    if isinstance(edges, (str, PathLike)):
        return _from_file(edges)
    if sp.issparse(edges) or (isinstance(edges, np.ndarray) and edges.ndim == 2 and edges.shape[1] not in (2, 3)):
        return _from_matrix(edges)
    if isinstance(edges, Mapping):
        pairs: Any = [(node, other) for node, others in edges.items() for other in neighbours(others, node)]
    elif isinstance(edges, (Sequence, np.ndarray, set, frozenset)) or hasattr(edges, "__iter__"):
        pairs = list(edges)
    else:
        raise InputError(f"edges is {describe(edges)}; {_EXPECTED}")
    return _from_pairs(pairs)


def neighbours(others: Any, node: Any) -> list[Any]:
    """The neighbours of a node: a list, or a text with blanks, commas or semicolons between them."""
    if isinstance(others, str):
        return others.replace(",", " ").replace(";", " ").split()
    if others is None or isinstance(others, float):  # a missing value of a table
        return []
    if isinstance(others, (Sequence, np.ndarray, set, frozenset)):
        return list(others)
    raise InputError(f"the links of node {node!r} are {describe(others)}; expected a list of nodes, or text")


def node_name(node: Any) -> str:
    """Nodes are named by strings; numbers of rows by their digits."""
    if isinstance(node, str):
        return node
    if isinstance(node, (int, np.integer)) and not isinstance(node, (bool, np.bool_)):
        return str(int(node))
    if isinstance(node, (float, np.floating)) and float(node).is_integer():
        return str(int(node))
    raise InputError(f"{describe(node)} is no node; expected a name or a number")


def _from_pairs(pairs: list[Any]) -> Links:
    first, second, weights = [], [], []
    for i, pair in enumerate(pairs):
        if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) not in (2, 3):
            raise InputError(f"edges[{i}] is {describe(pair)}; {_EXPECTED}")
        first.append(node_name(pair[0]))
        second.append(node_name(pair[1]))
        try:
            weights.append(float(pair[2]) if len(pair) == 3 else 1.0)
        except (TypeError, ValueError):
            weights.append(np.nan)
        if not (0.0 <= weights[-1] < np.inf):
            raise InputError(f"edges[{i}] has the weight {describe(pair[2])}; expected a number that is not negative")
    return Links(first, second, np.array(weights))


def _from_matrix(edges: Any) -> Links:
    matrix = sp.coo_array(edges)
    if matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"edges is a matrix of shape {matrix.shape}; expected a square one, or pairs of nodes")
    values = matrix.data.astype(np.float64)
    if not np.all(np.isfinite(values) & (values >= 0.0)):
        raise InputError("edges has values that are negative or not finite; expected weights of links")
    rows, columns = matrix.coords
    return Links(list(map(str, rows.tolist())), list(map(str, columns.tolist())), values)


def _from_file(path: str | PathLike[str]) -> Links:
    """Two nodes on every line, and perhaps a weight, with tabs, commas or blanks between them.

    # begins a comment; a first line with a word for the weight names columns.
    """
    first, second, weights = [], [], []
    name = source_name(path)
    for number, line in enumerate(iter_lines(path), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = line.split("\t") if "\t" in line else next(csv.reader([line])) if "," in line else line.split()
        try:
            weight = float(fields[2]) if len(fields) == 3 else 1.0
        except ValueError:
            if number == 1:
                continue
            weight = np.nan
        if len(fields) not in (2, 3) or not 0.0 <= weight < np.inf:
            raise FormatError(f"{line[:60]!r} is not two nodes and perhaps a weight", name, number)
        first.append(fields[0].strip())
        second.append(fields[1].strip())
        weights.append(weight)
    if not first:
        raise FormatError("the file has no links; expected two nodes on every line", name)
    return Links(first, second, np.array(weights))


def spread(graph: sp.csr_array, own: Table, steps: int, restart: float) -> Table:
    """Features of nodes and of those near them: ``steps`` times ``(1 - restart) S H + restart own``.

    ``S`` is the normalised adjacency ``D^-1/2 (A + I) D^-1/2``. Without restart these are the steps of simplified graph
    convolutions [Wu et al. 2019]; with it, personalised page-rank [Klicpera et al. 2019], cut off.
    """
    with_self = sp.csr_array(graph + sp.eye_array(graph.shape[0], format="csr"))
    root = 1.0 / np.sqrt(np.asarray(with_self.sum(axis=1)).ravel())
    normalised = sp.csr_array(with_self.multiply(root[:, None]).multiply(root[None, :]))
    found = own
    for _ in range(steps):
        found = (1.0 - restart) * (normalised @ found) + restart * own if restart else normalised @ found
    return found
