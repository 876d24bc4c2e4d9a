"""Checks of X and Y that every learner makes, with errors that say where and what to do."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning

from accord.exceptions import InputError
from accord.packed.rows import Rows
from accord.packed.structure import Structure
from accord.packed.tables import as_csr
from accord.registry import ASKED, CAPABILITIES, TABLE, entry_of, learners_for
from accord.settings import example_weights
from accord.views import compose, default
from accord.views.base import View
from accord.views.dicts import DictFeatures
from accord.views.documents import TextFeatures
from accord.views.frames import as_plain, is_missing, text_columns
from accord.views.select import Select

LISTS = (list, tuple, np.ndarray)


def count(X: Any) -> int:
    """Number of inputs in a list, array, sparse matrix or DataFrame."""
    X = as_inputs(X)
    shape = getattr(X, "shape", None)
    if shape and not isinstance(X, memoryview):
        return int(shape[0])
    if isinstance(X, (str, bytes, Mapping, Set, memoryview)) or shape == () or not hasattr(X, "__len__"):
        raise InputError(f"X is a {type(X).__name__}; expected a list of inputs, an array, or a DataFrame")
    return len(X)


def as_inputs(X: Any) -> Any:
    """Inputs or outputs that can be indexed: columns and tables of others (see ``frames``), and what only says how to
    make an array of it."""
    X = as_plain(X)
    return np.asarray(X) if hasattr(X, "__array__") and not hasattr(X, "__len__") and not hasattr(X, "shape") else X


def take(X: Any, chosen: np.ndarray | list[int]) -> Any:
    """Some inputs of a list, a matrix or a DataFrame."""
    X = as_inputs(X)
    if hasattr(X, "iloc"):
        return X.iloc[chosen]
    if sp.issparse(X):
        return as_csr(X)[chosen]
    return X[chosen] if hasattr(X, "shape") else [X[i] for i in chosen]


def output_list(X: Any, Y: Any, structure: Any = None) -> list[Any]:
    """One output per input, as a list, with None for every unlabeled one and for every token without a label.

    The ``structure`` says whether a column of labels is meant, and whether some label means "unlabeled".
    """
    if Y is None:
        raise InputError(
            "fit requires y to be passed, but the target y is None: pass a list with one output per input, and None "
            "only for unlabeled ones"
        )
    Y = as_inputs(Y)
    if getattr(structure, "single_row", False):
        Y = _one_column(Y)
    if isinstance(Y, (str, bytes, Mapping, Set)) or not hasattr(Y, "__len__"):
        raise InputError(f"Y is a {type(Y).__name__}; expected a list with one output per input")
    if count(X) != len(Y):
        raise InputError(f"X has {count(X)} inputs but Y has {len(Y)} outputs; they must pair up")
    outputs = [None if is_unlabeled(y) else y for y in Y]
    no_label = getattr(structure, "unlabeled", None)
    if no_label is not None:
        outputs = [None if not isinstance(y, LISTS) and y == no_label else y for y in outputs]
    try:
        distinct = set().union(*(y for y in outputs if isinstance(y, LISTS)))
    except TypeError:  # refused by check_outputs
        return outputs
    if any(label is not None and is_unlabeled(label) for label in distinct):
        # what a DataFrame makes of None inside a sequence becomes None again
        return [[None if is_unlabeled(t) else t for t in y] if isinstance(y, LISTS) else y for y in outputs]
    return outputs


def _one_column(Y: Any) -> Any:
    """Labels in a column, which scikit-learn warns of, as a list of labels."""
    values = Y.to_numpy() if hasattr(Y, "columns") and hasattr(Y, "to_numpy") else Y
    if isinstance(values, np.ndarray) and values.ndim == 2 and values.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected: Y has one column, which is taken for the "
            "labels; give Y[:, 0]",
            DataConversionWarning,
            stacklevel=5,
        )
        return values[:, 0]
    return values


def labeled_inputs(outputs: Sequence[Any], weights: np.ndarray | None = None) -> np.ndarray:
    """Numbers of the inputs with labels, and a weight above 0: a sequence of nothing but None has none."""
    found = np.array([i for i, y in enumerate(outputs) if not (y is None or _is_hidden(y))], dtype=np.int64)
    return found if weights is None else found[weights[found] > 0.0]


def numbers(X: Any, Y: Any, sample_weight: Any, structure: Any) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the labeled inputs that count, and of the unlabeled ones."""
    outputs = output_list(X, Y, structure)
    return labeled_inputs(outputs, example_weights(sample_weight, len(outputs))), unlabeled_inputs(X, outputs)


