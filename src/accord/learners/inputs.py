"""Checks of X and Y that every learner makes, with errors that say where and what to do."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from accord.datasets.trees import as_tree
from accord.exceptions import InfeasibleError, InputError
from accord.kernels.chains.viterbi import force_labels, viterbi_batch
from accord.packed.rows import Rows
from accord.structures.chains.chain import ChainStructure
from accord.structures.trees.tree import Tree
from accord.views import compose, default
from accord.views.base import View


def count(X: Any) -> int:
    """Number of inputs in a list, array, sparse matrix or DataFrame."""
    shape = getattr(X, "shape", None)
    if shape is not None:
        return int(shape[0])
    if isinstance(X, (str, bytes)) or not hasattr(X, "__len__"):
        raise InputError(f"X is a {type(X).__name__}; expected a list of inputs, an array, or a DataFrame")
    return len(X)


def take(X: Any, chosen: np.ndarray | list[int]) -> Any:
    """Some inputs of a list, a matrix or a DataFrame."""
    if hasattr(X, "iloc"):
        return X.iloc[chosen]
    if sp.issparse(X):
        return X.tocsr()[chosen]
    return X[chosen] if hasattr(X, "shape") else [X[i] for i in chosen]


def output_list(X: Any, Y: Any) -> list[Any]:
    """One output per input, as a list, with None for every unlabeled one and for every token without a label."""
    if Y is None:
        raise InputError("Y is None: pass a list with one output per input, and None only for unlabeled ones")
    if isinstance(Y, (str, bytes, dict)) or not hasattr(Y, "__len__"):
        raise InputError(f"Y is a {type(Y).__name__}; expected a list with one output per input")
    if count(X) != len(Y):
        raise InputError(f"X has {count(X)} inputs but Y has {len(Y)} outputs; they must pair up")
    outputs = [None if is_unlabeled(y) else y for y in Y]
    try:
        distinct = set().union(*(y for y in outputs if isinstance(y, (list, tuple, np.ndarray))))
    except TypeError:  # refused by check_outputs
        return outputs
    if any(label is not None and is_unlabeled(label) for label in distinct):
        return [_with_none(y) for y in outputs]
    return outputs


def _with_none(y: Any) -> Any:
    """What a DataFrame makes of None inside a sequence becomes None again."""
    if not isinstance(y, (list, tuple, np.ndarray)):
        return y
    return [None if is_unlabeled(label) else label for label in y]


def labeled_inputs(outputs: Sequence[Any]) -> np.ndarray:
    """Numbers of the inputs with labels: a sequence of nothing but None has none."""
    return np.array([i for i, y in enumerate(outputs) if not (y is None or _is_hidden(y))], dtype=np.int64)


def unlabeled_inputs(X: Any, Y: Any) -> np.ndarray:
    """Numbers of the inputs without labels."""
    outputs = output_list(X, Y)
    return np.setdiff1d(np.arange(len(outputs)), labeled_inputs(outputs))


def _is_hidden(y: Any) -> bool:
    listed = isinstance(y, (list, tuple, np.ndarray))
    return listed and len(y) > 0 and y[0] is None and all(label is None for label in y)


def is_unlabeled(y: Any) -> bool:
    """None, or what a DataFrame makes of it."""
    return y is None or (isinstance(y, float) and y != y) or type(y).__name__ in ("NAType", "NaTType")


def new_structure(structure: Any) -> Any:
    """A copy of the constructor's structure, to be fitted."""
    if not isinstance(structure, (ChainStructure, Tree)):
        raise InputError(
            f"structure is {structure!r}; expected an object such as MultiClass(), Taxonomy({{...}}), Sequence() or "
            "Tree()"
        )
    return clone(structure)


def view_inputs(structure: Any, X: Any) -> Any:
    """The inputs as views see them: of trees the words, or the given tags."""
    if not structure.needs_tokens:
        return X
    return [[structure.terminal(token) for token in x] for x in structure.token_lists(X)]


def with_tokens(structure: Any, rows: Rows, X: Any) -> Rows:
    """Rows that bring the tokens themselves, if the structure needs them."""
    if not structure.needs_tokens:
        return rows
    tokens = np.empty(rows.n_rows, object)
    flat = [token for x in structure.token_lists(X) for token in x]
    if len(flat) != rows.n_rows:
        raise InputError(f"view: {len(flat)} tokens became {rows.n_rows} rows; trees need a view of one row per token")
    tokens[:] = flat
    return replace(rows.merged(), tokens=tokens)


def new_view(view: Any, structure: Any, X: Any) -> View:
    """A copy of the constructor's view, or the one that fits the look of X."""
    return compose.new_view(view, X, partial(default_view, structure))


