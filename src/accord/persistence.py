"""Model files: one zip container of JSON metadata and plain arrays, which can be data and nothing else.

Layout: ``accord.json`` holds ``{"magic", "format_version", "metadata", "arrays": {name: [dtype, shape]}}``, and
``arrays/<name>.npy`` one array each, in NumPy's documented format. Three properties are kept:

* *Loading never executes code.* There is no pickle in the file, and object arrays are refused both ways.
* *Saving is atomic.* A temporary file beside the target is written, flushed to disk and renamed, so a kill or a
  full disk leaves the old model as it was.
* *A file cannot grow when it is read.* Entries are stored uncompressed, and their sizes are checked against the
  array headers before anything is allocated; checksums tell damage.

The same content always gives the same bytes.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from accord.exceptions import InputError, ModelFileError
from accord.files import replacing

FORMAT_VERSION = 1
_MAGIC = "accord-model"
_INDEX = "accord.json"
_TIMESTAMP = (1980, 1, 1, 0, 0, 0)  # the earliest a zip can hold; a real one would make equal models differ
_KINDS = "biufcSU"  # booleans, numbers and fixed-width strings
_NAME = re.compile(r"[A-Za-z0-9_.+:/-]+")
# A zip entry's size must be announced as 64-bit before it is written; headers need a little room.
_ZIP64_FROM = (1 << 31) - (1 << 16)
_CHUNK = 1 << 20
# How an array begins in version 1.0 of NumPy's format: numbers, booleans and fixed-width strings in order of rows.
_ARRAY_MAGIC = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(
    rb"\{'descr': '(?P<dtype>[<|][biufcSU][0-9]{1,9})', 'fortran_order': False, "
    rb"'shape': \((?P<shape>(?:[0-9]{1,18}(?:, [0-9]{1,18})*,?)?)\), \} *\n"
)
_SIGNATURE = b"PK\x03\x04"  # how a zip begins


def write_model(
    path: str | os.PathLike[str],
    metadata: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    private: bool = False,
) -> None:
    """Write a model file in one step: afterwards the file is complete, or as it was before.

    Parameters
    ----------
    path : path
        An existing file is replaced; a symbolic link is followed.
    metadata : dict
        Whatever JSON holds: nested dicts with string keys, lists, strings, numbers, booleans, None. Tuples come back as
        lists, NumPy scalars as Python numbers.
    arrays : dict of str to ndarray
        Numbers, booleans or fixed-width strings; lists of strings belong in `metadata`.
    private : bool, default False
        Only the owner may read and write the file (mode 0600); otherwise the usual permissions hold.

    Examples
    --------
    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "model.accord")
    >>> write_model(path, {"labels": ["O", "B-PER"]}, {"weights": np.arange(3.0)})
    >>> metadata, arrays = read_model(path)
    >>> metadata, arrays["weights"]
    ({'labels': ['O', 'B-PER']}, array([0., 1., 2.]))
    """
    checked = {name: _checked_array(name, array) for name, array in arrays.items()}
    _check_json(metadata, "metadata")
    index = {
        "magic": _MAGIC,
        "format_version": FORMAT_VERSION,
        "metadata": metadata,
        "arrays": {name: [array.dtype.str, list(array.shape)] for name, array in checked.items()},
    }
    # surrogatepass: tokens may hold lone surrogates if a user read broken text that way
    text = json.dumps(index, ensure_ascii=False, default=_plain).encode("utf-8", "surrogatepass")
    target = Path(os.path.realpath(_path(path)))
    try:
        with replacing(target, private) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as container:
            container.writestr(zipfile.ZipInfo(_INDEX, _TIMESTAMP), text)
            for name, array in checked.items():
                entry = zipfile.ZipInfo(_entry_name(name), _TIMESTAMP)
                with container.open(entry, "w", force_zip64=array.nbytes >= _ZIP64_FROM) as out:
                    np.lib.format.write_array(out, array, allow_pickle=False)
    except OSError as error:
        cause = error.strerror or str(error)
        raise ModelFileError(
            f"cannot save the model to {os.fspath(path)!r}: {cause}; what was there before is untouched"
        ) from error


def read_model(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read a model file written by `write_model`.

    Returns
    -------
    metadata : dict
    arrays : dict of str to ndarray

    Raises
    ------
    ModelFileError
        The file is truncated, damaged, not a model, or written by a newer Accord.
    OSError
        The file is missing or may not be read.
    """
    name = _path(path)
    with _open(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        head = stream.read(4)
        if not head:
            raise ModelFileError(f"{name!r} is empty, not an Accord model file")
        if head != _SIGNATURE:
            raise ModelFileError(f"{name!r} is not an Accord model file (it starts with {head!r})")
        try:
            with zipfile.ZipFile(stream) as container:
                return _read_container(container, size, name)
        except ModelFileError:
            raise
        except MemoryError as error:
            raise ModelFileError(f"{name!r} needs more memory than there is: it has {size:,} bytes") from error
        except (zipfile.BadZipFile, ValueError, EOFError, OSError, OverflowError, RuntimeError, struct.error) as error:
            # zipfile lets many kinds of errors through: impossible offsets, encrypted entries, unknown features
            cause = str(error)[:80] or type(error).__name__
            raise ModelFileError(
                f"{name!r} is truncated or damaged ({cause}); restore it from a copy or train the model again"
            ) from error


def _path(path: str | os.PathLike[str]) -> str:
    if not isinstance(path, (str, bytes, os.PathLike)) or "\0" in os.fsdecode(path):
        raise InputError(f"path is {path!r} of type {type(path).__name__}; expected the name of a file")
    return os.fsdecode(path)


def _open(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open a file; what is none, such as a pipe that nobody writes to, is refused and not waited for."""
    handle = os.open(_path(path), os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return os.fdopen(handle, "rb")
    os.close(handle)
    raise ModelFileError(f"{os.fspath(path)!r} is not a file, so it cannot be an Accord model; copy it to one")


def _entry_name(name: str) -> str:
    return f"arrays/{name}.npy"


def _checked_array(name: str, array: Any) -> np.ndarray:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InputError(f"arrays has the name {name!r}; use letters, digits and _ . + : / - only")
    array = np.asarray(array, order="C")
    if array.dtype.kind not in _KINDS:
        raise InputError(
            f"arrays[{name!r}] has dtype {array.dtype}, which a model file cannot hold; "
            "use numbers, booleans or fixed-width strings, and put lists of strings into metadata"
        )
    return array


def _check_json(value: Any, where: str) -> None:
    """Refuse what JSON would silently change (keys that are no strings) or cannot hold."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                raise InputError(f"{where} has the key {key!r}; JSON keys must be strings")
            _check_json(item, f"{where}[{key!r}]")
    elif isinstance(value, (list, tuple)):
        for k, item in enumerate(value):
            if not isinstance(item, str):  # long lists of strings are common, and need no further look
                _check_json(item, f"{where}[{k}]")
    elif not isinstance(value, (str, int, float, bool, type(None), np.bool_, np.integer, np.floating)):
        raise InputError(f"{where} is a {type(value).__name__}, which JSON cannot hold; arrays go into arrays=")


def _plain(value: Any) -> Any:
    """What json.dumps does not know itself; `_check_json` let nothing else through."""
    return dict(value) if isinstance(value, Mapping) else value.item()


def _read_container(container: zipfile.ZipFile, size: int, name: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    entries = {entry.filename: entry for entry in container.infolist()}
    if _INDEX not in entries:
        raise ModelFileError(f"{name!r} is a zip file but not an Accord model (it has no {_INDEX})")
    if len(entries) != len(container.infolist()):
        raise ModelFileError(f"{name!r} is damaged: an entry occurs twice")
    # Stored entries that fit the file cannot blow up when they are read.
    if any(e.compress_type != zipfile.ZIP_STORED for e in entries.values()):
        raise ModelFileError(f"{name!r} has compressed entries; Accord stores them uncompressed, so it was changed")
    if sum(e.file_size for e in entries.values()) > size:
        raise ModelFileError(f"{name!r} is damaged: its entries are larger than the file")
    index = _read_index(container, name)
    expected = {_INDEX, *(_entry_name(array) for array in index["arrays"])}
    if expected != set(entries):
        odd = sorted(expected ^ set(entries))
        raise ModelFileError(f"{name!r} is damaged: {odd[0]!r} is missing or does not belong there")
    arrays = {key: _read_array(container, key, described, name) for key, described in index["arrays"].items()}
    return index["metadata"], arrays


def _read_index(container: zipfile.ZipFile, name: str) -> dict[str, Any]:
    try:
        index = json.loads(container.read(_INDEX).decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{name!r} is damaged: {_INDEX} is not JSON ({error})") from error
    if not isinstance(index, dict) or index.get("magic") != _MAGIC:
        raise ModelFileError(f"{name!r} is a zip file but not an Accord model ({_INDEX} lacks its magic word)")
    version = index.get("format_version")
    if not isinstance(version, int) or version < 1:
        raise ModelFileError(f"{name!r} is damaged: format_version is {version!r}")
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{name!r} has format version {version}, but this Accord reads up to {FORMAT_VERSION}; upgrade Accord"
        )
    if not isinstance(index.get("metadata"), dict) or not isinstance(index.get("arrays"), dict):
        raise ModelFileError(f"{name!r} is damaged: {_INDEX} lacks its metadata or its list of arrays")
    return index


def _read_array(container: zipfile.ZipFile, array_name: str, described: Any, name: str) -> np.ndarray:
    """Read one array after its header proved to match the index and the size of its entry."""
    damaged = f"{name!r} is damaged: array {array_name!r}"
    with container.open(_entry_name(array_name)) as stream:
        dtype, shape = _read_header(stream, damaged)
        if [dtype.str, list(shape)] != described:
            raise ModelFileError(f"{damaged} is not what {_INDEX} describes")
        n_bytes = container.getinfo(_entry_name(array_name)).file_size - stream.tell()
        n_items = math.prod(shape)
        if n_items * dtype.itemsize != n_bytes or (n_items and not dtype.itemsize):
            raise ModelFileError(f"{damaged} has {n_bytes} bytes, which do not fit its shape {shape}")
        buffer = np.empty(n_bytes, dtype=np.uint8)
        start = 0
        while chunk := stream.read(_CHUNK):  # to the very end, where the checksum is compared
            buffer[start : start + len(chunk)] = np.frombuffer(chunk, dtype=np.uint8)
            start += len(chunk)
    return buffer.view(dtype).reshape(shape) if n_bytes else np.empty(shape, dtype)


def _read_header(stream: IO[bytes], damaged: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Type and shape from the header of an array; NumPy's own reader takes more than it writes, and may fail oddly."""
    start = stream.read(len(_ARRAY_MAGIC) + 2)
    text = stream.read(int.from_bytes(start[-2:], "little")) if start[:-2] == _ARRAY_MAGIC else b""
    found = _HEADER.fullmatch(text)
    if not found:
        raise ModelFileError(f"{damaged} has a header that Accord does not write; it is not loaded")
    shape = tuple(int(size) for size in found["shape"].split(b",") if size.strip())
    try:
        return np.dtype(found["dtype"].decode()), shape
    except TypeError as error:
        raise ModelFileError(f"{damaged} has the type {found['dtype']!r}, which there is not") from error