def unlabeled_inputs(X: Any, Y: Any, structure: Any = None) -> np.ndarray:
    """Numbers of the inputs without labels."""
    outputs = output_list(X, Y, structure)
    return np.setdiff1d(np.arange(len(outputs)), labeled_inputs(outputs))


def _is_hidden(y: Any) -> bool:
    return isinstance(y, LISTS) and len(y) > 0 and y[0] is None and all(label is None for label in y)


def is_unlabeled(y: Any) -> bool:
    """None, or what a DataFrame makes of it."""
    return is_missing(y)


def new_structure(structure: Any, learner: Any) -> Structure:
    """A copy of the constructor's structure, to be fitted by this learner."""
    if isinstance(structure, type) or not callable(getattr(structure, "consensus_problem", None)):
        expected = ", ".join(f"{name}()" for name, entry in TABLE.items() if entry.kind == "structure")
        raise InputError(f"structure is {structure!r}; expected an object such as {expected}")
    name, can = type(structure).__name__, structure.capabilities
    for word in sorted(entry_of(type(learner)).needs):
        require(structure, word, type(learner).__name__, f"{name} is learned by {', '.join(learners_for(can))}")
    for (parameter, value), word in ASKED.items():
        if getattr(learner, parameter, None) == value:
            require(structure, word, f"{parameter}={value!r}", "leave it out")
    return clone(structure)


def require(structure: Structure, word: str, who: str, instead: str) -> None:
    """Refuse a structure that does not have the capability which a learner, or a parameter of it, asks for."""
    if word not in structure.capabilities:
        have = ", ".join(name for name, entry in TABLE.items() if entry.kind == "structure" and word in entry.can)
        raise InputError(
            f"structure is {type(structure).__name__}(), but {who} needs {CAPABILITIES[word]} (as {have}); {instead}"
        )


def with_tokens(structure: Structure, rows: Rows, X: Any) -> Rows:
    """Rows that bring the tokens themselves, if the structure needs them."""
    lists = structure.tokens_of(X)
    if lists is None:
        return rows
    tokens = np.empty(rows.n_rows, object)
    flat = [token for x in lists for token in x]
    if len(flat) != rows.n_rows:
        raise InputError(
            f"view: {len(flat)} tokens became {rows.n_rows} rows; {type(structure).__name__} needs a view of one row "
            "per token"
        )
    tokens[:] = flat
    return replace(rows.merged(), tokens=tokens)


def new_view(view: Any, structure: Structure, X: Any) -> View:
    """A copy of the constructor's view, or the one that fits the look of X."""
    return compose.new_view(view, X, partial(default_view, structure))


def default_view(structure: Structure, X: Any) -> View:
    """The view that fits the look of X: text, dicts or numbers; where free text is among others, one of each."""
    texts, others = text_columns(X) if structure.single_row else ([], [])
    if not texts:
        return default.default_view(X, one_row=structure.single_row, symbols=structure.symbols)
    views: dict[str, View] = {str(name): Select(name, TextFeatures()) for name in texts}
    if others:
        views["other columns"] = Select(others, DictFeatures(standardize=True))
    return compose.ConcatenatedViews(views)


def chunks(X: Any, *sizes: int) -> Iterator[tuple[int, Any]]:
    """Slices of X, of these sizes in turn, with the number of their first input."""
    X = as_inputs(X)
    n = count(X)
    # not every sparse format can be sliced
    rows = X.iloc if hasattr(X, "iloc") else as_csr(X) if sp.issparse(X) else X
    first = 0
    for size in itertools.cycle(sizes):
        if first >= n:
            return
        yield first, rows[first : first + size]
        first += size


def batches(stream: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Lists of up to ``size`` items."""
    items = iter(stream)
    while batch := list(itertools.islice(items, size)):
        yield batch
