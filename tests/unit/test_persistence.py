"""Model files: what goes in comes out, damage is told, code cannot hide, a failed save changes nothing."""

import errno
import io
import json
import os
import pickle
import signal
import stat
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest

from accord import persistence
from accord.exceptions import InputError, ModelFileError
from accord.persistence import read_model, write_model

METADATA = {"labels": ["O", "B-ñ", "\ud800"], "C": 0.5, "none": None, "deep": {"list": [1, True, [2.5]]}}
ARRAYS = {
    "weights": np.arange(12.0).reshape(3, 4),
    "view0/indices": np.array([1, 2], dtype=np.int32),
    "scalar": np.array(7.5),
    "empty": np.empty((0, 4), dtype=np.float32),
    "mask": np.array([True, False]),
    "names": np.array(["ab", "ñ"]),
}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "model.accord"
    write_model(path, METADATA, ARRAYS)
    return path


def rewrite(path, changes, compression=zipfile.ZIP_STORED):
    """Write the container again with some entries replaced (None: left out) or added."""
    with zipfile.ZipFile(path) as old:
        entries = {name: old.read(name) for name in old.namelist()}
    entries |= changes
    with zipfile.ZipFile(path, "w", compression) as new:
        for name, content in entries.items():
            if content is not None:
                new.writestr(name, content)


def index_of(path):
    with zipfile.ZipFile(path) as container:
        return json.loads(container.read("accord.json").decode("utf-8", "surrogatepass"))


def npy(array, **options):
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def test_round_trip(path):
    metadata, arrays = read_model(path)
    assert metadata == METADATA
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert arrays[name].shape == array.shape
        np.testing.assert_array_equal(arrays[name], array)
    arrays["weights"][0, 0] = 5.0  # loaded models go on learning


def test_fortran_order_strides_and_numpy_scalars(tmp_path):
    array = np.arange(24.0).reshape(4, 6)
    metadata = {"n": np.int64(3), "x": np.float32(0.5), "flag": np.bool_(True), "pair": (1, 2)}
    write_model(tmp_path / "m", metadata, {"f": np.asfortranarray(array), "s": array[::2, ::3]})
    read, arrays = read_model(tmp_path / "m")
    assert read == {"n": 3, "x": 0.5, "flag": True, "pair": [1, 2]}
    np.testing.assert_array_equal(arrays["f"], array)
    np.testing.assert_array_equal(arrays["s"], array[::2, ::3])


def test_same_content_same_bytes(path, tmp_path, monkeypatch):
    monkeypatch.setattr(time, "time", lambda: 2e9)
    write_model(tmp_path / "other", METADATA, ARRAYS)
    assert (tmp_path / "other").read_bytes() == path.read_bytes()


def test_usual_permissions_and_no_leftovers(path):
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
    assert os.listdir(path.parent) == ["model.accord"]


def test_symbolic_link_is_followed(path):
    link = path.parent / "latest"
    link.symlink_to(path)
    write_model(link, {"new": 1}, {})
    assert link.is_symlink()
    assert read_model(path) == ({"new": 1}, {})


@pytest.mark.parametrize(
    ("metadata", "arrays", "message"),
    [
        ({}, {"a": np.array([{}], dtype=object)}, r"arrays\['a'\] has dtype object"),
        ({}, {"a": ["x", None]}, r"arrays\['a'\] has dtype object"),
        ({}, {"a": np.array(["2000-01-01"], dtype="M8[D]")}, r"arrays\['a'\] has dtype datetime64"),
        ({}, {"a b": np.zeros(1)}, "arrays has the name 'a b'"),
        ({"x": {1: 2}}, {}, r"metadata\['x'\] has the key 1"),
        ({"x": [0, {"f": print}]}, {}, r"metadata\['x'\]\[1\]\['f'\] is a builtin_function"),
        ({"x": np.zeros(2)}, {}, r"metadata\['x'\] is a ndarray"),
    ],
)
def test_what_cannot_be_saved(path, metadata, arrays, message):
    before = path.read_bytes()
    with pytest.raises(InputError, match=message):
        write_model(path, metadata, arrays)
    assert path.read_bytes() == before


def test_every_truncation_is_told(path):
    content = path.read_bytes()
    broken = path.with_name("broken")
    for length in [0, 1, 3, 4, 100, *range(200, len(content), 37), len(content) - 1]:
        broken.write_bytes(content[:length])
        with pytest.raises(ModelFileError, match=r"empty|not an Accord model|truncated or damaged"):
            read_model(broken)


