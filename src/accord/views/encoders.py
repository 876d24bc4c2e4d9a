"""Encoders for :class:`~accord.EncoderFeatures`: ONNX files, transformers, sentence-transformers and spaCy pipelines.

Each is a function of a batch, of token lists or of texts, with a ``name`` for caches and model files. Nothing is
downloaded unless you give the name of a model to a library that does it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from accord.exceptions import InputError
from accord.registry import is_stored
from accord.views.encoded import EncoderFeatures
from accord.views.inputs import describe
from accord.views.subwords import Pieces, SubwordEncoder

_NETWORK = ("input_ids", "attention_mask", "token_type_ids")


def onnx(
    model: str | PathLike[str],
    tokenizer: str | PathLike[str],
    *,
    max_length: int = 256,
    name: str | None = None,
    n_threads: int | None = None,
) -> OnnxEncoder:
    """An encoder from two files: a network (``model.onnx``) and its tokenizer (``tokenizer.json``).

    Needs ``pip install 'accord-ml[encoders]'``, neither PyTorch nor a network connection.

    Parameters
    ----------
    model : path
        With the inputs ``input_ids``, ``attention_mask`` and perhaps ``token_type_ids``, as Hugging Face exports them.
        Vectors are taken from its first output with one for every sub-word; if there is none, texts can be encoded
        by its first output with one vector for each.
    tokenizer : path
    max_length : int, default=256
        Number of sub-words that the network gets at most. Longer lists of tokens are encoded in parts, longer texts
        are cut off.
    name : str, optional
        Default: a hash of both files.
    n_threads : int, optional
        Default: as many as onnxruntime takes, one for every processor.

    Examples
    --------
    >>> encode = onnx("minilm/model.onnx", "minilm/tokenizer.json")  # doctest: +SKIP
    >>> encode([["Ana", "left"]])[0].shape  # a vector for each token  # doctest: +SKIP
    (2, 384)

    Files are read, never downloaded:

    >>> onnx("nowhere/model.onnx", "nowhere/tokenizer.json")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'nowhere/model.onnx'
    """
    return OnnxEncoder(fspath(model), fspath(tokenizer), max_length, name, n_threads)


def transformer(model: Any, tokenizer: Any = None, *, max_length: int = 256, name: str | None = None) -> Any:
    """An encoder from a model of ``transformers`` and its fast tokenizer, or from the name or folder of both.

    A token has the mean of the last hidden states of its sub-words, a text that of all.

    Parameters
    ----------
    model : model of PyTorch, or str
    tokenizer : fast tokenizer, optional if `model` is a name
    max_length : int, default=256
        Number of sub-words at most. Longer lists of tokens are encoded in parts, longer texts are cut off.
    name : str, optional
        Default: where the model was loaded from; give another one if it was trained since then.

    Examples
    --------
    >>> encode = transformer("distilbert-base-cased")  # downloads it, once  # doctest: +SKIP

    Tokenizers that are not fast cannot be used:

    >>> class Slow:
    ...     is_fast = False
    >>> transformer(object(), Slow())
    Traceback (most recent call last):
    accord.exceptions.InputError: tokenizer is ...; expected a fast one, which knows the words of sub-words: ...
    """
    if isinstance(model, (str, PathLike)):
        library = _library("transformers")
        tokenizer = library.AutoTokenizer.from_pretrained(fspath(model)) if tokenizer is None else tokenizer
        model = library.AutoModel.from_pretrained(fspath(model))
    if not getattr(tokenizer, "is_fast", False):
        raise InputError(
            f"tokenizer is {describe(tokenizer)}; expected a fast one, which knows the words of sub-words: "
            "AutoTokenizer.from_pretrained(..., use_fast=True)"
        )
    return TransformerEncoder(model, tokenizer, max_length, name)


def sentence_transformer(model: Any, *, max_length: int = 256, name: str | None = None) -> Any:
    """An encoder from a model of ``sentence-transformers``, or its name or folder.

    Texts get what ``model.encode`` gives, tokens the mean of the last hidden states of their sub-words.

    Examples
    --------
    >>> encode = sentence_transformer("all-MiniLM-L6-v2")  # downloads it, once  # doctest: +SKIP

    Here a small stand-in takes the place of the network; texts need no more of it than ``encode``:

    >>> class Lengths:
    ...     def encode(self, texts, **settings):
    ...         return np.array([[len(text), text.count("!")] for text in texts])
    >>> encode = sentence_transformer(Lengths(), name="lengths")
    >>> encode(["Good morning", "Buy!!!"]).tolist()
    [[12, 0], [6, 3]]
    """
    if isinstance(model, (str, PathLike)):
        name = f"sentence-transformers:{fspath(model)}" if name is None else name
        model = _library("sentence_transformers").SentenceTransformer(fspath(model))
    return SentenceEncoder(model, max_length, name)


def spacy_pipeline(nlp: Any, *, name: str | None = None) -> Any:
    """An encoder from a pipeline of spaCy, or its name: vectors of words if it has them, else what ``tok2vec`` says.

    Lists of tokens keep their tokens; texts get the mean over the tokens of spaCy.

    Examples
    --------
    >>> encode = spacy_pipeline("en_core_web_md")  # doctest: +SKIP

    Here a small stand-in takes the place of the pipeline, with words by length and capitals:

    >>> from types import SimpleNamespace as Object
    >>> def pipe(texts):
    ...     return [[Object(vector=[len(word), word.istitle()]) for word in text.split()] for text in texts]
    >>> encode = spacy_pipeline(Object(vocab=Object(vectors_length=2), pipe=pipe), name="capitals")
    >>> encode(["Ana left"])[0].tolist()  # the mean over words
    [3.5, 0.5]
    """
    return SpacyEncoder(_library("spacy").load(nlp) if isinstance(nlp, (str, PathLike)) else nlp, name)


_BY_LIBRARY: dict[str, Callable[[str], Any]] = {
    "spacy": spacy_pipeline,
    "transformers": transformer,
    "sentence-transformers": sentence_transformer,
}
_KINDS = (
    "a folder or file of an encoder (model.onnx and tokenizer.json; or as transformers, sentence-transformers or spaCy "
    "save it), or LIBRARY:NAME"
)


def find_encoder(where: str | PathLike[str]) -> Any:
    """The encoder in a folder or file, or that of a library, such as ``spacy:en_core_web_md``.

    A folder has ``model.onnx`` (or ``onnx/model.onnx``) and ``tokenizer.json``, or is one that transformers,
    sentence-transformers or spaCy have saved. Only a name after ``transformers:`` or ``sentence-transformers:`` may be
    downloaded by these.

    Examples
    --------
    >>> find_encoder("minilm/")
    Traceback (most recent call last):
    accord.exceptions.InputError: 'minilm/' is not there; expected a folder or file of an encoder ...
    """
    if not isinstance(where, (str, PathLike)) or not fspath(where):
        raise InputError(f"where is {describe(where)}; expected {_KINDS}")
    text = fspath(where)
    library, colon, name = text.partition(":")
    if colon and name and library in _BY_LIBRARY:
        return _BY_LIBRARY[library](name)
    path = Path(text)
    if not path.exists():
        raise InputError(f"{text!r} is not there; expected {_KINDS}, with one of {', '.join(_BY_LIBRARY)}")
    folder = path if path.is_dir() else path.parent
    networks = [folder / "model.onnx", folder / "onnx" / "model.onnx"] if path.is_dir() else [path]
    network = next((one for one in networks if one.suffix == ".onnx" and one.is_file()), None)
    tokenizers = (folder / "tokenizer.json", folder.parent / "tokenizer.json")
    tokenizer = next((one for one in tokenizers if one.is_file()), None)
    if network is not None and tokenizer is not None:
        return onnx(network, tokenizer)
    if network is None and path.is_dir():
        marks = {"modules.json": "sentence-transformers", "config.cfg": "spacy", "config.json": "transformers"}
        library = next((library for mark, library in marks.items() if (path / mark).is_file()), "")
        if library:
            return _BY_LIBRARY[library](text)
    missing = "no tokenizer.json beside it" if network is not None else "nothing that is known as an encoder"
    raise InputError(f"{text!r} has {missing}; expected {_KINDS}")


def attach(model: Any, encode: Any, *, name: str | None = None) -> Any:
    """Give a loaded model its encoder back; the model is changed and returned.

    Parameters
    ----------
    model : fitted learner or view
    encode : callable
    name : str, optional
        Of several encoders, the one whose ``encoder_`` this is.

    Examples
    --------
    >>> import tempfile
    >>> import accord
    >>> from accord import CRF, EncoderFeatures, Sequence
    >>> def sizes(batch):
    ...     return [np.array([[len(token), token.isupper()] for token in tokens]) for tokens in batch]
    >>> words = EncoderFeatures(sizes, name="sizes")
    >>> model = CRF(Sequence(), view=words).fit([["Ana", "left", "ROME"]], [["O", "O", "LOC"]])
    >>> file = tempfile.mkdtemp() + "/sizes.accord"
    >>> model.save(file)  # without the function
    >>> attach(accord.load(file), sizes).predict([["PARIS"]])
    [['LOC']]
    """
    if not callable(encode):
        raise InputError(f"encode is {describe(encode)}; expected a function of a batch of inputs")
    views = list(_encoder_views(model, set()))
    wanted = [view for view in views if name is None or view.encoder_ == name]
    if not wanted:
        known = f"; it has {', '.join(repr(view.encoder_) for view in views)}" if views else ""
        raise InputError(f"model has no EncoderFeatures{'' if name is None else f' of encoder {name!r}'}{known}")
    if len({view.encoder_ for view in wanted}) > 1:
        raise InputError(f"model has several encoders, {[view.encoder_ for view in wanted]}; say which one by name=")
    for view in wanted:
        view.encode = encode
    return model


def _encoder_views(value: Any, seen: set[int]) -> Iterator[EncoderFeatures]:
    """The fitted views in an object that have encoders."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, EncoderFeatures) and hasattr(value, "center_"):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _encoder_views(part, seen)
    elif is_stored(type(value).__name__) and hasattr(value, "__dict__"):
        yield from _encoder_views(vars(value), seen)


