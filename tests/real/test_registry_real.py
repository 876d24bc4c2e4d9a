"""The real data sets: sizes as their descriptions give them, labels and taxonomies as expected.

Needs a local data folder; set ACCORD_DATA.
"""

from collections import Counter

import numpy as np
import pytest

from accord.datasets import available, load
from accord.datasets.trees import constituents
from accord.exceptions import InputError


def need(name):
    try:
        present = available()
    except InputError as error:
        pytest.skip(f"no data folder: {error}")
    if name not in present:
        pytest.skip(f"the data folder named by ACCORD_DATA has no {name}")


@pytest.mark.parametrize(
    ("name", "part", "n_sentences", "n_tokens", "n_labels"),
    [
        ("conll2002_esp", "train", 8323, 264_715, 9),
        ("conll2002_esp", "testa", 1915, 52_923, 9),
        ("conll2002_esp", "testb", 1517, 51_533, 9),
        ("conll2000_chunking", "train", 8936, 211_727, 22),
        ("conll2000_chunking", "test", 2012, 47_377, 19),
        pytest.param("ud_english_ewt_pos", "train", 12_544, 204_577, 17, marks=pytest.mark.long),
        ("ud_english_ewt_pos", "dev", 2001, 25_147, 17),
        ("ud_english_ewt_pos", "test", 2077, 25_094, 17),
        pytest.param("bc2gm", "train", 12_574, 355_405, 3, marks=pytest.mark.long),
        ("bc2gm", "devel", 2519, 71_042, 3),
        ("bc2gm", "test", 5038, 143_465, 3),
    ],
)
def test_token_sets(name, part, n_sentences, n_tokens, n_labels):
    need(name)
    data = load(name, part=part, extra=True)
    assert len(data) == n_sentences
    assert sum(map(len, data.X)) == n_tokens
    assert list(map(len, data.X)) == list(map(len, data.Y))
    assert len({label for y in data.Y for label in y}) == n_labels
    if name == "bc2gm":
        assert data.extra == {}
    else:
        assert list(map(len, data.extra["pos"])) == list(map(len, data.X))


def test_first_spanish_sentence():
    need("conll2002_esp")
    data = load("conll2002_esp", part="testa", extra=True)
    assert data.X[0][:4] == ["Sao", "Paulo", "(", "Brasil"]
    assert data.Y[0][:4] == ["B-LOC", "I-LOC", "O", "B-LOC"]
    assert data.extra["pos"][0][:4] == ["NC", "VMI", "Fpa", "NC"]


def test_letters():
    need("ocr_letters")
    train, everything = load("ocr_letters"), load("ocr_letters", part="all")
    assert len(train) == 626
    assert sum(map(len, train.Y)) == 4617
    assert len(everything) == 6877
    assert Counter(everything.split.tolist()) == {"train": 626, "test": 6251}
    assert {letter for y in everything.Y for letter in y} == set("abcdefghijklmnopqrstuvwxyz")
    assert len({"".join(y) for y in everything.Y}) == 55
    assert "ommanding" in {"".join(y) for y in everything.Y}
    assert all(x.shape == (len(y), 128) for x, y in zip(everything.X, everything.Y))
    assert set(np.unique(train.X[0])) == {0.0, 1.0}


def roots(taxonomy):
    return [node for node, parents in taxonomy.items() if not parents]


def leaves(taxonomy):
    inner = {parent for parents in taxonomy.values() for parent in parents}
    return {node for node in taxonomy if node not in inner}


def test_wipo():
    need("wipo_alpha_d")
    train, test = load("wipo_alpha_d"), load("wipo_alpha_d", part="test")
    assert train.X.shape == (1352, 100)
    assert test.X.shape == (358, 100)
    assert np.isfinite(train.X).all()
    assert train.taxonomy["D01D00"] == ["D01D"]
    assert roots(train.taxonomy) == ["D"]
    assert len(leaves(train.taxonomy)) == 57
    assert len(train.taxonomy) == 1 + 7 + 20 + 57
    counts = Counter(train.Y + test.Y)
    assert set(counts) <= leaves(train.taxonomy)
    assert (min(counts.values()), max(counts.values())) == (1, 167)


