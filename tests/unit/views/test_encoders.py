"""Ready encoders, with stand-ins for the libraries: sub-words become tokens, and what is missing is named."""

import pickle
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from accord import EncoderFeatures
from accord.exceptions import InputError
from accord.views import encoders

CLS, SEP = 1, 2
WIDTH = 3


def sub_words(token):
    """Pairs of letters, as numbers."""
    return [ord(token[k]) * 256 + ord(token[k + 1 : k + 2] or " ") for k in range(0, len(token), 2)]


def cut(x, split):
    """The tokenizer of both libraries: numbers, words and marks of an input."""
    tokens = x if split else x.split()
    words = [w for w, token in enumerate(tokens) for _ in sub_words(token)]
    ids = [CLS, *(k for token in tokens for k in sub_words(token)), SEP]
    return SimpleNamespace(ids=ids, word_ids=[None, *words, None], special_tokens_mask=[1, *([0] * len(words)), 1])


def state(number, total):
    return [number, number % 7, total]


def hidden(ids, mask):
    """A state depends on the sub-word, and on all others that are not masked."""
    totals = (ids * mask).sum(axis=1)
    return np.array([[state(k, t) for k in row] for row, t in zip(ids.tolist(), totals.tolist())], np.float32)


def oracle(tokens):
    one = cut(tokens, True)
    states = np.array([state(k, sum(one.ids)) for k in one.ids], float)
    of = [[k for k, word in enumerate(one.word_ids) if word == t] for t in range(len(tokens))]
    return np.array([states[k].mean(axis=0) if k else states.mean(axis=0) for k in of])


