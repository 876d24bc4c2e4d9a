"""Parameters of constructors: one meaning of a name everywhere, one check of it, one form of message.

Constructors only store. Where training starts, ``check(self)`` compares what was stored with ``SHARED``, by name, and
with ``expects``, a dict by which a class adds names that nobody else has, or that mean something of their own in it
(``solver``, ``loss``). Names that are in neither hold objects, which those check who use them.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np

from accord.exceptions import InputError


# -- kinds of values --------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Expected:
    """A kind of value: words for it, and whether something is one."""

    words: str
    accepts: Callable[[Any], bool]

    def check(self, name: str, value: Any) -> None:
        """Refuse what is of another kind."""
        if not self.accepts(value):
            raise InputError(f"{name} is {value!r}; expected {self.words}")


def is_real(value: Any) -> bool:
    """A real number, of Python or NumPy, also one that is not finite."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """A finite real number, of Python or NumPy; truth values and text are none."""
    try:
        return is_real(value) and math.isfinite(value)
    except OverflowError:  # an integer that no float can hold
        return False


def is_whole(value: Any) -> bool:
    """An integer, of Python or NumPy."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def one_of(*values: Any) -> Expected:
    """One of some strings, whole numbers, or None."""

    def accepts(value: Any) -> bool:
        return (value is None or isinstance(value, str) or is_whole(value)) and value in values

    return Expected(_listed(values), accepts)


def either(kind: Expected, *values: Any) -> Expected:
    """A kind, or one of some values."""
    others = one_of(*values)
    return Expected(f"{kind.words}, or {others.words}", lambda value: kind.accepts(value) or others.accepts(value))


def whole(least: int, most: int | None = None) -> Expected:
    """An integer from ``least`` on, or up to ``most``."""
    words = f"a whole number, {least} or more" if most is None else f"a whole number from {least} to {most:,}"
    return Expected(words, lambda value: is_whole(value) and value >= least and (most is None or value <= most))


def _listed(values: tuple[Any, ...]) -> str:
    shown = [f'"{value}"' if isinstance(value, str) else repr(value) for value in values]
    return " or ".join(part for part in (", ".join(shown[:-1]), shown[-1]) if part)


def _is_seed(value: Any) -> bool:
    if value is None or isinstance(value, (np.random.Generator, np.random.RandomState)):
        return True
    try:
        np.random.default_rng(value)
    except (TypeError, ValueError):
        return False
    return not isinstance(value, (bool, np.bool_, str))


NUMBER = Expected("a finite number", is_number)
POSITIVE = Expected("a positive number", lambda value: is_number(value) and value > 0)
NOT_NEGATIVE = Expected("a number, 0 or more", lambda value: is_number(value) and value >= 0)
FRACTION = Expected("a number from 0 to below 1", lambda value: is_number(value) and 0 <= value < 1)
FLAG = Expected("True or False", lambda value: isinstance(value, (int, np.integer, np.bool_)) and value in (0, 1))

FUNCTION = Expected("a function, or None", lambda value: value is None or callable(value))

# -- what names mean --------------------------------------------------------------------------------------------------
SHARED = {
    # every learner
    "max_iter": whole(1),
    "n_jobs": Expected(
        "a number of threads (-1: as many as there are processors), or None for one",
        lambda value: value is None or (is_whole(value) and value != 0),
    ),
    "random_state": Expected("None, a whole number, 0 or more, or a generator", _is_seed),
    "tol": POSITIVE,
    "verbose": Expected("a whole number, 0 or more", lambda value: FLAG.accepts(value) or whole(0).accepts(value)),
    # structures
    "labels": Expected(
        "a list of labels, or None",
        lambda value: value is None or (hasattr(value, "__len__") and not isinstance(value, (str, bytes, dict))),
    ),
    "tokenizer": Expected('None, "blanks", or a function of a text', lambda v: v in (None, "blanks") or callable(v)),
    # large margins and likelihoods
    "C": Expected("a positive number, at most 1e15", lambda value: POSITIVE.accepts(value) and value <= 1e15),
    "epsilon": NOT_NEGATIVE,
    "norm": one_of(1, 2),
    "rescaling": one_of("margin", "slack"),
    "max_outputs": whole(0),
    "rho": Expected("a number from 0 (sum) to inf (maximum)", lambda value: is_real(value) and bool(value >= 0)),
    "smoothing": POSITIVE,
    "warm_start": FLAG,
    "decode": one_of("auto", "viterbi", "marginal"),
    # perceptrons
    "averaged": FLAG,
    "shuffle": FLAG,
    # unlabeled examples
    "against": one_of("violator", "prediction"),
    "balance": FLAG,
    "freeze": FLAG,
    "disagreement_weight": either(NOT_NEGATIVE, "auto"),
    "max_repeats": whole(1),
    "ramp": whole(0),
    "tau": POSITIVE,
    "unlabeled_weight": either(NOT_NEGATIVE, "auto"),
    # kernels and views
    "coef0": NUMBER,
    "degree": NUMBER,
    "min_count": whole(1),
    "n_components": either(whole(1), None),
    "neighbours": whole(1),
    "scale": POSITIVE,
    "eta": either(POSITIVE, "auto", None),
    "gamma": either(POSITIVE, "auto", None),
    "n_views": whole(1),
    "share": Expected(
        "a number above 0, up to 1, or None for disjoint views",
        lambda value: value is None or (POSITIVE.accepts(value) and value <= 1),
    ),
}


