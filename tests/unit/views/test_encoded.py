"""Vectors of encoders as features: projection, caches, windows, model files, and what encoders may do wrong."""

import hashlib
import pickle
import sqlite3
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA

import accord
from accord import CRF, ArrayFeatures, MultiClass, Sequence, Tagger, TokenFeatures
from accord.exceptions import InputError
from accord.persistence import read_model, write_model
from accord.views import encoders, vector_cache
from accord.views.encoded import EncoderFeatures
from accord.views.vector_cache import FILE, content_key

X = [
    ["Ana", "lives", "in", "Rome"],
    ["Tom", "left"],
    [],
    ["Ana", "left", "Rome"],
    ["Tom", "left"],
    ["Eva", "saw", "it"],
]
Y = [["PER", "O", "O", "LOC"], ["PER", "O"], [], ["PER", "O", "LOC"], None, None]
TEXTS = ["Ana lives in Rome", "Tom left", "", "Tom left", "Eva saw Tom", "Rome"]


def vector(text, width):
    digest = hashlib.sha256(text.encode()).digest()
    return np.frombuffer(digest, np.uint8)[:width].astype(float) / 64.0 - 2.0


class Encoder:
    """Vectors from a hash of the token, and of the one before it."""

    def __init__(self, width=6, name=None):
        self.width, self.name, self.seen = width, name, []

    def __call__(self, batch):
        self.seen.append(list(batch))
        if isinstance(batch[0], str):
            return np.array([vector(text, self.width) for text in batch])
        return [
            np.array([vector(t, self.width) + 0.5 * vector(s, self.width) for s, t in zip(["", *x], x)]) for x in batch
        ]

    @property
    def n_seen(self):
        return sum(map(len, self.seen))


def dense(rows):
    return rows.matrix().toarray()


@pytest.mark.parametrize("power", [0.0, 0.5, 1])
def test_rows_are_principal_components(power):
    many = X + [[f"w{i}", f"v{i * i % 7}", f"u{i % 5}"] for i in range(40)]
    distinct = list({tuple(x): x for x in many if x}.values())
    view = EncoderFeatures(Encoder(), n_components=4, scale=2.0, whiten=power, bias=False)
    rows = view.fit_rows(many)
    oracle = PCA(4).fit(np.concatenate(Encoder()(distinct)))
    components, of_fit = (
        oracle.transform(np.concatenate(Encoder()(some))) / oracle.explained_variance_ ** (power / 2)
        for some in ([x for x in many if x], distinct)
    )
    expected = components * 2.0 / np.sqrt((of_fit**2).sum(axis=1).mean())
    found = dense(rows)
    np.testing.assert_allclose(found, expected * np.sign((found * expected).sum(axis=0)), atol=1e-5)
    assert rows.offsets.tolist()[:5] == [0, 4, 6, 6, 9]
    one_by_one = [dense(view.transform([x])) for x in many[::-1]]
    np.testing.assert_allclose(dense(view.transform(many[::-1])), np.concatenate(one_by_one))


def test_without_directions_vectors_are_centred_and_scaled():
    view = EncoderFeatures(Encoder(), n_components=None, scale=5.0, bias=False)
    found = dense(view.fit_rows(X))
    raw = np.concatenate(Encoder()([x for x in X if x]))
    distinct = np.concatenate(Encoder()([X[0], X[1], X[3], X[5]]))
    centred = raw - distinct.mean(axis=0)
    length = np.sqrt(((distinct - distinct.mean(axis=0)) ** 2).sum(axis=1).mean())
    np.testing.assert_allclose(found, 5.0 * centred / length, atol=1e-5)


@pytest.mark.parametrize("window", [0, 1, (2, 0)])
def test_windows_and_names_are_those_of_arrays(window):
    plain = EncoderFeatures(Encoder(), n_components=3, bias=False)
    plain.fit(X)
    matrices = [plain._projected(m) for m in plain._encoded(X, None)]
    view = EncoderFeatures(Encoder(), n_components=3, window=window)
    oracle = ArrayFeatures(window=window)
    np.testing.assert_allclose(dense(view.fit_rows(X)), dense(oracle.fit_rows(matrices)))
    assert view.feature_names(range(view.n_dims_)) == oracle.feature_names(range(view.n_dims_))
    assert view.constant_features().tolist() == [view.n_dims_ - 1]


def test_texts_have_one_row_each_and_equal_ones_are_encoded_once():
    encoder = Encoder()
    view = EncoderFeatures(encoder, n_components=2, batch_size=2)
    rows = view.fit_rows(TEXTS)
    assert rows.n_rows == rows.n_inputs == len(TEXTS)
    assert [len(batch) for batch in encoder.seen] == [2, 2, 1]
    assert [len(text) for batch in encoder.seen for text in batch] == sorted(len(text) for text in set(TEXTS))
    np.testing.assert_allclose(dense(rows)[1], dense(rows)[3])
    as_list = EncoderFeatures(lambda batch: [list(one) for one in Encoder()(batch)], n_components=2)
    np.testing.assert_allclose(dense(as_list.fit_rows(np.array(TEXTS))), dense(rows), atol=1e-6)


