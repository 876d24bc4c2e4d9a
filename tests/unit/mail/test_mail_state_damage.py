"""States of detectors that do not fit together: nothing of them reaches a kernel, and services start all the same."""

import io
import json
import os
import random
import tracemalloc
import zipfile

import numpy as np
import pytest
from row_tables import each_row

import accord
from accord.exceptions import InputError, ModelFileError
from accord.mail.config import DetectorSettings
from accord.mail.detector import BatchDetector
from accord.mail.features import NAMES, MailPairs
from accord.mail.generator import MailGenerator
from accord.mail.model import Similarity
from accord.mail.service import open_service
from accord.mail.signature import Signatures, flat_idf, sign
from accord.mail.spam import CollectiveSpamFilter
from accord.mail.state_file import release_state, restore_state
from accord.persistence import read_model, write_model

WINDOW = 6
MAILS = [mail.raw for mail in MailGenerator(random_state=3, batch_size=3).stream(14)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The bytes of a state, and what is in it."""
    path = tmp_path_factory.mktemp("state") / "state"
    detector = BatchDetector(window=WINDOW)
    for k, mail in enumerate([*MAILS[:10], MAILS[9]]):  # the last two are a batch
        detector.assign(mail, received=1000.0 + k)
    detector.save(path)
    metadata, arrays = read_model(path)
    assert arrays["free"].size, "a place is free"
    assert arrays["words.words"].size
    return path.read_bytes(), metadata, arrays


def content(detector):
    """All that decides about further mail."""
    numbers, arrays = detector._window.state().packed()
    similarity = [np.asarray(value).tolist() for value in detector.similarity]
    settings = [detector.window, detector.max_age, detector.min_words, detector.keep_words, detector.prefix]
    return numbers, {name: array.tolist() for name, array in arrays.items()}, similarity, settings


# -- one part that does not fit the others ----------------------------------------------------------------------------
def changed(array, value):
    out = array.copy()
    out.reshape(-1)[out.size // 2] = value
    return out


def kinds_of_damage(name, array):
    yield "empty", array[:0]
    yield "one row less", array[:-1]
    yield "one row more", np.concatenate([array, array[-1:]])
    yield "another dimension", array[None]
    yield "text", np.full(array.shape, "1")
    yield "half as many bytes", array.astype(f"{array.dtype.kind}{max(1, array.dtype.itemsize // 2)}")
    yield "twice as many bytes", array.astype("f8" if array.dtype.kind != "f" else "i8")
    if array.ndim == 2:
        yield "one column less", np.ascontiguousarray(array[:, :-1])
    if array.dtype.kind == "f":
        for value in (np.nan, np.inf, -np.inf):
            yield str(value), changed(array, value)
    if array.dtype.kind == "i" and array.itemsize == 8:
        for value in (-2, WINDOW, 2**30, 2**62, -(2**63)):
            yield str(value), changed(array, value)


ARRAYS = [
    "places", "compared", "received", "serials", "sizes", "members", "subjects", "senders", "same_subject",
    "same_sender", "free", "idf", "weights", "words.lengths", "words.words", "words.counts",
    *(f"rows.{name}" for name in Signatures._fields),
]  # fmt: skip


def refusal(path):
    """Why a state is refused; None if it can be used."""
    try:
        detector = BatchDetector.restore(path)
    except ModelFileError as error:
        return str(error)
    for mail in MAILS:
        detector.assign(mail)
    return None


@each_row("name", ARRAYS)
def test_arrays_that_do_not_fit_are_named(whole, tmp_path, name):
    _, metadata, arrays = whole
    path = tmp_path / "state"
    sound = []
    for kind, array in kinds_of_damage(name, arrays[name]):
        if array.dtype == arrays[name].dtype and np.array_equal(array, arrays[name]):
            continue
        write_model(path, metadata, arrays | {name: array})
        reason = refusal(path)
        if reason is None:
            sound.append(kind)
            continue
        assert reason.startswith(f"{path}: the state of the detector is damaged: "), kind
        assert kind not in ("empty", "text", "nan") or name.rpartition(".")[2] in reason, (kind, reason)
    # a batch may have been of any size, and a number of a place that is free says nothing
    assert set(sound) <= ({"2", str(2**30), str(WINDOW)} if name in ("sizes", "words.counts", "members") else set())
    write_model(path, metadata, {key: value for key, value in arrays.items() if key != name})
    with pytest.raises(ModelFileError, match=name.rpartition(".")[2]):
        BatchDetector.restore(path)


@each_row(
    ("name", "value"),
    [
        ("tags", 7), ("lengths", 65), ("lengths", 49), ("lengths", 255), ("single", 9), ("triples", 9), ("marks", 1),
    ],
)  # fmt: skip
def test_signatures_whose_columns_disagree(whole, tmp_path, name, value):
    _, metadata, arrays = whole
    for row in range(WINDOW):
        broken = arrays[f"rows.{name}"].copy()
        column = np.flatnonzero(broken[row] != value)[-1]
        broken[row, column] = value if name in ("tags", "lengths") or not broken[row, column] else 0
        write_model(tmp_path / "state", metadata, arrays | {f"rows.{name}": broken})
        with pytest.raises(ModelFileError, match="it is not so that the rows are signatures"):
            BatchDetector.restore(tmp_path / "state")


BAD_NUMBERS = [-1, 10**30, 2**63, 1.5, None, "5", [5], True, {"a": 1}]


GOOD_SETTINGS = {
    "keep_words": [True], "prefix": ["5"], "max_age": [10**30, 2**63, 1.5, None], "min_words": [10**30, 2**63],
}  # fmt: skip


@pytest.mark.parametrize("table", ["window", "settings"])
def test_numbers_and_settings_that_do_not_fit(whole, tmp_path, table):
    _, metadata, arrays = whole
    path = tmp_path / "state"
    good = metadata[table]
    bad = [{}, None, [], 7, *({k: v for k, v in good.items() if k != name} for name in good)]
    for name in good:
        for value in BAD_NUMBERS:
            if not any(value is fine or value == fine != 1 for fine in GOOD_SETTINGS.get(name, [])):
                bad.append(good | {name: value})
    for case in bad:
        write_model(path, metadata | {table: case}, arrays)
        assert refusal(path), case
    for name in GOOD_SETTINGS if table == "settings" else []:
        for value in GOOD_SETTINGS[name]:
            write_model(path, metadata | {table: good | {name: value}}, arrays)
            assert refusal(path) is None, (name, value)


def test_a_small_file_gets_no_memory_for_ten_million_mails(whole, tmp_path):
    _, metadata, arrays = whole
    write_model(tmp_path / "state", metadata | {"window": metadata["window"] | {"size": 10_000_000}}, arrays)
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match="the state of the detector is damaged"):
            BatchDetector.restore(tmp_path / "state")
        assert tracemalloc.get_traced_memory()[1] < 1e7
    finally:
        tracemalloc.stop()


# -- damaged bytes ----------------------------------------------------------------------------------------------------
def positions(data):
    """Where every kind of byte of a state stands: headers of the archive and of arrays, index, data, directory."""
    found = {}
    with zipfile.ZipFile(io.BytesIO(data)) as container:
        for entry in container.infolist():
            begin = entry.header_offset + 30 + len(entry.filename)
            head = 128 if entry.filename.endswith(".npy") else 0
            found.setdefault("entry", []).extend(range(entry.header_offset, begin))
            found.setdefault("array header", []).extend(range(begin, begin + head))
            kind = "data" if head else "index"
            found.setdefault(kind, []).extend(range(begin + head, begin + entry.file_size))
        found["directory"] = list(range(container.start_dir, len(data)))
    assert sum(map(len, found.values())) == len(data)
    return found


def resigned(data, name, at, value):
    """The same archive with one other byte in one of its entries, and its checksums made anew."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for entry in old.infolist():
            part = bytearray(old.read(entry))
            if entry.filename == name:
                part[at] = value
            new.writestr(zipfile.ZipInfo(entry.filename, entry.date_time), bytes(part))
    return out.getvalue()


def is_put_aside_or_the_same(path, damaged, expected, fresh, is_resigned=False):
    """Whether a service could start with a state; True: its window was used."""
    path.write_bytes(damaged)
    kept = restore_state(str(path), fresh)
    if kept is None:
        assert not path.exists()
        aside = path.with_name(path.name + ".unused")
        assert aside.read_bytes() == damaged
        aside.unlink()
        return False
    if not is_resigned:
        assert content(kept) == expected
    for mail in MAILS[:2]:
        kept.assign(mail)
    return True


@pytest.mark.parametrize("kind", ["beginning", "entry", "array header", "index", "data", "directory"])
def test_a_changed_byte_anywhere(whole, tmp_path, kind):
    data = whole[0]
    path = tmp_path / "state"
    path.write_bytes(data)
    fresh, expected = BatchDetector(window=WINDOW), content(BatchDetector.restore(path))
    rng = random.Random(kind)
    where = range(64) if kind == "beginning" else rng.sample(positions(data)[kind], 60)
    for at in where:
        damaged = bytearray(data)
        damaged[at] ^= rng.choice([1, 2, 16, 128, 255, damaged[at] ^ 0 or 1])
        is_put_aside_or_the_same(path, bytes(damaged), expected, fresh)


@pytest.mark.parametrize("kind", ["array header", "index", "data"])
def test_a_changed_byte_with_good_checksums(whole, tmp_path, kind):
    data, _, arrays = whole
    rng = random.Random(kind)
    fresh = BatchDetector(window=WINDOW)
    used = 0
    for _ in range(50):
        name = "accord.json" if kind == "index" else f"arrays/{rng.choice(sorted(arrays))}.npy"
        with zipfile.ZipFile(io.BytesIO(data)) as container:
            size = container.getinfo(name).file_size
        if kind == "data" and size == 128:
            continue
        at = rng.randrange(128) if kind == "array header" else rng.randrange(0 if kind == "index" else 128, size)
        damaged = resigned(data, name, at, rng.randrange(256))
        used += is_put_aside_or_the_same(tmp_path / "state", damaged, None, fresh, is_resigned=True)
    assert used or kind != "data"  # some numbers are as good as those before


def test_a_service_starts_whatever_its_state_is(whole, tmp_path, caplog):
    """The cases of which each stopped a milter from starting once."""
    data = whole[0]
    settings = DetectorSettings(state=str(tmp_path / "state"), window=WINDOW)
    header = data.index(b"'shape': ")
    with zipfile.ZipFile(io.BytesIO(data)) as container:
        bracket = container.read("arrays/places.npy").index(b")")
    cases = {
        "a bracket": resigned(data, "arrays/places.npy", bracket, ord("(")),
        "the magic word": data.replace(b"accord.json", b"accord.jsOn", 1),
        "the signature": b"PK\x03\x05" + data[4:],
        "the kind": resigned(data, "accord.json", json_position(data, "BatchDetector"), ord("X")),
        "an array header": data[:header] + b"(" + data[header + 1 :],
    }
    for k, (name, damaged) in enumerate(cases.items()):
        (tmp_path / "state").write_bytes(damaged)
        service = open_service(settings)
        assert len(service.detector) == 0, name
        assert (tmp_path / ("state.unused" + (f"-{k + 1}" if k else ""))).read_bytes() == damaged, name
        service.start().assign(MAILS[0]).result(30)
        service.stop()
        assert len(BatchDetector.restore(settings.state)) == 1
    release_state(settings.state)


def json_position(data, text):
    with zipfile.ZipFile(io.BytesIO(data)) as container:
        index = container.read("accord.json")
    assert json.loads(index)
    return index.index(text.encode())


# -- what is given in memory ------------------------------------------------------------------------------------------
@each_row(
    ("field", "value"),
    [
        ("idf", np.empty(0, np.float32)), ("idf", flat_idf()[:-1]), ("idf", flat_idf().astype(np.int64)),
        ("idf", np.full(16384, np.nan, np.float32)), ("weights", np.zeros(3)), ("weights", np.zeros((1, len(NAMES)))),
        ("weights", np.full(len(NAMES), np.inf)), ("bias", np.nan), ("bias", None), ("idf", None),
    ],
)  # fmt: skip
def test_similarities_that_do_not_fit(field, value):
    good = Similarity(np.zeros(len(NAMES)), 0.0, flat_idf())
    with pytest.raises(InputError, match=rf"model\.{field} "):
        BatchDetector(good._replace(**{field: value}))


def test_word_weights_that_do_not_fit():
    for idf in (np.empty(0, np.float32), flat_idf()[:100], np.ones(16384, np.int64), [1.0], np.ones((2, 16384))):
        with pytest.raises(InputError, match="idf must be an array of 16384 numbers"):
            sign(MAILS[0], idf)


def bad_signatures():
    good = sign(MAILS[0])
    for name in Signatures._fields:
        column = getattr(good.row, name)
        for bad in (column[:0], column[:, :-1], column[0], column.astype(np.float64), None):
            yield good._replace(row=good.row._replace(**{name: bad}))
    lengths = good.row.lengths.copy()
    lengths[0, 2] = 200
    yield good._replace(row=good.row._replace(lengths=lengths))


def test_signatures_that_do_not_fit():
    view = MailPairs().fit([MAILS])
    detector = BatchDetector(window=3)
    good = sign(MAILS[1])
    for bad in bad_signatures():
        for use in (detector.assign, detector.explain):
            with pytest.raises(InputError, match=r"raw: .* make signatures by sign"):
                use(bad)
        for use in (view.pairs, lambda mails: view.between(mails[:1], mails[1:])):
            with pytest.raises(InputError, match="sign"):
                use([bad, good])
        with pytest.raises(InputError, match=r"messages\[1\]"):
            CollectiveSpamFilter().fit([good, bad], [True, False])
    for name in ("words", "counts"):
        with pytest.raises(InputError, match=r"raw\.counts"):
            detector.assign(good._replace(**{name: getattr(good, name)[:-1]}))
    assert len(detector) == 0


def test_a_wrong_detector_is_not_saved_over_a_good_one(tmp_path):
    detector = BatchDetector(window=3)
    detector.save(tmp_path / "state")
    before = (tmp_path / "state").read_bytes()
    detector._window.members[0] = -1
    with pytest.raises(InputError, match=r"cannot be saved: window.members has -1"):
        detector.save(tmp_path / "state")
    assert (tmp_path / "state").read_bytes() == before
    assert os.listdir(tmp_path) == ["state"]


# -- model files ------------------------------------------------------------------------------------------------------
@each_row(
    ("name", "value", "part"),
    [
        ("coef_", np.zeros(3), "coef_"), ("coef_", np.zeros((1, 20)), "coef_"), ("coef_", np.full(20, np.nan), "coef_"),
        ("intercept_", None, "intercept_"), ("intercept_", "1", "intercept_"), ("n_buckets", 32, "coef_"),
        ("n_buckets", 2**40, "n_buckets"), ("n_buckets", 15, "n_buckets"), ("counts", "all", "counts"),
        ("C", -1.0, "C is"),
    ],
)  # fmt: skip
def test_spam_filters_that_do_not_fit(tmp_path, name, value, part):
    spam_filter = CollectiveSpamFilter(n_buckets=16).fit([b"\n\nbuy pills", b"\n\nlunch"], [True, False])
    spam_filter.save(tmp_path / "filter")
    metadata, arrays = read_model(tmp_path / "filter")
    fields = metadata["model"]["fields"]
    if isinstance(value, np.ndarray):
        arrays[fields[name]["array"]] = value
    else:
        fields[name] = value
    write_model(tmp_path / "filter", metadata, arrays)
    with pytest.raises(ModelFileError, match=part):
        accord.load(tmp_path / "filter")


@pytest.mark.parametrize("part", ["idf_", "names_"])
def test_pairs_that_do_not_fit(tmp_path, part):
    from accord.model_file import save

    view = MailPairs().fit([MAILS])
    save(view, tmp_path / "view")
    metadata, arrays = read_model(tmp_path / "view")
    if part == "idf_":
        arrays[metadata["model"]["fields"]["idf_"]["array"]] = np.empty(0, np.float32)
    else:
        metadata["model"]["fields"]["names_"]["list"].pop()
    write_model(tmp_path / "view", metadata, arrays)
    with pytest.raises(ModelFileError, match=part):
        accord.load(tmp_path / "view")