def check(estimator: Any) -> None:
    """Refuse parameters that make no sense."""
    expects = {**SHARED, **getattr(estimator, "expects", {})}
    for name, value in estimator.get_params(deep=False).items():
        if name in expects:
            expects[name].check(name, value)


def example_weights(sample_weight: Any, n_examples: int) -> np.ndarray | None:
    """A weight, 0 or more, for each example, as numbers; None: each counts as one."""
    if sample_weight is None:
        return None
    try:
        found = np.asarray(sample_weight)
        if found.dtype.kind not in "biufO":
            raise TypeError
        found = found.astype(float)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"sample_weight is a {type(sample_weight).__name__} that does not hold numbers; expected one weight for "
            f"each of {n_examples} examples"
        ) from None
    if found.shape != (n_examples,):
        raise InputError(
            f"sample_weight has shape {found.shape}; expected ({n_examples},), one weight for each example"
        )
    bad = np.flatnonzero(~(np.isfinite(found) & (found >= 0.0)))
    if bad.size:
        raise InputError(f"sample_weight[{bad[0]}] is {found[bad[0]]:g}; expected a finite number, 0 or more")
    if n_examples and not found.any():
        raise InputError("sample_weight: all weights are zero, so that no example counts; give one of them a weight")
    return None if (found == 1.0).all() else found


def generator(random_state: Any) -> np.random.Generator:
    """A NumPy generator from None, an int, a SeedSequence, a Generator, or scikit-learn's RandomState."""
    SHARED["random_state"].check("random_state", random_state)
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31 - 1, size=4))
    return np.random.default_rng(random_state)


# -- names that have changed ------------------------------------------------------------------------------------------
def renamed(**names: str) -> Callable[[Any], Any]:
    """Decorate a class that still takes parameters by their former names, with a warning: ``@renamed(old="new")``.

    They work in the constructor, in ``set_params`` and as attributes, and model files of before load.
    """

    def current(function: Any) -> Any:
        @wraps(function)
        def call(self: Any, *args: Any, **given: Any) -> Any:
            for name in list(given):
                old, *below = name.split("__", 1)
                if old in names:
                    _warn(old, names[old])
                    if names[old] in given:
                        raise InputError(f"{old} is the former name of {names[old]}; give {names[old]} alone")
                    given["__".join([names[old], *below])] = given.pop(name)
            return function(self, *args, **given)

        return call

    def former(old: str) -> property:
        def get(self: Any) -> Any:
            _warn(old, names[old])
            return getattr(self, names[old])

        def put(self: Any, value: Any) -> None:
            _warn(old, names[old])
            setattr(self, names[old], value)

        return property(get, put)

    def decorate(cls: Any) -> Any:
        cls.__init__, cls.set_params, cls.renamed = current(cls.__init__), current(cls.set_params), names
        for old in names:
            setattr(cls, old, former(old))
        return cls

    return decorate


def _warn(old: str, new: str) -> None:
    warnings.warn(f"{old} is called {new} now; the former name ends with the next version", FutureWarning, stacklevel=3)
