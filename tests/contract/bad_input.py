"""What can be wrong with the input, one function a row of docs/bad-input.md.

A function gets ``make``, which builds a learner, does the wrong thing and returns nothing.
"""

import errno
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp

import accord
from accord import (
    CRF,
    HMM,
    DictFeatures,
    KernelFeatures,
    MultiClass,
    Sequence,
    StructuredPerceptron,
    StructuredSVM,
    Taxonomy,
    TokenFeatures,
)
from accord.datasets.formats import read_conll, read_csv, read_svmlight

LEARNERS = [StructuredPerceptron, StructuredSVM, CRF, HMM]
ROWS: dict[str, "Row"] = {}

SENTENCES = [["Tom", "left"], ["Ana", "saw", "Tom"], ["Eva"]]
TAGS = [["P", "O"], ["P", "O", "P"], ["P"]]
TREE = {"cat": "animal", "dog": "animal", "car": "thing"}


@dataclass
class Row:
    """One row of the table."""

    name: str
    run: Callable
    learners: list


def row(name, *learners):
    """Register a function; without learners it is tried with all of them."""

    def register(function):
        ROWS[name] = Row(name, function, list(learners) or LEARNERS)
        return function

    return register


# -- outputs ----------------------------------------------------------------------------------------------------------


@row("lengths")
def _(make):
    make(Sequence()).fit(SENTENCES, TAGS[:2])


@row("ragged")
def _(make):
    make(Sequence()).fit([["a"] * 6] * 18, [["O"] * 6] * 17 + [["O"] * 5])


@row("y-missing")
def _(make):
    make(Sequence()).fit(SENTENCES, None)


@row("y-no-list")
def _(make):
    make(MultiClass()).fit([[1.0], [2.0]], "ab")


@row("y-label-for-sequence")
def _(make):
    make(Sequence()).fit(SENTENCES, [["P", "O"], "P", ["P"]])


@row("y-list-for-class")
def _(make):
    make(MultiClass()).fit([[1.0], [2.0]], ["a", ["b"]])


@row("y-token-unlabeled")
def _(make):
    make(Sequence()).fit(SENTENCES, [["P", None], ["P", "O", "P"], ["P"]])


@row("y-no-label")
def _(make):
    make(Sequence()).fit(SENTENCES, [["P", "O"], ["P", ["O"], "P"], ["P"]])


@row("label-undeclared")
def _(make):
    make(Sequence(labels=["O", "P"])).fit(SENTENCES, [None, ["P", "Q", "P"], ["P"]])


@row("label-not-in-taxonomy")
def _(make):
    make(Taxonomy(TREE), emission="gaussian").fit([[1.0], [2.0], [3.0]], [None, "cat", "zebra"])


@row("label-inner-node")
def _(make):
    make(Taxonomy(TREE), emission="gaussian").fit([[1.0], [2.0], [3.0]], [None, "cat", "animal"])


@row("label-unknown-in-batch", StructuredPerceptron, CRF)
def _(make):
    make(Sequence()).partial_fit(SENTENCES, TAGS).partial_fit([["Rome"]], [["L"]])


@row("label-unknown-given")
def _(make):
    make(Sequence()).fit(SENTENCES, TAGS).predict([["Eva"], ["Eva", "left"]], given=[None, [None, "L"]])


@row("given-lengths")
def _(make):
    make(Sequence()).fit(SENTENCES, TAGS).predict(SENTENCES, given=[None])


@row("given-ragged")
def _(make):
    make(Sequence()).fit(SENTENCES, TAGS).predict(SENTENCES, given=[None, ["P"], None])


@row("given-impossible")
def _(make):
    model = make(Sequence(constraints="iob2")).fit([["Ana", "Lee"]], [["B-P", "I-P"]])
    model.predict([["Ana"], ["Lee", "Ana"]], given=[None, ["I-P", None]])


@row("constraints-broken", StructuredPerceptron, StructuredSVM, CRF)
def _(make):
    make(Sequence(constraints="iob2")).fit([["Ana"], ["Lee", "left"]], [["B-P"], ["I-P", "O"]])


@row("score-without-labels")
def _(make):
    make(Sequence()).fit(SENTENCES, TAGS).score(SENTENCES, [None, None, None])


# -- too little -------------------------------------------------------------------------------------------------------


@row("nothing")
def _(make):
    make(Sequence()).fit([], [])


