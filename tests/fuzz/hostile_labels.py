"""Labels of odd types, labels that are equal and not the same, outputs and given labels that do not fit."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hostile import Table

import accord
from accord import CRF, HMM, Matching, MultiClass, Sequence, StructuredPerceptron, StructuredSVM, Taxonomy
from accord.packed.weights import Parts

TABLE = Table()
DENSE = np.eye(6)
X = [["Tom", "left", "Rome"], ["Ana", "saw", "Tom"], ["Eva", "left"]]
Y = [["P", "O", "L"], ["P", "O", "P"], ["P", "O"]]


def classes(labels: Any, structure: Any = None) -> Any:
    return CRF(structure or MultiClass()).fit(DENSE, labels).predict(DENSE)


def sequences(labels: Any) -> Any:
    return CRF(Sequence()).fit(X, labels).predict(X)


def fitted() -> Any:
    return CRF(Sequence()).fit(X, Y)


def kept(labels: list[Any]) -> bool:
    model = CRF(MultiClass()).fit(DENSE, labels)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        again = accord.load(Path(folder) / "model").predict(DENSE)
    found = model.predict(DENSE)
    return list(again) == list(found) and list(map(type, again)) == list(map(type, found))


# -- labels that work -------------------------------------------------------------------------------------------------
for name, labels in {
    "truth values": [True, False] * 3,
    "integers": [3, 1, 2] * 2,
    "floats": [0.5, 1.5] * 3,
    "text with NUL": ["a\0", "a"] * 3,
    "lone surrogates": ["\ud800", "\udfff"] * 3,
    "nothing": ["", "a"] * 3,
    "a megabyte": ["a" * 10**6, "b"] * 3,
    "large integers": [2**80, -(2**80)] * 3,
    "text that looks like None": ["None", "nan"] * 3,
}.items():
    TABLE.answered(f"labels are {name}", lambda labels=labels: list(labels), lambda labels=labels: classes(labels))
    TABLE.answered(f"labels are {name}: kept by a file", True, lambda labels=labels: kept(labels))
TABLE.answered("labels are NumPy's text", ["a", "b"] * 3, lambda: [str(y) for y in classes(np.array(["a", "b"] * 3))])
TABLE.answered("labels are NumPy's integers", [1, 2] * 3, lambda: [int(y) for y in classes(np.array([1, 2] * 3))])
TABLE.answered(
    "labels are NumPy's truth values",
    [True, False] * 3,
    lambda: [bool(y) for y in classes(np.array([True, False] * 3))],
)
TABLE.answered("labels are a column", ["a", "b"] * 3, lambda: list(classes(pd.Series(["a", "b"] * 3))))
TABLE.answered(
    "labels are categories", ["a", "b"] * 3, lambda: list(classes(pd.Series(["a", "b"] * 3, dtype="category")))
)
TABLE.answered("one label for all", ["a"] * 6, lambda: classes(["a"] * 6))

# -- labels that are odd, and outputs that are none --------------------------------------------------------------------
for name, labels in {
    "of mixed types": ["a", 1, None, 2.5, "b", None],
    "1, True and 1.0": [1, True, 1.0, 2, False, 0.0],
    "True and 1": [True, 1] * 3,
    "1 and '1'": [1, "1"] * 3,
    "bytes and text": [b"a", "a"] * 3,
    "objects": [len, 1j, "a", float("inf"), len, 1j],
}.items():  # equal labels are one label
    TABLE.answered(f"labels {name}", True, lambda labels=labels: _same(labels, classes(labels)))


def _same(labels: list[Any], found: list[Any]) -> bool:
    return all(a == b for a, b in zip(labels, found) if a is not None)


for name, label in {
    "a list": ["a"],
    "a set": {"a"},
    "a dict": {"a": 1},
    "an array": np.zeros(2),
}.items():
    TABLE.refused(f"a class is {name}", "Y[1]", lambda label=label: classes(["a", label, "b", "a", "b", "a"]))
    TABLE.refused(f"a label is {name}", "Y[1][1]", lambda label=label: sequences([Y[0], ["P", label, "P"], Y[2]]))
for name, outputs in {
    "a generator": (y for y in ["a"] * 6),
    "text": "ababab",
    "a dict": dict(enumerate("ababab")),
    "a set": {"a", "b", "c", "d", "e", "f"},
    "a number": 7,
    "too short": ["a", "b"],
    "too long": ["a"] * 7,
    "of two dimensions": np.array([["a", "b"]] * 6),
}.items():
    TABLE.refused(f"Y is {name}", "Y", lambda outputs=outputs: classes(outputs))
TABLE.refused("Y is all nan", "unlabeled", lambda: classes([float("nan")] * 6))
TABLE.refused("Y is all pandas NA", "unlabeled", lambda: classes([pd.NA] * 6))
TABLE.refused("sequences labeled by text", "Y[0]", lambda: sequences(["POL", "POP", "PO"]))
TABLE.refused("sequences labeled by numbers", "Y[0]", lambda: sequences([1, 2, 3]))
TABLE.refused("sequences labeled by sets", "Y[1]", lambda: sequences([Y[0], {"P", "O", "L"}, Y[2]]))
TABLE.refused("sequences labeled by dicts", "Y[1]", lambda: sequences([Y[0], {"P": 1, "O": 2, "L": 3}, Y[2]]))
TABLE.refused("sequences labeled by matrices", "Y[0]", lambda: sequences([np.array([["P"], ["O"], ["L"]]), Y[1], Y[2]]))
TABLE.refused("declared twice", "labels", lambda: classes(["a", "b"] * 3, MultiClass(labels=["a", "b", "a"])))
TABLE.refused("declared none", "labels", lambda: classes(["a", "b"] * 3, MultiClass(labels=[])))
TABLE.refused("declared text", "labels", lambda: classes(["a", "b"] * 3, MultiClass(labels="ab")))
TABLE.refused("declared a list", "labels", lambda: classes(["a", "b"] * 3, MultiClass(labels=["a", ["b"]])))

# -- given labels -----------------------------------------------------------------------------------------------------
for name, given, part in (
    ("too few", [None], "given has 1 entries but X has 3 inputs"),
    ("too many", [None] * 4, "given has 4 entries but X has 3 inputs"),
    ("too few tokens", [["P"], None, None], "given[0] has 1 labels but X[0] has 3 tokens"),
    ("too many tokens", [None, None, ["P"] * 9], "given[2] has 9 labels"),
    ("unknown", [["Q", None, None], None, None], "given[0]"),
    ("a number", [7, None, None], "given[0]"),
    ("text", ["POL", None, None], "given[0]"),
    ("a list in a list", [[["P"], None, None], None, None], "given[0]"),
    ("a dict", {0: ["P"]}, "given is a dict"),
    ("a generator", (y for y in Y), "given is a generator"),
    ("text as a whole", "abc", "given is a str"),
):
    TABLE.refused(f"given is {name}", part, lambda given=given: fitted().predict(X, given=given))
TABLE.answered("given all", Y, lambda: fitted().predict(X, given=Y))
TABLE.answered("given by an array", Y, lambda: fitted().predict(X, given=np.array([*Y, None], object)[:3]))

# -- batches ----------------------------------------------------------------------------------------------------------
for name, call, part in (
    ("another label", lambda: fitted().partial_fit([["x"]], [["Q"]]), "Q"),
    ("other lengths", lambda: fitted().partial_fit([["x"]], [["P", "O"]]), "Y[0] has 2 labels"),
    ("other features", lambda: fitted().partial_fit([DENSE], [["P"] * 6]), "X[0]"),
    (
        "other columns",
        lambda: CRF(MultiClass()).fit(DENSE, list("abcabc")).partial_fit(DENSE[:, :2], list("abcabc")),
        "2 features",
    ),
    ("another structure", lambda: fitted().set_params(structure=MultiClass()).partial_fit(X, ["a", "b", "a"]), "Y[0]"),
):
    TABLE.refused(f"partial_fit with {name}", part, call)

# -- part scores ------------------------------------------------------------------------------------------------------
S = Sequence().fit(Y)
N = S.n_labels_


def parts(**changes: Any) -> Parts:
    return S.parts(np.zeros((4, N)), np.zeros(S.n_transitions_))._replace(**changes)


for method in ("decode", "best", "marginals", "log_partition", "k_best", "score", "oracle"):

    def call(changes: Any, method: str = method) -> Any:
        more = {"k_best": (2,), "score": ([0] * 4,), "oracle": ([0] * 4,)}.get(method, ())
        return getattr(S, method)(parts(**changes), *more)

    for name, changes, part in (
        ("unary too wide", {"unary": np.zeros((4, N + 1))}, "parts.unary"),
        ("unary too narrow", {"unary": np.zeros((4, 1))}, "parts.unary"),
        ("init too short", {"init": np.zeros(1)}, "parts.init"),
        ("step too small", {"step": np.zeros((1, 1, 1))}, "parts.step"),
        ("step of other dimensions", {"step": np.zeros((N, N))}, "parts.step"),
        ("final too long", {"final": np.zeros(N + 5)}, "parts.final"),
        ("nan", {"unary": np.full((4, N), np.nan)}, "parts.unary has nan"),
    ):
        TABLE.refused(f"{method}: {name}", part, lambda changes=changes, call=call: call(changes))
for name, changes in {
    "text": {"unary": np.full((4, N), "x")},
    "objects": {"unary": np.full((4, N), object())},
    "None": {"unary": None},
    "a number": {"unary": 3.0},
    "complex": {"unary": np.zeros((4, N), complex)},
    "one dimension": {"unary": np.zeros(4)},
}.items():
    TABLE.refused(f"decode: unary is {name}", "parts.unary", lambda changes=changes: S.decode(parts(**changes)))
TABLE.refused("decode: no parts", "parts", lambda: S.decode(None))
TABLE.refused("decode: an array", "parts", lambda: S.decode(np.zeros((4, N))))
TABLE.refused(
    "decode: everything forbidden",
    "no output is allowed",
    lambda: S.decode(parts(unary=np.full((4, N), -np.inf))),
    "InfeasibleError",
)
TABLE.answered(
    "decode: float32 in Fortran order",
    [0, 0, 0, 0],
    lambda: S.decode(parts(unary=np.asfortranarray(np.zeros((4, N), np.float32))))[0].tolist(),
)
TABLE.answered("decode: no rows", [], lambda: S.decode(parts(unary=np.zeros((0, N))))[0].tolist())
for name, y in {
    "too large": [9] * 4,
    "negative": [-1] * 4,
    "too few": [0],
    "floats": [0.5] * 4,
    "text": ["a"] * 4,
    "beyond 32 bits": [2**40] * 4,
}.items():
    TABLE.refused(f"score: y is {name}", "y ", lambda y=y: S.score(parts(), y))
for name, k in {"0": 0, "-1": -1, "text": "2", "1.5": 1.5, "None": None, "nan": float("nan")}.items():
    TABLE.refused(f"predict_k_best: k is {name}", "k is", lambda k=k: fitted().predict_k_best(X, k))
TABLE.answered(
    "predict_k_best: more than there are", 3**2, lambda: len(fitted().predict_k_best([["a", "b"]], 10**9)[0])
)

# -- taxonomies, matchings --------------------------------------------------------------------------------------------
TREE = {"a": "x", "b": "x", "c": "y"}


def taxonomy(tree: Any, labels: Any = tuple("abcabc")) -> Any:
    return StructuredSVM(Taxonomy(tree), C=1000.0, random_state=0).fit(DENSE, list(labels)).predict(DENSE)


for name, tree in {
    "a cycle": {"a": "b", "b": "a", "c": "a"},
    "a cycle above": {"a": "x", "b": "x", "c": "y", "x": "y", "y": "x"},
    "its own parent": {"a": "a", "b": "x", "c": "x"},
    "nothing": {},
    "None": None,
    "a list": ["a", "b", "c"],
    "text": "abc",
    "a list of parents that holds a list": {"a": [["x"]], "b": "x", "c": "x"},
    "a parent that is a set of lists": {"a": {"x": 1}, "b": "x", "c": "x"},
    "a node that is bytes": {b"a": "x", "b": "x", "c": "x"},
}.items():
    TABLE.refused(f"taxonomy is {name}", "taxonomy", lambda tree=tree: taxonomy(tree))
DEEP = {str(k): str(k + 1) for k in range(5000)}
TABLE.answered(
    "taxonomy 5,000 deep", ["a", "b", "0"] * 2, lambda: taxonomy({**DEEP, "a": "1", "b": "2500"}, ["a", "b", "0"] * 2)
)
TABLE.answered("taxonomy with two ways up", list("abcabc"), lambda: taxonomy({"a": ["x", "y"], "b": "x", "c": "y"}))
TABLE.answered("taxonomy of single nodes", list("abcabc"), lambda: taxonomy({"a": [], "b": [], "c": []}))
PAIRS = [([["uno", "dos"], ["one", "two"]]), ([["tres"], ["three", "four"]])]
for name, outputs, part in (
    ("a pair outside", [[(0, 9)], [(0, 0)]], "Y[0]"),
    ("a negative pair", [[(-1, 0)], [(0, 0)]], "Y[0]"),
    ("an item twice", [[(0, 0), (0, 1)], [(0, 0)]], "Y[0]"),
    ("numbers", [[0, 1], [0]], "Y[0]"),
    ("triples", [[(0, 0, 0)], [(0, 0)]], "Y[0]"),
    ("floats", [[(0.5, 0)], [(0, 0)]], "Y[0]"),
    ("text", ["ab", "c"], "Y[0]"),
):
    TABLE.refused(
        f"matching: {name}", part, lambda outputs=outputs: StructuredPerceptron(Matching()).fit(PAIRS, outputs)
    )
for name, inputs in {
    "three sides": [[["a"], ["b"], ["c"]]],
    "text": ["ab"],
    "one side": [[["a"]]],
    "None": [None],
}.items():
    TABLE.refused(
        f"matching of {name}",
        "X[0]",
        lambda inputs=inputs: StructuredPerceptron(Matching()).fit(PAIRS, [[(0, 0), (1, 1)], [(0, 0)]]).predict(inputs),
    )
TABLE.refused("HMM of numbers that are no words", "X", lambda: HMM(Sequence()).fit([DENSE * 1.5], [["P"] * 6]))
TABLE.refused("SVM: f1 of classes", "loss", lambda: StructuredSVM(MultiClass(loss="f1")).fit(DENSE, list("abcabc")))
