"""Training and predicting classes and taxonomies from CSV, svmlight and text."""

import json

import numpy as np
import pytest
from cli_helpers import ok, run, write_documents, write_points

import accord
from accord.datasets import read_csv, read_svmlight, read_taxonomy


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("classes")
    write_points(path / "points.csv")
    write_documents(path)
    ok("train", path / "points.csv", "--model", path / "points.accord")
    return path


def test_csv_with_header(folder):
    table = read_csv(folder / "points.csv")
    expected = accord.Classifier(random_state=0).fit(table.X, table.y)
    assert ok("predict", folder / "points.accord", folder / "points.csv").splitlines() == list(
        expected.predict(table.X)
    )
    ok("train", folder / "points.csv", "--model", folder / "crf.accord", "--learner", "crf")
    expected = accord.CRF(accord.MultiClass(), accord.ArrayFeatures(), random_state=0).fit(table.X, table.y)
    assert ok("predict", folder / "crf.accord", folder / "points.csv").splitlines() == list(expected.predict(table.X))


def columns(folder, *names):
    """The table with these columns only, in this order."""
    rows = [line.split(",") for line in (folder / "points.csv").read_text().splitlines()]
    places = [rows[0].index(name) for name in names]
    return "".join(",".join(row[k] for k in places) + "\n" for row in rows)


def test_csv_columns_are_found_by_name(folder):
    expected = ok("predict", folder / "points.accord", folder / "points.csv")
    for names in (("a", "b", "c"), ("c", "kind", "a", "b")):
        assert ok("predict", folder / "points.accord", "--chunk-size", 8, stdin=columns(folder, *names)) == expected
    result = run("predict", folder / "points.accord", stdin=columns(folder, "a", "b", "kind"))
    assert result.exit_code == 2
    assert "the column 'c' is missing" in result.stderr
    result = run("predict", folder / "points.accord", stdin="a,b,c,d,e\n1,2,3,4,5\n")
    assert result.exit_code == 0
    assert "<stdin>: left out 'd', 'e', unknown to the model" in result.stderr


def test_csv_without_header(folder):
    expected = ok("predict", folder / "points.accord", folder / "points.csv")
    body = columns(folder, "kind", "a", "b", "c").partition("\n")[2]
    (folder / "bare.csv").write_text(body)
    ok("train", folder / "bare.csv", "--model", folder / "bare.accord", "--label-column", "0")
    assert ok("predict", folder / "bare.accord", folder / "bare.csv") == expected
    assert ok("predict", folder / "bare.accord", stdin=columns(folder, "a", "b", "c").partition("\n")[2]) == expected


def test_csv_with_words(tmp_path):
    rows = [f"{k % 3},{'red' if k % 2 else 'blue'},{'warm' if k % 2 else 'cold'}" for k in range(20)]
    (tmp_path / "w.csv").write_text("n,colour,feel\n" + "\n".join(rows) + "\n,red,\n")
    ok("train", tmp_path / "w.csv", "--model", tmp_path / "m", "--label-column", "feel")
    assert ok("predict", tmp_path / "m", stdin="n,colour\n7,blue\n,red\n1,green\n").splitlines()[:2] == ["cold", "warm"]
    assert isinstance(accord.load(tmp_path / "m").view_, accord.DictFeatures)
    # without a header, a missing first column would rename all others
    (tmp_path / "bare.csv").write_text("".join(",".join(row.split(",")[::-1]) + "\n" for row in rows))
    ok("train", tmp_path / "bare.csv", "--model", tmp_path / "b", "--label-column", "0", "--no-header")
    assert ok("predict", tmp_path / "b", stdin=",blue,7\n,red,1\n").splitlines() == ["cold", "warm"]
    result = run("predict", tmp_path / "b", stdin="blue,7\n")
    assert result.exit_code == 2
    assert "the column of the class (0) is missing" in result.stderr


