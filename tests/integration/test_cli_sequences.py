"""Training, predicting and streaming label sequences from the command line."""

import contextlib
import io
import json
import os
import subprocess
import threading

import numpy as np
import pytest
from cli_helpers import ok, process, run, write_sentences

import accord
from accord.cli import main
from accord.datasets import read_conll


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("sequences")
    write_sentences(path)
    ok("train", path / "train.conll", "--model", path / "crf.accord", "--constraints", "iob2", "--C", "2")
    return path


def predictions(folder, name, **options):
    return accord.load(folder / name).predict(read_conll(folder / "test.conll")[0], **options)


# -- train --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "learner"),
    [
        (
            ["--learner", "perceptron", "--max-iter", "3", "--no-averaged", "--window", "2,1", "--random-state", "7"],
            accord.StructuredPerceptron(
                accord.Sequence(), accord.TokenFeatures(window=(2, 1)), max_iter=3, averaged=False, random_state=7
            ),
        ),
        (
            [
                "--learner",
                "svm",
                "--C",
                "0.5",
                "--norm",
                "2",
                "--rescaling",
                "slack",
                "--solver",
                "frank-wolfe",
                "--tol",
                "0.1",
            ],
            accord.StructuredSVM(
                accord.Sequence(),
                accord.TokenFeatures(),
                C=0.5,
                norm=2,
                rescaling="slack",
                solver="frank-wolfe",
                tol=0.1,
                random_state=0,
            ),
        ),
        (
            ["--order", "2", "--affixes", "none", "--ngrams", "3", "--no-clues", "--min-count", "2", "--tol", "1e-3"],
            accord.CRF(
                accord.Sequence(order=2),
                accord.TokenFeatures(affixes=(), ngrams=(3,), clues=False, min_count=2),
                tol=1e-3,
            ),
        ),
        (
            ["--learner", "hmm", "--smoothing", "0.1"],
            accord.HMM(accord.Sequence(), accord.TokenFeatures(), smoothing=0.1),
        ),
    ],
    ids=["perceptron", "svm", "crf", "hmm"],
)
def test_options_reach_the_constructors(folder, options, learner):
    assert ok("train", folder / "train.conll", "--model", folder / "m", *options) == ""
    learner.fit(*read_conll(folder / "train.conll"))
    loaded = accord.load(folder / "m")
    np.testing.assert_array_equal(loaded.weights_.unary, learner.weights_.unary)
    np.testing.assert_array_equal(loaded.weights_.transitions, learner.weights_.transitions)


def test_the_same_seed_gives_the_same_file(folder):
    for name in ("one", "two"):
        ok("train", folder / "train.conll", "--model", folder / name, "--learner", "perceptron")
    assert (folder / "one").read_bytes() == (folder / "two").read_bytes()


def test_standard_input_and_a_file_give_the_same_model(folder):
    ok(
        "train",
        "-",
        "--model",
        folder / "stdin",
        "--constraints",
        "iob2",
        "--C",
        2,
        stdin=(folder / "train.conll").read_text(),
    )
    assert (folder / "stdin").read_bytes() == (folder / "crf.accord").read_bytes()


def test_unlabeled_text_counts_for_baum_welch(folder):
    common = ["--learner", "hmm", "--unlabeled-weight", "0.5", "--max-iter", "2"]
    ok("train", folder / "train.conll", "--model", folder / "m", "--unlabeled", folder / "test.txt", *common)
    model = accord.load(folder / "m")
    assert len(model.transduction_) == 40
    assert model.unlabeled_weight_ == 0.5
    # the labels of a CoNLL file are not looked at
    ok("train", folder / "train.conll", "--model", folder / "m2", "--unlabeled", folder / "test.conll", *common)
    np.testing.assert_array_equal(accord.load(folder / "m2").weights_.unary, model.weights_.unary)


def test_valid_prints_scores(folder):
    out = ok(
        "train",
        folder / "train.conll",
        "--model",
        folder / "m",
        "--learner",
        "perceptron",
        "--valid",
        folder / "test.conll",
    )
    assert "span F1" in out
    assert "40 examples" in out


