"""Features given by the user: a dict or a list of strings per token, as CRFsuite's Python wrappers take them."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from accord import forms
from accord.exceptions import InputError
from accord.forms import TEXT, items, optional
from accord.packed.rows import Rows
from accord.settings import FLAG
from accord.views.base import View
from accord.views.frames import frame_dicts, is_frame
from accord.views.inputs import as_list, describe, offsets_of
from accord.views.window import parse_window, warn_of_wide

_EXPECTED = "a list of tokens, each a dict or a list of strings (or one dict or list of strings for the whole input)"
_COLLECTIONS = (list, tuple, set, frozenset)


@dataclass(eq=False, repr=False)
class DictFeatures(View):
    """Features that somebody else has extracted.

    ``X[i]`` is a list of tokens. A token is a dict or a list (or tuple, set) of strings. In a list every string is
    a feature of value 1; nothing in it is parsed, and a string that occurs twice counts twice. In a dict,
    ``{"name": "text"}`` means the feature ``name=text`` of value 1, ``{"name": number}`` the feature ``name`` of
    that value, ``True`` and ``False`` are 1 and 0, and ``{"name": [...]}`` or ``{"name": {...}}`` are the features
    inside, with ``name:`` put before. For plain classification ``X[i]`` may be one dict or one list of strings.

    Parameters
    ----------
    window : int or (int, int), default=0
        Number of neighbouring tokens on either side (before, after) whose features count, too.
    standardize : bool, default=False
        Divide every feature by the root mean square of the values that it has in the data of ``fit``, zeros left out;
        what is 1 stays 1.

    Attributes
    ----------
    names_ : list of str
        The features of a token, in order of first occurrence.
    scale_ : ndarray or None
        What they are divided by; None without ``standardize``.
    n_dims_ : int
        Number of features.

    Examples
    --------
    >>> from accord import DictFeatures
    >>> view = DictFeatures()
    >>> view.fit_rows([[{"word": "Tom", "length": 3}, {"word": "comes"}]]).matrix().toarray()
    array([[1., 3., 0.],
           [0., 0., 1.]])
    >>> view.feature_names(range(3))
    ['word=Tom', 'length', 'word=comes']
    """

    window: int | tuple[int, int] = 0
    standardize: bool = False

    expects: ClassVar = {"standardize": FLAG}
    stored: ClassVar = {"names_": items(TEXT), "scale_": optional(forms.array("f8", "names", least=0))}
    agrees: ClassVar = {
        "scale_ is there if standardize is": lambda self: (self.scale_ is None) == (not self.standardize),
        "scale_ has no zeros": lambda self: self.scale_ is None or bool(np.all(self.scale_ > 0)),
        "n_dims_ is the number of names in the window": lambda self: (
            self.n_dims_ == parse_window(self.window).size * len(self.names_)
        ),
    }

    def fit_rows(self, X: Any) -> Rows:
        """Learn the features in ``X`` and return its rows."""
        self._check_params()
        self.scale_: np.ndarray | None = np.empty(0) if self.standardize else None
        warn_of_wide(self.window)
        return self._grow(X, _Columns({}, self._n_reserved()))

    def _extend(self, X: Any) -> Rows:
        return self._grow(X, _Columns(self._known(), self._n_reserved()))

    def transform(self, X: Any) -> Rows:
        """Rows of new inputs; features that were not seen in ``fit`` are ignored."""
        check_is_fitted(self, "names_")
        return self._rows(*_pack(X, self._known()))

    def feature_names(self, features: Any) -> list[str]:
        """Names as in the input, with the position in the window where there is one."""
        check_is_fitted(self, "names_")
        window = parse_window(self.window)
        places = map(window.place, features)
        return [f"{position}:{self.names_[c]}" if window.is_wide else self.names_[c] for c, position in places]

    def _n_reserved(self) -> int:
        """With a window, column 0 is the feature of every position outside the input."""
        return int(parse_window(self.window).is_wide)

    def _known(self) -> _Columns:
        if getattr(self, "_columns", None) is None:
            first = self._n_reserved()
            self._columns = _Columns(zip(self.names_[first:], range(first, len(self.names_))))
        return self._columns

    def _grow(self, X: Any, columns: _Columns) -> Rows:
        packed = _pack(X, columns)
        self.names_ = ["boundary"] * self._n_reserved() + list(columns)
        self._columns = _Columns(columns)
        self.n_dims_ = parse_window(self.window).size * len(self.names_)
        if self.scale_ is not None:  # that of old features stays
            self.scale_ = np.append(self.scale_, _scale(packed[0], len(self.names_))[self.scale_.size :])
        return self._rows(*packed)

    def _rows(self, table: sp.csr_array, offsets: np.ndarray) -> Rows:
        shape = (table.shape[0], len(self.names_))
        data = table.data if self.scale_ is None else table.data / self.scale_[table.indices]
        table = sp.csr_array((data, table.indices, table.indptr), shape=shape)
        if not self._n_reserved():
            return Rows.from_matrix(table, offsets)
        outside = sp.csr_array(([1.0], ([0], [0])), shape=(1, shape[1]))
        table = sp.vstack([outside, table], format="csr")
        return parse_window(self.window).rows(table, np.arange(1, table.shape[0]), offsets)


class _Columns(dict[str, int]):
    """The column of each feature. Others get the next one if the ``first`` is given, otherwise -1."""

    def __init__(self, known: Any, first: int | None = None) -> None:
        super().__init__(known)
        self.first = first

    def __missing__(self, name: str) -> int:
        if not isinstance(name, str):
            raise TypeError
        if self.first is None:
            return -1
        column = self[name] = self.first + len(self)
        return column


class _Texts(dict[str, int]):
    """The column of ``name=text`` for each text met, so that most pairs need not be joined."""

    def __init__(self, name: str, columns: dict[str, int]) -> None:
        super().__init__()
        self.name = name
        self.columns = columns

    def __missing__(self, text: str) -> int:
        column = self[text] = self.columns[f"{self.name}={text}"]
        return column


class _Packer:
    """Collects the features of one token after another."""

    def __init__(self, columns: _Columns) -> None:
        self.columns = columns
        self.texts: dict[str, _Texts] = {}
        self.indices = array("i")
        self.indptr = array("q", [0])
        # values other than 1, and where they are
        self.odd_places = array("q")
        self.odd_values = array("d")

    def add(self, token: Any, where: str) -> None:
        """Add one token; ``where`` names it in errors."""
        kind = type(token)
        if kind is dict:
            self._add_dict(token, "", where)
        elif kind is list or isinstance(token, _COLLECTIONS):
            self._add_strings(token, where)
        elif isinstance(token, Mapping):
            self._add_dict(token, "", where)
        else:
            hint = " For raw tokens use TokenFeatures" if isinstance(token, str) else ""
            raise InputError(f"{where} is {describe(token)}; expected a dict or a list of strings.{hint}")
        self.indptr.append(len(self.indices))

    def _add_strings(self, strings: Iterable[Any], where: str) -> None:
        try:
            self.indices.extend(map(self.columns.__getitem__, strings))
        except TypeError:
            odd = next(s for s in strings if not isinstance(s, str))
            raise InputError(
                f"{where} has {describe(odd)} in a list of features; expected strings only. "
                "Give features with values as a dict"
            ) from None

    def _add_dict(self, token: Mapping[Any, Any], prefix: str, where: str) -> None:
        # strings and booleans, which most features are, are dealt with here: this loop is where the time goes
        texts, add = self.texts, self.indices.append
        for name, value in token.items():
            kind = type(value)
            if type(name) is not str:
                if not isinstance(name, str):
                    raise InputError(f"{where} has the feature name {describe(name)}; expected a string")
                self._add_value(prefix + name, value, where)
            elif kind is str:
                own = texts.get(prefix + name)
                if own is None:
                    own = texts[prefix + name] = _Texts(prefix + name, self.columns)
                add(own[value])
            elif kind is bool:
                if value:
                    add(self.columns[prefix + name])
            else:
                self._add_value(prefix + name, value, where)

    def _add_value(self, name: str, value: Any, where: str) -> None:
        if isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating)):
            if not _is_finite(value):
                shown = describe(value) if isinstance(value, int) else value
                raise InputError(f"{where}[{name!r}] is {shown}; features must be finite. Leave missing values out")
            if value:
                if value != 1:
                    self.odd_places.append(len(self.indices))
                    self.odd_values.append(float(value))
                self.indices.append(self.columns[name])
        elif isinstance(value, str):
            self.indices.append(self.columns[f"{name}={value}"])
        elif isinstance(value, Mapping):
            try:
                self._add_dict(value, f"{name}:", where)
            except RecursionError:
                raise InputError(f"{where} holds itself, or dicts without end; expected a few levels") from None
        elif isinstance(value, _COLLECTIONS):
            odd = [s for s in value if not isinstance(s, str)]
            if odd:
                raise InputError(f"{where}[{name!r}] has {describe(odd[0])}; expected a list of strings only")
            self._add_strings([f"{name}:{s}" for s in value], where)
        else:
            raise InputError(
                f"{where}[{name!r}] is {describe(value)}; "
                "expected a string, a number, a boolean, a dict or a list of strings"
            )

    def table(self) -> sp.csr_array:
        """One row per token, with as many columns as are used; unknown features are left out."""
        indices = np.frombuffer(self.indices, np.int32) if self.indices else np.zeros(0, np.int32)
        indptr = np.frombuffer(self.indptr, np.int64)
        data = np.ones(indices.size)
        if self.odd_places:
            data[np.frombuffer(self.odd_places, np.int64)] = np.frombuffer(self.odd_values)
        known = indices >= 0
        if not known.all():
            indptr = np.concatenate([[0], np.cumsum(known)])[indptr]
            indices, data = indices[known], data[known]
        return sp.csr_array((data, indices, indptr), shape=(indptr.size - 1, int(indices.max(initial=-1)) + 1))


def _scale(table: sp.csr_array, n_columns: int) -> np.ndarray:
    """The root mean square (n_columns,) of the values of each column that are there; 1 where there are none."""
    squares = np.bincount(table.indices, table.data**2, n_columns)
    scale = np.sqrt(squares / np.maximum(np.bincount(table.indices, minlength=n_columns), 1))
    return np.where((scale > 0) & np.isfinite(scale), scale, 1.0)


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond all floats
        return False


def _pack(X: Any, columns: _Columns) -> tuple[sp.csr_array, np.ndarray]:
    """The features of all tokens, one row each, and the offsets of the inputs."""
    inputs = frame_dicts(X) if is_frame(X) else as_list(X, _EXPECTED)
    packer = _Packer(columns)
    if _one_row_each(inputs):
        for i, x in enumerate(inputs):
            packer.add(x, f"X[{i}]")
        return packer.table(), np.arange(len(inputs) + 1)
    for i, x in enumerate(inputs):
        if not isinstance(x, (list, tuple)):
            raise InputError(f"X[{i}] is {describe(x)}; expected {_EXPECTED}")
        for t, token in enumerate(x):
            packer.add(token, f"X[{i}][{t}]")
    return packer.table(), offsets_of(inputs)


def _one_row_each(inputs: Sequence[Any]) -> bool:
    """Whether inputs are features themselves rather than lists of tokens; the first that is not empty decides."""
    for x in inputs:
        if isinstance(x, Mapping):
            return True
        if isinstance(x, _COLLECTIONS) and x:
            return isinstance(next(iter(x)), str)
    return False
