"""Loaders of the semi-supervised benchmark and of proteins, with a small folder made up here."""

import numpy as np
import pytest
import scipy.sparse as sp

from accord.datasets import load
from accord.exceptions import FormatError, InputError

SPLITS = {"idx_lab_10": np.array([[0, 2], [1, 2]]), "idx_lab_100": np.array([[0, 1, 2], [0, 1, 2]])}


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "ssl_book"
    folder.mkdir()
    np.savez(folder / "COIL.npz", X=np.array([[1, 2], [3, 4], [5, 6]], np.float32), y=np.array([0, 5, 0]), **SPLITS)
    words = sp.csr_matrix(np.array([[0, 1.5], [0, 0], [2, 0]]))
    parts = {"data": words.data, "indices": words.indices, "indptr": words.indptr, "shape": np.array(words.shape)}
    np.savez(folder / "Text.npz", y=np.array([-1, 1, 1]), **parts, **SPLITS)
    proteins = tmp_path / "protein_cb513"
    proteins.mkdir()
    (proteins / "cb513.domains.tsv").write_text("MKV\tCHH\tTHH\nA\tE\tE\n")
    return tmp_path


def test_points_and_their_splits(home):
    coil = load("ssl_book", home, part="COIL", extra=True)
    np.testing.assert_array_equal(coil.X, [[1, 2], [3, 4], [5, 6]])
    assert coil.X.dtype == np.float64
    assert coil.Y == ["0", "5", "0"]
    np.testing.assert_array_equal(coil.extra["labeled_10"], SPLITS["idx_lab_10"])
    assert load("ssl_book", home, part="COIL").extra == {}


def test_sparse_points(home):
    text = load("ssl_book", home, part="Text")
    np.testing.assert_array_equal(text.X.toarray(), [[0, 1.5], [0, 0], [2, 0]])
    assert text.Y == ["-1", "1", "1"]


def test_sets_cannot_be_put_together(home):
    with pytest.raises(InputError, match="part='all' does not exist for ssl_book; choose from COIL, "):
        load("ssl_book", home, part="all")


def test_an_archive_without_splits(home):
    np.savez(home / "ssl_book" / "USPS.npz", X=np.zeros((2, 2)), y=np.array([1, -1]))
    with pytest.raises(FormatError, match="'idx_lab_10' is missing"):
        load("ssl_book", home, part="USPS")


def test_proteins(home):
    proteins = load("protein_cb513", home)
    assert proteins.X == [["M", "K", "V"], ["A"]]
    assert proteins.Y == [["C", "H", "H"], ["E"]]