def test_clones_and_later_fits_share_vectors_in_memory(monkeypatch):
    encoder = Encoder()
    view = EncoderFeatures(encoder, n_components=2)
    clone(view).fit(X)
    clone(view).fit(X[:3]).transform(X)
    assert encoder.n_seen == 4  # without the empty one, and one of two that are equal
    other = Encoder(width=5)
    view.set_params(encode=other).fit(X)
    assert other.n_seen == 4  # another encoder's vectors are of no use
    monkeypatch.setattr(vector_cache, "IN_MEMORY", 4 * 5 * 4)  # room for a sentence of four tokens
    small = EncoderFeatures(other)
    small.fit(X)
    assert other.n_seen == 8
    assert small._kept._bytes == sum(matrix.nbytes for matrix in small._kept._kept.values()) <= 80
    np.testing.assert_array_equal(dense(small.transform(X)), dense(view.set_params(n_components=100).fit_rows(X)))


def test_a_folder_keeps_vectors_for_later(tmp_path):
    folder = tmp_path / "new" / "vectors"
    first, second, third = (Encoder(name="mine") for _ in range(3))
    rows = EncoderFeatures(first, n_components=2, cache=folder).fit_rows(X)
    again = EncoderFeatures(second, n_components=2, cache=str(folder)).fit_rows(X)
    assert (first.n_seen, second.n_seen) == (4, 0)
    np.testing.assert_array_equal(dense(rows), dense(again))
    EncoderFeatures(third, name="another", cache=folder).fit(X)
    assert third.n_seen == 4
    # what is not whole is made again
    with sqlite3.connect(folder / FILE) as database:
        database.execute("UPDATE vectors SET numbers = x'00' WHERE key = ?", [content_key("mine", X[1])])
    repaired = Encoder(name="mine")
    np.testing.assert_array_equal(
        dense(EncoderFeatures(repaired, n_components=2, cache=folder).fit_rows(X)), dense(rows)
    )
    assert repaired.seen == [[X[1]]]
    with pytest.raises(InputError, match=r"encode gave vectors of 6 numbers for X\[0\].*expected 5.*cache="):
        EncoderFeatures(Encoder(5, "mine"), cache=folder).fit([["new"]]).transform(X)


def test_batches_that_were_made_before_a_failure_stay(tmp_path):
    def broken(batch):
        if len(batch[0]) > 3:
            raise RuntimeError("no memory")
        return Encoder()(batch)

    with pytest.raises(RuntimeError, match="no memory"):
        EncoderFeatures(broken, name="mine", batch_size=1, cache=tmp_path).fit(X)
    encoder = Encoder(name="mine")
    EncoderFeatures(encoder, cache=tmp_path).fit(X)
    assert encoder.seen == [[X[0]]]


def test_keys_tell_inputs_apart():
    inputs = ["ab", ["ab"], ["a", "b"], ["a b"], "a b", [], "", ["", ""], [""]]
    assert len({content_key(name, x) for x in inputs for name in ("m", "n")}) == 2 * len(inputs)
    assert content_key("m", ("a", "b")) == content_key("m", ["a", "b"])
    content_key("m", "\ud800")


def test_a_bad_folder_is_named(tmp_path):
    (tmp_path / FILE).write_text("no database at all, " * 50)
    with pytest.raises(InputError, match=r"cache is .*cannot be used.*remove the file"):
        EncoderFeatures(Encoder(name="mine"), cache=tmp_path).fit(X)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cache is"):
        EncoderFeatures(Encoder(name="mine"), cache=tmp_path / "file").fit(X)
    with pytest.raises(InputError, match="cache needs to know whose vectors it keeps; give name="):
        EncoderFeatures(Encoder(), cache=tmp_path).fit(X)


def test_saved_models_ask_for_the_encoder(tmp_path):
    encoder, path = Encoder(name="mine"), tmp_path / "model.accord"
    views = [TokenFeatures(), EncoderFeatures(encoder, n_components=3, cache=tmp_path)]
    model = CRF(Sequence(), view=views).fit(X, Y)
    model.save(path)
    loaded = accord.load(path)
    view = loaded.view_.views_[1]
    assert (view.encode, view.cache, view.encoder_) == (None, None, "mine")
    assert str(tmp_path).encode() not in path.read_bytes()
    with pytest.raises(InputError, match=r"encode is None.*which was 'mine'.*attach\(model, encode\)"):
        loaded.predict(X)
    with pytest.raises(InputError, match="encode is None; expected a function"):
        clone(view).fit(X)
    with pytest.raises(InputError, match="encode is 3"):
        encoders.attach(loaded, 3)
    with pytest.raises(InputError, match="no EncoderFeatures of encoder 'other'; it has 'mine'"):
        encoders.attach(loaded, encoder, name="other")
    assert encoders.attach(loaded, encoder) is loaded
    assert loaded.predict(X) == model.predict(X)
    loaded.save(path)
    assert pickle.loads(pickle.dumps(model)).predict(X) == model.predict(X)
    view.encode = Encoder(name="other")
    with pytest.warns(UserWarning, match="encode is 'other', but the view was fitted with 'mine'"):
        loaded.predict(X)
    with pytest.raises(InputError, match="model has no EncoderFeatures"):
        encoders.attach(CRF(Sequence()).fit(X, Y), encoder)


