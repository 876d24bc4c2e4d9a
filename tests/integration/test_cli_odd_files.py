"""Tables as programs and people write them: marks, line ends, separators, quotes, and labels that may be none."""

import gzip
from subprocess import PIPE

import numpy as np
import pytest
from cli_helpers import ok, process, run

from accord import Classifier
from accord.datasets.formats.cells import are_almost_numbers, is_header

WORDS = (("goal", "match", "coach", "team", "penalty"), ("moon", "rocket", "orbit", "planet", "probe"))
TOPICS = ("sport", "space")


def texts(n=20, seed=0):
    """Texts about sport and about space, with their class."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(n):
        words = rng.permutation([*rng.choice(WORDS[i % 2], 3), *rng.choice(["the", "a", "of", "new"], 3)])
        found.append((f"{' '.join(words)} {i}", TOPICS[i % 2]))
    return found


def table(rows, head=("text", "label"), separator=","):
    return "".join(separator.join(map(str, row)) + "\n" for row in [head, *rows])


def plan(path, content, *options, encoding="utf-8"):
    """What `--dry-run` understood of a file (values by name), and what was said beside it."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    told = run("train", path, "--dry-run", *options)
    pairs = [line.strip().split("  ", 1) for line in told.stdout.splitlines() if "  " in line.strip()]
    return {name.strip(): value.strip() for name, value in pairs}, told.stderr


SAME = {
    "byte-order mark": "\ufeff" + table(texts()),
    "carriage returns": table(texts()).replace("\n", "\r\n"),
    "semicolons": table(texts(), separator=";"),
    "semicolons, commas in the text": table([(x.replace(" ", ", "), y) for x, y in texts()], separator=";"),
    "tabs": table(texts(), separator="\t"),
    "quotes and line ends in cells": table([(f'"{x}\nsaid ""he"", twice"', y) for x, y in texts()]),
    "quotes without a meaning": table([(f'he said "{x}" again', y) for x, y in texts()]),
    "blank lines": table(texts()).replace("\n", "\n\n"),
    "packed": gzip.compress(table(texts()).encode()),
    "blanks around labels": table([(x, f"  {y} ") for x, y in texts()]),
    "a separator at the end of lines": table([(x, y, "") for x, y in texts()], ("text", "label", "")),
}


@pytest.mark.parametrize("kind", SAME)
def test_the_same_table_in_many_ways(kind, tmp_path):
    found, told = plan(tmp_path / "t.csv", SAME[kind])
    assert found["columns of free text"] == "text", told
    assert found["label column"] == "label"
    assert found["2 labels"] == "sport (10), space (10)"
    assert ("left out: '', nothing in it" in told) == ("at the end" in kind)


def test_packed_files_and_utf_16(tmp_path):
    assert plan(tmp_path / "t.csv.gz", gzip.compress(table(texts()).encode()))[0]["label column"] == "label"
    path = tmp_path / "t.csv"
    wide = table(texts()).encode("utf-16")
    assert "the file has another encoding, perhaps utf-16; see --encoding" in plan(path, wide)[1]
    found, _ = plan(path, wide, "--encoding", "utf-16")
    assert found["2 labels"] == "sport (10), space (10)"


