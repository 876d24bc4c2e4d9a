"""What a fitted object must look like: declared once per class, and proved whenever one is written, read or restored.

Compiled kernels trust sizes and indices, so nothing may reach them from a file that does not fit together. A class says
in ``stored``, a dict from names of fields to *forms*, what ``fit`` gives it; subclasses add to what their bases have.
Parameters of the constructor are not listed there: :mod:`accord.settings` knows what they may be. What a form cannot
say stands in ``agrees``, a dict from a sentence to a function of the object that is true if the sentence is. What
follows from the rest need not be proved: a class names it in ``derived``, and ``_derive`` makes it again.

Sizes have names. ``array("f8", "n_dims", "n_labels")`` is a matrix of as many rows as the object's attribute
``n_dims_``, or ``n_dims``, says; a size that no attribute says is what the first array makes it, and the others must
agree. A :func:`fitted` object may be given sizes by the one that it belongs to.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from accord import registry, settings
from accord.exceptions import InputError
from accord.settings import FLAG as FLAG
from accord.settings import NUMBER as NUMBER
from accord.settings import Expected, is_whole, whole

ANY = "*"  # a size that need not agree with anything


class Unfit(Exception):
    """A field is not what its form says; the message names it."""


class Sizes:
    """The sizes of one object by name."""

    def __init__(self, owner: Any, given: Mapping[str, int], derive: bool = False) -> None:
        self.owner, self.known, self.derive = owner, dict(given), derive

    def find(self, name: str) -> int | None:
        """A size, or a path of attributes that leads to one, or to a list; None: it is not known yet."""
        if name not in self.known:
            value: Any = self.owner
            for step in name.split("."):
                value = getattr(value, f"{step}_", getattr(value, step, None))
            if value is None:
                return None
            value = len(value) if isinstance(value, (list, dict, np.ndarray)) else value
            if not is_whole(value) or value < 0:
                raise Unfit(f"{name} is {value!r}; expected a whole number, 0 or more")
            self.known[name] = int(value)
        return self.known[name]

    def agree(self, where: str, dimension: int | str, found: int) -> None:
        """Refuse a size that differs from what it must be: a number, a name, or a name and a number (``n+1``)."""
        if dimension == ANY:
            return
        if isinstance(dimension, int):
            expected: int | None = dimension
        else:
            name, _, more = dimension.partition("+")
            known, extra = self.find(name), int(more or 0)
            if known is None:
                self.known[name] = found - extra
            expected = found if known is None else known + extra
        if found != expected:
            raise Unfit(f"{where} has {found} entries; expected {expected} ({dimension})")

    def limit(self, bound: int | str) -> int:
        """What numbers must stay below."""
        found = bound if isinstance(bound, int) else self.find(bound)
        if found is None:
            raise Unfit(f"{bound} is not known")
        return found


# -- forms ------------------------------------------------------------------------------------------------------------
class Form:
    """A kind of field; ``settings.Expected`` is one, too."""

    def check(self, where: str, value: Any, sizes: Sizes) -> None:
        """Raise :class:`Unfit` if the value is of another kind."""
        raise NotImplementedError


@dataclass(frozen=True)
class _Array(Form):
    dtypes: str
    shape: tuple[int | str, ...]
    least: float | None
    most: float | None
    below: int | str | None
    pointers: str | None
    forbids: bool

    def check(self, where: str, value: Any, sizes: Sizes) -> None:
        is_array = isinstance(value, np.ndarray) and value.dtype.isnative
        if not is_array or value.dtype.str[1:] not in self.dtypes.split():
            raise Unfit(f"{where} is {_described(value)}; expected an array of {self.dtypes}")
        if value.ndim != len(self.shape):
            raise Unfit(f"{where} has shape {value.shape}; expected {len(self.shape)} dimensions")
        for dimension, found in zip(self.shape, value.shape):
            sizes.agree(where, dimension, found)
        if value.dtype.kind == "f" and not (np.isfinite(value) | (self.forbids & (value == -np.inf))).all():
            raise Unfit(f"{where} has numbers that are not finite")
        if value.dtype.kind == "b" and value.size and value.view(np.uint8).max() > 1:
            raise Unfit(f"{where} has truth values that are neither")
        if self.least is not None and value.size and value.min() < self.least:
            raise Unfit(f"{where} has {value.min()}; expected {self.least} or more")
        if self.most is not None and value.size and value.max() > self.most:
            raise Unfit(f"{where} has {value.max()}; expected {self.most} or less")
        if self.below is not None and value.size and value.max() >= sizes.limit(self.below):
            raise Unfit(f"{where} has {value.max()}; expected less than {sizes.limit(self.below)} ({self.below})")
        if self.pointers is not None:
            if not value.size or value[0] != 0 or np.any(np.diff(value) < 0):
                raise Unfit(f"{where} must begin with 0 and never fall")
            sizes.agree(where, self.pointers, int(value[-1]))


def array(
    dtypes: str, *shape: int | str, least: float | None = None, most: float | None = None,
    below: int | str | None = None, pointers: str | None = None, forbids: bool = False,
) -> Form:  # fmt: skip
    """An array of one of some types, of finite numbers within bounds; ``pointers`` divide so many items among rows.

    ``forbids``: scores, which may be minus infinity as well.
    """
    return _Array(dtypes, shape, least, most, below, pointers, forbids)


@dataclass(frozen=True)
class _Sparse(Form):
    shape: tuple[int | str, int | str]

    def check(self, where: str, value: Any, sizes: Sizes) -> None:
        if not isinstance(value, sp.csr_array):
            raise Unfit(f"{where} is {_described(value)}; expected a sparse matrix")
        array("i4 i8", value.shape[0] + 1, least=0, pointers="").check(
            f"{where}.indptr", value.indptr, Sizes(None, {"": value.indices.size})
        )
        array("i4 i8", value.indices.size, least=0, below=value.shape[1]).check(
            f"{where}.indices", value.indices, sizes
        )
        array("f8", value.indices.size).check(f"{where}.data", value.data, sizes)
        for dimension, found in zip(self.shape, value.shape):
            sizes.agree(where, dimension, found)


def sparse(n_rows: int | str, n_columns: int | str) -> Form:
    """A matrix in compressed rows."""
    return _Sparse((n_rows, n_columns))


@dataclass(frozen=True)
class _Items(Form):
    form: Form | Expected
    size: int | str | None
    distinct: bool

    def check(self, where: str, value: Any, sizes: Sizes) -> None:
        if not isinstance(value, (list, tuple)):
            raise Unfit(f"{where} is {_described(value)}; expected a list")
        if self.size is not None:
            sizes.agree(where, self.size, len(value))
        # names of a million words need not be made to find that all of them are text
        if isinstance(self.form, Form) or not all(map(self.form.accepts, value)):
            for i, item in enumerate(value):
                fit(self.form, f"{where}[{i}]", item, sizes)
        if self.distinct and len(set(value)) != len(value):
            raise Unfit(f"{where} has an entry twice")


def items(form: Form | Expected, size: int | str | None = None, distinct: bool = False) -> Form:
    """A list of things of one form."""
    return _Items(form, size, distinct)


@dataclass(frozen=True)
class _Mapping(Form):
    key: Form | Expected
    value: Form | Expected
    size: int | str | None

    def check(self, where: str, value: Any, sizes: Sizes) -> None:
        if not isinstance(value, dict):
            raise Unfit(f"{where} is {_described(value)}; expected a dict")
        if self.size is not None:
            sizes.agree(where, self.size, len(value))
        for k, v in value.items():
            fit(self.key, f"a key of {where}", k, sizes)
            fit(self.value, f"{where}[{k!r}]", v, sizes)


def mapping(key: Form | Expected, value: Form | Expected, size: int | str | None = None) -> Form:
    """A dict of things of one form."""
    return _Mapping(key, value, size)


@dataclass(frozen=True)
class _Optional(Form):
    form: Form | Expected

    def check(self, where: str, value: Any, sizes: Sizes) -> None:
        if value is not None:
            fit(self.form, where, value, sizes)


def optional(form: Form | Expected) -> Form:
    """A form, None, or nothing at all."""
    return _Optional(form)


@dataclass(frozen=True)
class _AnyOf(Form):
    forms: tuple[Form | Expected, ...]

    def check(self, where: str, value: Any, sizes: Sizes) -> None:
        reasons = []
        for form in self.forms:
            try:
                return fit(form, where, value, sizes)
            except Unfit as unfit:
                reasons.append(str(unfit))
        raise Unfit(" / ".join(reasons))


def any_of(*forms: Form | Expected) -> Form:
    """One of several forms; none may set a size."""
    return _AnyOf(forms)


@dataclass(frozen=True)
class _Part(Form):
    kinds: str
    sizes: tuple[tuple[str, str], ...]

    def check(self, where: str, value: Any, sizes: Sizes) -> None:
        cls = type(value)
        entry, kinds = registry.entry_of(cls), self.kinds.split()
        of_users = registry.is_stored(cls.__name__) and not cls.__module__.startswith("accord.")
        if not of_users and not {entry.kind, cls.__name__} & set(kinds):
            raise Unfit(f"{where} is {_described(value)}; expected a {' or '.join(kinds)}")
        given = {inner: size for inner, outer in self.sizes if (size := sizes.find(outer)) is not None}
        prove(value, where, given, sizes.derive)


def fitted(kinds: str, **sizes: str) -> Form:
    """A fitted object of some classes, or kinds of the registry. ``inner="outer"`` names the sizes it is given."""
    return _Part(kinds, tuple(sizes.items()))


@dataclass(frozen=True)
class _Record(Form):
    name: str
    forms: Mapping[str, Form | Expected]

    def check(self, where: str, value: Any, sizes: Sizes) -> None:
        if type(value).__name__ != self.name:
            raise Unfit(f"{where} is {_described(value)}; expected a {self.name}")
        for name, form in self.forms.items():
            fit(form, f"{where}.{name}", getattr(value, name), sizes)


def record(name: str, **forms: Form | Expected) -> Form:
    """A named tuple, whose fields share the sizes of the object that has it."""
    return _Record(name, forms)


@dataclass(frozen=True)
class _Together(Form):
    forms: tuple[Form | Expected, ...]

    def check(self, where: str, value: Any, sizes: Sizes) -> None:
        if not isinstance(value, tuple) or len(value) != len(self.forms):
            raise Unfit(f"{where} is {_described(value)}; expected a tuple of {len(self.forms)}")
        for i, (form, item) in enumerate(zip(self.forms, value)):
            fit(form, f"{where}[{i}]", item, sizes)


def together(*forms: Form | Expected) -> Form:
    """A tuple of so many things, each of its own form."""
    return _Together(forms)


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_is_plain(k) and _is_plain(v) for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, (str, bool, int, float, np.generic, np.ndarray))


def _is_label(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_label, value))
    return isinstance(value, (str, bool, int)) or (isinstance(value, float) and not math.isnan(value))


TEXT = Expected("text", lambda value: isinstance(value, str))
LABEL = Expected("a label: text, a number or a tuple of them", _is_label)
COUNT = whole(0)
# What is told of a fit and never computed with.
REPORT = Expected("plain values", _is_plain)


# -- proofs -----------------------------------------------------------------------------------------------------------
def fit(form: Form | Expected, where: str, value: Any, sizes: Sizes) -> None:
    """Raise :class:`Unfit` if a value is not of a form."""
    if isinstance(form, Form):
        form.check(where, value, sizes)
    elif not form.accepts(value):
        raise Unfit(f"{where} is {_described(value)}; expected {form.words}")


def declared(cls: type, name: str) -> dict[str, Any]:
    """What a class and its bases have under a name, together."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        found.update(vars(base).get(name, {}))
    return found


