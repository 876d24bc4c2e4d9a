"""Targets of regressors: one number or one row of numbers per input, missing where it is unlabeled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from accord.exceptions import InputError
from accord.learners import inputs
from accord.views.inputs import describe


def read_targets(y: Any, n_inputs: int, names: Sequence[str]) -> tuple[list[np.ndarray], bool]:
    """Targets (n_inputs, n_outputs) of each view, nan where unlabeled; and whether there is one output, as a vector.

    ``y`` holds numbers, or rows of numbers, for all views, or is a dict with such targets for every view.
    """
    if not isinstance(y, Mapping):
        targets, single = _target_matrix(y, n_inputs, "y")
        return [targets] * len(names), single
    if set(y) != set(names):
        raise InputError(f"y has targets for {sorted(map(str, y))}; the views are {sorted(names)}")
    found = [_target_matrix(y[name], n_inputs, f"y[{name!r}]") for name in names]
    if len({(own.shape[1], single) for own, single in found}) > 1:
        raise InputError("y has different numbers of outputs for different views; expected the same")
    return [own for own, _ in found], found[0][1]


def _target_matrix(y: Any, n_inputs: int, where: str) -> tuple[np.ndarray, bool]:
    if y is None:
        raise InputError(
            f"{where}: fit requires y to be passed, but the target y is None; expected one number for each input, None "
            "or nan if unlabeled"
        )
    y = inputs.as_inputs(y)
    values = getattr(y, "to_numpy", lambda: y)()
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(float), np.nan)
    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__") or getattr(values, "ndim", 1) == 0:
        raise InputError(f"{where} is {describe(y)}; expected one number for each input, None or nan if unlabeled")
    if len(values) != n_inputs:
        raise InputError(f"{where} has {len(values)} entries but X has {n_inputs} inputs")
    if getattr(values, "dtype", np.dtype(object)).kind == "c":
        raise InputError(f"Complex data not supported: {where} is {describe(y)}; expected real numbers")
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "biuf":
        width = next((len(t) for t in values if _is_row(t)), None)
        hidden = np.nan if width is None else [np.nan] * width
        values = [hidden if inputs.is_unlabeled(t) else t for t in values]
        for i, target in enumerate(values):
            if not all(map(_is_target, target if _is_row(target) else [target])):
                raise InputError(f"{where}[{i}] is {describe(target)}; expected a number, or None")
    try:
        found = np.array(values, dtype=float)
    except ValueError:
        raise InputError(f"{where} has rows of different lengths; expected the same number of outputs") from None
    if found.ndim not in (1, 2) or (found.ndim == 2 and not found.shape[1]):
        raise InputError(f"{where} has shape {found.shape}; expected one number, or one row of numbers, for each input")
    single = found.ndim == 1
    found = found[:, None] if single else found
    if np.isinf(found).any():
        i = int(np.flatnonzero(np.isinf(found).any(axis=1))[0])
        raise InputError(f"{where}[{i}] is infinite; expected a finite number, None or nan")
    missing = np.isnan(found)
    some = missing.any(axis=1) & ~missing.all(axis=1)
    if some.any():
        i = int(np.flatnonzero(some)[0])
        raise InputError(f"{where}[{i}] has some outputs but not all of them; give all, or None")
    return found, single


def _is_row(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, (str, bytes)) and getattr(value, "ndim", 1) == 1


def _is_target(value: Any) -> bool:
    """A number, nan or infinite as well, a truth value, or an array of no dimensions with one of these."""
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    return isinstance(value, (bool, int, float)) or (kind is not None and kind in "biuf" and np.ndim(value) == 0)