def test_feature_columns(tmp_path):
    rows = [("x", "N", "A"), ("y", "V", "B"), ("x", "V", "B"), ("y", "N", "A")]
    (tmp_path / "d.conll").write_text("\n\n".join("\n".join(" ".join(r) for r in rows) for _ in range(5)) + "\n")
    ok(
        "train",
        tmp_path / "d.conll",
        "--model",
        tmp_path / "m",
        "--feature-columns",
        "1",
        "--no-shuffle",
        "--learner",
        "perceptron",
    )
    out = ok("predict", tmp_path / "m", "-", stdin="z V\nz N\n")
    assert out == "z\tB\nz\tA\n\n"
    result = run("predict", tmp_path / "m", "-", "--format", "text", stdin="z\n")
    assert result.exit_code == 2
    assert "--feature-columns" in result.stderr


# -- stream -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("learner", ["perceptron", "crf"])
def test_stream_is_fit_batches(folder, learner):
    ok(
        "train",
        folder / "train.conll",
        "--model",
        folder / "m",
        "--learner",
        learner,
        "--stream",
        "--batch-size",
        30,
        "--max-iter",
        2,
    )
    X, Y = read_conll(folder / "train.conll")
    batches = [(X[i : i + 30], Y[i : i + 30]) for i in (0, 30, 60)] * 2
    cls = {"perceptron": accord.StructuredPerceptron, "crf": accord.CRF}[learner]
    expected = cls(accord.Sequence(), accord.TokenFeatures(), random_state=0)
    expected.fit_batches(batches, classes=sorted({label for y in Y for label in y}))
    np.testing.assert_array_equal(accord.load(folder / "m").weights_.unary, expected.weights_.unary)


def test_stream_from_standard_input_needs_all_labels(folder):
    args = ["train", "-", "--model", folder / "m", "--stream", "--batch-size", 1, "--learner", "perceptron"]
    text = "a X\n\nb Y\n"
    result = run(*args, stdin=text)
    assert result.exit_code == 2
    assert "'Y'" in result.stderr
    ok(*args, "--labels", "X,Y", stdin=text)
    assert accord.load(folder / "m").structure_.labels_ == ["X", "Y"]
    assert run(*args, "--max-iter", 2, stdin=text).exit_code == 2


# -- predict ------------------------------------------------------------------------------------------------------
def test_conll_output_reads_back(folder):
    ok("predict", folder / "crf.accord", folder / "test.conll", "--output", folder / "out.conll")
    assert read_conll(folder / "out.conll") == (read_conll(folder / "test.conll")[0], predictions(folder, "crf.accord"))


def test_text_from_file_and_standard_input_in_chunks(folder):
    expected = ok("predict", folder / "crf.accord", folder / "test.conll")
    text = (folder / "test.txt").read_text()
    assert ok("predict", folder / "crf.accord", folder / "test.txt", "--chunk-size", 7) == expected
    assert ok("predict", folder / "crf.accord", stdin=text) == expected
    assert ok("predict", folder / "crf.accord", "-", "--n-jobs", 2, stdin=text) == expected


def test_empty_lines_stay_empty(folder):
    out = ok("predict", folder / "crf.accord", "--output-format", "text", stdin="\nAna left\n\n\nTom\n")
    assert [line.count("/") for line in out.split("\n")] == [0, 2, 0, 0, 1, 0]
    assert ok("predict", folder / "crf.accord", stdin="\n\n") == "\n\n"
    assert ok("predict", folder / "crf.accord", stdin="") == ""


def test_tokens_outside_ascii_survive(folder):
    out = ok("predict", folder / "crf.accord", stdin="Çağla wohnt in Köln — 東京 .\n".encode())
    assert [line.split("\t")[0] for line in out.splitlines()[:-1]] == ["Çağla", "wohnt", "in", "Köln", "—", "東京", "."]
    assert ok("predict", folder / "crf.accord", "--encoding", "latin-1", stdin="Köln\n".encode("latin-1"))


