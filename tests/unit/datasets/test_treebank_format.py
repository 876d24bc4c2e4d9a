"""Bracketed treebanks: layouts that occur, errors with line numbers, writing."""

import gzip
import io
import re

import pytest
from row_tables import each_row

from accord.datasets import iter_trees, read_trees, write_trees
from accord.datasets.trees import bracketed
from accord.exceptions import FormatError, InputError


def read(text, **options):
    return read_trees(io.StringIO(text), **options)


def texts(text, **options):
    return [bracketed(tree) for tree in read(text, **options)]


def test_over_several_lines_and_several_in_a_line():
    text = "(S (N dogs)\n   (V bark))(S (N cats)\n(V sleep\n)) (N Rome)\n"
    assert texts(text) == ["(S (N dogs) (V bark))", "(S (N cats) (V sleep))", "(N Rome)"]


def test_outer_brackets_without_label():
    assert read("((S (N dogs)))\n( (N a) )\n") == [["", ["S", ["N", "dogs"]]], ["", ["N", "a"]]]
    assert read("((N a) (N b))") == [["", ["N", "a"], ["N", "b"]]]


def test_blank_lines_and_comments():
    text = "%% a file\n\n# of trees\n(S (N dogs)\n\n# (# #)\n)\n\t\n%% end"
    # Between trees a comment; within one it is read
    with pytest.raises(FormatError, match="line 7: the node 'S' has both words"):
        read(text)
    assert texts(text.replace("# (# #)", "(# #)")) == ["(S (N dogs) (# #))"]
    assert texts("(# #)\n(%% a)\n") == ["(# #)", "(%% a)"]


def test_functions_traces_and_odd_words_stay():
    line = "( (S (NP-SBJ-1 (-NONE- *T*-2)) (VP (CD 1\\/2) (-LRB- -LRB-) (NN no\xa0break))))"
    assert texts(line) == [line]


def test_further_fields_of_leaves():
    text = "(S (N dogs dog)\n(V bark bark x))"
    assert texts(text) == ["(S (N dogs) (V bark))"]
    with pytest.raises(FormatError, match=r"line 1: the leaf \(N dogs dog\) has 3 fields.*extra='drop'"):
        read(text, extra="error")
    with pytest.raises(InputError, match="extra must be 'drop' or 'error', got 'keep'"):
        read(text, extra="keep")


@each_row(
    ("text", "line", "message"),
    [
        ("(N a)\n\n(S (N b)\n(V c)\n", 3, "the tree that begins here never ends: 1 closing bracket is missing"),
        ("(S (NP (N b\n", 1, "never ends: 3 closing brackets are missing"),
        ("(N a)\n(N b))\n", 2, "a closing bracket without an opening one"),
        ("(N a)\n(S (N b)\n ())", 3, "an empty node ()"),
        ("(N a)\n(S (N b) (NP))", 2, "the node (NP) has nothing below it"),
        ("(S\n(NP the (N dog)))", 2, "the node 'NP' has both words ('the') and phrases below it"),
        ("(S\n(NP (D the) dog\n))", 3, "the node 'NP' has both words ('dog') and phrases"),
        ("(N a)\ndog\n", 2, "'dog' outside of brackets"),
        ("(N a) # dog\n", 1, "'#' outside of brackets"),
    ],
)
def test_errors_know_file_and_line(tmp_path, text, line, message):
    path = tmp_path / "bank.mrg"
    path.write_text(text)
    with pytest.raises(FormatError, match=re.escape(f"{path}, line {line}: ") + ".*" + re.escape(message)) as caught:
        read_trees(path)
    assert caught.value.line == line


def test_trees_before_an_error_are_read():
    trees = iter_trees(io.StringIO("(N a)\n)\n"))
    assert next(trees) == ["N", "a"]
    with pytest.raises(FormatError, match="line 2"):
        next(trees)


def test_equal_words_are_one_object():
    first, second = read("(NN dogs)\n(NN dogs)\n")
    assert first[0] is second[0]
    assert first[1] is second[1]


def test_nothing():
    assert read("") == read("\n# nothing\n") == []


@pytest.mark.parametrize("name", ["bank.mrg", "bank.mrg.gz"])
def test_written_trees_are_read_back(tmp_path, name):
    trees = [["", ["S", ["N", "señor"], ["V", "no\xa0va"]]], ["N", "a"]]
    write_trees(iter(trees), tmp_path / name)
    assert read_trees(tmp_path / name) == trees
    packed = (tmp_path / name).read_bytes()
    assert packed.startswith(b"\x1f\x8b") == name.endswith(".gz")
    assert read_trees(io.BytesIO(packed)) == trees


def test_standard_streams(capsys, monkeypatch):
    write_trees(["(S (N a) (V b))"], "-")
    written = capsys.readouterr().out
    assert written == "(S (N a) (V b))\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(written))
    assert read_trees("-") == [["S", ["N", "a"], ["V", "b"]]]


def test_encodings():
    data = gzip.compress("(N señor)".encode("latin-1"))
    assert read_trees(io.BytesIO(data), "latin-1") == [["N", "señor"]]
    with pytest.raises(FormatError, match="line 1: byte 0xf1 is not valid utf-8"):
        read_trees(io.BytesIO(data))


def test_brackets_in_words_are_written_as_names():
    target = io.StringIO()
    write_trees([["S", ["(", "("], ["N", "a"]]], target)
    assert target.getvalue() == "(S (-LRB- -LRB-) (N a))\n"


def test_what_cannot_be_written():
    with pytest.raises(InputError, match=r"trees\[1\]: the word 'New York' cannot be written"):
        write_trees([["N", "a"], ["N", "New York"]], io.StringIO())
    with pytest.raises(InputError, match=r"trees\[0\]\[1\] is the node 'NP' with nothing below it"):
        write_trees([["S", ["NP"]]], io.StringIO())


def test_leaves_without_a_tag():
    """Punctuation is its own tag, as some treebanks write it; words only if one says so."""
    assert read("(S (N dogs) (.) (--))") == [["S", ["N", "dogs"], [".", "."], ["--", "--"]]]
    assert read("(S (N dogs) (bark))", bare="word") == [["S", ["N", "dogs"], ["bark", "bark"]]]
    for text, options, what in [
        ("(S (N dogs) (.))", {"bare": "error"}, r"\(\.\) has nothing below it.*bare='word'"),
        ("(S (N dogs) (bark))", {}, r"\(bark\) has nothing below it.*bare='word'"),
        ("(.)", {}, r"\(\.\) has nothing below it"),
        ("(S (N dogs) ())", {"bare": "word"}, "empty node"),
    ]:
        with pytest.raises(FormatError, match=what):
            read(text, **options)
    with pytest.raises(InputError, match="bare must be 'punctuation', 'word' or 'error', got 'tag'"):
        read("(S (N dogs))", bare="tag")
