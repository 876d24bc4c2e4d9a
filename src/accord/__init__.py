"""Accord: structured prediction from few labeled and many unlabeled examples.

Names are imported on first use, so that ``import accord`` costs next to nothing; :mod:`accord.registry` lists them.
"""

from typing import Any

from accord import registry

__version__ = "0.2.0"

__all__ = [*sorted(name for name, entry in registry.TABLE.items() if entry.public), "__version__"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'accord' has no attribute {name!r}")
    return registry.find(name)


def __dir__() -> list[str]:
    return __all__