def test_cora():
    need("cora_big")
    data = load("cora_big", extra=True)
    assert data.X.shape == (11_881, 9568)
    assert data.extra["cites"].shape == (11_881, 11_881)
    assert data.extra["authors"].shape == (11_881, 16_114)
    counts = Counter(data.Y)
    assert counts.pop(None) == 187
    assert set(counts) == leaves(data.taxonomy)
    assert (len(counts), min(counts.values()), max(counts.values())) == (70, 9, 543)
    learning = "Artificial_Intelligence/Machine_Learning"
    assert sum(n for leaf, n in counts.items() if data.taxonomy[leaf] == [learning]) == 1810
    assert len(roots(data.taxonomy)) == 10


def test_newsgroups():
    need("newsgroups20")
    train, test = load("newsgroups20", extra=True), load("newsgroups20", part="test")
    assert train.X.shape == (11_314, 29_822)
    assert train.extra["subject"].shape == (11_314, 5593)
    assert test.X.shape == (7532, 29_822)
    assert set(train.Y) == leaves(train.taxonomy)
    assert len(set(train.Y)) == 20
    assert len(roots(train.taxonomy)) == 7
    assert train.taxonomy["rec.sport.hockey"] == ["rec.sport"]
    assert train.taxonomy["sci.space"] == ["sci"]


@pytest.mark.parametrize("part", ["COIL", "COIL2", "USPS", "g241c", "g241n", "Text"])
def test_semi_supervised_benchmark(part):
    need("ssl_book")
    found = load("ssl_book", part=part, extra=True)
    assert found.X.shape == (1500, 11_960 if part == "Text" else 241)
    assert len(set(found.Y)) == (6 if part == "COIL" else 2)
    for n in (10, 100):
        labeled = found.extra[f"labeled_{n}"]
        assert labeled.shape == (12, n)
        assert all(len({found.Y[i] for i in split}) == len(set(found.Y)) for split in labeled)


def test_proteins():
    need("protein_cb513")
    found = load("protein_cb513")
    states = Counter(state for y in found.Y for state in y)
    assert (len(found), states) == (509, {"C": 36_199, "H": 29_102, "E": 18_690})


@pytest.mark.parametrize(
    ("name", "n_trees", "n_tokens", "n_phrases", "n_tags", "n_documents"),
    [
        ("ptb_wsj_sample", 3914, 94_084, 28, 45, 199),
        pytest.param("cess_esp", 6000, 188_283, 43, 50, 607, marks=pytest.mark.long),
    ],
)
def test_treebanks(name, n_trees, n_tokens, n_phrases, n_tags, n_documents):
    need(name)
    data = load(name, extra=True)
    assert len(data) == n_trees
    assert sum(map(len, data.X)) == n_tokens
    assert list(map(len, data.extra["tags"])) == list(map(len, data.X))
    assert len({tag for tags in data.extra["tags"] for tag in tags}) == n_tags
    assert len({label for tree in data.Y for label, _, _ in constituents(tree)}) == n_phrases
    assert {tree[0] for tree in data.Y} == {"TOP"}
    assert len(data.extra["documents"]) == n_trees
    assert len(set(data.extra["documents"].tolist())) == n_documents
    if name == "ptb_wsj_sample":
        assert data.X[1][:3] == ["Mr.", "Vinken", "is"]
        assert data.extra["tags"][1][:3] == ["NNP", "NNP", "VBZ"]
        assert data.extra["documents"][:3].tolist() == ["wsj_0001", "wsj_0001", "wsj_0002"]
        assert data.Y[1][1][1] == ["NP", ["NNP", "Mr."], ["NNP", "Vinken"]]
