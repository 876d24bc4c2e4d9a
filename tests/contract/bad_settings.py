"""Rows of docs/bad-input.md about parameters and files."""

import errno
import os
import zipfile
from pathlib import Path

from bad_input import SENTENCES, SMOOTH, TAGS, row

import accord
from accord import (
    CRF,
    HMM,
    CoPerceptron,
    CoSVM,
    GradientSVM,
    KernelFeatures,
    MultiClass,
    Sequence,
    StructuredPerceptron,
    StructuredSVM,
    Taxonomy,
    TokenFeatures,
    TransductiveSVM,
)
from accord.datasets import read_conll, read_csv, read_svmlight

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


@row("observed-of-hmm", HMM)
def _(make):
    make(Sequence(observed_transitions=True)).fit(SENTENCES, TAGS)


@row("hard-margin", StructuredSVM)
def _(make):
    make(MultiClass(), C=float("inf")).fit([[1.0], [1.0]], ["a", "b"])


@row("beta")
def _(make):
    make(Taxonomy({"a": "b", "c": "d"}, beta={"a": {"c": 1.0}, "c": {"c": 1.0}})).fit([[1.0], [2.0]], ["a", "c"])


@row("taxonomy-cycle")
def _(make):
    make(Taxonomy({"a": "b", "b": "a"})).fit([[1.0], [2.0]], ["a", "b"])


@row("window")
def _(make):
    make(Sequence(), view=TokenFeatures(window=-1)).fit(SENTENCES, TAGS)


@row("window-wide", CRF)
def _(make):
    make(Sequence(), view=TokenFeatures(window=99)).fit(SENTENCES, TAGS)


@row("C", StructuredSVM, CRF, CoSVM, *SMOOTH)
def _(make):
    make(Sequence(), C=0).fit(SENTENCES, TAGS)


@row("C-huge", StructuredSVM, CRF, CoSVM, *SMOOTH)
def _(make):
    make(Sequence(), C=1e300).fit(SENTENCES, TAGS)


@row("solver", StructuredSVM, CRF)
def _(make):
    make(Sequence(), solver="newton").fit(SENTENCES, TAGS)


@row("random-state", StructuredPerceptron, StructuredSVM, CoPerceptron, CoSVM, *SMOOTH)
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


@row("csv-nan", None)
def _(make):
    Path("train.csv").write_text("a,b,label\n1,2,x\n3,nan,y\n")
    read_csv("train.csv", finite=True)


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


@row("model-with-code", StructuredPerceptron, StructuredSVM, CRF, GradientSVM, TransductiveSVM)
def _(make):
    view = KernelFeatures(kernel=lambda a, b: a @ b.T)
    make(MultiClass(), view=view).fit([[1.0, 0.0], [0.0, 1.0]], ["a", "b"]).save("tagger.accord")
