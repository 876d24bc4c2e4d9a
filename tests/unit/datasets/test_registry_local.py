"""Data sets from a local folder, with small folders made up here."""

import gzip

import numpy as np
import pytest

from accord.datasets import available, data_home, load
from accord.exceptions import FormatError, InputError


@pytest.fixture
def home(tmp_path):
    """A data folder with a few tiny sets in the layout of the real ones."""
    esp = tmp_path / "conll2002_esp"
    esp.mkdir()
    esp.joinpath("esp.train.tsv.gz").write_bytes(gzip.compress(b"Ana\tNP\tB-PER\nva\tV\tO\n\nFin\tN\tO\n"))
    esp.joinpath("esp.testa.tsv").write_text("Roma\tNP\tB-LOC\n")
    esp.joinpath("esp.testb.tsv").write_text("Lima\tNP\tB-LOC\n\nSol\tNP\tO\n")
    genes = tmp_path / "bc2gm"
    genes.mkdir()
    genes.joinpath("bc2gm.train.tsv").write_text("p53\t_\tB-GENE\n")
    ocr = tmp_path / "ocr_letters"
    ocr.mkdir()
    images = np.arange(5 * 128, dtype=np.uint8).reshape(5, 16, 8)
    word, fold0 = np.array([0, 0, 1, 2, 2], dtype=np.int16), np.array([True, True, False, True, True])
    np.savez(ocr / "ocr_letters.npz", images=images, letter=np.array([0, 1, 25, 2, 3]), word=word, is_fold0=fold0)
    news = tmp_path / "newsgroups20"
    news.mkdir()
    news.joinpath("taxonomy.tsv").write_text(
        "leaf_index\tlevel1\tlevel2\tleaf\n0\talt\talt.atheism\talt.atheism\n1\tcomp\tcomp.sys\tcomp.sys.mac\n"
    )
    arrays = {"y": np.array([1, 0, 1]), "is_test": np.array([True, False, False])}
    for name, data in (("body", [1, 2, 3]), ("subject", [4, 5, 6])):
        arrays |= {f"{name}_data": np.array(data, dtype=np.uint16), f"{name}_indices": np.array([0, 1, 2])}
        arrays |= {f"{name}_indptr": np.array([0, 1, 2, 3]), f"{name}_shape": np.array([3, 3])}
    np.savez(news / "newsgroups20.npz", **arrays)
    return tmp_path


def test_data_home(tmp_path, monkeypatch):
    monkeypatch.delenv("ACCORD_DATA", raising=False)
    with pytest.raises(InputError, match=r"set the environment variable ACCORD_DATA or pass data="):
        data_home()
    monkeypatch.setenv("ACCORD_DATA", str(tmp_path))
    assert data_home() == tmp_path
    monkeypatch.setenv("ACCORD_DATA", str(tmp_path / "gone"))
    with pytest.raises(InputError, match=r"gone.*from the environment variable ACCORD_DATA\) does not exist"):
        data_home()
    assert data_home(tmp_path) == tmp_path
    with pytest.raises(InputError, match=r"from data=\) does not exist"):
        data_home(tmp_path / "lost")


def test_available(home, tmp_path):
    assert available(home) == ["conll2002_esp", "bc2gm", "ocr_letters", "newsgroups20"]


def test_token_columns(home):
    train = load("conll2002_esp", home)
    assert (train.X, train.Y) == ([["Ana", "va"], ["Fin"]], [["B-PER", "O"], ["O"]])
    assert train.extra == {}
    assert len(train) == 2
    everything = load("conll2002_esp", home, part="all", extra=True)
    assert everything.split.tolist() == ["train", "train", "testa", "testb", "testb"]
    assert everything.extra["pos"][0] == ["NP", "V"]
    assert load("conll2002_esp", home, part="testb").X == [["Lima"], ["Sol"]]


def test_a_column_without_tags_is_no_extra(home):
    assert load("bc2gm", home, extra=True).extra == {}


def test_letters(home):
    train, test = load("ocr_letters", home), load("ocr_letters", home, part="test")
    assert train.Y == [["a", "b"], ["c", "d"]]
    assert test.Y == [["z"]]
    assert [x.shape for x in train.X] == [(2, 128), (2, 128)]
    np.testing.assert_array_equal(test.X[0][0], (np.arange(128) + 2 * 128) % 256)
    assert test.X[0].dtype == np.float64


def test_classes_with_a_taxonomy(home):
    train = load("newsgroups20", home, extra=True)
    assert train.Y == ["alt.atheism", "comp.sys.mac"]
    np.testing.assert_array_equal(train.X.toarray(), [[0, 2, 0], [0, 0, 3]])
    np.testing.assert_array_equal(train.extra["subject"].toarray(), [[0, 5, 0], [0, 0, 6]])
    # alt.atheism stands on two levels of the file but is one node
    assert train.taxonomy == {
        "alt": [],
        "alt.atheism": ["alt"],
        "comp": [],
        "comp.sys": ["comp"],
        "comp.sys.mac": ["comp.sys"],
    }
    everything = load("newsgroups20", home, part="all")
    assert everything.Y == ["alt.atheism", "comp.sys.mac", "comp.sys.mac"]
    assert everything.split.tolist() == ["train", "train", "test"]


def test_errors_say_what_to_do(home):
    with pytest.raises(InputError, match=r"name='mnist' is not a known data set; choose from conll2002_esp"):
        load("mnist", home)
    with pytest.raises(InputError, match=r"part='dev' does not exist for conll2002_esp; choose from train, testa"):
        load("conll2002_esp", home, part="dev")
    with pytest.raises(InputError, match=r"cora_big' is missing; data= or ACCORD_DATA"):
        load("cora_big", home)
    with pytest.raises(InputError, match=r"incomplete: bc2gm\.test\.tsv"):
        load("bc2gm", home, part="test")
    home.joinpath("newsgroups20", "taxonomy.tsv").write_text("leaf_index\tleaf\n1\ta\tb\n")
    with pytest.raises(FormatError, match="line 2: expected leaf 0"):
        load("newsgroups20", home)
    np.savez(home / "ocr_letters" / "ocr_letters.npz", images=np.zeros(1))
    with pytest.raises(FormatError, match="letter"):
        load("ocr_letters", home)


def test_treebanks(tmp_path):
    for name, prefix in (("ptb_wsj_sample", "wsj"), ("cess_esp", "cess_esp")):
        folder = tmp_path / name
        folder.mkdir()
        folder.joinpath(f"{prefix}.clean.mrg.gz").write_bytes(
            gzip.compress("(TOP (S (N Ana) (V va)))\n(TOP (N señor))\n".encode())
        )
        folder.joinpath(f"{prefix}.ids.txt").write_text("file.1.0\nother.7\n")
        plain, full = load(name, tmp_path), load(name, tmp_path, extra=True)
        assert plain.X == full.X == [["Ana", "va"], ["señor"]]
        assert plain.Y == full.Y == [["TOP", ["S", ["N", "Ana"], ["V", "va"]]], ["TOP", ["N", "señor"]]]
        assert plain.split.tolist() == ["train", "train"]
        assert plain.extra == {}
        assert full.extra["tags"] == [["N", "V"], ["N"]]
        assert full.extra["documents"].tolist() == ["file.1", "other"]
        folder.joinpath(f"{prefix}.ids.txt").write_text("file.0\n")
        with pytest.raises(FormatError, match=rf"2 trees, but {prefix}.ids.txt has 1 lines"):
            load(name, tmp_path, extra=True)