class Session:
    outputs = "tokens"
    inputs = ("input_ids", "attention_mask", "token_type_ids")

    def __init__(self, path, options, providers):
        if "broken" in path:
            raise RuntimeError("not a network")

    def get_inputs(self):
        return [SimpleNamespace(name=name) for name in self.inputs]

    def run(self, names, given):
        assert set(given) == set(self.inputs)
        assert {array.dtype for array in given.values()} == {np.dtype(np.int64)}
        found = hidden(given["input_ids"], given["attention_mask"])
        return [found] if self.outputs == "tokens" else [found[:, 0]]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Two files, and libraries that read them."""
    runtime, tokenizers = ModuleType("onnxruntime"), ModuleType("tokenizers")
    runtime.SessionOptions, runtime.InferenceSession = SimpleNamespace, Session
    tokenizer = SimpleNamespace(
        no_padding=lambda: None,
        no_truncation=lambda: None,
        token_to_id=lambda token: {"<pad>": 9}.get(token),
        encode_batch=lambda batch, is_pretokenized: [cut(x, is_pretokenized) for x in batch],
    )
    tokenizers.Tokenizer = SimpleNamespace(from_file=lambda path: tokenizer)
    monkeypatch.setitem(sys.modules, "onnxruntime", runtime)
    monkeypatch.setitem(sys.modules, "tokenizers", tokenizers)
    for name in ("model.onnx", "tokenizer.json", "broken.onnx"):
        (tmp_path / name).write_text(name)
    return tmp_path / "model.onnx", tmp_path / "tokenizer.json"


X = [["Ana", "lives", "in", "Rome"], ["Tom"], ["", "a", ""]]


def test_onnx_tokens_are_means_of_their_sub_words(files):
    encode = encoders.onnx(*files)
    assert encode.pad == 9
    for found, tokens in zip(encode(X), X):
        np.testing.assert_allclose(found, oracle(tokens), rtol=1e-6)
    assert EncoderFeatures(encode).fit(X).encoder_ == encode.name
    assert encode.name.startswith("onnx:")
    assert encode.name == encoders.onnx(*map(str, files)).name != encoders.onnx(files[0], files[0]).name
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(encode))(X)[0], encode(X)[0])


def test_onnx_texts_are_means_of_all_sub_words(files):
    encode = encoders.onnx(*files, max_length=8)
    long = " ".join(["word"] * 20)
    for found, text in zip(encode(["Ana lives", "", long]), ["Ana lives", "", long]):
        ids = cut(text, False).ids
        ids = ids if len(ids) <= 8 else [*ids[:7], SEP]
        np.testing.assert_allclose(found, np.mean([state(k, sum(ids)) for k in ids], axis=0), rtol=1e-6)


def test_long_sentences_are_encoded_in_parts(files):
    encode = encoders.onnx(*files, max_length=8)
    long = ["abcd", "ef", "ghijkl", "m", "no", "pqrstuvwxyzabcdefg", "x"]  # 2 + 1 + 3, 1 + 1, 9 (too long alone), 1
    found = encode([["a"], long, ["b"]])
    parts = [long[:3], long[3:5], long[5:6], long[6:]]
    assert [len(matrix) for matrix in found] == [1, 7, 1]
    ids = cut(parts[2], True).ids
    ids = [*ids[:7], SEP]
    cut_off = np.mean([state(k, sum(ids)) for k in ids[1:-1]], axis=0)[None]
    expected = np.concatenate([oracle(parts[0]), oracle(parts[1]), cut_off, oracle(parts[3])])
    np.testing.assert_allclose(found[1], expected, rtol=1e-6)
    np.testing.assert_allclose(found[2], oracle(["b"]), rtol=1e-6)


def test_onnx_networks_of_other_kinds(files, monkeypatch):
    monkeypatch.setattr(Session, "inputs", ("input_ids", "attention_mask"))
    monkeypatch.setattr(Session, "outputs", "texts")
    encode = encoders.onnx(*files)
    np.testing.assert_allclose(encode(["Ana"]), [state(CLS, sum(cut("Ana", False).ids))])
    with pytest.raises(InputError, match=r"shape \(3, 3\), one vector for each input, so it can encode texts only"):
        encode(X)
    with pytest.raises(InputError, match=r"model is .*broken.onnx', which cannot be read \(not a network\)"):
        encoders.onnx(files[0].with_name("broken.onnx"), files[1])
    monkeypatch.setattr(Session, "inputs", ("pixels",))
    with pytest.raises(InputError, match=r"which asks for \['pixels'\]; expected some of"):
        encoders.onnx(*files)
    with pytest.raises(FileNotFoundError):
        encoders.onnx("missing.onnx", files[1])
    with pytest.raises(InputError, match="max_length is 2"):
        encoders.onnx(*files, max_length=2)


class Batch(dict):
    def word_ids(self, i):
        return self["words"][i]


class FastTokenizer:
    is_fast, pad_token_id = True, None

    def __call__(self, batch, is_split_into_words, **settings):
        assert settings == {"return_special_tokens_mask": True, "padding": False, "truncation": False}
        found = [cut(x, is_split_into_words) for x in batch]
        return Batch(
            input_ids=[one.ids for one in found],
            special_tokens_mask=[one.special_tokens_mask for one in found],
            words=[one.word_ids for one in found],
        )


class Tensor:
    def __init__(self, array):
        self.array = array

    def detach(self):
        return self

    cpu = float = detach

    def numpy(self):
        return self.array


class Network:
    device, config = "cpu", SimpleNamespace(_name_or_path="some/model")

    def eval(self):
        pass

    def __call__(self, input_ids, attention_mask):
        return SimpleNamespace(last_hidden_state=Tensor(hidden(input_ids, attention_mask)))


@pytest.fixture
def torch(monkeypatch):
    from contextlib import nullcontext

    module = ModuleType("torch")
    module.no_grad, module.as_tensor = nullcontext, lambda array, device: array
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


def test_transformers(torch, monkeypatch):
    library = ModuleType("transformers")
    library.AutoModel = SimpleNamespace(from_pretrained=lambda name: Network())
    library.AutoTokenizer = SimpleNamespace(from_pretrained=lambda name: FastTokenizer())
    monkeypatch.setitem(sys.modules, "transformers", library)
    for encode in (encoders.transformer(Network(), FastTokenizer()), encoders.transformer("some/model")):
        assert encode.name == "transformers:some/model"
        for found, tokens in zip(encode(X), X):
            np.testing.assert_allclose(found, oracle(tokens), rtol=1e-6)
    with pytest.raises(InputError, match=r"tokenizer is None.*use_fast=True"):
        encoders.transformer(Network())


def test_sentence_transformers(torch):
    class Model:
        tokenizer = FastTokenizer()

        def __getitem__(self, k):
            return SimpleNamespace(auto_model=Network())

        def encode(self, texts, batch_size, convert_to_numpy, show_progress_bar):
            return np.array([[len(text), 1.0] for text in texts])

    encode = encoders.sentence_transformer(Model(), name="mine")
    np.testing.assert_array_equal(encode(["ab", "c"]), [[2, 1], [1, 1]])
    np.testing.assert_allclose(encode(X)[0], oracle(X[0]), rtol=1e-6)
    assert encode.name == "mine"


def test_spacy(monkeypatch):
    class Doc(list):
        def __init__(self, vocab, words):
            super().__init__(SimpleNamespace(text=word, vector=np.array([len(word), 1.0])) for word in words)
            self.tensor = np.array([[len(word)] for word in words]) if vocab.tok2vec else np.zeros(0)

    class Pipeline:
        meta, pipe_names = {"lang": "xx", "name": "small", "version": "1.0"}, ["tagger"]

        def __init__(self, width, tok2vec=False):
            self.vocab = SimpleNamespace(vectors_length=width, tok2vec=tok2vec)

        def pipe(self, docs):
            return [Doc(self.vocab, doc.split()) if isinstance(doc, str) else doc for doc in docs]

    spacy, tokens = ModuleType("spacy"), ModuleType("spacy.tokens")
    spacy.tokens, tokens.Doc = tokens, Doc
    spacy.load = lambda name: Pipeline(2)
    monkeypatch.setitem(sys.modules, "spacy", spacy)
    monkeypatch.setitem(sys.modules, "spacy.tokens", tokens)
    encode = encoders.spacy_pipeline("small")
    assert encode.name == "spacy:xx_small-1.0"
    np.testing.assert_array_equal(encode([["Ana", "is"], ["Tom"]])[0], [[3, 1], [2, 1]])
    np.testing.assert_array_equal(encode(["Ana is", ""]), [[2.5, 1], [0, 0]])
    np.testing.assert_array_equal(encoders.spacy_pipeline(Pipeline(0, True))([["Ana", "is"]])[0], [[3], [2]])
    with pytest.raises(InputError, match=r"nlp is a pipeline of \['tagger'\] that gives no vectors"):
        encoders.spacy_pipeline(Pipeline(0))([["Ana"]])


@pytest.mark.parametrize(
    ("make", "missing", "advice"),
    [
        (lambda path: encoders.onnx(path, path), "onnxruntime", "pip install 'accord-ml[encoders]'"),
        (lambda path: encoders.transformer("some/model"), "transformers", "pip install transformers"),
        (lambda path: encoders.sentence_transformer("m"), "sentence_transformers", "pip install sentence-transformers"),
        (lambda path: encoders.spacy_pipeline("en"), "spacy", "pip install spacy"),
    ],
)
def test_missing_libraries_are_named(make, missing, advice, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, missing, None)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError) as error:
        make(tmp_path / "file")
    assert str(error.value).startswith(f"this encoder needs {missing}, which is not installed: {advice}")
    assert "'accord-ml[encoders]'" in str(error.value)


def test_encoders_are_found_by_path_or_name(files, tmp_path, monkeypatch):
    """Folders by the files in them; a name only with its library, so that a mistyped path downloads nothing."""
    asked = []
    for library in ("spacy", "transformers", "sentence-transformers"):
        monkeypatch.setitem(encoders._BY_LIBRARY, library, lambda name, library=library: asked.append((library, name)))
    assert encoders.find_encoder(tmp_path).name == encoders.find_encoder(str(tmp_path / "model.onnx")).name
    marks = {"spacy": "config.cfg", "transformers": "config.json", "sentence-transformers": "modules.json"}
    for library, mark in marks.items():
        folder = tmp_path / library
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        (folder / mark).write_text("{}")
        encoders.find_encoder(folder)
        encoders.find_encoder(f"{library}:some/name")
        assert asked[-2:] == [(library, str(folder)), (library, "some/name")]
    (tmp_path / "deep" / "lone").mkdir(parents=True)
    (tmp_path / "deep" / "lone" / "model.onnx").write_text("")
    for where, message in (
        ("some/name", "'some/name' is not there; expected a folder or file of an encoder"),
        (tmp_path / "deep", "nothing that is known as an encoder"),
        (tmp_path / "deep" / "lone", "no tokenizer.json beside it"),
        (7, "where is 7"),
    ):
        with pytest.raises(InputError, match=message):
            encoders.find_encoder(where)