def test_marginals(folder):
    model = accord.load(folder / "crf.accord")
    X = read_conll(folder / "test.conll")[0][:1]
    lines = [
        json.loads(ok("predict", folder / "crf.accord", "--marginals", "--output-format", "json", stdin=" ".join(X[0])))
    ]
    found = np.array([[m[label] for label in model.structure_.labels_] for m in lines[0]["marginals"]])
    np.testing.assert_allclose(found, model.predict_marginals(X)[0], atol=1e-6)
    columns = ok("predict", folder / "crf.accord", "--marginals", stdin=" ".join(X[0])).splitlines()[0].split("\t")
    assert columns[:2] == [X[0][0], lines[0]["labels"][0]]
    assert columns[2] == f"B-LOC:{found[0, 0]:.6f}"
    text = ok("predict", folder / "crf.accord", "--marginals", "--output-format", "text", stdin=" ".join(X[0])).split()
    best = found[0, model.structure_.labels_.index(lines[0]["labels"][0])]
    assert text[0] == f"{X[0][0]}/{lines[0]['labels'][0]}:{best:.4f}"


def test_k_best(folder):
    model = accord.load(folder / "crf.accord")
    X = read_conll(folder / "test.conll")[0][:1]
    expected = model.predict_k_best(X, 3)[0]
    found = json.loads(
        ok("predict", folder / "crf.accord", "--k-best", 3, "--output-format", "json", stdin=" ".join(X[0]))
    )
    assert [(k["labels"], k["score"]) for k in found["k_best"]] == [(y, pytest.approx(s)) for y, s in expected]
    blocks = ok("predict", folder / "crf.accord", "--k-best", 3, stdin=" ".join(X[0])).split("\n\n")[:-1]
    assert blocks[1].splitlines()[0] == f"# 2 {expected[1][1]:.6g}"
    assert [line.split("\t")[1] for line in blocks[1].splitlines()[1:]] == expected[1][0]
    lines = ok(
        "predict", folder / "crf.accord", "--k-best", 3, "--output-format", "text", stdin=" ".join(X[0])
    ).splitlines()
    assert len(lines) == 3
    assert lines[0].startswith(f"{expected[0][1]:.6g}\t{X[0][0]}/{expected[0][0][0]} ")


def test_marginals_need_probabilities(folder):
    ok("train", folder / "train.conll", "--model", folder / "p", "--learner", "perceptron", "--max-iter", 1)
    result = run("predict", folder / "p", "--marginals", stdin="a\n")
    assert result.exit_code == 2
    assert "StructuredPerceptron has no probabilities" in result.stderr


# -- as processes -------------------------------------------------------------------------------------------------
def test_progress_on_a_terminal_and_two_lines_in_a_pipe(folder):
    args = ["train", folder / "train.conll", "--model", folder / "m", "--learner", "perceptron"]
    piped = run(*args)
    assert (piped.exit_code, piped.stdout) == (0, "")
    begin, *_, end = piped.stderr.splitlines()
    assert begin == "training StructuredPerceptron on 80 labeled sentences ..."
    assert end.startswith("StructuredPerceptron from 80 sentences, 7 labels, ")
    ours, theirs = os.openpty()
    chunks: list[bytes] = []

    def read():
        with contextlib.suppress(OSError):  # how a terminal says that nobody writes to it any more
            while chunk := os.read(ours, 65536):
                chunks.append(chunk)

    reader = threading.Thread(target=read)
    reader.start()
    with (
        open(theirs, "w") as terminal,
        contextlib.redirect_stderr(terminal),
        contextlib.redirect_stdout(io.StringIO()) as out,
    ):
        main(list(map(str, args)), prog_name="accord", standalone_mode=False)
    reader.join()
    os.close(ours)
    seen = b"".join(chunks)
    assert out.getvalue() == ""
    assert b"perceptron" in seen
    assert b"outputs wrong" in seen
    assert b"StructuredPerceptron from 80 sentences, 7 labels" in seen


def test_lines_are_answered_while_the_input_stays_open_and_a_reader_that_leaves_is_no_error(folder):
    """As in ``accord predict model - | head -2``."""
    child = process(
        "predict", folder / "crf.accord", "-", "--chunk-size", 1, "--output-format", "text",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    for sentence in ("Ana left .", "Tom slept ."):
        child.stdin.write(sentence + "\n")
        child.stdin.flush()
        answer = child.stdout.readline().split()
        assert [token.partition("/")[0] for token in answer] == sentence.split()
    child.stdout.close()
    with contextlib.suppress(BrokenPipeError):
        child.stdin.write((folder / "test.txt").read_text() * 400)
        child.stdin.close()
    assert child.wait(timeout=60) == 141
    assert child.stderr.read() == ""
    child.stderr.close()
