"""`accord evaluate` and `accord inspect`: figures that agree with the library."""

import json

import pytest
from cli_helpers import ok, run, write_points, write_sentences

import accord
from accord.datasets import read_conll
from accord.evaluation import span_f1, token_error


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("models")
    write_sentences(path)
    write_points(path / "points.csv")
    ok("train", path / "train.conll", "--model", path / "crf.accord", "--constraints", "iob2")
    ok("train", path / "points.csv", "--model", path / "points.accord")
    return path


def test_figures_are_those_of_the_library(folder):
    X, Y = read_conll(folder / "test.conll")
    found = json.loads(ok("evaluate", folder / "crf.accord", folder / "test.conll", "--json"))
    predicted = accord.load(folder / "crf.accord").predict(X)
    assert found["span_f1"] == span_f1(Y, predicted)
    assert found["token_error"] == token_error(Y, predicted)
    assert found["n_tokens"] == sum(map(len, X))
    assert set(found["spans"]) == {"all", "LOC", "ORG", "PER"}
    assert found["spans"]["all"]["f1"] == found["span_f1"]
    table = ok("evaluate", folder / "crf.accord", "-", stdin=(folder / "test.conll").read_text())
    assert f"{100 * found['span_f1']:.2f} %" in table
    assert f"{100 * found['spans']['ORG']['recall']:.2f}" in table


def test_unlabeled_examples_are_left_out(folder):
    text = (folder / "test.conll").read_text()
    expected = ok("evaluate", folder / "crf.accord", folder / "test.conll", "--json")
    assert ok("evaluate", folder / "crf.accord", "-", "--json", stdin=text + "unknown\t_\nword\t_\n") == expected
    result = run("evaluate", folder / "crf.accord", "-", stdin="unknown\t_\n")
    assert result.exit_code == 2
    assert "no labels to score against" in result.stderr


def test_a_file_of_predictions(folder):
    expected = ok("evaluate", folder / "crf.accord", folder / "test.conll", "--json")
    for options in ([], ["--marginals"]):
        ok("predict", folder / "crf.accord", folder / "test.conll", "--output", folder / "p.conll", *options)
        assert ok("evaluate", "--predictions", folder / "p.conll", folder / "test.conll", "--json") == expected
    (folder / "short.conll").write_text("only O\n")
    result = run("evaluate", "--predictions", folder / "short.conll", folder / "test.conll")
    assert result.exit_code == 2
    assert "has 1 label sequences but" in result.stderr
    (folder / "bare.conll").write_text("".join(f"{line}\n" for line in (folder / "test.txt").read_text().split(" ")))
    result = run("evaluate", "--predictions", folder / "bare.conll", folder / "test.conll")
    assert result.exit_code == 2
    assert "bare.conll: sentence 1 is not labeled" in result.stderr


def test_classes(folder):
    expected = ok("evaluate", folder / "points.accord", folder / "points.csv", "--json")
    found = json.loads(expected)
    assert set(found["labels"]) == {"c0", "c1", "c2"}
    assert found["micro_f1"] == pytest.approx(1 - found["zero_one_loss"])
    ok("predict", folder / "points.accord", folder / "points.csv", "--output", folder / "p.txt")
    assert ok("evaluate", "--predictions", folder / "p.txt", folder / "points.csv", "--json") == expected


def test_labels_that_are_no_spans(tmp_path):
    (tmp_path / "d.conll").write_text("the DET\ndog NOUN\n\na DET\ncat O\n")
    ok("train", tmp_path / "d.conll", "--model", tmp_path / "m", "--learner", "perceptron")
    found = json.loads(ok("evaluate", tmp_path / "m", tmp_path / "d.conll", "--json"))
    assert "span_f1" not in found
    assert set(found["labels"]) == {"DET", "NOUN", "O"}


def test_inspect_sequences(folder):
    model = accord.load(folder / "crf.accord")
    found = json.loads(ok("inspect", folder / "crf.accord", "--json", "--top", 2))
    assert (found["kind"], found["structure"], found["view"]) == ("CRF", "Sequence", "TokenFeatures")
    assert found["labels"] == model.structure_.labels_
    assert found["sizes"]["features"] == model.view_.n_dims_
    assert found["parameters"]["Sequence"]["constraints"] == "iob2"
    column = model.weights_.unary[:, found["labels"].index("B-PER")]
    name, weight = found["features"]["B-PER"]["highest"][0]
    assert weight == column.max()
    assert name == model.view_.feature_names([column.argmax()])[0]
    assert len(found["features"]["B-PER"]["lowest"]) == 2
    labels = found["labels"]
    pairs, start = found["transitions"]["pairs"], found["transitions"]["start"]
    assert pairs[labels.index("O")][labels.index("I-PER")] is None
    assert start[labels.index("I-PER")] is None
    n = len(labels)
    expected = model.weights_.transitions[2 * n :].reshape(n, n)[labels.index("O"), labels.index("B-PER")]
    assert pairs[labels.index("O")][labels.index("B-PER")] == expected
    text = ok("inspect", folder / "crf.accord")
    assert "Transitions" in text
    assert name in text


def test_inspect_second_order_and_many_labels(folder, tmp_path):
    ok(
        "train",
        folder / "train.conll",
        "--model",
        tmp_path / "two",
        "--order",
        2,
        "--learner",
        "perceptron",
        "--max-iter",
        2,
    )
    n = 7
    found = json.loads(ok("inspect", tmp_path / "two", "--json"))
    assert len(found["transitions"]["triples"]) == (n + 1) * n * n
    assert "Strongest and weakest transitions" in ok("inspect", tmp_path / "two")
    (tmp_path / "d.conll").write_text("".join(f"w{k} L{k}\n" for k in range(20)))
    ok("train", tmp_path / "d.conll", "--model", tmp_path / "many", "--learner", "perceptron")
    assert "Strongest and weakest transitions" in ok("inspect", tmp_path / "many")


def test_inspect_classes_names_columns(folder):
    ok("train", folder / "points.csv", "--learner", "crf", "--model", folder / "crf.accord")
    found = json.loads(ok("inspect", folder / "crf.accord", "--json"))
    assert found["transitions"] is None
    names = {name for f in found["features"].values() for which in f.values() for name, _ in which}
    assert names == {"a", "b", "c", "bias"}
