"""Rows of docs/bad-input.md about rules, links and encoders."""

from pathlib import Path

import numpy as np
from bad_input import SENTENCES, TAGS, row

from accord import CRF, Classifier, EncoderFeatures, GraphFeatures, LinkedFeatures, MultiClass, Sequence, Tagger
from accord.views.encoders import find_encoder

TEXTS = ["red wine", "fast train", "wine list", "train line"]


@row("rules-none", Tagger)
def _(make):
    make(None, rules={}).fit(SENTENCES, TAGS)


@row("rules-form", Tagger)
def _(make):
    make(None, rules=[7]).fit(SENTENCES, TAGS)


@row("rules-text", Tagger)
def _(make):
    make(None, rules=["places"]).fit(SENTENCES, TAGS)


@row("rules-file", Tagger)
def _(make):
    make(None, rules={"P": "names.txt"}).fit(SENTENCES, TAGS)


@row("rules-pattern", Tagger)
def _(make):
    make(None, rules=["regex:(:P"]).fit(SENTENCES, TAGS)


@row("rules-function", Tagger)
def _(make):
    def places(tokens):
        return [(0, 9, "P")]

    make(None, rules=[places]).fit(SENTENCES, [*TAGS[:2], None])


@row("rules-silent", Tagger, Classifier)
def _(make):
    make(None, rules={"P": ["Rome"]}).fit(SENTENCES if make(None).__class__ is Tagger else TEXTS[:3], [None] * 3)


@row("links-node", Classifier)
def _(make):
    make(None, view=LinkedFeatures([(0, 9)])).fit(TEXTS, ["a", "b", None, None])


@row("links-weight", Classifier)
def _(make):
    make(None, view=LinkedFeatures([(0, 1), (0, 2, -1.0)])).fit(TEXTS, ["a", "b", None, None])


@row("links-foreign", Classifier)
def _(make):
    named = [(f"p{k}", text) for k, text in enumerate(TEXTS)]
    make(None, view=LinkedFeatures([("q1", "q2")], key=0)).fit(named, ["a", "b", None, None])


@row("links-file", Classifier)
def _(make):
    Path("links.csv").write_text("0,1\n1\n")
    make(None, view=LinkedFeatures("links.csv")).fit(TEXTS, ["a", "b", None, None])


@row("links-edges", CRF)
def _(make):
    make(MultiClass(), view=GraphFeatures(edges=[(0, 4)])).fit(np.eye(4), ["a", "b", "a", "b"])


@row("encoder-not-finite", CRF)
def _(make):
    def encode(batch):
        return [np.full((len(x), 2), np.nan) for x in batch]

    make(Sequence(), view=EncoderFeatures(encode)).fit(SENTENCES, TAGS)


@row("encoder-nowhere", CRF)
def _(make):
    find_encoder("minilm")


@row("encoder-unknown", CRF)
def _(make):
    Path("minilm").mkdir()
    find_encoder("minilm")
