"""Saving and loading of fitted learners: a JSON tree of parameters and attributes, with the arrays beside it.

Only classes of the registry can come out of a file, and they are made without calling any code of the file's choosing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from accord.exceptions import InputError, ModelFileError
from accord.forms import Unfit, prove
from accord.persistence import read_model, write_model
from accord.registry import TABLE, find, is_stored


def save(model: Any, path: str | Path) -> None:
    """Write a fitted learner, which proves first that ``load`` will take it."""
    arrays: dict[str, np.ndarray] = {}
    tree = _pack(model, arrays, type(model).__name__)
    try:
        prove(model, type(model).__name__)
    except Unfit as error:
        raise InputError(f"this model cannot be saved: {error}; fit it again") from error
    write_model(path, {"model": tree}, arrays)


def load(path: str | Path) -> Any:
    """Read a learner written by ``save``. Never executes code from the file.

    Examples
    --------
    >>> import os, tempfile
    >>> import accord
    >>> file = os.path.join(tempfile.mkdtemp(), "tagger.accord")
    >>> tagger = accord.CRF(accord.Sequence()).fit([["Ana", "left", "Rome"]], [["PER", "O", "LOC"]])
    >>> tagger.save(file)
    >>> accord.load(file).predict([["Ana", "left"]])
    [['PER', 'O']]
    """
    metadata, arrays = read_model(path)
    try:
        model = _unpack(metadata["model"], arrays)
        if not is_stored(type(model).__name__):
            raise Unfit(f"it holds a {type(model).__name__}, which is no model")
        prove(model, type(model).__name__, derive=True)
        return model
    except Unfit as error:
        raise ModelFileError(f"{path}: {error}; the file is damaged or was made by another version") from error
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, ArithmeticError, RecursionError) as error:
        raise ModelFileError(f"{path}: the model file is damaged or was made by another version ({error!r})") from error


def _pack(value: Any, arrays: dict[str, np.ndarray], where: str) -> Any:
    if value is None or isinstance(value, (str, bool, int, float)):
        return value if not isinstance(value, float) or np.isfinite(value) else {"float": repr(value)}
    if isinstance(value, np.generic):
        return _pack(value.item(), arrays, where)
    if isinstance(value, np.ndarray) and value.dtype != object:
        arrays[name := f"a{len(arrays)}"] = value
        return {"array": name}
    if sp.issparse(value):
        m = sp.csr_array(value)
        parts = {k: _pack(getattr(m, k), arrays, where) for k in ("data", "indices", "indptr")}
        return {"csr": parts, "shape": list(m.shape)}
    if is_stored(type(value).__name__) and type(value).__module__ == TABLE[type(value).__name__].module:
        # named tuples, and classes of which not everything belongs into a file, say what their fields are
        say = getattr(value, "_asdict", None) or getattr(value, "_saved", None)
        fields = vars(value) if say is None else say()
        left_out = getattr(type(value), "derived", ())
        kept = {
            k: _pack(v, arrays, f"{where}.{k}")
            for k, v in fields.items()
            if not k.startswith("_") and k not in left_out
        }
        return {"class": type(value).__name__, "fields": kept}
    if isinstance(value, slice):
        return {"slice": [_pack(v, arrays, where) for v in (value.start, value.stop, value.step)]}
    if isinstance(value, dict):
        items = [[_pack(k, arrays, where), _pack(v, arrays, f"{where}[{k!r}]")] for k, v in value.items()]
        return {"dict": items}
    if isinstance(value, (list, tuple, set, frozenset)):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_pack(v, arrays, f"{where}[{i}]") for i, v in enumerate(value)]}
    raise InputError(
        f"{where} is a {type(value).__name__}, which cannot be written to a model file (only numbers, text, arrays and "
        "Accord's own objects can); use pickle for this model"
    )


def _unpack(tree: Any, arrays: dict[str, np.ndarray]) -> Any:
    if not isinstance(tree, dict):
        return tree
    if "float" in tree:
        return float(tree["float"])
    if "array" in tree:
        return arrays[tree["array"]]
    if "csr" in tree:
        return _unpack_csr(tree, arrays)
    if "slice" in tree:
        return slice(*(_unpack(v, arrays) for v in tree["slice"]))
    if "dict" in tree:
        return {_unpack(k, arrays): _unpack(v, arrays) for k, v in tree["dict"]}
    if "tuple" in tree:
        return tuple(_unpack(v, arrays) for v in tree["tuple"])
    if "list" in tree:
        return [_unpack(v, arrays) for v in tree["list"]]
    if not is_stored(tree["class"]):
        raise ModelFileError(
            f"the model file names the unknown class {tree['class']!r}; it may be from a newer version"
        )
    cls = find(tree["class"])
    # files of earlier versions have what a class renamed under the former name
    renamed = getattr(cls, "renamed", {})
    fields = {renamed.get(k, k): _unpack(v, arrays) for k, v in tree["fields"].items() if not k.startswith("_")}
    if issubclass(cls, tuple):
        return cls(**fields)
    out = cls.__new__(cls)
    former = getattr(cls, "former", {})
    missing = (getattr(cls, "__dataclass_fields__", {}).keys() & former.keys()) - fields.keys()
    out.__dict__.update(fields | {name: former[name] for name in sorted(missing)})
    if any(name.endswith("_") for name in fields):  # it is fitted
        for name, found in getattr(cls, "once_fixed", {}).items():
            out.__dict__.setdefault(name, found(out))
    return out


def _unpack_csr(tree: dict[str, Any], arrays: dict[str, np.ndarray]) -> sp.csr_array:
    data, indices, indptr = (_unpack(tree["csr"][k], arrays) for k in ("data", "indices", "indptr"))
    # Kernels trust indices, so a damaged file must not get that far; the check is on a copy because it changes types.
    sp.csr_array((data, indices.copy(), indptr.copy()), shape=tuple(tree["shape"])).check_format(full_check=True)
    out = sp.csr_array(tuple(tree["shape"]))
    out.data, out.indices, out.indptr = data, indices, indptr
    return out