def test_every_flipped_bit_is_told_or_harmless(path):
    content = path.read_bytes()
    broken = path.with_name("broken")
    told = 0
    for position in range(0, len(content), 3):
        damaged = bytearray(content)
        damaged[position] ^= 1 << position % 8
        broken.write_bytes(damaged)
        try:
            metadata, arrays = read_model(broken)
        except ModelFileError:
            told += 1
            continue
        # a bit of a time stamp or an attribute: the content is what it was
        assert metadata == METADATA
        assert all(np.array_equal(arrays[name], array) for name, array in ARRAYS.items())
    assert told > 0.6 * len(content) / 3


def test_damaged_array_fails_its_checksum(path):
    content = bytearray(path.read_bytes())
    content[content.index(np.float64(11).tobytes())] ^= 1
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"Bad CRC-32 for file 'arrays/weights\.npy'"):
        read_model(path)


class Bomb:
    def __reduce__(self):
        return os.mkdir, ("bomb-went-off",)


def test_foreign_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "foreign"
    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(ModelFileError, match="is not an Accord model file"):
        read_model(path)
    np.savez(path.with_suffix(".npz"), a=np.zeros(2))
    with pytest.raises(ModelFileError, match=r"not an Accord model \(it has no accord\.json\)"):
        read_model(path.with_suffix(".npz"))
    with pytest.raises(FileNotFoundError):
        read_model(tmp_path / "missing")
    assert not (tmp_path / "bomb-went-off").exists()


def test_pickled_array_is_never_unpickled(path, monkeypatch):
    monkeypatch.chdir(path.parent)
    index = index_of(path)
    index["arrays"]["weights"] = ["|O", [1]]
    evil = npy(np.array([Bomb()], dtype=object), allow_pickle=True)
    rewrite(path, {"accord.json": json.dumps(index), "arrays/weights.npy": evil})
    with pytest.raises(ModelFileError, match="a header that Accord does not write"):
        read_model(path)
    assert not (path.parent / "bomb-went-off").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format_version": 2}, "format version 2, but this Accord reads up to 1; upgrade Accord"),
        ({"format_version": "x"}, "format_version is 'x'"),
        ({"magic": "other"}, "lacks its magic word"),
        ({"metadata": 3}, "lacks its metadata"),
        ({"arrays": []}, "lacks its metadata or its list of arrays"),
    ],
)
def test_wrong_index(path, change, message):
    rewrite(path, {"accord.json": json.dumps(index_of(path) | change)})
    with pytest.raises(ModelFileError, match=message):
        read_model(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"accord.json": "{"}, "is not JSON"),
        ({"accord.json": "[" * 100_000}, "is not JSON"),
        ({"arrays/mask.npy": None}, r"'arrays/mask\.npy' is missing"),
        ({"arrays/more.npy": npy(np.zeros(1))}, r"'arrays/more\.npy' is missing or does not belong"),
        ({"arrays/weights.npy": npy(np.zeros((3, 5)))}, "array 'weights' is not what accord.json describes"),
        ({"arrays/weights.npy": npy(np.zeros((3, 4), order="F"))}, "a header that Accord does not write"),
        ({"arrays/weights.npy": npy(ARRAYS["weights"])[:-8]}, "array 'weights' has 88 bytes, which do not fit"),
        ({"arrays/weights.npy": npy(ARRAYS["weights"]) + b"more"}, "array 'weights' has 100 bytes"),
        ({"arrays/weights.npy": b"plain"}, "array 'weights' has a header that Accord does not"),
    ],
)
def test_wrong_entries(path, changes, message):
    rewrite(path, changes)
    with pytest.raises(ModelFileError, match=message):
        read_model(path)


def reshaped(shape):
    """An array of three numbers whose header claims another shape."""
    head, claim = npy(np.zeros(3)), f"'shape': {shape}, }}".encode()
    true = b"'shape': (3,), }"
    assert true in head
    return head.replace(true + b" " * (len(claim) - len(true)), claim)


def test_a_header_of_many_digits_is_refused_at_once(path):
    """A pattern that may divide digits among numbers in several ways would try all of them, for hours."""
    head = npy(ARRAYS["weights"])
    shape = b"1" * 40 + b"x"
    claim = b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + shape + b"), }\n"
    rewrite(path, {"arrays/weights.npy": head[:8] + len(claim).to_bytes(2, "little") + claim})
    with pytest.raises(ModelFileError, match="a header that Accord does not write"):
        read_model(path)


