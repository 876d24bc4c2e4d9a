"""Parameters that have new names; the former ones work for one more version."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

from accord.exceptions import InputError


def renamed(**names: str) -> Callable[[Any], Any]:
    """Decorate a view that still takes parameters by their former names, with a warning: ``@renamed(old="new")``.

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

        return property(get)

    def decorate(cls: Any) -> Any:
        cls.__init__, cls.set_params, cls._renamed = current(cls.__init__), current(cls.set_params), names
        for old in names:
            setattr(cls, old, former(old))
        return cls

    return decorate


def _warn(old: str, new: str) -> None:
    warnings.warn(f"{old} is called {new} now; the former name ends with the next version", FutureWarning, stacklevel=3)
