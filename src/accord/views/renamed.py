"""Parameters that have new names; the former ones work for one more version."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

from accord.exceptions import InputError


def renamed(**names: str) -> Callable[[type], type]:
    """Decorate a view that still takes parameters by their former names, with a warning: ``@renamed(old="new")``.

    They work in the constructor, in ``set_params`` and as attributes, and model files of before load.
    """

    def current(given: dict[str, Any]) -> dict[str, Any]:
        found = {}
        for name, value in given.items():
            old, nested, below = name.partition("__")
            new = names.get(old, old)
            if new != old:
                _warn(old, new)
                if new in given:
                    raise InputError(f"{old} is the former name of {new}; give {new} alone")
            found[new + nested + below] = value
        return found

    def decorate(cls: Any) -> Any:
        init, set_params = cls.__init__, cls.set_params

        @wraps(init)
        def __init__(self: Any, *args: Any, **given: Any) -> None:
            init(self, *args, **current(given))

        @wraps(set_params)
        def set_current(self: Any, **given: Any) -> Any:
            return set_params(self, **current(given))

        cls.__init__, cls.set_params, cls._renamed = __init__, set_current, names
        for old, new in names.items():
            setattr(cls, old, _former(old, new))
        return cls

    return decorate


def _former(old: str, new: str) -> property:
    def get(self: Any) -> Any:
        _warn(old, new)
        return getattr(self, new)

    return property(get)


def _warn(old: str, new: str) -> None:
    warnings.warn(f"{old} is called {new} now; the former name ends with the next version", FutureWarning, stacklevel=4)