BROKEN = {
    "cp1252": (table([(x + " “no”", y) for x, y in texts()]).encode("cp1252"), "perhaps cp1252; see --encoding"),
    "Excel": (b"PK\x03\x04\x14\x00\x06", "no text but a zip archive, as files of Excel are"),
    "never ends": (table([('"' + texts()[0][0], "sport"), *texts()]), "2: a quote begins in this row and never ends"),
    "quotes in quotes": (table([(f'"he said "{x}""', y) for x, y in texts()]), "within a cell that has quotes are"),
    "old Mac": (table(texts()).replace("\n", "\r"), "carriage returns stand within lines"),
    "for spreadsheets": ("sep=;\n" + table(texts(), separator=";"), "'sep=;', is meant for a spreadsheet"),
    "commas": (table([("so, good", "sport"), *texts()]), "2 columns as in the first row, found 3; a cell"),
    "header alone": ("text,label\n", "there are no rows below the first"),
    "one column": (table([(x,) for x, _ in texts()], ("text",)), "there is a single column"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BROKEN)
def test_what_is_wrong_is_said(kind, tmp_path):
    content, expected = BROKEN[kind]
    assert expected in plan(tmp_path / "t.csv", content)[1]


def test_text_files_with_labels_in_them(tmp_path):
    assert "looks like a table with commas; give --format csv" in plan(tmp_path / "t.txt", table(texts()))[1]
    lines = "".join(f"__label__{y} {x}\n" for x, y in texts())
    assert "write each as class<TAB>words" in plan(tmp_path / "t.txt", lines)[1]
    assert "give --task multiclass if its lines are class<TAB>words" in plan(tmp_path / "t.txt", "Ana left\n")[1]
    array = '[{"text": "a b", "label": "x"},\n{"text": "c d", "label": "y"}]\n'
    for written in (array, array.replace("\n", "")):
        assert "the file is a JSON array; put every object of it on a line" in plan(tmp_path / "t.json", written)[1]


@pytest.mark.parametrize("unknown", ["NA", "nan", "?", "unlabeled", "-1"])
def test_labels_that_may_stand_for_none_are_named(unknown, tmp_path):
    named = [(x, y if unknown != "-1" else TOPICS.index(y)) for x, y in texts()]
    rows = table([(x, y if i < 8 else unknown) for i, (x, y) in enumerate(named)])
    found, told = plan(tmp_path / "t.csv", rows)
    assert "3 labels" in found
    assert f"labels: {unknown!r} is a class, of 12 rows; if it stands for no label, give --unknown-label" in told
    found, told = plan(tmp_path / "t.csv", rows, "--unknown-label", unknown)
    assert (found["labeled"], found["unlabeled"]) == ("8", "12")
    assert "is a class" not in told


@pytest.mark.parametrize(
    "labels", [("1", "0"), ("-1", "1"), ("yes", "no"), ("sport page", "page of space"), ("1.0", "0.0")]
)
def test_other_labels_are_taken_as_they_are(labels, tmp_path):
    found, told = plan(tmp_path / "t.csv", table([(x, labels[i % 2]) for i, (x, _) in enumerate(texts())]))
    assert found["2 labels"] == f"{labels[0]} (10), {labels[1]} (10)"
    assert "labels:" not in told


def test_labels_that_differ_in_case_only(tmp_path):
    rows = [(x, y.title() if i % 3 else y) for i, (x, y) in enumerate(texts())]
    told = plan(tmp_path / "t.csv", table(rows))[1]
    assert "labels: 'sport', 'Sport' are different classes; if they are not meant to be, write them alike" in told


def test_numbers_for_people_are_words_and_that_is_said(tmp_path):
    rows = [(f"{i},5", f"{i} %", "ab"[i % 2]) for i in range(20)]
    found, told = plan(tmp_path / "t.csv", table(rows, ("width", "share", "class"), ";"))
    assert found["columns of words"] == "width, share"
    assert "read as words: 'width', 'share'; to be numbers, cells have to be like -1234.5" in told
    assert are_almost_numbers(["$20", "-3.5 €", "1,000", ""])
    assert not are_almost_numbers(["20", "3.5"])
    assert not are_almost_numbers(["2024-01-02", "12:30"])
    assert not are_almost_numbers([])


def test_a_word_table_of_few_rows_needs_no_option(tmp_path):
    path, new = tmp_path / "t.csv", tmp_path / "new.csv"
    path.write_text("color,shape,label\nred,round,apple\nyellow,long,banana\ngreen,round,apple\nyellow,long,banana\n")
    new.write_text("shape,color\nlong,yellow\nround,red\n")
    ok("train", path, "-o", tmp_path / "m")
    assert ok("predict", tmp_path / "m", new) == "banana\napple\n"
    path.write_text("\n".join(path.read_text().splitlines()[1:]) + "\n")  # values that come again are no names
    assert plan(path, path.read_bytes())[0]["header"] == "no"
    ok("train", path, "-o", tmp_path / "m")
    new.write_text("yellow,long\nred,round\n")
    assert ok("predict", tmp_path / "m", new) == "banana\napple\n"


def test_the_first_row_names_columns_or_does_not():
    rows = [["red", "round", "apple"], ["yellow", "long", "banana"], ["green", "round", "apple"]]
    assert is_header(["color", "shape", "kind"], rows) is None
    assert is_header(["color", "shape", "kind"], rows * 2) is True  # a kind that never comes again is no value
    assert is_header(["Class", "shape", "kind"], rows) is True
    assert is_header(["red", "long", "pear"], rows) is False
    assert is_header(["good wine", "y"], [["bad food", "n"], ["so good", "y"]]) is False
    assert is_header(["text", "y"], [["good wine", "1"], ["bad food", "0"]]) is True  # a column of numbers
    assert is_header(["text", "label"], [["so good", "yes"], ["text", "label"], ["bad", "no"]]) is True  # two files
    assert is_header(["text", "kind"], [[f"{x} {i}", "ab"[i % 2]] for i, x in enumerate(["a b c"] * 5)]) is True
    assert is_header(["text", "kind"], []) is None


def test_columns_with_nothing_in_them_may_come_or_not(tmp_path):
    path, new, less = tmp_path / "t.csv", tmp_path / "new.csv", tmp_path / "less.csv"
    path.write_text(table([(x, "", y) for x, y in texts()], ("text", "note", "label")))
    told = run("train", path, "-o", tmp_path / "m")
    assert told.exit_code == 0, told.output
    assert "left out: 'note', nothing in it" in told.stderr
    new.write_text(table([(x, "") for x, _ in texts(6, 1)], ("text", "note")))
    less.write_text(table([(x,) for x, _ in texts(6, 1)], ("text",)))
    assert ok("predict", tmp_path / "m", new) == ok("predict", tmp_path / "m", less)
    path.write_text(table([(i, "", "ab"[i % 2]) for i in range(20)], ("n", "empty", "label")))
    assert plan(path, path.read_bytes())[0]["columns of numbers"] == "n"


@pytest.mark.parametrize("n", [1, 2])
def test_one_labeled_row_of_a_class(n, tmp_path):
    rows = [(x, y if i < n else "") for i, (x, y) in enumerate(texts())]
    (tmp_path / "t.csv").write_text(table(rows))
    told = run("train", tmp_path / "t.csv", "-o", tmp_path / "m")
    assert told.exit_code == 0, told.output
    assert f"{n} label{' is' if n == 1 else 's are'} too few to hold some out and compare" in told.output
    assert ("Y has only one label, 'sport': nothing else can be predicted" in told.stderr) == (n == 1)


def test_lines_of_text_will_do_for_a_model_of_texts(tmp_path):
    labeled, many, new = tmp_path / "t.csv", tmp_path / "many.txt", tmp_path / "new.txt"
    labeled.write_text(table([(x, y if i < 10 else "") for i, (x, y) in enumerate(texts())]))
    many.write_text("".join(x + "\n" for x, _ in texts(10, 1)))
    told = run("train", labeled, "--unlabeled", many, "-o", tmp_path / "m")
    assert "training Classifier on 10 labeled examples and 20 unlabeled ones" in told.output
    new.write_text("the goal of the match, coach\na moon and a rocket\n")
    assert ok("predict", tmp_path / "m", new) == "sport\nspace\n"
    assert ok("predict", tmp_path / "m", "--format", "text", stdin=new.read_bytes()) == "sport\nspace\n"
    told = run("predict", tmp_path / "m", stdin=new.read_bytes())
    assert told.stdout == "sport\nspace\n"
    assert "reading lines of text; a table would begin with a header that names 'text'" in told.stderr
    with process("predict", tmp_path / "m", stdin=PIPE, stdout=PIPE) as piped:
        assert piped.communicate(new.read_bytes())[0] == b"sport\nspace\n"
    assert ok("predict", tmp_path / "m", stdin="id,text\n1,a moon and a rocket\n") == "space\n"
    told = run("predict", tmp_path / "m", "--format", "csv", stdin=new.read_bytes())
    assert (
        "the column 'text' is missing, which the model was trained on; if every line is a text, give --format text"
        in (told.stderr)
    )
    new.write_text("sport\tthe goal of the match, coach\nspace\ta moon and a rocket\n")
    assert ok("predict", tmp_path / "m", new) == "sport\nspace\n"
    assert '"zero_one_loss": 0.0' in ok("evaluate", tmp_path / "m", new, "--json")
    told = run("predict", tmp_path / "m", "--format", "csv", stdin="")
    assert "the file is empty; expected one row per example" in told.stderr


def test_a_model_of_texts_from_python_reads_lines_and_tables(tmp_path):
    inputs, labels = zip(*texts())
    Classifier(random_state=0).fit(list(inputs), list(labels)).save(tmp_path / "m")
    assert ok("predict", tmp_path / "m", stdin="the goal of the match\n") == "sport\n"
    (tmp_path / "new.csv").write_text("text\na moon and a rocket\n")
    assert ok("predict", tmp_path / "m", tmp_path / "new.csv") == "space\n"


def test_labels_that_the_model_does_not_know_are_named(tmp_path):
    (tmp_path / "t.csv").write_text(table(texts()))
    (tmp_path / "new.csv").write_text(table([(x, y.upper()) for x, y in texts(6, 1)]))
    ok("train", tmp_path / "t.csv", "-o", tmp_path / "m")
    told = run("evaluate", tmp_path / "m", tmp_path / "new.csv")
    assert "new.csv: the model does not know the labels 'SPACE', 'SPORT'; these count as wrong" in told.stderr
    assert "does not know" not in run("evaluate", tmp_path / "m", tmp_path / "t.csv").stderr
