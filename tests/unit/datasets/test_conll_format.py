"""CoNLL columns: reading, the three kinds of labeling, errors with line numbers, writing."""

import gzip
import io
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from row_tables import each_row

from accord.datasets import iter_conll, read_conll, write_conll
from accord.exceptions import FormatError, InputError


def read(text, **options):
    return read_conll(io.StringIO(text), **options)


def test_tabs_or_blanks():
    expected = ([["Tom", "sleeps"], ["Ana"]], [["B-PER", "O"], ["B-PER"]])
    assert read("Tom\tN\tB-PER\nsleeps\tV\tO\n\nAna\tN\tB-PER\n") == expected
    assert read("Tom N  B-PER\nsleeps V O\n\nAna N B-PER") == expected


def test_a_line_with_a_tab_keeps_its_blanks():
    assert read("New York\tB-LOC\n") == ([["New York"]], [["B-LOC"]])


def test_several_blank_lines_and_blank_lines_with_blanks():
    assert read("\n\na A\n \n\t\n\nb B\n\n") == ([["a"], ["b"]], [["A"], ["B"]])
    assert read("") == ([], [])


def test_document_starts_end_sentences_and_vanish():
    assert read("-DOCSTART- -X- O\n\na A\n-DOCSTART-\nb B\n") == ([["a"], ["b"]], [["A"], ["B"]])


def test_comments_only_if_asked_for():
    text = "# 1 O\na A O\n# 2 O\nb B O\n"
    assert read(text)[0] == [["#", "a", "#", "b"]]
    assert read(text, comment="#") == ([["a", "b"]], [["O", "O"]])


def test_other_columns():
    sentence = next(iter_conll(io.StringIO("1 Tom N X\n2 goes V Y\n"), None, 1, 3, extra_columns=[2, 0]))
    assert sentence == (["Tom", "goes"], ["X", "Y"], (["N", "V"], ["1", "2"]))
    assert sentence.tokens == ["Tom", "goes"]


def test_equal_words_are_one_object():
    X, Y = read("".join(f"word{i % 2} LABEL\n" for i in range(4)))
    assert X[0][0] is X[0][2]
    assert Y[0][0] is Y[0][1]


def test_unlabeled_files():
    assert read("Tom N\nsleeps V\n", labeled=False) == ([["Tom", "sleeps"]], [None])
    assert read("Tom\nsleeps\n", labeled=False) == ([["Tom", "sleeps"]], [None])


@each_row("second", ["b N _\nc N _", "b\tN\t\nc\tN\t", "b N\nc N"])
def test_partial_labels(second):
    assert read(f"a N X\n\n{second}\n", labeled="partial") == ([["a"], ["b", "c"]], [["X"], None])


def test_partial_labels_when_the_first_sentence_has_none():
    assert read("a\n\nb X\n", labeled="partial") == ([["a"], ["b"]], [None, ["X"]])
    assert read("a N\n\nb N X\n", labeled="partial", columns=3) == ([["a"], ["b"]], [None, ["X"]])
    with pytest.raises(FormatError, match=r"line 3: expected 2 columns.*see columns="):
        read("a N\n\nb N X\n", labeled="partial")


def test_underscore_is_an_ordinary_label_otherwise():
    assert read("a _\nb X\n")[1] == [["_", "X"]]


