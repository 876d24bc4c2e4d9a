"""Loaders of the sets with two natural views, with a small folder made up here."""

import numpy as np
import pytest
import scipy.sparse as sp

from accord.datasets import available, load
from accord.exceptions import FormatError


def write(folder, file, y, **matrices):
    folder.mkdir()
    arrays = {"y": np.array(y)}
    for name, rows in matrices.items():
        m = sp.csr_matrix(np.array(rows, dtype=np.uint16))
        arrays |= {f"{name}_data": m.data, f"{name}_indices": m.indices, f"{name}_indptr": m.indptr}
        arrays[f"{name}_shape"] = np.array(m.shape)
    np.savez(folder / file, **arrays)


@pytest.fixture
def home(tmp_path):
    write(tmp_path / "webkb_course", "webkb_course.npz", [1, 0], page=[[2, 0, 1], [0, 3, 0]], anchor=[[0, 1], [4, 0]])
    write(tmp_path / "citation_citeseer", "citeseer.npz", [5, -1, 0], text=[[1], [0], [1]], links=np.eye(3)[[1, 0, 2]])
    return tmp_path


def test_pages_and_links_to_them(home):
    pages = load("webkb_course", home, extra=True)
    assert pages.Y == ["course", "other"]
    np.testing.assert_array_equal(pages.X.toarray(), [[2, 0, 1], [0, 3, 0]])
    np.testing.assert_array_equal(pages.extra["anchor"].toarray(), [[0, 1], [4, 0]])
    assert pages.X.dtype == np.float64
    assert pages.taxonomy is None
    assert load("webkb_course", home).extra == {}


def test_papers_and_citations(home):
    papers = load("citation_citeseer", home, extra=True)
    assert papers.Y == ["HCI", None, "AI"]
    np.testing.assert_array_equal(papers.extra["links"].toarray(), np.eye(3)[[1, 0, 2]])
    assert available(home) == ["webkb_course", "citation_citeseer"]


def test_a_file_without_the_second_view(home):
    write(home / "citation_cora", "cora.npz", [0, 6], text=[[1], [1]])
    assert load("citation_cora", home).Y == ["Theory", "Rule_Learning"]
    with pytest.raises(FormatError, match="'links_data' is missing"):
        load("citation_cora", home, extra=True)