@row("all-unlabeled")
def _(make):
    make(Sequence()).fit(SENTENCES, [None, None, None])


@row("one-class")
def _(make):
    model = make(MultiClass(), emission="gaussian").fit([[1.0], [2.0]], ["a", "a"])
    assert model.predict([[3.0]]) == ["a"]


@row("empty-sentence")
def _(make):
    model = make(Sequence()).fit([[], *SENTENCES], [[], *TAGS])
    assert model.predict([[], ["Tom"], []]) == [[], ["P"], []]


@row("only-empty-sentences")
def _(make):
    make(Sequence(labels=["O", "P"])).fit([[], []], [[], []])


@row("no-labels-in-first-batch", StructuredPerceptron, CRF)
def _(make):
    make(Sequence()).partial_fit(SENTENCES, [None, None, None])


@row("not-fitted")
def _(make):
    make(Sequence()).predict(SENTENCES)


# -- tokens and features ----------------------------------------------------------------------------------------------


@row("x-no-list")
def _(make):
    make(Sequence()).fit("Tom left", [["P", "O"]])


@row("x-text")
def _(make):
    make(Sequence(), view=TokenFeatures()).fit([["Tom", "left"], "Ana saw Tom", ["Eva"]], TAGS)


@row("x-unclear")
def _(make):
    make(MultiClass()).fit([1.5, 2.5], ["a", "b"])


@row("token-no-string")
def _(make):
    make(Sequence()).fit([["Tom", "left"], ["Ana", 42, "Tom"], ["Eva"]], TAGS)


@row("token-missing")
def _(make):
    make(Sequence()).fit([["Tom", "left"], ["Ana", None, "Tom"], ["Eva"]], TAGS)


@row("mixed-tokens")
def _(make):
    make(Sequence(), view=DictFeatures()).fit([[{"w": "Tom"}, "left"]], [["P", "O"]])


@row("mixed-inputs")
def _(make):
    make(Sequence()).fit([[{"w": "Tom"}], {"w": "Ana"}], [["P"], ["P"]])


@row("mixed-strings")
def _(make):
    make(Sequence()).fit([[["w=Tom"], ["w=left", 3]]], [["P", "O"]])


@row("feature-name")
def _(make):
    make(Sequence()).fit([[{"w": "Tom"}, {3: "left"}]], [["P", "O"]])


@row("feature-value")
def _(make):
    make(Sequence()).fit([[{"w": "Tom"}, {"w": None}]], [["P", "O"]])


@row("nan-feature")
def _(make):
    make(Sequence()).fit([[{"size": 1.0}, {"size": float("nan")}]], [["P", "O"]])


@row("nan-row")
def _(make):
    make(MultiClass()).fit(np.array([[1.0, 2.0], [np.nan, 1.0]]), ["a", "b"])


@row("inf-vector")
def _(make):
    make(Sequence()).fit([np.zeros((2, 3)), np.array([[0.0, 1.0, np.inf]])], [["P", "O"], ["P"]])


@row("nan-sparse")
def _(make):
    make(MultiClass()).fit(sp.csr_array([[0.0, np.nan], [1.0, 0.0]]), ["a", "b"])


@row("nan-frame")
def _(make):
    make(MultiClass()).fit(pd.DataFrame({"size": [1.0, np.nan], "age": [2.0, 3.0]}), ["a", "b"])


@row("text-in-array")
def _(make):
    make(MultiClass()).fit(np.array([[1, "x"], [2, "y"]], dtype=object), ["a", "b"])


@row("text-in-frame")
def _(make):
    make(MultiClass()).fit(pd.DataFrame({"size": [1.0, 2.0], "name": ["x", "y"]}), ["a", "b"])


@row("columns-ragged")
def _(make):
    make(MultiClass()).fit([[1.0, 2.0], [3.0]], ["a", "b"])


@row("columns-other")
def _(make):
    make(MultiClass(), emission="gaussian").fit([[1.0, 2.0], [3.0, 0.0]], ["a", "b"]).predict([[1.0, 2.0, 3.0]])


@row("columns-renamed")
def _(make):
    frame = pd.DataFrame({"size": [1.0, 2.0], "age": [2.0, 3.0]})
    make(MultiClass(), emission="gaussian").fit(frame, ["a", "b"]).predict(frame[["age", "size"]])


@row("rows-for-class")
def _(make):
    make(MultiClass(), view=TokenFeatures()).fit([["Tom"], ["Ana", "left"]], ["a", "b"])


