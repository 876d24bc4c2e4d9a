"""Damages to model files that checksums do not show: the container is written anew around what was changed.

A damage is drawn from a seed. It is *valid* if it leaves a file that ``save`` could have written for other numbers: a
weight that is another finite number, another text. What is predicted from such a file may differ; from all others it
may not.
"""

from __future__ import annotations

import copy
import io
import json
import random
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ODD = [0, -1, 1, 2, 7, 10**9, -(2**31), 2**31, 2**63, 10**30, 0.5, -0.5, 1e-300, 1e308, "", "x", "\x00", "a" * 10_000,
       None, True, False, [], {}, [None], {"float": "nan"}, {"float": "inf"}, {"array": "a0"}, {"list": []},
       {"tuple": [1, 2]}, {"dict": [[1, 2]]}, {"class": "CRF", "fields": {}}]  # fmt: skip
INTEGERS = [-1, 1, 2, 3, 2**15, 2**30, 2**31 - 1, -(2**31)]
FLOATS = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324]
TYPES = ["<f8", "<f4", "<i8", "<i4", "<u8", "|b1", "<f2", "<c16", "|u1", "<U3", ">f8"]


class Content(NamedTuple):
    """A model file taken apart: its index, and the bytes of its arrays."""

    index: dict[str, Any]
    arrays: dict[str, bytes]


class Damage(NamedTuple):
    """A damaged file, what was done to it, and whether it is a file of other numbers."""

    data: bytes
    what: str
    valid: bool


def take_apart(path: Path) -> Content:
    """Read a container as it is."""
    with zipfile.ZipFile(path) as container:
        index = json.loads(container.read("accord.json").decode("utf-8", "surrogatepass"))
        return Content(index, {name: container.read(f"arrays/{name}.npy") for name in index["arrays"]})


def put_together(index: bytes, arrays: dict[str, bytes]) -> bytes:
    """A container with right checksums."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as container:
        container.writestr(zipfile.ZipInfo("accord.json"), index)
        for name, data in arrays.items():
            container.writestr(zipfile.ZipInfo(f"arrays/{name}.npy"), data)
    return out.getvalue()


def damage(content: Content, seed: int) -> Damage:
    """The damage number ``seed`` of a file."""
    rng = random.Random(seed)
    ways = [_flip_json, _flip_array, _odd_value, _odd_value, _odd_field, _swap_arrays]
    if content.arrays:
        ways += [_reshape, _retype, _odd_numbers, _odd_numbers, _odd_numbers]
    return rng.choice(ways)(content, rng)


# -- bytes ------------------------------------------------------------------------------------------------------------
def _text(index: dict[str, Any]) -> bytes:
    return json.dumps(index, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _flip_json(content: Content, rng: random.Random) -> Damage:
    text = bytearray(_text(content.index))
    at = rng.randrange(len(text))
    text[at] = rng.randrange(256)
    return Damage(
        put_together(bytes(text), content.arrays), f"byte {at} of the index", _same_shape(content.index, text)
    )


def _same_shape(index: dict[str, Any], text: bytearray) -> bool:
    """Whether a text is JSON that differs in texts, numbers and truth values alone."""
    try:
        return _skeleton(index) == _skeleton(json.loads(text.decode("utf-8", "surrogatepass")))
    except (ValueError, RecursionError):
        return False


def _skeleton(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _skeleton(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_skeleton(one) for one in value]
    return "number" if isinstance(value, (int, float)) else type(value).__name__


def _flip_array(content: Content, rng: random.Random) -> Damage:
    if not content.arrays:
        return _flip_json(content, rng)
    name = rng.choice(sorted(content.arrays))
    data = bytearray(content.arrays[name])
    header = 10 + int.from_bytes(data[8:10], "little")
    at = rng.randrange(header if rng.random() < 0.3 or len(data) == header else len(data))
    data[at] ^= 1 << rng.randrange(8)
    return Damage(
        put_together(_text(content.index), {**content.arrays, name: bytes(data)}), f"byte {at} of {name}", at >= header
    )


# -- values -----------------------------------------------------------------------------------------------------------
def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a tree as (container, key)."""
    items = list(tree.items()) if isinstance(tree, dict) else list(enumerate(tree)) if isinstance(tree, list) else []
    for key, value in items:
        yield tree, key
        yield from _places(value)


def _odd_value(content: Content, rng: random.Random) -> Damage:
    index = copy.deepcopy(content.index)
    where, key = rng.choice(list(_places(index["metadata"])))
    old, new = where[key], rng.choice(ODD)
    where[key] = new
    what = f"{key}: {str(old)[:40]} -> {str(new)[:40]}"
    # a field may have another value, and a list another label; a list of another length is no other number
    plain = not isinstance(new, (dict, list)) or new in ({"tuple": [1, 2]}, {"float": "inf"})
    valid = isinstance(where, dict) or (not isinstance(old, (dict, list)) and plain)
    return Damage(put_together(_text(index), content.arrays), what, valid)


