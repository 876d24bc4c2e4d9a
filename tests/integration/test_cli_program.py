"""The command line as a whole: help, lightness, errors, interrupts, and options that mirror the constructors."""

import inspect
import re
import subprocess
import sys

import click
import pytest
from cli_helpers import COMMAND, ok, run, write_sentences
from click.testing import CliRunner

import accord
from accord.cli.program import Program, debug_option
from accord.cli.train.parameters import CLASSES, LEARNERS, PARAMETERS, SMOOTH

COMMANDS = ("demo", "train", "predict", "evaluate", "inspect", "reproduce")
_ALWAYS = ("random_state", "n_jobs", "verbose")
# Constructor parameters that are given in another way: structure and view by --task and the data, the rest by options
# of their own; and those that mean nothing for files.
ELSEWHERE = {
    **{
        name: {"structure", "view", "views", "learner", "student_view", "rules", "vectors", *_ALWAYS}
        for name in LEARNERS
    },
    "random": {"view"},
    "odd-even": {"view"},
    "independent": {"view"},
    "token-surface": {"view", "groups"},
    "sequence": {"tokenizer"},
    "multiclass": {"unlabeled"},
    "taxonomy": {"taxonomy", "unlabeled"},
    "tree": {"grammar", "tokenizer"},
    "kernel": {"view", "tol", "random_state"},
    "numbers": {"window"},
}
for _name in SMOOTH:
    ELSEWHERE[_name] = {*ELSEWHERE[_name], "warm_start"}  # a program begins anew every time


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_examples(command):
    text = ok(command, "--help")
    assert "Examples:" in text
    assert f"accord {command}" in text
    assert command in ok("--help")


def test_version():
    assert ok("--version").strip() == f"accord, version {accord.__version__}"


def test_help_imports_nothing_heavy():
    heavy = "{'numpy', 'scipy', 'sklearn', 'numba', 'rich', 'matplotlib', 'joblib'}"
    code = f"import sys, accord.cli; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_defaults_in_the_help_are_those_of_the_constructors():
    for parameter in PARAMETERS:
        for owner, default in parameter.defaults.items():
            signature = inspect.signature(getattr(accord, CLASSES[owner]))
            assert signature.parameters[parameter.name].default == default, (owner, parameter.name)


def test_every_constructor_parameter_has_an_option():
    for owner, name in CLASSES.items():
        expected = set(inspect.signature(getattr(accord, name)).parameters) - ELSEWHERE.get(owner, set())
        assert {p.name for p in PARAMETERS if owner in p.defaults} == expected, owner


@pytest.mark.parametrize(
    ("args", "stdin", "message"),
    [
        (["train", "nowhere.conll", "--model", "m"], None, "nowhere.conll: No such file or directory"),
        (["predict", "nowhere.accord"], None, "nowhere.accord: No such file or directory"),
        (["train", "-", "--model", "no/such/folder/m"], "a O\n", "--model no/such/folder/m: there is no folder"),
        (["train", "-", "--model", "."], "a O\n", "--model . is a folder"),
        (["train", "-", "--model", "m"], "a O\nb\n", "<stdin>, line 2: expected 2 columns"),
        (["train", "-", "--model", "m"], "", "- has no label sequences"),
        (["train", "-", "--model", "m"], "a _\n", "all 1 examples are unlabeled"),
        (["train", "-", "--model", "m"], b"a O\n\xff O\n", "line 2: byte 0xff is not valid utf-8"),
        (["train", "-", "--model", "m", "--C", "-1"], "a O\n", "C is -1.0; expected a positive number"),
        (["train", "-", "--model", "m", "--format", "csv"], "a,b\nc,d\n", "say whether it is a header; see --header"),
        (["reproduce", "nothing"], None, "there is no experiment 'nothing'"),
    ],
)  # fmt: skip
def test_bad_input_ends_in_one_line(args, stdin, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("accord.experiments.REGISTRY", {}, raising=False)
    result = run(*args, stdin=stdin)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("accord: error: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("options", "hint"), [([], ""), (["--header/--no-header"], "; see --header")])
def test_errors_name_the_option_that_helps_if_the_command_has_it(options, hint):
    @click.group(cls=Program)
    def program():
        pass

    @program.command()
    @debug_option
    def read(**_):
        raise accord.InputError("bad table", "header")

    read.params += [click.Option(options)] if options else []
    result = CliRunner().invoke(program, ["read"])
    assert (result.exit_code, result.stderr) == (2, f"accord: error: bad table{hint}\n")
    assert str(accord.InputError("bad table", "header")) == "bad table; see header="


def test_a_file_that_is_no_model_is_refused(tmp_path):
    path = tmp_path / "text"
    path.write_text("hello\n")
    result = run("inspect", path)
    assert result.exit_code == 2
    assert "is not an Accord model file" in result.stderr


@pytest.mark.parametrize("args", [["--debug", "predict", "nowhere"], ["predict", "nowhere", "--debug"]])
def test_debug_shows_the_traceback(args):
    result = run(*args)
    assert result.exit_code == 2
    assert "Traceback" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("accord: error: nowhere")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--norm", "2"], "--norm belongs to svm and co-svm, but this model has crf, sequence, tokens"),
        (["--degree", "3"], "--degree belongs to kernel"),
        (["--learner", "svm", "--stream"], "--stream works with the learners perceptron and crf"),
        (["--stream", "--solver", "lbfgs"], "--stream trains with sgd"),
        (["--stream", "--unlabeled", "x.txt"], "x.txt"),
        (["--window", "a"], "'a' is not a number of neighbours"),
        (["--task", "taxonomy"], "needs the classes: --taxonomy FILE"),
        (["--task", "multiclass", "--format", "conll"], "classes are read from text, csv, jsonl, parquet, svmlight"),
        (["--format", "text"], "--task multiclass"),
        (["--task", "sequence", "--format", "text"], "plain text has no label sequences"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message, tmp_path):
    write_sentences(tmp_path)
    result = run("train", tmp_path / "train.conll", "--model", tmp_path / "m", *options)
    assert result.exit_code == 2
    assert message in re.sub(r"\s+", " ", result.stderr)
    assert not (tmp_path / "m").exists()


def test_warnings_are_one_line(tmp_path):
    write_sentences(tmp_path)
    result = run("train", tmp_path / "train.conll", "--model", tmp_path / "m", "--max-iter", 1, "-q")
    assert result.exit_code == 0
    assert re.fullmatch(r"accord: warning: L-BFGS stopped early.*\n", result.stderr)


def test_an_interrupted_training_leaves_the_old_model_alone(tmp_path, monkeypatch):
    write_sentences(tmp_path)
    old, new = tmp_path / "old.accord", tmp_path / "new.accord"
    old.write_bytes(b"the old model")

    def fit(self, X, Y):
        raise KeyboardInterrupt

    monkeypatch.setattr(accord.CRF, "fit", fit)
    result = run("train", tmp_path / "train.conll", "--model", old, "--quiet")
    assert result.exit_code == 130
    assert result.stderr == f"accord: interrupted; the model is lost, and {old} is as it was before\n"
    assert old.read_bytes() == b"the old model"
    result = run("train", tmp_path / "train.conll", "--model", new)
    assert result.exit_code == 130
    assert f"{new} was not written" in result.stderr
    assert not new.exists()


def test_a_full_disk_behind_standard_output_is_an_error(tmp_path):
    with open("/dev/full", "w") as full:
        done = subprocess.run([*COMMAND, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode != 0
    assert "No space left" in done.stderr