@row("not-truth-values", HMM)
def _(make):
    make(MultiClass()).fit([[0.0, 1.0], [1.0, 2.5]], ["a", "b"])


@row("kernel-not-square")
def _(make):
    make(MultiClass(), view=KernelFeatures(kernel="precomputed")).fit([[1.0, 2.0, 3.0], [2.0, 1.0, 0.0]], ["a", "b"])


@row("kernel-not-positive")
def _(make):
    make(MultiClass(), view=KernelFeatures(kernel="precomputed")).fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])


# -- parameters -------------------------------------------------------------------------------------------------------


@row("structure")
def _(make):
    make(Sequence).fit(SENTENCES, TAGS)


@row("view")
def _(make):
    make(Sequence(), view="tokens").fit(SENTENCES, TAGS)


@row("loss")
def _(make):
    make(Sequence(loss="squared")).fit(SENTENCES, TAGS)


@row("costs")
def _(make):
    make(MultiClass(loss=[[0.0, 1.0]])).fit([[1.0], [2.0]], ["a", "b"])


@row("order")
def _(make):
    make(Sequence(order=3)).fit(SENTENCES, TAGS)


@row("order-of-hmm", HMM)
def _(make):
    make(Sequence(order=2)).fit(SENTENCES, TAGS)


@row("taxonomy-cycle")
def _(make):
    make(Taxonomy({"a": "b", "b": "a"})).fit([[1.0], [2.0]], ["a", "b"])


@row("window")
def _(make):
    make(Sequence(), view=TokenFeatures(window=-1)).fit(SENTENCES, TAGS)


@row("C", StructuredSVM, CRF)
def _(make):
    make(Sequence(), C=0).fit(SENTENCES, TAGS)


@row("solver", StructuredSVM, CRF)
def _(make):
    make(Sequence(), solver="newton").fit(SENTENCES, TAGS)


@row("random-state", StructuredPerceptron, StructuredSVM)
def _(make):
    make(Sequence(), random_state="today").fit(SENTENCES, TAGS)


@row("k")
def _(make):
    make(Sequence()).fit(SENTENCES, TAGS).predict_k_best(SENTENCES, k=0)


# -- files ------------------------------------------------------------------------------------------------------------


@row("file-columns", None)
def _(make):
    Path("train.conll").write_text("Tom NNP B-PER\nleft VBD O\n\nAna B-PER\n")
    read_conll("train.conll")


@row("file-encoding", None)
def _(make):
    Path("train.conll").write_bytes("Tom B-PER\nSão B-LOC\n".encode("latin-1"))
    read_conll("train.conll")


@row("csv-columns", None)
def _(make):
    Path("train.csv").write_text("size,age,label\n1,2,a\n3,b\n")
    read_csv("train.csv")


@row("svmlight-line", None)
def _(make):
    Path("train.svm").write_text("a 1:0.5 3:1\nb 1:x\n")
    read_svmlight("train.svm")


@row("disk-full")
def _(make):
    model = make(Sequence()).fit(SENTENCES, TAGS)
    fsync = os.fsync

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    os.fsync = full
    try:
        model.save("tagger.accord")
    finally:
        os.fsync = fsync
        assert os.listdir() == []


@row("model-truncated")
def _(make):
    make(Sequence()).fit(SENTENCES, TAGS).save("tagger.accord")
    whole = Path("tagger.accord").read_bytes()
    Path("tagger.accord").write_bytes(whole[: len(whole) // 2])
    accord.load("tagger.accord")


@row("model-foreign", None)
def _(make):
    Path("tagger.accord").write_bytes(b"\x80\x04 a pickle")
    accord.load("tagger.accord")


@row("model-newer")
def _(make):
    make(Sequence()).fit(SENTENCES, TAGS).save("old.accord")
    with zipfile.ZipFile("old.accord") as old, zipfile.ZipFile("tagger.accord", "w") as new:
        for entry in old.infolist():
            content = old.read(entry)
            if entry.filename == "accord.json":
                content = content.replace(b'"format_version": 1', b'"format_version": 99')
            new.writestr(entry, content)
    accord.load("tagger.accord")


@row("model-with-code", StructuredPerceptron, StructuredSVM, CRF)
def _(make):
    view = KernelFeatures(kernel=lambda a, b: a @ b.T)
    make(MultiClass(), view=view).fit([[1.0, 0.0], [0.0, 1.0]], ["a", "b"]).save("tagger.accord")
