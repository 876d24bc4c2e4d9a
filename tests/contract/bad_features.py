"""Rows of docs/bad-input.md about tokens and features."""

import numpy as np
import pandas as pd
import scipy.sparse as sp
from bad_input import LEARNERS, SENTENCES, TAGS, row

from accord import (
    CRF,
    HMM,
    ArrayFeatures,
    DictFeatures,
    EncoderFeatures,
    KernelFeatures,
    MultiClass,
    Sequence,
    TokenFeatures,
    load,
)


@row("x-no-list")
def _(make):
    make(Sequence()).fit("Tom left", [["P", "O"]])


@row("x-unclear")
def _(make):
    make(MultiClass()).fit([1.5, 2.5], ["a", "b"])


@row("token-no-string")
def _(make):
    make(Sequence()).fit([["Tom", "left"], ["Ana", 42, "Tom"], ["Eva"]], TAGS)


@row("token-array", *LEARNERS)
def _(make):
    arrays = [np.array(x) for x in SENTENCES]
    found = make(Sequence()).fit(arrays, [np.array(y) for y in TAGS]).predict(arrays)
    assert found == make(Sequence()).fit(SENTENCES, TAGS).predict(SENTENCES)


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
    make(MultiClass(), view=ArrayFeatures()).fit(pd.DataFrame({"size": [1.0, 2.0], "name": ["x", "y"]}), ["a", "b"])


@row("columns-ragged")
def _(make):
    make(MultiClass()).fit([[1.0, 2.0], [3.0]], ["a", "b"])


@row("x-vector")
def _(make):
    make(MultiClass(), emission="gaussian").fit([[1.0, 2.0], [3.0, 0.0]], ["a", "b"]).predict(np.array([1.0, 2.0]))


@row("complex")
def _(make):
    make(MultiClass()).fit(np.array([[1.0 + 2.0j], [3.0]]), ["a", "b"])


@row("no-columns")
def _(make):
    make(MultiClass()).fit(np.zeros((2, 0)), ["a", "b"])


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


@row("encoder-rows", CRF)
def _(make):
    make(Sequence(), view=EncoderFeatures(lambda batch: [np.ones((2, 4)) for _ in batch])).fit(SENTENCES, TAGS)


@row("encoder-missing", CRF)
def _(make):
    def encode(batch):
        return [[[len(token), token.istitle()] for token in x] for x in batch]

    make(Sequence(), view=EncoderFeatures(encode, name="shapes")).fit(SENTENCES, TAGS).save("model.accord")
    load("model.accord").predict(SENTENCES)
