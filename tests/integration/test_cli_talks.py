"""What the command line says: summaries, help, dry runs, suggestions, and messages about files of another kind."""

import re
from pathlib import Path

import click
import pytest
from cli_helpers import ok, run, write_points, write_sentences

from accord.cli import main
from accord.cli.models import model_named_after
from accord.cli.train.parameters import LEARNERS, PARAMETERS


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("talks")
    write_sentences(path)
    write_points(path / "points.csv")
    ok("train", path / "train.conll", "-o", path / "tagger", "--learner", "perceptron", "--max-iter", 2)
    return path


# -- summaries --------------------------------------------------------------------------------------------------------
def test_training_says_what_it_did_also_in_a_pipe(folder, tmp_path):
    options = ("--learner", "perceptron", "--max-iter", 2)
    told = run("train", folder / "train.conll", "--unlabeled", folder / "test.txt", "-o", tmp_path / "m", *options)
    assert told.exit_code == 0
    assert "training StructuredPerceptron on 80 labeled sentences and 40 unlabeled ones ...\n" in told.stderr
    assert re.search(r"\nStructuredPerceptron from 120 sentences, \d+ labels, [\d,]+ features, .* s: ", told.stderr)
    quiet = run("train", folder / "train.conll", "-o", tmp_path / "m", "-q", *options)
    assert (quiet.exit_code, quiet.stdout, quiet.stderr) == (0, "", "")


def test_predicting_says_how_much_it_labeled(folder):
    told = run("predict", folder / "tagger", stdin="Tom left .\nAna\n")
    assert re.fullmatch(r"2 sentences, 4 tokens, [\d.]+ s\n", told.stderr)
    quiet = run("predict", folder / "tagger", "--quiet", stdin="Tom left .\nAna\n")
    assert (quiet.stdout, quiet.stderr) == (told.stdout, "")


# -- help -------------------------------------------------------------------------------------------------------------
def test_help_shows_few_options_in_groups_and_help_all_all_of_them():
    brief, full = ok("train", "--help"), ok("train", "--help-all")
    for title in ("Data:", "Model:", "Running:", "Help:"):
        assert f"\n{title}\n" in brief
    options = re.findall(r"^  (?:-\w, )?(--[\w-]+)", brief, re.MULTILINE)
    assert {"--model", "--learner", "--unlabeled", "--dry-run", "--help-all"} <= set(options)
    assert len(options) < 25
    assert "--rho" not in brief
    assert all(parameter.flag in full for parameter in PARAMETERS)
    known = [param for param in main.commands["train"].params if isinstance(param, click.Option)]
    assert f"`main train --help-all` shows {len(known) + 1 - len(options)} more options." in brief
    assert "Ctrl-C" in full
    assert "Ctrl-C" not in brief


