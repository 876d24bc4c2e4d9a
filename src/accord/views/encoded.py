"""Vectors of tokens or texts from any encoder, such as a pretrained transformer, as features."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from accord import memory
from accord.exceptions import InputError
from accord.forms import TEXT, array, fitted, optional
from accord.packed.rows import Rows
from accord.progress import Progress
from accord.settings import FLAG, FUNCTION, NOT_NEGATIVE, POSITIVE, Expected, either, whole
from accord.views.base import View
from accord.views.dense import ArrayFeatures
from accord.views.encoder_checks import check_shape, checked_vectors, tokens_or_texts
from accord.views.vector_cache import VectorCache, content_key
from accord.views.whitening import whitening
from accord.views.window import parse_window

_SHOWN_FROM = 10  # batches; fewer are encoded without a word


@dataclass(eq=False, repr=False)
class EncoderFeatures(View):
    """Vectors that a function of yours gives to tokens in their sentence, or to texts.

    ``X`` is a list of lists of tokens, and every token is a row; or a list of strings, and every text is a row. The
    vectors are projected to the principal directions of all text in ``fit``, labeled and not.

    Parameters
    ----------
    encode : callable
        From a list of token lists to a list of matrices, with one row per token; or from a list of texts to one vector
        for each. :mod:`accord.views.encoders` has them for ONNX files, transformers, sentence-transformers and spaCy.
    name : str, optional
        What the encoder is called, in `cache` and in model files. Default: ``encode.name``, if there is one.
    batch_size : int, default=64
        Number of inputs that ``encode`` gets at a time; inputs of about the same length come together.
    n_components : int or None, default=100
        Number of directions at most; None: vectors are only centred and scaled.
    whiten : float from 0 to 1, default=0.0
        Every direction is divided by its standard deviation to this power: 1 makes all of them count alike, which may
        help with encoders in which a few directions drown all others.
    window : int or (int, int), default=0
        Number of neighbouring tokens on either side (before, after) whose vectors count, too.
    scale : float, default=6.0
        Typical length of the vectors: the root of the mean square over all rows of ``fit``. Longer vectors have more
        say next to other features; a token of `TokenFeatures` has a length of about 6.
    bias : bool or "one", default=True
        Add a feature that is the same in all rows, as in `ArrayFeatures`.
    cache : path, optional
        A folder that keeps all vectors, by content, so that later fits and other programs do not compute them again.
        It needs a name of the encoder. A model file does not say where it is.

    Attributes
    ----------
    center_ : array of shape (n_columns,)
        The mean of the vectors, which is subtracted.
    projection_ : array of shape (n_columns, n_components) or None
        From centred vectors to features.
    factor_ : float
        What features are multiplied by, so that their lengths are `scale`.
    encoder_ : str or None
        The name of the encoder.
    n_dims_ : int
        Number of features.

    Notes
    -----
    Vectors of the inputs used last, 256 MB of them, are kept in memory for other fits of the same view and its clones,
    which learners make.

    Model files hold the projection, not the function: in a loaded model ``encode`` is None. Give it back before you
    predict, with :func:`accord.views.encoders.attach` or ``model.view_.encode = ...``.

    Examples
    --------
    >>> from accord import EncoderFeatures
    >>> def encode(batch):
    ...     return [[[len(token), token.isalpha()] for token in tokens] for tokens in batch]
    >>> view = EncoderFeatures(encode, n_components=1, bias=False, scale=1.0)
    >>> abs(view.fit_rows([["a", "bb"], ["dddd", "eeeee"]]).matrix().toarray()).round(2)
    array([[1.26],
           [0.63],
           [0.63],
           [1.26]])
    """

    encode: Callable[[list[Any]], Any] | None = None  # None: of a loaded model
    _: KW_ONLY
    name: str | None = None
    batch_size: int = 64
    n_components: int | None = 100
    whiten: float = 0.0
    window: int | tuple[int, int] = 0
    scale: float = 6.0
    bias: bool | str = True
    cache: str | PathLike[str] | None = None

    expects: ClassVar = {
        "encode": FUNCTION,
        "name": Expected("a name, or None", lambda value: value is None or (isinstance(value, str) and value != "")),
        "batch_size": whole(1),
        "whiten": Expected("a number from 0 to 1", lambda value: NOT_NEGATIVE.accepts(value) and value <= 1),
        "bias": either(FLAG, "one"),
        "cache": Expected(
            "the path of a folder, or None", lambda value: value is None or isinstance(value, (str, PathLike))
        ),
    }
    stored: ClassVar = {
        "view_": fitted("ArrayFeatures"),
        "center_": array("f8", "width"),
        "projection_": optional(array("f8", "width", "*")),
        "factor_": POSITIVE,
        "encoder_": optional(TEXT),
    }
    derived: ClassVar = ("encode", "cache")
    agrees: ClassVar = {
        "n_dims_ is that of view_": lambda self: self.n_dims_ == self.view_.n_dims_,
        "view_ has a column for every direction": lambda self: (
            self.view_.n_columns_ == (self.center_ if self.projection_ is None else self.projection_[0]).size
        ),
    }

    def __sklearn_clone__(self) -> EncoderFeatures:
        """Shares the encoder, and the vectors that it has made."""
        copied = type(self)(**self.get_params(deep=False))
        if callable(self.encode):
            copied._kept = self._vectors_kept()
        return copied

    def _derive(self) -> None:
        """Neither a function nor a folder comes from a file, whatever it says."""
        self.encode = self.cache = None

    def fit_rows(self, X: Any) -> Rows:
        """Learn the projection from all inputs and return their rows."""
        self._check_params()
        if self.encode is None:
            raise InputError(
                "encode is None; expected a function from a list of token lists, or texts, to their vectors, such as "
                "accord.views.encoders.onnx(...). Model files leave it out, so give it again to fit anew"
            )
        vectors = self._encoded(X, None)
        distinct = list({id(matrix): matrix for matrix in vectors if matrix.size}.values())
        if not distinct:
            raise InputError("X has only empty inputs: there is nothing to learn from")
        stacked = np.concatenate(distinct)
        self.center_, self.projection_ = whitening(stacked, self.n_components, float(self.whiten))
        self.factor_ = 1.0
        length = float(np.sqrt((self._projected(stacked) ** 2).sum(axis=1).mean()))
        self.factor_ = self.scale / length if length > 0.0 else self.scale
        self.encoder_ = self._name()
        self.view_ = ArrayFeatures(bias=self.bias, window=self.window)
        rows = self.view_.fit_rows([self._projected(matrix) for matrix in vectors])
        self.n_dims_ = self.view_.n_dims_
        return rows

    def transform(self, X: Any) -> Rows:
        """Rows of new inputs."""
        check_is_fitted(self, "center_")
        if self.encode is None:
            called = "" if self.encoder_ is None else f", which was {self.encoder_!r}"
            raise InputError(
                f"encode is None, because model files do not hold the encoder{called}. Give it back: "
                "accord.views.encoders.attach(model, encode), or model.view_.encode = encode"
            )
        name = self._name()
        if name != self.encoder_ and None not in (name, self.encoder_):
            warnings.warn(
                f"encode is {name!r}, but the view was fitted with {self.encoder_!r}; predictions mean nothing if "
                "their vectors differ",
                stacklevel=3,
            )
        return self.view_.transform([self._projected(matrix) for matrix in self._encoded(X, self.center_.size)])

    def feature_names(self, features: Iterable[int]) -> list[str]:
        """Names such as ``x12``, a direction, or ``-1:x12``, that of the token before."""
        check_is_fitted(self, "center_")
        return self.view_.feature_names(features)

    def constant_features(self) -> np.ndarray:
        """The bias."""
        check_is_fitted(self, "center_")
        return self.view_.constant_features()

    def _extend(self, X: Any) -> Rows:
        """The projection stays what the first data taught."""
        return self.transform(X)

    def _check_params(self) -> None:
        super()._check_params()
        parse_window(self.window)
        if self.cache is not None and self._name() is None:
            raise InputError("cache needs to know whose vectors it keeps; give name=, or an encoder that has a name")

    def _name(self) -> str | None:
        found = getattr(self.encode, "name", None) if self.name is None else self.name
        return found if isinstance(found, str) and found else None

    # -- vectors ----------------------------------------------------------------------------------------------------
    def _projected(self, vectors: np.ndarray) -> np.ndarray:
        centred = vectors - self.center_
        return self.factor_ * (centred if self.projection_ is None else centred @ self.projection_)

    def _vectors_kept(self) -> VectorCache:
        kept, key = getattr(self, "_kept", None), (self.encode, self._name() or "", self.cache)
        if kept is None or not kept.is_for(*key):
            self._kept = kept = VectorCache(*key)
        return kept

    def _encoded(self, X: Any, width: int | None) -> list[np.ndarray]:
        """A matrix of float32 for every input, of which equal ones share theirs; ``width`` of fit, if there was one."""
        inputs = tokens_or_texts(X)
        kept = self._vectors_kept()
        keys = [content_key(kept.name, x) for x in inputs]
        first: dict[bytes, int] = {}
        for i, key in enumerate(keys):
            first.setdefault(key, i)
        found = kept.find(first)
        width = width or next((matrix.shape[1] for matrix in found.values()), None)
        for key, i in first.items():
            if key in found:
                check_shape(found[key], inputs[i], i, width)
        missing = [i for key, i in first.items() if key not in found and (isinstance(inputs[i], str) or inputs[i])]
        missing.sort(key=lambda i: (len(inputs[i]), i))  # those padded to the same length waste the least
        batches = [missing[start : start + self.batch_size] for start in range(0, len(missing), self.batch_size)]
        with Progress(len(missing), "encoding", len(batches) >= _SHOWN_FROM) as progress:
            for places in batches:
                batch = [inputs[i] for i in places]
                made = checked_vectors(self.encode(batch), batch, places, width)  # type: ignore[misc]
                if width is None:
                    width = made[0].shape[1]
                    _check_memory([inputs[i] for i in missing], width)
                new = {keys[i]: matrix for i, matrix in zip(places, made)}
                kept.add(new)
                found |= new
                progress.advance(len(places))
        nothing = np.zeros((0, width or 0), np.float32)
        return [found.get(key, nothing) for key in keys]


def _check_memory(inputs: list[Any], width: int) -> None:
    rows = sum(1 if isinstance(x, str) else len(x) for x in inputs)
    memory.check({"vectors": 4.0 * rows * width}, "Give fewer inputs")