@pytest.mark.parametrize("shape", [(1 << 40,), (-1, -3)])
def test_impossible_shapes(path, shape):
    index = index_of(path)
    index["arrays"]["weights"] = ["<f8", list(shape)]
    rewrite(path, {"accord.json": json.dumps(index), "arrays/weights.npy": reshaped(shape)})
    message = "has 24 bytes, which do not fit its shape|a header that Accord does not write"
    with pytest.raises(ModelFileError, match=message):
        read_model(path)


def test_promised_terabytes_are_not_allocated(path):
    n_numbers = 1 << 40
    index = {"magic": "accord-model", "format_version": 1, "metadata": {}, "arrays": {"w": ["<f8", [n_numbers]]}}
    content = reshaped((n_numbers,))
    with zipfile.ZipFile(path, "w") as container:
        container.writestr("accord.json", json.dumps(index))
        container.writestr("arrays/w.npy", content)
        entry = container.getinfo("arrays/w.npy")
        entry.file_size = entry.compress_size = len(content) - 24 + 8 * n_numbers  # the directory lies too
    with pytest.raises(ModelFileError, match="its entries are larger than the file"):
        read_model(path)


def test_compressed_and_doubled_entries_are_refused(path):
    rewrite(path, {}, zipfile.ZIP_DEFLATED)
    with pytest.raises(ModelFileError, match="compressed entries"):
        read_model(path)
    with zipfile.ZipFile(path, "w") as container:
        container.writestr("accord.json", "{}")
        with pytest.warns(UserWarning, match="Duplicate"):
            container.writestr("accord.json", "{}")
    with pytest.raises(ModelFileError, match="an entry occurs twice"):
        read_model(path)


def test_full_disk_leaves_the_old_model(path, monkeypatch):
    before = path.read_bytes()

    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", full)
    with pytest.raises(ModelFileError, match=r"cannot save the model to '.*model\.accord': No space left on device"):
        write_model(path, {"new": 1}, {"a": np.zeros(3)})
    monkeypatch.undo()
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ModelFileError, match="No space left on device; what was there before is untouched"):
        write_model(path, {"new": 1}, {"a": np.zeros(3)})
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["model.accord"]


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="the system has no limit on file sizes")
def test_a_write_that_really_fails(path):
    before = path.read_bytes()
    code = (
        "import resource, sys, numpy as np\n"
        "from accord.persistence import write_model\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "write_model(sys.argv[1], {}, {'a': np.zeros(50_000)})\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ModelFileError: cannot save the model" in done.stderr
    assert "File too large" in done.stderr
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["model.accord"]


def test_missing_folder_and_folder_in_the_way(tmp_path):
    with pytest.raises(ModelFileError, match=r"gone/model': No such file or directory"):
        write_model(tmp_path / "gone" / "model", {}, {})
    with pytest.raises(ModelFileError, match="cannot save the model"):
        write_model(tmp_path, {}, {})
    assert os.listdir(tmp_path) == []


def test_interrupt_removes_the_temporary_file(path, monkeypatch):
    before = path.read_bytes()

    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(np.lib.format, "write_array", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_model(path, {}, {"a": np.zeros(3)})
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["model.accord"]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system has no SIGKILL")
def test_a_kill_in_the_middle_leaves_the_old_model(path):
    before = path.read_bytes()
    code = (
        "import sys, time, numpy as np\n"
        "from accord.persistence import write_model\n"
        "original = np.lib.format.write_array\n"
        "def slow(stream, array, **options):\n"
        "    original(stream, array, **options)\n"
        "    sys.stdout.write('half')\n"
        "    sys.stdout.flush()\n"
        "    time.sleep(60)\n"
        "np.lib.format.write_array = slow\n"
        "write_model(sys.argv[1], {'new': 1}, {'a': np.zeros(10), 'b': np.zeros(10)})\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout.read(4) == b"half"
        process.kill()
    assert path.read_bytes() == before
    assert read_model(path)[0] == METADATA


def test_large_arrays_are_announced_to_the_container(path, monkeypatch):
    # entries beyond 2 GiB need another header; a small limit takes the same way without the gigabytes
    size = path.stat().st_size
    monkeypatch.setattr(persistence, "_ZIP64_FROM", 8)
    write_model(path, METADATA, ARRAYS)
    assert path.stat().st_size > size
    np.testing.assert_array_equal(read_model(path)[1]["weights"], ARRAYS["weights"])
