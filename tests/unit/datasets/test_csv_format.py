"""Delimited tables: column kinds, headers, labels, errors with line numbers."""

import io

import numpy as np
import pytest
from row_tables import each_row

from accord.datasets import iter_csv, read_csv
from accord.exceptions import FormatError, InputError


def read(text, **options):
    return read_csv(io.StringIO(text), **options)


def test_numeric_table_with_header():
    X, y, names, categorical, texts = read("a,b,kind\n1,-2.5e1,x\n3,,y\n")
    np.testing.assert_array_equal(X, [[1, -25], [3, np.nan]])
    assert (y, names, categorical, texts) == (["x", "y"], ["a", "b"], [], [])


def test_numeric_table_without_header():
    table = read("1,2,x\n3,4,y\n")
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])
    assert (table.y, table.feature_names) == (["x", "y"], ["0", "1"])


def test_words_make_dicts():
    table = read("age,city,kind\n41,Rome,a\n,Oslo,b\n7,,b\n")
    assert table.X == [{"age": 41.0, "city=Rome": 1.0}, {"city=Oslo": 1.0}, {"age": 7.0}]
    assert table.categorical == ["city"]


@each_row("cell", ["?", "1_000"])
def test_one_unparsable_cell_makes_a_column_categorical(cell):
    table = read(f"1,2,x\n{cell},4,y\n")
    assert table.X == [{"0=1": 1.0, "1": 2.0}, {f"0={cell}": 1.0, "1": 4.0}]


def test_given_kinds_are_kept():
    assert read("1,2,x\n3,4,y\n", categorical=[0]).X == [{"0=1": 1.0, "1": 2.0}, {"0=3": 1.0, "1": 4.0}]
    with pytest.raises(FormatError, match=r"line 2: '\?' in column '0' is not a number.*see categorical="):
        read("1,2,x\n?,4,y\n", categorical=[])
    with pytest.raises(FormatError, match=r"\['size'\] should be categorical"):
        read("1,2,x\n", categorical=["size"])


def test_label_column_by_name_position_or_none():
    text = "kind,a\nx,1\n,2\n"
    for label_column in ("kind", 0, -2):
        table = read(text, label_column=label_column)
        assert (table.y, table.feature_names) == (["x", None], ["a"])
    table = read("a,b\n1,2\n", label_column=None)
    assert table.y == [None]
    np.testing.assert_array_equal(table.X, [[1, 2]])


@each_row("delimiter", [";", "\t", "|"])
def test_delimiter_is_found(delimiter):
    table = read(f"a{delimiter}b,c{delimiter}kind\n1{delimiter}2{delimiter}x\n")
    assert table.feature_names == ["a", "b,c"]


def test_quotes_hold_delimiters_and_line_ends():
    table = read('a,"b, c",kind\n1,"two\nlines",x\n\n2,y,\n')
    assert table.X == [{"a": 1.0, "b, c=two\nlines": 1.0}, {"a": 2.0, "b, c=y": 1.0}]
    assert table.y == ["x", None]


def test_ambiguous_header_asks():
    with pytest.raises(
        FormatError, match=r"the first row, red, x, names the columns.*whether it is a header.*see header="
    ):
        read("red,x\nblue,y\n")
    assert read("red,x\nblue,y\n", header=False).y == ["x", "y"]
    assert read("red,x\nblue,y\n", header=True).y == ["y"]
    assert read("red,x\nblue,y\nred,y\n").y == ["x", "y", "y"]  # what comes again is no name
    assert read("color,label\nred,x\nblue,y\n").y == ["x", "y"]  # called as labels are


@each_row(
    ("text", "options", "message"),
    [
        ("", {}, "the file is empty"),
        ("1,2,x\n3,4\n", {}, "line 2: expected 3 columns as in the first row, found 2"),
        ('a,b\n"x\ny",1\n1\n', {}, "line 4: expected 2 columns"),
        ('1,"2\n', {}, "line 1: a quote begins in this row and never ends"),
        ("a,a,b\n1,2,x\n", {}, "line 1: two columns are named 'a'"),
        ("a,b\n1,x\n", {"label_column": "kind"}, r"'kind' is not among the columns \['a', 'b'\]"),
        ("1,x\n", {"label_column": 2}, "the label column is 2, but there are 2 columns; see label_column="),
    ],
)
def test_errors(text, options, message):
    with pytest.raises(FormatError, match=message):
        read(text, **options)


def test_chunks_equal_the_whole():
    text = "a,b,kind\n" + "".join(f"{i},{i * i},c{i % 3}\n" for i in range(25))
    chunks = list(iter_csv(io.StringIO(text), chunk_size=10))
    whole = read(text)
    assert [len(c.y) for c in chunks] == [10, 10, 5]
    np.testing.assert_array_equal(np.vstack([c.X for c in chunks]), whole.X)
    assert [label for c in chunks for label in c.y] == whole.y


def test_chunks_keep_dicts_and_line_numbers():
    chunks = list(iter_csv(io.StringIO("1,r\n2,s\n"), None, header=False, categorical=["1"], chunk_size=1))
    assert [c.X for c in chunks] == [[{"0": 1.0, "1=r": 1.0}], [{"0": 2.0, "1=s": 1.0}]]
    with pytest.raises(FormatError, match="line 4: 'b'"):
        list(iter_csv(io.StringIO("n,kind\n1,x\n2,x\nb,x\n"), chunk_size=2))


def test_wrong_arguments():
    with pytest.raises(InputError, match="header"):
        read("1,x\n", header="maybe")
    with pytest.raises(InputError, match="header"):
        next(iter_csv(io.StringIO("1,x\n"), header="auto"))
    with pytest.raises(InputError, match="chunk_size"):
        next(iter_csv(io.StringIO("1,x\n"), chunk_size=0))