def test_kernel(folder):
    ok(
        "train",
        folder / "points.csv",
        "--model",
        folder / "k",
        "--learner",
        "svm",
        "--kernel",
        "poly",
        "--degree",
        3,
        "--C",
        0.05,
        "--tol",
        0.5,
        "--max-iter",
        20,
    )
    model = accord.load(folder / "k")
    assert isinstance(model.view_, accord.KernelFeatures)
    assert (model.view.kernel, model.view.degree, model.C) == ("poly", 3, 0.05)
    table = read_csv(folder / "points.csv")
    assert ok("predict", folder / "k", folder / "points.csv").splitlines() == list(model.predict(table.X))


def test_taxonomy_from_svmlight(folder):
    args = ["--taxonomy", folder / "tree.tsv", "--learner", "svm", "--loss", "tree", "--C", 0.1]
    ok("train", folder / "docs.svm", "--model", folder / "docs.accord", *args)
    X, y = read_svmlight(folder / "docs.svm")
    taxonomy = accord.Taxonomy(read_taxonomy(folder / "tree.tsv"))
    expected = accord.StructuredSVM(taxonomy, C=0.1, random_state=0).fit(X, y)
    model = accord.load(folder / "docs.accord")
    np.testing.assert_array_equal(model.weights_.unary, expected.weights_.unary)
    # a new file may have features that training did not see, and fewer of those that it saw
    out = ok("predict", folder / "docs.accord", "--format", "svmlight", stdin="1:1 90000:3\nroot/0/0 2:1\n")
    assert len(out.splitlines()) == 2
    scores = json.loads(ok("evaluate", folder / "docs.accord", folder / "docs.svm", "--json"))
    assert scores["tree_loss"] <= 2 * scores["zero_one_loss"]
    assert scores["n_examples"] == 90


def test_zero_based_indices_are_remembered(tmp_path):
    (tmp_path / "d.svm").write_text("a 0:1\nb 1:1\n" * 5)
    result = run("train", tmp_path / "d.svm", "--model", tmp_path / "m")
    assert result.exit_code == 2
    assert "--zero-based" in result.stderr
    ok("train", tmp_path / "d.svm", "--model", tmp_path / "m", "--zero-based")
    assert ok("predict", tmp_path / "m", "--format", "svmlight", stdin="1:1\n1:2\n") == "b\nb\n"


def test_text_with_classes(tmp_path):
    (tmp_path / "t.txt").write_text("spam\tbuy cheap pills\nham\tsee you tomorrow\n" * 5)
    ok("train", tmp_path / "t.txt", "--task", "multiclass", "--model", tmp_path / "m")
    out = ok("predict", tmp_path / "m", stdin="cheap pills tomorrow cheap pills\nham\tsee pills you\nsee you\n")
    assert out.splitlines() == ["spam", "ham", "ham"]
    line = ok("predict", tmp_path / "m", "--k-best", 2, stdin="see you\n").strip().split("\t")
    assert [cell.split(":")[0] for cell in line] == ["ham", "spam"]
    answer = json.loads(ok("predict", tmp_path / "m", "--marginals", "--output-format", "json", stdin="see you\n"))
    assert answer["label"] == "ham"
    assert sum(answer["marginals"].values()) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("name", ["docs.svm", "points.csv"])
def test_stream(folder, name):
    model = folder / "stream.accord"
    ok(
        "train",
        folder / name,
        "--model",
        model,
        "--learner",
        "perceptron",
        "--stream",
        "--batch-size",
        16,
        "--max-iter",
        5,
    )
    scores = json.loads(ok("evaluate", model, folder / name, "--json"))
    assert scores["zero_one_loss"] < 0.2
    if name == "docs.svm":
        args = [
            "train",
            "-",
            "--model",
            model,
            "--format",
            "svmlight",
            "--task",
            "multiclass",
            "--learner",
            "perceptron",
            "--stream",
        ]
        result = run(*args, stdin="a 1:1\n")
        assert result.exit_code == 2
        assert "--n-features" in result.stderr
        ok(*args, "--n-features", 3, stdin="a 1:1\nb 3:1\n")
