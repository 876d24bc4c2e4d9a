"""Tables as people have them: labels in the first column, names of rows, tabs, columns that the model does not know."""

import csv

import numpy as np
import pytest
from cli_helpers import ok, run

from accord.cli.data.columns import Columns
from accord.cli.data.layout import Layout
from accord.cli.tasks import MULTICLASS, REGRESSION
from accord.datasets.formats.cells import named_label
from accord.exceptions import FormatError

FRUIT = ("apple", "pear", "plum"), ("saw", "drill", "hammer")


def rows(n, seed=0):
    """Texts about fruit and about tools, with their class."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        words = [*rng.choice(FRUIT[i % 2], 3), *rng.choice(["my", "a", "the", "and", "new"], 4)]
        yield f"{' '.join(rng.permutation(words))} no. {i}", ("fruit", "tool")[i % 2]


def write(path, header, table, **how):
    with open(path, "w", newline="") as file:
        csv.writer(file, **how).writerows([header, *table])
    return path


def plan(path, *more):
    """Values by name in what `--dry-run` prints, and what is said beside it."""
    told = run("train", path, "--dry-run", *more)
    assert told.exit_code == 0, told.output
    pairs = [line.strip().split("  ", 1) for line in told.stdout.splitlines() if "  " in line.strip()]
    return {name.strip(): value.strip() for name, value in pairs}, told.stderr


@pytest.mark.parametrize("header", [("label", "text"), ("Category", "Message"), ("y", "x")])
def test_labels_in_the_first_column_are_found_by_name(header, tmp_path):
    path = write(tmp_path / "t.csv", header, [(y, x) for x, y in rows(20)])
    found, told = plan(path)
    assert found["label column"] == header[0]
    assert found["columns of free text"] == header[1]
    assert found["2 labels"] == "fruit (10), tool (10)"
    assert f"labels: column '{header[0]}' (by its name)" in told


def test_labels_in_the_first_column_are_found_by_their_look(tmp_path):
    path = write(tmp_path / "t.csv", ("v1", "v2"), [(y, x) for x, y in rows(20)])
    found, told = plan(path)
    assert found["label column"] == "v1"
    assert "labels: column 'v1' (the last column, 'v2', has texts)" in told
    assert plan(path, "--label-column", "v2")[0]["label column"] == "v2"  # who asks for nonsense gets it


def test_if_two_columns_may_have_the_labels_an_error_asks(tmp_path):
    path = write(tmp_path / "t.csv", ("a", "b", "c"), [(y, y[0], x) for x, y in rows(20)])
    told = run("train", path, "--dry-run")
    assert told.exit_code == 2
    assert "the last column, 'c', has texts, which are no labels; name the column of labels, such as 'a', 'b'" in (
        told.stderr
    )
    assert "--label-column" in told.stderr


def test_names_of_rows_are_left_out(tmp_path):
    path = write(tmp_path / "t.csv", ("id", "text", "label"), [(i, x, y) for i, (x, y) in enumerate(rows(24))])
    told = run("train", path, "-o", tmp_path / "m")
    assert told.exit_code == 0, told.output
    assert "left out: 'id', another value in every row" in told.stderr
    new = write(tmp_path / "new.csv", ("text",), [(x,) for x, _ in rows(10, 1)])
    more = write(tmp_path / "more.csv", ("when", "text", "id"), [("now", x, 7) for x, _ in rows(10, 1)])
    assert ok("predict", tmp_path / "m", new) == ok("predict", tmp_path / "m", more)
    rows_of_numbers = [(i, i % 3, y) for i, (_, y) in enumerate(rows(24))]
    path = write(tmp_path / "n.csv", ("Id", "n", "label"), rows_of_numbers)
    assert plan(path)[0]["left out"] == "Id"
    assert plan(path, "--categorical", "Id")[0]["columns of words"] == "Id"


def test_columns_unknown_to_the_model_are_named_and_left_out(tmp_path):
    path = write(tmp_path / "t.csv", ("text", "label"), rows(24))
    ok("train", path, "-o", tmp_path / "m")
    table = [("now", x, y, "me") for x, y in rows(10, 1)]
    new = write(tmp_path / "new.csv", ("when", "text", "label", "who"), table)
    told = run("predict", tmp_path / "m", new)
    assert told.exit_code == 0
    assert "new.csv: left out 'when', 'who', unknown to the model" in told.stderr
    plain = write(tmp_path / "plain.csv", ("text", "label"), rows(10, 1))
    assert ok("evaluate", tmp_path / "m", new, "--json") == ok("evaluate", tmp_path / "m", plain, "--json")
    other = write(tmp_path / "other.csv", ("body", "label"), rows(10, 1))
    told = run("predict", tmp_path / "m", other)
    assert told.exit_code == 2
    assert "the column 'text' is missing, which the model was trained on" in told.stderr


def test_a_table_with_tabs_is_no_list_of_tokens(tmp_path):
    path = write(tmp_path / "t.tsv", ("text", "label"), rows(20), delimiter="\t")
    found, _ = plan(path)
    assert found["file"] == f"{path}: csv, 20 examples"
    tokens = tmp_path / "tokens.tsv"
    tokens.write_text("Ana\tB-PER\nleft\tO\n\nRome\tB-LOC\n")
    assert plan(tokens)[0]["file"] == f"{tokens}: conll, 2 sentences"
    named = tmp_path / "t.data"  # no name of a file says what it is, but columns with names are those of a table
    named.write_text(path.read_text())
    assert plan(named, "--label-column", "label")[0]["file"] == f"{named}: csv, 20 examples"


# -- columns by themselves --------------------------------------------------------------------------------------------
def found(task, names, *cells):
    """Where the labels are and what is left out."""
    columns = Columns(Layout(task, format="csv"), "t.csv")
    return columns(list(names), [list(column) for column in cells], None)


def test_the_last_column_has_the_labels_unless_it_cannot_be():
    few, many, numbers = "abab" * 5, [f"w{i}" for i in range(20)], [str(i) for i in range(20)]
    assert found(MULTICLASS, ["x", "z"], numbers, few) == (1, [])
    assert found(MULTICLASS, ["x", "z"], few, many) == (0, [])
    assert found(MULTICLASS, ["x", "z"], few, numbers) == (1, [])  # learners ask what these numbers are
    assert found(MULTICLASS, ["class", "label"], few, few) == (1, [])
    assert found(MULTICLASS, ["id", "class", "z"], numbers, few, few) == (1, ["id"])
    assert found(MULTICLASS, ["id", "z"], few, few) == (1, [])  # not another one in every row
    assert found(MULTICLASS, ["label", "z"], [""] * 20, few) == (1, ["label"])  # nothing in it
    assert found(REGRESSION, ["target", "z"], numbers, numbers) == (0, [])
    with pytest.raises(FormatError, match=r"the last column, 'z', has another value in nearly every row"):
        found(MULTICLASS, ["x", "z"], numbers, many)


def test_names_of_labels_are_looked_for_whatever_their_case():
    assert named_label(["Text", " Label "]) == " Label "
    assert named_label(["class", "label"]) == "label"
    assert named_label(["text", "price"]) is None
