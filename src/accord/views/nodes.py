"""Which nodes of a graph inputs stand for, as users say it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from accord.exceptions import InputError
from accord.views.frames import as_plain, column_values, is_frame
from accord.views.inputs import as_list, describe
from accord.views.links import Links, neighbours, node_name

NO_LINKS = Links([], [], np.empty(0))


class Nodes(NamedTuple):
    """The names of inputs' nodes, what is known of each (None: nothing is said here), and links that they bring."""

    names: list[str]
    own: Any
    links: Links


def numbered_nodes(X: Any) -> Nodes:
    """Inputs that are numbers of nodes."""
    try:
        numbers = np.asarray(X, np.float64).ravel()
    except (TypeError, ValueError):
        raise InputError(f"X is {describe(X)}; expected numbers of nodes, because they are rows of a table") from None
    return Nodes([node_name(number) for number in numbers], None, NO_LINKS)


def named_nodes(X: Any, key: Any, links: Any) -> Nodes:
    """Inputs of which an entry, or a column, is the name of the node, and perhaps another one its neighbours."""
    X = as_plain(X)
    found = _of_frame(X, key, links) if is_frame(X) else _of_list(X, key, links)
    names, own, others = found
    first = [name for name, some in zip(names, others) for _ in some]
    return Nodes(names, own, Links(first, [other for some in others for other in some], np.ones(len(first))))


def n_inputs(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _of_frame(X: Any, key: Any, links: Any) -> tuple[list[str], Any, list[list[str]]]:
    columns = list(X.columns)
    for column in (key, links):
        if column is not None and column not in columns:
            raise InputError(f"X has no column {column!r}; it has {', '.join(map(repr, columns[:10]))}")
    names = [node_name(value) for value in column_values(X[key])]
    others = [[]] * len(names) if links is None else list(map(_named, X[links].tolist(), names))
    return names, X[[column for column in columns if column not in (key, links)]], others


def _of_list(X: Any, key: Any, links: Any) -> tuple[list[str], Any, list[list[str]]]:
    names, own, others = [], [], []
    for i, x in enumerate(as_list(X, "a dict or tuple with the name of a node in it")):
        entries = x if isinstance(x, Mapping) else dict(enumerate(x)) if isinstance(x, (tuple, list)) else {}
        if key not in entries:
            raise InputError(f"X[{i}] is {describe(x)} and has no {key!r}, which is to hold the name of its node")
        names.append(node_name(entries[key]))
        others.append([] if links is None else _named(entries.get(links), names[-1]))
        rest = {entry: value for entry, value in entries.items() if entry not in (key, links)}
        one = not isinstance(x, Mapping) and len(rest) == 1
        own.append(next(iter(rest.values())) if one else rest if isinstance(x, Mapping) else tuple(rest.values()))
    return names, own, others


def _named(others: Any, name: str) -> list[str]:
    return [node_name(other) for other in neighbours(others, name)]
