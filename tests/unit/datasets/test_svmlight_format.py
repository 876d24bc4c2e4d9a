"""svmlight files: agreement with scikit-learn's reader, string labels, chunks, errors with line numbers."""

import io

import numpy as np
import pytest
import scipy.sparse as sp
from row_tables import each_row
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from accord.datasets import iter_svmlight, read_svmlight
from accord.exceptions import FormatError, InputError


def read(text, **options):
    return read_svmlight(io.StringIO(text), **options)


@pytest.mark.parametrize("zero_based", [True, False])
def test_agrees_with_scikit_learn(tmp_path, zero_based):
    matrix = sp.random(200, 30, density=0.2, random_state=3, format="csr")
    matrix[0, 0] = 1.0  # so that "auto" can tell
    path = tmp_path / "data.svm"
    dump_svmlight_file(matrix, np.arange(200) % 4, str(path), zero_based=zero_based)
    expected, classes = load_svmlight_file(str(path), n_features=30, zero_based=zero_based)
    X, y = read_svmlight(path, n_features=30)
    assert (X != expected).nnz == 0
    assert [float(label) for label in y] == classes.tolist()


def test_labels_comments_query_ids_and_empty_rows():
    X, y = read("# header\nspam qid:7 2:1 # note\n\nham\n 1:5 \n+1\t3:2\n")
    assert y == ["spam", "ham", None, "+1"]
    np.testing.assert_array_equal(X.toarray(), [[0, 1, 0], [0, 0, 0], [5, 0, 0], [0, 0, 2]])


def test_entries_may_come_in_any_order():
    X, _ = read("a 3:3 1:1\n")
    assert X.has_sorted_indices
    np.testing.assert_array_equal(X.toarray(), [[1, 0, 3]])


def test_first_index():
    assert read("a 1:1\n")[0].shape == (1, 1)
    assert read("a 1:1\nb 0:1\n")[0].shape == (2, 2)
    assert read("a 1:1\n", zero_based=True)[0].shape == (1, 2)
    with pytest.raises(FormatError, match=r"line 2: feature index 0 is outside 1 to 1.*see zero_based="):
        read("a 1:1\nb 0:1\n", zero_based=False)


def test_empty_file():
    X, y = read("")
    assert X.shape == (0, 0)
    assert y == []


@each_row(
    ("entry", "message"),
    [
        ("3", "found '3'"),
        ("x:1", "found 'x:1'"),
        ("3:x", "found '3:x'"),
        ("3:", "found '3:'"),
        (":3", "found ':3'"),
        ("3:4:5 7", "found '3:4:5'"),
        ("3: 4", "found '3:'"),
        ("-1:4", "found '-1:4'"),
        ("1_0:4", "found '1_0:4'"),
        ("9999999999:4", "found '9999999999:4'"),
        ("3:nan", "found '3:nan'"),
        ("3:inf", "found '3:inf'"),
        ("5:1 5:2", "feature index 5 occurs twice"),
        ("11:1", "feature index 11 is outside 1 to 10"),
    ],
)
def test_errors_name_line_and_entry(entry, message):
    with pytest.raises(FormatError, match=message) as caught:
        read(f"a 1:1 2:2\n\nb 4:1 {entry}\nc 1:1\n", n_features=10)
    assert caught.value.line == 3


def test_same_index_in_two_rows_is_no_duplicate():
    assert read("a 1:1 2:1\nb 2:1 3:1\n")[0].nnz == 4


def test_chunks_equal_the_whole():
    text = "".join(f"c{i % 3} {1 + i % 7}:{i + 1} {9 + i}:2\n" for i in range(25))
    whole, y = read(text)
    chunks = list(iter_svmlight(io.StringIO(text), chunk_size=10, n_features=whole.shape[1]))
    assert [X.shape[0] for X, _ in chunks] == [10, 10, 5]
    assert (sp.vstack([X for X, _ in chunks]) != whole).nnz == 0
    assert [label for _, labels in chunks for label in labels] == y


def test_chunks_without_a_width_grow():
    text = "a 2:1\na 5:1\na 1:1\n"
    assert [X.shape for X, _ in iter_svmlight(io.StringIO(text), chunk_size=1)] == [(1, 2), (1, 5), (1, 5)]


def test_chunks_decide_the_first_index_once():
    with pytest.raises(FormatError, match="line 2: feature index 0 is outside"):
        list(iter_svmlight(io.StringIO("a 1:1\nb 0:1\n"), chunk_size=1))
    shapes = [X.shape for X, _ in iter_svmlight(io.StringIO("a 0:1\nb 1:1\n"), chunk_size=1)]
    assert shapes == [(1, 1), (1, 2)]


def test_chunk_errors_name_the_line():
    with pytest.raises(FormatError) as caught:
        list(iter_svmlight(io.StringIO("a 1:1\nb 1:1\nc 1:x\n"), chunk_size=2))
    assert caught.value.line == 3


def test_wrong_arguments():
    with pytest.raises(InputError, match="chunk_size"):
        next(iter_svmlight(io.StringIO(""), chunk_size=0))
    with pytest.raises(InputError, match="zero_based"):
        read("", zero_based="perhaps")