def prove(value: Any, where: str, given: Mapping[str, int] | None = None, derive: bool = False) -> None:
    """Raise :class:`Unfit` unless a fitted object is what its class declares. Classes of users may declare nothing.

    ``derive``: what the class names in ``derived`` is not proved but made again, by ``_derive()``.
    """
    cls = type(value)
    forms = declared(cls, "stored")
    if not forms and not cls.__module__.startswith("accord."):
        return
    derived = getattr(cls, "derived", ())
    have = {name for name in vars(value) if not name.startswith("_")} - set(derived)
    for name in sorted(have - set(forms) - _parameters(cls)):
        raise Unfit(f"{where} has {name}, which {cls.__name__} does not know")
    sizes = Sizes(value, given or {}, derive)
    try:
        check_parameters(value)
        for name, form in forms.items():
            if name in have:
                fit(form, f"{where}.{name}", getattr(value, name), sizes)
            elif not isinstance(form, _Optional):
                raise Unfit(f"{where} has no {name}")
        for sentence, holds in declared(cls, "agrees").items():
            if not holds(value):
                raise Unfit(f"{where}: it is not so that {sentence}")
        if derive and derived:
            value._derive()
    except InputError as error:
        raise Unfit(f"{where}: {error}") from error


def check_parameters(value: Any) -> None:
    """Refuse parameters of an object that are missing or make no sense."""
    _check_names(value)
    if hasattr(value, "_check_params"):
        value._check_params()
    elif hasattr(value, "get_params"):
        settings.check(value)


def _check_names(value: Any) -> None:
    """Every parameter is there, also those of objects that are parameters."""
    for name in sorted(_parameters(type(value))):
        if not hasattr(value, name):
            raise Unfit(f"a {type(value).__name__} has no {name}")
        inner = getattr(value, name)
        if registry.is_stored(type(inner).__name__):
            _check_names(inner)


def _parameters(cls: Any) -> set[str]:
    names = set(cls._get_param_names()) if hasattr(cls, "_get_param_names") else set()
    return names | ({field.name for field in fields(cls)} if is_dataclass(cls) else set())


def _described(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype.str[1:]} of shape {value.shape}"
    text = repr(value)
    return text if len(text) <= 60 else f"a {type(value).__name__}"