def warn_of_single_label(structure: Any) -> None:
    if structure.n_labels_ == 1 and not structure.needs_tokens:
        warnings.warn(
            f"Y has only one label, {structure.labels_[0]!r}: nothing else can be predicted. If there are others, give "
            "examples of them or declare them: labels=[...]",
            stacklevel=4,
        )


def check_outputs(structure: Any, Y: Sequence[Any]) -> list[Any]:
    """Outputs, which have the shape the structure needs: a label, a list of labels and None, or a tree."""
    if structure.needs_tokens:
        return [None if y is None else as_tree(y, f"Y[{i}]") for i, y in enumerate(Y)]
    declared = None if structure.labels is None else set(structure.labels)
    for i, y in enumerate(Y):
        if y is None:
            continue
        listed = isinstance(y, (list, tuple, np.ndarray))
        if structure.single_row and listed:
            raise InputError(f"Y[{i}] is a {type(y).__name__}; {type(structure).__name__} expects one label per input")
        if not structure.single_row and not listed:
            raise InputError(
                f"Y[{i}] is {y!r}; {type(structure).__name__} expects a list with one label per token, "
                "or None for an unlabeled input"
            )
        try:
            distinct = {y} if structure.single_row else set(y) - {None}
        except TypeError:
            distinct = None
        if distinct is None or (declared is not None and not distinct <= declared):
            _raise_bad_label(structure, i, [y] if structure.single_row else y, declared)
    return list(Y)


def _raise_bad_label(structure: ChainStructure, i: int, labels: Iterable[Any], declared: set | None) -> None:
    """Name the label of output ``i`` that cannot be used."""
    for t, label in enumerate(labels):
        where = f"Y[{i}]" if structure.single_row else f"Y[{i}][{t}]"
        if is_unlabeled(label):
            continue
        try:
            known = hash(label) is not None and (declared is None or label in declared)
        except TypeError:
            raise InputError(f"{where} is a {type(label).__name__}; expected a label, such as a string") from None
        if not known:
            listed = list(structure.labels or [])
            raise InputError(f"{where} is {label!r}, which is not among labels={listed!r}; add it there or fix Y")


def check_rows(structure: Any, rows: Rows, Y: Sequence[Any]) -> None:
    """Every labeled input has as many rows as its output has labels."""
    lengths = np.diff(rows.offsets)
    if structure.single_row:
        if np.any(lengths != 1):
            i = int(np.flatnonzero(lengths != 1)[0])
            raise InputError(f"X[{i}] has {lengths[i]} rows; {type(structure).__name__} expects one row per input")
        return
    if structure.needs_tokens:
        return  # see check_words
    for i, y in enumerate(Y):
        if y is not None and len(y) != lengths[i]:
            raise InputError(f"Y[{i}] has {len(y)} labels but X[{i}] has {lengths[i]} tokens")


def check_words(structure: Any, X: Any, Y: Sequence[Any]) -> None:
    """Trees have the tokens of their sentences."""
    if structure.needs_tokens:
        structure.check_words(structure.token_lists(X), Y)


def check_partial(structure: Any, y: np.ndarray, lengths: Any, index: np.ndarray) -> None:
    """Some allowed output has the labels of every output in which others are hidden (-1).

    ``lengths`` are those of the outputs, ``index`` their numbers in error messages.
    """
    if structure.needs_tokens or not np.any(y < 0):
        return
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    unary = np.zeros((y.size, structure.n_labels_))
    force_labels(unary, y)
    scores = np.empty(offsets.size - 1)
    viterbi_batch(offsets, unary, *structure.allowed(), np.empty_like(y), scores)
    hidden = np.diff(np.concatenate([[0], np.cumsum(y < 0)])[offsets]) > 0
    bad = np.flatnonzero(hidden & (scores == -np.inf))
    if bad.size:
        raise InfeasibleError(
            f"Y[{index[bad[0]]}]: no output that the constraints allow has its labels, whatever the hidden ones are; "
            "correct them or relax the constraints"
        )


def token_pairs(i: int, y: Sequence[Any], y_pred: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Annotated labels of one sequence with the predicted ones."""
    if len(y) != len(y_pred):
        raise InputError(f"Y[{i}] has {len(y)} labels but X[{i}] has {len(y_pred)} tokens")
    return [(label, found) for label, found in zip(y, y_pred) if label is not None]


def default_view(structure: Any, X: Any) -> View:
    """The view that fits the look of X: text, dicts or numbers."""
    symbols = structure.needs_tokens and structure.terminals == "tags"
    return default.default_view(X, one_row=structure.single_row, symbols=symbols)


def chunks(X: Any, *sizes: int) -> Iterator[tuple[int, Any]]:
    """Slices of X, of these sizes in turn, with the number of their first input."""
    n = count(X)
    # not every sparse format can be sliced
    rows = X.iloc if hasattr(X, "iloc") else X.tocsr() if sp.issparse(X) else X
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