@pytest.mark.parametrize("command", ["train", "predict"])
def test_help_fits_80_columns(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert [line for line in ok(command, "--help").splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("command", ["predict", "evaluate", "inspect"])
def test_other_commands_keep_what_is_about_files_for_help_all(command):
    assert "--zero-based" not in ok(command, "--help")
    assert "--zero-based" in ok(command, "--help-all")


@pytest.mark.parametrize(
    ("options", "meant"),
    [
        (["--lerner", "svm"], "--learner"),
        (["--learner", "crv"], "Did you mean crf?"),
        (["--learner", "CoSVM"], "Did you mean co-svm?"),
        (["--learner", "StructuredSVM"], "Did you mean svm?"),
        (["--format", "Conll"], "Did you mean conll?"),
        (["--solver", "lbgfs"], "Did you mean lbfgs?"),
    ],
)
def test_misspelt_options_and_choices_are_understood(options, meant):
    told = run("train", "x.conll", "-o", "m", *options)
    assert told.exit_code == 2
    assert meant in told.stderr


# -- dry runs ---------------------------------------------------------------------------------------------------------
def rows(text):
    """{name: value} of what was printed."""
    return dict(
        re.split(r"  +", line.strip(), maxsplit=1) for line in text.splitlines() if re.match(r"  \S.*?  ", line)
    )


def test_dry_run_of_sentences(folder):
    text = ok("train", folder / "train.conll", "--unlabeled", folder / "test.txt", "--dry-run", "--C", 2)
    told = rows(text)
    assert told["file"] == f"{folder / 'train.conll'}: conll, 80 sentences"
    assert told["unlabeled file"] == f"{folder / 'test.txt'}: 40 sentences"
    assert (told["labeled"], told["unlabeled"]) == ("80", "40")
    labels = (folder / "train.conll").read_text().split()[1::2]
    assert told[f"{len(set(labels))} labels"].startswith(f"O ({labels.count('O'):,}), ")
    assert told["C"] == "2"
    assert "TokenFeatures" in text
    assert text.endswith("nothing was trained (--dry-run)\n")


def test_dry_run_of_a_table(folder):
    told = rows(ok("train", folder / "points.csv", "--label-column", "kind", "--dry-run", "--learner", "svm"))
    assert told["columns of numbers"] == "a, b, c"
    assert told["label column"] == "kind"
    assert told["labeled"] == "60"
    assert "3 labels" in told


def test_dry_run_of_views_and_of_numbers(folder, tmp_path):
    text = ok("train", folder / "train.conll", "--dry-run", "--learner", "co-svm", "--distributional")
    assert all(name in text for name in ("CoSVM", "RandomSplit", "TokenFeatures", "DistributionalFeatures"))
    (tmp_path / "prices.csv").write_text("size,town,price\n1,Rome,10\n2,Oslo,\n3,Rome,30\n")
    told = rows(ok("train", tmp_path / "prices.csv", "--dry-run", "--learner", "rlsr", "--label-column", "price"))
    assert told["targets"] == "10 to 30, mean 20"
    assert (told["columns of numbers"], told["columns of words"]) == ("size", "town")
    assert (told["labeled"], told["unlabeled"]) == ("2", "1")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["prices.csv"]


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_can_be_described(learner, folder):
    of = {"pcfg": "tree", "rlsr": "csv", "co-rlsr": "csv", "classifier": "csv"}.get(learner, "conll")
    path = folder / {"conll": "train.conll", "csv": "numbers.csv", "tree": "trees.mrg"}[of]
    if of == "csv":
        path.write_text("a,b,y\n1,2,3\n4,5,6\n")
    if of == "tree":
        path.write_text("(S (NP (NN dogs)) (VP (VB bark)))\n")
    assert "nothing was trained" in ok("train", path, "--learner", learner, "--dry-run")


def test_a_model_is_called_like_its_data_and_replaces_nothing(folder, monkeypatch):
    monkeypatch.chdir(folder)
    ok("train", "train.conll")
    assert (folder / "train.accord").exists()
    before = (folder / "train.accord").read_bytes()
    told = run("train", "train.conll")
    assert told.exit_code == 2
    assert "train.accord is there already; --model train.accord replaces it" in told.stderr
    assert (folder / "train.accord").read_bytes() == before
    assert model_named_after("data/few.conll.gz") == Path("few.accord")
    assert model_named_after("-") == Path("model.accord")


# -- files of another kind --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Tom,B-PER\nleft,O\n", "looks like a table with commas; give --format csv, and --label-column NAME"),
        ("text;kind\nwe won the game;sports\nrates rise;money\n", "looks like a table with semicolons"),
        ("Tom\nleft\n\nAna\n", "has a single column; a line of a labeled file is token<TAB>label"),
        ('{"tokens": ["Tom"], "labels": ["B-PER"]}\n{"tokens": []}\n', "looks like JSON"),
        ('[\n {"tokens": ["Tom", "left"]},\n {"tokens": ["Ana"]}\n]\n', "looks like JSON"),
        ('{"a": 1}\n{"a": 2}\n', "looks like JSON"),
        ("(S (NP (NN dogs)) (VP (VB bark)))\n(S (NN cats))\n", "looks like a treebank; give --format treebank"),
        ("a 1:0.5 7:2\nb 3:1\n", "looks like svmlight; give --format svmlight"),
        ("The dog barks .\nAna left Rome for Oslo again today .\nSo\n", "looks like plain text; give it"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_conll_file_is_recognised(text, message, tmp_path):
    (tmp_path / "data").write_text(text)
    told = run("train", tmp_path / "data", "-o", tmp_path / "m")
    assert told.exit_code == 2
    assert message in told.stderr
    assert told.stderr.count("\n") == 1
    assert not (tmp_path / "m").exists()


def test_a_single_column_of_standard_input_is_recognised(tmp_path):
    told = run("train", "-", "-o", tmp_path / "m", stdin="Tom,B-PER\nleft,O\n")
    assert "no token has a label. The file looks like a table with commas" in told.stderr


@pytest.mark.parametrize(("cell", "shown"), [("", "an empty cell"), ("nan", "'nan'"), ("inf", "'inf'")])
def test_a_cell_that_is_no_number_is_named_by_line_and_column(cell, shown, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"size,age,kind\n1,2,a\n3,{cell},b\n")
    told = run("train", path, "--label-column", "kind", "-o", tmp_path / "m")
    assert told.exit_code == 2
    assert told.stderr == (
        f"accord: error: {path}, line 3: {shown} in column 'age', which is one of numbers; fill it in, or leave out "
        "the row or column\n"
    )


def test_the_option_about_columns_of_words_is_named_as_it_is_typed(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("size,town,kind\n1,Rome,a\n3,Oslo,b\n")
    for option in ("size", "nothing"):
        told = run("train", path, "--label-column", "kind", "--categorical", option, "-o", tmp_path / "m")
        assert told.stderr.endswith("; see --categorical\n")


def test_a_very_wide_window_is_warned_of(folder, tmp_path):
    short = ("--learner", "perceptron", "--max-iter", 1, "-q")
    told = run("train", folder / "train.conll", "-o", tmp_path / "m", "--window", 40, *short)
    assert told.exit_code == 0
    assert told.stderr == (
        "accord: warning: window is 40: every token has the features of 81 positions, which takes 81 times as long and "
        "is seldom better; use 1 or 2\n"
    )


def test_a_huge_C_is_refused(folder, tmp_path):
    told = run("train", folder / "train.conll", "-o", tmp_path / "m", "--C", "1e300", "-q")
    assert told.stderr == "accord: error: C is 1e+300; expected a positive number, at most 1e15\n"