def test_files_cannot_name_a_folder(tmp_path):
    path = tmp_path / "model.accord"
    CRF(Sequence(), view=EncoderFeatures(Encoder(), name="mine", n_components=3)).fit(X, Y).save(path)
    metadata, arrays = read_model(path)
    fields = metadata["model"]["fields"]["view_"]["fields"]
    assert not {"encode", "cache"} & fields.keys()
    fields["cache"] = str(tmp_path / "elsewhere")
    write_model(path, metadata, arrays)
    model = encoders.attach(accord.load(path), Encoder(name="mine"))
    model.predict(X)
    assert model.view_.cache is None
    assert not (tmp_path / "elsewhere").exists()


def test_learners_take_it():
    encoder = Encoder()
    tagger = Tagger(view=[TokenFeatures(), EncoderFeatures(encoder, n_components=3)], random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert tagger.fit(X, Y).predict([["Tom", "left"]]) == [["PER", "O"]]
    assert encoder.n_seen == 4
    labels = ["a", "b", None, "b", "a", "b"]
    model = CRF(MultiClass(), view=EncoderFeatures(encoder, n_components=3)).fit(TEXTS, labels)
    assert model.predict(["Tom left", "Eva saw Tom"]).tolist() == ["b", "a"]
    model.partial_fit(TEXTS[:2], ["a", "b"])


def test_one_input_is_enough():
    view = EncoderFeatures(Encoder())
    assert np.isfinite(dense(view.fit_rows(["only one"]))).all()
    assert np.isfinite(dense(view.transform(["another"]))).all()
    assert dense(view.transform([])).shape == (0, view.n_dims_)


@pytest.mark.parametrize(
    ("encode", "message"),
    [
        (lambda batch: 3, r"encode gave 3 of type int for 2 inputs"),
        (lambda batch: Encoder()(batch)[:1], r"encode gave 1 results for a batch of 2 inputs that begins with X\[1\]"),
        (lambda batch: [m[:2] for m in Encoder()(batch)], r"shape \(2, 6\) for X\[0\], a list of 3 tokens; .*\(3, 6\)"),
        (lambda batch: [m[0] for m in Encoder()(batch)], r"shape \(6,\) for X\[1\].*give texts, not tokens"),
        (lambda batch: [m * np.nan for m in Encoder()(batch)], r"gave nan in column 0 of the vector of X\[1\]\[0\]"),
        (lambda batch: [m * 1e300 for m in Encoder()(batch)], r"gave -?inf in column 0 of the vector of X\[1\]\[0\]"),
        (lambda batch: [m[:, : len(m)] for m in Encoder()(batch)], r"vectors of 3 numbers for X\[0\].*expected 2"),
        (lambda batch: [m[:, :0] for m in Encoder()(batch)], r"shape \(2, 0\) for X\[1\]"),
        (lambda batch: [["a"] * len(x) for x in batch], r"encode gave \['a', 'a'\] of type list for X\[1\]"),
        (lambda batch: [[[1.0], [1.0, 2.0], [3.0]][: len(x)] for x in batch], r"for X\[1\]; expected an array"),
    ],
)  # fmt: skip
def test_wrong_vectors_are_named(encode, message):
    with pytest.raises(InputError, match=message):
        EncoderFeatures(encode).fit([["a", "b", "c"], ["d", "e"]])


def test_wrong_inputs_and_parameters_are_named():
    view = EncoderFeatures(Encoder())
    for bad, message in [
        ("text", "X is 'text'"),
        ([["a"], "b"], r"X\[1\] is 'b' of type str, but X\[0\]"),
        ([["a"], ["b", 3]], r"X\[1\]\[1\] is 3"),
        ([3.0], r"X\[0\] is 3.0"),
        ([[], []], "only empty inputs"),
    ]:
        with pytest.raises(InputError, match=message):
            view.fit(bad)
    for name, value in [
        ("encode", 3),
        ("batch_size", 0),
        ("n_components", 0),
        ("scale", 0),
        ("cache", 3),
        ("name", ""),
    ]:
        with pytest.raises(InputError, match=f"{name} is {value!r}"):
            EncoderFeatures(**{"encode": Encoder(), name: value}).fit(X)
    with pytest.raises(InputError, match="window is -1"):
        EncoderFeatures(Encoder(), window=-1).fit(X)
    view.fit(X)
    view.encode = Encoder(5)
    with pytest.raises(InputError, match=r"vectors of 5 numbers for X\[0\].*expected 6.*fit"):
        view.transform([["new"]])
