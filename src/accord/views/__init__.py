"""What is x? Maps from inputs to packed features, fitted on labeled and unlabeled inputs alike, blind to labels."""

from importlib import import_module
from typing import Any

from accord.registry import TABLE

_BASES = {"View": "accord.views.base", "PairFeatures": "accord.views.pairs", "Rows": "accord.packed.rows"}


def __getattr__(name: str) -> Any:
    """The views that ``accord`` has, and what views of your own are made from."""
    module = _BASES.get(name) or (TABLE[name].module if name in TABLE else "")
    if name not in _BASES and not module.startswith(f"{__name__}."):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(module), name)
