"""Tokens and features of tokens that are odd: broken text, huge, of other types, in odd containers."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hostile import Table

import accord
from accord import CRF, DictFeatures, DistributionalFeatures, Sequence, StructuredPerceptron, TokenFeatures

TABLE = Table()
X = [["Tom", "left", "Rome"], ["Ana", "saw", "Tom"], ["Eva", "left"]]
Y = [["P", "O", "L"], ["P", "O", "P"], ["P", "O"]]
DICTS = [[{"w": token, "n": float(len(token))} for token in x] for x in X]


class Text(str):
    """A string of its own kind."""


def learner(**options: Any) -> Any:
    return StructuredPerceptron(Sequence(), random_state=0, **options)


def fit(inputs: Any, outputs: Any = Y) -> Any:
    return learner().fit(inputs, outputs).predict(X)


def predict(inputs: Any) -> Any:
    return learner().fit(X, Y).predict(inputs)


def right() -> Any:
    return learner().fit(X, Y).predict(X)


def kept(tokens: list[str]) -> bool:
    """Whether a model that has seen these tokens says the same after a way through a file."""
    model = CRF(Sequence()).fit([*X, tokens], [*Y, ["O"] * len(tokens)])
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        return accord.load(Path(folder) / "model").predict([tokens, *X]) == model.predict([tokens, *X])


ODD = {
    "lone surrogates": ["\ud800", "\udfff", "a\udc80b"],
    "NUL bytes": ["\0", "a\0b", "\0\0\0"],
    "nothing": ["", "", "a"],
    "a megabyte": ["x" * 10**6, "é" * 10**6],
    "control characters": ["\x1b[2J", "\r\n", "\u2028", "\x85"],
    "right to left": ["\u202eabc", "\u200f", "\ufeff"],
    "outside of the plane": ["\U0010ffff", "😀" * 100],
    "combining": ["e" + "\u0301" * 1000],
    "digits of all kinds": ["١٢٣", "²", "Ⅷ", "1e999"],
    "case that grows": ["ß", "İ", "ŉ", "ﬃ"],
}
for name, tokens in ODD.items():
    TABLE.answered(f"{name}: kept by a file", True, lambda tokens=tokens: kept(tokens))
    TABLE.answered(
        f"{name}: to predict",
        lambda tokens=tokens: [len(tokens)],
        lambda tokens=tokens: [len(y) for y in predict([tokens])],
    )

TABLE.answered("strings of NumPy", right, lambda: fit([[np.str_(t) for t in x] for x in X]))
TABLE.answered("strings of a subclass", right, lambda: fit([[Text(t) for t in x] for x in X]))
TABLE.answered("sentences that are tuples", right, lambda: fit([tuple(x) for x in X]))
for kind in (str, object):
    TABLE.answered(
        f"sentences that are arrays of {kind.__name__}",
        right,
        lambda kind=kind: learner(view=TokenFeatures()).fit([np.array(x, kind) for x in X], Y).predict(X),
    )
    TABLE.answered(
        f"arrays of {kind.__name__} without a view",
        right,
        lambda kind=kind: fit([np.array(x, kind) for x in X]),
    )
TABLE.answered("an array of sentences", right, lambda: fit(np.array([*X, None], object)[:3]))
TABLE.answered("predict_iter of a generator", right, lambda: list(learner().fit(X, Y).predict_iter(x for x in X)))
TABLE.answered("100,000 tokens in a sentence", [100_000], lambda: [len(y) for y in predict([["Tom", "left"] * 50_000])])
TABLE.answered(
    "100,000 tokens in training",
    100_002,
    lambda: len(
        learner(max_iter=1).fit([["Tom", "x"] * 50_001], [["P", "O"] * 50_001]).predict([["Tom"] * 100_002])[0]
    ),
)
TABLE.answered("50,000 empty sentences", [[]] * 50_000, lambda: predict([[]] * 50_000))
TABLE.answered("the same list 1,000 times", right()[:1] * 1000, lambda: predict([X[0]] * 1000))

TOKEN = "expected a token, which is a string"
for name, token in {
    "bytes": b"Tom",
    "a number": 7,
    "nan": float("nan"),
    "None": None,
    "a list": ["Tom"],
    "a set": {"Tom"},
    "a truth value": True,
    "an object": object(),
    "a bytearray": bytearray(b"Tom"),
}.items():
    TABLE.refused(f"token is {name}", "X[1][1]", lambda token=token: fit([X[0], ["Ana", token, "Tom"], X[2]]))
    TABLE.refused(f"token to predict is {name}", "X[1][1] is", lambda token=token: predict([X[0], ["Ana", token]]))


def _recursive() -> list[Any]:
    x: list[Any] = ["Tom"]
    x.append(x)
    return x


TABLE.refused("a sentence that holds itself", "X[0][1]", lambda: predict([_recursive()]))
TABLE.refused("a sentence that is a generator", "X[0]", lambda: fit([(t for t in x) for x in X]))
TABLE.refused("sentences by a generator", "X is a generator", lambda: predict(x for x in X))
TABLE.refused("sentences by an open file", "X", lambda: predict(io.StringIO("Tom left\n")))
TABLE.refused("a sentence that is a number", "X[1] is 7", lambda: predict([X[0], 7]))
TABLE.refused("a sentence that is a dict", "X[1]", lambda: predict([X[0], {"Tom": 1}]))
TABLE.refused("a sentence that is bytes", "X[1] is b'Tom'", lambda: predict([X[0], b"Tom"]))
TABLE.refused("sentences that are a dict", "X", lambda: predict({"a": ["Tom"]}))
TABLE.refused("sentences that are a set", "X", lambda: predict({"Tom", "Ana"}))


# -- features of tokens -----------------------------------------------------------------------------------------------
def features(cell: Any, name: Any = "n") -> Any:
    inputs = [[dict(token) for token in x] for x in DICTS]
    inputs[1][1] = {"w": "saw", name: cell}
    return learner(view=DictFeatures()).fit(inputs, Y).predict(DICTS)


for label, cell in {
    "nan": float("nan"),
    "inf": float("inf"),
    "NumPy's nan": np.float32("nan"),
    "None": None,
    "a list": [1.0],
    "bytes": b"x",
    "complex": 1j,
    "an object": object(),
    "a number beyond floats": 10**400,
    "an array": np.zeros(2),
}.items():
    TABLE.refused(f"feature is {label}", "X[1][1]", lambda cell=cell: features(cell))
for label, key in {"a number": 3, "None": None, "bytes": b"n", "a tuple": ("a", "b")}.items():
    TABLE.refused(f"name of a feature is {label}", "X[1][1]", lambda key=key: features(1.0, key))
for label, cell in {
    "a truth value": True,
    "an integer": 3,
    "NumPy's number": np.float32(2),
    "text with a NUL": "a\0b",
    "nothing": "",
    "a lone surrogate": "\ud800",
    "a denormal": 5e-324,
    "NumPy's text": np.str_("x"),
}.items():
    TABLE.answered(f"feature is {label}", [3, 3, 2], lambda cell=cell: [len(y) for y in features(cell)])


def _cyclic() -> dict[str, Any]:
    cell: dict[str, Any] = {}
    cell["a"] = cell
    return cell


TABLE.refused("feature is a dict that holds itself", "X[1][1] holds itself", lambda: features(_cyclic()))
TABLE.answered("feature is a dict", [3, 3, 2], lambda: [len(y) for y in features({"a": {"b": 1.0}})])
TABLE.answered("tokens without features", [2], lambda: [len(y) for y in learner().fit(DICTS, Y).predict([[{}, {}]])])
TABLE.answered("features never seen", [1], lambda: [len(y) for y in learner().fit(DICTS, Y).predict([[{"zz": "y"}]])])
TABLE.refused("dicts after text", "X[0][0]", lambda: predict(DICTS))
TABLE.refused("numbers after text", "X[0]", lambda: predict([np.zeros((2, 3))]))
TABLE.refused("window of a million", "window", lambda: learner(view=TokenFeatures(window=10**6)).fit(X, Y))
TABLE.refused("window that is text", "window", lambda: learner(view=TokenFeatures(window="2")).fit(X, Y))
TABLE.refused(
    "n_components of more than there are",
    "n_components",
    lambda: learner(view=DistributionalFeatures(n_components=-1)).fit(X, Y),
)