@each_row(
    ("text", "options", "line", "message"),
    [
        ("a X\n\nb X\nc X Y\n", {}, 4, "expected 2 columns as in the lines before, found 3"),
        ("a N X\nb N\n", {}, 2, "expected 3 columns as in the lines before, found 2"),
        ("a X\n", {"columns": 3}, 1, "expected 3 columns as was said, found 2"),
        ("a N X\n\nb N X\nc N\n", {"labeled": "partial"}, 4, "expected 3 columns"),
        ("#\na X\n#\nb\n", {"comment": "#"}, 4, "expected 2 columns"),
        ("a X\n\tX\n", {}, 2, "the token is empty"),
        ("a\tX\nb\t\n", {}, 2, "the label is empty"),
        ("a X\nb _\nc X\n", {"labeled": "partial"}, 2, "no label but others"),
        ("a\nb\n", {}, 1, "tokens and labels are both column 0.*labeled=False"),
        ("a X\n", {"label_column": 2}, 1, r"label_column 2 asked for, but the line has 2 column"),
        ("a X\n", {"token_column": -3}, 1, r"token_column -3 asked for"),
    ],
)
def test_errors_name_the_line(text, options, line, message):
    with pytest.raises(FormatError, match=message) as caught:
        read(text, **options)
    assert caught.value.line == line


def test_error_names_the_file(tmp_path):
    path = tmp_path / "bad.tsv"
    path.write_bytes(b"a\tX\n\xff\tX\n")
    with pytest.raises(FormatError, match=r"bad\.tsv, line 2: byte 0xff is not valid utf-8"):
        read_conll(path)


def test_wrong_labeled_argument():
    with pytest.raises(InputError, match="labeled must be"):
        read("a X\n", labeled="some")


def test_sentences_come_one_at_a_time():
    sentences = iter_conll(io.StringIO("a X\n\nb\n"))
    assert next(sentences).tokens == ["a"]
    with pytest.raises(FormatError, match="line 3"):
        next(sentences)


cell = st.text(st.characters(exclude_characters="\t\n\r\ufeff", exclude_categories=["Cs"]), min_size=1).filter(
    lambda s: s.strip(" ") and s not in ("_", "-DOCSTART-")
)
sentence = st.lists(st.tuples(cell, cell), min_size=1, max_size=4)


@settings(max_examples=50)
@given(st.lists(st.tuples(sentence, st.booleans()), max_size=4))
def test_written_files_read_back(sentences):
    X = [[token for token, _ in s] for s, _ in sentences]
    Y = [[label for _, label in s] if labeled else None for s, labeled in sentences]
    stream = io.StringIO(newline="")
    write_conll(stream, X, Y)
    stream.seek(0)
    assert read_conll(stream, labeled="partial") == (X, Y)


def test_write_extra_columns_gzip_and_blanks(tmp_path):
    path = tmp_path / "out.tsv.gz"
    write_conll(path, [["a", "b"]], [["X", "Y"]], extra=[[["N", "V"]]], separator=" ")
    assert gzip.decompress(path.read_bytes()) == b"a N X\nb V Y\n\n"
    write_conll(tmp_path / "tokens", iter([["a"], ["b"]]))
    assert read_conll(tmp_path / "tokens", labeled=False) == ([["a"], ["b"]], [None, None])


def test_write_to_standard_output(capsys):
    write_conll("-", [["a"]], [["X"]])
    assert capsys.readouterr().out == "a\tX\n\n"
    assert not sys.stdout.closed


@each_row(
    ("arguments", "message"),
    [
        (([["a", "b"]], [["X"]]), r"Y\[0\] has 1 entries but X\[0\] has 2 tokens"),
        (([["a"], ["b"]], [["X"]]), r"Y ends at 1 sentences"),
        (([["a"]], [["X"], ["X"]]), r"X ends at 1 sentences"),
        (([["a"], ["b\tc"]], [["X"], ["X"]]), r"X\[1\]\[0\] is 'b\\tc'"),
        (([["a", ""]], [["X", "Y"]]), r"X\[0\]\[1\] is ''"),
        (([["a"]], [[3]]), r"Y\[0\]\[0\] is 3"),
        (([["a b"]], None), r"X\[0\]\[0\] is 'a b'"),
    ],
)
def test_write_refuses_what_would_not_read_back(arguments, message):
    with pytest.raises(InputError, match=message):
        write_conll(io.StringIO(), *arguments)


def test_write_refuses_other_separators():
    with pytest.raises(InputError, match="separator"):
        write_conll(io.StringIO(), [["a"]], separator=",")