def _odd_field(content: Content, rng: random.Random) -> Damage:
    index = copy.deepcopy(content.index)
    found = (where[key] for where, key in _places(index["metadata"]))
    objects = [one for one in found if isinstance(one, dict) and isinstance(one.get("fields"), dict) and "class" in one]
    if not objects:
        return _odd_value(content, rng)
    chosen = rng.choice(objects)
    fields = chosen["fields"]
    way = rng.randrange(4)
    if way == 0 and fields:
        name = rng.choice(sorted(fields))
        del fields[name]
        what = f"no {name}"
    elif way == 1 and len(fields) > 1:
        a, b = rng.sample(sorted(fields), 2)
        fields[a], fields[b] = fields[b], fields[a]
        what = f"{a} and {b} swapped"
    elif way == 2:
        chosen["class"] = rng.choice(objects)["class"]
        what = f"class {chosen['class']}"
    else:
        fields[rng.choice(["surprise_", "n_dims_", "view_", "labels_", "__class__", "_products"])] = rng.choice(ODD)
        what = "one more field"
    return Damage(put_together(_text(index), content.arrays), what, True)


def _swap_arrays(content: Content, rng: random.Random) -> Damage:
    if len(content.arrays) < 2:
        return _odd_value(content, rng)
    a, b = rng.sample(sorted(content.arrays), 2)
    index, arrays = copy.deepcopy(content.index), dict(content.arrays)
    arrays[a], arrays[b] = arrays[b], arrays[a]
    index["arrays"][a], index["arrays"][b] = index["arrays"][b], index["arrays"][a]
    return Damage(put_together(_text(index), arrays), f"{a} and {b} swapped", index["arrays"][a] == index["arrays"][b])


# -- arrays -----------------------------------------------------------------------------------------------------------
def _with_array(content: Content, name: str, array: np.ndarray, what: str, valid: bool) -> Damage:
    out = io.BytesIO()
    np.lib.format.write_array(out, array, version=(1, 0), allow_pickle=False)
    index = copy.deepcopy(content.index)
    index["arrays"][name] = [array.dtype.str, list(array.shape)]
    arrays = {**content.arrays, name: out.getvalue()}
    return Damage(put_together(_text(index), arrays), f"{name} {what}", valid)


def _array(content: Content, rng: random.Random) -> tuple[str, np.ndarray]:
    name = rng.choice(sorted(content.arrays))
    return name, np.lib.format.read_array(io.BytesIO(content.arrays[name]), allow_pickle=False)


def _reshape(content: Content, rng: random.Random) -> Damage:
    name, array = _array(content, rng)
    axis = rng.randrange(max(array.ndim, 1))
    changes = {
        "flat": lambda: array.ravel(),
        "with one more axis": lambda: array[None],
        "empty": lambda: array[:0],
        "without its last entries": lambda: np.delete(array, -1, axis),
        "with entries twice": lambda: np.concatenate([array, array], axis),
        "with one more entry": lambda: np.concatenate([array, np.zeros_like(array.take([0], axis))], axis),
        "turned": lambda: np.ascontiguousarray(array.T),
        "many": lambda: np.zeros((200, *array.shape[1:]), array.dtype),
    }
    what = rng.choice(sorted(changes))
    try:
        changed = changes[what]()
    except (ValueError, IndexError):
        return _odd_value(content, rng)
    same = changed.shape == array.shape and np.array_equal(changed, array)
    return _with_array(content, name, changed, what, changed.shape == array.shape and not same)


def _retype(content: Content, rng: random.Random) -> Damage:
    name, array = _array(content, rng)
    dtype = rng.choice(TYPES)
    try:
        with np.errstate(all="ignore"):
            changed = array.astype(dtype)
    except (ValueError, TypeError):
        return _odd_value(content, rng)
    return _with_array(content, name, changed, f"as {dtype}", False)


def _odd_numbers(content: Content, rng: random.Random) -> Damage:
    name, array = _array(content, rng)
    if not array.size or array.dtype.kind not in "iuf":
        return _odd_value(content, rng)
    changed = array.copy()
    at = rng.randrange(array.size)
    odd = rng.choice(FLOATS if array.dtype.kind == "f" else INTEGERS)
    if rng.random() < 0.3:  # close to what is right: off by one, or another entry of the same array
        odd = rng.choice([changed.flat[at] + 1, changed.flat[at] - 1, changed.flat[rng.randrange(array.size)]])
    with np.errstate(all="ignore"):
        changed.flat[at] = np.array(odd).astype(array.dtype)
    return _with_array(content, name, changed, f"[{at}] = {odd}", bool(np.isfinite(changed.flat[at])))