def _library(module: str) -> Any:
    """A library that is not Accord's own requirement."""
    try:
        return import_module(module)
    except ImportError as error:
        extra, more = "'accord-ml[encoders]'", ""
        if module not in ("onnxruntime", "tokenizers"):
            extra, more = module.partition(".")[0].replace("_", "-"), f". ONNX files need no more than {extra}"
        raise InputError(f"this encoder needs {module}, which is not installed: pip install {extra}{more}") from error


class OnnxEncoder(SubwordEncoder):
    """See :func:`onnx`. It can be pickled: the files are opened when they are first needed."""

    def __init__(self, model: str, tokenizer: str, max_length: int, name: str | None, n_threads: int | None) -> None:
        super().__init__(max_length, name or f"onnx:{_hash_of(model, tokenizer)}")
        self.model, self.tokenizer, self.n_threads = model, tokenizer, n_threads
        self._open()

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if not key.startswith("_")}

    def _open(self) -> None:
        runtime, tokenizers = _library("onnxruntime"), _library("tokenizers")
        try:
            self._words = tokenizers.Tokenizer.from_file(self.tokenizer)
        except Exception as error:  # the library raises nothing more special
            raise InputError(f"tokenizer is {self.tokenizer!r}, which cannot be read ({error})") from error
        self._words.no_padding()
        self._words.no_truncation()
        padding = [self._words.token_to_id(token) for token in ("[PAD]", "<pad>")]
        self.pad = next((number for number in padding if number is not None), 0)
        options = runtime.SessionOptions()
        options.intra_op_num_threads = self.n_threads or 0
        try:
            self._network = runtime.InferenceSession(self.model, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise InputError(f"model is {self.model!r}, which cannot be read ({str(error)[:200]})") from error
        self._inputs = [one.name for one in self._network.get_inputs()]
        unknown = set(self._inputs) - set(_NETWORK)
        if unknown or "input_ids" not in self._inputs:
            raise InputError(f"model is {self.model!r}, which asks for {self._inputs}; expected some of {_NETWORK}")

    def pieces(self, batch: list[Any]) -> list[Pieces]:
        """Sub-words of texts, or of token lists."""
        if not hasattr(self, "_network"):
            self._open()
        split = not isinstance(batch[0], str)
        found = self._words.encode_batch(batch, is_pretokenized=split)
        return [Pieces(one.ids, one.word_ids if split else None, one.special_tokens_mask) for one in found]

    def states(self, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """What the network says about every sub-word, or about every text."""
        values = dict(zip(_NETWORK, (ids, mask, np.zeros_like(ids))))
        outputs = self._network.run(None, {name: values[name] for name in self._inputs})
        return next((one for one in outputs if one.ndim == 3), outputs[0])


class TransformerEncoder(SubwordEncoder):
    """See :func:`transformer`."""

    def __init__(self, model: Any, tokenizer: Any, max_length: int, name: str | None) -> None:
        origin = getattr(getattr(model, "config", None), "_name_or_path", None)
        super().__init__(max_length, name or (f"transformers:{origin}" if origin else None))
        self.model, self.tokenizer = model, tokenizer
        self.pad = tokenizer.pad_token_id or 0

    def pieces(self, batch: list[Any]) -> list[Pieces]:
        """Sub-words of texts, or of token lists."""
        split = not isinstance(batch[0], str)
        found = self.tokenizer(
            batch, is_split_into_words=split, return_special_tokens_mask=True, padding=False, truncation=False
        )
        return [
            Pieces(ids, found.word_ids(i) if split else None, found["special_tokens_mask"][i])
            for i, ids in enumerate(found["input_ids"])
        ]

    def states(self, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """The last hidden states."""
        torch = _library("torch")
        self.model.eval()
        with torch.no_grad():
            given = (torch.as_tensor(one, device=self.model.device) for one in (ids, mask))
            found = self.model(**dict(zip(_NETWORK, given))).last_hidden_state
        return found.detach().cpu().float().numpy()


class SentenceEncoder:
    """See :func:`sentence_transformer`."""

    def __init__(self, model: Any, max_length: int, name: str | None) -> None:
        self.model, self.max_length, self.name = model, max_length, name

    def __call__(self, batch: list[Any]) -> Any:
        """One vector per text, or one matrix per token list."""
        if isinstance(batch[0], str):
            return self.model.encode(batch, batch_size=len(batch), convert_to_numpy=True, show_progress_bar=False)
        return transformer(self.model[0].auto_model, self.model.tokenizer, max_length=self.max_length)(batch)


class SpacyEncoder:
    """See :func:`spacy_pipeline`."""

    def __init__(self, nlp: Any, name: str | None) -> None:
        meta = getattr(nlp, "meta", {})
        named = meta.get("name") not in (None, "", "pipeline")  # "pipeline": what spaCy calls those without a name
        known = f"spacy:{meta.get('lang')}_{meta['name']}-{meta.get('version')}" if named else None
        self.nlp, self.name = nlp, name or known

    def __call__(self, batch: list[Any]) -> list[np.ndarray]:
        """One vector per text, or one matrix per token list."""
        if isinstance(batch[0], str):
            return [self._matrix(doc).mean(axis=0) if len(doc) else self._nothing() for doc in self.nlp.pipe(batch)]
        Doc = _library("spacy.tokens").Doc
        docs = [Doc(self.nlp.vocab, words=[token or " " for token in tokens]) for tokens in batch]
        return [self._matrix(doc) for doc in self.nlp.pipe(docs)]

    def _matrix(self, doc: Any) -> np.ndarray:
        if self.nlp.vocab.vectors_length:
            return np.array([token.vector for token in doc])
        if not len(doc.tensor):
            raise InputError(
                f"nlp is a pipeline of {self.nlp.pipe_names} that gives no vectors; take one with vectors (such as "
                "en_core_web_md) or with tok2vec"
            )
        return np.asarray(doc.tensor)

    def _nothing(self) -> np.ndarray:
        """Of a text without tokens."""
        width = self.nlp.vocab.vectors_length or len(self._matrix(self.nlp("a"))[0])
        return np.zeros(width, np.float32)


def _hash_of(*paths: str) -> str:
    found = hashlib.blake2b(digest_size=8)
    for path in paths:
        with open(path, "rb") as file:
            found.update(hashlib.file_digest(file, "blake2b").digest())
    return found.hexdigest()
